"""What every test of the command line needs: the program, a home and a folder of their own.

SHOAL_BUILD           build directory (default: `build` in the repository)
SHOAL_UPDATE_GOLDEN   1: rewrite the expected transcripts instead of comparing
SHOAL_REQUIRE_SHELLS  1: a missing bash, zsh, fish or man is a failure, not a skip
"""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import output_schema

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
SECONDS_MAX = 60

# Kept from the caller's environment: where programs are, and how sanitizers and coverage behave.
KEPT = re.compile(r"^(PATH|LD_LIBRARY_PATH|LLVM_PROFILE_FILE|GCOV_.*|[A-Z]+SAN_OPTIONS)$")
BROKEN = re.compile(r"Sanitizer|runtime error:|panic|core dumped")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes more than a minute")


def build_directory():
    return pathlib.Path(os.environ.get("SHOAL_BUILD") or REPOSITORY / "build").resolve()


def required(name):
    """The program of that name, or a skip."""
    path = shutil.which(name)
    if path:
        return path
    if os.environ.get("SHOAL_REQUIRE_SHELLS") == "1":
        pytest.fail(f"{name} is required (SHOAL_REQUIRE_SHELLS=1) but not installed",
                    pytrace=False)
    pytest.skip(f"{name} is not installed")


@pytest.fixture
def need():
    return required


@pytest.fixture(scope="session")
def repository():
    return REPOSITORY


@pytest.fixture(scope="session")
def build():
    return build_directory()


@pytest.fixture(scope="session")
def program(build):
    path = build / "src" / "cli" / "shoal"
    if not path.exists():
        pytest.fail(f"{path} is not built (see SHOAL_BUILD)", pytrace=False)
    return path


@pytest.fixture
def home(tmp_path):
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def folder(tmp_path):
    """Where the program runs."""
    path = tmp_path / "here"
    path.mkdir()
    return path


@pytest.fixture
def environment(home, program):
    """A terminal user's, and nothing else: no CI, no NO_COLOR, an empty home, shoal on the PATH."""
    kept = {name: value for name, value in os.environ.items() if KEPT.match(name)}
    path = os.pathsep.join([str(program.parent), kept.get("PATH", os.defpath)])
    return {**kept, "PATH": path, "HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": "xterm"}


@pytest.fixture
def run(environment, folder):
    """Runs any command; text in and out, and never a crash."""

    def run_command(words, *, env=None, cwd=None, **more):
        more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": SECONDS_MAX,
                "encoding": "utf-8", **more}
        if "input" not in more:
            more.setdefault("stdin", subprocess.DEVNULL)
        done = subprocess.run([str(word) for word in words], cwd=cwd or folder,
                              env={**environment, **(env or {})}, check=False, **more)
        assert done.returncode >= 0, f"died of signal {-done.returncode}: {done.stderr}"
        assert not BROKEN.search(str(done.stderr or "")), done.stderr
        return done

    return run_command


@pytest.fixture
def shoal(run, program):
    """shoal("validate", "x.yaml"): returncode, stdout and stderr of a run."""

    def run_shoal(*words, **more):
        done = run([program, *words], **more)
        output_schema.check(words, done.stdout)
        return done

    return run_shoal


@pytest.fixture
def findings(shoal):
    """The findings of `shoal validate -o json` about a text."""

    def find(text, **more):
        done = shoal("validate", "-o", "json", "-", input=text, **more)
        assert done.stderr == "" and done.returncode in (0, 1), done
        return json.loads(done.stdout)["findings"]

    return find


@pytest.fixture
def write(folder):
    """write("x.yaml", text): a file in the folder where the program runs."""

    def write_file(name, text):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write_file


@pytest.fixture
def verbs(shoal):
    """Every verb that `shoal help` lists, in its order."""
    text = shoal("help").stdout
    names = re.findall(r"^  ([a-z][a-z-]*)", text, re.MULTILINE)
    assert len(names) == len(set(names)) > 0
    return names


@pytest.fixture
def keys(shoal):
    """Every key of the cluster file, as a dotted path."""
    lines = shoal("help", "--keys").stdout.splitlines()
    assert len(lines) > 50
    return [line.split("\t")[0] for line in lines]


@pytest.fixture
def golden():
    """golden("name.txt", text): equals the stored text, byte for byte."""

    def compare(name, text):
        path = HERE / "golden" / name
        if os.environ.get("SHOAL_UPDATE_GOLDEN") == "1":
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text.encode())
        assert path.exists(), f"{path} is missing; write it with SHOAL_UPDATE_GOLDEN=1"
        assert text.encode() == path.read_bytes(), (
            f"{name} says otherwise; if this is better, run again with SHOAL_UPDATE_GOLDEN=1")

    return compare
