"""What is handed out: the program, itself again for every architecture, manual and completions."""

import os
import subprocess
import tarfile

import elf
import macho
import pytest
from conftest import OUT, packaging, project_version


def unpacked(tarball, into):
    with tarfile.open(tarball) as archive:
        archive.extractall(into, filter="data")
    (top,) = into.iterdir()
    return top


def test_names_say_version_and_architecture(tarballs):
    version = project_version()
    assert sorted(os.path.basename(path) for path in tarballs.values()) == [
        f"shoal-{version}-{system}-{arch}.tar.gz" for system in ("linux", "macos")
        for arch in ("aarch64", "x86_64")]


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_holds_all_payloads(tarballs, arch, tmp_path):
    top = unpacked(tarballs[arch], tmp_path)
    assert elf.Elf(top / "bin/shoal").machine == arch
    for other in ("x86_64", "aarch64"):
        payload = top / "libexec/shoal/payload" / f"shoal-{other}"
        assert elf.Elf(payload).machine == other
        assert os.access(payload, os.X_OK)
    own = top / "libexec/shoal/payload" / f"shoal-{arch}"
    assert own.read_bytes() == (top / "bin/shoal").read_bytes()


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_a_mac_gets_the_programs_for_nodes(tarballs, arch, tmp_path):
    top = unpacked(tarballs[f"{arch}-macos"], tmp_path)
    assert macho.MachO(top / "bin/shoal").cpu == arch
    for other in ("x86_64", "aarch64"):
        assert elf.Elf(top / "libexec/shoal/payload" / f"shoal-{other}").machine == other


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_holds_manual_completions_and_terms(tarballs, arch, tmp_path):
    top = unpacked(tarballs[arch], tmp_path)
    for name in ("LICENSE", "share/man/man1/shoal.1", "share/man/man1/shoal-validate.1",
                 "share/man/man5/shoal-cluster.5", "share/bash-completion/completions/shoal",
                 "share/zsh/site-functions/_shoal", "share/fish/vendor_completions.d/shoal.fish",
                 "share/doc/shoal/openssl.copyright", "share/doc/shoal/curl.copyright"):
        assert (top / name).stat().st_size > 0, name


def test_runs_where_it_is_unpacked(tarballs, tmp_path):
    top = unpacked(tarballs[os.uname().machine], tmp_path)
    said = subprocess.run([top / "bin/shoal", "version"], capture_output=True, text=True,
                          check=True).stdout
    assert said.startswith(f"shoal {project_version()} ")


def test_says_nothing_of_who_made_it(tarballs):
    for path in tarballs.values():
        with tarfile.open(path) as archive:
            for member in archive:
                assert (member.uid, member.gid, member.uname, member.gname) == (0, 0, "", "")
                assert member.mode in (0o644, 0o755)


def test_is_the_same_when_made_again(tarballs):
    before = {path: open(path, "rb").read() for path in tarballs.values()}
    packaging("package", "--out", str(OUT))
    for path, content in before.items():
        if "-macos-" in path.name:
            continue  # test_macos.py
        with open(path, "rb") as stream:
            assert stream.read() == content, path
