"""A cluster that ends itself when a command has ended, with nobody there."""

import driver
import files
import pytest

SERVICE = "shoal autoscaler"


def gone_by_itself(made):
    driver.wait_for(lambda: not made.machines(), 40, 0.2, "the end of all machines")
    left = made.remains()
    assert "groups" in left and "machines" not in left, left
    made.down()
    assert made.remains() == {}


def test_stop_with_tmux(cluster):
    made = cluster(files.quick("ending", workers=1))
    made.up()
    done = made("exec", "--tmux", "--stop", "sleep 1; touch ~/was-here")
    assert "ends its workers and itself" in done.err and "shoal down" in done.err
    gone_by_itself(made)


@pytest.mark.long
def test_the_service_is_killed_on_the_way(cluster):
    """What was asked for is not forgotten: the workers do not come back."""
    made = cluster(files.quick("ending", workers=1))
    made.up()
    made.bed.fault("TerminateInstances", "throttle", count=6)
    asked = made.start("exec", "~/.shoal/bin/shoal ctl --ask end")
    driver.wait_for(lambda: made.bed.counts()["TerminateInstances"] > 0, 20)
    driver.in_machine(made.head, "pkill", "-9", "-nf", SERVICE, check=False)
    gone_by_itself(made)
    asked.kill()
    asked.communicate()
