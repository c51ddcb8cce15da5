"""A cluster file with a `docker` section on the stand-in for Compute Engine, with a stand-in for
docker (machine/docker). The test in suite `long` has real Ray in these containers.
"""

import base64
import json
import os

import pytest
import ray_up_gce
from front import wait_for
from gce import tls
from gce_front import BUNDLE, GceFront
from test_gce_clusters import SPOT, _front, _laptop, cluster, down, workers  # noqa: F401

BOX = "ray_container"


def config_of(front, count=1, **more):
    config = cluster(front, count, initialization_commands=["echo init >> ~/order"],
                     setup_commands=["echo setup $HOME >> ~/order", "docker ps | wc -l >> ~/boxes"],
                     worker_setup_commands=["echo worker >> ~/order"],
                     file_mounts={"/data/app": "app"},
                     docker={"image": "us-docker.pkg.dev/shoal-test/team/ray:1",
                             "container_name": BOX, "run_options": ["-e FROM_OPTION=yes"]}, **more)
    return config


def inside(machine, *words):
    return machine.run("docker", "exec", BOX, *words)


def test_up_to_down(front, laptop):
    """Every command that reaches a node, a preempted worker, a removed container."""
    front.install_docker()
    front.set(preempt=2)
    laptop.file("app/main.py", "first\n")
    config = config_of(front)
    config["available_node_types"]["worker"]["node_config"]["scheduling"] = SPOT
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    head, (worker,) = front.head("demo"), workers(front)
    for machine, own in (head, []), (worker, ["worker"]):
        assert machine.run("cat", "order").split() == ["init"]
        assert machine.run("cat", "boxes").split() == ["1"]
        assert inside(machine, "cat", "/box/order").split() == ["setup", "/box", *own]
        assert inside(machine, "cat", "/data/app/main.py") == "first\n"
        assert inside(machine, "printenv", "FROM_OPTION") == "yes\n"
        assert "pull us-docker.pkg.dev/shoal-test/team/ray:1" in \
            machine.run("cat", "/run/docker-stand-in/log")
        assert not (machine.disk / "tmp/ray").exists()  # it is in the container
    assert laptop("exec", file, "echo $HOME; command -v ray").out.split() == \
        ["/box", "/usr/local/bin/ray"]
    assert laptop("exec", file, "echo $HOME", "--run-env", "host").out == "/home/ubuntu\n"
    assert laptop("exec", "--node", "worker-1", file, "echo $HOME").out == "/box\n"
    assert laptop.run("exec", file, "exit 7").status == 7
    laptop.file("new", "new\n")
    laptop("rsync-up", file, "new", "~/there")
    assert inside(head, "cat", "/box/there") == "new\n"
    laptop("rsync-down", file, "~/order", "order")
    assert (laptop.here / "order").read_text().split()[0] == "setup"
    laptop("up", "-y", file)
    assert inside(head, "cat", "/box/order").split() == ["setup", "/box"]
    # The watcher of the machine finds the raylet in its container.
    inside(head, "touch", f"/tmp/ray/busy-{worker.name}")
    front.preempt(instance=worker.name)
    other = wait_for(lambda: [m for m in workers(front) if m.name != worker.name], 60, 0.1, "it")
    wait_for(lambda: laptop("status", file).out.count("ready") == 2, 60, 0.2, "another worker")
    assert inside(other[0], "cat", "/box/order").split()[-1] == "worker"
    assert "notice" in laptop("events", file).out
    # A container that was removed comes back.
    head.run("docker", "rm", "-f", BOX)
    laptop("up", "-y", "--restart-only", file)
    assert "main.py" in inside(head, "ls", "/data/app")
    down(front, laptop, file)


def test_autoscaling(front, laptop):
    front.install_docker()
    laptop.file("app/main.py", "first\n")
    config = config_of(front, 2, upscaling_speed=100)
    kind = config["available_node_types"]["worker"]
    kind.update(min_workers=0)
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    head = front.head("demo")

    def want(demand):
        inside(head, "sh", "-c", f"echo '{json.dumps(demand)}' > /tmp/ray/demand.json")

    want([{"CPU": 1}] * 3)
    wait_for(lambda: laptop("status", file).out.count("ready") == 3, 90, 0.2, "two workers")
    down(front, laptop, file)


def test_docker_that_is_missing(front, laptop):
    """`up` names the commands for this distribution. (This host may have docker.)"""
    place = front.folder / "image/usr/local/bin/docker"
    place.write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon at unix:///x' >&2\n"
                     "exit 1\n", encoding="ascii")
    place.chmod(0o755)
    front.machine_env(SHOAL_TEST_TIMES=front.times["SHOAL_TEST_TIMES"] + ",daemon=100")
    laptop.file("app/main.py", "first\n")
    config = config_of(front, 0)
    file = laptop.file("cluster.yaml", config)
    done = laptop.run("up", "-y", file)
    assert done.status == 1 and "systemctl enable --now docker" in done.err, done
    down(front, laptop, file)


PROGRAM = """
import ray, time
ray.init(address="auto", log_to_driver=False)
@ray.remote(num_cpus=1)
def where():
    time.sleep(5)
    return ray.get_runtime_context().get_node_id()
print(len(set(ray.get([where.remote() for _ in range(2)]))), "nodes")
"""


@pytest.mark.long
def test_real_ray():
    """A program in the head's container runs on both nodes."""
    times = {"load": os.getloadavg()[0]}
    with GceFront(ray=ray_up_gce.RAY) as front:
        front.share()
        front.install_docker()
        laptop = front.laptop("alice")
        laptop.file("app/main.py", "first\n")
        config = config_of(front)
        real = ray_up_gce.cluster(front, 1)
        config.update({key: real[key] for key in real if key.endswith("start_ray_commands")})
        front.machine_env(PATH=f"{ray_up_gce.RAY.parent}:/usr/local/bin:/usr/sbin:/usr/bin",
                          **{name: BUNDLE for name in tls.TRUST})
        file = laptop.file("cluster.yaml", config)
        times["up"] = round(laptop("up", "-y", file, seconds=600).seconds, 1)
        text = base64.b64encode(PROGRAM.encode()).decode()
        done = laptop("exec", file, f"echo {text} | base64 -d | python3 -", seconds=300)
        assert "2 nodes" in done.out, done
        for machine in front.alive("demo"):
            assert "raylet" in inside(machine, "ps", "-e", "-o", "comm=")
            assert not (machine.disk / "tmp/ray").exists()
        times["down"] = round(laptop("down", "-y", file, seconds=600).seconds, 1)
        assert front.remains() == {}
    print(json.dumps(times))
