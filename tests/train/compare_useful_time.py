"""Useful time of Ray Train with the notices of test_useful_time.py, to compare.

    SHOAL_MINUTES=20 SHOAL_INTERVAL=60 python compare_useful_time.py

A node gets a notice every SHOAL_INTERVAL seconds, and its replacement joins at once. Time is lost
while rank 0 makes no step for more than a second, and while it repeats steps. Prints one line and
asserts nothing. The script is examples/ray_train.py, which saves when it sees a notice.
"""

import os
import pathlib
import signal
import statistics
import subprocess
import time

import cluster as clusters
from compare_pauses import REPOSITORY, Steps, tree
from test_train import drain
from test_useful_time import INTERVAL, MINUTES, NOTICE

PAUSE = 1  # seconds without a step


def start(cluster, log):
    argv = [clusters.PYTHON, str(REPOSITORY / "examples" / "ray_train.py"), "--storage",
            str(pathlib.Path(cluster.folder.name, "storage")), "--workers", "2", "3",
            "--steps", "1000000", "--log", str(log), "--step-seconds", "0.05"]
    out = open(pathlib.Path(cluster.folder.name, "ray-train.out"), "w")
    return subprocess.Popen(cluster.inside(argv), env=cluster.env, stdout=out,
                            stderr=subprocess.STDOUT)


def give_notices(cluster, addresses, begin):
    notices = 0
    while time.time() < begin + MINUTES * 60 - INTERVAL / 2:
        time.sleep(max(0, begin + (notices + 0.5) * INTERVAL - time.time()))
        drain(cluster, addresses.pop(0), NOTICE)
        addresses.append(cluster.add_worker())
        notices += 1
    time.sleep(max(0, begin + MINUTES * 60 - time.time()))
    return notices


def lost_time(rows, begin, end):
    """(seconds without a step, steps repeated, seconds of one step)"""
    rows = [row for row in rows if begin <= row[0] <= end]
    times = [row[0] for row in rows] + [end]
    step = statistics.median(b - a for a, b in zip(times, times[1:]))
    paused = sum(b - a - step for a, b in zip([begin, *times], times) if b - a > PAUSE)
    repeated = sum(max(0, a[1] - b[1] + 1) for a, b in zip(rows, rows[1:]))
    return paused, repeated, step


def main():
    cluster = clusters.Cluster()
    try:
        addresses = [cluster.add_worker() for _ in range(3)]
        steps = Steps(pathlib.Path(cluster.folder.name, "steps.ray"))
        run = start(cluster, steps.path)
        steps.wait_for_world(3, 0)
        begin = time.time()
        notices = give_notices(cluster, addresses, begin)
        end = time.time()
        paused, repeated, step = lost_time(steps.rows(), begin, end)
        useful = 1 - (paused + repeated * step) / (end - begin)
        load = " ".join(open("/proc/loadavg").read().split()[:3])
        print(f"Ray Train: {notices} notices in {(end - begin) / 60:.1f} minutes: useful time "
              f"{useful:.2%} ({paused:.0f} s paused, {repeated} steps of {step:.3f} s repeated), "
              f"load {load}")
        for pid in tree(run.pid):
            os.kill(pid, signal.SIGKILL)
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
