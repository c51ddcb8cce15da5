"""No silent churn: a failure that will repeat is reported at once, launches stop, and `status` says
why.

Four causes, each on the head and on a worker: a setup command that always fails, no capacity, an
sshd that never starts, a full disk. `up` names the cause within seconds of the instance's first
answer and exits with 1; at most three instances of the node type are ever launched, also if the
service has time for more; `status` says why there are no more.
"""

import time

import pains
import pytest
from front import LIVE, TIMES, Front, wait_for

MACHINE = "m5.xlarge"  # used only by the failing node type
SSH_SECONDS = 4        # instead of 15 minutes: Ray's variable
SOON = 60              # from the launch to the cause in the terminal; 1 to 5 s on a quiet host
STOPPED = ("no more launches after 3 failures; fix what failed (shoal explain shows it) and run "
           "shoal up")
# cause: (what `up` says within seconds, what it says when it gives up, what `status` says).
SAID = {
    "setup": ("exit 7", "exit 7", "exit 7"),
    "capacity": ("InsufficientInstanceCapacity", "InsufficientInstanceCapacity|cannot be launched",
                 "InsufficientInstanceCapacity|no capacity"),
    "no-sshd": ("(?i)connection refused", f"did not answer over ssh for {SSH_SECONDS} s",
                "(?i)connection refused"),
    "disk-full": ("No space left on device", "No space left on device", "No space left on device"),
}


@pytest.fixture
def front():
    """A front whose services act soon after their start, not after 20 s."""
    with Front(times=TIMES + ",quiet_start=1000") as made:
        yield made


def scene(front, kind, cause):
    """The cluster file for this failure on the head or on a worker."""
    content = front.cluster("demo", workers=1)
    node = content["available_node_types"][kind]
    node["node_config"] = {**node["node_config"], "InstanceType": MACHINE}
    if cause == "setup":
        content[f"{kind}_setup_commands"] = ["echo broken; exit 7"]
    elif cause == "capacity":
        front.capacity(0, type=MACHINE)
    else:
        front.launch_fault(cause, type=MACHINE, count=0)
    return front.laptop().file("cluster.yaml", content)


def launched(front):
    """Instances of the failing node type, including terminated ones."""
    return [m for m in front.machines(states=(*LIVE, "terminated")) if m.type == MACHINE]


def up(front, file, cause):
    """Run `up`; return how long after the first launch (or its refusal) the terminal showed the
    cause.
    """
    began = time.time()
    env = {"AUTOSCALER_NODE_START_WAIT_S": str(SSH_SECONDS if cause == "no-sshd" else 120)}
    got = pains.run(front, "shoal", "up", "-y", file, cause=SAID[cause][0], env=env)
    calls = [row["at"] for row in front.calls(action="RunInstances", since=began)]
    assert got.noticed is not None, got.text
    return got, began + got.noticed - min(calls, default=began)


def status(front, file):
    done = front.laptop().run("status", file)
    return done.out + done.err


def has(pattern, text):
    return bool(pains.re.search(pattern, text))


@pytest.mark.parametrize("cause", SAID)
def test_a_worker_that_can_never_work(front, cause):
    file = scene(front, "worker", cause)
    got, seconds = up(front, file, cause)
    assert got.status == 1 and has(SAID[cause][1], got.text), got.text
    # A worker is set up after the head: that part of the time belongs to the head.
    assert seconds < 2 * SOON, (seconds, got.text)
    if cause == "capacity":
        assert launched(front) == []
        wait_for(lambda: has(SAID[cause][2], status(front, file)), 120, 2, "a reason in status")
        return
    try:
        wait_for(lambda: len(launched(front)) >= 3 and [m.kind for m in front.alive()] == ["head"],
                 400, 0.5, "the end of the third worker")
    except AssertionError as why:
        raise AssertionError(f"{[m.row for m in launched(front)]}\n{status(front, file)}") from why
    wait_for(lambda: STOPPED in status(front, file), 120, 2, "the stop of the node type")
    text = status(front, file)
    assert has(SAID[cause][2], text), text
    assert len(launched(front)) == 3 and [m.kind for m in front.alive()] == ["head"], \
        [m.row for m in launched(front)]


@pytest.mark.parametrize("cause", SAID)
def test_a_head_that_can_never_work(front, cause):
    file = scene(front, "head", cause)
    got, seconds = up(front, file, cause)
    assert got.status == 1 and has(SAID[cause][1], got.text), got.text
    assert seconds < SOON, (seconds, got.text)
    assert len(launched(front)) == (0 if cause == "capacity" else 1)
    text = status(front, file)
    told = "error: head (" if cause == "setup" else "the last `shoal up` failed"
    assert told in text and has(SAID[cause][2], text), text
    # A second `up`: the same head, no further instance of any type.
    before = len(front.machines(states=(*LIVE, "terminated")))
    got, _ = up(front, file, cause)
    assert got.status == 1 and has(SAID[cause][1], got.text), got.text
    assert len(front.machines(states=(*LIVE, "terminated"))) == before <= 3
    # The cause is fixed: `status` no longer shows the last failure.
    front.laptop()("down", "-y", file)
    assert front.remains() == {}
    assert "the last `shoal up`" not in status(front, file)
