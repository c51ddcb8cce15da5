"""Where the programs under test are, and what the tests have in common.

SHOAL_BUILD        build directory (default: `build` in the repository)
SHOAL_REQUIRE_RAY  1: a missing Ray is a failure, not a skip (see need_ray.py)
SHOAL_DIFF_SEED    repeats the samples of that seed; without it, each day (UTC) has a new one
"""

import datetime
import os
import pathlib

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def build_directory():
    return pathlib.Path(os.environ.get("SHOAL_BUILD") or REPOSITORY / "build").resolve()


def program(*parts):
    path = build_directory().joinpath(*parts)
    if not path.exists():
        pytest.fail("{} is not built (see SHOAL_BUILD)".format(path), pytrace=False)
    return str(path)


@pytest.fixture
def shoal():
    return program("src", "cli", "shoal")


@pytest.fixture
def yaml_probe():
    return program("tests", "yaml_probe")


@pytest.fixture
def hash_probe():
    return program("tests", "hash_probe")


SEED = int(os.environ.get("SHOAL_DIFF_SEED") or
           datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%d"))


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"seed {SEED}; to repeat: SHOAL_DIFF_SEED={SEED}")


@pytest.fixture(scope="session")
def seed():
    return SEED


@pytest.fixture(scope="session")
def corpus():
    """The hand-written cluster files, sorted by name."""
    return sorted((pathlib.Path(__file__).parent / "corpus").glob("*.yaml"))


@pytest.fixture
def say(capsys):
    """Prints a line even when pytest captures output: the counts are results."""

    def print_now(line):
        with capsys.disabled():
            print("\n" + line, flush=True)

    return print_now
