"""The bed's own lifecycle: up, down, crashes; nothing is left. And the commands of `bed`."""

import json
import os
import signal
import subprocess
import sys

import pytest
from conftest import HERE, bed_client, wait_for, wait_state

from cloud import docker, network, settings

BED = str(HERE / "bed")


def call(*words, seconds=90):
    env = {**os.environ, "SHOAL_BED_PYTHON": sys.executable}
    return subprocess.run([BED, *words], capture_output=True, text=True, timeout=seconds, env=env,
                          check=False)


def leftovers():
    """Everything of a bed that exists on this machine."""
    found = docker.containers() + docker.networks() if docker.answers() else []
    for table in ("filter", "nat"):
        found += network.our_chains(table)
        found += [line for line in network.iptables(table, "-S").stdout.splitlines()
                  if "BED-" in line]
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    found += [line for line in links.splitlines() if settings.BRIDGE + ":" in line]
    return found


@pytest.fixture
def with_machine(bed, machine):
    """A bed with at least one object of every kind."""
    node = machine()
    assert leftovers()
    return node


def front_pid():
    return json.loads((settings.STATE / "front.json").read_text())["pid"]


@pytest.fixture
def up_again():
    yield
    bed_client.up()


@pytest.mark.long
def test_down_leaves_nothing(with_machine, up_again):
    assert call("down", "--keep-docker").returncode == 0
    assert leftovers() == []


def test_a_crashed_front_leaves_nothing(with_machine, up_again):
    os.kill(front_pid(), signal.SIGKILL)
    wait_for(lambda: not bed_client.Bed().alive())
    assert leftovers()
    assert call("down", "--keep-docker").returncode == 0
    assert leftovers() == []


@pytest.mark.long
def test_up_after_a_crash_begins_anew(with_machine, up_again):
    os.kill(front_pid(), signal.SIGKILL)
    wait_for(lambda: not bed_client.Bed().alive())
    assert call("up").returncode == 0
    assert bed_client.Bed().ps()["nodes"] == []
    assert docker.containers() == []


@pytest.mark.long
def test_it_ends_by_itself(with_machine, up_again):
    call("down", "--keep-docker")
    assert call("up", "--seconds", "3").returncode == 0
    wait_for(lambda: not leftovers(), 30)


@pytest.mark.long
def test_down_twice(running_bed, up_again):
    for _ in range(2):
        assert call("down", "--keep-docker").returncode == 0
    done = call("ps")
    assert done.returncode == 1 and "bed up" in done.stderr


def test_the_words(bed, ec2, machine):
    node = machine(TagSpecifications=[{"ResourceType": "instance", "Tags": [
        {"Key": "Name", "Value": "first"}]}], InstanceMarketOptions={"MarketType": "spot"})
    ident = node["InstanceId"]
    up = call("up")
    assert "export AWS_ENDPOINT_URL=" in up.stdout and " s, front " in up.stderr
    ps = call("ps").stdout
    assert ident in ps and node["PublicIpAddress"] in ps and "first" in ps and "in all" in ps
    assert call("fault", "throttle", "--action", "DescribeRegions").returncode == 0
    assert '"throttle"' in call("fault", "list").stdout
    assert call("fault", "clear").returncode == 0
    assert call("fault", "list").stdout == ""
    assert call("set", "listing_lag", "1.5").returncode == 0
    assert call("set", "listing_lag").stdout == "listing_lag 1.5\n"
    assert "RunInstances" in call("counts").stdout
    assert "RunInstances" in call("logs").stdout
    wait_for(lambda: "boot finished" in call("logs", ident).stdout)
    assert '"terminate"' in call("notice", ident, "--seconds", "1").stdout
    wait_state(ec2, ident, "terminated")
    assert call("fault", "nonsense").returncode == 2


def test_wrong_words_are_told(bed):
    done = call("set", "nonsense", "1")
    assert done.returncode == 1 and "listing_lag" in done.stderr
    done = call("notice", "i-0")
    assert done.returncode == 1 and "0 instances" in done.stderr


def test_the_bed_is_light(bed, machine):
    """Memory of the front and of an idle machine, so that many fit next to other work."""
    machine()
    state = bed.ps()
    assert state["front_memory"] < 400 << 20
    assert all(node["memory"] < 80 << 20 for node in state["nodes"])
