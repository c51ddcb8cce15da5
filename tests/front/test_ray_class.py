"""`provider.module`: a node provider class of Ray, unchanged, from `up` to `down`."""

import json
import pathlib
import shutil
import sys

import pytest
from front import BUILD, IMAGE, wait_for

HERE = pathlib.Path(__file__).resolve().parent


def cluster(front, laptop, name="FrontProvider", workers=1, **shoal):
    """The file of a cluster whose nodes a class creates. The class is a file next to it."""
    laptop.file("my_cloud.py", (HERE / "front_provider.py").read_text(encoding="utf-8"))
    config = front.cluster("demo", workers=workers)
    keys = {name.lower(): laptop.more[name] for name in (
        "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")}
    config["provider"] = {"type": "external", "module": f"my_cloud.{name}", "keys": keys,
                          "region": config["provider"]["region"],
                          "endpoint": laptop.env()["AWS_ENDPOINT_URL"]}
    # As with Ray, keys that it requires are in the file.
    config |= {"file_mounts": {}, "cluster_synced_files": [], "initialization_commands": [],
               "worker_setup_commands": [], "rsync_exclude": [], "rsync_filter": [],
               "metadata": {"shoal": {"python": sys.executable, "user_data_key": "UserData",
                                      **shoal}}}
    return config


def test_up_and_down(front):
    laptop = front.laptop()
    config = cluster(front, laptop)
    file = laptop.file("cluster.yaml", config)
    said = laptop("check", file).out
    for words in ("FrontProvider", "no idempotency tokens", "no atomic compare-and-swap",
                  "in the tags of its head"):
        assert words in said, said
    assert front.alive() == []
    laptop("up", "-y", file)
    assert sorted(m.kind for m in front.alive("demo")) == ["head", "worker"]
    # The service on the head launches the next one, with the class that `up` sent there.
    config["available_node_types"]["worker"] |= {"min_workers": 2, "max_workers": 2}
    config["max_workers"] = 2
    laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    wait_for(lambda: len(front.alive("demo")) == 3, what="the second worker")
    assert any(row["who"] == "alice" or row["as"] == "alice" for row in front.calls(
        action="RunInstances"))
    laptop("down", "-y", file)
    assert front.alive() == [] and laptop.leftovers() == []


def test_a_class_that_exits(front):
    laptop = front.laptop()
    file = laptop.file("cluster.yaml", cluster(front, laptop, "Leaving"))
    done = laptop.run("up", "-y", file)
    assert done.status == 1 and "log in first: front login" in done.out + done.err, str(done)
    assert front.alive() == []
    laptop("down", "-y", file)


KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFRlc3RUZXN0VGVzdFRlc3RUZXN0VGVzdFRlc3RUZXN0 me\n"


@pytest.mark.long
def test_rays_own_class_for_aws(front):
    """It keeps the rules of every provider, with weaker guarantees."""
    laptop = front.laptop()
    laptop.file("key.pub", KEY)
    front.capacity(2, type="c5.large")
    place = laptop.here / "tests" / "conformance"  # a laptop does not see this host's /tmp
    place.mkdir(parents=True)
    shutil.copy(BUILD / "tests" / "conformance" / "conform", place)
    shutil.copy(HERE.parent / "conformance" / "ray_class_plugin", place)
    shutil.copytree(HERE.parents[1] / "src" / "app" / "python", laptop.here / "src/app/python")
    kinds = {name: {"node_config": {"ImageId": IMAGE, "InstanceType": machine}, "resources": {},
                    "min_workers": 0, "max_workers": 20}
             for name, machine in (("head", "m5.large"), ("worker", "m5.large"),
                                   ("scarce", "c5.large"))}
    config = {"available_node_types": kinds, "head_node_type": "head", "max_workers": 20,
              "auth": {"ssh_user": "ubuntu"}}
    done = laptop.run(
        "rules", "--cloud", "external", "--cluster", "conform", "--image",
        str(place / "ray_class_plugin"), "--key", str(laptop.here / "key.pub"), "--zone", "a",
        "--zone", "b", "--plain", program=str(place / "conform"),
        seconds=270, env={
            "RAY_CLASS": "ray.autoscaler._private.aws.node_provider.AWSNodeProvider",
            "RAY_PYTHON": sys.executable, "RAY_CONFIG": json.dumps(config),
            "SHOAL_PLUGIN_STATE": str(laptop.here / "cloud.json"), "SHOAL_PLUGIN_MS": "100000",
            "SHOAL_ADAPTER_DELAY_S": "3"})
    print(done.out)
    failed = [line for line in done.out.splitlines() if line.startswith("FAIL")]
    assert done.status == 0, str(done)
    assert failed == []
