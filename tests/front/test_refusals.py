"""Launches that the cloud refuses for a reason that passes, or refuses as a whole."""

import concurrent.futures
import json
import time

from front import wait_for

DENIED = "UnauthorizedOperation"


def workers(front, kind="worker"):
    return [m for m in front.alive() if m.kind == "worker" and
            m.tag("ray-user-node-type") == kind]


def want(front, demand):
    front.head("demo").run("sh", "-c", f"echo '{json.dumps(demand)}' > /tmp/ray/demand.json")


def launches(front, since=0.0):
    """RunInstances of the head: the codes with which they were refused, or None."""
    return [row.get("refused") for row in front.calls(since, "RunInstances")
            if row["who"] != "laptop"]


def test_a_new_node_type_waits_for_its_policy_only(front):
    """IAM enforces the old policy of the head's role for a while after `up` has replaced it."""
    laptop = front.laptop()
    content = front.cluster("demo", workers=0, max_workers=2)
    file = laptop.file("cluster.yaml", content)
    laptop("up", "-y", file)
    front.set(iam_lag=3600)  # until the first denial
    big = {"node_config": {**content["available_node_types"]["worker"]["node_config"],
                           "InstanceType": "c5.xlarge"},
           "resources": {"CPU": 4}, "min_workers": 1, "max_workers": 1}
    content["available_node_types"]["big"] = big
    laptop.file("cluster.yaml", content)
    began = time.time()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        up = pool.submit(laptop.run, "up", "-y", file, seconds=300)
        try:
            wait_for(lambda: DENIED in launches(front, began), 120, what="a denial")
        finally:
            front.set(iam_lag=0)
        done = up.result()
    assert done.status == 0, f"{done}\n{launches(front, began)}"
    assert len(workers(front, "big")) == 1
    answers = launches(front, began)
    # The old policy is in force: the head may act, but not launch the new type.
    assert DENIED in answers and answers[-1] is None, answers
    assert len(answers) < 20, answers


def test_a_quota_that_refuses_the_whole_launch_is_used_up(front):
    front.set(quota_whole=1, vcpu_quota=2 + 2 * 5)  # the head and five workers
    laptop = front.laptop()
    file = laptop.file("cluster.yaml", front.cluster("demo", workers=0, max_workers=9))
    content = json.loads(file.read_text())
    content["available_node_types"]["worker"]["max_workers"] = 9
    file = laptop.file("cluster.yaml", content)
    laptop("up", "-y", file)
    want(front, [{"CPU": 1}] * 10)  # one of them fits on the head
    wait_for(lambda: len(workers(front)) == 5, 60, what="all workers that the quota allows")
    answers = launches(front)
    assert "VcpuLimitExceeded" in answers and answers.count("VcpuLimitExceeded") < 10, answers
    assert "vCPU limit" in laptop("events", file).out
