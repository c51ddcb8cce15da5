"""Machines that boot with our user-data: ssh knows their host key from the first connection, and
the user's own user-data works. On our small cloud-init and, with systemd, on the real one.
"""

import os
import pathlib
import subprocess

import pytest
from conftest import BASE, HERE, SYSTEMD, bed_client, wait_for

BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD") or HERE.parents[1] / "build").resolve()
PROBE = BUILD / "tests" / "first_boot_probe"
SECRET = "a secret of thirty-two bytes or more"
BOOT_SECONDS = 90
OWN = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIC9Qf4Z2 shoal-demo"  # the head's login key

SCRIPT = b"#!/bin/sh\necho by the script >> /var/made\n"
CONFIG = b"""#cloud-config
write_files:
  - path: /etc/cluster
    content: one
runcmd:
  - echo by the config >> /var/made
ssh_authorized_keys:
  - ssh-ed25519 AAAAtheirs
users:
  - default
  - name: carol
"""
MESSAGE = b"""MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="==B=="

--==B==
Content-Type: text/cloud-config; charset="us-ascii"

""" + CONFIG + b"""
--==B==
Content-Type: text/x-shellscript; charset="us-ascii"

""" + SCRIPT + b"""
--==B==--
"""
# A user's own host keys do not replace the one that we know.
THEIR_KEYS = CONFIG + b"ssh_keys:\n  ed25519_private: nonsense\n  ed25519_public: nonsense\n"


def ask(what, launch=1, given=b""):
    return subprocess.run([PROBE, what, SECRET, str(launch), OWN, "carol"], input=given,
                          capture_output=True, timeout=30, check=True).stdout


@pytest.fixture
def strict(ssh, tmp_path):
    """strict(node, launch): a shell that accepts only the host key of that launch."""

    def connect(node, launch=1):
        name = node["InstanceId"]
        known = tmp_path / f"known-{launch}"
        known.write_bytes(ask(f"known-hosts={name}", launch))
        return ssh(node, "-o", "StrictHostKeyChecking=yes", "-o", f"UserKnownHostsFile={known}",
                   "-o", "GlobalKnownHostsFile=/dev/null", "-o", f"HostKeyAlias={name}",
                   "-o", "UpdateHostKeys=no", wait=False)

    return connect


def check_keys(shell):
    """The machine has our host key and no other."""
    names = shell("ls /etc/ssh/ | grep ssh_host_").split()
    assert names == ["ssh_host_ed25519_key", "ssh_host_ed25519_key.pub"]
    told = shell("sudo ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub").split()[1]
    assert told == ask("fingerprint").decode()


def check_logins(shell, user, theirs):
    """The key pair of the launch, the user's own keys and the cluster's."""
    own = " ".join(OWN.split()[:2])
    found = shell("cat .ssh/authorized_keys").splitlines()
    assert own in found and len(found) == 2 + theirs
    assert ("ssh-ed25519 AAAAtheirs" in found) == theirs
    if user:
        told = shell(f"sudo stat -c '%a %U' ~{user}/.ssh/authorized_keys;"
                     f"sudo cat ~{user}/.ssh/authorized_keys")
        assert told == f"600 {user}\n{own}\n"


def check_refused(strict, node):
    done = strict(node, launch=2).run("echo came in")
    assert done.returncode == 255 and "came in" not in done.stdout
    assert "Host key verification failed" in done.stderr


def test_a_strict_first_connection(bed, machine, strict):
    node = machine(ImageId=BASE, UserData=ask("user-data"))
    shell = strict(node).wait()
    check_keys(shell)
    check_logins(shell, None, False)
    check_refused(strict, node)


@pytest.mark.parametrize("given, made", [
    (SCRIPT, "by the script\n"), (CONFIG, "by the config\n"),
    (MESSAGE, "by the script\nby the config\n")])
def test_with_the_user_s_own(bed, machine, strict, given, made):
    node = machine(ImageId=BASE, UserData=ask("user-data", given=given))
    shell = strict(node).wait()
    check_keys(shell)
    wait_for(lambda: shell.run("cat /var/made").stdout == made, 20)


def test_a_launch_that_is_repeated(paper, run):
    """After a crash the same data is generated again from scratch, and its token still matches."""
    first = run(ClientToken="launch-1", UserData=ask("user-data", given=SCRIPT))
    assert run(ClientToken="launch-1", UserData=ask("user-data", given=SCRIPT)) == first


@pytest.mark.parametrize("given, made", [
    (MESSAGE, "by the script\nby the config\n"),
    *[pytest.param(*row, marks=pytest.mark.long) for row in [
        (b"", ""), (SCRIPT, "by the script\n"), (CONFIG, "by the config\n"),
        (THEIR_KEYS, "by the config\n")]]])
def test_the_real_cloud_init(bed, machine, strict, given, made):
    bed_client.up(["systemd"])
    node = machine(ImageId=SYSTEMD, UserData=ask("user-data", given=given))
    shell = strict(node).wait(BOOT_SECONDS)
    check_keys(shell)
    wait_for(lambda: shell.run("sudo cloud-init status").stdout.startswith("status: done"),
             BOOT_SECONDS, 0.5)
    assert shell("cat /var/made 2>/dev/null || true") == made
    has_config = b"carol" in given
    check_logins(shell, "carol" if has_config else None, has_config)
    warnings = shell("sudo grep -E 'WARNING|ERROR' /var/log/cloud-init.log || true")
    assert "user" not in warnings.lower() and "ssh" not in warnings.lower(), warnings
    check_refused(strict, node)
