"""Whole clusters on the stand-in for Compute Engine: from up to down, and what can happen between.

`test_gce_ray.py` has what Ray does when the same things happen.
"""

import json

import gce_front
import pytest
from front import wait_for

SPOT = {"provisioningModel": "SPOT", "instanceTerminationAction": "STOP"}


# All at once, before anything is created.
PREFLIGHT = {
    "images.getFromFamily", "machineTypes.get", "networks.get", "projects.get",
    "projects.getEffectiveOrgPolicy", "projects.getIamPolicy", "projects.serviceAccounts.get",
    "projects.serviceAccounts.testIamPermissions", "projects.testIamPermissions", "regions.get"}


@pytest.fixture(name="front")
def _front():
    assert gce_front.missing() is None, gce_front.missing()
    with gce_front.GceFront() as front:
        yield front
        assert "bug" not in front.log()


@pytest.fixture(name="laptop")
def _laptop(front):
    return front.laptop("alice")


def cluster(front, workers=2, least=None, worker=None, **more):
    """A cluster file; `worker`: more keys of the worker's node_config."""
    config = json.loads(json.dumps(front.cluster("demo", workers, **more)))
    kind = config["available_node_types"]["worker"]
    kind["node_config"].update(worker or {})
    kind["min_workers"] = workers if least is None else least
    return config


def workers(front, states=("RUNNING",)):
    return [m for m in front.machines("demo", states) if m.kind == "worker"]


def down(front, laptop, file):
    laptop("down", "-y", file)
    assert front.remains() == {}
    assert laptop.leftovers() == []


def test_up_to_down(front, laptop):
    file = laptop.file("cluster.yaml", front.cluster("demo", workers=2))
    done = laptop("up", "-y", file)
    assert "demo is up: 3 nodes" in done.err
    assert sorted(m.kind for m in front.alive("demo")) == ["head", "worker", "worker"]
    assert laptop("exec", file, "hostname").out.strip() == front.head("demo").name
    assert laptop("status", file).out.count("ready") == 3
    done = laptop("down", "-y", file)
    assert "may be listed late" not in done.err  # the head said that it launches nothing
    assert front.remains() == {}
    assert laptop.leftovers() == []


def test_credentials_of_the_file_and_the_clusters_name(front):
    """The token of the file is enough, and stays here. Later commands need no call to Google."""
    laptop = front.laptop("alice")
    (laptop.home / gce_front.ADC).unlink()
    token = front.mint()["token"]
    file = front.cluster("demo", workers=0)
    file["provider"]["gcp_credentials"] = {"type": "credentials_token", "credentials": token}
    path = laptop.file("cluster.yaml", file)
    done = laptop("up", "-y", path)
    assert token not in done.out + done.err
    [head] = front.alive("demo")
    found = head.run("sh", "-c", f"grep -rlsI -D skip -- {token} /home/ubuntu || echo nowhere")
    assert found == "nowhere\n"
    assert token not in json.dumps(head.row)
    assert laptop("exec", path, "hostname").out.strip() == head.name
    before = len(front.calls())
    assert laptop("exec", "demo", "hostname").out.strip() == head.name
    assert len([row for row in front.calls()[before:] if row["who"] == "laptop"]) == 0
    laptop("down", "-y", "demo")
    assert front.remains() == {}


def test_how_many_calls(front):
    """Of `up` with two workers, by caller; a busy machine polls as often as time allows."""
    laptop = front.laptop("alice")
    file = laptop.file("cluster.yaml", front.cluster("demo", workers=2))
    done = laptop("up", "-y", file)
    laptops = [row["action"] for row in front.calls() if row["who"] == "laptop"]
    heads = [row["action"] for row in front.calls() if row["who"] != "laptop"]
    polls = (max(0, laptops.count("instances.aggregatedList") - 2) +
             max(0, laptops.count("instances.getGuestAttributes") - 2))
    assert polls <= done.seconds / 1.5, laptops  # none on an idle machine
    assert laptops.count("firewalls.list") == 0, laptops
    assert laptops.count("instanceTemplates.insert") == 1, laptops
    assert laptops.count("instances.bulkInsert") == 2, laptops
    checks = [action for action in laptops if action in PREFLIGHT]
    # Each question once: there are four about policies, and two about each of two accounts.
    assert len(checks) == len(set(checks)) + 3 + 2, checks
    assert len(laptops) - len(checks) - polls <= 20, laptops
    assert len(heads) <= 14 + done.seconds / 3, heads
    since = len(front.calls())
    laptop("down", "-y", file)
    laptops = [row["action"] for row in front.calls()[since:] if row["who"] == "laptop" and
               row["action"] != "instances.aggregatedList"]  # polls, while instances are deleted
    assert laptops.count("firewalls.list") == 2, laptops  # to find the cluster, and to remove it
    assert len(laptops) <= 32, laptops


# ---- where Ray fails ----


BIG = {"machineType": "n1-standard-4"}


def test_a_stockout_of_one_of_two(front, laptop):
    """The one that exists is used; the other one comes from another zone."""
    config = cluster(front, worker=BIG)
    config["provider"]["availability_zone"] = "us-central1-a,us-central1-b"
    file = laptop.file("cluster.yaml", config)
    front.stockout(zone="us-central1-a", type="n1-standard-4", left=1)
    laptop("up", "-y", file)
    assert sorted(m.row["zone"][-1] for m in workers(front)) == ["a", "b"]
    down(front, laptop, file)


def test_a_stockout_that_lasts(front, laptop):
    """`up` says why a worker is missing and keeps the other one."""
    file = laptop.file("cluster.yaml", cluster(front, worker=BIG))
    front.stockout(type="n1-standard-4", left=1)
    done = laptop.run("up", "-y", file)
    assert done.status == 1 and "does not have enough resources available" in done.err, done
    assert len(workers(front)) == 1
    said = laptop("explain", file).out
    assert "Why are there fewer workers than min_workers?" in said, said
    assert "launch got 1 of 2" in said and "Nothing is waiting" not in said, said
    front.clear()
    down(front, laptop, file)


def test_a_head_that_is_out_of_stock(front, laptop):
    """Google shows it for a moment: `up` does not wait for it, and takes the next zone."""
    config = cluster(front, 1, worker=BIG)
    config["provider"]["availability_zone"] = "us-central1-a,us-central1-b"
    file = laptop.file("cluster.yaml", config)
    front.set(insert=1.5)
    front.stockout(zone="us-central1-a", type="n1-standard-2", left=0)
    laptop("up", "-y", file)
    assert front.head("demo").row["zone"].endswith("us-central1-b")
    down(front, laptop, file)


def test_a_listing_with_pages(front, laptop):
    front.set(page=2)
    file = laptop.file("cluster.yaml", cluster(front, 4))
    laptop("up", "-y", file)
    assert laptop("status", file).out.count("ready") == 5
    down(front, laptop, file)


def test_an_instance_that_is_gone(front, laptop):
    """A user deleted a worker: another one replaces it, and `down` does not wait for it."""
    file = laptop.file("cluster.yaml", cluster(front))
    laptop("up", "-y", file)
    lost = workers(front)[0].name
    delete(front, laptop, lost)
    wait_for(lambda: len({m.name for m in workers(front)} - {lost}) == 2, 60, 0.1, "another one")
    delete(front, laptop, workers(front)[0].name)
    down(front, laptop, file)


def delete(front, laptop, name):
    """As in Google's console."""
    token = front.mint()["token"]
    done = laptop("-sSf", "-X", "DELETE", "-H", f"Authorization: Bearer {token}",
                  "https://compute.googleapis.com/compute/v1/projects/shoal-test/zones/"
                  f"us-central1-a/instances/{name}", program="curl")
    assert "error" not in json.loads(done.out)
    wait_for(lambda: name not in [m.name for m in front.machines()], 20, 0.05, "its end")


def test_errors_that_pass(front, laptop):
    """One in ten calls fails with 503, then each kind of call twice for its rate."""
    file = laptop.file("cluster.yaml", cluster(front))
    front.fault("*", "error", code="backendError", status=503, count=100000, chance=0.1)
    laptop("up", "-y", file)
    laptop("down", "-y", file)
    front.clear()
    assert front.remains() == {}
    for action in ("instances.aggregatedList", "instances.bulkInsert", "instances.delete"):
        front.fault(action, "error", code="rateLimitExceeded", status=403, count=1)
    laptop("up", "-y", file)
    down(front, laptop, file)


@pytest.mark.parametrize("action", ["DELETE", "STOP"])
def test_a_preempted_instance_leaves_no_disk(front, laptop, action):
    """Also with STOP in the file, which Google bills: the head's service deletes it."""
    front.set(preempt=0.5)
    spot = {**SPOT, "instanceTerminationAction": action}
    file = laptop.file("cluster.yaml", cluster(front, 1, worker={"scheduling": spot}))
    laptop("up", "-y", file)
    lost, = workers(front)
    front.preempt(instance=lost.name)
    wait_for(lambda: len(workers(front)) == 1 and
             lost.name not in [m.name for m in front.machines()], 60, 0.1, "another one")
    assert len(front.ask("truth")["disks"]) == 2
    down(front, laptop, file)


def test_a_leftover_that_is_stopped(front, laptop):
    """A worker that switched itself off: deleted by the service, by `up` and by `down`."""
    file = laptop.file("cluster.yaml", cluster(front, 1))
    laptop("up", "-y", file)
    lost, = workers(front)
    front.power_off(instance=lost.name)
    wait_for(lambda: len(workers(front)) == 1 and
             lost.name not in [m.name for m in front.machines()], 60, 0.1, "another one")
    lost, = workers(front)
    front.head("demo").run("pkill", "-9", "-f", "shoal autoscaler", check=False)
    front.power_off(instance=lost.name)
    wait_for(lambda: lost.name in [m.name for m in front.machines(states=("TERMINATED",))],
             20, 0.05, "its end")
    down(front, laptop, file)
