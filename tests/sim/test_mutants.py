"""Every deliberate bug of mutants.py must be noticed within 2,000 seeds.

usage: test_mutants.py SIMULATOR_WITH_MUTANTS
"""

import concurrent.futures
import os
import signal
import subprocess
import sys

SEEDS = "1-2000"


def first_line(simulator, mutant):
    done = subprocess.run([simulator, "--seeds", SEEDS, "--mutant", mutant, "--quiet"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=200)
    # A seed breaks an invariant of the simulator, or the core itself notices (base/require.h).
    is_caught = done.returncode == 1 or (
        done.returncode == -signal.SIGABRT and "internal error" in done.stdout)
    return is_caught, done.stdout.split("\n", 1)[0]


def main(simulator):
    mutants = subprocess.run([simulator, "--mutants"], text=True, check=True,
                             stdout=subprocess.PIPE).stdout.split()
    missed = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        lines = pool.map(lambda mutant: first_line(simulator, mutant), mutants)
        for mutant, (is_caught, line) in zip(mutants, lines):
            print(f"{mutant:26} {line}")
            if not is_caught:
                missed.append(mutant)
    print(f"{len(mutants) - len(missed)} of {len(mutants)} mutants were caught")
    return bool(missed) or len(mutants) < 15


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
