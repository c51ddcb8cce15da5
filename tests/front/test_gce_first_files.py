"""The first files of a user on Google Cloud lead to a cluster that works: the examples and what
`shoal init` writes. As test_first_files.py for AWS, on the stand-in for Compute Engine.
"""

import json
import pathlib
import re

import gce_front
import pytest
from front import wait_for
from gce import settings as google

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path.name for path in (REPOSITORY / "examples/clusters").glob("gcp-*.yaml"))
ZONE = "us-central1-b"  # as in a file of init; it has L4 GPUs
SECONDS = 120


@pytest.fixture(name="front")
def _front():
    assert gce_front.missing() is None, gce_front.missing()
    with gce_front.GceFront() as front:
        yield front
        assert "bug" not in front.log()


def example(name):
    """For this project, and for a zone that the stand-in has."""
    text = (REPOSITORY / "examples/clusters" / name).read_text(encoding="utf-8")
    text = re.sub(r"(availability_zone:) \S+", rf"\1 {ZONE}", text)
    text = re.sub(r"(region:) \S+", rf"\1 {ZONE[:-2]}", text)
    return text.replace("my-project-id", google.PROJECT)


def lead(front, laptop, file):
    """From `check` to `down`."""
    text = file.read_text(encoding="utf-8")
    done = laptop("check", file)
    assert " is ready for gcp " in done.out and "warning" not in done.out + done.err, done
    laptop("up", "-y", file)
    names = {m.name for m in front.alive()}
    demand = [{"GPU": 1}] if "GPU" in text else [{"CPU": 1}] * 9
    laptop("exec", file, f"echo '{json.dumps(demand)}' > /tmp/ray/demand.json")
    wait_for(lambda: [m for m in front.alive() if m.name not in names], SECONDS, 0.1,
             "a worker that the head launched")
    wait_for(lambda: laptop("status", file).out.count("ready") > len(names), SECONDS, 0.5,
             "Ray on it")
    assert [row for row in front.calls(action="instances.bulkInsert") if row["who"] != "laptop"]
    laptop("down", "-y", file)
    assert front.remains() == {}
    assert laptop.leftovers() == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example(front, name):
    laptop = front.laptop("alice")
    lead(front, laptop, laptop.file("cluster.yaml", example(name)))


@pytest.mark.parametrize("kind", ["n2-standard-4", "t2a-standard-4", "g2-standard-8"])
def test_a_file_of_init(front, kind):
    laptop = front.laptop("alice")
    laptop("init", "-y", "--provider", "gcp", "--project", google.PROJECT, "--region", ZONE[:-2],
           "-t", kind, "cluster.yaml")
    lead(front, laptop, laptop.here / "cluster.yaml")


def test_a_driver_that_is_installed_late(front):
    """As with a Deep Learning VM, which installs it at the first boot."""
    front.set(driver=15)
    laptop = front.laptop("alice")
    lead(front, laptop, laptop.file("cluster.yaml", example("gcp-gpu-spot.yaml")))
