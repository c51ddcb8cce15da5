"""Gate: sizes, layout and words that a formatter does not check.

usage: style.py ROOT
"""

import os
import re
import sys

import gate
import tree

FUNCTION_LINES, FILE_LINES, HEADER_LINES, COLUMNS = 70, 900, 260, 100

CODE = (".c", ".h", ".def", ".py", ".sh", ".proto", "meson.build", "meson.options")
TEXT = CODE + (".md", ".scd")

# A function opens at column 0: `{` alone, or (before clang-format saw it) `name(...) {`.
FUNCTION_OPEN = re.compile(r"^(?:\{|[A-Za-z_].*\)\s*\{)\s*$")
FUNCTION_NAME = re.compile(r"(\w+)\s*\(")
LICENCE = re.compile(r"SPDX-License-Identifier|Copyright")
OPENING = re.compile(r"\s*/\*(.*?)\*/", re.DOTALL)

# Split, so that this file does not find itself.
UNFINISHED = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X"]) + r")\b")
# Paths that exist only on the machine of the author.
FOREIGN = re.compile("|".join([
    r"(?<![\w~.$}])/wo" + r"rk/", r"(?<![\w~.$}])/opt/" + r"ray\b", r"(?<!\w)\.lib" + r"rary\b",
    r"\.\./sha" + r"red\b", r"/tmp/bash_" + r"jobs",
]))
# The project of that name on PyPI is not ours: the distribution is shoal-ray.
STRANGER = re.compile(r"\b(?:pip3?|pipx|uv tool|uv) install\b[^\n`]*\bsho" + r"al(?![\w/.-])")
AUTO_BUF = re.compile(r"\s*AUTO_BUF struct buf (\w+);")
WAY_OUT = re.compile(r"\b(?:return|continue|break|goto)\b")
VAGUE_NAME = re.compile(r"^(utils?|common)\.")

LINK = re.compile(r"(?<!\\)\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]^]+\]:\s*(\S+)",
                  re.MULTILINE)
BLOCK = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE_BLOCK = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
OUTSIDE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def check(root):
    problems = []
    for name in tree.files(root):
        text = tree.read(root, name)
        if text is None:
            continue
        problems += _foreign_places(name, text)
        if _is_data(name):
            continue
        for rule in RULES:
            if name.endswith(rule.suffixes):
                problems += rule(name, text)
        if name.endswith(".md"):
            problems += _links(root, name, text)
    return problems


def _is_data(name):
    """Test inputs are kept byte by byte, ugly ones most of all."""
    return name.endswith(".tsv") or "corpus" in name.split("/")[:-1]


def _rule(*suffixes):
    def mark(function):
        function.suffixes = suffixes
        return function
    return mark


@_rule(*TEXT)
def _blanks(name, text):
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield gate.problem(name, number, "blanks at the end of the line; remove them")
    if text and not text.endswith("\n"):
        yield gate.problem(name, text.count("\n") + 1, "no newline at the end; add one")


@_rule(".c", ".h")
def _buffers(name, text):
    """Freed at the end of its scope whatever happens, so it must be made before any way out."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        owned = AUTO_BUF.match(line)
        for later in lines[number:] if owned else ():
            if f"buf_init(&{owned.group(1)}," in later or later.startswith("}"):
                break
            if WAY_OUT.search(later):
                yield gate.problem(name, number, f"{owned.group(1)} is freed on a way out before "
                                                 "buf_init(); call that first")
                break


@_rule(*CODE)
def _lines(name, text):
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line:
            yield gate.problem(name, number, "tab; indent with blanks")
        if len(line) > COLUMNS:
            yield gate.problem(name, number, f"{len(line)} columns; break at {COLUMNS}")
        if UNFINISHED.search(line):
            yield gate.problem(name, number, "unfinished; do it now, or open an issue and cite it")


@_rule(*CODE)
def _name(name, _text):
    if VAGUE_NAME.match(os.path.basename(name)):
        yield gate.problem(name, 1, "says nothing; name the file after the idea it holds")


@_rule(".c", ".h")
def _file_size(name, text):
    limit = HEADER_LINES if name.endswith(".h") else FILE_LINES
    count = text.count("\n")
    if count > limit:
        yield gate.problem(name, limit + 1, f"{count} lines, at most {limit}; split it by idea")


@_rule(".c", ".h")
def _opening_comment(name, text):
    opening = OPENING.match(text)
    if opening and LICENCE.search(opening.group(1)):
        opening = OPENING.match(text, opening.end())
    words = re.findall(r"\w+", opening.group(1)) if opening else []
    if len(words) < 3:
        yield gate.problem(name, 1, "open with a comment that says what this file owns")


@_rule(".c", ".h")
def _line_comments(name, text):
    for token in tree.C_TOKEN.finditer(text):
        if token.group().startswith("//"):
            yield gate.problem(name, tree.line_at(text, token.start()),
                               "`//` is for scratch; write /* a sentence */ or nothing")


@_rule(".c", ".h")
def _function_size(name, text):
    """Counts from the opening brace to the closing one, both included."""
    lines = tree.code_only(text).split("\n")
    start = None
    for index, line in enumerate(lines):
        if start is None and FUNCTION_OPEN.match(line):
            start = index
        elif start is not None and line.startswith("}"):
            count = index - start + 1
            if count > FUNCTION_LINES:
                yield gate.problem(name, start + 1,
                                   f"{_function_name(lines, start)} has {count} lines, at most "
                                   f"{FUNCTION_LINES}; take a step out, or make it a table")
            start = None


def _function_name(lines, start):
    """The last unindented line at or above the brace that has a name and a parenthesis."""
    for line in reversed(lines[:start + 1]):
        found = FUNCTION_NAME.search(line) if line[:1].strip() else None
        if found:
            return found.group(1)
    return "this function"


def _foreign_places(name, text):
    for found in FOREIGN.finditer(text):
        yield gate.problem(name, tree.line_at(text, found.start()),
                           f"{found.group()} is a place outside the project; write what it means")
    for found in STRANGER.finditer(text):
        yield gate.problem(name, tree.line_at(text, found.start()),
                           "installs another project from PyPI; ours is shoal-ray")


def _links(root, name, text):
    plain = CODE_BLOCK.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    for found in LINK.finditer(plain):
        target, _, heading = (found.group(1) or found.group(2)).partition("#")
        if OUTSIDE.match(target):
            continue
        folder = "" if target.startswith("/") else os.path.dirname(name)
        path = os.path.normpath(os.path.join(folder, target.lstrip("/"))) if target else name
        line = tree.line_at(text, found.start())
        if path.startswith("..") or not os.path.exists(os.path.join(root, path)):
            yield gate.problem(name, line, f"links to {target}, which does not exist; fix the link")
        elif heading and path.endswith(".md") and heading not in _anchors(tree.read(root, path)):
            yield gate.problem(name, line, f"links to #{heading}, but {path} has no such heading")


def _anchors(text):
    """The headings of a page as GitHub names them in links."""
    plain = BLOCK.sub("", text)
    titles = re.findall(r"^#+ +(.*)", plain, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


RULES = (_blanks, _buffers, _lines, _name, _file_size, _opening_comment, _line_comments,
         _function_size)


def main(argv):
    args = gate.parser(__doc__, "root").parse_args(argv)
    return gate.finish(check, args.root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
