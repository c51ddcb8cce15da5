"""Thin machines: what tests/front uses instead of containers.

A machine is a set of namespaces (PID, mount, UTS, network) around an overlay of this host's root:
sshd, sudo, rsync, users, host keys and processes are real, and everything in it dies with its first
process. `image()` makes what all machines have in common. Must run in the front's own namespaces.
"""

import importlib.machinery
import importlib.util
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

from cloud import nodes, settings

HERE = pathlib.Path(__file__).resolve().parent
USER, UID = "ubuntu", 1000
TERM_SECONDS = 3
SSHD = """\
HostKey /etc/ssh/ssh_host_ed25519_key
PidFile none
UsePAM no
UseDNS no
PasswordAuthentication no
LogLevel VERBOSE
MaxStartups 10:30:100
Subsystem sftp internal-sftp
"""


def _boot_module():
    """The bed's user-data reader, which is a program."""
    path = str(settings.HERE / "image" / "bed-boot")
    loader = importlib.machinery.SourceFileLoader("bed_boot", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bed_boot", loader))
    keep, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = keep
    return module


BOOT = _boot_module()


def put(path, text, mode=0o644, owner=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    os.chown(path, owner, owner)


def image(folder):
    """The layer over the host's root that all machines share: the user, the stand-ins for Ray and
    shutdown, and a package folder that claims Ray 2.60.0 is installed.
    """
    folder.mkdir(parents=True)
    accounts = {
        "passwd": f"{USER}:x:{UID}:{UID}::/home/{USER}:/bin/bash\n",
        "group": f"{USER}:x:{UID}:\n", "shadow": f"{USER}:*:19000:0:99999:7:::\n"}
    for name, line in accounts.items():
        old = pathlib.Path("/etc", name).read_text(encoding="utf-8")
        kept = "".join(row + "\n" for row in old.splitlines()
                       if row.split(":")[0] != USER and row.split(":")[2:3] != [str(UID)])
        put(folder / "etc" / name, kept + line, 0o640 if name == "shadow" else 0o644)
    put(folder / f"etc/sudoers.d/{USER}", f"{USER} ALL=(ALL) NOPASSWD:ALL\n", 0o440)
    put(folder / "etc/resolv.conf", "nameserver 127.0.0.1\noptions attempts:1 timeout:1\n")
    put(folder / "etc/ssh/thin_sshd_config", SSHD)
    for name, place in {"init": "usr/local/sbin/thin-init", "shutdown": "usr/local/sbin/shutdown",
                        "ray": "usr/local/bin/ray", "nvidia-smi": "usr/local/lib/nvidia-smi",
                        "raylet": "usr/local/lib/ray-stand-in/raylet",
                        "gcs.py": "usr/local/lib/ray-stand-in/gcs.py"}.items():
        put(folder / place, (HERE / "machine" / name).read_text(encoding="utf-8"), 0o755)
    for name in ("poweroff", "reboot", "halt"):
        (folder / "usr/local/sbin" / name).symlink_to("shutdown")
    said = subprocess.run(["/usr/bin/python3", "-IS", "-c", "import sys; print('%d.%d.%d' % "
                           "sys.version_info[:3])"], capture_output=True, text=True, check=True)
    stand_in = folder / "usr/local/lib/ray-stand-in"
    put(stand_in / "python", sys.executable)
    put(stand_in / "python_version", said.stdout.strip())
    put(stand_in / "path", ":".join(p for p in sys.path if "site-packages" in p))
    (folder / "usr/lib/python3/dist-packages/ray-2.60.0.dist-info").mkdir(parents=True)
    (folder / "root").mkdir(mode=0o755)  # Ray's Python may be installed there
    home = folder / "home" / USER
    home.mkdir(parents=True)
    shutil.copy("/etc/skel/.bashrc", home / ".bashrc")
    shutil.copy("/etc/skel/.profile", home / ".profile")
    for path in (home, *home.iterdir()):
        os.chown(path, UID, UID)


def put_gpus(upper, count, delay):
    """An instance with GPUs, and an image with their driver, which works after `delay` seconds."""
    if count > 0:
        (upper / "usr/local/bin").mkdir(parents=True, exist_ok=True)
        (upper / "usr/local/bin/nvidia-smi").symlink_to("/usr/local/lib/nvidia-smi")
        put(upper / "etc/thin-gpus", f"{count} {time.time() + delay:.0f}\n")


def ip_batch(lines, *words):
    subprocess.run(["ip", *words, "-batch", "-"], input="\n".join(lines), text=True, check=True,
                   capture_output=True, timeout=20)


class Bodies:
    """Starts and ends thin machines. A node has id, folder, private and public. The other base of a
    subclass has _host_name, _boot_env, and _ended_by_itself for a machine that switched itself off.
    """

    closing = False

    def __init__(self):
        self.machines = {}  # id: Popen of its first process
        self.numbers = iter(range(1, 1 << 20))

    def _net(self, node):
        number = next(self.numbers)
        subprocess.run(["ip", "netns", "add", node.id], check=True, timeout=20)
        ip_batch([f"link add v{number} type veth peer name eth0 netns {node.id}",
                  f"link set v{number} master {settings.BRIDGE} up"])
        public = [f"addr add {node.public}/32 dev eth0"] if node.public else []
        ip_batch(["link set lo up", f"addr add {node.private}/16 dev eth0", "link set eth0 up",
                  f"route add {settings.IMDS}/32 via {settings.GATEWAY} src {node.private}",
                  f"route add {settings.LAPTOP}/32 dev eth0 src {node.private}",
                  *public], "-n", node.id)

    def _start_container(self, node):
        self._net(node)
        gate = settings.STATE / "gate"  # a FIFO: new machines boot when it is opened for writing
        words = ["nsenter", f"--net=/run/netns/{node.id}", "unshare", "--pid", "--mount", "--uts",
                 "--fork", "--kill-child", str(HERE / "machine" / "boot"), str(node.folder),
                 str(settings.STATE / "image"), self._host_name(node)]
        log = (node.folder / "log" / "boot.log").open("ab")
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                 env={"PATH": os.environ["PATH"], **self._boot_env(node),
                                      "THIN_GATE": str(gate) if gate.exists() else ""},
                                 start_new_session=True)
        self.machines[node.id] = child
        threading.Thread(target=self._await, args=(node, child), daemon=True).start()

    def _await(self, node, child):
        child.wait()
        if self.machines.get(node.id) is child and not self.closing:
            self._ended_by_itself(node)

    def _is_up(self, node):
        child = self.machines.get(node.id)
        return bool(child) and child.poll() is None

    def first_process(self, node):
        """The pid of a machine's first process, in the front's namespace. `unshare` starts it."""
        child = self.machines[node.id]
        children = pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children")
        while not (pids := children.read_text("ascii").split()):
            if child.poll() is not None:
                raise ValueError(f"{node.id} does not run")
            time.sleep(0.01)
        return int(pids[0])

    def _halt_container(self, node):
        child = self.machines.get(node.id)
        if child and child.poll() is None:
            try:
                os.kill(self.first_process(node), signal.SIGTERM)
                child.wait(TERM_SECONDS)
            except (ValueError, OSError, subprocess.TimeoutExpired):
                pass
        self._remove_container(node)

    def _reboot_container(self, node):
        node.quiet = True
        self.machines.pop(node.id).kill()
        subprocess.run(["ip", "netns", "del", node.id], check=False, timeout=20)
        self._start_container(node)

    def _remove_container(self, node):
        """Its disk stays, so that tests can read it."""
        child = self.machines.pop(node.id, None)
        if child:
            child.kill()
            child.wait()
            subprocess.run(["ip", "netns", "del", node.id], check=False, timeout=20)

    # ---- queries ----

    def ssh_log(self, node):
        try:
            return (node.folder / "log" / "sshd.log").read_text(errors="replace")
        except OSError:
            return ""

    def console(self, node):
        texts = [p.read_text(errors="replace") for p in (
            node.folder / "log" / "boot.log", node.folder / "log" / "console.log") if p.exists()]
        return "".join(texts)


class ThinNodes(Bodies, nodes.Nodes):
    """The bed's instances with thin machines. Security groups have no effect."""

    def __init__(self, moto, tunables):
        Bodies.__init__(self)
        nodes.Nodes.__init__(self, moto, tunables)

    def rewire(self):
        pass

    def watch(self):
        pass

    def close(self):
        self.closing = True
        self.pool.shutdown(wait=False, cancel_futures=True)

    def _run_container(self, node):
        self._write(node)
        self._start_container(node)

    def _host_name(self, node):
        return nodes.host_name(node)

    def _boot_env(self, node):
        delay = node.faults["boot-delay"].seconds if "boot-delay" in node.faults else \
            self.tunables.boot_delay
        return {"THIN_DISK_SIZE": "32k" if "disk-full" in node.faults else "",
                "THIN_NO_SSHD": "1" if "no-sshd" in node.faults else "",
                "THIN_BOOT_DELAY": str(delay)}

    # ---- the first boot ----

    def _write(self, node):
        """What cloud-init does before sshd starts, done from outside."""
        upper = node.folder / "upper"
        for name in ("upper", "work", "root", "log"):
            (node.folder / name).mkdir(parents=True, exist_ok=True)
        parts = BOOT.parts(node.user_data)
        configs = [what for kind, what in parts if kind == "config"]
        keys = [self.moto.public_key(node.region, node.key_name) or ""]
        for config in configs:
            keys += config.get("ssh_authorized_keys") or []
            for name, text in (config.get("ssh_keys") or {}).items():
                kind, half = name.rsplit("_", 1)
                end = ".pub" if half == "public" else ""
                put(upper / f"etc/ssh/ssh_host_{kind}_key{end}", text.rstrip("\n") + "\n",
                    0o644 if end else 0o600)
        folder = upper / "home" / USER / ".ssh"
        put(folder / "authorized_keys", "".join(k.strip() + "\n" for k in keys if k.strip()),
            0o600, UID)
        folder.chmod(0o700)
        for path in (folder, folder.parent):
            os.chown(path, UID, UID)
        host = nodes.host_name(node)
        put(upper / "etc/hosts", f"127.0.0.1 localhost {host}\n{node.private} {host}\n")
        put(upper / "etc/hostname", host + "\n")
        self._write_commands(upper, parts, configs)
        put_gpus(upper, self._gpus(node), self.tunables.boot_delay + self.tunables.driver)
        for_sshd, for_profile = self.env_files()
        put(upper / "etc/ssh/thin_sshd_config", SSHD + for_sshd)
        put(upper / "etc/profile.d/front.sh", for_profile)

    def _gpus(self, node):
        """How many GPUs the driver of its image shows."""
        has_driver = any(ami.id == node.image and ami.driver for ami in settings.AMIS)
        info = self.moto.types[node.type].get("GpuInfo", {})
        return sum(gpu["Count"] for gpu in info.get("Gpus", [])) if has_driver else 0

    @staticmethod
    def _write_commands(upper, parts, configs):
        """Scripts and commands of user-data, for `init` to run once sshd is up."""
        lines = ["#!/bin/bash", "rm -f \"$0\""]
        for number, (kind, what) in enumerate(parts):
            if kind == "script":
                put(upper / f"var/lib/thin/script-{number}", what, 0o700)
                lines.append(f"/var/lib/thin/script-{number}")
        for config in configs:
            for key in ("bootcmd", "runcmd"):
                for command in config.get(key) or []:
                    lines.append(command if isinstance(command, str) else shlex.join(command))
            for item in config.get("write_files") or []:
                BOOT.write_file({**item, "path": str(upper / item["path"].lstrip("/")),
                                 "owner": None})
        if len(lines) > 2:
            put(upper / "var/lib/thin/user-data", "\n".join(lines) + "\n", 0o700)
