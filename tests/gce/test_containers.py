"""Containers as machines: Google's own agent, the metadata server and the firewall are real.

Needs root, Docker and the bed's network: suite `long`.
"""

import json
import os
import subprocess
import sys
import time

import pytest
from cloud import client as bed_client
from conftest import Raw, instance
from gce import client, containers, settings

pytestmark = pytest.mark.long
ROOT = "http://metadata.google.internal/computeMetadata/v1"


@pytest.fixture(scope="module")
def bed():
    why = bed_client.missing()
    if why:
        if os.environ.get("SHOAL_REQUIRE_BED") == "1":
            pytest.fail(why, pytrace=False)
        pytest.skip(why)
    bed_client.down(keep_docker=True)
    bed_client.build(["gce"])
    child = subprocess.Popen([sys.executable, "-m", "gce.bed", "1800"], cwd=client.HOME,
                             stdout=subprocess.PIPE, text=True)
    with client.GceCloud(**json.loads(child.stdout.readline()), child=child) as cloud:
        yield cloud


@pytest.fixture
def raw(bed):
    bed.reset()
    return Raw(bed, bed.token())


def wait_for(work, seconds, what):
    end = time.monotonic() + seconds
    while True:
        value = work()
        if value:
            return value
        assert time.monotonic() < end, f"{what} did not come within {seconds} s"
        time.sleep(0.2)


def host_key(raw, name):
    status, value = raw.zonal("GET", f"instances/{name}/getGuestAttributes",
                              queryPath="hostkeys/")
    items = value["queryValue"]["items"] if status == 200 else []
    return next((i["value"] for i in items if i["key"] == "ssh-ed25519"), None)


class Machine:
    def __init__(self, raw, folder, name, **more):
        self.raw, self.folder, self.name = raw, folder, name
        self.key = folder / "key"
        if not self.key.exists():
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key],
                           check=True)
        public = self.key.with_suffix(".pub").read_text().strip()
        items = {"ssh-keys": f"rosa:{public}", "enable-guest-attributes": "TRUE",
                 "startup-script": "#!/bin/sh\ntouch /var/started\n"}
        done = raw.insert(name, metadata={"items": [{"key": k, "value": v}
                                                    for k, v in items.items()]}, **more)
        assert "error" not in done, done
        self.value = raw.zonal("GET", f"instances/{name}")[1]
        self.nic = self.value["networkInterfaces"][0]
        self.public = self.nic["accessConfigs"][0]["natIP"]

    def ssh(self, command, seconds=20):
        """Accepts only the host key that the agent published."""
        known = self.folder / f"known-{self.name}"
        known.write_text(f"{self.public} ssh-ed25519 {host_key(self.raw, self.name)}\n")
        return subprocess.run(
            ["ssh", "-F", "none", "-i", self.key, "-o", "BatchMode=yes", "-o",
             f"UserKnownHostsFile={known}", "-o", "StrictHostKeyChecking=yes", "-o",
             f"ConnectTimeout={seconds}", f"rosa@{self.public}", command],
            capture_output=True, text=True, timeout=seconds + 40, check=False)

    def boot(self):
        wait_for(lambda: host_key(self.raw, self.name), 90, "the host key")
        wait_for(lambda: self.ssh("true").returncode == 0, 60, "ssh")
        return self


def test_googles_agent_and_the_firewall(raw, bed, tmp_path):
    bed.default_rules()
    one = Machine(raw, tmp_path, "one", tags={"items": ["ray"]}, serviceAccounts=[
        {"email": "default", "scopes": [settings.CLOUD_SCOPE]}]).boot()
    unit = one.ssh("sudo systemctl start google-startup-scripts; sudo journalctl -u "
                   "google-startup-scripts", 60)
    assert one.ssh("test -e /var/started").returncode == 0, unit.stdout
    said = one.ssh("sudo -n id -un; hostname; systemctl is-active google-guest-agent")
    assert said.stdout == "root\none\nactive\n", said
    token = json.loads(one.ssh(f"curl -sf -H 'Metadata-Flavor: Google' {ROOT}/instance/"
                               "service-accounts/default/token").stdout)["access_token"]
    listed = one.ssh(f"curl -sS -H 'Authorization: Bearer {token}' https://compute.googleapis.com"
                     f"/compute/v1/projects/{settings.PROJECT}/zones/us-central1-a/instances")
    assert [i["name"] for i in json.loads(listed.stdout)["items"]] == ["one"], listed
    # Without the rule for ssh the packets are dropped; a rule for the tag opens the port again.
    path = f"projects/{settings.PROJECT}/global/firewalls"
    raw.wait(raw("DELETE", f"{path}/default-allow-ssh")[1])
    wait_for(lambda: one.ssh("true", 2).returncode == 255, 10, "the firewall")
    raw.wait(raw("POST", path, {
        "name": "ssh", "targetTags": ["ray"], "sourceRanges": ["0.0.0.0/0"],
        "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}]})[1])
    wait_for(lambda: one.ssh("true", 2).returncode == 0, 10, "the open port")
    # It switches itself off, and starts again with its disk.
    one.ssh("sudo systemctl poweroff")
    wait_for(lambda: raw.zonal("GET", "instances/one")[1]["status"] == "TERMINATED", 30, "its end")
    raw.wait(raw.zonal("POST", "instances/one/start")[1])
    raw.wait(raw.zonal("DELETE", "instances/one")[1])
    assert containers.docker.run("ps", "-aq", "--filter", "name=gce-") == ""
