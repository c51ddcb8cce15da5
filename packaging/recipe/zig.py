"""The compiler: zig's clang with its own musl, for every architecture we ship, from one package.

Libraries and the program are compiled through small scripts named like a cross compiler's, so that
no path of this machine gets into what is built (OpenSSL records its compiler's command).
"""

import os
import sys

import cache

ARCHITECTURES = ("x86_64", "aarch64")

# Without -O zig turns on checks that abort; -fPIC because the program is a static PIE. For size, as
# the program itself (program.py): what takes time in the libraries is written in assembly.
LIBRARY_FLAGS = ("-Os", "-g0", "-fPIC", "-ffunction-sections", "-fdata-sections",
                 "-fstack-protector-strong", "-fno-unwind-tables",
                 "-fno-asynchronous-unwind-tables")

# Everything that could get a clock or a path into a file is told what to say instead.
EPOCH = "1735689600"


def architecture(name):
    """The one spelling that we use; uname and Go have others."""
    known = {"arm64": "aarch64", "amd64": "x86_64"}.get(name, name)
    if known not in ARCHITECTURES:
        raise cache.Trouble(f"no architecture {name}; there are {', '.join(ARCHITECTURES)}")
    return known


def host_architecture():
    return architecture(os.uname().machine)


def pinned():
    """The requirement as pip wants it: version and the digests of its wheels."""
    return (cache.HERE / "zig.txt").read_text(encoding="utf-8")


def _tools():
    """Scripts that call zig: name -> the words behind `zig`."""
    tools = {"zig-ar": "ar", "zig-ranlib": "ranlib", "macos-cc": "cc -target aarch64-macos"}
    for arch in ARCHITECTURES:
        target = f"{arch}-linux-musl"
        tools[f"{target}-cc"] = f'cc -target {target} -ffile-prefix-map="${{SHOAL_MAP:-/=/}}"'
    return tools


def facts():
    """What everything that was built with it depends on."""
    return pinned(), _tools(), LIBRARY_FLAGS, EPOCH


def home():
    return cache.folder("zig-" + cache.key_of(pinned(), _tools()))


def is_installed():
    return home().exists()


def install():
    """Once per machine and version: 101 MB from PyPI, proven by digest."""
    with cache.made_once(home()) as fresh:
        if fresh is None:
            return
        print("static: installing", pinned().split()[0], flush=True)
        cache.run([sys.executable, "-m", "venv", fresh / "env"])
        # Not the environment's own pip script: it would name a folder that is renamed.
        cache.run([fresh / "env/bin/python", "-m", "pip", "install", "-q", "--no-deps",
                   "--require-hashes", "-r", cache.HERE / "zig.txt"])
        (program,) = (fresh / "env").glob("lib/python3*/site-packages/ziglang/zig")
        (fresh / "zig").symlink_to(program.relative_to(fresh))
        _write_tools(fresh)


def _write_tools(fresh):
    """They find zig beside themselves, so that the folder may be renamed."""
    (fresh / "bin").mkdir()
    for name, words in _tools().items():
        script = fresh / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "${{0%/*}}/../zig" {words} "$@"\n', encoding="ascii")
        script.chmod(0o755)


def compiler(arch):
    return f"{arch}-linux-musl-cc"


def environment(source_root):
    """For everything that calls the compiler. Paths below `source_root` are left out of objects."""
    keep = {name: os.environ[name] for name in ("HOME", "TMPDIR", "LANG") if name in os.environ}
    zig_cache = os.environ.get("ZIG_GLOBAL_CACHE_DIR") or str(cache.folder("zig-cache"))
    return {
        **keep,
        "PATH": f"{home() / 'bin'}:{os.environ['PATH']}",
        "ZIG_GLOBAL_CACHE_DIR": zig_cache,
        "ZIG_LOCAL_CACHE_DIR": zig_cache,
        "SHOAL_MAP": f"{source_root}=.",
        "SOURCE_DATE_EPOCH": EPOCH,
        "LC_ALL": "C",
    }
