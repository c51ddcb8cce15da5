"""Kill at every failpoint, then run the command again, `down`, or `up` of another user: nothing is
doubled or left.

CI always runs the same few cases; `long` runs all of them. If SHOAL_SWEEP_RESULT names a file, an
interrupted run continues with the cases that are missing there.
"""

import os
import random

import pytest
import sweep

CI_CASES = 8
# One of each in every CI run: the laptop before and after its launch, the service, the step runner.
KINDS = ("up:", "down:", "autoscaler-folder:", "node-serve:")


def draw(cases, seed):
    """CI_CASES cases, at least one of each kind of process and of each follow-up."""
    dice = random.Random(seed)
    dice.shuffle(cases)
    chosen = []
    for kind in KINDS:
        chosen += [case for case in cases if case.point.startswith(kind)][:1]
    for follow in sweep.FOLLOWS:
        chosen += [case for case in cases if case.follow == follow and case not in chosen][:1]
    return (chosen + [case for case in cases if case not in chosen])[:max(CI_CASES, len(chosen))]


def test_some_of_the_sweep():
    cases, expected = sweep.all_cases()
    assert len({(case.phase, case.point) for case in cases}) > 300, "points are missing"
    chosen = draw(cases, "2026-11-16")
    ran, missed, broken = sweep.sweep(chosen, expected, jobs=2)
    assert not broken, "\n".join(f"{case}: {wrong}" for case, wrong in broken.items())
    assert ran - len(missed) >= CI_CASES // 2, f"nobody was killed at {missed}"


@pytest.mark.long
def test_the_whole_sweep(tmp_path):
    results = sweep.Results(os.environ.get("SHOAL_SWEEP_RESULT") or tmp_path / "results")
    cases, expected = results.plan()
    sweep.sweep(results.missing(cases), expected, int(os.environ.get("JOBS", "2")),
                results=results)
    ran, missed, broken = results.summary(cases)
    points = {(case.phase, case.point) for case in cases}
    hit = points - {(case.phase, case.point) for case in missed}
    told = (f"{len(points)} points, {ran} cases, {len(missed)} of them killed nobody, "
            f"{len(broken)} broken")
    print(told)
    assert ran == len(cases), told
    assert not broken, "\n".join(f"{case}: {wrong}" for case, wrong in broken.items())
    assert len(hit) > 0.9 * len(points), told
