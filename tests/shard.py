"""One file of tests as several tests of the build, which run at the same time: `--shard 2/3`.

For a conftest.py: its pytest_addoption() calls add_option(), its pytest_collection_modifyitems()
calls keep_shard() first.
"""

import re


def shard_of(items, shard):
    """Every M-th item, beginning with the N-th, of shard "N/M"."""
    number, count = (int(word) for word in re.fullmatch(r"(\d+)/(\d+)", shard).groups())
    if not 1 <= number <= count:
        raise ValueError(f"there is no shard {shard}")
    return items[number - 1::count]


def add_option(parser):
    parser.addoption("--shard", metavar="N/M", default="1/1", help="run every M-th test only")


def keep_shard(config, items):
    kept = shard_of(items, config.getoption("--shard"))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
