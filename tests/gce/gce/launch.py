"""From the body of a request to an instance: Google's rules for machine types, disks, networks,
scheduling and service accounts.
"""

import copy
import dataclasses
import ipaddress
import re

from . import capacity, errors, iam, policies, settings, store
from .errors import Refusal, invalid
from .store import LINK


@dataclasses.dataclass
class Plan:
    """A checked instance that is not created yet."""

    path: str
    value: dict
    disks: list          # (path, value) of disks to create
    permissions: list    # (permission, resource)
    failure: tuple = None  # what the operation will fail with


def plan(cloud, call, body, zone, name, bare=False):
    """`bare`: machine and disk types are names, as in bulkInsert and templates, not URLs."""
    project = call.project
    path = f"projects/{project}/zones/{zone}/instances/{name}"
    value = copy.deepcopy(body)
    made = Plan(path, value, [], [("compute.instances.create", path)])
    value["machineType"] = LINK + check_type(body.get("machineType"), project, zone, bare)
    type_name = value["machineType"].rpartition("/")[2]
    store.check_labels(value.get("labels", {}))
    store.check_metadata(value.get("metadata", {}).get("items", []))
    for key, permission in (("labels", "setLabels"), ("metadata", "setMetadata"),
                            ("tags", "setTags"), ("serviceAccounts", "setServiceAccount")):
        if value.get(key):
            made.permissions.append((f"compute.instances.{permission}", path))
    if bare and any("/" in text for text in value.get("resourcePolicies", ())):
        raise invalid("resource.instanceProperties.resourcePolicies[0]",
                      value["resourcePolicies"][0], "Must be a name.")
    gpus = check_gpus(value, type_name, project, zone)
    value["scheduling"] = check_scheduling(value.get("scheduling", {}), gpus)
    check_network(cloud, made, zone)
    check_disks(cloud, made, type_name, zone, bare)
    check_accounts(cloud, call, made)
    policies.check(cloud, made)
    return made


# ---- machine types ----


def check_type(text, project, zone, bare):
    if not text:
        raise errors.required("resource.machineType")
    field = "instanceProperties.machineType" if bare else "resource.machineType"
    if bare:
        if "/" in text:
            # SkyPilot saw Google answer 503 to bulkInsert with a URL here.
            raise Refusal(503, "backendError", "Internal error. Please try again or contact "
                                               "Google Support.")
        text = f"zones/{zone}/machineTypes/{text}"
    path = store.path_of(field, text, "machineTypes", project, zone)
    name = path.rpartition("/")[2]
    if not capacity.offered(name, zone):
        raise invalid(field, LINK + path, f"Machine type with name '{name}' does not exist in "
                                          f"zone '{zone}'.")
    return path


def check_gpus(value, type_name, project, zone):
    """Does the instance have GPUs?"""
    for number, item in enumerate(value.get("guestAccelerators", ())):
        text = item.get("acceleratorType", "")
        field = f"resource.guestAccelerators[{number}].acceleratorType"
        if "/" not in text:
            text = f"zones/{zone}/acceleratorTypes/{text}"
        path = store.path_of(field, text, "acceleratorTypes", project, zone)
        name = path.rpartition("/")[2]
        built_in = capacity.machine_type(type_name)[2]
        if built_in and built_in[0] == name:
            continue
        if not type_name.startswith(("n1-", "custom-")):
            raise invalid(field, text, f"[{name}] features are not compatible for creating "
                                       "instance with this machine type.")
        if zone not in settings.GPUS.get(name, ()):
            raise errors.not_found(path)
        item["acceleratorType"] = LINK + path
        item.setdefault("acceleratorCount", 1)
    return bool(value.get("guestAccelerators") or capacity.machine_type(type_name)[2])


# ---- scheduling ----


def check_scheduling(given, gpus):
    """The scheduling with its defaults; spot has rules of its own."""
    made = dict(given)
    model = made.setdefault("provisioningModel", "SPOT" if made.get("preemptible") else "STANDARD")
    spot = model == "SPOT" or made.get("preemptible", False)
    if made.get("preemptible") and model != "SPOT" and "provisioningModel" in given:
        raise invalid("resource.scheduling.preemptible", "true",
                      "Preemptible must be false for provisioning model STANDARD.")
    if spot and made.get("automaticRestart"):
        raise invalid("resource.scheduling.automaticRestart", "true",
                      "Automatic restart is not allowed for preemptible instances.")
    if spot and made.get("onHostMaintenance") == "MIGRATE":
        raise invalid("resource.scheduling.onHostMaintenance", "MIGRATE",
                      "Preemptible instances do not support live migration.")
    action = made.get("instanceTerminationAction")
    if action and not spot and "maxRunDuration" not in made and "terminationTime" not in made:
        raise invalid("resource.scheduling.instanceTerminationAction", action,
                      "You cannot specify a termination action for a VM instance that has the "
                      "standard provisioning model (default). To use instance termination action, "
                      "the VM instance must use the Spot provisioning model or have a run limit.")
    if "preemptionNoticeDuration" in made and not spot:
        raise invalid("resource.scheduling.preemptionNoticeDuration", "", "Only Spot VMs have it.")
    if gpus and made.get("onHostMaintenance", "MIGRATE") == "MIGRATE" and not spot:
        raise invalid("resource.scheduling.onHostMaintenance", "MIGRATE",
                      "Instances with guest accelerators do not support live migration.")
    made.setdefault("onHostMaintenance", "TERMINATE" if spot else "MIGRATE")
    made.setdefault("automaticRestart", not spot)
    made["preemptible"] = spot
    if spot:
        made.setdefault("instanceTerminationAction", "STOP")
    return made


# ---- networks ----


def check_network(cloud, made, zone):
    value, region = made.value, store.region_of(zone)
    nics = value.get("networkInterfaces")
    if not nics:
        raise invalid("resource.networkInterfaces", "", "At least one network interface is "
                                                        "required.")
    project = made.path.split("/")[1]
    for number, nic in enumerate(nics):
        field = f"resource.networkInterfaces[{number}]"
        network, subnet = find_network(cloud, nic, field, project, region)
        if subnet.split("/")[3] != region:
            raise invalid(f"{field}.subnetwork", subnet, "The referenced subnetwork resource must "
                                                         f"be in region '{region}'.")
        configs = nic.get("accessConfigs", [])
        if len(configs) > 1:
            raise invalid(f"{field}.accessConfigs", len(configs), "At most one access config.")
        made.permissions.append(("compute.subnetworks.use", subnet))
        if configs:
            made.permissions.append(("compute.subnetworks.useExternalIp", subnet))
        nic.update(kind="compute#networkInterface", name=f"nic{number}", network=LINK + network,
                   subnetwork=LINK + subnet, stackType=nic.get("stackType", "IPV4_ONLY"))
        for config in configs:
            config.update(kind="compute#accessConfig", type="ONE_TO_ONE_NAT",
                          name=config.get("name", "External NAT"), networkTier="PREMIUM")


def find_network(cloud, nic, field, project, region):
    """The paths of an interface's network and subnetwork. A subnetwork says its network; a network
    in auto mode has a subnetwork in each region.
    """
    network, subnet = nic.get("network"), nic.get("subnetwork")
    if subnet:
        path = store.path_of(f"{field}.subnetwork", subnet, "subnetworks", project,
                             others=cloud.hosts)
        if path not in cloud.store.records:
            raise invalid(f"{field}.subnetwork", subnet, "The referenced subnetwork resource "
                                                         "cannot be found.")
        subnet, own = path, cloud.store.get(path).value["network"].removeprefix(LINK)
    network = network or (own if subnet else "global/networks/default")
    if "/" not in network:
        network = f"global/networks/{network}"
    network = store.path_of(f"{field}.network", network, "networks", project, others=cloud.hosts)
    if network not in cloud.store.records:
        raise errors.not_found(network)
    if subnet and own != network:
        raise invalid(f"{field}.subnetwork", subnet, "The subnetwork is not of the network.")
    if not subnet and not cloud.store.get(network).value["autoCreateSubnetworks"]:
        raise invalid(f"{field}.subnetwork", "", "Network interface must specify a subnet if the "
                                                 "network resource is in custom subnet mode.")
    if not subnet:
        place, name = network.split("/global/")[0], network.rpartition("/")[2]
        subnet = f"{place}/regions/{region}/subnetworks/{name}"
    return network, subnet


class Addresses:
    """Addresses of subnets and of the Internet; each is given out once before any is reused."""

    def __init__(self):
        self.free = {}   # network: [address]

    def take(self, network):
        if network not in self.free:
            # Google keeps the first two and the last two addresses of a subnet.
            self.free[network] = [str(a) for a in ipaddress.ip_network(network).hosts()][1:-1]
        free = self.free[network]
        return free.pop(0) if free else None

    def give_back(self, network, address):
        if address:
            self.free[network].append(address)


# ---- disks ----


def check_disks(cloud, made, type_name, zone, bare):
    disks = made.value.get("disks")
    if not disks:
        raise invalid("resource.disks", "", "No disks are specified.")
    if not disks[0].get("boot"):
        raise invalid("resource.disks[0].boot", "false", "The first disk must be a boot disk.")
    if any(disk.get("boot") for disk in disks[1:]):
        raise invalid("resource.disks", "", "Only one boot disk is allowed.")
    for number, disk in enumerate(disks):
        field = f"resource.disks[{number}]"
        if disk.get("type") == "SCRATCH":
            disk.update(kind="compute#attachedDisk", index=number, mode="READ_WRITE",
                        autoDelete=True, boot=False,
                        deviceName=disk.get("deviceName", f"local-ssd-{number}"))
            disk.pop("initializeParams", None)
            continue
        if "source" in disk:
            attach_existing(cloud, made, disk, field, zone)
        elif "initializeParams" in disk:
            new_disk(cloud, made, disk, field, number, type_name, bare)
        else:
            raise invalid(field, "", "Either source or initializeParams must be specified.")
        disk.update(kind="compute#attachedDisk", index=number, interface="SCSI",
                    deviceName=disk.get("deviceName", f"persistent-disk-{number}"),
                    mode=disk.get("mode", "READ_WRITE"), type="PERSISTENT",
                    autoDelete=disk.get("autoDelete", False), boot=disk.get("boot", False))


def attach_existing(cloud, made, disk, field, zone):
    path = store.path_of(f"{field}.source", disk["source"], "disks", made.path.split("/")[1], zone)
    found = cloud.store.get(path)
    if found.value.get("users"):
        raise errors.in_use(path, found.value["users"][0])
    disk["source"] = LINK + path
    disk["diskSizeGb"] = found.value["sizeGb"]
    made.permissions.append(("compute.disks.use", path))


def new_disk(cloud, made, disk, field, number, type_name, bare):
    params = disk.pop("initializeParams")
    place, _, name = made.path.rpartition("/")
    place = place.rpartition("/")[0]
    project, zone = place.split("/")[1], place.rpartition("/")[2]
    name = params.get("diskName") or (name if number == 0 else f"{name}-{number}")
    path = f"{place}/disks/{name}"
    value = disk_value(cloud, params, f"{field}.initializeParams", project, zone, bare)
    image = value.get("sourceImage")
    if image:
        architecture = cloud.image(image).value["architecture"]
        if (architecture == "ARM64") != (type_name.split("-")[0] in settings.ARM):
            raise invalid(f"{field}.initializeParams.sourceImage", image,
                          f"The image's architecture {architecture} does not match the machine "
                          "type.")
        disk["licenses"] = []
    elif disk.get("boot"):
        raise invalid(f"{field}.initializeParams", "", "A boot disk needs a source image.")
    disk["source"], disk["diskSizeGb"] = LINK + path, value["sizeGb"]
    made.disks.append((path, value))
    made.permissions.append(("compute.disks.create", path))


def disk_value(cloud, params, field, project, zone, bare=False):
    """A disk as the API shows it."""
    text = params.get("diskType") or params.get("type")
    if not text or bare and "/" not in text:
        text = f"zones/{zone}/diskTypes/{text or 'pd-standard'}"
    kind = store.path_of(f"{field}.diskType", text, "diskTypes", project, zone)
    if kind.rpartition("/")[2] not in settings.DISK_TYPES:
        raise errors.not_found(kind)
    size, value = int(params.get("diskSizeGb") or params.get("sizeGb") or 0), {}
    if params.get("sourceImage"):
        image = cloud.image(params["sourceImage"], f"{field}.sourceImage")
        smallest = int(image.value["diskSizeGb"])
        if size and size < smallest:
            raise invalid(f"{field}.diskSizeGb", size, "Requested disk size cannot be smaller than "
                                                       f"the image size ({smallest} GB)")
        size = size or smallest
        value.update(sourceImage=image.value["selfLink"], sourceImageId=image.value["id"])
    labels = params.get("labels", {})
    store.check_labels(labels, f"{field}.labels")
    value.update(type=LINK + kind, sizeGb=str(size or 500), status="READY", labels=labels,
                 labelFingerprint=store.fingerprint(labels))
    if params.get("description"):
        value["description"] = params["description"]
    return value


# ---- service accounts ----


def check_accounts(cloud, call, made):
    accounts = made.value.get("serviceAccounts", [])
    if len(accounts) > 1:
        raise invalid("resource.serviceAccounts", len(accounts), "At most one service account.")
    for account in accounts:
        if account.get("email", "default") == "default":
            account["email"] = settings.DEFAULT_ACCOUNT
        account.setdefault("scopes", [])
        for scope in account["scopes"]:
            if not re.fullmatch(r"https://(www|mail)\.google(apis)?\.com/.*", scope):
                raise invalid("resource.serviceAccounts[0].scopes[0]", scope, "Invalid scope.")
        email = account["email"]
        found = cloud.iam.account(email)
        if not found or not cloud.iam.usable(found) or not cloud.iam.allowed(
                call.identity, "iam.serviceAccounts.actAs", iam.account_path(email)):
            made.failure = (400, "SERVICE_ACCOUNT_ACCESS_DENIED",
                            f"The user does not have access to service account '{email}'.  User: "
                            f"'{call.identity.email}'.  Ask a project owner to grant you the "
                            "iam.serviceAccountUser role on the service account")
