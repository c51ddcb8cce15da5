"""Credentials, permissions and service accounts."""

import base64
import json
import time

import google.auth.transport.requests
import pytest
import requests
from conftest import ZONE, instance, properties
from google.auth import crypt, jwt
from google.oauth2 import credentials as user_credentials
from google.oauth2 import service_account
from googleapiclient.errors import HttpError

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
POLICY = "/v1/projects/shoal-test:{}IamPolicy"
EVE = "user:eve@example.com"


def bind(raw, role, member):
    """Add a binding; the new policy."""
    status, policy = raw("POST", POLICY.format("get"), {})
    assert status == 200, policy
    policy["bindings"].append({"role": role, "members": [member]})
    status, value = raw("POST", POLICY.format("set"), {"policy": policy})
    assert status == 200, value
    return value


def account(raw, name="ray-autoscaler"):
    status, value = raw("POST", "/v1/projects/shoal-test/serviceAccounts", {"accountId": name})
    assert status == 200, value
    return value["email"]


def key_of(raw, email):
    """The credentials file of a new key."""
    status, value = raw("POST", f"/v1/projects/shoal-test/serviceAccounts/{email}/keys", {})
    assert status == 200, value
    return json.loads(base64.b64decode(value["privateKeyData"]))


def test_credentials_are_required(cloud, raw):
    for token in (None, "nonsense"):
        nobody = type(raw)(cloud, token)
        status, value = nobody.zonal("GET", "instances")
        assert status == 401 and value["error"]["status"] == "UNAUTHENTICATED"
    cloud.set(clock=3601)
    assert raw.zonal("GET", "instances")[0] == 401


def test_scopes(raw_as):
    reader = raw_as("user:admin@example.com",
                    scopes=["https://www.googleapis.com/auth/compute.readonly"])
    assert reader.zonal("GET", "instances")[0] == 200
    status, value = reader.zonal("POST", "instances", instance("one"))
    assert status == 403
    assert value["error"]["details"][0]["reason"] == "ACCESS_TOKEN_SCOPE_INSUFFICIENT"


def test_permissions(raw, raw_as):
    eve = raw_as(EVE)
    status, value = eve.zonal("GET", "instances")
    assert status == 403 and "Required 'compute.instances.list' permission" in \
        value["error"]["message"]
    assert value["error"]["errors"][0]["reason"] == "forbidden"
    bind(raw, "roles/compute.viewer", EVE)
    assert eve.zonal("GET", "instances")[0] == 200
    assert eve.zonal("POST", "instances", instance("one"))[0] == 403
    assert eve.zonal("GET", "instances/one")[0] == 404
    bind(raw, "roles/compute.instanceAdmin.v1", EVE)
    eve.insert("one")
    status, value = eve("POST", "projects/shoal-test/global/firewalls", {"name": "open"})
    assert status == 403 and "compute.firewalls.create" in value["error"]["message"]


def test_what_an_insert_needs(raw, raw_as, cloud):
    bind(raw, "roles/compute.instanceAdmin.v1", EVE)
    eve = raw_as(EVE)
    for permission, more in (
            ("compute.disks.create", {}), ("compute.subnetworks.use", {}),
            ("compute.subnetworks.useExternalIp", {}),
            ("compute.instances.setLabels", {"labels": {"a": "b"}}),
            ("compute.instances.setMetadata", {"metadata": {"items": [{"key": "a",
                                                                       "value": "b"}]}})):
        cloud.deny(member=EVE, permission=permission)
        status, value = eve.zonal("POST", "instances", instance("one", **more))
        assert status == 403 and f"'{permission}'" in value["error"]["message"]
        bulk = {"namePattern": "a-#", "count": "1", "instanceProperties": properties(**more)}
        assert eve.zonal("POST", "instances/bulkInsert", bulk)[0] == 403
        cloud.clear()
    assert "instances" not in cloud.truth()


def denied(raw, body):
    """Does the insert fail because of the service account? Google says so in the operation."""
    status, operation = raw.zonal("POST", "instances", body)
    assert status == 200, operation
    failures = raw.wait(operation).get("error", {}).get("errors", [])
    return [f["code"] for f in failures] == ["SERVICE_ACCOUNT_ACCESS_DENIED"]


def test_acting_as_a_service_account(raw, raw_as):
    email = account(raw)
    bind(raw, "roles/compute.instanceAdmin.v1", EVE)
    eve = raw_as(EVE)
    body = instance("one", serviceAccounts=[{"email": email, "scopes": [SCOPE]}])
    assert denied(eve, body)
    path = f"/v1/projects/shoal-test/serviceAccounts/{email}"
    policy = {"bindings": [{"role": "roles/iam.serviceAccountUser", "members": [EVE]}]}
    assert raw("POST", f"{path}:setIamPolicy", {"policy": policy})[0] == 200
    assert not denied(eve, body)


def test_test_iam_permissions(raw_as, service, raw):
    wanted = ["compute.instances.create", "compute.instances.list",
              "resourcemanager.projects.setIamPolicy"]
    api = service("cloudresourcemanager", "v1").projects()
    reply = api.testIamPermissions(resource="shoal-test", body={"permissions": wanted}).execute()
    assert reply["permissions"] == wanted
    bind(raw, "roles/compute.viewer", EVE)
    eve, path = raw_as(EVE), "projects/shoal-test:testIamPermissions"
    for version in ("v1", "v3"):
        assert eve("POST", f"/{version}/{path}", {"permissions": wanted}) == (
            200, {"permissions": ["compute.instances.list"]})
    assert raw_as("user:other@example.com")("POST", f"/v1/{path}", {"permissions": wanted}) == (
        200, {})
    assert eve("POST", f"/v1/{path}", {"permissions": ["compute.*"]})[0] == 400
    assert eve("POST", f"/v1/{path}", {"permission": wanted})[0] == 400


def test_policies_have_an_etag(service):
    api = service("cloudresourcemanager", "v1").projects()
    policy = api.getIamPolicy(resource="shoal-test", body={}).execute()
    stale = json.loads(json.dumps(policy))
    policy["bindings"].append({"role": "roles/viewer", "members": [EVE]})
    api.setIamPolicy(resource="shoal-test", body={"policy": policy}).execute()
    with pytest.raises(HttpError) as caught:
        api.setIamPolicy(resource="shoal-test", body={"policy": stale}).execute()
    assert caught.value.resp.status == 409
    assert json.loads(caught.value.content)["error"]["status"] == "ABORTED"
    del stale["etag"]  # without it, the changes of others are lost
    api.setIamPolicy(resource="shoal-test", body={"policy": stale}).execute()
    bindings = api.getIamPolicy(resource="shoal-test", body={}).execute()["bindings"]
    assert "roles/viewer" not in [b["role"] for b in bindings]


def test_policies_that_are_refused(raw):
    for role, member, text in (
            ("roles/none", EVE, "Role roles/none is not supported"),
            ("roles/viewer", "eve@example.com", "Invalid member"),
            ("roles/viewer", "serviceAccount:none@x.iam.gserviceaccount.com", "does not exist")):
        policy = raw("POST", POLICY.format("get"), {})[1]
        policy["bindings"].append({"role": role, "members": [member]})
        status, value = raw("POST", POLICY.format("set"), {"policy": policy})
        assert status == 400 and text in value["error"]["message"]
        assert "errors" not in value["error"]  # only compute has that list


def test_a_new_policy_takes_a_while(raw, raw_as, cloud):
    eve = raw_as(EVE)
    cloud.set(iam_lag=3)
    bind(raw, "roles/compute.viewer", EVE)
    assert eve.zonal("GET", "instances")[0] == 403
    time.sleep(3)
    assert eve.zonal("GET", "instances")[0] == 200


def test_a_custom_role(raw, raw_as):
    role = {"includedPermissions": ["compute.instances.list"]}
    status, made = raw("POST", "/v1/projects/shoal-test/roles", {"roleId": "lister", "role": role})
    assert status == 200
    bind(raw, made["name"], EVE)
    assert raw_as(EVE).zonal("GET", "instances")[0] == 200
    assert raw_as(EVE).zonal("GET", "disks")[0] == 403


def test_a_conditional_binding_grants_nothing(raw, raw_as):
    policy = raw("POST", POLICY.format("get"), {})[1]
    policy["bindings"].append({"role": "roles/compute.viewer", "members": [EVE],
                               "condition": {"expression": "true"}})
    assert raw("POST", POLICY.format("set"), {"policy": policy})[0] == 200
    assert raw_as(EVE).zonal("GET", "instances")[0] == 403


def test_service_accounts(raw, cloud, service):
    api = service("iam").projects().serviceAccounts()
    name = "projects/shoal-test"
    made = api.create(name=name, body={"accountId": "ray-autoscaler-sa-v1"}).execute()
    assert made["email"] == "ray-autoscaler-sa-v1@shoal-test.iam.gserviceaccount.com"
    with pytest.raises(HttpError) as caught:
        api.create(name=name, body={"accountId": "ray-autoscaler-sa-v1"}).execute()
    assert caught.value.resp.status == 409
    assert raw("POST", f"/v1/{name}/serviceAccounts", {"accountId": "Ray"})[0] == 400
    assert api.get(name=made["name"]).execute()["uniqueId"] == made["uniqueId"]
    api.delete(name=made["name"]).execute()
    with pytest.raises(HttpError) as caught:
        api.get(name=made["name"]).execute()
    assert caught.value.resp.status == 404


def test_a_new_account_is_unknown_for_a_while(raw, cloud):
    cloud.set(account_lag=3)
    email = account(raw)
    body = instance("one", serviceAccounts=[{"email": email, "scopes": [SCOPE]}])
    assert denied(raw, body)
    time.sleep(3)
    assert not denied(raw, body)


# ---- tokens ----


def test_a_service_account_signs_for_its_token(raw, cloud):
    email = account(raw)
    info = key_of(raw, email)
    found = service_account.Credentials.from_service_account_info(info, scopes=[SCOPE])
    session = requests.Session()
    session.trust_env = False
    found.refresh(google.auth.transport.requests.Request(session))
    own = type(raw)(cloud, found.token)
    assert own.zonal("GET", "instances")[0] == 403  # it exists, but may do nothing
    bind(raw, "roles/compute.viewer", f"serviceAccount:{email}")
    assert own.zonal("GET", "instances")[0] == 200
    raw("DELETE", f"/v1/projects/shoal-test/serviceAccounts/{email}")
    assert own.zonal("GET", "instances")[0] == 401


def test_assertions_that_are_refused(raw, cloud):
    email = account(raw)
    info = key_of(raw, email)
    other = key_of(raw, "123456789012-compute@developer.gserviceaccount.com")
    now = int(time.time())
    good = {"iss": email, "aud": info["token_uri"], "scope": SCOPE, "iat": now, "exp": now + 3600}

    def ask(claims, key=info):
        signer = crypt.RSASigner.from_service_account_info(key)
        text = jwt.encode(signer, claims).decode()
        reply = requests.post(f"{cloud.api}/token", timeout=10, data={
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": text})
        return reply.status_code, reply.json().get("error_description", "")

    assert ask(good)[0] == 200
    assert ask({**good, "aud": "https://oauth2.googleapis.com/token"})[0] == 200
    for claims, key, text in (
            (good, other, "Invalid JWT Signature."), ({**good, "aud": "x"}, info, "audience"),
            ({**good, "exp": now + 3700}, info, "short-lived"),
            ({**good, "iat": now - 7200, "exp": now - 3600}, info, "short-lived"),
            ({**good, "scope": ""}, info, "scope"),
            ({**good, "iss": "none@x.iam.gserviceaccount.com"}, info, "account not found")):
        status, said = ask(claims, key)
        assert status == 400 and text in said


def test_a_user_refreshes(cloud, raw):
    info = cloud.refresh_token()
    found = user_credentials.Credentials.from_authorized_user_info(info)
    found._token_uri = f"{cloud.api}/token"  # google-auth ignores the file's
    session = requests.Session()
    session.trust_env = False
    found.refresh(google.auth.transport.requests.Request(session))
    assert type(raw)(cloud, found.token).zonal("GET", "instances")[0] == 200
    for change in ({"refresh_token": "old"}, {"client_secret": "wrong"}):
        form = {**info, "grant_type": "refresh_token", **change}
        reply = requests.post(f"{cloud.api}/token", data=form, timeout=10)
        assert reply.status_code in (400, 401) and reply.json()["error"].startswith("invalid_")


def test_impersonation(raw, raw_as, cloud):
    email = account(raw)
    path = f"/v1/projects/-/serviceAccounts/{email}:generateAccessToken"
    assert raw_as(EVE)("POST", path, {"scope": [SCOPE]})[0] == 403
    assert raw("POST", path, {"scope": [SCOPE], "lifetime": "7200s"})[0] == 400
    status, value = raw("POST", path, {"scope": [SCOPE], "lifetime": "600s"})
    assert status == 200
    assert type(raw)(cloud, value["accessToken"]).zonal("GET", "instances", zone=ZONE)[0] == 403
