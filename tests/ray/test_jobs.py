"""Our client of the Jobs API against a real Ray: what each call does, and how refusals look."""

import os
import pathlib
import subprocess
import time

import pytest

from ray_box import RAY, RayBox

PROBE = str(pathlib.Path(os.environ["SHOAL_BUILD"]) / "tests/jobs_probe")
TOKEN = "a-secret-for-this-test"

pytestmark = pytest.mark.skipif(os.geteuid() != 0 and not os.environ.get("SHOAL_REQUIRE_RAY"),
                                reason="namespaces need root")


class Probe:
    """One client that stays open over several calls."""

    def __init__(self, box, address, *token):
        self.process = subprocess.Popen(box.inside([PROBE, address, *token]),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")

    def list(self, prefix):
        head = self.ask("list", prefix).split()
        assert head[0] == "list", head
        return [self.process.stdout.readline().split()[1] for _ in range(int(head[1]))]

    def wait(self, job, *wanted):
        """The words of the job's record once it has one of these statuses."""
        until = time.monotonic() + 60
        while True:
            words = self.ask("get", job).split()
            assert words[:2] == ["job", job], words
            if words[2] in wanted:
                return words
            assert time.monotonic() < until, words
            time.sleep(0.2)

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0


@pytest.fixture(scope="module")
def box():
    box = RayBox(token=TOKEN)
    done = box.run([RAY, "start", "--head", "--no-monitor", "--port", "6379",
                    "--node-ip-address", "127.0.0.1", "--num-cpus", "2",
                    "--object-store-memory", "80000000", "--dashboard-host", "127.0.0.1",
                    "--disable-usage-stats"])
    assert done.returncode == 0, done.stdout + done.stderr
    yield box
    box.close()


@pytest.fixture(scope="module")
def probe(box):
    probe = Probe(box, "ray://127.0.0.1:10001", TOKEN)
    until = time.monotonic() + 60
    while not probe.ask("list", "x").startswith("list"):
        assert time.monotonic() < until
        time.sleep(0.5)
    yield probe
    probe.close()


def test_an_exit_code(probe):
    assert probe.ask("submit", "t-exit", "1", "exit 7") == "yes"
    words = probe.wait("t-exit", "FAILED", "SUCCEEDED", "STOPPED")
    assert words[2:5] == ["FAILED", "7", "127.0.0.1"]
    assert len(words[5]) == 56
    # It has ended. Ray's supervisor of the job ends a moment later; until then it says yes.
    end = time.monotonic() + 20
    while probe.ask("stop", "t-exit") != "no":
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_duplicate_is_already_submitted(probe):
    assert probe.ask("submit", "t-twice", "1", "exit 0") == "yes"
    assert probe.ask("submit", "t-twice", "1", "exit 0") == "no"
    assert probe.ask("submit", "t-twice", "1", "exit 1").startswith("failed exists ")
    assert probe.wait("t-twice", "SUCCEEDED")[3] == "0"
    assert probe.ask("submit", "t-twice", "1", "exit 0") == "no"


def test_stop_and_delete(probe):
    assert probe.ask("submit", "t-sleep", "1", "exec sleep 1000") == "yes"
    probe.wait("t-sleep", "RUNNING")
    words = probe.ask("delete", "t-sleep")
    assert words.startswith("failed protocol ") and "non-terminal state RUNNING" in words
    assert probe.ask("stop", "t-sleep") == "yes"
    assert probe.wait("t-sleep", "STOPPED", "FAILED", "SUCCEEDED")[2:4] == ["STOPPED", "-"]
    assert "t-sleep" in probe.list("t-")
    assert probe.list("other") == []
    assert probe.ask("delete", "t-sleep") == "yes"
    for verb in ("get", "stop", "delete"):
        assert probe.ask(verb, "t-sleep").startswith("failed not-found "), verb
    assert "t-sleep" not in probe.list("t-")


def test_a_pending_job(probe):
    """It asks for more than there is, and has no node and no exit code."""
    assert probe.ask("submit", "t-large", "64", "exit 0") == "yes"
    assert probe.ask("get", "t-large") == "job t-large PENDING - - -"


@pytest.mark.parametrize("token", [(), ("wrong",)])
def test_a_wrong_token_is_said(box, probe, token):
    other = Probe(box, "127.0.0.1:8265", *token)
    words = other.ask("list", "t-")
    assert words.startswith("failed auth ") and "refused the token" in words
    assert other.ask("submit", "t-no", "1", "exit 0").startswith("failed auth ")
    other.close()
