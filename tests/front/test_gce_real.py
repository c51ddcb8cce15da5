"""Real Ray on the stand-in for Google: `up` next to `ray up` and a script, autoscaling, idle
termination, and a preempted spot instance.

In containers Google's own agent creates the users and host keys. Needs root, for containers also
Docker: suite `long`.
"""

import base64
import concurrent.futures
import json
import os
import time

import gce_side_by_side
import pytest
import ray_up_gce
from cloud import client as bed_client
from front import wait_for

pytestmark = pytest.mark.long
WORK = """
import ray, time
ray.init(address="auto", log_to_driver=False)
@ray.remote(num_cpus=1, max_retries=-1)
def work():
    time.sleep({seconds})
    return ray.get_runtime_context().get_node_id()
print(len(set(ray.get([work.remote() for _ in range({tasks})]))), "nodes")
"""


@pytest.fixture(params=["containers"])
def kind(request):
    why = bed_client.missing() if request.param == "containers" else None
    if why and os.environ.get("SHOAL_REQUIRE_BED") != "1":
        pytest.skip(why)
    return gce_side_by_side.KINDS[request.param]


def test_side_by_side():
    """Each tool in its own process; prints the figures."""
    rows = {tool: gce_side_by_side.apart(tool, 2, "containers") for tool in
            gce_side_by_side.TOOLS}
    print(json.dumps(rows, indent=1))
    shoal, ray, bare = rows["shoal"], rows["ray"], rows["bare"]
    assert shoal["left"] == {}
    assert shoal["total"] * 1.5 <= ray["total"]
    assert shoal["all"] <= 2 * bare["all"], (shoal["all"], bare["all"])
    assert shoal["all"] * 2 <= ray["all"], (shoal["all"], ray["all"])


def work(front, laptop, file, tasks, seconds):
    text = base64.b64encode(WORK.format(tasks=tasks, seconds=seconds).encode()).decode()
    command = f"echo {text} | base64 -d | {front.python} -"
    done = laptop.run("exec", file, command, program=front.shoal, seconds=600)
    assert done.status == 0, str(done)
    return done.out


def spot_workers(front):
    return [m for m in front.alive("real") if m.kind == "worker"]


def test_autoscaling_and_a_preemption(kind):
    times = {"load": os.getloadavg()[0]}
    with kind(ray=ray_up_gce.RAY, preempt=3, delete=3, insert=3) as front:
        laptop = front.laptop()
        content = ray_up_gce.cluster(front, 2)
        types = content["available_node_types"]
        types["head"] = {**types["head"], "resources": {"CPU": 0}}
        node = {**types["worker"]["node_config"], "scheduling": [{"preemptible": True}]}
        types["worker"] = {**types["worker"], "node_config": node, "min_workers": 0}
        file = laptop.file("cluster.yaml", {**content, "idle_timeout_minutes": 0.5})
        began = time.monotonic()

        def mark(name):
            times[name] = round(time.monotonic() - began, 1)

        done = laptop.run("up", "-y", file, program=front.shoal, seconds=600)
        assert done.status == 0, str(done)
        assert [m.kind for m in front.alive("real")] == ["head"]
        mark("up of the head")
        began = time.monotonic()
        assert "2 nodes" in work(front, laptop, file, 2, 25)
        mark("two tasks of 25 s on two new workers")
        first = {m.name for m in spot_workers(front)}
        assert len(first) == 2
        # One of them is preempted while both work. Its task runs until the machine ends, about 30 s
        # later; then it needs another node, because the other one is busy.
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            job = pool.submit(work, front, laptop, file, 2, 90)
            time.sleep(20)
            front.preempt(instance=min(first))
            try:
                wait_for(lambda: {m.name for m in spot_workers(front)} - first, 120, 0.2,
                         "a replacement")
            except AssertionError as late:
                said = laptop.run("events", file, program=front.shoal)
                raise AssertionError(f"{late}: {said}\n{job.result()}") from None
            mark("replacement launched, 20 s after the work began")
            assert "nodes" in job.result()
        mark("work done in spite of the preemption")
        began = time.monotonic()
        wait_for(lambda: not spot_workers(front), 240, 0.5, "the end of idle workers")
        mark("idle workers terminated")
        began = time.monotonic()
        done = laptop.run("down", "-y", file, program=front.shoal, seconds=600)
        assert done.status == 0, str(done)
        mark("down")
        assert front.remains() == {}
    print(json.dumps(times, indent=1))
