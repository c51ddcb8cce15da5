"""cache_stopped_nodes: instances are stopped and used again."""

import driver
import files
import pytest


def keeping(name, workers=1, **more):
    config = files.quick(name, workers=workers, **more)
    config["provider"]["cache_stopped_nodes"] = True
    return config


def ids(found):
    return sorted(i["InstanceId"] for i in found)


def stopped(made):
    return ids(made.machines(states=("stopped",)))


def test_machines_are_stopped_and_used_again(cluster):
    made = cluster(keeping("kept", setup_commands=["echo again >> ~/setup"]))
    made.up()
    before = ids(made.machines())
    said = made.down()
    assert "stopped 2 instances and kept their disks" in said.err
    assert stopped(made) == before
    left = made.remains()
    assert {"keys", "groups", "templates"} <= set(left), left

    made.bed.counts(clear=True)
    said = made.up()
    assert ids(made.machines(states=("running",))) == before
    assert "was stopped; starting it" in said.err
    assert made.bed.counts()["RunInstances"] == 0
    driver.wait_for(lambda: made.alive() == 2, 40, 0.2, "a Ray of the right size")
    # Steps whose results are on the disk do not run again.
    for one in before:
        assert driver.in_machine(one, "cat", "/home/ubuntu/setup").split() == ["again"]

    made.down()
    made("down", "-y", "--terminate")
    assert made.remains() == {}


@pytest.mark.long
def test_more_workers_than_were_stopped(cluster):
    """The stopped instance is started, the other one is new: one launch."""
    made = cluster(keeping("grown"))
    made.up()
    before = ids(made.machines())
    made.down()
    made.config["available_node_types"]["worker"].update(min_workers=2, max_workers=2)
    made.rewrite(max_workers=2)
    made.up()
    now = ids(made.machines())
    assert len(now) == 3 and set(before) < set(now)
    driver.wait_for(lambda: made.alive() == 3, 40, 0.2, "a Ray of the right size")
    made("down", "-y", "--terminate")
    assert made.remains() == {}


@pytest.mark.long
def test_a_stopped_head_of_other_settings_is_told_of(cluster):
    made = cluster(keeping("other", workers=0))
    made.up()
    made.down()
    made.config["available_node_types"]["head"]["node_config"]["InstanceType"] = "m5.xlarge"
    made.rewrite()
    done = made.run("up", "-y")
    assert done.status != 0 and "was launched with other settings" in done.err, done
    assert len(made.machines()) == 1
    made("down", "-y", "--terminate")
    assert made.remains() == {}


@pytest.mark.long
@pytest.mark.parametrize("point", ["after-head-start", "after-worker-launch", "after-request"])
def test_killed_while_machines_start(cluster, point):
    made = cluster(keeping("killed"))
    made.up()
    before = ids(made.machines())
    made.down()
    done = made.run("up", "-y", seconds=120, env={"SHOAL_FAILPOINT": f"up:{point}"})
    assert done.status == -9, f"{point} was not reached: {done}"
    made.up()
    assert ids(made.machines()) == before
    driver.wait_for(lambda: made.alive() == 2, 40, 0.2, "a Ray of the right size")
    made("down", "-y", "--terminate")
    assert made.remains() == {}
