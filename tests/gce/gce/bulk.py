"""bulkInsert: many instances with one request, each with an insert operation of its own. They and
the bulk operation share `operationGroupId`. If fewer than minCount can be created, all are rolled
back.
"""

import re
import uuid

from . import capacity, iam, instances, launch, store
from .errors import invalid

COUNT_MAX = 5000


def bulk_insert(cloud, call):
    body, zone = call.value, call.vars["zone"]
    names = names_of(cloud, call, body, zone)
    least = int(body.get("minCount", len(names)))
    if not 0 <= least <= len(names):
        raise invalid("resource.minCount", least, f"Must be between 0 and count ({len(names)}).")
    properties = properties_of(cloud, call, body)
    plans = []
    for name in names:
        hostname = body.get("perInstanceProperties", {}).get(name, {}).get("hostname")
        own = {**properties, **({"hostname": hostname} if hostname else {})}
        plans.append(launch.plan(cloud, call, own, zone, name, bare=True))
    for permission, resource in plans[0].permissions:
        iam.require(cloud, call, permission, resource)
    return begin(cloud, call, plans, least, zone)


def names_of(cloud, call, body, zone):
    """From perInstanceProperties, or numbered by namePattern after those that exist."""
    each, pattern = body.get("perInstanceProperties"), body.get("namePattern")
    count = int(body["count"]) if "count" in body else len(each or ())
    if not 1 <= count <= COUNT_MAX:
        raise invalid("resource.count", count, f"Must be between 1 and {COUNT_MAX}.")
    if bool(each) == bool(pattern):
        raise invalid("resource", "", "Exactly one of namePattern and perInstanceProperties must "
                                      "be specified.")
    if each:
        if len(each) != count:
            raise invalid("resource.count", count, "Must be the number of perInstanceProperties.")
        for name in each:
            if not re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", name):
                raise invalid("resource.perInstanceProperties.key", name, "Must be a match of "
                              "regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'")
        return list(each)
    found = re.fullmatch(r"([a-z][-a-z0-9]*)(#+)([-a-z0-9]*)", pattern)
    if not found or len(pattern) > 63 or len(found.group(2)) > 18 or pattern.endswith("-"):
        raise invalid("resource.namePattern", pattern, "Must contain one run of '#' and be a name.")
    before, marks, after = found.groups()
    folder = f"projects/{call.project}/zones/{zone}/instances"
    used = [re.fullmatch(re.escape(before) + r"(\d+)" + re.escape(after), r.name)
            for r in cloud.store.all(folder)]
    first = max([int(m.group(1)) for m in used if m], default=0) + 1
    return [f"{before}{number:0{len(marks)}d}{after}" for number in range(first, first + count)]


def properties_of(cloud, call, body):
    properties = body.get("instanceProperties")
    text = body.get("sourceInstanceTemplate")
    if bool(properties) and bool(text) or not properties and not text:
        raise invalid("resource", "", "Exactly one of instanceProperties and "
                                      "sourceInstanceTemplate must be specified.")
    if properties:
        return properties
    path = store.path_of("resource.sourceInstanceTemplate", text, "instanceTemplates", call.project)
    iam.require(cloud, call, "compute.instanceTemplates.useReadOnly", path)
    return cloud.store.get(path).value["properties"]


def begin(cloud, call, plans, least, zone):
    group = str(uuid.uuid4())
    place = f"projects/{call.project}/zones/{zone}"
    bulk = cloud.operations.new(call, "bulkInsert", f"{place}/instances/-", operationGroupId=group)
    bulk.value["targetLink"] = store.LINK + place
    asked = dict(call.params)
    if cloud.tunables.quota_whole:
        refuse_whole(cloud, plans, store.region_of(zone))
    call.params.pop("requestId", None)  # the requestId belongs to the bulk operation alone
    started = []  # (operation, record or None, failure)
    for plan in plans:
        one = cloud.operations.new(call, "insert", plan.path, operationGroupId=group)
        taken = [p for p in (plan.path, *(p for p, _ in plan.disks)) if p in cloud.store.records]
        if taken:
            started.append((one, None))
            cloud.later(cloud.tunables.insert, cloud.operations.finish, one,
                        [instances.already(taken[0])])
        else:
            started.append((one, cloud.instances.create(plan, one)))
    call.params.update(asked)
    status(bulk, zone, "CREATING", started)
    watch(cloud, bulk, zone, started, least)
    return bulk


def refuse_whole(cloud, plans, region):
    """All fail if the quota has no room for one of them."""
    answers = [cloud.capacity.hold(plan.value, region) for plan in plans]
    for held, _ in answers:
        cloud.capacity.release(held)
    short = next((short for _, short in answers if short), None)
    for plan in plans if short else ():
        plan.failure = plan.failure or capacity.quota_failure(*short)


def status(bulk, zone, state, started, deleted=0):
    done = [one for one, _ in started if one.value["status"] == "DONE"]
    failed = [one for one in done if "error" in one.value]
    bulk.value["instancesBulkInsertOperationMetadata"] = {"perLocationStatus": {f"zones/{zone}": {
        "status": state, "targetVmCount": len(started),
        "createdVmCount": len(done) - len(failed), "deletedVmCount": deleted,
        "failedToCreateVmCount": len(failed)}}}
    bulk.value["progress"] = 100 * len(done) // len(started)


def watch(cloud, bulk, zone, started, least):
    """Called again until every instance has succeeded or failed."""
    with cloud.state:
        status(bulk, zone, "CREATING", started)
        if any(one.value["status"] != "DONE" for one, _ in started):
            cloud.later(0.02 + cloud.tunables.insert / 10, watch, cloud, bulk, zone, started, least)
            return
        good = [record for one, record in started if "error" not in one.value]
        failures = distinct(one for one, _ in started)
        if len(good) >= least:
            status(bulk, zone, "DONE", started)
            cloud.operations.finish(bulk, failures)
            return
        for record in good:
            operation = cloud.operations.new(None, "delete", record)
            cloud.instances.delete(record, operation)
        status(bulk, zone, "ROLLING_BACK", started, len(good))
        message = f"Requested minimum count of {least} VMs could not be created."
        cloud.later(cloud.tunables.queue + cloud.tunables.delete + 0.05, finish_rollback, cloud,
                    bulk, zone, started, len(good),
                    [(503, "VM_MIN_COUNT_NOT_REACHED", message), *failures])


def finish_rollback(cloud, bulk, zone, started, deleted, failures):
    with cloud.state:
        status(bulk, zone, "DONE", started, deleted)
        cloud.operations.finish(bulk, failures)


def distinct(operations):
    """The failures of many operations, each code once."""
    found = {}
    for one in operations:
        for error in one.value.get("error", {}).get("errors", ()):
            found.setdefault(error["code"], (one.value["httpErrorStatusCode"], error["code"],
                                             error["message"]))
    return list(found.values())


METHODS = {"instances.bulkInsert": bulk_insert}
