"""What policies allow: actions, the resources of a call, and conditions.

A call is allowed if, for each of its resources, a statement allows it and none denies it, as in
IAM. The resources of RunInstances are those that it creates and those that it uses; with tags it is
also a CreateTags. If the bed does not know the resources of an action, it ignores resources.
"""

import fnmatch
import re

from . import settings

# Resource kinds by the beginning of an id.
KINDS = {"i": "instance", "vol": "volume", "eni": "network-interface", "sg": "security-group",
         "lt": "launch-template", "key": "key-pair", "subnet": "subnet", "ami": "image",
         "sir": "spot-instances-request", "snap": "snapshot"}
MADE = ("instance", "volume", "network-interface")


def listed(value):
    return value if isinstance(value, list) else [value]


def matches(pattern, text):
    return fnmatch.fnmatchcase(text.lower(), pattern.lower())


# ---- resources ----


class Resource:
    """An ARN and the tags it has now; `kind` is None when the bed does not know."""

    def __init__(self, call, kind=None, ident="*", tags=None, owner=settings.ACCOUNT):
        account = "" if kind in ("image", "snapshot") else owner
        partition = settings.partition_of(call.region)
        self.arn = f"arn:{partition}:ec2:{call.region}:{account}:{kind}/{ident}" if kind else None
        self.kind, self.tags, self.encrypted = kind, tags or {}, "false"


def volumes_of(call, moto):
    """One for the root, unless the request describes it, and one for each volume described."""
    given = [item for item in call.items("BlockDeviceMapping")
             if any(name.startswith("Ebs.") for name in item)]
    rows = []
    for item in given if any(i.get("DeviceName") == "/dev/sda1" for i in given) else [{}, *given]:
        row = Resource(call, "volume", "0")
        row.encrypted = "true" if moto.encrypts() else item.get("Ebs.Encrypted", "false")
        rows.append(row)
    return rows


# Other resources that a launch uses, by the parameter with their id; the rest of their ARN.
USED = {"Placement.GroupName": "placement-group", "Placement.HostId": "dedicated-host",
        "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId":
            "capacity-reservation", "LaunchTemplate.LaunchTemplateId": "launch-template"}


def of_launch(call, moto):
    rows = [Resource(call, kind, "0") for kind in MADE if kind != "volume"]
    rows += volumes_of(call, moto)
    if call.get("InstanceMarketOptions.MarketType") == "spot":
        rows.append(Resource(call, "spot-instances-request", "0"))
    interface = next(iter(call.items("NetworkInterface")), {})
    groups = call.list("SecurityGroupId") + [v for k, v in interface.items()
                                             if k.startswith("SecurityGroupId.")]
    named = [("image", call.get("ImageId")), ("key-pair", call.get("KeyName")),
             *((kind, call.get(name)) for name, kind in USED.items())]
    named += [("security-group", group) for group in groups]
    rows += [Resource(call, kind, ident) for kind, ident in named if ident]
    subnet = call.get("SubnetId") or interface.get("SubnetId")
    rows += [Resource(call, "subnet", subnet, owner=moto.subnet_owner())] if subnet else []
    for item in call.items("LicenseSpecification"):
        row = Resource(call)
        row.arn = item.get("LicenseConfigurationArn")
        rows.append(row)
    return rows


# Resources that calls without an id create, and their other resources.
MAKERS = {"CreateSecurityGroup": "security-group", "CreateLaunchTemplate": "launch-template",
          "ImportKeyPair": "key-pair"}


def of_making(call, moto):
    rows, vpc = [Resource(call, MAKERS[call.action], "0")], call.get("VpcId")
    return rows + ([Resource(call, "vpc", vpc, owner=moto.subnet_owner())] if vpc else [])


def spot_role_arn(region):
    return (f"arn:{settings.partition_of(region)}:iam::{settings.ACCOUNT}:role/aws-service-role/"
            "spot.amazonaws.com/AWSServiceRoleForEC2Spot")


def of_iam(call, moto):
    """A role or profile by its name; one that does not exist has no path."""
    rows = []
    if call.get("AWSServiceName") == "spot.amazonaws.com":
        rows.append(Resource(call))
        rows[0].arn = spot_role_arn(call.region)
    for field, kind in (("RoleName", "role"), ("InstanceProfileName", "instance-profile")):
        name = call.get(field)
        if name:
            path = call.get("Path") or moto.path_of(kind, name)
            row = Resource(call)
            partition = settings.partition_of(call.region)
            row.arn = f"arn:{partition}:iam::{settings.ACCOUNT}:{kind}{path}{name}"
            rows.append(row)
    return rows or [Resource(call)]


def of_call(call, moto):
    if call.resource_arn:
        row = Resource(call)
        row.arn = call.resource_arn
        return [row]
    if call.service == "iam":
        return of_iam(call, moto)
    if call.service == "ec2" and call.action in MAKERS:
        return of_making(call, moto)
    if call.service != "ec2" or call.action.startswith(("Describe", "Get")):
        return [Resource(call)]
    if call.action == "RunInstances":
        return of_launch(call, moto)
    idents = call.list("InstanceId") + call.list("ResourceId")
    idents += [call.get(name) for name in ("InstanceId", "LaunchTemplateId", "GroupId")
               if call.get(name)]
    rows = [Resource(call, KINDS[ident.partition("-")[0]], ident, moto.tags_of(call.region, ident))
            for ident in idents if ident.partition("-")[0] in KINDS]
    return rows or [Resource(call)]


def covers(statement, resource):
    if resource.arn is None:
        return True
    if "NotResource" in statement:
        return not any(fnmatch.fnmatchcase(resource.arn, p)
                       for p in listed(statement["NotResource"]))
    return any(fnmatch.fnmatchcase(resource.arn, p) for p in listed(statement.get("Resource", "*")))


# ---- conditions ----


class Unknown(Exception):
    """The bed does not know the key."""


def request_tags(call, kind):
    """The tags that the request gives to this kind of resource."""
    specs = [(s.get("ResourceType"), s) for s in call.items("TagSpecification")]
    specs = specs or [(kind, call.params)]
    tags = {value: spec.get(key[:-3] + "Value", "") for given, spec in specs if given == kind
            for key, value in spec.items() if re.search(r"Tags?\.(member\.)?\d+\.Key$", key)}
    mark = "RequestTag/"  # of a simulation
    return {**tags, **{k[len(mark):]: v for k, v in call.params.items() if k.startswith(mark)}}


def values_of(key, call, resource, made_by):
    """The request's values of a condition key: a list, empty if the request does not have it."""
    if key == "aws:RequestedRegion":
        return [call.region]
    if key.startswith("aws:RequestTag/"):
        given = request_tags(call, resource.kind)
        return [given[name] for name in given if name == key.partition("/")[2]]
    if key.startswith("aws:ResourceTag/") and resource.kind:
        return [v for k, v in resource.tags.items() if k == key.partition("/")[2]]
    if key == "aws:TagKeys":
        return list(request_tags(call, resource.kind))
    if key == "ec2:CreateAction":
        return [made_by] if made_by else []
    if key == "ec2:Encrypted":
        return [resource.encrypted] if resource.kind == "volume" else []
    if key == "iam:AWSServiceName":
        return [call.get("AWSServiceName")] if call.get("AWSServiceName") else []
    if key == "iam:PolicyARN":
        return [call.get("PolicyArn")] if call.get("PolicyArn") else []
    if key in ("iam:PassedToService", "kms:ViaService", "kms:GrantIsForAWSResource"):
        name = key.partition(":")[2]
        return [call.get(name)] if call.get(name) else []
    if key == "iam:PermissionsBoundary":
        return [call.get("PermissionsBoundary")] if call.get("PermissionsBoundary") else []
    if key == "ec2:RoleDelivery":
        return ["2.0"] if call.identity.kind == "role" else []
    names = {"ec2:InstanceType": "InstanceType",
             "ec2:MetadataHttpTokens": "MetadataOptions.HttpTokens",
             "ec2:MetadataHttpPutResponseHopLimit": "MetadataOptions.HttpPutResponseHopLimit"}
    if key not in names:
        raise Unknown(key)
    return [call.get(names[key])] if call.get(names[key]) else []


def compare(operator, have, wanted):
    if operator.startswith("Numeric"):
        tests = {"NumericEquals": have == wanted, "NumericLessThan": float(have) < float(wanted),
                 "NumericLessThanEquals": float(have) <= float(wanted),
                 "NumericGreaterThan": float(have) > float(wanted),
                 "NumericGreaterThanEquals": float(have) >= float(wanted)}
        return tests[operator]
    if operator == "Bool":
        return have.lower() == wanted.lower()
    is_pattern = "Like" in operator or operator.startswith("Arn")
    return fnmatch.fnmatchcase(have, wanted) if is_pattern else have == wanted


def one_holds(operator, have, wanted):
    """One key of a condition; `have` are the request's values, `wanted` the policy's."""
    if operator == "Null":
        return (not have) == (wanted == ["true"])
    quantity, _, plain = operator.rpartition(":")
    if plain.endswith("IfExists"):
        plain = plain[:-len("IfExists")]
        if not have:
            return True
    negated = "Not" in plain
    plain = plain.replace("Not", "")
    hits = [any(compare(plain, value, w) for w in wanted) != negated for value in have]
    if quantity == "ForAllValues":
        return all(hits)
    if quantity == "ForAnyValue":
        return any(hits)
    return all(hits) if have else negated


def conditions_hold(statement, call, resource, made_by):
    """An unknown key counts as fulfilled in an Allow statement, and as not fulfilled in a Deny."""
    for operator, keys in statement.get("Condition", {}).items():
        for key, wanted in keys.items():
            try:
                have = values_of(key, call, resource, made_by)
            except Unknown:
                if statement["Effect"] == "Deny":
                    return False
                continue
            if not one_holds(operator, have, [str(w) for w in listed(wanted)]):
                return False
    return True


# ---- the result ----


def allows_one(policies, action, call, resource, made_by=None):
    allowed = False
    for policy in policies:
        for statement in listed(policy.get("Statement", [])):
            if "Action" in statement:
                hit = any(matches(p, action) for p in listed(statement["Action"]))
            else:
                hit = not any(matches(p, action) for p in listed(statement.get("NotAction", [])))
            if not hit or not covers(statement, resource) or \
                    not conditions_hold(statement, call, resource, made_by):
                continue
            if statement["Effect"] == "Deny":
                return False
            allowed = True
    return allowed


def allows(policies, action, call, moto):
    if not all(allows_one(policies, action, call, resource) for resource in of_call(call, moto)):
        return False
    if action != "ec2:RunInstances" and call.action not in MAKERS:
        return True
    tagged = [item.get("ResourceType") for item in call.items("TagSpecification")]
    return all(allows_one(policies, "ec2:CreateTags", call, Resource(call, kind, "0"),
                          call.action) for kind in tagged)
