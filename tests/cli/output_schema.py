"""share/schema/output.schema.json against what the program prints. conftest.py calls `check` after
every run with -o json, so that all tests of this folder check the schemas."""

import copy
import functools
import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "share" / "schema"
# Commands that print the object of another one.
SAME = {"stop": "down", "start": "up"}
# `config` prints the cluster file; the objects of the others have no schema yet.
WITHOUT = {"config", "train", "train ls", "train status"}


def read(name):
    return json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))


def closed(schema):
    """The schema without room for other keys. Users get the open one: a release may add keys."""
    schema = copy.deepcopy(schema)
    parts = [schema]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            parts += part.values()
            if part.get("type") == "object" and isinstance(part.get("properties"), dict):
                part.setdefault("additionalProperties", False)
        elif isinstance(part, list):
            parts += part
    return schema


@functools.cache
def validator(name):
    import jsonschema  # takes a while, and most tests do not need it
    schema = closed(read("output"))
    return jsonschema.Draft7Validator({**schema, "$ref": f"#/definitions/{name}"})


@functools.cache
def definitions():
    return set(read("output")["definitions"])


def name_of(words):
    """The definition for the output of a command line; None if there is none."""
    words = [str(word) for word in words]
    if not words or not any(word.endswith("json") and word.startswith(("json", "-o", "--output"))
                            for word in words):
        return None
    name = "config-hashes" if words[0] == "config" and "--hashes" in words else words[0]
    name = SAME.get(name, name)
    return name if name in definitions() else None


def objects(text):
    """The objects of an output: one, or one per line."""
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]


def check(words, text):
    """Fails if the output of a run does not match the schema of its command."""
    name = name_of(words)
    if name is None or not isinstance(text, str) or not text.startswith("{"):
        return
    for record in objects(text):
        kind = "error" if set(record) == {"error", "error_kind"} else name
        problems = [f"{error.json_path}: {error.message}"
                    for error in validator(kind).iter_errors(record)]
        assert not problems, f"shoal {name} -o json does not match its schema: {problems[:5]}"
