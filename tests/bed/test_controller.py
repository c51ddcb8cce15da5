"""A controller that is killed again and again: never too many machines, none left in the end.

SHOAL_CONTROL_KILLS  how often (default 10)
"""

import os
import pathlib
import random
import subprocess
import time

import pytest
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from conftest import BASE, bed_client, listing, settings

BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD",
                                    pathlib.Path(__file__).resolve().parents[2] / "build"))
FILE = """cluster_name: %s
provider: {type: aws, region: us-west-2, availability_zone: us-west-2a}
auth: {ssh_user: ubuntu}
max_workers: 2
head_node_type: head
available_node_types:
  head: {node_config: {InstanceType: m5.large, ImageId: %s}, resources: {CPU: 2}}
  small:
    min_workers: 2
    max_workers: 2
    resources: {CPU: 2}
    node_config: {InstanceType: m5.large, ImageId: %s}
"""
KILLS = int(os.environ.get("SHOAL_CONTROL_KILLS", "10"))
FAULTS = 0.03


@pytest.fixture
def probe(paper, tmp_path):
    name = "control-" + os.urandom(3).hex()
    (tmp_path / "cluster.yaml").write_text(FILE % (name, BASE, BASE))
    caller = f"http://{settings.GATEWAY}:{settings.CALLER_PORT}/"
    environment = {**os.environ, **bed_client.environment(), "HOME": str(tmp_path),
                   "SHOAL_CALLER_URL": caller}

    def start(goal):
        return subprocess.Popen([BUILD / "tests" / "controller_probe", tmp_path / "cluster.yaml",
                                 tmp_path / "state", goal], env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    return start


def living(ec2):
    """Faults apply here too, and one of them is a reply without its list: repeat until there is an
    answer.
    """
    for _ in range(20):
        try:
            every = listing(ec2)
            break
        except (ClientError, BotoCoreError, ResponseParserError, KeyError):
            continue
    return [i for i in every if i["State"]["Name"] in ("pending", "running")]


def finish(child, seconds=60):
    out, _ = child.communicate(timeout=seconds)
    print(out)
    assert child.returncode == 0, out
    return out


def test_workers_come_and_go(probe, ec2):
    start = time.monotonic()
    out = finish(probe("run"))
    took = time.monotonic() - start
    workers = living(ec2)
    assert len(workers) == 2
    for worker in workers:
        tags = {tag["Key"]: tag["Value"] for tag in worker["Tags"]}
        assert tags["ray-node-type"] == "worker" and tags["ray-user-node-type"] == "small"
        assert tags["Name"].endswith("-worker") and tags["shoal-launch"] == "1.1"
    print(f"two workers after {took:.2f} s")
    assert "trouble" not in out
    finish(probe("down"))
    assert not living(ec2)


@pytest.mark.parametrize("faults", [0, FAULTS])
def test_it_is_killed_at_any_moment(probe, ec2, paper, faults):
    if faults:
        paper.mix(faults, seed=5)
    dice = random.Random(7)
    for kill in range(KILLS):
        child = probe("run" if kill < KILLS * 2 // 3 or kill % 2 else "down")
        time.sleep(dice.uniform(0.02, 0.8))
        child.kill()
        child.wait()
        assert len(living(ec2)) <= 2
    finish(probe("run"))
    assert len(living(ec2)) == 2
    child = probe("down")
    time.sleep(0.3)
    child.kill()
    child.wait()
    finish(probe("down"))
    assert not living(ec2)
