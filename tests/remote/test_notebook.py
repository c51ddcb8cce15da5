"""`shoal notebook` over a real ssh, with a stand-in for Jupyter on the head: the URL, the token,
and every way in which Jupyter must end."""

import json
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from test_exec import alive, free_port, head, run, start  # noqa: E402, F401
from test_session import wait_for  # noqa: E402

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "src/app/setup/notebook.sh"

JUPYTER = """#!{python}
import http.server, json, os, pathlib, sys
if sys.argv[1] not in {kinds!r}:
    sys.exit("jupyter: no such command")
if "--version" in sys.argv:
    sys.exit(0)
token = os.environ["JUPYTER_TOKEN"]
pathlib.Path({notes!r}).write_text(json.dumps([os.getpid(), token, sys.argv[1:]]))
{more}
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path.endswith("?token=" + token) else 403)
        self.end_headers()
        self.wfile.write(self.path.split("?")[0].encode())
    def log_message(self, *words): pass
port = [word.partition("=")[2] for word in sys.argv if word.startswith("--port=")][0]
address = [word.partition("=")[2] for word in sys.argv if word.startswith("--ip=")][0]
http.server.HTTPServer((address, int(port)), Handler).serve_forever()
"""

# Like the real one, it leaves the program in the container running when it is killed.
DOCKER = """#!{python}
import os, subprocess, sys
assert sys.argv[1:5] == ["exec", "-i", "pen", "/bin/bash"], sys.argv
inner = subprocess.Popen(["setsid", *sys.argv[4:]], stdin=subprocess.PIPE)
while data := os.read(0, 4096):
    inner.stdin.write(data)
    inner.stdin.flush()
inner.stdin.close()
sys.exit(inner.wait())
"""


@pytest.fixture(name="jupyter")
def fixture_jupyter(head):  # noqa: F811
    """jupyter(...) installs it on the head; jupyter.notes() says how it was called."""
    (head.home / ".bashrc").write_text("PATH=$HOME/bin:$PATH\n")  # login shells set their own

    def install(kinds=("lab", "notebook"), more=""):
        (head.home / "bin" / "jupyter").write_text(JUPYTER.format(
            python=sys.executable, kinds=kinds, more=more, notes=str(head.home / "notes")))
        (head.home / "bin" / "jupyter").chmod(0o755)

    def notes():
        wait_for(lambda: (head.home / "notes").exists() and (head.home / "notes").read_text(), 60)
        return json.loads((head.home / "notes").read_text())

    install.notes = notes
    return install


def get(url):
    with urllib.request.urlopen(url, timeout=10) as reply:
        return reply.status, reply.read().decode()


def logs():
    return set(pathlib.Path("/tmp").glob("shoal-notebook.*"))


def test_a_notebook_until_ctrl_c(start, jupyter):  # noqa: F811
    jupyter()
    port, before = free_port(), logs()
    child = start("notebook", "-p", str(port))
    url = child.stdout.readline().decode().strip()
    pid, token, words = jupyter.notes()
    assert url == f"http://localhost:{port}/lab?token={token}" and len(token) == 48
    assert get(url) == (200, "/lab")
    with pytest.raises(urllib.error.HTTPError):
        get(url[:-1])
    assert "--ip=127.0.0.1" in words and "--no-browser" in words
    assert ("--allow-root" in words) == (os.getuid() == 0)
    assert token not in " ".join(words) and len(logs() - before) == 1
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (0, b""), err
    assert err.decode().splitlines() == [
        "Starting Jupyter on the head...",
        "JupyterLab runs on the head. Press Ctrl-C to stop it. It also stops 5 minutes after the "
        "connection is lost.",
        "Jupyter has ended."]
    assert not alive(pid) and logs() == before  # it had ended before we did


def test_ctrl_c_on_a_terminal(start, jupyter):  # noqa: F811
    jupyter(kinds=("notebook",))
    terminal = start.on_terminal("notebook", "-p", str(free_port()))
    terminal.read(rb"/tree\?token=[0-9a-f]+\r")
    terminal.type(b"\x03")
    data, status = terminal.end()
    assert status == 0 and b"Jupyter has ended." in data
    assert not alive(jupyter.notes()[0])


@pytest.mark.parametrize("victim", ["shoal", "ssh"])
def test_a_killed_end_on_this_machine(start, jupyter, victim):  # noqa: F811
    jupyter()
    child = start("notebook", "-p", str(free_port()))
    child.stdout.readline()
    pid = jupyter.notes()[0]
    ssh = int(pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text())
    os.kill(child.pid if victim == "shoal" else ssh, signal.SIGKILL)
    wait_for(lambda: not alive(pid), 60)
    _, err = child.communicate(timeout=60)
    if victim == "ssh":
        assert child.returncode == 1 and b"the connection to the head was lost" in err


def test_in_a_container(start, jupyter, head, tmp_path):  # noqa: F811
    jupyter()
    (head.home / "bin" / "docker").write_text(DOCKER.format(python=sys.executable))
    (head.home / "bin" / "docker").chmod(0o755)
    with (tmp_path / "laptop" / "demo.yaml").open("a") as file:
        file.write("docker: {image: x, container_name: pen}\n")
    child = start("notebook", "-p", str(free_port()))
    assert get(child.stdout.readline().decode()) == (200, "/lab")
    pid = jupyter.notes()[0]
    child.kill()
    wait_for(lambda: not alive(pid), 60)
    _, err = child.communicate(timeout=60)
    assert b"JupyterLab runs in the container pen" in err


def test_a_connection_that_falls_silent(jupyter, head):  # noqa: F811
    """The network is gone, and the head gets no message: the script alone, with a limit of 2 s."""
    jupyter()
    text = f"port={free_port()} limit=2\n" + SCRIPT.read_text()
    env = {**os.environ, "HOME": str(head.home), "PATH": f"{head.home}/bin:{os.environ['PATH']}"}
    with subprocess.Popen(["bash", "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=env, bufsize=0) as child:
        while not select.select([child.stdout], [], [], 0.3)[0]:
            child.stdin.write(b"\n")
        assert child.stdout.readline().startswith(b"shoal-notebook ready lab ")
        pid = jupyter.notes()[0]
        for _ in range(4):  # lines keep it running
            child.stdin.write(b"\n")
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(0.7)
        assert alive(pid)
        assert child.wait(60) == 0 and not alive(pid)


def test_a_head_without_jupyter(run, jupyter, tmp_path):  # noqa: F811
    for kinds in (None, ()):
        if kinds is not None:
            jupyter(kinds=kinds)  # it has `jupyter`, but neither of the two
        status, out, err = run("notebook", "-p", str(free_port()))
        assert (status, out) == (1, "") and "there is no Jupyter on the head" in err
        assert "setup_commands" in err and err.endswith("  - pip install jupyterlab\n")
    with (tmp_path / "laptop" / "demo.yaml").open("a") as file:
        file.write("docker: {image: x, container_name: pen}\n")
    status, _, err = run("notebook", "-p", str(free_port()))
    assert status != 0  # no docker either


def test_a_jupyter_that_fails(run, jupyter):  # noqa: F811
    jupyter(more="sys.exit('the disk is full')")
    status, out, err = run("notebook", "-p", str(free_port()))
    assert (status, out) == (1, "") and "the disk is full" in err
    assert "Jupyter has ended on the head, with status 1" in err


def test_a_local_port_that_is_taken(run, start, jupyter):  # noqa: F811
    jupyter()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        status, out, err = run("notebook", "-p", str(port))
    assert (status, out) == (1, "") and f"port {port} is in use on this machine" in err


def test_no_connection(run, tmp_path):  # noqa: F811
    ssh = tmp_path / "laptop" / "bin" / "ssh"
    ssh.write_text(re.sub(r"-p [0-9]+", f"-p {free_port()}", ssh.read_text()))
    status, out, err = run("notebook", "-p", str(free_port()))
    assert (status, out) == (255, "") and "Connection refused" in err
