"""Signatures must be botocore's to the last byte: a request signed differently is refused.

SHOAL_DIFF_SIGNATURES  number of requests (default 2000)
"""

import collections
import datetime
import hashlib
import json
import os
import random
from unittest import mock
from urllib.parse import quote

import pytest

import conftest
import workers

botocore = pytest.importorskip("botocore")

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

REQUESTS = int(os.environ.get("SHOAL_DIFF_SIGNATURES") or 2000)
SHOWN = 5
FORM = "application/x-www-form-urlencoded; charset=utf-8"
SERVICES = ["ec2", "sts", "iam", "ssm", "s3", "pricing"]
REGIONS = ["us-east-1", "eu-central-1", "cn-north-1", "us-gov-west-1", "ap-southeast-2"]
WORDS = ["a", "B", "key", "Action", "Filter.1.Name", "Filter.10.Value.1", "Filter.2.Value.1",
         "prefix", "list-type", "x y", " ", "+", "a+b", "%", "%2F", "%zz", "/", "//", "a/b", "~",
         "-_.~", "*", "'", '"', "()", "!", "@", ":", ";", ",", "$", "&", "=", "a=b", "?", "#",
         "[x]",
         "{}", "|", "\\", "^", "`", "<>", "é", "ü", "数据", "\U0001F680", "\uff5e", "e\u0301", "\x7f",
         "\x01", "0", "10", "9", "A", "Z", "_", ""]
SEGMENTS = ["a", "bucket", "key.txt", "", ".", "..", "...", "%2F", "%20", "a%20b", "a b", "~me",
            "~", "%7E", "é", "%C3%A9", "+", "a+b", "=", "a=b", "a&b", ":", "@", "!", "*", "'",
            "(x)", ";", ",", "$", "[1]", "|", "^", "a.b", "-_.", "数据", "\U0001F680", "%", "%zz",
            "%2e%2e", "x" * 90]
HEADERS = ["Content-Type", "X-Amz-Target", "x-amz-meta-b", "X-Amz-Meta-A", "Content-MD5", "Range",
           "User-Agent", "Expect", "Connection", "X-Amzn-Trace-Id", "x-custom", "X-Custom", "Zeta",
           "TE", "if-match", "X-Amz-Acl", "content-length", "traceparent", "My-Header"]
VALUES = ["a", "b", "  lead", "trail  ", "two  blanks", "tab\there", " \t mixed \t ", "a,b", "a;b",
          '"quo  ted"', "é", "数据", "", " ", FORM, "application/x-amz-json-1.1", "bytes=0-9",
          "AmazonSSM.GetParameter", "k:v"]
BODIES = ["", "Action=DescribeInstances&Version=2016-11-15", "{}", "é", "\x00\x01", "x" * 5000,
          '{"Name": "/aws/service/ami"}', " "]
SECRETS = ["wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "s", "é\U0001F511", "k" * 64,
           "k" * 61, "k" * 60]
TOKENS = ["", "", "tok", "IQoJb3JpZ2luX2VjEA/+==", "a b", "é"]


def pick_text(rng):
    return "".join(rng.choices(WORDS, k=rng.choice([1, 1, 2, 3])))


def pick_path(rng):
    path = "/" + "/".join(rng.choices(SEGMENTS, k=rng.randrange(0, 6)))
    return path + rng.choice(["", "", "/", "//"])


def pick_query(rng, record):
    """As pairs that are encoded for us, or as already encoded text of a URL."""
    pairs = [[pick_text(rng), pick_text(rng)] for _ in range(rng.choice([0, 1, 2, 3, 8]))]
    if record["mode"] == "presign":  # botocore keeps one value of each name there
        record["params"] = [list(pair) for pair in dict(pairs).items()]
    elif rng.random() < 0.5:
        record["params"] = pairs + pairs[:rng.randrange(0, 2)]
    else:
        parts = [quote(name, safe="") + rng.choice(["=", "=", ""]) + quote(value, safe="-_.~/:")
                 for name, value in pairs]
        record["query"] = "&".join(parts) + rng.choice(["", "", "&", "&&", "&=", "=x"])


def make(rng):
    service = rng.choice(SERVICES)
    host = rng.choice(["%s.us-east-1.amazonaws.com" % service, "localhost:4566", "[::1]:8080",
                       "bucket.s3.amazonaws.com", "10.0.0.1"])
    body = rng.choice(BODIES)
    record = {
        "mode": rng.choice(["sign", "sign", "presign"]), "service": service, "host": host,
        "method": rng.choice(["GET", "POST", "PUT", "DELETE", "HEAD", "post"]),
        "path": pick_path(rng), "region": rng.choice(REGIONS), "body": body,
        "headers": [[name, rng.choice(VALUES)] for name
                    in rng.sample(HEADERS, rng.randrange(0, 5))],
        "payload": rng.choice(["body", "body", "hash", "unsigned"]),
        "hash": hashlib.sha256(body.encode()).hexdigest(),
        "access": rng.choice(["AKIDEXAMPLE", "ASIAIOSFODNN7EXAMPLE", "A/K+"]),
        "secret": rng.choice(SECRETS), "token": rng.choice(TOKENS),
        "time": rng.randrange(0, 2**32), "expires": rng.choice([1, 3600, 604800]),
    }
    if record["headers"] and rng.random() < 0.3:  # the same header twice
        record["headers"].append([rng.choice(record["headers"])[0], rng.choice(VALUES)])
    if record["mode"] == "presign":
        record.update(payload="body", body="", headers=[
            pair for pair in record["headers"] if pair[0] != "Content-Type"])
    pick_query(rng, record)
    return record


def signer(record):
    credentials = Credentials(record["access"], record["secret"], record["token"] or None)
    is_s3 = record["service"] == "s3"
    arguments = (credentials, record["service"], record["region"])
    if record["mode"] == "presign":
        kind = botocore.auth.S3SigV4QueryAuth if is_s3 else botocore.auth.SigV4QueryAuth
        return kind(*arguments, expires=record["expires"])
    return (botocore.auth.S3SigV4Auth if is_s3 else botocore.auth.SigV4Auth)(*arguments)


def build(record):
    url = "https://" + record["host"] + record["path"]
    if record.get("query"):
        url += "?" + record["query"]
    params = [tuple(pair) for pair in record.get("params", [])]
    if record["mode"] == "presign":
        params = dict(params)
    request = AWSRequest(method=record["method"], url=url, params=params or None,
                         data=record["body"].encode())
    for name, value in record["headers"]:
        request.headers.add_header(name, value)
    signs = record["payload"] != "unsigned"
    request.context["client_config"] = Config(s3={"payload_signing_enabled": signs})
    request.context["payload_signing_enabled"] = signs
    if record["payload"] == "hash":
        request.headers["X-Amz-Content-SHA256"] = record["hash"]
    return request


def expected(record):
    request = build(record)
    auth = signer(record)
    seen = {}
    canonical_request = auth.canonical_request

    def note(request):
        seen["canonical"] = canonical_request(request)
        return seen["canonical"]

    auth.canonical_request = note
    now = datetime.datetime.fromtimestamp(record["time"], datetime.timezone.utc)
    with mock.patch("botocore.auth.get_current_datetime", lambda: now.replace(tzinfo=None)):
        auth.add_auth(request)
    if record["mode"] == "presign":
        return {"query": request.url.partition("?")[2]}
    names = ["X-Amz-Date", "X-Amz-Security-Token", "X-Amz-Content-SHA256", "Authorization"]
    answer = {name: request.headers[name] for name in names if name in request.headers}
    return dict(answer, canonical=seen["canonical"])


def test_signatures(seed, say):
    rng = random.Random(seed)
    records = [make(rng) for _ in range(REQUESTS)]
    answers = workers.ask_probe(conftest.program("tests", "sigv4_probe"),
                                [json.dumps(record).encode() for record in records])
    wrong = []
    counts = collections.Counter()
    for record, answer in zip(records, answers):
        counts[record["mode"] + " " + record["service"]] += 1
        wanted = expected(record)
        if answer.startswith("!") or json.loads(answer) != wanted:
            wrong.append("%s\n ours:   %s\n theirs: %s" % (json.dumps(record), answer,
                                                           json.dumps(wanted)))
    say("sigv4: %d requests, %d differ; %s" % (len(records), len(wrong), ", ".join(
        "%d %s" % (number, what) for what, number in sorted(counts.items()))))
    assert not wrong, "\n".join(wrong[:SHOWN])
