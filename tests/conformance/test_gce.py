"""Google's provider, held to the rules of every provider. Its cloud is the stand-in of tests/gce,
with whose true state the answers of `conform` are compared.
"""

import json
import os
import pathlib
import subprocess
import sys
import urllib.request

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD", HERE.parent.parent / "build"))
sys.path.insert(0, str(HERE.parent / "gce"))
sys.path.insert(0, str(HERE.parent / "bed"))

from gce import client, settings  # noqa: E402

ZONES = ("us-central1-a", "us-central1-b")
IMAGE = "projects/debian-cloud/global/images/family/debian-12"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFRlc3RUZXN0VGVzdFRlc3RUZXN0VGVzdFRlc3RUZXN0 me\n"


@pytest.fixture(scope="module")
def running():
    try:
        with client.up() as cloud:
            yield cloud
    except client.CloudError as error:
        pytest.skip(f"{error}; see docs/dev/gce.md")


class Conform:
    """The program, for one cluster in an empty cloud."""

    def __init__(self, cloud, folder):
        cloud.reset()
        cloud.quota(metric="CPUS", limit=10000)
        self.cloud, self.folder = cloud, folder
        key, login = folder / "key.pub", folder / "login.json"
        key.write_text(KEY, encoding="utf-8")
        login.write_text(json.dumps({
            "type": "authorized_user", "client_id": settings.CLIENT_ID, "client_secret": "none",
            "refresh_token": "none", "token": cloud.token(), "expiry": "2099-01-01T00:00:00Z"}),
            encoding="utf-8")
        self.words = ["--cloud", "gcp", "--cluster", "conform", "--image", IMAGE,
                      "--zone", ZONES[0], "--zone", ZONES[1], "--key", str(key),
                      "--ssh-from", "198.51.100.7/32"]
        self.environment = {**os.environ, "HOME": str(folder),
                            "GOOGLE_APPLICATION_CREDENTIALS": str(login),
                            "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": cloud.api + "/compute/v1/"}

    def start(self, verb, *more):
        return subprocess.Popen([BUILD / "tests" / "conformance" / "conform", verb, *self.words,
                                 *map(str, more)], env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, verb, *more, seconds=240):
        """(exit status, standard output, standard error)."""
        child = self.start(verb, *more)
        try:
            out, err = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            pytest.fail(f"conform {verb} took more than {seconds} s:\n{out}\n{err}")
        return child.returncode, out, err

    def left(self, kind):
        """The names of what exists."""
        return sorted(row["name"] for row in self.cloud.truth().get(kind, ()))


@pytest.fixture
def conform(running, tmp_path):
    return Conform(running, tmp_path)


def foreign(conform):
    """An instance of somebody else."""
    body = {"name": "foreign", "machineType": f"zones/{ZONES[0]}/machineTypes/e2-micro",
            "labels": {"shoal-cluster-uid": "f" * 32, "ray-cluster-name": "other"},
            "disks": [{"boot": True, "initializeParams": {"sourceImage": IMAGE}}],
            "networkInterfaces": [{"network": "global/networks/default"}]}
    request = urllib.request.Request(
        f"{conform.cloud.api}/compute/v1/projects/{settings.PROJECT}/zones/{ZONES[0]}/instances",
        json.dumps(body).encode(), {"Content-Type": "application/json",
                                    "Authorization": f"Bearer {conform.cloud.token()}"})
    with conform.cloud.opener.open(request, timeout=30) as reply:
        assert reply.status == 200
    return "foreign"


@pytest.mark.parametrize("delays", ["none", "short"])
def test_rules(conform, delays):
    conform.cloud.set(**({} if delays == "none" else settings.SHORT))
    name = foreign(conform)
    conform.cloud.stockout(zone=ZONES[1], type="e2-micro", left=5)
    status, out, err = conform.run("rules", "--foreign", name)
    print(out, err)
    assert status == 0, out + err
    assert conform.left("instances") == [name]
    assert conform.left("instanceTemplates") == [] and conform.left("firewalls") == []
