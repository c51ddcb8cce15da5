"""Replies of AWS must say to us what they say to botocore, field by field: replies that moto makes,
and replies made by hand in AWS's shape, in pieces of any size.

SHOAL_DIFF_REPLIES  number of hand-made replies of each kind (default 200)
"""

import functools
import json
import os
import random
import re
from xml.etree import ElementTree

import pytest

import aws_replies
import conftest
import workers

boto3 = pytest.importorskip("boto3")
moto = pytest.importorskip("moto")

import botocore.parsers
import botocore.session

REPLIES = int(os.environ.get("SHOAL_DIFF_REPLIES") or 200)
ERROR_TABLE = conftest.REPOSITORY / "src" / "provider" / "aws" / "wire" / "aws_error.c"
NEVER_TOLD = -2**63


def ask(records):
    answers = workers.ask_probe(conftest.program("tests", "aws_reply_probe"),
                                [json.dumps(record).encode() for record in records])
    return [json.loads(answer) if not answer.startswith("!") else answer for answer in answers]


def record_of(instance, state="State"):
    """Our record, from botocore's dictionary."""
    launched = instance.get("LaunchTime")
    known = {"spot": "spot", "capacity-block": "capacity-block"}
    return {
        "id": instance["InstanceId"], "type": instance.get("InstanceType", ""),
        "zone": instance.get("Placement", {}).get("AvailabilityZone", ""),
        "image": instance.get("ImageId", ""), "subnet": instance.get("SubnetId", ""),
        "private_ip": instance.get("PrivateIpAddress", ""),
        "public_ip": instance.get("PublicIpAddress", ""),
        "reason": instance.get("StateReason", {}).get("Code", ""),
        "reason_text": instance.get("StateReason", {}).get("Message", ""),
        "client_token": instance.get("ClientToken", ""),
        "state": instance.get(state, {}).get("Name", "other"),
        "market": known.get(instance.get("InstanceLifecycle"), ""),
        "launched_at": int(launched.timestamp()) if launched else NEVER_TOLD,
        "tags": [[tag["Key"], tag.get("Value", "")] for tag in instance.get("Tags", [])],
    }


def expected(operation, parsed):
    if operation == "DescribeInstances":
        instances = [instance for reservation in parsed.get("Reservations", [])
                     for instance in reservation.get("Instances", [])]
        return {"items": [record_of(instance) for instance in instances],
                "next_token": parsed.get("NextToken", "")}
    if operation == "RunInstances":
        return {"items": [record_of(instance) for instance in parsed.get("Instances", [])],
                "next_token": ""}
    changes = parsed.get("TerminatingInstances", parsed.get("StoppingInstances", parsed.get(
        "StartingInstances", [])))
    return {"items": [record_of(change, "CurrentState") for change in changes], "next_token": ""}


OPS = {"DescribeInstances": "listed", "RunInstances": "launched", "TerminateInstances": "changed",
       "StopInstances": "changed", "StartInstances": "changed"}


@functools.lru_cache
def model(service):
    return botocore.session.get_session().get_service_model(service)


def parse(service, operation, body, status=200, headers=None):
    described = model(service)
    parser = botocore.parsers.create_parser(described.metadata["protocol"])
    return parser.parse({"body": body.encode(), "headers": headers or {}, "status_code": status},
                        described.operation_model(operation).output_shape)


def test_hand_made_machines(seed, say):
    maker = aws_replies.Maker(seed)
    cases = []
    for _ in range(REPLIES):
        cases.append(("DescribeInstances", maker.listed()))
        cases.append(("RunInstances", maker.launched()))
        for action in ["TerminateInstances", "StopInstances", "StartInstances"]:
            cases.append((action, maker.changed(action)))
    answers = ask([{"op": OPS[operation], "body": body, "piece": maker.rng.choice([0, 1, 7, 100])}
                   for operation, body in cases])
    machines = 0
    for (operation, body), answer in zip(cases, answers):
        wanted = expected(operation, parse("ec2", operation, body))
        assert answer == wanted, body
        machines += len(wanted["items"])
    say("replies: %d hand-made, %d machines, 0 differ" % (len(cases), machines))


def test_only_our_tags_are_kept(seed):
    maker = aws_replies.Maker(seed)
    bodies = [maker.listed() for _ in range(50)]
    for body, answer in zip(bodies, ask([{"op": "listed", "body": body, "our_tags": True}
                                         for body in bodies])):
        wanted = expected("DescribeInstances", parse("ec2", "DescribeInstances", body))
        for item in wanted["items"]:
            item["tags"] = [tag for tag in item["tags"]
                            if tag[0].startswith(("ray-", "shoal-", "Name"))]
        assert answer == wanted


def test_a_cut_listing_is_no_listing(seed):
    """Every proper prefix of a reply is refused, and so is a reply with a byte changed to '<'."""
    body = aws_replies.Maker(seed).listed().rstrip()
    cuts = sorted(random.Random(seed).sample(range(len(body.encode())), min(len(body), 400)))
    pieces = [body.encode()[:cut].decode("utf-8", "ignore") for cut in cuts]
    answers = ask([{"op": "listed", "body": piece} for piece in pieces])
    assert all("error" in answer and answer["kind"] == "protocol" for answer in answers)
    refused = ["<RunInstancesResponse/>", "<a/>", "", "x",
               '<!DOCTYPE a [<!ENTITY x "y">]><DescribeInstancesResponse/>',
               "<DescribeInstancesResponse>&x;</DescribeInstancesResponse>",
               "<DescribeInstancesResponse>" + "<a>" * 64 + "</a>" * 64
               + "</DescribeInstancesResponse>",
               "<DescribeInstancesResponse/><DescribeInstancesResponse/>",
               "<DescribeInstancesResponse><reservationSet><item><instancesSet><item><imageId>a"
               "</imageId></item></instancesSet></item></reservationSet>"
               "</DescribeInstancesResponse>"]
    assert all("error" in answer for answer in ask(
        [{"op": "listed", "body": body} for body in refused]))


def flat(element):
    """The form in which the probe prints a tree: only leaves have text."""
    name = element.tag.partition("}")[2] or element.tag
    text = "" if len(element) else element.text or ""
    return [name, text] + [flat(child) for child in element]


def test_trees(seed):
    maker = aws_replies.Maker(seed)
    bodies = [maker.rng.choice([maker.listed, maker.launched])() for _ in range(REPLIES)]
    # ElementTree drops the text after a comment.
    bodies = [body.replace("<!-- a comment -->", "") for body in bodies]
    for body, answer in zip(bodies, ask([{"op": "tree", "body": body} for body in bodies])):
        assert answer == flat(ElementTree.fromstring(body.encode())), body


class Recorder:
    """Keeps the raw bytes of each reply and what botocore read from it."""

    def __init__(self, service):
        self.client = boto3.client(service, region_name="us-east-1", aws_access_key_id="a",
                                   aws_secret_access_key="b")
        self.calls = []
        self.client.meta.events.register("before-parse.*.*", self.keep)

    def keep(self, operation_model, response_dict, **_more):
        self.raw = (operation_model.name, response_dict["status_code"],
                    dict(response_dict["headers"]), response_dict["body"].decode())

    def call(self, name, **parameters):
        try:
            parsed = getattr(self.client, name)(**parameters)
        except self.client.exceptions.ClientError as problem:
            parsed = problem.response
        self.calls.append(self.raw + (parsed,))
        return parsed


def use_ec2():
    ec2 = Recorder("ec2")
    image = ec2.client.describe_images()["Images"][0]["ImageId"]
    tags = [{"ResourceType": "instance", "Tags": [
        {"Key": "ray-cluster-name", "Value": "a & b"}, {"Key": "Name", "Value": "é"}]}]
    made = ec2.call("run_instances", ImageId=image, MinCount=4, MaxCount=4, ClientToken="t",
                    InstanceType="m5.large", TagSpecifications=tags)
    ids = [instance["InstanceId"] for instance in made["Instances"]]
    ec2.call("run_instances", ImageId=image, MinCount=1, MaxCount=1,
             InstanceMarketOptions={"MarketType": "spot"})
    ec2.call("stop_instances", InstanceIds=ids[:1])
    ec2.call("start_instances", InstanceIds=ids[:1])
    ec2.call("terminate_instances", InstanceIds=ids[1:3])
    ec2.call("describe_instances")
    ec2.call("describe_instances", MaxResults=5)
    ec2.call("describe_instances", InstanceIds=["i-0123456789abcdef0"])
    ec2.call("run_instances", ImageId="ami-00000000000000000", MinCount=1, MaxCount=1)
    ec2.call("describe_subnets", SubnetIds=["subnet-1"])
    return ec2.calls


def use_others():
    sts, iam, ssm, s3 = (Recorder(name) for name in ["sts", "iam", "ssm", "s3"])
    sts.call("get_caller_identity")
    sts.call("assume_role", RoleArn="arn:aws:iam::123456789012:role/r", RoleSessionName="session")
    sts.call("assume_role_with_web_identity", RoleArn="arn:aws:iam::123456789012:role/r",
             RoleSessionName="session", WebIdentityToken="token")
    iam.call("get_role", RoleName="none")
    iam.call("get_instance_profile", InstanceProfileName="none")
    ssm.call("get_parameter", Name="/none")
    s3.call("get_object", Bucket="none", Key="k")
    return [call for recorder in (sts, iam, ssm, s3) for call in recorder.calls]


def question(call):
    operation, status, headers, body, _parsed = call
    if status >= 300:
        return {"op": "error", "status": status, "body": body,
                "header": headers.get("x-amzn-errortype", "")}
    others = {"GetCallerIdentity": "identity", "AssumeRole": "keys",
              "AssumeRoleWithWebIdentity": "keys"}
    return {"op": OPS.get(operation) or others[operation], "body": body}


def check_call(call, answer):
    operation, status, _headers, body, parsed = call
    if status >= 300:
        assert answer["code"] == parsed["Error"]["Code"], body
        assert answer["message"] == parsed["Error"]["Message"].strip(), body
    elif operation in OPS:
        assert answer == expected(operation, parsed), body
    elif operation == "GetCallerIdentity":
        assert answer == {"account": parsed["Account"], "arn": parsed["Arn"],
                          "user_id": parsed["UserId"]}
    else:
        keys = parsed["Credentials"]
        assert answer == {"access": keys["AccessKeyId"], "secret": keys["SecretAccessKey"],
                          "token": keys["SessionToken"],
                          "expires_at": int(keys["Expiration"].timestamp())}


def test_replies_of_moto(say):
    with moto.mock_aws():
        calls = use_ec2() + use_others()
    for call, answer in zip(calls, ask([question(call) for call in calls])):
        check_call(call, answer)
    say("replies: %d of moto, 0 differ" % len(calls))


ERRORS = [
    ("ec2", "DescribeInstances", "<?xml version='1.0'?><Response><Errors><Error><Code>%s</Code>"
     "<Message>%s</Message></Error></Errors><RequestID>%s</RequestID></Response>"),
    ("sts", "GetCallerIdentity", "<ErrorResponse xmlns='https://sts.amazonaws.com/doc/2011-06-15/'>"
     "<Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error>"
     "<RequestId>%s</RequestId></ErrorResponse>"),
    ("s3", "ListObjects", "<?xml version='1.0'?>\n<Error><Code>%s</Code><Message>%s</Message>"
     "<RequestId>%s</RequestId><HostId>h</HostId></Error>"),
]


def test_error_bodies():
    cases = []
    for service, operation, form in ERRORS:
        for code in ["RequestLimitExceeded", "InsufficientInstanceCapacity", "SlowDown", "New"]:
            cases.append((service, operation, 503, form % (code, "why &amp; how", "id-1"), {}))
    for kind in ["ThrottlingException", "com.amazon.coral.service#AccessDeniedException",
                 "ParameterNotFound:http://internal.amazon.com/"]:
        body = json.dumps({"__type": kind, "message": "why"})
        cases.append(("ssm", "GetParameter", 400, body, {}))
    answers = ask([{"op": "error", "status": status, "body": body}
                   for _service, _operation, status, body, _headers in cases])
    for (service, operation, status, body, headers), answer in zip(cases, answers):
        wanted = parse(service, operation, body, status, headers)["Error"]
        assert (answer["code"], answer["message"]) == (wanted["Code"], wanted["Message"]), body


def test_every_code_of_the_table():
    """The table uses binary search, so it must be sorted; and every row must be found."""
    rows = re.findall(r'^    (?:ROW|REMEDY|OUTCOME)\("([^"]+)",\s*AWS_(\w+)',
                      ERROR_TABLE.read_text(), re.MULTILINE)
    codes = [code for code, _class in rows]
    assert codes == sorted(set(codes)) and len(codes) > 150
    form = ERRORS[0][2]
    answers = ask([{"op": "error", "status": 503, "body": form % (code, "m", "r")}
                   for code in codes])
    for (code, kind), answer in zip(rows, answers):
        assert (answer["code"], answer["class"]) == (code, kind.lower().replace("_", "-"))


def test_unknown_codes_follow_the_status():
    wanted = {0: "ambiguous", 301: "permanent", 400: "permanent", 401: "auth", 403: "auth",
              404: "permanent", 408: "ambiguous", 429: "throttle", 500: "ambiguous",
              502: "ambiguous", 503: "ambiguous", 504: "ambiguous"}
    for body in ["", "<html><body>Bad gateway</body></html>", "words", "<Response><Err", "{", "[]"]:
        answers = ask([{"op": "error", "status": status, "body": body} for status in wanted])
        assert [answer["class"] for answer in answers] == list(wanted.values())
        assert all(answer["code"] == "" for answer in answers)
