"""A driver on the head that executes requests, one per line.

Reads one JSON object per line. Answers the same way on a copy of its original standard error: Ray's
threads write to both streams and may write a line and its newline separately, which would break an
answer in between. Standard output has what any driver prints, including the autoscaler's messages.
Started by agent.py.
"""

import json
import os
import socket
import sys
import threading
import time

import ray
from ray.autoscaler.v2 import sdk
from ray.core.generated.common_pb2 import NodeDeathInfo
from ray.core.generated.gcs_pb2 import GcsNodeInfo
from ray.util.placement_group import placement_group, remove_placement_group

ANSWERS = os.dup(2)
os.dup2(1, 2)
LOCK = threading.Lock()
KEPT = {}   # name: a placement group
TASKS = {}  # name: tasks that have not finished
WORKS = {}  # options: the remote function with these options


def say(**row):
    with LOCK:
        os.write(ANSWERS, (json.dumps(row) + "\n").encode())


def work(seconds, until):
    """Run for this many seconds, and at least until that time."""
    began = time.time()
    time.sleep(max(seconds, until - began))
    return [socket.gethostname(), began, time.time()]


def settle(name, refs):
    """Report how each task finished. Anything but a result is a lost task."""
    rows = []
    for ref in refs:
        try:
            rows.append(ray.get(ref))
        except Exception as error:  # every exception counts as a lost task
            rows.append(f"{type(error).__name__}: {error}"[:600])
    TASKS.pop(name, None)
    say(name=name, what="done", at=time.time(), rows=rows)


# ---- requests ----


def remote_work(options):
    """Create each remote function once: its first use writes it to the GCS, which takes time."""
    key = json.dumps(options, sort_keys=True)
    if key not in WORKS:
        WORKS[key] = ray.remote(**{"num_cpus": 1, "max_retries": 0, **options})(work)
    return WORKS[key]


def do_tasks(name, count, seconds, at=0.0, until=0.0, **options):
    """Submit `count` tasks at once. Each runs for `seconds`, and at least until `until`."""
    remote = remote_work(options)
    while time.time() < at - 0.002:
        time.sleep(max(0.0, min(0.1, at - time.time() - 0.002)))
    while time.time() < at:
        pass
    began = time.time()
    refs = TASKS[name] = [remote.remote(seconds, until) for _ in range(count)]
    threading.Thread(target=settle, args=(name, refs), daemon=True).start()
    return {"submitted": began}


def do_sweep(at, tasks, seconds, until):
    """Submit single tasks, each at its own time: [[name, seconds after `at`, options]]."""
    made = {}
    for name, delay, options in sorted(tasks, key=lambda task: task[1]):
        made[name] = do_tasks(name, 1, seconds, at + delay, until, **options)["submitted"]
    return {"submitted": made}


def do_group(name, bundles, strategy, **options):
    made = placement_group(bundles, strategy=strategy, **options)
    KEPT[name] = made

    def wait():
        ready = made.wait(600)
        table = ray.util.placement_group_table(made)
        say(name=name, what="group", at=time.time(), ready=ready,
            nodes=sorted((table.get("bundles_to_node_id") or {}).values()))

    threading.Thread(target=wait, daemon=True).start()
    return {"submitted": time.time()}


def do_ungroup(name):
    remove_placement_group(KEPT.pop(name))
    return {}


def do_request(bundles):
    from ray.autoscaler.sdk import request_resources
    request_resources(bundles=bundles)
    return {"submitted": time.time()}


def do_release():
    """Forget all groups, requests and tasks."""
    for name in list(KEPT):
        do_ungroup(name)
    for refs in list(TASKS.values()):  # tasks that finish at the same time are removed from it
        for ref in refs:
            ray.cancel(ref, force=True)
    TASKS.clear()
    return do_request([])


def look():
    return sdk.get_cluster_resource_state(ray._private.worker.global_worker.gcs_client)


def waiting(state):
    return sum(row.count for row in state.pending_resource_requests) + \
        len(state.pending_gang_resource_requests)


def do_demand(name, count, seconds=20.0):
    """Report when the GCS knows this many requests."""

    def watch():
        end = time.time() + seconds
        while time.time() < end:
            if waiting(look()) >= count:
                say(name=name, what="demand", at=time.time())
                return
            time.sleep(0.02)
        say(name=name, what="demand", at=None)

    threading.Thread(target=watch, daemon=True).start()
    return {}


STATES = {0: "unspecified", 1: "running", 2: "dead", 3: "idle", 4: "draining"}


def deaths():
    """{node: why it died}"""
    nodes = ray._private.worker.global_worker.gcs_client.get_all_node_info().values()
    return {node.node_id.hex(): NodeDeathInfo.Reason.Name(node.death_info.reason)
            for node in nodes if node.state == GcsNodeInfo.DEAD}


def do_state():
    state, dead = look(), deaths()
    return {"waiting": waiting(state), "nodes": [
        {"id": node.node_id.hex(), "instance": node.instance_id, "state": STATES[node.status],
         "type": node.ray_node_type_name, "idle_ms": node.idle_duration_ms,
         "death": dead.get(node.node_id.hex())}
        for node in state.node_states]}


def main():
    ray.init(address="auto", logging_level="ERROR")
    say(what="ready", at=time.time())
    for line in sys.stdin:
        asked = json.loads(line)
        number, verb = asked.pop("number"), asked.pop("do")
        try:
            answer = globals()["do_" + verb](**asked)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        say(number=number, **answer)


main()
