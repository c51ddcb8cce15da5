"""A real Ray's cluster in the core's terms: what is reported, and what users would see."""

import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from ray_box import RayBox
from ray_driver import Driver

PROBE = str(pathlib.Path(os.environ["SHOAL_BUILD"]) / "tests/ray_view_probe")

pytestmark = pytest.mark.skipif(os.geteuid() != 0 and not os.environ.get("SHOAL_REQUIRE_RAY"),
                                reason="namespaces need root")


class Mirror:
    """Poll repeatedly; return what was reported and what is shown now."""

    def __init__(self, box):
        self.process = subprocess.Popen(box.inside([PROBE, "http://127.0.0.1:6379"]),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.told = {}
        self.lines = []

    def look(self):
        self.process.stdin.write("look\n")
        self.process.stdin.flush()
        lines = []
        while not lines or lines[-1] != "end":
            lines.append(self.process.stdout.readline().rstrip("\n"))
        for line in lines:
            if line.startswith("told "):
                self.told[line.split()[1]] = line.split(None, 2)[2]
        self.lines = lines
        return "\n".join(lines)

    def wait(self, pattern, seconds=20):
        until = time.monotonic() + seconds
        while not re.search(pattern, self.look(), re.M):
            assert time.monotonic() < until, f"no {pattern!r} in {self.lines}"
            time.sleep(0.2)

    def wait_until_gone(self, start, seconds=30):
        until = time.monotonic() + seconds
        while any(line.startswith(start) for line in self.look().split("\n")):
            assert time.monotonic() < until, self.lines
            time.sleep(0.2)

    def names(self):
        return int(next(line for line in self.lines if line.startswith("names")).split()[1])

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0


@pytest.fixture(scope="module")
def box():
    box = RayBox().start_head()
    box.start_worker("i-w2", "worker-a", "--num-cpus", "2", "--labels", "zone=a")
    yield box
    box.close()


@pytest.fixture(scope="module")
def mirror(box):
    mirror = Mirror(box)
    yield mirror
    mirror.close()


@pytest.fixture(scope="module")
def driver(box):
    driver = Driver(box)
    yield driver
    driver.close()


def test_nodes(mirror):
    mirror.wait(r"^node 2 idle CPU=0/2 ")
    assert mirror.told["2"].startswith("alive idle") and mirror.told["1"].startswith("alive")
    assert "zone" not in mirror.told["2"]  # no program has requested it
    told = dict(mirror.told)
    for _ in range(3):
        mirror.told.clear()
        mirror.look()
        assert not mirror.told, told  # an idle cluster is not a change


def test_what_waits(mirror, driver):
    driver.do('refs = [work.options(num_cpus=2, label_selector={"zone": "in(b,c)"}).remote()'
              ' for _ in range(3)]')
    mirror.wait(r"^waits tasks 3 \{CPU: 2\} with zone in \((b, c|c, b)\)$")
    assert "zone=_other" in mirror.told["2"]
    driver.do('request_resources(bundles=[{"CPU": 1}] * 4)')
    mirror.wait(r"^waits constraint 4 \{CPU: 1\}$")
    driver.do('[ray.cancel(ref) for ref in refs]; request_resources(bundles=[])')
    mirror.wait_until_gone("waits")


def test_placement_groups_leave_no_names(mirror, driver):
    """Groups that are placed put resources and labels on nodes; those that wait name labels."""
    for _ in range(2):  # what the first of each kind brings is known then
        use_groups(mirror, driver)
    known = mirror.names()
    for _ in range(3):
        use_groups(mirror, driver)
    assert mirror.names() == known


def use_groups(mirror, driver):
    driver.do('placed = placement_group([{"CPU": 1}], strategy="PACK"); ray.get(placed.ready())')
    driver.do('waiting = placement_group([{"CPU": 1}] * 3, strategy="STRICT_SPREAD")')
    mirror.wait(r"^waits group 1 \{CPU: 1\} \* 3 \(STRICT_SPREAD\)$")
    assert "group_" not in " ".join(line for line in mirror.lines if line.startswith("node"))
    driver.do('ray.util.remove_placement_group(waiting); ray.util.remove_placement_group(placed)')
    mirror.wait_until_gone("waits group")


def kill_raylet(box, instance):
    ours = os.readlink(f"/proc/{box.pid}/ns/net")
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if (entry.name.isdigit() and (entry / "comm").read_text().strip() == "raylet"
                    and os.readlink(entry / "ns/net") == ours
                    and instance in (entry / "environ").read_bytes()):
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue


def test_death(box, mirror):
    kill_raylet(box, b"RAY_CLOUD_INSTANCE_ID=i-w2")
    until = time.monotonic() + 40
    while not mirror.told["2"].startswith("dead"):
        assert time.monotonic() < until, mirror.told
        mirror.look()
        time.sleep(0.3)
