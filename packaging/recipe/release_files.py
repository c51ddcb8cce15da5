"""The files of a release, from its tarballs: packages, install.sh, the Homebrew formula, the bill
of materials, the release notes and SHA256SUMS.

  release_files.py VERSION COMMIT TARBALLS OUT [URL [KEY]]

KEY is the public key of the signature, in base64, for install.sh.

packaging/release runs this twice, in the sources of each build, and compares what was made.
"""

import argparse
import hashlib
import os
import pathlib
import re
import shutil
import sys

import cache
import release_tree
import sbom
import zig

PACKAGES = {"linux": ("wheel", "deb", "rpm"), "macos": ("wheel",)}
ARCHITECTURES = zig.ARCHITECTURES + zig.MACOS


def section(version):
    """The section of CHANGELOG.md about a version: its heading and text; None if there is none."""
    text = (cache.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = rf"^## \[?{re.escape(version)}\]?(?![\w.])(?P<date>[^\n]*)\n"
    found = re.search(heading + r"(?P<text>.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found and (found["date"], found["text"].strip())


def tarballs_of(folder, version):
    names = [f"shoal-{version}-{zig.label(arch)}.tar.gz" for arch in ARCHITECTURES]
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise cache.Trouble(f"{folder} has no {' and no '.join(missing)}")
    return [folder / name for name in names]


def _make_packages(tarballs, out):
    for tarball in tarballs:
        shutil.copyfile(tarball, out / tarball.name)
        for script in PACKAGES[release_tree.NAME.fullmatch(tarball.name)["system"]]:
            cache.run([cache.HERE / script, out / tarball.name, "--out", out])


def _digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _fill_in(version, url, key, out):
    """install.sh and the formula, with the version, the address and the digests."""
    script = (cache.HERE / "install.sh").read_text(encoding="utf-8")
    for name, value in (("version", version), ("from", url), ("public_key", key)):
        script, count = re.subn(rf"^{name}=$", f"{name}={value}", script, flags=re.MULTILINE)
        if count != 1:
            raise cache.Trouble(f"install.sh has {count} lines {name}=, not one")
    (out / "install.sh").write_text(script, encoding="utf-8")
    (out / "install.sh").chmod(0o755)
    formula = (cache.HERE / "homebrew/shoal-ray.rb.in").read_text(encoding="utf-8")
    words = {"SUMMARY": release_tree.SUMMARY, "URL": url, "VERSION": version}
    for tarball in tarballs_of(out, version):
        name = release_tree.NAME.fullmatch(tarball.name)
        words[f"SHA256_{name['system']}_{name['arch']}".upper()] = _digest(tarball)
    formula = re.sub("@([A-Z0-9_]+)@", lambda found: words[found[1]], formula)
    (out / "shoal-ray.rb").write_text(formula.split("\n", 1)[1], encoding="utf-8")


def _write_sums(out):
    rows = [f"{_digest(path)}  {path.name}\n" for path in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(rows), encoding="ascii")


def make(version, commit, tarballs, out, url, key=""):
    out.mkdir(parents=True)
    _make_packages(tarballs_of(tarballs, version), out)
    (out / "sbom.cdx.json").write_text(sbom.make(version, commit), encoding="utf-8")
    notes = section(version) or section("Unreleased") or ("", "")
    (out / "RELEASE_NOTES.md").write_text(notes[1] + "\n", encoding="utf-8")
    _fill_in(version, url, key, out)
    _write_sums(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("commit")
    parser.add_argument("tarballs", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("url", nargs="?", default="")
    parser.add_argument("key", nargs="?", default="")
    args = parser.parse_args()
    os.umask(0o022)
    try:
        make(**vars(args))
        return 0
    except cache.Trouble as trouble:
        print(trouble, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
