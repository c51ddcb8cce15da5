"""docs/dev/cloud-facts.md: every setting of a test cloud that models a fact has a row, and every
row names a setting that exists, a source and a test that exists.
"""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/dev/cloud-facts.md"
CLOUDS = {"bed": "tests/bed/cloud/settings.py", "gce": "tests/gce/gce/settings.py"}
COLUMNS = ["fact", "setting", "source", "test", "seen on a real cloud"]
# Settings of the tests themselves: a cloud has nothing like them.
INSTRUMENTS = {"bed: containers": "whether instances are machines",
               "bed: vpn": "in which network the laptop is",
               "bed: relay_ms": "the delay between the laptop and the cloud"}


def settings():
    """{"bed: listing_lag", ...}: the fields of each class Tunables."""
    found = set()
    for cloud, path in CLOUDS.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        body = re.search(r"^class Tunables:\n(.*?)(?=^\S)", text, re.M | re.S).group(1)
        found |= {f"{cloud}: {name}" for name in re.findall(r"^    (\w+): \w+ = ", body, re.M)}
    return found


def rows(text):
    """The rows of the tables of facts, as lists of cells."""
    is_fact, found = False, []
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            is_fact = False
        elif cells[0] == "fact":
            is_fact = True
            found.append(cells)
        elif is_fact and not set(line) <= set("|-"):
            found.append(cells)
    return found


def has_test(name):
    """front/test_x.py::test_y, or unit/test_x.c::a_test."""
    path, _, function = name.partition("::")
    file = ROOT / "tests" / path
    return file.is_file() and re.search(rf"^(def|static void) {re.escape(function)}\(",
                                        file.read_text(encoding="utf-8"), re.M) is not None


def mistakes(text, known):
    """What is wrong with a page, given the settings: sentences."""
    wrong, named = [], set()
    for cells in rows(text):
        if cells[0] == "fact":
            wrong += [] if cells == COLUMNS else [f"a table has the columns {cells}"]
            continue
        if len(cells) != len(COLUMNS) or not all(cells):
            wrong.append(f"{cells[0]!r} does not have {len(COLUMNS)} cells")
            continue
        own = set(re.findall(r"`((?:bed|gce): \w+)`", cells[1]))
        named |= own
        wrong += [f"{cells[0]!r}: there is no setting {name}" for name in sorted(own - known)]
        if not own and not cells[1].startswith("none"):
            wrong.append(f"{cells[0]!r} names no setting, and does not say \"none\"")
        tests = re.findall(r"`([\w./]+::\w+)`", cells[3])
        wrong += [f"{cells[0]!r} names no test"] if not tests else []
        wrong += [f"{cells[0]!r}: there is no test {name}" for name in tests if not has_test(name)]
    wrong += [f"{name} has no row" for name in sorted(known - named - set(INSTRUMENTS))]
    return wrong


class CloudFacts(unittest.TestCase):
    def test_the_page(self):
        self.assertEqual(mistakes(PAGE.read_text(encoding="utf-8"), settings()), [])

    def test_instruments_are_settings(self):
        self.assertLessEqual(set(INSTRUMENTS), settings())

    def test_mistakes_are_found(self):
        head = "| " + " | ".join(COLUMNS) + " |\n|---|---|---|---|---|\n"
        row = "| a | `bed: page` | s | `lint/test_cloud_facts.py::has_test` | no |\n"
        known = {"bed: page"}
        self.assertEqual(mistakes(head + row, known), [])
        for old, new, word in (("bed: page", "bed: pages", "no setting bed: pages"),
                               ("::has_test", "::is_not_there", "no test"),
                               ("`lint/test_cloud_facts.py::has_test`", "open", "names no test"),
                               ("`bed: page`", "a page", "does not say"),
                               ("| no |", "|", "5 cells"), (row, "", "bed: page has no row")):
            self.assertIn(word, str(mistakes((head + row).replace(old, new), known)))
        self.assertIn("columns", str(mistakes("| fact | source |\n|---|---|\n", set())))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
