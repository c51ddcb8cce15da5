"""The website of the documentation builds without a warning, all its links work, and it loads
nothing from other hosts.

Needs the generator: `packaging/site install`. Without it, tests are skipped; with
SHOAL_REQUIRE_SITE=1, as in CI, it is installed.
"""

import collections
import html.parser
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD", ROOT / "build"))
COMMAND = ROOT / "packaging" / "site"
sys.path.insert(0, str(ROOT / "packaging" / "website"))

import manual  # noqa: E402
import stage  # noqa: E402

LOADS = {("link", "href"), ("script", "src"), ("img", "src"), ("source", "src"), ("iframe", "src"),
         ("object", "data"), ("image", "href"), ("use", "href"), ("embed", "src")}


def generator():
    loader = importlib.machinery.SourceFileLoader("site_command", str(COMMAND))
    spec = importlib.util.spec_from_loader("site_command", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module.generator()


class Page(html.parser.HTMLParser):
    """What a page links to, what it loads, and the places that links can lead to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.ids = [], [], {""}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        for key, value in attrs:
            if (tag, key) in LOADS and value and found.get("rel") not in ("canonical", "prev",
                                                                          "next"):
                self.loads.append(value)


def is_elsewhere(address):
    return bool(re.match(r"(https?:)?//", address))


def broken(pages, folder):
    """Links that lead to no file, or to no place in it."""
    found = []
    for path, page in pages.items():
        for link in page.links + page.loads:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            name = urllib.parse.unquote(parts.path)
            # An error page is served at any address, so its links are absolute.
            base = folder if name.startswith("/") else path.parent
            target = (base / name.lstrip("/")).resolve() if name else path
            place = urllib.parse.unquote(parts.fragment)
            if not target.is_file() or not target.is_relative_to(folder):
                found.append(f"{path.relative_to(folder)}: {link}: no such file")
            elif target in pages and place not in pages[target].ids:
                found.append(f"{path.relative_to(folder)}: {link}: no such place")
    return found


def foreign(pages, folder):
    """What a browser would fetch from other hosts to show the pages."""
    found = [f"{path.relative_to(folder)}: {load}" for path, page in pages.items()
             for load in page.loads if is_elsewhere(load)]
    for path in folder.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        for load in re.findall(r"url\(['\"]?([^)'\"]+)|@import\s+['\"]([^'\"]+)", text):
            if is_elsewhere("".join(load)):
                found.append(f"{path.relative_to(folder)}: {''.join(load)}")
    return found


def read(folder):
    return {path.resolve(): Page(path.read_text(encoding="utf-8"))
            for path in folder.rglob("*.html")}


@pytest.fixture(scope="module", name="site")
def built(tmp_path_factory):
    if not (generator() / "complete").exists() and os.environ.get("SHOAL_REQUIRE_SITE") != "1":
        pytest.skip("run: packaging/site install")
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run([COMMAND, "--build", BUILD, "--out", out], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return (out / "site").resolve()


def test_the_site(site):
    pages = read(site)
    assert len(pages) > 100
    assert not broken(pages, site)
    assert not foreign(pages, site)
    assert (site / "search" / "search_index.js").exists(), "search needs no server"


def test_every_command_has_a_page(site):
    verbs = re.findall(r"^VERB\((\w+),", (ROOT / "src/cli/verbs.def").read_text(), re.MULTILINE)
    missing = [verb for verb in verbs if not
               (site / f"docs/reference/commands/shoal-{verb.replace('_', '-')}.html").exists()]
    assert verbs and not missing


# ---- and the checks themselves ----


@pytest.mark.parametrize("text, counts", [
    ('<a href="b.html#two">', (0, 0)), ('<a href="c.html">', (1, 0)), ('<a href="#x">', (1, 0)),
    ('<a href="b.html#three">', (1, 0)), ('<a href="https://example.com/">', (0, 0)),
    ('<img src="https://example.com/a.png">', (0, 1)), ('<img src="gone.png">', (1, 0)),
    ('<link rel="stylesheet" href="//example.com/a.css">', (0, 1)),
    ('<script src="https://example.com/a.js"></script>', (0, 1))])
def test_checks_find_what_is_wrong(tmp_path, text, counts):
    (tmp_path / "a.html").write_text(text)
    (tmp_path / "b.html").write_text('<h2 id="two">')
    pages = read(tmp_path)
    assert (len(broken(pages, tmp_path)), len(foreign(pages, tmp_path))) == counts


def test_checks_read_style_sheets(tmp_path):
    (tmp_path / "a.css").write_text("@import 'https://example.com/a.css'; b{src:url(//c.d/e)} "
                                    "i{background:url(data:image/png)}")
    assert len(foreign({}, tmp_path)) == 2


def test_links_to_sources_become_pages(tmp_path):
    root, out = tmp_path / "root", tmp_path / "out"
    (root / "examples").mkdir(parents=True)
    (root / "examples" / "one.yaml").write_text("# For all\na: 1\n")
    (out / "docs").mkdir(parents=True)
    text = ("[a](../examples/one.yaml) [b](../examples) [c](other.md#x) [d](https://e.f/g.yaml)\n"
            "```\n[a](../examples/one.yaml)\n```\n")
    (root / "docs").mkdir()
    said = stage.linked(text, out / "docs" / "page.md", root, out)
    assert said == ("[a](../examples/one.yaml.md) [b](../examples/README.md) [c](other.md#x) "
                    "[d](https://e.f/g.yaml)\n```\n[a](../examples/one.yaml)\n```\n")
    assert stage.linked("1. a\n   - b\n", out / "docs" / "page.md", root, out) == "1. a\n    - b\n"
    assert "a: 1" in (out / "examples/one.yaml.md").read_text()
    assert "[one.yaml](one.yaml.md): For all" in (out / "examples/README.md").read_text()


def test_manual_pages_become_markdown():
    text = ("shoal-up(1)\n\n# EXIT STATUS\n\n*-o*, *--out* _FILE_\n\tUse $A\\_B, see "
            "shoal-down(1).\n\tMore.\n\n```\na *b* _c_\n```\n")
    assert manual.markdown(text, {"shoal-down"}) == (
        "# shoal up\n\n## Exit status\n\n**-o**, **--out** *FILE*\n:   Use $A\\_B, see "
        "[shoal-down(1)](shoal-down.md).\n    More.\n\n```console\na *b* _c_\n```\n")


def test_code_blocks_are_not_inside_lists():
    """The generator needs other indents there than GitHub, so pages have none."""
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in stage.PAGES)]
    found = [str(page) for page in pages
             if re.search(r"^ {1,3}```", page.read_text(encoding="utf-8"), re.MULTILINE)]
    assert pages and not found


def test_navigation_has_four_kinds_of_pages():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    tabs = re.findall(r"^  - ([\w -]+):", text[text.index("\nnav:"):], re.MULTILINE)
    assert [tab for tab in tabs if tab not in ("Home", "Development")] == \
        ["Tutorial", "How-to guides", "Reference", "Explanation"]
    assert collections.Counter(tabs).most_common(1)[0][1] == 1
