#!/usr/bin/env python3
"""A long life: load that comes and goes and faults of every kind against one cluster.

usage: soak.py [--minutes N] [--launches N] [--seed N] [--csv FILE]

The head and at most seven workers (spot and on demand) run on a front. In each round a random load
asks for one to seven workers and then goes away, so that they end idle, while a fault of one kind
happens: broken API calls, capacity errors, a worker whose machine dies, spot interruptions, a
service killed with or without its supervisor, an sshd that never starts or stops, a full disk, a
machine that dies at its launch, a failed setup command. Every few rounds all faults stop and it is
checked that nothing was lost: with load, every billed instance is in `shoal status`; without load,
every worker is terminated.

Every ten seconds the service's memory and descriptors, its journal, logs and other files are
measured. The retention is shortened (TIMES), so that old records and logs are removed many times
during the run. The service is killed only in the first quarter and near the middle, so that it is
older in the last third than in the middle third: what grows with its age shows. Prints a table by
thirds. Exit status 1: a figure of the last third is larger than in the middle third by more than
GROWTH allows, the journal's write-ahead log is larger than its limit, fewer launches than wanted,
an instance was lost, or something is left after `down`.

Ray is a stand-in and a worker is not a container: see front.py.
"""

import argparse
import base64
import collections
import contextlib
import csv
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

from front import IMAGE, Front, client, wait_for

MOST_WORKERS = 7
SAMPLE_SECONDS = 10
CHECK_EVERY = 6  # rounds
# SQLite starts its write-ahead log again when it has 1000 pages; one transaction may pass that.
WAL_BYTES_MOST = 1100 * 4120
# By how much the last third may exceed the middle third: a factor, and a small amount.
GROWTH = {"rss_kb": (1.1, 1024), "descriptors": (1.1, 4), "journal_rows": (1.1, 40),
          "journal_bytes": (1.1, 64 * 1024), "log_bytes": (1.1, 32 * 1024), "files": (1.1, 10),
          "bytes": (1.1, 64 * 1024)}
TIMES = ("horizon=2000,call_timeout=10000,settle=1000,quiet_start=2000,drain_grace=3000,"
         "keep_node=600000,keep_nodes=20,sweep=60000,keep_launch=600000,keep_entries=500,"
         "keep_events=200,keep_log=100000")
MEASURE = r"""cd ~/.shoal/cluster
pid=$(pgrep -o -f 'autoscaler --folder') || exit 0
echo rss_kb $(awk '/VmRSS/ {print $2}' /proc/$pid/status)
echo descriptors $(sudo ls /proc/$pid/fd | wc -l)
echo journal_bytes $(stat -c %s journal.db)
echo wal_bytes $(stat -c %s journal.db-wal)
echo log_bytes $(du -bc log service.log* ../steps/log 2>/dev/null | tail -1 | cut -f1)
echo files $(find .. /tmp/shoal* -type f 2>/dev/null | wc -l)
echo bytes $(du -sb --exclude=bin --exclude=journal.db-wal .. | cut -f1)
echo pid $pid"""


def script(machine, text):
    """stdout of a shell script there; `sudo -i` would change its quotes and line ends."""
    coded = base64.b64encode(text.encode()).decode()
    return machine.run("sh", "-c", f"echo {coded} | base64 -d | bash", seconds=120, check=False)


def rows_of(path):
    """Rows of all tables of a journal that is in use."""
    with tempfile.TemporaryDirectory() as place:
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", place)
        with contextlib.closing(sqlite3.connect(f"{place}/{path.name}")) as journal:
            tables = journal.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return sum(journal.execute(f"SELECT count(*) FROM \"{name}\"").fetchone()[0]
                       for name, in tables.fetchall())


class Soak:
    def __init__(self, front, minutes, seed):
        self.front, self.dice = front, random.Random(seed)
        self.began, self.seconds = time.monotonic(), minutes * 60
        self.laptop = front.laptop()
        self.file = self.laptop.file("cluster.yaml", self.cluster())
        self.samples, self.wrong, self.happened = [], [], collections.Counter()
        self.seen, self.ended, self.most = set(), threading.Event(), 0

    def cluster(self):
        made = self.front.cluster("soak", workers=MOST_WORKERS)
        node = {"InstanceType": "m5.large", "ImageId": IMAGE}
        spot = {**node, "InstanceMarketOptions": {"MarketType": "spot"}}
        worker = {"resources": {"CPU": 1}, "min_workers": 0, "max_workers": MOST_WORKERS,
                  "idle_timeout_s": 5}
        made["available_node_types"] = {
            "head": {"node_config": node, "resources": {"CPU": 0}},
            "steady": {**worker, "node_config": {**node, "InstanceType": "m5.xlarge"}},
            "spot": {**worker, "node_config": spot, "resources": {"CPU": 1, "spot": 1}}}
        # One setup in forty fails.
        made["worker_setup_commands"] = ["test $((RANDOM % 40)) -ne 0"]
        return {**made, "upscaling_speed": 100, "max_workers": MOST_WORKERS}

    # ---- looking ----

    def age(self):
        """0 at the beginning, 1 at the end of the run."""
        return (time.monotonic() - self.began) / self.seconds

    def note(self, text):
        print(f"{time.monotonic() - self.began:6.0f} s  {text}", flush=True)

    def blame(self, text):
        self.wrong.append(text)
        self.note(f"WRONG: {text}")

    def workers(self):
        return [m for m in self.front.alive() if m.kind == "worker"]

    def is_told(self):
        """Does `shoal status` list all billed instances, and no others but failed ones?"""
        done = self.laptop.run("status", "-o", "json", self.file)
        if done.status != 0:
            return False
        nodes, billed = json.loads(done.out)["nodes"], {m.id for m in self.front.alive()}
        whole = {node["id"] for node in nodes if node["phase"] != "failed"}
        return billed <= {node["id"] for node in nodes} and whole <= billed

    def sample(self):
        """Counts instances; measures the head's service; removes disks of terminated instances."""
        rows = self.front.ask("truth")["instances"]
        alive = [row for row in rows if row["state"] in ("pending", "running")]
        self.seen |= {row["id"] for row in rows}
        self.most = max(self.most, len(alive))
        heads = [row["id"] for row in alive if row["tags"].get("ray-node-type") == "head"]
        if len(heads) > 1:
            self.blame(f"two heads: {heads}")
        for row in rows:
            if row["state"] == "terminated":
                shutil.rmtree(self.front.folder / "nodes" / row["id"], ignore_errors=True)
        text = script(self.front.head(), MEASURE)
        found = {name: int(value) for name, value in
                 (line.split() for line in text.splitlines() if len(line.split()) == 2)}
        if "bytes" in found:
            found["journal_rows"] = rows_of(self.front.head().home / ".shoal/cluster/journal.db")
            self.samples.append({"age": self.age(), "alive": len(alive), **found})

    def sample_always(self):
        while not self.ended.wait(SAMPLE_SECONDS):
            try:
                self.sample()
            except (AssertionError, OSError, ValueError, sqlite3.Error,
                    subprocess.TimeoutExpired, client.BedError) as why:
                self.happened[f"no sample: {str(why)[:60]}"] += 1

    # ---- load ----

    def load(self, count):
        """Request this many workers, some of them on spot instances."""
        wishes = [{"CPU": 1, **({"spot": 1} if self.dice.random() < 0.5 else {})}
                  for _ in range(count)]
        script(self.front.head(), f"cd /tmp/ray && echo '{json.dumps(wishes)}' > demand.new && "
               "mv demand.new demand.json")

    # ---- faults ----

    def broken_calls(self):
        self.front.mix(0.05, seed=self.dice.randrange(1000))

    def no_capacity(self):
        self.front.capacity(self.dice.randrange(2), type=self.dice.choice(["m5.xlarge", "m5.*"]))

    def throttled(self):
        self.front.fault("ec2:*", "throttle", count=8)

    def worker_dies(self):
        for machine in self.dice.sample(self.workers(), min(2, len(self.workers()))):
            self.front.node(machine.id, "kill")

    def interrupted(self):
        for machine in [m for m in self.workers() if m.spot][:2]:
            self.front.notice(machine.id, seconds=8)

    def service_dies(self):
        which = self.dice.choice(["autoscaler --folder", "shoal autoscaler"])
        self.front.head().run("pkill", "-KILL", "-f", which, check=False)

    def may_kill_service(self):
        """Only sometimes, so that the service gets old in between."""
        return self.age() < 0.25 or 0.45 < self.age() < 0.55

    def no_sshd(self):
        self.front.launch_fault("no-sshd", count=1)

    def sshd_stops(self):
        for machine in self.workers()[:2]:
            machine.run("pkill", "-KILL", "sshd", user="root", check=False)

    def full_disk(self):
        self.front.launch_fault("disk-full", count=1)

    def dies_at_launch(self):
        self.front.launch_fault("dies", count=1, code="Server.InternalError")

    def slow_boot(self):
        self.front.launch_fault("boot-delay", count=2, seconds=4)

    FAULTS = (broken_calls, no_capacity, throttled, worker_dies, interrupted, no_sshd, sshd_stops,
              full_disk, dies_at_launch, slow_boot)

    # ---- the run ----

    def round(self, number):
        is_kill = self.may_kill_service() and number % 2
        fault = Soak.service_dies if is_kill else self.FAULTS[number % len(self.FAULTS)]
        self.load(self.dice.randint(2, MOST_WORKERS))
        time.sleep(self.dice.uniform(1, 6))
        try:
            fault(self)
            self.happened[fault.__name__] += 1
        except client.BedError:  # the instance ended between the listing and the fault
            self.happened["fault came too late"] += 1
        time.sleep(self.dice.uniform(4, 10))
        if number % 4 == 0:
            self.laptop.run("up", "-y", self.file)  # may fail, because faults are on
        self.load(0)
        time.sleep(self.dice.uniform(6, 12))
        self.front.clear()
        last = self.samples[-1] if self.samples else {}
        self.note(f"round {number} {fault.__name__}: {len(self.seen)} launched, {last}")

    def check(self, seconds=240):
        """After some time without faults, everything must be in order."""
        self.front.clear()
        self.note("check")
        done = self.laptop.run("up", "-y", self.file)
        self.note(f"up: status {done.status} {done.err.strip().splitlines()[-1:]}")
        self.load(3)
        try:
            wait_for(lambda: len(self.workers()) >= 3, seconds, 1, "3 workers with load 3")
            self.note("3 workers exist")
            wait_for(self.is_told, seconds, 2, "a `status` that lists all billed instances")
            self.load(0)
            wait_for(lambda: not self.workers(), seconds, 1, "the end of all workers without load")
            self.note(f"nothing lost so far; {len(self.seen)} instances, at most {self.most} at "
                      f"once, {dict(self.happened)}")
        except AssertionError as why:
            status = self.laptop.run("status", self.file)
            self.blame(f"{why}; alive {[(m.id, m.kind, m.state) for m in self.front.machines()]}; "
                       f"{status}")

    def run(self, launches):
        self.laptop("up", "-y", self.file)
        sampler = threading.Thread(target=self.sample_always, daemon=True)
        sampler.start()
        number = 0
        while self.age() < 1 or (len(self.seen) < launches and self.age() < 1.5):
            try:
                self.round(number)
            except (AssertionError, subprocess.TimeoutExpired, client.BedError) as why:
                self.blame(f"round {number}: {why}")
            number += 1
            if number % CHECK_EVERY == 0:
                self.check()
        self.check()
        self.ended.set()
        sampler.join(60)
        self.down(launches)

    def down(self, launches):
        done = self.laptop.run("down", "-y", self.file)
        remains, files = self.front.remains(), self.laptop.leftovers()
        if done.status != 0 or remains or files:
            self.blame(f"after down: {remains} {files} {done}")
        if len(self.seen) < launches:
            self.blame(f"{len(self.seen)} launches, not {launches}")
        if self.most > MOST_WORKERS + 1:
            self.blame(f"{self.most} instances at once")

    # ---- the result ----

    def third(self, name, number):
        span = max([1.0] + [row["age"] for row in self.samples])
        return [row[name] for row in self.samples
                if number - 1 <= 3 * row["age"] / span <= number]

    def verdict(self):
        print("\n| largest value | first third | middle third | last third |")
        print("|---|---:|---:|---:|")
        for name, (share, more) in GROWTH.items():
            most = [max(self.third(name, n), default=0) for n in (1, 2, 3)]
            print(f"| {name} | " + " | ".join(map(str, most)) + " |")
            if 0 in most:
                self.blame(f"{name}: not measured in every third")
            elif most[2] > most[1] * share + more:
                self.blame(f"{name} grows: {most[1]} in the middle third, {most[2]} in the last")
        wal = max([row["wal_bytes"] for row in self.samples], default=0)
        print(f"\nlargest write-ahead log: {wal} bytes")
        if wal > WAL_BYTES_MOST:
            self.blame(f"the write-ahead log has {wal} bytes, more than {WAL_BYTES_MOST}")
        print(f"\n{len(self.seen)} instances launched, at most {self.most} at once, "
              f"{len({row['pid'] for row in self.samples})} services measured, "
              f"{len(self.samples)} samples, "
              f"{(time.monotonic() - self.began) / 60:.0f} minutes, load {os.getloadavg()[0]:.1f}")
        print("rounds: " + ", ".join(f"{name} {n}" for name, n in sorted(self.happened.items())))
        print("\n".join(self.wrong) or "nothing lost, nothing grows", flush=True)
        return 1 if self.wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--launches", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--csv", help="keep every sample in this file")
    words = parser.parse_args()
    with Front(times=TIMES, terminated_kept=120) as front:
        front.machine_env(AUTOSCALER_NODE_START_WAIT_S="10")
        soak = Soak(front, words.minutes, words.seed)
        soak.laptop.more["AUTOSCALER_NODE_START_WAIT_S"] = "10"
        try:
            soak.run(words.launches)
        finally:
            if words.csv and soak.samples:
                with open(words.csv, "w", encoding="ascii", newline="") as stream:
                    table = csv.DictWriter(stream, soak.samples[0].keys())
                    table.writeheader()
                    table.writerows(soak.samples)
        return soak.verdict()


if __name__ == "__main__":
    sys.exit(main())
