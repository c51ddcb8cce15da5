"""Each kind of training script, from 2 ranks to 3 and back to 2. The test acts as the agent.

Steps never go back (Lightning: only to its save), and each sample is seen once per epoch. With
-s, each pause is printed: from the last step of one generation to the first step of the next.
"""

import collections
import http.server
import json
import os
import pathlib
import signal
import socket
import threading
import time

import pytest

import need_torch
from runner_client import RunnerClient

SCRIPTS = pathlib.Path(__file__).resolve().parent / "scripts"
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/train"
STEP_SECONDS = "0.02"


@pytest.fixture(scope="module")
def runner():
    preload = ("torch,torch._dynamo,torch.distributed,torch.distributed.checkpoint,numpy,lightning,"
               "accelerate,scipy.optimize,requests")
    with RunnerClient(preload=preload) as client:
        assert client.wait("ready")["warm"]
        yield client


def ports():
    """Below the range from which the kernel takes ports for outgoing connections."""
    while True:
        for port in range(21000 + os.getpid() % 5000, 32000):
            with socket.socket() as one:
                try:
                    one.bind(("127.0.0.1", port))
                except OSError:
                    continue
            yield port


PORTS = ports()


class Job:
    """One script over several generations."""

    stop_signal = signal.SIGTERM
    codes = {143}

    def __init__(self, runner, folder, script, *args):
        self.runner, self.folder, self.script = runner, folder, script
        self.args = ["--step-seconds", STEP_SECONDS, "--log", str(folder / "log"), *args]
        self.generation = 0
        self.ranks = []
        self.checkpoints = folder / "checkpoints"
        self.checkpoints.mkdir()

    def environment(self, rank, world, port):
        return {"RANK": rank, "WORLD_SIZE": world, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": world,
                "GROUP_RANK": 0, "NODE_RANK": 0, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
                "OMP_NUM_THREADS": 1, "SHOAL_CHECKPOINT_DIR": str(self.checkpoints),
                "SHOAL_GENERATION": self.generation, "GLOO_SOCKET_IFNAME": "lo",
                "TORCHELASTIC_RESTART_COUNT": self.generation, "TORCHELASTIC_RUN_ID": "test"}

    def start(self, world):
        self.generation += 1
        port = next(PORTS)
        self.ranks = []
        for rank in range(world):
            environment = {name: None if value is None else str(value)
                           for name, value in self.environment(rank, world, port).items()}
            self.ranks.append(self.runner.start(self.script, self.args, environment))

    def wait_for_steps(self, count):
        deadline = time.monotonic() + 60
        while not all(self.runner.steps(rank)["steps"] >= count for rank in self.ranks):
            assert time.monotonic() < deadline, self.runner.output()[-3000:]
            assert not [one for one in self.runner.seen if one["event"] == "exited"
                        and one["generation"] in self.ranks], self.runner.output()[-3000:]
            time.sleep(0.005)

    def stop(self):
        """All ranks have saved and returned; their atexit handlers need not have run."""
        for rank in self.ranks:
            self.runner.signal(rank, self.stop_signal)
        for rank in self.ranks:
            assert self.runner.wait("returned", rank)["code"] in self.codes

    def finish(self):
        for rank in self.ranks:
            assert self.runner.wait("exited", rank)["code"] == 0, self.runner.output()[-3000:]

    def lines(self):
        return [json.loads(line) for line in (self.folder / "log").read_text().splitlines()]

    def resize(self, *worlds):
        """Runs with each world size, the last until the end of the script."""
        pauses = []
        for index, world in enumerate(worlds):
            before = max([self.runner.steps(rank)["last"] for rank in self.ranks], default=None)
            self.start(world)
            self.wait_for_steps(1)
            if before:
                first = max(self.runner.steps(rank)["first"] for rank in self.ranks)
                pauses.append(first - before)
            if index + 1 < len(worlds):
                self.wait_for_steps(25)
                self.stop()
        self.finish()
        if pauses:
            print(f"\n{self.script.name} {' -> '.join(map(str, worlds))}: pauses "
                  + ", ".join(f"{pause:.2f}" for pause in pauses)
                  + f" s (load {os.getloadavg()[0]:.1f})")


def check_steps(job, worlds):
    """Each step was made once, by all ranks of one generation."""
    steps = collections.defaultdict(list)
    for line in job.lines():
        steps[line["step"]].append((line["generation"], line["rank"]))
    assert sorted(steps) == list(range(1, max(steps) + 1))
    for step, made in steps.items():
        generation = made[0][0]
        assert sorted(made) == [(generation, rank) for rank in range(worlds[generation - 1])], step
    order = [made[0][0] for _, made in sorted(steps.items())]
    assert order == sorted(order) and set(order) == set(range(1, len(worlds) + 1))


def check_samples(job, samples, epochs):
    """Each sample was seen once per epoch."""
    seen = collections.defaultdict(collections.Counter)
    for line in job.lines():
        seen[line["epoch"]].update(line["samples"])
    assert sorted(seen) == list(range(epochs))
    for epoch in seen:
        assert len(seen[epoch]) == samples and set(seen[epoch].values()) == {1}, epoch


def check_loss(job):
    """Training continues from the checkpoint: the loss begins near the last loss before it."""
    losses = collections.defaultdict(list)
    for line in job.lines():
        losses[line["generation"]].append(line["loss"])
    ends = [sum(losses[one][-12:]) / 12 for one in sorted(losses)]
    begins = [sum(losses[one][:12]) / 12 for one in sorted(losses)]
    for end, begin in zip(ends, begins[1:]):
        assert begin < (end + begins[0]) / 2 or begin < 1.1 * end, (begins, ends)


def losses(job):
    """The loss of each step over the whole batch."""
    by_step = collections.defaultdict(list)
    for line in job.lines():
        by_step[line["step"]].append(line["loss"])
    return [sum(by_step[step]) / len(by_step[step]) for step in sorted(by_step)]


@pytest.mark.parametrize("name", ["ddp.py", "fsdp.py"])
def test_examples(runner, tmp_path, name):
    """The global batches do not depend on the world size, so neither do the losses."""
    # The last batch of an epoch has 2 samples, also for 3 ranks.
    options = EXAMPLES / name, "--epochs", "3", "--samples", "1490"
    job = Job(runner, tmp_path, *options)
    job.resize(2, 3, 2)
    check_steps(job, (2, 3, 2))
    check_samples(job, 1490, 3)
    (tmp_path / "alone").mkdir()
    alone = Job(runner, tmp_path / "alone", *options, "--step-seconds", "0")
    alone.resize(1)
    assert losses(job) == pytest.approx(losses(alone), abs=1e-3)


def test_one_rank_is_enough(runner, tmp_path):
    """A notice on one node stops the whole job at one step."""
    job = Job(runner, tmp_path, EXAMPLES / "ddp.py", "--epochs", "1000")
    job.start(3)
    job.wait_for_steps(5)
    runner.signal(job.ranks[2], signal.SIGTERM)
    for rank in job.ranks:
        assert runner.wait("exited", rank)["code"] == 143
    assert len({runner.steps(rank)["steps"] for rank in job.ranks}) == 1


def test_accelerate(runner, tmp_path):
    job = Job(runner, tmp_path, SCRIPTS / "accelerate_train.py", "--epochs", "3")
    job.resize(2, 3, 2)
    check_steps(job, (2, 3, 2))
    check_samples(job, 1200, 3)
    check_loss(job)


class LightningJob(Job):
    """In SLURM mode: SIGUSR1 to all, wait for the file, kill."""

    stop_signal = signal.SIGUSR1

    def environment(self, rank, world, port):
        environment = super().environment(rank, world, port)
        tools = self.folder / "tools"
        tools.mkdir(exist_ok=True)
        (tools / "scontrol").write_text("#!/bin/sh\n")    # Lightning asks it to requeue the job
        (tools / "scontrol").chmod(0o755)
        environment.update(
            TORCHELASTIC_RESTART_COUNT=None, TORCHELASTIC_RUN_ID=None, SLURM_NTASKS=world,
            SLURM_NTASKS_PER_NODE=world, SLURM_NNODES=1, SLURM_JOB_ID=1, SLURM_JOB_NAME="train",
            SLURM_PROCID=rank, SLURM_LOCALID=rank, SLURM_NODEID=0, SLURM_NODELIST="127.0.0.1",
            PATH=f"{tools}:{os.environ['PATH']}")
        return environment

    def stop(self):
        before = set(self.checkpoints.iterdir())
        for rank in self.ranks:
            self.runner.signal(rank, self.stop_signal)
        deadline = time.monotonic() + 30
        size, since = -1, 0
        while time.monotonic() < deadline:
            made = set(self.checkpoints.glob("hpc_ckpt_*.ckpt")) - before
            now = max((one.stat().st_size for one in made), default=-1)
            if now != size:
                size, since = now, time.monotonic()
            elif size > 0 and time.monotonic() - since > 0.1:
                break
            time.sleep(0.005)
        assert size > 0, self.runner.output()[-3000:]
        for rank in self.ranks:
            self.runner.kill(rank)
        for rank in self.ranks:
            assert self.runner.wait("exited", rank)["signal"] == signal.SIGKILL


def test_lightning(runner, tmp_path):
    job = LightningJob(runner, tmp_path, SCRIPTS / "lightning_train.py", "--epochs", "3")
    job.resize(2, 3, 2)
    steps = collections.defaultdict(list)
    for line in job.lines():
        if line["rank"] == 0:
            steps[line["generation"]].append(line["step"])
    assert sorted(steps) == [1, 2, 3]
    for one in steps.values():
        assert one == list(range(one[0], one[0] + len(one)))
    for one, following in ((1, 2), (2, 3)):
        lost = steps[one][-1] + 1 - steps[following][0]
        assert 0 <= lost <= 0.5 / float(STEP_SECONDS), "more is lost than the steps after the save"
    check_loss(job)


class Supervisor(http.server.BaseHTTPRequestHandler):
    """Tells the replicas of AdaptDL where rank 0 is, once its port is open."""

    hints = []

    def do_GET(self):
        rank, port = self.path.split("/")[1].split("-")
        deadline = time.monotonic() + 20
        while rank != "0" and not is_listening(int(port)) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.answer(json.dumps(["127.0.0.1"]).encode())

    def do_PUT(self):
        self.hints.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer(b"")

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def is_listening(port):
    with open("/proc/net/tcp") as file:
        return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
                   for line in list(file)[1:])


class AdaptdlJob(Job):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Supervisor)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def environment(self, rank, world, port):
        environment = super().environment(rank, world, port)
        url = f"http://127.0.0.1:{self.server.server_port}/{rank}-{port}"
        environment.update(
            ADAPTDL_CHECKPOINT_PATH=str(self.checkpoints), ADAPTDL_JOB_ID="default/test",
            ADAPTDL_MASTER_PORT=port, ADAPTDL_REPLICA_RANK=rank, ADAPTDL_NUM_REPLICAS=world,
            ADAPTDL_NUM_NODES=1, ADAPTDL_NUM_RESTARTS=self.generation - 1,
            ADAPTDL_SUPERVISOR_URL=url, ADAPTDL_SCHED_VERSION="0.2.11")
        return environment


def test_adaptdl(runner, tmp_path):
    job = AdaptdlJob(runner, tmp_path, EXAMPLES / "adaptdl_train.py", "--epochs", "3",
                     "--samples", "1440")
    job.resize(2, 3, 2)
    job.server.shutdown()
    assert [one.name for one in job.checkpoints.iterdir()] == ["checkpoint-1"]
    check_samples(job, 1440, 3)
    check_loss(job)


def test_periodic(runner, tmp_path):
    """Without a handler, only the steps after the last periodic save are lost."""
    job = Job(runner, tmp_path, SCRIPTS / "periodic.py", "--epochs", "2", "--save-every", "20")
    job.start(2)
    job.wait_for_steps(30)
    for rank in job.ranks:
        runner.signal(rank, signal.SIGTERM)
    for rank in job.ranks:
        assert runner.wait("exited", rank)["signal"] == signal.SIGTERM
    job.start(3)
    job.finish()
    second = [line["step"] for line in job.lines() if line["generation"] == 2]
    assert min(second) in (21, 41) and max(second) == 100


def test_hang(runner, tmp_path):
    job = Job(runner, tmp_path, SCRIPTS / "hang.py", "--epochs", "2", "--hang-step", "30")
    job.start(2)
    job.wait_for_steps(29)
    time.sleep(0.5)
    assert [runner.steps(rank)["steps"] for rank in job.ranks] == [29, 29]
    for rank in job.ranks:
        runner.kill(rank)
    for rank in job.ranks:
        runner.wait("exited", rank)
    job.start(2)
    job.finish()
    assert max(line["step"] for line in job.lines()) == 100
