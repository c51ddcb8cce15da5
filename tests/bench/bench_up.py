"""Side by side, back to back: from the command to "all nodes are registered in the GCS".

usage: bench_up.py [--workers N,...] [--boot SECONDS,...] [--rounds N] [--tools bare,shoal,ray]
                   [--docker] [--check] [--write FILE] [--json FILE] [--read FILE...]

bare    what cannot be saved: containers started at once, one ssh each, `ray start`; no cloud
shoal   `shoal up -y`
ray     `ray up -y` of the installed Ray, until its monitor has brought all workers

Every tool uses the same image, the same boot and the same flags of Ray (no dashboard, 80 MB of
objects, one CPU). The tools take turns within a round and another one begins each round. Times are
those of the GCS's own log, in seconds since the command was typed. Then `down`, from the command
until the cloud lists no machine. --check asserts the goals; --read reports on runs of before
(--json) and runs nothing. --docker compares the two launchers with a `docker` section: a real
Docker daemon on every machine, its image already there, Ray in containers.

Needs the bed (docs/dev/bed.md), as root. SHOAL_BUILD names the build directory.
"""

import argparse
import concurrent.futures
import contextlib
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))
SKIPPED = 77

try:
    import boto3  # noqa: F401
    import moto  # noqa: F401
    import ray
except ImportError as missing:
    print(f"{missing}: skipped")
    sys.exit(SKIPPED)

import contest  # noqa: E402
import driver  # noqa: E402
import files  # noqa: E402
from driver import client, docker, settings  # noqa: E402
from cloud import images, network, nodes  # noqa: E402

TOOLS = ("bare", "shoal", "ray")
GOAL_BARE, GOAL_RAY, GOAL_DOWN, GOAL_SESSIONS, GOAL_CALLS = 1.25, 2.5, 3.0, 2, 10
PATIENCE = contest.PATIENCE
# Addresses of the bed's network that belong to no subnet of its cloud.
BARE_NETWORK = "198.18.112.0/20"


class Result:
    def __init__(self, tool, workers, boot):
        self.tool, self.workers, self.boot = tool, workers, boot
        self.load_before = driver.load()
        self.load_after = 0.0
        self.returned = self.all = self.head = self.down = None
        self.connections, self.sessions = [], []
        self.calls = self.counted = None

    @classmethod
    def read(cls, row):
        made = cls(row["tool"], row["workers"], row["boot"])
        vars(made).update(row)
        return made


# ---- the bare engine ----


@contextlib.contextmanager
def open_wires():
    """The bed's walls have a gap for the bare machines while they live."""
    rules = [("DOCKER-USER", f"-s {BARE_NETWORK} -d {BARE_NETWORK} -j ACCEPT"),
             ("OUTPUT", f"-d {BARE_NETWORK} -j ACCEPT")]
    for chain, rule in rules:
        network.iptables("filter", "-I", chain, *rule.split())
    try:
        yield
    finally:
        for chain, rule in rules:
            network.iptables("filter", "-D", chain, *rule.split(), check=False)


class Bare:
    """The script. Head first; workers start Ray when the head's `ray start` has returned."""

    def __init__(self, bench, workers, boot):
        self.bench, self.boot = bench, boot
        self.names = [f"bare-{n}" for n in range(workers + 1)]
        self.addresses = [f"198.18.112.{10 + n}" for n in range(workers + 1)]
        self.image = images.ensure("ray")

    def container(self, n):
        docker.run("run", "-d", "--name", self.names[n], "--label", settings.LABEL, "--network",
                   settings.NETWORK_NAME, "--ip", self.addresses[n], "--shm-size", "256m",
                   "--cpu-shares", "256", "-e", f"BED_BOOT_DELAY={self.boot:g}", "-v",
                   f"{self.bench.folder / 'key.pub'}:/home/ubuntu/.ssh/authorized_keys2:ro",
                   "-v", f"{nodes.resolver()}:/etc/resolv.conf:ro", self.image)

    def ssh(self, n, command):
        """One connection, one session; asked again until sshd is there."""
        end = time.monotonic() + PATIENCE
        while True:
            done = subprocess.run(
                ["ssh", "-F", "none", "-i", str(self.bench.folder / "key"), "-o", "BatchMode=yes",
                 "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o",
                 "LogLevel=ERROR", "-o", "ConnectTimeout=2", f"ubuntu@{self.addresses[n]}",
                 f"bash -lc '{command}'"], capture_output=True, text=True, timeout=PATIENCE,
                check=False, stdin=subprocess.DEVNULL)
            if done.returncode != 255:
                assert done.returncode == 0, (n, done.stdout, done.stderr)
                return
            assert time.monotonic() < end, done.stderr
            time.sleep(0.05)

    def up(self):
        flags = f"{files.SMALL} --num-cpus 1"
        with concurrent.futures.ThreadPoolExecutor(len(self.names)) as pool:
            made = [pool.submit(self.container, n) for n in range(len(self.names))]
            made[0].result()
            self.ssh(0, f"ray start --head --port 6379 --node-ip-address {self.addresses[0]} "
                     f"{files.NO_DASHBOARD} --no-monitor {flags}")
            joins = [pool.submit(self.join, n, made[n], flags)
                     for n in range(1, len(self.names))]
            for job in joins:
                job.result()

    def join(self, n, container, flags):
        container.result()
        self.ssh(n, f"ray start --address {self.addresses[0]}:6379 {flags}")

    def run(self, result):
        docker.remove(self.names)
        with open_wires():
            try:
                began = time.time()
                self.up()
                result.returned = time.time() - began
                finish(result, began, self.names[0])
                began = time.time()
                docker.remove(self.names)
                result.down = time.time() - began
            finally:
                docker.remove(self.names)


def finish(result, began, head, registered=driver.registered):
    """Waits for the last node and writes the times down."""
    count = result.workers + 1
    times = driver.wait_for(lambda: (t := registered(head)) and len(t) >= count and t,
                            PATIENCE, 0.2, "the last node")
    result.head, result.all = times[0] - began, times[count - 1] - began
    result.load_after = driver.load()


# ---- launchers ----


def registered_in_container(head):
    """The times of driver.registered(), if the GCS runs in a container of the machine."""
    text = driver.in_machine(head.removeprefix("bed-"), "docker", "exec", "ray_container", "cat",
                             "/tmp/ray/session_latest/logs/gcs_server.out", check=False)
    return [driver.log_time(line) for line in text.splitlines() if "Registering new node" in line]


class Bench(contest.Contest):
    """All tools, each measured in the same way."""

    def __init__(self, folder, has_docker=False):
        super().__init__(folder)
        self.make, self.registered = files.bench, driver.registered
        if has_docker:
            client.up(["base", "docker"], seconds=3600)
            self.make, self.registered = files.docker_bench, registered_in_container

    def launcher(self, launcher, result):
        with launcher(lambda key: self.make(result.workers, contest.KEY_NAME, key)) as (up, down):
            self.measure(result, up, down)

    def measure(self, result, up, down):
        began = time.time()
        up()
        result.returned = time.time() - began
        head = driver.machines(self.ec2, "bench")[0]["InstanceId"]
        finish(result, began, f"bed-{head}", self.registered)
        result.counted, result.calls = driver.api_calls(began)
        counts = driver.ssh_counts(self.bed)
        order = sorted(counts, key=lambda ident: ident != head)
        result.connections = [counts[ident][0] for ident in order]
        result.sessions = [counts[ident][1] for ident in order]
        began = time.time()
        down()
        driver.wait_for(lambda: not driver.machines(self.ec2, "bench"), PATIENCE, 0.05)
        result.down = time.time() - began

    def one(self, tool, workers, boot):
        self.prepare(boot)
        result = Result(tool, workers, boot)
        if tool == "bare":
            Bare(self, workers, boot).run(result)
        else:
            self.launcher(getattr(self, tool), result)
        print(line_of(result), file=sys.stderr, flush=True)
        return result


# ---- telling ----


def line_of(result):
    return (f"{result.tool:5} 1+{result.workers} boot {result.boot:g}: all {result.all:.1f}, head "
            f"{result.head:.1f}, returned {result.returned:.1f}, down {result.down:.1f}, load "
            f"{result.load_before:.1f} to {result.load_after:.1f}, sessions {result.sessions}")


def median(results, name):
    return statistics.median(getattr(r, name) for r in results)


def spread(results, name):
    return contest.spread(getattr(r, name) for r in results)


def table(results):
    """Rows by case and tool, as Markdown."""
    lines = ["| nodes | boot | tool | all registered | head | returned | down | connections, "
             "sessions: head | worker | API calls | load before, after |",
             "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for key in sorted({(r.workers, r.boot) for r in results}):
        for tool in TOOLS:
            own = [r for r in results if (r.workers, r.boot) == key and r.tool == tool]
            if not own:
                continue
            calls = max((sum(r.calls.values()) for r in own if r.calls), default=0)
            counted = max((sum(r.counted.values()) for r in own if r.calls), default=0)
            heads = tails = "1, 1"
            if own[0].sessions:
                heads = ", ".join(str(max(r[0] for r in part)) for part in (
                    [r.connections for r in own], [r.sessions for r in own]))
                tails = ", ".join(str(max(n for r in part for n in r[1:])) for part in (
                    [r.connections for r in own], [r.sessions for r in own]))
            lines.append(
                f"| 1+{key[0]} | {key[1]:g} s | {tool} | {spread(own, 'all')} | "
                f"{spread(own, 'head')} | {spread(own, 'returned')} | {spread(own, 'down')} | "
                f"{heads} | {tails} | {f'{counted} of {calls}' if calls else 'none'} | "
                f"{median(own, 'load_before'):.1f}, {median(own, 'load_after'):.1f} |")
    return "\n".join(lines)


def verdicts(results):
    """[(text, is_reached)] of the goals, by case."""
    found = []
    for key in sorted({(r.workers, r.boot) for r in results}):
        own = {tool: [r for r in results if (r.workers, r.boot) == key and r.tool == tool]
               for tool in TOOLS}
        if not own["shoal"]:
            continue
        case, ours = f"1+{key[0]}, boot {key[1]:g} s", median(own["shoal"], "all")
        if own["bare"]:
            ratio = ours / median(own["bare"], "all")
            found.append((f"{case}: {ratio:.2f} times the bare engine (goal: at most "
                          f"{GOAL_BARE})", ratio <= GOAL_BARE))
        if own["ray"]:
            theirs = median(own["ray"], "all")
            bare = f"; the bare engine: {theirs / median(own['bare'], 'all'):.2f}" \
                if own["bare"] else ""
            found.append((f"{case}: {theirs / ours:.2f} times faster than ray up (goal: at least "
                          f"{GOAL_RAY}{bare})", theirs / ours >= GOAL_RAY))
        most = max(n for r in own["shoal"] for n in r.sessions)
        found.append((f"{case}: at most {most} ssh sessions per node (goal: {GOAL_SESSIONS})",
                      most <= GOAL_SESSIONS))
        if key[0] == 2:
            calls = max(sum(r.counted.values()) for r in own["shoal"])
            found.append((f"{case}: {calls} API calls (goal: at most {GOAL_CALLS})",
                          calls <= GOAL_CALLS))
        down = median(own["shoal"], "down")
        found.append((f"{case}: down {down:.1f} s (goal: at most {GOAL_DOWN} and the cloud's time)",
                      down <= GOAL_DOWN + 1))
    return found


def report(results, verdict):
    paragraphs = "\n".join(f"- {text}{'' if reached else ' **missed**'}"
                           for text, reached in verdict)
    day, processors = time.strftime("%Y-%m-%d"), len(os.sched_getaffinity(0))
    rounds = len(results) // len({(r.tool, r.workers, r.boot) for r in results})
    return f"""# A cluster comes up, {day}

`tests/bench/bench_up.py`: seconds from the command until all nodes are registered in the GCS, by
the GCS's own log; medians (and the range) of {rounds} rounds, Ray {ray.__version__}, one machine
with {processors} processors that carries all nodes, the cloud and the launcher. `bare` starts
containers, waits for sshd and runs `ray start`, the head first: no cloud, no setup, nothing kept.
`ray` is `ray up` (autoscaler v2) until its monitor has brought all workers, in an account that has
Ray's role already. `down` is until the cloud lists no machine. API calls: those that count (neither
what makes the cluster's own group, key, role and profile, nor looks at the state of machines) of
all. The same flags of Ray for all: no dashboard, 80 MB of objects.

{table(results)}

{paragraphs}
"""


def numbers(kind):
    return lambda text: [kind(word) for word in text.split(",")]


def run_all(args):
    results = []
    with tempfile.TemporaryDirectory(prefix="shoal-bench-") as folder:
        bench = Bench(folder, args.docker)
        try:
            for workers, boot in itertools.product(args.workers, args.boot):
                for turn in range(args.rounds):
                    first = turn % len(args.tools)
                    for tool in args.tools[first:] + args.tools[:first]:
                        results.append(bench.one(tool, workers, boot))
        finally:
            bench.bed.reset()
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=numbers(int), default=[2])
    parser.add_argument("--boot", type=numbers(float), default=[0.0])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--tools", type=lambda text: text.split(","), default=list(TOOLS))
    parser.add_argument("--docker", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--read", type=pathlib.Path, nargs="+", default=[])
    args = parser.parse_args()
    if args.docker:
        args.tools = [tool for tool in args.tools if tool != "bare"]
    results = [Result.read(row) for path in args.read for row in json.loads(path.read_text())]
    if not results:
        why = client.missing()
        if why:
            print(why)
            return SKIPPED
        results = run_all(args)
    verdict = verdicts(results)
    print(report(results, verdict))
    if args.json:
        args.json.write_text(json.dumps([vars(r) for r in results], indent=1), encoding="ascii")
    if args.write:
        args.write.write_text(report(results, verdict), encoding="utf-8")
    return 1 if args.check and not all(reached for _, reached in verdict) else 0


if __name__ == "__main__":
    sys.exit(main())
