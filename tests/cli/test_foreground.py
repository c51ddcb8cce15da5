"""Programs that have our terminal: keys, sizes, signals and exit statuses pass as if we were not
there."""

import os
import signal
import subprocess
import time

import pytest

from terminal import Terminal


@pytest.fixture
def probe(build):
    path = build / "tests" / "foreground_probe"
    if not path.exists():
        pytest.fail(f"{path} is not built", pytrace=False)
    return path


@pytest.fixture
def run(probe, environment):
    open_ones = []

    def start(*words, **more):
        terminal = Terminal([probe, *words], env=environment, **more)
        open_ones.append(terminal)
        return terminal

    yield start
    for terminal in open_ones:
        terminal.close()


@pytest.mark.parametrize("line, status", [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137),
                                          ("kill -TERM $$", 143), ("exit 255", 255)])
def test_exit_statuses(run, line, status):
    data, code = run("sh", "-c", line).end()
    assert code == 0 and data.endswith(b"status %d\r\n" % status)


SECRETS = {
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "canary-1",
    "AWS_SESSION_TOKEN": "canary-2", "RAY_AUTH_TOKEN": "canary-3", "DOCKER_PASSWORD": "canary-4",
    "GITHUB_TOKEN": "canary-5", "https_proxy": "http://me:canary-6@proxy:3128",
    "PIP_INDEX_URL": "https://me:canary-7@index/simple", "PGPASSWORD": "canary-8",
    "GOOGLE_APPLICATION_CREDENTIALS": "canary-9"}
OTHERS = {
    "AWS_PROFILE": "work", "AWS_REGION": "us-west-2", "AWS_CONFIG_FILE": "/a/config",
    "SSH_AUTH_SOCK": "/run/agent", "SSH_ASKPASS": "/bin/ask", "LANG": "C.UTF-8",
    "LC_PAPER": "C", "TERM": "dumb", "DISPLAY": ":0", "HTTP_PROXY": "http://proxy:3128",
    "PWD": "/", "OWN_SETTING": "kept"}


def test_it_has_no_secrets_of_ours(probe, environment):
    """ssh and rsync need none, and what they start (ProxyCommand, rsync there) even less."""
    done = subprocess.run([probe, "env"], env={**environment, **SECRETS, **OTHERS}, timeout=20,
                          capture_output=True, text=True, check=True)
    told = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert {name for name in SECRETS if name in told} == set()
    assert "canary" not in done.stdout
    assert {name: told.get(name) for name in OTHERS} == OTHERS
    assert told["PATH"] == environment["PATH"]


def test_no_such_program(run):
    data, code = run("no-such-program-here").end()
    assert code == 1 and b"no-such-program-here: program not found; install it" in data


def test_it_has_the_terminal(run):
    terminal = run("sh", "-c", "test -t 0 && test -t 1 && read word && echo got $word")
    terminal.type(b"hello\n")
    data, _ = terminal.end()
    assert b"got hello" in data and data.endswith(b"status 0\r\n")


def test_ctrl_c_is_the_childs(run):
    """The child decides; the parent lives on."""
    terminal = run("sh", "-c", "trap 'echo caught; exit 5' INT; echo ready; "
                               "while :; do sleep 0.05; done")
    terminal.read(rb"ready")
    terminal.type(b"\x03")
    data, code = terminal.end()
    assert code == 0 and b"caught" in data and data.endswith(b"status 5 interrupted\r\n")


def test_ctrl_c_ends_a_child_that_has_no_opinion(run):
    terminal = run("sh", "-c", "echo ready; exec sleep 30")
    terminal.read(rb"ready")
    time.sleep(0.1)
    terminal.type(b"\x03")
    data, _ = terminal.end()
    assert data.endswith(b"status 130 interrupted\r\n")


def test_ctrl_c_before_the_child_has_started(run):
    for _ in range(20):
        terminal = run("sleep", "30")
        terminal.read(rb"parent is here")
        terminal.type(b"\x03")
        assert terminal.end()[0].endswith(b"status 130 interrupted\r\n")


def test_a_new_size_reaches_it(run):
    terminal = run("sh", "-c", "trap 'stty size; exit 0' WINCH; echo ready; "
                               "while :; do sleep 0.05; done", columns=80, lines=24)
    terminal.read(rb"ready")
    terminal.resize(132, 50)
    data, _ = terminal.end()
    assert b"50 132" in data


@pytest.mark.parametrize("number, name", [(signal.SIGTERM, "TERM"), (signal.SIGHUP, "HUP"),
                                          (signal.SIGINT, "INT"), (signal.SIGQUIT, "QUIT")])
def test_signals_are_passed_on(run, number, name):
    """Signals that are sent only to this process."""
    terminal = run("sh", "-c", f"trap 'echo got {name}; exit 3' {name}; echo ready; "
                               "while :; do sleep 0.05; done")
    terminal.read(rb"ready")
    os.kill(terminal.child.pid, number)
    data, code = terminal.end()
    ending = b"status 3 interrupted\r\n" if name == "INT" else b"status 3\r\n"
    assert code == 0 and f"got {name}".encode() in data and data.endswith(ending)


def test_a_killed_child_leaves_no_broken_terminal(run):
    terminal = run("sh", "-c", "stty -echo raw; kill -9 $$")
    data, _ = terminal.end()
    assert data.endswith(b"status 137\r\n")  # \r\n: output processing is on again


def test_it_stops_and_goes_on_with_us(run):
    """A child that stops itself, as ssh does at ~^Z, stops us too; the shell can wake both."""
    terminal = run("sh", "-c", "echo ready; kill -STOP $$; echo awake; exit 4")
    terminal.read(rb"ready")
    end = time.monotonic() + 10
    state = ""
    while state != "T" and time.monotonic() < end:
        with open(f"/proc/{terminal.child.pid}/stat", encoding="ascii") as stream:
            state = stream.read().rpartition(")")[2].split()[0]
        time.sleep(0.02)
    assert state == "T"
    os.killpg(terminal.child.pid, signal.SIGCONT)
    data, _ = terminal.end()
    assert b"awake" in data and data.endswith(b"status 4\r\n")


def test_pipes(probe, environment):
    done = subprocess.run([probe, "cat"], input=b"through\n", env=environment, check=True,
                          stdout=subprocess.PIPE, timeout=30)
    assert done.stdout == b"through\nstatus 0\n"
