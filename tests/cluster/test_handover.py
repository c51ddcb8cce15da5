"""Which process acts: the laptop until the handover, then the head's service; with kills in
between.

The order of the last tests matters. They share one cluster: it grows, its service is killed, it is
removed.
"""

import json
import time

import driver
import files
import pytest

SERVICE = "shoal autoscaler"

# Where a test build ends itself when SHOAL_FAILPOINT names the place: the main steps of `up`, in
# their order.
FAILPOINTS = ("after-take", "after-prepare", "after-head-intent", "after-head-launch",
              "after-worker-launch", "at-head-contact", "after-files", "after-request",
              "after-release", "while-following")
QUICK_FAILPOINTS = ("after-head-intent", "after-request")


def one_of_each(made, workers):
    """One head and this many workers, all in Ray, and nothing else."""
    kinds = [driver.tag_of(i, "ray-node-type") for i in made.machines()]
    assert kinds == ["head"] + ["worker"] * workers, kinds
    driver.wait_for(lambda: made.alive() == workers + 1, 40, 0.2, "a Ray of the right size")


def gone(made):
    made.down()
    assert made.remains() == {}


@pytest.mark.parametrize("point", [
    point if point in QUICK_FAILPOINTS else pytest.param(point, marks=pytest.mark.long)
    for point in FAILPOINTS])
def test_the_laptop_is_killed_and_comes_again(cluster, point):
    made = cluster(files.quick("killed", workers=1))
    done = made.run("up", "-y", seconds=120, env={"SHOAL_FAILPOINT": f"up:{point}"})
    assert done.status == -9, f"{point} was not reached: {done}"
    made.up()
    one_of_each(made, 1)
    gone(made)


@pytest.mark.long
@pytest.mark.parametrize("seconds", [0.3, 0.8, 1.5, 2.5, 4, 6, 8, 10])
def test_the_laptop_is_killed_at_some_time(cluster, seconds):
    made = cluster(files.quick("killed", workers=1))
    child = made.start("up", "-y")
    time.sleep(seconds)
    made.laptop.stop(child)
    made.up()
    one_of_each(made, 1)
    gone(made)


def late_starter(name):
    """A cluster whose worker does not start Ray at first, although all its commands succeed: like a
    worker whose raylet exits with the head's Ray for which it was started.
    """
    config = files.quick(name, workers=1)
    stop, start = config["worker_start_ray_commands"]
    once = "test -e ~/started || { touch ~/started; exit 0; }; "
    return {**config, "worker_start_ray_commands": [stop, once + start]}


def worker_phase(made):
    done = made.run("status", "-o", "json", seconds=30)
    nodes = json.loads(done.out)["nodes"] if done.status == 0 else []
    return next((node["phase"] for node in nodes if node["name"] == "worker-1"), None)


@pytest.mark.long
def test_a_worker_that_started_for_the_old_ray_joins_the_new_one(cluster):
    """It was never in the Ray that was replaced: its start commands run again at once."""
    made = cluster(late_starter("replaced"))
    child = made.start("up", "-y")
    driver.wait_for(lambda: made.machines() and worker_phase(made) == "joining", 60, 0.5)
    made.laptop.stop(child)
    made.up("--restart-only")
    one_of_each(made, 1)
    assert "Ray on the head was replaced" in made("events").out
    gone(made)


@pytest.mark.long
def test_a_worker_that_does_not_join_starts_ray_again(cluster):
    """It is not known for which Ray it started: after 30 s it tries once more, and `up` says so."""
    made = cluster(late_starter("patient"))
    done = made.up(seconds=180)
    one_of_each(made, 1)
    assert "still waiting for worker-1 (" in done.out + done.err
    assert "it started Ray, but has not joined" in made("events").out
    gone(made)


@pytest.mark.parametrize("point", ["after-head-launch"])
def test_down_after_a_kill(cluster, point):
    """`down` removes what a killed `up` has created."""
    made = cluster(files.quick("killed", workers=1))
    made.run("up", "-y", seconds=120, env={"SHOAL_FAILPOINT": f"up:{point}"})
    gone(made)


def test_down_while_the_head_launches(cluster):
    """`down` in another terminal wins; `up` says so and exits."""
    made = cluster(files.quick("raced", workers=1))
    made.bed.set(boot_delay=6)
    child = made.start("up", "-y")
    try:
        driver.wait_for(lambda: made.machines(), 30)
        made.down()
        out, err = child.communicate(timeout=40)
    finally:
        child.kill()
    assert child.returncode not in (0, None), (out, err)
    assert made.remains() == {}
    time.sleep(1)
    assert made.remains() == {}, "somebody made something after the end"


@pytest.mark.long
def test_a_worker_that_dies_is_replaced(cluster):
    """`min_workers` is kept without the laptop."""
    made = cluster(files.quick("kept", workers=1))
    made.up()
    worker = made.machines()[1]["InstanceId"]
    made.ec2.terminate_instances(InstanceIds=[worker])
    driver.wait_for(lambda: len(found := made.machines()) == 2 and
                    found[1]["InstanceId"] != worker, 120, 0.5, "another worker")
    one_of_each(made, 1)
    gone(made)


# ---- one cluster for all tests below ----


@pytest.fixture(scope="module")
def lasting(lasting_cluster):
    made = lasting_cluster(files.quick("lasting", workers=1))
    made.up()
    return made


def test_the_goal_changes(lasting):
    """A later `up` sends the service a new goal: only the service changes workers."""
    head = lasting.head
    lasting.bed.counts(clear=True)
    lasting.config["available_node_types"]["worker"].update(min_workers=2, max_workers=2)
    lasting.rewrite(max_workers=2)
    lasting.up()
    one_of_each(lasting, 2)
    assert lasting.head == head
    assert lasting.bed.counts(who=head)["RunInstances"] == 1
    assert lasting.bed.counts(who="laptop")["RunInstances"] == 0


def test_the_service_alone_is_killed(lasting):
    """Its supervisor restarts it within seconds."""
    rows = driver.in_machine(lasting.head, "pgrep", "-af", SERVICE).splitlines()
    newest = driver.in_machine(lasting.head, "pgrep", "-nf", SERVICE).strip()
    driver.in_machine(lasting.head, "kill", "-9", newest)
    driver.wait_for(lambda: driver.in_machine(
        lasting.head, "pgrep", "-nf", SERVICE, check=False).strip() not in ("", newest), 30, 0.1,
        f"another service (before: {rows})")
    driver.wait_for(lambda: lasting.run("status", seconds=20).status == 0, 30)


def test_the_service_is_killed(lasting):
    """With its supervisor: the next command restarts both, and the service keeps its workers."""
    before = [i["InstanceId"] for i in lasting.machines()]
    pids = set(driver.in_machine(lasting.head, "pgrep", "-f", SERVICE).split())
    driver.in_machine(lasting.head, "pkill", "-9", "-f", SERVICE, check=False)
    lasting.up(seconds=60)
    found = set(driver.in_machine(lasting.head, "pgrep", "-f", SERVICE).split())
    assert found and not found & pids
    assert [i["InstanceId"] for i in lasting.machines()] == before
    assert "worker" in lasting("status").out


def test_down_when_the_head_is_silent(lasting):
    """`down` takes the lease from a head that does not answer."""
    lasting.bed.node(lasting.head, "pause")
    lasting.down(seconds=90)
    assert lasting.remains() == {}
