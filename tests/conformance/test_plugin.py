"""Plug-ins, held to the rules of every provider. Their cloud is a file, with which the answers of
`conform` are compared.
"""

import collections
import json
import os
import pathlib
import random
import subprocess
import time

import guarantees
import lagoon
import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD", HERE.parent.parent / "build"))
PLUGINS = HERE.parent.parent / "examples" / "plug-ins"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFRlc3RUZXN0VGVzdFRlc3RUZXN0VGVzdFRlc3RUZXN0 me\n"
FOREIGN = {"id": "m-foreign", "state": "running", "token": "shoal-other", "type": "", "zone": "a",
           "market": "spot", "tags": {"shoal-cluster-uid": "f" * 32, "ray-cluster-name": "other"}}


class Cloud:
    def __init__(self, folder, program=PLUGINS / "file_cloud.py"):
        self.folder, self.program = folder, program
        self.state = folder / "cloud.json"
        self.environment = {**os.environ, "SHOAL_PLUGIN_STATE": str(self.state)}
        (folder / "key.pub").write_text(KEY, encoding="ascii")

    def start(self, verb, *more):
        words = ["--cloud", "external", "--cluster", "conform", "--image", self.program, "--key",
                 self.folder / "key.pub", "--zone", "a", "--zone", "b", *more]
        return subprocess.Popen([BUILD / "tests" / "conformance" / "conform", verb,
                                 *map(str, words)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=self.environment)

    def run(self, verb, *more, seconds=200):
        child = self.start(verb, *more)
        out, err = child.communicate(timeout=seconds)
        return child.returncode, out, err

    def data(self):
        return json.loads(self.state.read_text(encoding="utf-8"))

    def record(self):
        return self.data()["records"].get("conform", "")

    def live(self):
        return [m for m in self.data()["machines"]
                if m["state"] not in ("ending", "gone") and m["id"] != FOREIGN["id"]]


@pytest.fixture
def cloud(tmp_path):
    return Cloud(tmp_path)


@pytest.mark.parametrize("can", [None, "atomic_swap tags stop", "tokens stop", "stop"])
def test_rules(cloud, can):
    """With all abilities, and without tokens, tags, or both."""
    cloud.state.write_text(json.dumps({"machines": [FOREIGN], "records": {}}), encoding="utf-8")
    if can:
        cloud.environment["SHOAL_PLUGIN_CAN"] = can
    status, out, err = cloud.run("rules", "--foreign", FOREIGN["id"])
    assert status == 0, out + err
    if not can:
        guarantees.check("plug-in", out)
    assert cloud.live() == [] and cloud.record() == ""
    assert FOREIGN in cloud.data()["machines"]


def test_rules_of_the_small_plugin(cloud):
    cloud.program = PLUGINS / "small_cloud.pl"
    status, out, err = cloud.run("rules", "--plain")
    assert status == 0, out + err
    guarantees.check("least plug-in", out)
    assert cloud.live() == [] and cloud.record() == ""


def test_rules_of_a_plugin_over_http(cloud):
    """It was written from the documentation alone."""
    lagoon_cloud = lagoon.Lagoon()
    cloud.program = HERE / "lagoon_plugin.py"
    cloud.environment["LAGOON_URL"] = lagoon_cloud.url
    status, out, err = cloud.run("rules", "--plain")
    assert status == 0, out + err
    assert lagoon_cloud.live() == [] and lagoon_cloud.texts == {"conform": ""}


def test_many_take_at_once(cloud):
    last = 0
    for _ in range(2):
        children = [cloud.start("take", "--holder", f"h{n}", "--count", 600000) for n in range(4)]
        said = [child.communicate(timeout=60)[0] for child in children]
        won = [out for out, child in zip(said, children) if child.returncode == 0]
        assert len(won) == 1, said
        epoch = int(won[0].split()[1])
        assert epoch > last
        last = epoch
        assert cloud.run("uid")[0] == 0


def compare(cloud, journal):
    """Each live instance is in the journal, each of the journal is there, none is there twice."""
    drafts, came, refused = {}, {}, set()
    for line in journal.read_text(encoding="utf-8").splitlines():
        kind, launch, *rest = line.split(" ")
        if kind == "D":
            drafts[launch] = (int(rest[0]), rest[1])
        elif kind == "R":
            came[launch] = rest
        else:
            refused.add(launch)
    assert set(came) | refused == set(drafts), "a launch was not settled"
    real = collections.defaultdict(set)
    for machine in cloud.live():
        real[machine["token"]].add(machine["id"])
    known = {drafts[launch][1]: set(ids) for launch, ids in came.items()}
    assert {token: ids for token, ids in known.items() if ids} == dict(real)
    assert all(len(ids) <= dict((t, c) for c, t in drafts.values())[token]
               for token, ids in real.items())


@pytest.mark.parametrize("can", ["tokens atomic_swap tags", "atomic_swap tags", "atomic_swap"])
def test_launches_with_faults(cloud, can):
    """The plug-in fails in every way, and `conform` is killed: no instance is lost or extra."""
    journal = cloud.folder / "journal"
    cloud.program = HERE / "faulty_plugin.py"
    cloud.environment |= {"SHOAL_PLUGIN_CAN": can, "FAULTS": "60", "SHOAL_PLUGIN_MS": "10000"}
    words = ("--journal", journal, "--count", 12)
    child = cloud.start("launches", *words, "--seed", 1)
    time.sleep(random.Random(can).uniform(0.5, 1.5))
    child.kill()
    child.communicate()
    status, out, err = cloud.run("launches", *words, "--seed", 2)
    assert status == 0, out + err
    print(out.strip())
    compare(cloud, journal)
    cloud.environment |= {"FAULTS": "0", "SHOAL_PLUGIN_MS": "60000"}
    status, out, err = cloud.run("remove")
    assert status == 0, out + err
    assert cloud.live() == [] and cloud.record() == ""


def test_a_listing_that_lags(cloud):
    """Without tokens a launch whose reply was lost is settled when it must be listed."""
    journal = cloud.folder / "journal"
    cloud.program = HERE / "faulty_plugin.py"
    cloud.environment |= {"SHOAL_PLUGIN_CAN": "atomic_swap tags", "LATE": "100",
                          "HIDDEN": "3", "SHOAL_PLUGIN_MS": "60000"}
    words = ("--journal", journal, "--count", 2)
    child = cloud.start("launches", *words)
    while not cloud.state.exists() or not cloud.live():
        time.sleep(0.05)
    child.kill()
    child.communicate()
    cloud.environment["LATE"] = "0"
    status, out, err = cloud.run("launches", *words)
    assert status == 0 and json.loads(out)["found_open"] >= 1, out + err
    compare(cloud, journal)


@pytest.mark.parametrize("can", ["tokens atomic_swap tags", "atomic_swap"])
def test_a_reply_after_the_end_of_the_lease(cloud, can):
    """Its instances are left to the next holder, and it is not sent again."""
    cloud.program = HERE / "faulty_plugin.py"
    cloud.environment |= {"LATE": "1", "SHOAL_PLUGIN_CAN": can}
    status, out, err = cloud.run("late")
    assert status == 0 and guarantees.LATE in out, out + err
    assert cloud.live() == [] and cloud.record() == ""


@pytest.mark.parametrize("text", ["{", '{"cluster": "other"}', "[]"])
def test_a_record_that_is_not_ours_is_not_changed(cloud, text):
    stored = {"machines": [], "records": {"conform": text}}
    cloud.state.write_text(json.dumps(stored), encoding="utf-8")
    status, out, _ = cloud.run("take", "--count", 60000)
    assert status == 1 and "is not the record of this cluster" in out, out
    assert cloud.record() == text


def test_a_record_that_is_lost_is_made_again(cloud):
    """With tags: the uid is that of the instances."""
    journal = cloud.folder / "journal"
    status, out, err = cloud.run("launches", "--journal", journal, "--count", 3)
    assert status == 0, out + err
    uid = json.loads(out)["uid"]
    cloud.state.write_text(json.dumps({**cloud.data(), "records": {}}), encoding="utf-8")
    status, out, err = cloud.run("remove")
    assert status == 0 and f"uid {uid}" in out, out + err
    assert cloud.live() == [] and cloud.record() == ""
