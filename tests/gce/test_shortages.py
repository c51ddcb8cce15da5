"""Shortages: stockouts, quotas of the project, and request rates."""

import time

import pytest
from conftest import SPOT, ZONE, instance
from google.api_core import exceptions
from test_instances import PLACE, proto


def error_of(operation):
    return operation["error"]["errors"][0]


def test_a_stockout_is_in_the_operation(raw, cloud):
    cloud.set(insert=3)
    cloud.stockout(zone=ZONE)
    status, operation = raw.zonal("POST", "instances", instance("one"))
    assert status == 200 and "error" not in operation
    assert raw.zonal("GET", "instances/one")[1]["status"] == "PROVISIONING"  # for a moment
    operation = raw.wait(operation)
    assert error_of(operation)["code"] == "ZONE_RESOURCE_POOL_EXHAUSTED"
    assert "Try a different zone, or try again later." in error_of(operation)["message"]
    assert operation["httpErrorStatusCode"] == 503
    assert raw.zonal("GET", "instances/one")[0] == 404 and "disks" not in cloud.truth()
    other = "us-central1-b"
    _, operation = raw.zonal("POST", "instances", instance("one", other), zone=other)
    assert "error" not in raw.wait(operation)


def test_a_stockout_with_details(raw, cloud):
    cloud.set(stockout_code="ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS")
    cloud.stockout(type="n1-standard-1")
    failure = error_of(raw.insert("one"))
    assert failure["code"] == "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"
    assert failure["errorDetails"][0]["errorInfo"]["metadatas"]["vmType"] == "n1-standard-1"


def test_a_stockout_as_an_http_error(raw, cloud):
    cloud.set(stockout_status=503)
    cloud.stockout()
    status, value = raw.zonal("POST", "instances", instance("one"))
    assert status == 503
    assert value["error"]["errors"][0]["reason"] == "ZONE_RESOURCE_POOL_EXHAUSTED"


def test_a_failed_operation_is_replayed_as_failed(raw, cloud):
    query = {"requestId": "b3a1f0de-1111-4222-8333-444455556666"}
    cloud.stockout()
    raw.wait(raw.zonal("POST", "instances", instance("one"), **query)[1])
    cloud.clear()
    status, again = raw.zonal("POST", "instances", instance("one"), **query)
    assert status == 200 and error_of(again)["code"] == "ZONE_RESOURCE_POOL_EXHAUSTED"
    assert "instances" not in cloud.truth()


def test_starting_again_needs_capacity(raw, cloud):
    raw.insert("one")
    raw.wait(raw.zonal("POST", "instances/one/stop")[1])
    cloud.stockout()
    operation = raw.wait(raw.zonal("POST", "instances/one/start")[1])
    assert error_of(operation)["code"] == "ZONE_RESOURCE_POOL_EXHAUSTED"
    assert raw.zonal("GET", "instances/one")[1]["status"] == "TERMINATED"


def test_quotas(raw, cloud):
    cloud.quota(metric="CPUS", limit=5)
    raw.insert("one", type="n1-standard-4")
    failure = error_of(raw.insert("two", type="n1-standard-2"))
    assert failure["code"] == "QUOTA_EXCEEDED"
    assert failure["message"] == "Quota 'CPUS' exceeded.  Limit: 5.0 in region us-central1."
    assert failure["errorDetails"][0]["quotaInfo"]["limit"] == 5.0
    assert "error" not in raw.insert("two", type="n1-standard-2", scheduling=SPOT)
    assert "error" not in raw.insert("three", type="n2-standard-2")
    quotas = raw("GET", "projects/shoal-test/regions/us-central1")[1]["quotas"]
    used = {q["metric"]: q["usage"] for q in quotas}
    assert (used["CPUS"], used["PREEMPTIBLE_CPUS"], used["N2_CPUS"]) == (4, 2, 2)
    raw.wait(raw.zonal("POST", "instances/one/stop")[1])
    assert "error" not in raw.insert("four", type="n1-standard-4")
    for name in ("one", "two", "three", "four"):
        raw.wait(raw.zonal("DELETE", f"instances/{name}")[1])
    quotas = raw("GET", "projects/shoal-test/regions/us-central1")[1]["quotas"]
    assert not any(q["usage"] for q in quotas)


def test_quotas_of_gpus_are_global(raw, cloud):
    cloud.quota(metric="GPUS_ALL_REGIONS", limit=0)
    failure = error_of(raw.insert("one", type="g2-standard-4",
                                  scheduling={"onHostMaintenance": "TERMINATE"}))
    assert failure["message"] == "Quota 'GPUS_ALL_REGIONS' exceeded.  Limit: 0.0 globally."


def test_quotas_as_an_http_error(compute, cloud):
    cloud.set(quota_status=403)
    cloud.quota(metric="INSTANCES", limit=0)
    with pytest.raises(exceptions.Forbidden) as caught:
        compute("InstancesClient").insert_unary(instance_resource=proto(instance("one")), **PLACE)
    assert caught.value.errors[0]["reason"] == "quotaExceeded"


# ---- rates ----


def whole_minute(cloud):
    """Move the cloud's clock to the start of a minute."""
    cloud.set(clock=0)
    cloud.set(clock=60 - time.time() % 60 + 0.1)


def test_a_rate_is_full_again_at_the_next_minute(raw, cloud):
    whole_minute(cloud)
    cloud.rate(group="list_requests", limit=2)
    assert [raw.zonal("GET", "instances")[0] for _ in range(3)] == [200, 200, 403]
    status, value = raw.zonal("GET", "instances")
    error = value["error"]["errors"][0]
    assert (error["reason"], error["domain"]) == ("rateLimitExceeded", "usageLimits")
    assert value["error"]["status"] == "PERMISSION_DENIED"
    detail = value["error"]["details"][0]
    assert detail["reason"] == "RATE_LIMIT_EXCEEDED"
    assert detail["metadata"]["quota_location"] == "us-central1"
    # Other groups, other regions and other services have quotas of their own.
    assert raw.zonal("GET", "instances/one")[0] == 404
    assert raw.zonal("GET", "instances", zone="europe-west4-a")[0] == 200
    assert raw("GET", "projects/shoal-test/aggregated/instances")[0] == 200
    before = cloud.set()["clock"]
    cloud.set(clock=before + 30)
    assert raw.zonal("GET", "instances")[0] == 403  # half a minute gives nothing back
    cloud.set(clock=before + 60)
    assert [raw.zonal("GET", "instances")[0] for _ in range(3)] == [200, 200, 403]


def test_groups_of_methods(raw, cloud):
    whole_minute(cloud)
    for group in ("default", "read_requests", "operation_read_requests",
                  "heavy_weight_read_requests"):
        cloud.rate(group=group, limit=0)
    assert raw.zonal("POST", "instances", instance("one"))[0] == 403
    assert raw.zonal("POST", "instances/bulkInsert", {})[0] == 403
    assert raw.zonal("GET", "instances/one")[0] == 403
    assert raw.zonal("GET", "operations/one")[0] == 403
    assert raw.zonal("POST", "operations/one/wait")[0] == 403
    assert raw("GET", "projects/shoal-test/aggregated/instances")[0] == 403
    assert raw.zonal("GET", "instances")[0] == 200
    assert raw("GET", "/v1/projects/shoal-test")[0] == 200


def test_another_status(raw, cloud):
    whole_minute(cloud)
    cloud.rate(group="list_requests", limit=0)
    cloud.set(rate_status=429)
    status, value = raw.zonal("GET", "instances")
    assert status == 429 and value["error"]["errors"][0]["reason"] == "rateLimitExceeded"
    assert value["error"]["status"] == "RESOURCE_EXHAUSTED"
