"""One seed is one trace, however the program was compiled.

usage: test_determinism.py YARD...

Runs the same seeds in every program given and in those of other builds that SHOAL_YARDS names
(separated by colons: another compiler, sanitizers), and compares the hashes of the traces. One is
run twice: the second time with memory full of other bytes.
"""

import os
import subprocess
import sys

SEEDS = "1-150"


def trace_hash(yard, **environment):
    done = subprocess.run([yard, "--seeds", SEEDS, "--hash"], text=True, check=True, timeout=250,
                          stdout=subprocess.PIPE, env={**os.environ, **environment})
    return done.stdout.strip()


def main(yards):
    yards += [path for path in os.environ.get("SHOAL_YARDS", "").split(":") if path]
    hashes = {yard: trace_hash(yard) for yard in yards}
    hashes[yards[0] + " again"] = trace_hash(yards[0], MALLOC_PERTURB_="165")
    for yard, found in hashes.items():
        print(found, yard)
    return len(set(hashes.values())) != 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
