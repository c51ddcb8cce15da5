"""Our client of the GCS against a real one; what it makes of one that is away, new or strict."""

import os
import pathlib
import subprocess
import sys
import time

import pytest
import ray

from ray_box import RayBox

PROBE = str(pathlib.Path(os.environ["SHOAL_BUILD"]) / "tests/gcs_probe")

pytestmark = pytest.mark.skipif(os.geteuid() != 0 and not os.environ.get("SHOAL_REQUIRE_RAY"),
                                reason="namespaces need root")


class Probe:
    """One client that stays open over several questions."""

    def __init__(self, box, *token):
        self.process = subprocess.Popen(box.inside([PROBE, "http://127.0.0.1:6379", *token]),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().split(None, 2)

    def nodes(self):
        head = self.ask("nodes")
        assert head[1] == "fine", head
        return [self.process.stdout.readline().split()[1:] for _ in range(int(head[2]))]

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0


@pytest.fixture(scope="module")
def box():
    box = RayBox(token="a-secret-for-this-test").start_head()
    yield box
    box.close()


def test_version_and_nodes(box):
    probe = Probe(box, "a-secret-for-this-test")
    assert probe.ask("alive") == ["alive", "fine", ray.__version__ + "\n"]
    (node,) = probe.nodes()
    said = box.run([sys.executable, "-c",
                    "import ray; ray.init('127.0.0.1:6379', log_to_driver=False);"
                    "print(ray.nodes()[0]['NodeID'])"])
    assert node == [said.stdout.split()[-1], "127.0.0.1", "i-head", "alive", "head"]
    probe.close()


def test_drivers_that_are_connected(box):
    """Ray's own do not count, nor those that have ended."""
    probe = Probe(box, "a-secret-for-this-test")

    def wait_for_none():
        end = time.monotonic() + 60
        while (said := probe.ask("drivers")) != ["drivers", "fine", "0\n"]:
            assert time.monotonic() < end, said
            time.sleep(0.1)

    wait_for_none()  # Ray reports the end of an earlier test's driver late
    driver = subprocess.Popen(box.inside([
        sys.executable, "-c", "import ray, sys; ray.init('127.0.0.1:6379', log_to_driver=False);"
                              "print('there', flush=True); sys.stdin.read()"]),
        env=box.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True)
    assert driver.stdout.readline() == "there\n"
    assert probe.ask("drivers") == ["drivers", "fine", "1\n"]
    driver.stdin.close()
    driver.wait(30)
    wait_for_none()
    probe.close()


RUN = """
import ray, sys
ray.init('127.0.0.1:6379', log_to_driver=False)

class TrainController:
    def there(self):
        return True

class Coordinator(TrainController):
    pass

name = 'AutoscalingCoordinator'
kept = [ray.remote(num_cpus=0)(TrainController).remote(),
        ray.remote(num_cpus=0)(Coordinator).options(name=name, namespace=name,
                                                    lifetime='detached').remote()]
ray.get([one.there.remote() for one in kept])
print(ray.get_runtime_context().get_job_id(), flush=True)
sys.stdin.read()
"""


def test_who_requests_capacity(box, tmp_path):
    """The actors of Ray Train, with stand-ins for them. The coordinator outlives the run."""
    probe = Probe(box, "a-secret-for-this-test")
    assert probe.ask("requesters") == ["requesters", "fine", "none,0,\n"]
    (tmp_path / "train.py").write_text(RUN, encoding="ascii")
    driver = subprocess.Popen(box.inside([sys.executable, str(tmp_path / "train.py"), "--lr=1"]),
                              env=box.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    job = driver.stdout.readline().strip()
    assert probe.ask("requesters") == ["requesters", "fine", f"coordinator,1,{job}\n"]
    kind, trouble, entrypoint = probe.ask(f"entrypoint {job}")
    assert (kind, trouble) == ("entrypoint", "fine") and "train.py --lr=1" in entrypoint
    assert probe.ask("entrypoint 7f000000") == ["entrypoint", "fine", "[]\n"]
    driver.stdin.close()
    driver.wait(30)
    end = time.monotonic() + 60
    while probe.ask("requesters")[2] != "coordinator,0,\n":
        assert time.monotonic() < end
        time.sleep(0.1)
    probe.close()


@pytest.mark.parametrize("token", [(), ("wrong",)])
def test_a_wrong_token_is_said(box, token):
    probe = Probe(box, *token)
    kind, trouble, words = probe.ask("alive")
    assert trouble == "token"
    assert "Authentication token is missing or incorrect" in words
    probe.close()


def test_a_gcs_that_dies_and_one_that_is_new(box):
    """Last: the raylet does not survive it."""
    probe = Probe(box, "a-secret-for-this-test")
    assert probe.ask("alive")[1] == "fine"
    argv = box.kill_gcs()
    assert probe.ask("alive")[1] == "away"
    again = box.start_gcs(argv)
    said = ["away"]
    until = time.monotonic() + 20
    while said[-1] == "away" and time.monotonic() < until:
        time.sleep(0.02)
        said.append(probe.ask("alive")[1])
    # A GCS without storage comes back as another cluster. That is reported once, and then it is
    # known.
    assert said[-1] == "other-cluster"
    assert probe.ask("alive")[1] == "fine"
    probe.close()
    again.kill()
