"""`shoal train` from the laptop: the script is copied to the head and trains on spot workers."""

import json
import os
import pathlib
import re
import time

import cluster_conftest
import driver
import files
import fleet
import pytest
import test_ray_train
from driver import settings

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "train" / "ddp.py"
COUNT = test_ray_train.COUNT
REPLICAS = 2
EPOCHS = 6


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()] \
        if path.exists() else []


@pytest.fixture(scope="module")
def trained(running_bed, aws, tmp_path_factory):
    """A cluster with torch and a dashboard, which serves the Jobs API."""
    driver.client.up(["base", "ray", "train"], seconds=3600)
    cluster_conftest._bed.empty(running_bed)
    test_ray_train.share(running_bed)
    config = files.impatient(test_ray_train.config())
    most = 2 * COUNT  # so that no limit hides a node too many
    config["max_workers"] = config["available_node_types"]["spot"]["max_workers"] = most
    start = config["head_start_ray_commands"]
    start[1] = start[1].replace("--include-dashboard=false", "--include-dashboard=true")
    on = driver.Laptop(tmp_path_factory.mktemp("fleet"))
    made = cluster_conftest.Cluster(on, config, running_bed, aws)
    made.up()
    one = fleet.Fleet(made, most)
    yield one
    one.agent.close()
    running_bed.reset()


def new_folder():
    folder = settings.SHARED / f"elastic-{time.time_ns()}"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


def trainers(one):
    """Host pids of `shoal train` on the head, without its children."""
    pids = [pid for pid, words in driver.processes(one.head, r"shoal train ").items()
            if re.match(r"\S*shoal train ", words)]
    return [pid for pid in pids if fleet.parent_of(pid) not in pids]


def waiting_for(one, job):
    """How many replicas the job asks the autoscaler for."""
    status = json.loads(one.made("status", "-o", "json").out)
    return sum(row["count"] for row in status["demands"] if row.get("job") == job)


@pytest.mark.long(seconds=900)
def test_a_job_gets_its_nodes(trained):
    """Nodes are launched for a job, as many as it needs, before an interrupted one ends, and leave
    after it.
    """
    folder = new_folder()
    steps = folder / "steps"
    words = ["train", "-f", EXAMPLE, "-m", str(COUNT), "--name", "grow", "--", "--epochs", "1000",
             "--step-seconds", "0.1", "--log", f"{settings.SHARED_ON_NODES}/{folder.name}/steps"]

    def world():
        rows = rows_of(steps)
        return len({r["rank"] for r in rows if r["generation"] == rows[-1]["generation"]}) \
            if rows else 0

    assert not trained.workers()
    children, output = [], []
    try:
        began = time.time()
        children.append(trained.made.start(*words))
        driver.wait_for(lambda: waiting_for(trained, "grow") == COUNT, 60, 0.5, "the demand")
        said = trained.made("explain", "grow").out
        assert re.search(r"Why does training job grow need \d more replicas? of {CPU: 1}\?", said)
        trained.wait_workers(COUNT, 120)
        joined = time.time() - began
        driver.wait_for(lambda: world() == COUNT, 120, 0.5, f"{COUNT} replicas")
        trains = time.time() - began
        assert len(trained.lives()) == COUNT  # none too many while they booted
        assert waiting_for(trained, "grow") == 0

        # The trainer dies and comes back: the replicas train on, and nothing is launched or ended.
        killed = time.time()
        for pid in trainers(trained):
            fleet.signal_to(pid, "KILL")
        time.sleep(5)
        before = len(rows_of(steps))
        children.append(trained.made.start(*words))
        time.sleep(30)
        assert len(rows_of(steps)) > before
        assert not trained.launches(killed)
        assert len(trained.workers()) == COUNT

        # The replacement is launched at once, and trains before the interruption.
        victim = trained.workers()[0]["InstanceId"]
        noticed = time.time()
        trained.bed.notice(victim, seconds=120)
        driver.wait_for(lambda: trained.launches(noticed), 30, 0.2, "a replacement")
        launched = trained.launches(noticed)[0] - noticed
        generation = rows_of(steps)[-1]["generation"]
        driver.wait_for(lambda: rows_of(steps)[-1]["generation"] > generation and
                        world() == COUNT, 110, 0.5, "replicas without the interrupted node")
        assert time.time() - noticed < 120
        replaced = time.time() - noticed
        assert len(trained.lives()) == COUNT + 1

        # A job that was stopped needs nothing: the nodes leave when they are idle.
        for pid in trainers(trained):
            fleet.signal_to(pid, "INT")
        output.append(children[-1].communicate(timeout=120))
        assert waiting_for(trained, "grow") == 0
        ended = time.time()
        trained.wait_empty(300)
        left = time.time() - ended
    finally:
        for child in children:
            if child.poll() is None or len(output) < len(children):
                output.append(trained.made.laptop.stop(child))
        print(*(text for pair in output for text in pair), sep="\n")
    print(f"joined {joined:.1f} s, trained with {COUNT} after {trains:.1f} s; notice: launch after "
          f"{launched:.1f} s, {COUNT} replicas again after {replaced:.1f} s; empty {left:.0f} s "
          f"after the end; load {os.getloadavg()[0]:.1f}")
    assert len(trained.lives()) == COUNT + 1
    first = [row["step"] for row in rows_of(steps) if row["rank"] == 0]
    assert first == list(range(1, len(first) + 1))  # no step was lost


@pytest.mark.long(seconds=300)
def test_a_notice_from_the_laptop(trained):
    """A notice to a node of the job costs one restart and no step."""
    folder = new_folder()
    steps = folder / "steps"
    trained.made("request-resources", "--num-cpus", str(COUNT))
    trained.wait_workers(COUNT, 90)
    child = trained.made.start(
        "train", "-f", EXAMPLE, "-m", str(REPLICAS), "--", "--epochs", str(EPOCHS),
        "--step-seconds", "0.1", "--log", f"{settings.SHARED_ON_NODES}/{folder.name}/steps")
    try:
        driver.wait_for(lambda: len(rows_of(steps)) > 100, 90, 0.5, "steps")
        busy = {n["instance"] for n in trained.agent.alive()} - {trained.head}
        before = {row["generation"] for row in rows_of(steps)}
        for victim in sorted(busy):  # until one with a slot is hit
            trained.bed.notice(victim, seconds=120)
            time.sleep(15)
            if {row["generation"] for row in rows_of(steps)} != before:
                break
        out, err = child.communicate(timeout=240)
    finally:
        if child.poll() is None:
            print(trained.made.laptop.stop(child))
    print(out, err, f"load {os.getloadavg()[0]:.1f}")
    assert child.returncode == 0
    first = [row for row in rows_of(steps) if row["rank"] == 0]
    assert [row["step"] for row in first] == list(range(1, EPOCHS * 125 + 1))
    assert {row["generation"] for row in first} == {1, 2}


@pytest.mark.long(seconds=400)
def test_sub_commands_from_the_laptop(trained):
    """ls, status, logs, stop, resume and fetch with a cluster file run on the head."""
    laptop, path = trained.made.laptop, trained.made.path
    folder = new_folder()
    steps = folder / "steps"
    trained.made("request-resources", "--num-cpus", str(REPLICAS))
    trained.wait_workers(REPLICAS, 90)

    def part(word, *words):
        return laptop("train", word, path, *words).out

    def job():
        return json.loads(part("status", "far", "-o", "json"))

    def resumes():
        """The command that continues the job names the cluster file."""
        return f"shoal train resume {path} far"

    children = [trained.made.start(
        "train", "-f", EXAMPLE, "-m", str(REPLICAS), "--name", "far", "--checkpoint-every", "5",
        "--batch-size", "48", "--", "--epochs", "1000", "--step-seconds", "0.1", "--log",
        f"{settings.SHARED_ON_NODES}/{folder.name}/steps")]
    try:
        driver.wait_for(lambda: len(rows_of(steps)) > 100, 90, 0.5, "steps")
        driver.wait_for(lambda: job()["checkpoint"] > 0, 60, 0.5, "a checkpoint")
        listed = json.loads(part("ls", "-o", "json"))["jobs"]
        assert ["training"] == [row["phase"] for row in listed if row["job"] == "far"], listed
        row = job()
        assert row["replicas"] == REPLICAS and row["steps_per_s"] > 0, row
        assert abs(row["samples_per_s"] / row["steps_per_s"] - 48) < 1, row
        assert "far: training for" in part("status", "far")
        price = 0  # the service knows it after the first request, unless the file has none
        driver.wait_for(lambda: job()["dollars_per_hour"], 45, 1, "a price")
        price = job()["dollars_per_hour"]
        assert "[slot " in part("logs", "far")
        follower = laptop.start("train", "logs", "-f", path, "far")
        children.append(follower)

        assert "copied the checkpoint to far-checkpoint" in part("fetch", "far")
        assert any(p.is_file() for p in (laptop.here / "far-checkpoint").rglob("*"))

        stopped = part("stop", "far")
        assert "job far is stopped at step" in stopped and resumes() in stopped, stopped
        out, err = children[0].communicate(timeout=30)
        assert children[0].returncode == 1 and resumes() in err, err
        assert follower.wait(30) == 0
        assert f"To continue: {resumes()}" in part("status", "far")
        at = rows_of(steps)[-1]["step"]
        children.append(laptop.start("train", "resume", path, "far"))
        driver.wait_for(lambda: rows_of(steps)[-1]["step"] > at + 20, 90, 0.5, "steps again")
        part("stop", "far")
        assert "copied the checkpoint to model" in part("fetch", "far", "model")
        assert any(p.is_file() for p in (laptop.here / "model").rglob("*"))
    finally:
        for child in children:
            if child.poll() is None:
                print(laptop.stop(child))
    print(f"price ${price}/h; load {os.getloadavg()[0]:.1f}")
    first = [row["step"] for row in rows_of(steps) if row["rank"] == 0]
    assert first == list(range(1, len(first) + 1))  # no step was lost
