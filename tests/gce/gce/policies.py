"""Policies of an organization that concern instances. A test enforces them by name.

Compute reports each violation as HTTP 412 with the reason conditionNotMet, or in the operation as
CONDITION_NOT_MET. The same status means a stale fingerprint elsewhere. Texts: issues
gardener-extension-provider-gcp#415, compute-image-tools#1476 and 2i2c-org/infrastructure#489.
"""

from . import networks
from .errors import Refusal

PREFIX = "constraints/compute."
LISTS = ("vmExternalIpAccess",)  # the others are boolean
NO_NETWORK = "skipDefaultNetworkCreation"  # the project is created without the network default
NAMES = ("disableGuestAttributesAccess", "requireOsLogin", "requireShieldedVm", NO_NETWORK, *LISTS)


def enforce(cloud, name, on):
    (cloud.policies.add if on else cloud.policies.discard)(name)
    if name == NO_NETWORK:
        networks.remove(cloud, "default")
        if not on:
            networks.seed(cloud)


def effective(cloud, constraint):
    """The reply of getEffectiveOrgPolicy."""
    name = constraint.removeprefix(PREFIX)
    if name not in NAMES:
        raise Refusal(501, "notImplemented", f"The test cloud has no {constraint}.")
    enforced = name in cloud.policies
    if name in LISTS:
        return {"constraint": constraint,
                "listPolicy": {"allValues": "DENY" if enforced else "ALLOW"}}
    return {"constraint": constraint, "booleanPolicy": {"enforced": True} if enforced else {}}


def item_of(value, key):
    items = value.get("metadata", {}).get("items", [])
    return next((item["value"] for item in items if item["key"] == key), "")


def violated(cloud, value):
    """The constraint that an instance violates, or None."""
    if item_of(value, "enable-oslogin").upper() == "FALSE" and "requireOsLogin" in cloud.policies:
        return "requireOsLogin"
    public = any(nic.get("accessConfigs") for nic in value.get("networkInterfaces", ()))
    if public and "vmExternalIpAccess" in cloud.policies:
        return "vmExternalIpAccess"
    shielded = value.get("shieldedInstanceConfig", {}).get("enableSecureBoot")
    if not shielded and "requireShieldedVm" in cloud.policies:
        return "requireShieldedVm"
    return None


def check(cloud, made):
    """Refuse a plan at once, or let its operation fail: `policy_status`."""
    name = violated(cloud, made.value)
    if not name:
        return
    project = made.path.split("/")[1]
    message = (f"Constraint {PREFIX}{name} violated for project {project}. The instance "
               f"{made.path} does not fit the policy of your organization.")
    if cloud.tunables.policy_status:
        raise Refusal(cloud.tunables.policy_status, "conditionNotMet", message,
                      where=("header", "If-Match"))
    made.failure = (412, "CONDITION_NOT_MET", message)
