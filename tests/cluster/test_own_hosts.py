"""`provider: {type: local}`: machines that already run, here instances of the bed that shoal did
not launch. Each is a container with sshd, the user ubuntu and Ray.
"""

import json
import random
import re
import subprocess
import time

import driver
import files
import programs
import pytest

FOLDER = "/var/tmp/shoal-host"
# A placement on three different nodes.
GROW = """
import ray
ray.init(address="auto", logging_level="ERROR")
group = ray.util.placement_group([{"CPU": 1}] * 3, strategy="STRICT_SPREAD")
ray.get(group.ready(), timeout=80)
"""
HOSTS = 3


class Hosts:
    """Plain machines with the same user and key."""

    def __init__(self, ids, addresses, key):
        self.ids, self.addresses, self.key = ids, addresses, key

    def config(self, name="own", head=0, workers=None, **more):
        chosen = [self.addresses[i] for i in (workers if workers is not None
                                              else range(1, len(self.addresses)))]
        return {
            "cluster_name": name,
            "provider": {"type": "local", "head_ip": self.addresses[head], "worker_ips": chosen},
            "auth": {"ssh_user": "ubuntu", "ssh_private_key": str(self.key)},
            **files.start_commands(), **more}

    def record(self, number):
        """The record of a host, or None."""
        text = driver.in_machine(self.ids[number], "cat", f"{FOLDER}/record", check=False)
        return json.loads(text.split("\n", 1)[1]) if text else None

    def raylets(self):
        return [len(driver.processes(i, r"/raylet/raylet ")) for i in self.ids]

    def alive(self, head=0):
        """How many nodes Ray lists as alive."""
        said = driver.in_machine(self.ids[head], "bash", "-lic",
                                 f"python3 -c '{programs.ALIVE}'", check=False)
        return int(said.split()[-1]) if said.split() else 0

    def keys(self, number):
        text = driver.in_machine(self.ids[number], "cat", ".ssh/authorized_keys", check=False)
        return re.findall(r" shoal-[0-9a-f]{32}$", text, re.M)

    def is_clean(self):
        """Nothing of any cluster is left on the hosts."""
        return {n: found for n in range(len(self.ids))
                if (found := (self.record(n), self.raylets()[n], self.keys(n)))
                != (None, 0, [])}

    def pause(self, number):
        subprocess.run(["docker", "pause", f"bed-{self.ids[number]}"], check=True,
                       capture_output=True)

    def unpause(self, number):
        subprocess.run(["docker", "unpause", f"bed-{self.ids[number]}"], check=True,
                       capture_output=True)


@pytest.fixture
def image():
    """Of the machines; a test may have its own."""
    return files.RAY


@pytest.fixture
def hosts(bed, ec2, run, key_files, key_name, group, image):
    """Three machines."""
    bed.set(vpn=1)  # the laptop is in the network of the machines
    everything = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
    ids = run(Count=HOSTS, ImageId=image, KeyName=key_name,
              SecurityGroupIds=[group(everything)])
    key = key_files[0]
    found = [driver.wait_for(lambda i=i: reachable(ec2, i, key), seconds=60) for i in ids]
    yield Hosts(ids, found, key)
    bed.reset()


def reachable(ec2, instance, key):
    pages = ec2.describe_instances(InstanceIds=[instance])["Reservations"]
    address = pages[0]["Instances"][0].get("PrivateIpAddress")
    done = subprocess.run(["ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o",
                           "UserKnownHostsFile=/dev/null", "-o", "ConnectTimeout=2", "-i", str(key),
                           f"ubuntu@{address}", "true"], capture_output=True, check=False)
    return address if done.returncode == 0 else None


def use_all(made, nodes=HOSTS):
    made.laptop.file("spread.py", programs.SPREAD)
    done = made("submit", made.laptop.here / "spread.py", nodes, "a b", seconds=90)
    said = next(line for line in done.out.splitlines() if line.startswith("hosts "))
    assert len(set(said.split()[1:])) == nodes, said


def test_up_and_down(hosts, cluster):
    made = cluster(hosts.config())
    done = made.up()
    assert hosts.raylets() == [1, 1, 1], str(done)
    print(f"up {done.seconds:.1f} s")
    use_all(made)
    made.down()
    assert hosts.is_clean() == {}
    assert made.laptop.leftovers() == []


@pytest.mark.long(seconds=420)
def test_a_host_that_does_not_answer_and_a_second_cluster(hosts, cluster, tmp_path):
    """The cluster starts without the host, says why, and takes it when it answers. A second cluster
    that wants the same hosts is refused.
    """
    hosts.pause(2)
    made = cluster(hosts.config(metadata={"shoal": {"contact_timeout_minutes": 30}}))
    done = made.run("check")
    assert f"{hosts.addresses[2]} does not answer ssh" in done.out, str(done)
    done = made.run("up", "-y")
    assert hosts.raylets()[:2] == [1, 1], str(done)
    assert f"{hosts.addresses[2]} does not answer ssh" in done.out + done.err, str(done)
    said = made.run("status").out + made.run("explain").out
    assert f"{hosts.addresses[2]} does not answer ssh" in said, said
    other = cluster(hosts.config("other"), driver.Laptop(tmp_path / "second"))
    for config in (hosts.config("other"), hosts.config("other", head=2, workers=[1])):
        other.laptop.file(other.path.name, config)
        if config["provider"]["head_ip"] == hosts.addresses[2]:
            hosts.unpause(2)
        done = other.run("up", "-y")
        assert done.status != 0 and "is used by cluster own" in done.out + done.err, str(done)
        assert "shoal down" in done.out + done.err
    assert hosts.record(2) is None or hosts.record(2)["cluster"] == "own"
    made.run("up", "-y")  # brings the key of the cluster to the host, which is tried again soon
    driver.wait_for(lambda: hosts.alive() == HOSTS, seconds=150, step=2,
                    what="the host that answers again")
    made.down()
    assert hosts.is_clean() == {}


@pytest.mark.long(seconds=300)
def test_a_killed_up_is_run_again(hosts, cluster):
    """At two random moments; no host is lost and none is used twice."""
    made = cluster(hosts.config())
    dice = random.Random(time.time_ns())
    for _ in range(2):
        wait = dice.uniform(0.5, 8)
        print(f"killed after {wait:.2f} s")
        child = made.start("up", "-y")
        time.sleep(wait)
        made.laptop.stop(child)
    made.up()
    assert hosts.raylets() == [1, 1, 1]
    made.down()
    assert hosts.is_clean() == {}
    assert made.laptop.leftovers() == []


@pytest.mark.long(seconds=300)
def test_scaling_between_free_hosts(hosts, cluster):
    """A host is taken when Ray needs it, and freed when it is idle."""
    driver.in_machine(hosts.ids[0], "sh", "-c",
                      f"echo 'export SHOAL_TEST_TIMES={files.TIMES}' >/etc/profile.d/shoal-test.sh",
                      user="root")
    made = cluster(hosts.config(min_workers=0, idle_timeout_minutes=0.05))
    made.up()
    assert hosts.raylets() == [1, 0, 0] and hosts.record(1) is None
    made.laptop.file("grow.py", GROW)
    made("submit", made.laptop.here / "grow.py", seconds=90)
    driver.wait_for(lambda: hosts.raylets() == [1, 0, 0] and not (hosts.record(1) or
                                                                  hosts.record(2)),
                    seconds=60, step=1, what="the end of idle nodes")
    made.down()
    assert hosts.is_clean() == {}


@pytest.fixture
def docker_bed(running_base_bed):
    driver.client.up(["base", "ray", "docker"], seconds=3600)


@pytest.mark.long(seconds=600)
@pytest.mark.parametrize("image", [files.DOCKER])
def test_in_containers(docker_bed, hosts, cluster):
    """A program on all nodes, an update, and `down`, which stops the containers."""
    docker = files.docker()["docker"]
    made = cluster(hosts.config(docker=docker, setup_commands=["echo $HOME >> ~/order"]))
    made.up(seconds=240)
    boxes = ["docker", "exec", docker["container_name"]]
    use_all(made)
    for host in hosts.ids:
        assert driver.in_machine(host, *boxes, "cat", "/root/order").split() == ["/root"]
    assert made("exec", "echo $HOME").out.split() == ["/root"]
    assert made("exec", "echo $HOME", "--run-env", "host").out.split() == ["/home/ubuntu"]
    made.rewrite(setup_commands=["echo again >> ~/order"])
    made.up(seconds=240)
    use_all(made)
    for host in hosts.ids:
        assert driver.in_machine(host, *boxes, "cat", "/root/order").split() == ["/root", "again"]
    made.down()
    assert hosts.is_clean() == {}
    for host in hosts.ids:
        assert driver.in_machine(host, "docker", "ps", "-aq").split() == []
