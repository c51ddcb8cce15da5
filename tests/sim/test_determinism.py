"""One seed is one trace, however the program was compiled.

usage: test_determinism.py SIMULATOR...

Runs the same seeds in every program given and in those of other builds that SHOAL_SIMULATORS names
(separated by colons: another compiler, sanitizers), and compares the hashes of the traces. One is
run twice: the second time with memory full of other bytes.
"""

import os
import subprocess
import sys

SEEDS = "1-150"


def trace_hash(simulator, **environment):
    done = subprocess.run([simulator, "--seeds", SEEDS, "--hash"], text=True, check=True,
                          timeout=250,
                          stdout=subprocess.PIPE, env={**os.environ, **environment})
    return done.stdout.strip()


def main(simulators):
    simulators += [path for path in os.environ.get("SHOAL_SIMULATORS", "").split(":") if path]
    hashes = {simulator: trace_hash(simulator) for simulator in simulators}
    hashes[simulators[0] + " again"] = trace_hash(simulators[0], MALLOC_PERTURB_="165")
    for simulator, found in hashes.items():
        print(found, simulator)
    return len(set(hashes.values())) != 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
