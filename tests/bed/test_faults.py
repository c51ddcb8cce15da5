"""Faults happen as described and as often as set. No machines."""

import concurrent.futures
import json
import time

import pytest
from botocore.exceptions import (ClientError, ConnectionClosedError, IncompleteReadError,
                                 ReadTimeoutError, ResponseStreamingError)
from botocore.parsers import ResponseParserError
from conftest import listing, refused

from cloud import settings
from cloud.client import BedError

CLOSED = (ConnectionClosedError, ResponseStreamingError, IncompleteReadError)


# ---- refusals ----


def test_throttling(paper, ec2, run):
    paper.fault("RunInstances", "throttle", count=2)
    for _ in range(2):
        with refused("RequestLimitExceeded") as caught:
            run()
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503
    assert run() and len(listing(ec2)) == 1


@pytest.mark.parametrize("service, call, code", [
    ("sts", "get_caller_identity", "Throttling"), ("s3", "list_buckets", "SlowDown"),
    ("ssm", "describe_parameters", "ThrottlingException")])
def test_each_service_throttles_in_its_words(paper, aws, service, call, code):
    paper.fault(f"{service}:*", "throttle")
    with refused(code):
        getattr(aws(service), call)()


def test_any_error(paper, ec2):
    paper.fault("DescribeRegions", "error", code="Unavailable")
    with refused("Unavailable") as caught:
        ec2.describe_regions()
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503
    ec2.describe_regions()


def test_for_ever_is_until_cleared(paper, ec2):
    paper.fault("Describe*", "throttle", count=0)
    for _ in range(5):
        with refused("RequestLimitExceeded"):
            ec2.describe_regions()
    paper.clear()
    ec2.describe_regions()


def test_of_one_identity(paper, aws, ec2):
    guest = paper.mint(name="guest")
    paper.fault("*", "error", code="Odd", identity="guest", count=0)
    with refused("Odd"):
        aws("ec2", key=guest["key"], secret=guest["secret"],
            token=guest["token"]).describe_regions()
    ec2.describe_regions()


def test_buckets_fill_again(paper, ec2, run):
    paper.set(throttle=1)
    # At the same time: one by one on a busy machine, the bucket could fill as fast as they come.
    with refused("RequestLimitExceeded"), concurrent.futures.ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda _: run(), range(12)))
    time.sleep(1.1)
    assert run()


# ---- ambiguous failures ----


def test_reset_before_the_effect(paper, ec2, run):
    paper.fault("RunInstances", "reset")
    with pytest.raises(ConnectionClosedError):
        run(ClientToken="t")
    assert listing(ec2) == []
    run(ClientToken="t")


def test_reset_after_the_effect(paper, ec2, run):
    """The ambiguous case: only the client token can settle it."""
    paper.fault("RunInstances", "reset", after=True)
    with pytest.raises(ConnectionClosedError):
        run(ClientToken="t")
    made = [i["InstanceId"] for i in listing(ec2)]
    assert len(made) == 1
    assert run(ClientToken="t") == made


@pytest.mark.parametrize("after, there", [(False, 0), (True, 1)])
def test_hang(paper, aws, ec2, run, after, there):
    paper.fault("RunInstances", "hang", seconds=10, after=after)
    hasty = aws("ec2", read_timeout=1)
    start = time.monotonic()
    with pytest.raises(ReadTimeoutError):
        run(hasty, ClientToken="t")
    assert time.monotonic() - start < 9
    assert len(listing(ec2)) == there
    assert len(run(ClientToken="t")) == 1 == len(listing(ec2))


def test_hang_that_ends(paper, run):
    paper.fault("RunInstances", "hang", seconds=0.2)
    with pytest.raises(ConnectionClosedError):
        run()


def test_truncated_body(paper, ec2, run):
    paper.fault("RunInstances", "truncate")
    with pytest.raises((*CLOSED, ResponseParserError)):
        run(ClientToken="t")
    assert len(listing(ec2)) == 1


@pytest.mark.parametrize("shape", ["html", "binary", "empty", "deep", "entity"])
def test_garbage_with_status_200(paper, ec2, run, shape):
    paper.fault("RunInstances", "garbage", shape=shape)
    with pytest.raises((ResponseParserError, KeyError, ClientError)):
        run(ClientToken="t")
    assert len(listing(ec2)) == 1


def test_garbage_for_a_claim_is_not_a_bug_of_the_bed(paper, ec2):
    """The reply is garbled, the effect is not, and the log names it."""
    made = {"LaunchTemplateName": "a-lease", "LaunchTemplateData": {"InstanceType": "m5.large"}}
    ec2.create_launch_template(**made)
    for shape in ("html", "binary", "empty"):
        paper.fault("CreateLaunchTemplateVersion", "garbage", shape=shape)
        try:
            reply = ec2.create_launch_template_version(**made, VersionDescription=shape)
            assert "LaunchTemplateVersion" not in reply
        except (ResponseParserError, ClientError) as error:
            assert "BedBug" not in str(error)
    with open(settings.STATE / "calls.jsonl", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    claims = [row["lease"].get("claim") for row in rows if "lease" in row]
    assert claims[-3:] == ["html", "binary", "empty"]


def test_redirect(paper, ec2, run):
    paper.fault("RunInstances", "redirect")
    with pytest.raises((ClientError, ResponseParserError)):
        run()
    assert listing(ec2) == []


def test_slow(paper, ec2):
    paper.fault("DescribeRegions", "slow", seconds=0.5)
    start = time.monotonic()
    ec2.describe_regions()
    assert time.monotonic() - start >= 0.5


def test_page_loop(paper, ec2, run):
    """A client that does not check reads the same page forever."""
    run(Count=12)
    paper.fault("DescribeInstances", "loop", count=0)
    first = ec2.describe_instances(MaxResults=5)["NextToken"]
    second = ec2.describe_instances(MaxResults=5, NextToken=first)["NextToken"]
    assert second == first


# ---- chance ----


def test_chance_is_seeded(paper, ec2):
    def sample():
        paper.clear()
        paper.mix(0)  # sets the seed
        paper.fault("DescribeRegions", "throttle", count=0, chance=0.3)
        hits = []
        for _ in range(40):
            try:
                ec2.describe_regions()
                hits.append(0)
            except ClientError:
                hits.append(1)
        return hits

    first = sample()
    assert sample() == first and 3 < sum(first) < 25


def test_a_mix_of_all_with_retries(paper, aws, run):
    """A client that retries with tokens succeeds and creates nothing twice."""
    paper.mix(0.3, seed=7, seconds=0.05)
    patient = aws("ec2", attempts=10)
    for number in range(15):
        for _ in range(10):
            try:
                run(patient, ClientToken=f"t{number}")
                break
            except (ClientError, ResponseParserError, KeyError, *CLOSED):
                continue
    paper.clear()
    assert len(listing(patient)) == 15


# ---- counting ----


def test_calls_are_counted_by_action(paper, ec2, run):
    paper.counts(clear=True)
    run()
    for _ in range(3):
        ec2.describe_regions()
    assert paper.counts(who="laptop") == {"RunInstances": 1, "DescribeRegions": 3}
    paper.fault("DescribeRegions", "throttle")
    with refused("RequestLimitExceeded"):
        ec2.describe_regions()
    assert paper.ask("counts")["refused"] == {"RequestLimitExceeded": 1}


def test_an_unknown_fault_is_refused(paper):
    with pytest.raises(BedError, match="no fault"):
        paper.fault("*", "nonsense")
    with pytest.raises(BedError, match="nothing is called"):
        paper.set(nonsense=1)
