"""How much slower than the reference processor this one is at the moment.

A limit in milliseconds is meant for the processor of docs/results. On a virtual machine whose host
is busy the same work takes several times as long, so a benchmark measures a fixed piece of work
(tests/probe/speed_probe.c) between its own measurements and divides by what that cost.
"""

import os
import pathlib
import statistics
import subprocess

BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD")
                     or pathlib.Path(__file__).resolve().parents[2] / "build").resolve()
PROBE = BUILD / "tests" / "speed_probe"
# Estimated: the same simulator ran 2.3 times faster in docs/results/2026-11-15-simulator.md than on
# the day when the probe took 5.57 ms, on an idle machine of the same kind.
REFERENCE_NS = 2_400_000


class Reference:
    def __init__(self):
        self.samples = []

    def sample(self):
        done = subprocess.run([PROBE], stdout=subprocess.PIPE, check=True)
        self.samples.append(int(done.stdout.split()[0]) / REFERENCE_NS)

    def slowness(self):
        """At least 1: a fast processor does not make a limit tighter."""
        return max(1.0, statistics.median(self.samples)) if self.samples else 1.0
