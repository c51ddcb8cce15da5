"""`shoal validate` compared with Ray's own validation of the same 100-line file, in one run.

usage: bench_validate.py [--rounds N] [--write FILE]

SHOAL_BUILD       build directory (default: `build` in the repository)
SHOAL_RAY_PYTHON  a Python that has Ray (default: the one that runs this)

Exit status: 0 when shoal is at least 100 times faster and stays below 20 MB, 1 when not, 77 when
there is nothing to compare (no Ray, or a build with sanitizers).
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD") or REPOSITORY / "build").resolve()
SHOAL = BUILD / "src" / "cli" / "shoal"
RAY_PYTHON = os.environ.get("SHOAL_RAY_PYTHON") or sys.executable
RAY_UP = [RAY_PYTHON, str(HERE / "ray_up.py")]
RAY_COMMAND = [RAY_PYTHON, "-c", "from ray.scripts.scripts import main; main()"]

TIMES_FASTER, MEGABYTES_MAX = 100, 20
OURS_PER_ROUND = 10  # half of them before Ray's turn, half behind it
SKIPPED = 77
MB = 1_000_000


# ---- the file ----


def node_type(name, machine, most, spot=False):
    yield f"  {name}:"
    yield "    min_workers: 0"
    yield f"    max_workers: {most}"
    yield "    node_config:"
    yield f"      InstanceType: {machine}"
    if spot:
        yield "      InstanceMarketOptions:"
        yield "        MarketType: spot"
    yield "      BlockDeviceMappings:"
    yield "        - DeviceName: /dev/sda1"
    yield "          Ebs: {VolumeSize: 200, VolumeType: gp3}"


def hundred_lines():
    """A file as teams have them: several node types, a container, commands."""
    lines = """\
# Training and batch inference; see the wiki page of the team.
cluster_name: bench
max_workers: 40
upscaling_speed: 2.0
idle_timeout_minutes: 10
provider:
  type: aws
  region: us-west-2
  availability_zone: us-west-2a,us-west-2b
  cache_stopped_nodes: false
auth:
  ssh_user: ubuntu
docker:
  image: rayproject/ray:2.60.0-py311
  container_name: ray_container
  pull_before_run: true
  run_options:
    - --ulimit nofile=65536:65536
    - --shm-size=8g
file_mounts: {}
cluster_synced_files: []
rsync_exclude:
  - "**/.git"
  - "**/.git/**"
rsync_filter:
  - .gitignore
initialization_commands:
  - sudo apt-get update
  - sudo apt-get install -y nfs-common
setup_commands:
  - python -m pip install --upgrade pip
  - pip install torch transformers datasets
  - pip install wandb==0.17.0 'ray[data,train]==2.60.0'
  - mkdir -p /home/ubuntu/checkpoints
  - test -e /home/ubuntu/tools || git clone https://github.com/team/tools /home/ubuntu/tools
  - echo 'export TOKENIZERS_PARALLELISM=false' > /home/ubuntu/.training
metadata:
  team: search
  owner: training@example.com
head_setup_commands:
  - pip install 'boto3>=1.4.8' tensorboard
worker_setup_commands: []
head_node_type: head
available_node_types:
  head:
    node_config:
      InstanceType: m5.large
    resources: {CPU: 0}""".split("\n")
    lines += node_type("cpu", "m5.4xlarge", 10)
    lines += node_type("compute", "c5.4xlarge", 10, spot=True)
    lines += node_type("memory", "r5.2xlarge", 4)
    lines += node_type("gpu", "g5.xlarge", 8, spot=True)
    lines += node_type("training", "p4d.24xlarge", 8, spot=True)
    start = "ulimit -n 65536; ray start --object-manager-port=8076"
    lines += ["head_start_ray_commands:", "  - ray stop",
              f"  - {start} --head --port=6379 --autoscaling-config=~/ray_bootstrap_config.yaml",
              "worker_start_ray_commands:", "  - ray stop",
              f"  - {start} --address=$RAY_HEAD_IP:6379"]
    assert len(lines) == 100, len(lines)
    return "\n".join(lines) + "\n"


# ---- measuring ----


class Run:
    """One process from start to end: seconds of the clock and of the processor, peak memory."""

    def __init__(self, words):
        nowhere = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
        # Ray is not to be slowed down by a caller who does without compiled files.
        env = {name: value for name, value in os.environ.items()
               if name != "PYTHONDONTWRITEBYTECODE"}
        began = time.perf_counter()
        child = os.posix_spawnp(str(words[0]), list(map(str, words)), env, file_actions=nowhere)
        _, status, usage = os.wait4(child, 0)
        self.wall = time.perf_counter() - began
        self.user = usage.ru_utime
        self.peak = usage.ru_maxrss * 1024
        if status != 0:
            raise SystemExit(f"{' '.join(map(str, words))} failed")


def true_peak(words, source=os.devnull):
    """Peak memory of a process that is smaller than this one.

    The kernel carries the memory of the parent over into a child's ru_maxrss, so for a small child
    wait4 reports Python's. Instead the child is made to wait at the end of its work, on a full
    pipe, and its own high-water mark is read.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"\n" * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(writer, True)
    with open(source, "rb") as stdin, subprocess.Popen(
            words, stdin=stdin, stdout=writer, stderr=subprocess.DEVNULL) as child:
        os.close(writer)
        folder = pathlib.Path("/proc", str(child.pid))
        asleep = 0
        while asleep < 3 and child.poll() is None:
            time.sleep(0.02)
            state = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
            asleep = asleep + 1 if state == "S" else 0
        status = (folder / "status").read_text(encoding="utf-8")
        os.close(reader)
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


class Row:
    """The medians of some runs of one kind."""

    def __init__(self, name, runs, peak=None):
        self.name = name
        self.count = len(runs)
        self.wall = statistics.median(run.wall for run in runs)
        self.spread = (min(run.wall for run in runs), max(run.wall for run in runs))
        self.user = statistics.median(run.user for run in runs)
        self.peak = peak or max(run.peak for run in runs)

    def cells(self, base):
        return [self.name, str(self.count), milliseconds(self.wall),
                f"{milliseconds(self.spread[0])} to {milliseconds(self.spread[1])}",
                milliseconds(self.user), f"{self.peak / MB:.1f} MB", times(self.wall / base)]


def milliseconds(seconds):
    return f"{seconds * 1e3:.1f} ms" if seconds < 0.1 else f"{seconds * 1e3:.0f} ms"


def times(ratio):
    return f"{ratio:.0f} x" if ratio >= 10 else f"{ratio:.1f} x"


def measure(path, rounds):
    ours, theirs, version = [], [], []
    shoal = [SHOAL, "validate", path]
    for run in (shoal, [*RAY_UP, path], [*RAY_COMMAND, "--version"]):
        Run(run)  # once for the page cache, not counted
    for _ in range(rounds):
        ours += [Run(shoal) for _ in range(OURS_PER_ROUND // 2)]
        theirs.append(Run([*RAY_UP, path]))
        ours += [Run(shoal) for _ in range(OURS_PER_ROUND // 2)]
        version.append(Run([*RAY_COMMAND, "--version"]))
    return [Row("`shoal validate FILE`", ours, peak=true_peak(list(map(str, shoal)))),
            Row("Ray's `ray up FILE`, up to the first cloud call", theirs),
            Row("`ray --version`", version)]


def measure_inside(path):
    """Seconds of Ray's work alone, with its modules loaded: the first time, and again."""
    seconds = json.loads(output([*RAY_UP, "--repeat", "21", path]))
    return seconds[0], statistics.median(seconds[1:])


# ---- what is compared ----


def output(words):
    done = subprocess.run(list(map(str, words)), capture_output=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))} failed:\n{done.stderr}")
    return done.stdout


def check_same_work(path):
    """Both read the same configuration out of the file, so the same work is timed."""
    ours = json.loads(output([SHOAL, "config", "--show-secrets", "-o", "json", path]))
    theirs = json.loads(output([*RAY_UP, "--print", path]))
    if ours != theirs:
        raise SystemExit("shoal and Ray disagree about the file; tests/diff should say why")
    findings = json.loads(output([SHOAL, "validate", "-o", "json", path]))["findings"]
    if any(finding["code"] != "no-docker" for finding in findings):  # that a launch is refused
        raise SystemExit(f"the file is not clean: {findings}")


def build_options():
    path = BUILD / "meson-info" / "intro-buildoptions.json"
    options = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return {one["name"]: one["value"] for one in options}


def reason_to_skip():
    if build_options().get("b_sanitize", "none") not in ("none", []):
        return "a build with sanitizers is not what users run"
    words = [RAY_PYTHON, "-c", "import ray, yaml, boto3"]
    if subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        return "Ray is not installed for this Python (see SHOAL_RAY_PYTHON)"
    return None


# ---- telling ----


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            names = [line.partition(":")[2].strip() for line in stream if "model name" in line]
    except OSError:
        names = []
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} processors"


def table(rows, inside):
    base = rows[0].wall
    heads = ["", "runs", "wall, median", "wall, range", "user CPU", "peak memory", "wall, relative"]
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1)]
    lines += [row.cells(base) for row in rows]
    for name, seconds in (("Ray's work alone, first time in a process", inside[0]),
                          ("Ray's work alone, again in the same process", inside[1])):
        lines.append([name, "1" if seconds is inside[0] else "20", milliseconds(seconds), "", "",
                      "", times(seconds / base)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def report(rows, inside, loads):
    ours = " ".join(output([SHOAL, "version"]).split()[:2])
    ray = output([*RAY_COMMAND, "--version"]).strip().split()[-1]
    kind = build_options().get("buildtype", "unknown")
    today = datetime.date.today().isoformat()
    return f"""\
# Checking a 100-line cluster file, {today}

{table(rows, inside)}

The first three rows are whole processes, from start to end, alternating in one run after one
uncounted run of each. The last two leave Python's start and its imports out and are compared
with all of shoal's process: the fairest to Ray that can be had.

- **Same work.** Before the clock starts, `shoal config` and Ray's code must print the same
  configuration for the file, and shoal must find nothing wrong with it. `shoal validate` also
  looks for what Ray finds only later.
- **What Ray's rows do.** Import what `ray` imports, then what `ray up` does with a file before it
  calls AWS: `yaml.safe_load`, `prepare_config`, resources of the machine types,
  `validate_config`. The listing of EC2's machine types, a network call in `ray up`, is answered at
  once with six types.
- **Numbers.** Wall time around spawn and wait4; user CPU and Ray's memory from wait4 (the largest
  of the runs); shoal's memory from its own high-water mark in /proc, because wait4 would report
  the larger memory of the process that started it.
- **Where.** {processor()}; {platform.system()} {platform.release()};
  Python {platform.python_version()}, Ray {ray}, {ours} (build type {kind}).
- **Load average** (1 minute): {loads[0]:.2f} before, {loads[1]:.2f} after.

Repeat it with `meson test -C build --suite bench --verbose`, or
`python tests/bench/bench_validate.py`.
"""


def verdict(rows):
    ratio = rows[1].wall / rows[0].wall
    problems = []
    if ratio < TIMES_FASTER:
        problems.append(f"only {ratio:.0f} times faster than Ray, not {TIMES_FASTER}")
    if rows[0].peak > MEGABYTES_MAX * MB:
        problems.append(f"{rows[0].peak / MB:.1f} MB, more than {MEGABYTES_MAX}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="turns of Ray (default: 3)")
    parser.add_argument("--write", metavar="FILE", help="write the result as Markdown")
    args = parser.parse_args()
    reason = reason_to_skip()
    if reason:
        print(f"skipped: {reason}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "cluster.yaml")
        path.write_text(hundred_lines(), encoding="utf-8")
        check_same_work(path)
        before = os.getloadavg()[0]
        rows = measure(path, max(1, args.rounds))
        inside = measure_inside(path)
        text = report(rows, inside, (before, os.getloadavg()[0]))
    print(text)
    if args.write:
        pathlib.Path(args.write).write_text(text, encoding="utf-8")
    problems = verdict(rows)
    for problem in problems:
        print(f"FAIL: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
