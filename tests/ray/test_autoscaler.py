"""Our autoscaler's calls against a real GCS: what it sees, and what Ray makes of what it says."""

import os
import pathlib
import re
import subprocess
import time

import pytest

from autoscaler_client import Client
from ray_box import PYTHON, RAY, RayBox
from ray_driver import Driver

SHOAL = str(pathlib.Path(os.environ["SHOAL_BUILD"]) / "src/cli/shoal")
TOKEN = "a-secret-for-this-test"

# The stream breaks right behind the words "not implemented", and libcurl may miss them.
NOT_THERE = ["too-old", "away"]

pytestmark = pytest.mark.skipif(os.geteuid() != 0 and not os.environ.get("SHOAL_REQUIRE_RAY"),
                                reason="namespaces need root")


@pytest.fixture(scope="module")
def box():
    box = RayBox(token=TOKEN).start_head()
    box.start_worker("i-w1", "worker-a", "--num-cpus", "2", "--labels", "zone=a",
                     env={"RAY_NODE_MARKET_TYPE": "spot"})
    yield box
    box.close()


@pytest.fixture(scope="module")
def client(box):
    client = Client(box, TOKEN)
    yield client
    client.close()


@pytest.fixture(scope="module")
def driver(box):
    driver = Driver(box)
    yield driver
    driver.close()


@pytest.fixture(scope="module")
def version(client):
    return client.fine("alive")["version"]


def test_nodes_as_ray_sees_them(client):
    head, worker = client.node("i-head"), client.node("i-w1")
    assert head["is_head"] and not worker["is_head"]
    assert head["type"] == "head" and worker["type"] == "worker-a"
    assert worker["address"] == "127.0.0.1" and len(worker["id"]) == 56
    assert worker["totals"]["CPU"] == 2 and worker["available"]["CPU"] == 2
    assert worker["labels"]["zone"] == "a"
    assert worker["labels"]["ray.io/market-type"] == "spot"
    assert worker["labels"]["ray.io/node-group"] == "worker-a"
    assert client.state()["session"].startswith("session_")


def test_a_mark_stays_while_nothing_happens(client):
    first = client.wait(lambda state: all(node["status"] == "idle" for node in state["nodes"])
                        and state)
    time.sleep(1.2)
    second = client.state()
    assert second["version"] > first["version"]
    # They come in any order.
    before, after = ({node["id"]: node for node in state["nodes"]} for state in (first, second))
    for name in before:
        assert after[name]["idle_ms"] > before[name]["idle_ms"]
        assert after[name]["mark"] == before[name]["mark"]
    assert first["load_mark"] == second["load_mark"] == 0


def find(state, amounts):
    return next((entry for entry in state["demands"] if entry["amounts"] == amounts), None)


def test_tasks_and_actors_that_wait(client, driver):
    driver.do("tasks = [work.options(num_cpus=3).remote() for _ in range(5)]")
    driver.do("chosen = work.options(num_cpus=1, label_selector={'zone': 'in(b,c)', "
              "'ray.io/market-type': '!spot'}).remote()")
    driver.do("actor = Holder.options(num_cpus=0, num_gpus=1, resources={'foo': 0.5}).remote()")
    plain = client.wait(lambda state: find(state, {"CPU": 3.0}))
    assert plain["count"] == 5 and plain["selectors"] in ([], [[]])
    labelled = client.wait(lambda state: find(state, {"CPU": 1.0}))
    rules = {key: (how, sorted(values)) for key, how, values in labelled["selectors"][0]}
    assert rules == {"zone": ("in", ["b", "c"]), "ray.io/market-type": ("not in", ["spot"])}
    assert client.wait(lambda state: find(state, {"GPU": 1.0, "foo": 0.5}))["count"] == 1
    marks = {client.state()["load_mark"] for _ in range(10)}
    assert len(marks) == 1
    driver.do("[ray.cancel(task) for task in [*tasks, chosen]]; ray.kill(actor)")
    client.wait(lambda state: not state["demands"])


def test_placement_groups_that_wait(client, driver):
    driver.do("group = placement_group([{'CPU': 1}] * 3, strategy='STRICT_SPREAD')")
    driver.do("packed = placement_group([{'CPU': 4}, {'CPU': 5}], strategy='STRICT_PACK')")
    driver.do("labelled = placement_group([{'CPU': 1}], "
              "bundle_label_selector=[{'zone': 'nowhere'}])")
    gangs = client.wait(lambda state: len(state["gangs"]) == 3 and state["gangs"])
    spread = next(gang for gang in gangs if "STRICT_SPREAD" in gang["details"])
    assert [request["amounts"] for request in spread["requests"]] == [{"CPU": 1.0}] * 3
    assert all(request["placements"][0][0] == "apart" for request in spread["requests"])
    tight = next(gang for gang in gangs if "STRICT_PACK" in gang["details"])
    assert all(request["placements"][0][0] == "together" for request in tight["requests"])
    chosen = next(gang for gang in gangs if gang not in (spread, tight))
    assert [["zone", "in", ["nowhere"]]] in chosen["requests"][0]["selectors"]
    driver.do("from ray.util.placement_group import remove_placement_group as drop")
    driver.do("[drop(each) for each in (group, packed, labelled)]")
    client.wait(lambda state: not state["gangs"])


def test_request_resources_both_ways(client, driver):
    driver.do("request_resources(bundles=[{'CPU': 2}] * 3 + [{'GPU': 1}])")
    requested = client.wait(lambda state: state["bundle"])
    assert sorted((tuple(entry["amounts"].items()), entry["count"]) for entry in requested) == [
        ((("CPU", 2.0),), 3), ((("GPU", 1.0),), 1)]
    client.fine("bundle", amounts={"CPU": 1.5}, count=2)
    (ours,) = client.wait(lambda state: state["bundle"])
    assert ours["amounts"] == {"CPU": 1.5} and ours["count"] == 2
    client.fine("bundle", amounts={}, count=0)
    assert client.state()["bundle"] == []


def status_of(box, *words):
    done = box.run([RAY, "status", "--address", "127.0.0.1:6379", *words])
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_report_is_what_ray_status_prints(box, client):
    client.fine("report", version=2000000, type="worker-a", count=3, at=1700000000,
                instance="i-0abc", details="Setting up, step 2 of 5", failed="gpu",
                reason="no capacity in us-east-1a \ud83d\ude00")
    said = status_of(box, "-v")
    assert " worker-a, 3 launching\n" in said, said
    assert " i-0abc: worker-a, setting up, step 2 of 5\n" in said, said
    assert re.search(r" gpu: LaunchFailed \(latest_attempt: [0-9:]+\) - no capacity in us-", said)
    # An older one changes nothing; an empty one that is newer is the end of it.
    client.fine("report", version=1000000, type="worker-b", count=1, at=1700000000)
    assert status_of(box).count("launching") == 1
    client.fine("report", version=3000000)
    said = status_of(box)
    assert "launching" not in said and "LaunchFailed" not in said, said


def test_the_types_of_the_cluster_are_where_ray_data_looks(box, client):
    client.fine("group", name="worker-a", amounts={"CPU": 2, "memory": 4e9}, min=1, max=-1)
    done = box.run([PYTHON, "-c", """
import ray
from ray._private.worker import global_worker
from ray.core.generated.autoscaler_pb2 import ClusterConfig
ray.init("127.0.0.1:6379", log_to_driver=False)
config = ClusterConfig.FromString(global_worker.gcs_client.internal_kv_get(
    b"__autoscaler_cluster_config", namespace=b"__autoscaler"))
(group,) = config.node_group_configs
print(group.name, group.min_count, group.max_count, sorted(group.resources.items()))
"""])
    assert done.stdout.endswith("worker-a 1 -1 [('CPU', 2), ('memory', 4000000000)]\n"), (
        done.stdout + done.stderr)


def test_prometheus_is_told_where_the_metrics_are(box, client):
    client.fine("metrics", address="127.0.0.1:44217")
    client.fine("metrics", address="127.0.0.1:44218")  # instead of the one before
    done = box.run([PYTHON, "-c", """
import ray
from ray._private.metrics_agent import PrometheusServiceDiscoveryWriter
ray.init("127.0.0.1:6379", log_to_driver=False)
from ray._private.worker import global_worker
writer = PrometheusServiceDiscoveryWriter("127.0.0.1:6379", "/tmp", "/tmp/x")
print(writer.get_file_discovery_content())
"""])
    assert '"127.0.0.1:44218"' in done.stdout, done.stdout + done.stderr
    assert '"127.0.0.1:44217"' not in done.stdout


def test_a_line_in_a_drivers_output(client, driver, version):
    client.fine("tell", version=version, address="127.0.0.1", warning=False,
                text='Adding 2 node(s) of type "worker-a".')
    client.fine("tell", version=version, address="127.0.0.1", warning=True,
                text="No type of this cluster has {'GPU': 8}.")
    driver.wait_for(lambda text: "No type of this cluster" in text)
    lines = re.findall(r"\(autoscaler \+[0-9hms]+\)(?:\x1b\[0m)? (.*)", driver.text())
    assert 'Adding 2 node(s) of type "worker-a".' in lines, driver.text()
    assert "No type of this cluster has {'GPU': 8}." in lines, driver.text()
    assert "Traceback" not in driver.text()


@pytest.mark.parametrize("release, text", [
    ("2.99.0", "one"), ("3.0.0.dev0", "of another kind"), ("", "without a name"), ("?", "odd")])
def test_a_release_that_is_not_known(client, driver, version, release, text):
    """Sent as an error message, which no GCS takes amiss; one that has it elsewhere says so."""
    answer = client.ask("tell", version=release, address="127.0.0.1", text=text)
    is_elsewhere = tuple(map(int, version.split(".")[:2])) < (2, 56)
    assert answer["trouble"] in (NOT_THERE if is_elsewhere else ["fine"]), answer
    assert client.ask("alive")["trouble"] == "fine"
    if not is_elsewhere:
        driver.wait_for(lambda said: f" {text}\n" in said)


def test_the_error_message_of_releases_before_it_moved(client, driver, version):
    answer = client.ask("tell", version="2.51.0", address="127.0.0.1", text="by the old door")
    if tuple(map(int, version.split(".")[:2])) < (2, 56):
        assert answer["trouble"] == "fine", answer
        driver.wait_for(lambda text: "by the old door" in text)
    else:
        assert answer["trouble"] in NOT_THERE, answer


def test_what_would_end_ray_is_not_sent(client):
    for node in ("", "ab", "ab" * 27, "ab" * 29):
        answer = client.ask("drain", node=node, idle=True, message="x")
        assert answer["trouble"] == "refused" and not answer["accepted"]
        assert "bytes" in answer["error"]
    answer = client.ask("drain", node="ab" * 28, idle=False, message="x", deadline_ms=-1)
    assert answer["trouble"] == "refused" and "1970" in answer["error"]
    assert client.ask("alive")["trouble"] == "fine"


def test_a_drain_is_refused_while_there_is_work_and_accepted_after(client, driver):
    driver.do("busy = work.options(num_cpus=2, label_selector={'zone': 'a'}).remote(3)")
    worker = client.node("i-w1", "running")
    answer = client.fine("drain", node=worker["id"], idle=True, message="idle for 60 s")
    assert not answer["accepted"]
    assert "no longer idle" in answer["why_not"], answer
    driver.do("print('result', ray.get(busy))")
    assert "result 7" in driver.text()
    client.node("i-w1", "idle")
    answer = client.fine("drain", node=worker["id"], idle=True, message="idle for 60 s")
    assert answer["accepted"] and answer["why_not"] == ""
    dead = client.node("i-w1", "dead")
    assert dead["type"] == "worker-a" and dead["totals"] == {} and not dead["is_head"]


def make_certificates(folder):
    """An authority and one certificate for all, as Ray's documentation has it."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.crt",
            "-subj", "/CN=authority", "-days", "2")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "tls.key", "-out", "tls.csr",
            "-subj", "/CN=ray")
    openssl("x509", "-req", "-in", "tls.csr", "-CA", "ca.crt", "-CAkey", "ca.key",
            "-CAcreateserial", "-out", "tls.crt", "-days", "2", "-extfile", "names")
    return {"RAY_USE_TLS": "1", "RAY_TLS_SERVER_CERT": str(folder / "tls.crt"),
            "RAY_TLS_SERVER_KEY": str(folder / "tls.key"),
            "RAY_TLS_CA_CERT": str(folder / "ca.crt")}


def test_tls_as_ray_configures_it(tmp_path):
    variables = make_certificates(tmp_path)
    box = RayBox(token=TOKEN, env=variables).start_head()
    try:
        client = Client(box, TOKEN)
        head = client.node("i-head")
        assert head["is_head"]
        client.fine("report", version=1, type="worker-a", count=1, at=1700000000)
        assert client.ask("alive")["trouble"] == "fine"
        client.close()
        assert "worker-a, 1 launching" in status_of(box)
        (tmp_path / "token").write_text(TOKEN)
        (tmp_path / "token").chmod(0o600)
        gate = box.run([SHOAL, "node", "gate", "--gcs", "127.0.0.1:6379", "--deadline", "20",
                        "--token-file", str(tmp_path / "token")])
        assert gate.returncode == 0, gate.stderr
        plain = Client(box, TOKEN, env=dict(box.env, RAY_USE_TLS="0"))
        assert plain.ask("state")["trouble"] == "away"
        plain.close()
        # Set for the start command alone: what Ray was started with counts, its token too.
        bare = {name: value for name, value in box.env.items()
                if name not in variables and not name.startswith("RAY_AUTH")}
        seen = Client(box, "", env=bare)
        assert seen.node("i-head")["is_head"]
        seen.close()
        gate = box.run([SHOAL, "node", "gate", "--gcs", "127.0.0.1:6379", "--deadline", "20"],
                       env=bare)
        assert gate.returncode == 0, gate.stderr
        wrong = Client(box, "wrong")
        assert wrong.ask("state")["trouble"] == "token"
        wrong.close()
    finally:
        box.close()
