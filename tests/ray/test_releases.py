"""The same calls to older releases of Ray, each installed next to the others."""

import os
import pathlib
import subprocess
import sys

import pytest

from autoscaler_client import Client
from ray_box import RayBox
from ray_driver import Driver

RELEASES = os.environ.get("SHOAL_RAY_RELEASES", "2.52.1 2.55.1 2.57.0").split()
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
HERE = pathlib.Path(__file__).parent

pytestmark = pytest.mark.skipif(os.geteuid() != 0 and not os.environ.get("SHOAL_REQUIRE_RAY"),
                                reason="namespaces need root")


def python_of(release):
    """Kept between runs, as the newest one is."""
    folder = CACHE / "shoal-ci" / f"ray-{release}"
    mark = folder / "complete"
    if not mark.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "-q", f"ray[default]=={release}"],
                       check=True)
        mark.touch()
    return str(folder / "bin/python")


@pytest.mark.parametrize("release", RELEASES)
def test_an_older_release(release):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
         HERE / "test_autoscaler.py"],
        env=dict(os.environ, SHOAL_RAY_PYTHON=python_of(release)), text=True, capture_output=True,
        timeout=300)
    print(done.stdout[-3000:])
    assert done.returncode == 0


def test_a_line_where_ray_was_started_with_its_first_autoscaler():
    """Drivers read lines in another form there; ours has both."""
    box = RayBox(env={"RAY_enable_autoscaler_v2": "0"}).start_head()
    try:
        client, driver = Client(box), Driver(box)
        driver.do("pass")
        client.fine("tell", version=client.fine("alive")["version"], address="127.0.0.1",
                    text="Adding 2 node(s) of type worker-a.")
        driver.wait_for(lambda text: "Adding 2 node(s) of type worker-a.\n" in text)
        assert "event_summary" not in driver.text() and "Traceback" not in driver.text()
        driver.close()
        client.close()
    finally:
        box.close()
