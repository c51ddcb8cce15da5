"""What the project can choose from and cannot change: regions, zones, machine types, GPUs, disk
types and images. Also the project itself and its metadata.
"""

from . import capacity, errors, lists, settings, store
from .store import LINK, Record

NOT_GIVEN = "1969-12-31T16:00:00.000-08:00"


def seed(cloud):
    for project, family, name, architecture, size in settings.IMAGES:
        date = name.rpartition("-v")[2]
        record = cloud.store.add(f"projects/{project}/global/images/{name}", {
            "family": family, "architecture": architecture, "diskSizeGb": str(size),
            "status": "READY", "sourceType": "RAW", "archiveSizeBytes": str(size << 28),
            "description": f"{family}, {architecture}, built on {date}"}, "image")
        record.value["creationTimestamp"] = f"{date[:4]}-{date[4:6]}-{date[6:]}T00:00:00.000-07:00"
    cloud.project_metadata = {"kind": "compute#metadata", "items": [],
                              "fingerprint": store.fingerprint([])}


# ---- the project ----


def project(cloud, call):
    return {"kind": "compute#project", "id": settings.PROJECT_NUMBER, "name": settings.PROJECT,
            "creationTimestamp": NOT_GIVEN, "selfLink": f"{LINK}projects/{settings.PROJECT}",
            "defaultNetworkTier": "PREMIUM", "defaultServiceAccount": settings.DEFAULT_ACCOUNT,
            "xpnProjectStatus": "UNSPECIFIED_XPN_PROJECT_STATUS",
            "commonInstanceMetadata": cloud.project_metadata,
            "quotas": cloud.capacity.show("global")}


def set_project_metadata(cloud, call):
    items = call.value.get("items", [])
    store.check_metadata(items)
    store.check_fingerprint(call.value.get("fingerprint"), cloud.project_metadata["fingerprint"],
                            "Supplied fingerprint does not match current metadata fingerprint.")
    return cloud.operations.change(
        call, "compute.projects.setCommonInstanceMetadata", f"projects/{call.project}",
        lambda: cloud.project_metadata.update(items=items, fingerprint=store.fingerprint(items)))


# ---- places ----


def region_value(cloud, name):
    path = f"projects/{settings.PROJECT}"
    return {"kind": "compute#region", "id": str(1000 + len(name)), "name": name, "status": "UP",
            "creationTimestamp": NOT_GIVEN, "description": name,
            "selfLink": f"{LINK}{path}/regions/{name}", "quotas": cloud.capacity.show(name),
            "zones": [f"{LINK}{path}/zones/{name}-{z}" for z in settings.ZONES[name]]}


def zone_value(cloud, name):
    path, region = f"projects/{settings.PROJECT}", store.region_of(name)
    return {"kind": "compute#zone", "id": str(2000 + len(name)), "name": name,
            "creationTimestamp": NOT_GIVEN, "description": name,
            "status": "DOWN" if name in cloud.unreachable else "UP",
            "selfLink": f"{LINK}{path}/zones/{name}", "region": f"{LINK}{path}/regions/{region}",
            "availableCpuPlatforms": ["Intel Cascade Lake", "AMD Milan"]}


def type_value(name, zone):
    cpus, memory, gpu, shared = capacity.machine_type(name)
    path = f"projects/{settings.PROJECT}/zones/{zone}/machineTypes/{name}"
    value = {"kind": "compute#machineType", "id": str(sum(name.encode())), "name": name,
             "creationTimestamp": NOT_GIVEN, "guestCpus": cpus, "memoryMb": memory, "zone": zone,
             "description": f"{cpus} vCPUs, {memory} MB RAM", "selfLink": LINK + path,
             "isSharedCpu": shared, "imageSpaceGb": 0, "maximumPersistentDisks": 128,
             "maximumPersistentDisksSizeGb": "263168",
             "architecture": "ARM64" if name.split("-")[0] in settings.ARM else "X86_64"}
    if gpu:
        value["accelerators"] = [{"guestAcceleratorType": gpu[0], "guestAcceleratorCount": gpu[1]}]
    return value


def named_value(kind, type_name, name, zone):
    path = f"projects/{settings.PROJECT}/zones/{zone}/{kind}/{name}"
    return {"kind": f"compute#{type_name}", "id": str(sum(name.encode())), "name": name,
            "creationTimestamp": NOT_GIVEN, "description": name, "selfLink": LINK + path,
            "zone": f"{LINK}projects/{settings.PROJECT}/zones/{zone}"}


# ---- methods: the rows are computed, then listed like any other ----


def rows(cloud, kind, zone=None):
    """[(path, value)]."""
    project_path = f"projects/{settings.PROJECT}"
    if kind == "regions":
        return [(f"{project_path}/regions/{n}", region_value(cloud, n)) for n in settings.ZONES]
    if kind == "zones":
        return [(f"{project_path}/zones/{n}", zone_value(cloud, n)) for n in store.zones()]
    found = []
    for place in [zone] if zone else store.zones():
        if kind == "machineTypes":
            made = [(n, type_value(n, place)) for n in settings.MACHINE_TYPES
                    if capacity.offered(n, place)]
        elif kind == "acceleratorTypes":
            made = [(n, named_value(kind, "acceleratorType", n, place))
                    for n, where in settings.GPUS.items() if place in where]
        else:
            made = [(n, named_value(kind, "diskType", n, place)) for n in settings.DISK_TYPES]
        found += [(f"{project_path}/zones/{place}/{kind}/{n}", value) for n, value in made]
    return found


def getter(kind, variable):
    def get(cloud, call):
        zone, name = call.vars.get("zone"), call.vars[variable]
        if kind == "machineTypes" and capacity.offered(name, zone):
            return type_value(name, zone)
        for path, value in rows(cloud, kind, zone if variable != "zone" else None):
            if path.rpartition("/")[2] == name:
                return value
        path = call.target.partition("?")[0].partition("/compute/v1/")[2]
        raise errors.not_found(path)
    return get


def lister(kind, type_name):
    def list_(cloud, call):
        records = [Record(p, v) for p, v in rows(cloud, kind, call.vars.get("zone"))]
        page, token = lists.chosen(call, call.rule, records, kind)
        return lists.frame(call, type_name + "List", [r.value for r in page], token)
    return list_


def aggregator(kind, type_name):
    def list_(cloud, call):
        records = [Record(p, v) for p, v in rows(cloud, kind)]
        page, token = lists.chosen(call, call.rule, records, kind)
        items = {}
        for scope in lists.scopes(kind):
            own = [r.value for r in page if r.scope == scope]
            items[scope] = {kind: own} if own else {"warning": lists.warning(scope)}
        return lists.frame(call, type_name + "AggregatedList", items, token)
    return list_


def image(cloud, call):
    return cloud.store.get(f"projects/{call.vars['project']}/global/images/"
                           f"{call.vars['image']}").value


def image_of_family(cloud, call):
    return newest_of_family(cloud, call.vars["project"], call.vars["family"]).value


def newest_of_family(cloud, owner, family):
    found = [r for r in cloud.store.of_kind("images", owner) if r.value["family"] == family]
    if not found:
        raise errors.not_found(f"projects/{owner}/global/images/family/{family}")
    return max(found, key=lambda r: r.value["creationTimestamp"])


def list_images(cloud, call):
    folder = f"projects/{call.vars['project']}/global/images"
    return lists.listing(cloud, call, call.rule, folder, "images", "image")


METHODS = {
    "projects.get": project, "projects.setCommonInstanceMetadata": set_project_metadata,
    "regions.get": getter("regions", "region"), "regions.list": lister("regions", "region"),
    "zones.get": getter("zones", "zone"), "zones.list": lister("zones", "zone"),
    "images.get": image, "images.getFromFamily": image_of_family, "images.list": list_images,
}
for _kind, _type in (("machineTypes", "machineType"), ("acceleratorTypes", "acceleratorType"),
                     ("diskTypes", "diskType")):
    METHODS[f"{_kind}.get"] = getter(_kind, _type)
    METHODS[f"{_kind}.list"] = lister(_kind, _type)
    METHODS[f"{_kind}.aggregatedList"] = aggregator(_kind, _type)
