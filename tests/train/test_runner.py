"""The runner of training scripts: it behaves as `python script` does, only faster."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import need_torch
from runner_client import RunnerClient

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from free_port import free_port  # noqa: E402

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/train"


@pytest.fixture(scope="module")
def warm():
    with RunnerClient() as client:
        ready = client.wait("ready")
        assert ready["warm"] and ready["modules"] and not ready["missing"], ready
        yield client


@pytest.fixture(scope="module")
def cold():
    with RunnerClient(preload="") as client:
        assert client.wait("ready")["warm"] is False
        yield client


@pytest.fixture(params=["warm", "cold"])
def runner(request):
    return request.getfixturevalue(request.param)


# ---- the end of a script ----

ENDS = {
    "end of file": "pass\n",
    "exit 0": "import sys\nsys.exit()\n",
    "exit 143": "import sys\nsys.exit(143)\n",
    "exit -1": "import sys\nsys.exit(-1)\n",
    "exit 256": "import sys\nsys.exit(256)\n",
    "exit with text": "import sys\nsys.exit('no data')\n",
    "exception": "def f():\n    raise ValueError('bad')\nf()\n",
    "syntax error": "x = = 1\n",
    "interrupt": "raise KeyboardInterrupt\n\n",
    "os._exit": "import os\nos._exit(7)\n",
    "signal": "import os\nos.kill(os.getpid(), 9)\n",
    "abort": "import os\nos.abort()\n",
    "own excepthook": "import sys\nsys.excepthook = lambda *a: print('mine')\n1 / 0\n",
}


@pytest.mark.parametrize("end", ENDS)
def test_ends_as_python_does(runner, tmp_path, end):
    script = tmp_path / "script.py"
    script.write_text(ENDS[end])
    expected = subprocess.run([sys.executable, script], capture_output=True, text=True)
    outcome, output = runner.run(script)
    code = expected.returncode
    assert outcome == ({"code": code} if code >= 0 else {"signal": -code})
    assert output == expected.stdout + expected.stderr


def test_missing_script(runner, tmp_path):
    outcome, output = runner.run(tmp_path / "none.py")
    assert outcome == {"code": 2} and "No such file" in output


def test_missing_folder(runner, tmp_path):
    outcome, output = runner.run("print('not reached')\n", folder=tmp_path / "none")
    assert outcome == {"code": 1} and "FileNotFoundError" in output
    assert "not reached" not in output


def test_returned_before_atexit_handlers(runner):
    generation = runner.start("import atexit, time, sys\n"
                              "atexit.register(lambda: (time.sleep(0.5), print('cleaned up')))\n"
                              "sys.exit(143)\n")
    returned = runner.wait("returned", generation)
    exited = runner.wait("exited", generation)
    assert (returned["code"], exited["code"]) == (143, 143)
    assert returned["pid"] == exited["pid"] == runner.wait("started", generation)["pid"]
    assert exited["time"] - returned["time"] >= 0.45
    assert "cleaned up" in runner.output()


def test_atexit_handlers_have_five_seconds(warm):
    generation = warm.start("import atexit, time\natexit.register(time.sleep, 60)\n")
    returned = warm.wait("returned", generation)
    exited = warm.wait("exited", generation)
    assert exited["code"] == 0
    assert 4.5 < exited["time"] - returned["time"] < 8


def test_no_report_from_a_hard_exit(warm):
    generation = warm.start("import os\nos._exit(7)\n")
    assert warm.wait("exited", generation)["code"] == 7
    assert not [event for event in warm.seen
                if event["event"] == "returned" and event["generation"] == generation]


def test_threads_of_the_script_finish(runner):
    outcome, output = runner.run("import threading, time\n"
                                 "def save():\n    time.sleep(0.3)\n    print('saved')\n"
                                 "threading.Thread(target=save).start()\n")
    assert outcome == {"code": 0} and "saved" in output


# ---- what a script sees ----

def test_environment_arguments_and_path(runner, tmp_path):
    (tmp_path / "neighbor.py").write_text("NAME = 'found'\n")
    script = tmp_path / "script.py"
    script.write_text("import os, sys, neighbor, __main__\n"
                      "print(sys.argv[1:], os.getcwd(), os.environ['RANK'], neighbor.NAME)\n"
                      "print(__name__, __file__ == sys.argv[0], __main__.__file__ == __file__)\n"
                      "print(repr(sys.stdin.read()), 'HOME' in os.environ, sys.path[0])\n"
                      "print([p for p in sys.path if p.endswith('train/python')])\n"
                      "import extra\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more/extra.py").write_text("print('extra')\n")
    outcome, output = runner.run(script, ["--x", "1"], folder="/usr",
                                 env={"RANK": "5", "HOME": None, "PYTHONPATH": f"{tmp_path}/more"})
    assert outcome == {"code": 0}
    assert output == (f"['--x', '1'] /usr 5 found\n__main__ True True\n'' False {tmp_path}\n[]\n"
                      "extra\n")


def test_the_protocol_is_out_of_reach(runner):
    outcome, output = runner.run(
        "import os\nos.write(1, b'to stdout\\n')\nprint('printed')\n"
        "names = {n: os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd')\n"
        "         if os.path.exists(f'/proc/self/fd/{n}')}\n"
        "print(len([n for n in names.values() if n.startswith('pipe')]))\n"
        "os.system('exec ls -l /proc/self/fd')\n")
    assert outcome == {"code": 0}
    assert output.startswith("to stdout\nprinted\n1\n")  # only the pipe that reports the end
    inherited = output.splitlines()[3:]
    assert len(inherited) > 3 and not [line for line in inherited if "pipe:" in line], output


def test_signals_are_as_in_a_fresh_interpreter(runner):
    text = ("import signal\n"
            "print({int(n): str(signal.getsignal(n)) for n in signal.valid_signals()\n"
            "       if not 'built-in' in str(signal.getsignal(n))})\n"
            "print(signal.getsignal(2) is signal.default_int_handler,\n"
            "      signal.pthread_sigmask(0, []))\n")
    expected = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True,
        # A shell starts jobs in the background with these two ignored.
        preexec_fn=lambda: [signal.signal(n, signal.SIG_DFL) for n in (2, 3)])
    assert runner.run(text)[1] == expected.stdout


def test_random_numbers_differ(warm):
    text = ("import random, numpy, torch, uuid, multiprocessing\n"
            "print(random.random(), numpy.random.rand(), multiprocessing.current_process().authkey,"
            " sep='|')\nprint(torch.rand(1).item())\n")
    first, second = warm.run(text)[1].splitlines(), warm.run(text)[1].splitlines()
    assert all(a != b for a, b in zip(first[0].split("|"), second[0].split("|")))
    assert first[1] == second[1]    # torch always starts with the same seed


def test_threads_of_libraries(warm):
    text = "import torch\nprint(torch.get_num_threads())\n"
    assert warm.run(text, env={"OMP_NUM_THREADS": "2"})[1] == "2\n"
    assert warm.run(text, env={"OMP_NUM_THREADS": "1"})[1] == "1\n"


PICKLE = '''
import multiprocessing, pickle

class Sample:
    def __init__(self, value):
        self.value = value

def work(sample):
    return Sample(sample.value + 1)

if __name__ == "__main__":
    assert pickle.loads(pickle.dumps(Sample(1))).value == 1
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(work, (Sample(1),)).value)
'''


def test_spawned_workers_find_the_classes_of_main(runner):
    outcome, output = runner.run(PICKLE)
    assert (outcome, output) == ({"code": 0}, "2\n")


# ---- signals, kill, end ----

STOPPABLE = ("import signal, sys, time\n"
             "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n"
             "print('waiting', flush=True)\n"
             # Python misses a signal that arrives as it enters a sleep, until the sleep ends.
             "for _ in range(3000):\n    time.sleep(0.02)\n")


def wait_for_output(runner, text, count=1):
    deadline = time.monotonic() + 30
    while runner.output().count(text) < count:
        assert time.monotonic() < deadline, runner.output()
        time.sleep(0.01)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter: it ended after the open
        return False


def test_signal_is_passed_on(runner):
    count = runner.output().count("waiting")
    generation = runner.start(STOPPABLE)
    wait_for_output(runner, "waiting", count + 1)
    before = time.time()
    runner.signal(generation, signal.SIGTERM)
    assert runner.wait("returned", generation)["code"] == 143
    assert before <= runner.steps(generation)["asked"] <= time.time()
    assert runner.wait("exited", generation)["code"] == 143


def test_signal_directly_after_start_is_not_lost(runner):
    for _ in range(5):
        generation = runner.start("import time\ntime.sleep(60)\n")
        runner.signal(generation, signal.SIGTERM)
        assert runner.wait("exited", generation, 20)["signal"] == signal.SIGTERM


def test_kill_reaches_the_workers(runner):
    generation = runner.start(
        "import subprocess, sys, time\nfrom multiprocessing import Process\n"
        "if __name__ == '__main__':\n    Process(target=time.sleep, args=(60,)).start()\n"
        "    child = subprocess.Popen(['sleep', '60'])\n"
        "    print('worker', child.pid, flush=True)\n    time.sleep(60)\n")
    wait_for_output(runner, "worker")
    worker = int(runner.output().rpartition("worker ")[2].split()[0])
    runner.kill(generation)
    assert runner.wait("exited", generation)["signal"] == signal.SIGKILL
    deadline = time.monotonic() + 30
    while is_alive(worker) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(worker)


LOADER = '''
import os, sys, torch
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, index):
        return os.getpid()

if __name__ == "__main__":
    loader = DataLoader(Numbers(), batch_size=1, num_workers=2, persistent_workers=True)
    for batch in loader:
        print("loader", batch[0].item(), flush=True)
    {end}
'''


@pytest.mark.parametrize("end", ["sys.exit(143)", "os._exit(143)"])
def test_data_loaders_are_not_left_behind(warm, end):
    outcome, output = warm.run(LOADER.replace("{end}", end))
    workers = {int(line.split()[1]) for line in output.splitlines() if line.startswith("loader")}
    assert outcome == {"code": 143} and len(workers) == 2
    # torch's workers look for their parent only every 5 s.
    deadline = time.monotonic() + 4
    while any(is_alive(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(is_alive(worker) for worker in workers)


def test_two_generations_at_once(runner):
    count = runner.output().count("waiting")
    first, second = runner.start(STOPPABLE), runner.start(STOPPABLE)
    wait_for_output(runner, "waiting", count + 2)
    runner.kill(first)
    assert runner.wait("exited", first)["signal"] == signal.SIGKILL
    runner.signal(second, signal.SIGTERM)
    assert runner.wait("exited", second)["code"] == 143


def test_bad_requests(warm):
    for line in ("nonsense", "[]", "{}", '{"command":"fly","generation":1}',
                 '{"command":"start","generation":1}', b"\xff\xfe",
                 '{"command":"start","generation":1,"script":5}'):
        warm.send(line)
        assert warm.wait("error")["text"]
    warm.signal(123456, 15)
    warm.kill(123456)
    assert warm.run("print('goes on')\n") == ({"code": 0}, "goes on\n")
    generation = warm.start("import time\ntime.sleep(60)\n")
    warm.send({"command": "start", "generation": generation, "script": "/x.py"})
    assert warm.wait("error", generation)
    warm.signal(generation, 1000)
    assert warm.wait("error")
    warm.kill(generation)
    warm.wait("exited", generation)


@pytest.mark.parametrize("preload", ["json", ""])
def test_end_of_input_kills(preload):
    client = RunnerClient(preload=preload)
    client.wait("ready")
    generation = client.start("import signal, time\nsignal.signal(15, signal.SIG_IGN)\n"
                              "print('waiting', flush=True)\ntime.sleep(60)\n")
    pid = client.wait("started", generation)["pid"]
    wait_for_output(client, "waiting")
    client.process.send_signal(signal.SIGTERM)    # a stop of the whole job is left to the agent
    time.sleep(0.1)
    assert client.process.poll() is None
    client.close()
    deadline = time.monotonic() + 30
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(pid)


@pytest.mark.parametrize("preload", ["json", ""])
def test_a_killed_runner_takes_the_script_along(preload):
    client = RunnerClient(preload=preload)
    client.wait("ready")
    generation = client.start("import time\nprint('waiting', flush=True)\ntime.sleep(60)\n")
    pid = client.wait("started", generation)["pid"]
    wait_for_output(client, "waiting")
    client.process.kill()
    client.process.wait()
    deadline = time.monotonic() + 30
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(pid)


# ---- when a fork is not safe ----

PRELOADS = {
    "thread": ("import threading, time\n"
               "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n",
               "2 threads"),
    "error": ("1 / 0\n", "ZeroDivisionError"),
    "adaptdl": ("import sys, types\nsys.modules['adaptdl'] = types.ModuleType('adaptdl')\n",
                "adaptdl"),
    "cuda": ("import sys, types\nmodule = types.ModuleType('torch.cuda')\n"
             "module.is_initialized = lambda: True\nsys.modules['torch.cuda'] = module\n", "CUDA"),
    "none": ("import module_that_does_not_exist\n", None),
    "prints": ("print('noise')\n", None),
}


@pytest.mark.parametrize("name", PRELOADS)
def test_fallback(tmp_path, name):
    text, reason = PRELOADS[name]
    (tmp_path / "preloaded.py").write_text(text)
    with RunnerClient(preload="json,preloaded,adaptdl.torch",
                      env={"PYTHONPATH": str(tmp_path)}) as client:
        ready = client.wait("ready")
        assert ready["warm"] is (reason is None)
        if reason:
            assert reason in ready["reason"]
        else:
            assert "adaptdl.torch" in ready["missing"]
        outcome, output = client.run("import sys\nprint('preloaded' in sys.modules)\nsys.exit(3)\n")
        assert outcome == {"code": 3}
        assert output == f"{name == 'prints'}\n"


# ---- steps ----

STEPS = '''
import time
import torch
from torch import optim

first = optim.SGD([torch.nn.Parameter(torch.zeros(2))], lr=0.1)
second = optim.Adam([torch.nn.Parameter(torch.zeros(2))], lr=0.1)
for index in range(20):
    time.sleep(0.005)
    first.step()
    second.step()
'''


def test_steps_are_counted(runner):
    before = time.time()
    generation = runner.start(STEPS)
    started = runner.wait("started", generation)
    runner.wait("exited", generation)
    steps = runner.steps(generation)
    assert steps["steps"] == 20 and steps["pid"] == started["pid"]
    assert before < steps["began"] < steps["first"] < steps["last"] < time.time()
    assert steps["sum"] == pytest.approx(steps["last"] - steps["first"])
    assert steps["sum"] > 0.09
    assert steps["group"] == 0 and steps["asked"] == 0


def test_a_script_may_change_its_optimizer(warm):
    generation = warm.start(STEPS + "for index in range(150):\n    second.step()\n")
    warm.wait("exited", generation)
    assert warm.steps(generation)["steps"] == 20 + 52    # from the 100th in a row
    generation = warm.start(STEPS + "del first\nsecond.step()\n")
    warm.wait("exited", generation)
    assert warm.steps(generation)["steps"] == 21


def test_a_missing_steps_file_is_not_fatal(warm):
    warm.generation += 1
    script = warm.path / "no_steps.py"
    script.write_text("print('runs')\n")
    warm.send({"command": "start", "generation": warm.generation, "script": str(script),
               "steps": "/dev/shm/shoal-none/steps"})
    assert warm.wait("exited", warm.generation)["code"] == 0
    assert "cannot count steps" in warm.output()


def test_a_step_costs_less_than_two_microseconds(warm):
    outcome, output = warm.run('''
import time
import torch
import torch.optim.optimizer as module
hook = list(module._global_optimizer_post_hooks.values())[0]
optimizer, count = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))]), 20000
best = 1
for _ in range(20):
    begin = time.process_time()
    for _ in range(count):
        hook(optimizer, (), {})
    best = min(best, (time.process_time() - begin) / count)
print(best)
''')
    assert outcome == {"code": 0}
    assert float(output) < 2e-6


def test_ranks_start_in_a_second(warm, tmp_path):
    """Three ranks of a DDP script, until each has made its first steps."""
    port = free_port()
    generations = []
    for rank in range(3):
        environment = {"RANK": str(rank), "WORLD_SIZE": "3", "LOCAL_RANK": str(rank),
                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                       "GLOO_SOCKET_IFNAME": "lo", "SHOAL_CHECKPOINT_DIR": str(tmp_path)}
        generations.append(warm.start(EXAMPLES / "ddp.py", ["--epochs", "1000000"], environment))
    deadline = time.monotonic() + 60
    while not all(warm.steps(generation)["steps"] > 5 for generation in generations):
        assert time.monotonic() < deadline, warm.output()
        time.sleep(0.01)
    ticks = os.sysconf("SC_CLK_TCK")
    for generation in generations:
        steps = warm.steps(generation)
        assert steps["began"] < steps["group"] < steps["first"]
        with open(f"/proc/{steps['pid']}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        seconds = (int(fields[11]) + int(fields[12])) / ticks
        print(f"first steps after {steps['first'] - steps['began']:.2f} s, {seconds:.2f} s of CPU")
        assert seconds < 1
    for generation in generations:
        warm.signal(generation, signal.SIGTERM)
    for generation in generations:
        assert warm.wait("exited", generation)["code"] == 143
