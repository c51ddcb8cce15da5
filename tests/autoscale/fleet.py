"""A cluster that scales, a driver on its head, and the invariants of the cluster."""

import contextlib
import pathlib
import re
import subprocess
import time

import agent
import driver
from driver import docker

SERVICE = r"shoal autoscaler"
GCS = r"/gcs_server "
GCS_PORT = 6379
LAUNCHES = ("RunInstances", "CreateFleet")


def host_of(machine):
    return "ip-" + machine["PrivateIpAddress"].replace(".", "-")


class Fleet:
    """`made` is a running cluster (tests/cluster/conftest.py)."""

    def __init__(self, made, most):
        self.made, self.bed, self.most = made, made.bed, most
        self.head = made.head
        self.agent = agent.Agent(self.head)
        self.began = time.time()

    # ---- what the cloud recorded ----

    def workers(self):
        return self.made.machines()[1:]

    def calls(self, since, *actions):
        """Rows of the cloud's log: calls of the head."""
        return [row for row in driver.calls_since(since) if row["who"] == self.head and
                (not actions or row["action"] in actions)]

    def launches(self, since):
        """When launch calls arrived."""
        return [row["at"] - row["ms"] / 1000 for row in self.calls(since, *LAUNCHES)]

    def lives(self):
        """{instance: (launched at, terminated at or None)} of all instances except the head."""
        return {n["id"]: (n["times"]["pending"], n["times"].get("shutting-down"))
                for n in self.bed.ps()["nodes"] if n["id"] != self.head}

    def drains(self, since):
        """[(time, node)] of the drain requests that reached the GCS, from the GCS log."""
        found = []
        with open(driver.gcs_log(f"bed-{self.head}"), encoding="utf-8", errors="replace") as log:
            for line in log:
                at = driver.log_time(line) if "HandleDrainNode" in line else None
                if at and at >= since and (node := re.search(r"\b[0-9a-f]{56}\b", line)):
                    found.append((at, node[0]))
        return found

    # ---- waiting ----

    def wait_workers(self, count, seconds=60):
        """Wait until exactly this many workers have joined and no other instances exist."""
        def joined():
            alive = {n["instance"] for n in self.agent.alive()} - {self.head}
            there = {i["InstanceId"] for i in self.workers()}
            return alive == there and len(there) == count
        driver.wait_for(joined, seconds, 0.2, f"a cluster with {count} workers")
        return self.workers()

    def wait_empty(self, seconds=60):
        """When the termination of the last worker was requested."""
        driver.wait_for(lambda: not self.workers(), seconds, 0.1, "the end of the last worker")
        return max((end for _, end in self.lives().values() if end), default=None)

    # ---- the invariants ----

    def most_at_once(self):
        steps = []
        for born, end in self.lives().values():
            steps.append((born, 1))
            if end:
                steps.append((end, -1))
        now = largest = 0
        for _, step in sorted(steps):
            now += step
            largest = max(largest, now)
        return largest

    def check(self):
        """What must always hold: never too many instances, and none that Ray does not know for
        long.
        """
        assert self.most_at_once() <= self.most, self.lives()

    def check_settled(self, seconds=40):
        """What must hold when nothing is in progress: each instance is one node of Ray."""
        self.check()

        def settled():
            nodes = [n["instance"] for n in self.agent.alive()]
            there = [i["InstanceId"] for i in self.made.machines()]
            return sorted(nodes) == sorted(there)
        driver.wait_for(settled, seconds, 0.5, "one node for each machine")

    # ---- faults ----

    def service_pids(self):
        """Host pids of the supervisor and of the service, its child, which comes last."""
        pids = set(driver.processes(self.head, SERVICE))
        return sorted(pids, key=lambda pid: (parent_of(pid) in pids, pid))

    def kill_service(self, name="KILL"):
        """Kill only the service; its supervisor restarts it."""
        pids = self.service_pids()
        assert len(pids) >= 2, pids
        signal_to(pids[-1], name)
        return pids[-1]

    def wait_service(self, before, seconds=10):
        """Wait until the service has another pid. Return how long that took."""
        began = time.monotonic()
        driver.wait_for(lambda: len(pids := self.service_pids()) >= 2 and pids[-1] != before,
                        seconds, 0.05, "another service")
        return time.monotonic() - began

    @contextlib.contextmanager
    def frozen_service(self):
        pid = self.service_pids()[-1]
        signal_to(pid, "STOP")
        try:
            yield
        finally:
            signal_to(pid, "CONT")

    @contextlib.contextmanager
    def frozen_gcs(self):
        pid = max(driver.processes(self.head, GCS))
        signal_to(pid, "STOP")
        try:
            yield
        finally:
            signal_to(pid, "CONT")

    @contextlib.contextmanager
    def gcs_out_of_reach(self):
        """Block the service's connections to the GCS and all new ones from the head itself. Other
        nodes and other open connections are not affected.
        """
        rules = [f"OUTPUT -o lo -p tcp --syn --dport {GCS_PORT} -j DROP"]
        rules += [f"OUTPUT -o lo -p tcp --sport {port} --dport {GCS_PORT} -j DROP"
                  for port in self.service_ports()]
        with walls(self.head, rules):
            yield

    def service_ports(self):
        """Local ports of the service's connections to the GCS."""
        pid = self.service_pids()[-1]
        done = subprocess.run(["nsenter", "-t", str(pid), "-n", "ss", "-Htnp", "state",
                               "established", f"dport = :{GCS_PORT}"], capture_output=True,
                              text=True, timeout=20, check=True)
        return [line.split()[2].rsplit(":", 1)[1] for line in done.stdout.splitlines()
                if f"pid={pid}," in line]

    @contextlib.contextmanager
    def cloud_cut(self):
        with walls(self.head, [f"OUTPUT -d {driver.settings.GATEWAY} -j DROP"]):
            yield

    @contextlib.contextmanager
    def partitioned(self, instance):
        with walls(instance, ["INPUT -i eth0 -j DROP", "OUTPUT -o eth0 -j DROP"]):
            yield


def parent_of(pid):
    """The parent's pid; 0 if the process has ended.

    The pids themselves do not tell which process is older: they wrap around.
    """
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(re.search(r"^PPid:\t(\d+)", status, re.M)[1])


def signal_to(pid, name):
    subprocess.run(["kill", f"-{name}", str(pid)], check=True)


@contextlib.contextmanager
def walls(instance, rules):
    """iptables rules in the network namespace of an instance, until the block ends."""
    pid = docker.inspect(f"bed-{instance}")["State"]["Pid"]

    def tell(flag, rule, check):
        subprocess.run(["nsenter", "-t", str(pid), "-n", "iptables", "-w", flag, *rule.split()],
                       check=check, capture_output=True, timeout=20)

    for rule in rules:
        tell("-I", rule, True)
    try:
        yield
    finally:
        for rule in rules:
            tell("-D", rule, False)
