"""Regions, the offerings of each zone, and filter names that a listing must know."""

import fnmatch
import ipaddress

from . import settings
from .paging import check_dry_run, page_size, position_of, token_for
from .wire import Refusal, ec2_reply, parse, put, xml_reply

KEPT_BY_AWS = 5  # addresses of each subnet
OFFERING_KINDS = ("region", "availability-zone", "availability-zone-id", "outpost")


def check_region(cloud, call):
    """A region that the account has not enabled rejects all keys, without a further reason; so does
    one of another partition.
    """
    if call.service not in ("ec2", "ssm", "servicequotas") or call.region in cloud.moto.regions():
        return
    if call.service == "ec2":
        raise Refusal("AuthFailure", "AWS was not able to validate the provided access "
                                     "credentials", 401)
    raise Refusal("UnrecognizedClientException", "The security token included in the request is "
                                                 "invalid.", 400)


def describe_regions(cloud, call):
    """The bed's regions; with AllRegions also one that must be enabled first."""
    check_dry_run(call)
    rows = {name: "opt-in-not-required" for name in sorted(cloud.moto.regions())}
    if call.get("AllRegions") == "true":
        rows[settings.CLOSED_REGION] = "not-opted-in"
    named = call.list("RegionName")
    known = (*cloud.moto.regions(), settings.CLOSED_REGION)
    unknown = [name for name in named if name not in known]
    if unknown:
        raise Refusal("InvalidParameterValue", f"Invalid region: [{','.join(unknown)}]")
    if named:
        rows = {name: rows.get(name, "not-opted-in") for name in named}
    filters = call.filters()
    for name, status in list(rows.items()):
        have = {"region-name": name, "opt-in-status": status,
                "endpoint": f"ec2.{name}.amazonaws.com"}
        for field, values in filters.items():
            if field not in have:
                raise Refusal("InvalidParameterValue", f"The filter '{field}' is invalid")
            if not any(fnmatch.fnmatchcase(have[field], value) for value in values):
                rows.pop(name, None)
    return ec2_reply(call.action, {"regionInfo": [
        {"regionName": name, "regionEndpoint": f"ec2.{name}.amazonaws.com", "optInStatus": status}
        for name, status in rows.items()]})


def describe_offerings(cloud, call):
    """In pages; the filters accept wildcards."""
    kind = call.get("LocationType", "region")
    if kind not in OFFERING_KINDS:
        raise Refusal("InvalidParameterValue", f"Invalid value '{kind}' for locationType.")
    limit, start = page_size(call, cloud), position_of(call) or 0
    check_dry_run(call)
    filters = call.filters()
    unknown = set(filters) - {"instance-type", "location"}
    if unknown:
        raise Refusal("InvalidParameterValue", f"The filter '{unknown.pop()}' is invalid")

    def matches(row):
        have = {"instance-type": row["InstanceType"], "location": row["Location"]}
        return all(any(fnmatch.fnmatchcase(have[name], value) for value in values)
                   for name, values in filters.items())

    rows = [row for row in cloud.moto.offerings(call.region, kind) if matches(row)]
    more = token_for(call, start + limit) if start + limit < len(rows) else None
    return ec2_reply(call.action, {"instanceTypeOfferingSet": [
        {"instanceType": row["InstanceType"], "locationType": kind, "location": row["Location"]}
        for row in rows[start:start + limit]], "nextToken": more})


def describe_subnets(cloud, call):
    """Free addresses: without those that AWS reserves, and one less per instance."""
    reply = cloud.pass_on(call)
    if reply.status != 200:
        return reply
    root = parse(reply.body)
    for item in root.findall("subnetSet/item"):
        taken = sum(node.subnet == item.findtext("subnetId") for node in cloud.nodes.live())
        size = ipaddress.ip_network(item.findtext("cidrBlock")).num_addresses
        put(item, "availableIpAddressCount", size - KEPT_BY_AWS - taken)
        owner = cloud.moto.subnet_owner()
        put(item, "ownerId", owner)
        partition, ident = settings.partition_of(call.region), item.findtext("subnetId")
        put(item, "subnetArn", f"arn:{partition}:ec2:{call.region}:{owner}:subnet/{ident}")
    return xml_reply(root)


def describe_keys(cloud, call):
    for name in call.list("KeyName"):
        if cloud.moto.public_key(call.region, name) is None:
            raise Refusal("InvalidKeyPair.NotFound", f"The key pair '{name}' does not exist")
    return cloud.pass_on(call)


def describe_groups(cloud, call):
    known = cloud.moto.groups(call.region)
    names = {group.name for group in known.values()}
    for ident in call.list("GroupId"):
        if ident not in known:
            raise Refusal("InvalidGroup.NotFound", f"The security group '{ident}' does not exist")
    for name in call.list("GroupName"):
        if name not in names:
            raise Refusal("InvalidGroup.NotFound", f"The security group '{name}' does not exist in "
                                                   "default VPC")
    return cloud.pass_on(call)
