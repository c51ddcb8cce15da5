"""A task that comes just when its node is to go: the raylet decides, and no task is lost.

Each of several types has one worker and a resource of its own, so that a task names its node. All
are idle. The service is held still until just before their time is over, which sets the beat of its
polls: at the next one it asks all of them to let go, and tasks come within 50 ms of that, before or
after. A node that has got its task refuses; of one that has agreed, another must be launched for
the task. Tasks may not be tried again: one that a machine takes with it is lost, and the test
fails. A submit that came farther than 50 ms from the drain is no repeat, but its task may not be
lost either.
"""

import random
import statistics
import time

import files
import pytest

SLOTS = 3
SWEEP = 0.050
IDLE_SECONDS = 3
BOOT_SECONDS = (10, 20, 40)  # a machine that is launched has joined by then; longer when busy
HANG_SECONDS = 180
BEFORE_TIME = 0.3  # going on: a poll at once, and the next one finds that their time is over
AFTER_WAKE = 0.410  # from going on to the first drain: one poll later; corrected by what is seen


def slot_type(number):
    return files.node_type(min_workers=0, max_workers=1, resources={"CPU": 1, f"slot{number}": 1})


@pytest.fixture(scope="module")
def raced(make_fleet):
    types = {f"slot{n}": slot_type(n) for n in range(SLOTS)}
    config = files.scaling("race", SLOTS, IDLE_SECONDS / 60, types)
    return make_fleet(files.impatient(config))


def drains(raced, since):
    """{node: time of the first request to drain it that reached the GCS}, by its own log."""
    first = {}
    for at, node in raced.drains(since):
        first.setdefault(node, at)
    return first


class Count:
    """Of the drains that a submit came close to, what the raylet answered."""

    def __init__(self):
        self.accepted = self.refused = 0
        self.beside = 0  # drains that no submit came close to
        self.missed = 0  # nodes that were not asked
        self.apart = []  # seconds from the drain to the submit, where it was close
        self.beats = []  # seconds from going on to a drain of the next poll

    def __str__(self):
        apart = sorted(self.apart) or [0]
        return (f"{self.accepted} drains accepted, {self.refused} refused, with submits "
                f"{1000 * apart[0]:.0f} to {1000 * apart[-1]:.0f} ms after the drain; "
                f"{self.beside} drains without a submit that close, {self.missed} nodes not asked")

    def add(self, apart, is_gone):
        if abs(apart) > SWEEP:
            self.beside += 1
            return
        self.apart.append(apart)
        self.accepted += is_gone
        self.refused += not is_gone

    @property
    def repeats(self):
        return self.accepted + self.refused

    @property
    def guess(self):
        """When the drains will come."""
        return statistics.median(self.beats[-4 * SLOTS:] or [AFTER_WAKE])


def options(number):
    return {"num_cpus": 1, "resources": {f"slot{number}": 1}}


def slots(raced):
    """{type: node} of the workers that are there and go nowhere."""
    return {n["type"]: n for n in raced.agent.alive()
            if n["type"] != "head" and n["state"] != "draining"}


def fill(raced):
    """A worker of each type, all idle since the same moment: that moment, and slots()."""
    for boot in BOOT_SECONDS:
        until = time.time() + boot
        for n in range(SLOTS):
            raced.agent.tasks(f"fill{n}", 1, 0.1, until=until, **options(n))
        ends = [raced.agent.done(f"fill{n}", HANG_SECONDS)[0][2] for n in range(SLOTS)]
        nodes = slots(raced)
        if len(nodes) == SLOTS and max(ends) - min(ends) < IDLE_SECONDS / 2:
            return max(ends), nodes
    raise AssertionError(f"workers that boot do not join within {BOOT_SECONDS[-1]} s")


def one_round(raced, number, dice, count, idle_from):
    """The moment since which all are idle."""
    nodes = slots(raced)
    if len(nodes) < SLOTS or time.time() > idle_from + IDLE_SECONDS / 2:
        idle_from, nodes = fill(raced)
    time.sleep(max(0.0, idle_from + IDLE_SECONDS / 2 - time.time()))
    with raced.frozen_service():
        at = idle_from + IDLE_SECONDS - BEFORE_TIME
        tasks = [[f"race{number}.{n}", count.guess + dice.uniform(-SWEEP, SWEEP), options(n)]
                 for n in range(SLOTS)]
        # Requested now, done later: the service goes on while the driver waits for its time.
        asked = raced.agent.start("sweep", at=at, tasks=tasks, seconds=0.1,
                                  until=at + BOOT_SECONDS[0])
        time.sleep(max(0.0, at - time.time()))
    submitted = raced.agent.answer(asked, 90)["submitted"]
    ends = [raced.agent.done(f"race{number}.{n}", HANG_SECONDS)[0][2] for n in range(SLOTS)]
    judge(raced, number, nodes, submitted, at, count)
    return max(ends)


def judge(raced, number, nodes, submitted, since, count):
    """What became of each node."""
    asked = drains(raced, since)
    after = {n["id"]: n for n in raced.agent.state()["nodes"]}
    deltas = []
    for n in range(SLOTS):
        node = nodes[f"slot{n}"]["id"]
        if node not in asked:
            count.missed += 1
            continue
        deltas.append(asked[node] - since)
        is_gone = after.get(node, {"state": "dead"})["state"] == "dead"
        count.add(submitted[f"race{number}.{n}"] - asked[node], is_gone)
    # A node whose time was over already is asked by the first poll: it says nothing of the next.
    count.beats += [delta for delta in deltas if abs(delta - AFTER_WAKE) < BEFORE_TIME / 2]
    print(f"round {number}: drains {shown(deltas)} ms after it went on, submits "
          f"{shown(s - since for s in submitted.values())}; {count}")


def shown(seconds):
    return " ".join(f"{1000 * value:.0f}" for value in sorted(seconds)) or "none"


def race(raced, repeats):
    dice, count, number, idle_from = random.Random(7), Count(), 0, 0.0
    while count.repeats < repeats:
        number += 1
        assert number <= 4 + repeats, f"the nodes are not asked: {count}"
        idle_from = one_round(raced, number, dice, count, idle_from)
    print(count)
    raced.check()
    assert count.accepted >= 0.2 * count.repeats and count.refused >= 0.2 * count.repeats, count


def test_a_task_meets_a_drain(raced):
    race(raced, 15)


@pytest.mark.long(seconds=5000)
def test_a_task_meets_a_drain_300_times(raced):
    race(raced, 300)
