"""All gates, one line each; the problems of a gate follow its line.

usage: run.py ROOT BUILDDIR [--cc CC] [--only GATE ...]
"""

import os
import re
import sys
import time

import banned
import exports
import failpoints
import folders
import format as layout
import gate
import headers
import includes
import links
import objects
import prices
import promises
import purity
import style
import subjects
import where
import words

# Not _FORTIFY_SOURCE: it warns when nothing is optimised, and headers are only parsed.
INCLUDE_FLAG = re.compile(r"^(-I|-isystem)(.+)$|^(-D(?!_FORTIFY_SOURCE).+)$", re.MULTILINE)
WORDS = {gate.CLEAN: "ok", gate.PROBLEMS: "FAIL", gate.USAGE: "ERROR", gate.SKIPPED: "skip"}


def gates(root, build, compiler):
    """Name -> the gate as a call without arguments, the quickest first."""
    return {
        "includes": lambda: includes.check(root),
        "folders": lambda: folders.check(root),
        "exports": lambda: exports.check(root),
        "style": lambda: style.check(root),
        "failpoints": lambda: failpoints.check(root),
        "prices": lambda: prices.check(root),
        "promises": lambda: promises.check(root, build),
        "words": lambda: words.check(root),
        "where": lambda: where.check(root),
        "subjects": lambda: subjects.check(root),
        "links": lambda: links.check(build),
        "purity": lambda: purity.check(build),
        "banned": lambda: banned.check(root, compiler, build),
        "headers": lambda: headers.check(root, compiler, include_flags(build)),
        "format": lambda: layout.check(root),
    }


def include_flags(build):
    """The -D and -I flags of the build, so that headers see what the sources see."""
    flags = {}  # keeps order, drops repeats
    for command in objects.commands(build):
        # "-isystem folder" may be written as two words.
        line = "\n".join(command.args).replace("-isystem\n", "-isystem")
        for flag, folder, define in INCLUDE_FLAG.findall(line):
            flags[define or flag + os.path.join(command.directory, folder)] = None
    return list(flags)


def run_gate(name, check):
    """Print the gate's line and its problems; return its exit code."""
    began = time.monotonic()
    code, note, problems = gate.judge(check)
    print(f"{WORDS[code]:5} {name:10} {time.monotonic() - began:5.2f} s  {note}".rstrip())
    for text in problems:
        print(f"  {text}")
    return code


def main(argv):
    parser = gate.parser(__doc__, "root", "build")
    parser.add_argument("--cc", default="cc", help="the compiler, perhaps with leading words")
    parser.add_argument("--only", action="append", help="run this gate (repeat for more)")
    args = parser.parse_args(argv)
    known = gates(args.root, args.build, args.cc.split())
    unknown = set(args.only or ()) - set(known)
    if unknown:
        parser.error(f"no gate {', '.join(unknown)}; there are {', '.join(known)}")
    codes = [run_gate(name, check) for name, check in known.items()
             if not args.only or name in args.only]
    # An unchecked gate is not a failure, a broken one is: PROBLEMS < USAGE, so the worst wins.
    return max((code for code in codes if code != gate.SKIPPED), default=gate.SKIPPED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
