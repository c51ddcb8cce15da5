"""Google's provider, held to the rules of every provider. Its cloud is the stand-in of tests/gce,
with whose true state the answers of `conform` are compared.

SHOAL_CONFORM_LAUNCHES  how many instances are launched at least (default 60)
SHOAL_CONFORM_KILLS     how often the program is killed (default 4)
SHOAL_CONFORM_LEVELS    faults under which the rules are tried (default "off mild nasty")
"""

import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import time
import urllib.request

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD", HERE.parent.parent / "build"))
sys.path.insert(0, str(HERE.parent / "gce"))
sys.path.insert(0, str(HERE.parent / "bed"))
sys.path.insert(0, str(HERE))

import guarantees  # noqa: E402
from gce import client, settings  # noqa: E402

LAUNCHES = int(os.environ.get("SHOAL_CONFORM_LAUNCHES", "60"))
KILLS = int(os.environ.get("SHOAL_CONFORM_KILLS", "4"))
LEVELS = os.environ.get("SHOAL_CONFORM_LEVELS", "off mild nasty").split()
ZONES = ("us-central1-a", "us-central1-b")
FAULTS = 0.05
ENOUGH = 100_000
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
        for metric in ("CPUS", "PREEMPTIBLE_CPUS", "CPUS_ALL_REGIONS", "INSTANCES",
                       "IN_USE_ADDRESSES"):
            cloud.quota(metric=metric, limit=ENOUGH)
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

    def ask(self, method, path, body=None):
        """A request of another program."""
        request = urllib.request.Request(
            f"{self.cloud.api}/compute/v1/projects/{settings.PROJECT}/{path}",
            json.dumps(body).encode() if body else None,
            {"Content-Type": "application/json", "Authorization": f"Bearer {self.cloud.token()}"},
            method=method)
        with self.cloud.opener.open(request, timeout=30) as reply:
            assert reply.status == 200

    def left(self, kind):
        """The names of what exists."""
        return sorted(row["name"] for row in self.cloud.truth().get(kind, ()))


@pytest.fixture
def conform(running, tmp_path):
    return Conform(running, tmp_path)


def foreign(conform):
    """An instance of another cluster."""
    body = {"name": "foreign", "machineType": f"zones/{ZONES[0]}/machineTypes/e2-micro",
            "labels": {"shoal-cluster-uid": "f" * 32, "ray-cluster-name": "other"},
            "disks": [{"boot": True, "initializeParams": {"sourceImage": IMAGE}}],
            "networkInterfaces": [{"network": "global/networks/default"}]}
    conform.ask("POST", f"zones/{ZONES[0]}/instances", body)
    return "foreign"


def set_level(conform, level):
    if level == "mild":
        conform.cloud.set(**settings.SHORT)
        conform.cloud.mix(rate=0.02, seed=3)
    elif level == "nasty":
        conform.cloud.set(**settings.SHORT, page=7)
        conform.cloud.set(listing_lag=2, gone_lag=2)
        conform.cloud.mix(rate=0.10, seed=4)


@pytest.mark.parametrize("level", LEVELS)
def test_rules(conform, level):
    name = foreign(conform)
    set_level(conform, level)
    conform.cloud.stockout(zone=ZONES[1], type="e2-micro", left=5)
    start = time.monotonic()
    status, out, err = conform.run("rules", "--foreign", name, seconds=500)
    assert status == 0, out + err
    print(f"{level}: {out.count('ok  ')} rules hold, {time.monotonic() - start:.1f} s,",
          f"{sum(conform.cloud.counts().values())} calls")
    guarantees.check("gcp", out)
    assert conform.left("instances") == [name]
    assert conform.left("instanceTemplates") == [] and conform.left("firewalls") == []


def test_many_take_at_once(conform):
    last = 0
    for _ in range(2):
        children = [conform.start("take", "--holder", f"h{n}", "--count", 600000) for n in range(4)]
        said = [child.communicate(timeout=120)[0] for child in children]
        won = [out for out, child in zip(said, children) if child.returncode == 0]
        assert len(won) == 1, said
        epoch = int(won[0].split()[1])
        assert epoch > last
        last = epoch
        assert conform.run("uid")[0] == 0


def test_renewals_leave_few_templates(conform):
    """Each of them writes one, and Google's project has room for a hundred of all programs."""
    conform.cloud.set(**settings.SHORT)
    conform.cloud.mix(rate=FAULTS, seed=9)
    status, out, err = conform.run("renew", "--count", 60)
    assert status == 0, out + err
    left, calls = conform.left("instanceTemplates"), conform.cloud.counts()
    print(len(left), calls)
    assert len(left) <= 10 and calls["instanceTemplates.insert"] >= 61
    # Without the permission to delete them they are bounded, too.
    conform.cloud.clear()
    conform.cloud.deny(member=settings.ADMIN, permission="compute.instanceTemplates.delete")
    status, out, err = conform.run("renew", "--count", 60, "--holder", "other")
    assert status == 1 and "held by" in out, out + err
    conform.cloud.set(**settings.SHORT, clock=100)
    status, out, err = conform.run("renew", "--count", 60)
    assert status == 1 and "instanceTemplates.delete" in out, out + err
    assert len(conform.left("instanceTemplates")) <= 51
    conform.cloud.clear()
    assert conform.run("remove")[0] == 0 and conform.left("instanceTemplates") == []


def test_a_template_of_the_file(conform):
    """What the node_config does not set comes from it; nothing of it is lost."""
    journal = conform.folder / "journal"
    network = {"network": "global/networks/default"}
    conform.ask("POST", "global/instanceTemplates", {"name": "small", "properties": {
        "machineType": "e2-medium", "labels": {"team": "red"}, "networkInterfaces": [network],
        "disks": [{"boot": True, "initializeParams": {"sourceImage": IMAGE}}],
        "tags": {"items": ["mine"]}, "metadata": {"items": [{"key": "mine", "value": "1"}]}}})
    words = ("--journal", journal, "--count", 2, "--template")
    status, out, err = conform.run("launches", *words, "global/instanceTemplates/small")
    assert status == 0, out + err
    for row in conform.cloud.truth()["instances"]:
        assert row["machineType"].endswith("/e2-medium") and row["labels"]["team"] == "red"
        items = {item["key"]: item["value"] for item in row["metadata"]["items"]}
        assert items["mine"] == "1" and items["ssh-keys"] and "mine" in row["tags"]["items"]
        assert len(row["tags"]["items"]) == 2 and row["labels"]["shoal-token"]
    for name, words_of_error in (("global/instanceTemplates/large", "Google has no template"),
                                 ("large", "write global/instanceTemplates/NAME"),
                                 ("projects/other/global/instanceTemplates/a", "not a template")):
        _, out, err = conform.run("launches", *words, name)
        assert words_of_error in out + err, out + err


def test_labels_of_two_programs(conform):
    """Another program changes an instance after its labels were read: both changes stay."""
    journal = conform.folder / "journal"
    assert conform.run("launches", "--journal", journal, "--count", 1, "--most", 1)[0] == 0
    name = conform.left("instances")[0]
    conform.cloud.fault("instances.setLabels", "hold", count=0)
    child = conform.start("tag")
    while not conform.cloud.held()["actions"]:
        assert child.poll() is None, child.communicate()
        time.sleep(0.05)
    conform.cloud.clear()
    row = next(row for row in conform.cloud.truth()["instances"] if row["name"] == name)
    zone = row["zone"].rpartition("/")[2]
    conform.ask("POST", f"zones/{zone}/instances/{name}/setLabels", {
        "labels": {**row["labels"], "team": "red"}, "labelFingerprint": row["labelFingerprint"]})
    conform.cloud.release()
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, out + err
    row = next(row for row in conform.cloud.truth()["instances"] if row["name"] == name)
    assert row["labels"]["team"] == "red" and row["labels"]["ray-node-status"] == "up-to-date"


def compare(conform, journal):
    """Orphans (alive and unknown), twins (more than asked for), lost (known and not there)."""
    drafts, came, refused = {}, {}, set()
    for line in journal.read_text(encoding="utf-8").splitlines():
        kind, launch, *rest = line.split(" ")
        if kind == "D":
            drafts[launch] = (int(rest[0]), rest[1])
        elif kind == "R":
            came[launch] = [name for name in rest if name]
        else:
            refused.add(launch)
    assert set(came) | refused == set(drafts), "a launch was not settled"
    real = collections.defaultdict(set)
    for row in conform.cloud.truth().get("instances", ()):
        real[row["labels"]["shoal-token"]].add(row["name"])
    known = {drafts[launch][1]: set(ids) for launch, ids in came.items()}
    orphans = [i for token, ids in real.items() for i in ids - known.get(token, set())]
    lost = [i for token, ids in known.items() for i in ids - real.get(token, set())]
    counts = {token: count for count, token in drafts.values()}
    twins = [token for token, ids in real.items() if len(ids) > counts.get(token, 0)]
    assert (orphans, twins, lost) == ([], [], [])
    return {"launches": len(drafts), "refused": len(refused),
            "instances": sum(map(len, real.values())), "orphans": 0, "twins": 0, "lost": 0}


@pytest.mark.parametrize("rate, later", [(0, 0), (0.1, 0), (0, 1300)])
def test_launches(conform, rate, later):
    """Replies are lost and `conform` is killed: no instance is lost or extra. A launch of more than
    20 minutes ago is looked up and not sent again.
    """
    journal = conform.folder / "journal"
    conform.cloud.set(**{**settings.SHORT, "insert": 1})
    conform.cloud.mix(rate=rate, seed=3)
    words = ("--journal", journal, "--count", 20)
    child = conform.start("launches", *words, "--seed", 1)
    while not conform.left("instances"):
        time.sleep(0.02)
    child.kill()
    child.communicate()
    conform.cloud.set(clock=later)
    conform.cloud.counts(clear=True)
    status, out, err = conform.run("launches", *words, "--seed", 2)
    assert status == 0 and json.loads(out)["found_open"] >= 1, out + err
    print(out.strip())
    sent = conform.cloud.counts().get("instances.bulkInsert", 0)
    assert not later or sent <= json.loads(out)["calls"] - json.loads(out)["found_open"]
    conform.cloud.clear()
    compare(conform, journal)
    status, out, err = conform.run("remove")
    assert status == 0, out + err
    assert conform.left("instanceTemplates") == [] and conform.left("firewalls") == []


def asked_for(journal):
    """The number of instances that the drafts of a journal ask for."""
    if not journal.exists():
        return 0
    return sum(int(line.split(" ")[2]) for line in journal.read_text(encoding="utf-8").splitlines()
               if line.startswith("D ") and line.count(" ") > 3)


def kill_at_random(conform, journal, words, dice, number):
    """While it starts, or after it has drafted its part of the launches."""
    until = min(number * LAUNCHES / (KILLS + 1), asked_for(journal) + LAUNCHES / KILLS)
    end = time.monotonic() + (dice.uniform(0.05, 1) if dice.random() < 0.25 else 120)
    child = conform.start("launches", *words, "--seed", number)
    while asked_for(journal) < until and time.monotonic() < end and child.poll() is None:
        time.sleep(0.01)
    time.sleep(dice.uniform(0, 0.5))
    assert child.poll() is None, child.communicate()
    child.kill()
    child.communicate()


@pytest.mark.parametrize("most", [4, 100])
def test_launches_with_kills(conform, most):
    """Faults of every kind and kills at random: every instance is known, none is there twice."""
    journal = conform.folder / "journal"
    conform.cloud.set(**{**settings.SHORT, "insert": 1, "listing_lag": 0.5})
    conform.cloud.mix(rate=FAULTS, seed=6)
    dice = random.Random(2)
    words = ("--journal", journal, "--count", LAUNCHES, "--most", most)
    start = time.monotonic()
    for number in range(1, KILLS + 1):
        kill_at_random(conform, journal, words, dice, number)
    status, out, err = conform.run("launches", *words, "--seed", 99, seconds=3000)
    took = time.monotonic() - start
    assert status == 0, out + err[-3000:]
    said, calls = json.loads(out), conform.cloud.counts()
    templates = len(conform.left("instanceTemplates"))
    conform.cloud.clear()
    found = {**compare(conform, journal), "kills": KILLS, "seconds": round(took, 1),
             "open_at_last_start": said["found_open"], "unknown": said["unknown"],
             "peak_kb": said["peak_kb"], "requests": sum(calls.values()), "templates": templates}
    print(json.dumps({**found, "calls": dict(sorted(calls.items()))}), os.getloadavg())
    assert found["instances"] >= LAUNCHES
    conform.cloud.counts(clear=True)
    start = time.monotonic()
    status, out, err = conform.run("remove", seconds=1200)
    assert status == 0, out + err[-3000:]
    print(f"removed in {time.monotonic() - start:.1f} s:", conform.cloud.counts())
    for kind in ("instances", "instanceTemplates", "firewalls", "disks"):
        assert conform.left(kind) == []


def test_a_reply_after_the_end_of_the_lease(conform):
    """Its instances are left to the next holder."""
    conform.cloud.set(**{**settings.SHORT, "insert": 2})
    status, out, err = conform.run("late")
    assert status == 0 and guarantees.LATE in out, out + err
    assert conform.left("instances") == [] and conform.left("instanceTemplates") == []


def test_a_record_that_is_lost_is_made_again(conform):
    """The uid is that of the instances."""
    journal = conform.folder / "journal"
    status, out, err = conform.run("launches", "--journal", journal, "--count", 3)
    assert status == 0, out + err
    uid = json.loads(out)["uid"]
    for name in conform.left("instanceTemplates"):
        conform.ask("DELETE", f"global/instanceTemplates/{name}")
    status, out, err = conform.run("remove")
    assert status == 0 and f"uid {uid}" in out, out + err
    assert conform.left("instanceTemplates") == [] and conform.left("firewalls") == []
