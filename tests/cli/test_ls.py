"""`shoal ls` without a cloud: what it says when it cannot ask. With one: tests/bed/test_ls.py."""

import pytest

NOBODY = {"AWS_EC2_METADATA_DISABLED": "true"}


@pytest.mark.parametrize("given", ["", ",", "us-west-2,,x", "us_west_2", "US-WEST-2", "../x",
                                   "a b", "x" * 64])
def test_regions_that_are_none(shoal, given):
    done = shoal("ls", "--region", given, env=NOBODY)
    assert done.returncode == 2 and done.stdout == ""
    assert "--region must be names such as us-west-2,eu-west-1" in done.stderr


@pytest.mark.parametrize("given", ["", ",", "My-Project", "a b", "a/b", "9", "x" * 101])
def test_projects_that_are_none(shoal, given):
    done = shoal("ls", "--project", given, env=NOBODY)
    assert done.returncode == 2 and done.stdout == ""
    assert "--project must be IDs of Google Cloud projects such as my-project-1" in done.stderr


def test_without_credentials_every_source_is_named(shoal, home):
    done = shoal("ls", env=NOBODY)
    assert done.returncode == 1 and done.stdout == ""
    assert "no AWS credentials found" in done.stderr.splitlines()[0]
    for source in ("environment", "credentials-file", "config-file", "instance-metadata"):
        assert f"\n  {source}  " in done.stderr
    assert list(home.iterdir()) == []


def test_a_profile_that_is_not_there(shoal):
    done = shoal("ls", "--profile", "nobody", env=NOBODY)
    assert done.returncode == 1 and '"nobody"' in done.stderr
