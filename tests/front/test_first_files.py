"""The first files of a user on AWS lead to a cluster that works: the README's, what `shoal init`
writes, and examples/clusters.

`check` says ready, without a warning; `up` brings the cluster up; the head launches a worker by
itself, with its role; `down` leaves nothing. In two regions in CI, in six of them in `long`
(docs/results/2026-11-19-first-files.md). Without containers, and with a stand-in for Ray.
"""

import json
import pathlib
import re

import pytest
from cloud import settings
from front import Front, wait_for

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path.name for path in (REPOSITORY / "examples/clusters").glob("aws-*.yaml"))
REGIONS = ("us-west-2", "eu-north-1", "us-east-1", "eu-central-1", "ap-south-1", "ap-northeast-1")
IN_CI = REGIONS[:2]  # Ray has no default image in the second one
# x86_64 types of the examples and their arm64 counterparts.
ARM = {"m5.": "m6g.", "c5.": "c6g.", "g5.12xlarge": "g5g.16xlarge", "g5.": "g5g."}
# EC2 has no g5g in these regions; in the third one not in the zones that the file names.
NO_ARM_GPUS = {(region, name) for region in ("eu-north-1", "ap-south-1")
               for name in ("init-gpu", "aws-gpu-spot.yaml", "aws-mixed.yaml")} | {
                   ("eu-central-1", "aws-mixed.yaml")}
# The subject of aws-2019-style.yaml.
OLD = "head_node and worker_nodes are the old format of node types"
SECONDS = 120


def readme():
    """The cluster file of the README, as its commands leave it."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    made, = re.findall(r"^\$ printf '(.*)' > cluster\.yaml$", text, re.M)
    return made.replace("\\n", "\n").replace("max_worker:", "max_workers:")


def example(name):
    return (REPOSITORY / "examples/clusters" / name).read_text(encoding="utf-8")


def move(text, region, arch):
    """The same file for another region and architecture."""
    letters = settings.zones(region)
    text = re.sub(r"us-(?:west|east)-\d([abc]?)", lambda found: region + (
        letters["abc".index(found[1])] if found[1] else ""), text)
    for old, new in ARM.items() if arch == "arm64" else ():
        text = text.replace(old, new)
    return text


def dress(front, text):
    """What the image or a download brings on a real machine, if the file wants it."""
    if "docker:" in text:
        front.install_docker()
        image = front.folder / "image"
        stub = image / "usr/lib/python3/dist-packages/ray/__init__.py"
        stub.parent.mkdir()
        stub.write_text("__version__ = '2.60.0'\n", encoding="ascii")
        (image / "usr/local/bin/python").symlink_to("/usr/bin/python3")
        group = image / "etc/group"
        if "\ndocker:" not in group.read_text(encoding="utf-8"):
            group.write_text(group.read_text(encoding="utf-8") + "docker:x:999:\n",
                             encoding="utf-8")


def lead(front, file, text):
    """From `check` to `down`."""
    laptop = front.laptop("alice")
    done = laptop("check", file)
    assert " is ready for aws " in done.out, done
    assert set(re.findall(r"warning: (.*)", done.out + done.err)) <= {OLD}, done
    laptop("up", "-y", file)
    kinds = {m.id for m in front.alive()}
    demand = [{"GPU": 1}] if re.search(r"\bg5g?\.", text) else [{"CPU": 1}] * (2 * len(kinds) + 4)
    laptop("exec", file, f"echo '{json.dumps(demand)}' > /tmp/ray/demand.json")
    wait_for(lambda: [m for m in front.alive() if m.id not in kinds], SECONDS, 0.1,
             "a worker that the head launched")
    # It is set up like the others, GPUs included.
    wait_for(lambda: laptop("status", file).out.count("ready") > len(kinds), SECONDS, 0.5,
             "Ray on it")
    launches = [row for row in front.calls(action="RunInstances") if row["who"] != "laptop"]
    assert launches and all(row["as"].startswith("role/") for row in launches), launches
    refused = [row for row in front.calls() if row.get("refused") and row["who"] != "laptop"]
    assert refused == [], refused
    laptop("down", "-y", file)
    assert front.remains() == {}
    assert laptop.leftovers() == []
    assert "bug" not in front.log()


def run(region, text):
    with Front(region=region) as front:
        dress(front, text)
        lead(front, front.laptop("alice").file("cluster.yaml", text), text)


def places(files):
    """Parameters: all regions; those that CI does not run are long."""
    return [pytest.param(region, arch, name, id=f"{name}-{region}-{arch}",
                         marks=[] if region in IN_CI[:1] or
                         (region in IN_CI and name in ("README", "init", "init-gpu")) else
                         pytest.mark.long)
            for region in REGIONS for name in files for arch in ("x86_64", "arm64")
            if arch == "x86_64" or not (name == "README" or  # it names no instance type
                                        (region, name) in NO_ARM_GPUS)]


@pytest.mark.parametrize("region, arch, name", places(["README", *EXAMPLES]))
def test_a_file_of_the_documentation(region, arch, name):
    run(region, move(readme() if name == "README" else example(name), region, arch))


@pytest.mark.parametrize("region, arch, name", places(["init", "init-gpu"]))
def test_a_file_of_init(region, arch, name):
    kinds = {("init", "x86_64"): "m5.large", ("init", "arm64"): "m6g.large",
             ("init-gpu", "x86_64"): "g5.xlarge", ("init-gpu", "arm64"): "g5g.xlarge"}
    with Front(region=region) as front:
        laptop = front.laptop("alice")
        laptop("init", "-y", "--region", region, "-t", kinds[name, arch], "cluster.yaml")
        file = laptop.here / "cluster.yaml"
        lead(front, file, file.read_text(encoding="utf-8"))


def test_a_region_that_does_not_exist(front):
    done = front.laptop("alice").run("init", "-y", "--region", "us-wset-2")
    assert done.status != 0 and "did you mean us-west-2?" in done.err


# ---- GPUs ----


def gpus(front, **node):
    """A cluster with one GPU worker and an image of its own."""
    config = front.cluster("demo", workers=1)
    kinds = config["available_node_types"]
    kinds["head"] = json.loads(json.dumps(kinds["head"]))
    kinds["worker"] = json.loads(json.dumps(kinds["worker"]))
    kinds["worker"]["node_config"].update({"InstanceType": "g5.xlarge", **node})
    return config


def test_a_driver_that_is_installed_late():
    """The worker waits for it."""
    with Front(driver=15) as front:
        laptop = front.laptop("alice")
        file = laptop.file("cluster.yaml", gpus(front))
        done = laptop("up", "-y", file)
        worker, = [m for m in front.alive() if m.kind == "worker"]
        assert "GPU 0" in worker.run("nvidia-smi", "-L"), done
        assert "GPU check" in front.head().run("sh", "-c", "cat ~/.shoal/log/* ~/.shoal/*/log/*",
                                               check=False)
        laptop("down", "-y", file)
        assert front.remains() == {}


def test_a_driver_that_is_not_there():
    """The worker ends with the remedy, instead of taking tasks that fail in CUDA."""
    with Front(times="horizon=2000,call_timeout=10000,gpu=500") as front:
        laptop = front.laptop("alice")
        file = laptop.file("cluster.yaml", gpus(front, ImageId="ami-0bed0000000000001"))
        done = laptop.run("up", "-y", file)
        assert done.status == 1, done
        said = done.out + done.err
        assert "GPU check" in said and "shows 0 of the 1 GPUs of this machine" in said, said
        assert "Deep Learning AMI" in said, said
        laptop("down", "-y", file)
        assert front.remains() == {}


# ---- registries ----


def test_a_registry_that_limits_pulls(front):
    """One worker fails, and no other one is launched to fail in the same way."""
    front.install_docker()
    place = front.folder / "image/usr/local/bin/docker"
    place.write_text(place.read_text(encoding="utf-8").replace(
        "pull) ", 'pull) [ ! -e /home/ubuntu/.limited ] || { echo "toomanyrequests: You have '
        'reached your pull rate limit." >&2; exit 1; }; '), encoding="utf-8")
    laptop = front.laptop("alice")
    config = front.cluster("demo", workers=1, docker={"image": "ray:1", "container_name": "box"})
    config["available_node_types"]["worker"] = {
        **config["available_node_types"]["worker"],
        "initialization_commands": ["touch /home/ubuntu/.limited"]}
    file = laptop.file("cluster.yaml", config)
    done = laptop.run("up", "-y", file)
    assert done.status == 1 and "behind one address" in done.out + done.err, done
    wait_for(lambda: [m.kind for m in front.alive()] == ["head"], SECONDS, 0.2, "its end")
    said = wait_for(lambda: (text := laptop.run("status", file).out) if "toomanyrequests" in
                    laptop.run("status", file).out else None, SECONDS, 0.5, "the reason")
    assert "cannot be launched now" in said or "no further" in said, said
    launched = [m for m in front.machines(states=("pending", "running", "shutting-down", "stopped",
                                                  "terminated")) if m.kind == "worker"]
    assert len(launched) == 1, [m.row for m in launched]
    laptop("down", "-y", file)
    assert front.remains() == {}
