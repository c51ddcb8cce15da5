"""A cluster that shuts itself down when a command has finished, without a user."""

import driver
import files
import pytest

SERVICE = "shoal autoscaler"


def gone_by_itself(made):
    head = made.head
    driver.wait_for(lambda: state_of(made, head) == [(True, "stopped")], 60, 0.2,
                    "the end of all workers, and a head that keeps its disk")
    made.down()
    assert made.remains() == {}


def test_stop_with_tmux(cluster):
    made = cluster(files.quick("ending", workers=1))
    made.up()
    done = made("exec", "--tmux", "--stop", "sleep 1; touch ~/was-here")
    assert "terminates its workers and stops" in done.err and "shoal down" in done.err
    gone_by_itself(made)


@pytest.mark.long
def test_the_service_is_killed_on_the_way(cluster):
    """The shutdown request persists: the workers do not come back."""
    made = cluster(files.quick("ending", workers=1))
    made.up()
    made.bed.fault("TerminateInstances", "throttle", count=6)
    asked = made.start("exec", "~/.shoal/bin/shoal ctl --ask terminate")
    driver.wait_for(lambda: made.bed.counts()["TerminateInstances"] > 0, 20)
    driver.in_machine(made.head, "pkill", "-9", "-nf", SERVICE, check=False)
    gone_by_itself(made)
    asked.kill()
    asked.communicate()


def state_of(made, ident):
    found = made.machines(states=("pending", "running", "stopping", "stopped"))
    return [(i["InstanceId"] == ident, i["State"]["Name"]) for i in found]


@pytest.mark.long
def test_an_idle_cluster_rests_and_the_next_up_resumes_it(cluster):
    """After half a minute without tasks or drivers, the worker is terminated and the head is
    stopped with its disk.
    """
    made = cluster(files.quick("resting", workers=1, metadata={"shoal": {"idle_stop": 0.4}}))
    made.up()
    head = made.head
    driver.in_machine(head, "touch", "/home/ubuntu/mine")
    busy = made.start("exec", "python3 -c 'import ray, time; ray.init(address=\"auto\"); "
                              "time.sleep(40)'")
    driver.wait_for(lambda: busy.poll() is not None, 70, 0.5, "the end of the driver")
    assert len(made.machines(states=("running",))) == 2, "a driver was connected all the time"
    driver.wait_for(lambda: state_of(made, head) == [(True, "stopped")], 70, 0.5, "its rest")
    said = made.up()
    assert "was stopped; starting it" in said.err
    assert made.head == head
    driver.in_machine(head, "ls", "/home/ubuntu/mine")
    driver.wait_for(lambda: made.alive() == 2, 60, 0.2, "a Ray of the right size")
    made("down", "-y")
    assert made.remains() == {}
