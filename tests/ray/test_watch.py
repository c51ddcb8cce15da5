"""The watcher of a spot machine against a real Ray: a notice becomes a drain, once and soon."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from ray_box import RAY, RayBox

SHOAL = str(pathlib.Path(os.environ["SHOAL_BUILD"]) / "src/cli/shoal")
SERVER = str(pathlib.Path(__file__).parent / "metadata_server.py")
TOKEN = "a-secret-for-this-test"

pytestmark = pytest.mark.skipif(os.geteuid() != 0 and not os.environ.get("SHOAL_REQUIRE_RAY"),
                                reason="namespaces need root")

# What Ray itself says of its draining nodes: {id: deadline in ms}.
DRAINING = """
import json, sys
from ray._raylet import GcsClient
client = GcsClient(address="127.0.0.1:6379")
nodes = {info.node_id.hex(): info.instance_id for info in client.get_all_node_info().values()}
draining = client.get_draining_nodes()
print(json.dumps({nodes.get(id.hex() if hasattr(id, "hex") else id, "?"): ms
                  for id, ms in draining.items()}))
"""


@pytest.fixture(scope="module")
def box():
    box = RayBox(token=TOKEN).start_head()
    yield box
    box.close()


def join(box, instance):
    env = dict(box.env, RAY_CLOUD_INSTANCE_ID=instance, RAY_NODE_TYPE_NAME="worker")
    done = subprocess.run(
        box.inside([RAY, "start", "--address", "127.0.0.1:6379", "--node-ip-address", "127.0.0.1",
                    "--num-cpus", "1", "--object-store-memory", "80000000",
                    "--disable-usage-stats"]),
        env=env, text=True, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def draining(box):
    done = box.run([sys.executable, "-c", DRAINING])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def home(tmp_path):
    (tmp_path / ".shoal").mkdir(mode=0o700)
    (tmp_path / "meta").mkdir()
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    return tmp_path


@pytest.fixture
def metadata(box, home):
    server = subprocess.Popen(box.inside([sys.executable, SERVER, str(home / "meta"), "0"]))
    wait_for(lambda: (home / "meta/port").exists() and (home / "meta/port").read_text())
    yield f"http://127.0.0.1:{(home / 'meta/port').read_text()}"
    server.kill()
    server.wait()


@pytest.fixture
def watch(box, home, metadata):
    """Starts a watcher for a machine; what it logs is in its `said`."""
    started = []

    def start(instance, *words, gcs="127.0.0.1:6379", provider="aws"):
        log = home / f"said-{len(started)}"
        env = dict(os.environ, HOME=str(home), AWS_EC2_METADATA_SERVICE_ENDPOINT=metadata,
                   GCE_METADATA_HOST=metadata[7:])
        one = subprocess.Popen(
            box.inside([SHOAL, "node", "watch", "--foreground", "--provider", provider,
                        "--instance-id", instance, "--gcs", gcs, "--token-file",
                        str(home / "token"), *words]), env=env, stderr=log.open("w"))
        one.said = log.read_text
        started.append(one)
        wait_for(lambda: (home / "meta/asked").exists())
        return one

    yield start
    for one in started:
        one.send_signal(signal.SIGTERM)
        one.wait(5)


def wait_for(check, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to be")


def give_notice(home, seconds=120):
    until = int(time.time()) + seconds
    text = json.dumps({"action": "terminate",
                       "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until))})
    (home / "meta/new").write_text(text)
    (home / "meta/new").rename(home / "meta/notice")
    return until * 1000


# As many tasks as the head and a worker can run; each creates a file when it runs.
BUSY = """
import pathlib, tempfile, time, ray
ray.init(address="127.0.0.1:6379", log_to_driver=False)
folder = pathlib.Path(tempfile.mkdtemp(dir="/tmp/ray"))

@ray.remote(num_cpus=0.5)
def work(number):
    (folder / str(number)).touch()
    time.sleep(300)

tasks = [work.remote(number) for number in range(4)]
while len(list(folder.iterdir())) < 4:
    time.sleep(0.05)
print("busy", flush=True)
time.sleep(300)
"""


def keep_busy(box, label):
    """A task that runs on the worker, so that its raylet stays while it drains."""
    driver = subprocess.Popen(box.inside([sys.executable, "-c", BUSY]), env=box.env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert driver.stdout.readline() == "busy\n", label
    return driver


def test_a_notice_drains_the_node_once_within_seconds(box, home, watch):
    join(box, "i-spot-1")
    driver = keep_busy(box, "i-spot-1")
    one = watch("i-spot-1")
    asked = len((home / "meta/asked").read_text().splitlines())
    time.sleep(3.1)
    count = len((home / "meta/asked").read_text().splitlines()) - asked
    assert 2 <= count <= 4, "it asks once a second"
    assert draining(box) == {}
    until, began = give_notice(home), time.monotonic()
    wait_for(lambda: "Ray drains this node" in one.said())
    took = time.monotonic() - began
    print(f"from notice to accepted drain: {took * 1000:.0f} ms")
    assert took < 2.5
    assert draining(box) == {"i-spot-1": until}
    time.sleep(2)
    assert one.said().count("Ray drains this node") == 1
    driver.kill()
    driver.wait()


def test_the_gcs_may_be_away_when_the_notice_comes(box, home, watch):
    """A node that answers later is reported later; until then it is tried again."""
    join(box, "i-spot-2")
    driver = keep_busy(box, "i-spot-2")
    one = watch("i-spot-2", gcs="127.0.0.1:7000")
    until = give_notice(home)
    wait_for(lambda: "not notified yet" in one.said())
    relay = subprocess.Popen(box.inside([sys.executable, "-c", RELAY]))
    wait_for(lambda: "Ray drains this node" in one.said())
    assert draining(box).get("i-spot-2") == until
    relay.kill()
    relay.wait()
    driver.kill()
    driver.wait()


RELAY = """
import socket, threading
def pump(a, b):
    while data := a.recv(65536):
        b.sendall(data)
server = socket.create_server(("127.0.0.1", 7000))
while True:
    near, _ = server.accept()
    far = socket.create_connection(("127.0.0.1", 6379))
    threading.Thread(target=pump, args=(near, far), daemon=True).start()
    threading.Thread(target=pump, args=(far, near), daemon=True).start()
"""


def test_a_machine_that_ray_does_not_know_is_looked_for(box, home, watch):
    one = watch("i-spot-3")
    give_notice(home)
    wait_for(lambda: "Ray does not know this machine" in one.said())
    join(box, "i-spot-3")
    wait_for(lambda: "Ray drains this node" in one.said())


def test_the_head_is_never_drained(box, home, watch):
    one = watch("i-head")
    give_notice(home)
    wait_for(lambda: "this is the head, which" in one.said())
    time.sleep(1.5)
    assert "Ray drains this node" not in one.said()
    assert "i-head" not in draining(box)


def test_another_token_is_read_when_the_first_is_refused(box, home, watch):
    join(box, "i-spot-4")
    (home / "token").write_text("wrong")
    one = watch("i-spot-4")
    give_notice(home)
    wait_for(lambda: "not notified yet" in one.said())
    (home / "token").write_text(TOKEN)
    wait_for(lambda: "Ray drains this node" in one.said())


def test_gce_says_it_too(box, home, watch):
    join(box, "i-spot-5")
    (home / "meta/preempted").write_text("FALSE")
    one = watch("i-spot-5", provider="gcp")
    time.sleep(1.5)
    assert "notice" not in one.said()
    (home / "meta/preempted").write_text("TRUE")
    wait_for(lambda: "Ray drains this node" in one.said())
