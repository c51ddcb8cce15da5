"""The control socket, on loopback only: commands of `bed` and of tests to a running bed.

A request is POST /VERB with a JSON object. The reply is JSON; after a failure {"error": text}.
"""

import dataclasses
import json
import os
import subprocess
import threading
import time

from . import docker, settings
from .wire import Reply

ACTIONS_ON_NODES = ("pause", "unpause", "kill", "disk-full", "disk-free", "sshd-stop", "sshd-start")


class Control:
    def __init__(self, cloud, bed):
        self.cloud, self.bed = cloud, bed

    def answer(self, call):
        verb = call.target.strip("/").replace("-", "_")
        work = getattr(self, "do_" + verb, None)
        try:
            if work is None:
                raise ValueError(f"no verb {verb!r}")
            value, status = work(**json.loads(call.body or b"{}")), 200
        except (ValueError, TypeError, KeyError, LookupError, docker.DockerError,
                subprocess.SubprocessError) as error:
            value, status = {"error": f"{type(error).__name__}: {error}"}, 400
        return Reply(status, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def node(self, instance):
        """The instance with this id or id prefix."""
        found = [n for n in list(self.cloud.nodes.by_id.values()) if n.id.startswith(instance)]
        if len(found) != 1:
            raise LookupError(f"{len(found)} instances are called {instance!r}")
        return found[0]

    # ---- queries ----

    def do_ps(self):
        memory = docker.stats()
        rows = []
        for node in list(self.cloud.nodes.by_id.values()):  # other threads change it
            connections, sessions = self.cloud.nodes.ssh_counts(node)
            rows.append({
                "id": node.id, "state": node.state, "type": node.type, "zone": node.zone,
                "private": node.private, "public": node.public, "image": node.image,
                "spot": bool(node.spot), "seconds": round(time.monotonic() - node.created),
                "memory": memory.get(node.name, 0), "connections": connections,
                "sessions": sessions, "times": dict(node.times),
                "name": self.cloud.moto.tags_of(node.region, node.id).get("Name", "")})
        return {"nodes": rows, "pid": os.getpid(), "front_memory": own_memory(),
                "code": self.bed.code,
                "seconds": round(time.time() - self.bed.started, 1),
                "calls": sum(list(self.cloud.counts.values()))}

    def do_truth(self):
        """Everything that exists, even if a listing would hide it."""
        moto, rows = self.cloud.moto, []
        for node in list(self.cloud.nodes.by_id.values()):
            rows.append({"id": node.id, "state": node.state, "type": node.type, "zone": node.zone,
                         "private": node.private, "public": node.public, "token": node.token,
                         "spot": bool(node.spot), "times": dict(node.times),
                         "tags": moto.tags_of(node.region, node.id)})
        region = moto.regions()[0]
        ec2, iam = moto.backend(region), moto.iam()
        return {
            "instances": sorted(rows, key=lambda row: row["times"]["pending"]),
            "keys": sorted(ec2.key_pairs), "groups": sorted(
                g.name for g in moto.groups(region).values() if g.name != "default"),
            "templates": sorted(t.name for t in ec2.launch_templates.values()),
            "volumes": sorted(v.id for v in ec2.volumes.values()),
            "roles": sorted(r.name for r in iam.roles.values()),
            "profiles": sorted(p.name for p in iam.instance_profiles.values())}

    def do_counts(self, clear=False):
        rows = [{"service": s, "action": a, "who": w, "count": n}
                for (s, a, w), n in sorted(list(self.cloud.counts.items()))]
        refused = dict(self.cloud.refused)
        if clear:
            self.cloud.counts.clear()
            self.cloud.refused.clear()
        return {"calls": rows, "refused": refused}

    def do_ssh(self, instance):
        node = self.node(instance)
        connections, sessions = self.cloud.nodes.ssh_counts(node)
        return {"connections": connections, "sessions": sessions,
                "log": self.cloud.nodes.ssh_log(node)}

    def do_logs(self, instance):
        return {"console": self.cloud.nodes.console(self.node(instance))}

    # ---- faults ----

    def do_fault(self, **fields):
        return dataclasses.asdict(self.cloud.faults.add(**fields))

    def do_faults(self):
        return [dataclasses.asdict(fault) for fault in self.cloud.faults.all]

    def do_hold(self, **fields):
        """The next such call waits; `held` says whether one is waiting."""
        self.holding = self.cloud.faults.add(kind="hold", **fields)
        return {}

    def do_held(self):
        return {"action": self.holding.held}

    def do_release(self):
        self.cloud.faults.release()
        return {}

    def do_clear(self):
        self.cloud.faults.clear()
        self.cloud.identities.denied = []
        return {}

    def do_mix(self, rate, seed=1, seconds=0.3):
        self.cloud.faults.reseed(seed)
        self.cloud.faults.mix(rate, seconds)
        return {}

    def do_set(self, **fields):
        """Change tunables; return their old values."""
        before = dataclasses.asdict(self.cloud.tunables)
        for name, value in fields.items():
            if name not in before:
                raise ValueError(f"nothing is called {name!r}; there are: {' '.join(before)}")
            setattr(self.cloud.tunables, name, type(before[name])(value))
            if name == "iam_lag":  # policies of before are in force
                self.cloud.policies_put.clear()
        if "partition" in fields and fields["partition"] != before["partition"]:
            self.cloud.moto.seed({name: settings.OTHER_VPCS[name]
                                  for name in self.cloud.moto.regions()
                                  if name in settings.OTHER_VPCS})
        if {"vpn", "relay_ms"} & set(fields):
            self.cloud.nodes.rewire()
        return before

    # ---- identities ----

    def do_deny(self, identity, action):
        self.cloud.identities.denied.append((identity, action))
        return {}

    def do_expire(self, identity):
        return {"expired": self.cloud.identities.expire(identity)}

    def do_mint(self, kind="admin", name="guest", seconds=3600):
        """Temporary credentials of any identity."""
        return dataclasses.asdict(self.cloud.identities.mint(kind, name, seconds))

    # ---- nodes ----

    def do_env(self, **names):
        """Environment variables of all processes on machines that are launched from now on."""
        self.cloud.nodes.env = names
        return {}

    def do_notice(self, instance, seconds=120, rebalance=False, action="terminate"):
        """A spot interruption: first the notice in the metadata service, then the interruption
        itself.
        """
        node = self.node(instance)
        if not node.spot:
            raise ValueError(f"{node.id} is not a spot instance")
        now = time.time()
        node.rebalance = stamp(now)
        if rebalance:
            return {"rebalance": node.rebalance}
        node.notice = {"action": action, "time": stamp(now + seconds)}
        reason = ("Server.SpotInstanceTermination",
                  "Server.SpotInstanceTermination: Spot instance termination")
        self.cloud.nodes.later(seconds, self.cloud.nodes.terminate, node, reason)
        return node.notice

    def do_node(self, instance, what):
        """Cause a fault on a running machine."""
        node = self.node(instance)
        if what not in ACTIONS_ON_NODES:
            raise ValueError(f"no {what!r}; there are: {' '.join(ACTIONS_ON_NODES)}")
        if what in ("pause", "unpause", "kill"):
            docker.run(what, node.name)
            node.paused = what == "pause"
        elif what == "disk-full":
            in_mounts(node, "mount", "-t", "tmpfs", "-o", "size=16k,mode=1777", "bed", "/tmp")
        elif what == "disk-free":
            in_mounts(node, "umount", "/tmp")
        elif what == "sshd-stop":
            docker.run("exec", node.name, "pkill", "-o", "sshd")
        else:
            docker.run("exec", "-d", node.name, "/usr/sbin/sshd", "-D", "-E", "/run/bed/sshd.log",
                       "-o", "UsePAM=no", "-o", "LogLevel=VERBOSE")
        return {}

    # ---- reset ----

    def do_reset(self):
        """Restore the state after `bed up`: no instances, faults, counts or variables, default
        tunables.
        """
        self.cloud.nodes.env = {}
        for node in self.cloud.nodes.live():
            node.quick = True
            if not self.cloud.nodes.terminate(node):
                self.cloud.nodes.end_now(node)
        self.do_clear()
        self.do_counts(clear=True)
        self.do_set(**dataclasses.asdict(settings.Tunables()))
        return {}

    def do_wipe(self):
        """After `reset`: once no instance is alive, remove everything; return how many are still
        alive.
        """
        live = len(self.cloud.nodes.live())
        if not live:
            self.cloud.forget()
        return {"live": live}

    def do_quit(self):
        threading.Timer(0.1, self.bed.end.set).start()
        return {}


def in_mounts(node, *words):
    """Run a command in the mount namespace of a node, with the host's permissions."""
    pid = docker.inspect(node.name)["State"]["Pid"]
    subprocess.run(["nsenter", "-t", str(pid), "-m", *words], check=True, timeout=20,
                   capture_output=True)


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def own_memory():
    with open("/proc/self/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024
