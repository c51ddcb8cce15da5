"""The jobs of `shoal node` that are steps of a node's setup, each in a home of its own."""

import functools
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import threading
import time
import zipfile

import pytest
from fake_gcs import FakeGcs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from free_port import free_port  # noqa: E402

SHOAL = str(pathlib.Path(os.environ["SHOAL_BUILD"]) / "src/cli/shoal")


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "bin").mkdir()
    for name in ("bash", "sh", "cat", "mkdir"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    return tmp_path / "home"


def add_python(home, name="python3"):
    (home.parent / "bin" / name).symlink_to(os.path.realpath(sys.executable))


def node(home, *words, path=None, **env):
    env = {"HOME": str(home), "PATH": path or str(home.parent / "bin"), **env}
    return subprocess.run([SHOAL, "node", *words], env=env, text=True, capture_output=True,
                          timeout=120)


# ---- probe ----

def test_a_look_around(home):
    add_python(home)
    took = []
    for _ in range(5):  # on a busy machine a process may have to wait for its turn
        began = time.monotonic()
        done = node(home, "probe", "--bare")
        took.append(time.monotonic() - began)
        assert done.returncode == 0, done.stderr
        if took[-1] < 1:
            break
    version = "%d.%d.%d" % sys.version_info[:3]
    assert done.stdout.startswith(f"python {version} ({home.parent}/bin/python3), no ray, no pip, "
                                  "no docker, ")
    assert min(took) < 1


def test_what_surely_fails_is_refused(home):
    done = node(home, "probe", "--bare")
    assert done.returncode == 1
    assert "no Python 3.10 or newer to install it with" in done.stderr
    assert "install -y python3" in done.stderr
    # A command of the file may still bring it.
    assert node(home, "probe").returncode == 0


def test_a_program_that_the_first_command_needs(home):
    done = node(home, "probe", "--need", "pip")
    assert done.returncode == 1
    assert "the first setup command needs pip, which is not installed" in done.stderr
    assert "python3-pip" in done.stderr
    assert "get.docker.com" in node(home, "probe", "--need", "docker").stderr
    assert node(home, "probe", "--need", "bash").returncode == 0


def test_the_advice_fits_the_distribution(home):
    (home.parent / "bin" / "dnf").symlink_to("/bin/true")
    assert "`sudo dnf install -y python3-pip`" in node(home, "probe", "--need", "pip").stderr


# ---- ray ----

def wheel(folder, name, files):
    with zipfile.ZipFile(folder / name, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


def pip_wheel(folder):
    """Out of the pip that this Python has."""
    import pip
    source = pathlib.Path(pip.__file__).parent
    with zipfile.ZipFile(folder / "pip-9.9.9-py3-none-any.whl", "w") as archive:
        for path in source.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, "pip" / path.relative_to(source))
        info = "pip-9.9.9.dist-info/"
        archive.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: pip\nVersion: 9.9.9\n")
        archive.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n"
                                         "Tag: py3-none-any\n")
        archive.writestr(info + "entry_points.txt", "[console_scripts]\n"
                                                    "pip = pip._internal.cli.main:main\n")
        archive.writestr(info + "RECORD", "")


def ray_wheel(folder, version):
    info = f"ray-{version}.dist-info/"
    wheel(folder, f"ray-{version}-py3-none-any.whl", {
        "ray/__init__.py": "def main():\n    print('a small Ray')\n",
        info + "METADATA": f"Metadata-Version: 2.1\nName: ray\nVersion: {version}\n"
                           "Provides-Extra: default\n",
        info + "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        info + "entry_points.txt": "[console_scripts]\nray = ray:main\n",
        info + "RECORD": "",
    })


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Index(http.server.BaseHTTPRequestHandler):
    def __init__(self, folder, asked, *args):
        self.folder, self.asked = folder, asked
        super().__init__(*args)

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.asked.append(self.path)
        words = self.path.strip("/").split("/")
        if words[0] == "files":
            body = (self.folder / words[1]).read_bytes()
        else:
            body = "".join(
                f'<a href="/files/{path.name}#sha256={digest(path)}"'
                f' data-requires-python="&gt;=3.7">{path.name}</a>'
                for path in self.folder.glob(words[1] + "-*")).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if words[0] == "simple" else "application/zip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def index(tmp_path):
    folder = tmp_path / "wheels"
    folder.mkdir()
    pip_wheel(folder)
    ray_wheel(folder, "2.60.0")
    asked = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                             functools.partial(Index, folder, asked))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.url = f"http://127.0.0.1:{server.server_port}/simple"
    server.asked = asked
    yield server
    server.shutdown()


def bare_python(home):
    """One that has neither pip nor ensurepip, as Debian's."""
    folder = home.parent / "bare"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if sys.prefix == sys.base_prefix:\n"
        "    sys.modules['ensurepip'] = sys.modules['pip'] = None\n"
        "    os.path.isdir = lambda path, was=os.path.isdir: 'wheels' not in path and was(path)\n")
    python = home.parent / "bin" / "python3"
    python.write_text(f"#!/bin/sh\nPYTHONPATH={folder} exec {os.path.realpath(sys.executable)} "
                      "\"$@\"\n")
    python.chmod(0o755)


def test_ray_comes_without_pip(home, index):
    bare_python(home)
    (home / ".pip").mkdir()
    (home / ".pip" / "pip.conf").write_text(f"[global]\nindex-url = {index.url}\n")
    done = node(home, "ray", "--version", "2.60.0", PIP_CONFIG_FILE=str(home / ".pip/pip.conf"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "/simple/pip/" in index.asked
    assert f"pip comes from {index.url}: pip-9.9.9-py3-none-any.whl" in done.stdout
    ray = home / ".shoal/ray/bin/ray"
    assert subprocess.check_output([ray], text=True) == "a small Ray\n"
    # And again: it is there, though not on the PATH.
    again = node(home, "ray", "--version", "2.60.0")
    assert again.returncode == 0
    assert again.stdout.startswith("Ray 2.60.0 with Python ")


def test_ray_comes_once_and_shells_find_it(home, index):
    add_python(home)
    done = node(home, "ray", "--version", "2.60.0", PIP_INDEX_URL=index.url)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Ray 2.60.0 is installed after" in done.stdout
    assert node(home, "env", "--token").returncode == 0
    for words in (["--login", "-c"], ["--login", "-c", "-i"], ["-c"]):
        said = subprocess.run(["bash", *words, "source ~/.bashrc; ray; echo $RAY_AUTH_MODE"],
                              env={"HOME": str(home), "PATH": str(home.parent / "bin")},
                              text=True, capture_output=True).stdout
        assert said == "a small Ray\ntoken\n"


def login(home, *lines, **env):
    """What a command of the file does: in a login shell."""
    return subprocess.run(["bash", "--login", "-c", "-i", "\n".join(lines)], text=True,
                          env={"HOME": str(home), "PATH": str(home.parent / "bin"), **env},
                          capture_output=True, timeout=120)


def managed_python(home):
    """Ubuntu 24.04: it has pip, which refuses to install anything (PEP 668)."""
    stdlib = home.parent / "stdlib"
    stdlib.mkdir()
    (stdlib / "EXTERNALLY-MANAGED").write_text("[externally-managed]\nError=no\n")
    bare_python(home)
    site = home.parent / "bare" / "sitecustomize.py"
    site.write_text(site.read_text() + "    import sysconfig\n    was = sysconfig.get_path\n"
                    f"    sysconfig.get_path = lambda name, **more: {str(stdlib)!r} "
                    "if name == 'stdlib' else was(name, **more)\n")
    (home.parent / "bin" / "pip").write_text("#!/bin/sh\necho externally-managed-environment >&2\n"
                                             "exit 1\n")
    (home.parent / "bin" / "pip").chmod(0o755)


@pytest.mark.parametrize("python", [bare_python, managed_python])
def test_a_setup_command_with_pip(home, index, python):
    """The newest Ubuntu has no pip, or one that refuses. What a command installs is in Ray's
    environment.
    """
    wheel(home.parent / "wheels", "torch-1.0-py3-none-any.whl", {
        "torch.py": "", "torch-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\n"
                                                        "Version: 1.0\n",
        "torch-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n"
                                     "Tag: py3-none-any\n", "torch-1.0.dist-info/RECORD": ""})
    python(home)
    there = {"PIP_INDEX_URL": index.url}
    assert login(home, "pip install torch", **there).returncode != 0
    done = node(home, "python", **there)
    assert done.returncode == 0 and "pip is installed after" in done.stdout, done.stderr
    done = login(home, "pip install torch", **there)
    assert done.returncode == 0, done.stdout + done.stderr
    path = login(home, "echo $PATH").stdout.strip()
    done = node(home, "ray", "--version", "2.60.0", path=path, **there)
    assert done.returncode == 0 and "Ray 2.60.0 is installed after" in done.stdout, done.stderr
    assert node(home, "env", "--token", path=path).returncode == 0
    done = login(home, "ray && python3 -c 'import ray, torch' && echo $RAY_AUTH_MODE")
    assert done.stdout == "a small Ray\ntoken\n", done.stderr
    # A command may also install Ray itself, and nothing is made twice.
    asked = len(index.asked)
    assert "Ray is installed" in node(home, "python", path=path, **there).stdout
    assert len(index.asked) == asked


def test_a_machine_with_pip_keeps_it(home, index):
    add_python(home)
    (home.parent / "bin" / "pip").symlink_to("/bin/true")
    done = node(home, "python", PIP_INDEX_URL=index.url)
    assert done.returncode == 0 and done.stdout.startswith("pip is installed\n")
    assert not (home / ".shoal/ray").exists() and index.asked == []


def test_an_old_python_is_left_to_the_setup_commands(home):
    python = home.parent / "bin" / "python3"
    python.write_text("#!/bin/sh\necho Python 3.9.1\n")
    python.chmod(0o755)
    done = node(home, "python")
    assert done.returncode == 0 and "no Python 3.10 or newer" in done.stdout


def test_no_pip_and_no_index(home, index):
    bare_python(home)
    done = node(home, "python", PIP_INDEX_URL=index.url + "/nowhere")
    assert done.returncode == 1 and "error: pip could not be installed" in done.stderr
    assert not (home / ".shoal/ray/has-pip").exists()


def test_a_version_that_is_not_there(home, index):
    add_python(home)
    done = node(home, "ray", "--version", "9.9", PIP_INDEX_URL=index.url)
    assert done.returncode != 0
    assert "No matching distribution found for ray" in done.stdout + done.stderr
    assert "Ray 9.9 could not be installed" in done.stderr
    assert not (home / ".shoal/ray/ready").exists()


def add_ray(home, version):
    """One that only says what it is."""
    python = home.parent / "bin" / "python-of-ray"
    python.write_text(f"#!/bin/sh\necho ray {version}\necho python 3.11.2\n")
    python.chmod(0o755)
    (home.parent / "bin" / "ray").write_text(f"#!{python}\n")
    (home.parent / "bin" / "ray").chmod(0o755)


def test_the_users_ray_is_left_alone(home):
    add_ray(home, "2.40.0")
    done = node(home, "ray", "--version", "2.60.0")
    assert done.returncode == 0
    assert done.stdout.startswith(f"Ray 2.40.0 with Python 3.11.2 ({home.parent}/bin/ray)\n")
    assert "before 2.52 has no token authentication" in done.stdout
    assert not (home / ".shoal/ray").exists()
    assert node(home, "env").returncode == 0
    assert "PATH" not in (home / ".shoal/env.sh").read_text()


# ---- start ----

# As start_command.c has it.
COMMAND = ('eval "$({} node start)"; echo {}ray start --head '
           '${{SHOAL_MONITOR---autoscaling-config=~/ray_bootstrap_config.yaml}} '
           '"($RAY_enable_autoscaler_v2|$RAY_AUTH_MODE)"{}')


def start(home, before="", behind=""):
    """What the head's start command becomes in its shell, and what is said of it."""
    env = {"HOME": str(home), "PATH": str(home.parent / "bin"), "RAY_enable_autoscaler_v2": "1"}
    command = "source ~/.bashrc; " + COMMAND.format(SHOAL, before, behind)
    done = subprocess.run(["bash", "-c", command], env=env, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("version", ["2.51.1", "2.9.3", "1.13.0"])
def test_an_old_ray_keeps_its_monitor(home, version):
    add_ray(home, version)
    assert node(home, "ray", "--version", "2.60.0").returncode == 0
    assert node(home, "env", "--make-token").returncode == 0
    said, warned = start(home)
    assert said == "ray start --head --autoscaling-config=~/ray_bootstrap_config.yaml (|)\n"
    assert f"Ray {version} is older than 2.52" in warned
    assert "RAY_AUTH_MODE" not in (home / ".shoal/env.sh").read_text()


@pytest.mark.parametrize("version", ["2.52.0", "2.60.0", "3.0.0.dev0"])
def test_a_new_ray_has_none(home, version):
    add_ray(home, version)
    assert node(home, "ray", "--version", "2.60.0").returncode == 0
    assert node(home, "env", "--make-token").returncode == 0
    assert start(home) == ("ray start --head --no-monitor (1|token)\n", "")
    assert start(home, "$(bash -c 'echo ", "')")[0] == "ray start --head --no-monitor (1|token)\n"
    # What is not known counts as new; so does a note that is gone.
    (home / ".shoal/ray-version").unlink()
    assert "--no-monitor" in start(home)[0]


def test_an_upgrade_is_noticed(home):
    add_ray(home, "2.40.0")
    assert node(home, "ray").returncode == 0
    assert (home / ".shoal/ray-version").read_text() == "2.40.0"
    add_ray(home, "2.60.0")
    assert node(home, "ray").returncode == 0
    assert "--no-monitor" in start(home)[0]


# ---- store ----

UID = "0123456789abcdef0123456789abcdef"


def hand_over(home, uid=UID, head="i-0aaaaaaaaaaaaaaaa"):
    folder = home / ".shoal/cluster"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.parent.chmod(0o700)
    path = folder / "handover.json"
    path.write_text(json.dumps({
        "format": 1, "uid": uid, "epoch": 1, "sole_writer_epoch": 1, "serial": 1, "config": "{}",
        "secret": "5c" * 32, "key": "not a key\n", "head_id": head,
        "head_private_ip": "127.0.0.1", "environment": {}, "machines": [], "intents": []}))
    path.chmod(0o600)


def test_the_gcs_store_is_private_and_stays(home):
    hand_over(home)
    done = node(home, "store")
    assert done.returncode == 0, done.stderr
    path = home / f".shoal/gcs/{UID}-i-0aaaaaaaaaaaaaaaa"
    assert done.stdout == f"{path}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    (path / "session_name").write_text("session")
    assert node(home, "store").stdout == f"{path}\n"
    assert (path / "session_name").read_text() == "session"


@pytest.mark.parametrize("other", [{"uid": "f" * 32}, {"head": "i-0bbbbbbbbbbbbbbbb"}])
def test_a_store_of_another_cluster_or_head_is_never_read(home, other):
    hand_over(home, **other)
    old = pathlib.Path(node(home, "store").stdout.strip())
    (old / "tables").mkdir()
    (old / "tables/CURRENT").write_text("MANIFEST")
    hand_over(home)
    new = pathlib.Path(node(home, "store").stdout.strip())
    assert new != old and not old.exists() and list(new.iterdir()) == []


def test_a_ray_that_is_too_old_for_the_store_does_not_start(home):
    hand_over(home)
    add_ray(home, "2.59.0")
    assert node(home, "ray").returncode == 0
    # As start_command.c has it.
    command = (f"RAY_gcs_storage_path=$({SHOAL} node store) || exit 1; "
               'export RAY_gcs_storage_path; echo "ray start --head $RAY_gcs_storage_path"')
    env = {"HOME": str(home), "PATH": str(home.parent / "bin")}
    done = subprocess.run(["bash", "-c", command], env=env, text=True, capture_output=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("error: metadata.shoal.gcs_store: disk needs Ray 2.60 or newer, and "
                           "this machine has Ray 2.59.0; install a newer Ray or remove gcs_store "
                           "from the cluster file\n")
    assert not (home / ".shoal/gcs").exists()
    add_ray(home, "2.60.0")
    assert node(home, "ray").returncode == 0
    done = subprocess.run(["bash", "-c", command], env=env, text=True, capture_output=True)
    assert done.stdout.startswith(f"ray start --head {home}/.shoal/gcs/{UID}-i-0"), done.stderr


def test_a_store_needs_to_know_whose_it_is(home):
    assert "handover.json" in node(home, "store").stderr
    hand_over(home, uid="../../x")
    done = node(home, "store")
    assert (done.returncode, done.stdout) == (1, "")
    assert "does not name a cluster and a head; run `shoal up` again" in done.stderr
    hand_over(home)
    (home / ".shoal/gcs").mkdir(mode=0o755)
    (home / ".shoal/gcs").chmod(0o777)
    done = node(home, "store")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{home}/.shoal/gcs" in done.stderr


# ---- env ----

LINE = "if [ -r ~/.shoal/env.sh ]; then . ~/.shoal/env.sh; fi # by Shoal\n"


def test_the_line_comes_first_and_once(home):
    early = "case $- in *i*) ;; *) return;; esac\nexport LATE=1\n"
    (home / "dotfiles").write_text(early)
    (home / "dotfiles").chmod(0o640)
    (home / ".bashrc").symlink_to("dotfiles")
    (home / ".bash_profile").write_text("export OWN=1\n")
    for _ in range(2):
        assert node(home, "env", "--make-token", SHELL="/usr/bin/zsh").returncode == 0
    assert (home / ".bashrc").is_symlink()
    assert (home / "dotfiles").read_text() == LINE + early
    assert stat.S_IMODE((home / "dotfiles").stat().st_mode) == 0o640
    assert (home / ".bash_profile").read_text() == LINE + "export OWN=1\n"
    assert not (home / ".profile").exists()
    assert (home / ".zshenv").read_text() == LINE
    said = subprocess.check_output(["bash", "-c", "source ~/.bashrc; echo $RAY_AUTH_MODE"],
                                   env={"HOME": str(home), "PATH": os.environ["PATH"]}, text=True)
    assert said == "token\n"


def test_the_token_stays(home):
    assert node(home, "env", "--make-token").returncode == 0
    token = home / ".ray/auth_token"
    first = token.read_text()
    assert len(first) == 64 and stat.S_IMODE(token.stat().st_mode) == 0o600
    token.chmod(0o644)
    assert node(home, "env", "--make-token").returncode == 0
    assert token.read_text() == first and stat.S_IMODE(token.stat().st_mode) == 0o600


# ---- idle ----

# In a PID namespace of its own: another Ray may run on this machine.
IDLE = """
"$SHOAL" node idle
"$PYTHON" "$SCRIPT" &
until grep -q log_monitor /proc/$!/cmdline; do sleep 0.01; done
"$SHOAL" node idle || echo in use
kill $!; wait
mkdir "$TMPDIR/ray" && echo 10.0.0.1:6379 > "$TMPDIR/ray/ray_current_cluster"
"$SHOAL" node idle || echo in use
"""


def test_a_process_of_ray_is_seen(home, tmp_path):
    script = tmp_path / "log_monitor.py"
    script.write_text("import time\ntime.sleep(60)\n")
    done = subprocess.run(["unshare", "-pf", "--mount-proc", "bash", "-c", IDLE], text=True,
                          capture_output=True, timeout=120,
                          env={"HOME": str(home), "PATH": os.environ["PATH"], "SHOAL": str(SHOAL),
                               "PYTHON": sys.executable, "SCRIPT": str(script),
                               "TMPDIR": str(tmp_path)})
    assert done.stdout == "Ray is not running here\nin use\nin use\n", done


# ---- watch ----

WATCH = ["watch", "--provider", "aws", "--instance-id", "i-1", "--gcs", "127.0.0.1:1"]


@pytest.fixture
def metadata(tmp_path):
    folder = tmp_path / "meta"
    folder.mkdir()
    script = pathlib.Path(__file__).parent.parent / "ray/metadata_server.py"
    server = subprocess.Popen([sys.executable, str(script), str(folder), "0"])
    wait_for(lambda: (folder / "port").exists() and (folder / "port").read_text())
    yield folder
    server.kill()
    server.wait()


def wait_for(check, seconds=30):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.02)


def watcher_of(home):
    words = (home / ".shoal/watch.lock").read_text().split()
    assert words[:-1] == ["shoal", "node", "watch,", "pid"]
    return int(words[-1])


def is_running(pid):
    try:
        return "Z" not in pathlib.Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0]
    except OSError:
        return False


@pytest.fixture
def watched(home, metadata):
    """Starts a watcher as a step does; all of them are ended behind the test."""
    env = {"AWS_EC2_METADATA_SERVICE_ENDPOINT":
           "http://127.0.0.1:" + (metadata / "port").read_text()}
    pids = []

    def start(*words, watch=WATCH):
        done = node(home, *watch, *words, **env)
        assert (done.returncode, done.stderr) == (0, "")
        before = pids[-1:]
        wait_for(lambda: (home / ".shoal/watch.lock").exists()
                 and (home / ".shoal/watch.lock").read_text() and [watcher_of(home)] != before)
        pids.append(watcher_of(home))
        return pids[-1]

    yield start
    for pid in pids:
        if is_running(pid):
            os.kill(pid, 15)


def test_a_watcher_stays_alone_and_small(home, metadata, watched):
    os.sync()  # pages of a program that was just linked would count as its memory
    first = watched()
    asked = metadata / "asked"
    wait_for(asked.exists)
    second = watched()
    assert second != first
    wait_for(lambda: not is_running(first))
    before = cpu_ms(second)
    time.sleep(3)
    spent = cpu_ms(second) - before
    fields = pathlib.Path(f"/proc/{second}/smaps_rollup").read_text()
    private = sum(int(line.split()[1]) for line in fields.splitlines()
                  if line.startswith("Private_Dirty:"))
    print(f"watcher: {private} kB private, {spent:.0f} ms of a processor in 3 s")
    assert spent <= 60
    if "asan" not in os.environ["SHOAL_BUILD"]:
        assert private <= 2500
    assert "watching instance=i-1" in (home / ".shoal/watch.log").read_text()
    status = pathlib.Path(f"/proc/{second}/status").read_text()
    assert f"NSsid:\t{second}\n" not in status  # no leader of a session


def cpu_ms(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def test_advice_counts_by_choice(home, metadata, watched):
    log = home / ".shoal/watch.log"
    (metadata / "rebalance").write_text('{"noticeTime": "2026-11-10T07:59:00Z"}')
    watched()
    wait_for(lambda: (metadata / "asked").exists())
    time.sleep(1.2)
    assert "rebalance" not in (metadata / "asked").read_text()
    assert "recommends" not in log.read_text()
    watched("--rebalance")
    wait_for(lambda: "recommends replacing" in log.read_text())
    (metadata / "notice").write_text('{"action": "terminate", "time": "soon"}')
    wait_for(lambda: "will reclaim this instance" in log.read_text())


def test_a_forgotten_token_and_nonsense_are_survived(home, metadata, watched):
    watched()
    log = home / ".shoal/watch.log"
    wait_for(lambda: (metadata / "asked").exists())
    (metadata / "notice").write_text("<html>sign in</html>")
    wait_for(lambda: "metadata service failures=1" in log.read_text())
    (metadata / "forget").write_text("")
    (metadata / "notice").write_text('{"action": "stop", "time": "soon"}')
    wait_for(lambda: "will reclaim this instance" in log.read_text())
    (metadata / "notice").unlink()
    wait_for(lambda: "the interruption notice was withdrawn" in log.read_text())


def gcs_words(gcs):
    return [*WATCH[:-1], f"127.0.0.1:{gcs.port}"]


def test_the_node_of_this_machine_is_drained(home, metadata, watched):
    with FakeGcs() as gcs:
        gcs.add_node("i-0")
        gcs.add_node("i-1")
        (metadata / "notice").write_text('{"action": "terminate", "time": "soon"}')
        watched(watch=gcs_words(gcs))
        wait_for(lambda: gcs.drained)
        assert gcs.drained[0].node_id == bytes([2]) * 28
        wait_for(lambda: "Ray drains this node" in (home / ".shoal/watch.log").read_text())


def test_the_head_is_never_drained(home, metadata, watched):
    """A drained head would take the whole cluster with it."""
    with FakeGcs() as gcs:
        gcs.add_node("i-1", is_head=True)
        (metadata / "notice").write_text('{"action": "terminate", "time": "soon"}')
        watched(watch=gcs_words(gcs))
        log = home / ".shoal/watch.log"
        wait_for(lambda: "this is the head, which" in log.read_text())
        time.sleep(1.2)  # it is retried in the meantime
        assert gcs.drained == []


def test_a_token_that_is_refused_is_read_again(home, metadata, watched):
    """The head got another token since the watcher was started."""
    token = home / "token"
    token.write_text("old")
    token.chmod(0o600)
    with FakeGcs(token="new") as gcs:
        gcs.add_node("i-1")
        (metadata / "notice").write_text('{"action": "terminate", "time": "soon"}')
        watched("--token-file", str(token), watch=gcs_words(gcs))
        wait_for(lambda: gcs.refused > 1)
        assert gcs.drained == []
        token.write_text("new")
        wait_for(lambda: gcs.drained)


def test_watching_needs_to_know_what(home):
    done = node(home, "watch", "--provider", "aws")
    assert done.returncode == 2
    assert "--instance-id" in done.stderr
    done = node(home, "watch", "--foreground", "--provider", "local", "--instance-id", "i",
                "--gcs", "127.0.0.1:1")
    assert done.returncode == 1
    assert 'the provider "local" sends no interruption notices' in done.stderr


# ---- gate ----


def start_gate(home, port, *words):
    env = {"HOME": str(home), "PATH": str(home.parent / "bin")}
    return subprocess.Popen([SHOAL, "node", "gate", "--gcs", f"127.0.0.1:{port}", *words], env=env,
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_the_gate_refuses_a_wrong_token_and_waits_for_a_slow_head(home):
    """Both take longer than ten seconds, so they run at the same time."""
    (home / "token").write_text("wrong")
    (home / "token").chmod(0o600)
    port = free_port()
    waiting = start_gate(home, port)
    with FakeGcs(token="right") as gcs:
        refused = start_gate(home, gcs.port, "--token-file", str(home / "token"))
        time.sleep(12)
        assert waiting.poll() is None, waiting.communicate()
        said = refused.communicate(timeout=20)
        assert refused.returncode == 1, said
        assert "refuses this node" in said[1] and gcs.refused > 5
    with FakeGcs(port) as gcs:
        said = waiting.communicate(timeout=20)
        assert waiting.returncode == 0, said
        assert "the head's Ray answers at" in said[0]


def test_the_gate_leaves_a_token_of_the_start_command_alone(home):
    """Only `ray start` knows it, and compares the versions itself."""
    with FakeGcs(token="secret") as gcs:
        gate = start_gate(home, gcs.port)
        said = gate.communicate(timeout=20)
        assert gate.returncode == 0, said
