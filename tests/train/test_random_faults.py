"""Twenty random faults in one training run on real Ray. The job completes, and no acknowledged
state is lost.

SHOAL_SEED chooses the order and the times. The seed is printed.
"""

import os
import pathlib
import random
import shutil
import signal
import time

import need_torch
import cluster as clusters
from test_train import EXAMPLES, SCRIPTS, drain, free, kill_replica, step_rows

FAULTS = (["kill a replica"] * 5 + ["notice"] * 4 + ["kill the trainer"] * 3
          + ["destroy a node"] * 3 + ["no capacity"] * 2 + ["slow save"] * 2 + ["hang"])


class Run:
    """The job over several trainers, and the cluster that it runs on."""

    def __init__(self, folder):
        self.cluster = clusters.Cluster()
        self.log = folder / "steps"
        self.faults = folder / "faults"
        self.faults.mkdir()
        self.code = folder / "code"
        self.code.mkdir()
        shutil.copy(EXAMPLES / "ddp.py", self.code)
        shutil.copy(SCRIPTS / "faulty.py", self.code)
        self.cluster.env["SHOAL_FAULTS"] = str(self.faults)  # raylets pass it on
        self.addresses = [self.cluster.add_worker() for _ in range(3)]
        self.events, self.trainings = [], []
        self.start()

    def start(self, epochs=1000):
        name = f"trainer-{len(self.trainings)}"
        training = clusters.Training(
            self.cluster, self.code / "faulty.py", "-m", "3", "--checkpoint-every", "10",
            "--checkpoint-timeout", "6", name="faults", log=name,
            args=["--epochs", str(epochs), "--step-seconds", "0.05", "--log", str(self.log)])
        self.trainings.append(training)

    def generations(self):
        """Each generation that made a step, as the trainers reported it."""
        return [event for training in self.trainings for event in training.events("generation")]

    def wait_for_steps(self, count, seconds=240):
        """Until so many more steps were made, by any generation."""
        before = len(step_rows(self.log)) if self.log.exists() else 0
        deadline = time.time() + seconds
        while time.time() < deadline:
            if self.log.exists() and len(step_rows(self.log)) >= before + count:
                return
            assert self.trainings[-1].process.poll() is None, self.trainings[-1].log.read_text()
            time.sleep(0.5)
        raise AssertionError("no progress:\n" + self.trainings[-1].log.read_text()[-3000:])

    def pids_of_trainer(self):
        return [pid for pid, line in self.cluster.processes("shoal train -f")
                if "nsenter" not in line]

    def destroy_node(self, address):
        """Everything of a node dies at once: its raylet, the agent and the replica."""
        raylets = [pid for pid, line in self.cluster.processes("raylet/raylet")
                   if f"--node_ip_address={address}" in line]
        assert raylets, address
        for pid in [child for raylet in raylets for child in tree(raylet)]:
            send(pid, signal.SIGKILL)

    def close(self):
        self.cluster.close()


def send(pid, number):
    """The process may have ended in the meantime."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def tree(pid):
    """The process and its descendants, parents first."""
    try:
        text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return [pid]
    return [pid] + [one for child in text.split() for one in tree(int(child))]


def cause(run, fault, chance):
    """Makes one fault happen, and what a cluster would do about it."""
    run.events.append((time.time(), fault))
    if fault == "kill a replica":
        kill_replica(run.cluster)
    elif fault == "notice":
        drain(run.cluster, run.addresses.pop(chance.randrange(len(run.addresses))), 40)
        run.addresses.append(run.cluster.add_worker())
    elif fault == "no capacity":
        drain(run.cluster, run.addresses.pop(chance.randrange(len(run.addresses))), 15)
        run.wait_for_steps(200)
        time.sleep(15)
        run.addresses.append(run.cluster.add_worker())
    elif fault == "destroy a node":
        run.destroy_node(run.addresses.pop(chance.randrange(len(run.addresses))))
        run.addresses.append(run.cluster.add_worker())
    elif fault == "kill the trainer":
        for pid in run.pids_of_trainer():
            send(pid, signal.SIGKILL)
        run.trainings[-1].process.wait(timeout=10)
        time.sleep(chance.uniform(0, 3))
        run.start()
    elif fault == "slow save":
        (run.faults / "slow-save").touch()
    else:
        (run.faults / "hang").touch()
        time.sleep(75)


def check_progress(rows):
    """Rank 0 of each generation continues from a checkpoint that is not older than that of the
    generation before."""
    first = {}
    for row in rows:
        if row["rank"] == 0:
            first.setdefault(row["generation"], row["step"])
    starts = [first[generation] for generation in sorted(first)]
    assert starts == sorted(starts), f"an acknowledged checkpoint was lost: {starts}"


def test_twenty_random_faults(tmp_path):
    seed = int(os.environ.get("SHOAL_SEED") or time.time() // 86400)
    print("SHOAL_SEED", seed)
    chance = random.Random(seed)
    faults = list(FAULTS)
    chance.shuffle(faults)
    run = Run(tmp_path)
    begin = time.time()
    try:
        run.wait_for_steps(100)
        for fault in faults:
            cause(run, fault, chance)
            time.sleep(chance.uniform(0, 4))
            run.wait_for_steps(150)
            print(f"{time.time() - begin:6.0f} s: {fault}: generation "
                  f"{step_rows(run.log)[-1]['generation']}", flush=True)
        for pid in run.pids_of_trainer():
            send(pid, signal.SIGINT)
        assert run.trainings[-1].wait(120) == 1, run.trainings[-1].log.read_text()
        free(run.cluster)
        run.start(step_rows(run.log)[-1]["epoch"] + 1)  # complete the epoch
        assert run.trainings[-1].wait(120) == 0, run.trainings[-1].log.read_text()
        rows = step_rows(run.log)
        check_progress(rows)
        print_costs(run, rows)
        free(run.cluster)
    finally:
        run.close()


def print_costs(run, rows):
    load = open("/proc/loadavg").read().split()[0]
    steps = [row["step"] for row in rows if row["rank"] == 0]
    repeated = sum(max(0, a - b + 1) for a, b in zip(steps, steps[1:]))
    print(f"{len(FAULTS)} faults, {max(steps)} steps, {repeated} repeated, load {load}")
    for event in run.generations()[1:]:
        print(f"generation {event['generation']}: {event['replicas']} replicas: {event['cause']}: "
              f"{event['pause_s']:.2f} s")
