"""The life of instances, with Google's own clients."""

import datetime
import json
import time

import pytest
from conftest import SPOT, ZONE, done, instance, properties
from gce import settings
from google.api_core import exceptions
from google.cloud import compute_v1
from googleapiclient.errors import HttpError

PROJECT = "shoal-test"
PLACE = {"project": PROJECT, "zone": ZONE}
UUID = "b3a1f0de-1111-4222-8333-444455556666"


def proto(body, kind=compute_v1.Instance):
    return kind.from_json(json.dumps(body))


def test_insert_and_delete(compute, cloud):
    client = compute("InstancesClient")
    done(client.insert(instance_resource=proto(instance("one", labels={"a": "b"})), **PLACE))
    found = client.get(instance="one", **PLACE)
    assert found.status == "RUNNING" and found.labels == {"a": "b"}
    nic = found.network_interfaces[0]
    assert nic.network_i_p.startswith("198.18.16.")
    assert nic.access_configs[0].nat_i_p.startswith("198.18.136.")
    assert [d.name for d in compute("DisksClient").list(**PLACE)] == ["one"]
    done(client.delete(instance="one", **PLACE))
    with pytest.raises(exceptions.NotFound):
        client.get(instance="one", **PLACE)
    assert "instances" not in cloud.truth() and "disks" not in cloud.truth()


def test_the_same_request_again(compute, service):
    """A requestId gets the operation of the first request; without it, the name is taken."""
    client = compute("InstancesClient")
    request = compute_v1.InsertInstanceRequest(
        instance_resource=proto(instance("one")), request_id=UUID, **PLACE)
    first, second = client.insert_unary(request), client.insert_unary(request)
    assert first.name == second.name and second.client_operation_id == UUID
    with pytest.raises(exceptions.Conflict) as caught:
        client.insert_unary(instance_resource=proto(instance("one")), **PLACE)
    assert caught.value.errors[0]["reason"] == "alreadyExists"
    api = service().instances()
    assert api.insert(body=instance("one"), requestId=UUID, **PLACE).execute()["name"] == first.name
    with pytest.raises(HttpError) as caught:
        api.insert(body=instance("one"), **PLACE).execute()
    assert caught.value.resp.status == 409


def test_a_request_id_is_forgotten_and_a_reuse_is_counted(raw, cloud):
    first = raw.zonal("POST", "instances", instance("one"), requestId=UUID)[1]
    other = raw.zonal("POST", "instances", instance("two"), requestId=UUID)
    assert other == (200, {**first, **other[1]}) and other[1]["name"] == first["name"]
    assert cloud.truth()["mismatches"] == 1
    assert [i["name"] for i in cloud.truth()["instances"]] == ["one"]
    cloud.set(request_mismatch="refuse")
    assert raw.zonal("POST", "instances", instance("two"), requestId=UUID)[0] == 400
    cloud.set(clock=3700)
    raw = type(raw)(cloud, cloud.token())  # the token has expired too
    status, again = raw.zonal("POST", "instances", instance("two"), requestId=UUID)
    assert status == 200 and again["name"] != first["name"]


def test_a_name_that_is_taken_can_be_reported_late(raw, cloud):
    raw.insert("one")
    cloud.late_exists()
    operation = raw.insert("one")
    assert operation["error"]["errors"][0]["code"] == "RESOURCE_ALREADY_EXISTS"
    assert operation["httpErrorStatusCode"] == 409
    assert raw.zonal("GET", "instances/one")[1]["status"] == "RUNNING"


def test_labels_with_a_stale_fingerprint(compute):
    client = compute("InstancesClient")
    done(client.insert(instance_resource=proto(instance("one", labels={"a": "1", "b": "2"})),
                       **PLACE))
    old = client.get(instance="one", **PLACE).label_fingerprint

    def put(labels, fingerprint):
        body = compute_v1.InstancesSetLabelsRequest(labels=labels, label_fingerprint=fingerprint)
        return done(client.set_labels(instance="one", instances_set_labels_request_resource=body,
                                      **PLACE))

    put({"a": "3"}, old)
    assert client.get(instance="one", **PLACE).labels == {"a": "3"}  # replaced, not merged
    for fingerprint in (old, ""):
        with pytest.raises(exceptions.PreconditionFailed) as caught:
            put({"a": "4"}, fingerprint)
        assert caught.value.errors[0]["reason"] == "conditionNotMet"


def test_changes_may_take_effect_late(raw, cloud):
    """Then two writers with the same fingerprint are both accepted, and one write is lost."""
    raw.insert("one", labels={"a": "0"})
    cloud.set(late_changes=1, change=3)
    mark = raw.zonal("GET", "instances/one")[1]["labelFingerprint"]
    operations = [raw.zonal("POST", "instances/one/setLabels", {
        "labels": {"a": value}, "labelFingerprint": mark})[1] for value in "12"]
    assert raw.zonal("GET", "instances/one")[1]["labels"] == {"a": "0"}
    for operation in operations:
        assert "error" not in raw.wait(operation)
    assert raw.zonal("GET", "instances/one")[1]["labels"]["a"] in "12"


def test_metadata_and_tags_have_fingerprints_too(raw):
    raw.insert("one", metadata={"items": [{"key": "a", "value": "1"}]})
    for method, field, body in (("setMetadata", "metadata", {"items": [{"key": "b"}]}),
                                ("setTags", "tags", {"items": ["ray"]})):
        mark = raw.zonal("GET", "instances/one")[1][field]["fingerprint"]
        body["fingerprint"] = mark
        assert raw.zonal("POST", f"instances/one/{method}", body)[0] == 200
        assert raw.zonal("POST", f"instances/one/{method}", body)[0] == 412
        assert raw.zonal("GET", "instances/one")[1][field]["items"] == body["items"]


def test_states_on_the_way(raw, cloud):
    cloud.set(insert=0.4, delete=0.3, queue=0.2)
    status, operation = raw.zonal("POST", "instances", instance("one"))
    assert operation["status"] == "PENDING"
    seen = []
    while raw.zonal("GET", "instances/one")[0] == 200:
        now = raw.zonal("GET", "instances/one")[1]
        if now.get("status") and now["status"] not in seen:
            seen.append(now["status"])
        if now.get("status") == "RUNNING":
            raw.zonal("DELETE", "instances/one")
    steps = ["PROVISIONING", "STAGING", "RUNNING", "STOPPING"]  # a slow test may miss some
    assert seen == [step for step in steps if step in seen] and "RUNNING" in seen


def test_sets_of_delays(raw, cloud):
    cloud.set(**settings.HARSH)
    cloud.set(**settings.SHORT)
    assert cloud.set()["iam_lag"] == settings.SHORT["iam_lag"]
    cloud.set(insert=0.2)
    assert "error" not in raw.insert("one")


def test_deleted_while_it_is_created(raw, cloud):
    cloud.set(insert=5)
    _, insert = raw.zonal("POST", "instances", instance("one"))
    _, delete = raw.zonal("DELETE", "instances/one")
    assert "error" not in raw.wait(delete)
    failed = raw.wait(insert)
    assert failed["httpErrorStatusCode"] == 409
    assert "disks" not in cloud.truth()


def test_deleted_while_it_stops_or_starts(raw, cloud):
    raw.insert("one")
    cloud.set(stop=0.2, delete=1)
    _, stop = raw.zonal("POST", "instances/one/stop")
    _, delete = raw.zonal("DELETE", "instances/one")
    raw.wait(stop)
    assert raw.zonal("GET", "instances/one")[1].get("status") in ("STOPPING", None)
    raw.wait(delete)
    raw.insert("one")
    raw.wait(raw.zonal("POST", "instances/one/stop")[1])
    cloud.set(insert=3, delete=0.1)
    _, start = raw.zonal("POST", "instances/one/start")
    raw.wait(raw.zonal("DELETE", "instances/one")[1])
    assert raw.wait(start)["httpErrorStatusCode"] == 409
    assert "instances" not in cloud.truth()


def test_a_name_is_taken_until_the_instance_is_gone(raw, cloud):
    raw.insert("one")
    cloud.set(delete=3)
    _, operation = raw.zonal("DELETE", "instances/one")
    assert raw.zonal("GET", "instances/one")[1]["status"] == "STOPPING"
    assert raw.zonal("POST", "instances", instance("one"))[0] == 409
    assert raw.zonal("DELETE", "instances/one")[0] == 200  # again: another operation
    raw.wait(operation)
    raw.insert("one")


def test_too_many_deletes(raw, cloud):
    cloud.set(delete=60)
    raw.insert("one")
    for _ in range(5):
        assert raw.zonal("DELETE", "instances/one")[0] == 200
    status, value = raw.zonal("DELETE", "instances/one")
    assert status == 403 and value["error"]["errors"][0]["reason"] == "rateLimitExceeded"


def test_a_new_instance_may_not_be_found_yet(raw, cloud):
    cloud.set(insert=3, get_lag=60)
    _, operation = raw.zonal("POST", "instances", instance("one"))
    assert raw.zonal("GET", "instances/one")[0] == 404
    assert raw.zonal("DELETE", "instances/one")[0] == 404
    assert "items" not in raw.zonal("GET", "instances")[1]
    assert raw.zonal("POST", "instances", instance("one"))[0] == 409
    assert "error" not in raw.wait(operation)
    cloud.set(get_lag=0.1)
    assert raw.zonal("GET", "instances/one")[1]["status"] == "RUNNING"


def test_stop_and_start(raw, cloud):
    raw.insert("one")
    cloud.set(stop=3)
    _, operation = raw.zonal("POST", "instances/one/stop")
    early = raw.wait(raw.zonal("POST", "instances/one/start")[1])
    assert early["error"]["errors"][0]["code"] == "RESOURCE_NOT_READY"
    raw.wait(operation)
    value = raw.zonal("GET", "instances/one")[1]
    assert value["status"] == "TERMINATED" and len(cloud.truth()["disks"]) == 1
    assert "natIP" not in value["networkInterfaces"][0]["accessConfigs"][0]
    raw.wait(raw.zonal("POST", "instances/one/start")[1])
    assert raw.zonal("GET", "instances/one")[1]["status"] == "RUNNING"
    cloud.power_off(instance="one")
    assert raw.zonal("GET", "instances/one")[1]["status"] == "TERMINATED"


def test_disks_stay_unless_they_are_deleted_with_the_instance(raw):
    body = instance("one")
    body["disks"][0]["autoDelete"] = False
    raw.wait(raw.zonal("POST", "instances", body)[1])
    status, value = raw.zonal("DELETE", "disks/one")
    assert status == 400
    assert value["error"]["errors"][0]["reason"] == "resourceInUseByAnotherResource"
    raw.wait(raw.zonal("DELETE", "instances/one")[1])
    assert "users" not in raw.zonal("GET", "disks/one")[1]
    assert raw.zonal("POST", "instances", instance("one"))[0] == 409  # the disk's name is taken
    raw.wait(raw.zonal("DELETE", "disks/one")[1])
    raw.insert("one")


def test_deletion_protection(raw):
    raw.insert("one", deletionProtection=True)
    assert raw.zonal("DELETE", "instances/one")[0] == 400
    raw.wait(raw.zonal("POST", "instances/one/setDeletionProtection",
                       deletionProtection="false")[1])
    assert raw.zonal("DELETE", "instances/one")[0] == 200


def test_host_keys_as_guest_attributes(raw, cloud):
    cloud.set(boot=3)
    raw.insert("one", metadata={"items": [{"key": "enable-guest-attributes", "value": "TRUE"}]})
    status, value = raw.zonal("GET", "instances/one/getGuestAttributes", queryPath="hostkeys/")
    assert status == 404 and value["error"]["message"] == \
        "The resource 'hostkeys/' of type 'Guest Attribute' was not found."
    while status == 404:
        time.sleep(0.05)
        status, value = raw.zonal("GET", "instances/one/getGuestAttributes", queryPath="hostkeys/")
    item = value["queryValue"]["items"][0]
    assert (item["namespace"], item["key"]) == ("hostkeys", "ssh-ed25519")
    assert item["value"].startswith("AAAAC3NzaC1lZDI1NTE5AAAAI")
    raw.insert("two")
    assert raw.zonal("GET", "instances/two/getGuestAttributes")[0] == 403


def test_an_instance_from_a_template(raw, service):
    body = {"name": "small", "properties": properties(labels={"from": "template"})}
    path = "projects/shoal-test/global/instanceTemplates"
    status, operation = raw("POST", path, body)
    assert status == 200 and "/global/operations/" in operation["selfLink"]
    raw.wait(operation)
    assert raw("POST", path, body)[0] == 409
    made = service().instances().insert(
        body={"name": "one"}, sourceInstanceTemplate="global/instanceTemplates/small",
        **PLACE).execute()
    raw.wait(made)
    value = raw.zonal("GET", "instances/one")[1]
    assert value["labels"] == {"from": "template"}
    assert value["machineType"].endswith(f"/zones/{ZONE}/machineTypes/n1-standard-1")
    raw.wait(raw("DELETE", f"{path}/small")[1])
    assert raw("GET", f"{path}/small")[0] == 404


@pytest.mark.parametrize("scheduling, message", [
    ({**SPOT, "automaticRestart": True}, "Automatic restart is not allowed"),
    ({**SPOT, "onHostMaintenance": "MIGRATE"}, "do not support live migration"),
    ({"instanceTerminationAction": "DELETE"}, "cannot specify a termination action"),
    ({"provisioningModel": "STANDARD", "preemptible": True}, "Preemptible must be false"),
    ({"preemptionNoticeDuration": {"seconds": "30"}}, "Only Spot VMs have it"),
])
def test_scheduling_rules(raw, scheduling, message):
    status, value = raw.zonal("POST", "instances", instance("one", scheduling=scheduling))
    assert status == 400 and message in value["error"]["message"]


def test_gpus_do_not_migrate(raw):
    for body in (instance("one", type="g2-standard-4"),
                 instance("one", guestAccelerators=[{
                     "acceleratorType": f"zones/{ZONE}/acceleratorTypes/nvidia-tesla-t4",
                     "acceleratorCount": 1}])):
        status, value = raw.zonal("POST", "instances", body)
        assert status == 400 and "guest accelerators" in value["error"]["message"]
        body["scheduling"] = {"onHostMaintenance": "TERMINATE"}
        status, operation = raw.zonal("POST", "instances", body)
        assert status == 200
        assert "error" not in raw.wait(operation)
        raw.wait(raw.zonal("DELETE", "instances/one")[1])


def preemptions(raw, count):
    """The operations of so many preemptions, finished."""
    query = {"filter": "operationType = compute.instances.preempted"}
    end, found = time.monotonic() + 20, []
    while len(found) < count and time.monotonic() < end:
        found = raw.zonal("GET", "operations", **query)[1].get("items", [])
        time.sleep(0.05)
    assert len(found) == count
    return [raw.wait(operation) for operation in found]


def moment(text):
    return datetime.datetime.fromisoformat(text).timestamp()


def test_preemption_deletes_or_stops(raw, cloud):
    cloud.set(preempt=0.3)
    raw.insert("one", scheduling=SPOT)
    raw.insert("two", scheduling={**SPOT, "instanceTerminationAction": "STOP"})
    for name in ("one", "two"):
        assert cloud.preempt(instance=name) == {"seconds": 0}
    for operation in preemptions(raw, 2):
        assert operation["user"] == "system"
        assert moment(operation["endTime"]) - moment(operation["insertTime"]) >= 0.29
    assert raw.zonal("GET", "instances/one")[0] == 404
    assert raw.zonal("GET", "instances/two")[1]["status"] == "TERMINATED"
    raw.insert("three")
    with pytest.raises(Exception, match="not a spot instance"):
        cloud.preempt(instance="three")
