"""The router and the validator: what Google refuses before it looks at a project."""

import pytest
import requests
from conftest import ZONE, instance, properties

INSTANCES = f"projects/shoal-test/zones/{ZONE}/instances"
UUID = "b3a1f0de-1111-4222-8333-444455556666"


def refused(raw, body, path=INSTANCES, method="POST", status=400, **query):
    """The one error of a refused request."""
    found, value = raw(method, path, body, **query)
    assert found == status, value
    error = value["error"]
    assert error["code"] == status and error["message"] == error["errors"][0]["message"]
    return error


@pytest.mark.parametrize("change, message", [
    ({"colour": 1}, """Unknown name "colour" at 'resource': Cannot find field."""),
    ({"scheduling": {"preemptable": True}},
     """Unknown name "preemptable" at 'resource.scheduling'"""),
    ({"networkInterfaces": [{"subnet": "x"}]},
     """Unknown name "subnet" at 'resource.network_interfaces[0]'"""),
    ({"canIpForward": "yes"}, """Invalid value at 'resource.can_ip_forward' (TYPE_BOOL), "yes\""""),
    ({"description": 7}, "(TYPE_STRING), 7"),
    ({"labels": ["a"]}, "(TYPE_MESSAGE)"),
    ({"fingerprint": "not base64"}, "(TYPE_BYTES)"),
    ({"disks": {"boot": True}}, "(TYPE_MESSAGE)"),
    ({"disks": [{"diskSizeGb": "ten"}]}, "(TYPE_INT64)"),
    ({"scheduling": {"minNodeCpus": 2**31}}, "(TYPE_INT32)"),
])
def test_json_that_does_not_fit_the_schema(raw, change, message):
    error = refused(raw, {**instance("one"), **change})
    assert message in error["message"] and error["errors"][0]["reason"] == "badRequest"
    assert error["status"] == "INVALID_ARGUMENT" and error["details"][0]["fieldViolations"]


@pytest.mark.parametrize("change, message", [
    ({"name": "One"}, "Invalid value for field 'resource.name': 'One'. Must be a match of regex"),
    ({"name": "x" * 64}, "Must be a match of regex"),
    ({"name": "one-"}, "Must be a match of regex"),
    ({"tags": {"items": ["Tag"]}}, "Invalid value for field 'resource.tags.items[0]': 'Tag'."),
    ({"scheduling": {"provisioningModel": "CHEAP"}}, "'resource.scheduling.provisioningModel'"),
    ({"machineType": "n1-standard-1"}, "The URL is malformed."),
    ({"machineType": f"projects/other/zones/{ZONE}/machineTypes/n1-standard-1"},
     "Cross project referencing is not allowed"),
    ({"machineType": "global/images/family/n1-standard-1"}, "The URL is malformed."),
    ({"machineType": "zones/us-central1-b/machineTypes/n1-standard-1"}, "must be in zone"),
    ({"machineType": f"zones/{ZONE}/machineTypes/n1-standard-3"}, "does not exist in zone"),
    ({"labels": {"shoal-launch": "7.12"}}, "Label value must contain only lowercase letters"),
    ({"labels": {"Ray": "x"}}, "Label key must start with a lowercase letter"),
    ({"labels": {"k": "v" * 64}}, "Label value"),
    ({"labels": {f"k{n}": "" for n in range(65)}}, "At most 64 labels"),
    ({"metadata": {"items": [{"key": "a b", "value": ""}]}}, "Must be a match of regex"),
    ({"metadata": {"items": [{"key": "a", "value": ""}] * 2}}, "duplicate keys"),
    ({"metadata": {"items": [{"key": "a", "value": "x" * (256 << 10) + "x"}]}}, "too large"),
    ({"disks": []}, "No disks are specified."),
    ({"networkInterfaces": []}, "At least one network interface is required."),
    ({"networkInterfaces": [{"subnetwork": "regions/us-central1/subnetworks/none"}]},
     "The referenced subnetwork resource cannot be found."),
    ({"networkInterfaces": [{"subnetwork": "regions/europe-west4/subnetworks/default"}]},
     "must be in region 'us-central1'"),
])
def test_values_that_compute_refuses(raw, change, message):
    error = refused(raw, {**instance("one"), **change})
    assert message in error["message"] and error["errors"][0]["reason"] == "invalid"


def test_required_fields_and_parameters(raw):
    body = instance("one")
    del body["name"]
    error = refused(raw, body)
    assert error["message"] == "Required field 'resource.name' not specified"
    assert error["errors"][0]["reason"] == "required"
    assert refused(raw, {})["message"] == "Required field 'resource' not specified"
    body = {"name": "template", "properties": properties()}
    del body["properties"]["machineType"]
    error = refused(raw, body, "projects/shoal-test/global/instanceTemplates")
    assert error["message"] == "Required field 'resource.properties.machineType' not specified"


def test_an_image_that_does_not_exist(raw):
    body = instance("one")
    body["disks"][0]["initializeParams"]["sourceImage"] = \
        "projects/debian-cloud/global/images/family/debian-99"
    error = refused(raw, body, status=404)
    assert error["errors"][0]["reason"] == "notFound"


def test_an_image_for_another_architecture(raw):
    error = refused(raw, instance("one", type="t2a-standard-1"))
    assert "architecture X86_64 does not match" in error["message"]


def test_queries(raw):
    error = refused(raw, None, method="GET", colour="red")
    assert 'Unknown name "colour": Cannot bind query parameter.' in error["message"]
    assert "TYPE_UINT32" in refused(raw, None, method="GET", maxResults="many")["message"]
    assert "'maxResults'" in refused(raw, None, method="GET", maxResults="501")["message"]
    assert "'orderBy'" in refused(raw, None, method="GET", orderBy="size")["message"]
    assert "'pageToken'" in refused(raw, None, method="GET", pageToken="x")["message"]
    assert "UUID" in refused(raw, instance("one"), requestId="one")["message"]
    zero = "00000000-0000-0000-0000-000000000000"
    assert "UUID" in refused(raw, instance("one"), requestId=zero)["message"]


def test_the_dated_versions_have_their_own_parameters(raw):
    """returnPartialSuccess ended with the first dated version; gcloud still sends it as True."""
    path = "projects/shoal-test/aggregated/instances"
    assert raw("GET", path, returnPartialSuccess="True")[0] == 200
    for version in ("2026-09-01", "2026-11-01"):
        assert raw("GET", path, version=version)[0] == 200
        error = refused(raw, None, path, "GET", version=version, returnPartialSuccess="true")
        assert 'Unknown name "returnPartialSuccess"' in error["message"]
    assert "2025-01-01" in refused(raw, None, path, "GET", version="2025-01-01")["message"]


def test_places_and_methods_that_do_not_exist(raw):
    status, page = raw("GET", "projects/shoal-test/planets")
    assert status == 404 and page.startswith("<!DOCTYPE html>")
    refused(raw, None, "projects/other/zones/us-central1-a/instances", "GET", status=404)
    error = refused(raw, None, "projects/shoal-test/zones/mars-1a/instances", "GET")
    assert "Unknown zone" in error["message"]
    error = refused(raw, None, f"{INSTANCES}/Bad_Name", "GET")
    assert "Must be a match of regex" in error["message"]
    error = refused(raw, {}, f"{INSTANCES}/one/suspend", status=501)
    assert "compute.instances.suspend" in error["message"]


def test_bodies_that_are_not_json(cloud):
    headers = {"Authorization": f"Bearer {cloud.token()}"}
    url = f"{cloud.api}/compute/v1/{INSTANCES}"
    form = requests.post(url, data={"name": "one"}, headers=headers, timeout=10)
    assert form.status_code == 400 and "form-encoded" in form.text
    headers["Content-Type"] = "application/json"
    for data in ("{", "[" * 100000, '"one"', "[]"):
        assert requests.post(url, data=data, headers=headers, timeout=10).status_code == 400


def test_what_only_google_may_set_is_ignored(raw):
    raw.insert("one", status="TERMINATED", id="7", creationTimestamp="never")
    value = raw.zonal("GET", "instances/one")[1]
    assert value["status"] == "RUNNING" and value["id"] != "7"


def test_numbers_may_be_texts(raw):
    body = instance("one")
    body["disks"][0]["initializeParams"]["diskSizeGb"] = 30
    raw.wait(raw.zonal("POST", "instances", body)[1])
    assert raw.zonal("GET", "disks/one")[1]["sizeGb"] == "30"


def test_partial_replies(raw):
    raw.insert("one")
    value = raw.zonal("GET", "instances", fields="items(name,disks/boot,tags(fingerprint)),kind")[1]
    assert set(value) == {"items", "kind"}
    assert set(value["items"][0]) == {"name", "disks", "tags"}
    assert value["items"][0]["disks"] == [{"boot": True}]
    assert raw.zonal("GET", "instances/one", fields="name,status")[1] == {
        "name": "one", "status": "RUNNING"}
    for text in ("a(", "a/", ",a", "a)b"):
        assert raw.zonal("GET", "instances", fields=text)[0] == 400
