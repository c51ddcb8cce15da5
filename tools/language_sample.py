#!/usr/bin/env python3
"""Draws a random sample of what people read: messages, sentences of the documentation, comments.

usage: language_sample.py [--seed N] [--count N] [ROOT]

Readers who did not write them judge each item: does it need a second reading? The same seed and
commit give the same sample. Prints "KIND NUMBER FILE:LINE", then the text, indented.
"""

import argparse
import pathlib
import random
import re
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "lint"))
import tree  # noqa: E402  (needs the path above)
import words  # noqa: E402

WORDS_MIN = 4  # shorter strings are keys, formats and fragments
SENTENCE_END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`*])")
LIST_MARK = re.compile(r"^\s*(?:[-*]|\d+\.|#+|>)\s+")


def has_words(text):
    return len(re.findall(r"(?<!\S)[A-Za-z']{2,}", text)) >= WORDS_MIN


def strings_and_comments(root):
    strings, comments = [], []
    for name in tree.files(root):
        if not (name.startswith("src/") and tree.is_c(name)):
            continue
        text = tree.read(root, name)
        last_end = -1
        for token in tree.C_TOKEN.finditer(text):
            place = f"{name}:{tree.line_at(text, token.start())}"
            body = token.group()
            if body.startswith("/"):
                body = re.sub(r"^/\*+|\*/$|^\s*\*+ ?", "", body, flags=re.MULTILINE)
                comments.append((place, " ".join(body.split())))
            elif strings and last_end >= 0 and not text[last_end:token.start()].strip():
                strings[-1] = (strings[-1][0], strings[-1][1] + body[1:-1])  # adjacent literals
            else:
                strings.append((place, body[1:-1]))
            last_end = token.end() if body.startswith('"') else -1
    return strings, comments


def keep_inline_code(found):
    """A quoted word is part of its sentence; a block of code is not."""
    text = found.group()
    is_inline = text.startswith("`") and "\n" not in text
    return text if is_inline else re.sub(r"[^\n]", " ", text)


def sentences(root):
    for name in tree.files(root):
        if not words.PAGES.match(name):
            continue
        text = words.QUOTED.sub(keep_inline_code, tree.read(root, name))
        line = 1
        for block in re.split(r"(\n\s*\n|\n(?=\s*[-*#|]))", text):
            if not block.lstrip().startswith("|"):  # tables are read cell by cell
                plain = LIST_MARK.sub("", " ".join(block.split()))
                first = line + len(block) - len(block.lstrip("\n"))
                for sentence in SENTENCE_END.split(plain):
                    yield f"{name}:{first}", sentence
            line += block.count("\n")


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100, help="of each kind")
    parser.add_argument("root", nargs="?", default=".")
    args = parser.parse_args(argv)
    strings, comments = strings_and_comments(args.root)
    kinds = {"string": strings, "sentence": list(sentences(args.root)), "comment": comments}
    chance = random.Random(args.seed)
    for kind, items in kinds.items():
        items = sorted({item for item in items if has_words(item[1])})
        for number, (place, text) in enumerate(
                chance.sample(items, min(args.count, len(items))), 1):
            print(f"{kind} {number} {place}")
            print(textwrap.indent(textwrap.fill(text, 96), "    "))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
