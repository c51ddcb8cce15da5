"""The setup of many workers by the head's service, next to bare parallel ssh.

usage: bench_setup.py [--workers N] [--check]

Workers are machines of a front (tests/front) with a real sshd each and no Ray: `ray start` is
replaced by a command that takes a second. All of them boot first and wait; then sshd starts on all
of them at once. Shoal's time is from there until the last worker has finished its commands; it
includes what `up` does on every worker (host key, Shoal's own program, environment). Then one
process per worker on the head runs the same command over plain ssh, with the same key, the same key
exchange and the same number of connections at a time. --check asserts the goals.
"""

import argparse
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "front"))
SKIPPED = 77

try:
    import front
except ImportError as missing:
    print(f"{missing}: skipped")
    sys.exit(SKIPPED)

GOAL_TIMES, GOAL_MEGABYTES = 2, 30
AT_ONCE = 200  # CHILDREN_MAX of src/app/head/service.c
LIMIT = 900
WORK = "sleep 1"
KEX = "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256"  # as Shoal's, is_near


def content(on, workers):
    made = on.cluster("demo", workers=workers)
    made["worker_start_ray_commands"] = [f"{WORK}; touch ~/set-up"]
    made["upscaling_speed"] = 1000
    return made


def open_gate(gate):
    began = time.time()
    os.close(os.open(gate, os.O_WRONLY))
    return began


def measure_shoal(on, laptop, workers):
    """Seconds from the start of sshd until the last worker is set up."""
    laptop("up", "-y", laptop.file("cluster.yaml", content(on, 0)))
    gate = on.folder / "gate"
    os.mkfifo(gate)
    child = laptop.start("up", "-y", laptop.file("cluster.yaml", content(on, workers)))
    front.wait_for(lambda: waiting(on) == workers, LIMIT, 1, f"{workers} machines")
    began = open_gate(gate)
    gate.unlink()
    nodes = [m for m in on.alive("demo") if m.kind != "head"]
    front.wait_for(lambda: all((m.home / "set-up").exists() for m in nodes), LIMIT, 0.2,
                   "all workers")
    ended = max((m.home / "set-up").stat().st_mtime for m in nodes)
    first = min((m.home / "set-up").stat().st_mtime for m in nodes)
    laptop.stop(child)
    return ended - began, first - began, nodes


def waiting(on):
    """Machines whose first process waits at the gate."""
    return sum(1 for m in on.alive("demo") if m.kind != "head" and
               (on.folder / "nodes" / m.id / "log" / "console.log").exists())


def measure_bare(on, nodes):
    """Seconds of the same command on all of them, over plain ssh from the head."""
    head = on.head("demo")
    hosts = "\\n".join(m.private for m in nodes)
    ssh = (f"ssh -F none -n -i .shoal/cluster/workers.key -o StrictHostKeyChecking=no "
           f"-o LogLevel=ERROR -o UserKnownHostsFile=/dev/null -o BatchMode=yes "
           f"-o KexAlgorithms={KEX} "
           f"-o PreferredAuthentications=publickey")
    began = time.time()
    head.run("bash", "-c", f"printf '{hosts}\\n' | xargs -P {AT_ONCE} -I% {ssh} ubuntu@% "
             f"'bash -lc \"{WORK}\"'", seconds=LIMIT)
    return time.time() - began


def service_megabytes(on):
    """The peak of the service's own memory."""
    text = on.head("demo").run("bash", "-c", "pgrep -x shoal | xargs -I@ grep VmHWM "
                               "/proc/@/status", user="root")
    return max(int(line.split()[1]) for line in text.splitlines()) / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    why = front.missing()
    if why:
        print(f"{why}: skipped")
        return SKIPPED
    with front.Front() as on:
        laptop = on.laptop("alice")
        shoal, first, nodes = measure_shoal(on, laptop, args.workers)
        megabytes = service_megabytes(on)
        bare = min(measure_bare(on, nodes) for _ in range(2))
    print(f"{args.workers} workers: shoal {shoal:.1f} s (first after {first:.1f} s), bare ssh "
          f"{bare:.1f} s, {shoal / bare:.2f} times; service {megabytes:.1f} MB; "
          f"load {os.getloadavg()[0]:.1f}")
    if args.check:
        assert shoal <= GOAL_TIMES * bare, "too slow"
        assert megabytes <= GOAL_MEGABYTES, "too much memory"
    return 0


if __name__ == "__main__":
    sys.exit(main())
