"""`shoal train` with a cluster file of type gcp, at the stand-in for Compute Engine: real Ray and
real torch on machines in namespaces. Suite `long`.

SHOAL_TRAIN_PYTHON  a Python that has Ray and torch
"""

import json
import os
import pathlib
import time

import pytest
from front import REPOSITORY, wait_for
from gce import tls
from gce_front import BUNDLE, GceFront
from test_gce_clusters import SPOT

pytestmark = pytest.mark.long
PYTHON = pathlib.Path(os.environ.get("SHOAL_TRAIN_PYTHON", "/nonexistent"))
EXAMPLE = REPOSITORY / "examples" / "train" / "ddp.py"
SMALL = "--object-store-memory 80000000 --disable-usage-stats"
EPOCHS, SAMPLES, BATCH = 8, 6000, 48
STEPS = EPOCHS * SAMPLES // BATCH


def cluster(front):
    """A head without CPUs and two spot workers; a third may replace one."""
    file = json.loads(json.dumps(front.cluster("demo", 3)))
    types = file["available_node_types"]
    types["head"]["resources"] = {"CPU": 0}
    types["worker"]["min_workers"] = 2
    types["worker"]["node_config"]["scheduling"] = SPOT
    file["head_start_ray_commands"] = ["ray stop", f"ray start --head --port=6379 {SMALL} "
                                       "--autoscaling-config=~/ray_bootstrap_config.yaml"]
    file["worker_start_ray_commands"] = [
        "ray stop", f"ray start --address=$RAY_HEAD_IP:6379 {SMALL}"]
    return file


def rows_of(path):
    return [json.loads(line) for line in path.read_text("ascii").splitlines()] \
        if path.exists() else []


def world(rows):
    """Replicas of the newest generation."""
    return len({r["rank"] for r in rows if r["generation"] == rows[-1]["generation"]}) \
        if rows else 0


def spot_workers(front):
    return [m for m in front.alive("demo") if m.kind == "worker"]


@pytest.mark.skipif(not PYTHON.exists(), reason="SHOAL_TRAIN_PYTHON is not set")
def test_a_preemption_costs_no_step():
    """Submitted from the laptop; 30 s of notice; checkpoints in a folder that all nodes share."""
    times = {"load": os.getloadavg()[0]}
    with GceFront(ray=PYTHON.parent / "ray", preempt=30, times="horizon=2000") as front:
        shared = front.share()
        front.machine_env(PATH=f"{PYTHON.parent}:/usr/local/bin:/usr/sbin:/usr/bin",
                          **{name: BUNDLE for name in tls.TRUST})
        laptop = front.laptop("alice")
        laptop.file("job/ddp.py", EXAMPLE.read_text("utf-8"))
        file = laptop.file("cluster.yaml", cluster(front))
        began = time.monotonic()

        def mark(name):
            times[name] = round(time.monotonic() - began, 1)

        laptop("up", "-y", file, seconds=600)
        mark("up")
        child = laptop.start(
            "train", file, "-f", "job/ddp.py", "-m", "2", "--name", "job", "--output",
            "/shared/runs", "--checkpoint-every", "10", "--", "--epochs", EPOCHS, "--samples",
            SAMPLES, "--batch-size", BATCH, "--step-seconds", "0.25", "--log", "/shared/steps")
        steps = shared / "steps"
        try:
            wait_for(lambda: world(rows_of(steps)) == 2, 240, 0.5, "two replicas")
            mark("two replicas")
            wait_for(lambda: list(shared.glob("runs/job/checkpoint-*/manifest-*")), 120, 0.5,
                     "a stored checkpoint")
            first = {m.name for m in spot_workers(front)}
            noticed = time.monotonic()
            front.preempt(instance=min(first))
            wait_for(lambda: {m.name for m in spot_workers(front)} - first, 60, 0.2,
                     "a replacement")
            times["notice to launch"] = round(time.monotonic() - noticed, 1)
            wait_for(lambda: min(first) not in [m.name for m in front.machines()], 90, 0.2,
                     "the end of the instance")
            ended = time.time()
            times["notice to its end"] = round(time.monotonic() - noticed, 1)
            wait_for(lambda: {r["rank"] for r in rows_of(steps) if r["time"] > ended} == {0, 1},
                     240, 0.5, "two replicas again")
            times["notice to two replicas"] = round(time.monotonic() - noticed, 1)
            out, err = child.communicate(timeout=900)
        finally:
            if child.poll() is None:
                print(*laptop.stop(child), sep="\n")
                print(laptop.run("events", file), laptop.run("status", file))
        mark("the job ended")
        print(out, err)
        assert child.returncode == 0, err
        check_steps(rows_of(steps))
        status = json.loads(laptop("train", "status", file, "job", "-o", "json").out)
        assert status["phase"] == "complete", status
        assert "notice" in laptop("events", file).out
        kept = sorted(p.name for p in (shared / "runs/job").iterdir())
        assert 1 <= len(kept) <= 3, kept
        laptop("train", "ls", file)
        laptop("down", "-y", file, seconds=600)
        assert front.remains() == {}
    print(json.dumps(times, indent=1))


def check_steps(rows):
    """Each step once and in order, whatever the number of replicas: no step was lost."""
    first = [row["step"] for row in rows if row["rank"] == 0]
    assert first == list(range(first[0], first[0] + STEPS)), first
    assert len({row["generation"] for row in rows}) >= 2
