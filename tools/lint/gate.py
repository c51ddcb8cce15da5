"""What all gates share: how they report, and how they end.

A gate is a module with `check(...)`, which returns problems as text (see `problem`), and a
`main(argv)`. Exit codes: 0 clean, 1 problems, 2 wrong use, 77 cannot be checked here (Meson's
code for a skipped test).
"""

import argparse

CLEAN, PROBLEMS, USAGE, SKIPPED = 0, 1, 2, 77


class Skip(Exception):
    """This gate has nothing it could judge here; the text says why."""


class Usage(Exception):
    """The gate was called on something that is not there; the text says what to do."""


def problem(path, line, text):
    """One finding: where it is, what is wrong and what to do instead."""
    return f"{path}:{line}: {text}"


def parser(doc, *positionals):
    """An argument parser that explains itself with the first line of the module's comment."""
    made = argparse.ArgumentParser(description=doc.splitlines()[0])
    for name in positionals:
        made.add_argument(name)
    return made


def finish(check, *args):
    """Run a check, print what it found and return the exit code."""
    code, note, problems = judge(lambda: check(*args))
    if code in (SKIPPED, USAGE):
        print(note)
    for text in problems:
        print(text)
    return code


def judge(check):
    """Run a check: its exit code, a few words about it, and the problems it found."""
    try:
        problems = check()
    except Skip as reason:
        return SKIPPED, f"skipped: {reason}", []
    except Usage as reason:
        return USAGE, f"cannot run: {reason}", []
    if problems:
        return PROBLEMS, f"{len(problems)} to fix", problems
    return CLEAN, "", []
