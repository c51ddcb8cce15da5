"""Containers at Google with the methods of GceFront that ray_up_gce.py needs.

There is one per machine, and no bed at the same time. It runs in the calling process.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from front import CALLER_URL, SHOAL, TIMES, Done
from gce_front import ADC, GceFront

from cloud import client as bed_client
from cloud import docker, images
from cloud import settings as bed_settings
from gce import bed, containers, control, log
from gce import settings as google

IMAGE = "gce-ray"
PROGRAM = "/program"  # shoal's folder on a laptop


class Laptop:
    """A container on this host's network for each command; its home folder stays."""

    def __init__(self, front):
        self.folder, self.program = pathlib.Path(tempfile.mkdtemp(prefix="shoal-laptop-")), \
            front.program
        path = self.folder / ADC
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(front.control.do_refresh_token(google.ADMIN)), encoding="ascii")

    def file(self, name, content):
        text = content if isinstance(content, str) else json.dumps(content)
        (self.folder / name).write_text(text, encoding="utf-8")
        return f"/laptop/{name}"

    def run(self, *words, program, seconds=240, env=None):
        began = time.monotonic()
        names = {**containers.TRUST, "SHOAL_PAYLOADS": f"{PROGRAM}/payloads", "SHOAL_CALLER_URL":
                 CALLER_URL, "SHOAL_TEST_TIMES": TIMES, **(env or {}), "HOME": "/laptop",
                 "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            ["docker", "run", "--rm", "--label", bed_settings.LABEL, "--network", "host", "-v",
             f"{self.folder}:/laptop", "-v", f"{self.program}:{PROGRAM}:ro", "-v",
             f"{bed_settings.STATE}/bundle.crt:{containers.BUNDLE}:ro",
             *[w for n, v in names.items() for w in ("-e", f"{n}={v}")],
             *containers.host_words(), images.ensure(IMAGE), program, *map(str, words)],
            capture_output=True, text=True, timeout=seconds, check=False)
        return Done([str(w) for w in words], done.returncode, done.stdout, done.stderr,
                    time.monotonic() - began)


class Machine:
    """A running instance."""

    def __init__(self, row):
        self.container, self.name = f"gce-{row['id']}", row["name"]
        self.kind = row["labels"]["ray-node-type"]

    def run(self, *words, check=True):
        return docker.run("exec", self.container, *words, check=check)


class GceContainers:
    ray, python, shoal = "ray", "python3", f"{PROGRAM}/shoal"  # on the laptop
    cluster = staticmethod(GceFront.cluster)

    def __init__(self, ray=None, **tunables):
        bed_client.down(keep_docker=True)
        bed_client.build([IMAGE])
        self.program = pathlib.Path(tempfile.mkdtemp(prefix="shoal-program-"))
        (self.program / "payloads").mkdir()
        subprocess.run(["strip", "-s", "-o", self.program / "shoal", SHOAL], check=True)
        os.link(self.program / "shoal", self.program / "payloads" / "shoal-x86_64")
        _, _, self.cloud = bed.serve(IMAGE)
        self.path = bed_settings.STATE / "gce-calls.jsonl"
        self.path.unlink(missing_ok=True)
        self.cloud.log = log.Log(self.path, self.cloud)
        self.control = control.Control(self.cloud)
        self.control.do_set(**{**google.SHORT, **tunables})
        self.control.do_default_rules()

    def laptop(self):
        return Laptop(self)

    def alive(self, cluster):
        return [Machine(row) for row in self.control.do_truth()["instances"]
                if row["labels"].get("ray-cluster-name") == cluster
                and row["status"] in ("PROVISIONING", "STAGING", "RUNNING")]

    def head(self, cluster):
        found, = [m for m in self.alive(cluster) if m.kind == "head"]
        return found

    def preempt(self, instance):
        return self.control.do_preempt(instance)

    def calls(self):
        return log.read(self.path)

    def remains(self):
        truth = self.control.do_truth()
        return {kind: [r["name"] for r in rows] for kind, rows in truth.items()
                if kind not in ("mismatches", "firewalls") and rows}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cloud.machines.close()
        bed.close()
        shutil.rmtree(self.program)
