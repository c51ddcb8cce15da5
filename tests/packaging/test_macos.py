"""Programs for Macs, as far as Linux can judge them. Nothing here runs on a Mac."""

import json
import os
import re
import subprocess
import sys

import macho
import pytest
from conftest import OUT, REPOSITORY, packaging

import cache
import libraries
import macho_strip
import zig

# Where functions of the C library are declared.
HEADERS = """
    arpa/inet copyfile dirent dlfcn errno fcntl ifaddrs libproc locale mach/mach mach/mach_time
    mach-o/dyld math net/if netdb pthread pwd semaphore signal spawn stdio stdlib string strings
    sys/attr sys/event sys/file sys/ioctl sys/mman sys/mount sys/random sys/resource sys/socket
    sys/stat sys/statvfs sys/sysctl sys/time sys/uio sys/un sys/utsname sys/wait syslog
    termios time unistd utime wchar
""".split()


def linked(arch, folder, text="int main(void) { return 0; }\n"):
    """A small program for a Mac."""
    source, made = folder / "main.c", folder / "program"
    source.write_text(text, encoding="ascii")
    cache.run([zig.compiler(arch), "-Os", source, "-o", made], env=zig.environment(folder))
    return made


@pytest.fixture(scope="module", name="signed")
def _signed(tmp_path_factory):
    if not zig.is_installed():
        pytest.skip("no compiler here; `packaging/static libraries x86_64` gets one")
    zig.install()
    return linked("aarch64-macos", tmp_path_factory.mktemp("small"))


def test_the_linker_signs_for_arm64(signed):
    program = macho.MachO(signed)
    assert (program.cpu, program.kind) == ("aarch64", macho.EXECUTE)
    assert program.flags & macho.PIE
    assert (program.platform, program.oldest) == (macho.MACOS, zig.MACOS_OLDEST)
    assert program.libraries == ["/usr/lib/libSystem.B.dylib"]
    assert program.is_ad_hoc() and program.wrong_pages() == []


def test_a_flipped_byte_breaks_the_signature(signed, tmp_path):
    program = macho.MachO(signed)
    content = bytearray(program.bytes)
    content[program.signature[0] - 1] ^= 1
    (tmp_path / "changed").write_bytes(content)
    assert len(macho.MachO(tmp_path / "changed").wrong_pages()) == 1


def too_new(imports, arch, folder):
    """Those that a header declares for a newer macOS than the oldest that we support. A name that
    no header declares is not judged."""
    names = sorted(name.removeprefix("_") for name in imports)
    lines = [f"#include <{name}.h>" for name in HEADERS]
    lines += [f"void *import_{i} = (void *)&{name};" for i, name in enumerate(names)]
    source = folder / "imports.c"
    source.write_text("\n".join(lines) + "\n", encoding="ascii")
    done = subprocess.run([zig.compiler(arch), "-fsyntax-only", "-ferror-limit=0", source],
                          cwd=folder, env=zig.environment(folder), capture_output=True, text=True,
                          check=False)
    assert "file not found" not in done.stderr
    return sorted(re.findall("'(.*)' is only available on macOS", done.stderr))


def test_the_imports_are_read_and_judged(signed, tmp_path):
    assert macho.MachO(signed).imports <= {"dyld_stub_binder", "__mh_execute_header"}
    text = "#include <unistd.h>\nint main(void) { int f[2]; return pipe(f) + pipe2(f, 0); }\n"
    imports = macho.MachO(linked("aarch64-macos", tmp_path, text)).imports
    assert {"_pipe", "_pipe2"} <= imports
    assert too_new(imports | {"_nobody_declares_this"}, "aarch64-macos", tmp_path) == ["pipe2"]


def test_libraries_cannot_call_what_is_too_new(signed, tmp_path):
    """Else the program would not start on the oldest macOS."""
    assert signed.exists()
    (flags,) = (option.partition("=")[2].split() for option in libraries.CMAKE_FOR_MACOS
                if option.startswith("-DCMAKE_C_FLAGS="))
    source = tmp_path / "main.c"
    source.write_text("#include <unistd.h>\nint p(int *f) { return pipe2(f, 0); }\n",
                      encoding="ascii")
    with pytest.raises(cache.Trouble, match="'pipe2' is only available on macOS"):
        cache.run([zig.compiler("aarch64-macos"), *flags, "-c", source, "-o", tmp_path / "main.o"],
                  env=zig.environment(tmp_path))


NAMED = """\
#include <stdio.h>
__attribute__((noinline)) int named(int n) { return puts(n ? "a" : "b"); }
int main(int n, char **words) { (void)words; return named(n) + fputs("c", stdout); }
"""


def test_names_of_functions_are_removed(signed, tmp_path):
    assert signed.exists()
    path = linked("x86_64-macos", tmp_path, NAMED)
    before = macho.MachO(path)
    assert {"_named", "_main"} <= before.defined and {"_puts", "_fputs"} <= before.imports
    macho_strip.strip(path)
    after = macho.MachO(path)
    assert (after.imports, after.defined) == (before.imports, set())
    assert after.indirect == [name if name in before.imports else None
                              for name in before.indirect] and "_puts" in after.indirect
    same = slice(before.commands_end, before.symbols)  # with all that dyld reads
    assert after.bytes[same] == before.bytes[same] and after.symbols == before.symbols
    assert len(after.bytes) < len(before.bytes) and b"_named" not in after.bytes[after.symbols:]
    assert os.access(path, os.X_OK)
    macho_strip.strip(path)
    assert path.read_bytes() == after.bytes


def test_only_what_is_understood_is_stripped(signed, tmp_path):
    """A signed program stays as it is; another layout is an error."""
    before = signed.read_bytes()
    macho_strip.strip(signed)
    assert signed.read_bytes() == before
    path = linked("x86_64-macos", tmp_path, NAMED)
    path.write_bytes(path.read_bytes() + bytes(8))
    with pytest.raises(cache.Trouble, match="did not write the symbols at the end"):
        macho_strip.strip(path)


def test_the_lint_compiles_every_layer(signed, tmp_path):
    """A source of any layer that needs Linux is named; one that a Mac replaces is not compiled."""
    assert signed.exists()
    gate = REPOSITORY / "tools/lint"
    asked = subprocess.run([sys.executable, "-c", "import json, macos\n"
                            "print(json.dumps([macos.LAYERS, macos.LINUX_ONLY]))"],
                           capture_output=True, text=True, check=True, cwd=gate)
    layers, linux_only = json.loads(asked.stdout)
    linux = "#include <sys/epoll.h>\n"
    texts = {f"src/{layer}/x.c": linux if layer in ("provider", "app", "cli") else "int x;\n"
             for layer in layers}
    texts.update({name: linux for name in linux_only})
    texts.update({name: "int x;\n" for name in linux_only.values() if name})
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    rows = [{"directory": str(tmp_path), "file": name, "command": f"cc -std=c17 -c {name}"}
            for name in texts if name not in linux_only.values()]

    def run_gate():
        (tmp_path / "compile_commands.json").write_text(json.dumps(rows), encoding="ascii")
        return subprocess.run([sys.executable, gate / "macos.py", tmp_path, tmp_path, "--cc",
                               zig.home() / "bin/macos-cc"], capture_output=True, text=True,
                              check=False)

    done = run_gate()
    assert done.returncode == 1 and "'sys/epoll.h' file not found" in done.stdout
    assert {line.split(":")[0] for line in done.stdout.splitlines()} == {
        "src/provider/x.c", "src/app/x.c", "src/cli/x.c"}
    rows = [row for row in rows if row["file"] != "src/cli/verb_node.c"]
    assert run_gate().returncode == 2


@pytest.mark.long
@pytest.mark.parametrize("arch", zig.MACOS)
def test_all_commands_compile_and_link(arch, tmp_path):
    """Twice, in two folders: the same bytes."""
    packaging("build", "--out", str(OUT), arch)
    path = OUT / arch / "src/cli/shoal"
    program = macho.MachO(path)
    assert (program.cpu, program.kind) == (zig.machine(arch), macho.EXECUTE)
    assert (program.platform, program.oldest) == (macho.MACOS, zig.MACOS_OLDEST)
    assert program.libraries == ["/usr/lib/libSystem.B.dylib"]
    assert too_new(program.imports, arch, tmp_path) == []
    ours = {archive: macho.archived(archive) for archive in (OUT / arch).rglob("*.a")}
    assert ours and "_arena_init" in set().union(*ours.values())
    for archive, names in ours.items():  # the linker may prefer the name of the system
        assert not program.imports & names, archive
    assert path.stat().st_size <= 7_000_000
    for place in (str(cache.ROOT), str(cache.folder()), os.path.expanduser("~")):
        assert place.encode() not in program.bytes, place
    if zig.machine(arch) == "aarch64":  # a Mac with Intel runs programs without a signature
        assert program.is_ad_hoc() and program.wrong_pages() == []
    else:
        assert not program.defined
    packaging("build", "--out", str(tmp_path / "again"), arch)
    again = tmp_path / "again" / arch / "src/cli/shoal"
    assert subprocess.run(["cmp", path, again], check=False).returncode == 0
