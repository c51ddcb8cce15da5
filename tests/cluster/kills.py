"""One cluster that survives many kills: at each failpoint of a list, one of its processes is killed
with SIGKILL, and the command that was running is run again.

A list has rows (what, point). `what` is `up`, `down`, or the name of a change to the cluster file,
after which `up` runs. A point of the laptop ends its command. After any other point the command
continues, and the next point is armed while it runs. After each kill the cloud's own record is
read: at most one head was ever launched, and no more workers than the file allows.
"""

import collections
import dataclasses
import re
import sys
import time

import driver

sys.path.append(str(driver.HERE.parent / "front"))

from points import RUNNER_IN_DOUBT, Points  # noqa: E402

SECONDS = driver.PATIENCE * 120  # limit of one command, on a machine that is busy with other work
LIVE = ("pending", "running", "stopping", "stopped", "shutting-down")
ON_LAPTOP = ("up:", "down:")
# A kill here makes a step fail: the first `up` that learns of it reports it, the next repeats it.
IN_A_STEP = re.compile("node-(env|ray|probe|gate|start|idle):")
STEP_FAILED = "exit status 137"
STEPS = ["echo step1 >> ~/order", "echo step2 >> ~/order"]


@dataclasses.dataclass
class Run:
    """A command. Its output goes to a file, because its children may outlive it."""
    child: object
    log: object
    kills: int = 0

    def said(self):
        return f"exit {self.child.poll()}:\n{self.log.read_text(errors='replace')[-6000:]}"

    def error(self):
        """The first line of an error, if there was one."""
        lines = self.log.read_text(errors="replace").splitlines()
        return next((line for line in lines if "error: " in line), "")


class Life:
    def __init__(self, made, bed, folder, on_machines=None):
        self.made, self.bed = made, bed
        self.points = Points(folder, on_machines)
        bed.machine_env(**self.points.machine_env)
        self.killed, self.run, self.change = [], None, "up"
        self.failed_steps = 0  # failures that no command has reported yet
        self.began = time.monotonic()

    def tell(self, text):
        print(f"{time.monotonic() - self.began:6.1f} s  {text}", flush=True)

    def wait(self, is_so, what):
        try:
            driver.wait_for(is_so, SECONDS, 0.02, what)
        except AssertionError as late:
            raise AssertionError(f"after {self.killed}: {late}: {self.run.said()}") from None

    # ---- changes to the cluster file ----

    @property
    def workers(self):
        return self.made.config["max_workers"]

    def grow(self):
        self.made.config["available_node_types"]["worker"].update(min_workers=2, max_workers=2)
        self.made.rewrite(max_workers=2)

    def update(self):
        """Add one step for every instance."""
        steps = self.made.config["setup_commands"]
        self.made.rewrite(setup_commands=[*steps, f"echo step{len(steps) + 1} >> ~/order"])

    # ---- commands ----

    def start(self, what):
        if what not in ("up", "down") and what != self.change:
            getattr(self, what)()
        self.change = what
        log = self.made.laptop.folder / f"said-{time.monotonic_ns()}"
        verb = "down" if what == "down" else "up"
        with log.open("wb") as out:
            child = self.made.start(verb, "-y", stdout=out, stderr=out, text=False, env={
                **(driver.SOON if verb == "down" else {}), **self.points.env})
        self.run = Run(child, log)

    def is_running(self):
        return self.run is not None and self.run.child.poll() is None

    def end_of_run(self):
        """Return its exit status. A command without a kill must succeed, unless it reports a step
        that was killed before.
        """
        self.wait(lambda: not self.is_running(), f"the end of {self.change}")
        status = self.run.child.poll()
        self.tell(f"{self.change}: exit {status} {self.run.error()}")
        if status != 0 and self.failed_steps and STEP_FAILED in self.run.said():
            self.failed_steps -= 1
        else:
            assert status == 0 or self.run.kills, f"after {self.killed}: {self.run.said()}"
        return status

    # ---- kills ----

    def kill(self, what, point):
        """Kill one process at the point. An `up` may succeed without reaching the point, because
        earlier kills left nothing to do there; then the next `up` has more to do.
        """
        self.points.arm(point)
        runs = 0
        while self.points.is_armed():
            if not self.is_running():
                assert runs < (1 if what == "down" else 2), \
                    f"{point} was not reached: {self.run.said()}"
                if runs == 1:
                    self.update()
                self.start(what)
                runs += 1
            self.wait(lambda: not (self.is_running() and self.points.is_armed()), point)
            if self.points.is_armed():
                self.end_of_run()
        self.run.kills += 1
        self.killed.append(point)
        self.failed_steps += bool(IN_A_STEP.match(point))
        self.tell(f"{what} killed at {point}")
        if point.startswith(ON_LAPTOP):
            assert self.end_of_run() == -9, f"{point}: {self.run.said()}"
        self.look()

    def finish(self, what):
        """Run the command again, without a kill."""
        if self.is_running():
            self.end_of_run()
        self.start(what)
        while self.end_of_run() != 0:
            self.start(what)
        self.look()

    # ---- invariants ----

    def kinds(self, states):
        """{head or worker: count} of all instances, whatever their tags."""
        return collections.Counter(row["tags"].get("ray-node-type") for row in
                                   self.bed.truth()["instances"] if row["state"] in states)

    def look(self):
        """No instance was launched twice or without a reason."""
        kinds = self.kinds((*LIVE, "terminated"))
        assert kinds["head"] <= 1 and kinds["worker"] <= self.workers and \
            not set(kinds) - {"head", "worker"}, f"after {self.killed}: {kinds}"

    def judge(self):
        """The cluster works: exactly its instances are in Ray and have run their steps."""
        wanted = {"head": 1, "worker": self.workers}
        self.wait(lambda: self.kinds(LIVE) == wanted, f"{wanted}")
        self.wait(lambda: self.made.alive() == 1 + self.workers, "a Ray of the right size")
        doubts = sum(bool(RUNNER_IN_DOUBT.match(point)) for point in self.killed)
        steps = {line.split()[1] for line in self.made.config["setup_commands"]}
        for machine, lines in self.made.orders().items():
            done = collections.Counter(lines)
            assert set(done) == steps, f"{machine} lost steps: {lines}"
            assert max(done.values()) <= 1 + doubts, f"{machine} did steps again: {lines}"

    def play(self, rows):
        """Run all rows in order. Before a different command, finish the last one and check the
        cluster; at the end nothing must be left.
        """
        for what, point in rows:
            if what != self.change:
                self.finish(self.change)
                self.judge()
            self.kill(what, point)
        self.end()

    def end(self):
        """Run `down`; nothing must be left."""
        self.finish("down")
        assert self.bed.remains() == {} and self.made.laptop.leftovers() == [], \
            f"after {self.killed}: {self.bed.remains()}, {self.made.laptop.leftovers()}"
