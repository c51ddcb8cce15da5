"""Programs for Macs, as far as Linux can judge them. Nothing here runs on a Mac."""

import os
import re
import subprocess

import macho
import pytest
from conftest import OUT, packaging

import cache
import libraries
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
    packaging("build", "--out", str(tmp_path / "again"), arch)
    again = tmp_path / "again" / arch / "src/cli/shoal"
    assert subprocess.run(["cmp", path, again], check=False).returncode == 0
