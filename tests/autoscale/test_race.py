"""A task is submitted at the moment its node is drained: the raylet decides, and no task is lost.

Each node type has one worker and a custom resource of its own, so that a task can run on only one
node. All workers are idle. The service is stopped (SIGSTOP) until just before the idle timeout. Its
first poll after that fixes the time of the next poll, which drains all workers. Each task is
submitted within 50 ms of that drain, before or after it. A node that already has its task refuses
the drain. If a node accepted the drain, a new node must be launched for its task. Tasks have no
retries: if an instance is terminated while its task runs, the task is lost and the test fails. A
submit that is more than 50 ms from the drain does not count as a repeat, but its task must not be
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
BOOT_SECONDS = (10, 20, 40)  # a launched instance has joined by then; longer when busy
HANG_SECONDS = 180
BEFORE_TIME = 0.3  # on SIGCONT the service polls at once; its next poll comes after the timeout
AFTER_WAKE = 0.410  # from SIGCONT to the first drain: one poll interval; corrected by measurements


def slot_type(number):
    return files.node_type(min_workers=0, max_workers=1, resources={"CPU": 1, f"slot{number}": 1})


@pytest.fixture(scope="module")
def raced(make_fleet):
    types = {f"slot{n}": slot_type(n) for n in range(SLOTS)}
    config = files.scaling("race", SLOTS, IDLE_SECONDS / 60, types)
    return make_fleet(files.impatient(config))


def drains(raced, since):
    """{node: time of the first drain request for it that reached the GCS}, from the GCS log."""
    first = {}
    for at, node in raced.drains(since):
        first.setdefault(node, at)
    return first


class Count:
    """How the raylets answered the drains that had a submit close to them."""

    def __init__(self):
        self.accepted = self.refused = 0
        self.too_far = 0  # drains without a submit within 50 ms
        self.not_drained = 0  # nodes that got no drain request
        self.apart = []  # seconds from the drain to the submit, for submits within 50 ms
        self.poll_delays = []  # seconds from SIGCONT to a drain of the next poll

    def __str__(self):
        apart = sorted(self.apart) or [0]
        return (f"{self.accepted} drains accepted, {self.refused} refused, with submits "
                f"{1000 * apart[0]:.0f} to {1000 * apart[-1]:.0f} ms after the drain; "
                f"{self.too_far} drains without a submit that close, {self.not_drained} nodes not "
                "drained")

    def add(self, apart, is_gone):
        if abs(apart) > SWEEP:
            self.too_far += 1
            return
        self.apart.append(apart)
        self.accepted += is_gone
        self.refused += not is_gone

    @property
    def repeats(self):
        return self.accepted + self.refused

    @property
    def expected_delay(self):
        """Seconds from SIGCONT to the expected drains."""
        return statistics.median(self.poll_delays[-4 * SLOTS:] or [AFTER_WAKE])


def options(number):
    return {"num_cpus": 1, "resources": {f"slot{number}": 1}}


def slots(raced):
    """{type: node} of the workers that are alive and not draining."""
    return {n["type"]: n for n in raced.agent.alive()
            if n["type"] != "head" and n["state"] != "draining"}


def fill(raced):
    """Make all workers idle, one of each type. Return the time since which they are idle, and
    slots()."""
    for boot in BOOT_SECONDS:
        until = time.time() + boot
        for n in range(SLOTS):
            raced.agent.tasks(f"fill{n}", 1, 0.1, until=until, **options(n))
        ends = [raced.agent.done(f"fill{n}", HANG_SECONDS)[0][2] for n in range(SLOTS)]
        nodes = slots(raced)
        if len(nodes) == SLOTS and max(ends) - min(ends) < IDLE_SECONDS / 2:
            return max(ends), nodes
    raise AssertionError(f"launched workers do not join within {BOOT_SECONDS[-1]} s")


def one_round(raced, number, dice, count, idle_from):
    """Return the time since which all workers are idle."""
    nodes = slots(raced)
    if len(nodes) < SLOTS or time.time() > idle_from + IDLE_SECONDS / 2:
        idle_from, nodes = fill(raced)
    time.sleep(max(0.0, idle_from + IDLE_SECONDS / 2 - time.time()))
    with raced.frozen_service():
        at = idle_from + IDLE_SECONDS - BEFORE_TIME
        delays = [count.expected_delay + dice.uniform(-SWEEP, SWEEP) for _ in range(SLOTS)]
        tasks = [[f"race{number}.{n}", delay, options(n)] for n, delay in enumerate(delays)]
        # Sent now, executed later: the service continues while the driver waits for `at`.
        asked = raced.agent.start("sweep", at=at, tasks=tasks, seconds=0.1,
                                  until=at + BOOT_SECONDS[0])
        time.sleep(max(0.0, at - time.time()))
    submitted = raced.agent.answer(asked, 90)["submitted"]
    ends = [raced.agent.done(f"race{number}.{n}", HANG_SECONDS)[0][2] for n in range(SLOTS)]
    judge(raced, number, nodes, submitted, at, count)
    return max(ends)


def judge(raced, number, nodes, submitted, since, count):
    """Count what happened to each node."""
    asked = drains(raced, since)
    after = {n["id"]: n for n in raced.agent.state()["nodes"]}
    deltas = []
    for n in range(SLOTS):
        node = nodes[f"slot{n}"]["id"]
        if node not in asked:
            count.not_drained += 1
            continue
        deltas.append(asked[node] - since)
        is_gone = after.get(node, {"state": "dead"})["state"] == "dead"
        count.add(submitted[f"race{number}.{n}"] - asked[node], is_gone)
    # A node that was idle long enough is drained by the first poll; that time tells nothing about
    # the next poll.
    count.poll_delays += [delta for delta in deltas if abs(delta - AFTER_WAKE) < BEFORE_TIME / 2]
    print(f"round {number}: drains {shown(deltas)} ms after the service continued, submits "
          f"{shown(s - since for s in submitted.values())}; {count}")


def shown(seconds):
    return " ".join(f"{1000 * value:.0f}" for value in sorted(seconds)) or "none"


def race(raced, repeats):
    dice, count, number, idle_from = random.Random(7), Count(), 0, 0.0
    while count.repeats < repeats:
        number += 1
        assert number <= 4 + repeats, f"too few drains: {count}"
        idle_from = one_round(raced, number, dice, count, idle_from)
    print(count)
    raced.check()
    assert count.accepted >= 0.2 * count.repeats and count.refused >= 0.2 * count.repeats, count


def test_a_task_meets_a_drain(raced):
    race(raced, 15)


@pytest.mark.long(seconds=5000)
def test_a_task_meets_a_drain_300_times(raced):
    race(raced, 300)
