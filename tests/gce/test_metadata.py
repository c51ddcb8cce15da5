"""The metadata server of an instance, as a machine sees it."""

import threading
import time

import pytest
import requests
from conftest import SPOT, ZONE, instance
from test_instances import moment, preemptions

FLAVOR = {"Metadata-Flavor": "Google"}
SCOPE = "https://www.googleapis.com/auth/cloud-platform"


class Server:
    def __init__(self, cloud, name):
        self.base = f"http://{cloud.metadata(instance=name)['host']}"
        self.session = requests.Session()
        self.session.trust_env = False

    def __call__(self, path, method="GET", headers=None, data=None, **query):
        return self.session.request(
            method, f"{self.base}/computeMetadata/v1/{path}", params=query, data=data,
            headers={**FLAVOR, **(headers or {})}, allow_redirects=False, timeout=20)


@pytest.fixture
def server(raw, cloud):
    raw.insert("one", labels={"a": "b"}, scheduling=SPOT, metadata={"items": [
        {"key": "enable-guest-attributes", "value": "TRUE"},
        {"key": "ssh-keys", "value": "ray:ssh-ed25519 AAAA"}]},
        serviceAccounts=[{"email": "default", "scopes": [SCOPE]}], tags={"items": ["ray"]})
    return Server(cloud, "one")


def test_the_flavor_is_required(server):
    plain = server.session.get(f"{server.base}/computeMetadata/v1/instance/name", timeout=10)
    assert plain.status_code == 403
    assert server("instance/name", headers={"X-Forwarded-For": "1.2.3.4"}).status_code == 403
    reply = server("instance/name")
    assert reply.text == "one" and reply.headers["Metadata-Flavor"] == "Google"
    ping = server.session.get(server.base, timeout=10)
    assert ping.headers["Metadata-Flavor"] == "Google"


def test_values_and_folders(server):
    assert server("instance/zone").text == f"projects/123456789012/zones/{ZONE}"
    assert server("instance/machine-type").text.endswith("/machineTypes/n1-standard-1")
    assert server("instance/attributes/ssh-keys").text == "ray:ssh-ed25519 AAAA"
    assert server("instance/attributes/none").status_code == 404
    assert server("instance/network-interfaces/0/access-configs/0/external-ip").text.startswith(
        "198.18.136.")
    assert server("project/project-id").text == "shoal-test"
    moved = server("instance/attributes")
    assert moved.status_code == 301 and moved.headers["Location"].endswith("/attributes/")
    assert server("instance/attributes/").text == "enable-guest-attributes\nssh-keys\n"
    assert "network-interfaces/\n" in server("instance/").text
    assert server("instance/name", "POST").status_code == 405


def test_the_whole_tree_as_the_guest_agent_reads_it(server):
    reply = server("/", recursive="true", alt="json", last_etag="NONE")
    value = reply.json()
    assert reply.headers["ETag"] and isinstance(value["instance"]["id"], int)
    assert value["instance"]["attributes"]["ssh-keys"] == "ray:ssh-ed25519 AAAA"
    assert value["instance"]["networkInterfaces"][0]["ip"].startswith("198.18.16.")
    assert value["project"]["numericProjectId"] == 123456789012


def test_waiting_for_a_change(server, raw):
    before = server("instance/attributes/", recursive="true")
    assert set(before.json()) == {"enable-guest-attributes", "ssh-keys"}
    etag, seen = before.headers["ETag"], {}

    def wait():
        reply = server("instance/attributes/", recursive="true", wait_for_change="true",
                       last_etag=etag, timeout_sec="15")
        seen.update(reply.json(), etag=reply.headers["ETag"])

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.2)
    assert not seen
    mark = raw.zonal("GET", "instances/one")[1]["metadata"]["fingerprint"]
    raw.zonal("POST", "instances/one/setMetadata", {"fingerprint": mark, "items": [
        {"key": "new", "value": "1"}]})
    thread.join(10)
    assert seen["new"] == "1" and seen["etag"] != etag
    old = server("instance/attributes/", recursive="true", wait_for_change="true", last_etag=etag)
    assert old.json() == {"new": "1"}  # changed already: answered at once


def test_a_wait_times_out(server):
    etag = server("instance/preempted").headers["ETag"]
    begin = time.monotonic()
    reply = server("instance/preempted", wait_for_change="true", last_etag=etag, timeout_sec="1")
    assert reply.text == "FALSE" and reply.headers["ETag"] == etag
    assert 1 <= time.monotonic() - begin < 15


def test_the_notice_of_a_preemption(raw, cloud):
    cloud.set(preempt=0.1)
    body = instance("one", scheduling={**SPOT, "preemptionNoticeDuration": {"seconds": "1"}})
    raw.wait(raw.zonal("POST", "instances", body)[1])
    server = Server(cloud, "one")
    seen = []
    etag = server("instance/preempted").headers["ETag"]
    thread = threading.Thread(target=lambda: seen.append(
        server("instance/preempted", wait_for_change="true", last_etag=etag).text))
    thread.start()
    begin = time.time()
    assert cloud.preempt(instance="one") == {"seconds": 1}
    thread.join(10)
    assert seen == ["TRUE"]
    operation, = preemptions(raw, 1)
    assert moment(operation["insertTime"]) - begin >= 0.99  # soft off comes after the notice
    assert raw.zonal("GET", "instances/one")[0] == 404


def test_tokens_of_the_instance(server, cloud, raw):
    assert server("instance/service-accounts/default/email").text.endswith(
        "@developer.gserviceaccount.com")
    reply = server("instance/service-accounts/default/token").json()
    own = type(raw)(cloud, reply["access_token"])
    assert own.zonal("GET", "instances")[0] == 200
    wide = server("instance/service-accounts/default/", recursive="true").json()
    assert wide["scopes"] == [SCOPE] and wide["aliases"] == ["default"]
    raw.insert("two")
    other = Server(cloud, "two")
    assert other("instance/service-accounts/default/token").status_code == 404


def test_guest_attributes(server, raw, cloud):
    path = "instance/guest-attributes/hostkeys/ssh-rsa"
    assert server(path, "PUT", data="AAAA").status_code == 200
    assert server(path).text == "AAAA"
    items = raw.zonal("GET", "instances/one/getGuestAttributes",
                      queryPath="hostkeys/ssh-rsa")[1]["queryValue"]["items"]
    assert items == [{"namespace": "hostkeys", "key": "ssh-rsa", "value": "AAAA"}]
    assert server(path, "DELETE").status_code == 200
    assert server(path).status_code == 404
    assert server("instance/guest-attributes/flat", "PUT", data="x").status_code == 400
    raw.insert("two")
    assert Server(cloud, "two")(path, "PUT", data="x").status_code == 403


def test_metadata_of_the_project(server, raw):
    _, project = raw("GET", "projects/shoal-test")
    body = {"items": [{"key": "ssh-keys", "value": "all"}],
            "fingerprint": project["commonInstanceMetadata"]["fingerprint"]}
    path = "projects/shoal-test/setCommonInstanceMetadata"
    status, operation = raw("POST", path, body)
    assert status == 200 and "/global/operations/" in operation["selfLink"]
    raw.wait(operation)
    assert server("project/attributes/ssh-keys").text == "all"
    assert raw("POST", path, body)[0] == 412


def test_faults(server, cloud):
    cloud.fault("metadata:*/instance/name", "error", status=503)
    assert server("instance/zone").status_code == 200
    assert server("instance/name").status_code == 503
    assert server("instance/name").status_code == 200


def test_a_deleted_instance_has_no_metadata(server, raw):
    raw.wait(raw.zonal("DELETE", "instances/one")[1])
    assert server("instance/name").status_code == 404
