"""`up` reports failures in the terminal, with what to do next, and in its exit status."""

import re
import signal
import time

import driver
import files
import pytest


def told(done):
    return done.out + done.err


def test_a_worker_whose_set_up_fails(cluster):
    """The message names the node, the step, the command, its output, the log and what to do; the
    other nodes run.
    """
    made = cluster(files.quick("fails", workers=1, worker_setup_commands=[
        "true", "echo 'no such thing: torch==9.9' >&2; exit 3"]))
    done = made.run("up", "-y", seconds=120)
    text = told(done)
    assert done.status == 1, str(done)
    assert re.search(r"error: worker.1 .*i-[0-9a-f]+.*failed in setup command 2 of 2", text), text
    assert "exit 3" in text and "no such thing: torch==9.9" in text, text
    assert f"shoal logs {made.path} worker-1" in text, text
    assert f"run `shoal up {made.path}` again" in text, text
    # The head works and stays; failed workers are terminated and replaced twice, not forever.
    assert [driver.tag_of(i, "ray-node-type") for i in made.machines()][0] == "head"
    assert made.run("exec", "true", seconds=30).status == 0
    driver.wait_for(lambda: "no more launches after 3 failures" in made("status").out, 120)
    calls = made.bed.counts()["RunInstances"]
    assert calls == 1 + 3, "the head, and three workers"
    time.sleep(2)
    assert made.bed.counts()["RunInstances"] == calls, "launched again and again"
    # After the fix only the workers are set up.
    made.rewrite(worker_setup_commands=["true"])
    made.up()
    assert len(made.machines()) == 2
    assert len(made.registered()) == 2, "the head was not left alone"
    made.down()
    assert made.remains() == {}


def test_a_head_whose_set_up_fails(cluster):
    made = cluster(files.quick("fails", workers=1, head_setup_commands=["exit 4"]))
    done = made.run("up", "-y", seconds=60)
    assert done.status == 1 and re.search(r"error: .*head.* failed", told(done)), str(done)
    assert "exit 4" in told(done), str(done)
    made.down()
    assert made.remains() == {}


@pytest.mark.long
def test_a_full_disk(cluster):
    """On a worker: found before any step runs, with a message that names the disk."""
    made = cluster(files.quick("full-disk", workers=1))
    kinds = made.config["available_node_types"]
    kinds["worker"]["node_config"]["InstanceType"] = "m5.xlarge"
    made.rewrite()
    made.bed.launch_fault("disk-full", type="m5.xlarge", count=0)
    done = made.run("up", "-y", seconds=120)
    assert done.status == 1, str(done)
    assert re.search(r"worker.1", told(done)), str(done)
    assert re.search(r"disk|space", told(done)), str(done)
    made.down()
    assert made.remains() == {}


@pytest.mark.parametrize("kind", ["worker", pytest.param("head", marks=pytest.mark.long)])
def test_an_sshd_that_never_comes(cluster, kind):
    """`up` gives up after the time that Ray's variable allows, and names the instance."""
    made = cluster(files.quick("no-sshd", workers=1))
    kinds = made.config["available_node_types"]
    kinds[kind]["node_config"]["InstanceType"] = "m5.xlarge"
    made.rewrite()
    made.bed.launch_fault("no-sshd", type="m5.xlarge", count=0)
    done = made.run("up", "-y", seconds=90, env={"AUTOSCALER_NODE_START_WAIT_S": "6"})
    assert done.status == 1, str(done)
    assert "ssh" in told(done) and kind in told(done), str(done)
    made.down()
    assert made.remains() == {}


def test_nothing_is_made_for_a_bad_file(cluster):
    """A wrong image is found before any instance, group or key exists."""
    config = files.quick("bad")
    for kind in config["available_node_types"].values():
        kind["node_config"]["ImageId"] = "ami-0123456789abcdef0"
    made = cluster(config)
    done = made.run("up", "-y", seconds=60)
    assert done.status == 1 and "ami-0123456789abcdef0" in told(done), str(done)
    assert made.remains() == {}


def test_no_room_for_workers(cluster):
    """The cloud's reason is shown in the terminal; the head works."""
    made = cluster(files.quick("crowded", workers=2))
    kinds = made.config["available_node_types"]
    kinds["worker"]["node_config"]["InstanceType"] = "m5.xlarge"
    made.rewrite()
    made.bed.capacity(1, type="m5.xlarge")
    done = made.run("up", "-y", seconds=110)
    assert done.status == 1, str(done)
    assert "m5.xlarge" in told(done) and re.search("capacity|no room", told(done)), str(done)
    assert len(made.registered()) == 2
    made.down()
    assert made.remains() == {}


def test_ctrl_c_says_what_is_left(cluster):
    made = cluster(files.quick("stopped", workers=1))
    made.bed.set(boot_delay=20)
    child = made.start("up", "-y")
    driver.wait_for(lambda: len(made.machines()) == 2, 30)
    began = time.monotonic()
    out, err = made.laptop.stop(child, signal.SIGINT, 20)
    assert child.returncode == 130, (out, err)
    assert time.monotonic() - began < 10
    assert "shoal down" in out + err and "shoal up" in out + err, (out, err)
    made.down()
    assert made.remains() == {}
