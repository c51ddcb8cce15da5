"""Containers as machines: Google's own agent, sshd, systemd, and firewall rules that block.

They use the bed's network, images and iptables chains (tests/bed), so that a machine has at most
one of the two clouds. `firewall` translates the project's rules for the bed's chains: of ingress
rules, those that allow; sources are ranges and tags.
"""

import hashlib
import ipaddress
import json
import subprocess
import threading

from cloud import docker, images, network
from cloud import nodes as bed_nodes
from cloud import settings as bed

from . import settings, tls
from .machines import Machines

IMAGE = "gce"
HOST_NAMES = [(name, bed.GATEWAY) for name in tls.NAMES] + [
    ("metadata.google.internal", bed.IMDS), ("metadata", bed.IMDS)]
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
# Clients that have their own list of CAs.
TRUST = {name: BUNDLE for name in tls.TRUST}


def host_words():
    """Docker options for Google's names."""
    return [word for name, address in HOST_NAMES for word in ("--add-host", f"{name}:{address}")]


class Containers(Machines):
    def __init__(self, cloud):
        super().__init__(cloud)
        self.image = IMAGE
        self.names = {}  # id: the container's name
        self.quiet = set()  # ids that end because we say so
        self.rules = network.Rules()
        self.gate = threading.Semaphore(bed_nodes.STARTS_AT_ONCE)
        self.closing = False
        self.events = subprocess.Popen(
            ["docker", "events", "--filter", f"label={bed.LABEL}", "--filter", "event=die",
             "--format", "{{json .Actor.Attributes}}"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        threading.Thread(target=self.follow_rules, daemon=True).start()
        threading.Thread(target=self.watch, daemon=True).start()

    # ---- machines ----

    def start(self, instance):
        ident = instance.value["id"]
        with self.gate:
            if ident in self.names:
                docker.run("start", self.names[ident])
            else:
                docker.run(*self.words(instance), images.ensure(self.image), seconds=120)
                self.names[ident] = f"gce-{ident}"
            docker.set_share(docker.PREFERRED)
        self.quiet.discard(ident)

    def words(self, instance):
        ident = instance.value["id"]
        folder = bed.STATE / "nodes" / ident
        folder.mkdir(parents=True, exist_ok=True)
        profile = folder / "trust.sh"
        profile.write_text("".join(f"export {n}={v}\n" for n, v in TRUST.items()),
                           encoding="ascii")
        sshd = folder / "sshd.conf"
        pairs = " ".join(f"{n}={v}" for n, v in TRUST.items())
        sshd.write_text(f"SetEnv {pairs}\n", encoding="ascii")
        return ["run", "-d", "--name", f"gce-{ident}", "--hostname", instance.name, "--label",
                bed.LABEL, "--label", f"{bed.LABEL}.instance={ident}", "--network",
                bed.NETWORK_NAME, "--ip", instance.address, "--shm-size", "256m", "--cpu-shares",
                "256", "-v", f"{bed_nodes.resolver()}:/etc/resolv.conf:ro", "-v",
                f"{folder}:/run/bed", "-v", f"{bed.STATE}/bundle.crt:{BUNDLE}:ro", "-v",
                f"{profile}:/etc/profile.d/trust.sh:ro", "-v",
                f"{sshd}:/etc/ssh/sshd_config.d/trust.conf:ro", "--log-opt", "max-size=1m",
                *host_words(), *bed_nodes.systemd_words(), "--tmpfs", "/tmp:exec"]

    def stop(self, instance):
        ident = instance.value["id"]
        self.quiet.add(ident)
        docker.run("stop", "-t", "3", self.names[ident], check=False)

    def reset(self, instance):
        ident = instance.value["id"]
        self.quiet.add(ident)
        docker.run("restart", "-t", "0", self.names[ident], check=False)
        self.quiet.discard(ident)

    def remove(self, instance):
        name = self.names.pop(instance.value["id"], None)
        if name:
            docker.remove([name])

    def close(self):
        self.closing = True
        self.events.kill()
        docker.remove(list(self.names.values()))

    def booted(self, instance):
        """Google's agent in the machine publishes its keys itself."""

    def watch(self):
        """Machines that switch themselves off."""
        for line in self.events.stdout:
            ident = json.loads(line).get(f"{bed.LABEL}.instance", "")
            if ident not in self.quiet:
                with self.cloud.state:
                    for record in self.cloud.store.of_kind("instances", settings.PROJECT):
                        if record.value["id"] == ident:
                            self.cloud.instances.stopped_itself(record)

    # ---- firewall ----

    def follow_rules(self):
        while not self.closing:
            with self.cloud.state:
                nodes, groups = firewall(
                    [r.value for r in self.cloud.store.of_kind("firewalls", settings.PROJECT)],
                    self.cloud.store.of_kind("instances", settings.PROJECT))
            self.rules.apply(nodes, groups)
            with self.cloud.state:
                self.cloud.state.wait(0.5)


def group_of(kind, name):
    """A name for the bed's chains, which are short."""
    return f"{kind}-{hashlib.sha256(name.encode()).hexdigest()[:14]}"


def firewall(rules, instances):
    """([(internal address, external address, groups)], {group: rules}) for cloud.network."""
    groups, nodes = {}, []
    rules = [r for r in rules if r["direction"] == "INGRESS" and r.get("allowed")
             and not r["disabled"]]
    for rule in rules:
        sources = [{"cidr": cidr, "group": None} for cidr in rule.get("sourceRanges", ())
                   if ipaddress.ip_network(cidr).version == 4]
        sources += [{"cidr": None, "group": group_of("tag", tag)}
                    for tag in rule.get("sourceTags", ())]
        groups.update({source["group"]: [] for source in sources if source["group"]})
        groups[group_of("rule", rule["name"])] = [
            {**ports, **source} for allowed in rule["allowed"] for ports in ports_of(allowed)
            for source in sources]
    for record in instances:
        tags = record.value["tags"].get("items", [])
        own = [group_of("tag", tag) for tag in tags if group_of("tag", tag) in groups]
        own += [group_of("rule", r["name"]) for r in rules
                if not r.get("targetTags") or set(r["targetTags"]) & set(tags)]
        if record.address:
            nodes.append((record.address, record.public, own))
    return nodes, groups


def ports_of(allowed):
    """{protocol, from, to} of each range of ports."""
    protocol = {"all": "-1", "6": "tcp", "17": "udp", "1": "icmp"}.get(
        allowed["IPProtocol"], allowed["IPProtocol"])
    for text in allowed.get("ports", ["0-65535"]):
        low, _, high = text.partition("-")
        yield {"protocol": protocol, "from": int(low), "to": int(high or low)}
