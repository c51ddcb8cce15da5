"""Writes the first inputs of the fuzzer of Ray's state, with Ray's own messages.

usage: make_ray_state_seeds.py FOLDER      (with a Python that has Ray)
"""

import pathlib
import sys

from ray.core.generated import autoscaler_pb2 as ray_pb

SPOT = ("ray.io/market-type", 1, ["spot"])


def node(state, letter, status, **more):
    return state.node_states.add(node_id=letter.encode() * 28, instance_id="i-" + letter,
                                 ray_node_type_name="worker", node_ip_address="10.0.0.1",
                                 instance_type_name="m5.large", status=status,
                                 node_state_version=7, **more)


def select(request, *choices):
    for rules in choices:
        selector = request.label_selectors.add()
        for key, operator, values in rules:
            selector.label_constraints.add(label_key=key, operator=operator, label_values=values)


def demand(where, bundle, count, *choices):
    entry = where.add(count=count)
    entry.request.resources_bundle.update(bundle)
    select(entry.request, *(choices or ([],)))


def nodes():
    reply = ray_pb.GetClusterResourceStateReply()
    state = reply.cluster_resource_state
    state.cluster_resource_state_version = 7
    state.cluster_session_name = "session_1"
    head = node(state, "h", 1, node_activity=["Busy workers on node."])
    head.total_resources.update({"CPU": 4, "node:__internal_head__": 1, "memory": 1e9})
    head.available_resources.update({"CPU": 3.5, "node:__internal_head__": 1, "memory": 1e9})
    head.labels["zone"] = "a"
    head.dynamic_labels["_PG_" + "0" * 36] = ""
    idle = node(state, "i", 3, idle_duration_ms=1234, node_activity=["stale"])
    idle.total_resources["CPU"] = 2
    node(state, "d", 2)
    node(state, "l", 4)
    return reply


def load():
    reply = ray_pb.GetClusterResourceStateReply()
    state = reply.cluster_resource_state
    demand(state.pending_resource_requests, {"CPU": 1}, 5)
    demand(state.pending_resource_requests, {"CPU": 1, "GPU": 0.5}, 2,
           [SPOT, ("zone", 2, ["a", "b"])], [("zone", 1, ["c"])])
    wish = state.cluster_resource_constraints.add()
    demand(wish.resource_requests, {"CPU": 2}, 4)
    return reply


def gangs():
    reply = ray_pb.GetClusterResourceStateReply()
    state = reply.cluster_resource_state
    for kind in ("anti_affinity", "affinity"):
        gang = state.pending_gang_resource_requests.add(details="00:STRICT_SPREAD|PENDING")
        bundles = gang.bundle_selectors.add()
        for where in (gang.requests, bundles.resource_requests):
            request = where.add()
            request.resources_bundle["CPU"] = 1
            getattr(request.placement_constraints.add(), kind).label_name = "_PG_00"
        select(bundles.resource_requests[0], [SPOT])
        bundles.locality_requirement.locality_constraint.label_name = "rack"
        bundles.locality_requirement.locality_constraint.placement_strategy = 2
        rule = bundles.locality_requirement.label_selector.label_constraints.add()
        rule.label_key, rule.operator = "rack", 1
        rule.label_values.append("r7")
    state.pending_gang_resource_requests.add()
    state.cluster_resource_constraints.add()
    return reply


def strange():
    reply = ray_pb.GetClusterResourceStateReply()
    odd = node(reply.cluster_resource_state, "s", 1)
    odd.total_resources.update({"a": float("nan"), "b": float("inf"), "c": -1.0, "": 0.0})
    reply.cluster_resource_state.node_states.add(node_id=b"short")
    demand(reply.cluster_resource_state.pending_resource_requests, {"CPU": 1}, -1)
    return reply


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (nodes, load, gangs, strange):
        (folder / make.__name__).write_bytes(make().SerializeToString(deterministic=True))
    (folder / "empty").write_bytes(b"\x0a\x00")
    (folder / "cut").write_bytes(load().SerializeToString(deterministic=True)[:-3])


if __name__ == "__main__":
    main()
