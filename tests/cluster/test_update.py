"""A later `up` reaches the running workers: the same instances are set up again."""

import driver
import files
import pytest


def home(instance, *words, **more):
    return driver.in_machine(instance, *words, **more)


def ids(cluster):
    return [i["InstanceId"] for i in cluster.machines()]


def raylet(instance):
    return home(instance, "pgrep", "-o", "-x", "raylet").strip()


def both_are_in_ray(cluster):
    driver.wait_for(lambda: cluster.alive() == 2, 20, 0.5, "two nodes in Ray")


def up_again(cluster, *words):
    """The same instances, and both are in Ray at the end."""
    before = ids(cluster)
    done = cluster.up(*words)
    assert ids(cluster) == before, str(done)
    assert "2 nodes" in done.out + done.err, str(done)
    both_are_in_ray(cluster)
    return done


def test_mounts_and_commands_reach_running_workers(cluster):
    made = cluster(files.quick("update", 1, file_mounts={"/home/ubuntu/app": "./app"},
                               setup_commands=["cat ~/app/sha >> ~/shas"],
                               worker_setup_commands=["echo one >> ~/order"]))
    made.laptop.file("app/sha", "1111\n")
    made.up()
    head, worker = ids(made)
    first = raylet(worker)

    # A changed mounted file, such as the one with the commit, makes the whole setup run again. The
    # head's Ray is restarted and the worker joins the new one.
    made.laptop.file("app/sha", "2222\n")
    made.rewrite(worker_setup_commands=["echo one >> ~/order", "echo two >> ~/order"])
    up_again(made)
    for node in (head, worker):
        assert home(node, "cat", "app/sha") == "2222\n"
        assert home(node, "cat", "shas").split() == ["1111", "2222"]
    assert home(worker, "cat", "order").split() == ["one", "one", "two"]
    assert raylet(worker) != first

    # A change for workers only does not restart the head's Ray.
    head_raylet, second = raylet(head), raylet(worker)
    made.rewrite(worker_setup_commands=["echo one >> ~/order", "echo two >> ~/order",
                                        "echo three >> ~/order"])
    up_again(made)
    assert raylet(head) == head_raylet and raylet(worker) != second
    assert home(worker, "cat", "order").split() == ["one", "one", "two", "three"]

    # With --no-restart no Ray is restarted.
    third = raylet(worker)
    made.rewrite(worker_setup_commands=["echo four >> ~/order"])
    up_again(made, "--no-restart")
    assert raylet(head) == head_raylet and raylet(worker) == third
    assert home(worker, "cat", "order").split()[4:] == ["four"]
    made.down()
    assert made.remains() == {}


@pytest.mark.long
def test_a_new_ray_on_the_head_takes_its_workers_along(cluster):
    """Without an `up`: Ray on the head was restarted by hand."""
    made = cluster(files.quick("anew", 1))
    made.up()
    head, worker = ids(made)
    before = raylet(worker)
    start = made.config["head_start_ray_commands"][1].replace(
        "--autoscaling-config=~/ray_bootstrap_config.yaml", "--no-monitor")
    home(head, "bash", "-lic", f"ray stop; RAY_CLOUD_INSTANCE_ID={head} {start}")
    driver.wait_for(lambda: made.alive() == 2, 60, 0.5, "the worker in the new Ray")
    assert ids(made) == [head, worker] and raylet(worker) != before
