"""share/schema/output.schema.json against what the program prints. The tests of this folder, of
whole clusters and of training call `check` after every run with -o json."""

import copy
import functools
import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "share" / "schema"
# Commands that print the object of another one.
SAME = {"stop": "down", "start": "up"}
# Commands that print a file with a schema of its own.
FILES = {"config": "cluster"}


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
    if name in FILES:
        return jsonschema.Draft7Validator(read(FILES[name]))
    schema = closed(read("output"))
    return jsonschema.Draft7Validator({**schema, "$ref": f"#/definitions/{name}"})


@functools.cache
def definitions():
    return set(read("output")["definitions"])


def command_of(words):
    """The name of a command's definition, with options that change what it prints."""
    if words[0] == "config" and "--hashes" in words:
        return "config-hashes"
    if words[0] == "train" and words[1:2] in (["ls"], ["status"]):
        return "-".join(words[:2])
    return SAME.get(words[0], words[0])


def name_of(words):
    """The definition for the output of a command line; None if there is none."""
    words = [str(word) for word in words]
    words = words[:words.index("--")] if "--" in words else words
    if not words or not any(word.endswith("json") and word.startswith(
            ("json", "-o", "--output", "--format")) for word in words):
        return None
    name = command_of(words)
    return name if name in definitions() or name in FILES else None


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
