"""Networks and subnetworks, which only tests change, and firewall rules. Rules are checked and
stored; they block no traffic.
"""

import ipaddress
import re

from . import errors, lists, settings, store
from .errors import Refusal, invalid

PROTOCOLS = ("tcp", "udp", "icmp", "esp", "ah", "sctp", "ipip", "all")


def seed(cloud):
    add(cloud, "default")


def add(cloud, name, project=settings.PROJECT, auto=True):
    """A network with a subnetwork of its name in each region; of a host project (shared VPC) if it
    is another project. All have the same ranges.
    """
    project = f"projects/{project}"
    network = cloud.store.add(f"{project}/global/networks/{name}", {
        "autoCreateSubnetworks": auto, "mtu": 1460,
        "routingConfig": {"routingMode": "REGIONAL"}}, "network")
    links = []
    for region, cidr in settings.SUBNETS.items():
        gateway = str(next(ipaddress.ip_network(cidr).hosts()))
        subnet = cloud.store.add(f"{project}/regions/{region}/subnetworks/{name}", {
            "network": network.value["selfLink"], "ipCidrRange": cidr, "gatewayAddress": gateway,
            "privateIpGoogleAccess": False, "purpose": "PRIVATE", "stackType": "IPV4_ONLY",
            "fingerprint": store.fingerprint(cidr)}, "subnetwork")
        links.append(subnet.value["selfLink"])
    network.value["subnetworks"] = links


def remove(cloud, name):
    """A network of the project with its subnetworks."""
    for path in [p for p, r in cloud.store.records.items() if r.name == name and
                 p.startswith(f"projects/{settings.PROJECT}/") and
                 r.kind in ("networks", "subnetworks")]:
        cloud.store.records.pop(path)


# ---- firewall rules ----


def add_default_rules(cloud):
    """What a new project has in its network `default`."""
    for name, sources, allowed in (
            ("ssh", "0.0.0.0/0", [{"IPProtocol": "tcp", "ports": ["22"]}]),
            ("icmp", "0.0.0.0/0", [{"IPProtocol": "icmp"}]),
            ("internal", settings.INTERNAL, [{"IPProtocol": "tcp", "ports": ["0-65535"]},
                                             {"IPProtocol": "udp", "ports": ["0-65535"]},
                                             {"IPProtocol": "icmp"}])):
        value = check(cloud, settings.PROJECT, {"sourceRanges": [sources], "allowed": allowed,
                                                "priority": 65534})
        path = f"projects/{settings.PROJECT}/global/firewalls/default-allow-{name}"
        cloud.store.add(path, value, "firewall")
    cloud.state.notify_all()


def check(cloud, project, body):
    """A rule with its defaults."""
    value = dict(body)
    network = value.get("network") or "global/networks/default"
    path = store.path_of("resource.network", network, "networks", project)
    if path not in cloud.store.records:
        raise errors.not_found(path)
    value["network"] = store.LINK + path
    if bool(value.get("allowed")) == bool(value.get("denied")):
        raise invalid("resource", "", "Exactly one of allowed and denied must be specified.")
    for kind in ("allowed", "denied"):
        for number, rule in enumerate(value.get(kind, ())):
            check_rule(rule, f"resource.{kind}[{number}]")
    direction = value.setdefault("direction", "INGRESS")
    sources = [k for k in ("sourceRanges", "sourceTags", "sourceServiceAccounts") if value.get(k)]
    if direction == "EGRESS" and sources:
        raise invalid(f"resource.{sources[0]}", "", "Egress rules have no sources.")
    if direction == "INGRESS" and not sources:
        value["sourceRanges"] = ["0.0.0.0/0"]
    tags = value.get("sourceTags") or value.get("targetTags")
    accounts = value.get("sourceServiceAccounts") or value.get("targetServiceAccounts")
    if tags and accounts:
        raise invalid("resource", "", "Tags and service accounts cannot be used in one rule.")
    for field in ("sourceRanges", "destinationRanges"):
        for text in value.get(field, ()):
            try:
                ipaddress.ip_network(text)
            except ValueError:
                raise invalid(f"resource.{field}", text, "Must be a valid IP address range.") \
                    from None
    priority = value.setdefault("priority", 1000)
    if not 0 <= priority <= 65535:
        raise invalid("resource.priority", priority, "Must be between 0 and 65535.")
    value.setdefault("disabled", False)
    value.setdefault("logConfig", {"enable": False})
    return value


def check_rule(rule, field):
    protocol = rule.get("IPProtocol", "")
    if protocol not in PROTOCOLS and not (protocol.isdigit() and int(protocol) < 256):
        raise invalid(f"{field}.IPProtocol", protocol, "Must be a protocol's name or number.")
    for text in rule.get("ports", ()):
        found = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", text)
        ends = [int(n) for n in found.groups() if n] if found else []
        if not ends or ends != sorted(ends) or ends[-1] > 65535:
            raise invalid(f"{field}.ports", text, "Must be a port or a range of ports.")
        if protocol not in ("tcp", "udp", "sctp", "6", "17", "132"):
            raise invalid(f"{field}.ports", text, f"Protocol {protocol} has no ports.")


def insert(cloud, call):
    path = f"projects/{call.project}/global/firewalls/{call.value['name']}"
    value = check(cloud, call.project, call.value)
    if path in cloud.store.records:
        raise errors.exists(path)
    limit = cloud.capacity.global_quotas["FIREWALLS"]
    if len(cloud.store.of_kind("firewalls", call.project)) >= limit:
        raise Refusal(403, "quotaExceeded",
                      f"Quota 'FIREWALLS' exceeded.  Limit: {float(limit)} globally.",
                      domain="usageLimits")
    return cloud.operations.change(call, "insert", cloud.store.add(path, value, "firewall"))


def find(cloud, call):
    return cloud.store.get(f"projects/{call.project}/global/firewalls/{call.vars['firewall']}")


def get(cloud, call):
    return find(cloud, call).value


def list_(cloud, call):
    folder = f"projects/{call.project}/global/firewalls"
    return lists.listing(cloud, call, call.rule, folder, "firewalls", "firewall")


def put(cloud, call, before, kind):
    record = find(cloud, call)
    if call.value.get("name", record.name) != record.name:
        raise invalid("resource.name", call.value["name"], "A firewall rule cannot be renamed.")
    kept = {k: record.value[k] for k in ("kind", "id", "name", "creationTimestamp", "selfLink")}
    value = check(cloud, call.project, {**before(record), **call.value})
    record.value.clear()
    record.value.update(value, **kept)
    return cloud.operations.change(call, kind, record)


def patch(cloud, call):
    """Fields that are given replace the old ones; allowed replaces denied."""
    def before(record):
        other = {"allowed": "denied", "denied": "allowed"}
        return {k: v for k, v in record.value.items() if other.get(k) not in call.value}
    return put(cloud, call, before, "patch")


def update(cloud, call):
    return put(cloud, call, lambda record: {}, "update")


def delete(cloud, call):
    record = find(cloud, call)
    cloud.store.records.pop(record.path)
    return cloud.operations.change(call, "delete", record)


# ---- networks ----


def get_network(cloud, call):
    return cloud.store.get(f"projects/{call.project}/global/networks/{call.vars['network']}").value


def list_networks(cloud, call):
    return lists.listing(cloud, call, call.rule, f"projects/{call.project}/global/networks",
                         "networks", "network")


def get_subnet(cloud, call):
    return cloud.store.get(f"projects/{call.project}/regions/{call.vars['region']}/subnetworks/"
                           f"{call.vars['subnetwork']}").value


def list_subnets(cloud, call):
    folder = f"projects/{call.project}/regions/{call.vars['region']}/subnetworks"
    return lists.listing(cloud, call, call.rule, folder, "subnetworks", "subnetwork")


def all_subnets(cloud, call):
    return lists.aggregated(cloud, call, call.rule, "subnetworks", "subnetwork")


METHODS = {"firewalls.get": get, "firewalls.list": list_, "firewalls.insert": insert,
           "firewalls.patch": patch, "firewalls.update": update, "firewalls.delete": delete,
           "networks.get": get_network, "networks.list": list_networks,
           "subnetworks.get": get_subnet, "subnetworks.list": list_subnets,
           "subnetworks.aggregatedList": all_subnets}
