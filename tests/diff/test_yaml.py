"""Shoal's YAML reader must read what PyYAML's safe_load reads, scalar by
scalar, and refuse what it refuses. yaml_known.py has the exceptions.

SHOAL_DIFF_SCALARS  number of scalars (default 60000)
SHOAL_DIFF_DOCS     number of documents (default 8000)
"""

import collections
import os
from concurrent.futures import ProcessPoolExecutor

import pytest

import need_ray  # noqa: F401  skips this module without Ray

import bounds
import canon
import workers
import yaml_hand_picked
import yaml_known
import yaml_samples

SCALARS = int(os.environ.get("SHOAL_DIFF_SCALARS") or 60000)
DOCUMENTS = int(os.environ.get("SHOAL_DIFF_DOCS") or 8000)
BATCH = 2500
SHOWN = 10


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
        name = yaml_known.name_of(sample, expected, found)
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
    limits = {known.name: bounds.most(getattr(known, what), total)
              for known in yaml_known.KNOWN}
    say_and_judge(what, total, results, limits, say)


def say_and_judge(what, total, results, limits, say):
    counts = sum((result[2] for result in results), collections.Counter())
    wrong = [item for result in results for item in result[3]]
    line = "yaml: {} {}, {} values, {} errors, {} known, {} differences".format(
        total, what, sum(r[0] for r in results), sum(r[1] for r in results), sum(counts.values()),
        len(wrong)
    )
    notes = ["yaml: {:6} of at most {} known: {} ({})".format(
        counts[known.name], limits.get(known.name, 0), known.name, known.reason)
        for known in yaml_known.KNOWN if counts[known.name]]
    say("\n".join([line] + notes))
    if wrong:
        pytest.fail(describe(wrong) + "\n" + line, pytrace=False)
    assert not {name: count for name, count in counts.items() if count > limits.get(name, 0)}


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


def check_all(what, probe, samples, limits, say):
    say_and_judge(what, len(samples), [check(probe, samples)], limits, say)


def test_corpus(yaml_probe, corpus, say):
    """Whole corpus files, not only excerpts; all are read as PyYAML reads them."""
    check_all("corpus files", yaml_probe, [path.read_bytes() for path in corpus], {}, say)


def test_hand_picked(yaml_probe, say):
    limits = {known.name: known.picked for known in yaml_known.KNOWN}
    check_all("hand-picked documents", yaml_probe, yaml_hand_picked.documents(), limits, say)


# ---- accepted differences ----


@pytest.mark.parametrize("sample, found, name", [
    (b"[a?b]", '["a?b"]', "? inside a flow word"),
    (b"[a?b, c?]", '["a?b","c?"]', "? inside a flow word"),
    (b"[a?b]", '["a?c"]', None),
    (b"[a?b]", "[]", None),
    (b"[a?b, [c]", '["a?b",["c"]]', None),
    (b"{a: [b} # ?", '{"m":[["a",["b"]]]}', None),
    (b"\n\xef\xbb\xbfkey", '"key"', "byte order mark on a later line"),
    (b"\n\xef\xbb\xbfkey", '"other"', None),
    (b"!!pairs [[x]: y]", "!error 1:10 a list or a map cannot be a key",
     "odd keys inside an ordered map"),
    (b"!!pairs [[x]: y]", "[]", None),
    (b"{2001-12-14 21:59:43Z: a, 2001-12-14 22:59:43 +1: b}",
     '{"m":[[{"t":"2001-12-14T21:59:43+00:00"},"a"],[{"t":"2001-12-14T22:59:43+01:00"},"b"]]}',
     "date-times as equal keys"),
    (b"{2001-12-14 21:59:43Z: a, 2001-12-14 22:59:43 +1: b}",
     '{"m":[[{"t":"2001-12-14T21:59:43+00:00"},"a"],[{"t":"2001-12-14T22:59:43+01:00"},"c"]]}',
     None),
    (b"{!!float nan: a, !!float nan: b}", '{"m":[[{"f":"nan"},"b"]]}', "a tagged nan as key"),
    (b"{!!float nan: a, !!float nan: b}", '{"m":[[{"f":"nan"},"a"]]}', None)])
def test_an_excuse_is_no_wider_than_its_reason(sample, found, name):
    expected = canon.expected_line(sample, explain=True)
    assert not canon.same(expected, found)
    assert yaml_known.name_of(sample, expected, found) == name


def test_too_many_of_one_kind_fail(say):
    over = yaml_known.KNOWN[0].name
    limits = {known.name: 5 for known in yaml_known.KNOWN}
    say_and_judge("samples", 100, [(90, 10, collections.Counter({over: 5}), [])], limits, say)
    with pytest.raises(AssertionError):
        say_and_judge("samples", 100, [(90, 10, collections.Counter({over: 6}), [])], limits, say)
