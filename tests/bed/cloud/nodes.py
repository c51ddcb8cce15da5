"""Instances: their lifecycle beyond moto's, and the container of each.

A node's state goes pending, running, (stopping, stopped,) shutting-down, terminated at the pace of
AWS: the API answers at once, a few worker threads change the container, and listings show the state
at the time of the call. The container is named after the instance and has its private address.
"""

import concurrent.futures
import dataclasses
import heapq
import ipaddress
import json
import pathlib
import shlex
import shutil
import subprocess
import threading
import time

from . import docker, images, network, settings

CODES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64,
         "stopped": 80}
LIVE = ("pending", "running", "stopping", "stopped", "shutting-down")
USER_SHUTDOWN = ("Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated "
                                                 "shutdown")
STARTS_AT_ONCE = 2


@dataclasses.dataclass
class Node:
    id: str
    region: str
    zone: str
    subnet: str
    type: str
    image: str
    private: str
    public: str = None
    wants_public: bool = False
    key_name: str = None
    user_data: bytes = b""
    profile: str = None
    token: str = ""
    spot: str = None               # the request's id
    shutdown: str = "stop"
    tokens_required: bool = False  # IMDSv2 only
    imds: bool = True
    imds_tags: bool = False
    groups: tuple = ()
    state: str = "pending"
    reason: tuple = None           # (code, message)
    created: float = 0.0
    launched: float = 0.0          # by the cloud's clock
    visible_at: float = 0.0
    ended: float = 0.0
    times: dict = dataclasses.field(default_factory=dict)  # state: when it was entered, wall clock
    notice: dict = None
    rebalance: str = None
    paper: bool = False            # exists in the API only
    quick: bool = False            # terminated without delay
    paused: bool = False
    rebooting: bool = False
    faults: dict = dataclasses.field(default_factory=dict)
    lock: object = dataclasses.field(default_factory=threading.Lock)

    @property
    def folder(self):
        return settings.STATE / "nodes" / self.id

    @property
    def name(self):
        return f"bed-{self.id}"


class Clockwork:
    """Delayed work, without a waiting thread for each item."""

    def __init__(self, pool):
        self.pool, self.heap, self.count = pool, [], 0
        self.condition = threading.Condition()
        threading.Thread(target=self._run, daemon=True).start()

    def later(self, seconds, work, *words):
        with self.condition:
            self.count += 1
            heapq.heappush(self.heap, (time.monotonic() + seconds, self.count, work, words))
            self.condition.notify()

    def _run(self):
        while True:
            with self.condition:
                while not self.heap or self.heap[0][0] > time.monotonic():
                    self.condition.wait(self.heap[0][0] - time.monotonic() if self.heap else None)
                _, _, work, words = heapq.heappop(self.heap)
            try:
                self.pool.submit(work, *words)
            except RuntimeError:  # the bed is closing
                return


class Nodes:
    def __init__(self, moto, tunables):
        self.moto, self.tunables = moto, tunables
        self.by_id = {}
        self.env = {}  # environment variables of all processes on machines launched from now on
        self.lock = threading.RLock()
        self.wires = threading.Lock()
        self.rules = network.Rules()
        self.pool = concurrent.futures.ThreadPoolExecutor(max_workers=8)
        self.later = Clockwork(self.pool).later
        self.gate = threading.Semaphore(STARTS_AT_ONCE)
        self.publics = [str(a) for a in ipaddress.ip_network(settings.PUBLIC).hosts()][9:]
        self.images = {}
        self.closing = False
        threading.Thread(target=self.watch, daemon=True).start()

    # ---- queries ----

    def live(self, region=None):
        return [n for n in list(self.by_id.values()) if n.state in LIVE
                and region in (None, n.region)]

    def at(self, address):
        """The node that a private address belongs to."""
        return next((n for n in self.live() if n.private == address), None)

    def visible(self, node, now=None):
        """Is it listed? If a test lowers the lag, instances are visible at once."""
        now = now or time.monotonic()
        if node.ended and now - node.ended > self.tunables.terminated_kept:
            return False
        return now >= min(node.visible_at, node.created + self.tunables.listing_lag)

    def shown_public(self, node):
        """Its public address, once the API shows it."""
        return node.public if time.monotonic() >= node.created + self.tunables.public_lag else None

    def purge(self):
        """Remove instances that are no longer listed."""
        now = time.monotonic()
        for node in list(self.by_id.values()):
            if node.ended and now - node.ended > self.tunables.terminated_kept:
                self.moto.forget(node.region, node.id)
                self.by_id.pop(node.id, None)

    # ---- addresses and rules ----

    def take_public(self):
        with self.lock:
            used = {n.public for n in self.by_id.values()}
            # A new address each time while any are left: the one that has been free the longest.
            for address in self.publics:
                if address not in used:
                    self.publics.remove(address)
                    self.publics.append(address)
                    return address
        return None

    def rewire(self):
        """Set the rules for the nodes that are running now."""
        with self.wires:
            nodes, groups = [], {}
            for region in {n.region for n in self.live()}:
                groups.update(self.moto.group_rules(region))
            for node in self.live():
                if not node.paper:
                    node.groups = tuple(self.moto.groups_of(node.region, node.id))
                    nodes.append((node.private, node.public, node.groups))
            self.rules.apply(nodes, groups, vpn=bool(self.tunables.vpn),
                             relay=self.tunables.relay_ms > 0)

    # ---- lifecycle ----

    def launch(self, node):
        with self.lock:
            node.created = time.monotonic()
            node.times["pending"] = time.time()
            node.launched = time.time() + self.tunables.clock
            node.visible_at = node.created + self.tunables.listing_lag
            node.paper = not self.tunables.containers or ipaddress.ip_address(
                node.private) not in ipaddress.ip_network(settings.NODES)
            if node.wants_public:
                node.public = self.take_public()
            self.by_id[node.id] = node
        self.pool.submit(self._guard, self._start, node)

    def _guard(self, work, node):
        try:
            work(node)
        except Exception as error:  # only this machine fails, not the cloud
            node.reason = ("Server.InternalError", f"Server.InternalError: {error}")
            self._end(node)

    def _start(self, node):
        if "dies" in node.faults:
            code = node.faults["dies"].code or "Server.InternalError"
            what = "Client" if code.startswith("Client.") else "Internal"
            node.reason = (code, f"{code}: {what} error on launch")
            self.later(max(0.2, self.tunables.pending), self._end, node)
            return
        if not node.paper:
            self.rewire()
            with self.gate, node.lock:
                if node.state == "pending":
                    self._run_container(node)
        rest = node.created + self.tunables.pending - time.monotonic()
        if rest > 0:
            self.later(rest, self._running, node)
        else:
            self._running(node)

    def _running(self, node):
        with self.lock:
            if node.state == "pending":
                node.state = "running"
                node.times["running"] = time.time()

    def _run_container(self, node):
        kind = next(a.image for a in settings.AMIS if a.id == node.image)
        if kind not in self.images:
            self.images[kind] = images.ensure(kind)
        node.folder.mkdir(parents=True, exist_ok=True)
        words = ["run", "-d", "--name", node.name, "--hostname", host_name(node), "--label",
                 settings.LABEL, "--label", f"{settings.LABEL}.instance={node.id}", "--network",
                 settings.NETWORK_NAME, "--ip", node.private, "--shm-size", "256m",
                 "--cpu-shares", "256", "-v", f"{resolver()}:/etc/resolv.conf:ro",
                 "-v", f"{node.folder}:/run/bed",
                 "--log-opt", "max-size=1m", *self._fault_words(node), *self._env_words(node)]
        if kind.startswith("systemd"):
            words += systemd_words()
        if kind == "docker":
            words += docker_words()
        docker.run(*words, self.images[kind], seconds=120)
        docker.set_share(docker.PREFERRED)

    def env_files(self):
        """(lines for sshd's configuration, lines for /etc/profile.d): a session gets the variables
        from sshd; the login shell of a step starts without them.
        """
        extra = " ".join(f"{name}={value}" for name, value in self.env.items())
        return f"SetEnv {extra}\n" if extra else "", "".join(
            f"export {name}={shlex.quote(value)}\n" for name, value in self.env.items())

    def _env_words(self, node):
        """The variables, and the folder that they name, which all machines and the tests share."""
        if not self.env:
            return []
        words = ["-v", f"{settings.SHARED}:{settings.SHARED_ON_NODES}"]
        for text, place in zip(self.env_files(), ("/etc/ssh/sshd_config.d/bed.conf",
                                                  "/etc/profile.d/bed.sh")):
            path = node.folder / pathlib.PurePath(place).name
            path.write_text(text, encoding="utf-8")
            words += ["-v", f"{path}:{place}:ro"]
        return words

    def _fault_words(self, node):
        words = []
        delay = node.faults["boot-delay"].seconds if "boot-delay" in node.faults else \
            self.tunables.boot_delay
        if delay:
            words += ["-e", f"BED_BOOT_DELAY={delay}"]
        if "no-sshd" in node.faults:
            words += ["-e", "BED_NO_SSHD=1"]
        if "disk-full" in node.faults:
            words += ["--tmpfs", "/tmp:size=16k,mode=1777"]
        return words

    def terminate(self, node, reason=USER_SHUTDOWN):
        """To shutting-down now and to terminated later; False if it was terminated before."""
        with self.lock:
            if node.state in ("shutting-down", "terminated"):
                return False
            node.state, node.reason = "shutting-down", reason
            node.times["shutting-down"] = time.time()
        self.pool.submit(self._finish, node)
        return True

    def _finish(self, node):
        start = time.monotonic()
        with node.lock:  # wait for a container that is still starting, then remove it
            self._remove_container(node)
        delay = 0.0 if node.quick else start + self.tunables.terminating - time.monotonic()
        self.later(max(0.0, delay), self._end, node)

    def _remove_container(self, node):
        if not node.paper:
            if node.paused:  # Docker does not kill paused containers
                docker.run("unpause", node.name, check=False)
            docker.remove([node.name])

    def end_now(self, node):
        """Terminate an instance now whose termination was delayed."""
        self.pool.submit(self._end, node)

    def _end(self, node):
        self._remove_container(node)
        with self.lock:
            if node.state == "terminated":
                return
            node.state, node.ended, node.public = "terminated", time.monotonic(), None
            node.times["terminated"] = time.time()
        with self.moto.lock:
            instance = self.moto.instance(node.region, node.id)
            if instance.state != "terminated":
                instance.disable_api_termination = False
                instance.terminate()
        if not self.closing and not node.paper:
            self.rewire()

    def stop(self, node, reason=USER_SHUTDOWN):
        with self.lock:
            node.state, node.reason = "stopping", reason
        self.pool.submit(self._stop, node)

    def _stop(self, node):
        with node.lock:
            if not node.paper:
                self._halt_container(node)
            if node.state == "stopping":
                node.state, node.public = "stopped", None
        if not node.paper:
            self.rewire()

    def start(self, node):
        with self.lock:
            node.state, node.reason = "pending", None
            node.created = time.monotonic()
            if node.wants_public:
                node.public = self.take_public()
        self.pool.submit(self._guard, self._restart, node)

    def _restart(self, node):
        if not node.paper:
            self.rewire()
        with node.lock:
            if not node.paper:
                self._start_container(node)
        self.later(self.tunables.pending, self._running, node)

    def reboot(self, node):
        if not node.paper:
            node.rebooting = True
            self.pool.submit(self._reboot, node)

    def _reboot(self, node):
        try:
            self._reboot_container(node)
        finally:
            node.rebooting = False

    # ---- the container of a node; tests/front has other machines ----

    def _halt_container(self, node):
        docker.run("stop", "-t", "3", node.name, check=False)

    def _start_container(self, node):
        docker.run("start", node.name)

    def _reboot_container(self, node):
        docker.run("restart", "-t", "3", node.name, check=False)

    def _is_up(self, node):
        found = docker.inspect(node.name)
        return bool(found and found["State"]["Running"])

    # ---- events of nodes ----

    def watch(self):
        """Detect machines that ended by themselves: powered off, or killed."""
        while not self.closing:
            child = subprocess.Popen(
                ["docker", "events", "--filter", f"label={settings.LABEL}", "--filter",
                 "event=die", "--format", "{{json .Actor.Attributes}}"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self.events = child
            for line in child.stdout:
                node = self.by_id.get(json.loads(line).get(f"{settings.LABEL}.instance", ""))
                if node:
                    self.pool.submit(self._ended_by_itself, node)
            time.sleep(0.5)

    def _ended_by_itself(self, node):
        time.sleep(0.2)  # a stop or restart that we requested is visible by then
        if node.state != "running" or node.rebooting or self._is_up(node):
            return
        reason = ("Client.InstanceInitiatedShutdown",
                  "Client.InstanceInitiatedShutdown: Instance initiated shutdown")
        if node.shutdown == "terminate" or node.spot:
            self.terminate(node, reason)
        else:
            self.stop(node, reason)

    def close(self):
        self.closing = True
        if hasattr(self, "events"):
            self.events.kill()
        self.pool.shutdown(wait=False, cancel_futures=True)
        docker.remove([n.name for n in self.live()])
        shutil.rmtree(settings.STATE / "nodes", ignore_errors=True)

    # ---- logs of nodes ----

    def ssh_log(self, node):
        """The log of the node's sshd. With the base image each line begins with its time."""
        try:
            return (node.folder / "sshd.log").read_text(errors="replace")
        except OSError:
            return ""

    def ssh_counts(self, node):
        """(connections, sessions) in the log of the node's sshd."""
        text = self.ssh_log(node)
        return text.count("Connection from "), text.count("Starting session:")

    def console(self, node):
        return docker.run("logs", node.name, check=False) if not node.paper else ""


def resolver():
    """A resolv.conf without name servers. Docker's own one needs 20 s to fail."""
    place = settings.STATE / "resolv.conf"
    if not place.exists():
        place.write_text("nameserver 127.0.0.1\noptions attempts:1 timeout:1\n", encoding="ascii")
    return place


def host_name(node):
    return "ip-" + node.private.replace(".", "-")


def systemd_words():
    """Docker options for systemd as first process. Debian's initramfs mounts /run like this."""
    return ["-t", "-e", "container=docker", "--stop-signal", "SIGRTMIN+3", "--tmpfs", "/tmp",
            "--tmpfs", "/run:rw,nosuid,nodev,noexec,mode=755", *privileges()]


def docker_words():
    """Docker options for a daemon in the machine. Its overlays need a volume; to enter containers
    of another user it needs ptrace.
    """
    return ["-v", "/var/lib/docker", "--cap-add", "SYS_PTRACE", *privileges()]


def privileges():
    """What mounting and networking in a machine need."""
    return ["--cap-add", "SYS_ADMIN", "--cap-add", "NET_ADMIN", "--security-opt",
            "seccomp=unconfined", "--security-opt", "apparmor=unconfined"]
