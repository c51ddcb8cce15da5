"""`shoal top` on terminals of two sizes and in a pipe, with a service that a test plays."""

import json
import os
import re
import signal
import subprocess
import termios
import time

import pytest

from fake_service import FakeService
from terminal import FullScreen, Terminal

NOW = 1794738600000  # 2026-11-15T10:30:00Z on the head's clock, whatever ours says
MINUTE, HOUR = 60_000, 3_600_000
GB = 1 << 30


def node(name, node_type, machine, phase="ready", **more):
    number = 0 if name == "head" else int(name.split("-")[1])
    return {"node": {
        "name": name, "type": node_type, "instance_type": machine, "phase": phase,
        "id": f"i-0f2ab34cd56ef{number:04}", "zone": "us-west-2a",
        "private_ip": f"10.0.0.{4 + number}", "since_ms": NOW - 5 * MINUTE, **more}}


def uses(cpu=None, memory=None, gpu=None):
    amounts = {"CPU": cpu, "GPU": gpu, "memory": memory}
    return [{"name": name, "used": amount[0], "total": amount[1]}
            for name, amount in amounts.items() if amount]


STATUS = {"status": {
    "ray_version": "2.60.0", "ray_address": "10.0.0.4:6379", "autoscaler_state": "active",
    "goal": "run", "ray_nodes": 4, "desired_nodes": 7, "now_ms": NOW, "ray_seen_ms": NOW,
    "pending": 13, "unschedulable": 2}}

NODES = [
    node("head", "head", "m5.xlarge", head=True, public_ip="198.51.100.7", dollars_per_hour=0.192,
         requested_ms=NOW - 150 * MINUTE, uses=uses((1, 4), (3.5 * GB, 11 * GB)),
         activity="a driver runs here"),
    node("worker-1", "cpu", "m5.2xlarge", spot=True, dollars_per_hour=0.1504,
         requested_ms=NOW - 140 * MINUTE,
         uses=uses((8, 8), (20 * GB, 22 * GB)), activity="8 tasks run"),
    node("worker-2", "cpu", "m5.2xlarge", spot=True, dollars_per_hour=0.1504,
         requested_ms=NOW - 135 * MINUTE,
         uses=uses((0, 8), (0, 22 * GB)), idle_since_ms=NOW - 4 * MINUTE,
         reason="for 9 waiting {CPU: 4}"),
    node("worker-3", "gpu-large", "g5.12xlarge", dollars_per_hour=5.672,
         requested_ms=NOW - 30 * MINUTE,
         uses=uses((12.5, 48), (61 * GB, 130 * GB), (3, 4)), activity="3 actors run"),
    node("worker-10", "cpu", "m5.2xlarge", "setting-up", spot=True, dollars_per_hour=0.1504, step=3,
         steps=5, requested_ms=NOW - 3 * MINUTE, detail="pip install -r requirements.txt"),
    node("worker-11", "cpu", "m5.2xlarge", "connecting", spot=True, requested_ms=NOW - 2 * MINUTE),
    node("worker-12", "cpu", "m5.2xlarge", "failed", spot=True, dollars_per_hour=0.1504,
         requested_ms=NOW - 9 * MINUTE,
         failure={"step": "setup command 3 of 5",
                  "output": "ERROR: No matching distribution found"}),
]

DEMANDS = [
    {"demand": {"source": "tasks", "shape": "{CPU: 4}", "count": 9, "since_ms": NOW - 6 * MINUTE}},
    {"demand": {"source": "placement_group", "shape": "{GPU: 1} * 2 (STRICT_SPREAD)", "count": 2}},
    {"demand": {"source": "tasks", "shape": "{TPU: 8}", "count": 2, "unschedulable": 2,
                "infeasible": True, "reason": "no node type offers TPU"}},
]

EVENTS = [{"event": {"number": number + 1, "at_ms": NOW - ago * MINUTE, "kind": kind, "node": name,
                     "text": text, "reason": reason}}
          for number, (ago, kind, name, text, reason) in enumerate([
              (140, "autoscaler", "", "started", ""),
              (140, "launch", "", "launched 2 x m5.2xlarge (spot) in us-west-2a",
               "for 9 waiting {CPU: 4}"),
              (139, "join", "worker-1", "joined after 58s", ""),
              (12, "spot_interruption", "worker-4", "the cloud takes it away in 2m", ""),
              (11, "launch_failed", "", "no capacity for g5.12xlarge in us-west-2a",
               "InsufficientInstanceCapacity; next try in 40s"),
              (9, "failure", "worker-12", "failed in setup command 3 of 5",
               "ERROR: No matching distribution found"),
              (6, "infeasible", "", "2 x {TPU: 8} can never be placed", "no node type offers TPU"),
              (3, "launch", "", "launched 2 x m5.2xlarge (spot) in us-west-2b",
               "for 9 waiting {CPU: 4}"),
          ])]

LOG = [f"line {number} of the setup" for number in range(1, 101)]


def say_log(request):
    if request["node"] == "worker-99":
        return [{"error": "worker-99: No such file or directory", "request": "log"}]
    return [{"log": f"{request['node']}: {line}"} for line in LOG]


def answers(nodes=None, events=None, demands=None):
    told = [STATUS, *(NODES if nodes is None else nodes),
            *(DEMANDS if demands is None else demands)]
    happened = EVENTS if events is None else events
    return {
        "follow": told, "status": [*told, {"end": "status"}],
        "events": lambda request: [event for event in happened
                                   if event["event"]["number"] > request.get("after", 0)]
        + ([] if request.get("follow") else [{"end": "events"}]),
        "log": say_log,
    }


@pytest.fixture
def service(home):
    fake = FakeService(home, answers())
    yield fake
    fake.close()


@pytest.fixture
def top(program, environment, service):
    """top(80, 24): the terminal with the program on it."""
    open_ones = []
    del service  # it only has to be there

    def start(columns, lines, *words, **more):
        terminal = Terminal([program, "top", *words], env={**environment, "TZ": "UTC", **more},
                            columns=columns, lines=lines)
        open_ones.append(terminal)
        return terminal

    yield start
    for terminal in open_ones:
        terminal.close()


def screen_of(terminal, columns, lines):
    screen = FullScreen(columns, lines)
    screen.feed(terminal.data)
    return screen


def see(terminal, columns, lines, pattern, seconds=60):
    """The screen, as soon as the pattern is on it."""
    until = time.monotonic() + seconds
    while True:
        terminal.read(None, 0.1)
        screen = screen_of(terminal, columns, lines)
        if re.search(pattern, screen.text()):
            return screen
        assert time.monotonic() < until, f"no {pattern} in:\n{screen.text()}"


def is_usual(terminal):
    """Is the terminal as it was: letters echoed, lines edited?"""
    flags = termios.tcgetattr(terminal.outer)[3]
    return bool(flags & termios.ECHO and flags & termios.ICANON)


@pytest.mark.parametrize("columns,lines", [(80, 24), (200, 50)])
def test_the_screen(top, golden, columns, lines):
    terminal = top(columns, lines)
    screen = see(terminal, columns, lines, r"(?s)worker-12.*launch ")
    assert {"1049"} <= screen.modes and "25" not in screen.modes
    golden(f"top-{columns}x{lines}.txt", screen.text() + "\n")
    terminal.type(b"q")
    data, status = terminal.end()
    assert status == 0 and is_usual(terminal)
    screen = screen_of(terminal, columns, lines)
    assert "1049" not in screen.modes and {"7", "25"} <= screen.modes
    assert data.endswith(b"\x1b[?1049l")  # and nothing is left behind


@pytest.mark.parametrize("columns,lines", [(20, 5), (37, 10), (60, 24), (132, 43), (300, 100)])
def test_any_size(top, columns, lines):
    terminal = top(columns, lines)
    screen = see(terminal, columns, lines, "demo")  # complains about wide lines itself
    for key in (b"?", b"x", b"\r", b"\x1b[5~", b"q", b"q"):
        terminal.type(key)
        time.sleep(0.05)
    _, status = terminal.end()
    assert status == 0
    screen_of(terminal, columns, lines)
    assert screen.text().startswith("demo")


def test_only_what_changed_is_drawn(top, service):
    terminal = top(80, 24)
    see(terminal, 80, 24, "launch ")
    before = screen_of(terminal, 80, 24).drawn
    service.say(node("worker-2", "cpu", "m5.2xlarge", spot=True, dollars_per_hour=0.1504,
                     requested_ms=NOW - 135 * MINUTE, uses=uses((4, 8), (0, 22 * GB))))
    screen = see(terminal, 80, 24, r"worker-2 .*busy .*4/8")
    assert screen.drawn - before < 6 * 80


def test_it_follows_the_size(top):
    terminal = top(80, 24)
    see(terminal, 80, 24, "worker-12")
    size = len(terminal.data)
    terminal.resize(120, 40)
    until = time.monotonic() + 60
    while b"\x1b[2J" not in terminal.data[size:]:
        terminal.read(None, 0.1)
        assert time.monotonic() < until
    terminal.read(None, 0.5)
    screen = FullScreen(120, 40)
    screen.modes.add("1049")
    screen.feed(terminal.data[size:])
    assert "q quit" in screen.text().splitlines()[39]


def rows(screen):
    return re.findall(r"^[> ] (head|worker-\d+) ", screen.text(), re.MULTILINE)


def test_sorting_filtering_choosing(top):
    terminal = top(80, 24)
    screen = see(terminal, 80, 24, "worker-12")
    assert rows(screen) == ["head", "worker-1", "worker-2", "worker-3", "worker-10", "worker-11",
                            "worker-12"]
    assert "> head" in screen.text()
    terminal.type(b"\x1b[B\x1bOBj\x1b[A")  # down, down, down, up
    see(terminal, 80, 24, "> worker-2")
    terminal.type(b"ss")  # by state, by CPU
    assert rows(see(terminal, 80, 24, "sort: CPU"))[:3] == ["worker-1", "worker-3", "head"]
    see(terminal, 80, 24, "> worker-2")  # stays chosen
    terminal.type(b"r")
    assert rows(see(terminal, 80, 24, "CPU, reversed"))[-1] == "worker-1"
    terminal.type(b"/GPUx\x7f")
    assert rows(see(terminal, 80, 24, "filter: GPU_")) == ["worker-3"]
    terminal.type(b"\r")
    assert rows(see(terminal, 80, 24, r"filter: GPU  ")) == ["worker-3"]
    terminal.type(b"\x1b")
    time.sleep(0.1)
    assert len(rows(see(terminal, 80, 24, "worker-12"))) == 7
    terminal.type(b"?")
    see(terminal, 80, 24, "KEYS")
    terminal.type(b"qq")
    assert terminal.end()[1] == 0


def test_a_log(top, service):
    terminal = top(80, 24)
    see(terminal, 80, 24, "worker-12")
    terminal.type(b"\x1b[B\r")
    screen = see(terminal, 80, 24, r"(?s)LOG of worker-1\n.*line 100 of the setup")
    assert "line 79 " not in screen.text()
    terminal.type(b"\x1b[5~")
    assert "line 100 " not in see(terminal, 80, 24, "line 60 of").text()
    service.say({"log": "a new line"}, service.guests[-1])
    time.sleep(0.2)
    assert "line 60 of" in see(terminal, 80, 24, "LOG").text()  # the reader's scroll position stays
    terminal.type(b"\x1b[F")
    see(terminal, 80, 24, "a new line")
    terminal.type(b"q")
    see(terminal, 80, 24, "q quit")
    terminal.type(b"l")
    see(terminal, 80, 24, r"LOG of service\n")
    terminal.type(b"\x1b")
    see(terminal, 80, 24, "EVENTS")
    assert [request["node"] for request in service.asked if request["request"] == "log"] == [
        "worker-1", "service"]


def test_nodes_come_and_go(top, service):
    terminal = top(80, 24)
    see(terminal, 80, 24, "worker-12")
    service.say(node("worker-13", "cpu", "m5.2xlarge", "requested", requested_ms=NOW))
    service.say({"event": {"number": 90, "at_ms": NOW, "kind": "join", "text": "joined, at last"}})
    service.say({"node": {"name": "worker-12", "phase": "terminated"}})
    service.say({"demand": {"source": "tasks", "shape": "{CPU: 4}"}})
    screen = see(terminal, 80, 24, r"(?s)worker-13.*joined, at last")
    assert "9 x {CPU: 4}" not in screen.text().splitlines()[1]
    assert re.search(r"worker-12 .*terminated", screen.text())
    for number in range(100):
        service.say(node(f"worker-{number + 100}", "cpu", "m5.2xlarge", "requested",
                         requested_ms=NOW))
    until = time.monotonic() + 60
    while "> worker-199" not in screen_of(terminal, 80, 24).text():
        terminal.type(b"\x1b[F")
        terminal.read(None, 0.2)
        assert time.monotonic() < until
    terminal.type(b"\x1b[5~")
    see(terminal, 80, 24, "> worker-18")


def test_the_service_is_started_again(top, service):
    terminal = top(80, 24)
    see(terminal, 80, 24, "worker-12")
    service.close()
    see(terminal, 80, 24, "trying again")
    service.answers = answers(nodes=NODES[:2])
    service.open()
    see(terminal, 80, 24, r"(?s)^(?!.*worker-12 .*trying).*worker-1 ")
    until = time.monotonic() + 60
    while "worker-12 " in screen_of(terminal, 80, 24).text().split("EVENTS")[0]:
        terminal.read(None, 0.1)
        assert time.monotonic() < until
    assert service.asked[-1]["after"] == len(EVENTS)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT,
                                    signal.SIGSEGV, signal.SIGABRT])
def test_signals_leave_the_terminal_as_it_was(top, number):
    terminal = top(80, 24)
    see(terminal, 80, 24, "worker-12")
    assert not is_usual(terminal)
    if number == signal.SIGINT:
        terminal.type(b"\x03")
    else:
        os.kill(terminal.child.pid, number)
    _, status = terminal.end()
    assert is_usual(terminal)
    assert {"7", "25"} <= screen_of(terminal, 80, 24).modes
    assert "1049" not in screen_of(terminal, 80, 24).modes
    if number in (signal.SIGINT, signal.SIGHUP):
        assert status == 0
    elif number == signal.SIGTERM:
        assert status == 128 + number
    else:
        assert status != 0


def test_ctrl_z_gives_the_terminal_back(top):
    terminal = top(80, 24)
    see(terminal, 80, 24, "worker-12")
    os.kill(terminal.child.pid, signal.SIGTSTP)
    until = time.monotonic() + 60
    while not is_usual(terminal):
        assert time.monotonic() < until
        time.sleep(0.05)
    terminal.read(None, 0.2)
    assert "1049" not in screen_of(terminal, 80, 24).modes
    os.kill(terminal.child.pid, signal.SIGCONT)
    see(terminal, 80, 24, "worker-12")
    assert "1049" in screen_of(terminal, 80, 24).modes
    terminal.type(b"q")
    assert terminal.end()[1] == 0


def test_a_pipe_gets_one_picture(shoal, service, golden):
    done = shoal("top")
    assert done.returncode == 0 and done.stderr == "" and "\x1b" not in done.stdout
    golden("top-pipe.txt", done.stdout)
    assert [request["request"] for request in service.asked] == ["status", "events"]


def test_more_nodes_than_are_wanted_in_any_case(shoal, service):
    """`wanted` is the head and min_workers; a busy cluster has more."""
    for joined, wanted, says in ((6, 3, "  6 nodes joined "), (3, 3, "  3 nodes joined "),
                                 (2, 3, "  2 of 3 nodes joined "), (1, 1, "  1 node joined ")):
        status = {"status": {**STATUS["status"], "ray_nodes": joined, "desired_nodes": wanted}}
        service.answers = {**answers(), "status": [status, *NODES, {"end": "status"}]}
        assert says in shoal("top").stdout.splitlines()[0]


def test_the_price_is_that_of_status(shoal, service):
    """Failed instances are billed until the cloud has terminated them."""
    status = {"status": {**STATUS["status"], "dollars_per_hour": 1.7508}}
    service.answers = {**answers(), "status": [status, *NODES, {"end": "status"}]}
    assert " $1.75/h " in shoal("top").stdout.splitlines()[0]


def test_the_cost_of_a_failed_node_stays(top, service):
    """The service sends no price, but the same type, when its instance has ended."""
    old = NODES[-1]["node"]
    gone = {"node": {key: value for key, value in old.items() if key != "dollars_per_hour"}}
    failed = {"node": {**old, "dollars_per_hour": 60.0}}
    service.answers = answers(nodes=[NODES[0], failed])
    terminal = top(200, 24)
    see(terminal, 200, 24, r"\$60\.19/h  \$9\.\d\d so far")
    service.say(gone)
    screen = see(terminal, 200, 24, r"\$0\.19/h  \$9\.\d\d so far")
    assert re.search(r"worker-12 .* 9m +-  ", screen.text()), screen.text()


def test_why_the_autoscaler_is_paused(shoal, service):
    for state, message, says in (("active", "", ""), ("active", "no reboot", "no reboot"),
                                 ("standby", "", "autoscaler paused"),
                                 ("standby", "another one acts",
                                  "autoscaler paused: another one acts")):
        status = {"status": {**STATUS["status"], "autoscaler_state": state,
                             "autoscaler_message": message}}
        service.answers = {**answers(demands=[]), "status": [status, *NODES, {"end": "status"}]}
        assert shoal("top").stdout.splitlines()[3] == says


def test_colours_in_a_log_are_dropped(top, service):
    service.answers = {**answers(), "log": [{"log": "\x1b[37mLocal node IP\x1b[39m: 10.0.0.4"}]}
    terminal = top(80, 24)
    see(terminal, 80, 24, "worker-12")
    terminal.type(b"l")
    see(terminal, 80, 24, r"(?m)^Local node IP: 10\.0\.0\.4$")


def test_json(shoal, service):
    done = shoal("top", "-o", "json")
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert [row["name"] for row in said["nodes"]] == [row["node"]["name"] for row in NODES]
    assert [row["number"] for row in said["events"]] == list(range(1, len(EVENTS) + 1))
    assert len(said["demands"]) == 3 and said["ray_nodes"] == 4 and said["cluster"] == "demo"
    assert said["dollars_so_far"] > 0 and not said["all_prices_known"]
    assert [request["request"] for request in service.asked] == ["status", "events"]


def test_an_older_service(shoal, service):
    service.answers = {"status": [{"status": {"ray_nodes": 1, "desired_nodes": 2}},
                                  NODES[0], {"end": "status"}]}
    done = shoal("top", "--sort", "cpu")
    assert done.returncode == 0 and "head" in done.stdout and "EVENTS" not in done.stdout


@pytest.mark.parametrize("more", [{"TERM": "dumb"}, {"CI": "true"}])
def test_terminals_that_cannot_be_redrawn(top, more):
    terminal = top(80, 24, **more)
    data, status = terminal.end()
    assert status == 0 and b"\x1b" not in data and b"worker-12" in data


def test_a_full_disk(shoal, service):
    del service
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = shoal("top", stdout=full)
    assert done.returncode == 1 and re.fullmatch(r"shoal: error: cannot write: .*\n", done.stderr)


def test_nobody_there(shoal):
    done = shoal("top")
    assert done.returncode == 1 and "shoal top FILE" in done.stderr and done.stdout == ""


def test_what_nodes_say_moves_nothing(top, service):
    terminal = top(80, 24)
    see(terminal, 80, 24, "worker-12")
    service.say(node("worker-2", "cpu\x1b[2J\x07", "m5\r\n", "setting-up",
                     detail="\x1b]0;title\x07\tx\u202e"))
    see(terminal, 80, 24, r"worker-2 .*setup")  # the screen complains itself


def test_many_nodes_cost_little(program, environment, service):
    """A thousand nodes, drawn once."""
    service.answers = answers(nodes=[NODES[0]] + [
        node(f"worker-{number}", "cpu", "m5.large", requested_ms=NOW - HOUR, uses=uses((1, 2)))
        for number in range(1, 1001)])
    began = time.monotonic()
    done = subprocess.run([program, "top"], env=environment, stdout=subprocess.PIPE, check=True,
                          timeout=60, encoding="utf-8")
    assert done.stdout.count("worker-") >= 1000 and time.monotonic() - began < 20
