"""Tools to watch a cluster: `shoal top` over ssh, and Prometheus with the dashboard's queries, both
on a cluster with a pending request that can never run.
"""

import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import urllib.request

import pytest

import driver
import files

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "cli"))

from terminal import FullScreen, Terminal  # noqa: E402

PORT = 44217
WAITS = """
import ray, time
ray.init(address="auto", log_to_driver=False)
refs = [ray.remote(num_cpus=64)(lambda: 1).remote() for _ in range(3)]
print("asked", flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def watched(running_bed, aws, tmp_path_factory):
    """A head, a worker, and a program that requests a resource of no node type."""
    from conftest import Cluster, _bed  # pylint: disable=import-outside-toplevel
    _bed.empty(running_bed)
    laptop = driver.Laptop(tmp_path_factory.mktemp("watched"))
    made = Cluster(laptop, files.quick("watched", workers=1, setup_commands=["echo setup here"]),
                   running_bed, aws)
    made.up()
    child = made.start("submit", laptop.file("waits.py", WAITS))
    driver.wait_for(lambda: b"asked" in peek(child.stdout), 60)
    yield made
    laptop.stop(child, signal.SIGINT)
    running_bed.reset()


def peek(stream):
    ready = select.select([stream], [], [], 0.1)[0]
    return os.read(stream.fileno(), 4096) if ready else b""


def test_top_in_a_pipe(watched):
    def told():
        text = watched("top").out
        return text if "3 x {CPU: 64}" in text else None

    text = driver.wait_for(told, 20)
    assert text.startswith("watched  aws us-west-2  Ray 2.60"), text
    for name in ("head +head", "worker-1 +worker"):
        assert re.search(rf"^  {name} +m5.large .* (busy|idle) .* 0.102 ", text, re.M), text
    assert "$0.20/h" in text.splitlines()[0], text
    assert "(3 cannot be placed)" in text and "EVENTS" in text and "joined Ray" in text, text
    assert "\x1b" not in text


def test_top_on_a_terminal(watched):
    env = {**watched.laptop.env(), "TERM": "xterm-256color"}
    terminal = Terminal([driver.SHOAL, "top", watched.path], env=env, columns=100, lines=30)
    try:
        def see(pattern):
            terminal.read(None, 0.1)
            screen = FullScreen(100, 30)
            screen.feed(terminal.data)
            return re.search(pattern, screen.text())

        driver.wait_for(lambda: see(r"(?s)> head.*worker-1.*EVENTS"), 30)
        terminal.type(b"j\r")
        driver.wait_for(lambda: see(r"(?s)LOG of worker-1.*setup here"), 30)
        terminal.type(b"q")
        driver.wait_for(lambda: see("EVENTS"), 30)
        terminal.type(b"q")
        assert terminal.end()[1] == 0
    finally:
        terminal.close()


def test_every_query_of_the_dashboard(watched):
    """The port is on the head's loopback and is forwarded, as the documentation says."""
    program = os.environ.get("SHOAL_PROMETHEUS")
    if not program and os.environ.get("SHOAL_REQUIRE_PROMETHEUS") != "1":
        pytest.skip("SHOAL_PROMETHEUS does not say where Prometheus is")
    child = watched.start("exec", "-p", str(PORT), "echo ready; sleep 120")
    try:
        driver.wait_for(lambda: b"ready" in peek(child.stdout), 30)
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics", timeout=10) as reply:
            text = reply.read().decode()
        assert re.search(r'autoscaler_active_nodes{NodeType="worker",SessionName="session_', text)
        assert re.search(r'shoal_demand{source="tasks",shape="{CPU: 64}",cluster="watched"} 3$',
                         text, re.M), text
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
             str(TESTS / "diff" / "test_grafana.py")], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "SHOAL_METRICS": f"127.0.0.1:{PORT}"}, timeout=120, check=False)
        assert done.returncode == 0, done.stdout
    finally:
        watched.laptop.stop(child, signal.SIGINT)
