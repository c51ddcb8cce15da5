"""`shoal ls` and `shoal gc` in a project on the stand-in for Compute Engine."""

import hashlib
import json
import re

import gce_front
import pytest
from front import wait_for
from gce import settings as google
from test_gce_clusters import _front, _laptop, delete  # noqa: F401

API = f"https://compute.googleapis.com/compute/v1/projects/{google.PROJECT}/"
UID, OLD = "0123456789abcdef" * 2, "fedcba9876543210" * 2
ONLY = ("--project", google.PROJECT)
# The proof that nothing is left need not wait for launches of others: there are none.
SOON = {"SHOAL_TEST_TIMES": "horizon=300,call_timeout=300"}


def send(front, laptop, path, body=None, method="POST"):
    """A call as in Google's console."""
    words = ["-sSf", "-X", method, "-H", f"Authorization: Bearer {front.mint()['token']}"]
    if body is not None:
        words += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
    done = laptop(*words, API + path, program="curl")
    assert "error" not in json.loads(done.out), done.out


def instance(front, laptop, name, zone="us-central1-a", **labels):
    send(front, laptop, f"zones/{zone}/instances", {
        "name": name, "machineType": f"zones/{zone}/machineTypes/n1-standard-1",
        "labels": {key.replace("_", "-"): value for key, value in labels.items()},
        "disks": [{"boot": True, "autoDelete": True,
                   "initializeParams": {"sourceImage": gce_front.FAMILY, "diskSizeGb": "20"}}],
        "networkInterfaces": [{"network": "global/networks/default"}]})
    wait_for(lambda: name in [m.name for m in front.machines(states=("RUNNING",))], 20, 0.05, name)


def rule(front, laptop, name, uid, number=1):
    """As Shoal makes it; the name of the cluster must fit the hash in the rule's name."""
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    send(front, laptop, "global/firewalls", {
        "name": f"shoal-{name}-{digest}-{uid[:8]}-{number}",
        "network": "global/networks/default", "sourceRanges": ["198.51.100.7/32"],
        "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}],
        "description": f"Ray cluster {name}, launched by Shoal; shoal-cluster-uid={uid}"})


def disk(front, laptop, name, zone="us-central1-a", **labels):
    send(front, laptop, f"zones/{zone}/disks", {
        "name": name, "sizeGb": "30", "type": f"zones/{zone}/diskTypes/pd-balanced",
        "labels": {key.replace("_", "-"): value for key, value in labels.items()}})


def listed(laptop, *words):
    said = json.loads(laptop("ls", "-o", "json", *words).out)
    assert said["complete"] and said["gaps"] == []
    return {(c["name"], c["made_by"] if c["uid"] != OLD else "old"): c for c in said["clusters"]}


def lose_head(front, laptop):
    """As in Google's console; it is not listed any more."""
    front.set(gone_lag=0)
    delete(front, laptop, front.head("demo").name)


def names(front):
    """Everything that exists, by kind. A live cluster writes its lease again and again."""
    truth = {kind: [row["name"] for row in rows] for kind, rows in front.truth().items()
             if kind != "mismatches"}
    leases = {name.rpartition("-")[0] for name in truth.pop("instanceTemplates", [])}
    return {**truth, "leases": leases}


@pytest.fixture(name="project")
def _project(front, laptop):
    """A live cluster, what others have lost, and instances of `ray up`."""
    front.default_rules()
    laptop("up", "-y", laptop.file("cluster.yaml", front.cluster("demo", workers=1)))
    instance(front, laptop, "ray-rays-head-0a1b2c3d-compute", "us-central1-b",
             ray_cluster_name="rays", ray_node_type="head")
    instance(front, laptop, "somebodys", "europe-west4-a", team="web")
    rule(front, laptop, "lost", UID, 1)
    rule(front, laptop, "lost", UID, 2)
    rule(front, laptop, "demo", OLD)  # an earlier cluster of that name
    disk(front, laptop, "data-of-lost", shoal_cluster_uid=UID, ray_cluster_name="lost")
    disk(front, laptop, "data-of-web", team="web")
    return google.PROJECT


def test_ls_and_gc_of_a_project(front, laptop, project):
    front.set(page=2)
    clusters = listed(laptop)  # by the file of the cluster that this laptop has started
    assert sorted(clusters) == [("demo", "old"), ("demo", "shoal"), ("lost", "shoal"),
                                ("rays", "ray")]
    old, demo, lost, rays = (clusters[key] for key in sorted(clusters))
    assert (old["state"], old["region"]) == ("leftover", None)
    assert (demo["state"], demo["region"], demo["project"]) == ("up", "us-central1", project)
    assert demo["nodes"]["running"] == 2 and demo["has_head"] and demo["provider"] == "gcp"
    assert [v["kind"] for v in demo["volumes"]] == ["pd-standard"] * 2
    assert {v["instance"] for v in demo["volumes"]} == {m["id"] for m in demo["instances"]}
    assert sorted(r["kind"] for r in demo["resources"]) == [
        "firewall rule", "firewall rule", "instance template"]
    assert (rays["state"], rays["made_by"], rays["remedy"]) == ("up", "ray", None)
    assert [v["gb"] for v in rays["volumes"]] == [20]
    assert (lost["state"], lost["remedy"]) == ("leftover", "shoal gc")
    assert [v["id"] for v in lost["volumes"]] == ["data-of-lost"]
    # Without --delete, and without an answer, nothing is changed.
    before = names(front)
    done = laptop("gc")
    assert f"lost  {project}  us-central1  {UID}\n" in done.out
    assert f"demo  {project}  -  {OLD}\n" in done.out and demo["uid"] not in done.out
    assert "firewall rule     shoal-lost-" in done.out and "ray" not in done.out
    assert f"gcloud compute disks delete data-of-lost --project {project} --zone us-central1-a" \
        in done.out
    assert "3 resources of 2 clusters without instances. Nothing was changed" in done.err
    assert "add --yes" in laptop.run("gc", "--delete").err
    assert names(front) == before
    done = laptop("gc", "--delete", "-y", env=SOON)
    assert re.search(rf"^lost  {project}  us-central1  {UID}: deleted$", done.out, re.M), done.out
    rest = [name for name in before["firewalls"] if UID[:8] not in name and OLD[:8] not in name]
    assert len(rest) == len(before["firewalls"]) - 3
    assert names(front) == {**before, "firewalls": rest}
    # Only the disk is left: gc names it, and deletes nothing.
    done = laptop("gc", "--delete", "-y", env=SOON)
    assert "data-of-lost" in done.out
    assert names(front) == {**before, "firewalls": rest}


def test_a_cluster_without_its_head(front, laptop):
    """Its worker is not a leftover. Without any instance, the rest is, when the lease has ended."""
    file = laptop.file("cluster.yaml", front.cluster("demo", workers=1))
    laptop("up", "-y", file)
    lose_head(front, laptop)
    demo, = listed(laptop, *ONLY).values()
    assert (demo["state"], demo["has_head"], demo["remedy"]) == ("partly", False, None)
    text = laptop("ls", *ONLY).out
    assert re.search(rf"^demo +{google.PROJECT} +us-central1 +partly .*1 running, no head", text,
                     re.M), text
    assert "No leftover" in laptop("gc", "--delete", "-y", *ONLY, env=SOON).err
    worker, = front.alive("demo")
    send(front, laptop, f"zones/us-central1-a/instances/{worker.name}/stop")
    wait_for(lambda: [m.state for m in front.machines()] == ["TERMINATED"], 20, 0.05, "its stop")
    demo, = listed(laptop, *ONLY).values()
    assert (demo["state"], demo["remedy"]) == (
        "stopped", f"shoal down demo --region us-central1 --project {google.PROJECT}")
    assert "No leftover" in laptop("gc", "--delete", "-y", *ONLY, env=SOON).err
    assert [m.name for m in front.machines()] == [worker.name]
    bob = front.laptop("bob")  # who has no file
    bob(*demo["remedy"].split()[1:], "-y", env=SOON)
    assert front.remains() == {}


def held_gc(front, laptop):
    """gc that has listed instances and leases, and waits for the disks."""
    front.fault("disks.aggregatedList", "hold", count=0)
    since = len(front.calls())
    child = laptop.start("gc", "--delete", "-y", *ONLY, env=SOON)
    listings = {"instances.aggregatedList", "firewalls.list", "instanceTemplates.list"}
    wait_for(lambda: front.held()["actions"] and listings <= {
        row["action"] for row in front.calls()[since:]}, 60, 0.05, "the listings")
    return child


def test_a_live_lease_is_never_removed(front, laptop):
    """The head was deleted a moment ago: its lease counts until it ends. gc looks at it again
    before it deletes.
    """
    laptop("up", "-y", laptop.file("cluster.yaml", front.cluster("demo", workers=0)))
    lose_head(front, laptop)
    demo, = listed(laptop, *ONLY).values()
    assert (demo["state"], demo["region"]) == ("starting", "us-central1")
    before = names(front)
    assert "No leftover" in laptop("gc", "--delete", "-y", *ONLY, env=SOON).err
    assert names(front) == before
    front.set(clock=600)  # the lease has ended
    demo, = listed(laptop, *ONLY).values()
    assert (demo["state"], demo["remedy"]) == ("leftover", "shoal gc")
    assert [r["kind"] for r in demo["resources"]] == [
        "firewall rule", "firewall rule", "instance template"]
    child = held_gc(front, laptop)
    done = laptop.run("up", "-y", "cluster.yaml", env={
        "SHOAL_FAILPOINT": "up:gcp:instanceTemplates.insert:reply#1"})
    assert done.status == -9, done
    front.clear()
    front.release()
    out, err = child.communicate(timeout=120)
    assert child.returncode == 1 and "not deleted, held by shoal up" in out, out + err
    assert names(front) == before
    front.set(clock=1200)
    laptop("gc", "--delete", "-y", *ONLY, env=SOON)
    assert front.remains() == {}
    assert laptop.leftovers() == []


def test_an_instance_that_is_listed_late(front, laptop):
    """gc lists the instances again before it deletes."""
    rule(front, laptop, "lost", UID)
    front.set(listing_lag=3600)
    child = held_gc(front, laptop)
    instance(front, laptop, "late", ray_cluster_name="lost", shoal_cluster_uid=UID)
    before = names(front)
    front.set(listing_lag=0)
    front.clear()
    front.release()
    out, err = child.communicate(timeout=120)
    assert child.returncode == 1, out + err
    assert "cluster lost has instances again; nothing was deleted" in out, out + err
    assert names(front) == before


def test_a_cluster_that_is_stopped_for_too_long(front, laptop):
    """With idle_terminate; an instance of `ray up` of the same name stays."""
    config = front.cluster("demo", workers=0, metadata={"shoal": {"idle_terminate": "1s"}})
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    laptop("stop", "-y", file)
    instance(front, laptop, "ray-demo-head-0a1b2c3d-compute", ray_cluster_name="demo",
             ray_node_type="head")
    wait_for(lambda: "expired" in laptop("ls", *ONLY).out, 60, 0.2, "its expiry")
    done = laptop("gc", *ONLY)
    assert "stopped for longer than its idle_terminate" in done.out
    assert "1 stopped instance of expired clusters" in done.err
    laptop("gc", "--delete", "-y", *ONLY, env=SOON)
    assert [m.name for m in front.machines()] == ["ray-demo-head-0a1b2c3d-compute"]
    assert names(front).get("firewalls", []) == [] and names(front)["leases"] == set()


def test_what_cannot_be_listed(front, laptop):
    rule(front, laptop, "lost", UID)
    instance(front, laptop, "ray-rays-head-0a1b2c3d-compute", "us-central1-b",
             ray_cluster_name="rays", ray_node_type="head")
    before = front.truth()
    # A zone that Google cannot reach may have the instances of every leftover.
    front.unreachable(zone="europe-west4-b")
    done = laptop.run("ls", "-o", "json", *ONLY)
    said = json.loads(done.out)
    assert done.status == 1 and not said["complete"]
    assert {(g["region"], g["what"], g["project"]) for g in said["gaps"]} == {
        ("europe-west4-b", what, google.PROJECT) for what in ("disks", "instances")}
    assert [c["name"] for c in said["clusters"]] == ["rays"]
    done = laptop.run("gc", "--delete", "-y", *ONLY)
    assert done.status == 1 and "not listed: instances, disks in europe-west4-b" in done.err
    front.clear()
    # A call that fails twice is repeated.
    for action in ("instances.aggregatedList", "firewalls.list", "instanceTemplates.list"):
        front.fault(action, "error", code="backendError", status=503, count=2)
    assert sorted(listed(laptop, *ONLY)) == [("lost", "shoal"), ("rays", "ray")]
    # Without the leases, nothing is a leftover; without instances, there is no list.
    some = ["compute.instances.list", "compute.firewalls.list", "compute.disks.list"]
    eve = front.limited_laptop("eve", some)
    done = eve.run("gc", "--delete", "-y", *ONLY)
    assert done.status == 1 and "not listed: instance templates" in done.err, done
    assert "No leftover" in done.err
    eve = front.limited_laptop("eva", some[1:])
    done = eve.run("ls", *ONLY)
    assert done.status == 1 and "compute.instances.list" in done.err, done
    assert front.truth() == before


def test_which_clouds_are_listed(front, laptop):
    """One without credentials is noted; it is an error only if the user asks for it."""
    aws = {"AWS_EC2_METADATA_DISABLED": "true"}
    google_project = {"GOOGLE_CLOUD_PROJECT": google.PROJECT}
    done = laptop("ls", env={**aws, **google_project})
    assert "note: AWS is not listed: no AWS credentials found" in done.err
    assert done.err.count("shoal:") == 1, done.err
    assert f"No clusters and no leftover resources in project {google.PROJECT}." in done.err
    said = json.loads(laptop("gc", "-o", "json", env={**aws, **google_project}).out)
    assert said == {"complete": True, "leftovers": []}
    # No project: named by nothing.
    done = laptop.run("ls", env=aws)
    assert done.status == 1 and "add --project ID, or set GOOGLE_CLOUD_PROJECT" in done.err
    # AWS is asked for by its region.
    done = laptop.run("ls", "--region", "us-west-2", env={**aws, **google_project})
    assert done.status == 1 and "Google" not in done.err
    done = laptop("ls", "--region", "europe-west4", *ONLY, env=aws)
    assert "AWS" not in done.err
    for wrong in ("", ",", "A", "a b"):
        assert laptop.run("ls", "--project", wrong).status == 2
    assert laptop.run("down", "demo", "--region", "us-west-2", "--project", "").status == 2
    # gc names a project that it could not list.
    done = laptop.run("gc", "--project", f"{google.PROJECT},no-such-project", env=aws)
    assert done.status == 1 and "no-such-project" in done.err, done.err
    # The user is not logged in.
    (laptop.home / gce_front.ADC).unlink()
    done = laptop.run("ls", env={**aws, **google_project})
    assert done.status == 1 and "run `gcloud auth application-default login`" in done.err
    assert "no AWS credentials found" in done.err
