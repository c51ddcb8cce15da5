#!/usr/bin/env python3
"""What no launcher can save: a head and workers at Google with the fewest API calls, plain ssh and
`ray start`. Nothing is checked, kept or repeated.

usage: gce_bare.py SPEC up|down    (runs on a laptop; SPEC is a JSON file)

Prints one JSON object: seconds until each step was done.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.parse
import urllib.request

BEGAN = time.monotonic()
POOL = concurrent.futures.ThreadPoolExecutor(8)


class Api:
    def __init__(self, spec):
        self.base, self.zone = spec["api"], f"zones/{spec['zone']}"
        self.root = f"{self.base}/compute/v1/projects/{spec['project']}/"
        login = json.loads(pathlib.Path(os.environ["HOME"], spec["login"]).read_text("ascii"))
        form = {"grant_type": "refresh_token", **{
            k: login[k] for k in ("client_id", "client_secret", "refresh_token")}}
        with urllib.request.urlopen(f"{self.base}/token",
                                    urllib.parse.urlencode(form).encode()) as reply:
            self.token = json.load(reply)["access_token"]

    def __call__(self, method, path, body=None):
        request = urllib.request.Request(
            self.root + path, json.dumps(body).encode() if body else None, method=method,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)

    def done(self, method, path, body=None):
        operation = self(method, path, body)
        while operation["status"] != "DONE":
            operation = self("POST", f"{self.zone}/operations/{operation['name']}/wait")
        assert "error" not in operation, operation


def ssh(spec, address, commands):
    """One session; tried again until sshd accepts the key."""
    while True:
        done = subprocess.run(
            ["ssh", "-F", "none", "-i", f"{os.environ['HOME']}/bare", "-o", "BatchMode=yes", "-o",
             "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o",
             "LogLevel=ERROR", "-o", "ConnectTimeout=2", f"{spec['user']}@{address}",
             f"bash -lc '{' && '.join(commands)}'"],
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 255:
            assert done.returncode == 0, (done.stdout, done.stderr)
            return
        time.sleep(0.05)


def launch(spec, api):
    """[(internal, external address)], the head first."""
    key = pathlib.Path(os.environ["HOME"], "bare")
    if not key.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    public = key.with_suffix(".pub").read_text("ascii").strip()
    node = {**spec["node"], "metadata": {"items": [
        {"key": "ssh-keys", "value": f"{spec['user']}:{public}"}]},
        "networkInterfaces": [{"network": "global/networks/default", "accessConfigs": [
            {"type": "ONE_TO_ONE_NAT"}]}]}
    head = {**node, "name": "bare-head",
            "machineType": f"{api.zone}/machineTypes/{node['machineType']}"}
    bulk = {"count": spec["workers"], "minCount": 1, "namePattern": "bare-worker-#",
            "instanceProperties": node}
    jobs = [POOL.submit(api.done, "POST", f"{api.zone}/instances", head),
            POOL.submit(api.done, "POST", f"{api.zone}/instances/bulkInsert", bulk)]
    for job in jobs:
        job.result()
    rows = sorted(api("GET", f"{api.zone}/instances")["items"], key=lambda r: r["name"])
    nics = [r["networkInterfaces"][0] for r in rows if r["name"].startswith("bare-")]
    return [(n["networkIP"], n["accessConfigs"][0]["natIP"]) for n in nics]


def up(spec):
    times = {}

    def mark(name):
        times[name] = round(time.monotonic() - BEGAN, 1)

    machines = launch(spec, Api(spec))
    mark("machines")
    ssh(spec, machines[0][1], spec["head_commands"])
    mark("head")
    commands = [f"export RAY_HEAD_IP={machines[0][0]}", *spec["worker_commands"]]
    for job in [POOL.submit(ssh, spec, public, commands) for _, public in machines[1:]]:
        job.result()
    mark("all")
    return times


def down(spec):
    api = Api(spec)
    names = ["bare-head", *(f"bare-worker-{n + 1}" for n in range(spec["workers"]))]
    for job in [POOL.submit(api.done, "DELETE", f"{api.zone}/instances/{n}") for n in names]:
        job.result()
    return {"down": round(time.monotonic() - BEGAN, 1)}


def main():
    spec = json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8"))
    print(json.dumps(up(spec) if sys.argv[2] == "up" else down(spec)))


if __name__ == "__main__":
    main()
