#!/usr/bin/env python3
"""The crash sweep: kill the program at a failpoint, run a command, check everything.

A case is a phase (`up` of a head and two workers, an update, `down`), a point at which one process
of that phase is killed with SIGKILL, and what follows: the same command again, `down`, or `up` by
another user on another machine. Judged by the front's own records: never two heads, no machine or
other resource left after the last `down`, no step lost, no step run twice unless its runner itself
was killed while it ran.

usage: sweep.py [--phase PHASE] [--follow FOLLOW] [--point PART] [--jobs N] [--seconds S] [--list]
                [--results FILE]

Prints a line per case; exit status 1 if one fails. With `--point` only points whose name contains
PART: the way to repeat a case. `--results` keeps the list of cases and a line of JSON per case in
FILE; the next run with the same FILE continues with the cases that are missing there, and repeats
those that were broken.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import hashlib
import json
import pathlib
import random
import re
import sys
import threading
import time

from front import LIVE, SHOAL, Front, wait_for
from points import RUNNER_IN_DOUBT, Points

PHASES = ("up", "update", "down")
FOLLOWS = ("again", "down", "other")
WORKERS = 2
MOST_OF_ONE = 3      # of points with the same name on a machine: only the first ones
COMMAND_SECONDS = 240  # on a machine that is busy with other work


@dataclasses.dataclass(frozen=True)
class Case:
    phase: str
    point: str
    follow: str

    def __str__(self):
        return f"{self.phase} killed at {self.point}, then {self.follow}"


class Scene:
    """A front with a cluster file, its owner, and a function to arm points everywhere."""

    def __init__(self, **tunables):
        self.front = Front(**tunables)
        self.points = Points(self.front.folder / "points")
        self.log = self.points.folder / "laptops"
        self.front.machine_env(SHOAL_FAILPOINT_LOG="/home/ubuntu/.points",
                               **self.points.machine_env)
        self.env = {"SHOAL_FAILPOINT_LOG": str(self.log), **self.points.env}
        self.alice = self.front.laptop("alice")
        self.config = self.front.cluster("swept", WORKERS, setup_commands=[
            "echo one >> ~/order", "echo two >> ~/order"])
        self.file = self.alice.file("cluster.yaml", self.config)

    def change(self):
        self.config["setup_commands"] = self.config["setup_commands"] + ["echo three >> ~/order"]
        self.alice.file("cluster.yaml", self.config)

    def prepare(self, phase):
        """Run everything before the phase's own command; return that command."""
        if phase != "up":
            self.run("up")
        if phase == "update":
            self.change()
        return "down" if phase == "down" else "up"

    def run(self, verb, laptop=None, file=None, seconds=COMMAND_SECONDS):
        return (laptop or self.alice).run(verb, "-y", file or self.file, seconds=seconds,
                                          env=self.env)

    def reached(self):
        """[(process, name)] in the order in which they were reached."""
        rows = []
        for path in self.logs():
            for line in path.read_text().splitlines() if path.exists() else []:
                pid, _, point = line.partition(" ")
                rows.append(((path, pid), point))
        return rows

    def logs(self):
        every = self.front.machines("swept", (*LIVE, "terminated"))
        return [self.log, *(m.home / ".points" for m in every)]

    def forget_points(self):
        for path in self.logs():
            if path.exists():
                path.write_text("")

    def orders(self):
        """{kind: [lines of ~/order]} of machines that are alive."""
        found = collections.defaultdict(list)
        for machine in self.front.alive("swept"):
            path = machine.home / "order"
            found[machine.kind].append(path.read_text().split() if path.exists() else [])
        return dict(found)

    def close(self):
        self.front.close()


# ---- the list of cases ----


def record(phase):
    """Names of all points of a phase, each with its number; and what steps leave behind."""
    scene = Scene()
    try:
        verb = scene.prepare(phase)
        scene.forget_points()
        done = scene.run(verb)
        assert done.status == 0, str(done)
        rows, orders = scene.reached(), scene.orders()
    finally:
        scene.close()
    seen, most = collections.Counter(), collections.Counter()
    for process, name in rows:
        seen[process, name] += 1
        most[name] = max(most[name], seen[process, name])
    points = []
    for name, count in most.items():
        own = name.startswith(("up:", "down:"))
        for number in range(1, count + 1 if own else min(count, MOST_OF_ONE) + 1):
            points.append(f"{name}#{number}")
    return points, orders


# ---- one case ----


def many_heads(front):
    heads = [m.id for m in front.machines("swept", ("pending", "running")) if m.kind == "head"]
    return [f"{len(heads)} heads: {heads}"] if len(heads) > 1 else []


def settle(scene, seconds=COMMAND_SECONDS):
    """Wait until exactly one head and the workers are alive; return what is wrong."""
    def is_right():
        kinds = collections.Counter(m.kind for m in scene.front.alive("swept"))
        return kinds == {"head": 1, "worker": WORKERS}
    try:
        wait_for(is_right, seconds, 0.2)
        return []
    except AssertionError:
        return [f"alive: {[(m.id, m.kind) for m in scene.front.alive('swept')]}"]


def judge_steps(scene, case, expected):
    """Every machine has run every step as often as in a run without a kill."""
    wrong = []
    for kind, lists in scene.orders().items():
        wanted = collections.Counter(expected[kind][0])
        for lines in lists:
            have = collections.Counter(lines)
            lost = wanted - have
            twice = have - wanted
            may_repeat = RUNNER_IN_DOUBT.match(case.point)
            if lost:
                wrong.append(f"{kind} lost steps {dict(lost)}: {lines}")
            if twice and not (may_repeat and max(twice.values()) <= 1):
                wrong.append(f"{kind} did steps again {dict(twice)}: {lines}")
    return wrong


def follow_again(scene, case, verb, expected):
    done = scene.run(verb)
    if done.status != 0:
        return [f"again failed: {done}"]
    if verb == "down":
        return []
    return settle(scene) + judge_steps(scene, case, expected)


def follow_other(scene, case, verb, expected):
    """Bob's `up` may refuse. It must not change anything of Alice's."""
    before = {m.id: m.state for m in scene.front.machines("swept")}
    bob = scene.front.laptop("bob")
    file = bob.file("cluster.yaml", scene.config)
    try:
        done = bob.run("up", "-y", file, seconds=25)
    except AssertionError:
        done = None  # it still waits for Alice's lease
    after = {m.id: m.state for m in scene.front.machines("swept", ("pending", "running"))}
    wrong = []
    if before:
        gone = [i for i, s in before.items() if s in ("pending", "running") and i not in after]
        new = [i for i in after if i not in before]
        calls = {row["action"] for row in scene.front.calls() if row.get("as") == "bob"
                 and row["status"] == 200}
        acted = calls & {"RunInstances", "TerminateInstances"}
        if acted:
            wrong.append(f"bob's up: {sorted(acted)}, new {new}, gone {gone}: {done}")
    if done and done.status == 0 and not before:
        ended = bob.run("down", "-y", file, seconds=COMMAND_SECONDS)
        if ended.status != 0:
            wrong.append(f"bob's down failed: {ended}")
    if done and done.status != 0 and not done.err.strip():
        wrong.append("bob's up gave no reason")
    return wrong


def final_down(scene):
    done = scene.run("down")
    wrong = [] if done.status == 0 else [f"the last down failed: {done}"]
    remains = scene.front.remains(COMMAND_SECONDS)
    if remains:
        wrong.append(f"after down: {remains}")
    if not wrong and scene.alice.leftovers():
        wrong.append(f"files after down: {scene.alice.leftovers()}")
    return wrong


def run_case(case, expected):
    """(was a process killed?, what is wrong)."""
    scene = Scene()
    try:
        verb = scene.prepare(case.phase)
        scene.points.arm(case.point)
        wrong, first = [], None
        try:
            first = scene.run(verb)
        except AssertionError as late:
            wrong.append(f"hangs after the kill: {late}")
        was_hit = scene.points.disarm()
        if first and first.status != 0 and not was_hit:
            wrong.append(f"failed, although nobody was killed: {first}")
        wrong += many_heads(scene.front)
        if case.follow == "again":
            wrong += follow_again(scene, case, verb, expected)
        elif case.follow == "other":
            wrong += follow_other(scene, case, verb, expected)
        wrong += many_heads(scene.front)
        wrong += final_down(scene)
        if "bug" in scene.front.log():
            wrong.append(f"the front: {scene.front.log()}")
        return was_hit, wrong
    except AssertionError as failure:
        return True, [str(failure)]
    finally:
        scene.close()


# ---- results that survive an interruption ----


class Results:
    """A file: first the list of cases and what steps leave behind, then a line per case."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.program = hashlib.sha256(SHOAL.read_bytes()).hexdigest()[:12]

    def plan(self):
        """(all cases, expected), from the file, or recorded now and written to it."""
        if self.path.exists():
            first = json.loads(self.path.read_text(encoding="utf-8").splitlines()[0])
            return [Case(*row) for row in first["cases"]], first["expected"]
        cases, expected = all_cases()
        rows = [dataclasses.astuple(case) for case in cases]
        self.path.write_text(json.dumps({"cases": rows, "expected": expected}) + "\n",
                             encoding="utf-8")
        return cases, expected

    def last(self):
        """{case: its newest row}."""
        rows = map(json.loads, self.path.read_text(encoding="utf-8").splitlines()[1:])
        return {Case(row["phase"], row["point"], row["follow"]): row for row in rows}

    def missing(self, cases):
        """Cases that have not run, or failed."""
        had = self.last()
        return [case for case in cases if case not in had or had[case]["wrong"]]

    def summary(self, cases):
        """(how many ran, [case without a kill], {case: what is wrong}), of all runs so far."""
        rows = self.last()
        had = {case: rows[case] for case in cases if case in rows}
        return (len(had), [case for case, row in had.items() if not row["was_hit"]],
                {case: row["wrong"] for case, row in had.items() if row["wrong"]})

    def add(self, case, was_hit, wrong, seconds):
        row = {**dataclasses.asdict(case), "was_hit": was_hit, "wrong": wrong,
               "seconds": round(seconds, 1), "at": round(time.time()), "program": self.program}
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")


# ---- many cases ----


def all_cases(phases=PHASES):
    """([case], {phase: what steps leave behind})."""
    cases, expected = [], {}
    for phase in phases:
        points, expected[phase] = record(phase)
        cases += [Case(phase, point, follow) for point in points for follow in FOLLOWS
                  if not (phase == "down" and follow == "down")]
    return cases, expected


def spread(cases, seed):
    """Cases that differ most come first: every operation once, then all its points, then the other
    follow-ups of each point.
    """
    dice, rank = random.Random(seed), {}
    cases = dice.sample(cases, len(cases))
    of_point, of_operation = collections.Counter(), collections.defaultdict(list)
    for case in cases:
        point = (case.phase, case.point)
        operation = (case.phase, re.sub(r"(:(before|reply|after))?#[0-9]+$", "", case.point))
        if point not in of_operation[operation]:
            of_operation[operation].append(point)
        rank[case] = (of_point[point], of_operation[operation].index(point))
        of_point[point] += 1
    return sorted(cases, key=rank.__getitem__)


def sweep(cases, expected, jobs=2, seconds=None, tell=print, results=None):
    """(how many ran, [case without a kill], {case: what is wrong})."""
    end = time.monotonic() + seconds if seconds else float("inf")
    missed, broken, ran, lock = [], {}, [0], threading.Lock()

    def one(case):
        if time.monotonic() > end:
            return
        began = time.monotonic()
        was_hit, wrong = run_case(case, expected[case.phase])
        took = time.monotonic() - began
        with lock:
            ran[0] += 1
            if results:
                results.add(case, was_hit, wrong, took)
            if not was_hit:
                missed.append(case)
            if wrong:
                broken[case] = wrong
            word = "BROKEN" if wrong else "ok" if was_hit else "not reached"
            tell(f"{word:11} {took:5.1f} s  {case}", flush=True)
            for text in wrong:
                tell("    " + text.replace("\n", "\n    "), flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, cases))
    return ran[0], missed, broken


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--phase", choices=PHASES, action="append")
    parser.add_argument("--follow", choices=FOLLOWS, action="append")
    parser.add_argument("--point", default="", help="part of the name of a point")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=1, help="another order")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--results", type=Results, help="continue what this file has begun")
    words = parser.parse_args()
    phases, follows = words.phase or PHASES, words.follow or FOLLOWS
    cases, expected = words.results.plan() if words.results else all_cases(phases)
    cases = [case for case in cases if case.phase in phases and case.follow in follows and
             words.point in case.point]
    cases = spread(cases, words.seed)
    if words.list:
        print("\n".join(map(str, cases)))
        print(f"{len({(c.phase, c.point) for c in cases})} points, {len(cases)} cases")
        return 0
    to_do = words.results.missing(cases) if words.results else cases
    ran, missed, broken = sweep(to_do, expected, words.jobs, words.seconds, results=words.results)
    if words.results:
        ran, missed, broken = words.results.summary(cases)
    print(f"{ran} of {len(cases)} cases, {len(broken)} broken, {len(missed)} killed nobody")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
