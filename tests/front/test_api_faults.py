#!/usr/bin/env python3
"""`up` while every 20th call of the API goes wrong in one of nine ways.

usage: test_api_faults.py [--runs N] [--jobs N] [--results FILE]

Prints a line per run. `--results` keeps a line of JSON per run; runs that are in the file are not
repeated, so that a long series can be interrupted.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import sys
import threading
import time

import pytest
from front import Front

CHANCE = 0.05
FAULT_SECONDS = 0.3  # how long a call hangs before its connection ends


def one_run(seed):
    """(did `up` succeed?, what is wrong): a cluster with its own random numbers."""
    with Front() as front:
        laptop = front.laptop()
        file = laptop.file("cluster.yaml", front.cluster("faulty", workers=2))
        front.mix(CHANCE, seed=seed, seconds=FAULT_SECONDS)
        wrong = []
        done = laptop.run("up", "-y", file, seconds=240)
        went_well = done.status == 0
        if went_well:
            kinds = sorted(m.kind for m in front.alive("faulty"))
            if kinds != ["head", "worker", "worker"]:
                wrong.append(f"seed {seed}: alive {kinds}\n{done}")
        else:
            wrong.append(f"seed {seed}: {done}")
        ended = laptop.run("down", "-y", file, seconds=300)
        remains = front.remains()
        if ended.status != 0:
            wrong.append(f"seed {seed}: {ended}")
        if remains:
            wrong.append(f"seed {seed}: orphans {remains}\n{ended}")
        faults = sum(1 for row in front.calls() if row.get("fault"))
        return went_well, ended.status == 0 and not remains, wrong, faults


def earlier_runs(results):
    """{seed: run} of the file, if it exists."""
    if not results or not results.exists():
        return {}
    rows = map(json.loads, results.read_text(encoding="utf-8").splitlines())
    return {row["seed"]: row["run"] for row in rows}


def many(seeds, jobs=2, results=None):
    began, lock, runs = time.monotonic(), threading.Lock(), earlier_runs(results)

    def one(seed):
        start = time.monotonic()
        try:
            run = one_run(seed)
        except AssertionError as failure:
            run = False, False, [f"seed {seed}: {failure}"], 0
        with lock:
            runs[seed] = run
            print(f"{'BROKEN' if run[2] else 'ok':6} {time.monotonic() - start:5.1f} s  seed {seed}"
                  f", {run[3]} faults, {len(runs)} runs so far", *run[2], sep="\n    ", flush=True)
            if results:
                with results.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps({"seed": seed, "run": run}) + "\n")

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, [seed for seed in seeds if seed not in runs]))
    ups, ends = sum(run[0] for run in runs.values()), sum(run[1] for run in runs.values())
    told = (f"{len(runs)} runs, {sum(run[3] for run in runs.values())} faults: {ups} up, {ends} "
            f"down and nothing left, in {time.monotonic() - began:.0f} s, load "
            f"{os.getloadavg()[0]:.1f}")
    print(told)
    return ups, ends, told + "\n" + "\n".join(text for run in runs.values() for text in run[2])


def test_ten_runs():
    ups, ends, told = many(range(1001, 1011), jobs=3)
    assert (ups, ends) == (10, 10), told


def test_a_deletion_whose_answer_is_lost(front):
    """It is repeated, and a resource that is already gone is not an error."""
    laptop = front.laptop()
    file = laptop.file("cluster.yaml", front.cluster("faulty", workers=0))
    laptop("up", "-y", file)
    for action in ("RemoveRoleFromInstanceProfile", "DeleteInstanceProfile", "DeleteRole",
                   "DeleteSecurityGroup", "DeleteKeyPair"):
        front.fault(action, "truncate", count=1)
    laptop("down", "-y", file)
    assert front.remains() == {}


@pytest.mark.long
def test_two_hundred_runs():
    ups, ends, told = many(range(1, 201))
    assert ends == 200, told
    assert ups >= 199, told


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=pathlib.Path)
    words = parser.parse_args()
    ups, ends, _ = many(range(1, words.runs + 1), words.jobs, words.results)
    return 0 if ends == words.runs and ups >= 0.995 * words.runs else 1


if __name__ == "__main__":
    sys.exit(main())
