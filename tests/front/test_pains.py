"""Failures that users of `ray up` report: when Shoal names the cause, and what exists by then.

`front_long` runs real Ray as well and prints both transcripts (docs/user/failures.md).
"""

import re

import pains
import pytest
from front import wait_for

# Found before anything is created.
BEFORE = {
    "no_public_subnet": "assigns no public addresses  -> provider.use_internal_ips: true",
    "no_credentials": "AWS_ACCESS_KEY_ID is not set",
    "wrong_architecture": "is for arm64, but m5.large runs x86_64",
}


@pytest.mark.parametrize("name", BEFORE)
def test_it_is_found_before_anything_is_created(front, name):
    got = pains.SCENES[name](front, "shoal")
    assert got.status == 1 and BEFORE[name] in got.text, got.text
    assert "nothing was created" in got.text
    assert got.existed == {} and got.left == {}


def test_a_region_without_rays_image_is_no_obstacle(front):
    got = pains.no_default_image(front, "shoal")
    assert got.status == 0 and "demo is up" in got.text, got.text


def test_a_missing_program_is_named_with_its_line(front):
    got = pains.no_pip(front, "shoal")
    assert got.status == 1, got.text
    for words in ("output    bash: pip-of-no-image: command not found", "set in    cluster.yaml:",
                  "install it in setup_commands before it is used", "shoal down cluster.yaml"):
        assert words in got.text, got.text


def test_a_failed_worker_is_kept_for_inspection(front):
    laptop = front.laptop()
    config = front.cluster("kept", workers=1, worker_setup_commands=["echo broken >&2; exit 3"])
    file = laptop.file("cluster.yaml", config)
    done = laptop.run("up", "-y", "--keep-failed", "40s", file)
    assert done.status == 1, done
    worker = next(m for m in front.alive("kept") if m.kind == "worker")
    said = re.search(r"kept +until \d\d:\d\d UTC; open a shell: shoal attach \S+ (\S+)", done.err)
    assert said, done
    assert said[1] in laptop.run("status", file).out
    assert laptop.run("attach", file, said[1], text="hostname; exit\n").out.split()
    wait_for(lambda: worker.id not in [m.id for m in front.alive("kept")], 120, 0.2, "its end")
    laptop("down", "-y", file)
    assert front.remains() == {}


@pytest.mark.long
@pytest.mark.parametrize("name", pains.SCENES)
def test_both_tools(name):
    ours = pains.show(name)["shoal"]
    assert ours.status == (1 if name in BEFORE or name == "no_pip" else 0), ours.text
    if name == "down_leaves":
        assert ours.left == {}
