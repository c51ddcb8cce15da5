#!/usr/bin/env python3
"""Write ec2_types.tsv: what Shoal knows of EC2 instance types without asking AWS.

    python make_ec2_types.py            write the table next to this script
    python make_ec2_types.py --check    compare only: exit 1 and show the difference

Run it with a Python that has moto and ray. moto carries what AWS's
DescribeInstanceTypes answered on the day it was recorded, all regions together;
types that AWS no longer lists there but still runs (p3, g4ad, ...) come from an
older release of moto, which pip fetches; botocore knows the names of some more.
Ray carries the NeuronCore counts that its own launcher fills in. Where two
readings of a field are possible the one that Ray's launcher takes is kept, so
that a node type gets the resources here that it gets there.

The class Catalog serves make_ec2_params.py too.
"""

import argparse
import datetime
import difflib
import gzip
import importlib.metadata
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
MOTO_FILE = "ec2/resources/instance_types.json.gz"
OLDER_MOTO = "5.0.0"

COLUMNS = [
    "name",
    "vcpus",
    "memory_mib",
    "architectures",
    "gpus",
    "gpu_name",
    "gpu_memory_mib",
    "neuron_cores",
    "current_generation",
    "storage_gb",
    "bare_metal",
]

ABOUT = [
    "EC2 instance types, one a line, tab separated, sorted by name in byte order.",
    "\"-\" means none. Flags are 0 or 1. gpu_memory_mib is per GPU. No prices.",
    "gpus is the whole GPUs that AWS counts and Ray reads: a type with a slice of",
    "one (g6f, gr6f) says 0, with a name and the slice's memory.",
    "neuron_cores is Ray's own table; Ray counts none for other Neuron types.",
    "A row of \"-\" only is a type that exists and whose description we do not have.",
    "All regions together: a type may be absent from yours, and one that is missing",
    "here (too new, reserved) may still exist for your account.",
]


def cell(value):
    """One field of the table; a value that the reader could not parse stops us."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int) and value >= 0:
        return str(value)
    if isinstance(value, str) and re.fullmatch(r"[!-~]+( [!-~]+)*", value) and value != "-":
        return value
    raise ValueError(f"not a table field: {value!r}")


def type_row(name, info, neuron_cores):
    if not re.fullmatch(r"[a-z0-9-]+\.[a-z0-9-]+", name) or info["InstanceType"] != name:
        raise ValueError(f"odd type name: {name!r}")
    gpu = {}
    if "GpuInfo" in info:
        # Ray's launcher asserts the same: one kind of GPU per type.
        (gpu,) = info["GpuInfo"]["Gpus"]
    return [
        name,
        info["VCpuInfo"]["DefaultVCpus"],
        info["MemoryInfo"]["SizeInMiB"],
        ",".join(info["ProcessorInfo"]["SupportedArchitectures"]),
        gpu["Count"] if gpu else None,
        gpu["Name"] if gpu else None,
        gpu["MemoryInfo"]["SizeInMiB"] if gpu else None,
        neuron_cores,
        info["CurrentGeneration"],
        info.get("InstanceStorageInfo", {}).get("TotalSizeInGB"),
        info["BareMetal"],
    ]


def read_moto():
    (package,) = importlib.util.find_spec("moto").submodule_search_locations
    with gzip.open(pathlib.Path(package, MOTO_FILE), "rt", encoding="utf-8") as f:
        return json.load(f)


def read_older_moto():
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder]
        subprocess.run([*pip, f"moto=={OLDER_MOTO}"], check=True, stderr=subprocess.DEVNULL)
        (wheel,) = pathlib.Path(folder).glob("moto-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            return json.loads(archive.read("moto/" + MOTO_FILE.removesuffix(".gz")))


def names_in_botocore():
    import botocore.session

    model = botocore.session.get_session().get_service_model("ec2")
    return set(model.shape_for("InstanceType").enum)


def make_rows():
    from ray._private.accelerators.neuron import AWS_NEURON_INSTANCE_MAP

    types = {**read_older_moto(), **read_moto()}
    lost = sorted(set(AWS_NEURON_INSTANCE_MAP) - set(types))
    if lost:
        print(f"note: Ray counts NeuronCores of types that moto lacks: {lost}", file=sys.stderr)
    rows = [type_row(name, info, AWS_NEURON_INSTANCE_MAP.get(name)) for name, info in types.items()]
    unknown = [None] * (len(COLUMNS) - 1)
    return rows + [[name, *unknown] for name in names_in_botocore() - set(types)]


class Catalog:
    """A generated table: its header, and writing it or comparing it."""

    NOT_INSTALLED = 3  # exit status; 1 is "differs", 2 is argparse's "wrong usage"

    def __init__(self, script, about, columns, packages, make_rows):
        self.script = pathlib.Path(script).name
        self.target = HERE / (self.script.removeprefix("make_").removesuffix(".py") + ".tsv")
        self.about = about
        self.columns = columns
        self.packages = packages  # (package, which part of it)
        self.make_rows = make_rows

    def text(self):
        head = [*self.about, f"made by {self.script}; do not edit"]
        version = importlib.metadata.version
        head += [f"source: {name} {version(name)} ({part})" for name, part in self.packages]
        head.append(f"date: {datetime.datetime.now(datetime.timezone.utc).date().isoformat()}")
        head.append("columns: " + " ".join(self.columns))
        rows = sorted(("\t".join(map(cell, row)) for row in self.make_rows()), key=str.encode)
        return "".join([f"# {line}\n" for line in head] + [f"{row}\n" for row in rows])

    def check(self, fresh):
        def undated(text):
            return [line for line in text.splitlines() if not line.startswith("# date: ")]

        stored = self.target.read_text(encoding="ascii") if self.target.exists() else ""
        name = self.target.name
        sides = (undated(stored), undated(fresh), f"{name} (stored)", f"{name} (fresh)")
        diff = list(difflib.unified_diff(*sides, lineterm="", n=0))
        print("\n".join(diff) if diff else f"{name} is up to date")
        return 1 if diff else 0

    def main(self):
        parser = argparse.ArgumentParser(description=f"Make {self.target.name}.")
        parser.add_argument("--check", action="store_true", help="compare, write nothing")
        args = parser.parse_args()
        for package, _ in self.packages:
            try:
                importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                print(f"{self.script}: needs the Python package {package}", file=sys.stderr)
                return self.NOT_INSTALLED
        fresh = self.text()
        if args.check:
            return self.check(fresh)
        self.target.write_text(fresh, encoding="ascii")
        rows = sum(not line.startswith("#") for line in fresh.splitlines())
        print(f"{self.target.name}: {rows} rows")
        return 0


if __name__ == "__main__":
    sys.exit(
        Catalog(
            __file__,
            ABOUT,
            COLUMNS,
            [
                ("moto", f"{MOTO_FILE}; what it lacks from moto {OLDER_MOTO}"),
                ("botocore", "EC2 service model, InstanceType"),
                ("ray", "AWS_NEURON_INSTANCE_MAP"),
            ],
            make_rows,
        ).main()
    )
