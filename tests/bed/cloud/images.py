"""The nodes' images, built once on this machine without a registry.

rootfs    Debian 12 by debootstrap: sshd, rsync, sudo, python3
base      rootfs, the user, and a small boot in place of cloud-init; neither Ray nor pip
ray       base with Ray, out of the wheels that the index serves
systemd   rootfs and, by apt, systemd as first process and the real cloud-init
systemd-ray  systemd with Ray, out of the same wheels
train     ray with Ray Train and torch, out of wheels in a folder of their own
docker    rootfs and, by apt, Docker; Ray, which only a container finds
gce       rootfs and, by apt, systemd and Google's own agent (docs/dev/gce.md)
gce-ray   gce with Ray and what its launcher needs at Google

A tag ends with a hash of what the image is made of, so that a change builds a new one.
"""

import contextlib
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from . import docker, settings

SOURCES = settings.HERE / "image"
MIRROR = "http://deb.debian.org/debian"
# The libraries of an ordinary build of shoal: if the portable program was not built, tests send the
# ordinary one to the machines. A user's machine does not need these libraries.
LIBRARIES = ("libcurl4 libexpat1 libjansson4 libprotobuf-c1 libsqlite3-0 libssl3 libuv1 "
             "libyaml-0-2").split()
PACKAGES = ("openssh-server rsync sudo python3 python3-yaml curl iproute2 procps ca-certificates "
            "iputils-ping netcat-openbsd screen tmux").split() + LIBRARIES
SYSTEMD_PACKAGES = "systemd systemd-sysv dbus cloud-init".split()
DOCKER_PACKAGES = "docker.io iptables".split()
GCE_PACKAGES = "systemd systemd-sysv dbus google-guest-agent".split()
RAY_VERSION = "2.60.0"
WHEELS = ("pip", "boto3", f"ray[default]=={RAY_VERSION}")
GCE_WHEELS = ("google-api-python-client==2.202.0", "google-auth==2.62.2", "cryptography")
TRAIN_WHEELS = (f"ray[train]=={RAY_VERSION}", "torch==2.13.0")

BASE_FILES = {"bed-init": "/usr/local/sbin/bed-init", "bed-boot": "/usr/local/sbin/bed-boot",
              "bed-off": "/usr/local/sbin/bed-off"}
SYSTEMD_FILES = {"bed-systemd": "/usr/local/sbin/bed-systemd",
                 "bed-cloud.cfg": "/usr/local/share/bed-cloud.cfg",
                 "bed-ssh.conf": "/usr/local/share/bed-ssh.conf"}
GCE_FILES = {name: SYSTEMD_FILES[name] for name in ("bed-systemd", "bed-ssh.conf")}

# An installed pip uses the bed's index, and may install system-wide as on other images.
PIP_SET_UP = f"""rm -f /usr/lib/python3*/EXTERNALLY-MANAGED
cat >/etc/pip.conf <<'END'
[global]
index-url = http://{settings.GATEWAY}:{settings.INDEX_PORT}/simple
trusted-host = {settings.GATEWAY}
END
"""
SET_UP = """set -e
useradd -m -s /bin/bash ubuntu && usermod -p '*' ubuntu
echo 'ubuntu ALL=(ALL) NOPASSWD:ALL' >/etc/sudoers.d/ubuntu
rm -f /etc/ssh/ssh_host_*
for name in poweroff halt shutdown; do ln -sf /usr/local/sbin/bed-off /usr/local/sbin/$name; done
""" + PIP_SET_UP
# cloud-init recognizes EC2 by a file of the hypervisor, and only then asks for an IMDSv2 token. A
# container has no such file in /sys, so cloud-init looks for it elsewhere. The address comes from
# Docker; on EC2 cloud-init would first ask for one over DHCP.
SET_UP_SYSTEMD = """set -e
echo ec2bed00-0000-0000-0000-000000000000 >/etc/hypervisor-uuid
sed -i s,/sys/hypervisor/uuid,/etc/hypervisor-uuid, \\
    /usr/lib/python3/dist-packages/cloudinit/sources/DataSourceEc2.py
grep -q /etc/hypervisor-uuid /usr/lib/python3/dist-packages/cloudinit/sources/DataSourceEc2.py
rm -f /usr/sbin/dhclient /sbin/dhclient
rm -f /etc/ssh/ssh_host_* /etc/machine-id && touch /etc/machine-id
mkdir -p /etc/cloud/cloud.cfg.d /etc/systemd/system/ssh.service.d
cp /usr/local/share/bed-cloud.cfg /etc/cloud/cloud.cfg.d/99-bed.cfg
cp /usr/local/share/bed-ssh.conf /etc/systemd/system/ssh.service.d/bed.conf
systemctl mask systemd-udevd.service systemd-networkd-wait-online.service \\
    systemd-networkd.service getty.target console-getty.service
systemctl enable ssh.service
"""
# The agent creates users and host keys; the image has neither.
SET_UP_GCE = """set -e
rm -f /etc/ssh/ssh_host_* /etc/machine-id && touch /etc/machine-id
mkdir -p /etc/systemd/system/ssh.service.d
cp /usr/local/share/bed-ssh.conf /etc/systemd/system/ssh.service.d/bed.conf
systemctl mask systemd-udevd.service systemd-networkd-wait-online.service \\
    systemd-networkd.service getty.target console-getty.service
systemctl enable ssh.service google-guest-agent.service google-startup-scripts.service
"""
ADD_GCE_RAY = """
python3 -m pip install -q --no-index --find-links /gce-wheels --root-user-action=ignore \\
    google-api-python-client google-auth cryptography
"""
# `ray submit` runs `python`, which images with Ray have.
ADD_RAY = f"""set -e
ln -s python3 /usr/bin/python
python3 "$(ls /wheels/pip-*.whl)/pip" install -q --no-index --find-links /wheels \\
    --root-user-action=ignore --no-compile pip boto3 'ray[default]=={RAY_VERSION}'
python3 -m compileall -q /usr/local/lib/python3*/dist-packages >/dev/null || true
"""

# An image for containers without any program: containers mount /usr of the machine. It loads in a
# tenth of a second. Ray is on the PATH of containers only.
ADD_DOCKER = """
usermod -aG docker ubuntu
mkdir /usr/lib/ray-bin && mv /usr/local/bin/ray* /usr/lib/ray-bin
box=$(mktemp -d) && cd "$box"
mkdir -p dev etc home proc root run sys tmp usr var/tmp && chmod 1777 tmp var/tmp
for name in bin sbin lib lib64; do ln -s usr/$name $name; done
printf 'root:x:0:0::/root:/bin/bash\\nray:x:1000:100::/home/ray:/bin/bash\\n' >etc/passwd
printf 'root:x:0:\\nusers:x:100:\\n' >etc/group
mkdir home/ray && chown 1000:100 home/ray
tar -cf /usr/local/share/container.tar . && rm -r "$box"
"""


# Ray is there already. A torch with CUDA would also do, but is ten times as large.
ADD_TRAIN = f"""set -e
python3 -m pip install -q --no-index --find-links /wheels --root-user-action=ignore --no-compile \\
    {" ".join(f"'{wheel}'" for wheel in TRAIN_WHEELS)}
python3 -m compileall -q /usr/local/lib/python3*/dist-packages >/dev/null || true
"""


def say(text):
    print(f"bed: {text}", file=sys.stderr, flush=True)


# ---- names ----


def hash_of(*parts):
    text = "\0".join(str(part) for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def scripts(*names):
    return [(SOURCES / name).read_text(encoding="utf-8") for name in names]


def tag(kind):
    own = scripts(*BASE_FILES)
    parts = {"rootfs": [PACKAGES], "rootfs-systemd": [PACKAGES, SYSTEMD_PACKAGES],
             "base": [PACKAGES, SET_UP, *own],
             "systemd": [PACKAGES, SYSTEMD_PACKAGES, SET_UP_SYSTEMD,
                         *scripts(*SYSTEMD_FILES)],
             "ray": [PACKAGES, SET_UP, ADD_RAY, *own],
             "rootfs-docker": [PACKAGES, DOCKER_PACKAGES],
             "docker": [PACKAGES, DOCKER_PACKAGES, SET_UP, ADD_RAY, ADD_DOCKER, *own,
                        *scripts("bed-docker")],
             "train": [PACKAGES, SET_UP, ADD_RAY, ADD_TRAIN, *own],
             "rootfs-gce": [PACKAGES, GCE_PACKAGES],
             "gce": [PACKAGES, GCE_PACKAGES, SET_UP_GCE, *scripts(*GCE_FILES)],
             "gce-ray": [PACKAGES, GCE_PACKAGES, SET_UP_GCE, PIP_SET_UP, ADD_RAY, ADD_GCE_RAY,
                         GCE_WHEELS, *scripts(*GCE_FILES)],
             "systemd-ray": [PACKAGES, SYSTEMD_PACKAGES, SET_UP_SYSTEMD, PIP_SET_UP, ADD_RAY,
                             *scripts(*SYSTEMD_FILES)]}[kind]
    return f"shoal-bed-{kind}:{hash_of(*parts)}"


# ---- building ----


def ensure(kind):
    """The tag of an image that exists now."""
    name = tag(kind)
    if not docker.image_exists(name):
        say(f"building image {kind} (once)")
        BUILDERS[kind](name)
        remove_older(name)
    return name


def remove_older(name):
    """Images of the same kind with other contents."""
    said = docker.run("images", name.partition(":")[0], "--format", "{{.Repository}}:{{.Tag}}")
    for other in set(said.split()) - {name}:
        docker.run("rmi", other, check=False)


def build_rootfs(name):
    with a_folder() as root:
        tell(["nice", "debootstrap", "--variant=minbase", "--include=" + ",".join(PACKAGES),
              "bookworm", str(root), MIRROR], 1200)
        import_root(root, name)


def build_rootfs_systemd(name):
    build_rootfs_with(name, SYSTEMD_PACKAGES)


def build_rootfs_docker(name):
    build_rootfs_with(name, DOCKER_PACKAGES)


def build_rootfs_gce(name):
    build_rootfs_with(name, GCE_PACKAGES)


def build_rootfs_with(name, packages):
    """The same with more packages, installed by apt: debootstrap cannot resolve every
    dependency.
    """
    with a_folder() as root:
        container = docker.run("create", "--label", settings.LABEL, ensure("rootfs"),
                               "true").strip()
        try:
            tell(["sh", "-c", f"docker export {container} | tar -x -C {root}"], 300)
        finally:
            docker.remove([container])
        add_packages(root, packages)
        import_root(root, name)


@contextlib.contextmanager
def a_folder():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="shoal-bed-", dir="/var/tmp"))
    root = folder / "root"
    root.mkdir()
    try:
        yield root
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def tell(words, seconds, **more):
    """Run a command of a build; a failure shows its output."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=seconds, check=False, **more)
    if done.returncode:
        raise docker.DockerError(f"{' '.join(words[:4])} failed:\n{done.stdout[-2000:]}")


def import_root(root, name):
    for junk in ("var/cache/apt/archives", "var/lib/apt/lists"):
        shutil.rmtree(root / junk, ignore_errors=True)
    tar = subprocess.Popen(["tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE)
    docker.run("import", "--change", f"LABEL {settings.LABEL}.image=1", "-", name,
               stdin=tar.stdout, seconds=300)
    if tar.wait(timeout=60):
        raise docker.DockerError(f"tar of {root} failed")


def add_packages(root, packages):
    shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
    silence = root / "usr" / "sbin" / "policy-rc.d"  # do not start services in a chroot
    silence.write_text("#!/bin/sh\nexit 101\n", encoding="ascii")
    silence.chmod(0o755)
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update", "-qq"],
                  ["install", "-y", "-qq", "--no-install-recommends", *packages]):
        tell(["nice", "chroot", str(root), "apt-get", *words], 900, env=env)
    silence.unlink()


def derive(name, source, script, changes=(), volumes=(), copies=None):
    """A new image: `source` with files copied in, after `script` ran in it."""
    words = [word for volume in volumes for word in ("-v", volume)]
    container = docker.run("create", "--label", settings.LABEL, "--network", "none", *words,
                           source, "sh", "-c", script).strip()
    try:
        for file, target in (copies or {}).items():
            docker.run("cp", str(SOURCES / file), f"{container}:{target}")
        done = subprocess.run(["docker", "start", "-a", container], timeout=900, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            raise docker.DockerError(f"building {name} failed:\n{done.stdout[-2000:]}")
        docker.run("commit", *[word for change in changes for word in ("--change", change)],
                   container, name, seconds=300)
    finally:
        docker.remove([container])


def build_base(name):
    derive(name, ensure("rootfs"), SET_UP, ['CMD ["/usr/local/sbin/bed-init"]'],
           copies=BASE_FILES)


def build_ray(name):
    ensure_wheels()
    derive(name, ensure("base"), ADD_RAY, ['CMD ["/usr/local/sbin/bed-init"]'],
           volumes=[f"{settings.WHEELS}:/wheels:ro"])


def build_train(name):
    ensure_wheels(TRAIN_WHEELS, settings.TRAIN_WHEELS)
    derive(name, ensure("ray"), ADD_TRAIN, ['CMD ["/usr/local/sbin/bed-init"]'],
           volumes=[f"{settings.TRAIN_WHEELS}:/wheels:ro"])


def build_systemd(name):
    derive(name, ensure("rootfs-systemd"), SET_UP_SYSTEMD,
           ['CMD ["/usr/local/sbin/bed-systemd"]'],
           copies=SYSTEMD_FILES)


def build_systemd_ray(name):
    ensure_wheels()
    derive(name, ensure("systemd"), PIP_SET_UP + ADD_RAY, ['CMD ["/usr/local/sbin/bed-systemd"]'],
           volumes=[f"{settings.WHEELS}:/wheels:ro"])


def build_gce(name):
    derive(name, ensure("rootfs-gce"), SET_UP_GCE, ['CMD ["/usr/local/sbin/bed-systemd"]'],
           copies=GCE_FILES)


def build_gce_ray(name):
    ensure_wheels()
    ensure_wheels(GCE_WHEELS, settings.GCE_WHEELS)
    derive(name, ensure("gce"), PIP_SET_UP + ADD_RAY + ADD_GCE_RAY,
           ['CMD ["/usr/local/sbin/bed-systemd"]'],
           volumes=[f"{settings.WHEELS}:/wheels:ro", f"{settings.GCE_WHEELS}:/gce-wheels:ro"])


def build_docker(name):
    ensure_wheels()
    derive(name, ensure("rootfs-docker"), SET_UP + ADD_RAY + ADD_DOCKER,
           ['CMD ["/usr/local/sbin/bed-docker"]'], volumes=[f"{settings.WHEELS}:/wheels:ro"],
           copies={**BASE_FILES, "bed-docker": "/usr/local/sbin/bed-docker"})


BUILDERS = {
    "rootfs": build_rootfs, "rootfs-systemd": build_rootfs_systemd,
    "rootfs-docker": build_rootfs_docker, "docker": build_docker,
    "base": build_base, "ray": build_ray, "systemd": build_systemd,
    "systemd-ray": build_systemd_ray, "train": build_train,
    "rootfs-gce": build_rootfs_gce, "gce": build_gce, "gce-ray": build_gce_ray,
}


def ensure_wheels(wheels=WHEELS, folder=settings.WHEELS):
    """The wheels in the index, or for another folder, for the nodes' Python."""
    mark = folder / f"complete-{hash_of(wheels)}"
    if mark.exists():
        return
    say(f"downloading the wheels of {wheels[-1]} (once)")
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "-d", str(folder),
                    "--only-binary=:all:", "--python-version", "3.11", *wheels],
                   timeout=1800, check=True)
    mark.touch()
