"""The most frequent first mistake: a setup command that fails on the head and on every worker.

A failed head launches nothing, failed workers end although Ray on the head never answers, `ls` and
`status` say what happened, and `up` with a corrected file repairs the cluster.
"""

import json
import os

import pytest

import gce_front
from front import Front, wait_for

WRONG = "echo no such package >&2; exit 7"


@pytest.fixture(name="front", params=["aws", "gcp"])
def _front(request):
    if request.param == "gcp" and gce_front.missing():
        assert os.environ.get("SHOAL_REQUIRE_BED") != "1", gce_front.missing()
        pytest.skip(gce_front.missing())
    with (Front() if request.param == "aws" else gce_front.GceFront()) as front:
        yield front


def ids(front, kind):
    return sorted(m.id for m in front.alive("demo") if m.kind == kind)


def listed(laptop):
    [demo] = json.loads(laptop("ls", "-o", "json").out)["clusters"]
    return demo["state"]


def test_wrong_setup_command(front):
    laptop = front.laptop("alice")
    file = laptop.file("cluster.yaml", front.cluster("demo", workers=2, setup_commands=[WRONG]))
    done = laptop.run("up", "-y", file)
    assert done.status == 1, done
    assert "error: head (" in done.err and "failed in setup command 1 of 1" in done.err, done
    assert "except those whose setup fails: the head terminates them" in done.err, done
    assert listed(laptop) == "failed"  # at once
    before = {m.id for m in front.machines("demo")}

    # Nothing runs on the workers, and no view of Ray will ever say so.
    wait_for(lambda: ids(front, "worker") == [], what="the end of the failed workers")
    assert {m.id for m in front.machines("demo")} <= before, "a replacement was launched"
    assert len(ids(front, "head")) == 1
    assert listed(laptop) == "failed"

    done = laptop.run("status", file)
    assert (done.out + done.err).count("error:") == 1, done
    assert "failed in setup command 1 of 1 (exit status 7)" in done.out, done
    assert "Also failed: worker-1, worker-2." in done.out, done
    assert "run `shoal up` again" in done.out, done
    assert "Launches are paused: the setup of the head failed" in done.out, done
    [head] = [n for n in json.loads(laptop("status", "-o", "json", file).out)["nodes"]
              if n["name"] == "head"]
    assert (head["phase"], head["failure"]["command"]) == ("failed", WRONG)

    # The same head, with as many workers as the file says.
    heads = ids(front, "head")
    file = laptop.file("cluster.yaml", front.cluster("demo", workers=2))
    done = laptop("up", "-y", file)
    assert "demo is up: 3 nodes" in done.err, done
    assert ids(front, "head") == heads
    assert len(ids(front, "worker")) == 2
    assert listed(laptop) == "up"
    assert laptop("status", file).out.count("ready") == 3
    laptop("down", "-y", file)
    assert front.remains() == {}


def test_only_the_head_fails(front):
    """Workers that are set up wait for the head: the corrected file finds them."""
    laptop = front.laptop("alice")
    file = laptop.file("cluster.yaml",
                       front.cluster("demo", workers=1, head_setup_commands=[WRONG]))
    assert laptop.run("up", "-y", file).status == 1
    [worker] = wait_for(lambda: ids(front, "worker"), what="the worker")
    file = laptop.file("cluster.yaml", front.cluster("demo", workers=1))
    assert "demo is up: 2 nodes" in laptop("up", "-y", file).err
    assert ids(front, "worker") == [worker]
    laptop("down", "-y", file)
    assert front.remains() == {}
