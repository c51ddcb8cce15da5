"""What Google has left: stockouts by machine type, zone and time, and the project's quotas."""

import collections
import dataclasses
import fnmatch
import time

from . import settings


@dataclasses.dataclass
class Stockout:
    """From `begin` to `end` (seconds after it was set) only `left` more instances start."""

    type: str = "*"
    zone: str = "*"
    model: str = "*"       # STANDARD or SPOT
    left: int = 0
    begin: float = 0.0
    end: float = 1e9
    since: float = dataclasses.field(default_factory=time.monotonic)

    def concerns(self, type_name, zone, model):
        age = time.monotonic() - self.since
        return self.begin <= age < self.end and fnmatch.fnmatch(type_name, self.type) and \
            fnmatch.fnmatch(zone, self.zone) and fnmatch.fnmatch(model, self.model)


class Capacity:
    def __init__(self, cloud):
        self.cloud = cloud
        self.stockouts = []
        self.used = collections.Counter()  # (metric, region or global)
        self.quotas = dict(settings.QUOTAS)
        self.global_quotas = dict(settings.GLOBAL_QUOTAS)

    def take(self, type_name, zone, model):
        """Is there capacity for one more instance?"""
        limits = [s for s in self.stockouts if s.concerns(type_name, zone, model)]
        if any(s.left <= 0 for s in limits):
            return False
        for limit in limits:
            limit.left -= 1
        return True

    def stockout(self, path_of_zone, type_name):
        """(HTTP status, code, message, details) for an operation."""
        code = self.cloud.tunables.stockout_code
        zone = path_of_zone.rpartition("/")[2]
        message = f"The zone '{path_of_zone}' does not have enough resources available to " \
                  "fulfill the request.  Try a different zone, or try again later."
        if code.endswith("_WITH_DETAILS"):
            message = f"The zone '{path_of_zone}' does not have enough resources available to " \
                      f"fulfill the request.  '(resource type:compute)'."
        detail = {"errorInfo": {"reason": "resource_availability",
                                "domain": "compute.googleapis.com",
                                "metadatas": {"vmType": type_name, "zone": zone,
                                              "attachment": "", "zonesAvailable": ""}}}
        return 503, code, message, [detail]

    # ---- quotas ----

    def needs(self, value):
        """[(metric, amount)] of an instance, in its region; the last ones are global."""
        type_name = value["machineType"].rpartition("/")[2]
        cpus, _, gpu, _ = machine_type(type_name)
        spot = value["scheduling"]["provisioningModel"] == "SPOT"
        family = type_name.split("-")[0].upper()
        metric = f"{family}_CPUS" if f"{family}_CPUS" in settings.QUOTAS else "CPUS"
        wanted = [("PREEMPTIBLE_CPUS" if spot else metric, cpus), ("INSTANCES", 1)]
        addresses = sum(len(nic.get("accessConfigs", ())) for nic in value["networkInterfaces"])
        if addresses:
            wanted.append(("IN_USE_ADDRESSES", addresses))
        gpus = [gpu] if gpu else [(a["acceleratorType"].rpartition("/")[2], a["acceleratorCount"])
                                  for a in value.get("guestAccelerators", ())]
        for name, count in gpus:
            metric = quota_of_gpu(name)
            spot_metric = f"PREEMPTIBLE_{metric}"
            wanted.append((spot_metric if spot and spot_metric in self.quotas else metric, count))
            wanted.append(("GPUS_ALL_REGIONS", count))
        wanted.append(("CPUS_ALL_REGIONS", cpus))
        return wanted

    def disks(self, region):
        """GB of all disks of a region, by metric. Disks of stopped instances count."""
        used = collections.Counter()
        for record in self.cloud.store.of_kind("disks", settings.PROJECT):
            if record.path.split("/")[3].rpartition("-")[0] == region:
                used[disk_metric(record.value["type"])] += int(record.value["sizeGb"])
        return used

    def hold(self, value, region):
        """Count an instance, whose disks exist: (what `release` takes back, None), or (None, why
        not) where the reason is (metric, limit, place).
        """
        for metric, used in self.disks(region).items():
            if used > self.quotas[metric]:
                return None, (metric, float(self.quotas[metric]), region)
        held = [(metric, "global" if metric in self.global_quotas else region, amount)
                for metric, amount in self.needs(value)]
        for metric, place, amount in held:
            limits = self.global_quotas if place == "global" else self.quotas
            limit = limits.get(metric, float("inf"))
            if self.used[metric, place] + amount > limit:
                return None, (metric, float(limit), place)
        for metric, place, amount in held:
            self.used[metric, place] += amount
        return held, None

    def release(self, held):
        """A stopped or deleted instance uses no quota."""
        for metric, place, amount in held or ():
            self.used[metric, place] -= amount

    def show(self, place):
        """The list `quotas` of a region, or of the project."""
        limits = self.global_quotas if place == "global" else self.quotas
        used = {metric: self.used[metric, place] for metric in limits}
        used.update(self.disks(place))
        if place == "global":
            for metric, kind in (("FIREWALLS", "firewalls"),
                                 ("INSTANCE_TEMPLATES", "instanceTemplates")):
                used[metric] = len(self.cloud.store.of_kind(kind, settings.PROJECT))
        return [{"metric": metric, "limit": float(limit), "usage": float(used[metric])}
                for metric, limit in limits.items()]


def quota_failure(metric, limit, place):
    """(HTTP status, code, message, details) for an operation."""
    where = "globally" if place == "global" else f"in region {place}"
    detail = {"quotaInfo": {"metricName": f"compute.googleapis.com/{metric.lower()}",
                            "limitName": f"{metric}-per-project-region", "limit": limit,
                            "dimensions": {"region": place}}}
    return 403, "QUOTA_EXCEEDED", f"Quota '{metric}' exceeded.  Limit: {limit} {where}.", [detail]


def disk_metric(type_url):
    """pd-balanced and pd-ssd share a quota; DISKS_TOTAL_GB is of pd-standard only."""
    return "SSD_TOTAL_GB" if type_url.endswith(("pd-ssd", "pd-balanced")) else "DISKS_TOTAL_GB"


def quota_of_gpu(name):
    word = name.upper().replace("-", "_").replace("NVIDIA_TESLA_", "NVIDIA_")
    return word.partition("_80GB")[0] + "_GPUS"


def machine_type(name):
    """(vCPUs, MB, (GPU, count) or None, shared) of a type, or None. Custom types are computed."""
    if name in settings.MACHINE_TYPES:
        return settings.MACHINE_TYPES[name]
    words = name.split("-")
    family = words.pop(0) if words[0] != "custom" else "n1"
    if words[-1] == "ext":
        words.pop()
    good = len(words) == 3 and words[0] == "custom" and words[1].isdigit() and words[2].isdigit()
    if not good or family not in ("n1", "n2", "n2d", "e2") or int(words[2]) % 256:
        return None
    cpus = int(words[1])
    return (cpus, int(words[2]), None, False) if cpus == 1 or cpus and cpus % 2 == 0 else None


def offered(name, zone):
    only = settings.ONLY_IN.get(name.split("-")[0])
    return machine_type(name) is not None and (only is None or zone in only)
