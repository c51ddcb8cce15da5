#!/usr/bin/env python3
"""Write gce_fields.tsv: the fields of Compute Engine's Instance and their types.

    python make_gce_fields.py            write the table next to this script
    python make_gce_fields.py --check    compare only: exit 1 and show the difference

Run it with a Python that has google-api-python-client, which carries Google's discovery documents.
A node type's node_config is the body of instances.insert, so this table is what a misspelt key or
a wrong type in it is checked against, with file and line, before any call is made.
"""

import json
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # leave no cache of our neighbour in the source tree

from make_ec2_types import Catalog  # noqa: E402

PACKAGE = "google-api-python-client"
ENCRYPTION_KEY = "CustomerEncryptionKey"  # in six places; its members are left to Google to judge

ABOUT = [
    "Fields of Compute Engine's Instance, one a line, tab separated, sorted in byte order.",
    "A path names a member by \".\" and the items of an array by \"[]\".",
    "int64 is a whole number or its digits as text; labels is a map of texts; ignored is a field",
    "that only Google sets. values is there only for a string with allowed values, joined",
    "by \"|\".",
]


def type_of(rule):
    """The table's word for the type of a property."""
    if rule.get("readOnly"):
        return "ignored"
    if rule.get("format") in ("int64", "uint64"):
        return "int64"
    if "additionalProperties" in rule:
        return "labels"
    return "object" if "$ref" in rule else rule["type"]


def values_of(path, rule):
    values = [value for value in rule.get("enum", [])
              if not re.search(r"UNSPECIFIED|UNDEFINED", value)]
    if any("|" in value for value in values):
        raise ValueError(f"{path}: a value holds the separator: {values}")
    return ["|".join(values)] if values else []


def property_rows(schemas, properties, prefix=""):
    for name, rule in properties.items():
        path = prefix + name
        kind = type_of(rule)
        yield [path, kind, *values_of(path, rule)] if kind == "string" else [path, kind]
        if kind == "array":
            rule, path = rule["items"], path + "[]"
        if rule.get("$ref") == ENCRYPTION_KEY or kind == "ignored":
            continue
        inner = schemas[rule["$ref"]] if "$ref" in rule else rule
        yield from property_rows(schemas, inner.get("properties", {}), path + ".")


def make_rows():
    import googleapiclient.discovery_cache as cache

    folder = pathlib.Path(cache.__file__).parent / "documents"
    document = json.loads((folder / "compute.v1.json").read_text(encoding="utf-8"))
    schemas = document["schemas"]
    return list(property_rows(schemas, schemas["Instance"]["properties"]))


if __name__ == "__main__":
    sys.exit(
        Catalog(
            __file__,
            ABOUT,
            ["path", "type", "values"],
            [(PACKAGE, "discovery document compute.v1, Instance")],
            make_rows,
        ).main()
    )
