"""Verbs of clusters as far as they go without a cloud: what is refused, asked and said before."""

import json
import os
import time

import pytest


FILE = """cluster_name: demo
provider: {type: aws, region: us-west-2}
auth: {ssh_user: ubuntu}
available_node_types:
  head: {node_config: {InstanceType: m5.large}, resources: {CPU: 1}}
  a: {node_config: {InstanceType: m5.large}, resources: {CPU: 1}, max_workers: 2}
"""
TWO_TYPES = FILE + FILE.splitlines()[-1].replace("  a:", "  b:") + "\n"
END = "head_node_type: head\nmax_workers: 4\n"

# No process listens there: a command that is not refused before fails quickly.
NOWHERE = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "x",
           "AWS_SECRET_ACCESS_KEY": "y", "AWS_MAX_ATTEMPTS": "1"}


@pytest.fixture
def file(write):
    write("x.yaml", FILE + END)
    return "x.yaml"


@pytest.mark.parametrize("words, says", [
    (["up", "-y", "--no-restart", "--restart-only"], "contradict"),
    (["plan", "--no-restart", "--restart-only"], "contradict"),
    (["up", "-y", "--keep-failed", "soon"], "--keep-failed needs a time such as 10m"),
    (["up", "-y", "--keep-failed", "0"], "--keep-failed needs a time"),
    (["attach", "--new"], "--new needs --screen or --tmux"),
    (["attach", "--screen", "--tmux"], "not both"),
    (["dashboard", "-p", "70000"], "between 1 and 65535"),
    (["notebook", "-p", "70000"], "between 1 and 65535"),
    (["monitor", "--lines", "-1"], "--lines"),
])
def test_what_is_refused(shoal, file, words, says):
    done = shoal(*words, file)
    assert (done.returncode, done.stdout) == (2, "") and says in done.stderr


@pytest.mark.parametrize("words, says", [
    (["exec", "--screen", "--tmux"], "not both"),
    (["exec", "-p", "80", "-p", "0"], "1 to 65535"),
    (["exec", "--run-env", "moon"], "auto, host, docker"),
    (["rsync-down"], "both SOURCE and TARGET"),
])
def test_what_is_refused_with_a_command(shoal, file, words, says):
    done = shoal(*words, file, "true")
    assert (done.returncode, done.stdout) == (2, "") and says in done.stderr


@pytest.mark.parametrize("before, after, more, says", [
    ("provider: {", "provider: {cache_stopped_nodes: true, ", "", "cache_stopped_nodes: true"),
    ("", "", "docker: {image: x, container_name: y}\n", "--run-env host"),
])
def test_what_the_head_cannot_end(shoal, write, before, after, more, says):
    """Told before anything is asked or launched."""
    text = FILE.replace(before, after, 1) if before else FILE
    write("x.yaml", text + more + END)
    done = shoal("exec", "--start", "--stop", "--tmux", "x.yaml", "true")
    assert (done.returncode, done.stdout) == (2, "") and says in done.stderr, done.stderr


def test_submit_wants_a_script(shoal, file, write):
    assert "none.py: there is no such file" in shoal("submit", file, "none.py").stderr
    write("folder/x.py", "")
    assert "needs a Python script" in shoal("submit", file, "folder").stderr
    done = shoal("exec", file, "")
    assert done.returncode == 2 and "the command is empty" in done.stderr
    write("s.py", "")
    done = shoal("submit", "--args", "a", file, "s.py", "--", "-b")
    assert done.returncode == 2 and "--args" in done.stderr
    done = shoal("submit", "--extra-screen-args", "a", file, "s.py")
    assert done.returncode == 2 and "--screen" in done.stderr


def test_min_workers_of_one_type(shoal, write):
    write("two.yaml", TWO_TYPES + END)
    done = shoal("up", "-y", "--min-workers", "1", "two.yaml")
    assert done.returncode == 2 and "this file has 2" in done.stderr
    write("one.yaml", FILE + END)
    done = shoal("up", "-y", "--min-workers", "9", "one.yaml")
    assert done.returncode == 2 and "max_workers" in done.stderr


@pytest.mark.parametrize("verb", ["up", "down"])
def test_without_a_terminal_nothing_happens_unasked(shoal, file, verb):
    done = shoal(verb, file, env=NOWHERE)
    assert (done.returncode, done.stdout) == (1, "")
    assert "add --yes" in done.stderr and "127.0.0.1" not in done.stderr


@pytest.mark.parametrize("written, says", [
    ("", "instances are terminated with their disks"),
    ("cache_stopped_nodes: true", "instances are stopped, not terminated"),
    ("cache_stopped_nodes: false", None)])
def test_what_down_does_with_machines(shoal, write, written, says):
    text = FILE.replace("us-west-2}", f"us-west-2, {written}}}" if written else "us-west-2}")
    write("x.yaml", text + END)
    done = shoal("down", "x.yaml")
    notes = [line for line in done.stderr.splitlines() if line.startswith("shoal: note:")]
    assert any(says in line for line in notes) if says else not notes


def test_disks_of_stopped_machines_have_a_price(shoal, write):
    disk = "BlockDeviceMappings: [{DeviceName: /dev/sda1, Ebs: {VolumeSize: 100, VolumeType: gp3}}]"
    text = FILE.replace("us-west-2}", "us-west-2, cache_stopped_nodes: true}")
    text = text.replace("InstanceType: m5.large}", f"InstanceType: m5.large, {disk}}}")
    write("x.yaml", text + END)
    done = shoal("down", "x.yaml")
    assert "type head keeps its disks: 100 GB" in done.stderr, done.stderr
    assert "stopped" in shoal("down", "x.yaml").stderr
    assert "stopped, not terminated" not in shoal("down", "--terminate", "x.yaml").stderr


EXTERNAL = '''cluster_name: demo
max_workers: 1
provider: {type: external, %s}
setup_commands: []
head_setup_commands: []
worker_setup_commands: []
cluster_synced_files: []
head_node_type: head
available_node_types: {head: {node_config: {}, resources: {CPU: 1}}}
'''


def test_other_clouds_are_not_launched_yet(shoal, write):
    write("x.yaml", (EXTERNAL % "").replace("external", "spark"))
    done = shoal("up", "-y", "x.yaml")
    assert done.returncode == 1 and "provider spark is not supported yet" in done.stderr


def test_a_python_without_ray(shoal, write):
    """A node provider class of Ray needs one."""
    text = EXTERNAL % "module: a.B" + "metadata: {shoal: {python: %s}}\n"
    write("x.yaml", text % "/usr/bin/python3")
    assert shoal("validate", "x.yaml").returncode == 0
    for words in (("up", "-y"), ("down", "-y"), ("check",)):
        done = shoal(*words, "x.yaml")
        assert done.returncode == 1 and "/usr/bin/python3 has no Ray" in done.stderr, done.stderr
        assert "metadata.shoal.python" in done.stderr
    write("x.yaml", text % "/no/python")
    done = shoal("check", "x.yaml")
    assert done.returncode == 1 and "the class in provider.module ended" in done.stderr, done.stderr


def test_a_word_of_the_command_is_relative_to_the_cluster_file(shoal, write, repository, tmp_path):
    """A program of the same name in the current directory must not run."""
    example = repository / "examples" / "plug-ins" / "file_cloud.py"
    write("x/cloud.py", example.read_text(encoding="utf-8"))
    write("cloud.py", "import os; os.system('touch ran')\n")
    write("x/x.yaml", EXTERNAL % "command: [python3, ./cloud.py], state: cloud.json")
    done = shoal("check", "x/x.yaml")
    assert "file cloud: replies" in done.stdout, done.stdout + done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_plugin_is_checked(shoal, write, repository, tmp_path):
    """`check` names the guarantees that are weaker, and creates nothing."""
    program = os.path.join(repository, "examples", "plug-ins", "file_cloud.py")
    state = tmp_path / "state.json"
    more = f"command: [{program}], state: {state}, can: [%s]"
    write("x.yaml", EXTERNAL % (more % "tokens, atomic_swap, tags"))
    done = shoal("check", "x.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "file cloud: replies and lists 0 instances" in done.stdout
    assert "warning" not in done.stdout
    write("x.yaml", EXTERNAL % (more % ""))
    done = shoal("check", "x.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    for weaker in ("no idempotency tokens", "no atomic compare-and-swap", "have no tags"):
        assert weaker in done.stdout
    stored = json.loads(state.read_text(encoding="utf-8"))
    assert stored["machines"] == [] and not any(stored["records"].values())


def test_a_plugin_that_does_not_start(shoal, write):
    write("x.yaml", EXTERNAL % "command: [/bin/sh, -c, 'echo no token >&2; exit 3']")
    done = shoal("check", "x.yaml")
    assert done.returncode == 1
    assert "exited with status 3. Its last output: no token" in done.stdout + done.stderr


@pytest.mark.parametrize("option", [
    "--no-config-cache", "--redirect-command-output", "--use-login-shells"])
def test_options_of_ray_that_change_nothing(shoal, file, option):
    """Accepted: up gets as far as its question."""
    done = shoal("up", option, file, env=NOWHERE)
    assert (done.returncode, done.stderr) == (1, shoal("up", file, env=NOWHERE).stderr)
    assert "add --yes" in done.stderr


def test_the_address_of_ray_changes_nothing(shoal):
    done = shoal("status", "--address", "1.2.3.4:6379")
    assert (done.returncode, done.stderr) == (1, shoal("status").stderr)


def test_normal_shells_are_warned_about(shoal, file):
    done = shoal("up", "--use-normal-shells", file, env=NOWHERE)
    assert done.returncode == 1 and "warning: --use-normal-shells" in done.stderr


@pytest.mark.parametrize("verb", ["status", "explain"])
def test_without_a_head_the_last_failure_of_up_is_said(shoal, file, home, verb):
    """No service can answer: what `up` left on this machine is all that is known."""
    env = {"AWS_EC2_METADATA_DISABLED": "true", "XDG_STATE_HOME": str(home / "state")}
    assert "the last `shoal up`" not in shoal(verb, file, env=env).stderr
    folder = home / "state" / "shoal" / "aws-us-west-2-demo"
    folder.mkdir(parents=True, mode=0o700)
    kept = folder / "last-failure"
    kept.write_text(f"{(time.time() - 600) * 1000:.0f} no capacity in us-west-2a", encoding="ascii")
    done = shoal(verb, file, env=env)
    assert done.returncode == 1 and done.stdout == ""
    assert "note: the last `shoal up` failed 10m ago: no capacity in us-west-2a" in done.stderr
    assert "`shoal up x.yaml` tries again; `shoal down x.yaml` removes what was created" in \
        done.stderr
    kept.write_text("damaged", encoding="ascii")
    assert "last-failure does not start with a time" in shoal(verb, file, env=env).stderr


OWN = """cluster_name: rack
provider: {type: local, %s}
auth: {ssh_user: nobody}
%s"""
HERE = "head_ip: 127.0.0.1, worker_ips: [127.0.0.2]"


def test_a_coordinator_is_not_supported(shoal, write):
    write("x.yaml", OWN % ("coordinator_address: 192.0.2.1:8000", "max_workers: 2\n"))
    done = shoal("validate", "x.yaml")
    assert done.returncode == 0 and "coordinator server" in done.stdout + done.stderr
    done = shoal("up", "-y", "x.yaml")
    assert done.returncode == 1 and "(coordinator_address) is not supported" in done.stderr


def test_an_external_head_ip(shoal, write, home):
    """The head is reached there, workers through it. Host keys have the names of the file."""
    (home / "bin").mkdir()
    fake = home / "bin" / "ssh"
    fake.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {home}/$$.words\nexit 255\n')
    fake.chmod(0o755)
    write("x.yaml", OWN % ("head_ip: 192.0.2.1, external_head_ip: 203.0.113.9, "
                           "worker_ips: [192.0.2.2]", ""))
    done = shoal("up", "-y", "x.yaml", env={"XDG_STATE_HOME": str(home / "state"),
                                            "PATH": f"{home}/bin:{os.environ['PATH']}"})
    assert done.returncode == 1 and "192.0.2.1 does not answer ssh" in done.stdout + done.stderr
    calls = [path.read_text().splitlines() for path in home.glob("*.words")]
    head, worker = sorted(calls, key=lambda words: "HostKeyAlias=192.0.2.2" in words)
    assert head[head.index("--") + 1] == "203.0.113.9" and "HostKeyAlias=192.0.2.1" in head
    assert worker[worker.index("--") + 1] == "192.0.2.2"
    proxy = next(word for word in worker if word.startswith("ProxyCommand="))
    assert proxy.startswith("ProxyCommand=ssh -W '[%h]:%p' "), proxy
    assert proxy.endswith(" -l nobody -- 203.0.113.9"), proxy
    assert " -o HostKeyAlias=192.0.2.1 " in proxy, proxy


def test_own_machines_that_do_not_answer(shoal, write, home):
    """Nothing listens on port 1 of this machine; `check` and `up` name the machine."""
    write("x.yaml", OWN % (HERE, "metadata: {shoal: {idle_stop: 5, idle_terminate: 3d}}\n"))
    env = {"XDG_STATE_HOME": str(home / "state")}
    (home / ".ssh").mkdir(exist_ok=True)
    done = shoal("check", "x.yaml", env=env)
    assert done.returncode == 1 and "the head 127.0.0.1 does not answer ssh" in done.stdout
    assert "idle_stop has no effect" in done.stdout
    assert "idle_terminate has no effect" in done.stdout
    done = shoal("up", "-y", "x.yaml", env=env)
    assert done.returncode == 1 and "nothing was created" in done.stderr, done.stderr
    assert not list((home / "state").rglob("journal.db"))
    done = shoal("policy", "x.yaml")
    assert done.returncode == 1 and "supports aws and gcp only, not local" in done.stderr


def test_own_machines_are_not_stopped(shoal, write, home):
    """Not even with cache_stopped_nodes; errors name the command to use."""
    write("x.yaml", OWN % (HERE + ", cache_stopped_nodes: true", ""))
    env = {"XDG_STATE_HOME": str(home / "state")}
    done = shoal("stop", "-y", "x.yaml", env=env)
    assert done.returncode == 2 and "`shoal down x.yaml` stops Ray on them" in done.stderr
    done = shoal("start", "x.yaml", env=env)
    assert done.returncode == 2 and "`shoal up x.yaml` starts Ray on them" in done.stderr
    done = shoal("down", "x.yaml", env=env)
    assert done.returncode != 0 and "cache_stopped_nodes" not in done.stderr
    assert "disks" not in done.stderr


def test_an_address_is_in_the_file_once(shoal, write):
    write("x.yaml", OWN % ("head_ip: 127.0.0.1, worker_ips: [127.0.0.1]", ""))
    done = shoal("up", "-y", "x.yaml")
    assert done.returncode == 1 and "each address may be in the file once" in done.stderr
