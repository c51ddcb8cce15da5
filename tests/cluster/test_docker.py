"""Ray in containers: a real Docker daemon on every machine."""

import driver
import files
import programs
import pytest
import test_verbs

BOX = "ray_container"


@pytest.fixture(scope="session")
def running_bed(running_base_bed):
    driver.client.up(["base", "docker"], seconds=3600)
    return running_base_bed


def inside(instance, *words, **more):
    """stdout of a command in the container of an instance, without ssh."""
    return driver.in_machine(instance, "docker", "exec", BOX, *words, **more)


def container(instance, what="{{.Id}}"):
    return driver.in_machine(instance, "docker", "inspect", "-f", what, BOX).strip()


def alive(made):
    said = inside(made.head, "bash", "-lic", f"python3 -c '{programs.ALIVE}'", check=False)
    return int(said.split()[-1]) if said.split() else 0


def ids(made):
    return [i["InstanceId"] for i in made.machines()]


def test_a_cluster_in_containers(cluster):
    """`up`, a program on all nodes, every command that reaches a node, `up` again, `down`."""
    made = cluster(files.docker(
        initialization_commands=["echo init >> ~/order"],
        setup_commands=["echo setup $HOME >> ~/order", "docker ps -q | wc -l >> ~/boxes"],
        head_setup_commands=["echo head >> ~/order"], worker_setup_commands=["echo w >> ~/order"],
        file_mounts={"/data/app": "./app", "~/code": "./code"}, docker={
            "image": "", "head_image": "bed/ray:1", "worker_image": "bed/ray:2",
            "worker_run_options": ["-e ONLY=worker"]}))
    for name in ("app/main.py", "code/one.py"):
        made.laptop.file(name, "first\n")
    made.up()
    check_nodes(made)
    assert alive(made) == 2
    # One session for the setup and one for each mount; on the head, one more for its progress.
    head, worker = ids(made)
    assert {i: n for i, (_, n) in driver.ssh_counts(made.bed).items()} == {head: 4, worker: 3}
    use(made)
    again(made)
    made.down()
    assert made.remains() == {}


def check_nodes(made):
    head, worker = ids(made)
    # The head's container runs as root, the worker's as another user.
    for node, home, own in (head, "/root", "head"), (worker, "/home/ray", "w"):
        assert driver.in_machine(node, "cat", "order").split() == ["init"]
        assert driver.in_machine(node, "cat", "boxes").split() == ["1"]
        assert inside(node, "cat", f"{home}/order").split() == ["setup", home, own]
        assert inside(node, "cat", "/data/app/main.py", f"{home}/code/one.py") == "first\nfirst\n"
        assert inside(node, "printenv", "FROM_OPTION", "LC_ALL") == "a b\nC.UTF-8\n"
        assert container(node, "{{.HostConfig.NetworkMode}} {{.HostConfig.AutoRemove}}") == \
            "host true"
        assert int(container(node, "{{.HostConfig.ShmSize}}")) > 100e6
        assert driver.in_machine(node, "sh", "-c", "command -v ray", check=False) == ""
    assert inside(worker, "printenv", "ONLY").strip() == "worker"
    assert container(worker, "{{.Config.Image}}") == "bed/ray:2"


def use(made):
    """Commands run in the container; `--run-env host` and docker's own on the machine."""
    made.laptop.file("spread.py", programs.SPREAD)
    done = made("submit", made.laptop.here / "spread.py", 2, "a b", seconds=90)
    hosts = {"ip-" + i["PrivateIpAddress"].replace(".", "-") for i in made.machines()}
    said = next(line for line in done.out.splitlines() if line.startswith("hosts "))
    assert set(said.split()[1:]) == hosts
    where = "echo $HOME; command -v ray"
    assert made("exec", where).out.split() == ["/root", "/usr/lib/ray-bin/ray"]
    assert made("exec", where, "--run-env", "docker").out.split()[0] == "/root"
    assert made.run("exec", where, "--run-env", "host").out.split() == ["/home/ubuntu"]
    assert BOX in made("exec", "docker ps").out
    assert made("exec", "--node", "worker-1", "echo $HOME").out.split() == ["/home/ray"]
    assert made.run("exec", "exit 7").status == 7
    made.laptop.file("new/deep.txt", "new\n")
    made("rsync-up", made.laptop.here / "new" / "deep.txt", "~/there/it is/deep.txt")
    assert inside(made.head, "cat", "/root/there/it is/deep.txt") == "new\n"
    made("rsync-down", "~/order", made.laptop.here / "order")
    assert (made.laptop.here / "order").read_text().split()[0] == "setup"
    made.laptop.file("app/main.py", "second\n")
    made("rsync-up")
    assert inside(made.head, "cat", "/data/app/main.py") == "second\n"
    assert "2 nodes" in made("status").out


def again(made):
    """Nothing has changed: the same containers, the same Ray."""
    made.laptop.file("app/main.py", "first\n")
    before = [(container(i), driver.processes(i, "raylet/raylet").keys()) for i in ids(made)]
    made.up()
    assert [(container(i), driver.processes(i, "raylet/raylet").keys()) for i in ids(made)] == \
        before
    assert inside(made.head, "cat", "/root/order").split() == ["setup", "/root", "head"]


@pytest.mark.long
def test_containers_are_replaced(cluster):
    """By another image or mount; everything in the new container is done again."""
    config = files.docker(setup_commands=["echo $HOME >> ~/order"])
    config["provider"]["cache_stopped_nodes"] = True
    made = cluster(config)
    made.up()
    before = [container(i) for i in ids(made)]
    made.rewrite(docker={**config["docker"], "image": "bed/ray:2"})
    made.up()
    after = [container(i) for i in ids(made)]
    assert not set(before) & set(after)
    driver.wait_for(lambda: alive(made) == 2, 60, 0.5, "both nodes")
    for node in ids(made):
        assert container(node, "{{.Config.Image}}") == "bed/ray:2"
        assert inside(node, "cat", "/home/ray/order").split() == ["/home/ray"]
    made.laptop.file("app/main.py", "mounted\n")
    made.rewrite(file_mounts={"~/app": "./app"})
    made.up()
    driver.wait_for(lambda: alive(made) == 2, 60, 0.5, "both nodes")
    for node in ids(made):
        assert inside(node, "cat", "/home/ray/app/main.py") == "mounted\n"
    stopped_and_started(made)
    lost_container(made)


def stopped_and_started(made):
    """A stopped machine has no container; nothing in the file has changed."""
    made.down()
    made.up()
    driver.wait_for(lambda: alive(made) == 2, 60, 0.5, "both nodes")
    for node in ids(made):
        assert inside(node, "cat", "/home/ray/order").split() == ["/home/ray"]
    use_all(made)


def use_all(made):
    made.laptop.file("spread.py", programs.SPREAD)
    made("submit", made.laptop.here / "spread.py", 2, "a b", seconds=90)


def lost_container(made):
    """The head's container is gone: by the user, and after a reboot, which the service notices."""
    driver.in_machine(made.head, "docker", "rm", "-f", BOX)
    made.up("--restart-only")
    driver.wait_for(lambda: alive(made) == 2, 60, 0.5, "both nodes")
    driver.in_machine(made.head, "docker", "rm", "-f", BOX)
    driver.in_machine(made.head, "bash", "-lc", "~/.shoal/bin/shoal node resume --run reboot")
    driver.wait_for(lambda: BOX in driver.in_machine(made.head, "docker", "ps"), 60, 0.5, "it")
    driver.wait_for(lambda: alive(made) == 2, 120, 1, "both nodes")
    assert inside(made.head, "cat", "/home/ray/order").split() == ["/home/ray"]


BOOTHOOK = "#cloud-boothook\n#!/bin/sh\n"


def with_user_data(config, text):
    for kind in config["available_node_types"].values():
        kind["node_config"]["UserData"] = text
    return config


@pytest.mark.long
def test_what_a_machine_lacks(cluster):
    """No Docker, no daemon, no image: found in the first session, with what to do."""
    config = files.docker("lacks", workers=0)
    config["available_node_types"]["head"]["node_config"]["ImageId"] = files.BASE
    made = cluster(config)
    done = made.run("up", "-y")
    assert done.status == 1
    assert "docker is not installed on this machine" in done.err, done
    assert "sudo apt-get update && sudo apt-get install -y docker.io" in done.err
    assert driver.ssh_counts(made.bed)[made.head][1] <= 2
    made.down()

    made = cluster(with_user_data(files.docker("stopped", workers=0, docker={"image": "no/such"}),
                                  "#!/bin/sh\ntouch /run/late\n"))
    done = made.run("up", "-y")
    assert done.status == 1 and "error: docker cannot pull the image no/such" in done.err, done
    driver.in_machine(made.head, "pkill", "-x", "dockerd", user="root")
    done = made.run("up", "-y")
    assert done.status == 1 and "its daemon does not answer" in done.err, done
    assert "sudo systemctl enable --now docker" in done.err
    made.down()


@pytest.mark.long
def test_a_user_joins_the_group_during_the_setup(cluster):
    """The usual initialization command. The session began before it."""
    hook = BOOTHOOK + "gpasswd -d ubuntu docker || true\n"
    made = cluster(with_user_data(files.docker(
        "joins", initialization_commands=[
            "sudo usermod -aG docker $USER", "docker info > ~/info; export A=b; echo $A >> ~/info",
        ]), hook))
    made.up()
    assert alive(made) == 2
    assert driver.in_machine(made.head, "cat", "info").endswith("\nb\n")
    assert made("exec", "echo $HOME").out.split() == ["/root"]
    made.down()
    assert made.remains() == {}


# Two tasks on two nodes. The node of one is interrupted, and the task runs again elsewhere.
JOB = """
import socket
import time

import ray

ray.init(address="auto", logging_level="ERROR")


@ray.remote(num_cpus=1, max_retries=5)
def work():
    time.sleep(25)
    return socket.gethostname()


print("hosts", *ray.get([work.remote() for _ in range(2)]))
"""


@pytest.mark.long(seconds=600)
def test_scaling_and_a_spot_interruption(cluster):
    """Workers in containers come for a job, one is replaced after its notice, and idle ones go."""
    config = files.docker("scales", workers=3, idle_timeout_minutes=0.1)
    spot = {"InstanceMarketOptions": {"MarketType": "spot"}}
    config["available_node_types"] = {
        "head": files.node_type(files.DOCKER, resources={"CPU": 0}),
        "spot": files.node_type(files.DOCKER, config=spot, min_workers=0, max_workers=3)}
    made = cluster(files.impatient(config))
    made.up()
    assert len(ids(made)) == 1
    made.laptop.file("job.py", JOB)
    job = made.start("submit", made.laptop.here / "job.py")
    driver.wait_for(lambda: alive(made) == 3, 120, 0.5, "both workers")
    victim = ids(made)[1]
    assert container(victim, "{{.Config.Image}}") == "bed/ray:1"
    made.bed.notice(victim)
    driver.wait_for(lambda: len(set(ids(made)) | {victim}) == 4, 60, 0.2, "the replacement")
    out, err = job.communicate(timeout=200)
    assert job.returncode == 0 and "hosts ip-" in out, out + err
    terminal = test_verbs.Terminal(made.laptop, "attach", made.path)
    terminal.type("echo in=$HOME=$((6 * 7)); exit 5\n")
    terminal.expect("in=/root=42")
    assert terminal.end() == 5
    assert made("exec", "echo $HOME", "--run-env", "docker").out.split() == ["/root"]
    assert made("exec", "echo $HOME", "--run-env", "host").out.split() == ["/home/ubuntu"]
    driver.wait_for(lambda: len(ids(made)) == 1, 150, 0.5, "the end of idle workers")
    made.down()
    assert made.remains() == {}
