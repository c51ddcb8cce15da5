"""Faults on demand: lost requests, lost replies, errors at random, delays and garbage."""

import time

import pytest
import requests
from conftest import ZONE, instance
from google.api_core import exceptions
from test_instances import PLACE, proto

UUID = "b3a1f0de-1111-4222-8333-444455556666"


def names(cloud):
    return [i["name"] for i in cloud.truth().get("instances", [])]


def test_a_reply_that_is_lost_after_the_effect(raw, cloud):
    """The outcome is unknown; the same requestId resolves it."""
    cloud.fault("instances.insert", "reset", after=True)
    with pytest.raises(requests.ConnectionError):
        raw.zonal("POST", "instances", instance("one"), requestId=UUID)
    assert names(cloud) == ["one"]
    status, operation = raw.zonal("POST", "instances", instance("one"), requestId=UUID)
    assert status == 200 and "error" not in raw.wait(operation)
    assert names(cloud) == ["one"]


def test_a_request_that_is_lost_before_the_effect(raw, cloud):
    cloud.fault("instances.insert", "hang", seconds=0.2)
    with pytest.raises(requests.ConnectionError):
        raw.zonal("POST", "instances", instance("one"))
    assert names(cloud) == []
    raw.insert("one")


def test_a_timeout(raw, cloud):
    cloud.fault("instances.insert", "slow", seconds=1.0)
    with pytest.raises(requests.Timeout):
        raw.session.post(f"{cloud.api}/compute/v1/projects/shoal-test/zones/{ZONE}/instances",
                         json=instance("one"), timeout=0.3,
                         headers={"Authorization": f"Bearer {raw.token}"})
    end = time.monotonic() + 5
    while not names(cloud) and time.monotonic() < end:
        time.sleep(0.05)
    assert names(cloud) == ["one"]


def test_errors_at_a_rate(raw, cloud):
    cloud.fault("instances.*", "error", status=503, count=0, chance=0.5)
    found = [raw.zonal("GET", "instances")[0] for _ in range(40)]
    assert 8 <= found.count(503) <= 32 and set(found) == {200, 503}
    assert raw.zonal("GET", "disks")[0] == 200  # another method


def test_an_error_after_the_effect(raw, cloud):
    cloud.fault("instances.insert", "error", after=True)
    assert raw.zonal("POST", "instances", instance("one"), requestId=UUID)[0] == 503
    assert names(cloud) == ["one"]
    assert raw.zonal("POST", "instances", instance("one"), requestId=UUID)[0] == 200


def test_google_cloud_compute_raises_the_errors_that_it_knows(compute, cloud):
    client = compute("InstancesClient")
    for fields, expected in (({"kind": "error"}, exceptions.ServiceUnavailable),
                             ({"kind": "error", "status": 500}, exceptions.InternalServerError),
                             ({"kind": "throttle"}, exceptions.Forbidden)):
        cloud.fault("instances.insert", **fields)
        with pytest.raises(expected):
            client.insert_unary(instance_resource=proto(instance("one")), **PLACE)
    assert names(cloud) == []


def test_faults_of_one_identity(raw, raw_as, cloud):
    cloud.fault("*", "error", count=0, identity="user:eve@*")
    assert raw.zonal("GET", "instances")[0] == 200
    assert raw_as("user:eve@example.com").zonal("GET", "instances")[0] == 503


def test_replies_that_cannot_be_read(raw, cloud):
    cloud.fault("instances.list", "truncate")
    with pytest.raises(requests.RequestException):
        raw.zonal("GET", "instances")
    for shape in ("binary", "empty", "entity"):
        cloud.fault("instances.list", "garbage", shape=shape)
        with pytest.raises(requests.JSONDecodeError):
            raw.zonal("GET", "instances")
    cloud.fault("instances.list", "garbage", shape="html")
    assert "Hotel" in raw.zonal("GET", "instances")[1]
    cloud.fault("instances.list", "loop", count=2)
    first = raw.zonal("GET", "instances")[1]["nextPageToken"]
    assert raw.zonal("GET", "instances", pageToken=first)[0] in (200, 400)


def test_the_token_endpoint_fails_too(cloud):
    cloud.fault("token", "error", status=503)
    form = {**cloud.refresh_token(), "grant_type": "refresh_token"}
    assert requests.post(f"{cloud.api}/token", data=form, timeout=10).status_code == 503
    assert requests.post(f"{cloud.api}/token", data=form, timeout=10).status_code == 200


def test_a_mix(raw, cloud):
    cloud.mix(rate=0.9, seconds=0.01)
    broken = 0
    for _ in range(20):
        try:
            broken += raw.zonal("GET", "instances")[0] != 200
        except requests.RequestException:
            broken += 1
    assert broken > 4
    cloud.clear()
    assert raw.zonal("GET", "instances")[0] == 200


def test_faults_of_aws_are_not_known_here(cloud):
    with pytest.raises(Exception, match="stockout"):
        cloud.fault("", "capacity", left=1)
    with pytest.raises(Exception, match="no fault"):
        cloud.fault("", "earthquake")
    with pytest.raises(Exception, match="nothing is called"):
        cloud.set(colour=1)
