"""`shoal gc` against moto, and that every command that `shoal ls` recommends exists."""

import json
import re
import shlex
import time

import pytest

from moto_cloud import REGION
from moto_cluster import cloud, payloads, run_up, server, things  # noqa: F401

TIMES = "horizon=1000,call_timeout=200"


@pytest.fixture
def gc(shoal, cloud):
    def run(*words, **more):
        return shoal("gc", "--region", REGION, *words, **more,
                     env={**cloud.environment, "SHOAL_TEST_TIMES": TIMES})

    return run


def end_lease(cloud):
    """As if its holder had died years ago."""
    found = cloud.ec2.describe_launch_templates()["LaunchTemplates"][0]
    cloud.ec2.create_tags(Resources=[found["LaunchTemplateId"]],
                          Tags=[{"Key": "shoal-lease-until", "Value": "1 1000000000"}])


@pytest.fixture
def leftovers(run_up, cloud):
    """A cluster whose instances were terminated by hand."""
    ids = run_up()
    end_lease(cloud)
    cloud.age_templates()
    cloud.ec2.terminate_instances(InstanceIds=ids)
    return things(cloud)


def test_a_dry_run_names_everything_and_changes_nothing(leftovers, gc, cloud):
    done = gc()
    assert done.returncode == 0, done.stderr
    assert "launch template   lt-" in done.stdout
    for kind in ("groups", "keys", "roles", "profiles"):
        assert all(name in done.stdout for name in leftovers[kind]), done.stdout
    assert "Nothing was changed; to delete: shoal gc --delete" in done.stderr
    assert things(cloud) == leftovers


def test_it_deletes_when_asked_to(leftovers, gc, cloud):
    refused = gc("--delete")
    assert refused.returncode == 1 and "add --yes" in refused.stderr
    assert things(cloud) == leftovers
    done = gc("--delete", "-y")
    assert done.returncode == 0, done.stderr + done.stdout
    assert re.search(r"^demo  us-west-2  [0-9a-f]{32}: deleted$", done.stdout, re.MULTILINE)
    assert not any(things(cloud).values())
    assert "No leftover resources." in gc().stderr


def test_what_somebody_is_at_work_on_is_not_left_over(run_up, gc, cloud):
    """`up` holds the lease and has launched nothing yet."""
    cloud.ec2.terminate_instances(InstanceIds=run_up())
    cloud.age_templates()
    before = things(cloud)
    done = gc("--delete", "-y")
    assert done.returncode == 1
    assert "not deleted, the cluster lease is held by shoal up" in done.stdout
    assert things(cloud) == before


def test_also_without_the_lease_object(leftovers, gc, cloud):
    cloud.ec2.delete_launch_template(LaunchTemplateName="shoal-anchor-demo")
    said = json.loads(gc("--delete", "-y", "-o", "json").stdout)
    assert [one["deleted"] for one in said["leftovers"]] == [True]
    assert said["leftovers"][0]["name"] == "demo" and said["complete"] is True
    assert not any(things(cloud).values())


def test_clusters_and_what_others_made_are_left_alone(run_up, gc, cloud):
    run_up()
    tags = [{"Key": "ray-cluster-name", "Value": "rays"}]
    cloud.ec2.create_key_pair(KeyName="rays", TagSpecifications=[
        {"ResourceType": "key-pair", "Tags": tags}])
    before = things(cloud)
    done = gc("--delete", "-y")
    assert done.returncode == 0 and "No leftover resources." in done.stderr
    assert things(cloud) == before
    assert [k["KeyName"] for k in cloud.ec2.describe_key_pairs(KeyNames=["rays"])["KeyPairs"]]


def test_an_instance_that_listings_did_not_show_is_never_terminated(leftovers, gc, cloud):
    """It was launched a moment ago; gc sees it when it looks a second time."""
    uid = cloud.ec2.describe_launch_templates()["LaunchTemplates"][0]["Tags"]
    uid = next(tag["Value"] for tag in uid if tag["Key"] == "shoal-cluster-uid")
    cloud.blind_listings = 1
    new = cloud.launch(ray_cluster_name="demo", shoal_cluster_uid=uid, ray_node_type="worker")
    cloud.ec2.delete_launch_template(LaunchTemplateName="shoal-anchor-demo")
    done = gc("--delete", "-y")
    assert done.returncode == 1 and "has instances again; nothing was deleted" in done.stdout
    assert cloud.living() == [new] and things(cloud)["keys"]


def test_only_a_volume_is_left(gc, cloud):
    """It may contain data: gc names it, and has nothing to delete."""
    volume = cloud.ec2.create_volume(
        AvailabilityZone=REGION + "a", Size=8, TagSpecifications=[
            {"ResourceType": "volume", "Tags": [{"Key": "shoal-cluster-uid", "Value": "0" * 32}]}])
    done = gc("--delete", "-y")
    assert done.returncode == 0 and volume["VolumeId"] in done.stdout
    assert "Only volumes or disks are left, which shoal gc does not delete." in done.stderr
    cloud.ec2.delete_volume(VolumeId=volume["VolumeId"])


def test_google_without_credentials_is_noted(shoal, cloud, tmp_path):
    """The user has not asked for it: that is not an error, and AWS is listed."""
    env = {**cloud.environment, "GOOGLE_CLOUD_PROJECT": "my-project", "NO_GCE_CHECK": "true",
           "CLOUDSDK_CONFIG": str(tmp_path)}
    done = shoal("ls", "-o", "json", env=env)
    said = json.loads(done.stdout)
    assert done.returncode == 0 and said["complete"] and said["regions"] and not said["projects"]
    assert [one["what"] for one in said["skipped"]] == ["Google Cloud"]
    assert "note: Google Cloud is not listed: no Google credentials found" in done.stderr
    done = shoal("gc", "--profile", "default", env=env)
    assert "Google" not in done.stderr
    done = shoal("ls", "--project", "my-project", env=env)
    assert done.returncode == 1 and "no Google credentials found" in done.stderr
    assert "AWS" not in done.stdout + done.stderr.replace("AWS_ENDPOINT_URL", "")


def test_what_may_not_be_deleted_is_named(leftovers, gc, cloud):
    cloud.refuse("DeleteSecurityGroup", "UnauthorizedOperation")
    done = gc("--delete", "-y")
    assert done.returncode == 1 and "some resources could not be deleted" in done.stdout
    assert "needs ec2:DeleteSecurityGroup" in done.stdout
    assert things(cloud)["groups"] == leftovers["groups"]


def test_ls_recommends_commands_that_exist(run_up, leftovers, shoal, cloud):
    env = {**cloud.environment, "SHOAL_TEST_TIMES": TIMES}
    stopped = cloud.launch(ray_cluster_name="it's -n", shoal_cluster_uid="0" * 32,
                           ray_node_type="head")
    cloud.ec2.stop_instances(InstanceIds=[stopped])
    said = json.loads(shoal("ls", "--region", REGION, "-o", "json", env=env).stdout)
    remedies = [one["remedy"] for one in said["clusters"]]
    assert len(remedies) == 2 and all(remedies), said
    for remedy in remedies:
        words = shlex.split(remedy)
        assert words[0] == "shoal"
        done = shoal(*words[1:], env=env)
        assert done.returncode != 2, done.stderr
    assert any("gc" in remedy for remedy in remedies)
    done = shoal(*shlex.split(next(r for r in remedies if "down" in r))[1:], "-y", env=env)
    assert done.returncode == 0 and cloud.instances()[stopped] == "terminated", done.stderr


# ---- expired clusters ----


def stop(cloud, ids, value=None):
    """As `shoal stop` does it, with idle_terminate; `value` is that of the tag."""
    if value:
        cloud.ec2.create_tags(Resources=ids, Tags=[{"Key": "shoal-stopped", "Value": value}])
    cloud.ec2.stop_instances(InstanceIds=ids)


def states(cloud, ids):
    pages = cloud.ec2.describe_instances(InstanceIds=ids)["Reservations"]
    return {one["State"]["Name"] for page in pages for one in page["Instances"]}


def test_an_expired_cluster_is_terminated(run_up, gc, cloud, shoal):
    ids = run_up()
    end_lease(cloud)
    stop(cloud, ids, f"{int(time.time()) + 1} 1")
    time.sleep(2.5)
    listed = shoal("ls", "--region", REGION, env=cloud.environment)
    assert re.search(r"^demo .* stopped .*expired \d+s ago: shoal gc$", listed.stdout,
                     re.MULTILINE), listed.stdout + listed.stderr
    done = gc()
    assert done.returncode == 0 and "stopped for longer than its idle_terminate" in done.stdout
    assert all(f"instance          {one}, stopped" in done.stdout for one in ids), done.stdout
    assert states(cloud, ids) == {"stopped"}
    said = json.loads(gc("-o", "json").stdout)["leftovers"]
    assert [one["expired"] for one in said] == [True] and set(said[0]["instances"]) == set(ids)
    refused = gc("--delete")
    assert refused.returncode == 1 and states(cloud, ids) == {"stopped"}
    done = gc("--delete", "-y")
    assert done.returncode == 0, done.stderr + done.stdout
    assert states(cloud, ids) == {"terminated"} and not any(things(cloud).values())


@pytest.mark.parametrize("value", [None, "1000000000 1", "later"])
def test_a_stopped_cluster_that_has_not_expired(run_up, gc, cloud, value):
    """No tag, a tag from before the last start, a limit that has not passed."""
    ids = run_up()
    end_lease(cloud)
    stop(cloud, ids, f"{int(time.time()) + 1} 86400" if value == "later" else value)
    before = things(cloud)
    done = gc("--delete", "-y")
    assert done.returncode == 0 and "No leftover resources." in done.stderr
    assert states(cloud, ids) == {"stopped"} and things(cloud) == before


def test_an_expired_cluster_that_is_being_started(run_up, gc, cloud):
    """Its lease is held."""
    ids = run_up()
    stop(cloud, ids, f"{int(time.time()) + 1} 1")
    time.sleep(2.5)
    done = gc("--delete", "-y")
    assert done.returncode == 1 and "not deleted, the cluster lease is held" in done.stdout
    assert states(cloud, ids) == {"stopped"}
