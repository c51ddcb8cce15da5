"""The steps of a node: done once, whatever becomes of the link that asked for them."""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

PROBE = str(pathlib.Path(os.environ["SHOAL_BUILD"]) / "tests/step_probe")


class Node:
    """A home folder of its own; what a login shell finds there is known."""

    def __init__(self, home):
        self.home = home
        self.folder = home / "shoal"
        (home / ".bashrc").write_text("export FROM_BASHRC=yes\n")
        (home / ".profile").write_text("export FROM_PROFILE=yes\n")
        self.env = {"HOME": str(home), "PATH": os.environ["PATH"], "FROM_SESSION": "too"}

    def start(self, *steps):
        """A session that sends the bundle and follows it."""
        session = subprocess.Popen([PROBE, str(self.folder)], env=self.env, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=self.home)
        session.stdin.write(json.dumps({"format": 1, "steps": list(steps)}))
        session.stdin.close()
        session.stdin = None
        return session

    def run(self, *steps):
        session = self.start(*steps)
        out, err = session.communicate(timeout=30)
        told = [json.loads(line) for line in out.splitlines()]
        self.lines = [event["tail"] for event in told if event["what"] == "said"]
        return session.returncode, [event for event in told if event["what"] != "said"], err

    def said(self, step):
        return (self.folder / "log" / str(step)).read_text()

    def wait_for(self, name):
        until = time.monotonic() + 10
        while not (self.home / name).exists():
            assert time.monotonic() < until, f"{name} never came"
            time.sleep(0.01)


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


def step(command, name="step", always=False, deadline_ms=0, **variables):
    return {"name": name, "command": command, "variables": variables, "deadline_ms": deadline_ms,
            "always": always}


def whats(events):
    return [event["what"] for event in events]


def test_steps_run_in_the_users_login_shell(node):
    status, events, _ = node.run(
        step("echo $FROM_PROFILE $FROM_BASHRC $OMP_NUM_THREADS $PYTHONWARNINGS $FROM_SESSION"),
        step('echo "$A"; echo "$B" # a comment at the end', A="it's", B='"$HOME" `id`'))
    assert status == 0
    assert whats(events) == ["bundle-began", "began", "done", "began", "done", "bundle-done"]
    assert node.said(1) == "yes yes 1 ignore too\n"
    assert node.said(2) == 'it\'s\n"$HOME" `id`\n'


def test_no_file_of_a_step_is_open_to_others(node):
    """Its variables may be secrets. The folder is private, and so is each file in it."""
    status, _, _ = node.run(step(f"test -f {node.folder}/step.sh && "
                                 f"find {node.folder} -type f -perm /077", A="a secret"))
    assert status == 0
    assert node.said(1) == ""


def test_what_was_done_is_not_done_again(node):
    steps = [step("echo 1 >> made"), step("echo 2 >> made"), step("echo 3 >> made", always=True)]
    assert node.run(*steps)[0] == 0
    status, events, _ = node.run(*steps)
    assert status == 0
    assert whats(events)[1:4] == ["skipped", "skipped", "began"]
    steps[1] = step("echo two >> made")
    _, events, _ = node.run(*steps)
    assert whats(events)[1:3] == ["skipped", "began"]
    steps[0] = step("echo one >> made")  # what is behind a change is done again
    node.run(*steps)
    assert (node.home / "made").read_text().split() == [
        "1", "2", "3", "3", "two", "3", "one", "two", "3"]


def test_all_output_is_told_to_whoever_follows(node):
    status, _, _ = node.run(step("echo one; echo two >&2; sleep 0.1; printf three"),
                            step("seq 3000"))
    assert status == 0
    assert sorted(node.lines[:3]) == ["one", "three", "two"]
    assert node.lines[3:] == [str(i) for i in range(1, 3001)]


def test_much_output_is_told_by_its_beginning_and_its_end(node):
    """100,000 lines, and then it fails: the last ones are those that matter."""
    words = "and some more words to fill the log"
    status, events, _ = node.run(step(f"seq -f 'line %.0f {words}' 100000;"
                                      " echo 'the reason' >&2; exit 3"))
    assert status == 1 and events[-2]["status"] == 3
    assert node.lines[0] == f"line 1 {words}"
    assert "the reason" in node.lines[-2:]
    marks = [i for i, line in enumerate(node.lines) if "omitted here" in line]
    (mark,) = marks
    assert "~/.shoal/steps/log/1" in node.lines[mark]
    before, after = node.lines[:mark], node.lines[mark + 1:]
    assert [f"line {i + 1} {words}" for i in range(len(before))] == before
    assert sum(map(len, before)) > 400_000 and sum(map(len, after)) > 900_000
    left_out = int(node.lines[mark].split()[0].lstrip("("))
    whole = sum(len(f"line {i} {words}\n") for i in range(1, 100001)) + len("the reason\n")
    assert left_out == whole - sum(len(line) + 1 for line in before + after)
    assert node.said(1).count("\n") == 100_001


def test_a_failed_step_says_what_it_said(node):
    status, events, _ = node.run(
        step("echo begin; for i in $(seq 90); do echo line $i >&2; done; exit 7", name="pip"),
        step("touch never"))
    failed = events[2]
    assert status == 1
    assert whats(events) == ["bundle-began", "began", "failed", "bundle-failed"]
    assert (failed["name"], failed["status"]) == ("pip", 7)
    assert failed["tail"].splitlines() == [f"line {i}" for i in range(31, 91)]
    assert node.said(1).startswith("begin\nline 1\n")
    assert not (node.home / "never").exists()


def test_a_broken_link_neither_ends_nor_repeats_a_step(node):
    steps = [step("echo x >> times; touch began; while [ ! -e go ]; do sleep 0.02; done"),
             step("echo y >> times")]
    first = node.start(*steps)
    node.wait_for("began")
    first.send_signal(signal.SIGKILL)
    first.wait()
    second = node.start(*steps)
    out = second.stdout.readline()  # it follows the first bundle now
    (node.home / "go").touch()
    out += second.stdout.read()
    assert second.wait(20) == 0
    # A client that reconnects gets everything from the beginning.
    assert whats(map(json.loads, out.splitlines())) == [
        "bundle-began", "began", "done", "began", "done", "bundle-done"]
    assert (node.home / "times").read_text() == "x\ny\n"


def test_another_bundle_does_not_come_between(node):
    first = node.start(step("touch began; while [ ! -e go ]; do sleep 0.02; done"))
    node.wait_for("began")
    status, _, err = node.run(step("touch other"))
    assert status == 3
    assert "in use by" in err
    (node.home / "go").touch()
    assert first.wait(20) == 0
    assert not (node.home / "other").exists()


def test_a_step_that_hangs_is_ended_with_all_it_started(node):
    status, events, _ = node.run(step("sleep 1000 & echo $! > pid; wait", deadline_ms=300))
    assert status == 1
    assert events[2]["late"] == 1
    pid = (node.home / "pid").read_text().strip()
    until = time.monotonic() + 5
    while pathlib.Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not pathlib.Path(f"/proc/{pid}").exists()


def test_a_runner_that_is_killed_is_missed(node):
    session = node.start(step("echo $PPID $$ > pids; touch began; sleep 60"))
    node.wait_for("began")
    runner, shell = map(int, (node.home / "pids").read_text().split())
    os.kill(runner, signal.SIGKILL)
    _, err = session.communicate(timeout=20)
    assert session.returncode == 1
    assert "the setup process on this node died" in err
    os.killpg(shell, signal.SIGKILL)


@pytest.fixture
def small(node):
    """The node with a disk of 256 KB."""
    node.folder.mkdir(mode=0o700)
    if os.geteuid() != 0 or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "tmpfs", node.folder],
            check=False).returncode != 0:
        pytest.skip("needs root, to mount a small disk")
    yield node
    subprocess.run(["umount", "-l", node.folder], check=True)


# Fills the disk, then says so much that not even the next event fits on it.
FILL = ("cat /dev/zero > ~/shoal/fill; for i in $(seq 200); do echo line $i; done; touch ~/full; "
        "until test -e ~/more; do sleep 0.05; done")
LONG = "a long name " * 1000  # more than the files have that the runner deletes after a step


def test_the_log_of_all_runs_makes_room_for_events(small):
    (small.home / "more").touch()
    status, events, err = small.run(step(FILL, LONG), step("touch ~/ran", "next"))
    assert (status, whats(events)) == (0, ["bundle-began", "began", "done", "began", "done",
                                           "bundle-done"]), err
    assert len(small.lines) < 200, "the disk was not full"


def without_log_of_all_runs(node):
    for name in ("log", "log/all"):
        (node.folder / name).mkdir(mode=0o700)


def test_events_wait_for_room_on_a_full_disk(small):
    without_log_of_all_runs(small)
    session = small.start(step(FILL, LONG), step("true", "next"))
    small.wait_for("full")
    (small.home / "more").touch()
    time.sleep(1)
    assert session.poll() is None, session.communicate()
    (small.folder / "fill").unlink()
    out, err = session.communicate(timeout=30)
    events = [json.loads(line) for line in out.splitlines()]
    assert session.returncode == 0, (events[-3:], err)
    assert whats([event for event in events if event["what"] != "said"]) == [
        "bundle-began", "began", "done", "began", "done", "bundle-done"]


def test_a_disk_that_stays_full_is_named(small):
    without_log_of_all_runs(small)
    (small.home / "more").touch()
    status, events, err = small.run(step(FILL, LONG), step("touch ~/ran", "next"))
    assert (status, whats(events)) == (1, ["bundle-began", "began"])
    assert "No space left on device" in err, err
    assert not (small.home / "ran").exists()


def test_variables_are_not_on_a_command_line(node):
    _, events, _ = node.run(step("tr '\\0' ' ' < /proc/$$/cmdline; echo", SECRET="s3cr3t"))
    assert whats(events)[2] == "done"
    assert "s3cr3t" not in node.said(1)
    assert "bash" in node.said(1)


def test_any_bytes_may_be_said(node):
    status, events, _ = node.run(step("printf 'a\\377b\\033[31m\\n'; false"))
    assert status == 1
    assert "a" in events[2]["tail"] and "\x1b" not in events[2]["tail"]


def test_a_step_is_tried_as_often_as_it_may_be(node):
    flaky = dict(step("echo x >> tries; [ $(wc -l < tries) -ge 3 ] || { echo not yet; exit 4; }"),
                 attempts=3)
    status, events, _ = node.run(flaky, step("true"))
    assert status == 0
    assert whats(events)[1:5] == ["began", "again", "again", "done"]
    assert (events[2]["status"], events[2]["tail"]) == (4, "not yet\n")
    assert node.said(1) == "not yet\nnot yet\n"
    status, events, _ = node.run(dict(step("exit 4 # always"), attempts=2))
    assert status == 1
    assert whats(events) == ["bundle-began", "began", "again", "failed", "bundle-failed"]


def test_what_ended_while_nobody_looked_is_told_and_not_repeated(node):
    steps = [step("echo x >> times", always=True)]
    node.env["RUN"] = "a" * 32
    for _ in range(2):
        status, events, _ = node.run(*steps)
        assert status == 0
        assert whats(events) == ["bundle-began", "began", "done", "bundle-done"]
    assert (node.home / "times").read_text() == "x\n"
    node.env["RUN"] = "b" * 32
    assert node.run(*steps)[0] == 0
    assert (node.home / "times").read_text() == "x\nx\n"


def test_what_a_killed_runner_left_is_ended_before_the_next_begins(node):
    session = node.start(step("sleep 1000 & echo $PPID $! > pids; touch began; wait"))
    node.wait_for("began")
    runner, left = map(int, (node.home / "pids").read_text().split())
    os.kill(runner, signal.SIGKILL)
    session.communicate(timeout=20)
    assert pathlib.Path(f"/proc/{left}").exists()
    assert node.run(step("true"))[0] == 0
    assert not pathlib.Path(f"/proc/{left}").exists() or "Z" in pathlib.Path(
        f"/proc/{left}/stat").read_text()


# ---- steps in a container ----

def test_a_step_runs_elsewhere_and_once_in_each_place(node):
    """The other place gets the script with its variables on standard input."""
    place = node.folder / "place"
    steps = [step(f"echo one > {place}", always=True),
             {**step('echo "$A" $0', A="it's"), "inside": "bash -s && echo there"},
             {**step("echo again", always=True), "inside": "bash -s"}]
    status, events, err = node.run(*steps)
    assert status == 0, err
    assert node.said(2) == "it's bash\nthere\n"
    status, events, _ = node.run(*steps)
    assert [event["what"] for event in events if event.get("step") == 1] == ["skipped"]
    node.run(step(f"echo two > {place}", always=True))
    steps[0] = step(f"cat {place}", always=True)
    for expected in (["began", "done"], ["skipped"]):
        status, events, _ = node.run(*steps)
        assert [event["what"] for event in events if event.get("step") == 1] == expected
    place.write_text("three")
    status, events, _ = node.run(*steps)
    assert [event["what"] for event in events if event.get("step") == 1] == ["began", "done"]


def test_a_failure_elsewhere_is_a_failure(node):
    status, events, _ = node.run({**step("exit 5"), "inside": "bash -s && echo never"})
    assert status != 0 and events[-2]["status"] == 5
