#!/usr/bin/env python3
"""What the pre-commit hook and the GitHub Action have in common: which files are cluster files.

usage: cluster_files.py FILE...     runs `shoal validate` on those that are; the pre-commit hook
"""

import re
import subprocess
import sys

KEYS = (re.compile(r"^cluster_name\s*:", re.MULTILINE), re.compile(r"^provider\s*:", re.MULTILINE))


def is_cluster_file(path):
    """A YAML file with the two keys at its top level that `ray up` needs."""
    if not str(path).endswith((".yaml", ".yml")):
        return False
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return False
    return all(key.search(text) for key in KEYS)


def main(paths):
    status = 0
    for path in filter(is_cluster_file, paths):
        try:
            status |= subprocess.run(["shoal", "validate", path], check=False).returncode
        except FileNotFoundError:
            sys.exit("shoal is not installed: it must be in PATH. "
                     "docs/user/install.md of Shoal describes how to install it.")
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
