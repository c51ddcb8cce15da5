"""Shoal's planner must decide what Ray's v2 scheduler decides: the same launches, the same
terminations for the same causes, the same requests refused.

SHOAL_DIFF_PLANS  number of cases (default 1000)

Ray adds and subtracts amounts in doubles, so that three times 0.1 do not fit into 0.3; we count
in ten-thousandths, as Ray's own raylets do. Where a case with such decimal parts differs, Ray is
asked again with every amount multiplied by 10,000, which its doubles hold exactly: then there must
be no difference left, and such cases are rare.
"""

import json
import os
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import need_ray  # noqa: F401  skips this module without Ray

import bounds
import conftest
import plan_cases
import plan_oracle
import workers

CASES = int(os.environ.get("SHOAL_DIFF_PLANS") or 1000)
JOBS = 2
DRIFTED = 8  # of 10,000 cases
SHOWN = 5
KINDS = ["launches", "terminations", "unmet", "unmet gangs", "unmet constraints", "gangs",
         "OUTDATED", "MAX_NUM_NODE_PER_TYPE", "MAX_NUM_NODES", "IDLE"]
HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture
def plan_probe():
    return conftest.program("tests", "plan_probe")


def ask_ray(first, count):
    command = [sys.executable, str(HERE / "plan_oracle.py"), str(first), str(count)]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=3600, check=True)
    return list(map(json.loads, done.stdout.decode().splitlines()))


def ask_both(probe, first, count):
    share = (count + JOBS - 1) // JOBS
    starts = range(first, first + count, share)
    with ThreadPoolExecutor(JOBS) as pool:
        parts = pool.map(lambda start: ask_ray(start, min(share, first + count - start)), starts)
        theirs = [answer for part in parts for answer in part]
    cases = [plan_cases.make(seed) for seed in range(first, first + count)]
    ours = workers.ask_probe(probe, [plan_cases.record(case) for case in cases])
    return cases, ours, theirs


def parsed(case, line):
    return {"error": line} if line.startswith("!") else plan_cases.parse_answer(case, line)


def is_drift(case, ours):
    """Does Ray agree once its doubles are exact?"""
    return case["grid"] == "decimal" and plan_oracle.Oracle(case, unit=1).answer() == ours


def count_features(cases, theirs):
    """How often each kind of answer occurred: a test that compares nothing proves nothing."""
    seen = dict.fromkeys(KINDS, 0)
    for case, answer in zip(cases, theirs):
        seen["launches"] += sum(answer["launch"].values())
        seen["terminations"] += len(answer["end"])
        seen["unmet"] += sum(answer["unmet"].values())
        seen["unmet gangs"] += len(answer["gangs"])
        seen["unmet constraints"] += answer["constraint"]
        seen["gangs"] += len(case["gangs"])
        for cause in answer["end"].values():
            seen[cause] += 1
    return seen


def test_same_decisions(plan_probe, seed, say):
    first = seed * 10_000_000
    cases, ours, theirs = ask_both(plan_probe, first, CASES)
    differences, drifted = [], 0
    for index, (case, line, answer) in enumerate(zip(cases, ours, theirs)):
        mine = parsed(case, line)
        if mine == answer:
            continue
        if is_drift(case, mine):
            drifted += 1
        else:
            differences.append((first + index, mine, answer))
    seen = count_features(cases, [answer for answer in theirs if "error" not in answer])
    say(f"plan: {CASES} cases, {len(differences)} differences, {drifted} explained by drifting "
        f"doubles; {seen}")
    for number, mine, answer in differences[:SHOWN]:
        say(f"seed {number}\n  ours {mine}\n  Ray  {answer}")
    assert not differences
    assert drifted <= bounds.most(DRIFTED, CASES)
    if CASES >= 1000:
        missing = [name for name, count in seen.items() if count == 0]
        assert not missing, f"the cases never show {missing}"
