"""Containers at Google with the methods of GceFront that ray_up_gce.py needs.

There is one per machine, and no bed at the same time. It runs in the calling process.
"""

import json
import pathlib
import subprocess
import tempfile
import time

from front import Done
from gce_front import ADC, GceFront

from cloud import client as bed_client
from cloud import docker, images
from cloud import settings as bed_settings
from gce import bed, containers, control, log
from gce import settings as google

IMAGE = "gce-ray"


class Laptop:
    """A container on this host's network for each command; its home folder stays."""

    def __init__(self, front):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shoal-laptop-"))
        path = self.folder / ADC
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(front.control.do_refresh_token(google.ADMIN)), encoding="ascii")

    def file(self, name, content):
        (self.folder / name).write_text(json.dumps(content), encoding="utf-8")
        return f"/laptop/{name}"

    def run(self, *words, program, seconds=240, env=None):
        began = time.monotonic()
        names = {**containers.TRUST, **(env or {}), "HOME": "/laptop", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            ["docker", "run", "--rm", "--label", bed_settings.LABEL, "--network", "host", "-v",
             f"{self.folder}:/laptop", "-v", f"{bed_settings.STATE}/bundle.crt:{containers.BUNDLE}"
             ":ro", *[w for n, v in names.items() for w in ("-e", f"{n}={v}")],
             *containers.host_words(), images.ensure(IMAGE), program, *map(str, words)],
            capture_output=True, text=True, timeout=seconds, check=False)
        return Done([str(w) for w in words], done.returncode, done.stdout, done.stderr,
                    time.monotonic() - began)


class Head:
    def __init__(self, name):
        self.name = name

    def run(self, *words, check=True):
        return docker.run("exec", self.name, *words, check=check)


class GceContainers:
    ray = "ray"  # on the laptop
    cluster = staticmethod(GceFront.cluster)

    def __init__(self, ray=None, **tunables):
        bed_client.down(keep_docker=True)
        bed_client.build([IMAGE])
        _, _, self.cloud = bed.serve(IMAGE)
        self.path = bed_settings.STATE / "gce-calls.jsonl"
        self.path.unlink(missing_ok=True)
        self.cloud.log = log.Log(self.path, self.cloud)
        self.control = control.Control(self.cloud)
        self.control.do_set(**{**google.SHORT, **tunables})
        self.control.do_default_rules()

    def laptop(self):
        return Laptop(self)

    def head(self, cluster):
        rows = self.control.do_truth()["instances"]
        found, = [r for r in rows if r["labels"].get("ray-node-type") == "head"
                  and r["labels"]["ray-cluster-name"] == cluster]
        return Head(f"gce-{found['id']}")

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
