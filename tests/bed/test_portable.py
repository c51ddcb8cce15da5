"""The portable program on a machine without any of our files: it is copied over ssh, runs, and
calls the cloud with the role of that machine.
"""

import json
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


@pytest.fixture
def role(aws):
    """An instance profile whose role has read-only access to everything."""
    iam = aws("iam")
    iam.create_role(RoleName="looker", AssumeRolePolicyDocument=json.dumps({
        "Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"},
            "Action": "sts:AssumeRole"}]}))
    iam.put_role_policy(RoleName="looker", PolicyName="look", PolicyDocument=json.dumps({
        "Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Action": ["ec2:Describe*", "iam:List*", "iam:Get*", "pricing:*"],
            "Resource": "*"}]}))
    iam.create_instance_profile(InstanceProfileName="looker")
    iam.add_role_to_instance_profile(InstanceProfileName="looker", RoleName="looker")
    return {"Name": "looker"}


def put(shell, program):
    with open(program, "rb") as stream:
        subprocess.run([*shell.words, "cat > shoal && chmod 700 shoal"], stdin=stream, check=True,
                       timeout=60)


def test_it_runs_on_a_node(bed, machine, ssh, program):
    shell = ssh(machine())
    put(shell, program)
    assert shell("./shoal version").startswith("shoal 0.")
    assert "demo on aws us-west-2" in shell(
        "printf 'cluster_name: demo\\nprovider: {type: aws, region: us-west-2}\\n' | "
        "./shoal validate -")
    assert "instance-metadata: this machine has no IAM role" in shell(
        "./shoal ls --region us-west-2 2>&1 || true")


def test_it_asks_with_the_role_of_its_machine(bed, machine, ssh, program, role):
    bed.set(profile_lag=0)
    node = machine(IamInstanceProfile=role, TagSpecifications=[{
        "ResourceType": "instance", "Tags": [{"Key": "ray-cluster-name", "Value": "found"},
                                             {"Key": "ray-node-type", "Value": "head"}]}])
    shell = ssh(node)
    put(shell, program)
    said = shell("AWS_ENDPOINT_URL=http://198.18.0.1:4566 ./shoal ls --region us-west-2")
    assert said.splitlines()[1].split()[:3] == ["found", "us-west-2", "up"]
