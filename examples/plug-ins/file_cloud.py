#!/usr/bin/env python3
"""A complete plug-in for Shoal (docs/dev/plug-ins.md). Its cloud is a JSON file, so it launches
nothing: replace the functions below with calls to your cloud.

    provider: {type: external, command: [./file_cloud.py], state: ~/cloud.json, limits: {big: 4}}
"""

import contextlib
import fcntl
import json
import os
import sys
import time
import uuid

ABILITIES = ["tokens", "atomic_swap", "tags", "stop"]
NEXT = {"pending": "running", "stopping": "stopped", "ending": "gone"}
ME = {}  # the request of hello


class Refused(Exception):
    """An error that certainly had no effect; its first argument is the kind of error."""


@contextlib.contextmanager
def cloud():
    """The contents of the file, locked; changes are written at the end."""
    path = os.path.expanduser(ME["provider"]["state"])
    with open(path + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        data = {"machines": [], "records": {}}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                data = json.load(file)
        yield data
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(data, file)
        os.replace(path + ".new", path)


def hello(request):
    ME.update(request)
    return {"version": 1, "name": "file cloud", "can": ME["provider"].get("can", ABILITIES),
            "zones": ["a", "b"]}


def list_machines(_):
    with cloud() as data:
        for machine in data["machines"]:
            machine["state"] = NEXT.get(machine["state"], machine["state"])
        return {"machines": data["machines"]}


def swap(request):
    with cloud() as data:
        if data["records"].get(ME["cluster"], "") == request["expect"]:
            data["records"][ME["cluster"]] = request["value"]
        return {"value": data["records"].get(ME["cluster"], ""), "now": int(time.time())}


def launch(request):
    kind = request["node_config"].get("InstanceType", "")
    tagged = "tags" in ME["provider"].get("can", ABILITIES)
    with cloud() as data:
        same = [m for m in data["machines"] if m["token"] == request["token"]]
        if same and "tokens" in ME["provider"].get("can", ABILITIES):
            return {"machines": same}
        used = sum(m["type"] == kind and m["state"] != "gone" for m in data["machines"])
        free = ME["provider"].get("limits", {}).get(kind, 1000) - used
        if free <= 0:
            raise Refused("capacity", f"no {kind or 'instance'} is free")
        made = [{"id": "m-" + uuid.uuid4().hex[:12], "state": "pending", "token": request["token"],
                 "type": kind, "zone": request.get("zone", "a"), "market": request["market"],
                 "private_ip": "127.0.0.1", "launched_at": int(time.time()),
                 "tags": request["tags"] if tagged else {}}
                for _ in range(min(free, request["count"]))]
        data["machines"] += made
        return {"machines": made}


def change(request):
    """terminate, stop, start, tag."""
    states = {"terminate": "ending", "stop": "stopping", "start": "pending"}
    with cloud() as data:
        found = [m for m in data["machines"] if m["id"] in request["ids"]]
        for machine in found:
            machine["tags"].update(request.get("tags", {}))
            if request["op"] in states and machine["state"] != "gone":
                machine["state"] = states[request["op"]]
    return {} if len(found) == len(request["ids"]) else {"error": "not_found"}


OPERATIONS = {"hello": hello, "list": list_machines, "swap": swap, "launch": launch}
for line in sys.stdin:
    asked = json.loads(line)
    try:
        reply = OPERATIONS.get(asked["op"], change)(asked)
    except Refused as refusal:
        reply = {"error": refusal.args[0], "message": refusal.args[1]}
    print(json.dumps({"id": asked["id"], **reply}), flush=True)
