"""bulkInsert: names, per-VM operations, partial stockouts and roll-back."""

import time

from conftest import SPOT, ZONE, properties
from google.cloud import compute_v1
from test_instances import PLACE, proto

GROUP = "operationGroupId={} AND operationType=insert"


def bulk(raw, names=(), zone=ZONE, **more):
    """Send it and wait: the finished bulk operation."""
    body = {"instanceProperties": properties(), **more}
    if names:
        body["perInstanceProperties"] = {name: {} for name in names}
        body.setdefault("count", str(len(names)))
    status, value = raw.zonal("POST", "instances/bulkInsert", body, zone=zone)
    assert status == 200, value
    return raw.wait(value)


def listed(raw):
    return [i["name"] for i in raw.zonal("GET", "instances")[1].get("items", [])]


def of_group(raw, operation):
    query = {"filter": GROUP.format(operation["operationGroupId"])}
    return raw.zonal("GET", "operations", **query)[1]["items"]


def test_many_with_one_request(raw, cloud):
    operation = bulk(raw, ["one", "two", "three"])
    assert "error" not in operation and operation["operationType"] == "bulkInsert"
    status = operation["instancesBulkInsertOperationMetadata"]["perLocationStatus"]
    assert status[f"zones/{ZONE}"] == {"status": "DONE", "targetVmCount": 3, "createdVmCount": 3,
                                       "deletedVmCount": 0, "failedToCreateVmCount": 0}
    assert listed(raw) == ["one", "three", "two"]
    assert sorted(o["targetLink"].rpartition("/")[2] for o in of_group(raw, operation)) == \
        ["one", "three", "two"]
    assert all("clientOperationId" not in o for o in of_group(raw, operation))
    assert cloud.counts()["instances.bulkInsert"] == 1 and "instances.insert" not in cloud.counts()


def test_a_partial_stockout(compute, raw, cloud):
    """Google's client raises no error as long as the operation has none; ours has both."""
    cloud.stockout(zone=ZONE, type="n1-*", left=2)
    names = [f"ray-demo-worker-0000000{n}-compute" for n in range(4)]
    request = compute_v1.BulkInsertInstanceRequest(
        bulk_insert_instance_resource_resource=proto({
            "count": "4", "minCount": "1", "instanceProperties": properties(),
            "perInstanceProperties": {name: {} for name in names}},
            compute_v1.BulkInsertInstanceResource), **PLACE)
    client = compute("InstancesClient")
    operation = raw.wait({"selfLink": client.bulk_insert_unary(request).self_link})
    assert [e["code"] for e in operation["error"]["errors"]] == ["ZONE_RESOURCE_POOL_EXHAUSTED"]
    status = operation["instancesBulkInsertOperationMetadata"]["perLocationStatus"]
    assert (status[f"zones/{ZONE}"]["createdVmCount"],
            status[f"zones/{ZONE}"]["failedToCreateVmCount"]) == (2, 2)
    assert len(listed(raw)) == 2 and set(listed(raw)) < set(names)
    failed = [o for o in of_group(raw, operation) if "error" in o]
    assert len(failed) == 2 and failed[0]["httpErrorStatusCode"] == 503
    assert len(cloud.truth()["disks"]) == 2


def test_too_few_are_rolled_back(raw, cloud):
    cloud.stockout(zone=ZONE, left=2)
    operation = bulk(raw, ["one", "two", "three"], minCount="3")
    codes = [e["code"] for e in operation["error"]["errors"]]
    assert codes == ["VM_MIN_COUNT_NOT_REACHED", "ZONE_RESOURCE_POOL_EXHAUSTED"]
    assert operation["httpErrorStatusCode"] == 503
    assert listed(raw) == [] and "disks" not in cloud.truth()


def test_min_count_is_count_by_default(raw, cloud):
    cloud.stockout(zone=ZONE, left=1)
    operation = bulk(raw, ["one", "two"])
    assert operation["error"]["errors"][0]["code"] == "VM_MIN_COUNT_NOT_REACHED"


def test_a_name_that_is_taken(raw):
    bulk(raw, ["one"])
    operation = bulk(raw, ["one", "two"], minCount="1")
    assert operation["error"]["errors"][0]["code"] == "RESOURCE_ALREADY_EXISTS"
    assert listed(raw) == ["one", "two"]


def test_names_by_pattern(raw):
    bulk(raw, namePattern="ray-##", count="2")
    bulk(raw, namePattern="ray-##", count="1")
    assert listed(raw) == ["ray-01", "ray-02", "ray-03"]


def test_bodies_that_are_refused(raw):
    def refused(**body):
        status, value = raw.zonal("POST", "instances/bulkInsert", body)
        return status, value["error"]["message"]

    each = {"perInstanceProperties": {"one": {}}}
    assert refused(instanceProperties=properties(), count="5001", namePattern="a-#")[0] == 400
    assert refused(instanceProperties=properties(), count="1")[0] == 400
    assert refused(instanceProperties=properties(), namePattern="a-#", **each)[0] == 400
    assert refused(instanceProperties=properties(), count="2", **each)[0] == 400
    assert refused(instanceProperties=properties(), minCount="2", **each)[0] == 400
    assert refused(**each)[0] == 400
    assert refused(instanceProperties=properties(),
                   perInstanceProperties={"One": {}})[0] == 400
    url = {**properties(), "machineType": f"zones/{ZONE}/machineTypes/n1-standard-1"}
    assert refused(instanceProperties=url, **each)[0] == 503  # as SkyPilot saw it


def test_a_stockout_ends(raw, cloud):
    cloud.stockout(zone=ZONE, model="SPOT", end=3)
    body = {"instanceProperties": properties(scheduling=SPOT)}
    assert bulk(raw, ["one"], **body)["error"]
    assert "error" not in bulk(raw, ["two"])  # not spot
    time.sleep(3)
    assert "error" not in bulk(raw, ["three"], **body)


def test_the_request_id_of_a_bulk_insert(raw, cloud):
    body = {"count": "2", "namePattern": "ray-#", "instanceProperties": properties()}
    query = {"requestId": "b3a1f0de-1111-4222-8333-444455556666"}
    first = raw.zonal("POST", "instances/bulkInsert", body, **query)[1]
    second = raw.zonal("POST", "instances/bulkInsert", body, **query)[1]
    assert first["name"] == second["name"]
    raw.wait(first)
    assert listed(raw) == ["ray-1", "ray-2"] and cloud.truth()["mismatches"] == 0


def test_a_thousand(raw, cloud):
    cloud.quota(metric="CPUS", limit=5000)
    cloud.quota(metric="INSTANCES", limit=5000)
    cloud.quota(metric="CPUS_ALL_REGIONS", limit=5000)
    lean = properties()
    del lean["networkInterfaces"][0]["accessConfigs"]
    operation = bulk(raw, namePattern="ray-####", count="1000", instanceProperties=lean)
    assert "error" not in operation
    page = raw.zonal("GET", "instances", fields="items/name,nextPageToken")[1]
    assert len(page["items"]) == 500 and page["nextPageToken"]
