"""Gate: every side effect outside of the pure layers has a failpoint in front of it.

usage: failpoints.py ROOT

The crash sweep kills the program at failpoints only. A new way to start a program, to replace a
file, to commit or to call a cloud that has none would never be swept.
"""

import re
import sys

import gate
import tree

EFFECT = re.compile(r'\b(uv_spawn|fork|posix_spawnp?|rename|renameat|remove|aws_call_send) ?\(|'
                    r'"COMMIT"')
DECLARED = re.compile(r"^(?:static )?[a-z_]+ [a-z_ *]*\*?$")  # what stands before a name's own "("
POINT = re.compile(r"\b(failpoint|reach)\(")
LINES_BEFORE = 6
PURE = ("src/base/", "src/core/", "src/sim/", "src/config/")


def check(root):
    problems = []
    for name in tree.sources(root):
        if not name.startswith(PURE) and name.endswith(".c"):
            problems += _check_file(name, tree.without_comments(tree.read(root, name) or ""))
    return problems


def _check_file(name, text):
    problems, lines = [], text.split("\n")
    for number, line in enumerate(lines):
        found = EFFECT.search(line)
        if not found or _is_other(line, found):
            continue
        before = lines[max(0, number - LINES_BEFORE):number + 1]
        if not any(POINT.search(text) for text in before):
            what = found.group(1) or "COMMIT"
            problems.append(gate.problem(name, number + 1, f"{what} has no failpoint in front of "
                                         "it; add failpoint(..., \"before\") (io/failpoint.h)"))
    return problems


def _is_other(line, found):
    """A definition, or a function pointer of that name."""
    before = line[:found.start()]
    return before.endswith(("->", ".")) or not line.startswith(" ") and \
        DECLARED.match(before) is not None


def main(argv):
    return gate.finish(check, gate.parser(__doc__, "root").parse_args(argv).root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
