"""Gate: subjects of new commits have the form of CONTRIBUTING.md.

usage: subjects.py ROOT

`area: imperative summary`, at most 60 columns, without retired words. Only commits after BASE are
checked. A checkout without BASE (a tarball, a shallow clone) cannot be checked.
"""

import re
import subprocess
import sys

import gate
import words

BASE = "2c9c8976a36490956ec1650a40e0433dc13a19da"
COLUMNS = 60
FORM = re.compile(r"^[a-z][a-z0-9_./-]*(?:, [a-z][a-z0-9_./-]*)*: (?P<first>\S+)(?: .*)?[^.]$")
# A program cannot recognize an imperative, but it can recognize what usually stands there instead.
NOT_A_VERB = re.compile(
    r"(?:an?|the|this|that|its?|one|two|each|every|all|both|no|not|what|which|when|where|who|how|"
    r"there|only|more|less|new|after|before|without|with|from|for|by|on|in|at|\w+['’]\w+)$|"
    r".*[^a-z]")
OTHER_FORM = re.compile(r"(?!(?:embed|exceed|feed|proceed|succeed|need|seed|shed|speed|bring|"
                        r"ring|string|bypass|pass|press|process|compress|address|access|express|"
                        r"suppress|focus|discuss|dismiss|miss|cross|bias|alias|canvass)$)"
                        r"\w+(?:ed|ing|s)$")
# Made before there was this gate.
EXCEPT = (
    "all: names and texts in the vocabulary of the field",
    "changelog: the unreleased part in plain English",
    "io: Ctrl-C ends a foreground program from its notice on",
    "tests: terminals start with the default signals",
)


def check(root, base=BASE):
    problems = []
    for line in _log(root, base).splitlines():
        commit, _, subject = line.partition(" ")
        if subject not in EXCEPT:
            problems += [gate.problem(f"commit {commit}", 1, f"{why}: {subject}")
                         for why in _faults(subject)]
    return problems


def _log(root, base):
    """The commits that are new, one line each."""
    git = ["git", "-C", root]
    try:
        known = subprocess.run([*git, "merge-base", "--is-ancestor", base, "HEAD"],
                               capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        known = False
    if not known:
        raise gate.Skip(f"no git history from {base[:7]} on in {root}")
    return subprocess.run([*git, "log", "--no-merges", "--format=%h %s", f"{base}..HEAD"],
                          capture_output=True, text=True, check=True).stdout


def _faults(subject):
    form = FORM.match(subject)
    if not form:
        yield "not of the form `area: imperative summary`, without a period"
    elif NOT_A_VERB.match(form["first"]) or OTHER_FORM.match(form["first"]):
        yield f'"{form["first"]}" is not an imperative'
    if len(subject) > COLUMNS:
        yield f"{len(subject)} columns, at most {COLUMNS}"
    for found, better in words.retired(subject):
        yield f'retired words "{found.group()}", write: {better}'


def main(argv):
    args = gate.parser(__doc__, "root").parse_args(argv)
    return gate.finish(check, args.root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
