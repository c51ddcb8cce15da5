"""How `shoal train` chooses the number of replicas, on real Ray with real scripts.

The replicas share two cores, so their real speed is meaningless; the scripts sleep to imitate
a model."""

import json
import os
import signal

import pytest

import need_torch
import cluster as clusters
from test_train import EXAMPLES, free, report, step_rows


@pytest.fixture(scope="module")
def cluster():
    cluster = clusters.Cluster(workers=2)
    yield cluster
    cluster.close()


def messages(training):
    return [event["message"] for event in training.events() if "message" in event]


def request(cluster, code):
    done = cluster.run([clusters.PYTHON, "-c", "import requests\n" + code])
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_adaptdl_reports_and_adapts(cluster, tmp_path):
    """AdaptDL finds rank 0 through the supervisor, its hints arrive, and after a restart it uses
    the batch size that it has chosen. Without the secret in the URL nothing is served."""
    log = tmp_path / "steps"
    training = clusters.Training(
        cluster, EXAMPLES / "adaptdl_train.py", "-m", "2", "--objective", "fastest",
        name="hints", args=["--autoscale", "--epochs", "60", "--step-seconds", "0.05",
                            "--log", str(log)])
    training.wait_for_generation(1)
    record = json.loads((cluster.home / ".shoal/train/hints/job.json").read_text())
    url = f"http://127.0.0.1:{record['supervisor_port']}"
    assert request(cluster, f"print(requests.get('{url}/discover/shoal/hints/0').status_code)\n"
                   f"print(requests.put('{url}/{'0' * 64}/hints/shoal/hints', data='{{}}')"
                   ".status_code)") == "404\n404"
    training.wait_for(lambda: any("AdaptDL reports its speed" in text
                                  for text in messages(training)), 120, "no hints arrived")
    before = {len(row["samples"]) for row in step_rows(log) if row["generation"] == 1}
    for job in cluster.jobs():
        if job["status"] == "RUNNING" and job["submission_id"].endswith("-s1"):
            cluster.stop_job(job["submission_id"])
    training.wait_for_generation(2, 60)
    wanted = [row["generation"] for row in step_rows(log)]
    training.wait_for(lambda: len(step_rows(log)) > len(wanted) + 40, 60, "no more steps")
    after = {len(row["samples"]) for row in step_rows(log) if row["generation"] > 1}
    print("batch sizes of a replica:", sorted(before), "then", sorted(after))
    assert max(after) > 24, "the batch size was not adapted"
    for pid, line in cluster.processes("shoal train -f"):
        if "nsenter" not in line:
            os.kill(pid, signal.SIGINT)
    assert training.wait(60) == 1
    report(training, "adaptdl")
    free(cluster)


def test_replicas_that_gain_nothing_are_released(cluster, tmp_path):
    """A step takes the same time with one and with two replicas, so one is enough. The reasons are
    printed, and no step is lost."""
    log = tmp_path / "steps"
    training = clusters.Training(
        cluster, EXAMPLES / "ddp.py", "-m", "2", "--objective", "cheapest", "--price", "0.5",
        "--head-price", "0.1", name="cheap",
        args=["--epochs", "8", "--step-seconds", "0.08", "--log", str(log)])
    assert training.wait(240) == 0, training.log.read_text()
    report(training, "ddp")
    texts = [text for text in messages(training) if "wanted" in text]
    print("\n".join(texts))
    assert texts[0] == "1 replica wanted: to measure the speed of this size first"
    assert texts[1] == "2 replicas wanted: to measure the speed of a second size"
    assert texts[2].startswith("1 replica wanted: 1 replica is ")
    assert "cheaper per step than 2" in texts[2]
    assert [event["replicas"] for event in training.events("generation")] == [1, 2, 1]
    first = [row["step"] for row in step_rows(log) if row["rank"] == 0]
    assert first == list(range(1, 8 * 125 + 1))
    free(cluster)
