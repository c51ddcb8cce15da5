"""The autoscaler's polls on clusters of 100, 1,000 and 5,000 nodes: from Ray's bytes to a decision,
memory per node, processor time, and whether anything grows over many polls.

usage: bench_scale.py [--long] [--write FILE]

Two ways: replies generated in the measuring process, read by ray_view and applied by the core; and
replies of a fake GCS in another process (fake_gcs.py, with the installed Ray's messages), requested
by our client over gRPC. --long: a leak test of 100,000 polls instead of some thousands, and longer
runs over the wire.

Memory is that of a process whose large blocks go back to the system when they are freed, as in our
releases (musl); glibc would keep the last reply.

SHOAL_BUILD  the build directory (default: build in the repository)
"""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys

from reference import Reference

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD") or REPOSITORY / "build").resolve()
PROBE = BUILD / "tests" / "scale_probe"
SKIPPED = 77
SIZES = (100, 1000, 5000)
NODE_BYTES_MAX = 1024
CORE_SHARE_MAX = 0.01
LEAK_BYTES_MAX = 64 * 1024
TRIES = 5
POLL_MS = 400  # of a small cluster; a large one is asked less often
STRETCH_MS_MAX = 2000
ANSWER_MS_MAX = 100  # median from request to decision; far more than any takes: finds stalls
MALLOC_OF_RELEASES = {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}

try:
    import grpc  # noqa: F401
    from ray.core.generated import autoscaler_pb2  # noqa: F401
except ImportError:
    print("Ray is not installed for this Python")
    sys.exit(SKIPPED)


def probe(*words):
    words = [str(word) for word in words]
    result = subprocess.run([PROBE, *words], capture_output=True, text=True, timeout=3600,
                            env=os.environ | MALLOC_OF_RELEASES)
    if result.returncode != 0:
        raise SystemExit(f"scale_probe {' '.join(words)}: {result.stderr}")
    return json.loads(result.stdout)


@contextlib.contextmanager
def served(nodes, moving=0):
    """ask(polls, every): of a fake GCS with so many nodes."""
    server = subprocess.Popen([sys.executable, HERE / "fake_gcs.py", str(nodes), "--moving",
                               str(moving)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True)
    try:
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        yield lambda polls, every: probe(nodes, polls, "--server", url, "--every", every)
    finally:
        server.communicate()


def stretched_ms(cpu_us):
    """Between two polls, so that they take at most a hundredth of a core."""
    return max(POLL_MS, int(cpu_us / 1000 / CORE_SHARE_MAX) + 1)


def run_made_up(polls):
    scenes = (("idle", ()), ("a tenth is busy", ("moving", 10)), ("all are busy", ("moving", 1)))
    rows = []
    for nodes in SIZES:
        for name, change in scenes:
            words = [f"--{change[0]}", nodes // change[1]] if change else []
            rows.append((nodes, name, probe(nodes, polls, *words)))
        rows.append((nodes, "all busy, 1,000 shapes wait",
                     probe(nodes, polls, "--moving", nodes, "--shapes", 1000)))
    return rows


def run_leak(polls):
    return probe(50, polls, "--moving", 10, "--churn", 2, "--shapes", 5, "--groups", 4)


def table_made_up(rows):
    yield "| nodes | scene | reply | first poll | best | median | processor time per poll |"
    yield "|---|---|---|---|---|---|---|"
    for nodes, name, found in rows:
        yield (f"| {nodes:,} | {name} | {found['reply_bytes'] / 1024:,.0f} KiB | "
               f"{found['first_us'] / 1000:.2f} ms | {found['best_us'] / 1000:.2f} ms | "
               f"{found['median_us'] / 1000:.2f} ms | {found['cpu_us_per_poll'] / 1000:.2f} ms |")


def table_wire(rows):
    yield ("| nodes | every | from asking to decision | processor time per poll | "
           "share of a core | RSS during a poll | between polls | per node |")
    yield "|---|---|---|---|---|---|---|---|"
    for found in rows:
        # Of a hundred nodes a few pages more or less say nothing.
        per_node = f"{found['per_node']:.0f} B" if found["nodes"] >= 1000 else ""
        yield (f"| {found['nodes']:,} | {found['every']} ms | "
               f"{found['round_trip_us'] / 1000:.1f} ms | "
               f"{found['cpu_us_per_poll'] / 1000:.2f} ms | {found['share'] * 100:.2f} % | "
               f"{found['start_rss'] / 1e6:.1f} MB | {found['end_rss'] / 1e6:.1f} MB | "
               f"{per_node} |")


def run_wire_once(nodes, seconds, empty, reference):
    with served(nodes) as ask:
        every = stretched_ms(ask(13, 50)["cpu_us_per_poll"] * 1.1)
        reference.sample()
        found = ask(max(8, int(seconds * 1000 / every)), every)
        reference.sample()
    found["every"] = every
    found["share"] = found["cpu_us_per_poll"] / 1000 / (every + found["round_trip_us"] / 1000)
    found["per_node"] = (found["end_rss"] - empty["end_rss"]) / nodes
    return found


def run_wire(seconds, reference):
    """A busy host only adds time, for seconds at once: a size that fails is measured again."""
    rows = []
    with served(1) as ask:
        empty = ask(10, 50)
    for nodes in SIZES:
        for _ in range(TRIES):
            found = run_wire_once(nodes, seconds, empty, reference)
            if not list(wire_failures(found, reference.slowness())):
                break
        rows.append(found)
    return rows


def wire_failures(found, slowness):
    nodes = found["nodes"]
    answer_ms, allowed_ms = found["round_trip_us"] / 1000, slowness * ANSWER_MS_MAX
    if answer_ms > allowed_ms:
        yield f"{nodes} nodes: {answer_ms:.0f} ms from asking to decision, allowed {allowed_ms:.0f}"
    if nodes < SIZES[-1]:
        return
    if found["per_node"] > NODE_BYTES_MAX:
        yield f"{found['per_node']:.0f} bytes per node, allowed {NODE_BYTES_MAX}"
    if found["share"] > 1.5 * CORE_SHARE_MAX or found["every"] > slowness * STRETCH_MS_MAX:
        yield f"{found['share'] * 100:.2f} % of a core every {found['every']} ms"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--write", type=pathlib.Path)
    arguments = parser.parse_args()
    lines = list(table_made_up(run_made_up(100 if arguments.long else 20)))
    reference = Reference()
    wire = run_wire(60 if arguments.long else 4, reference)
    lines += ["", *table_wire(wire)]
    leak = run_leak(100000 if arguments.long else 5000)
    growth = leak["end_heap"] - leak["start_heap"]
    lines += ["", f"Over {leak['polls']:,} polls with nodes and placement groups that come and go: "
              f"heap {growth:+,} bytes, RSS {leak['end_rss'] - leak['start_rss']:+,} bytes, "
              f"{leak['names']} names."]
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.write:
        arguments.write.write_text(text)
    slowness = reference.slowness()
    print(f"This processor is {slowness:.1f} times slower than the reference.")
    failures = [failure for found in wire for failure in wire_failures(found, slowness)]
    if growth > LEAK_BYTES_MAX:
        failures.append(f"{growth} bytes more after {leak['polls']} polls")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
