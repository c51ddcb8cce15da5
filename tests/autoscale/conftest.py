"""The autoscaler on the bed, with real Ray: clusters that scale, shared by the tests of a file.

SHOAL_REQUIRE_BED  1: a machine that cannot have a bed is a failure, not a skip
SHOAL_BED_KEEP     1: the bed stays up after the tests
"""

import importlib.util
import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
CLUSTER = os.path.join(HERE, "..", "cluster")
sys.path[:0] = [HERE, CLUSTER]


def _cluster_fixtures():
    """tests/cluster/conftest.py under another name: this file is `conftest` here."""
    path = os.path.join(CLUSTER, "conftest.py")
    spec = importlib.util.spec_from_file_location("cluster_conftest", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["cluster_conftest"] = module
    spec.loader.exec_module(module)
    return module


_cluster = _cluster_fixtures()
aws, ec2, bed, key_files = _cluster.aws, _cluster.ec2, _cluster.bed, _cluster.key_files
running_base_bed, running_bed = _cluster.running_base_bed, _cluster.running_bed
bounded, laptop, cluster = _cluster.bounded, _cluster.laptop, _cluster.cluster
pytest_configure = _cluster.pytest_configure

import driver  # noqa: E402
import fleet  # noqa: E402

@pytest.fixture(scope="module")
def make_fleet(running_bed, aws, tmp_path_factory):
    """make_fleet(config): a running cluster, kept until the end of the file."""
    made = []

    def make(config):
        _cluster._bed.empty(running_bed)
        on = driver.Laptop(tmp_path_factory.mktemp("fleet"))
        cluster = _cluster.Cluster(on, config, running_bed, aws)
        cluster.up()
        made.append(fleet.Fleet(cluster, config["max_workers"]))
        return made[-1]

    yield make
    for one in made:
        one.agent.close()
    running_bed.reset()
