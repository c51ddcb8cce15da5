"""Running the oracle and the probes as separate processes."""

import json
import os
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
# A hanging program must fail a test, not stop the run.
TIME_LIMIT_S = 3000


def pack(records):
    return b"".join(b"%d\n%s" % (len(record), record) for record in records)


def run_oracle(mode, data, **options):
    environment = dict(os.environ, PYTHONUTF8="1", PYTHONDONTWRITEBYTECODE="1",
                       **options.pop("env", {}))
    done = subprocess.run(
        [sys.executable, str(HERE / "oracle.py"), mode],
        input=data,
        stdout=subprocess.PIPE,
        timeout=TIME_LIMIT_S,
        env=environment,
        check=True,
        **options,
    )
    return done.stdout.decode().splitlines()


def judge_files(paths, jobs=2):
    """Ray's verdict for each path, in order."""
    shares = [paths[start::jobs] for start in range(jobs)]
    with ThreadPoolExecutor(jobs) as pool:
        answers = list(pool.map(judge_share, shares))
    verdicts = {}
    for share, lines in zip(shares, answers):
        verdicts.update(zip(share, map(json.loads, lines)))
    return [verdicts[path] for path in paths]


def judge_share(paths):
    lines = run_oracle("config", "".join("%s\n" % path for path in paths).encode())
    assert len(lines) == len(paths), "the oracle lost some files"
    return lines


def ask_probe(probe, records, **options):
    """One answer line per record; after a crash, the record is found by bisection."""
    if not records:
        return []
    done = probe_run(probe, records, **options)
    lines = done.stdout.split(b"\n")
    if done.returncode == 0 and lines.pop() == b"" and len(lines) == len(records):
        return [line.decode("utf-8", "backslashreplace") for line in lines]
    if len(records) == 1:
        tail = done.stderr[-2000:].decode("utf-8", "replace")
        return ["!died code {} after {} lines: {}".format(done.returncode, len(lines), tail)]
    middle = len(records) // 2
    first, second = records[:middle], records[middle:]
    return ask_probe(probe, first, **options) + ask_probe(probe, second, **options)


def probe_run(probe, records, **options):
    command = [probe] if isinstance(probe, str) else probe
    try:
        return subprocess.run(command, input=pack(records), capture_output=True, timeout=300,
                              **options)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(command, -1, b"", b"no answer after %d s" % late.timeout)
