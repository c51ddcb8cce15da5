"""--warm-cuda, with a stand-in for torch: no GPU is needed, and none was ever used."""

import os
import pathlib
import time

import pytest

from runner_client import RunnerClient

# Notes the process that initializes it.
CUDA = """
import os

def note(word):
    with open(os.environ["NOTES"], "a") as file:
        print(word, os.getpid(), file=file)

def is_available():
    return os.environ.get("GPUS", "1") == "1"

def is_initialized():
    return getattr(is_initialized, "pid", None) == os.getpid()

def init():
    if os.environ.get("BROKEN"):
        raise RuntimeError("no driver")
    if is_initialized():
        return
    is_initialized.pid = os.getpid()
    note("init")

def synchronize(device):
    note("context")
"""
SCRIPT = """
import os
import torch
print("initialized", torch.cuda.is_initialized(), os.environ["RANK"], os.environ.get("NEW"))
"""


@pytest.fixture
def client(tmp_path):
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("from torch import cuda\n\n"
                                         "def set_num_threads(count):\n    pass\n")
    (package / "cuda.py").write_text(CUDA)
    notes = tmp_path / "notes"
    notes.write_text("")
    clients = []

    def start(**env):
        started = RunnerClient(preload="torch", env=dict(
            {"PYTHONPATH": str(tmp_path), "NOTES": str(notes), "SHOAL_TRAIN_WARM_CUDA": "1"},
            **env))
        clients.append(started)
        started.notes = lambda: [line.split() for line in notes.read_text().splitlines()]
        return started

    yield start
    for one in clients:
        one.close()


def test_the_first_process_has_cuda_before_it_is_needed(client):
    runner = client()
    ready = runner.wait("ready")
    assert ready["warm"] and ready["cuda"] == "", ready
    notes = runner.notes()
    assert [word for word, _ in notes] == ["init", "context"]
    generation = runner.start(SCRIPT, env={"RANK": "3", "NEW": "x"})
    started = runner.wait("started", generation)
    assert runner.wait("exited", generation)["code"] == 0
    assert "initialized True 3 x" in runner.output()
    # The fork server itself never touches CUDA.
    assert {int(pid) for _, pid in notes} == {started["pid"]}
    assert started["pid"] != runner.process.pid


def test_later_processes_do_not(client):
    """The node already trains: the memory of its GPU is in use."""
    runner = client()
    runner.wait("ready")
    runner.run(SCRIPT, env={"RANK": "0"})
    outcome, output = runner.run(SCRIPT, env={"RANK": "0"})
    assert outcome == {"code": 0} and "initialized False" in output
    assert len(runner.notes()) == 2


def test_another_device_needs_another_process(client):
    runner = client()
    runner.wait("ready")
    outcome, output = runner.run(SCRIPT, env={"RANK": "0", "CUDA_VISIBLE_DEVICES": "1"})
    assert outcome == {"code": 0} and "initialized False" in output


@pytest.mark.parametrize("env, reason", [({"GPUS": "0"}, "torch finds no CUDA device"),
                                         ({"BROKEN": "1"}, "RuntimeError: no driver")])
def test_without_cuda_the_script_runs_as_before(client, env, reason):
    runner = client(**env)
    ready = runner.wait("ready")
    assert ready["warm"] and ready["cuda"] == reason
    outcome, output = runner.run(SCRIPT, env={"RANK": "0"})
    assert outcome == {"code": 0} and "initialized False" in output


def test_a_process_that_died_is_replaced(client):
    runner = client()
    runner.wait("ready")
    pid = int(runner.notes()[0][1])
    os.kill(pid, 9)
    while pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z":
        time.sleep(0.01)
    outcome, output = runner.run(SCRIPT, env={"RANK": "0"})
    assert outcome == {"code": 0} and "initialized False" in output


def test_it_ends_with_the_runner(client):
    runner = client()
    runner.wait("ready")
    pid = int(runner.notes()[0][1])
    runner.process.stdin.close()
    assert runner.process.wait(10) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_it_gets_large_orders_and_signals(client):
    runner = client()
    runner.wait("ready")
    generation = runner.start("import signal, sys, time\n"
                              "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n"
                              "print(sum(map(len, sys.argv)) > 200000, flush=True)\n"
                              "time.sleep(60)\n", args=["x" * 100000] * 3)
    runner.wait("started", generation)
    for _ in range(500):
        if "True" in runner.output():
            break
        time.sleep(0.02)
    runner.signal(generation, 15)
    assert runner.wait("exited", generation)["code"] == 143
