"""Whole clusters on Google Compute Engine's stand-in: the head and its workers, from up to down."""

import pytest

import gce_front


@pytest.fixture(name="front")
def _front():
    assert gce_front.missing() is None, gce_front.missing()
    with gce_front.GceFront() as front:
        yield front


def test_up_to_down(front):
    laptop = front.laptop("alice")
    file = laptop.file("cluster.yaml", front.cluster("demo", workers=2))
    done = laptop("up", "-y", file)
    assert "demo is up: 3 nodes" in done.err
    assert sorted(m.kind for m in front.alive("demo")) == ["head", "worker", "worker"]
    head = next(m for m in front.alive("demo") if m.kind == "head")
    assert laptop("exec", file, "hostname").out.strip() == head.name
    assert laptop("status", file).out.count("ready") == 3
    laptop("down", "-y", file)
    assert front.remains() == {}
    assert "bug" not in front.log()
