"""The methods of compute.instances, apart from bulkInsert."""

import time

from . import capacity, errors, iam, instances, launch, lists, store
from .errors import Refusal
from .store import LINK


def find(cloud, call):
    """The instance of the path. Just after its insert, Google may not know it yet."""
    record = cloud.store.get(f"projects/{call.project}/zones/{call.vars['zone']}/instances/"
                             f"{call.vars.get('instance') or call.vars['resource']}")
    if record.inserting and time.monotonic() - record.born < cloud.tunables.get_lag:
        raise errors.not_found(record.path)
    return record


def get(cloud, call):
    return find(cloud, call).value


def list_(cloud, call):
    folder = f"projects/{call.project}/zones/{call.vars['zone']}/instances"
    return lists.listing(cloud, call, call.rule, folder, "instances", "instance")


def aggregated_list(cloud, call):
    return lists.aggregated(cloud, call, call.rule, "instances", "instance")


def insert(cloud, call):
    body, zone = call.value, call.vars["zone"]
    if call.get("sourceInstanceTemplate"):
        body = from_template(cloud, call, body, zone)
    path = f"projects/{call.project}/zones/{zone}/instances/{body['name']}"
    plan = launch.plan(cloud, call, body, zone, body["name"])
    for permission, resource in plan.permissions:
        iam.require(cloud, call, permission, resource)
    taken = [p for p in (path, *(p for p, _ in plan.disks)) if p in cloud.store.records]
    if taken and not cloud.late_exists:
        raise errors.exists(taken[0])
    refuse_short(cloud, plan)
    operation = cloud.operations.new(call, "insert", plan.path)
    if taken:
        cloud.later(cloud.tunables.insert, cloud.operations.finish, operation,
                    [instances.already(taken[0])])
    else:
        cloud.instances.create(plan, operation)
    return operation


def refuse_short(cloud, plan):
    """Where a test wants shortages as HTTP errors instead of in the operation."""
    zone, value = plan.path.split("/")[3], plan.value
    if cloud.tunables.quota_status:
        held, short = cloud.capacity.hold(value, store.region_of(zone))
        if short:
            raise Refusal(cloud.tunables.quota_status, "quotaExceeded",
                          capacity.quota_failure(*short)[2], domain="usageLimits")
        cloud.capacity.release(held)
    if cloud.tunables.stockout_status:
        name = value["machineType"].rpartition("/")[2]
        model = value["scheduling"]["provisioningModel"]
        if any(s.left <= 0 for s in cloud.capacity.stockouts if s.concerns(name, zone, model)):
            _, code, message, _ = cloud.capacity.stockout("/".join(plan.path.split("/")[:4]), name)
            raise Refusal(cloud.tunables.stockout_status, code, message)


def from_template(cloud, call, body, zone):
    """The template's properties, with what the request overrides."""
    path = store.path_of("sourceInstanceTemplate", call.get("sourceInstanceTemplate"),
                         "instanceTemplates", call.project)
    iam.require(cloud, call, "compute.instanceTemplates.useReadOnly", path)
    made = {**cloud.store.get(path).value["properties"], **body}
    if "/" not in made["machineType"]:
        made["machineType"] = f"zones/{zone}/machineTypes/{made['machineType']}"
    made["disks"] = [dict(disk) for disk in made.get("disks", [])]
    for disk in made["disks"]:
        params = dict(disk.get("initializeParams", {}))
        if params.get("diskType") and "/" not in params["diskType"]:
            params["diskType"] = f"zones/{zone}/diskTypes/{params['diskType']}"
        if params:
            disk["initializeParams"] = params
    return made


def delete(cloud, call):
    record = find(cloud, call)
    if record.value["deletionProtection"]:
        raise Refusal(400, "invalidUsage", "Invalid resource usage: 'Resource cannot be deleted if "
                                           "it's protected against deletion.'.")
    record.deletes += 1
    if record.deletes > cloud.tunables.deletes_max:
        raise Refusal(403, "rateLimitExceeded", "Operation rate exceeded for resource "
                      f"'{record.path}'. Too frequent operations from the source resource.",
                      domain="usageLimits", status="PERMISSION_DENIED")
    operation = cloud.operations.new(call, "delete", record)
    cloud.instances.delete(record, operation)
    return operation


def stop(cloud, call):
    record = find(cloud, call)
    if "discardLocalSsd" not in call.params and any(
            disk["type"] == "SCRATCH" for disk in record.value["disks"]):
        raise Refusal(400, "invalid", "VM has a Local SSD attached but an undefined value for "
                                      "`discard-local-ssd`.")
    operation = cloud.operations.new(call, "stop", record)
    if record.value["status"] in ("TERMINATED", "STOPPING"):
        cloud.later(cloud.tunables.change, cloud.operations.finish, operation)
    elif record.value["status"] != "RUNNING":
        not_ready(cloud, operation, record)
    else:
        cloud.instances.stop(record, operation)
    return operation


def start(cloud, call):
    record = find(cloud, call)
    operation = cloud.operations.new(call, "start", record)
    if record.value["status"] == "RUNNING":
        cloud.later(cloud.tunables.change, cloud.operations.finish, operation)
    elif record.value["status"] != "TERMINATED":
        not_ready(cloud, operation, record)
    else:
        cloud.instances.start(record, operation)
    return operation


def not_ready(cloud, operation, record):
    cloud.later(cloud.tunables.change, cloud.operations.finish, operation,
                [(400, "RESOURCE_NOT_READY", f"The resource '{record.path}' is not ready")])


def reset(cloud, call):
    record = find(cloud, call)
    cloud.later(0, cloud.instances.reset, record)
    return cloud.operations.change(call, "reset", record)


def set_labels(cloud, call):
    record, labels = find(cloud, call), call.value.get("labels", {})
    store.check_labels(labels)
    return put_labels(cloud, call, record, labels)


def put_labels(cloud, call, record, labels):
    store.check_fingerprint(call.value.get("labelFingerprint"), record.value["labelFingerprint"],
                            "Labels fingerprint either invalid or resource labels have changed")
    return cloud.operations.change(call, "setLabels", record, lambda: record.value.update(
        labels=labels, labelFingerprint=store.fingerprint(labels)))


def set_metadata(cloud, call):
    record, items = find(cloud, call), call.value.get("items", [])
    store.check_metadata(items)
    store.check_fingerprint(call.value.get("fingerprint"), record.value["metadata"]["fingerprint"],
                            "Supplied fingerprint does not match current metadata fingerprint.")
    return cloud.operations.change(
        call, "setMetadata", record,
        lambda: record.value["metadata"].update(items=items, fingerprint=store.fingerprint(items)))


def set_tags(cloud, call):
    record, items = find(cloud, call), call.value.get("items", [])
    store.check_fingerprint(call.value.get("fingerprint"), record.value["tags"]["fingerprint"],
                            "Supplied fingerprint does not match current tags fingerprint.")
    return cloud.operations.change(
        call, "setTags", record,
        lambda: record.value["tags"].update(items=items, fingerprint=store.fingerprint(items)))


def set_protection(cloud, call):
    record = find(cloud, call)
    record.value["deletionProtection"] = call.get("deletionProtection", True)
    return cloud.operations.change(call, "setDeletionProtection", record)


def set_auto_delete(cloud, call):
    record = find(cloud, call)
    for disk in record.value["disks"]:
        if disk["deviceName"] == call.get("deviceName"):
            disk["autoDelete"] = call.get("autoDelete")
            return cloud.operations.change(call, "setDiskAutoDelete", record)
    raise errors.invalid("deviceName", call.get("deviceName"), "No attached disk has this name.")


def guest_attributes(cloud, call):
    record = find(cloud, call)
    if (not cloud.instances.guest_attributes(record) or
            "disableGuestAttributesAccess" in cloud.policies):
        raise Refusal(403, "forbidden", "Guest attributes endpoint access is disabled.")
    query = call.get("queryPath") or call.get("variableKey") or ""
    folder = query.rstrip("/")
    found = {k: v for k, v in record.guest.items()
             if not folder or k == folder or k.startswith(folder + "/")}
    if not found:
        raise Refusal(404, "notFound", f"The resource '{query}' of type 'Guest Attribute' was not "
                                       "found.")
    reply = {"kind": "compute#guestAttributes", "queryPath": query,
             "selfLink": f"{LINK}{record.path}/getGuestAttributes"}
    if call.get("variableKey"):
        return {**reply, "variableKey": query, "variableValue": found.get(query, "")}
    items = [dict(zip(("namespace", "key"), k.split("/", 1)), value=v) for k, v in found.items()]
    return {**reply, "queryValue": {"items": items}}


def serial_output(cloud, call):
    record, begin = find(cloud, call), int(call.get("start", 0))
    return {"kind": "compute#serialPortOutput", "contents": record.serial[begin:],
            "start": str(begin), "next": str(len(record.serial)),
            "selfLink": f"{LINK}{record.path}/serialPort"}


METHODS = {
    "instances.get": get, "instances.list": list_, "instances.aggregatedList": aggregated_list,
    "instances.insert": insert, "instances.delete": delete, "instances.stop": stop,
    "instances.start": start, "instances.reset": reset, "instances.setLabels": set_labels,
    "instances.setMetadata": set_metadata, "instances.setTags": set_tags,
    "instances.setDeletionProtection": set_protection,
    "instances.setDiskAutoDelete": set_auto_delete,
    "instances.getGuestAttributes": guest_attributes,
    "instances.getSerialPortOutput": serial_output,
}
