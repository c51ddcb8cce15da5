"""`exec` and `submit` over a real ssh, without a terminal: exit statuses, arguments, standard
input, and what is left on the head when they are interrupted."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))

import fake_cloud  # noqa: E402
from fake_service import FakeService  # noqa: E402
from terminal import Terminal  # noqa: E402
from test_session import SHOAL, Machine, free_port, wait_for  # noqa: E402


@pytest.fixture
def head(tmp_path):
    machine = Machine(tmp_path)
    (machine.home / "bin").mkdir()  # for programs that a test plays
    config = tmp_path / "sshd_config"
    config.write_text(config.read_text().replace(
        "SetEnv ", f"SetEnv PATH={machine.home}/bin:{os.environ['PATH']} "))
    machine.up()
    yield machine
    machine.down()


@pytest.fixture
def start(head, tmp_path):
    """start(verb, *words): shoal as a process, with the head of cluster "demo" on this machine."""
    cloud, endpoint = fake_cloud.start()
    laptop = tmp_path / "laptop"
    state = laptop / "state" / "shoal" / "aws-us-west-2-demo"
    (state / "known_hosts").mkdir(parents=True)
    for folder in (laptop, laptop / "state", state.parent, state, state / "known_hosts"):
        folder.chmod(0o700)
    host = (tmp_path / "host.pub").read_text()
    (state / "known_hosts" / fake_cloud.HEAD).write_text(f"{fake_cloud.HEAD} {host}")
    (laptop / "bin").mkdir()
    (laptop / "bin" / "ssh").write_text(
        f'#!/bin/sh\nexec {shutil.which("ssh")} -F none -p {head.port} "$@"\n')
    (laptop / "bin" / "ssh").chmod(0o755)
    (laptop / "demo.yaml").write_text(
        "cluster_name: demo\nprovider: {type: aws, region: us-west-2}\n"
        f"auth: {{ssh_user: {os.environ.get('USER') or 'root'}, "
        f"ssh_private_key: {tmp_path / 'user'}}}\n")
    (head.home / ".shoal/bin").mkdir(parents=True)
    shutil.copy2(SHOAL, head.home / ".shoal/bin/shoal")
    env = {"PATH": f"{laptop}/bin:{os.environ['PATH']}", "HOME": str(laptop),
           "XDG_STATE_HOME": str(laptop / "state"), "XDG_RUNTIME_DIR": "", "LC_ALL": "C.UTF-8",
           "AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y",
           "AWS_EC2_METADATA_DISABLED": "true"}

    def launch(verb, *words, **more):
        return subprocess.Popen([SHOAL, verb, "demo.yaml", *words], cwd=laptop, env=env,
                                stdin=more.pop("stdin", subprocess.DEVNULL),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def on_terminal(verb, *words):
        return Terminal(["env", "-C", laptop, SHOAL, verb, "demo.yaml", *words], lines=40,
                        columns=200, env={**env, "TERM": "xterm"})

    launch.on_terminal = on_terminal
    yield launch
    cloud.shutdown()


@pytest.fixture
def run(start):
    def whole(*words, data=None):
        done = start(*words, stdin=subprocess.PIPE)
        out, err = done.communicate(data, timeout=60)
        return done.returncode, out.decode(), err.decode()

    return whole


@pytest.mark.parametrize("line, status", [("true", 0), ("exit 7", 7), ("exit 255", 255),
                                          ("kill -9 $$", 137)])
def test_exec_has_the_status_of_the_command(run, line, status):
    assert run("exec", line)[0] == status


def test_exec_keeps_outputs_apart_and_passes_input_on(run):
    status, out, err = run("exec", "cat; echo complaint >&2", data=b"some\0bytes\n")
    assert (status, out) == (0, "some\0bytes\n") and err.splitlines()[-1] == "complaint"


def test_submit_passes_arguments_as_they_are(run, head, tmp_path):
    script = tmp_path / "laptop" / "args.py"
    script.write_text("import sys\nprint(sys.argv[1:])\nsys.exit(3)\n")
    words = ["a name", "$HOME", "`id`", "it's", "", "new\nline", "*", "~", "--flag"]
    status, out, err = run("submit", "args.py", "--", *words)
    assert (status, out.splitlines()[-1:]) == (3, [repr(words)]), err


def test_monitor_follows_the_log_of_the_service(start, head):
    log = head.home / ".shoal" / "cluster" / "service.log"
    log.parent.mkdir()
    log.write_text("".join(f"line {number}\n" for number in range(200)))
    done = start("monitor", "--lines", "2")
    assert [done.stdout.readline() for _ in range(2)] == [b"line 198\n", b"line 199\n"]
    with log.open("a") as more:
        more.write("a new line\n")
    assert done.stdout.readline() == b"a new line\n"
    done.send_signal(signal.SIGINT)
    done.communicate(timeout=30)


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_exec_ends_the_program_on_the_head(start, head, number, status):
    done = start("exec", "echo $BASHPID > $HOME/pid; sleep 1000; echo never > $HOME/never")
    wait_for(lambda: (head.home / "pid").exists() and (head.home / "pid").read_text().strip(), 30)
    pid = int((head.home / "pid").read_text())
    assert alive(pid)
    done.send_signal(number)
    done.communicate(timeout=30)
    assert done.returncode == status
    wait_for(lambda: not alive(pid), 30)
    assert not (head.home / "never").exists()


def test_a_reader_that_goes_away_does_not_end_it(start, head):
    """`shoal exec ... | head -1`: the program learns of it when it writes, as everywhere."""
    done = start("exec", "echo one; exec >&2; sleep 1; touch $HOME/whole")
    assert done.stdout.readline() == b"one\n"
    done.stdout.close()
    assert done.wait(timeout=30) == 0
    assert (head.home / "whole").exists()


def test_a_head_of_an_older_release(run, head):
    """It has no `node attend`: the command runs without it."""
    program = head.home / ".shoal/bin/shoal"
    program.write_text("#!/bin/sh\nexit 2\n")
    assert run("exec", "exit 7")[0] == 7
    program.unlink()
    assert run("exec", "exit 7")[0] == 7


# ---- other nodes ----

WORKER = "i-0aaaaaaaaaaaaaaa1"


@pytest.fixture
def worker(head):
    """worker-2 of the cluster; `ssh` on the head writes down how it is called, and runs the rest
    of it there."""
    (head.home / "bin" / "ssh").write_text(
        "#!/bin/bash\nprintf '%s\\n' \"$@\" > ~/hop\nexec bash -c \"${@: -1}\"\n")
    (head.home / "bin" / "ssh").chmod(0o755)
    nodes = [{"node": {"name": "head", "is_head": True, "phase": "ready", "id": fake_cloud.HEAD}},
             {"node": {"name": "worker-2", "phase": "ready", "id": WORKER,
                       "private_ip": "10.0.0.7"}},
             {"node": {"name": "worker-3", "phase": "requested", "id": ""}},
             {"node": {"name": "worker-4", "phase": "terminated", "id": "i-0b"}}]
    service = FakeService(head.home, {"status": [*nodes, {"end": "status"}]})
    yield lambda: (head.home / "hop").read_text().splitlines()
    service.close()


@pytest.mark.parametrize("node", ["worker-2", WORKER, "10.0.0.7"])
def test_exec_on_a_worker(run, worker, node):
    status, out, err = run("exec", "--node", node, "echo here; exit 4")
    assert (status, out) == (4, "here\n"), err
    assert worker()[-2] == "10.0.0.7" and f"HostKeyAlias={WORKER}" in worker()


@pytest.mark.parametrize("node, says", [
    ("worker-9", "no node worker-9; its nodes: head, worker-2, worker-3"),
    ("worker-4", "no node worker-4"), ("worker-3", "worker-3 has no address yet")])
def test_exec_on_a_node_that_is_not_there(run, worker, node, says):
    del worker
    status, out, err = run("exec", "--node", node, "true")
    assert (status, out) == (1, "") and says in err


def test_exec_on_the_head_by_its_name(run):
    assert run("exec", "--node", "head", "exit 5")[0] == 5  # no service is needed for that


def test_attach_to_a_worker(start, worker):
    terminal = start.on_terminal("attach", "worker-2")
    terminal.type(b"echo in:$((40+2))\nexit\n")
    data, _ = terminal.end()
    assert b"in:42" in data and worker()[-2] == "10.0.0.7", data
    assert b"its nodes: head, worker-2" in start.on_terminal("attach", "worker-9").end()[0]


# ---- the dashboard ----


def test_the_dashboard_shows_its_token(start, head):
    (head.home / ".ray").mkdir()
    (head.home / ".ray" / "auth_token").write_text("0123secret\n")
    port = free_port()
    terminal = start.on_terminal("dashboard", "-p", str(port))
    data = terminal.read(rb"asks for this token once: 0123secret\r")
    assert f"http://localhost:{port}".encode() in data
    terminal.type(b"\x03")
    assert terminal.end()[1] == 0
    child = start("dashboard", "-p", str(port))  # not a terminal: no secret
    said = child.stderr.readline() + child.stderr.readline()
    assert b"shoal exec demo.yaml 'ray get-auth-token'" in said and b"0123secret" not in said
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=30)


def test_a_dashboard_port_that_is_taken(run):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        status, _, err = run("dashboard", "-p", str(port))
    assert status == 1 and f"port {port} is in use on this machine" in err
    assert "http://" not in err  # another program would answer there


# ---- copying ----


def test_rsync_shows_its_progress_on_a_terminal(start, head, tmp_path):
    (tmp_path / "laptop" / "data").write_bytes(os.urandom(300_000))
    terminal = start.on_terminal("rsync-up", "data", "~/there/data")
    data, status = terminal.end()
    assert status == 0 and b"100%" in data and (head.home / "there" / "data").exists(), data
    child = start("rsync-up", "data", "~/again")
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (0, b"", b"")


def test_a_home_that_the_shell_here_has_put_in(run, head, tmp_path):
    """`shoal rsync-up FILE data ~/there`, unquoted."""
    home = tmp_path / "laptop"
    (home / "data").write_text("x")
    status, _, err = run("rsync-up", "data", f"{home}/there")
    assert status == 0 and "using ~/there on the head" in err and "'~/there'" in err
    assert (head.home / "there").read_text() == "x"
    status, _, err = run("rsync-down", f"{home}/there", "back")
    assert status == 0 and (home / "back").read_text() == "x"
    status, _, err = run("rsync-up", "data", f"{home}x")  # another folder that begins like it
    assert "using" not in err
    pathlib.Path(f"{home}x").unlink()


# ---- logs ----


def test_logs_as_text_and_as_json(run, head):
    lines = [{"log": "\x1b[37mLocal node IP\x1b[39m: 10.0.0.4"}, {"log": 'said "no"'}]
    service = FakeService(head.home, {"log": [*lines, {"end": "log"}]})
    try:
        assert run("logs", "worker-2")[:2] == (0, 'Local node IP: 10.0.0.4\nsaid "no"\n')
        status, out, _ = run("logs", "-o", "json", "worker-2")
    finally:
        service.close()
    assert status == 0 and [json.loads(line) for line in out.splitlines()] == [
        {"node": "worker-2", "line": "Local node IP: 10.0.0.4"},
        {"node": "worker-2", "line": 'said "no"'}]


def test_logs_that_this_machine_has_kept(run, tmp_path):
    """The head does not answer: what `up` wrote down here."""
    kept = tmp_path / "laptop" / "state" / "shoal" / "aws-us-west-2-demo" / "log"
    kept.mkdir(mode=0o700)
    (kept / "head").write_text("one\ntwo\n")
    status, out, err = run("logs")
    assert (status, out) == (0, "one\ntwo\n") and "the copy on this machine" in err
    (kept / "head").write_bytes(b"one\nt\xffo\n")  # programs print any bytes
    status, out, _ = run("logs", "-o", "json")
    lines = [json.loads(line)["line"] for line in out.splitlines()]
    assert lines == ["one", "t\udcffo"]  # as Python escapes them


def test_logs_lose_nothing_of_a_long_or_unfinished_line(run, tmp_path):
    kept = tmp_path / "laptop" / "state" / "shoal" / "aws-us-west-2-demo" / "log"
    kept.mkdir(mode=0o700)
    (kept / "head").write_text("x" * 200_000 + "\n" + "y" * 3_000_000 + "\nunfinished")
    status, out, _ = run("logs")
    assert status == 0 and out.startswith("x" * 200_000 + "\n") and out.endswith("\nunfinished\n")
    assert out.count("y") == 3_000_000
    status, out, _ = run("logs", "-o", "json")
    lines = [json.loads(line)["line"] for line in out.splitlines()]
    assert lines[0] == "x" * 200_000 and lines[-1] == "unfinished"
    assert "".join(lines[1:-1]) == "y" * 3_000_000
