"""Every command `shoal ...` that a text of Shoal suggests: in sources, pages and golden files.

A suggestion is a list of words. Where a text marks the end of a command (backticks, an example of
the help, a line of a transcript, a column of a table), the whole command counts. In a sentence it
is the command with the options and values that follow it: "shoal down FILE removes it".
"""

import collections
import re
import shlex
import sys

from conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "tools" / "lint"))

import tree  # pylint: disable=wrong-import-position

Suggestion = collections.namedtuple("Suggestion", "place words")

PAGES = re.compile(r"^[A-Z]+\.md$|^(?:docs/(?!results/)|src/).*\.md$|"
                   r"^(?:packaging|examples)/.*\.(?:md|yaml)$|^tests/.*golden/.*\.txt$")
NAME = r"(?<![\w/.~-])shoal(?=[ \n])"
ESCAPES = {"n": "\n", "t": "\t"}
CONVERSION = re.compile(r"%[-+0# ]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|j|t)?[diouxXeEfgGsc]")
# Placeholders for values in a text, and a value for each.
PLACEHOLDERS = {"FILE": "cluster.yaml", "NODE": "worker-1", "COMMAND": "up", "KEY": "docker",
                "WORD": "spot", "NAME": "demo", "REGION": "us-west-2", "R": "us-west-2",
                "WORKLOAD": "mixed", "CLUSTER": "demo",
                "metadata.shoal.KEY": "metadata.shoal.planner"}
VALUE = "demo"
END_OF_COMMAND = {"|", "||", "&", "&&", ";", ">", ">>", "<", ")", "#"}
# In a sentence: an option, a placeholder, something between quotes, or a typical value.
GOES_ON = re.compile(r"--?[a-z]|[A-Z][A-Z_]+\b|['\"]|\S+\.(?:yaml|py|json)\b|"
                     rf"(?:{VALUE}|json|bash|zsh|fish|head|worker-\d+)\b")


def collect():
    """Every suggestion of the repository, in the order of its files."""
    found = []
    for name in tree.files(REPOSITORY):
        if name.startswith("src/") and tree.is_c(name):
            found += [Suggestion(f"{name}:{line}", words)
                      for line, words in in_source(tree.read(REPOSITORY, name))]
        elif PAGES.match(name):
            text = tree.read(REPOSITORY, name)
            read = in_page if name.endswith(".md") else in_transcript
            found += [Suggestion(f"{name}:{line}", words) for line, words in read(text)]
    return found


# ---- sources ----


def in_source(text):
    for start, value in literals(text):
        if "shoal " in value:
            line = tree.line_at(text, start)
            yield from ((line, words) for words in in_literal(value))


def literals(text):
    """(offset, value) of each string literal; neighbours are one."""
    value, start, end = None, 0, 0
    for token in tree.C_TOKEN.finditer(text):
        if not token.group().startswith('"'):
            continue
        if value is not None and text[end:token.start()].strip(" \t\n\\"):
            yield start, value
            value = None
        if value is None:
            value, start = "", token.start()
        value += re.sub(r"\\(.)", lambda found: ESCAPES.get(found.group(1), found.group(1)),
                        token.group()[1:-1])
        end = token.end()
    if value is not None:
        yield start, value


def in_literal(text):
    """The commands of a string. A value that is printed becomes a word."""
    # "shoal down%s FILE": options, perhaps none.
    text = re.sub(rf"(?<=[a-z])(?:{CONVERSION.pattern})+", "", text)
    text = CONVERSION.sub(VALUE, text)
    if re.match(r"(?:\w+=\$\()?(?:source <\()?shoal \S", text) and "\n" not in text.strip() and \
            is_example(text):
        return [command(text[text.index("shoal"):])]
    return [words for _, words in in_text(text)]


def is_example(text):
    """Whether a whole string is a command, not a sentence that starts with one."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", text)
    return not re.search(r"[.:;,](?: |$)|^shoal \S+\s+[a-z]+\s+[a-z]+\b", bare)


# ---- pages ----


def in_page(text):
    """(line, words) of each command of a page: console blocks, other blocks, sentences."""
    at = 0
    for block in re.finditer(r"^( *)```(\w*)\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL):
        yield from shifted(text, at, in_text(text[at:block.start()]))
        yield from shifted(text, block.start(3), in_block(block.group(3)))
        at = block.end()
    yield from shifted(text, at, in_text(text[at:]))


def in_transcript(text):
    yield from shifted(text, 0, in_block(text))


def shifted(text, start, found):
    for at, words in found:
        yield tree.line_at(text, start + at), words


def in_block(block):
    """A line of a transcript is a whole command; other lines may mention some."""
    at = 0
    for line in re.sub(r"\\\n>? *", lambda m: " " * len(m.group()), block).splitlines(True):
        whole = re.match(r"\s*(?:[$#] )?(?:\w+=\$\()?(shoal .*)", line)
        if whole and (line.lstrip().startswith("$") or is_example(whole.group(1).strip())):
            yield at + whole.start(1), command(whole.group(1))
        else:
            yield from ((at + offset, words) for offset, words in in_text(line))
        at += len(line)


# ---- sentences ----


def in_text(text):
    """(offset, words) of each command in running text."""
    marked = []
    for code in re.finditer(r"`(shoal\s[^`]*)`", text):
        marked.append(code.span())
        yield code.start(), command(code.group(1))
    for found in re.finditer(NAME + r"\s+(\S+)", text):
        if any(start <= found.start() < end for start, end in marked):
            continue
        line = text[found.start():].split("\n", 1)[0].strip()
        stands_alone = re.search(r"\S(?: {3,}|: )$", text[:found.start()])
        if stands_alone and is_example(line) and "(" not in line:
            yield found.start(), command(line)
        else:
            yield found.start(), mention(text[found.start():])


def mention(text):
    """The command at the start of a sentence's rest."""
    text = re.split(r"  +(?!\n)", text, maxsplit=1)[0]
    _, *words = re.findall(r"'[^']*'|\"[^\"]*\"|\S+", text)
    taken = []
    for word in words:
        bare = word.rstrip(".,;:)`\"") if word[0] not in "'\"" else word[1:-1]
        if taken and not GOES_ON.match(word):
            break
        taken.append(value_of(bare))
        if len(bare) < len(word.strip("'\"")):
            break
    return taken


def command(text):
    """The words behind `shoal` of a whole command, up to a pipe or a redirection."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # a quote of the sentence around it
        words = text.split()
    words = words[1:]
    for at, word in enumerate(words):
        if word in END_OF_COMMAND:
            return [value_of(word) for word in words[:at]]
    return [value_of(word) for word in words]


def value_of(word):
    return PLACEHOLDERS.get(word, word)
