"""A fake GCS of a large cluster: answers GetClusterId and GetClusterResourceState with the messages
of the installed Ray, over gRPC on loopback. Versions and idle counters change with every reply, as
Ray's do; the rest stays the same unless --moving is set.

usage: fake_gcs.py NODES [--moving N]      prints its port, then serves until its input ends
"""

import argparse
import concurrent.futures
import sys
import time

import grpc
from ray.core.generated import autoscaler_pb2, gcs_service_pb2

RUNNING, IDLE = 1, 3
SERVICES = {
    "GetClusterId": "/ray.rpc.NodeInfoGcsService/GetClusterId",
    "GetClusterResourceState": "/ray.rpc.autoscaler.AutoscalerStateService/GetClusterResourceState",
}


def add_node(state, number):
    node = state.node_states.add()
    node.node_id = (number * 0x9E3779B97F4A7C15 % (1 << 64)).to_bytes(8, "big") + bytes(20)
    node.instance_id = f"i-{number:017x}"
    node.ray_node_type_name = "worker"
    node.instance_type_name = "m5.2xlarge"
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    node.node_ip_address = address
    for amounts in (node.total_resources, node.available_resources):
        amounts["CPU"] = 8
        amounts["memory"] = 32e9
        amounts["object_store_memory"] = 9e9
        amounts[f"node:{address}"] = 1
    node.labels["ray.io/node-id"] = node.node_id.hex()
    node.labels["ray.io/node-group"] = "worker"
    node.labels["ray.io/market-type"] = "spot"
    node.labels["ray.io/availability-zone"] = "us-west-2a"
    node.labels["ray.io/availability-region"] = "us-west-2"
    node.status = IDLE


class FakeGcs:
    def __init__(self, nodes, moving):
        self.reply = autoscaler_pb2.GetClusterResourceStateReply()
        self.moving = moving
        self.started = time.monotonic()
        state = self.reply.cluster_resource_state
        state.cluster_session_name = "session_2026-11-15_12-00-00_000000_1"
        for number in range(2, nodes + 2):
            add_node(state, number)

    def cluster_id(self, _request, _context):
        reply = gcs_service_pb2.GetClusterIdReply()
        reply.cluster_id = b"c" * 28
        return reply.SerializeToString()

    def cluster_state(self, _request, _context):
        state = self.reply.cluster_resource_state
        state.cluster_resource_state_version += 1
        version = state.cluster_resource_state_version
        idle_ms = int((time.monotonic() - self.started) * 1000)
        for i, node in enumerate(state.node_states):
            node.node_state_version = version
            if i < self.moving:
                node.status = RUNNING
                node.available_resources["CPU"] = 1 + (version + i) % 7
                node.available_resources["object_store_memory"] = 8e9 + version
            else:
                node.idle_duration_ms = idle_ms + (version + i) % 5
        return self.reply.SerializeToString()


class Handlers(grpc.GenericRpcHandler):
    def __init__(self, gcs):
        self.calls = {SERVICES["GetClusterId"]: gcs.cluster_id,
                      SERVICES["GetClusterResourceState"]: gcs.cluster_state}

    def service(self, details):
        call = self.calls.get(details.method)
        return grpc.unary_unary_rpc_method_handler(call) if call else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("nodes", type=int)
    parser.add_argument("--moving", type=int, default=0)
    arguments = parser.parse_args()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2),
                         options=[("grpc.max_send_message_length", -1)])
    server.add_generic_rpc_handlers((Handlers(FakeGcs(arguments.nodes, arguments.moving)),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    sys.stdin.read()
    server.stop(0)


if __name__ == "__main__":
    main()
