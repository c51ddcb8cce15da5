"""What the installed Ray's v2 scheduler decides. As a program, plan_oracle.py FIRST COUNT prints
its answer for each seed as a line of JSON.

Nothing of Ray is replaced. Nodes are passed as plain dictionaries, so that their resources, in
whose order Ray adds up its scores, have the order of the case and not that of a hash.
"""

import json
import logging
import sys
import types

from ray.autoscaler.v2 import scheduler
from ray.autoscaler.v2.instance_manager.config import NodeTypeConfig
from ray.autoscaler.v2.schema import AutoscalerInstance
from ray.autoscaler.v2.utils import ResourceRequestUtil as Util
from ray.core.generated.autoscaler_pb2 import (BundleSelector, ClusterResourceConstraint,
                                               GangResourceRequest, ResourceRequestByCount)
from ray.core.generated.common_pb2 import LabelSelectorOperator as Operator
from ray.core.generated.instance_manager_pb2 import Instance, NodeKind, TerminationRequest

import plan_cases

PLACEMENT = {"ANTI": Util.PlacementConstraintType.ANTI_AFFINITY,
             "AFFINITY": Util.PlacementConstraintType.AFFINITY}
OPERATOR = {"IN": Operator.LABEL_OPERATOR_IN, "NOT_IN": Operator.LABEL_OPERATOR_NOT_IN}
logging.getLogger("ray").setLevel(logging.CRITICAL)


def scores(types, key):
    return {one["name"]: one[key] for one in types if one[key] is not None}


def serial(message):
    return message.SerializeToString(deterministic=True)


class Oracle:
    """`unit` is the value of one unit: 10000 gives Ray the amounts, 1 gives it whole numbers."""

    def __init__(self, case, unit=plan_cases.UNIT):
        self.case = case
        self.unit = unit

    def amounts(self, amounts):
        return {name: amount / self.unit for name, amount in amounts.items()}

    def request(self, request):
        selectors = [[(key, OPERATOR[op], values) for key, op, values in selector]
                     for selector in request["selectors"]]
        placements = [(PLACEMENT[kind], key, value) for kind, key, value in request["placements"]]
        return Util.make(self.amounts(request["amounts"]), placements, selectors)

    def by_count(self, demands):
        return [ResourceRequestByCount(request=self.request(one["request"]), count=one["count"])
                for one in demands]

    def config(self, one):
        return NodeTypeConfig(
            name=one["name"], min_worker_nodes=one["min"], max_worker_nodes=one["max"],
            idle_timeout_s=one["idle_s"], priority=one["priority"], labels=dict(one["labels"]),
            resources=self.amounts(one["resources"]), launch_config_hash=one["hash"])

    def instance(self, index, node):
        if not node["is_known"]:
            return AutoscalerInstance(cloud_instance_id=f"c{index}")
        ray_node = None
        if node["status"] == "RAY_RUNNING" and node["total"] is not None:
            ray_node = types.SimpleNamespace(
                total_resources=self.amounts(node["total"]),
                available_resources=self.amounts(node["free"]), labels=dict(node["labels"]),
                dynamic_labels=dict(node["pg_labels"]), idle_duration_ms=node["idle_ms"])
        return AutoscalerInstance(
            cloud_instance_id=f"c{index}", ray_node=ray_node,
            im_instance=Instance(instance_id=str(index), instance_type=node["type"],
                                 launch_config_hash=node["hash"],
                                 status=Instance.InstanceStatus.Value(node["status"]),
                                 node_id=f"r{index}" if node["status"] == "RAY_RUNNING" else "",
                                 node_kind=NodeKind.HEAD if node["head"] else NodeKind.WORKER))

    def gang(self, gang):
        requests = [self.request(one) for one in gang["requests"]]
        if gang["is_legacy"]:
            return GangResourceRequest(requests=requests)
        # The GCS fills both.
        return GangResourceRequest(requests=requests,
                                   bundle_selectors=[BundleSelector(resource_requests=requests)])

    def scheduling_request(self):
        case = self.case
        configured = [one for one in case["types"] if not one["gone"]]
        constraints = []
        if case["constraint"] is not None:
            wanted = self.by_count(case["constraint"])
            constraints.append(ClusterResourceConstraint(resource_requests=wanted))
        return scheduler.SchedulingRequest(
            disable_launch_config_check=not case["check"],
            node_type_configs={one["name"]: self.config(one) for one in configured},
            max_num_nodes=case["max_nodes"], idle_timeout_s=case["idle_s"],
            resource_requests=self.by_count(case["demands"]),
            gang_resource_requests=[self.gang(one) for one in case["gangs"]],
            cluster_resource_constraints=constraints,
            current_instances=[self.instance(*pair) for pair in enumerate(case["nodes"])],
            cloud_resource_availabilities=scores(case["types"], "available"),
            recoverable_resource_availabilities=scores(case["types"], "recoverable"))

    def answer(self):
        request = self.scheduling_request()
        scheduler.AUTOSCALER_CONSERVE_GPU_NODES = int(self.case["conserve"])
        try:
            reply = scheduler.ResourceDemandScheduler(event_logger=None).schedule(request)
        except (AssertionError, KeyError) as wrong:
            return {"error": repr(wrong)}
        return self.described(request, reply)

    def described(self, request, reply):
        """A reply of the scheduler to scheduling_request(), in the form of parse_answer()."""
        keys = {serial(one.request): plan_cases.request_key(given["request"])
                for one, given in zip(request.resource_requests, self.case["demands"])}
        unmet = {}
        for one in reply.infeasible_resource_requests:
            key = keys[serial(one)]
            unmet[key] = unmet.get(key, 0) + 1
        places = {id(one): index for index, one in enumerate(request.gang_resource_requests)}
        return {
            "launch": {one.instance_type: one.count for one in reply.to_launch},
            # A node that min_workers requested and a limit removed has no instance yet.
            "end": {one.instance_id: TerminationRequest.Cause.Name(one.cause)
                    for one in reply.to_terminate if one.instance_id},
            "unmet": unmet,
            "gangs": sorted(places[id(one)] for one in reply.infeasible_gang_resource_requests),
            "constraint": len(reply.infeasible_cluster_resource_constraints),
        }


def main():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    for seed in range(first, first + count):
        print(json.dumps(Oracle(plan_cases.make(seed)).answer()))


if __name__ == "__main__":
    main()
