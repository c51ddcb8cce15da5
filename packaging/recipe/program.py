"""The program itself: Meson with our compiler and the static libraries, nothing of this machine."""

import json
import os
import shutil

import cache
import emulator
import libraries
import macho_strip
import zig

# Section garbage collection is what makes whole libraries cheap to link.
# Tables for unwinding are of no use without symbols, and nothing here throws.
COMPILE_FLAGS = ("-g0", "-ffunction-sections", "-fdata-sections", "-fno-unwind-tables",
                 "-fno-asynchronous-unwind-tables")
# What makes a static PIE; Meson adds read-only relocations and the rest for every build.
LINK_FLAGS = ("-static", "-Wl,--gc-sections", "-s")

# The loader in musl's start code applies packed relocations since 1.2.4. -O2 merges the ends of
# strings.
RELINK_FLAGS = ("--pack-dyn-relocs=relr", "-O2")

# macOS has no static programs: these are linked with the system's own C library alone.
LINK_FLAGS_MACOS = ("-Wl,-dead_strip", "-s")

# For size: it is sent to every machine, and what is slow about it is waiting.
OPTIONS = ("--prefix=" + libraries.PREFIX, "-Doptimization=s", "-Ddebug=false",
           "-Ddefault_library=static", "-Dprefer_static=true", "-Dfailpoints=false")


# The commit that `shoal version -o json` names, from the environment: a tarball of the sources has
# no history, and must give the same bytes.
COMMIT = "SHOAL_COMMIT"


def _quoted(words):
    return "[" + ", ".join(f"'{word}'" for word in words) + "]"


def _compiler_text(arch):
    """The compiler as Meson calls it.

    Meson asks which linker there is, and does not know the name by which zig calls its LLD. And zig
    does not pass on the option that packs relative relocations (8 % of the program). So objects are
    linked a second time, with the command that zig used and this option. The command is the last
    one that zig prints: with a new cache it also links parts of musl. It is split at blanks, so the
    path of the cache must not have any.
    """
    compiler = zig.compiler(arch)
    if zig.is_macos(arch):  # Meson is to use the options of Apple's linker, as zig does
        return f"""\
#!/bin/sh
case " $* " in
    *" -Wl,--version "*) echo "ld: unknown option: --version" >&2 && exit 1 ;;
    *" -Wl,-v "*) echo "PROGRAM:ld PROJECT:ld64-609" >&2 && exit 1 ;;
    *) exec {compiler} "$@" ;;
esac
"""
    return f"""\
#!/bin/sh
case " $* " in
    *" -Wl,--version "*) echo "LLD (compatible with GNU linkers)" && exit ;;
    *".c "*) exec {compiler} "$@" ;;
    *" -Wl,--gc-sections "*) ;;
    *) exec {compiler} "$@" ;;
esac
log=$(mktemp) || exit
trap 'rm -f "$log"' EXIT
{compiler} -v "$@" 2>"$log" || {{ cat "$log" >&2; exit 1; }}
grep -i warning "$log" >&2
command=$(sed -n 's/^ld\\.lld //p' "$log" | tail -n 1)
[ -n "$command" ] || {{ echo "zig cc -v printed no link command" >&2; exit 1; }}
tools=$(command -v zig-ar)
"${{tools%/*}}/../zig" ld.lld $command {' '.join(RELINK_FLAGS)}
"""


def _cross_text(arch, prefixes, compiler, build, more=""):
    tools = zig.home() / "bin"
    # Objects name their sources in assertions: as seen from the project, wherever it lies.
    maps = [f"-ffile-prefix-map={place}/=" for place in (os.path.relpath(cache.ROOT, build),
                                                         cache.ROOT)]
    return f"""\
[binaries]
c = '{compiler}'
ar = '{tools / 'zig-ar'}'
ranlib = '{tools / 'zig-ranlib'}'
pkgconfig = 'pkg-config'
{more}

[properties]
pkg_config_libdir = {_quoted(prefix / 'lib' / 'pkgconfig' for prefix in prefixes)}
needs_exe_wrapper = {'false' if arch == zig.host_architecture() else 'true'}

[built-in options]
c_args = {_quoted((*COMPILE_FLAGS, *maps))}
c_link_args = {_quoted(LINK_FLAGS_MACOS if zig.is_macos(arch) else LINK_FLAGS)}

[host_machine]
system = '{'darwin' if zig.is_macos(arch) else 'linux'}'
cpu_family = '{zig.machine(arch)}'
cpu = '{zig.machine(arch)}'
endian = 'little'
"""


def _set_up(out, arch, name, text_of, options, log):
    """A build folder of this name, new if it was made for another cross file or other options."""
    folder, compiler, cross = out / name, out / f"{arch}.cc", out / f"{name}.cross"
    text = text_of(compiler, folder)
    options = (*options, f"-Dcommit={os.environ.get(COMMIT, '')}")
    key = f"{text}{options}{_compiler_text(arch)}"
    mark = folder / "made-for"  # what the folder was set up with
    if mark.exists() and mark.read_text(encoding="utf-8") == key:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    out.mkdir(parents=True, exist_ok=True)
    compiler.write_text(_compiler_text(arch), encoding="ascii")
    compiler.chmod(0o755)
    cross.write_text(text, encoding="utf-8")
    cache.run(["meson", "setup", "--cross-file", cross, *options, folder, cache.ROOT],
              cwd=out, env=zig.environment(cache.ROOT), log=log)  # Meson's probes leave an a.o
    mark.write_text(key, encoding="utf-8")
    return folder


def build(arch, out, jobs):
    """Builds the program for one architecture in out/ARCH; its path."""
    zig.install()
    prefixes = libraries.build_all(arch, jobs)
    out = out.resolve()
    log = _fresh_log(out, arch)
    folder = _set_up(out, arch, arch, lambda *place: _cross_text(arch, prefixes, *place),
                     (*OPTIONS, "-Dtests=false", "-Dwerror=true"), log)
    cache.run(["ninja", "-C", folder, f"-j{jobs}"], env=zig.environment(cache.ROOT), log=log)
    made = folder / "src" / "cli" / "shoal"
    if zig.is_macos(arch):
        macho_strip.strip(made)
    return made


def test(arch, out, jobs):
    """Builds the unit tests as the program is built, and runs them; what Meson said of them."""
    zig.install()
    prefixes = libraries.build_all(arch, jobs, libraries.PROGRAM + libraries.TESTS)
    out = out.resolve()
    name = f"{arch}-tests"
    is_foreign = arch != zig.host_architecture()
    log = _fresh_log(out, name)
    more = f"exe_wrapper = '{emulator.find(arch)}'" if is_foreign else ""
    folder = _set_up(out, arch, name, lambda *place: _cross_text(arch, prefixes, *place, more),
                     (*OPTIONS, "-Dtests=true"), log)
    env = zig.environment(cache.ROOT)
    # Not all of the tests folder: probes may lean on glibc.
    programs = _unit_tests(folder)
    names = [os.path.basename(path).removeprefix("test_") for path in programs]
    cache.run(["ninja", "-C", folder, f"-j{jobs}", *programs], env=env, log=log)
    return cache.run(["meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs",
                      "--num-processes", jobs, "-t", 10 if is_foreign else 1,
                      "--suite", "unit", *names], env=env, log=log)


def _unit_tests(folder):
    """The programs of unit tests, as ninja calls them."""
    targets = json.loads(cache.run(["meson", "introspect", "--targets", folder]))
    return [os.path.relpath(target["filename"][0], folder) for target in targets
            if target["type"] == "executable" and target["defined_in"].endswith("unit/meson.build")]


def _fresh_log(out, name):
    out.mkdir(parents=True, exist_ok=True)
    log = out / f"{name}.log"
    log.unlink(missing_ok=True)
    return log


def version(folder):
    """The project's version, as a build folder knows it."""
    text = cache.run(["meson", "introspect", "--projectinfo", folder])
    return json.loads(text)["version"]


def install(folder, into):
    """What the project itself would install, below `into`; its folder."""
    cache.run(["meson", "install", "--no-rebuild", "-C", folder, "--destdir", into],
              env=zig.environment(cache.ROOT))
    return into / libraries.PREFIX.lstrip("/")
