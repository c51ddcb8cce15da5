"""Node provider classes as users of Ray write them. Their cloud is a JSON file (provider.state).

ToyProvider does what Ray's documentation asks for. The others have bad habits.
"""

import fcntl
import json
import os
import pathlib
import sys
import threading
import time
import uuid

from ray.autoscaler.node_provider import NodeProvider


class ToyProvider(NodeProvider):
    def __init__(self, provider_config, cluster_name):
        super().__init__(provider_config, cluster_name)
        self.path = pathlib.Path(os.path.expanduser(provider_config["state"]))
        self.lock = threading.RLock()

    def change(self, work):
        with self.lock, open(f"{self.path}.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            nodes = json.loads(self.path.read_text("utf-8")) if self.path.exists() else {}
            result = work(nodes)
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(nodes), encoding="utf-8")
            new.replace(self.path)
            return result

    def own(self, nodes, filters):
        wanted = {**filters, "ray-cluster-name": self.cluster_name}
        return [key for key, node in nodes.items() if not node["gone"]
                and all(node["tags"].get(k) == v for k, v in wanted.items())]

    def non_terminated_nodes(self, tag_filters):
        return self.change(lambda nodes: self.own(nodes, tag_filters))

    def is_running(self, node_id):
        return self.change(lambda nodes: not nodes[node_id]["gone"])

    def is_terminated(self, node_id):
        return not self.is_running(node_id)

    def node_tags(self, node_id):
        return self.change(lambda nodes: dict(nodes[node_id]["tags"]))

    def internal_ip(self, node_id):
        return "127.0.0.1"

    def external_ip(self, node_id):
        return "127.0.0.1"

    def set_node_tags(self, node_id, tags):
        self.change(lambda nodes: nodes[node_id]["tags"].update(tags))

    def add(self, node_config, tags, count):
        def work(nodes):
            kind = node_config.get("InstanceType", "")
            used = sum(n["kind"] == kind and not n["gone"] for n in nodes.values())
            free = self.provider_config.get("limits", {}).get(kind, 1000) - used
            if free <= 0:
                raise RuntimeError(f"InsufficientInstanceCapacity: no {kind} is free")
            made = {f"toy-{uuid.uuid4().hex[:12]}": {
                "tags": {**tags, "ray-cluster-name": self.cluster_name}, "gone": False,
                "kind": kind} for _ in range(min(free, count))}
            nodes.update(made)
            return made
        return self.change(work)

    def create_node(self, node_config, tags, count):
        return self.add(node_config, tags, count)

    def terminate_node(self, node_id):
        self.change(lambda nodes: nodes[node_id].update(gone=True))


class Printing(ToyProvider):
    """Writes to standard output in every way, and leaves a thread."""

    def __init__(self, provider_config, cluster_name):
        super().__init__(provider_config, cluster_name)
        threading.Thread(target=time.sleep, args=(10000,)).start()

    def non_terminated_nodes(self, tag_filters):
        print("{'looking': 'for nodes'}")
        os.write(1, b'{"id": 1}\n')
        os.system("echo from a child")
        return super().non_terminated_nodes(tag_filters)

    def create_node(self, node_config, tags, count):
        sys.stdout.write("half a line")
        super().create_node(node_config, tags, count)  # returns None, as many classes do


class Exiting(ToyProvider):
    def create_node(self, node_config, tags, count):
        sys.exit("you forgot to log in")


class Aborting(ToyProvider):
    def create_node(self, node_config, tags, count):
        from ray.autoscaler._private.cli_logger import cli_logger
        cli_logger.abort("No image {} in this region", "toy-9")


class Half(ToyProvider):
    """Creates some of the nodes, then fails."""

    def create_node(self, node_config, tags, count):
        self.add(node_config, tags, 1)
        raise RuntimeError("the connection was reset")


class Hanging(ToyProvider):
    def create_node(self, node_config, tags, count):
        time.sleep(10000)


class Cleaning(ToyProvider):
    def cleanup_cluster_resources(self):
        time.sleep(3)
        print("the network was deleted")


class Raising(ToyProvider):
    def create_node(self, node_config, tags, count):
        raise RuntimeError(tags["shoal-token"])


class Slow(ToyProvider):
    """Terminates a node once there is a file "go" next to its state."""

    def terminate_node(self, node_id):
        self.path.with_name("ending").touch()
        while not self.path.with_name("go").exists():
            time.sleep(0.05)
        if self.path.with_name("go").read_text("utf-8") == "fail":
            raise RuntimeError("the connection was reset")
        super().terminate_node(node_id)


class Forgetful(ToyProvider):
    """Stores only the tags that Ray itself uses, as Ray's class for Aliyun does."""

    def create_node(self, node_config, tags, count):
        return self.add(node_config, {k: v for k, v in tags.items() if k.startswith("ray-")},
                        count)


class Waiting(ToyProvider):
    """Waits for an address for ever, as Ray's class for Aliyun does."""

    def external_ip(self, node_id):
        print("waiting for", node_id)
        time.sleep(10000)


class ReadOnly(ToyProvider):
    def is_readonly(self):
        return True


class Broken(ToyProvider):
    def __init__(self, provider_config, cluster_name):
        raise KeyError("api_key")
