"""Runs the training script of one slot, generation after generation.

The agent starts this file once per slot: PYTHON runner.py. It imports torch once and forks for each
generation, so that a restart does not pay for imports. Where a fork is not safe, each generation is
a fresh interpreter, with the same behavior.

stdin and stdout carry one JSON object per line; stderr is the output of the job.

  in   {"command":"start","generation":3,"script":"/a/train.py","args":[],"folder":"/a",
        "env":{"RANK":"0"},"steps":"/dev/shm/x/steps"}      (a null in env removes the variable)
       {"command":"signal","generation":3,"signal":15}      to the script's process
       {"command":"kill","generation":3}                    SIGKILL to its whole process group
       end of file: all scripts are killed, the runner exits 0
  out  {"event":"ready","warm":true,"seconds":3.2,"modules":[..],"missing":[..]}
       {"event":"ready","warm":false,"reason":".."}           "cuda":".." as below
       {"event":"started","generation":3,"pid":12}
       {"event":"returned","generation":3,"pid":12,"code":143}    the script's code has finished
       {"event":"exited","generation":3,"pid":12,"code":143}      or "signal":9; once per start
       {"event":"error","text":".."}                              with "generation" for a start

SIGTERM, SIGINT and SIGHUP are ignored: a stop of the whole job must not kill a script that saves
its state. The agent decides; when it is gone, stdin ends. Only the standard library is used.

With SHOAL_TRAIN_WARM_CUDA=1, the process of the first generation is forked before it is needed. It
initializes CUDA, before the runner is ready, and waits for its order: "cuda":"" in the ready event,
or why there is none. The runner itself never initializes CUDA, which does not survive a fork.
"""

import atexit
import builtins
import ctypes
import errno
import faulthandler
import functools
import gc
import importlib
import importlib.machinery
import importlib.util
import json
import mmap
import os
import random
import select
import signal
import socket
import struct
import sys
import threading
import time
import types
import urllib.parse
import weakref

import adaptdl_shim

PRELOAD = "torch,torch._dynamo,torch.distributed,numpy"
EXIT_SECONDS = 5.0     # for atexit handlers, after the script's own code has finished
CUDA_SECONDS = 120.0   # to initialize CUDA
LISTEN_SECONDS = 60.0  # how long other ranks wait for rank 0; then torch decides
LINE_LIMIT = 4 << 20
STEPS_BYTES = 64
PR_SET_PDEATHSIG = 1
IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
STOP_SIGNALS = (signal.SIGTERM, signal.SIGUSR1)

LIBC = ctypes.CDLL(None, use_errno=True)


# ---- hooks after an import ----

class ImportHooks:
    """Calls a function with a module as soon as the module is imported."""

    def __init__(self):
        self.functions = {}
        self.before = {}
        sys.meta_path.insert(0, self)

    def after_import(self, name, function):
        if name in sys.modules:
            function(sys.modules[name])
        else:
            self.functions.setdefault(name, []).append(function)

    def before_import(self, name, function):
        """Calls the function, without arguments, when the module is searched for."""
        if name not in sys.modules:
            self.before[name] = function

    def find_spec(self, name, path=None, target=None):
        before = self.before.pop(name, None)
        if before:
            before()
        if name not in self.functions:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                self._wrap(name, spec.loader)
                return spec
        return None

    def _wrap(self, name, loader):
        original = getattr(loader, "exec_module", None)
        if original is None:
            return

        def exec_module(module):
            del loader.exec_module
            original(module)
            for function in self.functions.pop(name, []):
                function(module)

        loader.exec_module = exec_module


# ---- the steps file ----

class Steps:
    """What the agent knows about the progress of a script: 64 bytes, little-endian.

    0 u64 steps, 8 f64 end of the first step, 16 f64 end of the last step, 24 f64 the script began,
    32 f64 init_process_group returned, 40 f64 the first request to stop (the parent writes it),
    48 f64 sum of the times between steps, 56 u64 pid. Times are those of time.time().
    """

    # Another optimizer is counted when the first one has not stepped for so many of its steps.
    PATIENCE = 100

    def __init__(self):
        self.counts = None
        self.times = None
        self.on_step = None

    def open(self, path):
        with open(path, "r+b") as file:
            view = memoryview(mmap.mmap(file.fileno(), STEPS_BYTES))
        self.counts, self.times = view.cast("Q"), view.cast("d")
        self.counts[7] = os.getpid()
        self.on_step = self._counter()

    def began(self):
        if self.times:
            self.times[3] = time.time()

    def group_made(self):
        if self.times:
            self.times[4] = time.time()

    def _counter(self):
        """The hook of each step, a closure because it must be fast."""
        counts, times, now = self.counts, self.times, time.time
        counted, others = _nothing, 0

        def step(optimizer, _args, _kwargs):
            nonlocal counted, others
            if counted() is not optimizer:
                others += 1
                if counted() is not None and others < self.PATIENCE:
                    return
                counted = weakref.ref(optimizer)
            others = 0
            end = now()
            if counts[0]:
                times[6] += end - times[2]
            else:
                times[1] = end
            times[2] = end
            counts[0] += 1

        return step

    def watch(self, hooks):
        hooks.after_import("torch.optim.optimizer", self._watch_optimizers)
        # Before torch.distributed and others copy the name.
        hooks.after_import("torch.distributed.distributed_c10d", self._watch_group)

    def _watch_optimizers(self, module):
        def step(optimizer, args, kwargs):
            if self.on_step:
                self.on_step(optimizer, args, kwargs)

        register = getattr(module, "register_optimizer_step_post_hook", None)
        if register:
            register(step)

    def _watch_group(self, module):
        original = getattr(module, "init_process_group", None)
        if original is None:
            return

        @functools.wraps(original)
        def init_process_group(*args, **kwargs):
            await_rank_0(kwargs.get("init_method") or (args[1:2] or [None])[0])
            result = original(*args, **kwargs)
            self.group_made()
            return result

        module.init_process_group = init_process_group


def _nothing():
    return None


def await_rank_0(method):
    """Waits until rank 0 listens, if this is another rank.

    torch retries a refused connection after half a second or more. After a warm start the ranks
    arrive within milliseconds, and often before rank 0, so that this would be most of the pause.
    """
    address = urllib.parse.urlsplit(method or "env://")
    host, port = address.hostname, address.port
    if address.scheme == "env":
        host, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT", "")
    if os.environ.get("RANK", "0") == "0" or not host or not str(port).isdigit():
        return
    deadline = time.monotonic() + LISTEN_SECONDS
    while time.monotonic() < deadline:
        try:
            socket.create_connection((host, int(port)), 1).close()
            return
        except OSError:
            time.sleep(0.005)


# ---- in the process of the script ----

def die_with(parent):
    """A script does not outlive the runner."""
    LIBC.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def reset_signals():
    """As in a fresh interpreter."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if number in (signal.SIGKILL, signal.SIGSTOP):
            continue
        try:
            signal.signal(number, signal.SIG_DFL)
        except (OSError, ValueError):
            pass    # The C library keeps some for itself.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def set_environment(changes):
    before = os.environ.get("PYTHONPATH", "")
    for name, value in changes.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = str(value)
    after = os.environ.get("PYTHONPATH", "")
    if before != after:
        old = [os.path.abspath(path) for path in before.split(os.pathsep) if path]
        new = [os.path.abspath(path) for path in after.split(os.pathsep) if path]
        sys.path[1:] = new + [path for path in sys.path[1:] if path not in old]


def set_threads():
    """Libraries that were loaded before the fork have read the runner's OMP_NUM_THREADS."""
    count = os.environ.get("OMP_NUM_THREADS", "")
    if count.isdigit() and int(count) > 0 and "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(int(count))
    blas = os.environ.get("OPENBLAS_NUM_THREADS") or count or str(len(os.sched_getaffinity(0)))
    if "numpy" in sys.modules and blas.isdigit() and int(blas) > 1:
        set_openblas_threads(int(blas))


def set_openblas_threads(count):
    """The runner loads OpenBLAS with one thread, because threads do not survive a fork."""
    with open("/proc/self/maps") as maps:
        paths = {line.split(None, 5)[-1].strip() for line in maps if "openblas" in line}
    for path in paths:
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue    # only a matter of speed
        for prefix in ("", "scipy_"):
            for suffix in ("", "64_", "_64"):
                function = getattr(library, prefix + "openblas_set_num_threads" + suffix, None)
                if function:
                    function(count)


def forget_randomness():
    """Otherwise all generations would draw the same numbers."""
    random.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if "multiprocessing.process" in sys.modules:
        process = sys.modules["multiprocessing.process"]
        process.current_process().authkey = os.urandom(32)
        process.ORIGINAL_DIR = os.getcwd()


def finish_stop(code):
    """Runs what `python script` would run after the script, then leaves without a teardown."""
    atexit._run_exitfuncs()
    flush()
    if code == 128 + signal.SIGINT and interrupted:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code)


interrupted = False


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass


def main_module(script):
    """A `__main__` that pickle and the spawned workers of multiprocessing accept."""
    module = types.ModuleType("__main__")
    module.__file__ = script
    module.__builtins__ = builtins
    module.__spec__ = None
    module.__package__ = None
    module.__cached__ = None
    module.__loader__ = importlib.machinery.SourceFileLoader("__main__", script)
    # The functions of this file live on in their module.
    sys.modules["_shoal_runner"] = sys.modules["__main__"]
    sys.modules["__main__"] = module
    if "__mp_main__" in sys.modules:    # under which spawned workers send back its classes
        sys.modules["__mp_main__"] = module
    return module


def exit_code(error):
    """What the interpreter makes of the argument of sys.exit()."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xff
    print(error.code, file=sys.stderr)
    return 1


def show(error):
    """The traceback, without the frames of this file."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    error = error.with_traceback(trace)
    flush()
    sys.excepthook(type(error), error, trace)


def execute(script, steps):
    """Runs the script; returns the exit code that `python script` would have."""
    global interrupted
    try:
        with open(script, "rb") as file:
            source = file.read()
    except OSError as error:
        print("%s: can't open file %r: [Errno %d] %s"
              % (sys.executable, script, error.errno, error.strerror), file=sys.stderr)
        return 2
    module = main_module(script)
    try:
        code = compile(source, script, "exec", dont_inherit=True)
        del source
        steps.began()
        exec(code, module.__dict__)
    except SystemExit as error:
        return exit_code(error)
    except KeyboardInterrupt as error:
        show(error)
        interrupted = True
        return 128 + int(signal.SIGINT)
    except BaseException as error:
        show(error)
        return 1
    return 0


def run(order, report, steps):
    """The process of a script, from here to its end."""
    code = 1
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(line_buffering=True)
        script = order["script"]
        sys.argv = [script] + list(order.get("args") or [])
        sys.path[0] = os.path.dirname(os.path.realpath(script))
        if order.get("folder"):
            os.chdir(order["folder"])
        set_environment(order.get("env") or {})
        set_threads()
        forget_randomness()
        importlib.invalidate_caches()
        if order.get("steps"):
            try:
                steps.open(order["steps"])
            except (OSError, ValueError) as error:
                print("cannot count steps in %s: %s" % (order["steps"], error), file=sys.stderr)
        # The agent sends this signal to a script that hangs, before it kills it.
        faulthandler.register(signal.SIGUSR2, all_threads=True)
        code = execute(script, steps)
        # A thread that is not a daemon, for example one that saves, belongs to the script.
        threading._shutdown()
    except BaseException as error:
        show(error)
    flush()
    try:
        os.write(report, b'{"code":%d}\n' % code)
        os.close(report)
    except OSError:
        pass    # The script closed all files.
    finish_stop(code)


def init_cuda():
    """Creates the context of the first visible device. Why not, or an empty text."""
    try:
        cuda = importlib.import_module("torch").cuda
        if not cuda.is_available():
            return "torch finds no CUDA device"
        cuda.init()
        cuda.synchronize(0)
        return ""
    except Exception as error:
        return "%s: %s" % (type(error).__name__, error)


# ---- the runner ----

class Spare:
    """A process that has initialized CUDA and waits for its order."""

    # The context has read them.
    VARIABLES = ("CUDA_", "NVIDIA_", "PYTORCH_")

    def __init__(self, pid, report, orders):
        self.pid = pid
        self.report = report
        self.orders = orders

    def fits(self, order):
        changes = (order.get("env") or {}).items()
        return not any(name.startswith(self.VARIABLES) and os.environ.get(name) != value
                       for name, value in changes)

    def close(self):
        for kill in (os.killpg, os.kill):
            try:
                kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        os.waitpid(self.pid, 0)
        os.close(self.report)
        os.close(self.orders)


class Child:
    def __init__(self, generation, pid, report, steps):
        self.generation = generation
        self.pid = pid
        self.report = report        # the reading end, -1 after its end
        self.steps = steps
        self.returned = None        # the code
        self.deadline = None        # of its exit, after it returned
        self.was_asked = False


class Runner:
    def __init__(self, steps):
        self.steps = steps
        self.children = {}
        self.spare = None
        self.wake = os.pipe()
        self.buffer = b""
        self.warm = False
        # Nothing that is imported may read or write the protocol.
        self.requests, self.events = os.dup(0), os.dup(1)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)

    def say(self, **event):
        line = (json.dumps(event) + "\n").encode()
        try:
            while line:
                line = line[os.write(self.events, line):]
        except BrokenPipeError:
            self.leave()

    def leave(self):
        for child in self.children.values():
            self.kill(child)
        if self.spare:
            self.spare.close()
        os._exit(0)

    # ---- start ----

    def prepare(self, names):
        """Imports what scripts need; decides whether a fork is safe."""
        if not names:
            self.say(event="ready", warm=False, reason="there are no modules to preload")
            return
        begin = time.monotonic()
        modules, missing, reason = preload(names)
        reason = reason or unsafe()
        if reason is None:
            gc.collect()
            gc.freeze()
            self.warm = True
            cuda = {}
            if os.environ.pop("SHOAL_TRAIN_WARM_CUDA", "") == "1":
                cuda = {"cuda": self.warm_cuda()}
            self.say(event="ready", warm=True, seconds=round(time.monotonic() - begin, 3),
                     modules=modules, missing=missing, **cuda)
            return
        self.say(event="ready", warm=False, reason=reason)
        # A new interpreter holds no memory, no GPU and no threads of what was imported.
        os.dup2(self.requests, 0)
        os.dup2(self.events, 1)
        os.execv(sys.executable, [sys.executable, os.path.abspath(__file__), "--cold"])

    def warm_cuda(self):
        """Makes the spare process. Why there is none, or an empty text."""
        order_end, orders = os.pipe()
        try:
            pid, report = self.fork(lambda report: self.await_order(report, order_end, orders))
        except OSError as error:
            os.close(orders)
            return "cannot fork: %s" % error
        finally:
            os.close(order_end)
        self.spare = Spare(pid, report, orders)
        poll = select.poll()
        poll.register(report, select.POLLIN)
        poll.register(self.requests, 0)
        ready = dict(poll.poll(CUDA_SECONDS * 1000))
        if self.requests in ready:
            self.leave()
        reason = "it took more than %g s" % CUDA_SECONDS
        if report in ready:
            line = os.read(report, 4096)
            reason = json.loads(line.decode())["cuda"] if line else "the process ended"
        if reason:
            self.drop_spare()
        return reason

    def await_order(self, report, order_end, orders):
        """In the spare process, which takes signals only when it has its order."""
        os.close(orders)
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        os.write(report, json.dumps({"cuda": init_cuda()[:1000]}).encode())
        with os.fdopen(order_end, "rb") as file:
            text = file.read()
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        if text:
            run(json.loads(text.decode()), report, self.steps)

    def drop_spare(self):
        self.spare.close()
        self.spare = None

    def use_spare(self, order):
        """The process and its report, or None."""
        spare = self.spare
        if spare is None:
            return None
        if not spare.fits(order) or os.waitid(os.P_PID, spare.pid, os.WEXITED | os.WNOHANG
                                              | os.WNOWAIT):
            self.drop_spare()
            return None
        self.spare = None
        send(spare.orders, json.dumps(order).encode())
        os.close(spare.orders)
        return spare.pid, spare.report

    def loop(self):
        wake, wake_end = self.wake
        os.set_blocking(wake, False)
        os.set_blocking(wake_end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        while True:
            poll = select.poll()
            for file in (self.requests, wake):
                poll.register(file, select.POLLIN)
            for child in self.children.values():
                if child.report >= 0:
                    poll.register(child.report, select.POLLIN)
            for file, _ in poll.poll(self.patience()):
                if file == self.requests:
                    self.read_requests()
                elif file == wake:
                    os.read(wake, 4096)
            for child in list(self.children.values()):
                self.attend(child)

    def patience(self):
        """Milliseconds until the first deadline."""
        deadlines = [child.deadline for child in self.children.values() if child.deadline]
        if not deadlines:
            return None
        return max(0, (min(deadlines) - time.monotonic()) * 1000 + 1)

    # ---- requests ----

    def read_requests(self):
        data = os.read(self.requests, 65536)
        if not data:
            self.leave()
        lines = (self.buffer + data).split(b"\n")
        self.buffer = lines.pop()
        if len(self.buffer) > LINE_LIMIT:
            self.buffer = b""
            self.say(event="error", text="a line of more than %d bytes" % LINE_LIMIT)
        for line in lines:
            if not line.strip():
                continue
            try:
                self.obey(json.loads(line.decode()))
            except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
                self.say(event="error", text="%s: %s in %r"
                         % (type(error).__name__, error, line[:200].decode(errors="replace")))

    def obey(self, request):
        command, generation = request["command"], int(request["generation"])
        child = self.children.get(generation)
        if command == "start":
            self.start(generation, child, request)
        elif command == "signal":
            number = int(request["signal"])
            if child:
                self.signal(child, number)
        elif command == "kill":
            if child:
                self.kill(child)
        else:
            raise ValueError("unknown command")

    def start(self, generation, child, order):
        if not isinstance(order["script"], str):
            raise TypeError("script must be a string")
        if child:
            self.say(event="error", generation=generation, text="this generation is running")
            return
        clear_steps(order.get("steps"))
        try:
            pid, report = self.use_spare(order) or (
                self.fork(lambda report: run(order, report, self.steps)) if self.warm
                else self.spawn(order))
        except OSError as error:
            self.say(event="error", generation=generation, text="cannot start: %s" % error)
            return
        self.children[generation] = Child(generation, pid, report, order.get("steps"))
        self.say(event="started", generation=generation, pid=pid)

    def fork(self, function):
        """Runs the function in a new process, with the writing end of a pipe for its report."""
        read_end, write_end = os.pipe()
        # A signal that arrives before the child has reset its handlers waits until then.
        everything = signal.valid_signals()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, everything)
        parent = os.getpid()
        try:
            pid = os.fork()
            if pid == 0:
                try:
                    os.setpgid(0, 0)
                    die_with(parent)
                    reset_signals()
                    for file in [self.requests, self.events, read_end, *self.wake] \
                            + [child.report for child in self.children.values()]:
                        if file >= 0:
                            os.close(file)
                    if self.spare:
                        os.close(self.spare.report)
                        os.close(self.spare.orders)
                    function(write_end)
                finally:
                    os._exit(1)
            os.set_blocking(read_end, False)
            os.close(write_end)
            set_group(pid)
            return pid, read_end
        except OSError:
            os.close(read_end)
            os.close(write_end)
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def spawn(self, order):
        """Without a fork of this process, which may have threads."""
        read_end, write_end = os.pipe()
        input_end, order_end = os.pipe()
        environment = dict(os.environ)
        for name, value in (order.get("env") or {}).items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = str(value)
        try:
            pid = os.posix_spawn(
                sys.executable,
                [sys.executable, os.path.abspath(__file__), "--run", str(os.getpid())], environment,
                file_actions=[(os.POSIX_SPAWN_DUP2, input_end, 0),
                              (os.POSIX_SPAWN_DUP2, 2, 1),
                              (os.POSIX_SPAWN_DUP2, write_end, REPORT_FILE)],
                setpgroup=0, setsigmask=[],
                setsigdef=[number for number in signal.valid_signals()
                           if number not in (signal.SIGKILL, signal.SIGSTOP)])
            os.set_blocking(read_end, False)
            send(order_end, json.dumps(order).encode())
            return pid, read_end
        except OSError:
            os.close(read_end)
            raise
        finally:
            for file in (write_end, input_end, order_end):
                os.close(file)

    # ---- children ----

    def signal(self, child, number):
        if number in STOP_SIGNALS and not child.was_asked:
            child.was_asked = True
            write_time(child.steps, 40)
        os.kill(child.pid, number)

    def kill(self, child):
        """The group is there as long as the child has not been waited for."""
        for kill in (os.killpg, os.kill):
            try:
                kill(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def attend(self, child):
        state = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        self.read_report(child)
        is_late = child.deadline is not None and time.monotonic() >= child.deadline
        if is_late:
            self.kill(child)
            child.deadline = None
            return
        if state is None:
            return
        # Data loaders and other helpers of the script go with it.
        self.kill(child)
        os.waitpid(child.pid, 0)
        del self.children[child.generation]
        if child.report >= 0:
            os.close(child.report)
        outcome = {"code": state.si_status}
        if state.si_code != os.CLD_EXITED:
            outcome = {"signal": state.si_status}
            if state.si_status == signal.SIGKILL and child.returned is not None:
                outcome = {"code": child.returned}
        self.say(event="exited", generation=child.generation, pid=child.pid, **outcome)

    def read_report(self, child):
        if child.report < 0:
            return
        try:
            data = os.read(child.report, 4096)
        except BlockingIOError:
            return
        if data and child.returned is None:
            child.returned = json.loads(data.decode())["code"]
            child.deadline = time.monotonic() + EXIT_SECONDS
            self.say(event="returned", generation=child.generation, pid=child.pid,
                     code=child.returned)
        os.close(child.report)
        child.report = -1


REPORT_FILE = 3    # of a spawned script, which has no other open files


def preload(names):
    """Imports the modules; what was imported, what does not exist, and why this was not safe."""
    modules, missing = [], []
    # OpenBLAS starts its threads when it is loaded, and they would not survive a fork.
    blas = os.environ.get("OPENBLAS_NUM_THREADS")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        for name in names:
            # AdaptDL installs signal handlers and reads the environment when it is imported.
            if name.partition(".")[0] == "adaptdl":
                missing.append(name)
                continue
            try:
                importlib.import_module(name)
                modules.append(name)
            except ImportError:
                missing.append(name)
            except BaseException as error:
                return modules, missing, "import of %s raised %s: %s" \
                    % (name, type(error).__name__, error)
    finally:
        del os.environ["OPENBLAS_NUM_THREADS"]
        if blas is not None:
            os.environ["OPENBLAS_NUM_THREADS"] = blas
    return modules, missing, None


def unsafe():
    """Why a fork would not be safe, or None."""
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        return "%d threads run after the imports" % threads
    cuda = sys.modules.get("torch.cuda")
    if cuda is not None and cuda.is_initialized():
        return "CUDA was initialized by the imports"
    if "adaptdl" in sys.modules:
        return "the imports import adaptdl"
    return None


def set_group(pid):
    """The child does the same; so that from now on a kill reaches the whole group."""
    try:
        os.setpgid(pid, pid)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.ESRCH):
            raise


def send(file, data):
    try:
        while data:
            data = data[os.write(file, data):]
    except BrokenPipeError:
        pass    # It is gone, its exit is reported.


def clear_steps(path):
    """The file may be from an earlier generation."""
    write_at(path, bytes(STEPS_BYTES), 0)


def write_time(path, offset):
    write_at(path, struct.pack("<d", time.time()), offset)


def write_at(path, data, offset):
    if not path:
        return
    try:
        file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return    # The child says so.
    try:
        os.pwrite(file, data, offset)
    finally:
        os.close(file)


def main(arguments):
    hooks, steps = ImportHooks(), Steps()
    steps.watch(hooks)
    adaptdl_shim.install(hooks)
    if arguments[:1] == ["--run"]:
        os.set_inheritable(REPORT_FILE, False)
        die_with(int(arguments[1]))
        with os.fdopen(0, "rb", closefd=False) as file:
            order = json.loads(file.read().decode())
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        # The environment is in place since the start of the interpreter.
        run(dict(order, env={}), REPORT_FILE, steps)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    runner = Runner(steps)
    names = [name.strip() for name in os.environ.get("SHOAL_TRAIN_PRELOAD", PRELOAD).split(",")]
    if arguments[:1] != ["--cold"]:
        runner.prepare([name for name in names if name])
    runner.loop()


if __name__ == "__main__":
    main(sys.argv[1:])
