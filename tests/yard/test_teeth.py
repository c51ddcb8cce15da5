"""Every deliberate bug of src/core/bug.h must be noticed within 2,000 seeds.

usage: test_teeth.py YARD_WITH_BUGS
"""

import concurrent.futures
import os
import subprocess
import sys

SEEDS = "1-2000"


def first_line(yard, bug):
    done = subprocess.run([yard, "--seeds", SEEDS, "--bug", bug, "--quiet"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=200)
    return done.returncode == 1, done.stdout.split("\n", 1)[0]


def main(yard):
    bugs = subprocess.run([yard, "--bugs"], text=True, check=True,
                          stdout=subprocess.PIPE).stdout.split()
    missed = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for bug, (is_caught, line) in zip(bugs, pool.map(lambda b: first_line(yard, b), bugs)):
            print(f"{bug:26} {line}")
            if not is_caught:
                missed.append(bug)
    print(f"{len(bugs) - len(missed)} of {len(bugs)} deliberate bugs were noticed")
    return bool(missed) or len(bugs) < 15


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
