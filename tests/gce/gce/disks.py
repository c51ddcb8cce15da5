"""Persistent disks: created alone or with an instance, and what keeps them from being deleted."""

from . import errors, instance_api, launch, lists, store


def find(cloud, call):
    return cloud.store.get(f"projects/{call.project}/zones/{call.vars['zone']}/disks/"
                           f"{call.vars.get('disk') or call.vars['resource']}")


def get(cloud, call):
    return find(cloud, call).value


def list_(cloud, call):
    folder = f"projects/{call.project}/zones/{call.vars['zone']}/disks"
    return lists.listing(cloud, call, call.rule, folder, "disks", "disk")


def aggregated_list(cloud, call):
    return lists.aggregated(cloud, call, call.rule, "disks", "disk")


def insert(cloud, call):
    body, zone = dict(call.value), call.vars["zone"]
    path = f"projects/{call.project}/zones/{zone}/disks/{body['name']}"
    if call.get("sourceImage"):
        body["sourceImage"] = call.get("sourceImage")
    value = launch.disk_value(cloud, body, "resource", call.project, zone)
    if path in cloud.store.records:
        raise errors.exists(path)
    return cloud.operations.change(call, "insert", cloud.store.add(path, value, "disk"))


def delete(cloud, call):
    record = find(cloud, call)
    if record.value.get("users"):
        raise errors.in_use(record.path, record.value["users"][0][len(store.LINK):])
    cloud.store.records.pop(record.path)
    return cloud.operations.change(call, "delete", record)


def set_labels(cloud, call):
    record, labels = find(cloud, call), call.value.get("labels", {})
    store.check_labels(labels)
    return instance_api.put_labels(cloud, call, record, labels)


METHODS = {"disks.get": get, "disks.list": list_, "disks.aggregatedList": aggregated_list,
           "disks.insert": insert, "disks.delete": delete, "disks.setLabels": set_labels}
