"""A GCS that a test can instruct, in the words of the installed Ray, over gRPC on loopback.

It answers what nodes ask: is it alive, which versions, who is there, drain this node. Calls without
its token are refused as Ray refuses them.
"""

import concurrent.futures
import json

import grpc
from ray.core.generated import autoscaler_pb2, gcs_service_pb2

NODES = "/ray.rpc.NodeInfoGcsService/"
STATE = "/ray.rpc.autoscaler.AutoscalerStateService/"


class FakeGcs:
    def __init__(self, port=0, token="", python="3.11.2", ray="2.60.0"):
        self.token, self.versions = token, {"ray_version": ray, "python_version": python}
        self.refused, self.drained, self.nodes = 0, [], []
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(2),
                                  options=[("grpc.so_reuseport", 0)])
        self.server.add_generic_rpc_handlers((self,))
        self.port = self.server.add_insecure_port(f"127.0.0.1:{port}")
        self.server.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stop(0)

    def service(self, details):
        answer = {NODES + "CheckAlive": self.alive, NODES + "GetClusterId": self.cluster_id,
                  "/ray.rpc.InternalKVGcsService/InternalKVGet": self.key_value,
                  STATE + "GetClusterResourceState": self.state,
                  STATE + "DrainNode": self.drain}.get(details.method)
        said = dict(details.invocation_metadata).get("authorization", "")
        if answer and self.token and said != f"Bearer {self.token}":
            answer = self.refuse
        return grpc.unary_unary_rpc_method_handler(answer) if answer else None

    def refuse(self, _request, context):
        self.refused += 1
        context.abort(grpc.StatusCode.UNAUTHENTICATED, "InvalidAuthToken: no such token")

    def alive(self, _request, _context):
        reply = gcs_service_pb2.CheckAliveReply(ray_version=self.versions["ray_version"])
        return reply.SerializeToString()

    def cluster_id(self, _request, _context):
        return gcs_service_pb2.GetClusterIdReply(cluster_id=b"c" * 28).SerializeToString()

    def key_value(self, _request, _context):
        reply = gcs_service_pb2.InternalKVGetReply(value=json.dumps(self.versions).encode())
        return reply.SerializeToString()

    def add_node(self, instance, is_head=False):
        self.nodes.append((instance, is_head))

    def state(self, _request, _context):
        reply = autoscaler_pb2.GetClusterResourceStateReply()
        state = reply.cluster_resource_state
        state.cluster_session_name = "session_2026-11-15_12-00-00_000000_1"
        for number, (instance, is_head) in enumerate(self.nodes, 1):
            node = state.node_states.add(node_id=bytes([number]) * 28, instance_id=instance,
                                         status=1)
            node.total_resources["CPU"] = 1
            if is_head:
                node.total_resources["node:__internal_head__"] = 1
        return reply.SerializeToString()

    def drain(self, request, _context):
        asked = autoscaler_pb2.DrainNodeRequest.FromString(request)
        self.drained.append(asked)
        return autoscaler_pb2.DrainNodeReply(is_accepted=True).SerializeToString()
