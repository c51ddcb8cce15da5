"""Writes copies of source files with the deliberate bugs of mutants.py in them.

usage: plant.py OUTPUT_FOLDER SOURCE...
"""

import pathlib
import re
import sys

from mutants import ALL

# Mutated code leaves variables and functions unused.
HEADER = '#pragma GCC diagnostic ignored "-Wunused"\nextern int mutation_is(int number);\n'


def planted(path):
    text = path.read_text(encoding="utf-8")
    for mutant in (m for m in ALL if m.file == "app/control/" + path.name):
        count = len(re.findall(rf"(?<!\w){re.escape(mutant.old)}(?!\w)", text))
        if count != 1:
            sys.exit(f"mutant {mutant.number} ({mutant.what}): its text is {count} times in "
                     f"src/{mutant.file}; say in mutants.py where the same bug would be now")
        text = text.replace(mutant.old, mutant.text(), 1)
    return HEADER + text


def main(folder, *sources):
    for source in map(pathlib.Path, sources):
        (pathlib.Path(folder) / f"mutated_{source.name}").write_text(planted(source),
                                                                     encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
