"""Shoal and Ray must agree on every cluster file: accepted or not, and what
the prepared configuration looks like.

SHOAL_DIFF_FILES  number of generated files (default 1000)
"""

import json
import os
import random
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

import need_ray  # noqa: F401  skips this module without Ray
import yaml

import bounds
import emit
import generate
import workers

FILES = int(os.environ.get("SHOAL_DIFF_FILES") or 1000)
SHOWN = 10
LEGACY = 900  # of 10,000 generated files


# --- running shoal -----------------------------------------------------------


def run_shoal(shoal, path):
    try:
        done = subprocess.run(
            [shoal, "config", path, "-o", "json", "--show-secrets"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=300,
        )
    except subprocess.TimeoutExpired:
        return -1, "", "no answer after 60 s"
    out, errors = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return done.returncode, out, errors


def run_all(shoal, paths):
    with ThreadPoolExecutor(3) as pool:
        verdicts = pool.submit(workers.judge_files, paths)
        answers = list(pool.map(lambda path: run_shoal(shoal, path), paths))
    return verdicts.result(), answers


# --- comparing ---------------------------------------------------------------


def difference(expected, found, path="$"):
    """The first place where two JSON values differ, or None. The order of keys does not matter; 1,
    1.0 and true differ.
    """
    if type(expected) is not type(found):
        return "{}: expected {!r}, found {!r}".format(path, expected, found)
    if isinstance(expected, dict):
        return dict_difference(expected, found, path)
    if isinstance(expected, list):
        return list_difference(expected, found, path)
    if repr(expected) != repr(found):  # repr: NaN equals NaN, 0.0 is not -0.0
        return "{}: expected {!r}, found {!r}".format(path, expected, found)
    return None


def dict_difference(expected, found, path):
    missing = sorted(expected.keys() - found.keys())
    extra = sorted(found.keys() - expected.keys())
    if missing or extra:
        return "{}: missing keys {}, extra keys {}".format(path, missing, extra)
    for key in expected:
        text = difference(expected[key], found[key], "{}.{}".format(path, key))
        if text:
            return text
    return None


def list_difference(expected, found, path):
    if len(expected) != len(found):
        return "{}: expected {} items, found {}".format(path, len(expected), len(found))
    for index, (left, right) in enumerate(zip(expected, found)):
        text = difference(left, right, "{}[{}]".format(path, index))
        if text:
            return text
    return None


def disagreement(path, verdict, answer):
    """What is wrong with Shoal's answer, or None."""
    code, out, errors = answer
    if code not in (0, 1):
        return "shoal ended with code {}".format(code)
    ours = "accept" if code == 0 else "reject"
    if ours != verdict["verdict"]:
        return "Ray says {}, shoal says {}".format(verdict["verdict"], ours)
    if ours == "reject":
        located = re.compile(re.escape(path) + r":\d+:\d+: error: ")
        return None if any(map(located.match,
                               errors.splitlines())) else "no message FILE:LINE:COL: error: ..."
    return output_difference(verdict, out)


def output_difference(verdict, out):
    try:
        found = json.loads(out)
    except ValueError as error:
        return "the output is not JSON: {}".format(error)
    return difference(json.loads(verdict["config"]), found)


# --- reporting ---------------------------------------------------------------


def report(path, verdict, answer, problem):
    with open(path, "rb") as stream:
        text = stream.read().decode("utf-8", "replace")
    return "\n".join([
        "=" * 70,
        "{}: {}".format(path, problem),
        "Ray: {verdict}{old} {error}".format(
            verdict=verdict["verdict"],
            old=" (legacy form)" if verdict["legacy"] else "",
            error=verdict.get("error", ""),
        ),
        "shoal: code {}, stderr:\n{}".format(answer[0], answer[2].rstrip()[-1500:]),
        "-" * 30 + " file " + "-" * 30,
        text,
    ])


def summary(verdicts, failures):
    count = {"accept": 0, "reject": 0}
    for verdict in verdicts:
        count[verdict["verdict"]] += 1
    return "diff: {} files, {} accepted, {} rejected, {} legacy, {} differences".format(
        len(verdicts), count["accept"], count["reject"], sum(v["legacy"] for v in verdicts),
        len(failures)
    )


def compare(shoal, paths, say):
    verdicts, answers = run_all(shoal, paths)
    failures = []
    for path, verdict, answer in zip(paths, verdicts, answers):
        problem = disagreement(path, verdict, answer)
        if problem:
            failures.append(report(path, verdict, answer, problem))
    say(summary(verdicts, failures))
    if failures:
        pytest.fail("\n".join(failures[:SHOWN] + [summary(verdicts, failures)]), pytrace=False)
    return verdicts


# --- tests -------------------------------------------------------------------


def test_corpus(shoal, corpus, say):
    compare(shoal, [str(path) for path in corpus], say)


def test_generated(shoal, seed, tmp_path, say):
    paths = []
    for number in range(FILES):
        path = tmp_path / ("%05d.yaml" % number)
        path.write_text(generate.config_text("%d/%d" % (seed, number)), encoding="utf-8",
                        newline="")
        paths.append(str(path))
    verdicts = compare(shoal, paths, say)
    # Ray rejects these; Shoal has its own rule for them.
    assert sum(verdict["legacy"] for verdict in verdicts) <= bounds.most(LEGACY, FILES)


def test_corpus_verdicts(corpus):
    """The names say how Ray treats each file: bad_, legacy_, or fine."""
    verdicts = workers.judge_files([str(path) for path in corpus], jobs=1)
    wrong = []
    for path, verdict in zip(corpus, verdicts):
        bad = path.name.startswith("bad_")
        right = verdict["verdict"] == ("reject" if bad else "accept")
        if not right or (not bad and verdict["legacy"] != path.name.startswith("legacy_")):
            wrong.append("{}: {}".format(path.name, verdict))
    assert not wrong, "\n".join(wrong)
    assert len(corpus) >= 64


def test_emitter_writes_what_it_was_given(seed):
    """The generator's own YAML writer, checked against PyYAML."""
    for number in range(150):
        generator = generate.Generator("%d/emit/%d" % (seed, number))
        tree = generator.valid()
        if any(key is generate.MERGE for item in generate.all_maps(tree) for key in item.keys()):
            continue
        text = emit.emit(tree, random.Random(number))
        assert repr(yaml.safe_load(text)) == repr(emit.data_of(tree)), text
