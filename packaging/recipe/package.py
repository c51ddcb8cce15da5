"""The package: the program, the programs for nodes, its manual and completions.

The same sources give the same bytes: names are sorted, and clocks and owners are left out.
"""

import gzip
import io
import os
import shutil
import tarfile
import tempfile
import pathlib

import cache
import libraries
import program
import zig

COMPLETIONS = {
    "bash": "share/bash-completion/completions/shoal",
    "zsh": "share/zsh/site-functions/_shoal",
    "fish": "share/fish/vendor_completions.d/shoal.fish",
}


def make(wanted, out, jobs):
    """One tarball per architecture in `wanted`; their paths. Each has the programs of all nodes."""
    programs = {arch: program.build(arch, out, jobs)
                for arch in dict.fromkeys((*zig.ARCHITECTURES, *wanted))}
    return make_from(programs, wanted, out)


def make_from(programs, wanted, out):
    """The same with programs that are built already: architecture -> path."""
    here = out.resolve() / zig.host_architecture()  # only this machine's can print its manual
    number = program.version(here)
    with tempfile.TemporaryDirectory() as scratch:
        shared = pathlib.Path(scratch, "shared")
        _gather(shared, here, programs[zig.host_architecture()])
        return [_pack(out, f"shoal-{number}-{zig.label(arch)}", arch, programs, shared)
                for arch in wanted]


def _gather(shared, here, runnable):
    """What is the same for every architecture."""
    with tempfile.TemporaryDirectory() as stage:
        pages = program.install(here, pathlib.Path(stage)) / "share" / "man"
        if not pages.exists():
            raise cache.Trouble("no manual pages were built: install scdoc")
        shutil.copytree(pages, shared / "share" / "man")
    for shell, place in COMPLETIONS.items():
        target = shared / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(cache.run([runnable, "completion", shell]), encoding="utf-8")
    shutil.copytree(cache.ROOT / "share" / "schema", shared / "share" / "shoal" / "schema")
    shutil.copyfile(cache.ROOT / "LICENSE", shared / "LICENSE")
    doc = shared / "share" / "doc" / "shoal"
    doc.mkdir(parents=True)
    for name in ("README.md", "CHANGELOG.md"):
        shutil.copyfile(cache.ROOT / name, doc / name)
    for library in libraries.asked_for(libraries.PROGRAM):
        terms = f"{library.name}.copyright"
        prefix = libraries.prefix_of(library, zig.host_architecture())
        shutil.copyfile(prefix / "share" / terms, doc / terms)


def _pack(out, name, arch, programs, shared):
    """bin/shoal is written once: on Linux, the payload of its own architecture is a link to it."""
    files = {str(path.relative_to(shared)): path for path in shared.rglob("*") if path.is_file()}
    files["bin/shoal"] = programs[arch]
    for other in zig.ARCHITECTURES:
        files[f"libexec/shoal/payload/shoal-{other}"] = programs[other]
    written = {}
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for inside, path in sorted(files.items()):
            _add(archive, f"{name}/{inside}", path, written)
    target = out.resolve() / f"{name}.tar.gz"
    with open(target, "wb") as stream, gzip.GzipFile("", "wb", 9, stream, mtime=0) as packed:
        packed.write(raw.getvalue())
    return target


def _add(archive, name, path, written):
    member = tarfile.TarInfo(name)
    member.mtime = int(zig.EPOCH)
    member.mode = 0o755 if os.access(path, os.X_OK) else 0o644
    if path in written:
        member.type, member.linkname = tarfile.LNKTYPE, written[path]
        archive.addfile(member)
        return
    written[path] = name
    member.size = path.stat().st_size
    with open(path, "rb") as stream:
        archive.addfile(member, stream)
