"""Shoal's launch, runtime and contents hashes must be Ray's to the last byte:
they live in tags on running machines, and a different hash relaunches them.

SHOAL_DIFF_HASHES  number of records (default 2000)
"""

import os
import random
import subprocess

import pytest

import need_ray  # noqa: F401  skips this module without Ray

import emit
import workers
from emit import Map, Raw

RECORDS = int(os.environ.get("SHOAL_DIFF_HASHES") or 2000)
SHOWN = 10

# Names whose order differs between "sort whole paths" and "sort directories
# first", and between bytes, code points and UTF-16.
NAMES = ["a", "a-b", "a.b", "a b", "b", "B", "Z", "_", "0", "10", "9", "é", "e\u0301", "ü.txt",
         "数据", "\uff5e", "\U0001F680", "a'b", 'a"b', "a\\b", "#x", "~", "-", "a\nb", ".hidden",
         "a,b", "a+b"]
KEY_TEXTS = [
    b"-----BEGIN KEY-----\nabc\n-----END KEY-----\n",
    b"dos\r\nline\r\nends\r\n",
    b"old mac\rline\rends",
    b"mixed\r\n\r\n\n\r\r\nend",
    "ünï¢ødé \U0001F511 key\n".encode(),
    b"",
    b"\xef\xbb\xbfwith a byte order mark",
    b"tab\tquote\"slash\\nul\x00bell\x07del\x7f",
    "line\u2028separator\u0085next".encode(),
    b"ends in a return\r",
]
BAD_KEY_TEXTS = [b"\xff\xfe not utf-8", b"cut \xe2\x82"]
STRINGS = ["", "a", "é", "\U0001F680", "quote\" slash\\ tab\t nl\n", "\x00\x1f\x7f", "\u2028\u2029",
           "/", "</script>", "\ufffd", "\ufeff"]
FLOATS = [0.0, -0.0, 1.0, 0.1, 1e16, 1e15, 123456789012345680.0, 1e22, 1e-5, 0.0001, 5e-324,
          1.7976931348623157e308, 2.5, -1.5, 1 / 3, 100.0, float("inf"), float("-inf"),
          float("nan"), 1e100, 9007199254740993.0]
INTEGERS = [0, 1, -1, 255, 2**31, 2**63, -(2**63), 2**64, 10**30, 8]


class World:
    """A home directory full of trees, links and key files to hash."""

    def __init__(self, root, rng):
        self.root = root
        self.rng = rng
        self.home = root / "home"
        self.home.mkdir()
        self.trees = [self.tree(number) for number in range(60)]
        self.files = self.single_files()
        self.links = self.top_links()
        self.keys = [self.key_file(number, text) for number, text in enumerate(KEY_TEXTS)]
        self.bad_keys = [self.key_file(100 + number, text) for number,
                         text in enumerate(BAD_KEY_TEXTS)]
        self.broken = self.broken_trees()

    def tree(self, number):
        top = self.home / ("tree%d" % number)
        top.mkdir()
        if number > 0:  # tree 0 stays empty
            self.fill(top, 0)
        if number % 20 == 7:
            (top / "large").write_bytes(self.rng.randbytes(2**20 + number))
            (top / "exact").write_bytes(bytes(2**20))
        return top

    def fill(self, folder, depth):
        for name in self.rng.sample(NAMES, self.rng.randrange(1, 6)):
            path = folder / name
            kind = self.rng.random()
            if kind < 0.3 and depth < 3:
                path.mkdir()
                if self.rng.random() < 0.8:  # the rest stay empty
                    self.fill(path, depth + 1)
            elif kind < 0.4:
                path.symlink_to(self.rng.choice([".", "..", "/tmp", self.home / "tree0"]))
            elif kind < 0.5:
                path.symlink_to(self.link_target())
            else:
                path.write_bytes(self.rng.randbytes(self.rng.randrange(0, 40)))

    def link_target(self):
        target = self.home / "target.txt"
        if not target.exists():
            target.write_bytes(b"what links point at")
        return target

    def single_files(self):
        files = []
        for number in range(5):
            path = self.home / ("file%d" % number)
            path.write_bytes(self.rng.randbytes([0, 1, 100, 2**20, 2**21 + 3][number]))
            files.append(path)
        return files

    def top_links(self):
        to_tree, to_file = self.home / "link-to-tree", self.home / "link-to-file"
        to_tree.symlink_to("tree3")
        to_file.symlink_to("file2")
        return [to_tree, to_file]

    def broken_trees(self):
        dangling = self.home / "dangling"
        dangling.mkdir()
        (dangling / "nowhere").symlink_to("missing target")
        latin = self.home / "latin1"
        latin.mkdir()
        with open(os.path.join(os.fsencode(latin), b"caf\xe9"), "wb") as stream:
            stream.write(b"x")
        lost = self.home / "lost"
        lost.symlink_to("missing target")
        return [dangling, latin, lost, self.home / "missing"]

    def key_file(self, number, text):
        path = self.home / ("key%d" % number)
        path.write_bytes(text)
        return path

    # how a path may be written in a file

    def spelled(self, path):
        rng = self.rng
        text = str(path)
        if rng.random() < 0.3:
            text = "~" + text[len(str(self.home)):]
        elif rng.random() < 0.2:
            text = os.path.join("home", path.name)  # both programs run in the root
        if path.is_dir() and rng.random() < 0.3:
            text += rng.choice(["/", "//", "/.", "/../" + path.name])
        return text


class Records:
    def __init__(self, world, rng):
        self.world = world
        self.rng = rng

    def value(self, depth=0):
        rng = self.rng
        roll = rng.random()
        if depth > 3 or roll < 0.2:
            return rng.choice(STRINGS)
        if roll < 0.35:
            return rng.choice(FLOATS)
        if roll < 0.5:
            return rng.choice(INTEGERS)
        if roll < 0.6:
            return rng.choice([True, False, None])
        if roll < 0.75:
            return [self.value(depth + 1) for _ in range(rng.randrange(0, 4))]
        return self.mapping(depth)

    def mapping(self, depth=0):
        rng = self.rng
        keys = STRINGS + ["InstanceType", "b", "B", "aa", "a1", "a10", "a2", "_", "ﬀ"]
        if rng.random() < 0.1:  # Python sorts these by value and prints them as strings
            keys = [1, 2, 10, -3, 2.5, 1e16, True, False, 100]
        elif rng.random() < 0.02:
            keys = [None]
        elif rng.random() < 0.02:  # cannot be sorted: an error, unless there is only one
            keys = [1, "a", None]
        chosen = rng.sample(keys, rng.randrange(0, min(5, len(keys)) + 1))
        return Map((key, self.value(depth + 1)) for key in chosen)

    def odd(self):
        """Values that json.dumps refuses, and similar ones that it accepts."""
        odd = ["2024-01-02", "2024-01-02 03:04:05", "!!binary aGk=", "!!set {a}", "0x1F", "017",
               "1:30", "1e3", "'1'", "yes"]
        return Raw(self.rng.choice(odd))

    def launch(self):
        rng = self.rng
        auth = Map()
        if rng.random() < 0.8:
            auth.set("ssh_user", rng.choice(["ubuntu", "ü", ""]))
        for name in ("ssh_private_key", "ssh_public_key"):
            if rng.random() < 0.6:
                auth.set(name, self.world.spelled(rng.choice(self.world.keys)))
        if rng.random() < 0.3:
            auth.set("ssh_proxy_command", self.value())
        if rng.random() < 0.06:
            bad = [self.world.spelled(path) for path in self.world.bad_keys]
            bad += ["/no/such/key", "", 5, None, "~"]
            auth.set("ssh_private_key", rng.choice(bad))
        node = self.odd() if rng.random() < 0.03 else self.mapping()
        return Map([["op", "launch"], ["node_config", node], ["auth", auth]])

    def paths(self, most):
        rng, world = self.rng, self.world
        pool = world.trees + world.files + world.links
        return [world.spelled(rng.choice(pool)) for _ in range(rng.randrange(0, most))]

    def runtime(self):
        rng, world = self.rng, self.world
        mounts = Map(("/remote/%s%d" % (rng.choice(STRINGS), number), path) for number,
                     path in enumerate(self.paths(4)))
        synced = self.paths(3) if rng.random() < 0.6 else None
        if synced is not None and rng.random() < 0.3:
            synced.append(rng.choice(["/no/such/path", "~/nothing",
                                      world.spelled(world.broken[2])]))
        if rng.random() < 0.05:
            mounts.set("/bad", rng.choice([str(rng.choice(world.broken)), 5, None, ""]))
        extra = self.odd() if rng.random() < 0.02 else self.value()
        return Map([["op", "runtime"], ["file_mounts", mounts], ["cluster_synced_files", synced],
                    ["extra", extra]])

    def one(self):
        tree = self.launch() if self.rng.random() < 0.5 else self.runtime()
        return emit.emit(tree, self.rng).encode()


def same(expected, found):
    if expected.startswith("!error"):
        return found.startswith("!error")
    return expected == found


def test_hashes(hash_probe, seed, tmp_path, say):
    rng = random.Random("hash/%d" % seed)
    world = World(tmp_path, rng)
    maker = Records(world, rng)
    records = [maker.one() for _ in range(RECORDS)]
    environment = {"HOME": str(world.home), "LC_ALL": "C.UTF-8"}
    expected = workers.run_oracle("hash", workers.pack(records), cwd=tmp_path, env=environment)
    found = workers.ask_probe(hash_probe, records, cwd=tmp_path,
                              env=dict(os.environ, **environment))
    assert len(expected) == len(records)
    wrong = [item for item in zip(records, expected, found) if not same(item[1], item[2])]
    failed = sum(line.startswith("!error") for line in expected)
    line = "hash: {} records, {} hashes, {} errors, {} differences".format(
        len(records), len(records) - failed, failed, len(wrong))
    say(line)
    wrong.sort(key=lambda item: len(item[0]))
    text = ["{}\n    Ray:   {}\n    shoal: {}".format(record.decode(), ray, ours) for record, ray,
            ours in wrong[:SHOWN]]
    if wrong:
        pytest.fail("\n".join(text + [line]), pytrace=False)


def test_trees_are_worth_hashing(tmp_path):
    """The tree really has the shapes that its comment describes."""
    world = World(tmp_path, random.Random(1))
    listing = subprocess.run(["find", str(world.home), "-printf", "%y %Y %s\n"],
                             capture_output=True, text=True).stdout
    lines = listing.splitlines()
    assert any(line.startswith("l d") for line in lines), "links to directories"
    assert any(line.startswith("l f") for line in lines), "links to files"
    assert any(line.startswith("l N") for line in lines), "dangling links"
    assert sum(int(line.split()[2]) > 2**20 for line in lines) >= 3, "large files"
    folders = [path for path in world.home.glob("tree*/**/") if path != world.trees[0]]
    assert any(not any(folder.iterdir()) for folder in folders), "empty directories"
