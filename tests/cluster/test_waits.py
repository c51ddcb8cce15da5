"""No wait is longer than needed: each step begins within 250 ms of the event it waited for.

The times come from each instance's sshd, the cloud, the GCS log, and the events that each node
wrote during its setup. All use one clock, because the bed is one machine.
"""

import json
import re

import driver
import files

MOST_MS = 250
TRIES = 3  # how long another process of this machine may hold a CPU


def events(instance):
    """The events of a node's steps, in order."""
    said = driver.in_machine(instance, "sh", "-c", "find ~/.shoal -name events | xargs -r cat",
                             check=False)
    return [json.loads(line) for line in said.splitlines()]


def first(rows, words):
    return next((when for when, text in rows if words in text), None)


def gcs_up(cluster):
    """When the head's GCS began to listen, in ms."""
    log = driver.gcs_log(f"bed-{cluster.head}").read_text(errors="replace")
    for line in log.splitlines():
        if "listening on port" in line or "server started" in line:
            return driver.log_time(line) * 1000
    raise AssertionError(log[-2000:])


def waits(cluster):
    """[(what, ms)] of every wait that is visible from outside."""
    rows, found = {n["id"]: n for n in cluster.bed.ps()["nodes"]}, []
    there = gcs_up(cluster)
    for machine in cluster.machines():
        ident = machine["InstanceId"]
        name = driver.tag_of(machine, "ray-node-type")
        log = driver.ssh_times(cluster.bed, ident)
        able = max(first(log, "Server listening"), rows[ident]["times"]["running"])
        if name == "head":
            found.append((f"{name}: ssh", 1000 * (first(log, "Connection from") - able)))
        found.append((f"{name}: first session", 1000 * (
            first(log, "Starting session") - first(log, "Accepted publickey"))))
        before, ended = None, None
        for event in events(ident):
            if event["what"] == "began" and ended is not None:
                since = max(ended, there) if is_start(event) and name != "head" else ended
                found.append((f"{name}: {event.get('name', '')} after {before}",
                              event["at"] - since))
            if event["what"] in ("done", "skipped"):
                before, ended = event.get("name", ""), event["at"]
    return found


def is_start(event):
    return "start" in event.get("name", "")


def late(cluster):
    return [(what, round(ms)) for what, ms in waits(cluster) if ms > MOST_MS]


def asked_together(made, done):
    """Workers boot together with the head: one after the other would cost a boot."""
    asked = [n["times"]["pending"] for n in made.bed.ps()["nodes"]]
    assert max(asked) - min(asked) < 1.0, asked
    stamps = re.findall(r"^\S*?(\d+:\d+:\d+)", done.err, re.M)
    assert stamps, "lines in a pipe bear their time"


def test_nothing_waits_needlessly(cluster):
    """The instances answer ssh two seconds after the cloud reports them as running."""
    found = []
    for _ in range(TRIES):
        made = cluster(files.quick("waits", workers=1, setup_commands=["true", "sleep 0.3"]))
        made.bed.set(boot_delay=2)
        done = made.up()
        if not found:
            asked_together(made, done)
        assert any(what.startswith("worker: ") and "after" in what for what, _ in waits(made))
        found.append(late(made))
        made.down()
        if not found[-1]:
            return
    raise AssertionError(found)
