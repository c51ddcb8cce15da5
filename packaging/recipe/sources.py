"""The table of sources: fetching them, proving them, unpacking them with Debian's patches.

Debian's pool drops a file when a newer revision comes, so what was fetched once is kept, and
SHOAL_STATIC_SOURCES may name a folder that has the files already.
"""

import csv
import hashlib
import os
import shutil
import urllib.error
import urllib.request

import cache

MIRRORS = (
    "http://deb.debian.org/debian/pool/main/",
    "http://deb.debian.org/debian-security/pool/updates/main/",
    "https://snapshot.debian.org/archive/debian/20260912T000000Z/pool/main/",
)


def table():
    """Library -> its rows, upstream's tarball first."""
    rows = {}
    with open(cache.HERE / "sources.tsv", encoding="utf-8", newline="") as stream:
        for library, folder, name, digest in list(csv.reader(stream, delimiter="\t"))[1:]:
            rows.setdefault(library, []).append({"folder": folder, "name": name, "sha256": digest})
    return rows


def version(library):
    """Upstream's version, from the name of its tarball: zlib_1.3.dfsg+really1.3.1.orig.tar.gz."""
    name = table()[library][0]["name"]
    return name.split("_", 1)[1].split(".orig", 1)[0].split("+really")[-1]


def _digest(path):
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _places(row):
    given = os.environ.get("SHOAL_STATIC_SOURCES")
    if given:
        yield "file://" + os.path.join(os.path.abspath(given), row["name"])
    for mirror in MIRRORS:
        yield f"{mirror}{row['folder']}/{row['name']}"


def fetch(row):
    """The path of a source file whose content is proven."""
    path = cache.folder("sources", row["name"])
    if path.exists() and _digest(path) == row["sha256"]:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    tried = []
    for url in _places(row):
        try:
            with urllib.request.urlopen(url, timeout=60) as reply, open(fresh, "wb") as out:
                shutil.copyfileobj(reply, out)
        except (urllib.error.URLError, OSError) as why:
            tried.append(f"{url}: {why}")
            continue
        if _digest(fresh) == row["sha256"]:
            fresh.rename(path)
            return path
        tried.append(f"{url}: other content than sources.tsv says")
    fresh.unlink(missing_ok=True)
    raise cache.Trouble(f"cannot get {row['name']}:\n  " + "\n  ".join(tried))


def unpack(library, into):
    """The source tree of a library, patched, in `into`/source."""
    rows = table()[library]
    tree = into / "source"
    cache.unpack(fetch(rows[0]), into / "upstream")
    (top,) = (into / "upstream").iterdir()  # one folder, whatever its name
    top.rename(tree)
    for row in rows[1:]:
        shutil.rmtree(tree / "debian", ignore_errors=True)
        cache.unpack(fetch(row), tree)
        _patch(tree)
    return tree


def _patch(tree):
    series = tree / "debian" / "patches" / "series"
    if not series.exists():
        return
    for line in series.read_text(encoding="utf-8").splitlines():
        name = line.split("#")[0].split()
        if name:
            cache.run(["patch", "-p1", "--forward", "--batch", "-i",
                       tree / "debian" / "patches" / name[0]], cwd=tree)
