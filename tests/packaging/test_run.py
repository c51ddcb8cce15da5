"""The portable program does what the ordinary one does, also where there is nothing else."""

import json
import os
import platform
import statistics
import subprocess
import time

import pytest
from bench_validate import true_peak
from conftest import BUILD, REPOSITORY
from reference import Reference

import libraries
import sources

ORDINARY = BUILD / "src" / "cli" / "shoal"
CLUSTER = REPOSITORY / "examples" / "clusters" / "aws-mixed.yaml"
SPAWNS, ROUNDS = 200, 30
MILLISECONDS_MAX, PEAK_MAX = 1.0, 6_000_000
NATIVE_ONLY = "an emulator is no measure"


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, timeout=300)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("words", [
    ("version",), ("help",), ("completion", "bash"), ("validate", CLUSTER),
    ("validate", "/no/such/file"), ("config", CLUSTER), ("config", "--hashes", CLUSTER),
    ("simulate", CLUSTER, "--workload", "gpu-training", "--planner", "ray,price"),
], ids=lambda words: words[0])
def test_says_the_same(runner, words):
    assert run(*runner, *words) == run(ORDINARY, *words)


def test_names_its_libraries(runner):
    code, said, _ = run(*runner, "version", "-o", "json")
    facts = json.loads(said)
    assert code == 0 and facts["build"]["failpoints"] == "false"
    for library in libraries.asked_for(libraries.PROGRAM):
        for name in set(library.packages) & set(facts["libraries"]):
            assert facts["libraries"][name] == sources.version(library.name)
    assert len(facts["libraries"]) == 8


def test_runs_in_an_empty_root(built, tmp_path):
    """No shell, no C library, no /etc, /dev or /proc."""
    here = os.uname().machine
    if here not in built:
        pytest.skip("no program for this machine was asked for")
    (tmp_path / "shoal").write_bytes(built[here].read_bytes())
    (tmp_path / "shoal").chmod(0o755)
    (tmp_path / "cluster.yaml").write_bytes(CLUSTER.read_bytes())
    become = [] if os.geteuid() == 0 else ["unshare", "--map-root-user"]
    inside = [*become, "chroot", tmp_path, "/shoal"]
    assert run(*inside, "version") == run(ORDINARY, "version")
    code, said, _ = run(*inside, "validate", "/cluster.yaml")
    assert code == 0 and "is fine" in said
    code, said, _ = run(*inside, "simulate", "/cluster.yaml", "--workload", "small-tasks",
                        "--hours", "2")
    assert code == 0 and "node-hours" in said


def spawn_once(program):
    nowhere = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    began = time.perf_counter()
    child = os.posix_spawn(program, [program, "version"], {}, file_actions=nowhere)
    _, status = os.waitpid(child, 0)
    assert status == 0
    return (time.perf_counter() - began) * 1000


def test_starts_at_once_and_stays_small(built):
    here = os.uname().machine
    if here not in built:
        pytest.skip(NATIVE_ONLY)
    program = str(built[here])
    reference = Reference()
    for _ in range(ROUNDS):  # another program may have had the machine
        reference.sample()
        times = sorted(spawn_once(program) for _ in range(SPAWNS))
        if statistics.median(times) <= MILLISECONDS_MAX * reference.slowness():
            break
        time.sleep(3)
    ordinary = statistics.median(spawn_once(str(ORDINARY)) for _ in range(SPAWNS))
    median, peak = statistics.median(times), true_peak([program, "validate", str(CLUSTER)])
    start_peak = true_peak([program, "version"])
    print(f"\n{platform.machine()}, load {os.getloadavg()[0]:.2f}, "
          f"{reference.slowness():.1f} times slower than the reference processor\n"
          f"size {os.path.getsize(program) / 1e6:.2f} MB\n"
          f"version, {SPAWNS} spawns: p50 {median:.3f} ms, min {times[0]:.3f}, "
          f"p95 {times[int(SPAWNS * 0.95)]:.3f}; the ordinary program {ordinary:.3f} ms\n"
          f"peak memory: version {start_peak / 1e6:.2f} MB, validate {peak / 1e6:.2f} MB")
    assert median <= MILLISECONDS_MAX * reference.slowness()
    assert peak <= PEAK_MAX
