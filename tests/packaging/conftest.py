"""The portable programs, built once for all tests.

SHOAL_BUILD          the build folder of the ordinary program, to compare with
SHOAL_PORTABLE_ARCH  the architectures to test (default: this machine's)
SHOAL_TARBALLS       a folder with the tarballs of a release, to test instead of new ones

The libraries come from the cache of packaging/static; on a machine without one, the first run
builds them, which takes ten minutes or more.
"""

import os
import pathlib
import struct
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
STATIC = REPOSITORY / "packaging" / "static"
BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD") or REPOSITORY / "build").resolve()
OUT = BUILD / "portable"
ARCHITECTURES = os.environ.get("SHOAL_PORTABLE_ARCH", os.uname().machine).split()

sys.path[:0] = [str(HERE), str(REPOSITORY / "packaging" / "recipe"), str(HERE.parent / "bench")]

import elf  # noqa: E402  pylint: disable=wrong-import-position
import emulator  # noqa: E402  pylint: disable=wrong-import-position
import macho  # noqa: E402  pylint: disable=wrong-import-position
import package  # noqa: E402  pylint: disable=wrong-import-position
import zig  # noqa: E402  pylint: disable=wrong-import-position


def pytest_configure(config):
    config.addinivalue_line("markers", "long: builds everything again")


def packaging(*words):
    """Runs packaging/static; what it printed."""
    done = subprocess.run([STATIC, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def project_version():
    text = (REPOSITORY / "meson.build").read_text(encoding="utf-8")
    return text.split("version: '")[1].split("'")[0]


@pytest.fixture(scope="session", params=ARCHITECTURES)
def arch(request):
    return request.param


@pytest.fixture(scope="session")
def built():
    """Architecture -> the path of its program."""
    packaging("build", "--out", str(OUT), *ARCHITECTURES)
    return {name: OUT / name / "src" / "cli" / "shoal" for name in ARCHITECTURES}


@pytest.fixture(scope="session")
def runner(arch, built):
    """The words that run the program of an architecture here."""
    program = [str(built[arch])]
    return program if arch == os.uname().machine else [emulator.find(arch), *program]


@pytest.fixture(scope="session")
def tarballs(request, tmp_path_factory):
    """Architecture -> the path of its tarball.

    An architecture that is not built has a stand-in: 64 bytes that look like its program.
    """
    given = os.environ.get("SHOAL_TARBALLS")
    if given:
        return {name: path for name in zig.ARCHITECTURES + zig.MACOS
                for path in pathlib.Path(given).glob(f"shoal-*-{zig.label(name)}.tar.gz")}
    programs = dict(request.getfixturevalue("built"))
    wanted = zig.ARCHITECTURES + zig.MACOS
    for name in set(wanted) - set(programs):
        programs[name] = stand_in(tmp_path_factory.mktemp("stand-in") / "shoal", name)
    return dict(zip(wanted, package.make_from(programs, wanted, OUT)))


def stand_in(path, name):
    if zig.is_macos(name):
        cpu = {word: number for number, word in macho.CPUS.items()}[zig.machine(name)]
        path.write_bytes(struct.pack("<IIII48x", 0xFEEDFACF, cpu, 0, macho.EXECUTE))
        path.chmod(0o755)
        return path
    machine = {word: number for number, word in elf.MACHINES.items()}[name]
    path.write_bytes(struct.pack("<16sHHIQ32x", b"\x7fELF\x02\x01\x01", elf.SHARED_OBJECT, machine,
                                 1, 0))
    path.chmod(0o755)
    return path


@pytest.fixture(scope="session")
def make(tarballs, tmp_path_factory):
    """make("wheel", "x86_64"): runs a script of packaging/ with a tarball; the package's path."""
    made = {}

    def make_package(script, arch):
        if (script, arch) not in made:
            out = tmp_path_factory.mktemp("packages")
            done = subprocess.run([STATIC.parent / script, tarballs[arch], "--out", out],
                                  capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
            made[script, arch] = pathlib.Path(done.stdout.strip())
        return made[script, arch]

    return make_package
