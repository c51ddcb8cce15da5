"""The wheel from an index on loopback, as uvx and pipx get it (both come from PyPI)."""

import ensurepip
import functools
import http.server
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

import pytest
from conftest import REPOSITORY, project_version
from reference import Reference

import cache

pytestmark = pytest.mark.long

CLUSTER = REPOSITORY / "examples" / "clusters" / "aws-mixed.yaml"
SECONDS_MAX = 10
TOOLS = ("uv==0.9.7", "pipx==1.8.0")


@pytest.fixture(scope="module", name="tools")
def _tools():
    """The folder of uvx and pipx, installed once per machine."""
    folder = cache.folder("tools-" + cache.key_of(TOOLS))
    with cache.made_once(folder) as fresh:
        if fresh is not None:
            cache.run([sys.executable, "-m", "venv", fresh])
            cache.run([fresh / "bin/python", "-m", "pip", "install", "-q", *TOOLS])
    return folder / "bin"


@pytest.fixture(scope="module", name="index")
def _index(make, tmp_path_factory):
    """The address of an index. pipx also wants pip from there; Python has a wheel of it."""
    folder = tmp_path_factory.mktemp("index")
    (pip,) = (pathlib.Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")
    for project, wheel in (("shoal-ray", make("wheel", os.uname().machine)), ("pip", pip)):
        place = folder / "simple" / project
        place.mkdir(parents=True)
        shutil.copy(wheel, place)
        (place / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>\n',
                                          encoding="ascii")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()


@pytest.fixture(name="call")
def _call(tools, tmp_path):
    def call_tool(*words):
        done = subprocess.run([tools / "python", "-m", *words], capture_output=True, text=True,
                              check=False, timeout=300,
                              env={"PATH": f"{tools}:{os.defpath}", "HOME": str(tmp_path)})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return call_tool


def test_uvx_runs_it(call, index):
    said = call("uv", "tool", "run", "--default-index", index, "--from", "shoal-ray", "shoal",
                "version")
    assert said.startswith(f"shoal {project_version()} ")


def test_two_commands_to_validate(index, tmp_path):
    """`pip install shoal-ray` and `shoal validate`, in a new environment."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    reference = Reference()
    reference.sample()
    began = time.monotonic()
    for words in (("pip", "install", "--index-url", index, "shoal-ray"),
                  ("shoal", "validate", CLUSTER)):
        done = subprocess.run([tmp_path / "venv/bin" / words[0], *words[1:]], capture_output=True,
                              text=True, check=False, timeout=300,
                              env={"PATH": os.defpath, "HOME": str(tmp_path)})
        assert done.returncode == 0, done.stdout + done.stderr
    seconds = time.monotonic() - began
    print(f"\npip and shoal validate: {seconds:.1f} s, load {os.getloadavg()[0]:.1f}, "
          f"{reference.slowness():.1f} times slower than the reference processor")
    assert "is fine" in done.stdout
    assert seconds <= SECONDS_MAX * reference.slowness()


def test_pipx_installs_and_removes_it(call, index, tmp_path):
    call("pipx", "install", "--index-url", index, "shoal-ray")
    program = tmp_path / ".local/bin/shoal"
    said = subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout
    assert said.startswith(f"shoal {project_version()} ")
    call("pipx", "uninstall", "shoal-ray")
    assert not program.is_symlink() and not program.exists()
