"""Gate: words that were retired, each with its replacement.

usage: words.py ROOT

Looks at comments and string literals of the C sources, at comments and docstrings of tests and
tools, at the documentation, and at file names. Dated results, the changelog and decisions quote the
past and are left out; so are the tests of the gates, which quote retired words.
"""

import ast
import io
import re
import sys
import tokenize

import gate
import tree

RETIRED = {
    r"anew": "again",
    r"mended?|mends": "fix",
    r"told of|tells of": "report",
    r"(?:is|are|was|were) told": "is notified, is reported",
    r"can be had": "is available",
    r"whoever": "the caller, the process that",
    r"nobody|somebody": "name the process or person",
    r"beside": "next to, and",
    r"guests?|desk": "connection, control server",
    r"reign|depose[sd]?": "epoch, lost lease",
    r"yard": "simulator",
    r"survey(?:s|ed)?": "preflight",
    r"stance": "permission, state",
    r"wish(?:es)?": "request",
    r"hears?|heard": "receive, apply",
    r"stands (?:for|by|behind)": "represents, is standby",
    r"set-up": "setup",
    r"lets? go of": "release",
    r"meanwhile": "in the meantime",
}
# `there is no head` is fine; `the value is no number` is not.
PATTERN = re.compile(
    r"(?<![\w`/-])(?:" + "|".join(f"(?P<w{i}>{word})" for i, word in enumerate(RETIRED))
    + r")(?![\w/-])|(?<!here )\bis no (?!longer\b|more\b|need\b|reason\b)(?P<is_no>[a-z]+)\b",
    re.IGNORECASE)
OLD_NAME = re.compile(r"(?:^|[/_])(?:desk|guest|reign|yard|survey|sight|stance|hear|news|lead|look|"
                      r"roster|wish|wishes|words|parts)(?:_[a-z]+)?\.(?:c|h|py)$")
# The names in an older format of the journal, from which it is upgraded.
ALLOWED = re.compile(r'^"UPDATE meta SET name = ')
PAGES = re.compile(r"^(?:README|ARCHITECTURE|CONTRIBUTING|SECURITY)\.md$|"
                   r"^docs/(?:user|dev)/.*\.md$|^src/.*\.md$")
CODE_FOLDERS = ("src/", "tests/", "tools/")
GATE_TESTS = "tests/lint/"
PYTHON = re.compile(r"#!.*\bpython3$", re.MULTILINE)
QUOTED = re.compile(r"`[^`]*`|\([^()]*\.md\)|^    .*$|^```.*?^```", re.MULTILINE | re.DOTALL)


def check(root):
    problems = []
    for name in tree.files(root):
        if name.startswith(("src/", "tests/")) and OLD_NAME.search(name):
            problems.append(gate.problem(name, 1, "a retired word in a file name"))
        if PAGES.match(name):
            problems += _page(name, tree.read(root, name))
        elif name.startswith(CODE_FOLDERS) and not name.startswith(GATE_TESTS):
            problems += _code(name, tree.read(root, name) or "")
    return problems


def _code(name, text):
    if tree.is_c(name):
        yield from _c(name, text)
    elif name.endswith(".py") or PYTHON.match(text):
        yield from _python(name, text)


def _c(name, text):
    for token in tree.C_TOKEN.finditer(text):
        is_checked = token.group().startswith("/") or name.startswith("src/")
        if is_checked and not ALLOWED.match(token.group()):
            yield from _find(name, text, token.start(), token.group())


def _python(name, text):
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield from _quoted(name, text, starts[token.start[0] - 1], token.string)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) \
                and ast.get_docstring(node) is not None:
            words = node.body[0].value
            yield from _quoted(name, text, starts[words.lineno - 1], words.value)


def _quoted(name, text, start, part):
    """A word in backquotes names a thing as it is called."""
    yield from _find(name, text, start, re.sub(r"`[^`\n]*`", lambda m: " " * len(m.group()), part))


def _page(name, text):
    """Quoted code, transcripts and links name things as they are called."""
    blank = QUOTED.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    yield from _find(name, text, 0, blank)


def _find(name, text, start, part):
    for found, better in retired(part):
        line = tree.line_at(text, start + found.start())
        yield gate.problem(name, line, f'retired words "{found.group()}"; write: {better}')


def retired(text):
    """Each retired word in the text, as a match, and what to write instead."""
    for found in PATTERN.finditer(text):
        if found.group("is_no"):
            yield found, f"is not a {found.group('is_no')}"
        else:
            yield found, next(better for i, better in enumerate(RETIRED.values())
                              if found.group(f"w{i}"))


def main(argv):
    args = gate.parser(__doc__, "root").parse_args(argv)
    return gate.finish(check, args.root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
