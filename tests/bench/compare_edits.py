"""What `shoal up` and `ray up` run again after an edit of the cluster file.

usage: compare_edits.py [--tools shoal,ray] [--settle SECONDS]

One head and two workers with real Ray on the bed. Every setup and start command leaves a mark on
its node. After each edit: `up`, then SETTLE seconds for what a monitor does later; then the marks
and the instances are compared with those before. Prints a table; for Shoal it asserts what the edit
may touch. Needs the bed (docs/dev/bed.md), as root. SHOAL_BUILD names the build directory.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))
SKIPPED = 77

try:
    import boto3  # noqa: F401
    import moto  # noqa: F401
    import ray  # noqa: F401
except ImportError as missing:
    print(f"{missing}: skipped")
    sys.exit(SKIPPED)

import contest  # noqa: E402
import driver  # noqa: E402
import files  # noqa: E402
from driver import client  # noqa: E402

WORKERS = 2
SETTLE = 45
# What each edit may change on (the head, a worker): s = setup again, r = Ray started again,
# n = another instance. A changed command runs, but not the unchanged ones before it.
EDITS = {"nothing": ("", ""), "a mounted file": ("sr", "sr"), "max_workers": ("", ""),
         "a setup command of workers": ("", "r"), "the disk of the worker type": ("", "n")}


def content(key, done):
    """The cluster file after these edits."""
    made = files.for_both(files.quick("edits", WORKERS, file_mounts={"/home/ubuntu/sha": "sha"}),
                          contest.KEY_NAME, key)
    made["setup_commands"] = ["echo s >> ~/marks"]
    made["head_start_ray_commands"].insert(1, "echo r >> ~/marks")
    made["worker_start_ray_commands"].insert(1, "echo r >> ~/marks")
    made["max_workers"] = WORKERS + ("max_workers" in done)
    if "a setup command of workers" in done:
        made["worker_setup_commands"] = ["echo new"]
    if "the disk of the worker type" in done:
        disk = {"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 150}}
        made["available_node_types"]["worker"]["node_config"]["BlockDeviceMappings"] = [disk]
    return made


class Cluster:
    def __init__(self, run):
        self.run = run

    def marks(self):
        """{instance: (is head, marks)}"""
        found = {}
        for row in driver.machines(self.run.ec2, "edits"):
            tags = {t["Key"]: t["Value"] for t in row.get("Tags", [])}
            text = driver.in_machine(row["InstanceId"], "cat", "marks", check=False)
            found[row["InstanceId"]] = (tags.get("ray-node-type") == "head",
                                        "".join(text.split()))
        return found

    def wait(self):
        """All nodes are there and have started Ray, and nothing changes any more."""
        before, since, end = None, time.monotonic(), time.monotonic() + contest.PATIENCE
        while time.monotonic() < end:
            now = self.marks()
            if now != before:
                before, since = now, time.monotonic()
            ready = len(now) == WORKERS + 1 and all(m.endswith("r") for _, m in now.values())
            if ready and time.monotonic() - since >= self.run.settle:
                return now
            time.sleep(2)
        raise AssertionError(f"not ready: {self.marks()}")


def effect(before, after):
    """(what was done to the head, what was done to workers), each as sorted letters."""
    done = {True: set(), False: set()}
    for ident, (is_head, marks) in after.items():
        if ident not in before:
            done[is_head].add("n")
        else:
            done[is_head].update(marks[len(before[ident][1]):])
    return tuple("".join(sorted(done[side], key="srn".index)) for side in (True, False))


class Run(contest.Contest):
    settle = SETTLE

    def tool(self, name):
        """[(edit, effect, seconds of `up`)]"""
        self.prepare()
        edits, rows = [], []
        write = self.writer(name)
        with getattr(self, name)(lambda key: content(key, edits)) as (up, down):
            write(edits, "0")
            up()
            cluster = Cluster(self)
            before = cluster.wait()
            for edit in EDITS:
                edits.append(edit)
                write(edits, str(len(edits)) if edit == "a mounted file" else None)
                began = time.monotonic()
                up()
                took = time.monotonic() - began
                after = cluster.wait()
                rows.append((edit, effect(before, after), took))
                print(name, rows[-1], f"load {driver.load():.1f}", file=sys.stderr, flush=True)
                before = after
            down()
        return rows

    def writer(self, name):
        """Writes the cluster file and the mounted file where the tool reads them."""
        def for_shoal(edits, sha):
            here = self.laptop.here
            if sha:
                (here / "sha").write_text(sha)
            (here / "c.yaml").write_text(json.dumps(content(self.folder / "key", edits)))

        def for_ray(edits, sha):
            made = content("/laptop/key", edits)
            made["file_mounts"] = {"/home/ubuntu/sha": "/laptop/sha"}
            if sha:
                (self.folder / "sha").write_text(sha)
            (self.folder / "r.yaml").write_text(json.dumps(made))
        return for_shoal if name == "shoal" else for_ray


TEXT = {"": "nothing", "s": "setup", "r": "Ray", "sr": "setup, Ray", "n": "replaced",
        "sn": "setup, replaced", "rn": "Ray, replaced", "srn": "setup, Ray, replaced"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", type=lambda text: text.split(","), default=["shoal", "ray"])
    parser.add_argument("--settle", type=float, default=SETTLE)
    args = parser.parse_args()
    why = client.missing()
    if why:
        print(why)
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="shoal-edits-") as folder:
        run = Run(folder)
        run.settle = args.settle
        try:
            results = {tool: run.tool(tool) for tool in args.tools}
        finally:
            run.bed.reset()
    print("| edit | tool | head | workers | `up` returned after |\n|---|---|---|---|---:|")
    for tool, rows in results.items():
        for edit, (head, workers), took in rows:
            print(f"| {edit} | {tool} | {TEXT[head]} | {TEXT[workers]} | {took:.1f} s |")
    print(f"load {os.getloadavg()[0]:.1f}")
    for edit, found, _ in results.get("shoal", []):
        assert found == EDITS[edit], (edit, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
