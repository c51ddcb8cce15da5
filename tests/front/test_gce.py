"""The front at Google: its machines, its metadata server, Google's names and credentials."""

import json
import pathlib
import sys
import time

import pytest
from front import wait_for
from gce_front import FAMILY, GceFront

API = "https://compute.googleapis.com/compute/v1/projects/shoal-test"
ZONE = f"{API}/zones/us-central1-a"
FLAVOR = "Metadata-Flavor: Google"
METADATA = "http://metadata.google.internal/computeMetadata/v1"
SPOT = {"provisioningModel": "SPOT", "instanceTerminationAction": "STOP",
        "onHostMaintenance": "TERMINATE", "automaticRestart": False}


@pytest.fixture
def front():
    with GceFront() as made:
        yield made


class Api:
    """curl on a laptop, as an owner of the project."""

    def __init__(self, front):
        self.laptop = front.laptop()
        self.token = front.mint()["token"]

    def __call__(self, method, url, body=None, check=True):
        words = ["-sS", "-X", method, "-H", f"Authorization: Bearer {self.token}", url]
        if body is not None:
            words += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
        value = json.loads(self.laptop.run(*words, program="curl").out)
        assert not check or "error" not in value, value
        return value

    def wait(self, operation):
        link = operation["selfLink"].replace("www.googleapis", "compute.googleapis")
        done = self("POST", f"{link}/wait", {})
        assert done["status"] == "DONE" and "error" not in done, done
        return done

    def insert(self, name, metadata=None, **more):
        body = {"name": name, "machineType": "zones/us-central1-a/machineTypes/n1-standard-2",
                "disks": [{"boot": True, "autoDelete": True,
                           "initializeParams": {"sourceImage": FAMILY}}],
                "metadata": {"items": [{"key": k, "value": v}
                                       for k, v in (metadata or {}).items()]},
                "networkInterfaces": [{"network": "global/networks/default",
                                       "accessConfigs": [{"type": "ONE_TO_ONE_NAT"}]}], **more}
        self.wait(self("POST", f"{ZONE}/instances", body))
        return self("GET", f"{ZONE}/instances/{name}")

    def key(self, name):
        """(path of a new ssh key, its public part)."""
        path = self.laptop.here / name
        done = self.laptop.run("-q", "-t", "ed25519", "-N", "", "-f", path, program="ssh-keygen")
        assert done.status == 0, done
        return path, path.with_suffix(".pub").read_text().strip()

    def host_key(self, name):
        """What the agent published, or None."""
        value = self("GET", f"{ZONE}/instances/{name}/getGuestAttributes?queryPath=hostkeys/",
                     check=False)
        items = value.get("queryValue", {}).get("items", [])
        return next((i["value"] for i in items if i["key"] == "ssh-ed25519"), None)

    def ssh(self, address, key, host_key, user, command):
        """ssh that accepts this host key only."""
        known = self.laptop.file("known", f"{address} ssh-ed25519 {host_key}\n")
        return self.laptop.run("-F", "none", "-i", key, "-o", "BatchMode=yes", "-o",
                               f"UserKnownHostsFile={known}", "-o", "StrictHostKeyChecking=yes",
                               "-o", "ConnectTimeout=20", f"{user}@{address}", command,
                               program="ssh")


@pytest.fixture
def api(front):
    return Api(front)


def public_of(value):
    return value["networkInterfaces"][0]["accessConfigs"][0]["natIP"]


def test_a_machine_from_its_metadata(front, api):
    key, public = api.key("first")
    made = api.insert("one", {
        "ssh-keys": f"rosa:{public}", "enable-guest-attributes": "TRUE",
        "startup-script": "#!/bin/sh\ntouch /var/started\n"}, serviceAccounts=[
            {"email": "default", "scopes": ["https://www.googleapis.com/auth/cloud-platform"]}])
    host_key = wait_for(lambda: api.host_key("one"), 60, 0.1, "the host key")
    address = public_of(made)

    def there(command, key=key):
        return api.ssh(address, key, host_key, "rosa", command)

    wait_for(lambda: there("test -e /var/started").status == 0, 60, 0.1, "the startup script")
    assert there("sudo -n id -un; hostname").out == "root\none\n"

    def fetch(header, url):
        done = there(f"curl -sSf -H '{header}' {url}")
        assert done.status == 0, str(done)
        return done.out

    def metadata(path):
        return fetch(FLAVOR, f"{METADATA}/{path}")

    assert metadata("instance/preempted") == "FALSE"
    assert metadata("instance/maintenance-event") == "NONE"
    front.maintenance(instance="one")
    assert metadata("instance/maintenance-event") == "TERMINATE_ON_HOST_MAINTENANCE"
    # The machine's own token works at Google's own name, with the machine's own trust.
    token = json.loads(metadata("instance/service-accounts/default/token"))["access_token"]
    listed = json.loads(fetch(f"Authorization: Bearer {token}", f"{ZONE}/instances"))
    assert [i["name"] for i in listed["items"]] == ["one"]
    callers = {(row["who"], row["as"].partition(":")[0]) for row in front.calls()}
    assert callers >= {("laptop", "user"), ("one", "serviceAccount")}
    # Another key replaces the first one.
    other, public = api.key("second")
    items = [{"key": "ssh-keys", "value": f"rosa:{public}"}]
    api.wait(api("POST", f"{ZONE}/instances/one/setMetadata", {
        "fingerprint": made["metadata"]["fingerprint"], "items": items}))
    wait_for(lambda: there("true", other).status == 0, 60, 0.1, "the new key")
    assert there("true").status == 255

    pid = front.first_process(instance="one")["pid"]
    assert pid
    api.wait(api("DELETE", f"{ZONE}/instances/one"))
    assert front.remains() == {}
    assert there("true", other).status == 255
    assert "bug" not in front.log()


def test_stop_start_and_preemption(front, api):
    front.set(preempt=3)
    made = api.insert("one", {"enable-guest-attributes": "TRUE"}, scheduling=SPOT)
    machine = front.machines()[0]
    first_key = wait_for(lambda: api.host_key("one"), 60, 0.1, "the host key")
    machine.run("sudo", "touch", "/var/kept")
    api.wait(api("POST", f"{ZONE}/instances/one/stop"))
    assert [m.state for m in front.machines()] == ["TERMINATED"]
    api.wait(api("POST", f"{ZONE}/instances/one/start"))
    assert machine.run("ls", "/var/kept") == "/var/kept\n"
    assert public_of(api("GET", f"{ZONE}/instances/one")) != "" and made
    assert api.host_key("one") == first_key
    # Switched off by itself, and preempted: stopped, with its disk.
    machine.run("sudo", "-n", "shutdown", "-h", "now", check=False)
    wait_for(lambda: [m.state for m in front.machines()] == ["TERMINATED"], 30, 0.05, "its end")
    api.wait(api("POST", f"{ZONE}/instances/one/start"))
    machine.run("true")  # it has booted
    front.preempt(instance="one")
    words = ["curl", "-sf", "-H", FLAVOR, f"{METADATA}/instance/preempted"]
    assert machine.run(*words) == "TRUE"
    wait_for(lambda: [m.state for m in front.machines()] == ["TERMINATED"], 30, 0.05, "its end")
    assert set(front.remains()) == {"instances", "disks"}


def test_no_sshd_and_no_agent(front, api):
    front.launch_fault("no-sshd")
    made = api.insert("one", {"enable-guest-attributes": "TRUE"})
    host_key = wait_for(lambda: api.host_key("one"), 60, 0.1, "the host key")
    key, _ = api.key("first")
    assert "refused" in api.ssh(public_of(made), key, host_key, "ubuntu", "true").err
    front.set(boot=-1)
    api.insert("two", {"enable-guest-attributes": "TRUE"})
    time.sleep(1)
    assert api.host_key("two") is None


def test_googles_client_on_a_laptop(front, api):
    """It finds the credentials, Google's names and the CA by itself."""
    script = ("import googleapiclient.discovery as d; c = d.build('compute', 'v1', "
              "cache_discovery=False); print(c.instances().list(project='shoal-test', "
              "zone='us-central1-a').execute()['kind'])")
    laptop = front.laptop("bob")
    path = ":".join(p for p in sys.path if "site-packages" in p)
    done = laptop.run("-c", script, program=sys.executable, env={"PYTHONPATH": path})
    assert done.out == "compute#instanceList\n", done
    assert front.calls(action="instances.list")[-1]["as"] == "user:bob@example.com"
    assert pathlib.Path(laptop.home, ".config/gcloud").exists()
    limited = front.limited_laptop("carol", ["compute.zones.list"])
    done = limited.run("-c", script, program=sys.executable, env={"PYTHONPATH": path})
    assert "Required 'compute.instances.list' permission" in done.err, done
