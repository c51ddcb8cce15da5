"""Commands for a running cluster: one head, two workers, shared by all tests of this file.

The order of the tests matters: the last ones break the cluster.
"""

import concurrent.futures
import fcntl
import itertools
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import termios
import time

import driver
import programs


def test_up_told_the_story(shared):
    """In a pipe: timestamped lines, one per change, and the result in words."""
    said = shared.said.out + shared.said.err
    assert "shared is up: 3 nodes" in said, said
    assert "\x1b[" not in said
    for name in ("head", "worker-1", "worker-2"):
        assert name in said.replace("worker ", "worker-"), said


def test_up_again_has_nothing_to_do(shared):
    before = [i["InstanceId"] for i in shared.machines()]
    done = shared.up(seconds=30)
    assert [i["InstanceId"] for i in shared.machines()] == before
    assert "up to date" in done.out + done.err, str(done)
    assert len(shared.registered()) == 3, "Ray was started again"


def test_exec_gives_the_exit_status(shared):
    done = shared("exec", "echo to stdout; echo $OMP_NUM_THREADS")
    assert done.out.replace("\r", "").splitlines() == ["to stdout", "1"], str(done)
    for status in (7, 130):
        assert shared.run("exec", f"exit {status}").status == status


def test_exec_passes_words_as_they_are(shared):
    done = shared("exec", """printf '%s|' "a  b" '$HOME' \\\\ "it's" """)
    assert done.out.replace("\r", "").startswith("a  b|$HOME|\\|it's|"), str(done)


def test_exec_is_interrupted(shared):
    child = shared.start("exec", "sleep 87; echo slept")
    driver.wait_for(lambda: "sleep 87" in driver.in_machine(shared.head, "ps", "-eo", "args"), 20)
    out, err = shared.laptop.stop(child, signal.SIGINT)
    assert child.returncode == 130, (out, err)


def test_submit_uses_all_nodes(shared):
    path = shared.laptop.file("spread.py", programs.SPREAD)
    done = shared("submit", path, "3", "a b", "--", "-x", seconds=90)
    assert len(next(li for li in done.out.splitlines() if li.startswith("hosts")).split()) == 4
    assert "words ['a b', '-x']" in done.out, str(done)
    bad = shared.laptop.file("bad.py", "import sys\nprint('bad')\nsys.exit(9)\n")
    assert shared.run("submit", bad).status == 9


def test_rsync_both_ways(shared):
    source = shared.laptop.file("up/deep/name with blank", "content\n")
    shared("rsync-up", source, "/home/ubuntu/there.txt")
    assert driver.in_machine(shared.head, "cat", "there.txt") == "content\n"
    shared("rsync_up", f"{shared.laptop.here}/up/", "/home/ubuntu/folder/")
    assert driver.in_machine(shared.head, "cat", "folder/deep/name with blank") == "content\n"
    back = shared.laptop.here / "back"
    shared("rsync-down", "/home/ubuntu/folder/", f"{back}/")
    assert (back / "deep" / "name with blank").read_text() == "content\n"
    shared("rsync_down", "/home/ubuntu/there.txt", f"{shared.laptop.here}/there.txt")
    assert (shared.laptop.here / "there.txt").read_text() == "content\n"


def test_rsync_up_of_the_mounts(shared):
    shared.laptop.file("mounted/b.txt", "new\n")
    shared("rsync-up")
    assert driver.in_machine(shared.head, "cat", "mounted/b.txt") == "new\n"


def test_addresses(shared):
    head, *workers = shared.machines()
    assert shared("get-head-ip").out == head["PublicIpAddress"] + "\n"
    assert shared("get_head_ip").out == head["PublicIpAddress"] + "\n"
    said = shared("get-worker-ips").out.split()
    assert sorted(said) == sorted(w["PublicIpAddress"] for w in workers)


def test_status(shared):
    done = shared("status")
    for word in ("head", "worker-1", "worker-2", "2.60"):
        assert word in (done.out + done.err).replace("worker ", "worker-"), str(done)
    assert done.out.count("ready") >= 3, str(done)
    told = json.loads(shared("status", "-o", "json").out)
    ids = {node["id"] for node in told["nodes"]}
    assert ids == {i["InstanceId"] for i in shared.machines()}


def test_status_begins_with_rays_text(shared):
    said = shared("status").out
    assert said.startswith("======== Autoscaler status: "), said
    rays = driver.in_machine(shared.head, "bash", "-lic", "ray status 2>/dev/null")
    ours = said.partition("\n\nCluster ")[0]
    # Everything except the time, which Ray prints with microseconds, and the rulers of the same
    # length. Node types are in the order in which the GCS happens to list the nodes.
    def plain(text):
        lines = [li for li in text.splitlines() if li[:4] not in ("====", "----")]
        runs = itertools.groupby(lines, lambda li: bool(re.fullmatch(r" \d+ [\w.]+", li)))
        return [li for are_types, run in runs for li in (sorted(run) if are_types else run)]

    assert plain(ours) == plain(rays.strip()), said + rays


def test_watching_in_a_pipe(shared):
    child = shared.start("status", "--watch")
    try:
        driver.wait_for(lambda: b"worker-1 ready" in peek(child.stdout), 20)
    finally:
        shared.laptop.stop(child, signal.SIGINT)


def test_reasons(shared):
    said = shared("explain").out
    assert "What does it cost?" in said, said
    said = shared("explain", "worker-1").out
    assert "Why does worker-1 exist?" in said and "min_workers" in said, said
    told = json.loads(shared("explain", "-o", "json", "head").out)
    assert told["explanations"][0]["question"] == "Why does head exist?"
    done = shared.run("explain", "worker-99")
    assert done.status == 1 and "worker-1" in done.err, str(done)


def test_events(shared):
    told = [json.loads(line) for line in shared("events", "-o", "json").out.splitlines()]
    assert [one["number"] for one in told] == list(range(told[0]["number"], told[-1]["number"] + 1))
    joined = {one["node"] for one in told if one["kind"] == "join"}
    assert {"worker-1", "worker-2"} <= joined, told
    assert re.search(r"^\S+ +join +worker-1: ", shared("events").out, re.M)
    last = str(told[-2]["number"])
    assert shared("events", "--after", last, "-o", "json").out.count("\n") >= 1


def test_room_is_requested(shared):
    def wishes():
        told = json.loads(shared("status", "-o", "json").out)
        return [one for one in told["demands"] if one["source"] == "request_resources"]

    assert "Requested 1 bundle" in shared("request-resources", "--num-cpus", "1").err
    driver.wait_for(lambda: [one["shape"] for one in wishes()] == ["{CPU: 1}"], 30, 0.5)
    assert "The request is withdrawn" in shared("request-resources").err
    driver.wait_for(lambda: wishes() == [], 30, 0.5)
    assert shared.run("request-resources", "--bundles", "[{CPU: none}]").status == 2


def test_logs(shared):
    assert "setup was here" in shared("logs", "worker-1").out
    assert "setup was here" in shared("logs").out
    child = shared.start("logs", "head", "-f")
    try:
        driver.wait_for(lambda: select.select([child.stdout], [], [], 0)[0], 20)
        assert child.poll() is None
    finally:
        shared.laptop.stop(child, signal.SIGINT)


def test_a_port_is_forwarded(shared):
    child = shared.start("exec", "-p", "18081", "nc -l -p 18081 < ~/there.txt & echo ready; wait")

    def fetch():
        with socket.create_connection(("127.0.0.1", 18081), timeout=10) as link:
            return link.recv(100)

    try:
        driver.wait_for(lambda: b"ready" in peek(child.stdout), 20)
        # The program may listen a little after its start.
        driver.wait_for(lambda: fetch() == b"content\n", 20)
    finally:
        shared.laptop.stop(child, signal.SIGINT)


def peek(stream):
    ready = select.select([stream], [], [], 0.1)[0]
    return os.read(stream.fileno(), 4096) if ready else b""


def test_a_multiplexer_outlives_the_link(shared):
    for flag in ("--tmux", "--screen"):
        shared("exec", flag, f"sleep 1; touch ~/after{flag}")
        driver.wait_for(lambda f=flag: driver.in_machine(
            shared.head, "sh", "-c", f"test -e after{f} && echo yes", check=False), 60)


# ---- what is on the instances ----


def test_files_on_the_head(shared):
    head = shared.head
    told = json.loads(driver.in_machine(head, "cat", "ray_bootstrap_config.yaml"))
    assert told["cluster_name"] == "shared" and told["head_node_type"] == "head"
    assert told["auth"]["ssh_private_key"] == "~/ray_bootstrap_key.pem"
    assert driver.in_machine(head, "stat", "-c", "%a %U", "ray_bootstrap_key.pem") == \
        "600 ubuntu\n"
    # The laptop's credentials have not left it.
    secret = driver.settings.ADMIN_SECRET
    found = driver.in_machine(head, "sh", "-c", "grep -rslf - /home /tmp /etc /proc/[0-9]*/environ "
                              "/proc/[0-9]*/cmdline", user="root", check=False, text=secret)
    assert found == "", found


def test_token_authentication_is_on(shared):
    """In every shell; and without the token access is denied."""
    for machine in shared.machines():
        ident = machine["InstanceId"]
        assert driver.in_machine(ident, "stat", "-c", "%a", ".ray/auth_token") == "600\n"
        for words in (["bash", "-lc"], ["bash", "-ic"]):
            said = driver.in_machine(ident, *words, "echo mode=$RAY_AUTH_MODE", check=False)
            assert "mode=token" in said, words
    said = driver.in_machine(shared.head, "bash", "-lc", "RAY_AUTH_MODE=disabled ray status 2>&1",
                             check=False)
    assert "Active" not in said


def test_ray_status_on_the_head(shared):
    said = driver.in_machine(shared.head, "bash", "-lic", "ray status 2>/dev/null")
    for line in ("Autoscaler status", "Node status", "Active:", "Total Usage:", "/3.0 CPU"):
        assert line in said, said
    workers = [int(count) for count in re.findall(r"^ (\d+) worker$", said, re.M)]
    assert sum(workers) == 2, said  # active or idle


def test_at_most_two_sessions_per_node(shared):
    """Nothing has connected to the workers since: only their setup is counted."""
    counts = driver.ssh_counts(shared.bed)
    for machine in shared.machines()[1:]:
        connections, sessions = counts[machine["InstanceId"]]
        assert connections <= 2 and sessions <= 2, counts


# ---- the network (after the sessions are counted, because a connection counts) ----


def listening(instance):
    """TCP ports of an instance that listen on more than loopback."""
    ports = set()
    for row in driver.in_machine(instance, "cat", "/proc/net/tcp", "/proc/net/tcp6").splitlines():
        fields = row.split()
        address, _, port = fields[1].partition(":")
        is_loopback = address in ("0100007F", "00000000000000000000000001000000")
        if fields[3] == "0A" and not is_loopback:
            ports.add(int(port, 16))
    return ports


def opens(place):
    with socket.socket() as client:
        client.settimeout(10 if place[1] == 22 else 2)
        return client.connect_ex(place) == 0


def test_only_ssh_is_open_to_the_outside(shared):
    head, *_ = shared.machines()
    assert 6379 in listening(head["InstanceId"])  # the GCS: one port that must be reachable
    for machine in shared.machines():
        places = [(machine["PublicIpAddress"], port) for port in
                  sorted(listening(machine["InstanceId"]) | {22, 6379, 8265, 10001})]
        with concurrent.futures.ThreadPoolExecutor(len(places)) as pool:
            open_ports = [place[1] for place, is_open in zip(places, pool.map(opens, places))
                          if is_open]
        assert open_ports == [22]


# ---- a terminal ----


class Terminal:
    """A program in a real pseudo-terminal."""

    def __init__(self, laptop, *words, rows=24, columns=80):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(laptop.here)
            os.execve(driver.SHOAL, ["shoal", *map(str, words)],
                      laptop.env(TERM="xterm-256color"))
        self.resize(rows, columns)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.fd, text.encode())

    def expect(self, pattern, seconds=60):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.text):
            assert time.monotonic() < end, f"no {pattern!r} in {self.text[-2000:]!r}"
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    assert re.search(pattern, self.text), self.text[-2000:]
        self.text = self.text[re.search(pattern, self.text).end():]

    def end(self, seconds=60):
        """Its exit status."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    self.text += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        raise AssertionError(f"did not end: {self.text[-2000:]!r}")


def test_attach(shared):
    """A shell on the head: the window size, Ctrl-C for its processes, the exit."""
    terminal = Terminal(shared.laptop, "attach", shared.path, rows=30, columns=91)
    terminal.type("stty size; echo sum=$((6 * 7))\n")
    terminal.expect(r"30 91\r?\n")
    terminal.expect("sum=42")
    terminal.resize(41, 123)
    # ssh sends the new size and the line independently of each other.
    terminal.type("until stty size | grep '41 123'; do sleep 0.1; done\n")
    terminal.expect(r"[\r\n]41 123\r?\n")
    terminal.type("sleep 321\n")
    driver.wait_for(lambda: "sleep 321" in driver.in_machine(shared.head, "ps", "-eo", "args"), 30)
    terminal.type("\x03")
    terminal.type("echo after=$?\n")
    terminal.expect("after=130")
    terminal.type("exit\n")
    assert terminal.end() == 0


def test_attach_and_detach(shared):
    """tmux keeps the shell; a new attach finds it."""
    terminal = Terminal(shared.laptop, "attach", "--tmux", shared.path)
    terminal.type("MARK=still; echo mark=$MARK\n")
    terminal.expect("mark=still")
    terminal.expect("7727h")  # before that, tmux queries the terminal's features
    terminal.type("\x02")
    time.sleep(0.2)  # text that arrives at once is treated as pasted
    terminal.type("d")
    assert terminal.end() == 0
    terminal = Terminal(shared.laptop, "attach", "--tmux", shared.path)
    terminal.type("echo found=$MARK\n")
    terminal.expect("found=still")
    terminal.type("exit\n")
    terminal.end()


# ---- tests that break the cluster: last ----


def test_exec_without_a_link(shared):
    """Exit status 255, and a message that names the host that does not answer."""
    driver.in_machine(shared.head, "pkill", "-9", "sshd", user="root")
    done = shared.run("exec", "true", seconds=60)
    assert done.status == 255, str(done)
    assert "ssh" in done.err, str(done)
    shared.bed.node(shared.head, "sshd-start")
    driver.wait_for(lambda: shared.run("exec", "true").status == 0, 30, 0.5)


def test_down_leaves_nothing(shared):
    began = time.monotonic()
    shared.down()
    assert shared.remains() == {}
    assert time.monotonic() - began < 20
    again = shared.run("down", "-y", seconds=30)
    assert again.status == 0, str(again)
    for verb in ("exec", "get-head-ip", "status", "attach"):
        done = shared.run(verb, *(["true"] if verb == "exec" else []), seconds=30)
        assert done.status not in (0, None) and "shoal up" in done.err, str(done)
