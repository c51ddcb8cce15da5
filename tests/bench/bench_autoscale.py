"""Compares with Ray's own monitor: the time from demand to nodes, and the cost of polling.

usage: bench_autoscale.py [--rounds N] [--tools shoal,ray] [--idle SECONDS] [--seconds SECONDS]
                          [--times TIMES] [--payload PROGRAM] [--check] [--write FILE]
                          [--json FILE] [--read FILE...]

One head that runs no tasks, at most four workers, none at first. A driver on the head submits eight
tasks of one CPU: four instances are enough and no more are allowed. Then all workers are terminated
after the smallest idle timeout that a file can set.

The times come from independent sources: submits and ends of tasks from the driver's clock, the time
when the GCS knew all tasks from a poll every 20 ms, launches and terminations from the cloud's log,
joins from the GCS log. With Shoal, a node that has just joined is not idle for a minute, so each
has work for longer, unless --times changes that (SHOAL_TEST_TIMES, for a short run). Memory and CPU
time are the kernel's; for Shoal both processes count, the service and its supervisor. --payload:
the program that is sent to the head, such as the portable program of a release. --check asserts the
goals; --read reports on earlier runs (--json).

Needs the bed (docs/dev/bed.md), as root. SHOAL_BUILD names the build directory.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import statistics
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "cluster"), str(HERE.parent / "autoscale")]
SKIPPED = 77

try:
    import boto3  # noqa: F401
    import moto  # noqa: F401
    import ray
except ImportError as missing:
    print(f"{missing}: skipped")
    sys.exit(SKIPPED)

import agent  # noqa: E402
import contest  # noqa: E402
import driver  # noqa: E402
import files  # noqa: E402

TOOLS = ("shoal", "ray")
NAME, WORKERS, TASKS = "bench", 4, 8
IDLE_MINUTES = 0.02
MONITORS = {"ray": r"ray/autoscaler/\S*monitor\.py", "shoal": r"shoal autoscaler"}
LAUNCHES = ("RunInstances", "CreateFleet")
FALSE_ALARM = re.compile("No available node types|infeasible|cannot be (met|placed)")
PATIENCE = contest.PATIENCE


class Result:
    """Seconds since the submit, unless said otherwise."""

    def __init__(self, tool):
        self.tool, self.load_before, self.load_after = tool, driver.load(), 0.0
        self.demand = None          # all of it was known to the GCS
        self.launches = []          # when each call arrived at the cloud
        self.joined = []
        self.done = None
        self.gone = []              # after the end of the node's last task and the idle time
        self.calls = {}             # of the head, from the submit to the last end
        self.sessions = []          # of ssh, per worker
        self.idle_memory = self.busy_memory = (0, 0)  # resident, private; the largest seen
        self.idle_seconds = 0.0     # on a processor, per minute
        self.busy_seconds = 0.0     # on a processor, from the submit to the last end
        self.busy_for = 0.0
        self.alarms = 0
        self.lines = []

    @classmethod
    def read(cls, row):
        made = cls(row["tool"])
        vars(made).update(row)
        return made


# ---- watching the watchers ----


class Watch:
    """Memory and processor time of a monitor, looked at from outside."""

    def __init__(self, head, tool):
        self.pids = driver.wait_for(lambda: driver.processes(head, MONITORS[tool]), 30, 0.5,
                                    f"the monitor of {tool}")
        self.largest = (0, 0)
        self.began, self.before = time.monotonic(), driver.processor_seconds(self.pids)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def _look(self):
        while not self.over.is_set():
            now = driver.memory(self.pids)
            self.largest = tuple(map(max, self.largest, now))
            self.over.wait(1)

    def end(self):
        """((resident, private), seconds on a processor, seconds)"""
        self.over.set()
        self.thread.join()
        return (self.largest, driver.processor_seconds(self.pids) - self.before,
                time.monotonic() - self.began)


def host_of(machine):
    return "ip-" + machine["PrivateIpAddress"].replace(".", "-")


def ends_of(bed):
    """{instance: when its end was asked for}"""
    return {n["id"]: n["times"]["shutting-down"] for n in bed.ps()["nodes"]
            if "shutting-down" in n["times"]}


class Bench(contest.Contest):
    def __init__(self, folder, args):
        super().__init__(folder, args.payload)
        self.idle, self.seconds, self.times = args.idle, args.seconds, args.times

    def file(self, key):
        made = files.for_both(files.scaling(NAME, WORKERS, IDLE_MINUTES), contest.KEY_NAME, key)
        return files.impatient(made, self.times) if self.times else made

    def one(self, tool):
        self.prepare()
        result = Result(tool)
        with getattr(self, tool)(self.file) as (up, down):
            up()
            head = driver.machines(self.ec2, NAME)[0]["InstanceId"]
            self.rest(result, head)
            self.work(result, head)
            down()
        print(line_of(result), file=sys.stderr, flush=True)
        return result

    def rest(self, result, head):
        """Nothing is to be done; the first seconds after the start are not counted."""
        time.sleep(6)
        watch = Watch(head, result.tool)
        time.sleep(self.idle)
        result.idle_memory, used, lasted = watch.end()
        result.idle_seconds = used / lasted * 60

    def work(self, result, head):
        asked = agent.Agent(head)
        watch = Watch(head, result.tool)
        asked.ask("demand", name="all", count=TASKS)
        began = asked.tasks("work", TASKS, self.seconds)
        heard = asked.event("all", "demand", 30)["at"]
        result.demand = heard and heard - began
        joins = driver.wait_for(lambda: (t := driver.registered(f"bed-{head}")) and
                                len(t) > WORKERS and t, PATIENCE, 0.2, "the last worker")
        result.joined = [at - began for at in joins[1:]]
        workers = {i["InstanceId"]: host_of(i) for i in driver.machines(self.ec2, NAME)[1:]}
        rows = asked.done("work", PATIENCE)
        counts = driver.ssh_counts(self.bed)
        result.sessions = [counts[ident][1] for ident in workers if ident in counts]
        result.done = max(ended for _, _, ended in rows) - began
        ends = driver.wait_for(lambda: (e := ends_of(self.bed)) and set(workers) <= set(e) and e,
                               PATIENCE, 0.1, "the end of the last worker")
        result.busy_memory, result.busy_seconds, result.busy_for = watch.end()
        for ident, host in workers.items():
            last = max((ended for where, _, ended in rows if where == host), default=None)
            if last:
                result.gone.append(ends[ident] - last - IDLE_MINUTES * 60)
        self.count(result, began, head)
        result.lines = [line for _, line in asked.lines if "(autoscaler" in line]
        result.alarms = sum(bool(FALSE_ALARM.search(line)) for line in result.lines)
        result.load_after = driver.load()
        asked.close()

    def count(self, result, began, head):
        rows = [r for r in driver.calls_since(began) if r["who"] == head]
        result.calls = dict(collections.Counter(row["action"] for row in rows))
        result.launches = [row["at"] - row["ms"] / 1000 - began for row in rows
                           if row["action"] in LAUNCHES]


# ---- telling ----


def line_of(result):
    return (f"{result.tool:5} demand {result.demand}, launches {shown(result.launches)}, joined "
            f"{shown(result.joined)}, done {result.done:.1f}, gone {shown(result.gone)}, sessions "
            f"{result.sessions}, idle {result.idle_memory}, {result.idle_seconds:.3f} s/min, busy "
            f"{result.busy_memory}, {result.busy_seconds:.2f} s in {result.busy_for:.0f} s, alarms "
            f"{result.alarms}, calls {result.calls}, load {result.load_before:.1f} to "
            f"{result.load_after:.1f}")


def shown(values):
    return ", ".join(f"{value:.1f}" for value in sorted(values)) or "none"


def mega(sizes):
    return f"{sizes[0] / 1e6:.1f} MB, {sizes[1] / 1e6:.1f} MB"


def rows_of(results):
    """[(what, function)] of the table."""
    def spread(work, digits=1):
        return contest.spread((work(r) for r in results), digits)

    first = results[0]
    return [
        ("the GCS knows of all tasks", spread(lambda r: r.demand, 2)),
        ("launch calls", " / ".join(shown(r.launches) for r in results)),
        ("workers joined", " / ".join(shown(r.joined) for r in results)),
        ("last worker joined", spread(lambda r: max(r.joined))),
        ("all tasks done", spread(lambda r: r.done)),
        ("a node's end is asked for, after its last task and the idle time: first",
         spread(lambda r: min(r.gone), 2)),
        ("the same: last", spread(lambda r: max(r.gone), 2)),
        ("API calls of the head until then", " / ".join(
            str(sum(r.calls.values())) for r in results)),
        ("ssh sessions per worker", str(max(n for r in results for n in r.sessions))),
        ("memory at rest (resident, private)", mega(first.idle_memory)),
        ("memory under load", mega(first.busy_memory)),
        ("processor seconds a minute at rest", spread(lambda r: r.idle_seconds, 3)),
        ("processor seconds from submit to last end", spread(lambda r: r.busy_seconds, 2)),
        ("false alarms told to the driver", " / ".join(str(r.alarms) for r in results)),
        ("load of the machine before, after", f"{first.load_before:.1f}, {first.load_after:.1f}"),
    ]


def table(results):
    tools = [tool for tool in TOOLS if any(r.tool == tool for r in results)]
    columns = [rows_of([r for r in results if r.tool == tool]) for tool in tools]
    lines = [f"| | {' | '.join(tools)} |", "|---|" + "---:|" * len(tools)]
    for rows in zip(*columns):
        lines.append(f"| {rows[0][0]} | {' | '.join(text for _, text in rows)} |")
    return "\n".join(lines)


def verdicts(results):
    """[(text, is_reached)]"""
    ours = [r for r in results if r.tool == "shoal"]
    rays = [r for r in results if r.tool == "ray"]
    found = []

    def goal(text, value, reached):
        found.append((text.format(value), reached))

    def median(rows, work):
        return statistics.median(work(r) for r in rows)

    if not ours:
        return found
    calls = max(len(r.launches) for r in ours)
    goal("{} launch call for all (goal: 1)", calls, calls == 1)
    late = median(ours, lambda r: min(r.launches) - r.demand)
    goal("launch call {:.2f} s after the GCS knew (goal: at most 0.5)", late, late <= 0.5)
    gone = max(max(r.gone) for r in ours)
    goal("the last idle node ends {:.2f} s after its time (goal: at most 1.5)", gone, gone <= 1.5)
    alarms = max(r.alarms for r in ours)
    goal("{} false alarms (goal: 0)", alarms, alarms == 0)
    if rays:
        ratio = median(rays, lambda r: max(r.joined)) / median(ours, lambda r: max(r.joined))
        goal("last worker joined {:.2f} times sooner than with Ray's monitor (goal: 2)", ratio,
             ratio >= 2)
        for which, name, least in ((0, "resident", 8), (1, "private", 15)):
            ratio = median(rays, lambda r, w=which: r.idle_memory[w]) / median(
                ours, lambda r, w=which: r.idle_memory[w])
            goal(f"{name} memory {{:.1f}} times less (goal: {least})", ratio, ratio >= least)
        ratio = median(rays, lambda r: r.idle_seconds) / median(ours, lambda r: r.idle_seconds)
        goal("{:.1f} times less processor time at rest (goal: 20)", ratio, ratio >= 20)
    return found


def report(results, verdict, args):
    paragraphs = "\n".join(f"- {text}{'' if reached else ' **missed**'}"
                           for text, reached in verdict)
    day, processors = time.strftime("%Y-%m-%d"), len(os.sched_getaffinity(0))
    seconds, program = args.seconds, " (the portable program)" if args.payload else ""
    return f"""# Demand in, machines out, {day}

`tests/bench/bench_autoscale.py`: {TASKS} tasks of one CPU and {seconds:g} s on a head without
workers, at most {WORKERS} workers, `idle_timeout_minutes: {IDLE_MINUTES}`; the same file and load
for both. Ray {ray.__version__} with its own monitor (autoscaler v2), and shoal's service{program};
one machine with {processors} processors that carries all nodes and the cloud. Seconds since the
submit, unless said otherwise; several rounds are divided by strokes, or a median with its range.
The driver is on the head; times of launches and ends are the cloud's, of joins the GCS's. At rest:
after the cluster is up and before there is any work. Of shoal, both processes count.

{table(results)}

{paragraphs}
"""


def run_all(args):
    results = []
    with tempfile.TemporaryDirectory(prefix="shoal-bench-") as folder:
        bench = Bench(folder, args)
        try:
            for turn in range(args.rounds):
                first = turn % len(args.tools)
                for tool in args.tools[first:] + args.tools[:first]:
                    results.append(bench.one(tool))
        finally:
            bench.bed.reset()
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--tools", type=lambda text: text.split(","), default=list(TOOLS))
    parser.add_argument("--idle", type=float, default=20.0)
    parser.add_argument("--seconds", type=float, default=35.0)
    parser.add_argument("--times", default="")
    parser.add_argument("--payload", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--read", type=pathlib.Path, nargs="+", default=[])
    args = parser.parse_args()
    results = [Result.read(row) for path in args.read for row in json.loads(path.read_text())]
    if not results:
        why = driver.client.missing()
        if why:
            print(why)
            return SKIPPED
        results = run_all(args)
    verdict = verdicts(results)
    text = report(results, verdict, args)
    print(text)
    if args.json:
        args.json.write_text(json.dumps([vars(r) for r in results], indent=1), encoding="ascii")
    if args.write:
        args.write.write_text(text, encoding="utf-8")
    return 1 if args.check and not all(reached for _, reached in verdict) else 0


if __name__ == "__main__":
    sys.exit(main())
