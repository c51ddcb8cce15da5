"""What the bed's tests need: a bed, clients for it, machines on it.

SHOAL_REQUIRE_BED  1: a machine that cannot have a bed is a failure, not a skip
SHOAL_BED_KEEP     1: the bed stays up after the tests
A bed that is up already is used, and emptied.

`bed` and `paper` empty the bed before a test. A machine that several tests only look at is made
once per file, by `plain`; tests that use it stand before those that empty the bed.
"""

import contextlib
import os
import pathlib
import secrets
import socket
import subprocess
import sys
import threading
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

boto3 = pytest.importorskip("boto3")
pytest.importorskip("moto")
from botocore.config import Config  # noqa: E402
from botocore.exceptions import ClientError  # noqa: E402

from cloud import client as bed_client  # noqa: E402
from cloud import settings  # noqa: E402

def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes long, or needs an image that takes long")


BASE, RAY, SYSTEMD, ARM = (ami.id for ami in settings.AMIS[:4])
WAIT_SECONDS = 60


@pytest.fixture(scope="session")
def running_bed():
    why = bed_client.missing()
    if why:
        if os.environ.get("SHOAL_REQUIRE_BED") == "1":
            pytest.fail(why, pytrace=False)
        pytest.skip(why)
    bed = bed_client.up(seconds=3600)
    yield bed
    if os.environ.get("SHOAL_BED_KEEP") != "1":
        bed_client.down()
    elif bed.alive():
        bed.reset()


def empty(bed):
    """With fast terminations; real machines."""
    bed.reset()
    bed.set(listing_lag=0, terminating=0.2)
    return bed


@pytest.fixture
def bed(running_bed):
    """Empty, with fast terminations; real machines."""
    return empty(running_bed)


@pytest.fixture
def paper(bed):
    """The same, but instances exist in the API only."""
    bed.set(containers=0)
    return bed


@pytest.fixture(scope="session")
def aws():
    """aws("ec2", region=..., **credentials): a client that neither retries nor waits long."""
    one_at_a_time = threading.Lock()  # boto3's session is not thread-safe

    def make(service, region=settings.REGION, key=settings.ADMIN_KEY,
             secret=settings.ADMIN_SECRET, token=None, attempts=1, read_timeout=30, **more):
        config = Config(retries={"total_max_attempts": attempts, "mode": "standard"},
                        read_timeout=read_timeout, connect_timeout=5, proxies={}, **more)
        with one_at_a_time:
            return boto3.client(service, region_name=region, endpoint_url=settings.ENDPOINT,
                                aws_access_key_id=key, aws_secret_access_key=secret,
                                aws_session_token=token, config=config)

    return make


@pytest.fixture(scope="session")
def ec2(aws):
    return aws("ec2")


@pytest.fixture(scope="session")
def run(ec2):
    """run(Count=2, ...): RunInstances with the required parameters; returns the ids."""

    def launch(client=ec2, **more):
        count = more.pop("Count", None)
        fields = {"ImageId": BASE, "InstanceType": "m5.large", "MinCount": count or 1,
                  "MaxCount": count or 1, **more}
        return [i["InstanceId"] for i in client.run_instances(**fields)["Instances"]]

    return launch


def listing(client, **more):
    """All instances, page by page."""
    pages = client.get_paginator("describe_instances").paginate(**more)
    return [i for page in pages for r in page["Reservations"] for i in r["Instances"]]


def by_id(client, ident):
    return listing(client, InstanceIds=[ident])[0]


def wait_for(work, seconds=WAIT_SECONDS, step=0.1):
    """The first true value that `work` returns."""
    end = time.monotonic() + seconds
    while True:
        value = work()
        if value:
            return value
        assert time.monotonic() < end, "waited in vain"
        time.sleep(step)


def wait_state(client, ident, state, seconds=WAIT_SECONDS):
    return wait_for(lambda: (i := by_id(client, ident))["State"]["Name"] == state and i, seconds)


@contextlib.contextmanager
def refused(code):
    """The block must be refused with this code; yields the error."""
    with pytest.raises(ClientError) as caught:
        yield caught
    assert caught.value.response["Error"]["Code"] == code, caught.value


# ---- machines ----


@pytest.fixture(scope="session")
def key_files(tmp_path_factory):
    path = tmp_path_factory.mktemp("key") / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path, path.with_suffix(".pub").read_text(encoding="ascii")


def import_key(ec2, key_files):
    """The name of the tests' key, which is created again if the bed was emptied. An existing key is
    kept: a machine that is booting asks for it.
    """
    try:
        ec2.import_key_pair(KeyName="tests", PublicKeyMaterial=key_files[1].encode())
    except ClientError as error:
        if error.response["Error"]["Code"] != "InvalidKeyPair.Duplicate":
            raise
    return "tests"


@pytest.fixture
def key_name(ec2, key_files):
    return import_key(ec2, key_files)


@pytest.fixture(scope="session")
def group(ec2):
    """group(rule, ...): a new security group in the default VPC with these rules."""

    def make(*rules):
        name = f"group-{time.monotonic_ns()}"
        ident = ec2.create_security_group(GroupName=name, Description="test")["GroupId"]
        if rules:
            ec2.authorize_security_group_ingress(GroupId=ident, IpPermissions=list(rules))
        return ident

    return make


def tcp(port, cidr=None, group=None):
    """An ingress rule."""
    rule = {"IpProtocol": "tcp", "FromPort": port, "ToPort": port}
    if cidr:
        rule["IpRanges"] = [{"CidrIp": cidr}]
    if group:
        rule["UserIdGroupPairs"] = [{"GroupId": group}]
    return rule


PLAIN_DATA = "#!/bin/sh\ntrue"
FROM_LAPTOP = tcp(22, f"{settings.LAPTOP}/32")


@pytest.fixture(scope="session")
def machine(ec2, run, key_files, group):
    """machine(**RunInstances): a running instance that the laptop can reach over ssh."""

    def make(**more):
        if "SecurityGroupIds" not in more and "NetworkInterfaces" not in more:
            more["SecurityGroupIds"] = [group(FROM_LAPTOP)]
        ident = run(KeyName=import_key(ec2, key_files), **more)[0]
        return wait_state(ec2, ident, "running")

    return make


@pytest.fixture(scope="module")
def plain(running_bed, machine):
    """A machine of the base image, for the tests of one file that do not change it."""
    empty(running_bed)
    return machine(UserData=PLAIN_DATA)


# ssh's preferred key exchange takes most of the time of a connection.
SWIFT_KEYS = ("-o", "KexAlgorithms=curve25519-sha256")


class Ssh:
    """ssh to one address with the tests' key."""

    def __init__(self, address, key, *options):
        # ssh uses the first value of an option.
        self.words = ["ssh", "-F", "none", *options, "-i", str(key), "-o", "BatchMode=yes", "-o",
                      "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o",
                      "LogLevel=ERROR", "-o", "ConnectTimeout=3", *SWIFT_KEYS,
                      f"ubuntu@{address}"]

    def run(self, command, seconds=30):
        return subprocess.run([*self.words, command], capture_output=True, text=True,
                              timeout=seconds, check=False, stdin=subprocess.DEVNULL)

    def wait(self, seconds=30):
        """Wait until sshd accepts the login."""
        wait_for(lambda: self.run("true").returncode == 0, seconds, 0.1)
        return self

    def __call__(self, command, seconds=30):
        done = self.run(command, seconds)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout


def is_silent(where, port=22, seconds=0.3):
    """Neither accepted nor refused: packets are dropped. On this host an answer takes less than 1
    ms.
    """
    address = where if isinstance(where, str) else where["PublicIpAddress"]
    try:
        socket.create_connection((address, port), seconds).close()
    except TimeoutError:
        return True
    except ConnectionRefusedError:
        pass
    return False


@pytest.fixture(scope="session")
def ssh(key_files):
    """ssh(instance or address): a shell there; waits until sshd answers."""

    def connect(where, *options, wait=True):
        address = where if isinstance(where, str) else where["PublicIpAddress"]
        shell = Ssh(address, key_files[0], *options)
        return shell.wait() if wait else shell

    return connect


@pytest.fixture
def swift_ssh(ssh, tmp_path):
    """The same over one shared connection, for tests with many commands that do not count
    connections.
    """

    def connect(where):
        path = tmp_path / secrets.token_hex(4)
        return ssh(where, "-o", "ControlMaster=auto", "-o", f"ControlPath={path}", "-o",
                   "ControlPersist=20")

    return connect
