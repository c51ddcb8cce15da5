"""The metrics compared with those of Ray's own autoscaler, and with their documentation."""

import pathlib
import re
import subprocess

import pytest

import need_ray  # noqa: F401  skips this module without Ray

from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from ray.autoscaler._private.prom_metrics import AutoscalerPrometheusMetrics

from conftest import REPOSITORY, program


@pytest.fixture(scope="module")
def text():
    return subprocess.run([program("tests", "metrics_probe")], stdout=subprocess.PIPE, check=True,
                          encoding="utf-8", timeout=300).stdout


def families(text):
    """{name: (type, labels of its lines)}; a line that cannot be parsed is an error."""
    found = {}
    for family in text_string_to_metric_families(text):
        labels = {frozenset(sample.labels) - {"le"} for sample in family.samples
                  if not sample.name.endswith("_created")}
        found[family.name] = (family.type, labels)
    return {name: kind for name, kind in found.items() if not name.endswith("_created")}


def rays():
    metrics = AutoscalerPrometheusMetrics(session_name="session")
    for gauge in (metrics.pending_nodes, metrics.active_nodes, metrics.recently_failed_nodes):
        gauge.labels(NodeType="x", SessionName="session").set(1)
    for gauge in (metrics.cluster_resources, metrics.pending_resources):
        gauge.labels(resource="CPU", SessionName="session").set(1)
    return generate_latest(metrics.registry).decode()


def test_everything_that_ray_tells_is_told(text):
    ours, theirs = families(text), families(rays())
    assert len(theirs) > 20
    assert {name: ours.get(name) for name in theirs} == theirs


def buckets(text, name):
    return re.findall(rf'^{name}_bucket{{.*?le="([^"]+)"', text, re.MULTILINE)


@pytest.mark.parametrize("name", ["autoscaler_update_time_seconds",
                                  "autoscaler_worker_create_node_time_seconds",
                                  "autoscaler_worker_update_time_seconds"])
def test_the_buckets_are_rays(text, name):
    assert buckets(text, name) == buckets(rays(), name) != []


def test_no_line_is_told_twice(text):
    lines = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(lines) == len(set(lines)) > 50


def documented():
    page = pathlib.Path(REPOSITORY, "docs", "user", "metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (gauge|counter|histogram) \|([^|]*)\|", page, re.MULTILINE)
    return {name: (kind, frozenset(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}


def test_the_documentation_names_all_of_them(text):
    told = {}
    for name, (kind, labels) in families(text).items():
        name += "_total" if kind == "counter" else ""
        told[name] = (kind, frozenset().union(*labels) - {"cluster", "SessionName"})
    assert documented() == told
