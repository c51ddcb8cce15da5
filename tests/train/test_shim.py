"""The fixes for adaptdl 0.2.11. Without a fix, its test gets the error of AdaptDL."""

import pathlib
import socket
import sys
import threading

import pytest

import need_torch
from runner_client import RunnerClient

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from free_port import free_port  # noqa: E402


@pytest.fixture(scope="module")
def runner():
    with RunnerClient(preload="torch,numpy,scipy.optimize") as client:
        assert client.wait("ready")["warm"]
        yield client


@pytest.fixture(scope="module")
def cold():
    with RunnerClient(preload="") as client:
        client.wait("ready")
        yield client


SCRIPTS = {
    # fix: (the script, the error without the fix)
    "numpy": ('''
import adaptdl.goodput as goodput
function = goodput.GoodputFunction(goodput.PerfParams(0.1, 0.01, 0.1, 0.01, 0.1, 0.01, 1.2),
                                   goodput.GradParams(0.01, 1.0), 128)
print(function.optimize(1, 3, max_batch_size=1280, atomic_bsz_range=(64, 256))[1] > 0)
''', "has no attribute 'int'"),
    "semver": ('''
import adaptdl.torch
print(adaptdl.torch.version_check("0.2.11"))
''', "has no attribute 'isvalid'"),
    "pkg_resources": ('''
import adaptdl.torch
print(adaptdl.torch.pkg_resources.get_distribution("adaptdl").version == "0.2.11")
''', "No module named 'pkg_resources'"),
    "torch_load": ('''
import os, tempfile
os.environ["ADAPTDL_CHECKPOINT_PATH"] = folder = tempfile.mkdtemp()
import torch
import adaptdl.checkpoint, adaptdl.torch
adaptdl.torch.init_process_group("gloo")
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model = adaptdl.torch.AdaptiveDataParallel(model, optimizer)
adaptdl.checkpoint.save_all_states()
print(adaptdl.checkpoint.load_state(model._state))
''', "Weights only load failed"),
}


@pytest.mark.parametrize("mode", ["runner", "cold"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_fix(request, mode, name):
    runner = request.getfixturevalue(mode)
    script, error = SCRIPTS[name]
    outcome, output = runner.run(script)
    assert outcome == {"code": 0} and output.splitlines()[-1] == "True", output
    if mode == "runner":    # once is enough, a fresh interpreter takes seconds
        outcome, output = runner.run(script, env={"SHOAL_TRAIN_SHIM_SKIP": name})
        assert outcome == {"code": 1} and error in output, output


REDUCER = '''
import sys, time
import adaptdl.reducer
begin = time.monotonic()
adaptdl.reducer.Reducer(1, 2, "127.0.0.1", int(sys.argv[1]))
print(time.monotonic() - begin)
'''


@pytest.mark.parametrize("skip", ["", "reducer_sleep"])
def test_reducer_sleep(runner, skip):
    """A server that listens 0.3 s late: without the fix, the rank sleeps 5 s."""
    port = free_port()
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

    def listen():
        server.bind(("127.0.0.1", port))
        server.listen()

    before = len(runner.output())
    generation = runner.start(REDUCER, [str(port)], {"SHOAL_TRAIN_SHIM_SKIP": skip})
    while "Could not connect" not in runner.output()[before:]:
        assert not [one for one in runner.seen if one["event"] == "exited"]
    timer = threading.Timer(0.3, listen)
    timer.start()
    assert runner.wait("exited", generation)["code"] == 0
    timer.join()
    server.close()
    seconds = float(runner.output()[before:].splitlines()[-1])
    assert seconds > 4.9 if skip else seconds < 3


def test_reducer_does_not_give_up_early(runner):
    outcome, output = runner.run('''
import adaptdl.reducer, time
slept = []
time.sleep = slept.append
for _ in range(26):
    adaptdl.reducer.time.sleep(5)
print(slept[0] < 0.05, 130 < sum(slept) < 200, adaptdl.reducer.time.time() > 0)
''')
    assert outcome == {"code": 0} and output.splitlines()[-1] == "True True True"


def test_only_adaptdl_may_load_pickles(runner):
    outcome, output = runner.run('''
import io, torch, adaptdl.checkpoint
class Own: pass
file = io.BytesIO()
torch.save(Own(), file)
file.seek(0)
torch.load(file)
''')
    assert outcome == {"code": 1} and "Weights only load failed" in output


def test_nothing_changes_for_other_scripts(runner, cold):
    text = '''
import sys, numpy, semver, torch, time
original = {"module": torch.load.__module__, "file": torch.load.__code__.co_filename}
print(original["file"].endswith("serialization.py"), hasattr(numpy, "int"),
      hasattr(semver.VersionInfo, "isvalid"), "pkg_resources" in sys.modules)
try:
    import pkg_resources
except ImportError:
    print("none")
'''
    for one in (runner, cold):
        assert one.run(text) == ({"code": 0}, "True False False False\nnone\n")


def test_the_stub_is_hidden_from_the_script(runner):
    outcome, output = runner.run("import adaptdl.torch\nimport pkg_resources\n")
    assert outcome == {"code": 1} and "No module named 'pkg_resources'" in output
