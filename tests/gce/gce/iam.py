"""Who may do what: policies with etags, roles and service accounts.

A method of compute needs the permission that its name implies; `insert` of an instance needs more
(launch.plan lists them). Bindings with conditions grant nothing here.
"""

import base64
import dataclasses
import fnmatch
import hashlib
import json
import time

from . import errors, settings
from .errors import Refusal

READS = ["*.get", "*.list", "*.getIamPolicy", "*.getSerialPortOutput", "*.getFromFamily",
         "*.getGuestAttributes", "*.useReadOnly"]
ROLES = {
    "roles/owner": ["*"],
    "roles/editor": ["compute.*", "iam.serviceAccounts.actAs", "iam.serviceAccounts.create",
                     "iam.serviceAccounts.delete", "resourcemanager.projects.get", *READS],
    "roles/viewer": READS,
    "roles/compute.admin": ["compute.*", "resourcemanager.projects.get"],
    "roles/compute.viewer": [f"compute.{word}" for word in READS],
    "roles/compute.instanceAdmin.v1": [
        "compute.instances.*", "compute.disks.*", "compute.instanceTemplates.*",
        "compute.subnetworks.use*", "compute.networks.use*", "compute.images.useReadOnly",
        "compute.projects.get", *[f"compute.{word}" for word in READS]],
    "roles/compute.securityAdmin": ["compute.firewalls.*", "compute.networks.updatePolicy"],
    "roles/iam.serviceAccountUser": ["iam.serviceAccounts.actAs", "iam.serviceAccounts.get",
                                     "iam.serviceAccounts.list", "resourcemanager.projects.get"],
    "roles/iam.serviceAccountAdmin": ["iam.serviceAccounts.create", "iam.serviceAccounts.delete",
                                      "iam.serviceAccounts.get", "iam.serviceAccounts.list",
                                      "iam.serviceAccounts.getIamPolicy",
                                      "iam.serviceAccounts.setIamPolicy"],
    "roles/iam.serviceAccountKeyAdmin": ["iam.serviceAccountKeys.*"],
    "roles/iam.serviceAccountTokenCreator": ["iam.serviceAccounts.getAccessToken"],
    "roles/storage.admin": ["storage.*"],
    "roles/storage.objectAdmin": ["storage.objects.*"],
    "roles/iam.roleViewer": ["iam.roles.get", "iam.roles.list", "resourcemanager.projects.get"],
    "roles/tpu.admin": ["tpu.*"],
    "roles/iam.roleAdmin": ["iam.roles.*"],
    "roles/resourcemanager.projectIamAdmin": [
        "resourcemanager.projects.get", "resourcemanager.projects.getIamPolicy",
        "resourcemanager.projects.setIamPolicy"],
}
# Where the permission is not called like the method.
VERBS = {"insert": "create", "bulkInsert": "create", "aggregatedList": "list", "wait": "get",
         "patch": "update", "testIamPermissions": "get"}


@dataclasses.dataclass
class Account:
    value: dict
    born: float                                        # monotonic
    keys: dict = dataclasses.field(default_factory=dict)  # id: public key


def account_path(email):
    return f"projects/{settings.PROJECT}/serviceAccounts/{email}"


class Iam:
    def __init__(self, cloud):
        self.cloud = cloud
        self.accounts = {}
        self.roles = {}         # custom ones: name: value
        self.policies = {}      # resource: [(in force from, policy)], the newest last
        self.denied = []        # (member pattern, permission pattern), of tests
        self.add_account(settings.DEFAULT_ACCOUNT, "Compute Engine default service account")
        self.put(f"projects/{settings.PROJECT}", {"bindings": [
            {"role": "roles/owner", "members": [settings.ADMIN]},
            {"role": "roles/editor", "members": [f"serviceAccount:{settings.DEFAULT_ACCOUNT}"]}]})

    # ---- evaluation ----

    def put(self, resource, policy, lag=None):
        data = json.dumps([policy.get("bindings", []), time.monotonic_ns()]).encode()
        etag = base64.b64encode(hashlib.sha256(data).digest()[:8]).decode()
        made = {"version": 1, "bindings": policy.get("bindings", []), "etag": etag}
        rows = self.policies.setdefault(resource, [])
        if lag is None:
            lag = self.cloud.tunables.iam_lag if rows else 0.0
        rows.append((time.monotonic() + lag, made))
        return made

    def policy(self, resource):
        rows = self.policies.get(resource)
        return rows[-1][1] if rows else {"version": 1, "etag": "ACAB"}

    def in_force(self, resource):
        now = time.monotonic()
        rows = [policy for begin, policy in self.policies.get(resource, ()) if begin <= now]
        return rows[-1] if rows else {}

    def patterns(self, role):
        if role in ROLES:
            return ROLES[role]
        custom = self.roles.get(role)
        return custom.get("includedPermissions", []) if custom else []

    def allowed(self, identity, permission, resource):
        member = identity.label
        for who, what in self.denied:
            if fnmatch.fnmatch(member, who) and fnmatch.fnmatch(permission, what):
                return False
        places = {f"projects/{settings.PROJECT}"}
        if "/serviceAccounts/" in resource:
            places.add(resource)
        for place in places:
            for binding in self.in_force(place).get("bindings", ()):
                members = binding.get("members", ())
                if "condition" in binding or not {member, "allUsers",
                                                  "allAuthenticatedUsers"} & set(members):
                    continue
                if any(fnmatch.fnmatchcase(permission, p) for p in self.patterns(binding["role"])):
                    return True
        return False

    # ---- accounts ----

    def add_account(self, email, title=""):
        unique = str(10**20 + int(hashlib.sha256(email.encode()).hexdigest()[:12], 16))
        value = {"name": account_path(email), "projectId": settings.PROJECT, "uniqueId": unique,
                 "email": email, "displayName": title, "oauth2ClientId": unique,
                 "etag": "MDEwMjE5MjA="}
        self.accounts[email] = Account(value, time.monotonic())
        return self.accounts[email]

    def account(self, name):
        """By email or unique id."""
        return self.accounts.get(name) or next(
            (a for a in self.accounts.values() if a.value["uniqueId"] == name), None)

    def usable(self, account):
        """A new account is unknown to other services for a while."""
        return time.monotonic() - account.born >= self.cloud.tunables.account_lag \
            or account.value["email"] == settings.DEFAULT_ACCOUNT


def permission_of(method):
    """The permission that a method of compute needs."""
    resource, verb = method.action.rsplit(".", 1)
    return f"compute.{resource}.{VERBS.get(verb, verb)}"


def require(cloud, call, permission, resource):
    if not cloud.iam.allowed(call.identity, permission, resource):
        if call.service == "compute":
            raise errors.forbidden(permission, resource)
        raise Refusal(403, "forbidden", f"Permission '{permission}' denied on resource "
                                        f"(or it may not exist).", status="PERMISSION_DENIED")
