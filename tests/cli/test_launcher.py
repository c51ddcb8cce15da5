"""Verbs of clusters as far as they go without a cloud: what is refused, asked and said before."""

import os
import time

import pytest

from terminal import Terminal

FILE = """cluster_name: demo
provider: {type: aws, region: us-west-2}
auth: {ssh_user: ubuntu}
available_node_types:
  head: {node_config: {InstanceType: m5.large}, resources: {CPU: 1}}
  a: {node_config: {InstanceType: m5.large}, resources: {CPU: 1}, max_workers: 2}
"""
TWO_TYPES = FILE + FILE.splitlines()[-1].replace("  a:", "  b:") + "\n"
END = "head_node_type: head\nmax_workers: 4\n"

# Nobody listens there: what is not refused before ends quickly.
NOWHERE = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "x",
           "AWS_SECRET_ACCESS_KEY": "y", "AWS_MAX_ATTEMPTS": "1"}


@pytest.fixture
def file(write):
    write("x.yaml", FILE + END)
    return "x.yaml"


@pytest.mark.parametrize("words, says", [
    (["down", "-y", "--keep-min-workers"], "--keep-min-workers cannot be done yet"),
    (["rsync-up", "--all-nodes"], "file_mounts"),
    (["up", "-y", "--no-restart", "--restart-only"], "contradict"),
    (["attach", "--new"], "--new belongs to --screen or --tmux"),
    (["attach", "--screen", "--tmux"], "one of them"),
    (["dashboard", "-p", "70000"], "between 1 and 65535"),
    (["monitor", "--lines", "-1"], "--lines"),
])
def test_what_is_refused(shoal, file, words, says):
    done = shoal(*words, file)
    assert (done.returncode, done.stdout) == (2, "") and says in done.stderr


@pytest.mark.parametrize("words, says", [
    (["exec", "--screen", "--tmux"], "one of them"),
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
    assert "is no file here" in shoal("submit", file, "none.py").stderr
    write("s.py", "")
    done = shoal("submit", "--args", "a", file, "s.py", "--", "-b")
    assert done.returncode == 2 and "--args" in done.stderr
    done = shoal("submit", "--extra-screen-args", "a", file, "s.py")
    assert done.returncode == 2 and "--screen" in done.stderr


def test_min_workers_of_one_type(shoal, write):
    write("two.yaml", TWO_TYPES + END)
    done = shoal("up", "-y", "--min-workers", "1", "two.yaml")
    assert done.returncode == 2 and "this one has 2" in done.stderr
    write("one.yaml", FILE + END)
    done = shoal("up", "-y", "--min-workers", "9", "one.yaml")
    assert done.returncode == 2 and "max_workers" in done.stderr


@pytest.mark.parametrize("verb", ["up", "down"])
def test_without_a_terminal_nothing_happens_unasked(shoal, file, verb):
    done = shoal(verb, file, env=NOWHERE)
    assert (done.returncode, done.stdout) == (1, "")
    assert "add --yes" in done.stderr and "127.0.0.1" not in done.stderr


@pytest.mark.parametrize("verb", ["up", "down"])
@pytest.mark.parametrize("answer, goes_on", [(b"\n", False), (b"n\n", False), (b"No\n", False),
                                             (b"what?\nn\n", False), (b"\x04", False),
                                             (b"y\n", True), (b"maybe\nYES\n", True)])
def test_the_question(program, environment, folder, file, verb, answer, goes_on):
    terminal = Terminal([program, verb, "--color", "never", folder / file],
                        env={**environment, **NOWHERE})
    try:
        terminal.read(rb"Cluster demo on aws us-west-2: .* Confirm \[y/N\]: ")
        terminal.type(answer)
        if goes_on:
            terminal.read(rb"AWS_ENDPOINT_URL")
            time.sleep(0.2)
            terminal.type(b"\x03")
        data, status = terminal.end(20)
    finally:
        terminal.close()
    assert status == (130 if goes_on else 1), data
    assert (b"not confirmed; nothing was changed" in data) == (not goes_on)
    assert (b"AWS_ENDPOINT_URL" in data) == goes_on


def test_ctrl_c_at_the_question(program, environment, folder, file):
    terminal = Terminal([program, "up", folder / file], env=environment)
    try:
        terminal.read(rb"Confirm")
        terminal.type(b"\x03")
        terminal.end()
        assert terminal.child.returncode == -2
    finally:
        terminal.close()


@pytest.mark.parametrize("written, says", [
    ("", "machines are ended, with their disks"),
    ("cache_stopped_nodes: true", "machines are stopped, not ended"),
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
    assert "type head keeps 100 GB of disk" in done.stderr, done.stderr
    assert "stopped" in shoal("down", "x.yaml").stderr
    assert "stopped, not ended" not in shoal("down", "--terminate", "x.yaml").stderr


def test_other_clouds_are_not_launched_yet(shoal, repository):
    path = os.path.join(repository, "examples", "clusters", "gcp-minimal.yaml")
    done = shoal("up", "-y", path)
    assert done.returncode == 1 and "not launched yet" in done.stderr
