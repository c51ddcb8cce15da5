"""The provider of own machines, held to the same rules. Each host is a folder with a shell of its
own; what `conform` says is compared with the records in these folders.
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import time

import guarantees
import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD", HERE.parent.parent / "build"))
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFRlc3RUZXN0VGVzdFRlc3RUZXN0VGVzdFRlc3RUZXN0 me\n"


def missing():
    probe = ["unshare", "-rpf", "--mount-proc", "sh", "-c", "command -v flock"]
    return subprocess.run(probe, capture_output=True, check=False).returncode != 0


pytestmark = pytest.mark.skipif(missing(), reason="no namespaces or no flock here")


class Hosts:
    def __init__(self, folder, cluster="conform"):
        self.folder, self.cluster = folder, cluster
        (folder / "key.pub").write_text(KEY, encoding="ascii")

    def start(self, verb, *more, cluster=None):
        words = ["--cloud", "local", "--cluster", cluster or self.cluster, "--image", self.folder,
                 "--key", self.folder / "key.pub", "--zone", "a", "--zone", "b", *more]
        return subprocess.Popen([BUILD / "tests" / "conformance" / "conform", verb,
                                 *map(str, words)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def run(self, verb, *more, seconds=200, **fields):
        child = self.start(verb, *more, **fields)
        out, err = child.communicate(timeout=seconds)
        return child.returncode, out, err

    def records(self):
        """{host: record}."""
        found = {}
        for path in self.folder.glob("h*/host/record"):
            found[path.parts[-3]] = json.loads(path.read_text(encoding="utf-8").split("\n")[1])
        return found

    def keys(self):
        return [path for path in self.folder.glob("h*/.ssh/authorized_keys")
                if "shoal-" in path.read_text(encoding="ascii")]


@pytest.fixture
def hosts(tmp_path):
    return Hosts(tmp_path)


def test_rules(hosts):
    status, out, err = hosts.run("rules", "--foreign", "h99@1.1")
    assert status == 0, out + err
    guarantees.check("local", out)
    assert guarantees.LATE in out, out
    assert hosts.records() == {} and hosts.keys() == []


def test_many_take_at_once(hosts):
    """Each time exactly one, and epochs grow."""
    last = 0
    for _ in range(3):
        children = [hosts.start("take", "--holder", f"h{n}", "--count", 600000) for n in range(4)]
        said = [child.communicate(timeout=60)[0] for child in children]
        won = [out for out, child in zip(said, children) if child.returncode == 0]
        assert len(won) == 1, said
        epoch = int(won[0].split()[1])
        assert epoch > last
        last = epoch
        assert hosts.run("uid")[0] == 0


def test_a_lease_ends_by_itself(hosts):
    assert hosts.run("take", "--holder", "gone", "--count", 1000)[0] == 0
    status, out, _ = hosts.run("take", "--holder", "next", "--count", 60000)
    assert status != 0 and "held by gone" in out, out
    time.sleep(12)
    status, out, _ = hosts.run("take", "--holder", "next", "--count", 60000)
    assert status == 0 and out.startswith("epoch 2 holder next"), out


def test_another_cluster_is_refused(hosts):
    """The message names the cluster that uses the host, and nothing is changed."""
    assert hosts.run("prepare")[0] == 0
    before = hosts.records()
    status, out, _ = hosts.run("prepare", cluster="other")
    assert status == 1 and "h0 is used by cluster conform" in out and "shoal down" in out, out
    assert hosts.records() == before
    status, out, err = hosts.run("remove")
    assert status == 0, out + err
    assert hosts.records() == {} and hosts.keys() == []


def test_a_cluster_with_this_name_and_another_head_is_left_alone(hosts):
    """Its workers are not used, not freed, and do not give their uid to this cluster."""
    theirs = {"cluster": hosts.cluster, "uid": "f" * 32, "head": "elsewhere", "id": "h2@1.1"}
    folder = hosts.folder / "h2" / "host"
    folder.mkdir(parents=True)
    text = f"5\n{json.dumps(theirs)}\n"
    (folder / "record").write_text(text, encoding="ascii")
    status, out, err = hosts.run("launches", "--journal", hosts.folder / "journal", "--count", 3)
    assert status == 0 and json.loads(out)["uid"] != theirs["uid"], out + err
    head = hosts.records()["h0"]
    assert "h2" not in {node["host"] for node in head["nodes"]}
    assert "used by cluster conform (uid ffffffff, head elsewhere" in head["unused"]["h2"]["why"]
    status, out, err = hosts.run("remove")
    assert status == 0, out + err
    assert (folder / "record").read_text(encoding="ascii") == text
    assert list(hosts.records()) == ["h2"] and hosts.keys() == []


def test_hosts_that_left_the_file_are_freed(hosts):
    """h97 to h99 have the key, by the head's record. h98 does not answer; Ray stays on h99."""
    status, out, err = hosts.run("prepare")
    assert status == 0, out + err
    path = hosts.folder / "h0" / "host" / "record"
    serial, text = path.read_text(encoding="utf-8").split("\n")[:2]
    head = json.loads(text)
    head["keys"].update({"h97": True, "h98": True, "h99": True})
    path.write_text(f"{serial}\n{json.dumps(head)}\n", encoding="utf-8")
    for name in ("h97", "h98", "h99"):
        shutil.copytree(hosts.folder / "h1", hosts.folder / name)
        (hosts.folder / name / "host").mkdir()
        own = {"cluster": hosts.cluster, "uid": head["uid"], "head": "h0", "id": name + "@1.1"}
        uid = "e" * 32 if name == "h99" else head["uid"]
        (hosts.folder / name / "host" / "record").write_text(
            f"8\n{json.dumps(own | {'uid': uid})}\n", encoding="utf-8")
    (hosts.folder / "h98" / "down").touch()
    status, out, err = hosts.run("remove")
    assert status == 0, out + err
    left = [line for line in out.splitlines() if "no longer in worker_ips" in line]
    assert len(left) == 1 and "h98 does not answer ssh" in left[0], out
    assert f"sed -i /shoal-{head['uid']}/d ~/.ssh/authorized_keys" in left[0]
    assert sorted(hosts.records()) == ["h98", "h99"]
    assert [path.parts[-3] for path in hosts.keys()] == ["h98"]


def test_a_shared_home_is_an_error(hosts, monkeypatch):
    """Freeing one worker would delete the state of the others and of the head."""
    fake = hosts.folder / "fake"
    fake.mkdir()
    (fake / "stat").write_text('#!/bin/sh\ncase "$HOME" in */h[13]) echo nfs ;; *) echo ext2 ;;'
                               ' esac\n', encoding="ascii")
    (fake / "stat").chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake}:{os.environ['PATH']}")
    status, out, err = hosts.run("launches", "--journal", hosts.folder / "journal", "--count", 3)
    assert status == 0, out + err
    assert "survey: hosts: 22 of 24 workers can be used" in err
    head = hosts.records()["h0"]
    assert {"h1", "h3"}.isdisjoint(node["host"] for node in head["nodes"])
    assert "network file system" in head["unused"]["h1"]["why"]


@pytest.mark.parametrize("faults", [0, 20, 100])
def test_launches_with_kills(hosts, monkeypatch, faults):
    """Killed at random, and of 1000 connections `faults` fail, before or after the script ran.
    Every record on a host is that of a node that the head knows, or the head knows that the host
    did not answer."""
    dice = random.Random(3)
    monkeypatch.setenv("HOST_FAULTS", str(faults))
    words = ("--journal", hosts.folder / "journal", "--count", 20)
    for seed in range(4):
        child = hosts.start("launches", *words, "--seed", seed)
        time.sleep(dice.uniform(0.2, 2.5))
        child.kill()
        child.communicate()
    status, out, err = hosts.run("launches", *words, "--seed", 99)
    monkeypatch.setenv("HOST_FAULTS", "0")
    assert status == 0, out + err
    records = hosts.records()
    head = records.pop("h0")
    nodes = {node["host"]: node for node in head["nodes"] if node["state"] != "gone"}
    silent = {host for host, row in head.get("unused", {}).items()
              if "ssh" in row["why"] and host not in nodes}
    assert faults or not silent
    ours = {host: record["id"] for host, record in records.items() if host not in silent}
    assert ours == {host: node["id"] for host, node in nodes.items() if host != "h0"}
    assert all(record["uid"] == head["uid"] for record in records.values())
    status, out, err = hosts.run("remove")
    assert status == 0, out + err
    assert hosts.records() == {}


def test_a_node_that_is_ending_is_terminated_again(hosts):
    """A host did not answer when its node was terminated: the next `remove` finishes the work."""
    status, out, err = hosts.run("launches", "--journal", hosts.folder / "journal", "--count", 3)
    assert status == 0, out + err
    worker = sorted(set(hosts.records()) - {"h0"})[0]
    (hosts.folder / worker / "down").touch()
    status, out, err = hosts.run("remove")
    assert status == 1 and f"{worker} does not answer ssh" in out, out + err
    states = {node["host"]: node["state"] for node in hosts.records()["h0"]["nodes"]
              if node["state"] != "gone"}
    assert states[worker] == "ending" and worker in hosts.records()
    (hosts.folder / worker / "down").unlink()
    status, out, err = hosts.run("remove")
    assert status == 0, out + err
    assert hosts.records() == {} and hosts.keys() == []


def test_a_remove_that_was_killed_after_the_mark(hosts):
    """The nodes are marked, and nothing has happened on their hosts."""
    status, out, err = hosts.run("launches", "--journal", hosts.folder / "journal", "--count", 3)
    assert status == 0, out + err
    path = hosts.folder / "h0" / "host" / "record"
    text = path.read_text(encoding="utf-8")
    assert '"running"' in text
    path.write_text(text.replace('"running"', '"ending"'), encoding="utf-8")
    status, out, err = hosts.run("remove")
    assert status == 0, out + err
    assert hosts.records() == {} and hosts.keys() == []


def test_a_record_that_is_lost_is_made_again(hosts):
    """The head's folder was deleted: the uid is that of the workers, and so are the nodes."""
    status, out, err = hosts.run("launches", "--journal", hosts.folder / "journal", "--count", 3)
    assert status == 0, out + err
    uid = json.loads(out)["uid"]
    shutil.rmtree(hosts.folder / "h0" / "host")
    status, out, err = hosts.run("remove")
    assert status == 0 and f"uid {uid}" in out, out + err
    assert hosts.records() == {}


def test_a_host_that_does_not_answer(hosts):
    """It is not used, and its neighbours are."""
    for number in (1, 2):
        (hosts.folder / f"h{number}").mkdir()
        (hosts.folder / f"h{number}" / "down").touch()
    status, out, err = hosts.run("launches", "--journal", hosts.folder / "journal", "--count", 4)
    assert status == 0, out + err
    head = hosts.records()["h0"]
    assert "does not answer ssh" in head["unused"]["h1"]["why"]
    assert {"h1", "h2"}.isdisjoint(node["host"] for node in head["nodes"])
