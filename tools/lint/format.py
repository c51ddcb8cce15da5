"""Gate: C code is laid out as .clang-format says.

usage: format.py ROOT
"""

import re
import shutil
import subprocess
import sys

import gate
import tree

# Versions lay out differently, so one of them is right by decree.
VERSION = 14
COMPLAINT = re.compile(r"^(.+?):(\d+):\d+: error: code should be clang-formatted", re.MULTILINE)


def check(root):
    program = _program()
    names = [name for name in tree.files(root) if tree.is_c(name)]
    if not names:
        return []
    done = subprocess.run([program, "--dry-run", "--Werror", "--style=file", *names], cwd=root,
                          capture_output=True, text=True, check=False)
    first = {}  # one line per file is enough: the cure is the same for all
    for name, line in COMPLAINT.findall(done.stderr):
        first.setdefault(name, line)
    if done.returncode != 0 and not first:
        raise gate.Usage(f"{program} failed: {done.stderr.strip()}")
    return [gate.problem(name, line, f"is laid out otherwise; run {program} -i {name}")
            for name, line in first.items()]


def _program():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path and _version(path) == VERSION:
            return name
    raise gate.Skip(f"clang-format {VERSION} is not installed")


def _version(path):
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"version (\d+)", said)
    return int(found.group(1)) if found else None


def main(argv):
    args = gate.parser(__doc__, "root").parse_args(argv)
    return gate.finish(check, args.root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
