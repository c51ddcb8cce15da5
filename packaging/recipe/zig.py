"""The compiler: zig's clang with its own musl, for every architecture we ship, from one package.

Libraries and the program are compiled through small scripts named like a cross compiler's, so that
no path of this machine gets into what is built (OpenSSL records its compiler's command).
"""

import os
import sys

import cache

ARCHITECTURES = ("x86_64", "aarch64")  # of Linux: these are what nodes run

# For laptops only. zig has the headers of macOS and the names in its C library, but no frameworks.
MACOS = ("x86_64-macos", "aarch64-macos")
MACOS_OLDEST = "12.0"

# Without -O zig turns on checks that abort; -fPIC because the program is a static PIE. For size, as
# the program itself (program.py): what takes time in the libraries is written in assembly.
LIBRARY_FLAGS = ("-Os", "-g0", "-fPIC", "-ffunction-sections", "-fdata-sections",
                 "-fstack-protector-strong", "-fno-unwind-tables",
                 "-fno-asynchronous-unwind-tables")

# Everything that could get a clock or a path into a file is told what to say instead.
EPOCH = "1735689600"

# Of the machine's variables; with the last ones a test changes the date (clock.py).
KEPT = ("HOME", "TMPDIR", "LANG", "TZ", "LD_PRELOAD", "FAKETIME", "FAKETIME_DONT_FAKE_MONOTONIC")


def architecture(name):
    """The one spelling that we use; uname and Go have others."""
    machine, hyphen, system = name.partition("-")
    known = {"arm64": "aarch64", "amd64": "x86_64"}.get(machine, machine) + hyphen + system
    if known not in ARCHITECTURES + MACOS:
        raise cache.Trouble(f"no architecture {name}; there are "
                            f"{', '.join(ARCHITECTURES + MACOS)}")
    return known


def is_macos(arch):
    return arch in MACOS


def machine(arch):
    """Without the system: x86_64 or aarch64."""
    return arch.partition("-")[0]


def label(arch):
    """In the names of tarballs: linux-x86_64, macos-aarch64."""
    return f"{'macos' if is_macos(arch) else 'linux'}-{machine(arch)}"


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


def _macos_tools():
    """The same for macOS. In a folder of their own, because everything that is built for Linux
    depends on the tools for Linux. -arch comes from OpenSSL; -target says it already."""
    return {f"{arch}-cc": f'cc -target {arch}.{MACOS_OLDEST} '
                          '-ffile-prefix-map="${SHOAL_MAP:-/=/}"' for arch in MACOS}


def facts(arch):
    """What everything that was built with it depends on."""
    return pinned(), _macos_tools() if is_macos(arch) else _tools(), LIBRARY_FLAGS, EPOCH


def home():
    return cache.folder("zig-" + cache.key_of(pinned(), _tools()))


def _macos_home():
    return cache.folder("zig-macos-" + cache.key_of(pinned(), _tools(), _macos_tools()))


def is_installed():
    return home().exists()


def install():
    """Once per machine and version: 101 MB from PyPI, proven by digest."""
    _install_compiler()
    with cache.made_once(_macos_home()) as fresh:
        if fresh is not None:
            (fresh / "zig").symlink_to(home() / "zig")
            _write_tools(fresh, _macos_tools())


def _install_compiler():
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
        _write_tools(fresh, _tools())


def _write_tools(fresh, tools):
    """They find zig beside themselves, so that the folder may be renamed."""
    (fresh / "bin").mkdir()
    for name, words in tools.items():
        script = fresh / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "${{0%/*}}/../zig" {words} "$@"\n', encoding="ascii")
        script.chmod(0o755)


def compiler(arch):
    return f"{arch}-cc" if is_macos(arch) else f"{arch}-linux-musl-cc"


def environment(source_root):
    """For everything that calls the compiler. Paths below `source_root` are left out of objects."""
    keep = {name: os.environ[name] for name in KEPT if name in os.environ}
    zig_cache = os.environ.get("ZIG_GLOBAL_CACHE_DIR") or str(cache.folder("zig-cache"))
    return {
        **keep,
        "PATH": f"{home() / 'bin'}:{_macos_home() / 'bin'}:{os.environ['PATH']}",
        "ZIG_GLOBAL_CACHE_DIR": zig_cache,
        "ZIG_LOCAL_CACHE_DIR": zig_cache,
        "SHOAL_MAP": f"{source_root}=.",
        "SOURCE_DATE_EPOCH": EPOCH,
        "LC_ALL": "C",
    }
