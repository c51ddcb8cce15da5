#!/usr/bin/env python3
"""A plug-in for an invented cloud, Lagoon, written from docs/dev/plug-ins.md alone: virtual
machines over HTTP, a name and labels for each, and a store of texts with versions. No idempotency
tokens: the name of a machine is the token of its launch.
"""

import json
import os
import sys
import urllib.error
import urllib.request

URL = os.environ["LAGOON_URL"]
CLUSTER = ""
STATES = {"building": "pending", "up": "running", "deleting": "ending", "deleted": "gone"}


def ask(method, path, body=None, **headers):
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.load(reply), reply.headers


def machine(vm):
    return {"id": vm["id"], "state": STATES[vm["status"]], "token": vm["name"], "type": vm["size"],
            "private_ip": vm.get("address", ""), "public_ip": vm.get("address", ""),
            "tags": vm["labels"]}


def hello(request):
    global CLUSTER
    CLUSTER = request["cluster"]
    return {"version": 1, "name": "Lagoon", "can": ["atomic_swap", "tags"], "list_delay_s": 1}


def list_machines(_):
    return {"machines": [machine(vm) for vm in ask("GET", "/vms")[0]]}


def swap(request):
    stored, headers = ask("GET", f"/texts/{CLUSTER}")
    if stored == request["expect"] and stored != request["value"]:
        try:
            stored, headers = ask("PUT", f"/texts/{CLUSTER}", request["value"],
                                  **{"If-Match": headers["ETag"]})
        except urllib.error.HTTPError as error:
            if error.code != 412:
                raise
            stored, headers = ask("GET", f"/texts/{CLUSTER}")
    return {"value": stored, "now": int(headers["Lagoon-Time"])}


def launch(request):
    vms = [ask("POST", "/vms", {"name": request["token"], "labels": request["tags"],
                                "size": request["node_config"].get("InstanceType", "small"),
                                "user_data": request["user_data"]})[0]]
    try:
        for _ in range(request["count"] - 1):
            vms.append(ask("POST", "/vms", {k: vms[0][k] for k in ("name", "labels", "size")})[0])
    except urllib.error.HTTPError as error:
        print(f"only {len(vms)} of {request['count']}: {error}", file=sys.stderr)
    return {"machines": [machine(vm) for vm in vms]}


def each(method, request, body=None):
    missing = 0
    for vm in request["ids"]:
        try:
            ask(method, f"/vms/{vm}", body)
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            missing += 1
    return {"error": "not_found", "message": f"{missing} are unknown"} if missing else {}


OPERATIONS = {"hello": hello, "list": list_machines, "swap": swap, "launch": launch,
              "terminate": lambda request: each("DELETE", request),
              "tag": lambda request: each("PATCH", request, request["tags"])}
ERRORS = {409: "capacity", 402: "quota", 403: "denied", 400: "invalid", 429: "throttled"}
for line in sys.stdin:
    asked = json.loads(line)
    try:
        answer = OPERATIONS[asked["op"]](asked)
    except urllib.error.HTTPError as problem:
        answer = {"error": ERRORS.get(problem.code, "unknown"), "message": str(problem)}
    except OSError as problem:
        answer = {"error": "unknown", "message": str(problem)}
    print(json.dumps({"id": asked["id"], **answer}), flush=True)
