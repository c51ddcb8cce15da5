"""Gate: each header in src/ compiles alone.

usage: headers.py ROOT [--cc CC] [--flags=-DNAME ...]
"""

import concurrent.futures
import os
import re
import subprocess
import sys

import gate
import tree

FLAGS = ["-std=c17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c", "-"]


def check(root, compiler, flags=()):
    names = [name for name in tree.sources(root) if name.endswith(".h")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = pool.map(lambda name: _fault(root, compiler, flags, name), names)
    return [fault for fault in faults if fault]


def _fault(root, compiler, flags, name):
    # Included from a line of its own: as the main file, `#pragma once` would be a warning.
    command = [*compiler, *flags, f"-I{os.path.join(root, 'src')}", *FLAGS]
    done = subprocess.run(command, input=f'#include "{name[len("src/"):]}"\n', text=True,
                          capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"})
    if done.returncode == 0:
        return None
    line, said = _first_error(done.stderr, name)
    return gate.problem(name, line, f"does not compile alone ({said}); include what it uses")


def _first_error(stderr, name):
    """Line and words of the first complaint about this header; it may also lie in another one."""
    found = re.search(rf"{re.escape(name)}:(\d+):\d+: (?:fatal )?error: (.*)", stderr)
    if found:
        return int(found.group(1)), found.group(2)
    return 1, (stderr.strip().splitlines() or ["the compiler failed"])[0]


def main(argv):
    parser = gate.parser(__doc__, "root")
    parser.add_argument("--cc", default="cc", help="the compiler, perhaps with leading words")
    parser.add_argument("--flags", action="append", default=[], help="one more compiler flag")
    args = parser.parse_args(argv)
    return gate.finish(check, args.root, args.cc.split(), args.flags)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
