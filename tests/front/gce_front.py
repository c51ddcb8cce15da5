"""A front at Google: whole clusters on the stand-in for its Compute API, without containers.

    with GceFront() as front:
        laptop = front.laptop("alice")
        laptop("up", "-y", laptop.file("cluster.yaml", front.cluster("demo", workers=2)))

As Front, with these differences. Real: Google's names with TLS (laptops and machines have them in
/etc/hosts and trust the CA), so that clients need no other endpoint; plain HTTP at CALLER's host,
port 4566, too. A laptop's user is an owner of the project, by `gcloud auth application-default
login`. Stand-in: google-guest-agent (machine/guest-agent; users, keys, host keys and startup-script
come from the metadata server). Every verb of tests/gce (docs/dev/gce.md) is a method.

SHOAL_GCE_DOCUMENTS  the folder `documents` of docs/dev/gce.md
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "gce"))

from gce import discovery  # noqa: E402
from gce import settings as google  # noqa: E402
from gce import tls  # noqa: E402

import front  # noqa: E402

ENDED = ("TERMINATED",)  # stopped; a deleted instance has no state
FAMILY = "projects/debian-cloud/global/images/family/debian-12"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"  # of a machine; it has the CA
ADC = ".config/gcloud/application_default_credentials.json"


def missing():
    """Why no front at Google can run here: a sentence, or None."""
    try:
        discovery.compute_document(discovery.UNDATED)
    except (ImportError, FileNotFoundError) as error:
        return str(error)
    return front.missing()


class GceLaptop(front.Laptop):
    def credentials(self, keys):
        path = self.home / ADC
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(keys), encoding="ascii")
        path.chmod(0o600)
        return {name: str(self.front.folder / "ca.pem") for name in tls.TRUST}

    def mounts(self):
        return f"mount --bind {self.front.folder}/hosts /etc/hosts;"


class GceMachine(front.Machine):
    @property
    def name(self):
        return self.row["name"]

    @property
    def state(self):
        return self.row["status"]

    @property
    def kind(self):
        return self.tag("ray-node-type")

    def tag(self, key):
        """A label, or in the metadata (wire/gcp_instance.h)."""
        items = {item["key"]: item["value"] for item in self.row["metadata"].get("items", [])}
        return json.loads(items.get("shoal-tags", "{}")).get(key, self.row["labels"].get(key))


class GceFront(front.Front):
    """With `ray`, the path of Ray's own command, machines have Ray itself instead of a stand-in."""

    kind, laptop_class, delays = "gce", GceLaptop, google.SHORT

    def __init__(self, *words, ray=None, **more):
        super().__init__(*words, **more)
        self.ray, self.shoal, self.python = ray, self.program, sys.executable
        if ray:
            path = self.folder / "image/usr/local/bin/ray"
            path.write_text(f'#!/bin/sh\nexec {ray} "$@"\n', encoding="utf-8")
            self.machine_env(**{name: BUNDLE for name in tls.TRUST})

    def __getattr__(self, verb):
        """Verbs of control: front.preempt(instance=...), front.stockout(...)."""
        if verb.startswith("_") or verb in ("pid", "socket", "stream"):
            raise AttributeError(verb)
        return lambda **fields: self.ask(verb, **fields)

    def limited_laptop(self, name, permissions):
        """A laptop whose user has only these permissions; a second call replaces them."""
        laptop = self.laptop(name)
        laptop.more = laptop.credentials(self.ask("limited", name=name, policy=permissions))
        return laptop

    def machines(self, cluster=None, states=None):
        """Instances in the front's own records, in the order of their creation."""
        rows = [GceMachine(self, row) for row in self.ask("truth").get("instances", [])]
        return [m for m in rows if (states is None or m.state in states) and
                (cluster is None or m.tag("ray-cluster-name") == cluster)]

    def alive(self, cluster=None):
        return self.machines(cluster, ("PROVISIONING", "STAGING", "RUNNING"))

    def remains(self, seconds=60):
        """Everything of any cluster that still exists, by kind; waits for instances that are
        being deleted.
        """
        front.wait_for(lambda: not self.machines(states=("STOPPING",)), seconds, 0.05, "their end")
        truth = self.ask("truth")
        truth.pop("mismatches")
        names = {kind: [r["name"] if isinstance(r, dict) else r for r in rows]
                 for kind, rows in truth.items()}
        return {kind: rows for kind, rows in names.items() if rows}

    def notice(self, instance, **fields):
        return self.ask("preempt", instance=instance, **fields)

    @staticmethod
    def cluster(name="demo", workers=2, **more):
        """A cluster file for a cluster that comes up quickly."""
        node = {"node_config": {"machineType": "n1-standard-2", "disks": [{
            "boot": True, "autoDelete": True, "type": "PERSISTENT",
            "initializeParams": {"diskSizeGb": 50, "sourceImage": FAMILY}}]},
            "resources": {"CPU": 1}}
        provider = {"type": "gcp", "region": "us-central1", "availability_zone": "us-central1-a",
                    "project_id": google.PROJECT, "cache_stopped_nodes": False}
        types = {"head": node, "worker": {**node, "min_workers": workers, "max_workers": workers}}
        file = front.Front.cluster(name, workers, provider=provider, available_node_types=types)
        return {**file, **more}
