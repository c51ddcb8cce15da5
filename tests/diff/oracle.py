"""What Ray itself says about a cluster file, and which hashes it computes.

Importable, and a worker: `python oracle.py config` reads one path per line
and answers one JSON line per path; `python oracle.py hash` reads the same
records as the hash probe and answers one line per record. Importing Ray is
slow, so one worker handles many files.

Nothing here touches the network: the EC2 instance list comes from a recorded
file, provider modules other than aws and gcp are never imported, and sockets
are closed off in worker mode.
"""

import copy
import functools
import gzip
import io
import json
import logging
import os
import pathlib
import socket
import sys

import yaml

import gce_machines

# Ray's own conversion gives the two halves of an old-style file these names.
LEGACY_HEAD = "ray-legacy-head-node-type"
LEGACY_WORKER = "ray-legacy-worker-node-type"

# Providers whose Ray default `setup_commands` install a nightly wheel.
NIGHTLY_WHEEL_PROVIDERS = ("aws", "gcp", "azure")

# Keys that Ray 2.60 rejects and Shoal converts, whatever the provider.
LEGACY_SCALARS = ("initial_workers", "autoscaling_mode", "target_utilization_fraction")
LEGACY_NODES = ("head_node", "worker_nodes")


# --- reading -----------------------------------------------------------------


ROOT = pathlib.Path(__file__).resolve().parents[2]
TYPES_TABLE = ROOT / "src" / "config" / "catalog" / "ec2_types.tsv"


def text_of(data):
    """What `open(path).read()` returns in a UTF-8 locale: strict decoding and
    universal newlines."""
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8").read()


def load_file(path):
    # Exactly Ray's way of reading a cluster file.
    with open(path, encoding="utf-8") as stream:
        return yaml.safe_load(stream.read())


# --- Ray, made fast and local ------------------------------------------------


@functools.lru_cache(maxsize=None)
def ray_modules():
    """Imports Ray once and patches what would be slow or would use a network."""
    logging.disable(logging.CRITICAL)
    import jsonschema
    import moto
    from ray.autoscaler._private import providers, util
    from ray.autoscaler._private.aws import node_provider as aws
    from ray.autoscaler._private.gcp import node_provider as gcp
    from ray.autoscaler.node_provider import NodeProvider

    instances = recorded_instances(moto)
    aws.list_ec2_instances = lambda region, aws_credentials=None: instances

    read_defaults = providers._get_default_config
    util._get_default_config = lambda provider: cached_defaults(read_defaults, provider)

    # jsonschema.validate() checks the schema itself on every call; the schema
    # never changes, so that costs time and proves nothing after the first call.
    validator = jsonschema.Draft7Validator
    with open(schema_path(), encoding="utf-8") as stream:
        validator.check_schema(json.load(stream))
    validator.check_schema = classmethod(lambda cls, schema, **options: None)
    return util, providers, aws.AWSNodeProvider, gcp.GCPNodeProvider, NodeProvider


def schema_path():
    """Ray's schema file, found without paying for the import of Ray."""
    import importlib.util

    ray_init = importlib.util.find_spec("ray").origin
    return os.path.join(os.path.dirname(ray_init), "autoscaler", "ray-schema.json")


def recorded_instances(moto):
    """What EC2 answered, as moto recorded it, plus the older types in our table."""
    path = os.path.join(
        os.path.dirname(moto.__file__), "ec2", "resources", "instance_types.json.gz"
    )
    with gzip.open(path) as stream:
        instances = json.load(stream)
    for line in open(TYPES_TABLE, encoding="ascii"):
        name, vcpus, memory, _, gpus, gpu_name, *_ = line.split("\t") + [""] * 6
        if line.startswith("#") or name in instances or vcpus == "-":
            continue
        older = {"InstanceType": name, "VCpuInfo": {"DefaultVCpus": int(vcpus)}}
        older["MemoryInfo"] = {"SizeInMiB": int(memory)}
        if gpus != "-":
            older["GpuInfo"] = {"Gpus": [{"Count": int(gpus), "Name": gpu_name}]}
        instances[name] = older
    return list(instances.values())


_defaults = {}


def cached_defaults(read, provider):
    name = provider["type"]
    if name not in _defaults:
        _defaults[name] = read(provider)
        if name == "gcp":
            boot_a_kept_image(_defaults[name])
    return copy.deepcopy(_defaults[name])


# --- one configuration -------------------------------------------------------


def boot_a_kept_image(defaults):
    """DELIBERATE DIFFERENCE 3: Google has ended the image family of Ray's default."""
    for kind in defaults["available_node_types"].values():
        kind["node_config"]["disks"][0]["initializeParams"] = {
            "diskSizeGb": 60,
            "sourceImage": "projects/ubuntu-os-cloud/global/images/family/ubuntu-2204-lts"}


def provider_class(config):
    """The class whose resource autofill Ray would call."""
    _, providers, aws, gcp, base = ray_modules()
    kind = config["provider"]["type"]
    if providers._NODE_PROVIDERS.get(kind) is None:
        raise NotImplementedError("Unsupported provider {}".format(config["provider"]))
    if kind == "external":
        check_module_path(config["provider"]["module"])
    return {"aws": aws, "gcp": gcp}.get(kind, base)


def check_module_path(path):
    # The part of Ray's loader that does not depend on what is installed.
    if len(path.split(".")) < 2:
        raise ValueError("You need to pass a valid path like mymodule.provider_class")


def ray_prepare(config):
    """The part of Ray's _bootstrap_config before any cloud call."""
    util = ray_modules()[0]
    config = util.prepare_config(config)
    cls = provider_class(config)
    try:
        config = cls.fillout_available_node_types_resources(config)
    except Exception:  # Ray only warns here, and keeps the unfilled config.
        pass
    util.validate_config(config)
    return config


def without_nightly_wheel(config):
    """DELIBERATE DIFFERENCE 1: Shoal installs Ray in a step of its own, so its
    default for `setup_commands` is an empty list where Ray's default installs
    a nightly wheel."""
    if not isinstance(config, dict) or "setup_commands" in config:
        return config
    provider = config.get("provider")
    if isinstance(provider, dict) and provider.get("type") in NIGHTLY_WHEEL_PROVIDERS:
        return dict(config, setup_commands=[])
    return config


# --- DELIBERATE DIFFERENCE 2: keys Ray rejects and Shoal converts -------------


def is_legacy(config):
    """True when the file has a key that only Shoal still understands."""
    if not isinstance(config, dict) or not isinstance(config.get("provider"), dict):
        return False
    kind = config["provider"].get("type")
    if kind == "kuberay":
        return False  # Ray passes these through unprepared, and so do we.
    if any(key in config for key in LEGACY_SCALARS):
        return True
    written = [key for key in LEGACY_NODES if key in config]
    if not written or kind == "local":
        return False  # Ray's own local provider decides these.
    if "available_node_types" in config:
        return any(config[key] for key in written)
    # Two empty maps are the only old form that Ray still accepts.
    return not all(config.get(key) == {} for key in LEGACY_NODES)


def modern_form(config):
    """The same cluster in the form that Ray 2.60 expects."""
    config = dict(config)
    convert_speed(config)
    config.pop("initial_workers", None)
    written = [key for key in LEGACY_NODES if key in config]
    if written and config["provider"].get("type") != "local":
        convert_nodes(config)
    return config


def convert_speed(config):
    # The rules of Ray's own v1 autoscaler, which still had both keys; but here a fraction that is
    # not a number is always an error.
    aggressive = config.pop("autoscaling_mode", None) == "aggressive"
    fraction = config.pop("target_utilization_fraction", 0)
    if isinstance(fraction, bool) or not isinstance(fraction, (int, float)):
        raise TypeError("target_utilization_fraction must be a number")
    if config.get("upscaling_speed"):
        return
    if aggressive:
        config["upscaling_speed"] = 99999
    elif fraction:
        config["upscaling_speed"] = 1 / max(fraction, 0.001) - 1


def convert_nodes(config):
    head = config.pop("head_node", None)
    workers = config.pop("worker_nodes", None)
    if "available_node_types" in config:
        return
    defaults = ray_modules()[0]._get_default_config(config["provider"])
    config["available_node_types"] = {
        LEGACY_HEAD: head_type(head, defaults),
        LEGACY_WORKER: worker_type(workers, config, defaults),
    }
    config["head_node_type"] = LEGACY_HEAD


def head_type(node, defaults):
    if is_empty_node(node):
        return defaults["available_node_types"][defaults["head_node_type"]]
    return node_type_of(node, 0, 0)


def worker_type(node, config, defaults):
    if is_empty_node(node):
        types = dict(defaults["available_node_types"])
        del types[defaults["head_node_type"]]
        if len(types) != 1:
            raise ValueError("no single default worker type")
        return next(iter(types.values()))
    least = config.get("min_workers", 0)
    most = config["max_workers"] if "max_workers" in config else defaults["max_workers"]
    return node_type_of(node, least, most)


def is_empty_node(node):
    if node is not None and not isinstance(node, dict):
        raise TypeError("a legacy node must be a map or null")
    return not node


def node_type_of(node, least, most):
    return {
        "node_config": {key: node[key] for key in node if key != "resources"},
        "resources": node.get("resources") or {},
        "min_workers": least,
        "max_workers": most,
    }


# --- verdicts ----------------------------------------------------------------


def judge_config(config):
    """{"verdict": accept|reject, "legacy": bool, "config"|"error": text}."""
    legacy = is_legacy(config)
    try:
        if legacy:
            config = modern_form(config)
        if kind_of(config) == "gcp":
            gce_machines.fill(config)
        prepared = ray_prepare(without_nightly_wheel(config))
        text = json.dumps(prepared, default=str)
    except (Exception, SystemExit) as error:
        return reject(error, legacy)
    return {"verdict": "accept", "legacy": legacy, "config": text}


def kind_of(config):
    provider = config.get("provider") if isinstance(config, dict) else None
    return provider.get("type") if isinstance(provider, dict) else None


def judge_file(path):
    try:
        config = load_file(path)
    except Exception as error:
        return reject(error, False)
    return judge_config(config)


def reject(error, legacy):
    text = "{}: {}".format(type(error).__name__, str(error).split("\n")[0][:300])
    return {"verdict": "reject", "legacy": legacy, "error": text}


# --- hashes ------------------------------------------------------------------


def hash_line(record):
    """One answer line for one record of the hash probe."""
    try:
        return hash_of(yaml.safe_load(text_of(record)))
    except Exception as error:
        return "!error {}: {}".format(type(error).__name__, str(error).split("\n")[0])


def hash_of(record):
    util = ray_modules()[0]
    if record["op"] == "launch":
        return util.hash_launch_conf(record["node_config"], record["auth"])
    util._hash_cache.clear()
    runtime, contents = util.hash_runtime_conf(
        record["file_mounts"],
        record["cluster_synced_files"],
        record["extra"],
        generate_file_mounts_contents_hash=True,
    )
    return "{} {}".format(runtime, contents)


# --- worker ------------------------------------------------------------------


def read_records(stream):
    """Yields the byte strings of `<decimal length>\\n<bytes>` records."""
    while True:
        length = stream.readline()
        if not length:
            return
        yield stream.read(int(length))


def no_network(*_args, **_kwargs):
    raise OSError("the oracle has no network")


def quiet_stdout():
    """Use the real stdout for answers; discard what Ray prints."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    return answers


def main():
    answers = quiet_stdout()
    ray_modules()
    socket.socket.connect = no_network
    if sys.argv[1] == "config":
        for line in sys.stdin:
            answers.write(json.dumps(judge_file(line.rstrip("\n"))) + "\n")
    else:
        for record in read_records(sys.stdin.buffer):
            answers.write(hash_line(record).replace("\n", " ") + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
