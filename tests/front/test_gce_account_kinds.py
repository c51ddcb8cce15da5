"""Kinds of accounts at Google: what `check`, `up`, a scale-up, a scale-down and `down` say and do.

`check` never says ready for a file that `up` cannot launch, and `down` ends with 0 and leaves
nothing wherever `up` could start. The result is docs/results/2026-11-19-gce-accounts.md.
"""

import json

import pytest
from front import wait_for
from test_commands import PROXY
from test_gce_check import check, with_node
from test_gce_clusters import _front, _laptop, cluster, down, workers  # noqa: F401

PUBLIC = [{"type": "ONE_TO_ONE_NAT"}]
OWN = "regions/us-central1/subnetworks/team"
HOST = f"projects/network-host/{OWN}"


def on(front, subnet, **more):
    return with_node(front, networkInterfaces=[{"subnetwork": subnet, **more}])


def want(front, demand):
    front.head("demo").run("sh", "-c", f"echo '{json.dumps(demand)}' > /tmp/ray/demand.json")


def scale(front, laptop, file, is_whole=False):
    """A worker more, and less if `is_whole`, which takes a minute; then `down`."""
    laptop("up", "-y", file)
    want(front, [{"CPU": 1}] * 2)  # the head has one CPU
    wait_for(lambda: workers(front), 60, 0.1, "a worker")
    wait_for(lambda: laptop("status", file).out.count("ready") == 2, 60, 0.2, "Ray there")
    want(front, [])
    if is_whole:
        wait_for(lambda: not workers(front, None), 90, 0.1, "its end")
    down(front, laptop, file)


def elastic(front, **node):
    """A file with a head and up to one worker, which ends when it is idle."""
    file = cluster(front, 1, least=0, upscaling_speed=100)
    file["available_node_types"]["worker"]["idle_timeout_s"] = 1
    for kind in file["available_node_types"].values():
        kind["node_config"].update(node)
    return file


def rules(front):
    """The networks of all firewall rules."""
    found = front.truth().get("firewalls", ())
    return {rule["network"].partition("/projects/")[2] for rule in found}


# ---- networks ----


def test_no_default_network(front, laptop):
    """The remedy of `check` leads to a cluster, with rules in the network of the subnetwork."""
    front.policy(constraint="skipDefaultNetworkCreation")
    front.network(name="team")
    file = elastic(front)
    done = check(laptop, file)
    assert done.status == 1 and 'the project has no network "default"' in done.out
    assert "accessConfigs: [{type: ONE_TO_ONE_NAT}]" in done.out and "is ready" not in done.out
    assert laptop.run("up", "-y", laptop.file("cluster.yaml", file)).status == 1
    assert front.remains() == {}
    file = elastic(front, networkInterfaces=[{"subnetwork": OWN, "accessConfigs": PUBLIC}])
    assert check(laptop, file).status == 0
    path = laptop.file("cluster.yaml", file)
    laptop("up", "-y", path)
    assert rules(front) == {"shoal-test/global/networks/team"}
    scale(front, laptop, path)


def test_a_network_beside_the_default_one(front, laptop):
    """A subnetwork alone says in which network the rules belong."""
    front.network(name="team")
    path = laptop.file("cluster.yaml", on(front, OWN, accessConfigs=PUBLIC))
    laptop("up", "-y", path)
    assert rules(front) == {"shoal-test/global/networks/team"}
    down(front, laptop, path)


def test_the_network_of_a_template(front, laptop):
    """`check` looks at what the instance template says, and the rules are in its network."""
    front.policy(constraint="skipDefaultNetworkCreation")
    front.network(name="team")
    file = elastic(front)
    node = file["available_node_types"]["head"]["node_config"]
    front.template(name="base", properties={
        "machineType": "n1-standard-2", "disks": node["disks"],
        "networkInterfaces": [{"subnetwork": OWN, "accessConfigs": PUBLIC}]})
    for kind in file["available_node_types"].values():
        kind["node_config"] = {"machineType": "n1-standard-2",
                               "sourceInstanceTemplate": "global/instanceTemplates/base"}
    done = check(laptop, file)
    assert done.status == 0, done.out
    path = laptop.file("cluster.yaml", file)
    laptop("up", "-y", path)
    assert rules(front) == {"shoal-test/global/networks/team"}
    laptop("down", "-y", path)
    assert front.remains() == {"instanceTemplates": ["base"]}


def test_an_interface_without_a_public_address(front, laptop):
    front.network(name="team")
    done = check(laptop, on(front, OWN))
    assert "the head has no public address" in done.out and done.status == 0


def test_a_shared_network(front, laptop):
    """The rules are the business of the host project; `check` says which."""
    front.network(name="team", project="network-host")
    file = elastic(front, networkInterfaces=[{"subnetwork": HOST, "accessConfigs": PUBLIC}])
    done = check(laptop, file)
    assert done.status == 0 and "shared VPC" in done.out, done.out
    assert "--project network-host --network team --allow tcp:22" in done.out
    assert "--allow all --source-ranges 198.18.16.0/20" in done.out
    file["metadata"] = {"shoal": {"firewall": "none"}}
    done = check(laptop, file)
    assert "shared VPC" not in done.out and "no firewall rules are made" in done.out
    path = laptop.file("cluster.yaml", file)
    scale(front, laptop, path, is_whole=True)
    assert not front.calls(action="firewalls.insert")


def test_rules_of_others(front, laptop):
    """`firewall: none` in a network of the project: no call about rules but those of `down`."""
    path = laptop.file("cluster.yaml", cluster(front, 1, metadata={"shoal": {"firewall": "none"}}))
    laptop("up", "-y", path)
    assert rules(front) == set()
    laptop("up", "-y", path)
    down(front, laptop, path)


# ---- policies of the organization ----


@pytest.mark.parametrize("constraint, status, fits", [
    ("vmExternalIpAccess", 0, None),
    ("requireShieldedVm", 412, {"shieldedInstanceConfig": {"enableSecureBoot": True}}),
    pytest.param("requireOsLogin", 0, None, marks=pytest.mark.long)])
def test_a_policy_that_check_may_not_read(front, laptop, constraint, status, fits):
    """Google refuses the head. The next `up`, of a file that fits, does not repeat that launch."""
    front.set(policy_status=status)
    front.fault("projects.getEffectiveOrgPolicy", "error", count=0, status=403)
    front.policy(constraint=constraint)
    path = laptop.file("cluster.yaml", elastic(front))
    done = laptop.run("up", "-y", path)
    assert done.status == 1 and f"constraints/compute.{constraint} violated" in done.err, done
    assert not front.machines()
    if fits:
        path = laptop.file("cluster.yaml", elastic(front, **fits))
    else:
        front.clear()
    laptop("up", "-y", path)
    down(front, laptop, path)


def test_no_guest_attributes_that_check_may_not_read(front, laptop):
    """The head starts, but its host key cannot be read: `up` says why, and `down` removes it."""
    front.fault("projects.getEffectiveOrgPolicy", "error", count=0, status=403)
    front.policy(constraint="disableGuestAttributesAccess")
    path = laptop.file("cluster.yaml", elastic(front))
    done = laptop.run("up", "-y", path)
    assert done.status == 1 and "disableGuestAttributesAccess" in done.err, done
    down(front, laptop, path)


@pytest.mark.long
def test_workers_that_an_operation_refuses(front, laptop):
    """A policy that is new: launches pause with Google's reason, and idle workers still end."""
    front.set(policy_status=0)
    config = elastic(front)
    config["max_workers"] = config["available_node_types"]["worker"]["max_workers"] = 9
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    want(front, [{"CPU": 1}] * 2)
    wait_for(lambda: workers(front), 60, 0.1, "a worker")
    wait_for(lambda: laptop("status", file).out.count("ready") == 2, 60, 0.2, "Ray there")
    front.policy(constraint="vmExternalIpAccess")
    want(front, [{"CPU": 1}] * 4)
    wait_for(lambda: "vmExternalIpAccess" in laptop("events", file).out, 60, 0.2, "the reason")
    want(front, [])
    wait_for(lambda: not workers(front), 120, 0.2, "the end of the idle worker")
    down(front, laptop, file)


def test_workers_without_guest_attributes(front, laptop):
    """A policy that is new: the head cannot learn the host key of a worker. It says why, ends the
    worker, and does not launch one after the other.
    """
    file = laptop.file("cluster.yaml", elastic(front))
    laptop("up", "-y", file)
    front.policy(constraint="disableGuestAttributesAccess")
    want(front, [{"CPU": 1}] * 2)
    wait_for(lambda: "disableGuestAttributesAccess" in laptop("explain", file).out, 60, 0.2,
             "the reason")
    assert "its setup failed: reading its host key" in laptop("events", file).out
    wait_for(lambda: not workers(front), 60, 0.2, "the end of the worker")
    launches = front.calls(action="instances.bulkInsert")
    assert len(launches) <= 4, launches  # the head and at most three workers
    down(front, laptop, file)


@pytest.mark.long
def test_private_instances_where_public_ones_are_forbidden(front, laptop):
    """The remedy of `check` leads to a cluster."""
    front.policy(constraint="vmExternalIpAccess")
    proxy = laptop.file("proxy", PROXY.replace(
        '(here / "addresses" / sys.argv[1]).read_text()', "sys.argv[1]"))
    proxy.chmod(0o755)
    file = elastic(front)
    assert "use_internal_ips: true" in check(laptop, file).out
    file["provider"]["use_internal_ips"] = True
    file["auth"]["ssh_proxy_command"] = f"{proxy} %h"
    assert check(laptop, file).status == 0
    scale(front, laptop, laptop.file("cluster.yaml", file), is_whole=True)


# ---- service accounts ----


def head_account(front):
    return front.head("demo").row["serviceAccounts"][0]["email"]


def test_a_default_account_without_a_role(front, laptop):
    """As in organizations since May 2024. The commands that `check` prints lead to a cluster."""
    front.account()
    file = elastic(front)
    done = check(laptop, file)
    assert done.status == 1 and "the project grants no role to the head's" in done.out
    assert "gcloud projects add-iam-policy-binding shoal-test" in done.out
    assert laptop.run("up", "-y", laptop.file("cluster.yaml", file)).status == 1
    assert front.remains() == {}
    front.account(role="roles/compute.admin")
    scale(front, laptop, laptop.file("cluster.yaml", file))


def test_the_account_of_rays_launcher(front, laptop):
    """`ray up` made it. The head launches workers with it; the default account has no role."""
    front.account()
    made = front.account(name="ray-autoscaler-sa-v1", role="roles/compute.admin")["email"]
    path = laptop.file("cluster.yaml", elastic(front))
    assert f"{made}, for the head" in laptop("check", path).out
    laptop("up", "-y", path)
    assert head_account(front) == made
    want(front, [{"CPU": 1}] * 2)
    wait_for(lambda: workers(front), 60, 0.1, "a worker")
    laptop("down", "-y", path)
    assert front.remains() == {"accounts": [made]}


def test_an_account_that_loses_its_role(front, laptop):
    """The head can launch nothing and cannot renew its lease. `down` has the user's rights."""
    path = laptop.file("cluster.yaml", elastic(front))
    laptop("up", "-y", path)
    front.account()
    want(front, [{"CPU": 1}] * 2)
    wait_for(lambda: [c for c in front.calls() if c["who"] != "laptop" and c["status"] == 403], 60,
             0.2, "a refusal")
    assert not workers(front)
    down(front, laptop, path)


def test_an_account_of_ray_that_is_disabled(front, laptop):
    front.account(name="ray-autoscaler-sa-v1", role="roles/compute.admin", disabled=True)
    path = laptop.file("cluster.yaml", cluster(front, 0))
    laptop("up", "-y", path)
    assert head_account(front).endswith("-compute@developer.gserviceaccount.com")
    laptop("down", "-y", path)


# ---- places ----


def test_a_zone_that_google_cannot_reach(front, laptop):
    """Elsewhere it does not matter to `up` and scaling; `down` proves absence everywhere, and says
    which zone it could not see.
    """
    front.unreachable(zone="europe-west4-b")
    path = laptop.file("cluster.yaml", elastic(front))
    laptop("up", "-y", path)
    want(front, [{"CPU": 1}] * 2)
    wait_for(lambda: workers(front), 60, 0.1, "a worker")
    wait_for(lambda: laptop("status", path).out.count("ready") == 2, 60, 0.2, "Ray there")
    want(front, [])
    wait_for(lambda: not workers(front, None), 90, 0.1, "its end")
    done = laptop.run("down", "-y", path)
    assert done.status == 1 and "europe-west4-b cannot be reached" in done.err, done
    front.unreachable(zone="europe-west4-b", on=False)
    down(front, laptop, path)


def test_a_zone_of_the_region_that_google_cannot_reach(front, laptop):
    """It may have instances of the cluster: `up` says so, and waits until Google reaches it."""
    front.unreachable(zone="us-central1-b")
    path = laptop.file("cluster.yaml", cluster(front, 0))
    child = laptop.start("up", "-y", path)
    wait_for(lambda: len(front.calls(action="instances.aggregatedList")) > 3, 60, 0.1, "its tries")
    assert not front.machines()
    front.unreachable(zone="us-central1-b", on=False)
    _, err = child.communicate(timeout=240)
    assert child.returncode == 0 and "us-central1-b cannot be reached" in err, err
    down(front, laptop, path)


def test_a_network_that_is_being_changed(front, laptop):
    """Google refuses rules for a moment; the call is repeated."""
    front.fault("firewalls.insert", "error", code="resourceNotReady", status=400, count=3)
    path = laptop.file("cluster.yaml", cluster(front, 0))
    laptop("up", "-y", path)
    assert len(rules(front)) == 1
    down(front, laptop, path)
