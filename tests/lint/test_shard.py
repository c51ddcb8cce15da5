"""tests/shard.py, and how the build files use it: the shards of a file have each of its tests once.

usage: test_shard.py BUILDDIR
"""

import collections
import json
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import shard

BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else os.environ["SHOAL_BUILD"])


class Shards(unittest.TestCase):
    def test_each_item_is_in_one_shard(self):
        for length in range(20):
            items = list(range(length))
            for count in range(1, 6):
                split = [shard.shard_of(items, f"{n}/{count}") for n in range(1, count + 1)]
                self.assertEqual(sorted(sum(split, [])), items)
                self.assertLessEqual(max(map(len, split)) - min(map(len, split)), 1)

    def test_a_shard_that_does_not_exist(self):
        for words in ("0/2", "3/2", "2", "1/0", "-1/2", "1/2/3"):
            with self.assertRaises((ValueError, AttributeError)):
                shard.shard_of([1, 2], words)

    def test_the_build_runs_all_shards(self):
        """Tests that differ in their shard only."""
        split = collections.defaultdict(list)
        path = BUILD / "meson-info" / "intro-tests.json"
        for test in json.loads(path.read_text(encoding="utf-8")):
            words = test["cmd"]
            if "--shard" not in words:
                continue
            at = words.index("--shard") + 1
            rest = (test["name"], *test["suite"], *words[:at], *words[at + 1:],
                    *sorted(test["env"].items()))
            split[rest].append(words[at])
        self.assertTrue(any(len(found) > 1 for found in split.values()), "no file is split")
        for rest, found in split.items():
            count = int(found[0].partition("/")[2])
            self.assertEqual(sorted(found), [f"{n}/{count}" for n in range(1, count + 1)], rest)


if __name__ == "__main__":
    unittest.main()
