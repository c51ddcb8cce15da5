"""`shoal train` on real Ray: slots are Ray jobs on several raylets, scripts are real torch scripts.

The tests print the pauses with the load of the machine, and assert only what does not depend on
it: which steps ran, how often each sample was seen, and how the job ended."""

import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

import need_torch
import cluster as clusters
import output_schema

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = REPOSITORY / "examples" / "train"
SCRIPTS = pathlib.Path(__file__).resolve().parent / "scripts"


@pytest.fixture(scope="module")
def cluster():
    cluster = clusters.Cluster(workers=3)
    yield cluster
    cluster.close()


def report(training, text):
    load = " ".join(open("/proc/loadavg").read().split()[:3])
    for event in training.events("generation"):
        if event["generation"] > 1:
            parts = " ".join("%s %.2f" % (name, event[name + "_s"]) for name in
                             ("save", "transfer", "start", "rendezvous", "load"))
            print(f"{text}: {event.get('replicas_before')} -> {event['replicas']}: "
                  f"{event['cause']}: {event['pause_s']:.2f} s ({parts}; load {load})")


def step_rows(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


def check_steps(rows, samples):
    """Steps never go back, and every epoch has every sample once."""
    first = [row for row in rows if row["rank"] == 0]
    steps = [row["step"] for row in first]
    assert steps == list(range(1, len(steps) + 1)), "a step was lost or repeated"
    seen = collections.Counter()
    for row in rows:
        seen.update((row["epoch"], sample) for sample in row["samples"])
    epochs = {epoch for epoch, _ in seen}
    assert set(seen.values()) == {1}
    assert len(seen) == samples * len(epochs)
    return first


def free(cluster):
    """Waits until the slots of the last job have ended."""
    deadline = time.time() + 60
    while time.time() < deadline:
        if all(job["status"] not in ("RUNNING", "PENDING") for job in cluster.jobs() or []):
            return
        time.sleep(0.5)
    raise AssertionError("slots are left: %s" % [
        (job["submission_id"], job["status"], job["message"]) for job in cluster.jobs() or []])


def drain(cluster, address, seconds=60):
    """What the watcher of a spot instance does on a notice."""
    done = cluster.run([clusters.PYTHON, "-c", f"""
import time
from ray._private.state import state
import ray._private.worker
from ray._raylet import GcsClient
gcs = GcsClient(address="127.0.0.1:6379")
node = next(n for n in gcs.get_all_node_info().values()
            if n.node_manager_address == "{address}" and n.state == 0)
deadline = int(time.time() * 1000) + {seconds} * 1000
print(gcs.drain_node(node.node_id.hex(), 2, "preempted", deadline))
"""])
    assert done.returncode == 0, done.stderr


def kill_replica(cluster):
    """Kills one replica as the kernel would when it is out of memory."""
    pids = [pid for pid, _ in cluster.processes("runner.py")
            if b"SHOAL_GENERATION=" not in pathlib.Path(f"/proc/{pid}/environ").read_bytes()]
    children = [int(child) for pid in pids for child in
                pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    os.kill(children[-1], signal.SIGKILL)


def test_notice_is_one_restart(cluster, tmp_path):
    """A node about to be interrupted continues training until its replacement is ready.
    Then there is one restart: no step is lost, and every sample is seen once per epoch."""
    log = tmp_path / "steps"
    training = clusters.Training(
        cluster, EXAMPLES / "ddp.py", "-m", "3", name="notice",
        args=["--epochs", "6", "--step-seconds", "0.05", "--log", str(log)])
    assert training.wait_for_generation(1)["replicas"] == 3
    drain(cluster, "127.0.0.2", 60)
    cluster.add_worker()
    second = training.wait_for_generation(2, 60)
    assert (second["replicas"], second["cause"]) == (3, "a node is about to be interrupted")
    assert training.wait(120) == 0, training.log.read_text()
    report(training, "ddp")
    assert len(training.events("generation")) == 2
    check_steps(step_rows(log), 6000)
    free(cluster)


def test_kill_loses_one_interval(cluster, tmp_path):
    """A replica that is killed costs at most the work since the last checkpoint."""
    log = tmp_path / "steps"
    training = clusters.Training(
        cluster, EXAMPLES / "ddp.py", "-m", "3", "--checkpoint-every", "3", name="kill",
        args=["--epochs", "5", "--step-seconds", "0.05", "--log", str(log)])
    training.wait_for_generation(3, 60)
    kill_replica(cluster)
    training.wait_for(lambda: any(e["cause"] == "a replica was killed"
                                  for e in training.events("generation")), 60, "no recovery")
    assert training.wait(120) == 0, training.log.read_text()
    report(training, "ddp")
    first = [row for row in step_rows(log) if row["rank"] == 0]
    lost = sum(max(0, a["step"] - b["step"] + 1) for a, b in zip(first, first[1:]))
    print("steps repeated after the kill:", lost)
    assert first[-1]["step"] == 5 * 125 and lost <= 3 / 0.05 + 20
    free(cluster)


def test_trainer_is_killed(cluster, tmp_path):
    """A trainer that is killed and started again finds its replicas, which kept running."""
    log = tmp_path / "steps"
    words = ("-m", "2")
    args = ["--epochs", "5", "--step-seconds", "0.05", "--log", str(log)]
    training = clusters.Training(cluster, EXAMPLES / "ddp.py", *words, name="crash", args=args)
    training.wait_for_generation(1)
    for pid, line in cluster.processes("shoal train -f"):
        os.kill(pid, signal.SIGKILL)
    training.process.wait(timeout=10)
    time.sleep(1)
    again = clusters.Training(cluster, EXAMPLES / "ddp.py", *words, name="crash", args=args)
    assert again.wait(120) == 0, again.log.read_text()
    rows = step_rows(log)
    assert {row["generation"] for row in rows} == {1}, "the replicas were restarted"
    check_steps(rows, 6000)
    free(cluster)


@pytest.mark.parametrize("script", [
    EXAMPLES / "fsdp.py", EXAMPLES / "adaptdl_train.py", SCRIPTS / "accelerate_train.py",
    SCRIPTS / "lightning_train.py"], ids=lambda script: script.stem)
def test_kinds_restart(cluster, tmp_path, script):
    """Each kind of script continues after one of its slots was stopped through Ray."""
    log = tmp_path / "steps"
    training = clusters.Training(
        cluster, script, "-m", "2", "-d", str(script.parent), name=script.stem.replace("_", "-"),
        args=["--epochs", "8", "--step-seconds", "0.05", "--log", str(log)])
    training.wait_for_generation(1)
    time.sleep(1)
    for job in cluster.jobs():
        if job["status"] == "RUNNING" and job["submission_id"].endswith("-s1"):
            cluster.stop_job(job["submission_id"])
    training.wait_for_generation(2, 60)
    assert training.wait(200) == 0, training.log.read_text()
    report(training, script.stem)
    free(cluster)


def test_hang_is_restarted(cluster, tmp_path):
    """A rank that stops stepping: stack traces in the output of the slots, then a restart."""
    log = tmp_path / "steps"
    training = clusters.Training(
        cluster, SCRIPTS / "hang.py", "-m", "2", name="hang",
        args=["--epochs", "2", "--hang-step", "60", "--log", str(log)])
    training.wait_for(lambda: any(e["cause"] == "the replicas made no progress"
                                  for e in training.events("generation")), 150, "no restart")
    assert training.wait(120) == 0, training.log.read_text()
    report(training, "hang")
    logs = "".join(path.read_text() for path in
                   cluster.ray_folder.glob("session_2*/logs/job-driver-shoal-train-hang-*"))
    assert "most recent call first" in logs and "hang.py" in logs
    free(cluster)


def test_periodic_script_loses_its_interval(cluster, tmp_path):
    """A script that only saves by itself continues from its last save."""
    log = tmp_path / "steps"
    training = clusters.Training(
        cluster, SCRIPTS / "periodic.py", "-m", "2", name="periodic",
        args=["--epochs", "4", "--save-every", "20", "--step-seconds", "0.1", "--log", str(log)])
    training.wait_for_generation(1)
    time.sleep(6)
    kill_replica(cluster)
    training.wait_for_generation(2, 60)
    assert training.wait(200) == 0, training.log.read_text()
    first = [row for row in step_rows(log) if row["rank"] == 0]
    lost = sum(max(0, a["step"] - b["step"] + 1) for a, b in zip(first, first[1:]))
    print("steps repeated after the kill:", lost)
    assert 0 < lost <= 20 + 12  # one interval, and what ran until its file was seen complete
    free(cluster)


def test_stop_and_continue(cluster, tmp_path):
    """Ctrl-C saves and stores the checkpoint; the same command continues from it."""
    log = tmp_path / "steps"
    args = ["--epochs", "2", "--step-seconds", "0.05", "--log", str(log)]
    training = clusters.Training(cluster, EXAMPLES / "ddp.py", "-m", "2", name="stop", args=args)
    training.wait_for_generation(1)
    time.sleep(1)
    for pid, line in cluster.processes("shoal train -f"):
        if "nsenter" not in line:
            os.kill(pid, signal.SIGINT)
    assert training.wait(60) == 1
    assert training.events("end"), training.log.read_text()
    free(cluster)
    again = clusters.Training(cluster, EXAMPLES / "ddp.py", "-m", "2", name="stop", args=args)
    assert again.wait(120) == 0, again.log.read_text()
    check_steps(step_rows(log), 6000)
    free(cluster)


def command(cluster, *words, status=0):
    """A sub-command of `shoal train`; returns its output."""
    done = cluster.run([clusters.SHOAL, "train", *words])
    assert done.returncode == status, (words, done.stdout, done.stderr)
    output_schema.check(["train", *words], done.stdout)
    return done.stdout + done.stderr


def wait_for_step(cluster, name, step):
    deadline = time.time() + 60
    while time.time() < deadline:
        job = json.loads(command(cluster, "status", name, "-o", "json"))
        if job["step"] >= step:
            return job
        time.sleep(0.5)
    raise AssertionError(job)


def test_commands(cluster, tmp_path):
    """ls, status, logs, fetch (P17), stop and resume of one job; a second trainer is refused."""
    log = tmp_path / "steps"
    args = ["--epochs", "4", "--step-seconds", "0.05", "--log", str(log)]
    script = tmp_path / "code" / "ddp.py"
    script.parent.mkdir()
    script.write_text("import os\nprint('hello from rank', os.environ['RANK'], flush=True)\n" +
                      (EXAMPLES / "ddp.py").read_text())
    training = clusters.Training(cluster, script, "-m", "2", "--checkpoint-every", "4",
                                 name="commands", args=args)
    training.wait_for_generation(2)
    job = wait_for_step(cluster, "commands", 60)
    assert (job["phase"], job["replicas"], job["max"]) == ("training", 2, 2), job
    assert sorted(slot["rank"] for slot in job["slots"]) == [0, 1] and job["steps_per_s"] > 0
    assert job["pauses"]["count"] >= 1 and job["pauses"]["total_s"] > 0
    assert all(slot["host"].startswith("127.0.0.") for slot in job["slots"]), job
    listed = json.loads(command(cluster, "ls", "-o", "json"))["jobs"]
    assert [row["phase"] for row in listed if row["job"] == "commands"] == ["training"]
    assert "a checkpoint is due" in command(cluster, "status", "commands")

    second = command(cluster, "-f", str(EXAMPLES / "ddp.py"), "-n", "commands", status=1)
    assert "job commands is already running (shoal train, pid " in second, second
    assert "shoal train stop commands" in second
    assert training.process.poll() is None

    model = tmp_path / "model"
    assert "copied checkpoint" in command(cluster, "fetch", "commands", str(model))
    assert list(model.iterdir()), "nothing was fetched"
    output = command(cluster, "logs", "--rank", "1", "commands")
    assert "hello from rank 1\n" in output and "[slot " not in output, output
    output = command(cluster, "logs", "commands")
    assert re.search(r"^\[slot \d+.*\] hello from rank 0$", output, re.M), output
    assert re.search(r"^\[slot \d+.*\] hello from rank 1$", output, re.M), output
    assert "no slot of job commands has rank 7" in command(cluster, "logs", "--rank", "7",
                                                           "commands", status=1)

    stopped = command(cluster, "stop", "commands")
    assert "job commands is stopped at step" in stopped, stopped
    assert training.wait(30) == 1
    job = json.loads(command(cluster, "status", "commands", "-o", "json"))
    assert (job["phase"], job["stored"]) == ("stopped", job["checkpoint"]), job
    assert job["stored"] > 0 and job["checkpoint_step"] == job["step"]
    assert "it is stopped" in command(cluster, "stop", "commands", status=1)
    free(cluster)

    again = cluster.run([clusters.SHOAL, "train", "resume", "commands"], timeout=180)
    assert again.returncode == 0, again.stdout + again.stderr
    rows = step_rows(log)
    check_steps(rows, 6000)
    job = json.loads(command(cluster, "status", "commands", "-o", "json"))
    assert job["phase"] == "complete" and job["step"] == rows[-1]["step"], (job["step"], rows[-1])
    page = tmp_path / "run.html"
    command(cluster, "status", "commands", "--report", str(page))
    assert "a checkpoint is due" in page.read_text()
    assert "is already complete" in command(cluster, "resume", "commands", status=1)
    free(cluster)


def test_logs_follow(cluster, tmp_path):
    """`logs -f` prints what the replicas print, also in later generations, until the job ends."""
    script = tmp_path / "code" / "ddp.py"
    script.parent.mkdir()
    script.write_text("import os\nprint('generation', os.environ['SHOAL_GENERATION'], 'rank', "
                      "os.environ['RANK'], flush=True)\n" + (EXAMPLES / "ddp.py").read_text())
    training = clusters.Training(cluster, script, "-m", "2", "--checkpoint-every", "4",
                                 name="follow", args=["--epochs", "100", "--step-seconds", "0.05"])
    training.wait_for_generation(1)
    output = tmp_path / "output"
    with open(output, "w") as file:
        follower = subprocess.Popen(cluster.inside([clusters.SHOAL, "train", "logs", "-f",
                                                    "follow"]), env=cluster.env, stdout=file)
    number = training.wait_for_generation(2)["generation"] + 1
    training.wait_for_generation(number)
    for rank in (0, 1):
        training.wait_for(lambda: f"generation {number} rank {rank}" in output.read_text(), 30,
                          f"rank {rank} of generation {number} is not in the output")
        assert f"generation 1 rank {rank}" in output.read_text()
    assert follower.poll() is None
    command(cluster, "stop", "follow")
    assert follower.wait(30) == 0
    assert output.read_text().count(f"generation {number} rank 0") == 1
    free(cluster)


def test_strangers_are_refused(cluster, tmp_path):
    """A connection without the job's token gets nothing from the trainer, and an agent refuses a
    trainer without it."""
    log = tmp_path / "steps"
    training = clusters.Training(
        cluster, EXAMPLES / "ddp.py", "-m", "1", name="strangers",
        args=["--epochs", "3", "--step-seconds", "0.05", "--log", str(log)])
    training.wait_for_generation(1)
    record = json.loads((cluster.home / ".shoal/train/strangers/job.json").read_text())
    done = cluster.run([clusters.PYTHON, "-c", f"""
import json, socket
link = socket.create_connection(("127.0.0.1", {record["port"]})).makefile("rw")
assert json.loads(link.readline())["type"] == "challenge"
link.write(json.dumps(dict(type="hello", slot=1, mac="0" * 64)) + "\\n")
link.flush()
print("got", repr(link.readline()))
"""])
    assert done.stdout == "got ''\n", done.stdout + done.stderr
    assert any("refused a connection" in line for line in training.lines())
    # A false trainer at the same port: the agents connect to it and do not leave.
    for pid, _ in cluster.processes("shoal train -f"):
        os.kill(pid, signal.SIGKILL)
    done = cluster.run([clusters.PYTHON, "-c", f"""
import json, socket
server = socket.create_server(("0.0.0.0", {record["port"]}), reuse_port=False)
server.settimeout(20)
link = server.accept()[0].makefile("rw")
link.write(json.dumps(dict(type="challenge", nonce="0" * 64)) + "\\n")
link.flush()
assert json.loads(link.readline())["type"] == "hello"
link.write(json.dumps(dict(type="leave", mac="0" * 64)) + "\\n")
link.flush()
"""])
    assert done.returncode == 0, done.stderr
    again = clusters.Training(
        cluster, EXAMPLES / "ddp.py", "-m", "1", name="strangers",
        args=["--epochs", "3", "--step-seconds", "0.05", "--log", str(log)])
    assert again.wait(120) == 0, again.log.read_text()
    assert {row["generation"] for row in step_rows(log)} == {1}
    free(cluster)
