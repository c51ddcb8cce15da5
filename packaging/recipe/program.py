"""The program itself: Meson with our compiler and the static libraries, nothing of this machine."""

import json
import os
import shutil

import cache
import libraries
import zig

# Section garbage collection is what makes whole libraries cheap to link.
COMPILE_FLAGS = ("-g0", "-ffunction-sections", "-fdata-sections")
# What makes a static PIE; Meson adds read-only relocations and the rest for every build.
LINK_FLAGS = ("-static", "-Wl,--gc-sections", "-s")

OPTIONS = ("--prefix=" + libraries.PREFIX, "-Doptimization=2", "-Ddebug=false",
           "-Ddefault_library=static", "-Dprefer_static=true", "-Dtests=false")


def _quoted(words):
    return "[" + ", ".join(f"'{word}'" for word in words) + "]"


def _compiler_text(arch):
    """Meson asks which linker there is, and does not know the name by which zig calls its LLD."""
    return f"""\
#!/bin/sh
case " $* " in
    *" -Wl,--version "*) echo "LLD (compatible with GNU linkers)" ;;
    *) exec {zig.compiler(arch)} "$@" ;;
esac
"""


def _cross_text(arch, compiler, prefixes, build):
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

[properties]
pkg_config_libdir = {_quoted(prefix / 'lib' / 'pkgconfig' for prefix in prefixes)}
needs_exe_wrapper = {'false' if arch == zig.host_architecture() else 'true'}

[built-in options]
c_args = {_quoted((*COMPILE_FLAGS, *maps))}
c_link_args = {_quoted(LINK_FLAGS)}

[host_machine]
system = 'linux'
cpu_family = '{arch}'
cpu = '{arch}'
endian = 'little'
"""


def build(arch, out, jobs):
    """Builds the program for one architecture in out/ARCH; its path."""
    zig.install()
    prefixes = libraries.build_all(arch, jobs)
    out = out.resolve()
    folder, compiler, cross, log = (out / f"{arch}{end}" for end in ("", ".cc", ".cross", ".log"))
    out.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    env = zig.environment(cache.ROOT)
    text = _cross_text(arch, compiler, prefixes, folder)
    mark = folder / "made-for"  # whose text the folder was set up with
    if not (mark.exists() and mark.read_text(encoding="utf-8") == text):
        shutil.rmtree(folder, ignore_errors=True)
        compiler.write_text(_compiler_text(arch), encoding="ascii")
        compiler.chmod(0o755)
        cross.write_text(text, encoding="utf-8")
        cache.run(["meson", "setup", "--cross-file", cross, *OPTIONS, folder, cache.ROOT],
                  env=env, log=log)
        mark.write_text(text, encoding="utf-8")
    cache.run(["ninja", "-C", folder, f"-j{jobs}"], env=env, log=log)
    return folder / "src" / "cli" / "shoal"


def version(folder):
    """The project's version, as a build folder knows it."""
    text = cache.run(["meson", "introspect", "--projectinfo", folder])
    return json.loads(text)["version"]


def install(folder, into):
    """What the project itself would install, below `into`; its folder."""
    cache.run(["meson", "install", "--no-rebuild", "-C", folder, "--destdir", into],
              env=zig.environment(cache.ROOT))
    return into / libraries.PREFIX.lstrip("/")
