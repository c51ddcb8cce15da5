"""A stand-in for Ray's GCS on the head of a thin cluster: what Shoal asks, over real gRPC in the
messages of the installed Ray. Nodes are raylet stand-ins that hold a connection to the next port.

usage: gcs.py --gcs_server_port=PORT     prints "ready", then serves until it is killed

Demand is read from /tmp/ray/demand.json: [{"CPU": 1}, ...], one entry per waiting task.
"""

import concurrent.futures
import ctypes
import json
import os
import pathlib
import secrets
import socketserver
import sys
import threading
import time
import types

HERE = pathlib.Path(__file__).parent
PYTHON_VERSION = (HERE / "python_version").read_text(encoding="ascii")  # of the machine's Python
sys.path[:0] = (HERE / "path").read_text(encoding="utf-8").split(":")


def without_init(name, folder):
    """Ray's package without its __init__, whose import takes a second."""
    module = types.ModuleType(name)
    module.__path__ = [folder]
    sys.modules[name] = module


_ray = next(p + "/ray" for p in sys.path if os.path.isdir(p + "/ray"))
without_init("ray", _ray)
without_init("ray.core", _ray + "/core")

import grpc  # noqa: E402
from ray.core.generated import autoscaler_pb2, gcs_service_pb2  # noqa: E402

RUNNING, DEAD, IDLE, DRAINING = 1, 2, 3, 4
ALIVE_STATE, DEAD_STATE = 0, 1
DRAINED_PREEMPTED, DRAINED_IDLE = 3, 4  # NodeDeathInfo.Reason
NOT_FOUND = 17
NODES, AUTOSCALER = "/ray.rpc.NodeInfoGcsService/", "/ray.rpc.autoscaler.AutoscalerStateService/"
KV, JOBS = "/ray.rpc.InternalKVGcsService/", "/ray.rpc.JobInfoGcsService/"
PUBSUB = "/ray.rpc.ObservabilityPubSubService/"


class Node:
    def __init__(self, said, stream):
        self.id, self.ip, self.is_head = bytes.fromhex(said["id"]), said["ip"], said["head"]
        self.instance, self.type = said["instance"], said["type"]
        self.resources = json.loads(said["resources"] or "{}") or {"CPU": 1}
        self.labels = json.loads(said["labels"] or "{}")
        self.stream, self.began, self.ended, self.draining = stream, time.time(), 0.0, False
        self.death = 0

    def busy(self):
        return os.path.exists(f"/tmp/ray/busy-{self.instance}")


class Gcs:
    def __init__(self, token):
        self.token, self.lock = token, threading.Lock()
        self.cluster = secrets.token_bytes(28)
        now = time.strftime("%Y-%m-%d_%H-%M-%S")
        self.session = f"session_{now}_{secrets.randbelow(1000000):06}_{os.getpid()}"
        self.nodes, self.version, self.values = [], 0, {}

    # ---- calls ----

    def cluster_id(self, _body):
        return gcs_service_pb2.GetClusterIdReply(cluster_id=self.cluster)

    def alive(self, _body):
        return gcs_service_pb2.CheckAliveReply(ray_version="2.60.0")

    def node_infos(self, _body):
        reply = gcs_service_pb2.GetAllNodeInfoReply()
        for node in list(self.nodes):
            info = reply.node_info_list.add()
            info.node_id, info.node_manager_address = node.id, node.ip
            info.instance_id, info.node_type_name = node.instance, node.type
            info.is_head_node = node.is_head
            info.state = DEAD_STATE if node.ended else ALIVE_STATE
            info.death_info.reason = node.death if node.ended else 0
            info.start_time_ms, info.end_time_ms = int(node.began * 1000), int(node.ended * 1000)
        return reply

    def get_value(self, body):
        asked = gcs_service_pb2.InternalKVGetRequest.FromString(body)
        reply = gcs_service_pb2.InternalKVGetReply()
        if asked.key == b"CLUSTER_METADATA":
            reply.value = json.dumps({"ray_version": "2.60.0",
                                      "python_version": PYTHON_VERSION}).encode()
        elif asked.key in self.values:
            reply.value = self.values[asked.key]
        else:
            reply.status.code = NOT_FOUND
        return reply

    def put_value(self, body):
        asked = gcs_service_pb2.InternalKVPutRequest.FromString(body)
        self.values[asked.key] = asked.value
        return gcs_service_pb2.InternalKVPutReply()

    def add_node(self, state, node):
        row = state.node_states.add()
        row.node_id, row.instance_id, row.ray_node_type_name = node.id, node.instance, node.type
        row.node_ip_address, row.node_state_version = node.ip, self.version
        busy = node.busy()
        own = {f"node:{node.ip}": 1, **({"node:__internal_head__": 1} if node.is_head else {})}
        for name, amount in {**node.resources, **own}.items():
            row.total_resources[name] = amount
            row.available_resources[name] = 0 if busy and name == "CPU" else amount
        for name, value in node.labels.items():
            row.labels[name] = value
        row.status = DEAD if node.ended else DRAINING if node.draining else \
            RUNNING if busy else IDLE
        if row.status == IDLE:
            row.idle_duration_ms = int((time.time() - node.began) * 1000)

    def state(self, _body):
        reply = autoscaler_pb2.GetClusterResourceStateReply()
        state = reply.cluster_resource_state
        with self.lock:
            self.version += 1
            state.cluster_resource_state_version = self.version
            state.cluster_session_name = self.session
            for node in self.nodes:
                self.add_node(state, node)
        for amounts in self.demand():
            row = state.pending_resource_requests.add()
            row.count = 1
            for name, amount in amounts.items():
                row.request.resources_bundle[name] = amount
        return reply

    def demand(self):
        try:
            with open("/tmp/ray/demand.json", encoding="utf-8") as stream:
                return json.load(stream)
        except (OSError, ValueError):
            return []

    def drain(self, body):
        asked = autoscaler_pb2.DrainNodeRequest.FromString(body)
        reply = autoscaler_pb2.DrainNodeReply()
        node = next((n for n in self.nodes if n.id == asked.node_id and not n.ended), None)
        idle_only = asked.reason == autoscaler_pb2.DRAIN_NODE_REASON_IDLE_TERMINATION
        if node and idle_only and node.busy():
            reply.rejection_reason_message = "the node is busy"
            return reply
        reply.is_accepted = True
        if node:
            node.draining = True
            node.death = DRAINED_IDLE if idle_only else DRAINED_PREEMPTED
            threading.Thread(target=self.finish, args=(node, asked.deadline_timestamp_ms / 1000),
                             daemon=True).start()
        return reply

    @staticmethod
    def finish(node, deadline):
        """A drained node ends when it has no work, or at the deadline if there is one."""
        while node.busy() and not 0 < deadline < time.time():
            time.sleep(0.1)
        node.stream.write(b"exit\n")

    # ---- raylets ----

    def register(self, said, stream):
        if self.token and said["token"] != self.token:
            return None
        node = Node(said, stream)
        with self.lock:
            self.nodes.append(node)
        return node


class Raylets(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 64


class Raylet(socketserver.StreamRequestHandler):
    wbufsize = 0

    def handle(self):
        node = None
        try:
            node = self.server.gcs.register(json.loads(self.rfile.readline()), self.wfile)
            self.wfile.write(b"ok\n" if node else b"the token is wrong\n")
            while node and self.rfile.readline():
                pass
        except (OSError, ValueError) as error:
            print("raylet:", error, file=sys.stderr, flush=True)
        finally:
            if node:
                node.ended = time.time()


class Handlers(grpc.GenericRpcHandler):
    def __init__(self, gcs):
        self.gcs = gcs
        empty = lambda reply: lambda _body: reply()  # noqa: E731
        self.calls = {
            NODES + "GetClusterId": gcs.cluster_id, NODES + "CheckAlive": gcs.alive,
            NODES + "GetAllNodeInfo": gcs.node_infos, KV + "InternalKVGet": gcs.get_value,
            KV + "InternalKVPut": gcs.put_value, AUTOSCALER + "GetClusterResourceState": gcs.state,
            AUTOSCALER + "DrainNode": gcs.drain,
            AUTOSCALER + "ReportAutoscalingState": empty(
                autoscaler_pb2.ReportAutoscalingStateReply),
            AUTOSCALER + "ReportClusterConfig": empty(autoscaler_pb2.ReportClusterConfigReply),
            JOBS + "GetAllJobInfo": empty(gcs_service_pb2.GetAllJobInfoReply),
            PUBSUB + "GcsPublish": empty(autoscaler_pb2.ReportAutoscalingStateReply),
        }

    def service(self, details):
        work = self.calls.get(details.method)
        if work is None:
            print("not answered:", details.method, file=sys.stderr, flush=True)
            return None
        given = dict(details.invocation_metadata).get("authorization", "")

        def answer(body, context):
            if self.gcs.token and given != f"Bearer {self.gcs.token}":
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "InvalidAuthToken")
            return work(body).SerializeToString()

        return grpc.unary_unary_rpc_method_handler(answer)


def read_token():
    if os.environ.get("RAY_AUTH_MODE") != "token":
        return ""
    place = os.environ.get("RAY_AUTH_TOKEN_PATH") or os.path.expanduser("~/.ray/auth_token")
    with open(place, encoding="ascii") as stream:
        return stream.read().strip()


def main():
    ctypes.CDLL(None).prctl(15, b"gcs_server", 0, 0, 0)
    port = int(sys.argv[1].partition("=")[2])
    gcs = Gcs(read_token())
    raylets = Raylets(("0.0.0.0", port + 1), Raylet)
    raylets.gcs = gcs
    threading.Thread(target=raylets.serve_forever, daemon=True).start()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4),
                         options=[("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers((Handlers(gcs),))
    if server.add_insecure_port(f"0.0.0.0:{port}") != port:
        sys.exit("the port is in use")
    server.start()
    print("ready", flush=True)
    os.setsid()
    os.dup2(os.open("/dev/null", os.O_RDWR), 0)
    os.dup2(0, 1)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
