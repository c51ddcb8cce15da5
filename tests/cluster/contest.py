"""Two launchers in turn on one bed: the same account, the same key, the same cluster file.

Used by tests/bench. Each launcher is a pair of functions that take a file: up and down.
"""

import contextlib
import json
import pathlib
import subprocess
import tempfile
import time

import boto3

import driver
from driver import client, docker, settings

from cloud import images

PATIENCE = 240
KEY_NAME = "bench"
TRUST = {"Version": "2012-10-17", "Statement": [{
    "Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}


class Contest:
    """The bed, the key, the two launchers."""

    def __init__(self, folder, payload=None):
        """`payload`: the program that shoal sends to instances, if not that of the build."""
        self.folder, self.payload = pathlib.Path(folder), payload
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                        str(self.folder / "key")], check=True)
        self.bed = client.up(["ray"])
        self.ec2, self.iam = self.aws("ec2"), self.aws("iam")

    def aws(self, service):
        return boto3.client(service, region_name=settings.REGION, endpoint_url=settings.ENDPOINT,
                            aws_access_key_id=settings.ADMIN_KEY,
                            aws_secret_access_key=settings.ADMIN_SECRET)

    def prepare(self, boot=0.0):
        """An account in which Ray was used before: Ray's role exists, which saves Ray 20 s."""
        self.bed.reset()
        self.bed.set(listing_lag=0, terminating=0.2, boot_delay=boot)
        self.ec2.import_key_pair(KeyName=KEY_NAME, PublicKeyMaterial=(
            self.folder / "key.pub").read_bytes())
        name = "ray-autoscaler-v1"
        self.iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST))
        for policy in ("AmazonEC2FullAccess", "AmazonS3FullAccess"):
            self.iam.attach_role_policy(RoleName=name,
                                        PolicyArn=f"arn:aws:iam::aws:policy/{policy}")
        self.iam.create_instance_profile(InstanceProfileName=name)
        self.iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=name)
        time.sleep(2)  # the processes of the last run are gone

    @contextlib.contextmanager
    def shoal(self, make):
        """(up, down) of `shoal`, with the cluster file that `make` returns for a key path."""
        laptop = driver.Laptop(tempfile.mkdtemp(dir=self.folder), payload=self.payload)
        self.laptop = laptop
        path = laptop.file("c.yaml", make(self.folder / "key"))
        yield (lambda: laptop("up", "-y", path, seconds=PATIENCE),
               lambda: laptop("down", "-y", path, seconds=PATIENCE))

    @contextlib.contextmanager
    def ray(self, make):
        """The same for `ray`, in a container on this host's network, where the laptop is too. The
        container exists already; the start of Python is part of the time.
        """
        (self.folder / "r.yaml").write_text(json.dumps(make("/laptop/key")), encoding="ascii")
        env = [w for name, value in client.environment().items()
               if name != "AWS_EC2_METADATA_DISABLED" for w in ("-e", f"{name}={value}")]
        docker.remove(["bench-laptop"])
        docker.run("run", "-d", "--rm", "--name", "bench-laptop", "--label", settings.LABEL,
                   "--network", "host", "-v", f"{self.folder}:/laptop", *env,
                   images.ensure("ray"), "sleep", "3600")
        try:
            yield (lambda: in_laptop("ray", "up", "-y", "--no-config-cache", "/laptop/r.yaml"),
                   lambda: in_laptop("ray", "down", "-y", "/laptop/r.yaml"))
        finally:
            docker.remove(["bench-laptop"])


class Made:
    """A running cluster of either launcher; what a fleet needs to know about it."""

    def __init__(self, contest, name):
        self.bed, self.ec2, self.name = contest.bed, contest.ec2, name
        self.head = self.machines()[0]["InstanceId"]

    def machines(self, **more):
        return driver.machines(self.ec2, self.name, **more)


def in_laptop(*words):
    docker.run("exec", "bench-laptop", *words, seconds=PATIENCE)


# ---- results ----


def spread(values, digits=1):
    """The median, and the range if there are several values."""
    values = sorted(values)
    middle = values[len(values) // 2] if len(values) % 2 else \
        (values[len(values) // 2 - 1] + values[len(values) // 2]) / 2
    text = f"{middle:.{digits}f}"
    return text if len(values) == 1 else \
        f"{text} ({values[0]:.{digits}f} to {values[-1]:.{digits}f})"
