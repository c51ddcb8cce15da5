"""The gates of tools/lint, tested: the tree passes, and each planted fault is caught by its gate.

usage: test_gates.py BUILDDIR [--cc CC] [unittest arguments]

A fault is one or two small files planted in a copy of the tree. Every cheap gate looks at each
fault, and only the one named may complain. Faults that are visible only in objects are compiled
with the flags of the real build and added to its objects in thin archives: nothing else is rebuilt.
The whole tree is judged once, as it is; the copy has its lowest layers only, so that the time
this takes does not grow with the tree.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
LINT = os.path.join(ROOT, "tools", "lint")
sys.path.insert(0, LINT)

import banned
import exports
import failpoints
import folders
import format as layout
import gate
import headers
import includes
import layers
import links
import objects
import prices
import promises
import purity
import run
import style
import subjects
import tree
import where
import words

BUILD, CC = "build", "cc"  # set from the command line, below
COPIED = ("src/base/", "src/core/", ".clang-format")

HEAD = "/* A fault planted for the gates to find. */\n"
HEADER_HEAD = HEAD + "#pragma once\n\n"
LONG_FUNCTION = HEAD + "int planted(int x);\n\nint planted(int x)\n{\n" + "    x++;\n" * 68 + \
    "    return x;\n}\n"

# Gate, planted file, its text, words that the complaint must have.
SOURCE_FAULTS = (
    ("includes", "src/core/planted.c", HEAD + '#include "io/loop.h"\n', "core may not include"),
    ("includes", "src/remote/planted.c", HEAD + '#include "ray/gcs.h"\n', "remote may not include"),
    ("includes", "src/sim/planted.h", HEADER_HEAD + '#include "app/up.h"\n', "sim may not include"),
    ("includes", "src/core/planted.c", HEAD + "#include <time.h>\n", "<time.h>"),
    ("includes", "src/base/planted.c", HEAD + "#include <unistd.h>\n", "<unistd.h>"),
    ("includes", "src/app/planted.c", HEAD + "#include <curl/curl.h>\n", "<curl/curl.h> belongs"),
    ("includes", "src/io/planted.c", HEAD + "#include <zmq.h>\n", "new dependency"),
    ("includes", "src/config/planted.c", HEAD + '#include "value.h"\n', "relative to src/"),
    ("includes", "src/core/planted.h", HEAD + "struct planted;\n", "#pragma once"),
    ("includes", "src/misc/planted.c", HEAD + "int planted;\n", "in no layer"),
    ("prices", "src/app/planted.c",
     HEAD + "int planted(int x)\n{\n    return catalog_ec2_price(x);\n}\n", "hourly_price()"),
    ("prices", "src/cli/planted.c",
     HEAD + "int planted(int x)\n{\n    return x / PRICE_HOURS_A_MONTH;\n}\n", "hourly_price()"),
    ("failpoints", "src/io/planted.c",
     HEAD + "void planted(void)\n{\n    rename(\"a\", \"b\");\n}\n",
     "rename has no failpoint"),
    ("failpoints", "src/app/planted.c", HEAD + "int planted(void)\n{\n    return fork();\n}\n",
     "fork has no failpoint"),
    ("style", "src/core/planted.c", LONG_FUNCTION, "planted has 71 lines"),
    ("style", "src/core/planted.c", HEAD + "int x;\n" * 900, "901 lines"),
    ("style", "src/core/planted.h", HEADER_HEAD + "extern int x;\n" * 258, "261 lines"),
    ("style", "src/core/planted.c", HEAD + "int x; // why\n", "`//`"),
    ("style", "src/core/planted.c", "int planted;\n", "what this file owns"),
    ("style", "src/core/planted.c", HEAD + "\tint x;\n", "tab"),
    ("style", "src/core/planted.c", HEAD + "void f(int x)\n{\n    AUTO_BUF struct buf out;\n"
     "    if (x) {\n        return;\n    }\n    buf_init(&out, 9);\n}\n", "before buf_init()"),
    ("style", "src/core/planted.c", HEAD + "int x; \n", "blanks"),
    ("style", "src/core/planted.c", HEAD + "int x;", "newline"),
    ("style", "src/core/planted.c", HEAD + f"int {'x' * 96};\n", "101 columns"),
    ("style", "src/core/planted.c", HEAD + "/* TO" + "DO: later. */\n", "unfinished"),
    ("style", "src/core/util.c", HEAD + "int x;\n", "says nothing"),
    ("style", "docs/planted.md", "See [here](nowhere.md).\n", "nowhere.md"),
    ("style", "docs/planted.md", "# One\n\nSee [here](planted.md#two).\n", "#two"),
    ("style", "docs/planted.md", "# One\n\nSee [below](#two).\n", "#two"),
    ("style", "docs/planted.md", "It is in /wo" + "rk/main.\n", "outside the project"),
    ("style", "docs/planted.md", "Run `pip in" + "stall -U shoal`.\n", "ours is shoal-ray"),
    ("style", "tests/config/corpus/planted.yaml", "x: ../sha" + "red/y\n", "outside the project"),
)

# What looks like a fault and is none: no gate may complain.
GOOD = {
    "src/core/planted.c": HEAD + '#include "core/planted.h"\n\n#include <string.h>\n'
    'static const char *const text = "http://x /* y"; /* "a // b" */\n',
    "src/core/planted.h": HEADER_HEAD + '#include "base/str.h"\n',
    "docs/planted.md": "# `X`: a page\n\n[a](planted.md#x-a-page) [b](https://x.y) `[c](gone)`\n\n"
                       "`pip in" "stall shoal-ray`\n"
                       "```\n# no heading\n[d](gone)\n```\n",
    "tests/config/corpus/planted.c": "int\tx; // " + "long " * 40,
}

DECLARE = "int planted(const char *x);\nint planted(const char *x)\n{\n"
OTHER = "int planted_far(void);\nint planted_far(void)\n{\n    return 1;\n}\n"
FAR_CALL = "extern int planted_far(void);\n" + DECLARE + "    return *x + planted_far();\n}\n"

# Gate, planted file, its code, another layer that gains planted_far() or None, words.
OBJECT_FAULTS = (
    ("links", "src/core/planted.c", FAR_CALL, "io", "core uses planted_far of io"),
    ("links", "src/core/planted.c", FAR_CALL, "config", "core uses planted_far of config"),
    ("links", "src/provider/planted.c", FAR_CALL, "remote", "provider uses planted_far of remote"),
    ("purity", "src/core/planted.c", "long time(long *);\n" + DECLARE +
     "    return *x + (int)time(0);\n}\n", None, "time; the clock"),
    ("purity", "src/core/planted.c", "void *fopen(const char *, const char *);\n" + DECLARE +
     "    return fopen(x, x) != 0;\n}\n", None, "uses fopen"),
    ("purity", "src/core/planted.c", "long write(int, const void *, unsigned long);\n" + DECLARE +
     "    return (int)write(1, x, 1);\n}\n", None, "uses write"),
    ("purity", "src/core/planted.c", "void *malloc(unsigned long);\n" + DECLARE +
     "    return *(int *)malloc((unsigned long)*x);\n}\n", None, "malloc; the heap"),
    ("purity", "src/core/planted.c", "int rand(void);\n" + DECLARE +
     "    return *x + rand();\n}\n", None, "rand; chance"),
    ("purity", "src/core/planted.c", DECLARE +
     "    static int count;\n    return count += *x;\n}\n", None, "is writable data"),
    ("purity", "src/core/planted.c", "int planted_state = 7;\n", None, "planted_state is writable"),
)
# The heap behind a call of base: core itself looks innocent.
HIDDEN_HEAP = ("void *malloc(unsigned long);\nint planted_far(void);\nint planted_far(void)\n{\n"
               "    return *(int *)malloc(4);\n}\n")
# Constant tables with pointers need the loader's hand, not ours; assertions may end the program.
PURE = ("void __assert_fail(const char *, const char *, unsigned, const char *);\n"
        "int planted(const char *x);\nstatic int (*const table[])(const char *) = {planted};\n"
        "int (*const *planted_table(void))(const char *);\n"
        "int (*const *planted_table(void))(const char *)\n{\n    return table;\n}\n" + DECLARE +
        '    if (!x) {\n        __assert_fail("x", "f", 1, "g");\n    }\n    return *x;\n}\n')

BANS = ("#define BANNED(name) sorry_##name##_is_a_banned_function\n"
        "#pragma GCC poison strcpy gets\n#define rand() BANNED(rand)\n"
        "#define strncpy(x, y, n) BANNED(strncpy)\n")
LOST_BANS = "#pragma GCC poison strcat\n#define sprintf(x, y) BANNED(sprintf)\n"


def flags_of(command, with_bans):
    """A compile command without its own source, output and dependency files."""
    flags, words = [], iter(command.args)
    for word in words:
        if word in ("-o", "-c", "-MF", "-MQ", "-MT"):
            next(words)
        elif word == "-include":
            header = next(words)
            if with_bans or not header.endswith("base/banned.h"):
                flags += [word, header]
        elif not word.startswith("-M"):
            flags.append(word)
    return [*flags, "-w", "-fno-builtin", "-fdiagnostics-color=never"]


class Planting(unittest.TestCase):
    """A copy of the tree; what a test plants is gone when it ends."""

    @classmethod
    def setUpClass(cls):
        cls.copy = tempfile.mkdtemp(prefix="gates-")
        cls.addClassCleanup(shutil.rmtree, cls.copy)
        for name in (name for name in tree.files(ROOT) if name.startswith(COPIED)):
            os.makedirs(os.path.dirname(os.path.join(cls.copy, name)), exist_ok=True)
            shutil.copyfile(os.path.join(ROOT, name), os.path.join(cls.copy, name))
        cls.before = cls.look(cls.source_gates())

    @classmethod
    def source_gates(cls):
        return {"includes": lambda: includes.check(cls.copy),
                "folders": lambda: folders.check(cls.copy),
                "style": lambda: style.check(cls.copy),
                "failpoints": lambda: failpoints.check(cls.copy),
                "prices": lambda: prices.check(cls.copy),
                "promises": lambda: promises.check(cls.copy, BUILD),
                "words": lambda: words.check(cls.copy),
                "where": lambda: where.check(cls.copy)}

    @staticmethod
    def look(gates):
        return {name: set(check()) for name, check in gates.items()}

    def plant(self, name, text):
        path = os.path.join(self.copy, name)
        old = tree.read(self.copy, name) if os.path.exists(path) else None
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        self.addCleanup(self.restore, path, old)

    @staticmethod
    def restore(path, old):
        if old is None:
            os.remove(path)
        else:
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(old)

    def expect(self, gates, guilty, place, words):
        """Only `guilty` finds something new, and says where and what."""
        for name, problems in self.look(gates).items():
            found = problems - self.before.get(name, set())
            if name not in self.before:  # too slow to look twice: what the tree had, it had
                found = {text for text in found if "planted" in text}
            if name != guilty:
                self.assertEqual(found, set(), f"{name} complains about a fault of {guilty}")
                continue
            self.assertEqual(len(found), 1, found)
            complaint = found.pop()
            self.assertRegex(complaint, rf"^{re.escape(place)}:\d+: ")
            self.assertIn(words, complaint)


class SourceFaults(Planting):
    def test_each_fault_is_caught(self):
        for guilty, name, text, words in SOURCE_FAULTS:
            with self.subTest(words):
                self.plant(name, text)
                self.expect(self.source_gates(), guilty, name, words)
            self.doCleanups()

    def test_a_circle_of_folders(self):
        self.plant("src/app/model/planted.h", HEADER_HEAD + '#include "app/head/planted.h"\n')
        self.plant("src/app/head/planted.h", HEADER_HEAD + '#include "app/node/planted.h"\n')
        self.assertEqual(includes.check(self.copy), [])
        self.plant("src/app/node/planted.h", HEADER_HEAD + '#include "app/model/planted.h"\n')
        found = includes.check(self.copy)
        self.assertEqual(len(found), 3, found)
        self.assertIn("app/model includes app/head, which needs app/model", "\n".join(found))

    def test_own_header_comes_first(self):
        self.plant("src/core/planted.h", HEADER_HEAD)
        self.plant("src/core/planted.c",
                   HEAD + '#include "base/str.h"\n#include "core/planted.h"\n')
        self.expect(self.source_gates(), "includes", "src/core/planted.c", '"core/planted.h" first')

    def test_good_files_pass(self):
        for name, text in GOOD.items():
            self.plant(name, text)
        self.assertEqual(self.look(self.source_gates()), self.before)

    def test_header_that_leans_on_others(self):
        self.plant("src/core/planted.h", HEADER_HEAD + "size_t planted(void);\n")
        gates = {"headers": lambda: headers.check(self.copy, CC.split(), run.include_flags(BUILD)),
                 **self.source_gates()}
        self.expect(gates, "headers", "src/core/planted.h", "does not compile alone")

    def test_layout(self):
        self.plant("src/core/planted.c", HEAD + "int  planted;\n")
        try:
            self.expect({"format": lambda: layout.check(self.copy), **self.source_gates()},
                        "format", "src/core/planted.c", "laid out otherwise")
        except gate.Skip as reason:
            self.skipTest(str(reason))


class Folders(Planting):
    """Circles between folders, and internal headers with too many includers."""

    def test_a_circle(self):
        self.plant("src/core/planted.h", HEADER_HEAD + '#include "core/text/load_text.h"\n')
        found = folders.check(self.copy)
        self.assertEqual(len(found), 2, found)  # both sides of the circle
        self.assertIn("src/core/planted.h:4: ", found[0])
        self.assertIn("but src/core/text includes src/core; move", found[0])

    def test_a_way_back_through_a_third_folder(self):
        for user, used in (("a", "b"), ("b", "c"), ("c", "a")):
            self.plant(f"src/core/{user}/planted.h",
                       HEADER_HEAD + f'#include "core/{used}/planted.h"\n')
        found = folders.check(self.copy)
        self.assertEqual(len(found), 3, found)
        self.assertIn("src/core/b includes src/core/c includes src/core/a", found[0])

    def test_a_cloud_that_needs_another(self):
        self.plant("src/provider/aws/planted.h", HEADER_HEAD)
        self.plant("src/provider/gcp/planted.h",
                   HEADER_HEAD + '#include "provider/aws/planted.h"\n')
        self.expect(self.source_gates(), "folders", "src/provider/gcp/planted.h", "another cloud")

    def test_what_clouds_share_needs_no_cloud(self):
        self.plant("src/provider/aws/planted.h", HEADER_HEAD)
        self.plant("src/provider/planted.h", HEADER_HEAD + '#include "provider/aws/planted.h"\n')
        self.expect(self.source_gates(), "folders", "src/provider/planted.h", "another cloud")

    def test_an_exception_that_is_not_needed(self):
        self.plant("src/provider/aws/aws_internal.h", HEADER_HEAD)
        found = folders.check(self.copy)
        self.assertTrue(any("has 0 includers" in text for text in found), found)

    def test_an_internal_header_with_five_includers(self):
        self.plant("src/core/planted_internal.h", HEADER_HEAD)
        for number in range(5):
            self.plant(f"src/core/planted_{number}.c",
                       HEAD + '#include "core/planted_internal.h"\n')
        self.expect(self.source_gates(), "folders", "src/core/planted_4.c", "has 5 includers, 4")


class Exports(unittest.TestCase):
    """Functions that are not static."""

    def found(self, **texts):
        with tempfile.TemporaryDirectory(prefix="exports-") as root:
            for name, text in texts.items():
                path = os.path.join(root, "src", "core", name.replace("_", "."))
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as stream:
                    stream.write(text)
            return exports.check(root)

    def test_a_function_without_a_caller(self):
        found = self.found(a_h="void planted(int x);\n", a_c="void planted(int x)\n{\n}\n",
                           b_c="/* planted() */\n")
        self.assertEqual(found, ["src/core/a.c:1: planted is not used by any other file; make it "
                                 "static or delete it"])

    def test_functions_with_a_caller(self):
        code = "void planted(int x)\n{\n}\n\nstatic int own(void)\n{\n    return 1;\n}\n"
        self.assertEqual(self.found(a_c=code, b_c="int f = planted;\n"), [])
        self.assertEqual(self.found(
            a_c=code, a_h="void planted(int x);\n#define PLANTED() planted(1)\n"), [])


class Promises(Planting):
    """Tests that the documentation names."""

    def expect_only(self, page, text, words):
        self.plant("tests/unit/test_planted.c", HEAD + "static void it_works(void **state)\n{\n}\n")
        self.plant(page, text)
        self.expect(self.source_gates(), "promises", page, words)

    def test_a_file_that_does_not_exist(self):
        self.expect_only("docs/planted.md", "See `unit/test_planted_too.c`.\n", "does not exist")

    def test_a_test_that_is_not_defined(self):
        self.expect_only("docs/planted.md", "See `unit/test_planted.c::it_fails`.\n",
                         "it_fails, which tests/unit/test_planted.c does not define")

    def test_a_row_without_a_test(self):
        self.expect_only(promises.PAGE, "| planted | - | `meson test -C build --suite unit` |\n",
                         "names no test")

    def test_a_command_that_runs_nothing(self):
        row = "| planted | `unit/test_planted.c::it_works` | `meson test -C build planted` |\n"
        self.expect_only(promises.PAGE, row, "Meson knows no test or suite planted")

    def test_a_name_of_several_words(self):
        """In quotes it is one name; its words are not names of their own."""
        row = ("| planted | `unit/test_planted.c::it_works` | "
               "`meson test -C build \"unit planted\"` |\n")
        self.expect_only(promises.PAGE, row, "Meson knows no test or suite unit planted")

    def test_a_good_row(self):
        self.plant("tests/unit/test_planted.c", "static void it_works(void **state)\n{\n}\n")
        self.plant(promises.PAGE, "| promise | tests | command |\n|---|---|---|\n"
                   "| planted | `unit/test_planted.c::it_works` | `meson test -C build unit` |\n")
        self.assertEqual(promises.check(self.copy, BUILD), [])


class Words(Planting):
    """Words that were retired."""

    def expect_only(self, name, text, better):
        self.plant(name, text)
        self.expect(self.source_gates(), "words", name, better)

    def test_a_comment(self):
        self.expect_only("src/core/planted.c", HEAD + "/* Begins anew. */\nint planted;\n",
                         'retired words "anew"; write: again')

    def test_a_string(self):
        self.expect_only("src/core/planted.c",
                         HEAD + 'const char *planted = "the value is no number";\n',
                         "write: is not a number")

    def test_a_comment_of_a_c_test(self):
        self.expect_only("tests/unit/planted.c", HEAD + "/* Begins anew. */\n", "again")

    def test_a_comment_of_a_python_test(self):
        self.expect_only("tests/cli/planted.py", "def planted():\n    return 1  # anew\n", "again")

    def test_a_docstring(self):
        self.expect_only("tests/cli/planted.py", 'def planted():\n    """Anew."""\n', "again")

    def test_a_script_without_a_suffix(self):
        self.expect_only("tools/planted", '#!/usr/bin/env python3\n"""Begins anew."""\n', "again")

    def test_a_page(self):
        self.expect_only("docs/user/planted.md", "Whoever reads this is right.\n", '"Whoever"')

    def test_a_file_name(self):
        self.expect_only("src/core/desk.c", HEAD.replace("planted.c", "desk.c") + "int planted;\n",
                         "a retired word in a file name")

    def test_what_is_fine(self):
        self.plant("src/core/planted.c",
                   HEAD + "/* There is no head; it is no longer told apart. */\nint planted;\n")
        self.plant("docs/user/planted.md", "Quoted: `anew`.\n\n    $ anew\n")
        self.plant("tests/cli/planted.py", "WORD = 'anew'  # quoted: `anew`\n")
        self.assertEqual(words.check(self.copy), sorted(self.before["words"]))


class Where(Planting):
    """The page that answers where something is."""

    def test_a_word_that_finds_nothing(self):
        self.plant(where.PAGE, "| who renews it? | `planted_nowhere` | `src/base/str.c` |\n")
        self.expect(self.source_gates(), "where", where.PAGE, "no file name has planted_nowhere")

    def test_a_file_that_the_word_does_not_find(self):
        self.plant(where.PAGE, "| what is text? | `arena` | `src/base/str.c` |\n")
        self.expect(self.source_gates(), "where", where.PAGE, "does not find src/base/str.c")


class Subjects(unittest.TestCase):
    """Subjects of commits, in a repository of its own."""

    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="gates-git-")
        self.addCleanup(shutil.rmtree, self.root)
        self.git("init", "-q")
        self.base = self.commit("Whoever made this made it before the gate.")

    def git(self, *words):
        name = ("-c", "user.name=planted", "-c", "user.email=planted@example.com")
        return subprocess.run(["git", "-C", self.root, *name, *words], check=True,
                              capture_output=True, text=True).stdout.strip()

    def commit(self, subject):
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def test_each_fault_is_caught(self):
        for subject, complaint in (
                ("wip", "not of the form"),
                ("Add a gate", "not of the form"),
                ("lint: add a gate.", "not of the form"),
                ("lint:add a gate", "not of the form"),
                ("lint: a gate for subjects", '"a" is not an imperative'),
                ("lint: adds a gate", '"adds" is not an imperative'),
                ("lint: added a gate", '"added" is not an imperative'),
                ("lint: adding a gate", '"adding" is not an imperative'),
                ("lint: Add a gate", '"Add" is not an imperative'),
                ("lint: add a gate that " + "x" * 39, "61 columns, at most 60"),
                ("lint: start anew", 'retired words "anew", write: again')):
            with self.subTest(subject):
                before = self.git("rev-parse", "HEAD")
                self.commit(subject)
                found = subjects.check(self.root, self.base)
                self.assertEqual(len(found), 1, found)
                self.assertRegex(found[0], r"^commit [0-9a-f]{7,}:1: ")
                self.assertIn(complaint, found[0])
                self.git("reset", "-q", "--hard", before)

    def test_good_subjects_pass(self):
        for subject in ("lint: add a gate", "docs, tests: pass the names of nodes",
                        "app/head: process what Ray's reply has", "lint: add a gate " + "x" * 43):
            self.commit(subject)
        self.assertEqual(subjects.check(self.root, self.base), [])

    def test_a_merge_is_not_a_subject(self):
        self.git("checkout", "-q", "-b", "side")
        self.commit("lint: add a gate")
        self.git("checkout", "-q", "-")
        self.git("merge", "-q", "--no-ff", "-m", "Merge side", "side")
        self.assertEqual(subjects.check(self.root, self.base), [])

    def test_without_the_base_it_says_so(self):
        with self.assertRaisesRegex(gate.Skip, "no git history"):
            subjects.check(self.root)
        with tempfile.TemporaryDirectory() as exported:
            with self.assertRaisesRegex(gate.Skip, "no git history"):
                subjects.check(exported)


class BannedCalls(Planting):
    def gates(self, build=None):
        return {"banned": lambda: banned.check(self.copy, CC.split(), build),
                **self.source_gates()}

    def test_build_refuses_a_banned_call(self):
        """Tests not the gate but its purpose: the build's own flags reject the call."""
        command = next(c for c in objects.commands(BUILD) if c.layer != "base")
        self.plant("src/config/planted.c", HEAD + "#include <string.h>\n" + DECLARE +
                   "    char y[9];\n    strcpy(y, x);\n    return *y;\n}\n")
        done = subprocess.run(
            [*flags_of(command, with_bans=True), "-fsyntax-only",
             os.path.join(self.copy, "src/config/planted.c")],
            cwd=command.directory, capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"src/config/planted\.c:\d+:\d+: error: .*poisoned")

    def test_ban_without_effect(self):
        """Both ways to ban are read; what the compiler does not see is reported, by name."""
        self.plant(banned.HEADER, HEADER_HEAD + BANS + "#if 0\n" + LOST_BANS + "#endif\n")
        found = banned.check(self.copy, CC.split())
        self.assertEqual(len(found), 2, found)
        for complaint, name in zip(found, ("strcat", "sprintf")):
            self.assertRegex(complaint, rf"^{banned.HEADER}:\d+: a call of {name} still compiles")

    def test_empty_list(self):
        self.plant(banned.HEADER, HEADER_HEAD)
        found = banned.check(self.copy, CC.split())
        self.assertRegex("".join(found), rf"^{banned.HEADER}:1: bans nothing")

    def test_source_built_without_the_header(self):
        build = tempfile.mkdtemp(prefix="gates-build-")
        self.addCleanup(shutil.rmtree, build)
        entry = {"directory": "/x/build", "file": "../src/core/planted.c", "output": "x.o",
                 "command": "cc -include ../src/base/other.h -c ../src/core/planted.c"}
        with open(os.path.join(build, "compile_commands.json"), "w", encoding="utf-8") as stream:
            json.dump([entry], stream)
        self.expect(self.gates(build), "banned", "src/core/planted.c", "is built without")


class ObjectFaults(Planting):
    """Works on a build folder of its own: thin archives of the real objects, plus planted ones."""

    @classmethod
    def setUpClass(cls):
        try:
            purity.check(BUILD)
        except gate.Skip as reason:
            raise unittest.SkipTest(str(reason)) from None
        super().setUpClass()
        cls.commands = objects.commands(BUILD)
        cls.build = tempfile.mkdtemp(prefix="gates-build-")
        cls.addClassCleanup(shutil.rmtree, cls.build)
        with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as stream:
            cls.entries = json.load(stream)
        for layer in layers.MAY_USE:
            cls.archive(layer)
        cls.write_commands([])
        cls.before.update(cls.look(cls.object_gates()))

    @classmethod
    def object_gates(cls):
        return {"links": lambda: links.check(cls.build), "purity": lambda: purity.check(cls.build)}

    @classmethod
    def archive(cls, layer, *planted):
        """Create the layer's archive again; none if it would be empty."""
        folder = f"src/{layer}/lib{layer}.a.p/"
        real = [os.path.join(c.directory, c.output) for c in cls.commands
                if c.output.startswith(folder)]
        path = objects.archive_path(cls.build, layer)
        if os.path.exists(path):
            os.remove(path)
        if real or planted:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            subprocess.run(["ar", "rcsT", path, *real, *planted], check=True)

    @classmethod
    def write_commands(cls, planted):
        path = os.path.join(cls.build, "compile_commands.json")
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(cls.entries + planted, stream)

    def plant_objects(self, codes):
        """Source name -> code: write each, compile it and add it to its layer."""
        planted = []
        for name, code in codes.items():
            self.plant(name, HEAD + code)
            layer = layers.layer_of(name)
            output = os.path.join(self.build, f"{layer}_planted.c.o")
            source = os.path.join(self.copy, name)
            command = self.commands[0]
            subprocess.run([*flags_of(command, with_bans=False), "-c", source, "-o", output],
                           cwd=command.directory, check=True)
            planted.append({"directory": self.build, "file": source, "output": output,
                            "command": "cc -c"})
            self.archive(layer, output)
            self.addCleanup(self.archive, layer)
        self.write_commands(planted)

    def test_each_fault_is_caught(self):
        for guilty, name, code, far, words in OBJECT_FAULTS:
            with self.subTest(words):
                codes = {name: code}
                if far:
                    codes[f"src/{far}/planted.c"] = OTHER
                self.plant_objects(codes)
                self.expect({**self.object_gates(), **self.source_gates()}, guilty, name, words)
            self.doCleanups()

    def test_heap_behind_base(self):
        self.plant_objects({"src/core/planted.c": FAR_CALL, "src/base/planted.c": HIDDEN_HEAP})
        self.expect(self.object_gates(), "purity", "src/base/planted.c",
                    "reached from src/core/planted.c (planted_far)")

    def test_pure_code_passes(self):
        self.plant_objects({"src/core/planted.c": PURE})
        self.assertEqual(self.look(self.object_gates()),
                         {name: self.before[name] for name in self.object_gates()})


class Usage(unittest.TestCase):
    def test_wrong_use(self):
        for script, places in (("links.py", 1), ("includes.py", 1), ("run.py", 2), ("style.py", 0)):
            done = subprocess.run([sys.executable, os.path.join(LINT, script),
                                   *["/nowhere"] * places],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, script + done.stdout + done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--cc", default="cc")
    options, rest = parser.parse_known_args()
    BUILD, CC = os.path.abspath(options.build), options.cc
    unittest.main(argv=[sys.argv[0], *rest])
