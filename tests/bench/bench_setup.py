"""The setup of many workers by the head's service, next to bare parallel ssh.

usage: bench_setup.py [--workers N] [--program FILE] [--check]

Hosts are own machines (`type: local`) that already run: each has a real sshd, a root, a home and
processes of its own, and an address on the loopback device of one network namespace. There is no
Ray; a command that takes a second replaces `ray start`. Shoal's time is from the service's first
setup until the end of the last one; `up` has taken the hosts before. Bare ssh, with the same number
of connections at a time, the same key exchange and the same hosts, runs the command alone, and the
command with a copy of Shoal's program, which every worker gets. All processes, of the head and of
the workers, share this machine. FILE is the program, by default that of the build. The limit of
memory is asserted; --check asserts the limit of time, too.
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "front"), str(HERE.parent / "bed")]
SKIPPED = 77

try:
    import front
    import thin
except ImportError as missing:
    print(f"{missing}: skipped")
    sys.exit(SKIPPED)

GOAL_TIMES, GOAL_MEGABYTES = 2, 30
AT_ONCE = 200  # CHILDREN_MAX of src/app/head/service.c
LIMIT = 3600
WORK = "sleep 1"
KEX = "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256"  # as Shoal's, is_near
TICKS = os.sysconf("SC_CLK_TCK")
PARTS = ("home", "bin", "payloads", "hosts")


def processor_seconds():
    """Of all processes in this namespace since they started, with their children that ended."""
    total = 0
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            total += sum(map(int, path.read_text("ascii").rsplit(")", 1)[1].split()[11:15]))
        except OSError:
            pass
    return total / TICKS


class Host:
    """A machine that runs: its first process, sshd, and a folder over this machine's root."""

    def __init__(self, folder, image, number, key):
        self.address = f"198.18.{number // 250}.{number % 250 + 1}"
        self.folder = folder / str(number)
        upper = self.folder / "upper"
        for name in ("upper", "work", "root", "log"):
            (self.folder / name).mkdir(parents=True)
        self.home = upper / "home" / thin.USER
        thin.put(self.home / ".ssh/authorized_keys", key, 0o600, thin.UID)
        (self.home / ".ssh").chmod(0o700)
        for path in (self.home, self.home / ".ssh"):
            os.chown(path, thin.UID, thin.UID)
        # The head uses this key exchange anyway; `up` would need minutes with a slower one.
        thin.put(upper / "etc/ssh/thin_sshd_config",
                 f"{thin.SSHD}ListenAddress {self.address}\nKexAlgorithms {KEX}\n")
        host_key = upper / "etc/ssh/ssh_host_ed25519_key"
        new_key(host_key)
        self.first = subprocess.Popen(
            ["unshare", "--pid", "--mount", "--uts", "--fork", "--kill-child",
             str(thin.HERE / "machine" / "boot"), str(self.folder), str(image), f"host{number}"],
            stdin=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]}, start_new_session=True)

    def is_up(self):
        log = self.folder / "log" / "sshd.log"
        return log.exists() and "Server listening" in log.read_text("utf-8", errors="replace")


def new_key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)


class Bench:
    def __init__(self, folder, program, workers):
        self.folder = folder
        for name in PARTS:
            (folder / name).mkdir()
        self.program = folder / "bin" / "shoal"
        subprocess.run(["strip", "-s", "-o", self.program, program], check=True)
        os.link(self.program, folder / "payloads" / f"shoal-{os.uname().machine}")
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        subprocess.run(["ip", "route", "add", "local", "198.18.0.0/16", "dev", "lo"], check=True)
        thin.image(folder / "image")
        new_key(folder / "key")
        public = (folder / "key.pub").read_text("ascii")
        self.hosts = []
        for number in range(workers + 1):
            self.hosts.append(Host(folder / "hosts", folder / "image", number, public))
            if number % 20 == 0:
                front.wait_for(self.hosts[-1].is_up, LIMIT, 0.05, "a host")
        front.wait_for(lambda: all(h.is_up() for h in self.hosts), LIMIT, 0.1, "all hosts")
        self.head, self.workers = self.hosts[0], self.hosts[1:]

    def shoal(self, *words):
        env = {"PATH": os.environ["PATH"] + ":/usr/sbin", "HOME": str(self.folder / "home"),
               "XDG_STATE_HOME": str(self.folder / "home/state"), "LC_ALL": "C.UTF-8",
               "SHOAL_PAYLOADS": str(self.folder / "payloads")}
        return subprocess.Popen([self.program, *words], cwd=self.folder / "home", env=env,
                                stdin=subprocess.DEVNULL, start_new_session=True)

    def write(self, workers):
        path = self.folder / "home" / "cluster.yaml"
        path.write_text(json.dumps({
            "cluster_name": "own", "min_workers": workers, "max_workers": len(self.workers),
            "upscaling_speed": 1000,
            "provider": {"type": "local", "head_ip": self.head.address,
                         "worker_ips": [h.address for h in self.workers]},
            "auth": {"ssh_user": thin.USER, "ssh_private_key": str(self.folder / "key")},
            "head_start_ray_commands": ["true ray start --head --port=$PORT"],
            "worker_start_ray_commands": [f"{WORK}; touch ~/set-up"],
        }, indent=1), "utf-8")
        return str(path)


SSH = ["-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "LogLevel=ERROR", "-o",
       "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes", "-o", f"KexAlgorithms={KEX}", "-o",
       "PreferredAuthentications=publickey"]


class Service:
    """What the service on the head says about its workers, and its process."""

    def __init__(self, bench):
        self.logs, self.count = bench.head.home / ".shoal/cluster/log", len(bench.workers)
        self.files = 0

    def times(self, words):
        """The wall clock of each log line with these words, in seconds."""
        found = []
        for path in self.logs.glob("worker-*"):
            for line in path.read_text("utf-8", errors="replace").splitlines():
                if words in line:
                    found.append(datetime.datetime.fromisoformat(line.split()[0]).timestamp())
        return found

    @staticmethod
    def process():
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if b"autoscaler\0--folder" in (path / "cmdline").read_bytes():
                    return path
        return None

    def has_started(self):
        return any(self.logs.glob("worker-*"))

    def has_ended(self):
        process = self.process()
        self.files = max(self.files, len(list((process / "fd").iterdir())) if process else 0)
        failed = self.times("Z failed: ")
        assert not failed, f"{len(failed)} workers failed: see {self.logs}"
        return len(self.times("all steps finished")) == self.count

    def megabytes(self):
        """The peak of its own memory."""
        text = (self.process() / "status").read_text("ascii")
        return int(text.split("VmHWM:")[1].split()[0]) / 1024

    def own_seconds(self):
        """Its own processor time, without its children."""
        fields = (self.process() / "stat").read_text("ascii").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


def measure_shoal(bench):
    """Seconds, processor seconds, and the service."""
    service = Service(bench)
    child = bench.shoal("up", "-y", bench.write(len(bench.workers)))
    front.wait_for(service.has_started, LIMIT, 0.02, "the service")
    before = processor_seconds()
    front.wait_for(service.has_ended, LIMIT, 0.5, "the end of all setups")
    used = processor_seconds() - before
    child.kill()
    took = max(service.times("all steps finished")) - min(service.times("starting setup"))
    return took, used, service


def measure_bare(bench, copies):
    """Seconds and processor seconds of the command on all workers, over plain ssh."""
    script = f"bash -lc '{WORK}'"
    if copies:
        script = f"cat >copy && chmod 700 copy && {script}"
    ssh = " ".join(["ssh", "-i", str(bench.folder / "key"), *SSH, f"{thin.USER}@%"])
    command = f'exec {ssh} "{script}" <{bench.program if copies else "/dev/null"}'
    began, before = time.time(), processor_seconds()
    subprocess.run(["xargs", "-P", str(AT_ONCE), "-I%", "sh", "-c", command],
                   input="\n".join(h.address for h in bench.workers), text=True, check=True,
                   timeout=LIMIT)
    return time.time() - began, processor_seconds() - before


def measure(bench, check):
    first = measure_bare(bench, False)
    shoal, used, service = measure_shoal(bench)
    bare, bare_used = min(first, measure_bare(bench, False))
    copy, copy_used = measure_bare(bench, True)
    print(f"{service.count} workers, seconds (of processors): shoal {shoal:.1f} ({used:.1f}), bare "
          f"ssh {bare:.1f} ({bare_used:.1f}), with a copy of the program {copy:.1f} "
          f"({copy_used:.1f}); {shoal / bare:.2f} and {shoal / copy:.2f} times. Service: "
          f"{service.megabytes():.1f} MB, {service.own_seconds():.1f} s of a processor, "
          f"{service.files} open files. Load {os.getloadavg()[0]:.1f}")
    assert service.megabytes() <= GOAL_MEGABYTES, "too much memory"
    assert not check or shoal <= GOAL_TIMES * bare, "too slow"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--program", type=pathlib.Path, default=front.SHOAL)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    why = front.missing()
    if why:
        print(f"{why}: skipped")
        return SKIPPED
    if os.getpid() != 1:
        folder = tempfile.mkdtemp(prefix="shoal-bench-", dir=front.PLACE)
        words = ["setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--net", "--mount", "--fork",
                 "--kill-child", "--mount-proc", sys.executable, *sys.argv]
        try:
            return subprocess.run(words, env={**os.environ, "TMPDIR": folder},
                                  check=False).returncode
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    folder = pathlib.Path(os.environ["TMPDIR"])
    folder.chmod(0o755)
    measure(Bench(folder, args.program, args.workers), args.check)
    return 0


if __name__ == "__main__":
    sys.exit(main())
