"""Programs for Macs, as far as Linux can judge them. Nothing here runs on a Mac."""

import os
import subprocess

import macho
import pytest
from conftest import OUT, packaging

import cache
import zig


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
    assert path.stat().st_size <= 7_000_000
    for place in (str(cache.ROOT), str(cache.folder()), os.path.expanduser("~")):
        assert place.encode() not in program.bytes, place
    if zig.machine(arch) == "aarch64":  # a Mac with Intel runs programs without a signature
        assert program.is_ad_hoc() and program.wrong_pages() == []
    packaging("build", "--out", str(tmp_path / "again"), arch)
    again = tmp_path / "again" / arch / "src/cli/shoal"
    assert subprocess.run(["cmp", path, again], check=False).returncode == 0
