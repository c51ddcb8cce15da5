"""The network of the cloud: security groups, public addresses and the metadata address, in
iptables.

Rules between nodes are in DOCKER-USER (the bridge passes its frames through iptables), rules for
the laptop, which is this host, in OUTPUT. A node reaches only the host's ports that belong to the
cloud, and nothing beyond the host. All our chains are named BED-*.
"""

import pathlib
import subprocess

from . import settings

MARK = "0xbed"  # on connections that the relay makes for the laptop
ESTABLISHED = "-m conntrack --ctstate ESTABLISHED,RELATED"
ON_BRIDGE = f"-i {settings.BRIDGE} -o {settings.BRIDGE}"
JUMPS = (
    ("filter", "DOCKER-USER", "-j BED-FWD"),
    ("filter", "OUTPUT", f"-o {settings.BRIDGE} -j BED-OUT"),
    ("filter", "INPUT", f"-i {settings.BRIDGE} -j BED-IN"),
    ("nat", "OUTPUT", f"-d {settings.PUBLIC} -j BED-NAT-OUT"),
    ("nat", "PREROUTING", f"-i {settings.BRIDGE} -j BED-NAT-PRE"),
)


def iptables(table, *words, check=True):
    return subprocess.run(["iptables", "-w", "10", "-t", table, *words], capture_output=True,
                          text=True, timeout=30, check=check)


def restore(text):
    done = subprocess.run(["iptables-restore", "-w", "10", "--noflush"], input=text, text=True,
                          capture_output=True, timeout=30, check=False)
    if done.returncode:
        raise RuntimeError(f"iptables-restore: {done.stderr}\n{text}")


# ---- up and down ----


def set_up():
    """Jumps, addresses and routes; the bridge exists already."""
    for name in ("ipv4/ip_forward", "bridge/bridge-nf-call-iptables"):
        pathlib.Path("/proc/sys/net", name).write_text("1\n", encoding="ascii")
    # `src`: packets of the laptop have the laptop's address.
    subprocess.run(["ip", "addr", "replace", f"{settings.LAPTOP}/32", "dev", settings.BRIDGE],
                   check=True, timeout=10)
    for where in (settings.NODES, settings.PUBLIC):
        subprocess.run(["ip", "route", "replace", where, "dev", settings.BRIDGE, "src",
                        settings.LAPTOP], check=True, timeout=10)
    Rules().apply([], {})
    for table, chain, rule in JUMPS:
        iptables(table, "-I", chain, *rule.split())


def tear_down():
    for table, chain, rule in JUMPS:
        while iptables(table, "-D", chain, *rule.split(), check=False).returncode == 0:
            pass
    for table in ("filter", "nat"):
        chains = our_chains(table)
        for verb in ("-F", "-X"):
            for chain in chains:
                iptables(table, verb, chain, check=False)


def our_chains(table):
    said = iptables(table, "-S", check=False).stdout
    return [line.split()[1] for line in said.splitlines() if line.startswith("-N BED-")]


# ---- rules ----


def chain_of(group):
    return "BED-" + group[:24]


def match_of(rule):
    """The protocol and port part of an ingress rule; None if it can match nothing here."""
    protocol = rule["protocol"]
    if protocol in ("-1", None):
        return ""
    if protocol in ("tcp", "udp"):
        low, high = rule["from"], rule["to"]
        return f"-p {protocol} --dport {0 if low < 0 else low}:{65535 if high < 0 else high}"
    return "-p icmp" if protocol == "icmp" else None


def group_rules(group, rules, members):
    """Lines of one group's chain: what its members accept."""
    lines = []
    for rule in rules:
        match = match_of(rule)
        sources = [rule["cidr"]] if rule["cidr"] else members.get(rule["group"], [])
        if match is not None:
            lines += [f"-A {chain_of(group)} -s {source} {match} -j ACCEPT" for source in sources]
    return lines


def filter_text(nodes, groups, vpn, old):
    """The filter table's chains. nodes: [(private, public, [group])]; groups: {id: [rule]}."""
    members = {}
    for private, _, of_node in nodes:
        for group in of_node:
            members.setdefault(group, []).append(private)
    used = [group for group in groups if group in members]
    chains = ["BED-FWD", "BED-OUT", "BED-IN"] + [chain_of(group) for group in used]
    jumps = [(private, chain_of(group)) for private, _, of_node in nodes for group in of_node
             if group in groups]
    unused = sorted(set(old) - set(chains))
    lines = ["*filter"] + [f":{name} - [0:0]" for name in [*chains, *unused]]
    lines += [f"-A BED-FWD {ON_BRIDGE} {ESTABLISHED} -j RETURN"]
    lines += [f"-A BED-FWD {ON_BRIDGE} -d {private} -j {chain}" for private, chain in jumps]
    lines += [f"-A BED-FWD {ON_BRIDGE} -j DROP",
              f"-A BED-FWD -i {settings.BRIDGE} -j REJECT --reject-with icmp-net-unreachable",
              f"-A BED-FWD -o {settings.BRIDGE} -j DROP"]
    # To the relay: at this point the packet still has the bridge's name, although it goes to this
    # host.
    lines += [f"-A BED-OUT {ESTABLISHED} -j ACCEPT",
              f"-A BED-OUT -d {settings.GATEWAY} -p tcp --dport {settings.RELAY_PORT} -j ACCEPT"]
    if not vpn:
        lines += [f"-A BED-OUT -d {settings.NODES} -m mark ! --mark {MARK} "
                  f"-m conntrack ! --ctorigdst {settings.PUBLIC} -j DROP"]
    lines += [f"-A BED-OUT -d {private} -j {chain}" for private, chain in jumps]
    lines += ["-A BED-OUT -j DROP"]
    lines += [f"-A BED-IN {ESTABLISHED} -j ACCEPT"]
    lines += [f"-A BED-IN -d {settings.GATEWAY} -p tcp --dport {port} -j ACCEPT"
              for port in settings.NODE_PORTS]
    lines += ["-A BED-IN -j DROP"]
    for group in used:
        lines += group_rules(group, groups[group], members)
    lines += [f"-X {name}" for name in unused]
    return "\n".join(lines + ["COMMIT", ""])


def nat_text(nodes, relay):
    lines = ["*nat", ":BED-NAT-OUT - [0:0]", ":BED-NAT-PRE - [0:0]"]
    for private, public, _ in nodes:
        if public and relay:
            lines += [f"-A BED-NAT-OUT -d {public} -p tcp -j DNAT "
                      f"--to-destination {settings.GATEWAY}:{settings.RELAY_PORT}"]
        elif public:
            lines += [f"-A BED-NAT-OUT -d {public} -j DNAT --to-destination {private}"]
    lines += [f"-A BED-NAT-PRE -d {settings.IMDS} -p tcp --dport 80 -j DNAT "
              f"--to-destination {settings.GATEWAY}:{settings.IMDS_PORT}"]
    return "\n".join(lines + ["COMMIT", ""])


class Rules:
    """The present rules in the kernel's tables."""

    def __init__(self):
        self.wanted = None

    def apply(self, nodes, groups, vpn=False, relay=False):
        """Set the rules for these nodes and groups, in one step, unless they are set already."""
        wanted = filter_text(nodes, groups, vpn, []), nat_text(nodes, relay)
        if wanted == self.wanted:
            return
        self.wanted = None
        restore(filter_text(nodes, groups, vpn, our_chains("filter")))
        restore(wanted[1])
        self.wanted = wanted
