"""Shoal's YAML reader must read what PyYAML's safe_load reads, scalar by
scalar, and refuse what it refuses.

SHOAL_DIFF_SCALARS  number of scalars (default 200000)
SHOAL_DIFF_DOCS     number of documents (default 20000)
"""

import collections
import os
import re
from concurrent.futures import ProcessPoolExecutor

import pytest

import need_ray  # noqa: F401  skips this module without Ray

import canon
import workers
import yaml_hand_picked
import yaml_samples

SCALARS = int(os.environ.get("SHOAL_DIFF_SCALARS") or 60000)
DOCUMENTS = int(os.environ.get("SHOAL_DIFF_DOCS") or 8000)
BATCH = 2500
SHOWN = 10


def we_refuse(words, text=rb""):
    """PyYAML reads a sample with `text` in it; we refuse it with these words."""

    def match(sample, expected, found):
        outcomes = expected[0] != "!" and found.startswith("!error")
        return outcomes and words in found and re.search(text, sample)

    return match


def we_read(words, text=rb""):
    """PyYAML refuses a sample with `text` in it with these words; we read it."""

    def match(sample, expected, found):
        outcomes = expected.startswith("!error") and found[0] != "!"
        return outcomes and words in expected and re.search(text, sample)

    return match


def any_outcome(text):
    return lambda sample, expected, found: not found.startswith("!died") and re.search(text, sample)


def both_read(text):
    """Both read a sample with `text` in it, not to the same value."""

    def match(sample, expected, found):
        return expected[0] != "!" and found[0] != "!" and re.search(text, sample, re.S)

    return match


# Differences we live with: (name, reason, match). Most are places where libyaml
# scans differently from PyYAML's own scanner and cannot be told otherwise; the
# rest are tags and keys that no cluster file has.
HALF_PAIR = rb"\\(u|U0000)[dD][89a-fA-F][0-9a-fA-F]{2}"
STAMP = rb"\d{4}-\d\d?-\d\d?[Tt \t]+\d"
INNER_MARK = rb"(\n|\r|\xc2\x85|\xe2\x80[\xa8\xa9]|^\xef\xbb\xbf)\xef\xbb\xbf"
KNOWN = [
    ("half a surrogate pair", "no UTF-8 text can hold it",
     we_refuse("Unicode character escape", HALF_PAIR)),
    ("colon before a flow sign", "libyaml wants a blank after {a:",
     we_refuse("found unexpected ':'", rb":[\[\]{},]")),
    ("lone ? in a flow list", "libyaml eats the closing bracket",
     we_refuse("while parsing a flow sequence", rb"[\[,]\s*\?")),
    ("? inside a flow word", "a key sign for PyYAML, a letter for libyaml",
     we_read("", rb"(?s)[\[{].*\?")),
    ("unknown directive", "PyYAML ignores it",
     we_refuse("unknown directive", rb"(?m)^%(?!(YAML|TAG) )")),
    ("YAML version 1.3 and up", "PyYAML takes any 1.x",
     we_refuse("incompatible YAML document", rb"%YAML 1\.(?![12]\b)")),
    ("tab starts a block scalar", "libyaml takes it for indentation",
     we_refuse("a tab cannot be used here", rb"[|>]")),
    ("byte order mark on a later line", "a letter for PyYAML, nothing for libyaml",
     any_outcome(INNER_MARK)),
    ("tag glued to a flow sign", "PyYAML takes the sign into the tag",
     we_read("", rb"![\w!%:/.]*[\[\],]")),
    ("comment glued to a version", "libyaml takes it for one",
     we_read("", rb"%YAML 1\.[12]#")),
    ("tagged number with odd signs or digits", "Python's int() and float() take +-1 and \u0663",
     we_refuse("not a whole number", rb"!")),
    ("tagged float with odd signs or digits", "Python's float() takes +-1 and \u0663",
     we_refuse("not a number", rb"!")),
    ("a scalar tag on a map", "PyYAML takes the value of its = key",
     we_refuse("this tag cannot be used for a map", rb"=")),
    ("merge or = inside an ordered map", "PyYAML takes them literally there",
     we_read("", rb"(pairs|omap).*(<<|=)")),
    ("odd keys inside an ordered map", "PyYAML allows lists as keys and counts repeated ones",
     any_outcome(rb"(?s)(pairs|omap).*[\[{]")),
    ("date-times as equal keys", "PyYAML compares the instants, we the spelling",
     both_read(STAMP + rb".*" + STAMP)),
    ("a tagged nan as key", "each is a new one for PyYAML",
     both_read(rb"!!float\s+['\"]?nan")),
    ("alias inside its own anchor", "we refuse before a later key can hide it",
     we_refuse("refers to itself", rb"\*")),
]


def known_name(sample, expected, found):
    for name, _reason, match in KNOWN:
        if match(sample, expected, found):
            return name
    return None


def check_scalars(probe, seed, count):
    return check(probe, yaml_samples.scalar_batch(seed, count))


def check_documents(probe, seed, count, corpus):
    return check(probe, yaml_samples.document_batch(seed, count, corpus))


def check(probe, samples):
    """(values, errors, known counts, differences) of one batch."""
    known = collections.Counter()
    wrong = []
    errors = 0
    for sample, found in zip(samples, workers.ask_probe(probe, samples)):
        expected = canon.expected_line(sample)
        errors += expected.startswith("!error")
        if canon.same(expected, found):
            continue
        expected = canon.expected_line(sample, explain=True)
        name = known_name(sample, expected, found)
        if name:
            known[name] += 1
        else:
            wrong.append((sample, expected, found))
    return len(samples) - errors, errors, known, wrong


def batches(total):
    return [min(BATCH, total - start) for start in range(0, total, BATCH)]


def run(what, function, probe, seed, total, say, *more):
    with ProcessPoolExecutor(2) as pool:
        jobs = [
            pool.submit(function, probe, "%s/%d/%d" % (what, seed, number), count, *more)
            for number, count in enumerate(batches(total))
        ]
        results = [job.result() for job in jobs]
    say_and_judge(what, total, results, say)


def say_and_judge(what, total, results, say):
    known = sum((result[2] for result in results), collections.Counter())
    wrong = [item for result in results for item in result[3]]
    line = "yaml: {} {}, {} values, {} errors, {} known, {} differences".format(
        total, what, sum(r[0] for r in results), sum(r[1] for r in results), sum(known.values()),
        len(wrong)
    )
    notes = ["yaml: {:6} known: {} ({})".format(known[name], name, why) for name, why,
             _ in KNOWN if known[name]]
    say("\n".join([line] + notes))
    if wrong:
        pytest.fail(describe(wrong) + "\n" + line, pytrace=False)


def describe(wrong):
    """The shortest examples, one for each pair of outcomes first."""
    wrong = sorted(set(wrong), key=lambda item: (len(item[0]), item))
    first, rest, seen = [], [], set()
    for item in wrong:
        kind = (item[1][:60] if item[1][0] == "!" else "value",
                item[2][:40] if item[2][0] == "!" else "value")
        (rest if kind in seen else first).append(item)
        seen.add(kind)
    lines = []
    for sample, expected, found in (first + rest)[:SHOWN]:
        lines.append("{!r}\n    PyYAML: {}\n    shoal:  {}".format(
            sample[:400], expected[:400], found[:400]))
    return "\n".join(lines)


def test_scalars(yaml_probe, seed, say):
    run("scalars", check_scalars, yaml_probe, seed, SCALARS, say)


def test_documents(yaml_probe, seed, corpus, say):
    files = [path.read_bytes() for path in corpus]
    run("documents", check_documents, yaml_probe, seed, DOCUMENTS, say, files)


def check_all(what, probe, samples, say):
    say_and_judge(what, len(samples), [check(probe, samples)], say)


def test_corpus(yaml_probe, corpus, say):
    """Whole corpus files, not only excerpts."""
    check_all("corpus files", yaml_probe, [path.read_bytes() for path in corpus], say)


def test_hand_picked(yaml_probe, say):
    check_all("hand-picked documents", yaml_probe, yaml_hand_picked.documents(), say)
