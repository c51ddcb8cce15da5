"""A front at Google: the stand-in for Compute (tests/gce) with thin machines.

The API answers plain HTTP at the bed's address and TLS at Google's names; the latter are in
/etc/hosts of machines and laptops, which trust its CA. The metadata server is at its own address.
"""

import os
import pathlib
import tempfile

import thin
import world
from cloud import nodes, server, settings
from cloud.wire import Reply
from gce import capacity, control, discovery, front, log, machines, tls
from gce import settings as google

METADATA_NAMES = "metadata.google.internal metadata"
TRUSTED = "etc/ssl/certs/ca-certificates.crt"


def hosts(*lines):
    """/etc/hosts of a machine or a laptop."""
    return "".join(line + "\n" for line in (
        "127.0.0.1 localhost", f"{settings.GATEWAY} {' '.join(tls.NAMES)}", *lines))


class Node:
    """What thin machines want to know of an instance."""

    def __init__(self, instance, faults):
        self.id, self.name, self.zone = instance.value["id"], instance.name, instance.zone
        self.private, self.public = instance.address, instance.public
        self.instance, self.faults, self.quiet = instance, faults, False

    @property
    def folder(self):
        return settings.STATE / "nodes" / self.id


class ThinMachines(thin.Bodies, machines.Machines):
    """Firewall rules have no effect. A machine runs until its hard off."""

    def __init__(self, cloud):
        thin.Bodies.__init__(self)
        machines.Machines.__init__(self, cloud)
        self.nodes, self.faults, self.env = {}, [], {}
        self.caller = settings.LAPTOP  # the address of all laptops, as the Internet sees it

    def start(self, instance):
        found = [f for f in self.faults if f["count"] > 0]
        for fault in found:
            fault["count"] -= 1
        node = Node(instance, {f["kind"]: f for f in found})
        self.nodes[node.id] = node
        self._write(node)
        self._start_container(node)

    def stop(self, instance):
        self._halt_container(self.nodes[instance.value["id"]])

    def reset(self, instance):
        self._reboot_container(self.nodes[instance.value["id"]])

    def remove(self, instance):
        node = self.nodes.get(instance.value["id"])
        if node:
            self._remove_container(node)

    def close(self):
        self.closing = True
        for node in list(self.nodes.values()):
            self._remove_container(node)

    def booted(self, instance):
        """The machine's agent publishes its keys itself."""

    def _write(self, node):
        """All that the image lacks; users and keys are the business of the agent."""
        upper = node.folder / "upper"
        for name in ("upper", "work", "root", "log"):
            (node.folder / name).mkdir(parents=True, exist_ok=True)
        home = upper / "home" / thin.USER
        home.mkdir(parents=True, exist_ok=True)
        os.chown(home, thin.UID, thin.UID)
        full = f"{node.name}.{node.zone}.c.{google.PROJECT}.internal"
        thin.put(upper / "etc/hosts", hosts(f"{node.private} {full} {node.name}",
                                            f"{settings.IMDS} {METADATA_NAMES}"))
        thin.put(upper / "etc/hostname", node.name + "\n")
        thin.put_gpus(upper, self._gpus(node), self.cloud.tunables.driver)
        for_sshd, for_profile = nodes.Nodes.env_files(self)
        thin.put(upper / "etc/ssh/thin_sshd_config", thin.SSHD + for_sshd)
        thin.put(upper / "etc/profile.d/front.sh", for_profile)

    def _gpus(self, node):
        """How many GPUs the driver of its image shows."""
        value = node.instance.value
        disk = self.cloud.store.get(node.instance.made[0]) if node.instance.made else None
        if not disk or "nvidia" not in disk.value.get("sourceImage", ""):
            return 0
        built_in = capacity.machine_type(value["machineType"].rpartition("/")[2])[2]
        added = sum(int(gpu["acceleratorCount"]) for gpu in value.get("guestAccelerators", []))
        return built_in[1] if built_in else added

    def _host_name(self, node):
        return node.name

    def _boot_env(self, node):
        delay = node.faults.get("boot-delay", {}).get("seconds", self.cloud.tunables.boot)
        return {"THIN_DISK_SIZE": "32k" if "disk-full" in node.faults else "",
                "THIN_NO_SSHD": "1" if "no-sshd" in node.faults else "",
                "THIN_BOOT_DELAY": str(max(0.0, delay)),
                "THIN_NO_STARTUP": "" if self.cloud.tunables.startup else "1",
                "THIN_NO_AGENT": "1" if self.cloud.tunables.boot < 0 else ""}

    def _ended_by_itself(self, node):
        self._remove_container(node)  # first: a stopped instance may be started at once
        self.cloud.instances.stopped_itself(node.instance)


class ThinControl(world.MachineControl, control.Control):
    def node(self, name):
        return self.bodies().nodes[self.instance(name).value["id"]]

    def bodies(self):
        return self.cloud.machines

    def do_user(self, name):
        """The credentials file of an owner of the project with this name."""
        member = f"user:{name}@example.com"
        with self.cloud.state:
            resource = f"projects/{google.PROJECT}"
            policy = self.cloud.iam.policy(resource)
            self.cloud.iam.put(resource, {"bindings": policy["bindings"] + [
                {"role": "roles/owner", "members": [member]}]}, lag=0.0)
        return self.do_refresh_token(member)

    def do_limited(self, name, policy):
        """The same of a user who has only the permissions in `policy`; a second call replaces
        them.
        """
        member, role = f"user:{name}@example.com", f"projects/{google.PROJECT}/roles/{name}"
        with self.cloud.state:
            resource = f"projects/{google.PROJECT}"
            rows = [b for b in self.cloud.iam.policy(resource)["bindings"]
                    if member not in b["members"]]
            self.cloud.iam.roles[role] = {"name": role, "includedPermissions": policy}
            self.cloud.iam.put(resource, {"bindings": rows + [
                {"role": role, "members": [member]}]}, lag=0.0)
        return self.do_refresh_token(member)

    def do_env(self, **names):
        self.bodies().env = names
        return {}

    def do_caller(self, address):
        self.bodies().caller = address
        return {}

    def do_fault(self, **fields):
        if fields["kind"] in ("no-sshd", "disk-full", "boot-delay"):
            self.bodies().faults.append({"count": 1, "seconds": 3600.0, **fields})
            return {}
        return super().do_fault(**fields)

    def do_truth(self):
        with self.cloud.state:
            return {**super().do_truth(), "accounts": [
                email for email in self.cloud.iam.accounts if email != google.DEFAULT_ACCOUNT],
                "items": self.cloud.project_items()}

    def do_logs(self, instance):
        node = self.node(instance)
        return {"console": self.bodies().console(node), "sshd": self.bodies().ssh_log(node)}


class GceWorld(world.World):
    def __init__(self, folder, router, certificates):
        super().__init__(folder)
        image = settings.STATE / "image"
        thin.put(image / "usr/local/sbin/guest-agent",
                 (thin.HERE / "machine" / "guest-agent").read_text(encoding="utf-8"), 0o755)
        ca = pathlib.Path(certificates, "ca.pem").read_text(encoding="ascii")
        public = pathlib.Path("/", TRUSTED)
        thin.put(image / TRUSTED, (public.read_text(encoding="ascii") if public.exists() else "")
                 + ca)
        thin.put(settings.STATE / "ca.pem", ca)
        thin.put(settings.STATE / "hosts", hosts())
        cloud = self.cloud = front.Cloud(ThinMachines, router)
        cloud.log = log.Log(settings.STATE / "calls.jsonl", cloud)
        clock = lambda: cloud.tunables.clock  # noqa: E731
        server.Server(settings.GATEWAY, settings.API_PORT, cloud.answer, clock)
        tls.TlsListener(certificates, settings.GATEWAY, 443, cloud.answer, clock)
        server.Server(settings.IMDS, 80, self.metadata)
        server.Server(settings.GATEWAY, settings.CALLER_PORT, self.caller)
        self.listen(ThinControl(cloud))

    def metadata(self, call):
        """Not for laptops."""
        return self.cloud.metadata.by_address(call) if self.cloud.instance_at(call.source) else \
            Reply(503, b"", manner="reset")

    def caller(self, call):
        """The address from which a call comes, as the Internet sees it."""
        found = self.cloud.instance_at(call.source)
        address = found.public if found else self.cloud.machines.caller
        return Reply(200 if address else 503, f"{address}\n".encode(),
                     {"Content-Type": "text/plain"})


def maker():
    """In the zygote: what takes long is done once."""
    router = discovery.Router()
    folder = tempfile.mkdtemp(dir=os.environ["SHOAL_BED_HOME"])
    tls.make(folder)
    return lambda place: GceWorld(place, router, folder)
