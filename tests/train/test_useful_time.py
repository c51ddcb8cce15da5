"""Useful time: the share of a run in which replicas train, and do not repeat lost steps.

A node gets a notice every SHOAL_INTERVAL seconds (60), and its replacement joins, for SHOAL_MINUTES
minutes (20), on real Ray. The time that the trainer does not train is the sum of its pauses.
"""

import os
import time

import need_torch
import cluster as clusters
from test_train import EXAMPLES, drain, free, step_rows

MINUTES = float(os.environ.get("SHOAL_MINUTES", 20))
INTERVAL = float(os.environ.get("SHOAL_INTERVAL", 60))
NOTICE = 30    # seconds until the node ends
GOAL = 0.95


def lost_time(rows, begin, end, step_seconds):
    """Seconds of pauses and of repeated steps of rank 0."""
    rows = [row for row in rows if row["rank"] == 0 and begin <= row["time"] <= end]
    lost = 0
    for before, after in zip(rows, rows[1:]):
        if after["generation"] != before["generation"]:
            lost += after["time"] - before["time"] - step_seconds
            lost += max(0, before["step"] - after["step"] + 1) * step_seconds
    return lost


def test_useful_time(tmp_path):
    cluster = clusters.Cluster()
    try:
        addresses = [cluster.add_worker() for _ in range(3)]
        log = tmp_path / "steps"
        training = clusters.Training(
            cluster, EXAMPLES / "ddp.py", "-m", "3", "--min", "2", name="useful",
            args=["--epochs", "100000", "--step-seconds", "0.05", "--log", str(log)])
        assert training.wait_for_generation(1)["replicas"] == 3
        begin = time.time()
        notices = 0
        while time.time() < begin + MINUTES * 60 - INTERVAL / 2:
            next_at = begin + (notices + 0.5) * INTERVAL
            time.sleep(max(0, next_at - time.time()))
            drain(cluster, addresses.pop(0), NOTICE)
            addresses.append(cluster.add_worker())
            notices += 1
        time.sleep(max(0, begin + MINUTES * 60 - time.time()))
        end = time.time()
        rows = step_rows(log)
        mean = 3 * (end - begin) / sum(begin <= row["time"] <= end for row in rows)
        lost = lost_time(rows, begin, end, mean)
        useful = 1 - lost / (end - begin)
        restarts = len(training.events("generation")) - 1
        print(f"{notices} notices, {restarts} restarts in {(end - begin) / 60:.1f} minutes: useful "
              f"time {useful:.2%}, load {' '.join(open('/proc/loadavg').read().split()[:3])}")
        for pid, line in cluster.processes("shoal train -f"):
            if "nsenter" not in line:
                os.kill(pid, 2)
        training.wait(120)
        assert useful >= GOAL
        steps = [row["step"] for row in rows if row["rank"] == 0]
        assert steps == list(range(1, len(steps) + 1)), "a step was lost or repeated"
        free(cluster)
    finally:
        cluster.close()
