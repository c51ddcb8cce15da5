"""metadata.shoal.gcs_store: a head whose Ray dies and starts again, by the start commands that
Shoal makes of a cluster file. Head and worker have processes, /tmp/ray and a network of their
own."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap
import time

import pytest

from ray_box import RayBox

BUILD = pathlib.Path(os.environ["SHOAL_BUILD"])
HEAD_IP, WORKER_IP = "10.1.2.3", "10.1.2.4"  # the head's is that of setup_probe
BIN = pathlib.Path(sys.executable).parent

FILE = f"""\
cluster_name: kept
provider: {{type: aws, region: us-west-2}}
available_node_types:
  head: {{node_config: {{InstanceType: m5.large}}, resources: {{CPU: 0}}}}
  worker: {{node_config: {{InstanceType: m5.large}}, resources: {{CPU: 2}}, min_workers: 1}}
head_node_type: head
head_start_ray_commands:
- ray stop
- ulimit -n 65536; ray start --head --port=6379 --node-ip-address={HEAD_IP}
  --object-store-memory=80000000 --include-dashboard=false
  --autoscaling-config=~/ray_bootstrap_config.yaml
worker_start_ray_commands:
- ray stop
- ulimit -n 65536; ray start --address=$RAY_HEAD_IP:6379 --node-ip-address={WORKER_IP}
  --object-store-memory=80000000
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0 and not os.environ.get("SHOAL_REQUIRE_RAY"),
                                reason="namespaces need root")


class Machine:
    """A home that outlives the processes of its boots."""

    def __init__(self, folder, name):
        self.home = folder / name
        (self.home / ".shoal/bin").mkdir(parents=True)
        (self.home / ".shoal").chmod(0o700)
        (self.home / ".shoal/bin/shoal").symlink_to(BUILD / "src/cli/shoal")
        self.steps = []
        self.boot()

    def boot(self):
        self.box = RayBox()
        self.box.env = {"HOME": str(self.home), "PATH": f"{BIN}:{os.environ['PATH']}"}

    def run(self, *argv):
        done = self.box.run(list(argv))
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start_ray(self):
        """The start steps as the step runner does them: the last one is tried twice, because Ray's
        own deadline of 15 s for its agents is short on a machine that does other things too."""
        for step in self.steps:
            env = dict(self.box.env, **dict(step["variables"]))
            for is_last in (False, True):
                done = self.box.run(["bash", "-c", step["command"]], env=env)
                if done.returncode == 0 or is_last:
                    break
            assert done.returncode == 0, done.stdout + done.stderr

    def driver(self, text):
        text = ("import os, ray\nray.init(address='auto', namespace='n', logging_level='ERROR')\n" +
                textwrap.dedent(text))
        return self.run("python", "-c", text)


def connect(head, worker):
    subprocess.run(["ip", "link", "add", "eth0", "netns", head.box.pid, "type", "veth", "peer",
                    "name", "eth0", "netns", worker.box.pid], check=True)
    for machine, address in ((head, HEAD_IP), (worker, WORKER_IP)):
        machine.run("ip", "addr", "add", f"{address}/24", "dev", "eth0")
        machine.run("ip", "link", "set", "eth0", "up")


def hand_over(head):
    folder = head.home / ".shoal/cluster"
    folder.mkdir(mode=0o700)
    (folder / "handover.json").write_text(json.dumps({
        "format": 1, "uid": "0123456789abcdef0123456789abcdef", "epoch": 1,
        "sole_writer_epoch": 1, "serial": 1,
        "config": "{}", "secret": "5c" * 32, "key": "not a key\n", "head_id": "i-0123",
        "head_private_ip": HEAD_IP, "environment": {}, "machines": [], "intents": []}))
    (folder / "handover.json").chmod(0o600)


@pytest.fixture
def machines(tmp_path):
    pair = [Machine(tmp_path, name) for name in ("head", "worker")]
    hand_over(pair[0])
    connect(*pair)
    yield pair
    for machine in pair:
        machine.box.close()


def plan(machines, tmp_path, more=""):
    (tmp_path / "cluster.yaml").write_text(FILE + more)
    for machine, node_type in zip(machines, ("head", "worker")):
        said = subprocess.run([BUILD / "tests/setup_probe", tmp_path / "cluster.yaml", node_type],
                              check=True, text=True, stdout=subprocess.PIPE).stdout
        machine.steps = [step for step in json.loads(said) if step["kind"] == "start"]
        assert len(machine.steps) == 2


def reboot(head, worker):
    """Everything of the head is killed at once; /tmp is empty afterwards."""
    head.box.close()
    time.sleep(2)
    head.boot()
    connect(head, worker)
    head.start_ray()


COUNTER = """
    @ray.remote(num_cpus=1, lifetime="detached", name="counter")
    class Counter:
        def __init__(self):
            self.count = 0

        def add(self):
            self.count += 1
            return self.count, os.getpid()

    counter = Counter.remote()
    for _ in range(5):
        said = ray.get(counter.add.remote(), timeout=60)
    print(*said, ray.get_runtime_context().get_job_id())
"""

# The last part is what Shoal's service looks at.
TABLES = """
    from ray._private.state import state
    from ray._raylet import GcsClient
    from ray.autoscaler.v2.sdk import get_cluster_resource_state
    from ray.core.generated.autoscaler_pb2 import NodeStatus
    for job in state.job_table():
        print("job", job["JobID"], "dead" if job["IsDead"] else "alive")
    for node in ray.nodes():
        print("node", node["NodeName"], node["NodeID"], "alive" if node["Alive"] else "dead")
    gcs = GcsClient(address=ray.get_runtime_context().gcs_address)
    for node in get_cluster_resource_state(gcs).node_states:
        print("state", node.node_ip_address, node.node_id.hex(), NodeStatus.Name(node.status))
"""


def raylets(tables):
    """{address: [Ray's id of a node that the service takes for alive]}"""
    rows = [line.split() for line in tables if line.startswith("state ")]
    return {row[1]: [other[2] for other in rows if other[1] == row[1] and other[3] != "DEAD"]
            for row in rows}


def test_a_detached_actor_and_the_job_table_survive(machines, tmp_path):
    head, worker = machines
    plan(machines, tmp_path, "metadata: {shoal: {gcs_store: disk}}\n")
    head.start_ray()
    worker.start_ray()
    count, pid, job = head.driver(COUNTER).split()
    assert count == "5"
    # A driver that runs while the head dies.
    lost = subprocess.Popen(
        head.box.inside(["python", "-c", "import ray, time\n"
                         "ray.init(address='auto', logging_level='ERROR')\n"
                         "print(ray.get_runtime_context().get_job_id(), flush=True)\n"
                         "time.sleep(600)"]),
        env=head.box.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    lost_job = lost.stdout.readline().strip()
    before = head.driver(TABLES).split("\n")
    assert f"job {job} dead" in before and f"job {lost_job} alive" in before
    node = next(line for line in before if line.startswith(f"node {WORKER_IP} "))
    reboot(head, worker)
    assert lost.wait(10) != 0
    again = """
        counter = ray.get_actor("counter")
        print(*ray.get(counter.add.remote(), timeout=60))
    """
    assert head.driver(again).split() == ["6", pid]
    after = head.driver(TABLES).split("\n")
    assert f"job {job} dead" in after
    assert f"job {lost_job} dead" in after, "the driver on the head is lost, and its job ends"
    assert node in after, "the worker's raylet is the same one"
    assert raylets(after)[WORKER_IP] == raylets(before)[WORKER_IP]
    assert len(raylets(after)[HEAD_IP]) == 1 and raylets(after)[HEAD_IP] != raylets(before)[HEAD_IP]
    assert "1" == head.driver("""
        @ray.remote(num_cpus=1)
        def one():
            return 1

        print(ray.get(one.remote(), timeout=60))
    """).strip(), "the worker takes new work"
    store = head.home / ".shoal/gcs/0123456789abcdef0123456789abcdef-i-0123"
    assert (store / "session_name").exists() and not list(worker.home.glob(".shoal/gcs"))


def test_without_the_key_a_restarted_head_knows_nothing(machines, tmp_path):
    head, worker = machines
    plan(machines, tmp_path)
    head.start_ray()
    worker.start_ray()
    job = head.driver(COUNTER).split()[2]
    assert job == "01000000"
    reboot(head, worker)
    after = head.driver(TABLES)
    assert f"node {WORKER_IP} " not in after
    assert after.count("job ") == 1, after  # of the driver that asks
    assert "no actor" in head.driver("""
        try:
            print(ray.get_actor("counter"))
        except ValueError:
            print("no actor")
    """)
    assert not list(head.home.glob(".shoal/gcs"))
