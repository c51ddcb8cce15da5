"""One planning decision, ours and Ray's, on the same clusters and demand, in one run.

usage: bench_plan.py [--repeats N] [--long] [--write FILE]

N nodes x M demands x S shapes; the load is described in plan_load.py. "all unlike" nodes are as the
GCS reports them, all different; of the others, equal nodes can be handled once.
The strategies `price` and `ray` are timed with the default number of steps. Ours is the best of at
least nine runs, with reused memory; Ray's planners run where they take seconds, with --long also
where they take minutes. Wherever v2 runs, the launches must be equal.

SHOAL_BUILD  the build directory (default: build in the repository)
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "diff"))

import cost_cases
import plan_cases
import plan_load
from reference import Reference

BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD") or REPOSITORY / "build").resolve()
PROBE = BUILD / "tests" / "plan_probe"
SKIPPED = 77

# (nodes, demands, shapes, all unlike, gangs) -> what must hold, in milliseconds
LIMITS = {
    (1_000, 10_000, 10, False, 0): 536_000 / 100_000,  # 100,000 times faster than v2's 536 s
    (10_000, 100_000, 100, False, 0): 10,
    (100_000, 1_000_000, 100, False, 0): 100,
    (10_000, 10_000, 10_000, False, 0): 500,
}
# By price; the default number of steps is PLAN_WORK_DEFAULT.
PRICE_LIMITS = {(1_000, 10_000, 10, False, 0): 100, (10_000, 100_000, 100, False, 0): 100,
                (10_000, 100_000, 100, True, 0): 100}
PRICE_STEPS = 20_000_000
ROUNDS = 5
BYTES_PER_NODE_MAX = 300
NODE_EXPONENT_MAX = 1.1
DEMAND_EXPONENT_MAX = 0.1
BESIDE_RAY = [(100, 1_000, 10, False, 0), (300, 1_000, 10, False, 0), (100, 0, 0, False, 100)]
LONG_BESIDE_RAY = [(1_000, 1_000, 10, False, 0), (1_000, 10_000, 10, False, 0)]
ALONE = [(1_000, 10_000, 10, True, 0), (1_000, 1_000, 100, False, 0),
         (10_000, 100_000, 100, True, 0), (100_000, 1_000_000, 100, True, 0),
         (10_000, 10_000, 10_000, True, 0), (1_000, 0, 0, False, 1_000)]
BY_NODES = [(1_000, 1_000_000, 100, False, 0), (10_000, 1_000_000, 100, False, 0),
            (100_000, 1_000_000, 100, False, 0)]
BY_DEMANDS = [(10_000, 10_000, 100, False, 0), (10_000, 100_000, 100, False, 0),
              (10_000, 1_000_000, 100, False, 0)]


class Row:
    def __init__(self, cell, repeats, options=()):
        self.cell = cell
        case = plan_load.make(*cell[:3], is_real=cell[3], gangs=cell[4])
        record = cost_cases.record(case)
        self.input = b"%d\n%s" % (len(record), record)
        self.options, self.repeats = options, repeats
        self.reference, self.best = Reference(), math.inf
        plan = self.measure()
        self.launches = plan_cases.parse_answer(case, "launch" + plan)["launch"]
        self.dollars = sum(plan_load.PRICES[name] * count / 1e6
                           for name, count in self.launches.items())
        self.ray = {}

    def measure(self):
        """Keeps the best of all measurements. The reference is measured before each."""
        self.reference.sample()
        done = subprocess.run([PROBE, "--time", str(self.repeats), *self.options],
                              stdout=subprocess.PIPE, check=True, input=self.input)
        words, _, plan = done.stdout.decode().partition("launch")
        best, median, reading, self.bytes = map(int, words.split())
        self.best = min(self.best, best / 1e6)
        self.median, self.reading = median / 1e6, reading / 1e6
        self.reference.sample()
        return plan

    def cost(self):
        """Milliseconds on the reference processor."""
        return self.best / self.reference.slowness()

    def ask_ray(self, repeats):
        """Ray in a process of its own: its garbage and imports are not ours."""
        code = ("import json, sys; sys.path[:0] = json.loads(sys.argv[1]); "
                "import plan_load, ray_plan; cell = json.loads(sys.argv[2]); "
                "case = plan_load.make(*cell[:3], is_real=cell[3], gangs=cell[4]); "
                "kinds = ['v2'] + ['v1'] * (not cell[4]); print(json.dumps({kind: min("
                "getattr(ray_plan, kind)(case) for _ in range(int(sys.argv[3]))) "
                "for kind in kinds}))")
        folders = [str(HERE), str(HERE.parent / "diff")]
        done = subprocess.run([sys.executable, "-c", code, json.dumps(folders),
                               json.dumps(self.cell), str(repeats)],
                              stdout=subprocess.PIPE, check=True)
        self.ray = json.loads(done.stdout.decode().splitlines()[-1])

    def name(self):
        nodes, demands, shapes, is_real, gangs = self.cell
        what = f"{gangs:,} gangs of 8" if gangs else f"{demands:,} x {shapes:,}"
        return f"{nodes:,} x {what}" + (", all unlike" if is_real else "")

    def cells(self):
        def beside(kind):
            if kind not in self.ray:
                return ["", ""]
            seconds = self.ray[kind][0]
            return [f"{seconds:.2f} s", f"{seconds * 1e3 / self.best:,.0f} x"]

        return [self.name(), f"{self.best:.3f}", f"{self.median:.3f}", f"{self.reading:.1f}",
                f"{self.bytes / self.cell[0]:.0f}", *beside("v1"), *beside("v2")]

    def over(self, limit):
        if limit and self.cost() > limit:
            yield (f"{self.name()}{' by price' if self.options else ''}: {self.best:.2f} ms on a "
                   f"processor {self.reference.slowness():.1f} times slower than the reference, "
                   f"at most {limit:.2f} there")

    def problems(self):
        yield from self.over(LIMITS.get(self.cell))
        if "v2" in self.ray and self.ray["v2"][1] != self.launches:
            yield f"{self.name()}: launches {self.launches}, Ray's v2 {self.ray['v2'][1]}"


def exponent(rows, place):
    """The slope of time over size on logarithmic paper, by least squares."""
    points = [(math.log(row.cell[place]), math.log(row.cost())) for row in rows]
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return (sum((x - mean_x) * (y - mean_y) for x, y in points)
            / sum((x - mean_x) ** 2 for x, _ in points))


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            names = [line.partition(":")[2].strip() for line in stream if "model name" in line]
    except OSError:
        names = []
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} processors"


def table(rows):
    heads = ["nodes x demands x shapes", "ours, best (ms)", "median", "reading the case",
             "bytes/node", "Ray v1", "v1 / ours", "Ray v2", "v2 / ours"]
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1)] + [row.cells() for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def price_table(rows, by_price):
    heads = ["nodes x demands x shapes", "`ray` (ms)", "`price` (ms)", "median", "bytes/node",
             "`ray` $/h", "`price` $/h"]
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1)]
    for row in by_price:
        ray = next(one for one in rows if one.cell == row.cell)
        lines.append([row.name(), f"{ray.best:.3f}", f"{row.best:.1f}", f"{row.median:.1f}",
                      f"{row.bytes / row.cell[0]:.0f}", f"{ray.dollars:,.2f}",
                      f"{row.dollars:,.2f}"])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def load_text():
    text = " ".join(plan_load.__doc__.split("\n\n")[1].split()) + (
        ' "All unlike" nodes carry a `node:` resource, an object store, labels and odd bytes of '
        "free memory.")
    return "\n  ".join(textwrap.wrap(text, 90))


def slowness(rows):
    found = [row.reference.slowness() for row in rows]
    return f"{min(found):.1f} to {max(found):.1f}"


def report(rows, by_price, slopes, loads, repeats):
    import ray

    return f"""\
# Planning, {datetime.date.today().isoformat()}

{table(rows)}

Growth: time ~ nodes^{slopes[0]:.2f} (1,000 to 100,000 nodes, 1,000,000 demands of 100 shapes) and
~ demands^{slopes[1]:.2f} (10,000 nodes, 10,000 to 1,000,000 demands of 100 shapes).

By price, {PRICE_STEPS:,} steps:

{price_table(rows, by_price)}

- **What is timed.** `plan_decide()` from a filled-in input to the finished plan with reasons,
  best and median of {repeats}, strategy `ray` but for the second table. "Reading the case" is
  the probe's own text format, once. Ray: `schedule()` of v2 and `get_nodes_to_launch()` of v1,
  best of a few with --long, without building their requests.
- **Same answers.** Wherever v2 ran, the launches were equal.
- **bytes/node** is all the memory a decision takes from its arena, divided by the nodes.
- **Load.** {load_text()}
- **Where.** {processor()}; {platform.system()} {platform.release()}; Python
  {platform.python_version()}, Ray {ray.__version__}. Load average {loads[0]:.2f} before,
  {loads[1]:.2f} after. The processor was {slowness(rows)} times slower than the reference of
  tests/bench/reference.py; limits are for the reference.

Repeat it with `python tests/bench/bench_plan.py` (`--long` for Ray's slow cells).
"""


def measure(args):
    rows = {}

    def row(cell):
        if cell not in rows:
            rows[cell] = Row(cell, args.repeats)
        return rows[cell]

    for cell in BESIDE_RAY + (LONG_BESIDE_RAY if args.long else []):
        row(cell).ask_ray(3 if args.long and cell in BESIDE_RAY else 1)
    for cell in [*LIMITS, *ALONE, *BY_NODES, *BY_DEMANDS]:
        row(cell)
    by_price = [Row(cell, args.repeats, ["--price", str(PRICE_STEPS)]) for cell in PRICE_LIMITS]
    for _ in range(ROUNDS - 1):  # a neighbour may have had the processor
        if not verdict(list(rows.values()), by_price):
            break
        for one in [*rows.values(), *by_price]:
            one.measure()
    return list(rows.values()), by_price


def growth(rows):
    """The exponents of nodes and of demands."""
    def chosen(cells):
        return [next(row for row in rows if row.cell == cell) for cell in cells]

    return exponent(chosen(BY_NODES), 0), exponent(chosen(BY_DEMANDS), 1)


def verdict(rows, by_price):
    slopes = growth(rows)
    problems = [problem for row in rows for problem in row.problems()]
    for row in by_price:
        problems.extend(row.over(PRICE_LIMITS[row.cell]))
    for row in rows:
        if row.cell[0] == 100_000 and row.bytes > BYTES_PER_NODE_MAX * row.cell[0]:
            problems.append(f"{row.name()}: {row.bytes / row.cell[0]:.0f} bytes per node")
    for what, slope, limit in (("nodes", slopes[0], NODE_EXPONENT_MAX),
                               ("demands", slopes[1], DEMAND_EXPONENT_MAX)):
        if slope > limit:
            problems.append(f"grows as {what}^{slope:.2f}, at most {limit}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15, help="of ours (default: 15)")
    parser.add_argument("--long", action="store_true", help="Ray's slow cells too: 10 minutes")
    parser.add_argument("--write", metavar="FILE", help="write the result as Markdown")
    args = parser.parse_args()
    options = BUILD / "meson-info" / "intro-buildoptions.json"
    if options.exists() and any(one["name"] == "b_sanitize" and one["value"] not in ("none", [])
                                for one in json.loads(options.read_text(encoding="utf-8"))):
        print("skipped: a build with sanitizers is not what users run")
        return SKIPPED
    if subprocess.run([sys.executable, "-c", "import ray"], stderr=subprocess.DEVNULL,
                      check=False).returncode != 0:
        print("skipped: Ray is not installed for this Python")
        return SKIPPED
    before = os.getloadavg()[0]
    rows, by_price = measure(args)
    text = report(rows, by_price, growth(rows), (before, os.getloadavg()[0]), args.repeats)
    print(text)
    if args.write:
        pathlib.Path(args.write).write_text(text, encoding="utf-8")
    problems = verdict(rows, by_price)
    for problem in problems:
        print(f"FAIL: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
