"""Calls of the Query API must reach the wire as botocore writes them, for random parameters of the
shapes in its model; we have a rule for names where botocore has the model.

SHOAL_DIFF_QUERIES  number of calls (default 2000)
"""

import collections
import functools
import json
import os
import random
from urllib.parse import parse_qsl

import pytest

import conftest
import workers

pytest.importorskip("botocore")

import botocore.handlers
import botocore.serialize
import botocore.session

CALLS = int(os.environ.get("SHOAL_DIFF_QUERIES") or 2000)
SHOWN = 5
DEPTH = 6
OPERATIONS = {
    "ec2": ["RunInstances"] * 20 + [
        "AuthorizeSecurityGroupEgress", "AuthorizeSecurityGroupIngress",
        "CancelSpotInstanceRequests", "CreateKeyPair", "CreateLaunchTemplate",
        "CreateLaunchTemplateVersion", "CreateSecurityGroup", "CreateTags",
        "DeleteKeyPair", "DeleteLaunchTemplateVersions", "DeleteSecurityGroup", "DeleteTags",
        "DeleteVolume",
        "DescribeAccountAttributes", "DescribeAvailabilityZones", "DescribeImages",
        "DescribeInstanceAttribute", "DescribeInstanceStatus", "DescribeInstanceTypeOfferings",
        "DescribeInstanceTypes", "DescribeInstances", "DescribeKeyPairs",
        "DescribeLaunchTemplateVersions", "DescribeLaunchTemplates", "DescribeNetworkInterfaces",
        "DescribeRegions",
        "DescribeRouteTables", "DescribeSecurityGroups", "DescribeSpotInstanceRequests",
        "DescribeSpotPriceHistory", "DescribeSubnets", "DescribeTags", "DescribeVolumes",
        "DescribeVpcs", "ImportKeyPair", "ModifyLaunchTemplate", "RevokeSecurityGroupIngress",
        "StartInstances", "StopInstances", "TerminateInstances"],
    "iam": ["AddRoleToInstanceProfile", "AttachRolePolicy", "CreateInstanceProfile", "CreateRole",
            "DeleteInstanceProfile", "DeleteRole", "DeleteRolePolicy", "DetachRolePolicy",
            "GetInstanceProfile", "GetRole", "ListAttachedRolePolicies", "ListRolePolicies",
            "PassRole", "PutRolePolicy", "RemoveRoleFromInstanceProfile", "TagRole",
            "SimulatePrincipalPolicy"],
    "sts": ["AssumeRole", "AssumeRoleWithWebIdentity", "GetCallerIdentity", "GetSessionToken"],
}
TEXTS = ["a", "m5.large", "a b", "a+b", "é", "\U0001F680", "a&b=c", "%2F", "", "/dev/sda1",
         "x" * 200, "line\nend", "*~-_.'()", "0", "true"]


@functools.lru_cache
def model(service):
    return botocore.session.get_session().get_service_model(service)


class Maker:
    def __init__(self, rng):
        self.rng = rng

    def value(self, shape, depth):
        rng = self.rng
        kind = shape.type_name
        if kind == "structure":
            names = [name for name in shape.members if self.is_possible(shape.members[name], depth)]
            count = rng.randrange(0, min(len(names), 6) + 1) if names else 0
            return {name: self.value(shape.members[name], depth + 1)
                    for name in rng.sample(names, count)}
        if kind == "list":
            count = rng.choice([0, 1, 1, 2, 12])
            return [self.value(shape.member, depth + 1) for _ in range(count)]
        if kind == "boolean":
            return rng.random() < 0.5
        if kind in ("integer", "long"):
            return rng.choice([0, 1, -1, 65535, 2**31 - 1])
        return rng.choice(TEXTS)

    def is_possible(self, shape, depth):
        """Times are text for us, in one format; recursive shapes must end."""
        return shape.type_name not in ("timestamp", "double", "float", "map") and (
            depth < DEPTH or shape.type_name not in ("structure", "list"))


def make(rng):
    service = rng.choices(["ec2", "iam", "sts"], [8, 1, 1])[0]
    described = model(service)
    action = rng.choice([name for name in OPERATIONS[service]
                         if name in described.operation_names])
    shape = described.operation_model(action).input_shape
    return {"service": service, "action": action,
            "input": Maker(rng).value(shape, 0) if shape else {}}


def expected(record):
    described = model(record["service"])
    given = dict(record["input"])
    if record["action"] == "RunInstances":  # what botocore does before it serializes
        botocore.handlers.base64_encode_user_data(given)
    serializer = botocore.serialize.create_serializer(described.metadata["protocol"], False)
    request = serializer.serialize_to_request(given,
                                              described.operation_model(record["action"]))
    return [(name, str(value)) for name, value in request["body"].items()]


def test_calls(seed, say):
    rng = random.Random(seed)
    records = [make(rng) for _ in range(CALLS)]
    answers = workers.ask_probe(conftest.program("tests", "aws_query_probe"),
                                [json.dumps(record).encode() for record in records])
    counts = collections.Counter(record["service"] for record in records)
    wrong = []
    pairs = 0
    for record, answer in zip(records, answers):
        body = json.loads(answer) if not answer.startswith("!") else answer
        ours = parse_qsl(body, keep_blank_values=True, strict_parsing=True)
        theirs = expected(record)
        pairs += len(theirs)
        if ours != theirs:
            wrong.append("%s\n ours:   %s\n theirs: %s" % (json.dumps(record), ours, theirs))
    say("queries: %d calls, %d parameters, %d differ; %s" % (
        len(records), pairs, len(wrong), dict(counts)))
    assert not wrong, "\n".join(wrong[:SHOWN])


def test_every_name_of_run_instances():
    """Each member of each shape below RunInstances at least once."""
    shape = model("ec2").operation_model("RunInstances").input_shape

    def full(shape, depth=0):
        if shape.type_name == "structure":
            return {name: full(member, depth + 1) for name, member in shape.members.items()
                    if member.type_name not in ("timestamp", "map")}
        if shape.type_name == "list":
            return [full(shape.member, depth + 1), full(shape.member, depth + 1)]
        return {"boolean": True, "integer": 7}.get(shape.type_name, "text")

    record = {"service": "ec2", "action": "RunInstances", "input": full(shape)}
    answer = workers.ask_probe(conftest.program("tests", "aws_query_probe"),
                               [json.dumps(record).encode()])[0]
    assert parse_qsl(json.loads(answer), keep_blank_values=True) == expected(record)
