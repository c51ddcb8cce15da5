"""Gate: every source of the commands compiles for a Mac.

usage: macos.py ROOT BUILDDIR [--cc CC] [--include FOLDER ...]

Compiles the sources of the build with the build's own flags for macOS on arm64. Without --cc, uses
the compiler and the headers of libraries that packaging/static keeps; skipped if it has none yet.
zig keeps the objects, so only what changed is compiled again.
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import gate
import layers
import objects

LAYERS = tuple(layers.MAY_USE)

# Runs on nodes only (has_node_jobs in meson.build): what a Mac has instead, if anything.
LINUX_ONLY = {
    "src/app/head/supervisor/supervise.c": None,
    "src/app/node/attend.c": None,
    "src/app/train/agent_replica.c": None,
    "src/app/train/state_fetch.c": None,
    "src/app/train/state_load.c": None,
    "src/app/train/state_send.c": None,
    "src/app/train/state_server.c": "src/app/train/state_server_macos.c",
    "src/app/train/state_wire.c": None,
    "src/app/train/step_counter.c": None,
    "src/cli/autoscaler_run.c": "src/cli/linux_only.c",
    "src/cli/verb_ctl.c": None,
    "src/cli/verb_node.c": None,
    "src/remote/node_serve.c": None,
}

# Of a Linux build's command, what means the same on a Mac. Absolute folders are this system's.
KEPT = re.compile(r"-(w$|std=|I(?!/)|D(?!_FORTIFY)|W(?!l,|no-error)|"
                  r"f(?!fat|sanitize|diagnostics))")

# The build may be gcc's: what it warns of and we mean, see meson.build, and what only it knows.
UNKNOWN_TO_GCC = ("-Wno-enum-float-conversion", "-Wno-unknown-warning-option")


def check(root, build, compiler, folders):
    # A source may be compiled more than once; any of its commands will do.
    built = {command.source: command for command in objects.commands(build)}
    if ({command.layer for command in built.values()} != set(LAYERS)
            or not set(LINUX_ONLY) <= set(built)):
        raise gate.Usage(f"{build} does not build all layers, or LINUX_ONLY has a name too many")
    wanted = [_for_macos(command) for command in built.values()
              if LINUX_ONLY.get(command.source, command.source)]
    if not compiler:
        compiler, folders = kept_by_packaging(root)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        faults = pool.map(lambda command: _fault(command, compiler, folders), wanted)
    return list(dict.fromkeys(fault for fault in faults if fault))  # a header's fault comes often


def _for_macos(command):
    """A source that only Linux has, os_linux.c, may have a counterpart."""
    name = LINUX_ONLY.get(command.source, command.source.replace("_linux.c", "_macos.c"))
    command.file = command.file.removesuffix(command.source) + name
    command.source = name
    return command


def kept_by_packaging(root):
    """The compiler and the folders of headers in packaging's cache."""
    static = os.path.join(root, "packaging", "static")
    arch = "x86_64"  # any: headers do not differ
    if subprocess.run([static, "is-cached", arch], capture_output=True, check=False).returncode:
        raise gate.Skip("no compiler for macOS here; `packaging/static libraries x86_64` gets one")
    (tools,) = _ask(static, "zig")
    folders = [f"{prefix}/include" for prefix in _ask(static, "prefix", arch)]
    return [os.path.join(tools, "macos-cc")], folders


def _ask(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()


def flags_of(command):
    """The build's flags, and files that it includes by force."""
    flags = []
    for word, following in zip(command.args, command.args[1:] + [""]):
        if word == "-include":
            flags += [word, following]
        elif KEPT.match(word):
            flags.append(word)
    return flags


def _fault(command, compiler, folders):
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                         "shoal-static", "zig-cache")
    env = {**os.environ, "LC_ALL": "C", "ZIG_GLOBAL_CACHE_DIR": cache,
           "ZIG_LOCAL_CACHE_DIR": cache}
    with tempfile.NamedTemporaryFile(suffix=".o") as out:
        words = [*compiler, *flags_of(command), "-O2", "-Werror", *UNKNOWN_TO_GCC,
                 *(f"-isystem{folder}" for folder in folders),
                 "-c", command.file, "-o", out.name]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=env,
                              cwd=command.directory)
    if done.returncode == 0:
        return None
    found = re.search(r"([^:\s]*):(\d+):\d+: (?:fatal )?error: (.*)", done.stderr)
    said = done.stderr.strip()[:200] or f"status {done.returncode}"
    name, line, said = found.groups() if found else (command.source, 1, said)
    name = re.sub(r"^.*?(?=src/)", "", name) if "src/" in name else command.source
    return gate.problem(name, line,
                        f"does not compile for macOS ({said}); use what both systems have, or the "
                        "one file of the layer that knows the system")


def main(argv):
    parser = gate.parser(__doc__, "root", "build")
    parser.add_argument("--cc", default="", help="the compiler, perhaps with leading words")
    parser.add_argument("--include", action="append", default=[], help="a folder of headers")
    args = parser.parse_args(argv)
    return gate.finish(check, args.root, args.build, args.cc.split(), args.include)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
