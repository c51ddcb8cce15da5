#!/usr/bin/env python3
"""Real `ray up`, killed after each call that changes something, then `ray up` and `ray down`.

    ray_killed.py [--points N,M-K]

For each such call of an undisturbed run: a new account, `ray up` killed when that call has been
answered, `ray up` again, `ray down`. Prints a row per point: what the second `ray up` said, how
many heads there were at most, and what is left that no command removes. The same steps of Shoal
are in the crash sweep (sweep.py). About a minute and a half per point, most of it Ray's own pauses.
"""

import argparse
import json
import os
import signal
import subprocess
import threading
import time

import pains
from front import Front

READS = ("Describe", "Get", "List", "Lookup")
SECONDS = 240


def ray(front, *words):
    laptop = front.laptop()
    return subprocess.Popen(laptop.words(pains.PYTHON.parent / "ray", *words, "-y", "c.yaml"),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                            stderr=subprocess.STDOUT, start_new_session=True,
                            env=pains.environment(laptop))


def changes(front):
    """Calls so far that changed something, in order."""
    return [row["action"] for row in front.calls()
            if not row["action"].startswith(READS) and row["status"] == 200]


def end_of(child):
    timer = threading.Timer(SECONDS, lambda: os.killpg(child.pid, signal.SIGKILL))
    timer.start()
    out = child.communicate()[0]
    timer.cancel()
    return child.returncode, out


def last_line(text):
    lines = [pains.COLOURS.sub("", line).strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def heads(front):
    return [m.id for m in front.machines("demo", ("pending", "running")) if m.kind == "head"]


def killed_at(number):
    with Front() as front:
        laptop = front.laptop()
        laptop.file("c.yaml", pains.cluster(front))
        first = ray(front, "up")
        while len(changes(front)) < number and first.poll() is None:
            time.sleep(0.01)
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
        found = changes(front)
        after = heads(front)
        again, said = end_of(ray(front, "up"))
        most = max(len(after), len(heads(front)))
        down, _ = end_of(ray(front, "down"))
        time.sleep(2)
        return {"point": number, "killed_after": found[number - 1] if len(found) >= number else "",
                "again": again, "said": "" if again == 0 else last_line(said), "heads": most,
                "down": down, "left": front.remains()}


def recorded():
    with Front() as front:
        front.laptop().file("c.yaml", pains.cluster(front))
        status, said = end_of(ray(front, "up"))
        assert status == 0, said
        return changes(front)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--points")
    options = parser.parse_args()
    points = recorded()
    print(f"{len(points)} calls that change something: {' '.join(points)}", flush=True)
    wanted = range(1, len(points) + 1)
    if options.points:
        wanted = [n for part in options.points.split(",") for n in
                  range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)]
    for number in wanted:
        print(json.dumps(killed_at(number)), flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
