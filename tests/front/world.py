"""One front: the bed's API with thin machines, in its own PID, mount and network namespaces.

`run(folder, make)` is called in a new child of the zygote and never returns; `make(folder)` is its
World. The test talks to it over the socket FOLDER/control: one line of JSON per request and per
answer. When the calling process dies, everything inside dies.
"""

import ctypes
import json
import os
import pathlib
import signal
import socketserver
import subprocess
import sys
import threading
import time
import traceback

import thin
from cloud import control, front, metadata, server, settings
from cloud.wire import Call

CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET = 0x00020000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)
# Without an address of its own, a bridge takes the lowest of its ports. It would change with every
# machine, and the other machines would send to the old one for up to a minute.
BRIDGE_MAC = "02:00:c6:12:00:01"


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def enter_new_namespaces():
    if LIBC.unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")


def sh(script):
    subprocess.run(["sh", "-euc", script], check=True, timeout=30)


def set_up_namespace():
    sh(f"""mount --make-rprivate /
        mount -t proc proc /proc
        mkdir -p /run/netns /run/sshd && mount -t tmpfs tmpfs /run/netns
        ip link set lo up
        ip link add {settings.BRIDGE} address {BRIDGE_MAC} type bridge forward_delay 0 stp_state 0
        ip addr add {settings.GATEWAY}/16 dev {settings.BRIDGE}
        ip addr add {settings.LAPTOP}/32 dev {settings.BRIDGE}
        ip addr add {settings.IMDS}/32 dev {settings.BRIDGE}
        ip link set {settings.BRIDGE} up""")


# ---- control ----


def name_of(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip()


class MachineControl:
    """Verbs for thin machines; `bodies()` has them, and `node(name)` is one of them."""

    def do_first_process(self, instance):
        """Once it has the machine's root: before that it would see this host's."""
        end = time.monotonic() + 60
        pid = self.bodies().first_process(self.node(instance))
        while name_of(pid) != "thin-init":
            if time.monotonic() > end:
                raise ValueError(f"{instance} does not boot")
            time.sleep(0.01)
        return {"pid": pid}

    def do_node(self, instance, what):
        """Stop, continue, restart or kill a running machine."""
        node = self.node(instance)
        number = {"pause": signal.SIGSTOP, "unpause": signal.SIGCONT}.get(what)
        if what == "kill":
            self.bodies().machines[node.id].kill()
        elif what == "reboot":
            self.reboot(node)
        elif number:
            inside = os.stat(f"/proc/{self.bodies().first_process(node)}/ns/pid").st_ino
            for pid in (int(p) for p in os.listdir("/proc") if p.isdigit()):
                try:
                    if os.stat(f"/proc/{pid}/ns/pid").st_ino == inside:
                        os.kill(pid, number)
                except OSError:
                    continue
        else:
            raise ValueError(f"no {what!r} on thin machines")
        return {}

    def reboot(self, node):
        self.bodies()._reboot_container(node)


class ThinControl(MachineControl, control.Control):
    def bodies(self):
        return self.cloud.nodes

    def reboot(self, node):
        self.cloud.nodes.reboot(node)

    def do_ps(self):
        return {"nodes": self.do_truth()["instances"], "pid": os.getpid(),
                "calls": sum(list(self.cloud.counts.values()))}

    def do_user(self, name):
        """Keys of an administrator with this name; calls are logged under it."""
        made = self.cloud.identities.mint("admin", name, 0)
        return {"key": made.key, "secret": made.secret, "token": made.token}

    def do_limited(self, name, policy):
        """Keys of a user who may do what this policy allows; a second call replaces the policy."""
        iam = self.cloud.moto.iam()
        if name not in iam.users:
            iam.create_user(settings.REGION, name, "/", [])
        iam.put_user_policy(name, "only", json.dumps(policy))
        made = self.cloud.identities.mint("user", name, 0)
        return {"key": made.key, "secret": made.secret, "token": made.token}

    def do_role(self, name, trust, policy):
        """A role with an instance profile of its name, made by an administrator."""
        iam = self.cloud.moto.iam()
        iam.create_role(name, json.dumps(trust), "/", None, "", [], None)
        iam.put_role_policy(name, "own", json.dumps(policy))
        iam.create_instance_profile(name, "/", [])
        iam.add_role_to_instance_profile(name, name)
        return {}

    def do_attached(self):
        """{cluster: ARNs of the managed policies of its head's role}."""
        found = {}
        for role in self.cloud.moto.iam().roles.values():
            tags = role.tags.values() if isinstance(role.tags, dict) else role.tags or []
            for tag in tags:
                if tag["Key"] == "ray-cluster-name":
                    found[tag["Value"]] = sorted(role.managed_policies)
        return found

    def do_terminate(self, instance):
        """Terminate an instance as another user would in the console."""
        self.cloud.nodes.terminate(self.node(instance))
        return {}

    def do_delete_templates(self):
        """Delete the launch templates from which nothing is launched, as another user would in the
        console.
        """
        backend = self.cloud.moto.backend(settings.REGION)
        with self.cloud.launching:
            names = list(backend.launch_template_name_to_ids)
            for name in names:
                backend.delete_launch_template(name, None)
        return {"names": names}


class Lines(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 32


class Line(socketserver.StreamRequestHandler):
    def handle(self):
        for text in self.rfile:
            asked = json.loads(text)
            call = Call("POST", asked.pop("verb"), {}, json.dumps(asked).encode(), "")
            reply = self.server.control.answer(call)
            self.wfile.write(json.dumps({"status": reply.status}).encode()[:-1] + b', "value": ' +
                             reply.body + b"}\n")


# ---- lifecycle ----


class World:
    def __init__(self, folder):
        self.started, self.code = time.time(), settings.code()
        self.end = threading.Event()
        settings.STATE = pathlib.Path(folder)
        thin.image(settings.STATE / "image")

    @staticmethod
    def listen(control):
        """Take the commands of the test from now on."""
        lines = Lines(str(settings.STATE / "control.new"), Line)
        lines.control = control
        threading.Thread(target=lines.serve_forever, daemon=True).start()
        os.rename(settings.STATE / "control.new", settings.STATE / "control")


class AwsWorld(World):
    def __init__(self, folder, moto):
        super().__init__(folder)
        self.cloud = front.Cloud(moto, thin.ThinNodes)
        clock = lambda: self.cloud.tunables.clock  # noqa: E731
        server.Server(settings.GATEWAY, settings.API_PORT, self.cloud.answer, clock)
        server.Server(settings.IMDS, 80, metadata.Metadata(self.cloud).answer)
        server.Server(settings.GATEWAY, settings.CALLER_PORT, server.caller_address(self.cloud))
        self.listen(ThinControl(self.cloud, self))


def first_process(folder, make):
    """Reaps orphans; exits with the front's server."""
    child = os.fork()
    if child == 0:
        try:
            die_with_parent()
            make(folder).end.wait()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(1)
    while True:
        pid, _ = os.wait()
        if pid == child:
            os._exit(1)


def run(folder, make):
    """Runs in a child of the zygote."""
    try:
        log = os.open(os.path.join(folder, "front.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        die_with_parent()
        enter_new_namespaces()
        child = os.fork()
        if child == 0:
            die_with_parent()
            set_up_namespace()
            first_process(folder, make)
        pathlib.Path(folder, "pid.new").write_text(str(child), encoding="ascii")
        os.rename(os.path.join(folder, "pid.new"), os.path.join(folder, "pid"))
        os.waitpid(child, 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(1)
