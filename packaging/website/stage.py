"""The pages of the website as files: the repository's own, and pages made for what they link to.

A page keeps its path, so links between pages work as they are. A link to a source file becomes a
link to a page that shows it, a link to a folder one to a list of its files. Manual pages become
docs/reference/commands/.
"""

import re
import shutil

import manual

PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
         "packaging/README.md", "src/provider/README.md", "skills/shoal/SKILL.md")
FOLDERS = ("docs",)
PLAIN = ("llms.txt",)  # served as they are, next to the front page
LANGUAGES = {".py": "python", ".pl": "perl", ".yaml": "yaml", ".yml": "yaml", ".json": "json",
             ".c": "c", ".h": "c", ".sh": "bash"}
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
# The generator needs four spaces before a list inside a numbered item; GitHub needs three.
NESTED = re.compile(r"^ {3}(?=[-*] )")
FENCE = re.compile(r"^( *)(```|~~~)")


def fill(root, manual_folder, out):
    """Write all pages to the folder `out`."""
    for name in FOLDERS:
        shutil.copytree(root / name, out / name, ignore=shutil.ignore_patterns("meson.build"))
    for name in PAGES:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, out / name)
    for name in PLAIN:
        if (root / name).exists():
            shutil.copy(root / name, out / name)
    for name in ("site.css", "iframe-worker.js"):
        shutil.copy(root / "packaging" / "website" / name, out / name)
    manual.write(manual_folder, out / "docs" / "reference")
    for page in sorted(out.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        page.write_text(linked(text, page, root, out), encoding="utf-8")


def linked(text, page, root, out):
    """The text of a page with links to source files and folders replaced."""

    def replace(match):
        target = match[2]
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        place = page.parent / target
        original = (root / page.parent.relative_to(out) / target).resolve()
        if place.suffix in (".md", ".svg", ".png") or not original.is_relative_to(root):
            return match[0]
        name = original.relative_to(root)
        if original.is_dir():
            shown = list_folder(root, name, out)
        elif original.exists():
            shown = show_file(root, name, out)
        else:
            return match[0]
        return f"{match[1]}{relative(shown, page.parent)}{match[4]}"

    lines, fence = [], None
    for line in text.split("\n"):
        found = FENCE.match(line)
        if found and fence in (None, found[2]):
            fence = None if fence else found[2]
        lines.append(line if fence else LINK.sub(replace, NESTED.sub("    ", line)))
    return "\n".join(lines)


def relative(target, folder):
    up = 0
    while not target.is_relative_to(folder):
        folder, up = folder.parent, up + 1
    return "../" * up + target.relative_to(folder).as_posix()


def show_file(root, name, out):
    """A page with the contents of a file; returns its path."""
    page = out / f"{name}.md"
    if not page.exists():
        page.parent.mkdir(parents=True, exist_ok=True)
        text = (root / name).read_text(encoding="utf-8").rstrip("\n")
        page.write_text(f"# {name.name}\n\n`{name}`\n\n~~~{LANGUAGES.get(name.suffix, 'text')}\n"
                        f"{text}\n~~~\n", encoding="utf-8")
    return page


def list_folder(root, name, out):
    """A page with the files of a folder; returns its path."""
    page = out / name / "README.md"
    if page.exists():
        return page
    page.parent.mkdir(parents=True, exist_ok=True)
    rows = []
    for path in sorted((root / name).iterdir()):
        if path.suffix == ".md":
            title = path.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")
            rows.append(f"- [{title}]({path.name})")
        elif path.is_file() and path.suffix in LANGUAGES:
            shown = show_file(root, name / path.name, out)
            rows.append(f"- [{path.name}]({relative(shown, page.parent)}){about(path)}")
    page.write_text(f"# {name}\n\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return page


def about(path):
    """What the first line of an example says about it."""
    first = path.read_text(encoding="utf-8").split("\n", 1)[0]
    return ": " + first[2:] if path.suffix == ".yaml" and first.startswith("# ") else ""
