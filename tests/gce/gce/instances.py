"""The life of instances: created, stopped, started, deleted. Their steps take the time that the
tunables say; a later step that was overtaken (`life`) does nothing.
"""

import dataclasses
import threading

from . import capacity, launch, settings, store
from .store import LINK, Record, stamp

ENDED_BY_USER = (409, "OPERATION_CANCELED_BY_USER", "Operation was canceled because the instance "
                                                    "was deleted or stopped in the meantime.")


@dataclasses.dataclass
class Instance(Record):
    life: int = 0              # raised by each change of direction
    held: list = None          # its quotas
    made: tuple = ()           # paths of the disks that were created with it
    inserting: object = None   # the operation that creates it
    preempted: bool = False
    maintenance: str = "NONE"  # the metadata's maintenance-event
    public: str = None         # its external address, shown once it is running
    deletes: int = 0           # requests so far
    guest: dict = dataclasses.field(default_factory=dict)  # namespace/key: value
    serial: str = ""
    machine: object = dataclasses.field(default_factory=threading.Lock)

    @property
    def zone(self):
        return self.path.split("/")[3]

    @property
    def address(self):
        return self.value["networkInterfaces"][0].get("networkIP")

    def items(self):
        """Its metadata as a dict."""
        return {i["key"]: i.get("value", "")
                for i in self.value.get("metadata", {}).get("items", [])}


class Instances:
    def __init__(self, cloud):
        self.cloud = cloud
        self.addresses = launch.Addresses()

    # ---- creating ----

    def create(self, plan, operation):
        """Create an instance from a plan. If there is no capacity it exists until the operation
        fails.
        """
        cloud, value = self.cloud, plan.value
        zone = plan.path.split("/")[3]
        metadata = value.setdefault("metadata", {})
        metadata.update(kind="compute#metadata")
        metadata["fingerprint"] = store.fingerprint(metadata.get("items", []))
        tags = value.setdefault("tags", {})
        tags["fingerprint"] = store.fingerprint(tags.get("items", []))
        labels = value.setdefault("labels", {})
        value.update(status="PROVISIONING", cpuPlatform="Intel Cascade Lake",
                     labelFingerprint=store.fingerprint(labels),
                     deletionProtection=value.get("deletionProtection", False),
                     startRestricted=False, fingerprint=store.fingerprint(plan.path))
        value.pop("params", None)
        record = cloud.store.add(plan.path, value, "instance", Instance)
        record.inserting = operation
        operation.value["targetId"] = value["id"]
        record.made = tuple(path for path, _ in plan.disks)
        for path, disk in plan.disks:
            cloud.store.add(path, disk, "disk").value["users"] = [LINK + plan.path]
        for disk in (disk for disk in value["disks"] if "source" in disk):
            cloud.store.records[disk["source"][len(LINK):]].value["users"] = [LINK + plan.path]
        failure = plan.failure or self.claim(record)
        for nic in value["networkInterfaces"]:
            nic["networkIP"] = self.addresses.take(settings.SUBNETS[store.region_of(zone)])
            nic["fingerprint"] = store.fingerprint(nic["networkIP"])
            if nic["networkIP"] is None:
                failure = failure or (400, "IP_SPACE_EXHAUSTED", "The IP space of "
                                      f"'{nic['subnetwork'][len(LINK):]}' is exhausted.")
        wait = cloud.tunables.queue + cloud.tunables.insert
        if failure:
            cloud.later(wait, self.fail, record, operation, failure)
        else:
            cloud.later(wait / 2, self.stage, record, record.life)
            cloud.later(wait, self.run, record, record.life, operation)
        return record

    def claim(self, record):
        """Take quota and capacity for an instance; the failure if there is none."""
        value, cloud = record.value, self.cloud
        held, short = cloud.capacity.hold(value, store.region_of(record.zone))
        if short:
            return capacity.quota_failure(*short)
        name = value["machineType"].rpartition("/")[2]
        if not cloud.capacity.take(name, record.zone, value["scheduling"]["provisioningModel"]):
            cloud.capacity.release(held)
            return cloud.capacity.stockout("/".join(record.path.split("/")[:4]), name)
        record.held = held
        return None

    def fail(self, record, operation, failure):
        with self.cloud.state:
            if record.inserting is operation:
                record.inserting = None
                self.vanish(record, made_disks=True)
            elif record.value["status"] == "STAGING":
                self.end_run(record)
            self.cloud.operations.finish(operation, [failure])

    def stage(self, record, life):
        with self.cloud.state:
            if record.life == life and record.value["status"] == "PROVISIONING":
                record.value["status"] = "STAGING"
                self.cloud.state.notify_all()

    def run(self, record, life, operation):
        """Boot the machine; then the instance is RUNNING and the operation done."""
        try:
            with record.machine:
                if record.life == life:
                    self.take_public(record)
                    self.cloud.machines.start(record)
        except Exception as error:  # only this machine fails, not the cloud
            self.fail(record, operation, (500, "INTERNAL_ERROR", f"Internal error: {error}"))
            return
        with self.cloud.state:
            if record.life != life:
                self.cloud.operations.finish(operation, [ENDED_BY_USER])
                return
            record.inserting = None
            record.value.update(status="RUNNING", lastStartTimestamp=stamp(self.cloud.now()))
            for nic in record.value["networkInterfaces"]:
                for config in nic.get("accessConfigs", ()):
                    config["natIP"] = record.public
            self.cloud.operations.finish(operation)
            if self.cloud.tunables.boot >= 0:
                self.cloud.later(self.cloud.tunables.boot, self.booted, record, life)

    def booted(self, record, life):
        with self.cloud.state:
            if record.life == life:
                record.serial += "cloud-init finished\n"
                if self.guest_attributes(record):
                    self.cloud.machines.booted(record)
                self.cloud.state.notify_all()

    def guest_attributes(self, record):
        """Are they enabled? The instance's word beats the project's."""
        for items in (record.items(), self.cloud.project_items()):
            if "enable-guest-attributes" in items:
                return items["enable-guest-attributes"].upper() == "TRUE"
        return False

    # ---- ending ----

    def delete(self, record, operation):
        record.life += 1
        record.value["status"] = "STOPPING"
        if record.inserting:
            self.cloud.operations.finish(record.inserting, [ENDED_BY_USER])
            record.inserting = None
        self.cloud.state.notify_all()
        self.cloud.later(self.cloud.tunables.queue + self.cloud.tunables.delete, self.gone, record,
                         operation)

    def gone(self, record, operation):
        with record.machine:
            self.cloud.machines.remove(record)
        with self.cloud.state:
            self.vanish(record)
            self.cloud.operations.finish(operation)

    def vanish(self, record, made_disks=False):
        """Remove an instance from the API with the disks that go with it."""
        cloud = self.cloud
        if cloud.store.records.get(record.path) is not record:
            return
        record.life += 1
        cloud.capacity.release(record.held)
        record.held = None
        cloud.store.remove(record)
        self.free_addresses(record, private=True)
        for disk in (disk for disk in record.value["disks"] if "source" in disk):
            found = cloud.store.records.get(disk["source"][len(LINK):])
            if found:
                found.value.pop("users", None)
                if disk["autoDelete"] or made_disks and found.path in record.made:
                    cloud.store.records.pop(found.path)
        cloud.state.notify_all()

    def take_public(self, record):
        with self.cloud.state:
            wanted = any(nic.get("accessConfigs") for nic in record.value["networkInterfaces"])
            record.public = self.addresses.take(settings.PUBLIC) if wanted else None

    def free_addresses(self, record, private=False):
        self.addresses.give_back(settings.PUBLIC, record.public)
        record.public = None
        for nic in record.value["networkInterfaces"]:
            for config in nic.get("accessConfigs", ()):
                config.pop("natIP", None)
            if private:
                self.addresses.give_back(settings.SUBNETS[store.region_of(record.zone)],
                                         nic["networkIP"])

    def stop(self, record, operation=None, seconds=None):
        """To STOPPING now, and later to TERMINATED: stopped, with its disk."""
        record.life += 1
        record.value["status"] = "STOPPING"
        self.cloud.state.notify_all()
        wait = self.cloud.tunables.stop if seconds is None else seconds
        self.cloud.later(wait, self.stopped, record, record.life, operation)

    def stopped(self, record, life, operation):
        with record.machine:
            if record.life == life:
                self.cloud.machines.stop(record)
        with self.cloud.state:
            if record.life == life:
                self.end_run(record)
            if operation:
                self.cloud.operations.finish(operation)

    def end_run(self, record):
        if self.cloud.store.records.get(record.path) is not record:
            return  # the cloud was reset
        record.value.update(status="TERMINATED", lastStopTimestamp=stamp(self.cloud.now()))
        self.cloud.capacity.release(record.held)
        record.held = None
        self.free_addresses(record)
        self.cloud.state.notify_all()

    def stopped_itself(self, record):
        """The machine switched itself off."""
        with self.cloud.state:
            if record.value["status"] == "RUNNING":
                record.life += 1
                self.end_run(record)

    def start(self, record, operation):
        failure = self.claim(record)
        if failure:
            self.cloud.later(self.cloud.tunables.insert, self.cloud.operations.finish, operation,
                             [failure])
            return
        record.life += 1
        record.value["status"] = "STAGING"
        record.preempted = False
        self.cloud.later(self.cloud.tunables.insert, self.run, record, record.life, operation)

    def reset(self, record):
        with record.machine:
            self.cloud.machines.reset(record)


def already(path):
    return 409, "RESOURCE_ALREADY_EXISTS", f"The resource '{path}' already exists"
