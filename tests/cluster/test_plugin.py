"""`provider: {type: external}`: a cluster that a plug-in launches, end to end. The plug-in relays
its lines to this test, which makes the calls to the bed.
"""

import json
import socketserver
import subprocess
import sys
import threading
import time

import driver
import files
import pytest

RELAY = """#!/bin/bash
exec 3<>"/dev/tcp/$1/$2" || exit 1
cat <&3 &
exec cat >&3
"""
# A placement on three different nodes.
GROW = """
import ray
ray.init(address="auto", logging_level="ERROR")
group = ray.util.placement_group([{"CPU": 1}] * 3, strategy="STRICT_SPREAD")
ray.get(group.ready(), timeout=80)
"""
STATES = {"shutting-down": "ending", "terminated": "gone"}


class Cloud:
    """The operations of a plug-in, with EC2's API."""

    def __init__(self, ec2, group):
        self.ec2, self.group = ec2, group
        self.lock, self.stored = threading.Lock(), ""
        self.peers = set()  # where plug-ins ran

    def machine(self, instance):
        state = instance["State"]["Name"]
        return {"id": instance["InstanceId"], "state": STATES.get(state, state),
                "token": instance.get("ClientToken", ""), "type": instance["InstanceType"],
                "zone": instance["Placement"]["AvailabilityZone"],
                "private_ip": instance.get("PrivateIpAddress", ""),
                "public_ip": instance.get("PublicIpAddress", ""),
                "launched_at": int(instance["LaunchTime"].timestamp()),
                "tags": {t["Key"]: t["Value"] for t in instance.get("Tags", [])}}

    def hello(self, _):
        return {"version": 1, "name": "bed", "can": ["tokens", "atomic_swap", "tags"]}

    def list(self, _):
        pages = self.ec2.get_paginator("describe_instances").paginate()
        return {"machines": [self.machine(i) for page in pages for r in page["Reservations"]
                             for i in r["Instances"]]}

    def swap(self, asked):
        if self.stored == asked["expect"]:
            self.stored = asked["value"]
        return {"value": self.stored, "now": int(time.time())}

    def launch(self, asked):
        tags = [{"Key": key, "Value": value} for key, value in asked["tags"].items()]
        made = self.ec2.run_instances(
            **asked["node_config"], MinCount=1, MaxCount=asked["count"],
            ClientToken=asked["token"], UserData=asked["user_data"], SecurityGroupIds=[self.group],
            InstanceInitiatedShutdownBehavior=asked["shutdown"],
            TagSpecifications=[{"ResourceType": "instance", "Tags": tags}])
        return {"machines": [self.machine(i) for i in made["Instances"]]}

    def terminate(self, asked):
        self.ec2.terminate_instances(InstanceIds=asked["ids"])
        return {}

    def tag(self, asked):
        self.ec2.create_tags(Resources=asked["ids"], Tags=[
            {"Key": key, "Value": value} for key, value in asked["tags"].items()])
        return {}


@pytest.fixture
def served(bed, ec2, group):
    """(the cloud, its port), on an empty bed."""
    cloud = Cloud(ec2, group({"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}))

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            cloud.peers.add(self.client_address[0])
            for line in self.rfile:
                asked = json.loads(line)
                with cloud.lock:
                    reply = getattr(cloud, asked["op"])(asked)
                self.wfile.write(json.dumps({"id": asked["id"], **reply}).encode() + b"\n")

    socketserver.ThreadingTCPServer.allow_reuse_address = True
    socketserver.ThreadingTCPServer.daemon_threads = True
    with socketserver.ThreadingTCPServer((driver.settings.GATEWAY, 0), Handler) as server:
        port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        rule = ["INPUT", "-d", driver.settings.GATEWAY, "-p", "tcp", "--dport", str(port), "-j",
                "ACCEPT"]  # before the bed's own rules, which let instances reach its ports only
        subprocess.run(["iptables", "-w", "10", "-I", *rule], check=True)
        yield cloud, port
        subprocess.run(["iptables", "-w", "10", "-D", *rule], check=True)
        server.shutdown()


CLASS = """
import json
import socket
import uuid
from ray.autoscaler.node_provider import NodeProvider

class Provider(NodeProvider):
    def ask(self, op, **fields):
        place = (self.provider_config["host"], self.provider_config["port"])
        with socket.create_connection(place, 30) as link, link.makefile("rw") as file:
            file.write(json.dumps({"id": 1, "op": op, **fields}) + chr(10))
            file.flush()
            return json.loads(file.readline())

    def non_terminated_nodes(self, filters):
        wanted = {**filters, "ray-cluster-name": self.cluster_name}
        self.nodes = {m["id"]: m for m in self.ask("list")["machines"]
                      if m["state"] in ("pending", "running")}
        return [n for n, m in self.nodes.items() if wanted.items() <= m["tags"].items()]

    def node_tags(self, node):
        return self.nodes[node]["tags"]

    def is_running(self, node):
        return self.nodes[node]["state"] == "running"

    def internal_ip(self, node):
        return self.nodes[node]["private_ip"]

    def external_ip(self, node):
        return self.nodes[node]["public_ip"]

    def set_node_tags(self, node, tags):
        self.ask("tag", ids=[node], tags=tags)

    def create_node(self, node_config, tags, count):
        self.ask("launch", node_config={k: v for k, v in node_config.items() if k != "UserData"},
                 user_data=node_config["UserData"], token=uuid.uuid4().hex, count=count,
                 shutdown="terminate", tags={**tags, "ray-cluster-name": self.cluster_name})

    def terminate_node(self, node):
        self.ask("terminate", ids=[node])
"""


def test_a_class_of_ray(served, cluster, laptop):
    """The service on the head loads it with the Python that runs Ray there."""
    cloud, port = served
    (laptop.here / "relay_cloud.py").write_text(CLASS, encoding="ascii")
    config = files.quick("classy", workers=1)
    config["provider"] = {"type": "external", "region": driver.settings.REGION,
                          "module": "relay_cloud.Provider", "host": driver.settings.GATEWAY,
                          "port": port}
    for key in ("cluster_synced_files", "worker_setup_commands", "head_setup_commands",
                "setup_commands", "initialization_commands", "rsync_exclude", "rsync_filter"):
        config.setdefault(key, [])
    config.setdefault("file_mounts", {})
    config["available_node_types"]["worker"]["max_workers"] = 2
    config["max_workers"] = 2
    config.setdefault("metadata", {}).setdefault("shoal", {}).update(
        python=sys.executable, user_data_key="UserData")
    made = cluster(config)
    done = made.up()
    print(f"up {done.seconds:.1f} s")
    assert made.alive() == 2, str(done)
    made("submit", laptop.file("grow.py", GROW), seconds=100)
    assert len(made.machines()) == 3 and len(cloud.peers) == 2, cloud.peers
    made.down()
    assert made.machines() == [] and laptop.leftovers() == []


def test_up_and_down(served, cluster, laptop):
    cloud, port = served
    (laptop.here / "relay").write_text(RELAY, encoding="ascii")
    (laptop.here / "relay").chmod(0o755)
    config = files.quick("plugged", workers=1)
    config["provider"] = {"type": "external", "region": driver.settings.REGION, "command": [
        "bash", "./relay", driver.settings.GATEWAY, str(port)]}
    config["available_node_types"]["worker"]["max_workers"] = 2
    config["max_workers"] = 2
    made = cluster(config)
    done = made.up()
    print(f"up {done.seconds:.1f} s")
    assert made.alive() == 2, str(done)
    # The service on the head launches one more, through the plug-in that `up` sent there.
    made("submit", laptop.file("grow.py", GROW), seconds=100)
    assert len(made.machines()) == 3 and len(cloud.peers) == 2, cloud.peers
    made.down()
    assert made.machines() == [] and cloud.stored == ""
    assert laptop.leftovers() == []
