"""Kinds of accounts: what an organization, a plan, an encryption key or another account's subnet
changes. Each is a setting (settings.Tunables) that is off by default.

`scp`           a service control policy: what it denies is denied to everybody, with or without
                rights of their own (organizations user guide, SCP evaluation)
`free_plan`     only instance types of the free tier may be launched, also in a dry run
`ebs_key`       the account encrypts every new volume with this customer key; a launch by a caller
                who may not use the key succeeds, and then EC2 ends the instance
`ebs_encrypted` the same with AWS's own key, which everybody may use
`shared_subnets` the subnets belong to another account, which shares them
"""

import copy
import dataclasses
import fnmatch
import json
import types

from . import policy, settings
from .identity import denied
from .wire import Refusal, ec2_reply

FREE_TYPES = ("c7i-flex.large", "m7i-flex.large", "t3.micro", "t3.small", "t4g.micro", "t4g.small")
EVERYTHING = {"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
AWS_KEY = "alias/aws/ebs"
KEY_ACTIONS = ("CreateGrant", "Decrypt", "DescribeKey", "GenerateDataKeyWithoutPlaintext")


# ---- organizations ----


def check_organization(cloud, call):
    """Denied by the organization? Service control policies never allow anything."""
    text = cloud.tunables.scp
    action = f"{call.service}:{call.action}"
    if text and not policy.allows([EVERYTHING, json.loads(text)], action, call, cloud.moto):
        raise denied(call, action, "with an explicit deny in a service control policy: "
                                   "arn:aws:organizations::111122223333:policy/o-bed/"
                                   "service_control_policy/p-bed")


def may(cloud, call, action, arn=None, **context):
    """May the caller of `call` also take this action, on this resource?"""
    service, _, name = action.partition(":")
    other = dataclasses.replace(call, service=service, action=name, params=context)
    other.resource_arn = arn
    who = call.identity
    label = who.name if who.kind == "admin" else f"{who.kind}/{who.name}"
    if any(fnmatch.fnmatch(label, name) and policy.matches(what, action)
           for name, what in cloud.identities.denied):
        return False
    policies = [EVERYTHING] if who.kind == "admin" else \
        cloud.moto.policies_of(who.kind, who.name) or []
    given = [policies] + ([[EVERYTHING, json.loads(cloud.tunables.scp)]] if cloud.tunables.scp
                          else [])
    return all(policy.allows(each, action, other, cloud.moto) for each in given)


def check_pass_role(cloud, call, role):
    """Who launches an instance with a role must be allowed to pass it."""
    partition = settings.partition_of(call.region)
    path = cloud.moto.path_of("role", role)
    arn = f"arn:{partition}:iam::{settings.ACCOUNT}:role{path}{role}"
    service = "ec2.amazonaws.com" + (".cn" if partition == "aws-cn" else "")
    if not may(cloud, call, "iam:PassRole", arn, PassedToService=service):
        raise denied(call, "iam:PassRole", f"on resource: {arn} because no identity-based policy "
                                           "allows the iam:PassRole action")


# ---- the free plan ----


def check_plan(cloud, kind):
    if cloud.tunables.free_plan and kind not in FREE_TYPES:
        raise Refusal("InvalidParameterCombination",
                      "The specified instance type is not eligible for Free Tier. For a list of "
                      "Free Tier instance types, run 'describe-instance-types' with the filter "
                      "'free-tier-eligible=true'.")


# ---- encryption ----


def encryption_by_default(cloud, call):
    on = bool(cloud.tunables.ebs_key or cloud.tunables.ebs_encrypted)
    return ec2_reply(call.action, {"ebsEncryptionByDefault": "true" if on else "false"})


def default_key(cloud, call):
    return ec2_reply(call.action, {"kmsKeyId": cloud.tunables.ebs_key or AWS_KEY})


def keys_of(cloud, call):
    """The customer keys that the volumes of a launch need."""
    named = [item.get("Ebs.KmsKeyId") for item in call.items("BlockDeviceMapping")]
    keys = {key for key in [*named, cloud.tunables.ebs_key] if key and key != AWS_KEY}
    return sorted(keys)


def lacks_key(cloud, call):
    """The first key that the caller of a launch may not use, or None."""
    via = f"ec2.{call.region}.amazonaws.com"
    for key in keys_of(cloud, call):
        for action in KEY_ACTIONS:
            more = {"GrantIsForAWSResource": "true"} if action == "CreateGrant" else {}
            if not may(cloud, call, f"kms:{action}", key, ViaService=via, **more):
                return key
    return None


def doom(cloud, call, node):
    """EC2 ends an instance whose volumes its caller cannot encrypt (AWS re:Post,
    kms-iam-ec2-permission).
    """
    if lacks_key(cloud, call):
        node.faults = {**node.faults, "dies": types.SimpleNamespace(code="Client.InternalError")}


# ---- simulated permissions ----


def simulated_owner(cloud, call):
    """(kind, name) of the user or role of a simulation."""
    arn = call.get("PolicySourceArn", "")
    kind, _, name = arn.partition("::")[2].partition(":")[2].partition("/")
    name = name.rpartition("/")[2]
    is_known = kind in ("user", "role") and cloud.moto.policies_of(kind, name) is not None
    is_admin = not is_known and any(i.kind == "admin" and i.name == name
                                    for i in list(cloud.identities.by_key.values()))
    if not is_known and not is_admin:
        raise Refusal("NoSuchEntity", f"The entity {arn} cannot be found.", 404)
    return ("admin" if is_admin else kind), name


def simulate(cloud, call):
    """Decisions for each action and resource."""
    from .services import query_reply
    kind, name = simulated_owner(cloud, call)
    caller = types.SimpleNamespace(kind=kind, name=name)
    asked = dataclasses.replace(call, identity=caller)
    context = {item["ContextKeyName"].partition(":")[2]: item.get("ContextKeyValues.member.1", "")
               for item in call.items("ContextEntries.member")}
    rows = []
    for action in call.list("ActionNames.member"):
        for arn in call.list("ResourceArns.member") or ["*"]:
            ok = may(cloud, copy.copy(asked), action, arn, **context)
            rows.append(f"<member><EvalActionName>{action}</EvalActionName><EvalResourceName>{arn}"
                        f"</EvalResourceName><EvalDecision>{'allowed' if ok else 'implicitDeny'}"
                        "</EvalDecision><MatchedStatements/><MissingContextValues/></member>")
    return query_reply(call, f"<IsTruncated>false</IsTruncated><EvaluationResults>{''.join(rows)}"
                             "</EvaluationResults>")
