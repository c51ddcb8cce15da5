"""A cloud, machines and laptops without containers: whole clusters in seconds, many side by side.

    with Front() as front:
        laptop = front.laptop("alice")
        file = laptop.file("cluster.yaml", front.cluster("demo", workers=2))
        laptop("up", "-y", file)
        assert len(front.alive("demo")) == 3
        laptop("down", "-y", file)
        assert front.remains("demo") == {}

Each front has its own PID, mount and network namespace: any number run in parallel, and nothing
survives `close()` or the death of the test process. Needs root; no Docker, no iptables.

Real: the program on laptops, heads and workers; the API (tests/bed/cloud: moto behind the strict
front, with faults, lag, call log, IAM, metadata service); ssh, sshd, host keys, rsync, sudo, users,
processes, addresses; gRPC and Ray's messages between Shoal and the GCS.
Stand-ins: Ray (`ray start`, `ray stop`; machine/gcs.py and machine/raylet: no tasks, demand comes
from /tmp/ray/demand.json); cloud-init (keys, files and commands of user-data, written from
outside); shutdown; nvidia-smi; docker, after `front.install_docker()` (machine/docker). Not there:
systemd, PAM, security groups (every port is open); the disk below a machine is this host's root.

SHOAL_BUILD  the build directory (default: build in the repository)
"""

import atexit
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "bed"))
sys.path.append(str(HERE.parent / "cli"))

import output_schema  # noqa: E402
from cloud import client, settings  # noqa: E402

BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD") or REPOSITORY / "build").resolve()
SHOAL = BUILD / "src" / "cli" / "shoal"
CALLER_URL = f"http://{settings.GATEWAY}:{settings.CALLER_PORT}/"
PLACE = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
IMAGE = settings.AMIS[1].id
LIVE = ("pending", "running", "stopping", "stopped", "shutting-down")
PROGRAMS = ("unshare", "nsenter", "setpriv", "ip", "ssh", "sshd", "rsync", "sudo")
# This cloud delays nothing for longer. The program waits until a call can no longer take effect, or
# until a listing is complete; here that takes seconds, not minutes.
TIMES = "horizon=2000,call_timeout=10000,look_again=200"


def missing():
    """Why no front can run here: a sentence, or None."""
    if os.geteuid() != 0:
        return "a front needs root (namespaces)"
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    lacking = [name for name in PROGRAMS if not shutil.which(name, path=path)]
    return f"not installed: {' '.join(lacking)}" if lacking else None


def wait_for(work, seconds=120, step=0.05, what="what was waited for"):
    """The first true value that `work` returns."""
    end = time.monotonic() + seconds
    while True:
        value = work()
        if value:
            return value
        assert time.monotonic() < end, f"{what} did not come within {seconds} s"
        time.sleep(step)


# ---- the zygote ----

_zygotes = {}
_lock = threading.Lock()


def forget_dead():
    """Remove folders of fronts whose test process was killed."""
    for pid in pathlib.Path(PLACE).glob("shoal-front-*/pid"):
        try:
            is_dead = not client.running(int(pid.read_text(encoding="ascii")))
        except FileNotFoundError:  # another test process closed its front just now
            continue
        if is_dead:
            shutil.rmtree(pid.parent, ignore_errors=True)


def zygote(*kind):
    """One per test process, cloud and region; it has moto loaded."""
    with _lock:
        if kind not in _zygotes or _zygotes[kind].poll() is not None:
            forget_dead()
            _zygotes[kind] = subprocess.Popen([sys.executable, str(HERE / "zygote.py"), *kind],
                                              stdin=subprocess.PIPE, text=True)
            atexit.register(_zygotes[kind].kill)
    return _zygotes[kind]


# ---- laptops ----


class Done:
    """A finished command."""

    def __init__(self, words, status, out, err, seconds):
        self.words, self.status, self.out, self.err = words, status, out, err
        self.seconds = seconds

    def __repr__(self):
        return (f"shoal {' '.join(self.words)}: exit {self.status} after {self.seconds:.1f} s\n"
                f"--- out\n{self.out[-6000:]}\n--- err\n{self.err[-6000:]}")


class Laptop:
    """A user's own machine: HOME, /tmp and AWS keys of its own, the network of its front."""

    def __init__(self, front, name):
        self.front, self.name = front, name
        self.folder = front.folder / "laptops" / name
        self.home, self.state, self.here = (self.folder / n for n in ("home", "state", "here"))
        for place in (self.home, self.here, self.folder / "tmp"):
            place.mkdir(parents=True)
        (self.folder / "tmp").chmod(0o1777)
        self.more = self.credentials(front.ask("user", name=name))
        script = f"mount --bind {self.folder}/tmp /tmp; {self.mounts()} exec sleep infinity"
        self.anchor = front.popen(["unshare", "--mount", "sh", "-ec", script], {},
                                  stdin=subprocess.DEVNULL)
        # A process that enters before the mount would use this host's /tmp.
        wait_for(lambda: name_of(inner(self.anchor.pid)) == "sleep", 20, 0.002, "a laptop")

    def credentials(self, keys):
        """The variables with which this laptop's user calls the API."""
        return {**client.environment(keys["key"], keys["secret"], keys["token"])}

    def mounts(self):
        """More commands of a shell before the laptop is ready, each with a semicolon."""
        return ""

    def env(self, **more):
        return {"PATH": os.environ["PATH"] + ":/usr/sbin",
                "HOME": str(self.home), "USER": self.name, "LOGNAME": self.name,
                "XDG_STATE_HOME": str(self.state), "XDG_CACHE_HOME": str(self.folder / "cache"),
                "LC_ALL": "C.UTF-8", "SHOAL_PAYLOADS": str(self.front.folder / "payloads"),
                "SHOAL_CALLER_URL": CALLER_URL, **self.front.times, **self.more, **more}

    def words(self, *command):
        """The argument list that runs `command` on this laptop."""
        return ["nsenter", "-t", str(self.front.pid), "-n", "-p", "--", "nsenter",
                f"--mount=/proc/{self.anchor_pid()}/ns/mnt", "--", "setpriv", "--pdeathsig", "KILL",
                "env", "-C", str(self.here), *map(str, command)]

    def anchor_pid(self):
        return inner(self.anchor.pid)

    def start(self, *words, env=None, program=None, **more):
        """Start `shoal WORDS`; stdout and stderr are pipes. Its own process: `process(child)`."""
        fields = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                  "stderr": subprocess.PIPE, "text": True, "errors": "replace",
                  "start_new_session": True, "env": self.env(**(env or {})), **more}
        return subprocess.Popen(self.words(program or self.front.program, *words), **fields)

    def process(self, child):
        """The pid of shoal itself, for signals."""
        return inner(child.pid)

    def send(self, child, number):
        os.kill(self.process(child), number)

    def run(self, *words, seconds=240, text=None, env=None, program=None):
        """Wait for the end; fail after the limit, with the output until then."""
        began = time.monotonic()
        more = {} if text is None else {"stdin": subprocess.PIPE}
        child = self.start(*words, env=env, program=program, **more)
        words = [str(word) for word in words]
        try:
            out, err = child.communicate(text, timeout=seconds)
        except subprocess.TimeoutExpired:
            out, err = self.stop(child)
            done = Done(words, None, out, err, time.monotonic() - began)
            raise AssertionError(f"no result within {seconds} s: {done}") from None
        if program is None:
            output_schema.check(words, out)
        return Done(words, child.returncode, out, err, time.monotonic() - began)

    def stop(self, child, number=signal.SIGKILL, seconds=15):
        """Send a signal to a child; return (out, err)."""
        try:
            self.send(child, number)
        except ProcessLookupError:
            pass
        try:
            return child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:  # its children hold the pipes
            os.killpg(child.pid, signal.SIGKILL)
            return child.communicate(timeout=seconds)

    def __call__(self, *words, **more):
        """The same, and it must succeed."""
        done = self.run(*words, **more)
        assert done.status == 0, f"{done}\n{self.front.log()}"
        return done

    def file(self, name, content):
        """Write a file where shoal runs. Anything but text becomes JSON, which is YAML."""
        path = self.here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1),
                        encoding="utf-8")
        return path

    def record(self, name):
        """The one file of this name that shoal keeps of its clusters, or None. A log of a node can
        have the same name as a record.
        """
        found = [p for p in self.state.rglob(name) if p.parent.name != "log"]
        assert len(found) <= 1, found
        return found[0] if found else None

    def leftovers(self):
        """Files of any cluster that shoal still keeps."""
        return sorted(str(p.relative_to(self.state)) for p in self.state.rglob("*") if p.is_file())


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as stream:
        return stream.read().strip()


def inner(pid):
    """The last process of a chain of nsenter, setpriv and env, each of which forks once.
    ProcessLookupError if the chain has ended.
    """
    try:
        while True:
            if name_of(pid) not in ("nsenter", "setpriv", "env", "unshare"):
                return pid
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as stream:
                found = stream.read().split()
            if found:
                pid = int(found[0])
            elif is_zombie(pid):
                raise ProcessLookupError(f"process {pid} has ended")
            else:
                time.sleep(0.002)
    except FileNotFoundError:
        raise ProcessLookupError(f"process {pid} has ended") from None


def is_zombie(pid):
    """Has it ended, without a wait() of its parent?"""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stream:
        return stream.read().rpartition(")")[2].split()[0] == "Z"


# ---- machines ----


class Machine:
    """An instance, seen from outside; its disk stays readable after its termination."""

    def __init__(self, front, row):
        self.front, self.id, self.row = front, row["id"], row

    def __getattr__(self, name):
        return self.row[name]

    @property
    def disk(self):
        return self.front.folder / "nodes" / self.id / "upper"

    @property
    def home(self):
        return self.disk / "home" / "ubuntu"

    def tag(self, key):
        return self.row["tags"].get(key)

    @property
    def kind(self):
        return self.tag("ray-node-type")

    def run(self, *words, user="ubuntu", seconds=30, check=True):
        """stdout of a command there, without ssh."""
        pid = self.front.ask("first_process", instance=self.id)["pid"]
        done = subprocess.run(
            ["nsenter", "-t", str(self.front.pid), "-m", "-p", "--", "nsenter", "-t", str(pid),
             "-a", "-r", "-w", "--", "sudo", "-n", "-i", "-u", user, "--", *words],
            capture_output=True, text=True, timeout=seconds, check=False)
        assert not check or done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def processes(self):
        """{pid inside: command line}."""
        rows = self.run("ps", "-eww", "-o", "pid=,args=", check=False).splitlines()
        return {int(row.split(None, 1)[0]): row.split(None, 1)[1] for row in rows}

    def console(self):
        return self.front.ask("logs", instance=self.id)["console"]


# ---- the front ----


class Front(client.Bed):
    """A running front. Has the methods of the bed's client (faults, set, mix, deny, notice)."""

    kind, laptop_class, delays = "aws", Laptop, settings.SHORT

    def __init__(self, program=None, times=TIMES, region=None, **tunables):
        """`times`: SHOAL_TEST_TIMES of laptops and machines; "": the timeouts of production.
        `region`: the only one of the account, instead of those in the bed's settings.
        """
        self.region = region
        self.times = {"SHOAL_TEST_TIMES": times} if times else {}
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shoal-front-", dir=PLACE))
        self.folder.chmod(0o755)
        self.children, self.laptops = [], {}
        self.asking = threading.Lock()
        try:
            self._boot(program or SHOAL, {**self.delays, **tunables})
        except BaseException:
            self.close()
            raise

    def _boot(self, program, tunables):
        parent = zygote(self.kind, *([self.region] if self.region else []))
        with _lock:
            parent.stdin.write(json.dumps({"folder": str(self.folder)}) + "\n")
            parent.stdin.flush()
        (self.folder / "payloads").mkdir()
        (self.folder / "bin").mkdir()
        self.program = self.folder / "bin" / "shoal"
        # Without debug symbols, as in a release, because it is sent to every machine.
        subprocess.run(["strip", "-s", "-o", self.program, program], check=True)
        for arch in ("x86_64", "aarch64"):
            os.link(self.program, self.folder / "payloads" / f"shoal-{arch}")
        try:
            wait_for(lambda: (self.folder / "control").exists() and
                     (self.folder / "pid").exists(), 180, 0.01, "the front")
        except AssertionError as late:
            raise AssertionError(f"{late}:\n{self.log()}") from None
        self.pid = int((self.folder / "pid").read_text(encoding="ascii"))
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(self.folder / "control"))
        self.stream = self.socket.makefile("rwb")
        self.set(**tunables)
        self.machine_env()

    def popen(self, words, env, **more):
        """Start a program in the front's namespaces that runs until the front ends."""
        child = subprocess.Popen(["nsenter", "-t", str(self.pid), "-n", "-p", "-m", "--", "setpriv",
                                  "--pdeathsig", "KILL", *words],
                                 env={"PATH": os.environ["PATH"], **env}, **more)
        self.children.append(child)
        return child

    def ask(self, verb, **fields):
        with self.asking:
            self.stream.write(json.dumps({"verb": verb, **fields}).encode() + b"\n")
            self.stream.flush()
            reply = json.loads(self.stream.readline())
        if reply["status"] != 200:
            raise client.BedError(reply["value"]["error"])
        return reply["value"]

    def laptop(self, name="alice"):
        if name not in self.laptops:
            self.laptops[name] = self.laptop_class(self, name)
        return self.laptops[name]

    def limited_laptop(self, name, policy):
        """A laptop whose user may do only what the policy allows; a second call replaces the
        policy.
        """
        keys = self.ask("limited", name=name, policy=policy)
        laptop = self.laptop(name)
        laptop.more = laptop.credentials(keys)
        return laptop

    # ---- the front's records ----

    def machines(self, cluster=None, states=LIVE):
        """Instances in the front's own records, in any of these states, in launch order."""
        rows = [Machine(self, row) for row in self.ask("truth")["instances"]]
        return [m for m in rows if m.state in states and
                (cluster is None or m.tag("ray-cluster-name") == cluster)]

    def alive(self, cluster=None):
        return self.machines(cluster, ("pending", "running"))

    def head(self, cluster=None):
        """The one head; there must be exactly one."""
        heads = [m for m in self.alive(cluster) if m.kind == "head"]
        assert len(heads) == 1, [m.row for m in heads]
        return heads[0]

    def calls(self, since=0.0, action=None):
        """The API's log: a row per call with `at` (wall clock, time of the answer), `ms`, `who`
        ("laptop" or an instance), `as` (the laptop's or role's name), `action`, `status`.
        """
        with open(self.folder / "calls.jsonl", encoding="utf-8") as stream:
            rows = [json.loads(line) for line in stream]
        return [r for r in rows if r["at"] >= since and action in (None, r["action"])]

    def log(self):
        """Errors that the front itself logged; a bug of the front must not look like one of
        Shoal.
        """
        path = self.folder / "front.log"
        return path.read_text(encoding="utf-8", errors="replace")[-3000:] if path.exists() else ""

    def machine_env(self, **names):
        """Environment variables of all processes on machines that are launched from now on."""
        self.ask("env", **{**self.times, **names})

    def install_docker(self):
        """A stand-in for docker on machines that are launched from now on."""
        place = self.folder / "image/usr/local/bin/docker"
        shutil.copy(HERE / "machine" / "docker", place)
        place.chmod(0o755)

    def share(self):
        """A folder that is /shared on machines that are launched from now on; each of them has its
        own /dev/shm then.
        """
        place = self.folder / "shared"
        place.mkdir()
        place.chmod(0o777)
        return place

    # ---- files ----

    @staticmethod
    def cluster(name="demo", workers=2, **more):
        """A cluster file for a cluster that comes up quickly."""
        node = {"node_config": {"InstanceType": "m5.large", "ImageId": IMAGE},
                "resources": {"CPU": 1}}
        return {
            "cluster_name": name, "max_workers": workers,
            "provider": {"type": "aws", "region": settings.REGION, "cache_stopped_nodes": False},
            "auth": {"ssh_user": "ubuntu"},
            "available_node_types": {
                "head": node, "worker": {**node, "min_workers": workers, "max_workers": workers}},
            "head_node_type": "head", "setup_commands": [], "head_setup_commands": [],
            "head_start_ray_commands": ["ray stop", "ray start --head --port=6379 --autoscaling-"
                                        "config=~/ray_bootstrap_config.yaml"],
            "worker_start_ray_commands": ["ray stop", "ray start --address=$RAY_HEAD_IP:6379"],
            **more}

    def close(self):
        if hasattr(self, "pid"):
            try:
                os.kill(self.pid, signal.SIGKILL)  # its first process: everything inside dies
            except ProcessLookupError:
                pass
            wait_for(lambda: not client.running(self.pid), 20, 0.005, "the end of the front")
        for child in self.children:
            child.kill()
            child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __exit__(self, *_):
        self.close()
