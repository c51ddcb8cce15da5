"""Launches at Google that a quota refuses as a whole."""

import json

from front import wait_for
from test_gce_clusters import _front, _laptop  # noqa: F401


def workers(front):
    return [m for m in front.alive("demo") if m.kind == "worker"]


def test_a_quota_that_refuses_a_whole_bulk_insert_is_used_up(front, laptop):
    content = json.loads(json.dumps(front.cluster("demo", workers=0, max_workers=9)))
    content["available_node_types"]["worker"]["max_workers"] = 9
    file = laptop.file("cluster.yaml", content)
    laptop("up", "-y", file)
    front.set(quota_whole=1)
    front.quota(metric="INSTANCES", limit=1 + 5)
    demand = json.dumps([{"CPU": 1}] * 10)
    front.head("demo").run("sh", "-c", f"echo '{demand}' > /tmp/ray/demand.json")
    wait_for(lambda: len(workers(front)) == 5, 60, what="all workers that the quota allows")
    assert "quota" in laptop("events", file).out.lower()
