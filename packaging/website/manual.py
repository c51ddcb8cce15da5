"""The manual pages as pages of the website: scdoc's text, written as Markdown."""

import re

BOLD = re.compile(r"(?<![\w\\*])\*(?=\S)(.+?)(?<=\S)\*(?![\w*])")
ITALIC = re.compile(r"(?<![\w\\_])_(?=\S)(.+?)(?<![\s\\])_(?![\w_])")
PAGE = re.compile(r"\b(shoal(?:-[a-z-]+)?)\((\d)\)")


def write(folder, out):
    """Write OUT/commands.md, OUT/commands/*.md and the references of the two kinds of files."""
    (out / "commands").mkdir(parents=True)
    for name in ("cluster-file.md", "workload-file.md"):
        text = (folder / name).read_text(encoding="utf-8")
        (out / name).write_text(text.replace("`<br> |", "` |"), encoding="utf-8")
    names = {path.stem for path in folder.glob("shoal*.1")} or \
        {path.stem for path in folder.glob("shoal*.scd")} - {"shoal-cluster", "shoal-workload"}
    abouts = {}
    for name in sorted(names):
        text = (folder / f"{name}.scd").read_text(encoding="utf-8")
        abouts[name] = re.search(r"^# NAME\n\n\S+ - (.*)$", text, re.MULTILINE).group(1)
        (out / "commands" / f"{name}.md").write_text(markdown(text, names), encoding="utf-8")
    rows = [f"| [`{name.replace('-', ' ', 1)}`](commands/{name}.md) | {about} |"
            for name, about in abouts.items()]
    (out / "commands.md").write_text(
        "# Commands\n\nThese pages are the manual: `man shoal-up` shows the same text.\n\n"
        "| command | |\n|---|---|\n" + "\n".join(rows) + "\n", encoding="utf-8")


def markdown(text, names):
    """One page. The first line is the title; a tab begins the text of a definition."""
    lines, in_code = [], False
    title = re.match(r"(\S+)\(", text).group(1).replace("-", " ", 1)
    for line in text.split("\n")[1:]:
        if line.startswith("```"):
            in_code = not in_code
            lines.append("```console" if in_code else "```")
        elif in_code:
            lines.append(line)
        elif line.startswith("#"):
            mark, words = line.split(" ", 1)
            lines.append(f"#{mark} {words.capitalize()}")
        elif line.startswith("\t"):
            if lines and lines[-1] and not lines[-1].startswith((":   ", "    ")):
                lines.append(":   " + inline(line.strip(), names))
            else:
                lines.append("    " + inline(line.strip(), names))
        else:
            lines.append(inline(line, names))
    return f"# {title}\n" + "\n".join(lines)


def inline(line, names):
    line = BOLD.sub(r"@@\1@@", line.replace("<", "&lt;"))
    line = ITALIC.sub(r"*\1*", line).replace("@@", "**")
    return PAGE.sub(lambda page: f"[{page[0]}]({page[1]}.md)" if page[1] in names else
                    named(page), line)


def named(page):
    files = {"shoal-cluster": "../cluster-file.md", "shoal-workload": "../workload-file.md"}
    return f"[{page[0]}]({files[page[1]]})" if page[1] in files else page[0]
