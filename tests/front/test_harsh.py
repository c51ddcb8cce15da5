"""Launches on a cloud as slow as AWS: everything is delayed at the same time.

Listings, tags, template versions, IAM and public addresses lag, and a termination takes long. The
program uses its production timeouts here. CI uses a fifth of the delays.
"""

import pytest
from front import LIVE, Front, settings, wait_for


def scaled(share):
    return {name: value * share for name, value in settings.HARSH.items()}


def harsh(share):
    """A front with this fraction of the real delays."""
    return Front(times="horizon=15000,call_timeout=15000" if share < 1 else "", **scaled(share))


def up_and_down(share, seconds):
    with harsh(share) as front:
        laptop = front.laptop()
        file = laptop.file("cluster.yaml", front.cluster("late", workers=2))
        laptop("up", "-y", file, seconds=seconds)
        assert sorted(m.kind for m in front.alive()) == ["head", "worker", "worker"]
        assert len(front.machines(states=(*LIVE, "terminated"))) == 3, "one too many"
        # A later `up` finds what exists, however late it is visible.
        laptop("up", "-y", file, seconds=seconds)
        assert len(front.alive()) == 3
        laptop("down", "-y", file, seconds=seconds)
        assert front.remains(seconds=60) == {}


def start_for_a_command(share, seconds, *words):
    """`exec --start` launches the cluster if it does not exist."""
    with harsh(share) as front:
        laptop = front.laptop()
        file = laptop.file("cluster.yaml", front.cluster("late", workers=0))
        done = laptop(words[0], "--start", file, *words[1:], seconds=seconds)
        assert "it-runs-there" in done.out
        assert [m.kind for m in front.alive()] == ["head"]
        laptop("down", "-y", file, seconds=seconds)
        assert front.remains(seconds=60) == {}


def test_up_a_fifth_as_late_as_aws():
    up_and_down(0.2, 240)


def test_exec_start_a_fifth_as_late_as_aws():
    start_for_a_command(0.2, 240, "exec", "echo it-runs-there")


@pytest.mark.long
def test_up_as_late_as_aws():
    up_and_down(1.0, 400)


@pytest.mark.long
def test_exec_start_as_late_as_aws():
    start_for_a_command(1.0, 400, "exec", "echo it-runs-there")


def killed_after_both_launches(front, number):
    """A laptop whose `up` died with the N-th answer to RunInstances; refused calls count too. Their
    number depends on how soon IAM shows the new profile, so `up` may also end without one."""
    laptop = front.laptop()
    file = laptop.file("cluster.yaml", front.cluster("spent", workers=1))
    point = f"up:aws:RunInstances:reply#{number}"
    done = laptop.run("up", "-y", file, env={"SHOAL_FAILPOINT": point})
    assert done.status in (-9, 0), str(done)
    return laptop, file, [m.id for m in front.alive()] if done.status == -9 else []


def test_a_token_whose_instances_are_gone():
    """`up` is killed after its launches; a user terminates the instances in the console; `up` runs
    again.
    """
    for number in (2, 3, 4, 5) * 3:
        with Front() as front:
            laptop, file, first = killed_after_both_launches(front, number)
            if len(first) < 2:
                continue
            for ident in first:
                front.ask("terminate", instance=ident)
            wait_for(lambda: not front.machines(), 20, what="their end")
            laptop("up", "-y", file)
            assert sorted(m.kind for m in front.alive()) == ["head", "worker"]
            assert "IdempotentInstanceTerminated" in {
                row.get("refused") for row in front.calls(action="RunInstances")}
            laptop("down", "-y", file)
            assert front.remains() == {}
            return
    raise AssertionError("no launch was answered")
