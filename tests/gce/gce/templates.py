"""Instance templates: global, immutable, each name given once until it is deleted."""

from . import errors, launch, lists, settings, store
from .errors import Refusal, invalid


def find(cloud, call):
    return cloud.store.get(f"projects/{call.project}/global/instanceTemplates/"
                           f"{call.vars['instanceTemplate']}")


def get(cloud, call):
    return find(cloud, call).value


def list_(cloud, call):
    folder = f"projects/{call.project}/global/instanceTemplates"
    return lists.listing(cloud, call, call.rule, folder, "instanceTemplates", "instanceTemplate")


def aggregated_list(cloud, call):
    return lists.aggregated(cloud, call, call.rule, "instanceTemplates", "instanceTemplate")


def insert(cloud, call):
    value = dict(call.value)
    path = f"projects/{call.project}/global/instanceTemplates/{value['name']}"
    properties = value.get("properties")
    if not properties:
        raise errors.required("resource.properties")
    if "/" in properties["machineType"]:
        raise invalid("resource.properties.machineType", properties["machineType"],
                      "A template has the name of a machine type, not a URL.")
    store.check_labels(properties.get("labels", {}), "resource.properties.labels")
    store.check_metadata(properties.get("metadata", {}).get("items", []),
                         "resource.properties.metadata")
    if not properties.get("disks"):
        raise invalid("resource.properties.disks", "", "No disks are specified.")
    if not properties.get("networkInterfaces"):
        raise invalid("resource.properties.networkInterfaces", "",
                      "At least one network interface is required.")
    for number, nic in enumerate(properties["networkInterfaces"]):
        launch.find_network(cloud, nic, f"resource.properties.networkInterfaces[{number}]",
                            call.project, next(iter(settings.ZONES)))
    for disk in properties["disks"]:
        image = disk.get("initializeParams", {}).get("sourceImage")
        if image:
            cloud.image(image, "resource.properties.disks[0].initializeParams.sourceImage")
    if path in cloud.store.records:
        raise errors.exists(path)
    limit = cloud.capacity.global_quotas["INSTANCE_TEMPLATES"]
    if len(cloud.store.of_kind("instanceTemplates", call.project)) >= limit:
        raise Refusal(403, "quotaExceeded", "Quota 'INSTANCE_TEMPLATES' exceeded.  Limit: "
                                            f"{float(limit)} globally.", domain="usageLimits")
    return cloud.operations.change(call, "insert",
                                   cloud.store.add(path, value, "instanceTemplate"))


def delete(cloud, call):
    record = find(cloud, call)
    cloud.store.records.pop(record.path)
    return cloud.operations.change(call, "delete", record)


METHODS = {"instanceTemplates.get": get, "instanceTemplates.list": list_,
           "instanceTemplates.aggregatedList": aggregated_list,
           "instanceTemplates.insert": insert, "instanceTemplates.delete": delete}
