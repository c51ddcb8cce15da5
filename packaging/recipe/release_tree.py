"""The files of a release, as the other packages take them from its tarball.

Every other package (wheel, .deb, .rpm) contains the same files under its own prefix. It leaves out
the payload of its own architecture: a static program is that payload itself (src/app/payload.h).
"""

import dataclasses
import pathlib
import re
import tarfile

import cache

NAME = re.compile(r"shoal-(?P<version>[0-9][0-9A-Za-z.+~-]*)-linux-(?P<arch>x86_64|aarch64)"
                  r"\.tar\.gz")
SUMMARY = "Launch, scale and run Ray clusters"


@dataclasses.dataclass(frozen=True)
class File:
    content: bytes
    is_executable: bool


@dataclasses.dataclass(frozen=True)
class Tree:
    """`files` has the path inside the prefix ("bin/shoal") of each file, sorted."""

    version: str
    arch: str
    files: dict


def read(tarball):
    """The tree of shoal-VERSION-linux-ARCH.tar.gz, which `packaging/static package` makes."""
    name = NAME.fullmatch(pathlib.Path(tarball).name)
    if not name:
        raise cache.Trouble(f"{tarball} is not named shoal-VERSION-linux-ARCH.tar.gz; make it with "
                            "`packaging/static package`")
    version, arch = name["version"], name["arch"]
    try:
        with tarfile.open(tarball) as archive:
            files = dict(sorted(_members(archive, f"shoal-{version}-linux-{arch}/")))
    except (OSError, EOFError, tarfile.TarError) as why:
        raise cache.Trouble(f"cannot read {tarball}: {why}") from why
    for needed in ("bin/shoal", *(f"libexec/shoal/payload/shoal-{other}"
                                  for other in ("x86_64", "aarch64"))):
        if needed not in files:
            raise cache.Trouble(f"{tarball} has no {needed}")
    del files[f"libexec/shoal/payload/shoal-{arch}"]
    return Tree(version, arch, files)


def _members(archive, top):
    for member in archive:
        if not member.name.startswith(top) or not (member.isfile() or member.islnk()):
            raise cache.Trouble(f"{archive.name} has {member.name}, which is not a file of {top}")
        with archive.extractfile(member) as stream:  # follows hard links
            yield member.name.removeprefix(top), File(stream.read(), bool(member.mode & 0o100))


def write(tree, folder):
    """Writes the files below a folder, with the modes that a package has."""
    for inside, file in tree.files.items():
        path = folder / inside
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(0o755 if file.is_executable else 0o644)
