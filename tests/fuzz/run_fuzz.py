"""Runs one libFuzzer target for a while and fails when it finds anything.

usage: run_fuzz.py TARGET CORPUS DICT SECONDS [LIBFUZZER-ARGUMENT...]

The corpus is copied first, so that what the fuzzer adds does not end up in the repository. The
environment variable SHOAL_FUZZ_SECONDS overrides SECONDS. What was found is left in a folder
`artifacts` below the current one and printed in base64, so that it survives in a log.
"""

import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile

GRACE_SECONDS = 300  # for start-up, and for a last input that is slow
SHOWN_BYTES = 8192
STATISTIC = re.compile(rb"^stat::(\w+):\s+(\d+)", re.MULTILINE)
COVERAGE = re.compile(rb"\bcov: (\d+) ft: (\d+)")


def command(target, corpus, dictionary, seconds, artifacts, more):
    return [target, corpus, f"-dict={dictionary}", f"-max_total_time={seconds}", "-timeout=5",
            "-rss_limit_mb=1024", "-print_final_stats=1", f"-artifact_prefix={artifacts}/", *more]


def environment():
    """Undefined behaviour ends the run, as every other finding does."""
    return {"UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1", **os.environ}


def report(log):
    """What was done, in one line."""
    numbers = {name.decode(): int(value) for name, value in STATISTIC.findall(log)}
    covered = COVERAGE.findall(log)
    edges, features = covered[-1] if covered else (b"0", b"0")
    executed = numbers.get("number_of_executed_units", 0)
    print(f"{executed} executions, {numbers.get('average_exec_per_sec', 0)}/s, "
          f"{edges.decode()} edges, {features.decode()} features, "
          f"slowest input {numbers.get('slowest_unit_time_sec', 0)} s, "
          f"{numbers.get('peak_rss_mb', 0)} MB at most")
    return executed


def show(artifacts):
    """Prints every input that was found; returns how many."""
    names = sorted(os.listdir(artifacts))
    for name in names:
        with open(os.path.join(artifacts, name), "rb") as stream:
            data = stream.read()
        print(f"found {name} ({len(data)} bytes), in base64:")
        print(base64.b64encode(data[:SHOWN_BYTES]).decode())
    return len(names)


def main(argv):
    if len(argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    target, corpus, dictionary, seconds = argv[:4]
    target = os.path.abspath(target)  # a bare name would be looked for in PATH
    seconds = int(os.environ.get("SHOAL_FUZZ_SECONDS", seconds))
    artifacts = os.path.join("artifacts", os.path.basename(target))
    shutil.rmtree(artifacts, ignore_errors=True)
    os.makedirs(artifacts)
    with tempfile.TemporaryDirectory(prefix="shoal-fuzz-") as scratch:
        copy = os.path.join(scratch, "corpus")
        shutil.copytree(corpus, copy)
        done = subprocess.run(command(target, copy, dictionary, seconds, artifacts, argv[4:]),
                              env=environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False,
                              timeout=seconds + GRACE_SECONDS)
    executed = report(done.stdout)
    found = show(artifacts)
    if done.returncode == 0 and found == 0 and executed > 0:
        os.rmdir(artifacts)
        return 0
    sys.stdout.flush()
    sys.stdout.buffer.write(done.stdout[-20000:])
    print(f"FAILED: {found} inputs found, exit status {done.returncode}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
