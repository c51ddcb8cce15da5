"""The .deb, the .rpm and the container image: installed, run and removed, each in an empty root."""

import os
import pathlib
import shutil
import subprocess
import tarfile

import pytest
from conftest import REPOSITORY, STATIC, project_version

HERE = os.uname().machine
OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}[HERE]
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
EXPECTED = ("usr/bin/shoal", f"usr/libexec/shoal/payload/shoal-{OTHER}",
            "usr/share/bash-completion/completions/shoal",
            "usr/share/shoal/schema/cluster.schema.json",
            "usr/share/fish/vendor_completions.d/shoal.fish")


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, **more)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def files_below(root):
    return {str(path.relative_to(root)) for path in root.rglob("*")
            if path.is_file() or path.is_symlink()}


def run_inside(root):
    """The program runs although the root has nothing else."""
    assert run("chroot", root, "/usr/bin/shoal", "version").startswith(
        f"shoal {project_version()} ")


class Deb:
    """dpkg with a database of its own."""

    def __init__(self, root):
        self.root = root
        for name in ("info", "updates", "triggers"):
            (root / "var/lib/dpkg" / name).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        self.words = ["dpkg", f"--root={root}", "--force-depends", "--force-not-root",
                      "--log=/dev/null"]

    def install(self, package):
        run(*self.words, "--install", package)

    def remove(self):
        run(*self.words, "--purge", "shoal-ray")

    @staticmethod
    def facts(package):
        """Name, version, architecture and dependencies."""
        return run("dpkg-deb", "--showformat=${Package} ${Version} ${Architecture} ${Depends}",
                   "--show", package)

    more = ("usr/share/man/man1/shoal.1.gz", "usr/share/man/man5/shoal-cluster.5.gz",
            "usr/share/zsh/vendor-completions/_shoal", "usr/share/doc/shoal-ray/copyright",
            "usr/share/doc/shoal-ray/openssl.copyright")

    @staticmethod
    def expected(version, arch):
        return f"shoal-ray {version} {DEBIAN[arch]} openssh-client, rsync"


class Rpm:
    """rpm with a database of its own."""

    def __init__(self, root):
        self.root = root
        self.words = ["rpm", "--root", root, "--dbpath", "/var/lib/rpm"]
        run(*self.words, "--initdb")

    def install(self, package):
        # Debian's rpm asks for a word before it installs anything.
        run(*self.words, "--install", "--nodeps", "--force-debian", package)

    def remove(self):
        run(*self.words, "--erase", "--force-debian", "shoal-ray")

    @staticmethod
    def facts(package):
        asked = "%{NAME} %{VERSION}-%{RELEASE} %{ARCH} [%{REQUIRES} ]"
        said = run("rpm", "--query", "--nosignature", "--package", "--queryformat", asked, package)
        return " ".join(word for word in said.split() if not word.startswith("rpmlib("))

    more = ("usr/share/man/man1/shoal.1", "usr/share/man/man5/shoal-cluster.5",
            "usr/share/zsh/site-functions/_shoal", "usr/share/doc/shoal-ray/LICENSE",
            "usr/share/doc/shoal-ray/openssl.copyright")

    @staticmethod
    def expected(version, arch):
        return f"shoal-ray {version}-1 {arch} openssh-clients rsync"


KINDS = {"deb": Deb, "rpm": Rpm}


@pytest.mark.parametrize("kind", KINDS)
def test_installs_and_leaves_nothing(make, kind, tmp_path):
    package = make(kind, HERE)
    system = KINDS[kind](tmp_path)
    before = files_below(tmp_path / "usr")
    system.install(package)
    for name in (*EXPECTED, *system.more):
        assert (tmp_path / name).stat().st_size > 0, name
        assert (tmp_path / name).stat().st_uid == 0
    assert os.access(tmp_path / EXPECTED[1], os.X_OK)
    run_inside(tmp_path)
    system.remove()
    assert files_below(tmp_path / "usr") == before == set()


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
@pytest.mark.parametrize("kind", KINDS)
def test_names_version_architecture_and_needs(make, kind, arch):
    kind_of = KINDS[kind]
    assert kind_of.facts(make(kind, arch)) == kind_of.expected(project_version(), arch)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_tarball_gives_the_same_bytes(make, kind, tarballs, tmp_path):
    again = run(STATIC.parent / kind, tarballs[HERE], "--out", tmp_path,
                env={**os.environ, "TZ": "Asia/Kolkata", "TMPDIR": str(tmp_path)}).strip()
    assert pathlib.Path(again).read_bytes() == make(kind, HERE).read_bytes()


def test_a_candidate_comes_before_the_release(tmp_path):
    """1.0rc1 is older than 1.0, for dpkg and for rpm."""
    top = f"shoal-1.0rc1-linux-{HERE}"
    with tarfile.open(tmp_path / f"{top}.tar.gz", "w:gz") as archive:
        for name in ("bin/shoal", *(f"libexec/shoal/payload/shoal-{arch}" for arch in DEBIAN),
                     "share/doc/shoal/README.md"):
            archive.addfile(tarfile.TarInfo(f"{top}/{name}"))
    for kind in KINDS:
        package = run(STATIC.parent / kind, tmp_path / f"{top}.tar.gz").strip()
        assert "1.0~rc1" in os.path.basename(package)
    run("dpkg", "--compare-versions", "1.0~rc1", "lt", "1.0")
    assert run("rpm", "--eval", "%{lua:print(rpm.vercmp('1.0~rc1', '1.0'))}").strip() == "-1"


@pytest.mark.parametrize("kind", KINDS)
def test_a_mac_has_no_such_package(kind, tarballs, tmp_path):
    done = subprocess.run([STATIC.parent / kind, tarballs["aarch64-macos"], "--out", tmp_path],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "is for Linux, and this tarball is for macos" in done.stderr
    assert not list(tmp_path.iterdir())


def test_image_has_the_program_alone(tarballs, tmp_path):
    with tarfile.open(tarballs[HERE]) as archive:
        archive.extractall(tmp_path, filter="data")
    (tree,) = tmp_path.iterdir()
    image = f"shoal-test-{os.getpid()}"
    run("docker", "build", "-q", "-t", image, "-f", REPOSITORY / "packaging/Containerfile", tree)
    inside = ["docker", "run", "--rm", "-i", "--network", "none", "--read-only", image]
    try:
        assert run(*inside, "version").startswith(f"shoal {project_version()} ")
        cluster = (REPOSITORY / "examples/clusters/aws-mixed.yaml").read_text(encoding="utf-8")
        assert "is fine" in run(*inside, "validate", "-", input=cluster)
    finally:
        subprocess.run(["docker", "rmi", "-f", image], stdout=subprocess.DEVNULL, check=False)
        shutil.rmtree(tree)
