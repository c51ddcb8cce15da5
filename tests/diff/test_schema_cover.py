"""Every key of Ray's schema: known to Shoal with the same types, and used by
a valid file of the corpus.

The `cloudwatch` part of Ray's schema does not use `properties`, so below it
there is nothing to validate; only the key itself counts.
"""

import json
import subprocess

import pytest

import need_ray  # noqa: F401  skips this module without Ray

import oracle
import workers

JSON_TYPES = {"string", "integer", "number", "boolean", "object", "array", "null", "any"}


def ray_schema():
    with open(oracle.schema_path(), encoding="utf-8") as stream:
        return json.load(stream)


def resolve(node, root):
    while "$ref" in node:
        target = root
        for part in node["$ref"].lstrip("#/").split("/"):
            target = target[part]
        node = target
    return node


def children(node):
    """(name, sub-schema) pairs; `*` is a pattern that matches any name."""
    for name, child in node.get("properties", {}).items():
        yield name, child
    for pattern, child in node.get("patternProperties", {}).items():
        assert pattern == ".*", "a pattern this test does not know: " + pattern
        yield "*", child


def types_of(node):
    kind = node.get("type", "any")
    return frozenset([kind] if isinstance(kind, str) else kind)


def schema_keys(node, root, prefix=""):
    """{dotted path: types} of everything under a schema node."""
    keys = {}
    for name, child in children(resolve(node, root)):
        child = resolve(child, root)
        keys[prefix + name] = types_of(child)
        keys.update(schema_keys(child, root, prefix + name + "."))
    return keys


def used_keys(value, node, root, prefix=""):
    """The dotted schema paths that a configuration writes."""
    used = set()
    if not isinstance(value, dict):
        return used
    node = resolve(node, root)
    for name, child in children(node):
        child = resolve(child, root)
        for item in value.values() if name == "*" else [value[name]] if name in value else []:
            used.add(prefix + name)
            used |= used_keys(item, child, root, prefix + name + ".")
    return used


def shoal_keys(shoal):
    done = subprocess.run([shoal, "help", "--keys"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    keys = {}
    for line in done.stdout.splitlines():
        path, tab, types = line.partition("\t")
        assert tab, "no tab in the line: " + line
        assert path not in keys, "listed twice: " + path
        keys[path] = frozenset(types.split("|"))
        assert keys[path] <= JSON_TYPES, "unknown type in the line: " + line
    return keys


def test_shoal_knows_every_key(shoal, say):
    root = ray_schema()
    wanted = schema_keys(root, root)
    ours = shoal_keys(shoal)
    wrong = []
    for path, types in sorted(wanted.items()):
        if path not in ours:
            wrong.append("missing: {} ({})".format(path, "|".join(sorted(types))))
        elif ours[path] != types:
            wrong.append("{}: Ray has {}, shoal has {}".format(
                path, sorted(types), sorted(ours[path])))
    extra = len(ours.keys() - wanted.keys())
    say("schema: {} keys of Ray, {} extra of our own, {} differences".format(
        len(wanted), extra, len(wrong)))
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def test_corpus_covers_schema(corpus, say):
    root = ray_schema()
    verdicts = workers.judge_files([str(path) for path in corpus], jobs=1)
    used = set()
    valid = 0
    for path, verdict in zip(corpus, verdicts):
        if verdict["verdict"] == "accept" and not verdict["legacy"]:
            used |= used_keys(oracle.load_file(path), root, root)
            valid += 1
    missing = sorted(schema_keys(root, root).keys() - used)
    say("schema: {} valid corpus files use {} keys, {} missing".format(
        valid, len(used), len(missing)))
    assert not missing, "no valid corpus file uses: " + ", ".join(missing)


def test_schema_walk_sees_what_it_should():
    """Guards against a walk that finds nothing without an error."""
    root = ray_schema()
    keys = schema_keys(root, root)
    assert keys["available_node_types.*.docker.worker_image"] == {"string"}
    assert keys["available_node_types.*.resources.*"] == {"integer"}
    assert keys["provider.project_id"] == {"string", "null"}
    assert keys["setup_commands"] == {"array"}
    assert keys["no_restart"] == {"any"}
    assert keys["provider.cloudwatch"] == {"any"}
    assert not any(key.startswith("provider.cloudwatch.") for key in keys)
