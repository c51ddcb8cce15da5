#!/usr/bin/env python3
"""Write ec2_params.tsv: the parameters of EC2's RunInstances and their types.

    python make_ec2_params.py            write the table next to this script
    python make_ec2_params.py --check    compare only: exit 1 and show the difference

Run it with a Python that has botocore. A node type's node_config is handed to
RunInstances, so this table is what a misspelt key or a wrong type in it is
checked against, with file and line, before any call is made.
"""

import sys

sys.dont_write_bytecode = True  # leave no cache of our neighbour in the source tree

from make_ec2_types import Catalog  # noqa: E402

# Parameters whose own members are listed too; the rest is left to AWS to judge.
OPENED = {
    "BlockDeviceMappings[]",
    "BlockDeviceMappings[].Ebs",
    "CpuOptions",
    "IamInstanceProfile",
    "InstanceMarketOptions",
    "InstanceMarketOptions.SpotOptions",
    "LaunchTemplate",
    "MetadataOptions",
    "NetworkInterfaces[]",
    "Placement",
    "TagSpecifications[]",
}

# botocore's shape types, as a YAML or JSON document writes such a value.
JSON_TYPES = {
    "string": "string",
    "timestamp": "string",
    "blob": "string",
    "integer": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "boolean": "boolean",
    "structure": "object",
    "map": "object",
    "list": "array",
}

# A longer list of allowed values (InstanceType has over a thousand) grows too
# often to be worth refusing a value for.
MOST_VALUES = 40

ABOUT = [
    "Parameters of EC2 RunInstances, one a line, tab separated, sorted in byte order.",
    "A path names a member by \".\" and the items of an array by \"[]\".",
    f"values is there only for a string with at most {MOST_VALUES} allowed values, joined",
    "by \"|\".",
]


def member_rows(structure, prefix=""):
    for name, shape in structure.members.items():
        path = prefix + name
        row = [path, JSON_TYPES[shape.type_name]]
        values = getattr(shape, "enum", None) or []
        if 0 < len(values) <= MOST_VALUES:
            if any("|" in value for value in values):
                raise ValueError(f"{path}: a value holds the separator: {values}")
            row.append("|".join(values))
        yield row
        inside = path
        if shape.type_name == "list":
            shape = shape.member
            inside += "[]"
        if inside in OPENED:
            yield from member_rows(shape, inside + ".")


def make_rows():
    import botocore.session

    model = botocore.session.get_session().get_service_model("ec2")
    rows = list(member_rows(model.shape_for("RunInstancesRequest")))
    paths = [row[0] for row in rows]
    gone = [path for path in sorted(OPENED) if not any(p.startswith(path + ".") for p in paths)]
    if gone:
        raise ValueError(f"the model no longer has {gone}")
    return rows


if __name__ == "__main__":
    sys.exit(
        Catalog(
            __file__,
            ABOUT,
            ["path", "type", "values"],
            [("botocore", "EC2 service model, RunInstancesRequest")],
            make_rows,
        ).main()
    )
