"""The canonical form in which YAML values are compared.

A value becomes JSON: plain types as themselves, everything JSON cannot say as
a one-key object. Sets are compared sorted, because Python does not keep their
order.
"""

import base64
import datetime
import json
import sys

import yaml

from oracle import text_of


class Recursive(Exception):
    """An alias inside its own anchor: not a tree, so neither side can print it."""


def canonical(value, inside=()):
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return {"f": repr(value)}
    if isinstance(value, datetime.datetime):
        return {"t": value.isoformat()}
    if isinstance(value, datetime.date):
        return {"d": value.isoformat()}
    if isinstance(value, bytes):
        return {"b": base64.b64encode(value).decode()}
    if id(value) in inside:
        raise Recursive("recursive value")
    return canonical_collection(value, inside + (id(value),))


def canonical_collection(value, inside):
    if isinstance(value, dict):
        items = value.items()
        return {"m": [[canonical(key, inside), canonical(item, inside)] for key, item in items]}
    if isinstance(value, tuple):
        return {"p": [canonical(item, inside) for item in value]}
    items = [canonical(item, inside) for item in value]
    if isinstance(value, set):
        return {"s": sorted(items, key=json.dumps)}
    return items


def sort_sets(value):
    """The probe prints sets in the order of the text; sort them like ours."""
    if isinstance(value, list):
        return [sort_sets(item) for item in value]
    if isinstance(value, dict):
        value = {key: sort_sets(item) for key, item in value.items()}
        if "s" in value:
            value["s"].sort(key=json.dumps)
    return value


def expected_line(data, explain=False):
    """How PyYAML reads the bytes: canonical JSON text or `!error`.

    Decoding is that of Ray, which reads files as text: UTF-8 and universal newlines. Any exception
    counts, because PyYAML also raises KeyError, ValueError and others. Formatting an error takes
    PyYAML longer than finding it, so the text is made only on request.
    """
    try:
        return dump(canonical(yaml.safe_load(text_of(data))))
    except Exception as error:
        if not explain:
            return "!error"
        return "!error {}: {}".format(type(error).__name__, " ".join(str(error).split()))


def dump(value):
    # Reading respects Python's limit on decimal digits, as Ray does; printing
    # a long hexadecimal number must not fail for that reason.
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return json.dumps(value, separators=(",", ":"))
    finally:
        sys.set_int_max_str_digits(limit)


def same(expected, found):
    """Equal canonical lines; two errors are equal, whatever their text."""
    if expected.startswith("!error") or found.startswith("!error"):
        return expected[:6] == found[:6] == "!error"
    if expected == found:
        return True
    try:
        return dump(sort_sets(json_value(found))) == expected
    except ValueError:
        return False


def json_value(line):
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return json.loads(line)
    finally:
        sys.set_int_max_str_digits(limit)
