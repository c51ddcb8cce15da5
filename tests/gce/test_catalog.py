"""Firewall rules, networks, machine types, images, regions, the project."""

import pytest
from conftest import ZONE, done
from google.cloud import compute_v1

FIREWALLS = "projects/shoal-test/global/firewalls"
SSH = {"name": "shoal-demo-ssh", "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}],
       "sourceRanges": ["198.18.128.1/32"], "targetTags": ["shoal-demo"], "description": "uid-1"}


def test_firewall_rules(raw, compute):
    client = compute("FirewallsClient")
    done(client.insert(project="shoal-test", firewall_resource=compute_v1.Firewall(
        name="inside", allowed=[compute_v1.Allowed(I_p_protocol="all")],
        source_tags=["shoal-demo"], target_tags=["shoal-demo"])))
    raw.wait(raw("POST", FIREWALLS, SSH)[1])
    assert raw("POST", FIREWALLS, SSH)[0] == 409
    assert [f.name for f in client.list(project="shoal-test")] == ["inside", "shoal-demo-ssh"]
    rule = raw("GET", f"{FIREWALLS}/inside")[1]
    assert rule["direction"] == "INGRESS" and rule["priority"] == 1000
    assert rule["network"].endswith("/global/networks/default") and "sourceRanges" not in rule
    raw.wait(raw("PATCH", f"{FIREWALLS}/shoal-demo-ssh", {
        "name": "shoal-demo-ssh", "description": "uid-2"})[1])
    rule = raw("GET", f"{FIREWALLS}/shoal-demo-ssh")[1]
    assert rule["description"] == "uid-2" and rule["sourceRanges"] == ["198.18.128.1/32"]
    raw.wait(raw("DELETE", f"{FIREWALLS}/inside")[1])
    assert raw("GET", f"{FIREWALLS}/inside")[0] == 404
    assert raw("GET", FIREWALLS, filter='description = "uid-2"')[1]["items"][0]["name"] == SSH[
        "name"]


@pytest.mark.parametrize("change", [
    {"allowed": []}, {"denied": [{"IPProtocol": "tcp"}]}, {"sourceRanges": ["198.18.0.1/8"]},
    {"sourceRanges": ["here"]}, {"priority": 65536}, {"direction": "EGRESS"},
    {"allowed": [{"IPProtocol": "icmp", "ports": ["1"]}]}, {"allowed": [{"IPProtocol": "ftp"}]},
    {"allowed": [{"IPProtocol": "tcp", "ports": ["90-80"]}]}, {"sourceTags": ["a"],
                                                               "targetServiceAccounts": ["b"]}])
def test_firewall_rules_that_are_refused(raw, change):
    assert raw("POST", FIREWALLS, {**SSH, **change})[0] == 400


def test_a_rule_without_sources_is_open_to_all(raw):
    body = {"name": "open", "allowed": [{"IPProtocol": "tcp", "ports": ["80"]}]}
    raw.wait(raw("POST", FIREWALLS, body)[1])
    assert raw("GET", f"{FIREWALLS}/open")[1]["sourceRanges"] == ["0.0.0.0/0"]


def test_quota_of_firewall_rules(raw, cloud):
    cloud.quota(metric="FIREWALLS", limit=0)
    status, value = raw("POST", FIREWALLS, SSH)
    assert status == 403 and value["error"]["errors"][0]["reason"] == "quotaExceeded"


def test_machine_types(raw, service):
    value = raw.zonal("GET", "machineTypes/n1-standard-4")[1]
    assert (value["guestCpus"], value["memoryMb"]) == (4, 15360)
    assert raw.zonal("GET", "machineTypes/n2-custom-4-8192")[1]["guestCpus"] == 4
    assert raw.zonal("GET", "machineTypes/n2-custom-3-8192")[0] == 404
    gpu = raw.zonal("GET", "machineTypes/g2-standard-24")[1]
    assert gpu["accelerators"] == [{"guestAcceleratorType": "nvidia-l4",
                                    "guestAcceleratorCount": 2}]
    assert raw.zonal("GET", "machineTypes/g2-standard-24", zone="us-central1-f")[0] == 404
    found = service().machineTypes().list(project="shoal-test", zone=ZONE,
                                          filter="guestCpus = 8").execute()["items"]
    assert "n1-standard-8" in [t["name"] for t in found]
    everywhere = raw("GET", "projects/shoal-test/aggregated/machineTypes")[1]["items"]
    assert everywhere["zones/europe-west4-c"]["machineTypes"]


def test_images(raw):
    newest = raw("GET", "projects/debian-cloud/global/images/family/debian-12")[1]
    assert newest["name"] == "debian-12-bookworm-v20261014"
    assert raw("GET", "projects/debian-cloud/global/images/debian-12-bookworm-v20260909")[0] == 200
    assert raw("GET", "projects/debian-cloud/global/images/family/none")[0] == 404
    assert raw("GET", "projects/nobody/global/images/family/debian-12")[0] == 404
    assert len(raw("GET", "projects/debian-cloud/global/images")[1]["items"]) == 3


def test_places(raw):
    region = raw("GET", "projects/shoal-test/regions/us-central1")[1]
    assert len(region["zones"]) == 4
    assert {"metric": "CPUS", "limit": 72.0, "usage": 0.0} in region["quotas"]
    assert [r["name"] for r in raw("GET", "projects/shoal-test/regions")[1]["items"]] == [
        "europe-west4", "us-central1"]
    assert raw("GET", f"projects/shoal-test/zones/{ZONE}")[1]["status"] == "UP"
    assert len(raw("GET", "projects/shoal-test/zones")[1]["items"]) == 7
    subnet = raw("GET", "projects/shoal-test/regions/us-central1/subnetworks/default")[1]
    assert subnet["ipCidrRange"] == "198.18.16.0/20"
    assert len(raw("GET", "projects/shoal-test/aggregated/subnetworks")[1]["items"]) == 2
    assert raw("GET", "projects/shoal-test/global/networks/default")[0] == 200
    assert raw.zonal("GET", "acceleratorTypes/nvidia-tesla-t4")[0] == 200
    assert raw.zonal("GET", "diskTypes/pd-ssd")[0] == 200
    by_number = raw("GET", "projects/123456789012")[1]
    assert by_number["name"] == "shoal-test" and by_number["quotas"]


def test_projects_of_the_resource_manager(raw):
    assert raw("GET", "/v1/projects/shoal-test")[1]["projectNumber"] == "123456789012"
    assert raw("GET", "/v3/projects/shoal-test")[1]["name"] == "projects/123456789012"
    assert raw("GET", "/v1/projects/other")[0] == 403


def test_disks_alone(raw):
    body = {"name": "data", "sizeGb": "100", "labels": {"a": "b"},
            "type": f"zones/{ZONE}/diskTypes/pd-ssd"}
    raw.wait(raw.zonal("POST", "disks", body)[1])
    assert raw.zonal("POST", "disks", body)[0] == 409
    value = raw.zonal("GET", "disks/data")[1]
    put = {"labels": {}, "labelFingerprint": value["labelFingerprint"]}
    raw.wait(raw.zonal("POST", "disks/data/setLabels", put)[1])
    assert raw.zonal("POST", "disks/data/setLabels", put)[0] == 412
    raw.wait(raw.zonal("DELETE", "disks/data")[1])
    assert raw.zonal("GET", "disks/data")[0] == 404
