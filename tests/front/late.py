"""A call of Alice's `up` takes effect at once, and its answer comes late: see check()."""

from front import LIVE, wait_for
from gce_front import GceFront
from lease import COMMAND_SECONDS, NAME, RAY_RUNS, Command, Scene

SLEEP = 120  # longer than a lease
# Alice's clock alone passes the end of her lease. The cloud accepts a difference of five minutes.
HANDED = 130


class AwsScene(Scene):
    states = (*LIVE, "terminated")

    def hold(self, action, contains):
        self.front.ask("hold", action=action, identity="alice", after=True, contains=contains)

    def is_held(self):
        return bool(self.front.ask("held")["action"])


class GceScene(Scene):
    front_class, states = GceFront, None

    def hold(self, action, contains):
        self.front.fault(action, "hold", identity="*alice*", after=True, contains=contains, count=0)

    def is_held(self):
        held = bool(self.front.held()["actions"])
        if held:
            self.front.clear()  # no other call
        return held

    def down(self, name):
        laptop = self.laptop(name)
        return Command(laptop, "down", "-y", laptop.file("cluster.yaml", self.config))


def alive(scene):
    return {machine.id if machine.row.get("id") is None else machine.row["id"]
            for machine in scene.front.alive(NAME)}


def has_ray(scene):
    """After the handover only."""
    return any((machine.home / RAY_RUNS).exists() for machine in scene.front.alive(NAME)
               if machine.kind == "head")


def goes_on(scene, alice):
    scene.front.ask("release")
    if scene.sleeps:
        scene.resume(alice)
    return alice.wait()


def ended(scene, alice):
    """The lease ends while she sleeps, and no other command runs. Her next `up` continues."""
    scene.suspend(alice, SLEEP)
    used = alive(scene)
    goes_on(scene, alice)
    again = scene.up("alice")
    assert again.wait() == 0, f"{alice}{again}"
    return used


def takeover(scene, alice):
    """Her second laptop sets the cluster up while she sleeps."""
    scene.suspend(alice, SLEEP)
    scene.second_laptop("second", "alice")
    second = scene.up("second")
    assert second.wait() == 0, f"{alice}{second}"
    used = alive(scene)
    assert goes_on(scene, alice) == 1, str(alice)
    return used


def handover(scene, alice):
    """Her `up` goes on: the head's service has the lease and the worker."""
    wait_for(lambda: has_ray(scene) or alice.is_over(), COMMAND_SECONDS, 0.05, "the handover")
    used = alive(scene)
    scene.clocks["alice"].jump(HANDED)
    assert goes_on(scene, alice) == 0, str(alice)
    return used


def check(scene, call, moment):
    """`call`: (action, a part of its body)."""
    scene.hold(*call)
    alice = scene.up("alice")
    wait_for(lambda: scene.is_held() or alice.is_over(), COMMAND_SECONDS, 0.02, f"{call}")
    assert not alice.is_over(), str(alice)
    used = {"ended": ended, "takeover": takeover, "handover": handover}[moment](scene, alice)
    assert used <= alive(scene), f"{used - alive(scene)} deleted\n{alice}"
    kinds = sorted(machine.kind for machine in scene.front.alive(NAME))
    assert kinds == ["head", "worker"], f"{kinds}\n{alice}"
    down = scene.down("carol")
    assert down.wait() == 0, str(down)
    assert scene.front.remains() == {}
    assert "bug" not in scene.front.log()
