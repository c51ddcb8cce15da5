"""The Python side of a bed: brings it up and down, and speaks to its control socket.

    with client.up() as bed:
        bed.set(listing_lag=2)
        bed.fault("RunInstances", "throttle", count=3)
        bed.counts()["RunInstances"]
"""

import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

from . import docker, images, network, settings

READY_SECONDS = 240
LIFE_SECONDS = 4 * 3600
PROGRAMS = ("docker", "iptables", "ip", "debootstrap", "nsenter")


class BedError(Exception):
    """The bed cannot do the request; the text says why."""


class Bed:
    """A running bed."""

    def ask(self, verb, **fields):
        url = f"http://{settings.LOOPBACK}:{settings.CONTROL_PORT}/{verb}"
        request = urllib.request.Request(url, json.dumps(fields).encode(), method="POST")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as reply:
                return json.loads(reply.read())
        except urllib.error.HTTPError as error:
            said = json.loads(error.read())
            raise BedError(said.get("error", said)) from None
        except OSError as error:
            raise BedError(f"no bed answers ({error}); start one with: bed up") from None

    def alive(self):
        try:
            return bool(self.ask("ps"))
        except BedError:
            return False

    # ---- queries ----

    def ps(self):
        return self.ask("ps")

    def counts(self, who=None, clear=False):
        """Calls by action, of one caller ("laptop" or an instance) or of all."""
        total = collections.Counter()
        for row in self.ask("counts", clear=clear)["calls"]:
            if who in (None, row["who"]):
                total[row["action"]] += row["count"]
        return total

    def ssh(self, instance):
        return self.ask("ssh", instance=instance)

    def console(self, instance):
        return self.ask("logs", instance=instance)["console"]

    # ---- changes ----

    def fault(self, action, kind, **fields):
        return self.ask("fault", action=action, kind=kind, **fields)

    def launch_fault(self, kind, **fields):
        return self.ask("fault", action="", kind=kind, **fields)

    def capacity(self, left, type="*", zone="*"):
        return self.ask("fault", action="", kind="capacity", left=left, type=type, zone=zone,
                        count=0)

    def clear(self):
        return self.ask("clear")

    def mix(self, rate, seed=1, seconds=0.3):
        return self.ask("mix", rate=rate, seed=seed, seconds=seconds)

    def set(self, **fields):
        return self.ask("set", **fields)

    def deny(self, identity, action):
        return self.ask("deny", identity=identity, action=action)

    def expire(self, identity):
        return self.ask("expire", identity=identity)["expired"]

    def mint(self, **fields):
        return self.ask("mint", **fields)

    def machine_env(self, **names):
        """Environment variables of all processes on machines that are launched from now on."""
        settings.SHARED.mkdir(parents=True, exist_ok=True)
        return self.ask("env", **names)

    def truth(self):
        """Everything that exists, by kind, even if a listing would hide it."""
        return self.ask("truth")

    def remains(self, seconds=60):
        """Everything of any cluster that still exists, by kind; waits for instances that are
        shutting down."""
        end = time.monotonic() + seconds
        truth = self.truth()
        while any(r["state"] == "shutting-down" for r in truth["instances"]) and \
                time.monotonic() < end:
            time.sleep(0.05)
            truth = self.truth()
        truth["instances"] = [r["id"] for r in truth["instances"] if r["state"] != "terminated"]
        return {kind: things for kind, things in truth.items() if things}

    def notice(self, instance, **fields):
        return self.ask("notice", instance=instance, **fields)

    def node(self, instance, what):
        return self.ask("node", instance=instance, what=what)

    def reset(self, seconds=240):
        """Restore the state after `up`; return when no instance is left."""
        end = time.monotonic() + seconds
        self.ask("reset")
        while self.ask("wipe")["live"]:
            if time.monotonic() > end:
                raise BedError("instances do not end")
            time.sleep(0.05)

    # ---- context manager ----

    def __enter__(self):
        return self

    def __exit__(self, *_):
        down()


# ---- up and down ----


def environment(key=settings.ADMIN_KEY, secret=settings.ADMIN_SECRET, token=None):
    """Environment variables with which any AWS client uses the bed."""
    names = {"AWS_ENDPOINT_URL": settings.ENDPOINT, "AWS_ACCESS_KEY_ID": key,
             "AWS_SECRET_ACCESS_KEY": secret, "AWS_DEFAULT_REGION": settings.REGION,
             "AWS_REGION": settings.REGION, "AWS_EC2_METADATA_DISABLED": "true",
             "NO_PROXY": f"{settings.GATEWAY},{settings.LOOPBACK}"}
    return {**names, "AWS_SESSION_TOKEN": token} if token else names


def missing():
    """Why this machine cannot run a bed: a sentence, or None."""
    if os.geteuid() != 0:
        return "the bed needs root (containers, iptables)"
    lacking = [name for name in PROGRAMS if not shutil.which(name)]
    if lacking:
        return f"not installed: {' '.join(lacking)} (Debian: docker.io iptables debootstrap)"
    if not docker.answers() and not shutil.which("dockerd"):
        return "no Docker daemon answers, and there is no dockerd to start"
    return None


def ensure_docker():
    """A Docker daemon; if we started it, we must stop it."""
    if docker.answers():
        return
    pid = docker.start_daemon(settings.STATE / "dockerd.log")
    (settings.STATE / "dockerd.pid").write_text(str(pid), encoding="ascii")


def build(kinds=("base",)):
    """A Docker daemon with these images."""
    why = missing()
    if why:
        raise BedError(why)
    settings.STATE.mkdir(parents=True, exist_ok=True)
    ensure_docker()
    for kind in kinds:
        images.ensure(kind)


def up(kinds=("base",), seconds=LIFE_SECONDS):
    """Start a bed with these images ready, or use a running one of the same code."""
    build(kinds)
    bed = Bed()
    if bed.alive():
        if bed.ps().get("code") == settings.code():
            return bed
        down(keep_docker=True)
    log = (settings.STATE / "front.log").open("wb")
    child = subprocess.Popen([sys.executable, "-m", "cloud.server", str(seconds)],
                             cwd=settings.HERE, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                             start_new_session=True)
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        if child.poll() is not None:
            break
        if bed.alive():
            return bed
        time.sleep(0.2)
    tail = (settings.STATE / "front.log").read_text(errors="replace")[-2000:]
    raise BedError(f"the front did not come up:\n{tail}")


def stop_process(pid, seconds):
    """Ask a process to exit, then kill it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        end = time.monotonic() + seconds
        while time.monotonic() < end and running(pid):
            time.sleep(0.1)


def running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def down(keep_docker=False):
    """Remove the bed, also if its front has crashed: nothing of it is left."""
    place = settings.STATE / "front.json"
    if place.exists():
        pid = json.loads(place.read_text(encoding="ascii"))["pid"]
        if "cloud.server" in command_of(pid):
            stop_process(pid, 20)
        place.unlink(missing_ok=True)
    if docker.answers():
        docker.remove_all()
        docker.set_share(docker.USUAL)
    network.tear_down()
    shutil.rmtree(settings.STATE / "nodes", ignore_errors=True)
    place = settings.STATE / "dockerd.pid"
    if place.exists() and not keep_docker:
        pid = int(place.read_text(encoding="ascii"))
        if "dockerd" in command_of(pid):
            stop_process(pid, 20)
        place.unlink(missing_ok=True)
