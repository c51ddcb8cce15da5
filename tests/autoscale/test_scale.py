"""Every kind of demand that Ray has, on one cluster: nodes are launched for it.

The order of the tests matters: each starts without workers; the last one leaves a request pending.
"""

import json
import time

import driver
import files
import pytest
from fleet import host_of

MOST = 4
IDLE_SECONDS = 1.8


def types():
    return {
        "worker": files.node_type(min_workers=0, max_workers=3),
        "gpu": files.node_type(min_workers=0, max_workers=1,
                               resources={"CPU": 0, "GPU": 1, "gpu_memory": 40}),
        **{site: files.node_type(min_workers=0, max_workers=1, resources={"CPU": 0, "desk": 1},
                                 labels={"site": site}) for site in ("east", "west")}}


@pytest.fixture(scope="module")
def scaled(make_fleet):
    return make_fleet(files.impatient(files.scaling("scale", MOST, IDLE_SECONDS / 60, types())))


def kinds_of(scaled):
    return sorted(driver.tag_of(i, "ray-user-node-type") for i in scaled.workers())


def explained(scaled, *words):
    said = scaled.made("explain", *words).out
    print(said)
    return said


@pytest.fixture(autouse=True)
def released(scaled):
    """Cancel everything that a test has requested."""
    yield
    scaled.agent.ask("release")
    scaled.wait_empty(60)


def test_a_burst(scaled):
    """One launch call for all workers; the tasks run; each worker is drained, then terminated."""
    began = scaled.agent.tasks("burst", 5, 2)
    driver.wait_for(lambda: len(scaled.workers()) == 3, 60, 0.1, "three workers")
    rows = scaled.agent.done("burst", 60)
    assert len({host for host, _, _ in rows}) > 1, "one node did it all"
    workers = {i["InstanceId"] for i in scaled.workers()}
    last = max(ended for _, _, ended in rows)
    end = scaled.wait_empty(60)
    print(f"launch {scaled.launches(began)[0] - began:.2f} s after the submit, done after "
          f"{last - began:.1f} s, the last machine's end {end - last:.1f} s later")
    assert len(scaled.launches(began)) == 1
    drained = {n["instance"]: n for n in scaled.agent.state()["nodes"]}
    assert all(drained[ident]["state"] == "dead" for ident in workers), drained
    assert all(drained[ident]["death"] == "AUTOSCALER_DRAIN_IDLE" for ident in workers), drained
    scaled.check_settled()


def test_a_placement_group_over_three_nodes(scaled):
    scaled.agent.ask("group", name="spread", bundles=[{"CPU": 1}] * 3, strategy="STRICT_SPREAD")
    row = scaled.agent.event("spread", "group", 60)
    assert row["ready"] and len(set(row["nodes"])) == 3, row
    assert kinds_of(scaled) == ["worker"] * 3
    time.sleep(IDLE_SECONDS + 1.2)  # a node with reserved resources is not idle
    assert len(scaled.workers()) == 3
    scaled.agent.ask("ungroup", name="spread")
    scaled.wait_empty(60)


def test_labels_and_accelerators(scaled):
    """Each task goes to the only node type that can run it."""
    scaled.agent.tasks("west", 1, 1, num_cpus=0, resources={"desk": 1},
                       label_selector={"site": "west"})
    scaled.agent.tasks("gpu", 1, 1, num_cpus=0, num_gpus=1, resources={"gpu_memory": 30})
    driver.wait_for(lambda: kinds_of(scaled) == ["gpu", "west"], 60, 0.2, "the two types")
    hosts = {driver.tag_of(i, "ray-user-node-type"): host_of(i) for i in scaled.workers()}
    assert scaled.agent.done("west", 60)[0][0] == hosts["west"]
    assert scaled.agent.done("gpu", 60)[0][0] == hosts["gpu"]
    scaled.wait_empty(60)


def test_resources_are_requested(scaled):
    """Nodes are launched without any task, stay although idle, and are removed when the request is
    cancelled.
    """
    scaled.agent.ask("request", bundles=[{"CPU": 1}] * 2)
    worker = scaled.wait_workers(2, 40)[0]["InstanceId"]
    time.sleep(IDLE_SECONDS + 1.2)
    assert len(scaled.workers()) == 2
    assert "request_resources" in explained(scaled, worker)
    scaled.agent.ask("request", bundles=[])
    scaled.wait_empty(60)


def test_what_can_never_be_met(scaled):
    """Every report names the request and the reason; nothing is launched for it."""
    began = time.time()
    scaled.agent.tasks("never", 2, 1, resources={"unobtainium": 1})
    line = scaled.agent.line("unobtainium", 20, began)
    print(line)
    assert line.startswith("(autoscaler +"), line
    ray_says = driver.in_machine(scaled.head, "bash", "-lic", "ray status")
    assert "unobtainium" in ray_says  # among the pending requests, as with Ray's monitor
    time.sleep(2)
    lines = [li for li in scaled.agent.autoscaler_lines(began) if "unobtainium" in li]
    assert len(lines) == 1, "said again and again"
    assert not scaled.launches(began)
    status = driver.wait_for(lambda: "unobtainium" in (
        said := scaled.made("status").out) and said, 30, 0.5, "shoal status that names it")
    told = json.loads(scaled.made("status", "-o", "json").out)
    assert "unobtainium" in json.dumps(told)
    print(status)
    assert "unobtainium" in explained(scaled)
