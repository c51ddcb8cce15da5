"""Checks a request against its method in the discovery document: names, types, patterns, enums and
required fields of the query and of the body.
"""

import json
import re

from . import errors
from .errors import Refusal

DEPTH_MAX = 100
RANGES = {"int32": (-2**31, 2**31 - 1), "uint32": (0, 2**32 - 1), "int64": (-2**63, 2**63 - 1),
          "uint64": (0, 2**64 - 1)}
BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
BOOLEANS = {"true": True, "false": False, "1": True, "0": False}


def snake(name):
    """Fields are named as in Google's protocol buffers where JSON is refused."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda m: "_" + m.group(1).lower(), name)


# ---- the path and the query ----


def check_path(method, found):
    for name, value in found.items():
        rule = method.value.get("parameters", {}).get(name, {})
        if "pattern" in rule and not re.fullmatch(rule["pattern"], value):
            raise errors.invalid(name, value, f"Must be a match of regex '{rule['pattern']}'")


def query_rule(method, name):
    """The parameter's rule; system parameters may have a `$`."""
    rule = method.value.get("parameters", {}).get(name)
    if rule and rule["location"] == "query":
        return rule
    return method.document.parameters.get(name) or \
        (method.document.parameters.get(name[1:]) if name.startswith("$") else None)


def check_query(method, pairs):
    """{name: value} with values of the right type; repeated parameters are lists."""
    found = {}
    for name, text in pairs:
        rule = query_rule(method, name)
        if rule is None:
            raise errors.bad_json(
                f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query '
                f"parameter. Field '{name}' could not be found in request message.", "")
        value = query_value(name, text, rule)
        if rule.get("repeated"):
            found.setdefault(name, []).append(value)
        elif name in found:
            raise errors.bad_json(f"Invalid value at '{snake(name)}': the parameter is not "
                                  "repeated.", snake(name))
        else:
            found[name] = value
    for name, rule in method.value.get("parameters", {}).items():
        if rule.get("required") and rule["location"] == "query" and name not in found:
            raise errors.required(name)
    if found.get("alt", "json") != "json":
        raise Refusal(400, "badRequest", f"Unsupported alt '{found['alt']}'")
    return found


def query_value(name, text, rule):
    if name.lstrip("$") == "alt":
        return text.partition(";")[0]
    kind = rule.get("type")
    if kind == "boolean":
        if text.lower() not in BOOLEANS:  # gcloud sends True
            raise errors.bad_json(f"Invalid value at '{snake(name)}' (TYPE_BOOL), \"{text}\"",
                                  snake(name))
        return BOOLEANS[text.lower()]
    if kind == "integer":
        low, high = RANGES[rule.get("format", "int32")]
        if not re.fullmatch(r"-?\d+", text) or not low <= int(text) <= high:
            kind = f"TYPE_{rule.get('format', 'int32').upper()}"
            raise errors.bad_json(f"Invalid value at '{snake(name)}' ({kind}), \"{text}\"",
                                  snake(name))
        return int(text)
    check_text(name, text, rule)
    return text


def check_text(field, text, rule):
    if "enum" in rule and text not in rule["enum"]:
        raise errors.invalid(field, text, "Must be one of " + ", ".join(rule["enum"]) + ".")
    if "pattern" in rule and not re.fullmatch(rule["pattern"], text):
        raise errors.invalid(field, text, f"Must be a match of regex '(?:{rule['pattern']})'")


# ---- the body ----


def read_body(method, call):
    """The body as JSON, without what is read-only; None if the method takes no body."""
    request = method.value.get("request")
    if request is None:
        if call.body.strip() not in (b"", b"{}"):
            raise errors.bad_json("Invalid JSON payload received. The method takes no body.", "")
        return None
    kind = call.headers.get("content-type", "application/json").partition(";")[0].strip()
    if kind == "application/x-www-form-urlencoded":
        raise Refusal(400, "parseError", "This API does not support parsing form-encoded input.")
    try:
        value = json.loads(call.body or b"{}")
    except (ValueError, RecursionError):
        raise Refusal(400, "parseError", "Parse Error") from None
    if not isinstance(value, dict):
        raise errors.bad_json('Invalid JSON payload received. Unknown name "": Root element must '
                              "be a message.", "")
    found = Checker(method).check(value, request, "resource", 0) if value else value
    if not found and method.action.endswith(".insert"):
        raise errors.required("resource")
    return found


def check_reply(method, value):
    """This cloud's own replies have only what the document says; else it has a bug."""
    try:
        Checker(method, is_reply=True).check(value, method.value["response"], "reply", 0)
    except Refusal as refusal:
        raise ValueError(f"the reply to {method.id} is wrong: {refusal}") from None


class Checker:
    def __init__(self, method, is_reply=False):
        self.method, self.schemas, self.is_reply = method, method.document.schemas, is_reply

    def check(self, value, rule, field, depth):
        """The value, checked; `rule` is a schema, a property of one, or a reference to one."""
        if depth > DEPTH_MAX:
            raise errors.bad_json("Message too deep. Max recursion depth reached.", field)
        if "$ref" in rule:
            rule = self.schemas[rule["$ref"]]
        kind = rule.get("type", "any")
        if kind == "object":
            return self.check_object(value, rule, field, depth)
        if kind == "array":
            if not isinstance(value, list):
                raise self.wrong(field, "TYPE_MESSAGE", value)
            items = rule["items"]
            if "pattern" in rule:  # as of tags: it is meant for each item
                items = {**items, "pattern": rule["pattern"]}
            return [self.check(inner, items, f"{field}[{number}]", depth + 1)
                    for number, inner in enumerate(value)]
        return value if kind == "any" else self.check_scalar(value, kind, rule, field)

    def check_object(self, value, rule, field, depth):
        if not isinstance(value, dict):
            raise self.wrong(field, "TYPE_MESSAGE", value)
        known, others = rule.get("properties", {}), rule.get("additionalProperties")
        found = {}
        for name, inner in value.items():
            here = known.get(name) or others
            if here is None:
                where = self.proto_path(field)
                raise errors.bad_json(f'Invalid JSON payload received. Unknown name "{name}" at '
                                      f"'{where}': Cannot find field.", where)
            if inner is None or here.get("readOnly") and not self.is_reply:
                continue  # null is unset, and Google ignores what only it may set
            found[name] = self.check(inner, here, f"{field}.{name}", depth + 1)
        for name, here in known.items():
            methods = here.get("annotations", {}).get("required", ())
            if not self.is_reply and self.method.id in methods and name not in found:
                raise errors.required(f"{field}.{name}")
        return found

    def check_scalar(self, value, kind, rule, field):
        shape = rule.get("format", "")
        if kind == "boolean":
            if not isinstance(value, bool):
                raise self.wrong(field, "TYPE_BOOL", value)
            return value
        if kind == "integer" or shape in ("int64", "uint64"):
            return self.whole(value, shape or "int32", kind, field)
        if kind == "number":
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise self.wrong(field, "TYPE_DOUBLE", value)
            return value
        if not isinstance(value, str):
            raise self.wrong(field, "TYPE_STRING", value)
        if shape == "byte" and not BASE64.fullmatch(value):
            raise self.wrong(field, "TYPE_BYTES", value)
        check_text(field, value, rule)
        return value

    def whole(self, value, shape, kind, field):
        """64-bit numbers are strings in JSON; Google also takes numbers, and strings for others."""
        low, high = RANGES[shape]
        good = isinstance(value, int) and not isinstance(value, bool) or \
            isinstance(value, str) and re.fullmatch(r"-?\d{1,20}", value)
        if not good or not low <= int(value) <= high:
            raise self.wrong(field, f"TYPE_{shape.upper()}", value)
        return str(int(value)) if kind == "string" else int(value)

    @staticmethod
    def proto_path(field):
        return ".".join(snake(word) for word in field.split("."))

    def wrong(self, field, kind, value):
        where = self.proto_path(field)
        return errors.bad_json(f"Invalid value at '{where}' ({kind}), {json.dumps(value)[:200]}",
                               where)
