#!/usr/bin/env python3
"""Side by side on the stand-in for Google: from the command until a head and its workers are
registered in the GCS, all with real Ray; then down.

usage: gce_side_by_side.py [--tools bare,shoal,ray] [--workers 2] [--containers]

bare    the fewest API calls, plain ssh and `ray start` (gce_bare.py)
shoal   `shoal up`
ray     `ray up` of this Python's Ray (ray_up_gce.py)

The file, the delays of the stand-in and the machines are the same. The cluster is older than the
consistency horizon when `down` runs. With --containers, machines and laptops are containers and
Google's own agent runs in them; otherwise they are namespaces.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import time

import ray_up_gce
from gce_containers import GceContainers
from gce_front import ADC, GceFront

from cloud import settings as bed
from gce import settings as google

HERE = pathlib.Path(__file__).resolve().parent
OLD = 15  # seconds: longer than front.TIMES says
TOOLS = ("bare", "shoal", "ray")
KINDS = {"containers": GceContainers, "namespaces": GceFront}
AUTOSCALING = " --autoscaling-config=~/ray_bootstrap_config.yaml"


def calls(front, since=0):
    """({"laptop token": 1, ...}, total), of the calls after the first `since`."""
    found = collections.Counter()
    for row in front.calls()[since:]:
        found[("laptop " if row["who"] == "laptop" else "head ") + row["action"]] += 1
    return dict(found.most_common()), sum(found.values())


def joined(front):
    """Nodes that the head's GCS has registered so far."""
    log = "/tmp/ray/session_latest/logs/gcs_server.out"
    return int(front.head("real").run("grep", "-c", "Registering new node", log, check=False) or 0)


def bare(front, workers):
    file = ray_up_gce.cluster(front, workers)
    laptop = front.laptop()
    head = [c.replace(AUTOSCALING, " --no-monitor") for c in file["head_start_ray_commands"]]
    spec = laptop.file("bare.json", {
        "api": bed.ENDPOINT, "login": ADC, "project": google.PROJECT, "zone": "us-central1-a",
        "user": "ubuntu", "workers": workers,
        "node": file["available_node_types"]["head"]["node_config"], "head_commands": head,
        "worker_commands": file["worker_start_ray_commands"]})
    script = laptop.file("bare.py", (HERE / "gce_bare.py").read_text("utf-8"))

    def run(verb):
        done = laptop.run(script, spec, verb, program=front.python, seconds=900)
        assert done.status == 0, str(done)
        return json.loads(done.out)

    result = run("up")
    result["calls"], result["total"] = calls(front)
    since = len(front.calls())
    result.update(run("down"))
    result["down calls"], result["down total"] = calls(front, since)
    return result


def shoal(front, workers):
    laptop = front.laptop()
    file = laptop.file("cluster.yaml", ray_up_gce.cluster(front, workers))
    done = laptop.run("up", "-y", file, program=front.shoal, seconds=900)
    assert done.status == 0, str(done)
    result = {"all": round(done.seconds, 1)}
    assert joined(front) == workers + 1
    result["calls"], result["total"] = calls(front)
    time.sleep(OLD)
    result["calls of the next 15 s"] = calls(front, result["total"])[0]
    since = len(front.calls())
    done = laptop.run("down", "-y", file, program=front.shoal, seconds=900)
    assert done.status == 0, str(done)
    result["down"] = round(done.seconds, 1)
    result["down calls"], result["down total"] = calls(front, since)
    result["left"] = front.remains()
    return result


def ray(front, workers):
    result = ray_up_gce.Run(front, workers).measure()
    result["all"] = result.pop(f"worker {workers}")
    result["total"] = sum(result["calls"].values())
    return result


def measure(tool, workers, kind=GceFront, **delays):
    before = os.getloadavg()[0]
    with kind(ray=ray_up_gce.RAY, **{**ray_up_gce.DELAYS, **delays}) as front:
        result = globals()[tool](front, workers)
        return {"tool": tool, "load": before, **result, "load after": os.getloadavg()[0]}


def apart(tool, workers, machines):
    """The same in its own process: there is one cloud of containers at a time."""
    more = ["--containers"] if machines == "containers" else []
    done = subprocess.run([sys.executable, __file__, "--tools", tool, "--workers", str(workers),
                           *more], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--containers", action="store_true")
    words = parser.parse_args()
    tools = words.tools.split(",")
    machines = "containers" if words.containers else "namespaces"
    if len(tools) == 1:
        print(json.dumps(measure(tools[0], words.workers, KINDS[machines]), indent=1))
        return
    for tool in tools:
        print(json.dumps(apart(tool, words.workers, machines), indent=1), flush=True)


if __name__ == "__main__":
    main()
