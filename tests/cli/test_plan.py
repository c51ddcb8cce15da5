"""`shoal plan` against moto: the checks of `up` come first, and after an error there is no plan."""

import json

import pytest

from moto_cloud import IMAGE
from moto_cluster import FILE, cloud, payloads, server, things  # noqa: F401

MISSING = "ami-0123456789abcdef0"


@pytest.fixture
def run(shoal, write, cloud, payloads):
    def run(verb, *words, image=IMAGE):
        write("x.yaml", FILE.replace(IMAGE, image))
        return shoal(verb, *words, "x.yaml",
                     env={**cloud.environment, "SHOAL_PAYLOADS": str(payloads)})

    return run


def test_a_file_without_errors_has_a_plan(run, cloud):
    done = run("plan", "-o", "json", "--detailed-exitcode")
    assert done.returncode == 2, done.stderr  # standard output has the plan alone
    assert [step["action"] for step in json.loads(done.stdout)["steps"]] == ["launch"]
    assert "error" not in done.stderr and not any(things(cloud).values())


def test_an_error_that_up_would_find(run, cloud):
    done, up = run("plan", "--detailed-exitcode", image=MISSING), run("up", "-y", image=MISSING)
    for each in (done, up):
        assert (each.returncode, each.stdout) == (1, ""), each.stderr
        assert f"error: image {MISSING} does not exist in " in each.stderr, each.stderr
        assert each.stderr.endswith("above; nothing was created\n")
    assert not any(things(cloud).values())
