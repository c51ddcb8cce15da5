"""shoal ssh-config: the name of a cluster becomes the name of one host, or nothing is written."""

import json
import subprocess

import pytest

from moto_cluster import FILE, cloud, payloads, run_up, server  # noqa: F401, fixtures
# pylint: disable=redefined-outer-name, unused-import

HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
EVIL = ["x\n  ProxyCommand touch MADE; exit 1\nHost *", "*", "demo?", "!demo", "gpu github.com",
        "github.com", "-oProxyCommand", "demo,other", "démo", "demo#", 'a"b', "a\tb"]


@pytest.fixture
def shoal(cloud, payloads, environment, program, folder):
    env = {**environment, **cloud.environment, "SHOAL_PAYLOADS": str(payloads)}

    def call(*words):
        return subprocess.run([program, *words], cwd=folder, env=env, check=False,
                              capture_output=True, encoding="utf-8", timeout=60)

    return call


@pytest.mark.parametrize("name", EVIL)
def test_a_name_is_never_more_than_one_host(shoal, write, home, name):
    """No cluster is needed: the name is refused before anything is asked."""
    write("x.yaml", FILE.replace("cluster_name: demo", f"cluster_name: {json.dumps(name)}"))
    for words in (["--print"], ["--include"], []):
        done = shoal("ssh-config", *words, "x.yaml")
        assert done.returncode == 1 and done.stdout == "", done
        assert "as the name of one host; nothing was written" in done.stderr
    assert not list(home.rglob("ssh_config")) and not (home / ".ssh").exists()


@pytest.mark.parametrize("line, is_taken", [
    ("Host demo", True), ("host\tother demo", True), ("  HOST=demo\r", True),
    ('Host "demo" x', True), ("Host demo2 *.demo", False), ("Host *", False),
    ("HostName demo", False), ("Hosts demo", False), ("# Host demo", False)])
def test_a_host_of_the_user_is_not_replaced(run_up, cloud, shoal, home, line, is_taken):
    (head,) = run_up()
    cloud.ec2.create_tags(Resources=[head], Tags=[{"Key": "shoal-host-key", "Value": HOST_KEY}])
    users = home / ".ssh" / "config"
    users.parent.mkdir(mode=0o700)
    users.write_text(f"Host a\n  User me\n{line}\n  User me\n")
    for words in (["--include"], []):
        before = users.read_text()
        done = shoal("ssh-config", *words, "x.yaml")
        assert done.returncode == int(is_taken), done
        assert not is_taken or f"{users} already has a Host demo" in done.stderr
        assert bool(list(home.rglob("ssh_config"))) != is_taken
        assert not is_taken or users.read_text() == before
    assert shoal("ssh-config", "--print", "x.yaml").stdout.splitlines()[1] == "Host demo"
