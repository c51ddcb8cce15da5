"""The recipe itself, without compiling: its tables are consistent, sources are verified, and a key
changes if and only if its inputs change.
"""

import dataclasses
import os
import re
import subprocess
import tarfile

import pytest
import conftest  # noqa: F401  pylint: disable=unused-import  (finds the recipe)
import cache
import libraries
import program
import sources
import zig


@pytest.fixture(name="nowhere")
def _nowhere(tmp_path, monkeypatch):
    """An empty cache, and no network."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SHOAL_STATIC_SOURCES", str(tmp_path / "given"))
    monkeypatch.setattr(sources, "MIRRORS", ())
    (tmp_path / "given").mkdir()
    return tmp_path


def test_every_library_has_its_sources():
    table = sources.table()
    assert set(table) == {library.name for library in libraries.LIBRARIES}
    for rows in table.values():
        assert ".orig." in rows[0]["name"]
        for row in rows:
            assert re.fullmatch("[0-9a-f]{64}", row["sha256"])
            assert row["name"].startswith(row["folder"].split("/")[-1] + "_")


def test_needed_libraries_come_first():
    seen = set()
    for library in libraries.LIBRARIES:
        assert set(library.needs) <= seen
        seen.add(library.name)


def test_packages_are_what_the_build_asks_for():
    """meson.build names pkg-config packages; each comes from a library of ours."""
    text = (cache.ROOT / "meson.build").read_text(encoding="utf-8")
    asked = set(re.findall(r"dependency\('([^']+)'", text))
    given = {name for library in libraries.LIBRARIES for name in library.packages}
    assert asked <= given


def test_only_what_is_asked_for_is_built(tmp_path, monkeypatch):
    (tmp_path / "meson.build").write_text("x = dependency('libcurl')\ny = dependency('expat')\n",
                                          encoding="utf-8")
    monkeypatch.setattr(cache, "ROOT", tmp_path)
    names = [library.name for library in libraries.asked_for(libraries.PROGRAM)]
    assert names == ["zlib", "openssl", "nghttp2", "curl", "expat"]


def test_versions_are_upstreams():
    assert sources.version("zlib") == "1.3.1"
    assert re.fullmatch(r"8\.\d+\.\d+", sources.version("curl"))


def test_a_key_follows_what_it_stands_for(monkeypatch):
    curl, yaml = libraries.BY_NAME["curl"], libraries.BY_NAME["libyaml"]
    before = {name: libraries.key(library, "x86_64")
              for name, library in libraries.BY_NAME.items()}
    assert libraries.key(curl, "aarch64") != before["curl"]
    changed = dataclasses.replace(libraries.BY_NAME["zlib"], options=("--other",))
    monkeypatch.setitem(libraries.BY_NAME, "zlib", changed)
    assert libraries.key(curl, "x86_64") != before["curl"]  # curl stands on zlib
    assert libraries.key(yaml, "x86_64") == before["libyaml"]


def test_content_is_proven(nowhere):
    row = {"folder": "t/thing", "name": "thing_1.orig.tar.gz", "sha256": "0" * 64}
    (nowhere / "given" / row["name"]).write_bytes(b"evil")
    with pytest.raises(cache.Trouble, match="other content than sources.tsv says"):
        sources.fetch(row)
    assert not list((nowhere / "cache").rglob("thing*"))


def test_a_missing_source_names_the_places(nowhere):
    row = {"folder": "t/thing", "name": "thing_1.orig.tar.gz", "sha256": "0" * 64}
    with pytest.raises(cache.Trouble, match=f"cannot get .*\n.*{nowhere}/given/thing_1"):
        sources.fetch(row)


def test_patches_are_applied_in_order(nowhere, monkeypatch):
    """A made-up Debian source: upstream's tarball, then patches as the series lists them."""
    def pack(name, files):
        for path, text in files.items():
            target = nowhere / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        with tarfile.open(nowhere / "given" / name, "w:gz") as archive:
            for entry in (nowhere / name).iterdir():
                archive.add(entry, entry.name)
        return {"folder": "t/thing", "name": name,
                "sha256": sources._digest(nowhere / "given" / name)}  # pylint: disable=W0212
    change = "--- a/word\n+++ b/word\n@@ -1 +1 @@\n-{}\n+{}\n"
    rows = [pack("thing_1.orig.tar.gz", {"thing-1/word": "one\n"}),
            pack("thing_1-1.debian.tar.gz", {
                "debian/patches/series": "# a comment\nfirst\nsecond  # why\n",
                "debian/patches/first": change.format("one", "two"),
                "debian/patches/second": change.format("two", "three")})]
    monkeypatch.setattr(sources, "table", lambda: {"thing": rows})
    (nowhere / "work").mkdir()
    tree = sources.unpack("thing", nowhere / "work")
    assert (tree / "word").read_text(encoding="utf-8") == "three\n"


def test_what_failed_does_not_look_done(nowhere):
    target = cache.folder("thing")
    with pytest.raises(ZeroDivisionError), cache.made_once(target) as fresh:
        (fresh / "half").write_text("", encoding="ascii")
        raise ZeroDivisionError
    assert not target.exists()
    with cache.made_once(target) as fresh:
        assert fresh is not None and not list(fresh.iterdir())
    with cache.made_once(target) as fresh:
        assert fresh is None
    assert nowhere in target.parents


def test_architectures_have_many_names():
    assert zig.architecture("arm64") == "aarch64"
    assert zig.architecture("amd64") == "x86_64"
    assert zig.architecture("arm64-macos") == "aarch64-macos"
    assert zig.label("aarch64-macos") == "macos-aarch64" and zig.label("x86_64") == "linux-x86_64"
    for name in ("riscv64", "x86_64-windows"):
        with pytest.raises(cache.Trouble, match="x86_64, aarch64, x86_64-macos, aarch64-macos"):
            zig.architecture(name)


def test_macos_changes_nothing_for_linux(monkeypatch):
    """The keys of Linux do not follow the recipe of macOS, and the other way round."""
    curl = libraries.BY_NAME["curl"]
    before = {arch: libraries.key(curl, arch) for arch in ("x86_64", "x86_64-macos")}
    assert len(set(before.values())) == 2
    monkeypatch.setattr(zig, "MACOS_OLDEST", "99.0")
    assert libraries.key(curl, "x86_64") == before["x86_64"]
    assert libraries.key(curl, "x86_64-macos") != before["x86_64-macos"]
    for name in (*libraries.CMAKE_FOR_MACOS, *libraries.TOO_NEW):
        assert name in libraries.WAY_TEXTS[libraries.cmake_macos]
        assert name not in libraries.WAY_TEXTS[libraries.cmake]


def test_a_changed_curl_is_noticed(tmp_path):
    """What is cut out of libcurl for macOS must be there."""
    (tmp_path / "CMakeLists.txt").write_text("another version\n", encoding="ascii")
    with pytest.raises(cache.Trouble, match="CMakeLists.txt does not have if.APPLE"):
        libraries.cmake_macos(libraries.BY_NAME["curl"], tmp_path, None)


def test_meson_learns_the_linker_of_apple(tmp_path):
    script = tmp_path / "cc"
    script.write_text(program._compiler_text("aarch64-macos"),  # pylint: disable=W0212
                      encoding="ascii")
    for word, answer in (("--version", "ld: unknown option"), ("-v", "PROJECT:ld64-")):
        done = subprocess.run(["sh", script, f"-Wl,{word}"], capture_output=True, text=True,
                              check=False)
        assert (done.returncode, done.stdout) == (1, "") and answer in done.stderr


FAKE_COMPILER = """#!/bin/sh
echo "compiler $*" >> "$SAID"
[ -e "$SAID.fails" ] && { echo "undefined symbol: x" >&2; exit 1; }
[ "$1" = -v ] && printf 'ar rcs libc.a\\nld.lld -r crt1.o\\nwarning: odd\\nld.lld -o out a.o\\n' >&2
exit 0
"""


@pytest.fixture(name="compiler")
def _compiler(tmp_path, monkeypatch):
    """The compiler's script with a stand-in for zig; what was called, and the standard error."""
    (tmp_path / "bin").mkdir()
    for path, text in (("bin/x86_64-linux-musl-cc", FAKE_COMPILER), ("bin/zig-ar", "#!/bin/sh\n"),
                       ("zig", '#!/bin/sh\necho "zig $*" >> "$SAID"\n'),
                       ("cc", program._compiler_text("x86_64"))):  # pylint: disable=W0212
        (tmp_path / path).write_text(text, encoding="ascii")
        (tmp_path / path).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("SAID", str(tmp_path / "said"))

    def call(*words, fails=False):
        (tmp_path / "said").write_text("", encoding="ascii")
        if fails:
            (tmp_path / "said.fails").touch()
        done = subprocess.run([tmp_path / "cc", *words], capture_output=True, text=True,
                              check=False)
        said = (tmp_path / "said").read_text(encoding="ascii").splitlines()
        return done.returncode, said, done.stdout + done.stderr

    return call


def test_objects_are_linked_again_with_packed_relocations(compiler):
    words = ("-o", "out", "a.o", "-static", "-Wl,--gc-sections")
    status, said, shown = compiler(*words)
    assert status == 0 and shown == "warning: odd\n"
    assert said == [f"compiler -v {' '.join(words)}",
                    "zig ld.lld -o out a.o --pack-dyn-relocs=relr -O2"]
    status, said, shown = compiler(*words, fails=True)
    assert status == 1 and len(said) == 1 and "undefined symbol" in shown


@pytest.mark.parametrize("words", [("-c", "-o", "a.o", "a.c"), ("-o", "x", "a.c", "-lm"),
                                   ("a.c", "-Wl,--gc-sections"), ("--version",)])
def test_other_calls_are_passed_on(compiler, words):
    assert compiler(*words) == (0, [f"compiler {' '.join(words)}"], "")


def test_meson_learns_the_linker(compiler):
    assert compiler("-Wl,--version") == (0, [], "LLD (compatible with GNU linkers)\n")
