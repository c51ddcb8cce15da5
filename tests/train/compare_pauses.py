"""The pause of a resize, in one run: shoal train, a cold restart, torchrun elastic, and Ray Train.

    python compare_pauses.py [shoal] [cold] [torchrun] [torchrun-tuned] [ray-train] [sizes]

Each system trains a model with less than 1 MB of state in steps of 50 ms on one machine, and meets
four events: a third replica joins; one leaves as planned; one of three is killed; one of three gets
a notice, and its replacement is ready. The pause is the longest time without a step of rank 0 after
the event. "sizes" measures shoal train with states of 1 MB, 100 MB and 1 GB. Prints a table and the
load; asserts nothing.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

import cluster as clusters
from test_train import EXAMPLES, drain, free, kill_replica, step_rows

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TORCHRUN = str(pathlib.Path(clusters.PYTHON).parent / "torchrun")
STEP = ["--step-seconds", "0.05"]
EVENTS = ("grow", "shrink", "kill", "notice")
PATIENCE = 240


def load():
    return open("/proc/loadavg").read().split()[0]


class Steps:
    """The times of the steps of rank 0 in a log, whatever system wrote it."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def rows(self):
        """[(time, step, world size or None)]"""
        if not self.path.exists():
            return []
        if self.path.suffix == ".ray":
            lines = [line.split() for line in self.path.read_text().splitlines()]
            return [(float(a), int(b), int(c)) for a, b, c in lines]
        worlds, found = {}, []
        for row in step_rows(self.path):
            worlds.setdefault((row["epoch"], row["step"]), set()).add(row["rank"])
            if row["rank"] == 0:
                found.append((row["time"], row["step"], (row["epoch"], row["step"])))
        return [(at, step, len(worlds[key])) for at, step, key in found]

    def wait(self, condition, seconds, what):
        deadline = time.time() + seconds
        while time.time() < deadline:
            rows = self.rows()
            if rows and condition(rows):
                return rows
            time.sleep(0.2)
        raise TimeoutError(what)

    def wait_for_world(self, world, after, seconds=PATIENCE):
        """Until ten steps with so many replicas were made after this time."""
        def is_there(rows):
            late = [row for row in rows if row[0] > after and row[2] == world]
            return len(late) >= 10
        return self.wait(is_there, seconds, f"no steps with {world} replicas in {seconds} s")

    def pause(self, after):
        """(longest gap, steps repeated) from the last step before this time."""
        rows = self.rows()
        first = max([i for i, row in enumerate(rows) if row[0] <= after] or [0])
        rows = rows[first:]
        gaps = [b[0] - a[0] for a, b in zip(rows, rows[1:])]
        lost = sum(max(0, a[1] - b[1] + 1) for a, b in zip(rows, rows[1:]))
        return max(gaps), lost


def measure(table, system, event, steps, world, act, seconds=PATIENCE):
    """Runs an event and records its pause; a system that does not recover is recorded as failed."""
    begin = time.time()
    try:
        act()
        # A system that acts at the deadline of a notice still trains with the old replicas now.
        since = time.time() if event == "notice" else begin + 1
        steps.wait_for_world(world, since, seconds)
        time.sleep(2)
        pause, lost = steps.pause(begin)
        text = f"{pause:.2f} s, {lost} steps repeated"
    except (TimeoutError, AssertionError, subprocess.SubprocessError, IndexError) as error:
        text = f"failed: {str(error)[:100]}"
    table[system, event] = f"{text} (load {load()})"
    print(f"{system}: {event}: {table[system, event]}", flush=True)


# ---- shoal train ----


def run_shoal(cluster, table):
    log = pathlib.Path(cluster.folder.name, "shoal-steps")
    steps = Steps(log)
    addresses = [cluster.add_worker(), cluster.add_worker()]
    training = clusters.Training(
        cluster, EXAMPLES / "ddp.py", "-m", "3", "--checkpoint-every", "30", name="compare",
        args=["--epochs", "100", *STEP, "--log", str(log)])
    training.wait_for_generation(1)
    steps.wait_for_world(2, 0)
    measure(table, "shoal train", "grow", steps, 3, lambda: addresses.append(cluster.add_worker()))
    measure(table, "shoal train", "shrink", steps, 2, lambda: drain(cluster, addresses[2], 12))
    addresses[2] = cluster.add_worker()
    steps.wait_for_world(3, time.time())
    measure(table, "shoal train", "kill", steps, 3, lambda: kill_replica(cluster))
    time.sleep(3)

    def notice():
        drain(cluster, addresses[2], 60)
        cluster.add_worker()
        training.wait_for(lambda: training.events("generation")[-1]["cause"] ==
                          "a node is about to be interrupted", 60, "no restart")
    measure(table, "shoal train", "notice", steps, 3, notice)
    for event in training.events("generation")[1:]:
        print("   ", event["cause"], {k: round(v, 2) for k, v in event.items() if k.endswith("_s")})
    end(cluster, training)


def end(cluster, training):
    for pid, line in cluster.processes("shoal train -f"):
        if "nsenter" not in line:
            os.kill(pid, signal.SIGINT)
    training.wait(120)
    free(cluster)


def run_sizes(cluster, table):
    for _ in range(3):
        cluster.add_worker()
    for text, hidden in (("1 MB", 2000), ("100 MB", 200000), ("1 GB", 2000000)):
        log = pathlib.Path(cluster.folder.name, "sizes-" + text.replace(" ", ""))
        training = clusters.Training(
            cluster, EXAMPLES / "ddp.py", "-m", "2", "--checkpoint-every", "20",
            name="size-" + text.replace(" ", "").lower(),
            args=["--samples", "600000", "--hidden", str(hidden), "--log", str(log)])
        training.wait_for_generation(4, 400)
        for event in training.events("generation")[1:]:
            parts = {k[:-2]: round(v, 2) for k, v in event.items() if k.endswith("_s")}
            print(f"state of {text}: {event['cause']}: {parts} (load {load()})", flush=True)
            table[f"state of {text}", "restart"] = f"{event['pause_s']:.2f} s"
        end(cluster, training)


# ---- torchrun ----


class Torchrun:
    """Agents of torchrun elastic, one per replica, that share a directory for checkpoints."""

    def __init__(self, cluster, is_tuned):
        self.cluster, self.agents = cluster, []
        self.folder = pathlib.Path(cluster.folder.name, "tuned" if is_tuned else "default")
        self.folder.mkdir()
        self.log = self.folder / "steps"
        self.env = dict(cluster.env)
        self.words = []
        if is_tuned:
            self.env["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
            self.words = ["--rdzv-conf", "last_call_timeout=1", "--monitor-interval", "0.1"]
        self.port = 29500 + is_tuned

    def start(self):
        argv = [TORCHRUN, "--nnodes", "1:3", "--nproc-per-node", "1", "--rdzv-backend", "c10d",
                "--rdzv-id", "compare", "--rdzv-endpoint", f"127.0.0.1:{self.port}",
                "--local-addr", "127.0.0.1", "--max-restarts", "100", *self.words, "--",
                str(EXAMPLES / "ddp.py"), "--epochs", "100", *STEP, "--log", str(self.log),
                "--checkpoint-dir", str(self.folder)]
        out = open(self.folder / f"agent-{len(self.agents)}", "w")
        agent = subprocess.Popen(self.cluster.inside(argv), env=self.env, stdout=out,
                                 stderr=subprocess.STDOUT)
        self.agents.append(agent)
        return agent

    def processes(self, agent):
        """Pids of the agent's torchrun and of its replica."""
        child = children(agent.pid)[0]
        return child, children(child)[0]

    def stop(self):
        for agent in self.agents:
            if agent.poll() is None:
                for pid in tree(agent.pid):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(1)


def children(pid):
    return [int(one) for one in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def tree(pid):
    return [one for child in children(pid) for one in tree(child)] + [pid]


def run_torchrun(cluster, table, is_tuned):
    system = "torchrun elastic, tuned" if is_tuned else "torchrun elastic, default"

    def fresh(count):
        run = Torchrun(cluster, is_tuned) if not runs else None
        if run is None:
            runs[-1].stop()
            run = runs[-1]
            run.agents.clear()
            run.log.unlink(missing_ok=True)
            run.port += 10
        else:
            runs.append(run)
        for _ in range(count):
            run.start()
        steps = Steps(run.log)
        steps.wait_for_world(count, 0)
        return run, steps

    runs = []
    try:
        run, steps = fresh(2)
        measure(table, system, "grow", steps, 3, run.start, 150)
        run, steps = fresh(3)
        measure(table, system, "shrink", steps, 2,
                lambda: os.kill(run.processes(run.agents[2])[0], signal.SIGTERM), 150)
        run, steps = fresh(3)
        measure(table, system, "kill", steps, 3,
                lambda: os.kill(run.processes(run.agents[2])[1], signal.SIGKILL), 150)
        table[system, "notice"] = "no such event: as shrink, then grow"
    except TimeoutError as error:
        print(f"{system}: {error}", flush=True)
    finally:
        if runs:
            runs[-1].stop()


def run_cold(cluster, table):
    """Stop all replicas with SIGTERM, wait, start again with another number."""
    folder = pathlib.Path(cluster.folder.name, "cold")
    folder.mkdir()
    log = folder / "steps"
    steps = Steps(log)

    def start(count):
        argv = [TORCHRUN, "--standalone", "--nproc-per-node", str(count), "--",
                str(EXAMPLES / "ddp.py"),
                "--epochs", "100", *STEP, "--log", str(log), "--checkpoint-dir", str(folder)]
        return subprocess.Popen(cluster.inside(argv), env=cluster.env,
                                stdout=open(folder / "out", "a"), stderr=subprocess.STDOUT)

    def restart(count):
        os.kill(children(running[0].pid)[0], signal.SIGTERM)
        running[0].wait(timeout=60)
        running[0] = start(count)

    running = [start(2)]
    steps.wait_for_world(2, 0)
    measure(table, "stop and start again", "grow", steps, 3, lambda: restart(3))
    measure(table, "stop and start again", "shrink", steps, 2, lambda: restart(2))
    for pid in tree(running[0].pid):
        os.kill(pid, signal.SIGKILL)


# ---- Ray Train ----


def run_ray_train(cluster, table):
    log = pathlib.Path(cluster.folder.name, "steps.ray")
    steps = Steps(log)
    addresses = [cluster.add_worker(), cluster.add_worker()]
    storage = pathlib.Path(cluster.folder.name, "storage")
    argv = [clusters.PYTHON, str(REPOSITORY / "examples" / "ray_train.py"), "--storage",
            str(storage), "--workers", "2", "3", "--steps", "100000", "--log", str(log),
            "--step-seconds", "0.05"]
    run = subprocess.Popen(cluster.inside(argv), env=cluster.env,
                           stdout=open(pathlib.Path(cluster.folder.name, "ray-train.out"), "w"),
                           stderr=subprocess.STDOUT)
    steps.wait_for_world(2, 0)
    measure(table, "Ray Train", "grow", steps, 3, lambda: addresses.append(cluster.add_worker()))
    measure(table, "Ray Train", "shrink", steps, 2, lambda: drain(cluster, addresses[2], 30))
    addresses[2] = cluster.add_worker()
    try:
        steps.wait_for_world(3, time.time())
    except TimeoutError as error:
        print(f"Ray Train: {error}", flush=True)

    def kill():
        workers = cluster.processes("ray::RayTrainWorker") or cluster.processes("RayTrainWorker")
        os.kill(workers[-1][0], signal.SIGKILL)
    measure(table, "Ray Train", "kill", steps, 3, kill)

    def notice():
        drain(cluster, addresses[2], 60)
        cluster.add_worker()
    measure(table, "Ray Train", "notice", steps, 3, lambda: (notice(), time.sleep(75)))
    for pid in tree(run.pid):
        os.kill(pid, signal.SIGKILL)
    time.sleep(2)


RUNS = {
    "shoal": run_shoal,
    "cold": run_cold,
    "torchrun": lambda cluster, table: run_torchrun(cluster, table, False),
    "torchrun-tuned": lambda cluster, table: run_torchrun(cluster, table, True),
    "ray-train": run_ray_train,
    "sizes": run_sizes,
}


def main():
    table = {}
    for name in sys.argv[1:] or RUNS:
        cluster = clusters.Cluster()
        try:
            RUNS[name](cluster, table)
        finally:
            cluster.close()
    print("\n| system | " + " | ".join(EVENTS) + " |\n|---|" + "---|" * len(EVENTS))
    for system in dict.fromkeys(system for system, _ in table):
        cells = " | ".join(table.get((system, event), "") for event in EVENTS)
        print(f"| {system} | {cells} |")


if __name__ == "__main__":
    main()
