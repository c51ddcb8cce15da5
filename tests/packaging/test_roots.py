"""Each way to install, in the root of a small system: Debian 12 and 13 as debootstrap makes them,
and one that has only busybox. It is installed, used and removed, and nothing is left.

The roots are made once per machine and kept in the cache of packaging/static (root and the mirror
of Debian are needed).
"""

import functools
import hashlib
import http.server
import os
import shutil
import subprocess
import threading

import elf
import pytest
from conftest import REPOSITORY, STATIC, project_version

import cache
import emulator

pytestmark = pytest.mark.long

HERE = os.uname().machine
OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}[HERE]
CLUSTER = (REPOSITORY / "examples/clusters/aws-mixed.yaml").read_text(encoding="utf-8")
MIRROR = "http://deb.debian.org/debian"
MORE = "python3-venv,man-db,bash-completion,curl,ca-certificates"
# What a package manager writes about itself.
NOTES = ("var/lib/dpkg/", "var/lib/rpm/", "var/log/", "var/cache/", "etc/ld.so.cache", "root/")


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, **more)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def make_busybox(fresh):
    run("apt-get", "-o", "APT::Sandbox::User=root", "download", "busybox-static", cwd=fresh)
    (package,) = fresh.glob("*.deb")
    run("dpkg-deb", "-x", package, fresh / "root")
    package.unlink()
    for name in ("tmp", "root", "usr/bin", "usr/sbin", "sbin"):
        (fresh / "root" / name).mkdir(parents=True, exist_ok=True)
    run("chroot", fresh / "root", "/bin/busybox", "--install", "-s")


def make_debian(suite, fresh):
    run("debootstrap", "--variant=minbase", f"--include={MORE}", suite, fresh / "root", MIRROR)
    shutil.rmtree(fresh / "root/var/cache/apt/archives")


ROOTS = {"busybox": make_busybox, "bookworm": functools.partial(make_debian, "bookworm"),
         "trixie": functools.partial(make_debian, "trixie")}


class Root:
    """A copy of a root, and what was in it before."""

    def __init__(self, name, kept, folder):
        self.name, self.folder = name, folder
        run("cp", "-a", f"{kept}/root/.", folder)
        (folder / "dev").mkdir(exist_ok=True)
        if not (folder / "dev/null").exists():
            run("mknod", "-m", "666", folder / "dev/null", "c", "1", "3")
        self.before = self.files()

    def files(self):
        found = {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")
                 if path.is_symlink() or not path.is_dir()}
        return {name for name in found if not name.startswith(NOTES) and "__pycache__" not in name}

    def run(self, *words, **more):
        return run("chroot", self.folder, *words, **more,
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C"})

    def put(self, path, name):
        shutil.copy(path, self.folder / name)

    def check(self, program):
        """The commands that need no cloud; manual and completion, if the root can read them."""
        assert self.run(program, "version").startswith(f"shoal {project_version()} ")
        assert "is fine" in self.run(program, "validate", "-", input=CLUSTER)
        prefix = program.removesuffix("/bin/shoal")
        self.run_payload(prefix)
        if self.name != "busybox":
            said = self.run("sh", "-c", f"MANPATH={prefix}/share/man man -w shoal shoal-cluster")
            assert len(said.splitlines()) == 2
            said = self.run("sh", "-c", f"MANPATH={prefix}/share/man man shoal-validate")
            assert "SHOAL-VALIDATE(1)" in said or "shoal-validate(1)" in said
            place = f"{prefix}/share/bash-completion/completions/shoal"
            assert "shoal" in self.run("bash", "-c", f". {place} && complete -p shoal")

    def run_payload(self, prefix):
        """The program for nodes of the other architecture, in an emulator, unless it is a
        stand-in."""
        path = self.folder / prefix.lstrip("/") / f"libexec/shoal/payload/shoal-{OTHER}"
        assert elf.Elf(path).machine == OTHER and os.access(path, os.X_OK)
        if path.stat().st_size > 64:
            said = run(emulator.find(OTHER), path, "version")
            assert said.startswith(f"shoal {project_version()} ")

    def is_as_before(self):
        after = self.files()
        assert (after - self.before, self.before - after) == (set(), set())


@pytest.fixture(name="root", params=ROOTS)
def _root(request, tmp_path):
    kept = cache.folder("roots", request.param)
    with cache.made_once(kept) as fresh:
        if fresh is not None:
            ROOTS[request.param](fresh)
    (tmp_path / "root").mkdir()
    return Root(request.param, kept, tmp_path / "root")


@pytest.fixture(scope="module", name="address")
def _address(tarballs, tmp_path_factory):
    """A server of a release on loopback."""
    folder = tmp_path_factory.mktemp("release")
    tarball = tarballs[HERE]
    shutil.copy(tarball, folder)
    digest = hashlib.sha256(tarball.read_bytes()).hexdigest()
    (folder / "SHA256SUMS").write_text(f"{digest}  {tarball.name}\n", encoding="ascii")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_script(root, address):
    root.put(STATIC.parent / "install.sh", "tmp/install.sh")
    words = ("--prefix", "/usr/local")
    root.run("sh", "/tmp/install.sh", "--version", project_version(), "--from", address, *words)
    root.check("/usr/local/bin/shoal")
    root.run("sh", "/tmp/install.sh", "--uninstall", *words)
    (root.folder / "tmp/install.sh").unlink()
    root.is_as_before()


def test_tarball(root, tarballs):
    root.put(tarballs[HERE], "tmp/shoal.tar.gz")
    (root.folder / "opt/shoal").mkdir(parents=True)
    root.run("tar", "-C", "/opt/shoal", "--strip-components=1", "-xzf", "/tmp/shoal.tar.gz")
    root.check("/opt/shoal/bin/shoal")
    shutil.rmtree(root.folder / "opt/shoal")
    (root.folder / "tmp/shoal.tar.gz").unlink()
    root.is_as_before()


def test_deb(root, make):
    if root.name == "busybox":
        pytest.skip("has no dpkg")
    root.put(make("deb", HERE), "tmp/shoal.deb")
    root.run("dpkg", "--force-depends", "--install", "/tmp/shoal.deb")
    root.check("/usr/bin/shoal")
    root.run("dpkg", "--purge", "shoal-ray")
    (root.folder / "tmp/shoal.deb").unlink()
    root.is_as_before()


def test_rpm(root, make):
    """rpm itself is that of this machine: the package has no scripts."""
    words = ("rpm", "--root", root.folder, "--dbpath", "/var/lib/rpm")
    run(*words, "--initdb")
    # Debian's rpm asks for a word before it installs anything.
    run(*words, "--install", "--nodeps", "--force-debian", make("rpm", HERE))
    root.check("/usr/bin/shoal")
    run(*words, "--erase", "--force-debian", "shoal-ray")
    assert "shoal" not in run(*words, "--query", "--all")
    root.is_as_before()


def test_wheel(root, make):
    if root.name == "busybox":
        pytest.skip("has no Python")
    wheel = make("wheel", HERE)
    root.run("python3", "-m", "venv", "/opt/venv")
    before = root.files()
    root.put(wheel, f"tmp/{wheel.name}")
    pip = ("/opt/venv/bin/pip", "--no-input", "--disable-pip-version-check")
    root.run(*pip, "install", "--no-index", f"/tmp/{wheel.name}")
    root.check("/opt/venv/bin/shoal")
    root.run(*pip, "uninstall", "-y", "shoal-ray")
    (root.folder / "tmp" / wheel.name).unlink()
    assert root.files() == before
