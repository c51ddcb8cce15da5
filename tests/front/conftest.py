"""Fixtures for clusters without containers. If no front can be created, a test that needs one is
skipped; with SHOAL_REQUIRE_BED=1, as in CI, it fails.
"""

import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import gce_front  # noqa: E402
import shard  # noqa: E402
from front import Front, missing, zygote  # noqa: E402


def pytest_addoption(parser):
    shard.add_option(parser)


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes more than a minute")
    if not missing():
        for kind in {"gce" if "test_gce" in word else "aws" for word in config.args}:
            zygote(kind)  # loads while pytest collects tests


@pytest.hookimpl(trylast=True)  # so that shards of what -k and -m select have the same size
def pytest_collection_modifyitems(config, items):
    shard.keep_shard(config, items)
    if os.environ.get("SHOAL_REQUIRE_BED") == "1":
        return
    for item in items:
        why = gce_front.missing() if "test_gce" in item.nodeid else missing()
        if why:
            item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture
def front():
    """A new front for each test, with short delays."""
    with Front() as made:
        yield made
