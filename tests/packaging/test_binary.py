"""How the portable program is linked: nothing needed, nothing writable that runs, nothing of the
machine that built it; and the same sources give the same bytes."""

import os
import pathlib
import re
import shutil
import subprocess

import elf
import pytest
from conftest import BUILD, OUT, REPOSITORY, packaging

MEGABYTE = 1_000_000
SIZE_MAX = 7 * MEGABYTE


@pytest.fixture(scope="session", name="program")
def _program(arch, built):
    return elf.Elf(built[arch])


def test_is_for_its_architecture(program, arch):
    assert program.machine == arch


def test_needs_nobody(program):
    assert not program.of_kind(elf.INTERPRETER)
    for tag in (elf.NEEDED, elf.RPATH, elf.RUNPATH):
        assert tag not in program.dynamic


def test_lies_anywhere_in_memory(program):
    assert program.kind == elf.SHARED_OBJECT
    assert program.dynamic[elf.FLAGS_1][0] & elf.PIE
    assert elf.TEXTREL not in program.dynamic


def test_what_runs_cannot_be_written(program):
    loads = program.of_kind(elf.LOAD)
    assert all(not (segment.may(elf.EXECUTE) and segment.may(elf.WRITE)) for segment in loads)
    (stack,) = program.of_kind(elf.STACK)
    assert not stack.may(elf.EXECUTE)


def test_code_has_a_segment_of_its_own(program):
    """Constants are in another one. The two may share the page of the file where they meet: zig
    does not pass -z separate-code on to its linker."""
    code = [segment for segment in program.of_kind(elf.LOAD) if segment.may(elf.EXECUTE)]
    assert len(code) == 1
    first, last = code[0].address, code[0].address + code[0].memory_size
    for name in (".rodata", ".eh_frame", ".relr.dyn", ".data", ".bss"):
        assert not first <= program.sections[name][3] < last, name


def test_relocations_are_read_only_from_the_start(program):
    assert program.dynamic[elf.FLAGS][0] & elf.BIND_NOW
    assert program.dynamic[elf.FLAGS_1][0] & elf.NOW
    (relro,) = program.of_kind(elf.RELRO)
    name = ".got"
    assert relro.address <= program.sections[name][3] < relro.address + relro.memory_size


def test_stacks_are_guarded(program, arch):
    """The program has no symbols, so ask the objects; on x86_64 the guard's address can be seen."""
    libraries = [path for prefix in packaging("prefix", arch).split()
                 for path in sorted(pathlib.Path(prefix, "lib").glob("*.a"))]
    objects = list((OUT / arch / "src").glob("cli/libcli.a.p/*.o"))
    assert objects and libraries
    for path in [*objects, *libraries]:
        if path.stat().st_size > 20_000:  # a small one may have no array to guard
            assert b"__stack_chk_fail" in path.read_bytes(), path
    if arch == "x86_64":
        assert len(re.findall(rb"\x64.{1,4}\x28\0\0\0", program.section(".text"))) > 1000


def test_no_undefined_behaviour_traps(program):
    """zig without -O would abort at run time where C says nothing."""
    assert b"ubsan" not in program.bytes.lower()


def test_says_nothing_of_the_machine_that_built_it(program):
    home = os.path.expanduser("~").encode()
    places = [str(REPOSITORY).encode(), str(BUILD).encode(), b"shoal-static", b"zig-cache",
              b"site-packages"]
    if home != b"/":
        places.append(home + b"/")
    for place in places:
        assert place not in program.bytes, place


def test_has_no_symbols(program):
    assert ".symtab" not in program.sections
    assert not [name for name in program.sections if name.startswith(".debug")]


def test_is_small(program):
    print(f"{program.machine}: {len(program.bytes) / MEGABYTE:.2f} MB")
    assert len(program.bytes) <= SIZE_MAX


def test_relocations_are_packed(program):
    """24 bytes each in .rela.dyn, one bit each in .relr.dyn."""
    assert ".relr.dyn" in program.sections
    size = len(program.section(".rela.dyn")) if ".rela.dyn" in program.sections else 0
    assert size < 10_000


def test_links_to_the_same_bytes_again(program, built, arch):
    built[arch].unlink()
    packaging("build", "--out", str(OUT), arch)
    assert built[arch].read_bytes() == program.bytes


@pytest.mark.long  # builds everything again
def test_builds_to_the_same_bytes_elsewhere(program, arch, tmp_path):
    """Another folder of sources, another build folder, nothing compiled before: not a byte
    differs."""
    names = subprocess.run(["git", "-C", REPOSITORY, "ls-files", "-co", "--exclude-standard"],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    for name in names:
        if (REPOSITORY / name).is_file():
            target = tmp_path / "sources" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, target)
    subprocess.run([tmp_path / "sources/packaging/static", "build", "--out", tmp_path / "deep/er",
                    arch], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(tmp_path / "zig")})
    other = tmp_path / "deep/er" / arch / "src/cli/shoal"
    assert other.read_bytes() == program.bytes
    shutil.rmtree(tmp_path)  # pytest would keep some hundred megabytes for a while
