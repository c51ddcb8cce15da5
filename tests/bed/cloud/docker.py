"""Docker through its command line: the few operations that the bed needs, each with a timeout."""

import contextlib
import json
import pathlib
import shutil
import subprocess
import time

from . import settings


# How many processes of the host all containers together count as when they compete for the
# processor, and the share of one process by version of cgroups.
PREFERRED, USUAL = 8, 1
SHARES = {"/sys/fs/cgroup/cpu/docker/cpu.shares": 1024, "/sys/fs/cgroup/docker/cpu.weight": 100}


class DockerError(Exception):
    """A failed docker command, with its output."""


def run(*words, seconds=60, check=True, **more):
    """stdout of `docker WORDS`."""
    done = subprocess.run(["docker", *words], capture_output=True, text=True, timeout=seconds,
                          check=False, **more)
    if check and done.returncode:
        raise DockerError(f"docker {' '.join(words[:3])}: {done.stderr.strip()}")
    return done.stdout


def set_share(processes):
    """Prefer the containers: a real machine has a processor of its own. On a busy host they would
    otherwise get as much as one process, and Ray gives up when its agents do not start in 30 s.
    """
    for path, share in SHARES.items():
        with contextlib.suppress(OSError):  # another version, or no permission: only slower
            pathlib.Path(path).write_text(str(processes * share), encoding="ascii")


def answers():
    """Does a daemon answer?"""
    if not shutil.which("docker"):
        return False
    done = subprocess.run(["docker", "info"], capture_output=True, timeout=30, check=False)
    return done.returncode == 0


def start_daemon(log, seconds=40):
    """Start our own daemon and wait for it; return its process id."""
    with open(log, "ab") as output:
        child = subprocess.Popen(["dockerd"], stdout=output, stderr=output,
                                 stdin=subprocess.DEVNULL, start_new_session=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end and child.poll() is None:
        if answers():
            return child.pid
        time.sleep(0.3)
    raise DockerError(f"dockerd did not start; see {log}")


def containers():
    """Names of all containers of the bed, running or not."""
    return run("ps", "-aq", "--filter", f"label={settings.LABEL}").split()


def networks():
    return run("network", "ls", "-q", "--filter", f"label={settings.LABEL}").split()


def remove(names):
    if names:
        run("rm", "-f", "-v", *names, check=False)


def remove_all():
    """Remove every container and network of any bed on this machine."""
    remove(containers())
    for network in networks():
        run("network", "rm", network, check=False)


def create_network():
    run("network", "create", "--label", settings.LABEL, "--subnet", settings.NETWORK,
        "--gateway", settings.GATEWAY, "-o", f"com.docker.network.bridge.name={settings.BRIDGE}",
        "-o", "com.docker.network.bridge.enable_ip_masquerade=false", settings.NETWORK_NAME)


def image_exists(tag):
    return bool(run("images", "-q", tag).strip())


def inspect(name):
    """What docker knows of a container, or None."""
    said = run("inspect", name, check=False).strip()
    found = json.loads(said) if said else []
    return found[0] if found else None


def stats():
    """{container name: bytes of memory}, from the control groups: `docker stats` takes seconds."""
    memory = {}
    said = run("ps", "--no-trunc", "--filter", f"label={settings.LABEL}", "--format",
               "{{.ID}} {{.Names}}")
    for line in said.splitlines():
        ident, name = line.split()
        memory[name] = _memory_of(ident)
    return memory


def _memory_of(ident):
    places = (f"/sys/fs/cgroup/memory/docker/{ident}/memory.usage_in_bytes",
              f"/sys/fs/cgroup/system.slice/docker-{ident}.scope/memory.current",
              f"/sys/fs/cgroup/docker/{ident}/memory.current")
    for place in places:
        # A machine that ends at this moment has no such file, or one that cannot be read.
        with contextlib.suppress(OSError), open(place, encoding="ascii") as file:
            return int(file.read())
    return 0
