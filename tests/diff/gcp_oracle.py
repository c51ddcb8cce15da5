"""What Ray and Google's API say about a gcp cluster file: a worker like oracle.py.

`python gcp_oracle.py` reads one path per line and answers one JSON line per path:

    accepts   Ray prepares the file
    starts    Ray's bootstrap gets as far as its first call to Google, and has what it needs later
    launch    {node type: launch hash} of the prepared configuration
    runtime   [of the head, of a worker]
    filled    {node type: launch hash} after Ray's bootstrap, with a cloud that has everything
    google    {node type: what Google's discovery document says against it, or null}
"""

import copy
import functools
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gce"))

import oracle  # noqa: E402

ACCOUNT = "ray-autoscaler-sa-v1@my-project.iam.gserviceaccount.com"
SUBNET = {"selfLink": "https://www.googleapis.com/compute/v1/projects/p/regions/r/subnetworks/d"}


class Reached(Exception):
    """Ray called Google."""


class Api:
    """Answers every chain of calls that ends in execute() with one reply."""

    def __init__(self, reply):
        self.reply = reply

    def __getattr__(self, name):
        return (lambda **_: self.reply) if name == "execute" else lambda **_: self


class Crm(Api):
    """Projects exist, and the account has all roles."""

    def __init__(self, roles):
        bindings = [{"role": role, "members": ["serviceAccount:" + ACCOUNT]} for role in roles]
        super().__init__({"projectId": "my-project", "lifecycleState": "ACTIVE",
                          "bindings": bindings})


def bootstrap(config, clients):
    from ray.autoscaler._private.gcp import config as gcp

    def answer(provider):
        if clients is None:
            check_credentials(provider)
            raise Reached
        return clients(gcp)

    real, gcp.construct_clients_from_provider_config = \
        gcp.construct_clients_from_provider_config, answer
    try:
        return gcp.bootstrap_gcp(copy.deepcopy(config))
    finally:
        gcp.construct_clients_from_provider_config = real


def check_credentials(provider):
    """What Ray's own function checks before it makes a client."""
    found = provider.get("gcp_credentials")
    if found is not None:
        kind, text = found["type"], found["credentials"]
        if kind == "service_account":
            json.loads(text)


def rich_clients(gcp):
    account = {"email": ACCOUNT, "projectId": "my-project"}
    roles = gcp.DEFAULT_SERVICE_ACCOUNT_ROLES + gcp.TPU_SERVICE_ACCOUNT_ROLES
    return Crm(roles), Api(account), Api({"items": [SUBNET]}), None


def starts(config):
    try:
        bootstrap(config, None)
    except Reached:
        pass
    except Exception:
        return False
    needed = ("project_id", "region", "availability_zone")
    return all(config["provider"].get(key) is not None for key in needed) and \
        all(is_machine(one["node_config"]) for one in config["available_node_types"].values())


def is_machine(node_config):
    """Ray's bootstrap looks at all node types only until it finds a TPU."""
    from ray.autoscaler._private.gcp.config import get_node_type
    try:
        return bool(get_node_type(node_config))
    except Exception:
        return False


def hashes_of(config, node_of):
    util = oracle.ray_modules()[0]
    return {name: util.hash_launch_conf(node_of(name, one), config["auth"])
            for name, one in config["available_node_types"].items()}


def filled(config):
    try:
        config = bootstrap(config, rich_clients)
    except Exception:
        return None

    def node_of(name, one):
        if name != config["head_node_type"]:
            return one["node_config"]
        return {**config["head_node"], **one["node_config"]}  # as get_or_create_head_node

    return hashes_of(config, node_of)


def runtime(config):
    util = oracle.ray_modules()[0]
    commands = [config.get("worker_setup_commands"), config.get("worker_start_ray_commands")]
    head, _ = util.hash_runtime_conf(config["file_mounts"], None, config)
    worker, _ = util.hash_runtime_conf(config["file_mounts"], config["cluster_synced_files"],
                                       commands)
    return [head, worker]


# ---- Google's document ----


@functools.lru_cache(maxsize=None)
def insert_method():
    from gce import discovery
    document = discovery.Document(discovery.folder() / "compute.v1.json")
    return document.methods["compute.instances.insert"]


def google(node_config):
    """Why Google would refuse the body that Ray makes of a node_config, or None."""
    from gce import errors, validate
    if "machineType" not in node_config:
        return None
    body = {key: value for key, value in node_config.items()
            if key not in ("networkConfig", "sourceInstanceTemplate")}
    if isinstance(body.get("scheduling"), list):  # Ray's own examples
        merged = {}
        for item in body["scheduling"]:
            if not isinstance(item, dict):
                return "scheduling"
            merged.update(item)
        body["scheduling"] = merged
    body["name"] = "ray-x-worker-00000000-compute"
    method = insert_method()
    try:
        validate.Checker(method).check(body, method.value["request"], "resource", 0)
    except errors.Refusal as refusal:
        return str(refusal)
    return None


def judge(path):
    verdict = oracle.judge_file(path)
    if verdict["verdict"] == "reject":
        return {"accepts": False, "error": verdict["error"]}
    config = json.loads(verdict["config"])
    types = config["available_node_types"]
    return {
        "accepts": True,
        "starts": starts(config),
        "launch": hashes_of(config, lambda _, one: one["node_config"]),
        "runtime": runtime(config),
        "filled": filled(config),
        "google": {name: google(one["node_config"]) for name, one in types.items()},
    }


def main():
    answers = oracle.quiet_stdout()
    oracle.ray_modules()
    for line in sys.stdin:
        answers.write(json.dumps(judge(line.rstrip("\n"))) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
