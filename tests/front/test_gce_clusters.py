"""Whole clusters on Google Compute Engine's stand-in: the head and its workers, from up to down."""

import json

import pytest

import gce_front


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


def test_up_to_down(front):
    laptop = front.laptop("alice")
    file = laptop.file("cluster.yaml", front.cluster("demo", workers=2))
    done = laptop("up", "-y", file)
    assert "demo is up: 3 nodes" in done.err
    assert sorted(m.kind for m in front.alive("demo")) == ["head", "worker", "worker"]
    head = next(m for m in front.alive("demo") if m.kind == "head")
    assert laptop("exec", file, "hostname").out.strip() == head.name
    assert laptop("status", file).out.count("ready") == 3
    done = laptop("down", "-y", file)
    assert "may be listed late" not in done.err  # the head said that it launches nothing
    assert front.remains() == {}
    assert "bug" not in front.log()


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
    """Of `up` with two workers, by caller; a poll or two more than on an idle machine."""
    laptop = front.laptop("alice")
    file = laptop.file("cluster.yaml", front.cluster("demo", workers=2))
    laptop("up", "-y", file)
    laptops = [row["action"] for row in front.calls() if row["who"] == "laptop"]
    heads = [row["action"] for row in front.calls() if row["who"] != "laptop"]
    assert laptops.count("firewalls.list") == 0, laptops
    assert laptops.count("instanceTemplates.insert") == 1, laptops
    assert laptops.count("instances.bulkInsert") == 2, laptops
    assert laptops.count("instances.aggregatedList") <= 7, laptops
    assert laptops.count("instances.getGuestAttributes") <= 4, laptops
    checks = [action for action in laptops if action in PREFLIGHT]
    assert len(set(checks)) == len(checks) <= len(PREFLIGHT), checks
    assert len(laptops) - len(checks) <= 29, laptops
    assert len(heads) <= 14, heads
    since = len(front.calls())
    laptop("down", "-y", file)
    laptops = [row["action"] for row in front.calls()[since:] if row["who"] == "laptop" and
               row["action"] != "instances.aggregatedList"]  # polls, while instances are deleted
    assert laptops.count("firewalls.list") == 2, laptops  # to find the cluster, and to remove it
    assert len(laptops) <= 32, laptops
