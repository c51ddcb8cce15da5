"""One decision of Ray's planners, v1 and v2, on a case of the planning benchmark."""

import collections
import time
import types

from ray.autoscaler._private.node_provider_availability_tracker import NodeAvailabilitySummary
from ray.autoscaler._private.resource_demand_scheduler import ResourceDemandScheduler as V1
from ray.autoscaler.tags import (NODE_KIND_WORKER, TAG_RAY_NODE_KIND, TAG_RAY_NODE_STATUS,
                                 TAG_RAY_USER_NODE_TYPE)
from ray.autoscaler.v2 import scheduler

import plan_cases
import plan_oracle

SPEED = 1_000_000_000  # upscaling_speed: no limit, as inside v2


def v2(case):
    """Seconds and the launch map; building the request is not counted."""
    request = plan_oracle.Oracle(case).scheduling_request()
    planner = scheduler.ResourceDemandScheduler(event_logger=None)
    began = time.perf_counter()
    reply = planner.schedule(request)
    seconds = time.perf_counter() - began
    return seconds, {one.instance_type: one.count for one in reply.to_launch}


def v2_described(case):
    """Seconds of processor time and the whole answer."""
    oracle = plan_oracle.Oracle(case)
    request = oracle.scheduling_request()
    planner = scheduler.ResourceDemandScheduler(event_logger=None)
    began = time.process_time()
    reply = planner.schedule(request)
    seconds = time.process_time() - began
    return seconds, oracle.described(request, reply)


def amounts(given):
    return {name: amount / plan_cases.UNIT for name, amount in given.items()}


def v1(case):
    tags = {str(index): {TAG_RAY_NODE_KIND: NODE_KIND_WORKER, TAG_RAY_NODE_STATUS: "up-to-date",
                         TAG_RAY_USER_NODE_TYPE: node["type"]}
            for index, node in enumerate(case["nodes"])}
    provider = types.SimpleNamespace(node_tags=tags.get, internal_ip=lambda node: node)
    node_types = {one["name"]: {"resources": amounts(one["resources"]), "node_config": {},
                                "min_workers": one["min"], "max_workers": one["max"]}
                  for one in case["types"]}
    node_types["head"] = {"resources": {"CPU": 0}, "node_config": {}, "min_workers": 0,
                          "max_workers": 0}
    free = {str(index): amounts(node["free"]) for index, node in enumerate(case["nodes"])}
    total = {str(index): amounts(node["total"]) for index, node in enumerate(case["nodes"])}
    demands = []
    for one in case["demands"]:
        demands += [amounts(one["request"]["amounts"])] * one["count"]
    planner = V1(provider, node_types, 1_000_000, "head", SPEED)
    summary = NodeAvailabilitySummary(node_availabilities={})
    began = time.perf_counter()
    launches, _unmet = planner.get_nodes_to_launch(list(tags), collections.defaultdict(int),
                                                   demands, free, [], total, [], summary)
    return time.perf_counter() - began, {name: count for name, count in launches.items() if count}
