"""The source tree as the gates see it: which files count, and C text without its noise."""

import os
import re
import subprocess

import gate

# One pass over C text: strings hide comment marks, comments hide quotes.
C_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.DOTALL)


def files(root):
    """Every file of the project, sorted, relative to root. Build folders never count.

    In a git checkout: tracked files and new ones that are not ignored, so that a fault shows
    before it is added. Elsewhere (a tarball, a test's copy): everything on disk.
    """
    if not os.path.isdir(root):
        raise gate.Usage(f"{root} is not a folder")
    if os.path.exists(os.path.join(root, ".git")):
        names = _git_files(root)
    else:
        names = _disk_files(root)
    return sorted(name for name in names if os.path.isfile(os.path.join(root, name)))


def _git_files(root):
    command = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # A file in a merge conflict is listed once per side.
    return {name for name in listing.split("\0") if name and "__pycache__/" not in name}


def _disk_files(root):
    for folder, subfolders, names in os.walk(root):
        if "meson-private" in subfolders:  # a build folder
            subfolders.clear()
            continue
        subfolders[:] = [name for name in subfolders if name not in (".git", "__pycache__")]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), root)


def sources(root):
    """The C files and headers under src/."""
    return [name for name in files(root) if name.startswith("src/") and is_c(name)]


def is_c(name):
    return name.endswith((".c", ".h"))


def read(root, name):
    """The file as text, or None for a binary file."""
    with open(os.path.join(root, name), "rb") as stream:
        data = stream.read()
    if b"\0" in data:
        return None
    return data.decode("utf-8", errors="replace")


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def without_comments(text):
    """C text with comments blanked and every character left at its place; strings stay."""
    return C_TOKEN.sub(lambda m: _blank(m) if m.group().startswith("/") else m.group(), text)


def code_only(text):
    """C text with comments and strings blanked and every character left at its place."""
    return C_TOKEN.sub(_blank, text)


def line_at(text, offset):
    return text.count("\n", 0, offset) + 1


def line_of_word(text, word):
    """The first line that has this word in its code (1 when it has not, as for builtins)."""
    # <time.h> is not yet a use of time.
    pattern = rf"^(?![ \t]*#[ \t]*include).*\b{re.escape(word)}\b"
    found = re.search(pattern, without_comments(text), re.MULTILINE)
    return line_at(text, found.start()) if found else 1
