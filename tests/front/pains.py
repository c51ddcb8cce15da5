"""Failures that users of `ray up` report, produced on purpose, for both tools.

    pains.py [NAME...]      runs them with real Ray and with Shoal and prints what each said

A scene makes the condition and runs one command of one tool. What it gives back says which lines
the tool printed and when, and what existed in the cloud when it first named the cause.
docs/user/failures.md shows the transcripts.
"""

import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

from front import IMAGE, Front
from cloud import settings

PYTHON = pathlib.Path(sys.executable)
ARM_IMAGE = next(ami.id for ami in settings.AMIS if ami.arch == "arm64")
COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
TOOLS = ("ray", "shoal")


@dataclasses.dataclass
class Outcome:
    status: int
    lines: list     # (seconds since the start, text)
    noticed: float  # when the tool named the cause; None: never
    existed: dict   # what the cloud had at that time, by kind
    left: dict      # what the cloud had at the end

    @property
    def text(self):
        return "\n".join(line for _, line in self.lines)


def environment(laptop):
    """The output of Ray's launcher on a laptop."""
    names = {**laptop.env(), "RAY_USAGE_STATS_ENABLED": "0"}
    names["PATH"] = f"{PYTHON.parent}:{names['PATH']}"
    return names


def run(front, tool, *words, cause, env=None, without=(), seconds=300):
    """One command of a tool on Alice's laptop."""
    laptop = front.laptop()
    names = {**environment(laptop), **(env or {})}
    for name in without:
        names.pop(name, None)
    program = front.program
    if tool == "ray":
        program = PYTHON.parent / "ray"
        if words[0] in ("up", "down"):
            words = (words[0], "--log-style", "pretty", "--log-color", "false", *words[1:])
    child = subprocess.Popen(laptop.words(program, *words), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             errors="replace", start_new_session=True, env=names)
    timer = threading.Timer(seconds, lambda: laptop.stop(child))
    timer.start()
    began, lines, noticed, existed = time.monotonic(), [], None, None
    for line in child.stdout:
        at = time.monotonic() - began
        line = COLOURS.sub("", line.rstrip()).replace(f"{laptop.here}/", "").replace(
            str(laptop.home), "/home/alice")
        lines.append((at, line))
        if noticed is None and re.search(cause, line):
            noticed, existed = at, front.remains(seconds=0)
    child.wait()
    timer.cancel()
    return Outcome(child.returncode, lines, noticed, existed, front.remains(seconds=5))


def cluster(front, **more):
    return front.cluster("demo", workers=0, **more)


def node_config(config, **fields):
    for node in config["available_node_types"].values():
        node["node_config"] = {**node["node_config"], **fields}
        for name in [n for n, value in fields.items() if value is None]:
            del node["node_config"][name]
    return config


def in_cloud(front, code):
    """Run Python with the administrator's `ec2` client."""
    done = front.laptop().run("-c", "import boto3; ec2 = boto3.client('ec2')\n" + code,
                              program=PYTHON)
    assert done.status == 0, done
    return done.out


# ---- the scenes ----


def no_public_subnet(front, tool):
    """P1: no subnet gives its instances public addresses."""
    in_cloud(front, "for s in ec2.describe_subnets()['Subnets']: ec2.modify_subnet_attribute("
             "SubnetId=s['SubnetId'], MapPublicIpOnLaunch={'Value': False})")
    file = front.laptop().file("cluster.yaml", cluster(front))
    return run(front, tool, "up", "-y", file, cause="(?i)subnet.*public|public.*subnet")


def no_credentials(front, tool):
    """P2: no credentials at all."""
    file = front.laptop().file("cluster.yaml", cluster(front))
    return run(front, tool, "up", "-y", file, cause="(?i)credentials", env={
        "AWS_EC2_METADATA_DISABLED": "true"}, without=(
            "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"))


def no_default_image(front, tool):
    """P4: no ImageId in the file, in a region where Ray's default image is gone."""
    config = node_config(cluster(front), ImageId=None)
    config["provider"]["region"] = "us-east-1"
    file = front.laptop().file("cluster.yaml", config)
    return run(front, tool, "up", "-y", file, cause="(?i)InvalidAMIID|using image|ImageId")


def wrong_architecture(front, tool):
    """P5: an image for arm64 on an instance type of x86_64."""
    file = front.laptop().file("cluster.yaml", node_config(cluster(front), ImageId=ARM_IMAGE))
    return run(front, tool, "up", "-y", file, cause="(?i)arm64")


def no_pip(front, tool):
    """P6: a setup command needs a program that the image does not have."""
    file = front.laptop().file("cluster.yaml", cluster(
        front, setup_commands=["echo one > ~/one", "pip-of-no-image install emcee"]))
    return run(front, tool, "up", "-y", file, cause="command not found")


def down_leaves(front, tool):
    """P9: what is left after `down`."""
    file = front.laptop().file("cluster.yaml", cluster(front))
    came = run(front, tool, "up", "-y", file, cause="$^")
    assert came.status == 0, came.text
    return run(front, tool, "down", "-y", file, cause="(?i)no nodes remaining|nothing is left")


def stopped_and_forgotten(front, tool):
    """P10: stopped instances, whose disks cost money, some weeks later."""
    config = cluster(front)
    config["provider"]["cache_stopped_nodes"] = True
    file = front.laptop().file("cluster.yaml", config)
    for verb in ("up", "down"):
        done = run(front, tool, verb, "-y", file, cause="$^")
        assert done.status == 0, done.text
    words = ("ls", "--region", settings.REGION) if tool == "shoal" else (
        "list", "nodes")
    return run(front, tool, *words, cause="stopped", seconds=60)


def stale_cache(front, tool):
    """P11: something that `up` created and recorded was deleted by another tool."""
    file = front.laptop().file("cluster.yaml", cluster(front))
    for verb in ("up", "down"):
        done = run(front, tool, verb, "-y", file, cause="$^")
        assert done.status == 0, done.text
    in_cloud(front, """for g in ec2.describe_security_groups()['SecurityGroups']:
    if g['GroupName'] != 'default': ec2.delete_security_group(GroupId=g['GroupId'])""")
    return run(front, tool, "up", "-y", file, cause="(?i)InvalidGroup|security group")


SCENES = {scene.__name__: scene for scene in (
    no_public_subnet, no_credentials, no_default_image, wrong_architecture, no_pip, down_leaves,
    stopped_and_forgotten, stale_cache)}


def show(name):
    """Run a scene with both tools, print their output, and return the outcomes by tool."""
    outcomes = {}
    print(f"## {name}: {SCENES[name].__doc__}\n")
    for tool in TOOLS:
        with Front() as front:
            got = outcomes[tool] = SCENES[name](front, tool)
        when = "never" if got.noticed is None else f"after {got.noticed:.1f} s"
        print(f"### {tool}: exit {got.status} after {got.lines[-1][0] if got.lines else 0:.1f} s; "
              f"cause named {when}, when there was {got.existed}; at the end {got.left}; "
              f"load {os.getloadavg()[0]:.1f}\n")
        for at, line in got.lines[-45:]:
            print(f"    {at:5.1f}  {line}")
        print(flush=True)
    return outcomes


if __name__ == "__main__":
    for wanted in sys.argv[1:] or SCENES:
        show(wanted)
