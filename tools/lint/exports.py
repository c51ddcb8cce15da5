"""Gate: a function that only its own file uses is static, and one that nothing uses is deleted.

usage: exports.py ROOT

Tests count as users: what a fuzzer or a unit test calls may be exported for it.
"""

import re
import sys

import gate
import tree

# A definition at column zero that is not static: its name, and what stands before it.
DEFINITION = re.compile(r"^(?!static\b|typedef\b|#)[a-z][\w \t*]*?\b([a-z]\w*)\([^;{}]*\)\n\{",
                        re.MULTILINE)
NAME = re.compile(r"\b[a-z]\w*\b")


def check(root):
    users = _users(root)
    problems = []
    for name in tree.sources(root):
        if not name.endswith(".c"):
            continue
        text = tree.code_only(tree.read(root, name) or "")
        for definition in DEFINITION.finditer(text):
            function = definition.group(1)
            if function != "main" and not users.get(function, set()) - {name}:
                problems.append(gate.problem(
                    name, tree.line_at(text, definition.start(1)),
                    f"{function} is not used by any other file; make it static or delete it"))
    return problems


def _users(root):
    """Name -> the files that use it. A header of src/ that has it once only declares it."""
    users = {}
    for name in tree.files(root):
        if not tree.is_c(name) and not name.endswith(".def"):
            continue
        found = NAME.findall(tree.code_only(tree.read(root, name) or ""))
        for word in _more_than_once(found) if _declares(name) else set(found):
            users.setdefault(word, set()).add(name)
    return users


def _declares(name):
    return name.startswith("src/") and name.endswith(".h")


def _more_than_once(words):
    seen, again = set(), set()
    for word in words:
        (again if word in seen else seen).add(word)
    return again


def main(argv):
    args = gate.parser(__doc__, "root").parse_args(argv)
    return gate.finish(check, args.root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
