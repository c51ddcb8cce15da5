#!/usr/bin/env python3
"""Attacks on the lease: laptops sleep, clocks are wrong, the lease object is deleted.

Alice runs `up`. At one of her API calls something happens: her laptop is suspended for two minutes
or an hour, or another user deletes the lease object. The call itself arrives in time and its answer
late, or it arrives late itself. At the same time others act on the cluster: Alice's second laptop
(the same key, no journal), Bob (another user), and `down` by name. Clocks of laptops and machines
are off by up to five minutes, and listings lag. In the end `down` by name, and `down` on each
laptop whose `up` created something, must leave nothing.

A suspension takes no time: all clocks jump (clock_shim.c), the cloud's included. Leases last as
long as in production. Other timeouts are shorter (TIMES).

Judged by the cloud's own record: `judge()`.

usage: lease.py SEED [SEED ...]         repeats schedules, and prints all output
       lease.py --count N [--first SEED] [--jobs J]
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time

from front import BUILD, LIVE, Front, settings, wait_for

NAME = "leased"
SHIM = BUILD / "tests" / "front" / "libclock_shim.so"
HORIZON, CALL_TIMEOUT = 2.0, 4.0  # production: 60 s and 120 s
TIMES = f"horizon={HORIZON * 1000:.0f},call_timeout={CALL_TIMEOUT * 1000:.0f}"
SKEW = 300            # seconds; AWS accepts no larger difference
SURPLUS_SECONDS = 120  # listings come every 15 s, as in production
FIRST_CALL, LAST_CALL = 10, 31  # of `up`: from taking the lease to its end
COMMAND_SECONDS = 150
PATIENCE = 20         # seconds; after that a command waits for a lease to expire, so clocks jump
JUMP = 130            # longer than a lease
RAY_RUNS = "ray-runs"  # a file on every head that has started Ray


# ---- clocks ----


class Clock:
    """The clocks of one machine, as an offset to this host's."""

    def __init__(self, path, skew=0.0):
        self.path, self.skew, self.jumped = path, skew, 0.0
        self.path.write_bytes(bytes(16))
        self.path.chmod(0o644)
        self.write()

    def write(self):
        wall, boot = self.skew + self.jumped, self.jumped
        with open(self.path, "r+b") as stream:
            stream.write(struct.pack("qq", int(wall * 1000), int(boot * 1000)))

    def jump(self, seconds):
        self.jumped += seconds
        self.write()


class Scene:
    """A front with movable clocks."""

    front_class = Front

    def __init__(self, program=None, skews=None, **tunables):
        self.front = self.front_class(program, times=TIMES, **tunables)
        self.skews = skews or {}
        self.shim = self.front.folder / "clock_shim.so"
        shutil.copy(SHIM, self.shim)
        self.clocks, self.jumped = {}, 0.0
        self.sleeps = []  # [(name, from, to)] by the cloud's clock
        self.front.machine_env(**self.clock("machines"))
        self.config = self.front.cluster(NAME, workers=1)
        self.config["head_start_ray_commands"].append(f"touch ~/{RAY_RUNS}")

    def clock(self, name):
        """Environment variables of all processes that use this clock."""
        if name not in self.clocks:
            path = self.front.folder / f"clock-{name}"
            self.clocks[name] = Clock(path, self.skews.get(name, 0.0))
            self.clocks[name].jump(self.jumped)
        return {"LD_PRELOAD": str(self.shim), "SHOAL_CLOCK_FILE": str(self.clocks[name].path)}

    def jump(self, seconds):
        """Move all clocks forward; the processes do not notice."""
        self.jumped += seconds
        self.front.set(clock=self.jumped)
        for clock in self.clocks.values():
            clock.jump(seconds)

    def suspend(self, command, seconds):
        """Suspend a laptop for that long; in that time others may take the lease."""
        command.signal(signal.SIGSTOP)
        self.sleeps.append((command.laptop.name, time.time() + self.jumped, float("inf")))
        self.jump(seconds)

    def resume(self, command):
        name, begin, _ = self.sleeps.pop()
        self.sleeps.append((name, begin, time.time() + self.jumped))
        command.resume()

    def was_asleep(self, row):
        """A call that arrives from a suspended laptop was sent before the suspension."""
        return any(actor(row) == name and begin <= row["came_at"] <= end
                   for name, begin, end in self.sleeps)

    def laptop(self, name):
        laptop = self.front.laptop(name)
        laptop.more.update(self.clock(name))
        return laptop

    def up(self, name):
        laptop = self.laptop(name)
        return Command(laptop, "up", "-y", laptop.file("cluster.yaml", self.config))

    def down(self, name):
        return Command(self.laptop(name), "down", "-y", NAME, "--region", settings.REGION)

    def second_laptop(self, name, of):
        """A laptop with the key, but not the journal, of another one."""
        laptop, state = self.laptop(name), self.laptop(of).state
        if state.exists():
            shutil.copytree(state, laptop.state, ignore=shutil.ignore_patterns("journal*", "lock"))
        return laptop

    def close(self):
        self.front.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Command:
    """A shoal process that may be suspended."""

    def __init__(self, laptop, *words):
        self.laptop, self.words = laptop, words
        self.child = laptop.start(*words)
        self.said = []
        self.reader = threading.Thread(target=lambda: self.said.extend(self.child.communicate()),
                                       daemon=True)
        self.reader.start()

    def signal(self, number):
        try:
            os.killpg(self.child.pid, number)
        except ProcessLookupError:
            pass

    def is_over(self):
        return not self.reader.is_alive()

    def resume(self):
        self.signal(signal.SIGCONT)

    def wait(self, seconds=COMMAND_SECONDS, kills=True):
        """Its exit status; None if it did not end in time and was killed."""
        end = time.monotonic() + seconds
        while self.reader.is_alive() and time.monotonic() < end:
            self.resume()  # nsenter stops itself again when it sees that its child was stopped
            self.reader.join(0.1)
        if self.reader.is_alive() and kills:
            self.signal(signal.SIGKILL)
            self.reader.join(20)
            return None
        return None if self.reader.is_alive() else self.child.returncode

    def __str__(self):
        out, err = (*self.said, "", "")[:2]
        return (f"--- {self.laptop.name}: shoal {' '.join(map(str, self.words))}: exit "
                f"{self.child.returncode}\n{out}{err}")


# ---- judging by the cloud's record ----

CREATING = re.compile(r"(Run|Start|Create|Import|Put|Add|Authorize|Attach|Allocate|Request)")
NOT_COVERED = ("CreateLaunchTemplate", "CreateLaunchTemplateVersion", "CreateTags")
CLAIM = re.compile(r"shoal 1 after=(\d+) since=(\d+) until=(\d+) nonce=")


def creates(row):
    return bool(CREATING.match(row["action"])) and row["action"] not in NOT_COVERED and \
        not row["action"].endswith("DryRun") and row["service"] in ("ec2", "iam")


def actor(row):
    """The controller that sent it: a laptop's name, or the instance of a head."""
    return row.get("as") if row["who"] == "laptop" else row["who"]


@dataclasses.dataclass
class Held:
    """What one controller knows about its lease, from its own calls and their answers."""
    template: str = ""
    number: int = 0   # epoch of its own claim; 0: none
    end: float = 0.0  # as last written, on the cloud's clock
    service_end: float = 0.0  # of the lease of a head's service that it has read; 0: there was none


def counting_claims(rows):
    """{template: {epoch: (when the claim took effect, the controller)}} of valid claims."""
    found = {}
    claims = [row for row in rows if (row.get("lease") or {}).get("claim")]
    for row in sorted(claims, key=lambda row: row["lease"]["number"]):
        chain = found.setdefault(row["lease"]["template"], {})
        after = int(CLAIM.match(row["lease"]["claim"])[1])
        if not chain or after == max(chain):
            chain[row["lease"]["number"]] = (row["done_at"], actor(row))
    return found


def follow(holders, row, chains):
    """Who holds each lease since this call, and until when: {template: (controller, end)}."""
    lease = row.get("lease") or {}
    if lease.get("claim") and lease["number"] in chains.get(lease["template"], {}):
        holders[lease["template"]] = (actor(row), float(CLAIM.match(lease["claim"])[3]))
    elif "end" in lease and row["status"] == 200 and \
            holders.get(lease["template"], ("",))[0] == actor(row):
        holders[lease["template"]] = (actor(row), float(lease["end"].split()[1]))


def service_end(holders):
    """When the lease of a head's service ends; 0: none holds one."""
    return max((end for holder, end in holders.values() if holder.startswith("i-")), default=0.0)


def learn(held, row, chains, lag):
    """What the sender learns from the answer to this call."""
    lease = row.get("lease") or {}
    if lease.get("claim") and lease["number"] in chains.get(lease["template"], {}):
        held.template, held.number = lease["template"], lease["number"]
        held.end = float(CLAIM.match(lease["claim"])[3])
    elif "end" in lease and row["status"] == 200 and held.number:
        held.end = float(lease["end"].split()[1])
    elif row["action"] == "DescribeLaunchTemplateVersions" and row.get("fault") != "hold":
        # A process that reads the lease object knows of a successor that is visible, or that the
        # object is missing.
        later = [done for number, (done, _) in chains.get(held.template, {}).items()
                 if number > held.number and done + lag < row["came_at"]]
        if later or "NotFound" in row.get("refused", ""):
            held.number = 0


def calls_without_lease(scene, lag):
    """Creating calls of controllers that could have known that they did not hold the lease.

    `up` on a cluster whose head's service holds the lease changes the policy of the head's role:
    the head may not do that itself. It may only while that lease, as it has read it, lasts.
    """
    rows = scene.front.calls()
    wrong, chains, controllers, holders = [], counting_claims(rows), {}, {}
    moments = [(row["came_at"], 1, n, row) for n, row in enumerate(rows)
               if creates(row) and actor(row) and not scene.was_asleep(row)]
    moments += [(row["came_at"] + row["ms"] / 1000, 0, n, row) for n, row in enumerate(rows)
                if actor(row)]
    for _, is_sent, _, row in sorted(moments, key=lambda moment: moment[:3]):
        held = controllers.setdefault(actor(row), Held())
        if not is_sent:
            follow(holders, row, chains)
            learn(held, row, chains, lag)
            if row["action"] == "DescribeLaunchTemplateVersions":
                held.service_end = service_end(holders)
        elif row["action"] == "PutRolePolicy" and row["came_at"] <= held.service_end:
            pass
        elif not held.number:
            wrong.append(f"{actor(row)} sent {row['action']} without a lease")
        elif row["came_at"] > held.end:
            wrong.append(f"{actor(row)} sent {row['action']} {row['came_at'] - held.end:.1f} s "
                         "after its lease had ended")
    return wrong


def cluster_of(machine):
    """One name may have two clusters: if the lease object is deleted before the first instance
    exists, no other process can know that the name is taken.
    """
    return machine.tag("shoal-cluster-uid")


def ray_twice(front):
    """Heads of one cluster that ran Ray at the same time."""
    spans = []
    for head in front.machines(NAME, (*LIVE, "terminated")):
        mark = head.home / RAY_RUNS
        if head.kind == "head" and mark.exists():
            spans.append((cluster_of(head), mark.stat().st_mtime,
                          head.times.get("shutting-down", float("inf")), head.id))
    spans.sort()
    return [f"Ray ran on {a[3]} and {b[3]} at once" for a, b in zip(spans, spans[1:])
            if a[0] == b[0] and b[1] < a[2]]


def surplus(front):
    """Instances that are alive and should not be, after some time to terminate."""
    def is_right():
        kinds = [(cluster_of(m), m.kind) for m in front.alive(NAME)]
        return len(kinds) == len(set(kinds))
    try:
        wait_for(is_right, SURPLUS_SECONDS, 0.1)
        return []
    except AssertionError:
        return [f"still alive: {[(m.id, m.kind) for m in front.alive(NAME)]}"]


def judge(scene, lag):
    wrong = calls_without_lease(scene, lag) + ray_twice(scene.front)
    if "bug" in scene.front.log():
        wrong.append(f"the front: {scene.front.log()}")
    return wrong


# ---- one schedule ----


@dataclasses.dataclass
class Schedule:
    """The events of a schedule, determined by its seed."""

    def __init__(self, seed):
        dice = random.Random(seed)
        self.seed = seed
        self.attack = dice.choice(["suspend 120", "suspend 120", "suspend 3600", "delete", "none"])
        self.call = dice.randint(FIRST_CALL, LAST_CALL)
        self.is_late = dice.random() < 0.4  # the call itself, not only its answer
        self.others = dice.sample(["second", "bob", "down"], dice.choice([0, 1, 1, 1, 2, 3]))
        self.waits_for_others = dice.random() < 0.5
        self.pause = dice.uniform(0, 4)
        is_skewed = dice.random() < 0.5
        self.skews = {name: dice.uniform(-SKEW, SKEW) if is_skewed else 0.0
                      for name in ("alice", "second", "bob", "down", "machines")}
        self.listing_lag = dice.choice([0.1, dice.uniform(0, HORIZON * 0.8)])
        self.version_lag = dice.choice([0.05, dice.uniform(0, 0.5)])

    def __str__(self):
        when = "before" if self.is_late else "after"
        skews = " ".join(f"{name} {skew:+.0f} s" for name, skew in self.skews.items() if skew)
        return (f"seed {self.seed}: {self.attack} {when} call {self.call}; meanwhile "
                f"{' '.join(self.others) or 'nobody'}; alice goes on "
                f"{'when they are done' if self.waits_for_others else f'after {self.pause:.1f} s'}"
                f"; listings lag {self.listing_lag:.1f} s; clocks: {skews or 'right'}")


def start_other(scene, name):
    if name == "down":
        return scene.down("down")
    if name == "second":
        scene.second_laptop("second", "alice")
    return scene.up(name)


def held_call(front, command):
    """The action that is waiting now; "" if the command ended before."""
    wait_for(lambda: front.ask("held")["action"] or command.is_over(), COMMAND_SECONDS, 0.005)
    return front.ask("held")["action"]


def wait_for_all(scene, commands):
    """Wait for a command. While it waits for long, move the clocks."""
    end = time.monotonic() + COMMAND_SECONDS
    jump_at = time.monotonic() + PATIENCE
    while not all(command.is_over() for command in commands) and time.monotonic() < end:
        for command in commands:
            command.wait(0.1, kills=False)
        if time.monotonic() > jump_at:
            scene.jump(JUMP)
            jump_at += PATIENCE
    return [f"hangs: {command}" for command in commands if command.wait(0) is None]


def play(scene, schedule):
    """(commands that were run, was the attack reached?)."""
    front, commands = scene.front, []
    front.ask("hold", action="*", identity="alice", skip=schedule.call, after=not schedule.is_late)
    alice = scene.up("alice")
    commands.append(alice)
    is_reached = bool(held_call(front, alice))
    if schedule.attack.startswith("suspend") and is_reached:
        scene.suspend(alice, int(schedule.attack.split()[1]))
    elif schedule.attack == "delete":
        front.ask("delete_templates")
    commands += [start_other(scene, name) for name in schedule.others]
    if schedule.waits_for_others:
        wait_for_all(scene, commands[1:])
    else:
        time.sleep(schedule.pause)
    front.ask("release")
    if scene.sleeps:
        scene.resume(alice)
    return commands, is_reached


def end_all(scene, commands):
    """What is wrong after the last `down` of every laptop."""
    owners = [command.laptop for command in commands if command.words[0] == "up"]
    wrong, last = [], []
    clusters = {cluster_of(m) for m in scene.front.alive(NAME)}
    last.append(scene.down("carol"))
    if last[0].wait() != 0 and len(clusters) < 2:  # it removes neither of two clusters
        wrong.append("the last down failed")
    for laptop in owners:
        if scene.front.remains():
            last.append(Command(laptop, "down", "-y", laptop.here / "cluster.yaml"))
            last[-1].wait()
    commands += last
    remains = scene.front.remains()
    return wrong + ([f"after down: {remains}"] if remains else [])


def run_schedule(seed, program=None, tell=False):
    """(was the attack reached?, what is wrong)."""
    schedule = Schedule(seed)
    with Scene(program, schedule.skews, listing_lag=schedule.listing_lag,
               version_lag=schedule.version_lag) as scene:
        commands, is_reached = play(scene, schedule)
        wrong = wait_for_all(scene, commands)
        wrong += surplus(scene.front)
        wrong += end_all(scene, commands)
        wrong += judge(scene, schedule.version_lag)
        if wrong or tell:
            wrong += [str(command) for command in commands]
            wrong.append(record(scene.front))
            if tell:
                wrong += [log.read_text(errors="replace") for m in scene.front.machines(
                    NAME, (*LIVE, "terminated")) for log in m.home.rglob("service.log")]
        return is_reached, wrong


def record(front):
    """The cloud's record in short form."""
    rows = sorted(front.calls(), key=lambda row: row["came_at"])
    first = rows[0]["came_at"] if rows else 0
    return "\n".join(f"{row['came_at'] - first:9.3f} {row['ms']:8.1f} {actor(row)} {row['action']} "
                     f"{row.get('refused', '')} {row.get('fault', '')} {row.get('lease', '')}"
                     for row in rows)


def many(seeds, jobs=2, tell=print):
    """(how many ran, how many reached their attack, {seed: what is wrong})."""
    broken, reached, lock = {}, [0], threading.Lock()

    def one(seed):
        began = time.monotonic()
        try:
            is_reached, wrong = run_schedule(seed)
        except AssertionError as failure:
            is_reached, wrong = True, [str(failure)]
        with lock:
            reached[0] += is_reached
            if wrong:
                broken[seed] = wrong
            tell(f"{'BROKEN' if wrong else 'ok':6} {time.monotonic() - began:5.1f} s  "
                 f"{Schedule(seed)}", *wrong[:3], sep="\n    ", flush=True)

    seeds = list(seeds)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, seeds))
    return len(seeds), reached[0], broken


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seeds", type=int, nargs="*")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    words = parser.parse_args()
    for seed in words.seeds:
        print(Schedule(seed))
        _, wrong = run_schedule(seed, tell=True)
        print("\n".join(wrong))
    if words.count:
        ran, reached, broken = many(range(words.first, words.first + words.count), words.jobs)
        print(f"{ran} schedules, {reached} reached their attack, {len(broken)} broken: "
              f"{sorted(broken)}")
        return 1 if broken else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
