"""A head that shuts down from inside keeps its disk: it is stopped, and every command says so."""

import os
import re

import pytest

import gce_front
from cloud.client import BedError
from front import Front, wait_for

STOPPED = ("stopped", "TERMINATED")


@pytest.fixture(name="front", params=["aws", "gcp"])
def _front(request):
    if request.param == "gcp" and gce_front.missing():
        assert os.environ.get("SHOAL_REQUIRE_BED") != "1", gce_front.missing()
        pytest.skip(gce_front.missing())
    with (Front() if request.param == "aws" else gce_front.GceFront()) as front:
        front.is_aws = request.param == "aws"
        yield front


def heads(front):
    return [m for m in front.machines("demo") if m.kind == "head"]


def power_off(front):
    [head] = heads(front)
    head.run("sudo", "-n", "shutdown", "-h", "now", check=False)
    is_stopped(front, head.id)


def can_run(front):
    try:
        return front.head("demo").run("true", check=False) is not None
    except BedError:
        return False


def is_stopped(front, name):
    wait_for(lambda: [m.id for m in heads(front) if m.state in STOPPED] == [name], 60, 0.1,
             "a head that is stopped, with its disk")


def is_named(front, laptop):
    """By the commands that a person types who wonders what still costs money."""
    listed = laptop("ls").out
    assert "stopped" in listed and "shoal down demo --region" in listed, listed
    said = " ".join(laptop("gc").err.split())
    assert "demo is stopped, and its disks are billed" in said, said
    assert "shoal down demo --region" in said, said
    assert len(heads(front)) == 1


def test_poweroff(front):
    laptop = front.laptop("alice")
    file = laptop.file("cluster.yaml", front.cluster("demo", workers=0))
    laptop("up", "-y", file)
    [head] = heads(front)
    (head.home / "results").write_text("precious")
    power_off(front)
    is_named(front, laptop)
    # The lease lasts a while longer than its holder.
    said = laptop.run("up", "-y", file)
    words = " ".join(said.err.split())
    assert said.status == 1, said
    assert re.search(r"the head \S+ was shut down and its disk is billed", words), said
    assert "run shoal up again in a minute" in words, said
    assert [m.id for m in heads(front)] == [head.id]
    assert (head.home / "results").read_text() == "precious"
    laptop("down", "-y", file)
    assert front.remains() == {}


def test_a_head_that_was_never_set_up(front):
    """Its own script powers it off, and the next command finds it."""
    laptop = front.laptop("alice")
    file = laptop.file("cluster.yaml", front.cluster("demo", workers=0))
    done = laptop.run("up", "-y", file, env={"SHOAL_FAILPOINT": "up:after-head-launch"})
    assert done.status == -9, done
    wait_for(lambda: can_run(front), what="the head")
    power_off(front)
    is_named(front, laptop)
    laptop("down", "-y", file)
    assert front.remains() == {}


def test_idle_stop_that_was_added_later(front):
    laptop = front.laptop("alice")
    file = laptop.file("cluster.yaml", front.cluster("demo", workers=0))
    laptop("up", "-y", file)
    [head] = heads(front)
    (head.home / "results").write_text("precious")
    config = front.cluster("demo", workers=0, metadata={"shoal": {"idle_stop": 0.02}})
    laptop("up", "-y", laptop.file("cluster.yaml", config))
    is_stopped(front, head.id)
    said = " ".join(laptop("up", "-y", laptop.file("cluster.yaml", front.cluster(
        "demo", workers=0))).err.split())
    assert "was stopped; starting it (its disk was billed)" in said, said
    [again] = front.alive("demo")
    assert again.id == head.id
    assert (again.home / "results").read_text() == "precious"
    laptop("down", "-y", file)
    assert front.remains() == {}


@pytest.mark.parametrize("front", ["aws"], indirect=True)
def test_the_file_decides(front):
    """A node_config that says `terminate` is obeyed. Compute Engine has no such setting."""
    laptop = front.laptop("alice")
    config = front.cluster("demo", workers=0)
    config["available_node_types"]["head"] = {
        **config["available_node_types"]["head"], "node_config": {
            **config["available_node_types"]["head"]["node_config"],
            "InstanceInitiatedShutdownBehavior": "terminate"}}
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    front.head("demo").run("sudo", "-n", "shutdown", "-h", "now", check=False)
    wait_for(lambda: front.alive("demo") == [], what="the end of the head")
    laptop("down", "-y", file)
    assert front.remains() == {}
