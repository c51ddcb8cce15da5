"""The methods of IAM, Resource Manager and IAM credentials: policies, service accounts and their
keys, custom roles.
"""

import base64
import re
import time

from . import iam, policies, settings, tokens
from .errors import Refusal

MEMBER = re.compile(r"(user|serviceAccount|group|domain):[^\s:]+|allUsers|allAuthenticatedUsers")
PERMISSION = re.compile(r"[a-z]+\.[a-zA-Z]+\.[a-zA-Z]+")
ACCOUNT_ID = re.compile(r"[a-z](?:[-a-z0-9]{4,28}[a-z0-9])")


# ---- policies ----


def test_permissions(cloud, call, resource):
    wanted = call.value.get("permissions", [])
    for permission in wanted:
        if not PERMISSION.fullmatch(permission):
            raise Refusal(400, "badRequest",
                          f"Permission {permission} is not valid for this resource.",
                          status="INVALID_ARGUMENT")
    held = [p for p in wanted if cloud.iam.allowed(call.identity, p, resource)]
    return {"permissions": held} if held else {}


def set_policy(cloud, call, resource):
    given = call.value.get("policy")
    if given is None:
        raise Refusal(400, "badRequest", "Policy is required.", status="INVALID_ARGUMENT")
    current = cloud.iam.policy(resource)
    if given.get("etag") and given["etag"] != current["etag"]:
        raise Refusal(409, "aborted", "There were concurrent policy changes. Please retry the "
                      "whole read-modify-write with exponential backoff.", status="ABORTED")
    for binding in given.get("bindings", []):
        role = binding.get("role", "")
        if role not in iam.ROLES and role not in cloud.iam.roles:
            raise Refusal(400, "badRequest", f"Role {role} is not supported for this resource.",
                          status="INVALID_ARGUMENT")
        for member in binding.get("members", []):
            if not MEMBER.fullmatch(member):
                raise Refusal(400, "badRequest", f"Invalid member: {member}.",
                              status="INVALID_ARGUMENT")
            kind, _, email = member.partition(":")
            account = cloud.iam.account(email)
            if kind == "serviceAccount" and (not account or not cloud.iam.usable(account)):
                raise Refusal(400, "badRequest", f"Service account {email} does not exist.",
                              status="INVALID_ARGUMENT")
    return cloud.iam.put(resource, given)


def project_path(cloud, call):
    name = call.vars.get("resource") or call.vars.get("projectsId") or call.vars.get("projectId")
    if name not in (settings.PROJECT, settings.PROJECT_NUMBER):
        raise Refusal(403, "forbidden", "The caller does not have permission",
                      status="PERMISSION_DENIED")
    return f"projects/{settings.PROJECT}"


def project(cloud, call):
    resource = project_path(cloud, call)
    iam.require(cloud, call, "resourcemanager.projects.get", resource)
    if call.target.startswith("/v3/"):
        return {"name": f"projects/{settings.PROJECT_NUMBER}", "projectId": settings.PROJECT,
                "state": "ACTIVE", "displayName": settings.PROJECT}
    return {"projectNumber": settings.PROJECT_NUMBER, "projectId": settings.PROJECT,
            "lifecycleState": "ACTIVE", "name": settings.PROJECT}


def get_project_policy(cloud, call):
    resource = project_path(cloud, call)
    iam.require(cloud, call, "resourcemanager.projects.getIamPolicy", resource)
    return cloud.iam.policy(resource)


def set_project_policy(cloud, call):
    resource = project_path(cloud, call)
    iam.require(cloud, call, "resourcemanager.projects.setIamPolicy", resource)
    return set_policy(cloud, call, resource)


def test_project(cloud, call):
    return test_permissions(cloud, call, project_path(cloud, call))


def effective_policy(cloud, call):
    iam.require(cloud, call, "orgpolicy.policy.get", project_path(cloud, call))
    return policies.effective(cloud, call.value.get("constraint", ""))


def test_instance(cloud, call):
    path = call.target.partition("?")[0].partition("/compute/v1/")[2].rpartition("/")[0]
    cloud.store.get(path)
    return test_permissions(cloud, call, path)


# ---- service accounts ----


def find(cloud, call, permission):
    found = cloud.iam.account(call.vars["serviceAccountsId"])
    email = found.value["email"] if found else call.vars["serviceAccountsId"]
    iam.require(cloud, call, permission, iam.account_path(email))
    if not found:
        raise Refusal(404, "notFound", f"Unknown service account: {email}", status="NOT_FOUND")
    return found


def create_account(cloud, call):
    iam.require(cloud, call, "iam.serviceAccounts.create", f"projects/{settings.PROJECT}")
    ident = call.value.get("accountId", "")
    if not ACCOUNT_ID.fullmatch(ident):
        raise Refusal(400, "badRequest", "The account ID \"" + ident + "\" does not have a length "
                      "between 6 and 30, or has other characters than [-a-z0-9].",
                      status="INVALID_ARGUMENT")
    email = f"{ident}@{settings.PROJECT}.iam.gserviceaccount.com"
    if email in cloud.iam.accounts:
        raise Refusal(409, "alreadyExists", f"Service account {ident} already exists within "
                      f"project projects/{settings.PROJECT}.", status="ALREADY_EXISTS")
    title = call.value.get("serviceAccount", {}).get("displayName", "")
    return cloud.iam.add_account(email, title).value


def get_account(cloud, call):
    return find(cloud, call, "iam.serviceAccounts.get").value


def list_accounts(cloud, call):
    iam.require(cloud, call, "iam.serviceAccounts.list", f"projects/{settings.PROJECT}")
    return {"accounts": [a.value for a in cloud.iam.accounts.values()]}


def delete_account(cloud, call):
    """Bindings of the account remain, as at Google, but no longer help anyone."""
    found = find(cloud, call, "iam.serviceAccounts.delete")
    del cloud.iam.accounts[found.value["email"]]
    cloud.tokens.revoke(f"serviceAccount:{found.value['email']}")
    return {}


def account_policy(cloud, call):
    found = find(cloud, call, "iam.serviceAccounts.getIamPolicy")
    return cloud.iam.policy(found.value["name"])


def set_account_policy(cloud, call):
    found = find(cloud, call, "iam.serviceAccounts.setIamPolicy")
    return set_policy(cloud, call, found.value["name"])


def test_account(cloud, call):
    found = cloud.iam.account(call.vars["serviceAccountsId"])
    return test_permissions(cloud, call, found.value["name"] if found else "")


def create_key(cloud, call):
    found = find(cloud, call, "iam.serviceAccountKeys.create")
    ident, text = tokens.new_key(cloud, found)
    return {"name": f"{found.value['name']}/keys/{ident}", "keyType": "USER_MANAGED",
            "privateKeyType": "TYPE_GOOGLE_CREDENTIALS_FILE",
            "privateKeyData": base64.b64encode(text.encode()).decode()}


def access_token(cloud, call):
    found = find(cloud, call, "iam.serviceAccounts.getAccessToken")
    scopes = call.value.get("scope")
    life = call.value.get("lifetime", "3600s")
    if not scopes or not re.fullmatch(r"\d+s", life) or not 0 < int(life[:-1]) <= 3600:
        raise Refusal(400, "badRequest", "Request contains an invalid argument.",
                      status="INVALID_ARGUMENT")
    member = f"serviceAccount:{found.value['email']}"
    token = cloud.tokens.mint(member, scopes, int(life[:-1]))
    end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(cloud.now() + int(life[:-1])))
    return {"accessToken": token, "expireTime": end}


# ---- custom roles ----


def create_role(cloud, call):
    iam.require(cloud, call, "iam.roles.create", f"projects/{settings.PROJECT}")
    name = f"projects/{settings.PROJECT}/roles/{call.value.get('roleId', '')}"
    if name in cloud.iam.roles:
        raise Refusal(409, "alreadyExists", f"A role named {name} already exists.",
                      status="ALREADY_EXISTS")
    permissions = call.value.get("role", {}).get("includedPermissions", [])
    for permission in permissions:
        if not PERMISSION.fullmatch(permission):
            raise Refusal(400, "badRequest", f"Permission {permission} is not valid.",
                          status="INVALID_ARGUMENT")
    cloud.iam.roles[name] = {**call.value.get("role", {}), "name": name, "etag": "BwWWja0="}
    return cloud.iam.roles[name]


def get_role(cloud, call):
    iam.require(cloud, call, "iam.roles.get", f"projects/{settings.PROJECT}")
    name = f"projects/{settings.PROJECT}/roles/{call.vars['rolesId']}"
    if name not in cloud.iam.roles:
        raise Refusal(404, "notFound", f"The role named {name} was not found.", status="NOT_FOUND")
    return cloud.iam.roles[name]


COMPUTE_METHODS = {"instances.testIamPermissions": test_instance}
METHODS = {
    "cloudresourcemanager.projects.get": project,
    "cloudresourcemanager.projects.getIamPolicy": get_project_policy,
    "cloudresourcemanager.projects.setIamPolicy": set_project_policy,
    "cloudresourcemanager.projects.testIamPermissions": test_project,
    "cloudresourcemanager.projects.getEffectiveOrgPolicy": effective_policy,
    "iam.projects.serviceAccounts.create": create_account,
    "iam.projects.serviceAccounts.get": get_account,
    "iam.projects.serviceAccounts.list": list_accounts,
    "iam.projects.serviceAccounts.delete": delete_account,
    "iam.projects.serviceAccounts.getIamPolicy": account_policy,
    "iam.projects.serviceAccounts.setIamPolicy": set_account_policy,
    "iam.projects.serviceAccounts.testIamPermissions": test_account,
    "iam.projects.serviceAccounts.keys.create": create_key,
    "iam.projects.roles.create": create_role,
    "iam.projects.roles.get": get_role,
    "iamcredentials.projects.serviceAccounts.generateAccessToken": access_token,
}
