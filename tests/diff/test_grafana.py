"""Every query of the dashboard, asked of Debian's Prometheus that has read the metrics.

SHOAL_PROMETHEUS          the program; else the one on the PATH
SHOAL_REQUIRE_PROMETHEUS  1: a missing one is a failure, not a skip
SHOAL_METRICS             "host:port" of a service that runs, instead of the probe
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import pytest

from conftest import REPOSITORY, program

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from free_port import free_port  # noqa: E402

FILE = pathlib.Path(REPOSITORY, "docs", "grafana", "shoal.json")
SECONDS_MAX = 240
# What Grafana would insert.
VARIABLES = {"$cluster": ".*", "$__rate_interval": "10s", "$__range": "10s"}


def queries():
    board = json.loads(FILE.read_text(encoding="utf-8"))
    for panel in board["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def prometheus_program():
    path = os.environ.get("SHOAL_PROMETHEUS") or shutil.which("prometheus")
    if path:
        return path
    if os.environ.get("SHOAL_REQUIRE_PROMETHEUS") == "1":
        pytest.fail("Prometheus is required (SHOAL_REQUIRE_PROMETHEUS=1) but not there",
                    pytrace=False)
    pytest.skip("prometheus is not installed")


@contextlib.contextmanager
def metrics():
    """The address where the metrics are served."""
    if os.environ.get("SHOAL_METRICS"):
        yield os.environ["SHOAL_METRICS"]
        return
    with subprocess.Popen([program("tests", "metrics_probe"), "0"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, encoding="utf-8") as probe:
        yield f"127.0.0.1:{int(probe.stdout.readline())}"
        probe.stdin.close()
        assert probe.wait(10) == 0


def ask(server, query):
    url = f"http://{server}/api/v1/query?" + urllib.parse.urlencode({"query": query})
    with urllib.request.urlopen(url, timeout=300) as reply:
        answer = json.load(reply)
    assert answer["status"] == "success", (query, answer)
    return answer["data"]["result"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prometheus")
    where = f"127.0.0.1:{free_port()}"
    with metrics() as target:
        (folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 500ms, scrape_timeout: 500ms}\n"
            f"scrape_configs: [{{job_name: ray, static_configs: [{{targets: ['{target}']}}]}}]\n",
            encoding="utf-8")
        with open(folder / "log", "w", encoding="utf-8") as log, subprocess.Popen(
                [prometheus_program(), f"--config.file={folder}/prometheus.yml",
                 f"--storage.tsdb.path={folder}/data", f"--web.listen-address={where}"],
                stdout=log, stderr=log) as process:
            try:
                wait_for_two_readings(where, folder / "log")
                yield where
            finally:
                process.terminate()
                process.wait(10)


def wait_for_two_readings(where, log):
    until = time.monotonic() + SECONDS_MAX
    while True:
        with contextlib.suppress(OSError):
            counted = ask(where, "count_over_time(shoal_info[1m])")
            if counted and float(counted[0]["value"][1]) >= 4:
                return
        assert time.monotonic() < until, log.read_text(encoding="utf-8")
        time.sleep(0.2)


@pytest.mark.parametrize("title,query", list(queries()), ids=str)
def test_the_query_has_an_answer(server, title, query):
    for name, value in VARIABLES.items():
        query = query.replace(name, value)
    assert "$" not in query
    result = ask(server, query)
    assert result, f"{title}: nothing for {query}"
    if not os.environ.get("SHOAL_METRICS"):
        assert all(sample["value"][1] != "NaN" for sample in result), (title, query, result)


def test_the_variable_has_values(server):
    assert [row["metric"]["cluster"] for row in ask(server, "shoal_info")] != []
    board = json.loads(FILE.read_text(encoding="utf-8"))
    assert board["templating"]["list"][1]["query"] == "label_values(shoal_info, cluster)"


def test_the_panels_do_not_overlap():
    board = json.loads(FILE.read_text(encoding="utf-8"))
    taken = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken and max(x for x, _ in cells) < 24, panel["title"]
        taken |= cells
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
