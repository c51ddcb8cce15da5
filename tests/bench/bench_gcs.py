"""What a poll costs Ray itself: CPU time of a real GCS that knows many nodes, and ours.

usage: bench_gcs.py [--sizes 100,1000,5000] [--polls N]

The nodes are registered and then ignored (no health checks, no pulling of their load), so that the
GCS spends its time on the polls only. Needs root, for namespaces.

SHOAL_BUILD  the build directory (default: build in the repository)
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD") or REPOSITORY / "build").resolve()
PROBE = str(BUILD / "tests" / "scale_probe")
SKIPPED = 77
QUIET = {"RAY_health_check_initial_delay_ms": "36000000",
         "RAY_gcs_pull_resource_loads_period_milliseconds": "36000000"}
SERVER = "127.0.0.1:6379"
IDLE_SECONDS = 5

sys.path.insert(0, str(HERE.parent / "ray"))


def register(first, last):
    """Inside of the box: nodes with the resources and labels that a worker has."""
    import grpc
    from ray.core.generated import gcs_service_pb2
    call = grpc.insecure_channel(SERVER).unary_unary(
        "/ray.rpc.NodeInfoGcsService/RegisterNode",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=gcs_service_pb2.RegisterNodeReply.FromString)
    for number in range(first, last):
        request = gcs_service_pb2.RegisterNodeRequest()
        node = request.node_info
        node.node_id = (number * 0x9E3779B97F4A7C15 % (1 << 64)).to_bytes(8, "big") + bytes(20)
        node.instance_id = f"i-{number:017x}"
        node.node_type_name = "worker"
        node.instance_type_name = "m5.2xlarge"
        node.node_manager_address = f"127.1.{number >> 8 & 255}.{number & 255}"
        node.node_manager_port = 9
        node.resources_total.update({"CPU": 8, "memory": 32e9, "object_store_memory": 9e9,
                                     f"node:{node.node_manager_address}": 1})
        node.labels.update({"ray.io/node-id": node.node_id.hex(), "ray.io/node-group": "worker",
                            "ray.io/market-type": "spot", "ray.io/availability-zone": "us-west-2a",
                            "ray.io/availability-region": "us-west-2"})
        call(request, timeout=20)


class GcsClock:
    """The processor time of the GCS in a box."""

    def __init__(self, box):
        ours = os.readlink(f"/proc/{box.pid}/ns/net")
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if (entry.name.isdigit() and b"gcs_server" in (entry / "cmdline").read_bytes()
                        and os.readlink(entry / "ns/net") == ours):
                    self.path = entry / "stat"
            except OSError:
                continue

    def seconds(self):
        words = self.path.read_text().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def measure(box, clock, nodes, polls):
    before = clock.seconds()
    time.sleep(IDLE_SECONDS)
    resting = (clock.seconds() - before) / IDLE_SECONDS
    started = time.monotonic()
    before = clock.seconds()
    done = box.run([PROBE, str(nodes), str(polls), "--server", "http://" + SERVER,
                    "--every", "100"])
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    found = json.loads(done.stdout)
    took = time.monotonic() - started
    found["gcs_ms"] = (clock.seconds() - before - resting * took) / polls * 1000
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", default="100,1000,5000")
    parser.add_argument("--polls", type=int, default=60)
    parser.add_argument("--register", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.register:
        register(*map(int, arguments.register.split(",")))
        return 0
    if os.geteuid() != 0:
        print("namespaces need root")
        return SKIPPED
    from ray_box import RayBox
    box = RayBox(env=QUIET).start_head()
    known = 2
    try:
        clock = GcsClock(box)
        print("| nodes | reply | the GCS per poll | we per poll | from asking to decision |")
        print("|---|---|---|---|---|")
        for nodes in map(int, arguments.sizes.split(",")):
            done = box.run([sys.executable, __file__, "--register", f"{known},{nodes + 2}"])
            if done.returncode != 0:
                raise SystemExit(done.stderr)
            known = nodes + 2
            found = measure(box, clock, nodes, arguments.polls)
            print(f"| {nodes:,} | {found['reply_bytes'] / 1024:,.0f} KiB | "
                  f"{found['gcs_ms']:.1f} ms | {found['cpu_us_per_poll'] / 1000:.2f} ms | "
                  f"{found['round_trip_us'] / 1000:.1f} ms |", flush=True)
            assert found["alive"] == nodes + 1, found  # with Ray's own head
    finally:
        box.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
