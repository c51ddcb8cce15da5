"""`shoal train` with --output and --prepare on real Ray."""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

import need_torch
import cluster as clusters

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "train"


@pytest.fixture(scope="module")
def cluster():
    cluster = clusters.Cluster(workers=2)
    yield cluster
    cluster.close()


def rows(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


def lose_everything(cluster, name):
    """The trainer, all slots and what they remember."""
    for word in ("shoal train -f", "node train-agent", "runner.py"):
        for pid, _ in cluster.processes(word):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    cluster.run(["sh", "-c", "rm -rf /dev/shm/shoal-train-*"])
    subprocess.run(["rm", "-rf", str(cluster.home / ".shoal/train" / name)])
    deadline = time.time() + 60
    while any(job["status"] in ("RUNNING", "PENDING") for job in cluster.jobs() or []):
        assert time.time() < deadline, "slots are left"
        time.sleep(0.5)


@pytest.mark.parametrize("script", ["ddp.py", "fsdp.py"])
def test_output_survives_the_loss_of_all(cluster, tmp_path, script):
    """F20, P17: the trainer, the nodes and their memory are lost; the same command continues from
    --output, and the last checkpoint is there when the command has ended."""
    log, output, name = tmp_path / "steps", tmp_path / "out", "out-" + script[:-3]
    words = ("-m", "2", "--checkpoint-every", "2", "--output", str(output))
    args = ["--epochs", "4", "--step-seconds", "0.05", "--log", str(log)]
    training = clusters.Training(cluster, EXAMPLES / script, *words, name=name, args=args)
    training.wait_for(lambda: len(list(output.glob("*/checkpoint-*/manifest-*"))) >= 3, 120,
                      "nothing was stored")
    lose_everything(cluster, name)
    training.process.wait(timeout=10)
    before = rows(log)
    refused = clusters.Training(cluster, EXAMPLES / script, *words, name=name, args=args,
                                log=name + "-refused")
    assert refused.wait(60) == 1    # nothing says that the checkpoints are this job's
    assert "--adopt" in refused.log.read_text()
    again = clusters.Training(cluster, EXAMPLES / script, *words, "--adopt", name=name, args=args)
    assert again.wait(200) == 0, again.log.read_text()
    first = [row["step"] for row in rows(log)[len(before):] if row["rank"] == 0]
    assert first[0] > 1, "it began again"
    assert first == list(range(first[0], first[-1] + 1))
    folders = sorted((output / name).glob("checkpoint-*"))
    assert 1 <= len(folders) <= 4, folders    # --keep is 3; one may be incomplete
    assert any(path.is_file() and path.stat().st_size > 0
               for path in folders[-1].glob("part-*/**/*")), "the model is not in --output"
    print(script, "continued at step", first[0], "of", max(row["step"] for row in before))


def test_prepare_runs_once_before_a_replica_joins(cluster, tmp_path):
    """The others train while a new node is prepared; a failure is tried again."""
    log, mark = tmp_path / "steps", tmp_path / "prepared"
    command = f"echo x >> {mark}; sleep 2; test $(wc -l < {mark}) -ge 2"    # fails once
    training = clusters.Training(
        cluster, EXAMPLES / "ddp.py", "-m", "2", "--prepare", command, name="prepare",
        args=["--epochs", "3", "--step-seconds", "0.05", "--log", str(log)])
    assert training.wait(200) == 0, training.log.read_text()
    assert any("--prepare failed" in line for line in training.lines())
    assert len(mark.read_text().splitlines()) == 2    # the raylets share one machine


def test_p15_the_others_train_while_a_node_is_prepared(cluster, tmp_path):
    """P15: the command of --prepare runs on a new node before its replica joins; in the
    meantime, the running replicas train."""
    log, slow = tmp_path / "steps", tmp_path / "slow"
    began, ended = tmp_path / "began", tmp_path / "ended"
    command = f"test ! -e {slow} || {{ echo x >> {began}; sleep 6; echo x >> {ended}; }}"
    training = clusters.Training(
        cluster, EXAMPLES / "ddp.py", "-m", "3", "--prepare", command, name="p15",
        args=["--epochs", "100", "--step-seconds", "0.05", "--log", str(log)])
    assert training.wait_for_generation(1)["replicas"] == 2
    # The raylets share one machine, which was prepared for the first two.
    done = cluster.run(["find", "/dev/shm", "-name", "prepared-*", "-print", "-delete"])
    assert "prepared-" in done.stdout, done.stderr
    slow.touch()
    cluster.add_worker()
    training.wait_for(began.exists, 60, "the new node was not prepared")
    first = rows(log)[-1]
    training.wait_for(ended.exists, 60, "the command did not end")
    last = rows(log)[-1]
    # It takes 6 s; half the steps are enough on a busy machine.
    assert last["step"] - first["step"] > 0.5 * 6 / 0.05 / 4, (first, last)
    assert last["generation"] == 1, "the others did not continue"
    second = training.wait_for_generation(2)
    assert (second["replicas"], second["cause"]) == (3, "more slots are ready")
    assert len(began.read_text().splitlines()) == 1
    print(f"{last['step'] - first['step']} steps in the 6 s of --prepare")
    done = cluster.run([clusters.SHOAL, "train", "stop", "p15"], timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    training.wait(60)
