"""The files of a release, as the other packages take them from its tarball.

Every other package (wheel, .deb, .rpm) contains the same files under its own prefix. On Linux it
leaves out the payload of its own architecture: a static program is that payload itself
(src/app/payload.h). A Mac needs the payloads of both.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import sys
import tarfile

import cache

NAME = re.compile(r"shoal-(?P<version>[0-9][0-9A-Za-z.+~-]*)-(?P<system>linux|macos)-"
                  r"(?P<arch>x86_64|aarch64)\.tar\.gz")
PACKAGE = "shoal-ray"
MAINTAINER = "Shoal maintainers <maintainers@shoal.example>"
SUMMARY = "Launch, scale and run Ray clusters"


@dataclasses.dataclass(frozen=True)
class File:
    content: bytes
    is_executable: bool


@dataclasses.dataclass(frozen=True)
class Tree:
    """`files` has the path inside the prefix ("bin/shoal") of each file, sorted."""

    version: str
    system: str  # linux, macos
    arch: str
    files: dict


def read(tarball):
    """The tree of shoal-VERSION-SYSTEM-ARCH.tar.gz, which `packaging/static package` makes."""
    name = NAME.fullmatch(pathlib.Path(tarball).name)
    if not name:
        raise cache.Trouble(f"{tarball} is not named shoal-VERSION-SYSTEM-ARCH.tar.gz; make it "
                            "with `packaging/static package`")
    version, system, arch = name["version"], name["system"], name["arch"]
    try:
        with tarfile.open(tarball) as archive:
            files = dict(sorted(_members(archive, f"shoal-{version}-{system}-{arch}/")))
    except (OSError, EOFError, tarfile.TarError) as why:
        raise cache.Trouble(f"cannot read {tarball}: {why}") from why
    for needed in ("bin/shoal", *(f"libexec/shoal/payload/shoal-{other}"
                                  for other in ("x86_64", "aarch64"))):
        if needed not in files:
            raise cache.Trouble(f"{tarball} has no {needed}")
    if system == "linux":
        del files[f"libexec/shoal/payload/shoal-{arch}"]
    return Tree(version, system, arch, files)


def _members(archive, top):
    for member in archive:
        if not member.name.startswith(top) or not (member.isfile() or member.islnk()):
            raise cache.Trouble(f"{archive.name} has {member.name}, which is not a file of {top}")
        with archive.extractfile(member) as stream:  # follows hard links
            yield member.name.removeprefix(top), File(stream.read(), bool(member.mode & 0o100))


def package_version(tree):
    """The version as dpkg and rpm order it: 1.0~rc1 comes before 1.0."""
    if tree.system != "linux":
        raise cache.Trouble(f"a .deb or .rpm is for Linux, and this tarball is for {tree.system}")
    if "-" in tree.version:
        raise cache.Trouble(f"{tree.version}: a version of a package has no hyphen; 1.2.0rc1 is "
                            "written without one")
    return re.sub(r"(?<=[0-9])(a|b|rc)(?=[0-9])", r"~\1", tree.version)


def write(files, folder):
    """Writes files below a folder, with the modes that a package has."""
    for inside, file in files.items():
        path = folder / inside
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(0o755 if file.is_executable else 0o644)


def script(name, usage, make):
    """The main function of a script that makes a package of each tarball; its exit status."""
    parser = argparse.ArgumentParser(description=usage,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tarball", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, help="default: the folder of the tarball")
    args = parser.parse_args()
    os.umask(0o022)
    try:
        for tarball in args.tarball:
            tree = read(tarball)
            out = (args.out or tarball.parent).resolve()
            out.mkdir(parents=True, exist_ok=True)
            print(make(tree, out))
        return 0
    except cache.Trouble as trouble:
        print(f"{name}: {trouble}", file=sys.stderr)
        return 1
