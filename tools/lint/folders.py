"""Gate: no circles between the folders of a layer, none between clouds, internal headers stay
internal.

usage: folders.py ROOT

A folder that includes another one, directly or through others, is not included by it. The folders
of two clouds do not include each other: what both need is in src/provider itself. An internal
header (`*_internal.h`) is shared by the files of one module: at most four include it. Its
exceptions below may only shrink; an exception that is no longer needed is a problem too.
"""

import os
import re
import sys

import gate
import tree

LAYERS = ("src/app", "src/core", "src/provider/aws", "src/provider/gcp")
CLOUD = re.compile(r"src/provider/(\w+)/")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]*)"', re.MULTILINE)
INCLUDERS_MAX = 4

# Internal header -> how many files include it.
SHARED = {
    "src/app/train/trainer_internal.h": 7,
    "src/core/live/core_internal.h": 6,
    "src/provider/aws/aws_internal.h": 11,
    "src/provider/aws/client/aws_client_internal.h": 5,
    "src/provider/aws/preflight/preflight_internal.h": 7,
}


def check(root):
    names = tree.sources(root)
    includes = [include for name in names for include in _includes(root, name)]
    return _circles(includes) + _clouds(includes) + _internal(includes, set(names))


def _includes(root, name):
    """(file, line, included file) of each include of our own headers."""
    text = tree.without_comments(tree.read(root, name) or "")
    for include in INCLUDE.finditer(text):
        yield name, tree.line_at(text, include.start(0)), "src/" + include.group(1)


def _layer(folder):
    return next((layer for layer in LAYERS if (folder + "/").startswith(layer + "/")), None)


def _circles(includes):
    first = {}
    for name, line, header in includes:
        user, folder = os.path.dirname(name), os.path.dirname(header)
        if user != folder and _layer(user) is not None and _layer(user) == _layer(folder):
            first.setdefault(user, {}).setdefault(folder, (name, line, header))
    problems = []
    for user, folders in first.items():
        for folder, (name, line, header) in folders.items():
            way = _way(first, folder, user)
            if way:
                problems.append(gate.problem(
                    name, line, f"includes \"{header[4:]}\", but {' includes '.join(way)}; move "
                    "what both need to a third folder"))
    return sorted(problems)


def _way(graph, start, goal):
    """The folders from start to goal along includes, or None."""
    ways, seen = [[start]], {start}
    for way in ways:
        if way[-1] == goal:
            return way
        for folder in graph.get(way[-1], ()):
            if folder not in seen:
                seen.add(folder)
                ways.append(way + [folder])
    return None


def _clouds(includes):
    problems = []
    for name, line, header in includes:
        used = CLOUD.match(header)
        user = CLOUD.match(name) or (used and name.startswith("src/provider/") and used)
        if user and used and (user is used or user.group(1) != used.group(1)):
            problems.append(gate.problem(
                name, line, f"includes \"{header[4:]}\" of another cloud; move what both need to "
                "src/provider"))
    return problems


def _internal(includes, names):
    """Exceptions count only for headers that this tree has: a test copies a part of it."""
    includers = {}
    for name, line, header in includes:
        if header.endswith("_internal.h"):
            includers.setdefault(header, []).append((name, line))
    problems = []
    for header, places in sorted(includers.items()):
        limit = SHARED.get(header, INCLUDERS_MAX)
        if len(places) > limit:
            name, line = sorted(places)[-1]
            problems.append(gate.problem(
                name, line, f"\"{header[4:]}\" has {len(places)} includers, {limit} allowed; split "
                "it by idea, or put what others need into a public header"))
    for header, count in SHARED.items():
        found = len(includers.get(header, ()))
        if found < count and header in names:
            problems.append(gate.problem(
                header, 1, f"has {found} includers, tools/lint/folders.py allows {count}; lower "
                "the number, or delete the row if it is at most four"))
    return problems


def main(argv):
    args = gate.parser(__doc__, "root").parse_args(argv)
    return gate.finish(check, args.root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
