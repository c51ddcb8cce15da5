"""Kill the autoscaler, cut it off and give it wrong data under load: the work continues, nothing is
left.

What must hold after each fault: no task was lost to a terminated instance, there were never more
instances than allowed, each instance is one node, and idle nodes are terminated. The cloud's list
and log are the evidence. Every run has one short case; `long` has the rest, and longer ones.
"""

import pathlib
import subprocess
import threading
import time

import driver
import files
import pytest

MOST = 3
BOOT_SECONDS, POLL_SECONDS = 25, 0.4
HEALED = BOOT_SECONDS + 2 * POLL_SECONDS


@pytest.fixture(scope="module")
def troubled(make_fleet):
    config = files.scaling("chaos", MOST, 0.08)
    return make_fleet(files.impatient(config, "settle=0,quiet_start=2000,drain_retry=1000"))


class Load:
    """Submit batches of tasks without retries, one after the other, until asked to stop."""

    def __init__(self, fleet, seconds=1.5, most=4):
        self.fleet, self.seconds, self.most = fleet, seconds, most
        self.over, self.tasks, self.failure = threading.Event(), 0, None
        self.retries = 0
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        number = 0
        try:
            while not self.over.is_set():
                number += 1
                name, count = f"load{time.monotonic_ns()}", 1 + number % self.most
                self.fleet.agent.tasks(name, count, self.seconds, max_retries=self.retries)
                self.fleet.agent.done(name, 180)
                self.tasks += count
                if number % 3 == 0:  # long enough for some nodes to become idle
                    self.over.wait(6)
        except AssertionError as error:
            self.failure = error

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        self.over.set()
        self.thread.join(200)
        if kind is None:
            assert self.failure is None, self.failure
            print(f"{self.tasks} tasks, none lost")


def healed(fleet, seconds=HEALED):
    """Tasks run again, and then all workers are terminated."""
    began = time.monotonic()
    fleet.agent.tasks("after", 1, 0.1)
    fleet.agent.done("after", seconds)
    took = time.monotonic() - began
    fleet.check_settled()
    fleet.wait_empty(60)
    fleet.check()
    left = driver.machines(fleet.made.ec2)
    assert [i["InstanceId"] for i in left] == [fleet.head], "somebody was forgotten"
    print(f"work was done {took:.1f} s after the end of the trouble; at most "
          f"{fleet.most_at_once()} machines at once, {len(fleet.lives())} in all")


def kill_again_and_again(fleet, times, every):
    back = []
    with Load(fleet):
        for _ in range(times):
            time.sleep(every)
            back.append(fleet.wait_service(fleet.kill_service(), 10))
    print(f"killed {times} times; back after {max(back):.2f} s at most")
    assert max(back) <= 5
    healed(fleet)


def test_the_service_is_killed(troubled):
    """While instances are launched, set up, and drained."""
    kill_again_and_again(troubled, 3, 4)


@pytest.mark.long(seconds=1200)
def test_the_service_is_killed_for_ten_minutes(troubled):
    kill_again_and_again(troubled, 30, 20)


def blinded(fleet, blindness, seconds):
    """Nothing may be terminated during the fault, and everything must recover after it."""
    fleet.agent.tasks("before", 2, 0.5)
    fleet.agent.done("before", 60)
    there = {i["InstanceId"] for i in fleet.workers()}
    began = time.time()
    with blindness():
        time.sleep(seconds)
        ended = {ident for ident, (_, end) in fleet.lives().items() if end and end > began + 1}
    assert not ended & there, "a node was ended by somebody who saw nothing"
    healed(fleet)


@pytest.mark.long
@pytest.mark.parametrize("seconds", [8, 180])
def test_the_gcs_is_out_of_reach(troubled, seconds):
    blinded(troubled, troubled.gcs_out_of_reach, seconds)


@pytest.mark.long
@pytest.mark.parametrize("seconds", [6, 25])
def test_the_gcs_is_frozen(troubled, seconds):
    """For all of Ray: raylets tolerate it for a minute."""
    blinded(troubled, troubled.frozen_gcs, seconds)


@pytest.mark.long
@pytest.mark.parametrize("seconds", [8, 120])
def test_the_cloud_is_cut_off(troubled, seconds):
    """Demand arrives while the cloud does not answer: one launch when it answers again, not
    several.
    """
    began = time.time()
    with troubled.cloud_cut():
        troubled.agent.tasks("cut", 2, 0.5)
        time.sleep(seconds)
        assert not troubled.workers()
    opened = time.time()
    troubled.agent.done("cut", HEALED + 60)
    launches = troubled.launches(began)
    print(f"launched {launches[0] - opened:.1f} s after the cloud was back")
    assert len(launches) == 1, "the launch was repeated"
    launched = [start for start, _ in troubled.lives().values() if start > began]
    assert 1 <= len(launched) <= 2, f"{len(launched)} workers for two tasks"
    healed(troubled)


@pytest.mark.long
def test_a_worker_is_destroyed(troubled):
    """Its tasks are retried elsewhere, as their options allow; a new instance is launched."""
    troubled.agent.tasks("hit", 2, 6, max_retries=3)
    victim = troubled.wait_workers(2)[0]["InstanceId"]
    began = time.time()
    troubled.bed.node(victim, "kill")
    rows = troubled.agent.done("hit", 90)
    print(f"all done {time.time() - began:.1f} s after a worker was destroyed")
    assert len(rows) == 2
    healed(troubled)


@pytest.mark.long(seconds=1000)
def test_a_node_is_partitioned(troubled):
    """It runs, but its packets are dropped: Ray declares it dead, its instance is terminated, other
    work continues.

    Its tasks are retried when the driver learns of the failure. An idle connection to a dead node
    shows nothing, so that depends on gRPC's keepalive in Ray: minutes, with either autoscaler.
    """
    troubled.agent.tasks("cut", 2, 10, max_retries=3)
    victim = troubled.wait_workers(2)[0]["InstanceId"]
    began = time.time()
    with troubled.partitioned(victim):
        driver.wait_for(lambda: troubled.lives()[victim][1], 120, 0.5, "its end")
    print(f"ended {time.time() - began:.1f} s after it was cut off")
    healed(troubled)
    rows = troubled.agent.done("cut", 700)
    print(f"what it worked on was done elsewhere {time.time() - began:.1f} s after that")
    assert len(rows) == 2
    troubled.wait_empty(60)
    troubled.check()


# ---- the wall clock ----

STEP_C = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
/* What CLOCK_REALTIME says is off by the seconds that stand in a file, looked at each time. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real) {
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    }
    int status = real(id, now);
    if (id == CLOCK_REALTIME) {
        FILE *file = fopen("/tmp/clock-step", "r");
        long step = 0;
        if (file) {
            if (fscanf(file, "%ld", &step) != 1) {
                step = 0;
            }
            fclose(file);
        }
        now->tv_sec += step;
    }
    return status;
}
"""


@pytest.fixture
def stepped(troubled, tmp_path):
    """stepped(seconds): set the wall clock of the service, and of no other process, off by that
    much.
    """
    source, library = tmp_path / "step.c", tmp_path / "step.so"
    source.write_text(STEP_C)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    docker = driver.docker
    docker.run("cp", str(library), f"bed-{troubled.head}:/tmp/step.so")

    def start(preload):
        """Stop the service as its owner, then start it as the setup of a head does."""
        line = pathlib.Path(f"/proc/{troubled.service_pids()[-1]}/cmdline").read_bytes()
        program = line.split(b"\0")[0].decode()
        pids = troubled.service_pids()
        subprocess.run(["kill", str(pids[0])], check=True)
        driver.wait_for(lambda: not troubled.service_pids(), 20, 0.1, "the end of the service")
        driver.in_machine(troubled.head, "bash", "-lc",
                          f"{preload} exec {program} autoscaler --background")
        driver.wait_for(lambda: len(troubled.service_pids()) >= 2, 10)

    start("LD_PRELOAD=/tmp/step.so")
    yield lambda seconds: driver.in_machine(
        troubled.head, "sh", "-c", f"echo {seconds} > /tmp/clock-step")
    driver.in_machine(troubled.head, "rm", "-f", "/tmp/clock-step")
    start("")


@pytest.mark.long
@pytest.mark.parametrize("step", [3600, -3600])
def test_the_wall_clock_jumps(troubled, stepped, step):
    """Step the clock forward and back under load: intervals are measured by a monotonic clock."""
    with Load(troubled):
        time.sleep(5)
        stepped(step)
        time.sleep(10)
        stepped(0)
        time.sleep(3)
    healed(troubled)
