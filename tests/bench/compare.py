"""Two builds of Shoal in one alternating run: processor time, peak memory, size of the program.

usage: compare.py OLD_BUILD NEW_BUILD [--rounds N]

Both are release builds (meson setup --buildtype=release). Each round runs every job with the old
build and then with the new one; every second round the new one is first. Time is user and system
time of the whole process; of `validate`, the mean of 20 processes. Peak memory is that of a run of
its own (bench_validate.true_peak()). Needs botocore, but not Ray.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "diff"))

import bench_listing
import bench_validate
import cost_cases
import plan_load

VALIDATIONS = 20
NOTICED = 0.05  # a larger change of a median is marked
# Runs a command N times: seconds.
HELPER = """
import os, sys
times, source = int(sys.argv[1]), sys.argv[2]
seconds = 0
for _ in range(times):
    files = [(os.POSIX_SPAWN_OPEN, 0, source, os.O_RDONLY, 0),
             (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(sys.argv[3], sys.argv[3:], os.environ, file_actions=files)
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"{sys.argv[3:]} failed")
    seconds += usage.ru_utime + usage.ru_stime
print(seconds)
"""


class Job:
    """A command of both builds; `program` is relative to the build."""

    def __init__(self, name, program, *words, source=os.devnull, times=1):
        self.name, self.program, self.words = name, program, [str(word) for word in words]
        self.source, self.times = str(source), times
        self.seconds, self.peaks = {}, {}

    def run(self, build):
        words = [str(build / self.program), *self.words]
        done = subprocess.run([sys.executable, "-I", "-S", "-c", HELPER, str(self.times),
                               self.source, *words], stdout=subprocess.PIPE, check=True, text=True)
        self.seconds.setdefault(build, []).append(float(done.stdout) / self.times)
        self.peaks.setdefault(build, []).append(bench_validate.true_peak(words, self.source))


def record(folder, name, content):
    path = folder / name
    path.write_bytes(b"%d\n%s" % (len(content), content))
    return path


def jobs(folder):
    file = folder / "cluster.yaml"
    file.write_text(bench_validate.hundred_lines(), encoding="utf-8")
    case = cost_cases.record(plan_load.make(10_000, 100_000, 100, is_real=True, gangs=0))
    plan = record(folder, "plan", case)
    reply = record(folder, "reply", json.dumps({"op": "time", "body": bench_listing.listing(
        1_000)}).encode())
    probe, scale = "tests/plan_probe", "tests/scale_probe"
    return [
        Job("validate, 100 lines", "src/cli/shoal", "validate", file, times=VALIDATIONS),
        Job("plan, 10,000 nodes, 20 times", probe, "--time", 20, source=plan),
        Job("plan by price, 10,000 nodes, 5 times", probe, "--time", 5, "--price",
            20_000_000, source=plan),
        Job("listing of 1,000 instances", "tests/aws_reply_probe", source=reply),
        Job("GCS replies, 1,000 busy nodes, 200 polls", scale, 1000, 200, "--moving", 1000),
        Job("GCS replies, 5,000 busy nodes, 1,000 shapes, 40 polls", scale, 5000, 40, "--moving",
            5000, "--shapes", 1000),
        Job("simulator, 1,000 nodes, 2 hours", "tests/sim/pace", 1000, 2),
    ]


def size_of(build, folder):
    out = folder / "stripped"
    subprocess.run(["strip", "-s", "-o", out, build / "src" / "cli" / "shoal"], check=True)
    return out.stat().st_size


def cell(values, scale, digits):
    middle = statistics.median(values) / scale
    low, high = min(values) / scale, max(values) / scale
    return f"{middle:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"


def change(old, new):
    ratio = statistics.median(new) / statistics.median(old) - 1
    return f"{'**' if ratio > NOTICED else ''}{ratio * 100:+.1f} %{'**' if ratio > NOTICED else ''}"


def table(found, old, new):
    yield "| job | old, ms | new, ms | change | old, peak MB | new, peak MB | change |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for job in found:
        seconds, peaks = job.seconds, job.peaks
        yield (f"| {job.name} | {cell(seconds[old], 1e-3, 1)} | {cell(seconds[new], 1e-3, 1)} | "
               f"{change(seconds[old], seconds[new])} | {cell(peaks[old], 1e6, 1)} | "
               f"{cell(peaks[new], 1e6, 1)} | {change(peaks[old], peaks[new])} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    old, new = options.old.resolve(), options.new.resolve()
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        found = jobs(folder)
        for number in range(options.rounds):
            for job in found:
                for build in (old, new) if number % 2 == 0 else (new, old):
                    job.run(build)
        sizes = [size_of(build, folder) for build in (old, new)]
    print("\n".join(table(found, old, new)))
    print(f"\nMedians of {options.rounds} runs each, with the range. Program, stripped: "
          f"{sizes[0]:,} bytes, then {sizes[1]:,} ({(sizes[1] / sizes[0] - 1) * 100:+.1f} %). "
          f"Load {before:.1f} before, {os.getloadavg()[0]:.1f} after, {os.cpu_count()} processors.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
