"""The portable programs, built once for all tests.

SHOAL_BUILD          the build folder of the ordinary program, to compare with
SHOAL_PORTABLE_ARCH  the architectures to test (default: this machine's)

The libraries come from the cache of packaging/static; on a machine without one, the first run
builds them, which takes ten minutes or more.
"""

import os
import pathlib
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

import emulator  # noqa: E402  pylint: disable=wrong-import-position


def pytest_configure(config):
    config.addinivalue_line("markers", "long: builds everything again")


def packaging(*words):
    """Runs packaging/static; what it printed."""
    done = subprocess.run([STATIC, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


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
