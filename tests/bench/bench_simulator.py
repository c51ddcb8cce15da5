"""The simulator's speed, and Ray's v2 scheduler on decisions of the same trace, in one run.

usage: bench_simulator.py [--repeats N] [--decisions N] [--long] [--write FILE]

1,000 nodes, a decision every 5 s, demand that always changes (tests/sim/pace.c). Ours is the whole
simulation: cloud, Ray, events, decisions. Of Ray only the scheduler is timed, on some of the
decisions of the trace; its answers and our planner's must be equal there, launches and all.

Ours is repeated until one run is fast enough, for 10 to 20 s, because a busy machine has quiet
moments. If none is, and other programs used more than a quarter of a CPU in that time, the CPU time
is judged instead of the wall-clock time. Ratios are of CPU time.

SHOAL_BUILD  the build directory (default: build in the repository)
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import resource
import statistics
import subprocess
import sys
import textwrap
import time

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "diff"))

import bench_plan
import plan_cases
from reference import Reference

BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD") or REPOSITORY / "build").resolve()
PACE = BUILD / "tests" / "sim" / "pace"
PROBE = BUILD / "tests" / "plan_probe"
SKIPPED = 77

NODES, HOURS, TICK_S = 1_000, 2, 5
NODE_HOURS_PER_DECISION = NODES * TICK_S / 3600
PER_SECOND_MIN = 50_000
CHANGES_MIN = 6  # of every node in every hour
PATIENCE_S = 20
BUSY_SHARE = 0.25  # of one processor, by others
DECISIONS, LONG_DECISIONS = 10, 120
PLAN_REPEATS = 9


def output(*words, **options):
    """Without what Meson sets to find errors: memory that is filled twice costs a fifth."""
    env = {key: value for key, value in os.environ.items() if key != "MALLOC_PERTURB_"}
    return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, check=True,
                          text=True, env=env, **options).stdout


# ---- ours ----


def busy_seconds():
    """What all programs of the machine have had of its processors, or None."""
    try:
        with open("/proc/stat", encoding="ascii") as stream:
            user, nice, system, _idle, _wait, irq, soft, steal = map(
                int, stream.readline().split()[1:9])
    except (OSError, ValueError):
        return None
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(kind)[:2]) for kind in kinds)


class Pace:
    """Run the simulator until one run is fast enough; measure how busy the machine was."""

    def __init__(self, repeats):
        self.walls, self.works, self.traces = [], [], set()
        self.reference = Reference()
        began, busy, own = time.monotonic(), busy_seconds(), own_seconds()
        while len(self.walls) < repeats or not self.is_settled(time.monotonic() - began):
            self.run()
        spent = time.monotonic() - began
        self.others = None
        if busy is not None:
            self.others = max(0, busy_seconds() - busy - (own_seconds() - own)) / spent

    def is_settled(self, spent):
        if spent > PATIENCE_S / 2 and max(self.works) >= self.least():
            return True
        return max(self.walls) >= self.least() or spent > PATIENCE_S

    def least(self):
        return PER_SECOND_MIN / self.reference.slowness()

    def run(self):
        self.reference.sample()
        text = output(PACE, NODES, HOURS)
        found = re.match(r"(\d+) node-hours in ([\d.]+) s, ([\d.]+) s of them on a processor", text)
        self.node_hours, wall, work = map(float, found.groups())
        self.walls.append(self.node_hours / wall)
        self.works.append(self.node_hours / work)
        self.traces.add(re.search(r"trace (\w+)", text)[1])
        self.mean_changes = float(re.search(r"([\d.]+) changes per node", text)[1])
        self.restless = int(re.search(r"before (\d+) % of", text)[1])

    def judged(self):
        """What must reach the bound, and by what it was taken."""
        is_busy = self.others is not None and self.others > BUSY_SHARE
        if is_busy and max(self.walls) < self.least():
            return max(self.works), "processor time"
        return max(self.walls), "the clock"

    def problems(self):
        best, means = self.judged()
        if best < self.least():
            yield (f"{best:,.0f} node-hours per second by {means}, best of {len(self.walls)}, at "
                   f"least {PER_SECOND_MIN:,} on the reference processor; this one was "
                   f"{self.reference.slowness():.1f} times slower and other programs had "
                   f"{self.others or 0:.2f} processors")
        if len(self.traces) != 1:
            yield f"not the same trace in every run: {sorted(self.traces)}"


class Changes:
    """The least changes of any node in any hour: a run of its own, which is not timed."""

    def __init__(self):
        text = output(PACE, "--changes", NODES, HOURS)
        self.least = int(re.match(r"at least (\d+) changes", text)[1])
        self.trace = re.search(r"trace (\w+)", text)[1]

    def problems(self, traces):
        if self.least < CHANGES_MIN:
            yield f"a node changed {self.least} times in an hour, at least {CHANGES_MIN}"
        if {self.trace} != traces:
            yield f"the changes are of trace {self.trace}, the times of {sorted(traces)}"


# ---- decisions ----


class Decisions:
    """Some decisions of the trace, by our planner alone and by Ray's scheduler."""

    def __init__(self, count):
        lines = output(PACE, "--dump", count, NODES, HOURS)
        self.cases = [json.loads(line) for line in lines.splitlines()]
        self.waiting = [sum(one["count"] for one in case["demands"]) for case in self.cases]
        self.ask_ours()
        self.ask_ray(lines)

    def ask_ours(self):
        records = map(plan_cases.record, self.cases)
        text = "".join(f"{len(one)}\n{one.decode()}" for one in records)
        self.ours, self.our_answers = [], []
        for case, line in zip(self.cases,
                              output(PROBE, "--time", PLAN_REPEATS, input=text).splitlines()):
            times, _, plan = line.partition("launch")
            self.ours.append(int(times.split()[0]) / 1e9)
            self.our_answers.append(plan_cases.parse_answer(case, "launch" + plan))

    def ask_ray(self, lines):
        """Ray in a process of its own: its garbage and imports are not ours."""
        code = ("import json, sys; sys.path[:0] = json.loads(sys.argv[1]); import ray_plan\n"
                "for line in sys.stdin: print(json.dumps(ray_plan.v2_described(json.loads(line))))")
        folders = json.dumps([str(HERE), str(HERE.parent / "diff")])
        answers = output(sys.executable, "-c", code, folders, input=lines).splitlines()
        self.rays, self.ray_answers = zip(*map(json.loads, answers))

    def problems(self, count):
        if not len(self.cases) == len(self.ours) == len(self.rays) == count:
            yield (f"{count} decisions wanted, {len(self.cases)} written, {len(self.ours)} and "
                   f"{len(self.rays)} answered")
        for case, ours, rays in zip(self.cases, self.our_answers, self.ray_answers):
            if len(case["nodes"]) != NODES + 1 or not case["demands"]:
                yield f"{case['at']} ms: not every node is there, or nothing waits"
            for part in ours:
                if ours[part] != rays[part]:
                    yield f"{case['at']} ms: {part} is {ours[part]}, Ray's v2 {rays[part]}"


# ---- the result ----


def table(pace, decisions):
    ray_s, our_s = statistics.mean(decisions.rays), statistics.mean(decisions.ours)
    ray = NODE_HOURS_PER_DECISION / ray_s
    rows = [["", "node-hours/s", "beside Ray's decisions"], ["---", "---:", "---:"]]
    for name, speed in (
            ("Ray's v2 scheduler, decisions alone", ray),
            ("our planner on the same decisions, alone", NODE_HOURS_PER_DECISION / our_s),
            ("simulator, everything included, median", statistics.median(pace.works)),
            ("simulator, everything included, best", max(pace.works))):
        rows.append([name, f"{speed:,.0f}" if speed > 100 else f"{speed:.2f}",
                     "1 x" if speed == ray else f"{speed / ray:,.0f} x"])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def item(text):
    return textwrap.fill(" ".join(text.split()), 98, initial_indent="- ", subsequent_indent="  ",
                         break_long_words=False, break_on_hyphens=False)


def our_items(pace, changes):
    clock, work = pace.walls, pace.works
    yield f"""**Ours.** {pace.node_hours:,.0f} node-hours in one run, {len(clock)} runs. By the
        clock: best {max(clock):,.0f} node-hours per second, median
        {statistics.median(clock):,.0f}. By processor time: best {max(work):,.0f}, median
        {statistics.median(work):,.0f}. At least {PER_SECOND_MIN:,} are asked of the best run
        on the reference processor (tests/bench/reference.py; this one was
        {pace.reference.slowness():.1f} times slower); {pace.judged()[1]} was judged.
        The cloud, the model of Ray, every event and every decision are in it; the checks of the
        invariants are not."""
    yield f"""**The trace.** Four types at their limits. Every node changed at least {changes.least}
        times in every hour, the mean is {pace.mean_changes:.1f}; a change is a poll at which Ray
        reports the node with other room or another state than before. What waits was other than
        before at {pace.restless} % of the decisions."""


def decision_items(decisions):
    rays, ours, waiting = decisions.rays, decisions.ours, decisions.waiting
    yield f"""**Decisions.** {len(rays)}, spread over the run and over the ten minutes in which its
        load repeats itself; every node and {min(waiting):,} to {max(waiting):,} waiting requests
        in each. Ray: `schedule()` of v2, each once, {min(rays):.3f} to {max(rays):.3f} s,
        {statistics.mean(rays):.3f} s on average; building the request is not counted. Ours:
        `plan_decide()` on the same case with every node, best of {PLAN_REPEATS},
        {statistics.mean(ours) * 1e3:.3f} ms on average; inside the simulator the core leaves out
        nodes without room. One decision is worth {NODES:,} x {TICK_S} s =
        {NODE_HOURS_PER_DECISION:.2f} node-hours."""
    yield """**Same answers.** Launches, ends and requests that cannot be met must be equal in all
        of them. The cluster is at its limit, so nothing is launched there."""


def report(pace, changes, decisions, memory, loads):
    import ray

    others = "an unknown share" if pace.others is None else f"{pace.others:.2f} processors"
    where = f"""**Where.** {bench_plan.processor()}; {platform.system()} {platform.release()};
        Python {platform.python_version()}, Ray {ray.__version__}. Load average {loads[0]:.2f}
        before, {loads[1]:.2f} after; during our runs other programs had {others}."""
    items = [*our_items(pace, changes), *decision_items(decisions), where]
    return f"""\
# The simulator, {datetime.date.today().isoformat()}

{NODES:,} nodes, {HOURS} hours, a decision every {TICK_S} s; seconds of processor time:

{table(pace, decisions)}

What a core takes, and one decision with 1,000,000 requests of ten shapes waiting:

```
{memory}
```

{chr(10).join(map(item, items))}

Repeat it with `python tests/bench/bench_simulator.py` (`--long` for {LONG_DECISIONS} decisions).
"""


def reason_to_skip():
    options = BUILD / "meson-info" / "intro-buildoptions.json"
    if options.exists() and any(one["name"] == "b_sanitize" and one["value"] not in ("none", [])
                                for one in json.loads(options.read_text(encoding="utf-8"))):
        return "a build with sanitizers is not what users run"
    if subprocess.run([sys.executable, "-c", "import ray"], stderr=subprocess.DEVNULL,
                      check=False).returncode != 0:
        return "Ray is not installed for this Python"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15, help="of ours, at least (default: 15)")
    parser.add_argument("--decisions", type=int, default=DECISIONS,
                        help=f"for Ray (default: {DECISIONS})")
    parser.add_argument("--long", action="store_true", help=f"{LONG_DECISIONS} decisions for Ray")
    parser.add_argument("--write", metavar="FILE", help="write the result as Markdown")
    args = parser.parse_args()
    reason = reason_to_skip()
    if reason:
        print(f"skipped: {reason}")
        return SKIPPED
    before = os.getloadavg()[0]
    count = LONG_DECISIONS if args.long else args.decisions
    pace, changes = Pace(args.repeats), Changes()
    decisions = Decisions(count)
    memory = output(PACE, "--memory", 100_000).strip()
    text = report(pace, changes, decisions, memory, (before, os.getloadavg()[0]))
    print(text)
    if args.write:
        pathlib.Path(args.write).write_text(text, encoding="utf-8")
    problems = [*pace.problems(), *changes.problems(pace.traces), *decisions.problems(count)]
    for problem in problems:
        print(f"FAIL: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
