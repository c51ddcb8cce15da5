"""Attacks on the lease (lease.py): a process that may have lost it creates nothing."""

import os

import pytest
from front import wait_for
from lease import LIVE, NAME, Scene, creates, held_call, judge, many, surplus, wait_for_all

# The last call of `up` before its launches: the policy names the security group, made before it.
PREPARED = "PutRolePolicy"


def heads(scene):
    """All heads that were ever launched."""
    return [m for m in scene.front.machines(NAME, (*LIVE, "terminated")) if m.kind == "head"]


def alice_at(scene, action, after=True, contains=""):
    """Alice's `up` at a call that has taken effect but is not answered; or the call itself is
    delayed.
    """
    scene.front.ask("hold", action=action, identity="alice", after=after, contains=contains)
    alice = scene.up("alice")
    assert held_call(scene.front, alice) == action, str(alice)
    return alice


def goes_on(scene, alice):
    scene.front.ask("release")
    if scene.sleeps:
        scene.resume(alice)
    return alice.wait()


def is_ended(scene):
    down = scene.down("carol")
    assert down.wait() == 0, str(down)
    assert scene.front.remains() == {}
    return True


@pytest.mark.parametrize("seconds", [292, pytest.param(3600, marks=pytest.mark.long)])
def test_a_laptop_that_slept_launches_no_second_head(seconds):
    with Scene() as scene:
        alice = alice_at(scene, PREPARED)
        scene.suspend(alice, seconds)
        scene.second_laptop("second", "alice")
        second = scene.up("second")
        assert second.wait() == 0, str(second)
        before = len(scene.front.calls())
        assert goes_on(scene, alice) == 1, str(alice)
        assert len(heads(scene)) == 1, f"{heads(scene)}\n{alice}"
        late = [row["action"] for row in scene.front.calls()[before:]
                if row["as"] == "alice" and creates(row) and row.get("fault") != "hold"]
        assert late == []
        assert "lost the cluster's lease" in str(alice)
        assert judge(scene, 0.05) == []
        assert is_ended(scene)


def test_a_head_whose_launch_arrives_late_is_terminated():
    """It was sent in time; while it is in transit, the laptop sleeps and another head starts."""
    with Scene() as scene:
        alice = alice_at(scene, "RunInstances", after=False, contains="Value=head")
        scene.suspend(alice, 120)
        scene.second_laptop("second", "alice")
        second = scene.up("second")
        assert second.wait() == 0, str(second)
        used = scene.front.head(NAME).id
        assert goes_on(scene, alice) == 1, str(alice)
        wait_for(lambda: len(heads(scene)) == 2, 20, what="the late launch")
        assert surplus(scene.front) == [], str(alice)
        assert scene.front.head(NAME).id == used
        assert judge(scene, 0.05) == []
        assert is_ended(scene)


def role_changes(scene, name):
    return [row for row in scene.front.calls() if row["as"] == name
            and row["action"] == "PutRolePolicy" and row.get("fault") != "hold"]


def test_the_role_changes_under_the_lease_of_the_heads_service():
    """A second laptop's `up`: the head may not change its own role."""
    with Scene() as scene:
        assert scene.up("alice").wait() == 0
        scene.second_laptop("second", "alice")
        second = scene.up("second")
        assert second.wait() == 0, str(second)
        assert len(role_changes(scene, "second")) == 1, str(second)
        assert judge(scene, 0.05) == []
        assert is_ended(scene)


@pytest.mark.parametrize("is_down", [False, True])
def test_a_role_is_not_changed_after_a_sleep(is_down):
    """The lease of the service that was read before it has ended, or nothing is left."""
    with Scene() as scene:
        assert scene.up("alice").wait() == 0
        scene.second_laptop("second", "alice")
        scene.front.ask("hold", action="GetRole", identity="second", after=True)
        second = scene.up("second")
        assert held_call(scene.front, second) == "GetRole", str(second)
        scene.suspend(second, 120)
        if is_down:
            down = scene.down("carol")
            assert down.wait() == 0, str(down)
        assert goes_on(scene, second) == 1, str(second)
        assert role_changes(scene, "second") == []
        assert is_down or "run shoal up again" in str(second), str(second)
        assert judge(scene, 0.05) == []
        assert is_down or is_ended(scene)
        assert scene.front.remains() == {}


@pytest.mark.parametrize("ahead", [150])
def test_a_fast_clock_does_not_take_a_live_lease(ahead):
    with Scene(skews={"second": ahead}) as scene:
        alice = alice_at(scene, PREPARED)
        scene.second_laptop("second", "alice")
        second = scene.up("second")
        assert second.wait() == 1, str(second)
        assert [row for row in scene.front.calls() if row["as"] == "second"
                and (row.get("lease") or creates(row))] == [], str(second)
        assert goes_on(scene, alice) == 0, str(alice)
        assert len(heads(scene)) == 1
        assert judge(scene, 0.05) == []
        assert is_ended(scene)


def test_a_deleted_lease_object_is_no_second_cluster():
    with Scene() as scene:
        alice = alice_at(scene, "RunInstances")
        assert scene.front.ask("delete_templates")["names"] == [f"shoal-anchor-{NAME}"]
        scene.front.ask("release")
        assert wait_for_all(scene, [alice]) == [], str(alice)
        again = scene.up("alice")
        assert again.wait() == 0, f"{alice}{again}"
        assert len(heads(scene)) == 1, f"{alice}{again}"
        assert len({m.tag("shoal-cluster-uid") for m in scene.front.alive(NAME)}) == 1
        assert judge(scene, 0.05) == []
        assert is_ended(scene)


def test_a_second_laptop_at_the_handover():
    """It finds the lease with the first laptop, or with the head's service."""
    _, reached, broken = many([268])
    assert not broken and reached == 1, broken


def test_ten_schedules():
    ran, reached, broken = many(range(1, 11), jobs=2)
    assert not broken, "\n".join(f"{seed}: {wrong}" for seed, wrong in broken.items())
    assert reached >= 5


@pytest.mark.long
def test_three_hundred_schedules():
    ran, reached, broken = many(range(1, 301), jobs=int(os.environ.get("JOBS", "2")))
    print(f"{ran} schedules, {reached} reached their attack, {len(broken)} broken")
    assert not broken, "\n".join(f"{seed}: {wrong}" for seed, wrong in broken.items())
