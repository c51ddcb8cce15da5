"""Operations on existing instances: listings, tags, states, groups."""

import base64
import copy
import re
import time
import xml.etree.ElementTree as ET

from . import accounts, launch, settings
from .nodes import CODES
from .paging import check_dry_run, page_size, position_of, question, token_for
from .wire import Refusal, ec2_reply, error_of, parse, put, put_all, xml_reply

PREFIXES = {"i": "InvalidInstanceID", "vol": "InvalidVolume", "sg": "InvalidGroup",
            "subnet": "InvalidSubnetID", "vpc": "InvalidVpcID", "eni": "InvalidNetworkInterfaceID",
            "ami": "InvalidAMIID", "lt": "InvalidLaunchTemplateId", "key": "InvalidKeyPair",
            "sir": "InvalidSpotInstanceRequestID", "igw": "InvalidInternetGatewayID"}
OWN_FILTERS = {"instance-state-name", "instance-state-code", "ip-address", "instance-lifecycle",
               "spot-instance-request-id", "client-token", "instance.group-id"}


# ---- ids ----


def check_ids(cloud, call, ids, lag=True):
    """The nodes of these ids, or an error if one is missing; an instance that is not visible yet
    does not exist.
    """
    if not ids:
        raise Refusal("MissingParameter", "The request must contain the parameter InstanceId")
    for ident in ids:
        if not re.fullmatch(r"i-([0-9a-f]{8}|[0-9a-f]{17})", ident):
            raise Refusal("InvalidInstanceID.Malformed", f'Invalid id: "{ident}"')
    found = [cloud.nodes.by_id.get(ident) for ident in ids]
    missing = [ident for ident, node in zip(ids, found, strict=True)
               if node is None or node.region != call.region
               or (lag and not cloud.nodes.visible(node))]
    if missing:
        plural = len(missing) > 1
        raise Refusal("InvalidInstanceID.NotFound",
                      f"The instance ID{'s' if plural else ''} '{', '.join(missing)}' "
                      f"do{'' if plural else 'es'} not exist")
    return found


# ---- what an instance looks like ----


def overlay(cloud, item, node):
    """Change moto's <item> of an instance to the bed's facts."""
    ended = node.state == "terminated"
    public = cloud.nodes.shown_public(node)
    dns = f"ec2-{public.replace('.', '-')}.{node.region}.compute.amazonaws.com" if public else ""
    put(item, "instanceState", {"code": CODES[node.state], "name": node.state})
    put(item, "privateIpAddress", None if ended else node.private)
    put(item, "ipAddress", public)
    put(item, "dnsName", dns)
    put(item, "clientToken", node.token)
    put(item, "launchTime", time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(node.launched)))
    put(item, "spotInstanceRequestId", node.spot)
    if ended:
        put(item, "privateDnsName", "")
        for name in ("subnetId", "vpcId", "networkInterfaceSet", "groupSet", "blockDeviceMapping"):
            put(item, name, None)
    if node.reason and node.state != "running":
        put(item, "stateReason", {"code": node.reason[0], "message": node.reason[1]})
        put(item, "reason", node.reason[1])
    else:
        put(item, "stateReason", None)
        put(item, "reason", "")
    if not ended:
        overlay_groups(cloud, item, node)
        overlay_interfaces(item, public, dns)
        profile = cloud.moto.profile(node.profile) if node.profile else None
        if profile:
            put(item, "iamInstanceProfile", {"arn": profile[0], "id": profile[1]})


def overlay_groups(cloud, item, node):
    names = cloud.moto.groups(node.region)
    put(item, "groupSet", [{"groupId": ident, "groupName": names[ident].name}
                           for ident in cloud.moto.groups_of(node.region, node.id)
                           if ident in names])


def overlay_interfaces(item, public, dns):
    for parent in item.findall("networkInterfaceSet/item"):
        for place in [parent, *parent.findall("privateIpAddressesSet/item")]:
            put(place, "association", None)
            if public:
                put(place, "association", {"ipOwnerId": "amazon", "publicDnsName": dns,
                                           "publicIp": public})


# ---- DescribeInstances ----


def own_filter(cloud, node, name, values):
    have = {"instance-state-name": lambda: [node.state],
            "instance-state-code": lambda: [str(CODES[node.state])],
            "ip-address": lambda: [node.public], "client-token": lambda: [node.token],
            "spot-instance-request-id": lambda: [node.spot],
            "instance-lifecycle": lambda: ["spot" if node.spot else None],
            "instance.group-id": lambda: cloud.moto.groups_of(node.region, node.id)}[name]()
    return any(value in have for value in values)


def split_filters(call):
    """({name: values} for moto, [(name, values)] that the bed evaluates itself)."""
    theirs, ours = {}, []
    for item in call.items("Filter"):
        values = [v for k, v in sorted(item.items()) if k.startswith("Value.")]
        if item.get("Name") in OWN_FILTERS:
            ours.append((item["Name"], values))
        else:
            theirs[item.get("Name", "")] = values
    return theirs, ours


def describe_instances(cloud, call):
    ids = call.list("InstanceId")
    if ids and call.get("MaxResults"):
        raise Refusal("InvalidParameterCombination", "The parameter instancesSet cannot be used "
                                                     "with the parameter maxResults")
    limit, start = page_size(call, cloud), position_of(call)
    cloud.nodes.purge()
    if ids:
        check_ids(cloud, call, ids)
    check_dry_run(call)
    theirs, ours = split_filters(call)
    nodes = []
    for ident in cloud.moto.matching(call.region, theirs):
        node = cloud.nodes.by_id.get(ident)
        if node and (not ids or ident in ids) and cloud.nodes.visible(node) and \
                all(own_filter(cloud, node, *f) for f in ours):
            nodes.append(node)
    names = [node.id for node in nodes]
    begin = names.index(start) + 1 if start in names else 0
    page = nodes[begin:begin + limit]
    root = ET.Element("DescribeInstancesResponse")
    put(root, "requestId", "-")
    ET.SubElement(root, "reservationSet").extend(reservations_of(cloud, call.region, page))
    if begin + limit < len(nodes):
        put(root, "nextToken", token_for(call, page[-1].id))
    return xml_reply(root)


def reservations_of(cloud, region, nodes):
    """<item>s of reservations with these instances, in their present state."""
    items = cloud.renderings(region, [node.id for node in nodes])
    found = {}
    for node in nodes:
        reservation, item = items[node.id]
        item = copy.deepcopy(item)
        overlay(cloud, item, node)
        if reservation not in found:
            found[reservation] = ET.Element("item")
            put_all(found[reservation], {"reservationId": reservation, "ownerId": settings.ACCOUNT,
                                         "groupSet": [], "instancesSet": []})
        found[reservation].find("instancesSet").append(item)
    return list(found.values())


def describe_again(cloud, region, ids):
    """The reservation of an earlier launch with its instances in their present state: the reply to
    a repeated launch.
    """
    root = ET.Element("RunInstancesResponse")
    put(root, "requestId", "-")
    nodes = [cloud.nodes.by_id[ident] for ident in ids if ident in cloud.nodes.by_id]
    for reservation in reservations_of(cloud, region, nodes):
        root.extend(reservation)
    return xml_reply(root)


def describe_instance_status(cloud, call):
    """Running instances only, unless all were requested."""
    ids = call.list("InstanceId")
    nodes = check_ids(cloud, call, ids) if ids else \
        [n for n in list(cloud.nodes.by_id.values()) if n.region == call.region
         and cloud.nodes.visible(n)]
    everything = call.get("IncludeAllInstances") == "true"
    rows = []
    for node in nodes:
        if not everything and node.state != "running":
            continue
        check = {"status": "ok" if node.state == "running" else "not-applicable"}
        rows.append({"instanceId": node.id, "availabilityZone": node.zone, "instanceState": {
            "code": CODES[node.state], "name": node.state}, "systemStatus": check,
            "instanceStatus": check})
    return ec2_reply("DescribeInstanceStatus", {"instanceStatusSet": rows})


# ---- states ----


def state_of(name):
    return {"code": CODES[name], "name": name}


def change(call, rows):
    return ec2_reply(call.action, {"instancesSet": [
        {"instanceId": node.id, "currentState": state_of(node.state), "previousState":
            state_of(before)} for node, before in rows]})


def terminate_instances(cloud, call):
    nodes = check_ids(cloud, call, call.list("InstanceId"))
    for node in nodes:
        if cloud.moto.instance(node.region, node.id).disable_api_termination:
            raise Refusal("OperationNotPermitted", f"The instance '{node.id}' may not be "
                          "terminated. Modify its 'disableApiTermination' instance attribute and "
                          "try again.")
    check_dry_run(call)
    rows = []
    for node in nodes:
        before = node.state
        cloud.nodes.terminate(node)
        rows.append((node, before))
    return change(call, rows)


def wrong_state(node, verb):
    return Refusal("IncorrectInstanceState", f"The instance '{node.id}' is not in a state from "
                                             f"which it can be {verb}.")


def stop_instances(cloud, call):
    nodes = check_ids(cloud, call, call.list("InstanceId"))
    for node in nodes:
        if node.spot:
            raise Refusal("UnsupportedOperation", f"You can't stop the Spot Instance '{node.id}' "
                          "because it is associated with a one-time Spot Instance request.")
        if node.state not in ("running", "stopping", "stopped"):
            raise wrong_state(node, "stopped")
    check_dry_run(call)
    rows = []
    for node in nodes:
        before = node.state
        if before == "running":
            cloud.nodes.stop(node)
        rows.append((node, before))
    return change(call, rows)


def start_instances(cloud, call):
    nodes = check_ids(cloud, call, call.list("InstanceId"))
    for node in nodes:
        if node.state not in ("stopped", "running", "pending"):
            raise wrong_state(node, "started")
    check_dry_run(call)
    rows = []
    for node in nodes:
        before = node.state
        if before == "stopped":
            launch.check_quota(cloud, call.region, node.type, 1, 1, False)
            if cloud.faults.capacity(node.type, node.zone, 1) < 1:
                raise launch.no_capacity(node.type, node.zone)
            cloud.nodes.start(node)
        rows.append((node, before))
    return change(call, rows)


def reboot_instances(cloud, call):
    nodes = check_ids(cloud, call, call.list("InstanceId"))
    check_dry_run(call)
    for node in nodes:
        if node.state == "running":
            cloud.nodes.reboot(node)
    return ec2_reply(call.action, {"return": "true"})


def console_output(cloud, call):
    node = check_ids(cloud, call, [call.get("InstanceId", "")])[0]
    text = cloud.nodes.console(node).encode()[-65536:]
    return ec2_reply(call.action, {
        "instanceId": node.id, "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
        "output": base64.b64encode(text).decode()})


def metadata_options(cloud, call):
    node = check_ids(cloud, call, [call.get("InstanceId", "")])[0]
    reply = cloud.pass_on(call)
    if reply.status == 200:
        if call.get("HttpTokens"):
            node.tokens_required = call.get("HttpTokens") == "required"
        if call.get("HttpEndpoint"):
            node.imds = call.get("HttpEndpoint") == "enabled"
        if call.get("InstanceMetadataTags"):
            node.imds_tags = call.get("InstanceMetadataTags") == "enabled"
    return reply


def modify_attribute(cloud, call):
    node = check_ids(cloud, call, [call.get("InstanceId", "")])[0]
    reply = cloud.pass_on(call)
    if reply.status == 200:
        node.shutdown = call.get("InstanceInitiatedShutdownBehavior.Value", node.shutdown)
        cloud.nodes.rewire()
    return reply


# ---- tags ----


def exists(cloud, call, ident):
    prefix = ident.partition("-")[0]
    if prefix == "i":
        check_ids(cloud, call, [ident])
    elif prefix == "sir":
        return any(n.spot == ident for n in list(cloud.nodes.by_id.values()))
    elif prefix in PREFIXES:
        backend = cloud.moto.backend(call.region)
        places = {"vol": backend.volumes, "eni": backend.enis, "vpc": backend.vpcs,
                  "ami": backend.amis, "lt": backend.launch_templates,
                  "sg": cloud.moto.groups(call.region),
                  "subnet": {s.id for s in cloud.moto.subnets(call.region)},
                  "key": {k.id for k in backend.key_pairs.values()},
                  "igw": backend.internet_gateways}
        return ident in places[prefix]
    else:
        raise Refusal("InvalidID", f"The ID '{ident}' is not valid")
    return True


def create_tags(cloud, call):
    pairs = [(item.get("Key", ""), item.get("Value", "")) for item in call.items("Tag")]
    launch.check_tags(pairs)
    for ident in call.list("ResourceId"):
        if not exists(cloud, call, ident):
            prefix = ident.partition("-")[0]
            raise Refusal(f"{PREFIXES[prefix]}.NotFound", f"The ID '{ident}' does not exist")
    check_dry_run(call)
    # AWS counts the tags that would exist afterwards.
    for ident in call.list("ResourceId"):
        if len({**cloud.moto.tags_of(call.region, ident), **dict(pairs)}) > launch.TAGS_MAX:
            raise Refusal("TagLimitExceeded", "The maximum number of tags for a resource has been "
                                              "reached.")
    if not cloud.tunables.tag_lag:
        return cloud.pass_on(call)

    def apply():
        cloud.pass_on(call)
        cloud.forget_renderings(call)

    cloud.delay(cloud.tunables.tag_lag, apply)
    return ec2_reply(call.action, {"return": "true"})


# ---- groups ----


def change_groups(cloud, call):
    """Every action that changes rules: they apply when the answer arrives."""
    reply = cloud.pass_on(call)
    if reply.status == 200:
        cloud.nodes.rewire()
    return reply


def create_group(cloud, call):
    """Without a VPC parameter the group is in the default VPC."""
    if call.get("VpcId"):
        return cloud.pass_on(call)
    return cloud.ask_ec2(call, {**call.params, "VpcId": cloud.moto.default_vpc(call.region)})


def delete_group(cloud, call):
    groups = cloud.moto.groups(call.region)
    ident = call.get("GroupId") or next((g.id for g in groups.values()
                                         if g.name == call.get("GroupName")), None)
    if ident not in groups:
        raise Refusal("InvalidGroup.NotFound", f"The security group '{ident}' does not exist")
    if groups[ident].name == "default":
        raise Refusal("CannotDelete", f"the specified group: \"{ident}\" name: \"default\" cannot "
                                      "be deleted by a user")
    members = [n.id for n in cloud.nodes.live(call.region)
               if ident in cloud.moto.groups_of(n.region, n.id)]
    named = [other for other, rules in cloud.moto.group_rules(call.region).items()
             if other != ident and any(rule["group"] == ident for rule in rules)]
    if members or named:
        raise Refusal("DependencyViolation", f"resource {ident} has a dependent object")
    check_dry_run(call)
    return cloud.pass_on(call)


# ---- types ----


def describe_types(cloud, call):
    """In pages of 100. moto lists all 1400 types at once, which takes seconds, so it is asked only
    once.
    """
    if call.list("InstanceType") and call.get("MaxResults"):
        raise Refusal("InvalidParameterCombination", "The parameter instanceTypes cannot be used "
                                                     "with the parameter maxResults")
    limit, start = page_size(call, cloud, high=100), position_of(call)
    check_dry_run(call)
    params = {k: v for k, v in call.params.items() if k not in ("NextToken", "MaxResults")}
    if call.filters().get("free-tier-eligible") == ["true"]:  # moto does not know which they are
        params = {"Action": call.action, "Filter.1.Name": "instance-type",
                  **{f"Filter.1.Value.{n}": name
                     for n, name in enumerate(accounts.FREE_TYPES, 1)}}
    key = (call.region, question(call))
    if key not in cloud.type_lists:
        status, body = cloud.moto.ec2(call.region, params)
        if status != 200:
            raise Refusal(*error_of(body), status)
        cloud.type_lists[key] = list(parse(body).findall("instanceTypeSet/item"))
    items = cloud.type_lists[key]
    begin = start or 0
    reply = parse(ec2_reply(call.action, {"instanceTypeSet": []}).body)
    reply.find("instanceTypeSet").extend(items[begin:begin + limit])
    if begin + limit < len(items):
        put(reply, "nextToken", token_for(call, begin + limit))
    return xml_reply(reply)


def describe_spot_requests(cloud, call):
    wanted = call.list("SpotInstanceRequestId")
    rows = []
    for node in list(cloud.nodes.by_id.values()):
        if node.spot and node.region == call.region and (not wanted or node.spot in wanted):
            ended = node.state in ("shutting-down", "terminated")
            rows.append({
                "spotInstanceRequestId": node.spot, "instanceId": node.id, "type": "one-time",
                "state": "closed" if ended else "active", "status": {
                    "code": "instance-terminated-by-user" if ended else "fulfilled"},
                "launchedAvailabilityZone": node.zone})
    return ec2_reply(call.action, {"spotInstanceRequestSet": rows})
