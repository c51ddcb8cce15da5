"""The gate of a worker against a real head: what it waits for, and whom it lets pass."""

import os
import pathlib
import subprocess
import sys
import time

import pytest

from ray_box import RayBox

SHOAL = str(pathlib.Path(os.environ["SHOAL_BUILD"]) / "src/cli/shoal")
TOKEN = "a-secret-for-this-test"

pytestmark = pytest.mark.skipif(os.geteuid() != 0 and not os.environ.get("SHOAL_REQUIRE_RAY"),
                                reason="namespaces need root")


@pytest.fixture(scope="module")
def box():
    box = RayBox(token=TOKEN)
    yield box
    box.close()


@pytest.fixture
def home(tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    return tmp_path


def start_gate(box, home, *words, path=None):
    env = dict(os.environ, HOME=str(home),
               PATH=path or f"{pathlib.Path(sys.executable).parent}:/usr/bin:/bin")
    return subprocess.Popen(
        box.inside([SHOAL, "node", "gate", "--gcs", "127.0.0.1:6379", *words]),
        env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def fake_ray(home, ray_version, python_version):
    """A `ray` on the PATH whose Python says what we want."""
    folder = home / "bin"
    folder.mkdir()
    python = folder / "python3"
    python.write_text(f"#!/bin/sh\necho ray {ray_version}\necho python {python_version}\n")
    python.chmod(0o755)
    (folder / "ray").write_text(f"#!{python}\n")
    (folder / "ray").chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def test_it_waits_for_the_head(box, home):
    gate = start_gate(box, home, "--token-file", str(home / "token"))
    time.sleep(0.5)
    assert gate.poll() is None
    box.start_head()
    out, err = gate.communicate(timeout=20)
    assert gate.returncode == 0, err
    assert "the head's Ray answers at 127.0.0.1:6379 after" in out


def test_it_costs_little_when_the_head_is_there(box, home):
    took = []
    while len(took) < 5 or len(took) < 40 and min(took) >= 0.15:  # others use the processor, too
        began = time.monotonic()
        gate = start_gate(box, home, "--token-file", str(home / "token"))
        assert gate.wait(30) == 0
        took.append(time.monotonic() - began)
    print("gate with a head that answers:", *("%.0f ms" % (t * 1000) for t in sorted(took)))
    assert min(took) < 0.15


def test_another_ray_is_refused_with_both_versions(box, home):
    path = fake_ray(home, "2.1.0", "3.6.1")
    gate = start_gate(box, home, "--token-file", str(home / "token"), path=path)
    out, err = gate.communicate(timeout=20)
    assert gate.returncode == 1
    assert "different versions of Ray and Python" in err
    assert "Ray 2.1.0, Python 3.6.1" in err
    assert "pip install 'ray[default]==" in err


def test_a_wrong_token_is_refused(box, home):
    (home / "token").write_text("wrong")
    gate = start_gate(box, home, "--token-file", str(home / "token"))
    out, err = gate.communicate(timeout=30)
    assert gate.returncode == 1
    assert "refuses this node" in err and "token" in err


def test_a_token_that_only_the_start_command_knows(box, home):
    """On another machine no Ray tells it. The head's is there, and that is what is waited for."""
    env = dict(os.environ, HOME=str(home),
               PATH=f"{pathlib.Path(sys.executable).parent}:/usr/bin:/bin")
    elsewhere = ["nsenter", "-t", box.pid, "-n", "unshare", "-pmf", "--mount-proc"]
    gate = subprocess.run([*elsewhere, SHOAL, "node", "gate", "--gcs", "127.0.0.1:6379"],
                          env=env, text=True, capture_output=True, timeout=30)
    assert gate.returncode == 0, gate.stderr
    assert "the head's Ray answers" in gate.stdout


def test_nobody_there(box, home):
    began = time.monotonic()
    env = dict(os.environ, HOME=str(home), PATH="/usr/bin:/bin")
    done = subprocess.run([SHOAL, "node", "gate", "--gcs", "127.0.0.1:1", "--deadline", "1"],
                          env=env, text=True, capture_output=True, timeout=20)
    assert done.returncode == 1
    assert "did not answer at 127.0.0.1:1 within 1 s" in done.stderr
    assert "security group" in done.stderr
    assert time.monotonic() - began < 10


def test_idle_sees_what_ray_stop_would_end(box, home):
    """Last: it ends the box's Ray."""
    idle = box.inside([SHOAL, "node", "idle"])
    assert subprocess.run(idle, env=box.env).returncode == 1
    assert box.run([str(pathlib.Path(sys.executable).parent / "ray"), "stop"]).returncode == 0
    assert subprocess.run(idle, env=box.env).returncode == 0
