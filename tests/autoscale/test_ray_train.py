"""Ray Train on spot instances: a notice leads to a checkpoint and one restart with a replacement.

The training function is examples/ray_train.py, with real Ray Train and torch.
"""

import collections
import os
import pathlib
import re
import subprocess
import threading
import time

import cluster_conftest
import contest
import driver
import files
import fleet
import pytest
from driver import settings

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "ray_train.py"
IMAGE = next(ami.id for ami in settings.AMIS if ami.image == "train")
COUNT = 3
NOTICE_SECONDS = 120
BOOT = float(os.environ.get("SHOAL_BOOT_SECONDS", 30))  # of the replacement, as on EC2
STEP = 0.2
# Steps until the deadline, and some more after it. No step is shorter than STEP.
STEPS = round((NOTICE_SECONDS + 40) / STEP)
ASKED, SAVED = 10, 20  # seconds from the notice to the launch, and to the checkpoint
LAST_SAVE = 12         # the example saves so many seconds before the deadline
SPOT = {"InstanceMarketOptions": {"MarketType": "spot"}}
SAME = 5  # seconds in which a repeated line is the same one
STARTED = re.compile(r"start: rank (\d+) of (\d+) on (\S+) at step (\d+)")


def config(image=IMAGE):
    """One worker more than the run may have: a replacement runs next to the node it replaces."""
    made = files.scaling("train", COUNT + 1, 2, {"spot": files.node_type(
        image, min_workers=0, max_workers=COUNT + 1, config=SPOT)})
    made["available_node_types"]["head"]["node_config"]["ImageId"] = image
    return made


def share(bed):
    """Machines that are launched from now on share a folder, as with EFS."""
    bed.machine_env(RAY_DEDUP_LOGS="0")


class Run:
    """The example on the head, its output with times, and its steps."""

    def __init__(self, fleet_, steps=STEPS):
        self.lines, self.folder = [], settings.SHARED / f"train-{time.time_ns()}"
        self.folder.mkdir()
        self.folder.chmod(0o777)
        there = f"{settings.SHARED_ON_NODES}/{self.folder.name}"
        driver.in_machine(fleet_.head, "sh", "-c", "cat > /home/ubuntu/ray_train.py",
                          text=EXAMPLE.read_text(encoding="utf-8"))
        self.child = subprocess.Popen(
            ["docker", "exec", "-i", "-u", "ubuntu", "-w", "/home/ubuntu", "-e",
             "HOME=/home/ubuntu", "-e", "RAY_DEDUP_LOGS=0", f"bed-{fleet_.head}", "bash", "-lic",
             f"exec python3 -u ray_train.py --storage {there} --workers 2 {COUNT} "
             f"--steps {steps} --step-seconds {STEP} --log {there}/steps"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace")
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        """Keep a line once: Ray shows what workers print twice, from the output and from a log."""
        for line in self.child.stdout:
            now, line = time.time(), line.rstrip("\n")
            if not any(at > now - SAME and line == other for at, other in self.lines[-200:]):
                self.lines.append((now, line))

    def wait(self, pattern, seconds, since=0.0, count=1):
        """Wait for lines of the output that match. Return their times and matches."""
        found = re.compile(pattern)

        def look():
            rows = [(at, m) for at, line in list(self.lines) if at >= since
                    and (m := found.search(line))]
            assert len(rows) >= count or self.child.poll() is None, (
                "the run has ended", self.text()[-4000:])
            return rows if len(rows) >= count else None
        try:
            return driver.wait_for(look, seconds, 0.2, f"{count} lines like {pattern!r}")
        except AssertionError as error:
            raise AssertionError(f"{error}; output: {self.text()[-4000:]}") from None

    def wait_steps(self, count):
        self.wait(STARTED.pattern, 90, count=COUNT)
        driver.wait_for(lambda: len(self.steps()) >= count, 60, 0.5, f"{count} steps")

    def text(self):
        return "\n".join(f"{at:.1f} {line}" for at, line in list(self.lines))

    def groups(self, since=0.0):
        """{time of the first rank: {rank: (host, step)}}: a group per start of all workers."""
        rows = [(at, STARTED.search(line)) for at, line in list(self.lines)]
        made = collections.OrderedDict()
        for at, m in rows:
            if not m or at < since:
                continue
            last = next(reversed(made), None)
            if last is None or int(m[1]) in made[last]:
                made[at] = {}
                last = at
            made[last][int(m[1])] = (m[3], int(m[4]))
        return made

    def steps(self):
        """[(time, step, number of workers)], from rank 0."""
        path = self.folder / "steps"
        rows = path.read_text(encoding="ascii").splitlines() if path.exists() else []
        return [(float(at), int(step), int(size)) for at, step, size in map(str.split, rows)]

    def close(self):
        if self.child.poll() is None:
            self.child.kill()


def result_of(run, began, deadline):
    """What the notice cost: the pause, and the steps that were done twice."""
    before = [row for row in run.steps() if row[0] < deadline + 1]
    after = [row for row in run.steps() if row[0] > before[-1][0]]
    return {"pause": after[0][0] - before[-1][0], "lost": before[-1][1] + 1 - after[0][1],
            "stopped": before[-1][0] - began, "resumed": after[0][0] - began,
            "workers": after[0][2]}


@pytest.fixture(scope="module")
def trained(running_bed, aws, tmp_path_factory):
    """A cluster whose three workers were requested in advance."""
    driver.client.up(["base", "ray", "train"], seconds=3600)
    cluster_conftest._bed.empty(running_bed)
    share(running_bed)
    on = driver.Laptop(tmp_path_factory.mktemp("fleet"))
    made = cluster_conftest.Cluster(on, files.impatient(config()), running_bed, aws)
    made.up()
    one = fleet.Fleet(made, COUNT + 1)
    yield one
    one.agent.close()
    running_bed.reset()


def check_answers(made):
    """Shoal knows whose request it is. The request is the same as the run's."""
    said = made("explain", "CPU").out
    assert re.search(r"A Ray Train run is active \(job [0-9a-f]{8}, python3 -u ray_train\.py", said)
    told = made("request-resources", "--num-cpus", str(COUNT)).err
    assert re.search(r"warning: a Ray Train run is active \(job [0-9a-f]{8}\)", told), told


def notice(spotted, run, victim_is_first):
    """Give notice to a node of the run. Return (instance, node id, time of the notice)."""
    hosts = next(reversed(run.groups().values()))
    host = next(hosts[rank][0] for rank in sorted(hosts) if (rank == 0) == victim_is_first)
    victim = next(i["InstanceId"] for i in spotted.workers() if fleet.host_of(i) == host)
    node = next(n["id"] for n in spotted.agent.alive() if n["instance"] == victim)
    spotted.bed.set(boot_delay=BOOT)
    began = time.time()
    spotted.bed.notice(victim, seconds=NOTICE_SECONDS)
    return victim, node, began


def play(spotted, victim_is_first):
    spotted.made("request-resources", "--num-cpus", str(COUNT))
    spotted.wait_workers(COUNT, 90)
    run = Run(spotted)
    try:
        run.wait_steps(20)
        check_answers(spotted.made)
        victim, node, began = notice(spotted, run, victim_is_first)
        deadline = began + NOTICE_SECONDS
        launched = driver.wait_for(lambda: spotted.launches(began), 30, 0.1, "the replacement")[0]
        seen = run.wait(r"notice: rank (\d+) ", 40, began, COUNT)
        saved = run.wait(r"saved: step (\d+), on the notice", 40, began)[0]
        joined = driver.wait_for(
            lambda: [at for at in spotted.made.registered() if at > began], 100, 0.5,
            "the replacement in Ray")[0]
        again = run.wait(STARTED.pattern, NOTICE_SECONDS + 120, saved[0], COUNT)
        run.wait(r"done: step (\d+)", 180)
        drained = [at for at, who in spotted.drains(began) if who == node]
        cost = result_of(run, began, deadline)
        print(f"boot {BOOT:.0f} s; victim {'with' if victim_is_first else 'without'} rank 0; "
              f"seconds after the notice: drained {drained[0] - began:.1f}, replacement asked for "
              f"{launched - began:.1f}, seen by all ranks {seen[-1][0] - began:.1f}, saved "
              f"{saved[0] - began:.1f}, replacement joined {joined - began:.1f}, last step "
              f"{cost['stopped']:.1f}, first step of {cost['workers']} workers "
              f"{cost['resumed']:.1f}; pause {cost['pause']:.1f} s, {cost['lost']} steps done "
              f"again; load {os.getloadavg()[0]:.1f}")
        assert {int(m[1]) for _, m in seen} == set(range(COUNT))
        assert launched - began <= ASKED and saved[0] - began <= SAVED
        assert joined < deadline
        assert len(run.groups(began)) == 1, run.groups(began)
        assert cost["workers"] == COUNT and len(again) == COUNT
        assert cost["lost"] <= (LAST_SAVE + 3) / STEP
        assert len(spotted.launches(began)) == 1, "more than one replacement"
        driver.wait_for(lambda: spotted.lives()[victim][1], 30, 0.2, "the end of its machine")
        spotted.check()
    finally:
        run.close()
        spotted.bed.set(boot_delay=0)


@pytest.mark.long(seconds=300)
def test_a_notice_to_the_node_of_another_rank(trained):
    play(trained, False)


@pytest.mark.long(seconds=300)
def test_a_notice_to_the_node_of_rank_0(trained):
    play(trained, True)


@pytest.mark.long(seconds=400)
def test_the_same_with_rays_launcher(running_bed, tmp_path):
    """Nothing of Ray reads the notice: measures what the interruption costs then."""
    driver.client.up(["base", "ray", "train"], seconds=3600)
    rival = contest.Contest(tmp_path)
    rival.prepare()
    share(rival.bed)
    with rival.ray(lambda key: files.for_both(config(), contest.KEY_NAME, key)) as (up, _):
        up()
        rays = fleet.Fleet(contest.Made(rival, "train"), COUNT + 1)
        rays.agent.tasks("first", COUNT, 5, max_retries=3)
        rays.wait_workers(COUNT, 180)
        rays.agent.done("first", 60)
        run = Run(rays, 10 * STEPS)
        try:
            run.wait_steps(20)
            _, _, began = notice(rays, run, False)
            deadline = began + NOTICE_SECONDS
            time.sleep(deadline - time.time() - 2)
            assert not rays.drains(began) and not rays.launches(began), "it has heard of it"
            assert not [line for _, line in run.lines if "notice: rank" in line]
            driver.wait_for(lambda: [row for row in run.steps() if row[0] > deadline + 5
                                     and row[2] == COUNT], 400, 1, "steps of all workers again")
            cost = result_of(run, began, deadline)
            full = next(row for row in run.steps() if row[0] > deadline + 5 and row[2] == COUNT)
            launched = [at - began for at in rays.launches(began)]
            print(f"boot {BOOT:.0f} s; with Ray's launcher; seconds after the notice: replacement "
                  f"asked for {launched}, last step {cost['stopped']:.1f}, first step of "
                  f"{cost['workers']} "
                  f"workers {cost['resumed']:.1f}, of {COUNT} {full[0] - began:.1f}; pause "
                  f"{cost['pause']:.1f} s, {cost['lost']} steps done again; "
                  f"{len(run.groups(began))} restarts; load {os.getloadavg()[0]:.1f}")
        finally:
            run.close()
            rays.bed.set(boot_delay=0)
            rays.agent.close()
    running_bed.reset()
