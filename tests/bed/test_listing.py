"""DescribeInstances and instance states: lag, pages, terminations. No machines."""

import time

import pytest
from conftest import by_id, listing, refused, wait_for, wait_state


def ids_of(reply):
    return [i["InstanceId"] for r in reply["Reservations"] for i in r["Instances"]]


# ---- lag ----


def test_a_new_instance_is_not_listed_at_once(paper, ec2, run):
    paper.set(listing_lag=4)
    start = time.monotonic()
    ident = run()[0]
    assert listing(ec2) == []
    with refused("InvalidInstanceID.NotFound"):
        by_id(ec2, ident)
    with refused("InvalidInstanceID.NotFound"):
        ec2.create_tags(Resources=[ident], Tags=[{"Key": "a", "Value": "b"}])
    with refused("InvalidInstanceID.NotFound"):
        ec2.terminate_instances(InstanceIds=[ident])
    wait_for(lambda: listing(ec2))
    assert time.monotonic() - start >= 4
    assert by_id(ec2, ident)


def test_the_lag_can_be_taken_back(paper, ec2, run):
    paper.set(listing_lag=60)
    ident = run()[0]
    assert listing(ec2) == []
    paper.set(listing_lag=0)
    assert [i["InstanceId"] for i in listing(ec2)] == [ident]


def test_pending_takes_a_while(paper, ec2, run):
    paper.set(pending=3)
    ident = run()[0]
    assert by_id(ec2, ident)["State"] == {"Code": 0, "Name": "pending"}
    pending = listing(ec2, Filters=[{"Name": "instance-state-name", "Values": ["pending"]}])
    assert [i["InstanceId"] for i in pending] == [ident]
    assert wait_state(ec2, ident, "running")["State"]["Code"] == 16


def test_an_instance_may_die_at_launch(paper, ec2, run):
    paper.launch_fault("dies", code="Client.VolumeLimitExceeded")
    found = wait_state(ec2, run()[0], "terminated")
    assert found["StateReason"]["Code"] == "Client.VolumeLimitExceeded"


# ---- pages ----


def test_pages_are_of_instances(paper, ec2, run):
    """Also within one reservation, which a page may split."""
    made = set(run(Count=12))
    first = ec2.describe_instances(MaxResults=5)
    assert len(ids_of(first)) == 5 and first["NextToken"]
    seen, reply = ids_of(first), first
    while reply.get("NextToken"):
        reply = ec2.describe_instances(MaxResults=5, NextToken=reply["NextToken"])
        seen += ids_of(reply)
    assert len(seen) == 12 and set(seen) == made


def test_a_listing_is_never_more_than_a_page(paper, ec2, run):
    run(Count=8)
    paper.set(page=5)
    reply = ec2.describe_instances()
    assert len(ids_of(reply)) == 5 and reply["NextToken"]
    assert len(listing(ec2)) == 8


@pytest.mark.parametrize("size", [4, 1001])
def test_page_sizes_are_checked(paper, ec2, size):
    with refused("InvalidParameterValue"):
        ec2.describe_instances(MaxResults=size)


def test_ids_and_pages_do_not_go_together(paper, ec2, run):
    with refused("InvalidParameterCombination"):
        ec2.describe_instances(InstanceIds=run(), MaxResults=5)


def test_a_page_token_is_bound_to_its_question(paper, ec2, run):
    run(Count=8)
    token = ec2.describe_instances(MaxResults=5)["NextToken"]
    with refused("InvalidParameterValue"):
        ec2.describe_instances(MaxResults=5, NextToken=token, Filters=[
            {"Name": "instance-type", "Values": ["m5.large"]}])
    with refused("InvalidParameterValue"):
        ec2.describe_instances(MaxResults=5, NextToken="nonsense")


@pytest.mark.parametrize("hundreds", [2, pytest.param(10, marks=pytest.mark.long)])
def test_a_large_listing(paper, ec2, run, hundreds):
    """A listing must handle a thousand instances."""
    paper.set(vcpu_quota=2000)
    made = {ident for _ in range(hundreds) for ident in run(Count=100)}
    start = time.monotonic()
    reply = ec2.describe_instances()
    assert len(ids_of(reply)) == 100 * hundreds and "NextToken" not in reply
    seen = {i["InstanceId"] for i in listing(ec2, PaginationConfig={"PageSize": 100})}
    assert seen == made and time.monotonic() - start < 60


@pytest.mark.parametrize("pattern, least", [("[cmr][56]*", 150), pytest.param(
    "*", 1000, marks=pytest.mark.long)])
def test_types_come_in_pages_of_a_hundred(paper, ec2, pattern, least):
    asked = {"Filters": [{"Name": "instance-type", "Values": [pattern]}]}
    reply = ec2.describe_instance_types(**asked)
    assert len(reply["InstanceTypes"]) == 100 and reply["NextToken"]
    pages = ec2.get_paginator("describe_instance_types").paginate(**asked)
    names = [t["InstanceType"] for page in pages for t in page["InstanceTypes"]]
    assert len(names) == len(set(names)) > least


# ---- terminations ----


def test_termination_takes_a_while(paper, ec2, run):
    paper.set(terminating=3)
    ident = run()[0]
    wait_state(ec2, ident, "running")
    change = ec2.terminate_instances(InstanceIds=[ident])["TerminatingInstances"][0]
    assert (change["PreviousState"]["Name"], change["CurrentState"]["Name"]) == (
        "running", "shutting-down")
    assert by_id(ec2, ident)["State"]["Name"] == "shutting-down"
    found = wait_state(ec2, ident, "terminated")
    assert "PrivateIpAddress" not in found and "PublicIpAddress" not in found
    assert found["StateReason"]["Code"] == "Client.UserInitiatedShutdown"


def test_terminate_is_repeatable(paper, ec2, run):
    ident = run()[0]
    for _ in range(2):
        ec2.terminate_instances(InstanceIds=[ident])
    wait_state(ec2, ident, "terminated")
    change = ec2.terminate_instances(InstanceIds=[ident])["TerminatingInstances"][0]
    assert change["CurrentState"]["Name"] == "terminated"


def test_terminate_is_all_or_nothing(paper, ec2, run):
    ident = run()[0]
    with refused("InvalidInstanceID.NotFound"):
        ec2.terminate_instances(InstanceIds=[ident, "i-0123456789abcdef0"])
    with refused("InvalidInstanceID.Malformed"):
        ec2.terminate_instances(InstanceIds=[ident, "i-12"])
    assert by_id(ec2, ident)["State"]["Name"] in ("pending", "running")


def test_a_protected_instance_stays(paper, ec2, run):
    ident = run()[0]
    ec2.modify_instance_attribute(InstanceId=ident, DisableApiTermination={"Value": True})
    with refused("OperationNotPermitted"):
        ec2.terminate_instances(InstanceIds=[ident])


def test_a_terminated_instance_vanishes_at_last(paper, ec2, run):
    ident = run()[0]
    ec2.terminate_instances(InstanceIds=[ident])
    wait_state(ec2, ident, "terminated")
    paper.set(terminated_kept=0.1)
    wait_for(lambda: not listing(ec2))
    with refused("InvalidInstanceID.NotFound"):
        by_id(ec2, ident)


def test_stop_and_start(paper, ec2, run):
    ident = run()[0]
    before = wait_state(ec2, ident, "running")
    ec2.stop_instances(InstanceIds=[ident])
    stopped = wait_state(ec2, ident, "stopped")
    assert "PublicIpAddress" not in stopped
    assert stopped["PrivateIpAddress"] == before["PrivateIpAddress"]
    ec2.start_instances(InstanceIds=[ident])
    after = wait_state(ec2, ident, "running")
    assert after["PrivateIpAddress"] == before["PrivateIpAddress"]
    assert after["PublicIpAddress"] != before["PublicIpAddress"]


def test_states_that_forbid(paper, ec2, run):
    paper.set(pending=30)
    ident = run()[0]
    with refused("IncorrectInstanceState"):
        ec2.stop_instances(InstanceIds=[ident])
    ec2.terminate_instances(InstanceIds=[ident])
    wait_state(ec2, ident, "terminated")
    with refused("IncorrectInstanceState"):
        ec2.start_instances(InstanceIds=[ident])


def test_a_spot_instance_cannot_be_stopped(paper, ec2, run):
    ident = run(InstanceMarketOptions={"MarketType": "spot"})[0]
    wait_state(ec2, ident, "running")
    with refused("UnsupportedOperation"):
        ec2.stop_instances(InstanceIds=[ident])


def test_filters_see_the_bed_s_states(paper, ec2, run):
    paper.set(terminating=5)
    here, gone = run(Count=2)
    ec2.terminate_instances(InstanceIds=[gone])
    alive = listing(ec2, Filters=[{"Name": "instance-state-name",
                                   "Values": ["pending", "running"]}])
    assert [i["InstanceId"] for i in alive] == [here]
    ending = listing(ec2, Filters=[{"Name": "instance-state-name", "Values": ["shutting-down"]}])
    assert [i["InstanceId"] for i in ending] == [gone]


def test_status_checks(paper, ec2, run):
    ident = run()[0]
    wait_state(ec2, ident, "running")
    row = ec2.describe_instance_status(InstanceIds=[ident])["InstanceStatuses"][0]
    assert row["InstanceStatus"]["Status"] == "ok"
