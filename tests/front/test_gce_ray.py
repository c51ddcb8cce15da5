"""What Ray's own launcher does on the stand-in for Google: what Shoal is compared with.

`test_up_and_down` has real Ray on the machines; the others call Ray's provider alone, and describe
its faults. They fail when a new version of Ray is better.
"""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest
import ray_up_gce
from front import BUILD, wait_for
from gce_front import GceFront

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "conformance"))
import guarantees  # noqa: E402

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFRlc3RUZXN0VGVzdFRlc3RUZXN0VGVzdFRlc3RUZXN0 me\n"
pytestmark = pytest.mark.long
LABELS = {"ray-node-name": "ray-demo-worker", "ray-node-type": "worker",
          "ray-user-node-type": "worker"}


@pytest.mark.parametrize("version", [2, 1])
def test_up_and_down(version):
    with GceFront(ray=ray_up_gce.RAY, **ray_up_gce.DELAYS) as front:
        run = ray_up_gce.Run(front, 2, version)
        result = run.measure()
        print(json.dumps(result, indent=1))
        # Its service account and its key stay.
        assert set(result["left"]) == {"accounts", "items"}
        assert "bug" not in front.log()


def test_a_service_account_that_is_not_known_yet():
    """The first `up` of a project ends in a traceback; the account stays."""
    with GceFront(ray=ray_up_gce.RAY, account_lag=5) as front:
        done = ray_up_gce.Run(front).ray("up", "-y", "--no-config-cache", "cluster.yaml")
        assert done.status == 1 and "Traceback" in done.err
        assert "gserviceaccount.com does not exist" in done.err
        assert front.machines() == []


class Provider:
    """Ray's provider on a laptop; an exception becomes a dict with `error`."""

    def __init__(self, front):
        self.file = front.cluster("demo")
        laptop = front.laptop()
        program = laptop.file("provider.py", (HERE / "gce_ray_provider.py").read_text())
        self.child = laptop.start(
            program, json.dumps(self.file["provider"]), "demo",
            program=ray_up_gce.RAY.parent / "python", stdin=subprocess.PIPE)
        assert self.child.stdout.readline() == "{}\n", self.child.stderr.read()

    def __call__(self, *words):
        self.child.stdin.write(json.dumps(words) + "\n")
        self.child.stdin.flush()
        result = json.loads(self.child.stdout.readline())
        return result if "error" in result else result["value"]

    def create(self, count, **more):
        node = self.file["available_node_types"]["worker"]["node_config"]
        nic = {"network": "projects/shoal-test/global/networks/default",
               "accessConfigs": [{"type": "ONE_TO_ONE_NAT"}]}
        return self("create_node", {**node, "networkInterfaces": [nic], **more}, LABELS, count)


@pytest.fixture(scope="module")
def running():
    with GceFront() as front:
        yield front, Provider(front)


@pytest.fixture
def front(running):
    front, _ = running
    for machine in front.machines():
        running[1]("terminate_node", machine.name)
    front.clear()
    front.set(page=500, preempt=0.5)
    return front


@pytest.fixture
def provider(running):
    return running[1]


def test_a_stockout_of_one_of_two(front, provider):
    """An exception; the other instance lives, and the caller does not know its name."""
    front.stockout(zone="us-central1-a", left=1)
    result = provider.create(2)
    assert "ZONE_RESOURCE_POOL_EXHAUSTED" in result["text"]
    assert len(front.alive()) == 1
    assert front.alive()[0].name not in result["text"]


def test_only_the_first_page(front, provider):
    """Five instances, pages of three: two are invisible."""
    assert len(provider.create(5)) == 5
    front.set(page=3)
    assert len(provider("non_terminated_nodes", {})) == 3


def test_an_instance_that_is_gone(front, provider):
    result = provider("terminate_node", "ray-demo-worker-12345678-compute")
    assert result["error"] == "UnboundLocalError"


@pytest.mark.parametrize("status, reason", [(503, "backendError"), (403, "rateLimitExceeded")])
def test_errors_that_pass(front, provider, status, reason):
    """No retry: the call fails although the next one would succeed."""
    front.fault("instances.list", "error", code=reason, status=status)
    result = provider("non_terminated_nodes", {})
    assert result["error"] == "HttpError" and str(status) in result["text"]
    assert provider("non_terminated_nodes", {}) == []


def test_a_preempted_instance_keeps_its_disk(front, provider):
    """Ray no longer sees it, and its disk costs money."""
    spot = {"provisioningModel": "SPOT", "instanceTerminationAction": "STOP",
            "onHostMaintenance": "TERMINATE", "automaticRestart": False}
    (name, _), = provider.create(1, scheduling=spot).items()
    front.preempt(instance=name)
    wait_for(lambda: [m.state for m in front.machines()] == ["TERMINATED"], 30, 0.1, "its end")
    assert provider("non_terminated_nodes", {}) == []
    assert len(front.remains()["disks"]) == 1


def test_the_rules_of_every_provider():
    """Ray's class behind the adapter, as a plug-in, with the guarantees of Ray's classes."""
    with GceFront() as front:
        laptop = front.laptop()
        laptop.file("key.pub", KEY)
        front.stockout(zone="us-central1-a", type="e2-micro", left=2)
        place = laptop.here / "tests" / "conformance"  # a laptop does not see this host's /tmp
        place.mkdir(parents=True)
        shutil.copy(BUILD / "tests" / "conformance" / "conform", place)
        shutil.copy(HERE.parent / "conformance" / "ray_class_plugin", place)
        shutil.copytree(HERE.parents[1] / "src" / "app" / "python", laptop.here / "src/app/python")
        file = front.cluster("conform")
        node = file["available_node_types"]["head"]
        kinds = {name: {**node, "max_workers": 20, "node_config": {
            **node["node_config"], "machineType": machine}} for name, machine in (
                ("head", "e2-small"), ("worker", "e2-small"), ("scarce", "e2-micro"))}
        config = {"provider": {**file["provider"], "type": "gcp"}, "available_node_types": kinds,
                  "head_node_type": "head", "max_workers": 20, "auth": {"ssh_user": "ubuntu"}}
        done = laptop.run(
            "rules", "--cloud", "external", "--cluster", "conform", "--image",
            str(place / "ray_class_plugin"), "--key", str(laptop.here / "key.pub"), "--zone", "a",
            "--zone", "b", "--plain", program=str(place / "conform"), seconds=1500, env={
                "RAY_CLASS": "ray.autoscaler._private.gcp.node_provider.GCPNodeProvider",
                "RAY_PYTHON": str(ray_up_gce.RAY.parent / "python"),
                "RAY_CONFIG": json.dumps(config), "RAY_PROVIDER": json.dumps(
                    {**file["provider"], "type": "external"}),
                "SHOAL_PLUGIN_STATE": str(laptop.here / "cloud.json"),
                "SHOAL_PLUGIN_MS": "300000", "SHOAL_ADAPTER_DELAY_S": "3"})
        assert done.status == 0, str(done)
        guarantees.check("Ray's classes", done.out)
