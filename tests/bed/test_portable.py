"""The portable program on a machine that has nothing of ours: it comes by ssh, runs, and asks the
cloud with the role of that machine."""

import os
import pathlib
import subprocess

import pytest
from conftest import HERE

pytestmark = pytest.mark.long

REPOSITORY = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD") or REPOSITORY / "build").resolve()


@pytest.fixture(scope="module")
def program():
    done = subprocess.run([REPOSITORY / "packaging" / "static", "build", "--out",
                           BUILD / "portable", os.uname().machine], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return pathlib.Path(done.stdout.split()[-1])


def test_it_runs_on_a_node(bed, machine, ssh, program):
    shell = ssh(machine())
    with open(program, "rb") as stream:
        subprocess.run([*shell.words, "cat > shoal && chmod 700 shoal"], stdin=stream, check=True,
                       timeout=60)
    assert shell("./shoal version").startswith("shoal 0.")
    assert "demo on aws us-west-2" in shell(
        "printf 'cluster_name: demo\\nprovider: {type: aws, region: us-west-2}\\n' | "
        "./shoal validate -")
    # No credentials there, and every place where they could be is named.
    said = shell("./shoal ls --region us-west-2 2>&1 || true")
    assert "there are no AWS credentials" in said and "instance-metadata" in said
