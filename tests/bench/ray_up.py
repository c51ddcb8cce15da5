"""The part of `ray up FILE` before any cloud call, by Ray's own code.

usage: ray_up.py [--repeat N | --print] FILE

The imports are those of the `ray` command, which come before it looks at its arguments, and of
the provider's module, which it loads for the file. The one call that would use the network, the
listing of EC2's machine types, is answered at once with the few types that the file names.

--repeat N  do it N times in this process and print the seconds of each as JSON
--print     print the configuration as JSON
"""

import argparse
import json
import time

import yaml
from ray.scripts.scripts import main as ray_command  # noqa: F401, what the `ray` program imports

from ray.autoscaler._private import providers, util

SIZES = {"m5.large": (2, 8192), "m5.4xlarge": (16, 65536), "c5.4xlarge": (16, 32768),
          "r5.2xlarge": (8, 65536), "g5.xlarge": (4, 16384), "p4d.24xlarge": (96, 1179648)}
GPUS = {"g5.xlarge": ("A10G", 1), "p4d.24xlarge": ("A100", 8)}


def canned_reply(_region, _credentials=None):
    reply = []
    for name, (cpus, memory) in SIZES.items():
        row = {"InstanceType": name, "VCpuInfo": {"DefaultVCpus": cpus},
               "MemoryInfo": {"SizeInMiB": memory}}
        if name in GPUS:
            model, count = GPUS[name]
            row["GpuInfo"] = {"Gpus": [{"Name": model, "Manufacturer": "NVIDIA", "Count": count}]}
        reply.append(row)
    return reply


def prepare(path):
    """create_or_update_cluster and _bootstrap_config, up to where AWS is asked."""
    with open(path, encoding="utf-8") as stream:
        config = yaml.safe_load(stream.read())
    provider = providers._NODE_PROVIDERS[config["provider"]["type"]](config["provider"])
    config = util.prepare_config(config)
    config = provider.fillout_available_node_types_resources(config)
    util.validate_config(config)
    return config


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=0)
    parser.add_argument("--print", action="store_true")
    parser.add_argument("file")
    args = parser.parse_args()
    from ray.autoscaler._private.aws import node_provider

    node_provider.list_ec2_instances = canned_reply
    seconds = []
    for _ in range(args.repeat or 1):
        began = time.perf_counter()
        config = prepare(args.file)
        seconds.append(time.perf_counter() - began)
    if args.repeat:
        print(json.dumps(seconds))
    elif args.print:
        print(json.dumps(config))


if __name__ == "__main__":
    main()
