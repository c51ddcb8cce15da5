"""Shoal reports as Ray does: `ray status`, drivers' messages, the dashboard."""

import json
import re
import time

import driver
import files
import pytest
import status_states


@pytest.fixture(scope="module")
def told(make_fleet):
    return make_fleet(files.impatient(status_states.config()))


def test_ray_status_is_as_with_rays_monitor(told):
    """Each state in turn; Ray's own monitor wrote the golden text."""
    found = status_states.text_of(status_states.states(told.bed, told.head, 5))
    assert found == status_states.GOLDEN.read_text(encoding="utf-8")


def test_lines_of_a_driver(told):
    """Each addition and removal is printed once, in Ray's words."""
    told.bed.set(boot_delay=0)
    told.agent.ask("request", bundles=[])
    began = time.time()
    told.agent.tasks("work", 2, 0.5)
    told.agent.done("work", 60)
    told.wait_empty(30)
    told.agent.line(r"\(autoscaler \+[\dms]+\) Removing 1 nodes? of type worker \(idle", 10, began)
    lines = [re.sub(r"^\(autoscaler \+\S+\) ", "", line)
             for line in told.agent.autoscaler_lines(began) if "Tip:" not in line]
    assert sum("Adding 1 node(s) of type worker" in line for line in lines) == 1, lines
    assert sum("Removing 1 node" in line for line in lines) == 1, lines
    assert not any("No available node types" in line for line in lines), lines


# ---- the dashboard ----

DASHBOARD = '''
import json, urllib.request, os
head = {"User-Agent": "test"}
path = os.path.expanduser("~/.ray/auth_token")
token = os.environ.get("RAY_AUTH_TOKEN", "")
if not token and os.path.exists(path):
    token = open(path).read().strip()
if token:
    head["Authorization"] = "Bearer " + token
ask = urllib.request.Request("http://127.0.0.1:8265/api/cluster_status?format=1", headers=head)
print(urllib.request.urlopen(ask, timeout=10).read().decode())
'''


def dashboard(head):
    return driver.in_machine(head, "bash", "-lic", "python3 -", text=DASHBOARD, check=False)


@pytest.mark.long
def test_the_dashboard_shows_what_comes(make_fleet):
    config = files.scaling("dashboard", 1, 0.1)
    start = config["head_start_ray_commands"]
    start[1] = start[1].replace("--include-dashboard=false", "--include-dashboard=true")
    shown = make_fleet(files.impatient(config))
    shown.bed.set(boot_delay=15)
    shown.agent.tasks("work", 1, 1)
    said = driver.wait_for(lambda: re.search(r"Pending:\s*\n?\s*.*worker", text := dashboard(
        shown.head).replace("\\n", "\n")) and text, 30, 0.5, "pending nodes on the dashboard")
    print(said if len(said) < 4000 else json.dumps(said)[:4000])
    shown.agent.done("work", 90)
