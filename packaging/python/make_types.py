#!/usr/bin/env python3
"""The types of what commands print with -o json, from share/schema/output.schema.json.

  packaging/python/make_types.py > packaging/python/shoal_ray/types.py
"""

import json
import keyword
import pathlib
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "share" / "schema" / "output.schema.json"
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
# Commands that print an object per line, and those that print the object of another one.
LINES = ("status", "events", "logs", "train")
SAME = {"stop": "down", "start": "up"}
HEAD = '''\
"""The types of what commands print with `-o json`. Made by make_types.py from the JSON Schema.

A later version of the command may add keys.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Dict, List, Literal, Optional, Protocol, TypedDict, Union, overload

Word = Union[str, "os.PathLike[str]"]
'''
OPTIONS = {
    "Query": "input: Optional[str] = ..., timeout: Optional[float] = ...,\n"
             "                 cwd: Optional[Word] = ...,\n"
             "                 env: Optional[Mapping[str, str]] = ...)",
    "Stream": "cwd: Optional[Word] = ...,\n"
              "                 env: Optional[Mapping[str, str]] = ...)"}


def class_name(words):
    return "".join(part.capitalize() for part in words.replace("_", "-").split("-"))


class Types:
    """Classes in the order in which they are needed."""

    def __init__(self, definitions):
        self.definitions, self.classes = definitions, {}

    def of(self, schema, name):
        """The annotation of a schema; `name` is that of its class, if it needs one."""
        if "$ref" in schema:
            return self.named(schema["$ref"].rpartition("/")[2])
        if "enum" in schema:
            return f"Literal[{', '.join(json.dumps(word) for word in schema['enum'])}]"
        if "anyOf" in schema:
            return f"Union[{', '.join(self.of(part, name) for part in schema['anyOf'])}]"
        kind = schema.get("type")
        if isinstance(kind, list):
            return f"Union[{', '.join(PLAIN[word] for word in kind)}]"
        if kind == "array":
            return f"List[{self.of(schema['items'], name)}]"
        if kind == "object" and "properties" not in schema:
            more = schema.get("additionalProperties")
            return f"Dict[str, {self.of(more, name) if more else 'Any'}]"
        return self.made(schema, name) if kind == "object" else PLAIN.get(kind, "Any")

    def named(self, definition):
        """The class of a definition; of one that only refers to another, that class."""
        return self.of(self.definitions[definition], class_name(definition))

    def made(self, schema, name):
        rows = {key: self.of(part, name + class_name(key))
                for key, part in schema["properties"].items()}
        always = {key for key in rows if key in schema.get("required", ())}
        self.classes[name] = (schema.get("description", ""), rows, always)
        return name


def folded(line):
    return textwrap.fill(line, 100, subsequent_indent=" " * 8, break_long_words=False,
                         break_on_hyphens=False, drop_whitespace=True)


def base_text(name, rows, told=""):
    """A class whose keys are always there. A keyword of Python needs the other way to write it."""
    if any(keyword.iskeyword(key) for key in rows):
        body = "".join(folded(f'    "{key}": {kind},') + "\n" for key, kind in rows.items())
        return f'\n\n{name} = TypedDict("{name}", {{\n{body}}})\n'
    doc = folded(f'    """{told}"""') + "\n\n" if told else ""
    body = "".join(folded(f"    {key}: {kind}") + "\n" for key, kind in rows.items())
    return f"\n\nclass {name}(TypedDict):\n{doc}{body}"


def class_text(name, told, rows, always):
    needed = {key: rows[key] for key in rows if key in always}
    if len(needed) == len(rows):
        return base_text(name, rows, told)
    doc = folded(f'    """{told}"""') + "\n\n" if told else ""
    others = "".join(folded(f"    {key}: {rows[key]}") + "\n" for key in rows if key not in always)
    return base_text("_" + name, needed) + \
        f"\n\nclass {name}(_{name}, total=False):\n{doc}{others}"


def calls(types, kind, commands):
    """The class of a function: an overload per command, then one for all others."""
    text = f"\n\nclass {kind}(Protocol):\n"
    answer = "{}" if kind == "Query" else "Iterator[{}]"
    for command, definition in sorted(commands.items()):
        words = ", ".join(f"{name}: Literal[{json.dumps(word)}]"
                          for name, word in zip(("verb", "part"), command.split()))
        made = answer.format(types.named(definition))
        text += (f"    @overload\n    def __call__(self, {words}, /, *words: Word,\n"
                 f"                 {OPTIONS[kind]} -> {made}: ...\n\n")
    made = answer.format("Any")
    return text + ("    @overload\n    def __call__(self, *words: Word,\n"
                   f"                 {OPTIONS[kind]} -> {made}: ...\n")


def commands_of(definitions):
    """Command -> definition, for one object and for an object per line."""
    single = {name: name for name in definitions
              if name not in ("error", "failure", "node", "demand", "event", "events", "logs",
                              "config-hashes", "train", "train-job", "train-event",
                              "train-ls", "train-status")}
    single.update(SAME)
    single.update({"train ls": "train-ls", "train status": "train-status"})
    return single, {name: name for name in LINES}


def text():
    definitions = json.loads(SCHEMA.read_text(encoding="utf-8"))["definitions"]
    types = Types(definitions)
    for name in definitions:
        types.named(name)
    single, lines = commands_of(definitions)
    body = "".join(class_text(name, *parts) for name, parts in types.classes.items())
    return HEAD + body + calls(types, "Query", single) + calls(types, "Stream", lines)


if __name__ == "__main__":
    sys.stdout.write(text())
