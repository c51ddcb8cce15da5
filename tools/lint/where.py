"""Gate: docs/dev/where.md answers its questions.

usage: where.py ROOT

Each row of the page has a question, a word, and a file. `git ls-files | grep WORD` must list the
file, and at most MOST files below src/: a word that finds everything finds nothing.
"""

import os
import re
import sys

import gate
import tree

PAGE = "docs/dev/where.md"
ROW = re.compile(r"^\| (?P<question>[^|]*\?) \| `(?P<word>[^`]+)` \| `(?P<file>[^`]+)` \|$")
MOST = 20


def check(root):
    if not os.path.exists(os.path.join(root, PAGE)):
        return []
    names = tree.files(root)
    problems = []
    for number, line in enumerate(tree.read(root, PAGE).split("\n"), 1):
        row = ROW.match(line)
        if row:
            problems += _row(number, row, [name for name in names if row["word"] in name])
    return problems


def _row(number, row, found):
    sources = [name for name in found if name.startswith("src/")]
    if not found:
        yield gate.problem(PAGE, number, f"no file name has {row['word']}")
    elif row["file"] not in found:
        yield gate.problem(PAGE, number, f"{row['word']} does not find {row['file']}")
    elif len(sources) > MOST:
        yield gate.problem(PAGE, number, f"{row['word']} finds {len(sources)} files below src/")


def main(argv):
    args = gate.parser(__doc__, "root").parse_args(argv)
    return gate.finish(check, args.root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
