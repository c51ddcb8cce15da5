"""Record `shoal train` on real Ray: a node joins, and another gets a spot notice.

usage: sudo SHOAL_BUILD=build SHOAL_TRAIN_PYTHON=venv/bin/python tests/train/record_train.py OUT.svg

Two raylets run at first. When the job has trained for some seconds, a third one joins; later the
first one is drained as after a notice of 30 s. Fails unless the job completes with 2, 3 and 2
replicas.
"""

import importlib.util
import json
import os
import pathlib
import sys
import threading
import time

import cluster as clusters
from test_train import EXAMPLES, drain

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 5  # of training before each change
NOTICE_SECONDS = 30
SCRIPT = ["--epochs", "14", "--step-seconds", "0.02"]
SIZES = [2, 3, 2]


def recorder():
    spec = importlib.util.spec_from_file_location("record", REPOSITORY / "tools" / "record.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sizes(cluster):
    """The number of replicas of each generation that made a step."""
    log = cluster.home / ".shoal" / "train" / "ddp" / "events.jsonl"
    events = map(json.loads, log.read_text().splitlines()) if log.exists() else ()
    return [event["replicas"] for event in events if event["event"] == "generation"]


def wait_for_size(cluster, count):
    deadline = time.time() + 120
    while len(sizes(cluster)) < count and time.time() < deadline:
        time.sleep(0.1)
    time.sleep(SECONDS)


def change_nodes(cluster):
    wait_for_size(cluster, 1)
    cluster.add_worker()
    wait_for_size(cluster, 2)
    drain(cluster, "127.0.0.2", NOTICE_SECONDS)


def main(out):
    out = str(pathlib.Path(out).resolve())
    cluster = clusters.Cluster(workers=2)
    try:
        os.environ.update(cluster.env, TERM="xterm-256color")
        changes = threading.Thread(target=change_nodes, args=[cluster], daemon=True)
        changes.start()
        words = ["-f", "ddp.py", "-m", "3"]
        status = recorder().main([
            out, "--columns", "116", "--title", " ".join(["shoal train", *words, "--", *SCRIPT]),
            "--note", "Not a cloud: real Ray 2.60.0, the head and three workers as raylets on one "
            f"machine with {os.cpu_count()} cores at load {os.getloadavg()[0]:.0f}, torch on CPUs.",
            "--", *cluster.inside(["env", "-C", str(EXAMPLES), clusters.SHOAL, "train", *words,
                                   "--python", clusters.PYTHON, "--", *SCRIPT])])
        print("replicas:", sizes(cluster))
        return status or sizes(cluster) != SIZES
    finally:
        cluster.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
