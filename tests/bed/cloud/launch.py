"""RunInstances and CreateFleet: everything that AWS checks before an instance exists.

The order of the checks is AWS's as far as it is known: parameters, then idempotency, then what the
request names (image, type, key, groups, subnet, profile), then quota, then capacity.
"""

import base64
import binascii
import copy
import hashlib
import json
import re
import secrets
import time

from . import accounts, nodes, policy
from .wire import Call, Refusal, Reply, ec2_reply, error_of, parse, xml_reply

USER_DATA_MAX = 16384
TOKEN_MAX = 64
TAGS_MAX = 50
TAGGABLE = {"instance", "volume", "network-interface", "spot-instances-request", "elastic-gpu"}
NOT_COMPARED = {"ClientToken", "Version", "Action", "DryRun"}
RENAMED = {"SecurityGroupIds": "SecurityGroupId", "SecurityGroups": "SecurityGroup",
           "TagSpecifications": "TagSpecification", "Tags": "Tag", "Groups": "SecurityGroupId",
           "NetworkInterfaces": "NetworkInterface", "BlockDeviceMappings": "BlockDeviceMapping"}


# ---- launch templates ----


def flatten(value, name=""):
    """Nested template data as query parameters."""
    if isinstance(value, dict):
        flat = {}
        for key, inner in value.items():
            key = RENAMED.get(key, key)
            flat.update(flatten(inner, f"{name}.{key}" if name else key))
        return flat
    if isinstance(value, list):
        flat = {}
        for number, inner in enumerate(value, 1):
            flat.update(flatten(inner, f"{name}.{number}"))
        return flat
    if isinstance(value, bool):
        return {name: "true" if value else "false"}
    return {} if value is None else {name: str(value)}


def effective(cloud, call):
    """The request's parameters, completed from its launch template."""
    own = {k: v for k, v in call.params.items() if not k.startswith("LaunchTemplate.")}
    ident, name = call.get("LaunchTemplate.LaunchTemplateId"), \
        call.get("LaunchTemplate.LaunchTemplateName")
    if not ident and not name:
        return own
    data = cloud.moto.template(call.region, ident, name, call.get("LaunchTemplate.Version"))
    if data is None:
        kind = "InvalidLaunchTemplateId.NotFound" if ident else \
            "InvalidLaunchTemplateName.NotFoundException"
        raise Refusal(kind, "The specified launch template does not exist.")
    if not data:
        raise Refusal("InvalidLaunchTemplateId.VersionNotFound",
                      "Could not find the specified version of the launch template.")
    given = {key.split(".")[0] for key in own}
    below = {k: v for k, v in flatten(data).items() if k.split(".")[0] not in given}
    return {**below, **own}


# ---- checks ----


def check_counts(call):
    try:
        low, high = int(call.get("MinCount", "")), int(call.get("MaxCount", ""))
    except ValueError:
        raise Refusal("MissingParameter", "The request must contain the parameter MinCount and "
                                          "MaxCount") from None
    if low < 1 or high < low:
        raise Refusal("InvalidParameterValue", f"Invalid value '{high}' for MaxCount. It must be "
                                               "at least MinCount, which is at least 1.")
    return low, high


def check_token(token):
    if token and (len(token) > TOKEN_MAX or not token.isascii()):
        raise Refusal("InvalidParameterValue",
                      f"Value ({token[:80]}) for parameter clientToken is invalid. Invalid client "
                      "token: at most 64 ASCII characters.")


def check_user_data(text):
    if not text:
        return b""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Refusal("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.") \
            from None
    if len(data) > USER_DATA_MAX:
        raise Refusal("InvalidParameterValue", "User data is limited to 16384 bytes")
    return data


def check_tag(key, value):
    if key.lower().startswith("aws:"):
        raise Refusal("InvalidParameterValue", f"Value ( {key} ) for parameter key is invalid. Tag "
                      "keys starting with 'aws:' are reserved for internal use")
    if not key or len(key) > 128:
        raise Refusal("InvalidParameterValue", f"Value ( {key} ) for parameter key is invalid. Tag "
                      "keys must be between 1 and 128 characters in length")
    if len(value) > 256:
        raise Refusal("InvalidParameterValue", f"Value ( {value} ) for parameter value is invalid. "
                      "Tag values must be at most 256 characters in length")


def check_tags(pairs):
    keys = [key for key, _ in pairs]
    for key, value in pairs:
        check_tag(key, value)
        if keys.count(key) > 1:
            raise Refusal("InvalidParameterValue", f"Duplicate tag key '{key}' specified.")
    if len(pairs) > TAGS_MAX:
        raise Refusal("TagLimitExceeded", "The maximum number of tags for a resource has been "
                                          "reached.")


def check_tag_specifications(call):
    for item in call.items("TagSpecification"):
        kind = item.get("ResourceType", "")
        if kind not in TAGGABLE:
            raise Refusal("InvalidParameterValue", f"'{kind}' is not a valid taggable resource "
                                                   "type for this operation.")
        pairs = [(value, item.get(name[:-3] + "Value", "")) for name, value in item.items()
                 if re.fullmatch(r"Tag\.\d+\.Key", name)]
        check_tags(pairs)


def check_image(cloud, call):
    """(image, type's description), of the same architecture."""
    ident, kind = call.get("ImageId"), call.get("InstanceType", "m1.small")
    if not ident:
        raise Refusal("MissingParameter", "The request must contain the parameter ImageId")
    if not re.fullmatch(r"ami-([0-9a-f]{8}|[0-9a-f]{17})", ident):
        raise Refusal("InvalidAMIID.Malformed", f'Invalid id: "{ident}"')
    image = cloud.moto.image(call.region, ident)
    if image is None:
        raise Refusal("InvalidAMIID.NotFound", f"The image id '[{ident}]' does not exist")
    facts = cloud.moto.types.get(kind)
    if facts is None:
        raise Refusal("InvalidParameterValue", f"Invalid value '{kind}' for InstanceType.")
    architectures = facts["ProcessorInfo"]["SupportedArchitectures"]
    if image.architecture not in architectures:
        raise Refusal("InvalidParameterValue",
                      f"The architecture '{','.join(architectures)}' of the specified instance "
                      f"type does not match the architecture '{image.architecture}' of the "
                      "specified AMI. Specify an instance type and an AMI that have matching "
                      "architectures, and try again. You can use 'describe-instance-types' or "
                      "'describe-images' to discover the architecture of the instance type or AMI.")
    return image, facts


def check_place(cloud, call):
    """(subnet, zone or "" if the caller left it open)."""
    interface = next(iter(call.items("NetworkInterface")), {})
    ident = call.get("SubnetId") or interface.get("SubnetId")
    zone = call.get("Placement.AvailabilityZone")
    if ident:
        subnet = cloud.moto.subnet(call.region, ident)
        if subnet is None:
            raise Refusal("InvalidSubnetID.NotFound", f"The subnet ID '{ident}' does not exist")
        if zone and zone != subnet.availability_zone:
            raise Refusal("InvalidParameterValue", f"The availability zone '{zone}' is not that of "
                                                   f"the subnet '{ident}'.")
        return subnet, subnet.availability_zone
    subnet = cloud.moto.default_subnet(call.region, zone)
    if subnet is None:
        if zone and zone not in cloud.moto.zones(call.region):
            raise Refusal("InvalidParameterValue", f"Invalid availability zone: [{zone}]")
        if zone:
            raise Refusal("MissingInput", f"No default subnet for availability zone: '{zone}'.")
        raise Refusal("MissingInput", "No subnets found for the default VPC. Please specify a "
                                      "subnet.")
    return subnet, zone or ""


def check_groups(cloud, call, subnet):
    interface = next(iter(call.items("NetworkInterface")), {})
    given = call.list("SecurityGroupId") + [v for k, v in interface.items()
                                            if k.startswith("SecurityGroupId.")]
    known = cloud.moto.groups(call.region)
    for ident in given:
        if ident not in known:
            raise Refusal("InvalidGroup.NotFound", f"The security group '{ident}' does not exist")
        if known[ident].vpc_id != subnet.vpc_id:
            raise Refusal("InvalidParameter", f"Security group {ident} and subnet {subnet.id} "
                                              "belong to different networks.")
    if not given and not call.list("SecurityGroup"):
        return [g.id for g in known.values() if g.vpc_id == subnet.vpc_id and g.name == "default"]
    return given


def check_key(cloud, call):
    name = call.get("KeyName")
    if name and cloud.moto.public_key(call.region, name) is None:
        raise Refusal("InvalidKeyPair.NotFound", f"The key pair '{name}' does not exist")
    return name


def check_profile(cloud, call):
    """The name of the profile; EC2 does not know a very new one yet."""
    for field in ("Name", "Arn"):
        value = call.get(f"IamInstanceProfile.{field}")
        if not value:
            continue
        young = time.monotonic() - cloud.profiles_made.get(value.rpartition("/")[2], -1e9) < \
            cloud.tunables.profile_lag
        found = cloud.moto.profile(value)
        if found is None or young:
            raise Refusal("InvalidParameterValue",
                          f"Value ({value}) for parameter iamInstanceProfile.{field.lower()} is "
                          f"invalid. Invalid IAM Instance Profile {field.lower()}")
        if found[2] is None:
            raise Refusal("InvalidParameterValue", f"IAM Instance Profile \"{found[0]}\" has no "
                                                   "associated IAM Roles")
        accounts.check_pass_role(cloud, call, found[2])
        return value
    return None


# ---- quota and capacity ----


def vcpus(cloud, kind):
    return cloud.moto.types[kind]["VCpuInfo"]["DefaultVCpus"]


def check_quota(cloud, region, kind, low, high, spot):
    """How many of `high` the quota allows; refuse if fewer than `low`, or with `quota_whole` if
    fewer than `high`.
    """
    low = high if cloud.tunables.quota_whole else low
    limit = cloud.tunables.spot_vcpu_quota if spot else cloud.tunables.vcpu_quota
    used = sum(vcpus(cloud, n.type) for n in cloud.nodes.live(region)
               if bool(n.spot) == spot and n.state not in ("stopped", "stopping"))
    room = (limit - used) // vcpus(cloud, kind)
    if room < low and spot:
        raise Refusal("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
    if room < low:
        raise Refusal("VcpuLimitExceeded",
                      f"You have requested more vCPU capacity than your current vCPU limit of "
                      f"{limit} allows for the instance bucket that the specified instance type "
                      "belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to "
                      "request an adjustment to this limit.")
    return min(high, room)


def no_capacity(kind, zone):
    return Refusal("InsufficientInstanceCapacity",
                   f"We currently do not have sufficient {kind} capacity in the Availability Zone "
                   f"you requested ({zone}). Our system will be working on provisioning additional "
                   f"capacity. You can currently get {kind} capacity by not specifying an "
                   "Availability Zone in your request or choosing another one.", 500)


def grant(cloud, call, zone, low, high, spot):
    kind = call.get("InstanceType", "m1.small")
    room = check_quota(cloud, call.region, kind, low, high, spot)
    if cloud.faults.capacity(kind, zone, room, take=False) < low:
        cloud.faults.capacity(kind, zone, 0)
        raise no_capacity(kind, zone)
    return cloud.faults.capacity(kind, zone, room)


# ---- idempotency ----


def fingerprint(params):
    kept = sorted((k, v) for k, v in params.items() if k not in NOT_COMPARED)
    return hashlib.sha256(json.dumps(kept).encode()).hexdigest()


def replay(cloud, call, zone):
    """Ids of the instances that this token launched before, or None."""
    token = call.get("ClientToken")
    found = cloud.tokens.get((call.region, zone, call.action, token)) if token else None
    if found is None:
        return None
    print_before, answer = found
    if print_before != fingerprint(call.params):
        raise Refusal("IdempotentParameterMismatch",
                      "The request uses the same client token as a previous, but non-identical "
                      "request. Do not reuse a client token with different requests, unless the "
                      "requests are identical.")
    return answer


def check_alive(cloud, ids):
    """A token whose instances have all been terminated is used up."""
    nodes_of = [cloud.nodes.by_id.get(ident) for ident in ids]
    if all(node is None or node.state == "terminated" for node in nodes_of):
        raise Refusal("IdempotentInstanceTerminated",
                      "The request uses the same client token as a previous request, whose "
                      "instances have been terminated.")


def remember(cloud, call, zone, answer):
    if call.get("ClientToken"):
        key = (call.region, zone, call.action, call.get("ClientToken"))
        cloud.tokens[key] = (fingerprint(call.params), answer)


def check_spot_role(cloud, call):
    """The first spot request of an account creates a role, if the caller may do that."""
    if cloud.tunables.spot_role:
        return
    if not accounts.may(cloud, call, "iam:CreateServiceLinkedRole",
                        policy.spot_role_arn(call.region), AWSServiceName="spot.amazonaws.com"):
        raise Refusal("AuthFailure.ServiceLinkedRoleCreationNotPermitted",
                      "The provided credentials do not have permission to create the "
                      "service-linked role for EC2 Spot Instances.", 403)
    if call.get("DryRun") != "true":
        cloud.tunables.spot_role = 1


# ---- RunInstances ----


def run_instances(cloud, call):
    with cloud.launching:
        params = effective(cloud, call)
        wanted = Call(call.method, call.target, call.headers, call.body, call.source,
                      call.service, call.region, call.action, params, call.access_key,
                      call.identity)
        low, high = check_counts(wanted)
        check_token(wanted.get("ClientToken"))
        data = check_user_data(wanted.get("UserData"))
        check_tag_specifications(wanted)
        subnet, zone = check_place(cloud, wanted)
        before = replay(cloud, call, zone)
        if before is not None:
            check_alive(cloud, before)
            return cloud.describe_again(call.region, before)
        check_image(cloud, wanted)
        accounts.check_plan(cloud, wanted.get("InstanceType", "m1.small"))
        check_key(cloud, wanted)
        groups = check_groups(cloud, wanted, subnet)
        profile = check_profile(cloud, wanted)
        spot = wanted.get("InstanceMarketOptions.MarketType") == "spot"
        if spot:
            check_spot_role(cloud, wanted)
        if wanted.get("DryRun") == "true":
            raise Refusal("DryRunOperation", "Request would have succeeded, but DryRun flag is "
                                             "set.", 412)
        granted = grant(cloud, wanted, subnet.availability_zone, low, high, spot)
        reservation, made = create(cloud, wanted, subnet, groups, granted, data, profile, spot)
        remember(cloud, call, zone, [node.id for node in made])
    return reservation


def create(cloud, call, subnet, groups, count, data, profile, spot):
    """(reply, nodes): `count` instances in moto, each with its node."""
    params = {k: v for k, v in call.params.items()
              if not k.startswith(("IamInstanceProfile.", "SecurityGroup", "Placement.Avail"))}
    params.update({"Action": "RunInstances", "MinCount": str(count), "MaxCount": str(count)})
    for number, item in enumerate(call.items("BlockDeviceMapping"), 1):
        if any(k.startswith("Ebs.") for k in item) and "Ebs.DeleteOnTermination" not in item:
            params[f"BlockDeviceMapping.{number}.Ebs.DeleteOnTermination"] = "true"
    if not call.items("NetworkInterface"):
        params["SubnetId"] = subnet.id
        params.update({f"SecurityGroupId.{n}": g for n, g in enumerate(groups, 1)})
    status, body = cloud.moto.ec2(call.region, params)
    if status != 200:
        raise Refusal(*error_of(body), status)
    root = parse(body)
    made = [new_node(cloud, call, item, subnet, data, profile, spot)
            for item in root.findall("instancesSet/item")]
    for node in made:
        accounts.doom(cloud, call, node)
        cloud.nodes.launch(node)
    for item, node in zip(root.findall("instancesSet/item"), made, strict=True):
        cloud.items[node.id] = (root.findtext("reservationId"), copy.deepcopy(item))
        cloud.overlay(item, node)
    return xml_reply(root), made


def new_node(cloud, call, item, subnet, data, profile, spot):
    interface = next(iter(call.items("NetworkInterface")), {})
    public = interface.get("AssociatePublicIpAddress")
    kind = call.get("InstanceType", "m1.small")
    zone = subnet.availability_zone
    return nodes.Node(
        id=item.findtext("instanceId"), region=call.region, zone=zone, subnet=subnet.id, type=kind,
        image=call.get("ImageId"), private=item.findtext("privateIpAddress"),
        wants_public=subnet.map_public_ip_on_launch is True if public is None
        else public == "true", key_name=call.get("KeyName"), user_data=data, profile=profile,
        token=call.get("ClientToken", ""),
        spot="sir-" + secrets.token_hex(4) if spot else None,
        shutdown=call.get("InstanceInitiatedShutdownBehavior", "stop"),
        tokens_required=call.get("MetadataOptions.HttpTokens") == "required",
        imds=call.get("MetadataOptions.HttpEndpoint") != "disabled",
        imds_tags=call.get("MetadataOptions.InstanceMetadataTags") == "enabled",
        faults=cloud.faults.of_launch(kind, zone))


# ---- CreateFleet ----


def overrides_of(cloud, call):
    """Each template with each of its overrides, as parameters of a launch."""
    for config in call.items("LaunchTemplateConfigs"):
        spec = {k.partition(".")[2]: v for k, v in config.items()
                if k.startswith("LaunchTemplateSpecification.")}
        base = {f"LaunchTemplate.{k}": v for k, v in spec.items()}
        rows = Call("", "", {}, b"", "", params=config).items("Overrides") or [{}]
        rows.sort(key=lambda row: float(row.get("Priority", 0)))
        for row in rows:
            extra = {k: v for k, v in row.items()
                     if k in ("InstanceType", "SubnetId", "ImageId") or k.startswith("Placement.")}
            if "AvailabilityZone" in row:
                extra["Placement.AvailabilityZone"] = row["AvailabilityZone"]
            yield spec, row, {**base, **extra}


def create_fleet(cloud, call):
    """Only instant fleets: one try per override until the target is reached; the reply lists
    errors.
    """
    if call.get("Type") != "instant":
        raise Refusal("UnsupportedOperation", "The bed knows fleets of type instant only.")
    before = replay(cloud, call, "")
    if before is not None:
        return Reply(200, before, {"Content-Type": "text/xml;charset=UTF-8"})
    target = int(call.get("TargetCapacitySpecification.TotalTargetCapacity", "1"))
    market = call.get("TargetCapacitySpecification.DefaultTargetCapacityType", "on-demand")
    tags = {k: v for k, v in call.params.items() if k.startswith("TagSpecification.")}
    won, errors = [], []
    for spec, row, params in overrides_of(cloud, call):
        missing = target - sum(len(w["instanceIds"]) for w in won)
        if missing < 1:
            break
        if market == "spot":
            params["InstanceMarketOptions.MarketType"] = "spot"
        told = {"launchTemplateAndOverrides": {"launchTemplateSpecification": {
            k[:1].lower() + k[1:]: v for k, v in spec.items()}, "overrides": {
            k[:1].lower() + k[1:]: v for k, v in row.items() if "." not in k}},
            "lifecycle": market}
        try:
            part = Call("POST", "/", {}, b"", call.source, "ec2", call.region, "RunInstances",
                        {"MinCount": "1", "MaxCount": str(missing), **params, **tags},
                        call.access_key, call.identity)
            root = parse(run_instances(cloud, part).body)
            ids = [e.text for e in root.findall("instancesSet/item/instanceId")]
            won.append({**told, "instanceIds": ids,
                        "instanceType": root.findtext("instancesSet/item/instanceType")})
        except Refusal as refusal:
            errors.append({**told, "errorCode": refusal.code, "errorMessage": refusal.message})
    reply = ec2_reply("CreateFleet", {"fleetId": f"fleet-{secrets.token_hex(16)}",
                                      "errorSet": errors, "fleetInstanceSet": won})
    remember(cloud, call, "", reply.body)
    return reply
