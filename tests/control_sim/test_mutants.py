"""Every deliberate bug of mutants.py must be noticed by the simulation of the controller.

usage: test_mutants.py SIMULATOR_WITH_MUTANTS SEEDS
"""

import concurrent.futures
import os
import subprocess
import sys

from mutants import ALL


def first_line(simulator, seeds, number):
    done = subprocess.run([simulator, "--seeds", seeds, "--mutant", str(number), "--quiet"],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, timeout=1500)
    return done.returncode != 0, done.stdout.split("\n", 1)[0]


def main(simulator, seeds):
    missed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        lines = pool.map(lambda mutant: first_line(simulator, seeds, mutant.number), ALL)
        for mutant, (is_caught, line) in zip(ALL, lines):
            print(f"{mutant.number:2} {mutant.what}: {line}", flush=True)
            missed += not is_caught
    print(f"{len(ALL) - missed} of {len(ALL)} mutants were caught")
    return missed > 0 or len(ALL) < 10


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
