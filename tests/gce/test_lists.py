"""Listings: pages, scopes, filters, and what they show late."""

import time

import pytest
from conftest import ZONE, instance

PROJECT = "shoal-test"
ALL = f"projects/{PROJECT}/aggregated/instances"


@pytest.fixture
def five(raw):
    """a1..a3 in zone a, b1 and b2 in zone b; labels n=1..5."""
    operations = []
    for number, name in enumerate(("a1", "a2", "a3", "b1", "b2"), 1):
        zone = f"us-central1-{name[0]}"
        body = instance(name, zone, labels={"n": str(number), **({"odd": "yes"} if number % 2
                                                                 else {})})
        operations.append(raw.zonal("POST", "instances", body, zone=zone)[1])
    for operation in operations:
        raw.wait(operation)
    return raw


def names(raw, **query):
    status, value = raw.zonal("GET", "instances", **query)
    assert status == 200, value
    return [i["name"] for i in value.get("items", [])]


def test_pages(five):
    first = five.zonal("GET", "instances", maxResults="2")[1]
    assert [i["name"] for i in first["items"]] == ["a1", "a2"]
    token = first["nextPageToken"]
    five.wait(five.zonal("DELETE", "instances/a2")[1])  # the next page does not shift
    second = five.zonal("GET", "instances", maxResults="2", pageToken=token)[1]
    assert [i["name"] for i in second["items"]] == ["a3"] and "nextPageToken" not in second
    status, value = five.zonal("GET", "instances", pageToken=token, filter="name = a1")
    assert status == 400 and "pageToken" in value["error"]["message"]  # of another request
    assert names(five, orderBy="creationTimestamp desc") == ["a3", "a1"]


def test_an_aggregated_list_with_pages(five, compute, service):
    client = compute("InstancesClient")
    found = {}
    for scope, entry in client.aggregated_list({"project": PROJECT, "max_results": 2}):
        found.setdefault(scope, []).extend(i.name for i in entry.instances)
    assert found["zones/us-central1-a"] == ["a1", "a2", "a3"]
    assert found["zones/us-central1-b"] == ["b1", "b2"] and found["zones/europe-west4-a"] == []
    api = service().instances()
    request, pages = api.aggregatedList(project=PROJECT, maxResults=2), []
    while request:
        reply = request.execute()
        assert len(reply["items"]) == 7  # every zone is in every page
        empty = reply["items"]["zones/us-central1-f"]["warning"]
        assert empty["code"] == "NO_RESULTS_ON_PAGE"
        pages.append([i["name"] for entry in reply["items"].values()
                      for i in entry.get("instances", [])])
        request = api.aggregatedList_next(request, reply)
    assert pages == [["a1", "a2"], ["a3", "b1"], ["b2"]]


def test_a_small_page_of_the_cloud(five, cloud):
    """The cloud may return fewer than maxResults; a client must follow the token."""
    cloud.set(page=2)
    reply = five.zonal("GET", "instances", maxResults="500")[1]
    assert len(reply["items"]) == 2 and reply["nextPageToken"]


def test_an_unreachable_zone(five, cloud):
    cloud.unreachable(zone="us-central1-b")
    for query in ({"version": "2026-11-01"}, {"returnPartialSuccess": "true"}):
        reply = five("GET", ALL, **query)[1]
        assert reply["unreachables"] == [
            "https://www.googleapis.com/compute/v1/projects/shoal-test/zones/us-central1-b"]
        assert reply["items"]["zones/us-central1-b"]["warning"]["code"] == "UNREACHABLE"
        assert len(reply["items"]["zones/us-central1-a"]["instances"]) == 3
    assert five("GET", ALL)[0] == 503  # undated, and partial success was not asked for
    assert five.zonal("GET", "instances", zone="us-central1-b")[0] == 503


FILTERS = [
    ("labels.n = 1", ["a1"]), ("labels.n=1", ["a1"]), ('labels.n = "2"', ["a2"]),
    ("labels.odd:*", ["a1", "a3"]), ("NOT labels.odd:*", ["a2"]), ("-labels.odd:*", ["a2"]),
    ("labels:odd", ["a1", "a3"]),
    ("labels.n = 1 OR labels.n = 2", ["a1", "a2"]),
    ("(labels.n = 1) OR (labels.n = 2) AND (labels.odd = yes)", ["a1"]),
    ("(labels.odd = yes) (name != a1)", ["a3"]),
    ("labels.odd = yes AND NOT name = a1", ["a3"]),
    ("status = RUNNING", ["a1", "a2", "a3"]), ("status != RUNNING", []),
    ("scheduling.automaticRestart = false", []), ("labels.n >= 2", ["a2", "a3"]),
    ("name eq a[12]", ["a1", "a2"]), ("name ne .*1", ["a2", "a3"]),
    ("(name eq a.) (labels.n eq '3')", ["a3"]), ("name eq a", []),
]
BROKEN_FILTERS = [
    "name", "name =", "(name = a1", "name = a1)", "colour = red", "name eq a1 AND name = a1",
    "name eq (", "name = a1 OR", "'a1'", "name eq [", "name eq a1 name eq a2"]


def test_filters(five):
    for text, found in FILTERS:
        assert (text, names(five, filter=text)) == (text, found)
    for text in BROKEN_FILTERS:
        status, value = five.zonal("GET", "instances", filter=text)
        assert (text, status) == (text, 400)
        assert "Invalid list filter expression." in value["error"]["message"]
    for text in ("name = a*", "name:a1"):  # the documentation leaves these open
        assert (text, five.zonal("GET", "instances", filter=text)[0]) == (text, 501)


def test_listings_lag(raw, cloud):
    cloud.set(listing_lag=60, gone_lag=3)
    raw.insert("one")
    assert raw.zonal("GET", "instances/one")[0] == 200
    assert names(raw) == []
    assert [i["name"] for i in cloud.truth()["instances"]] == ["one"]
    cloud.set(listing_lag=0.1)
    assert names(raw) == ["one"]
    raw.wait(raw.zonal("DELETE", "instances/one")[1])
    assert raw.zonal("GET", "instances/one")[0] == 404
    assert names(raw) == ["one"]
    end = time.monotonic() + 20
    while names(raw) and time.monotonic() < end:
        time.sleep(0.05)
    assert names(raw) == []


def test_operations_are_kept_for_a_while(raw, cloud):
    ident = "b3a1f0de-1111-4222-8333-444455556666"
    operation = raw.wait(raw.zonal("POST", "instances", instance("one"), requestId=ident)[1])
    path = operation["selfLink"].partition("/compute/v1/")[2]
    for text in (f'targetLink = "{operation["targetLink"]}"', f"clientOperationId = {ident}"):
        found = raw.zonal("GET", "operations", filter=text)[1]["items"]
        assert [o["name"] for o in found] == [operation["name"]]
    cloud.set(clock=3700)
    later = type(raw)(cloud, cloud.token())
    assert later("GET", path)[0] == 404
    assert "items" not in later.zonal("GET", "operations")[1]


def test_a_wait_ends_early(raw, cloud):
    cloud.set(insert=60, wait=0.2)
    operation = raw.zonal("POST", "instances", instance("one"))[1]
    path = operation["selfLink"].partition("/compute/v1/")[2]
    begin = time.monotonic()
    status, value = raw("POST", f"{path}/wait")
    assert status == 200 and value["status"] == "RUNNING"
    assert 0.2 <= time.monotonic() - begin < 30
    cloud.set(wait=60)
    raw.wait(raw.zonal("DELETE", "instances/one")[1])
    assert raw.wait(operation)["status"] == "DONE"


def test_all_operations_of_a_project(raw):
    raw.insert("one")
    reply = raw("GET", f"projects/{PROJECT}/aggregated/operations",
                filter="operationType=insert")[1]
    assert [o["operationType"] for o in reply["items"][f"zones/{ZONE}"]["operations"]] == ["insert"]
    assert reply["items"]["global"]["warning"]["code"] == "NO_RESULTS_ON_PAGE"
