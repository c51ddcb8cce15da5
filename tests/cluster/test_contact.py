"""Instances that lose contact with their cluster shut down, and the cloud terminates them."""

import time

import driver
import files
import pytest

# A raylet that gives up on its GCS after 5 s instead of 60.
IMPATIENT = "RAY_gcs_rpc_server_reconnect_timeout_s=5 "


def config(name, minutes, workers=1, **more):
    made = files.quick(name, workers=workers, **more)
    made.update(files.start_commands(IMPATIENT))
    made["metadata"] = {"shoal": {"contact_timeout_minutes": minutes}}
    return made


def terminated(made, ids):
    """Those of these instances that the cloud has terminated, with its reason."""
    found = made.aws("ec2").describe_instances(InstanceIds=ids)
    return {i["InstanceId"]: i["StateReason"]["Code"] for r in found["Reservations"]
            for i in r["Instances"] if i["State"]["Name"] in ("shutting-down", "terminated")}


def test_workers_of_a_head_that_is_gone_are_terminated(cluster):
    made = cluster(config("lost", 0.5))
    made.up()
    workers = [i["InstanceId"] for i in made.machines()[1:]]
    made.bed.node(made.head, "kill")
    driver.wait_for(lambda: len(terminated(made, workers)) == 1, 120, 0.5, "the worker's end")
    assert terminated(made, workers)[workers[0]] == "Client.InstanceInitiatedShutdown"


@pytest.mark.long(seconds=600)
def test_workers_of_a_head_that_lives_stay(cluster):
    """Wait three times the timeout, first with Ray on the head, then without: the service keeps
    contact with workers that are not in Ray.
    """
    made = cluster(config("living", 1))
    made.up()
    before = [i["InstanceId"] for i in made.machines()]
    time.sleep(180)
    driver.in_machine(made.head, "bash", "-lc", "ray stop")
    time.sleep(180)
    assert terminated(made, before) == {}
    assert [i["InstanceId"] for i in made.machines()] == before


@pytest.mark.long
def test_a_head_that_nobody_sets_up_is_stopped(cluster):
    """`up` died after it launched the head, which would otherwise run forever."""
    made = cluster(config("surplus", 0.5, workers=0))
    done = made.run("up", "-y", env={"SHOAL_FAILPOINT": "up:after-head-launch"})
    assert done.status == -9, done
    driver.wait_for(lambda: [i["State"]["Name"] for i in made.machines(
        states=("pending", "running", "stopping", "stopped"))] == ["stopped"], 120, 0.5, "its stop")
    made.down()
    assert made.remains() == {}
