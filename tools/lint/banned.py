"""Gate: src/base/banned.h really stops the calls it lists, and every source is built with it.

usage: banned.py ROOT [--cc CC] [--build BUILDDIR]
"""

import concurrent.futures
import os
import re
import subprocess
import sys

import gate
import objects
import tree

HEADER = "src/base/banned.h"
# `#pragma GCC poison a b c`, or git's way: `#define a(x, y) BANNED(a)`.
POISON = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+GCC[ \t]+poison[ \t]+(.+)$", re.MULTILINE)
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^)]*)\)[ \t]+BANNED", re.MULTILINE)
# How a compiler words the refusal; a probe that fails for another reason proves nothing.
REFUSAL = re.compile(r"poisoned|banned_function")


def check(root, compiler, build=None):
    if not os.path.isfile(os.path.join(root, HEADER)):
        return [gate.problem(HEADER, 1, "is missing; list the banned calls there")]
    text = tree.without_comments(tree.read(root, HEADER) or "")
    probes = _probes(text)
    if not probes:
        return [gate.problem(HEADER, 1, "bans nothing; name calls with `#pragma GCC poison`")]
    problems = _check_control(root, compiler, probes) or _check_probes(root, compiler, text, probes)
    return problems + (_check_commands(build) if build else [])


def _probes(text):
    """Banned name -> one line of C that calls it."""
    arguments = {name: 0 for names in POISON.findall(text) for name in names.split()}
    for name, parameters in DEFINE.findall(text):
        arguments[name] = len([word for word in parameters.split(",") if word.strip()])
    # The brackets keep a macro of that name from expanding in the declaration.
    return {name: f"int ({name})(); int probe_{name}(void) {{ return {name}({_zeros(count)}); }}\n"
            for name, count in arguments.items()}


def _zeros(count):
    return ", ".join(["0"] * count)


def _compile(root, compiler, code, *flags):
    command = [*compiler, f"-I{os.path.join(root, 'src')}", "-std=gnu17", "-w", "-fno-builtin",
               "-fsyntax-only", *flags, "-x", "c", "-"]
    return subprocess.run(command, input=code, capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C"})


def _with_header(root):
    return "-include", os.path.join(root, HEADER)


def _check_control(root, compiler, probes):
    """The probes must compile without the header, and the header without the probes."""
    if _compile(root, compiler, "".join(probes.values())).returncode != 0:
        return [gate.problem(HEADER, 1, "the probes of tools/lint/banned.py do not compile even "
                                        "without it; mend the probe for the newest name")]
    done = _compile(root, compiler, "int probe(void);\n", *_with_header(root))
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["the compiler failed"])[0]
        return [gate.problem(HEADER, 1, f"does not compile when force-included ({said})")]
    return []


def _check_probes(root, compiler, text, probes):
    def fault(name):
        done = _compile(root, compiler, probes[name], *_with_header(root))
        if done.returncode != 0 and REFUSAL.search(done.stderr):
            return None
        return gate.problem(HEADER, tree.line_of_word(text, name),
                            f"a call of {name} still compiles; poison it after the includes")

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [found for found in pool.map(fault, probes) if found]


def _check_commands(build):
    return [gate.problem(command.source, 1, "is built without `-include base/banned.h`; "
                                            "add it to the project's C arguments in meson.build")
            for command in objects.commands(build) if not has_header(command.args)]


def has_header(args):
    return any(flag == "-include" and path.endswith("base/banned.h")
               for flag, path in zip(args, args[1:]))


def main(argv):
    parser = gate.parser(__doc__, "root")
    parser.add_argument("--cc", default="cc", help="the compiler, perhaps with leading words")
    parser.add_argument("--build", help="a Meson build folder whose commands are checked as well")
    args = parser.parse_args(argv)
    return gate.finish(check, args.root, args.cc.split(), args.build)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
