#!/usr/bin/env python3
"""Ray's own launcher, unmodified, on the stand-in for Google: one head and workers, up and down.

usage: ray_up_gce.py [--workers 2] [--v1] [--containers] [--set insert=6 ...]

Prints one JSON object: seconds of each step, API calls by caller and method, the load before. Ray
is the one of this Python.
"""

import argparse
import collections
import json
import os
import pathlib
import sys
import time

from front import wait_for
from gce_containers import GceContainers
from gce_front import GceFront

# Guesses, for nothing here was measured at Google. Ray ends in a traceback if its new service
# account is not known at once.
DELAYS = {"insert": 6.0, "change": 1.0, "delete": 12.0, "boot": 0.1, "account_lag": 0.0,
          "iam_lag": 0.0}
RAY = pathlib.Path(sys.executable).parent / "ray"
START = "--object-store-memory 80000000 --disable-usage-stats"


def cluster(front, workers):
    file = front.cluster("real", workers)
    head = (f"ray start --head --port=6379 --autoscaling-config=~/ray_bootstrap_config.yaml "
            f"--include-dashboard=false {START}")
    return {**file, "head_start_ray_commands": ["ray stop", head], "worker_start_ray_commands": [
        "ray stop", f"ray start --address=$RAY_HEAD_IP:6379 {START}"]}


class Run:
    """One cluster, from `ray up` to `ray down`."""

    def __init__(self, front, workers=2, version=2):
        self.front, self.workers = front, workers
        self.laptop = front.laptop()
        self.env = {"RAY_UP_enable_autoscaler_v2": str(version - 1)}
        self.file = self.laptop.file("cluster.yaml", cluster(front, workers))

    def ray(self, *words, seconds=600):
        return self.laptop.run(*words, program=self.front.ray, seconds=seconds, env=self.env)

    def up(self):
        done = self.ray("up", "-y", "--no-config-cache", self.file)
        assert done.status == 0, str(done)
        return done

    def nodes(self):
        """How many nodes the head's GCS has registered so far."""
        log = "/tmp/ray/session_latest/logs/gcs_server.out"
        return int(self.front.head("real").run("grep", "-c", "Registering new node", log,
                                               check=False) or 0)

    def measure(self):
        began = time.monotonic()
        result = {"load": os.getloadavg()[0]}

        def mark(name):
            result[name] = round(time.monotonic() - began, 1)

        self.up()
        mark("up")
        for number in range(self.workers):
            wait_for(lambda: self.nodes() >= 2 + number, 600, 0.5, "a worker")
            mark(f"worker {number + 1}")
        result["calls"] = self.calls()
        began = time.monotonic()
        done = self.ray("down", "-y", self.file)
        assert done.status == 0, str(done)
        mark("down")
        result["left"] = self.front.remains()
        return result

    def calls(self):
        found = collections.Counter()
        for row in self.front.calls():
            who = "laptop" if row["who"] == "laptop" else "head"
            found[f"{who} {row['action']}"] += 1
        return dict(found.most_common())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--v1", action="store_true")
    parser.add_argument("--containers", action="store_true", help="containers as machines")
    parser.add_argument("--set", nargs="*", default=[])
    words = parser.parse_args()
    delays = {**DELAYS, **{k: float(v) for k, v in (w.split("=") for w in words.set)}}
    kind = GceContainers if words.containers else GceFront
    with kind(ray=RAY, **delays) as front:
        print(json.dumps(Run(front, words.workers, 1 if words.v1 else 2).measure(), indent=1))


if __name__ == "__main__":
    main()
