"""Gate: every test that the documentation names exists.

usage: promises.py ROOT BUILDDIR

In the pages under docs/, `folder/test_x.py::test_name` and `folder/test_x.c::name` name a test
below tests/; `folder/test_x.py` and `tests/folder/x.py` name a file. Each row of PAGE must name at
least one test or benchmark, and its command must name tests and suites that Meson knows:
`meson test` exits with 0 when nothing matches.
"""

import json
import os
import re
import shlex
import sys

import gate
import tree

PAGE = "docs/dev/promises.md"
REFERENCE = re.compile(r"`(?:tests/)?((?:(?<=tests/)\w+/\w+|\w+/(?:test|bench)_\w+)\.(?:py|c))"
                       r"(?:::(\w+))?`")
COMMAND = re.compile(r"`(?:sudo )?(?:\w+=\S+ )*meson test -C build([^`]*)`")
ROW = re.compile(r"^\|(?! *(?:promise|-))(.*)\|$")


def check(root, build):
    known = meson_tests(build)
    problems = []
    for name in tree.files(root):
        if name.startswith("docs/") and name.endswith(".md"):
            problems += _missing_tests(root, name)
    if os.path.exists(os.path.join(root, PAGE)):
        problems += _rows(tree.read(root, PAGE), known)
    return problems


def meson_tests(build):
    """Every test and every suite that Meson knows in this build folder."""
    path = os.path.join(build, "meson-info", "intro-tests.json")
    if not os.path.exists(path):
        raise gate.Skip(f"{path} is missing; run meson setup")
    with open(path, encoding="utf-8") as stream:
        tests = json.load(stream)
    suites = {suite.split(":")[-1] for test in tests for suite in test["suite"]}
    return suites | {test["name"] for test in tests}


def _missing_tests(root, name):
    text = tree.read(root, name)
    for found in REFERENCE.finditer(text):
        path, test = found.groups()
        line = tree.line_at(text, found.start())
        source = os.path.join(root, "tests", path)
        if not os.path.exists(source):
            yield gate.problem(name, line, f"names tests/{path}, which does not exist")
        elif test and not _defines(tree.read(root, "tests/" + path), test):
            yield gate.problem(name, line, f"names {test}, which tests/{path} does not define")


def _defines(source, test):
    pattern = rf"^(?:def {test}\(|static void {test}\(void \*\*)"
    return re.search(pattern, source, re.MULTILINE)


def _rows(text, known):
    for number, line in enumerate(text.split("\n"), 1):
        row = ROW.match(line)
        if not row:
            continue
        if not REFERENCE.search(line):
            yield gate.problem(PAGE, number, "this promise names no test; add one or drop it")
        commands = COMMAND.findall(line)
        if not commands:
            yield gate.problem(PAGE, number, "this promise has no `meson test -C build` command")
        for word in (word for command in commands for word in shlex.split(command)):
            if word not in known and word != "--suite":
                yield gate.problem(PAGE, number, f"Meson knows no test or suite {word}")


def main(argv):
    args = gate.parser(__doc__, "root", "build").parse_args(argv)
    return gate.finish(check, args.root, args.build)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
