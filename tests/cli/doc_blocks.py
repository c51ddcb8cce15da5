"""The code blocks of docs/user: what a test does with each of them.

Without a mark, a `yaml` block is validated as part of a cluster file, and the commands of a
`console` block are run; where the page shows their output, it is compared. A comment on the line
before the block changes that:

  <!-- in: node_config -->     validated as part of a node type (or `workload`: as a workload file;
                               `class_file`: as part of a file for a class of Ray)
  <!-- printed by: COMMAND --> the block is what this command prints, as JSON
  <!-- run on a cluster -->    run by tests/front/test_docs.py
  <!-- not run: REASON -->     nothing

`text` blocks are not code. Every other block needs a mark.
"""

import collections
import pathlib
import re

import test_readme

PAGES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "user"
Block = collections.namedtuple("Block", "page line language mark text")
BLOCK = re.compile(r"(?:^ *<!-- ([^\n]*) -->\n)?^( *)```(\w*)\n(.*?)^ *```$",
                   re.MULTILINE | re.DOTALL)
# What runs the blocks of these pages: their transcripts are long and come from real runs.
PAGES_OF_OTHER_TESTS = {
    "failures.md": "tests/front/pains.py and tests/cluster/test_pains.py produce the transcripts"}
MARKS = re.compile(r"(in: (node_config|workload|class_file)|printed by: .+|run on a cluster|"
                   r"not run: .{10,})$")


def blocks_of(text, page=""):
    found = []
    for match in BLOCK.finditer(text):
        mark, indent, language, body = match.groups()
        line = text[:match.start(3)].count("\n") + 1
        body = re.sub(rf"^{indent}", "", body, flags=re.MULTILINE)
        found.append(Block(page, line, language, mark or "", body))
    return found


def blocks():
    return [block for page in sorted(PAGES.glob("*.md")) if page.name not in PAGES_OF_OTHER_TESTS
            for block in blocks_of(page.read_text(encoding="utf-8"), page.name)]


def complaint(block):
    """What is wrong with the mark of a block, or None."""
    if block.mark:
        return None if MARKS.match(block.mark) else f"unknown mark: {block.mark}"
    return None if block.language in ("yaml", "console", "text") else \
        f'a block of kind "{block.language}" needs a mark'


def commands(block):
    """[(command, lines of output that the page shows)] of a console block."""
    return test_readme.steps(f"```console\n{block.text}```\n")
