"""The service of a head as a process: started, queried, killed, asked to stop. No cloud answers
here, so it stays on standby; what it does with a cloud is tested on the bed.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHOAL = pathlib.Path(os.environ["SHOAL_BUILD"]) / "src/cli/shoal"
FILE = """
cluster_name: demo
max_workers: 2
provider: {type: aws, region: us-west-2}
auth: {ssh_user: ubuntu}
available_node_types:
  head: {resources: {CPU: 2}, node_config: {InstanceType: m5.large}}
  worker:
    {min_workers: 2, max_workers: 2, resources: {CPU: 2}, node_config: {InstanceType: m5.large}}
head_node_type: head
"""


class Head:
    """A home with a handover in it."""

    def __init__(self, home):
        self.home = home
        self.folder = home / ".shoal/cluster"
        self.folder.mkdir(parents=True)
        for folder in (self.folder, self.folder.parent):
            folder.chmod(0o700)
        self.env = {"HOME": str(home), "PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(home),
                    "AUTOSCALER_METRIC_PORT": "0",  # any that is free: tests run side by side
                    "SHOAL_NO_SYSTEMD": "1",
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}

    def hand_over(self, serial=1, metrics="127.0.0.1", workers=2, **more):
        (self.home / "cluster.yaml").write_text(
            FILE.replace("min_workers: 2", f"min_workers: {workers}") +
            f"metadata: {{shoal: {{metrics_address: {metrics}}}}}\n")
        config = self.shoal("config", "-o", "json", str(self.home / "cluster.yaml")).stdout
        text = json.dumps({
            "format": 1, "uid": "0123456789abcdef0123456789abcdef", "epoch": 1,
            "sole_writer_epoch": 1, "serial": serial,
            "config": config, "secret": "5c" * 32, "key": "not a key\n",
            "head_id": "i-0aaaaaaaaaaaaaaaa", "head_private_ip": "127.0.0.1",
            "environment": {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "x",
                            "AWS_SECRET_ACCESS_KEY": "y"},
            "machines": [{"instance": 1, "id": "i-0aaaaaaaaaaaaaaaa"}], "intents": [], **more})
        path = self.folder / "handover.json"
        path.write_text(text)
        path.chmod(0o600)

    def shoal(self, *words, **more):
        return subprocess.run([SHOAL, *words], env=self.env, text=True, timeout=30,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def ask(self, *requests):
        """The lines that `shoal ctl` prints for these requests."""
        words = "".join(json.dumps(request) + "\n" for request in requests)
        return [json.loads(line) for line in self.shoal("ctl", input=words).stdout.splitlines()]

    def pids(self):
        """Of the supervisor and of the service."""
        supervisor = int((self.folder / "supervisor.lock").read_text().split("pid ")[1])
        children = pathlib.Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text()
        return supervisor, [int(word) for word in children.split()]

    def log(self):
        return (self.folder / "service.log").read_text()


@pytest.fixture
def head(tmp_path):
    head = Head(tmp_path)
    head.hand_over()
    yield head
    try:
        supervisor, _ = head.pids()
        os.kill(supervisor, signal.SIGTERM)
        wait(lambda: is_gone(supervisor), "the supervisor's end")
    except (OSError, IndexError):
        pass
    if (head.folder / "service.log").exists():
        assert not re.search("Sanitizer|runtime error:|panic", head.log()), head.log()


def is_gone(pid):
    """The process has ended, reaped or not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait(check, what, seconds=60):
    until = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < until, what
        time.sleep(0.02)


def test_without_a_handover_nothing_is_started(tmp_path):
    other = Head(tmp_path)
    started = other.shoal("autoscaler", "--background")
    assert started.returncode == 1
    assert "this machine is not the head of a cluster" in started.stderr
    assert not (other.folder / "supervisor.lock").exists()


def test_it_starts_answers_and_stands_down(head):
    began = time.monotonic()
    started = head.shoal("autoscaler", "--background")
    assert started.returncode == 0, started.stderr
    assert time.monotonic() - began < 5
    greeting, status, node, end, error = head.ask({"request": "status"}, {"request": "dance"})
    assert greeting["protocol"] == 1 and greeting["cluster"] == "demo"
    assert status["status"]["desired_nodes"] == 3 and "ray_nodes" not in status["status"]
    assert status["status"]["autoscaler_state"] == "standby"
    assert node["node"]["name"] == "head" and node["node"]["phase"] == "setting-up"
    assert end == {"end": "status"}
    assert "dance" in error["error"] and error["request"] == "dance"
    mode = (head.folder / "ctl.sock").stat().st_mode & 0o777
    assert mode == 0o600
    supervisor, _ = head.pids()
    assert head.ask({"request": "release"})[1] == {"done": "release"}
    wait(lambda: is_gone(supervisor), "both end")
    assert not (head.folder / "ctl.sock").exists()
    assert "has exited; its supervisor exits too" in head.log()


def test_one_that_stood_down_does_not_start_at_boot(head):
    """`down` may have stopped the machine: when it starts again, it waits for `up`."""
    mark = head.folder / "stood-down"
    assert head.shoal("autoscaler", "--background").returncode == 0
    assert not mark.exists()
    supervisor, _ = head.pids()
    head.ask({"request": "release"})
    wait(lambda: is_gone(supervisor), "both end")
    assert mark.exists()
    assert head.shoal("autoscaler", "--background").returncode == 0  # as `up` does
    assert not mark.exists()
    supervisor, _ = head.pids()
    os.kill(supervisor, signal.SIGTERM)  # as a shutdown of the machine does
    wait(lambda: is_gone(supervisor), "both end")
    assert not mark.exists()


def test_a_machine_without_systemd_and_cloud_init_is_warned_about(head):
    started = head.shoal("autoscaler", "--background")
    assert started.returncode == 0 and started.stdout == ""
    assert "will not start by itself when this machine reboots" in started.stderr
    why = (head.folder / "no-boot").read_text()
    assert why == "systemd is not running here; this machine has no cloud-init"


def test_nobody_there_is_one_line_that_says_what_to_do(head):
    answer = head.shoal("ctl", input="")
    assert answer.returncode == 1
    assert "service.log" in json.loads(answer.stdout)["error"]
    assert "shoal up" in json.loads(answer.stdout)["error"]


def test_a_killed_service_comes_back(head):
    assert head.shoal("autoscaler", "--background").returncode == 0
    for _ in range(3):
        supervisor, (service,) = head.pids()
        os.kill(service, signal.SIGKILL)
        wait(lambda: head.pids()[1] not in ([], [service]), "another one is started")
        assert "protocol" in json.loads(head.shoal("ctl", "--wait", input="").stdout)
    assert head.pids()[0] == supervisor
    assert "signal 9" in head.log()


def test_one_that_was_killed_with_its_supervisor_comes_back_when_it_is_expected(head):
    assert head.shoal("autoscaler", "--background").returncode == 0
    supervisor, (service,) = head.pids()
    for pid in (supervisor, service):
        os.kill(pid, signal.SIGKILL)
    wait(lambda: is_gone(supervisor) and is_gone(service), "both end")
    assert "error" in json.loads(head.shoal("ctl", input="").stdout)
    assert "protocol" in json.loads(head.shoal("ctl", "--wait", input="").stdout)
    assert head.pids()[0] != supervisor


def test_a_newer_handover_is_taken_in(head):
    assert head.shoal("autoscaler", "--background").returncode == 0
    before = head.pids()
    assert head.ask({"request": "update"})[1] == {"done": "update"}  # nothing is new
    head.hand_over(serial=7)
    again = head.shoal("autoscaler", "--background")  # as the next `up` does
    assert again.returncode == 0, again.stderr
    wait(lambda: status(head).get("handover_serial") == 7, "the new handover")
    assert head.pids() == before  # the same processes, restarted
    (head.folder / "handover.json").write_text("{}")
    assert "damaged" in head.ask({"request": "update"})[1]["error"]


def limit(head):
    """max_workers of what is in force: with it `wanted` grows."""
    return status(head)["desired_nodes"]


def test_one_that_dies_while_it_takes_a_handover_is_asked_again(head):
    """Its supervisor starts it again at once: `up` goes on."""
    point = head.home / "point"
    head.env["SHOAL_FAILPOINT_FILE"] = str(point)
    assert head.shoal("autoscaler", "--background").returncode == 0
    _, killed = head.pids()
    head.hand_over(serial=2, workers=1)
    point.write_text("autoscaler-folder:file:handover.*.json:after")
    again = head.shoal("autoscaler", "--background")
    assert not point.exists(), "nobody was killed"
    assert again.returncode == 0, again.stderr
    _, alive = head.pids()
    assert alive and alive != killed
    assert head.ask({"request": "status"})[1]["status"]["desired_nodes"] == 2


def test_an_older_handover_is_refused_and_never_half_applied(head):
    """As from a laptop whose clock is behind: an error for `up`, and after a crash the service
    runs with what it has recorded, not with what was sent last."""
    head.hand_over(serial=2000, workers=2)
    assert head.shoal("autoscaler", "--background").returncode == 0
    assert limit(head) == 3
    head.hand_over(serial=1000, workers=1)
    refused = head.ask({"request": "update"})[1]
    assert refused["request"] == "update" and "nothing was applied" in refused["error"], refused
    started = head.shoal("autoscaler", "--background")  # as the first step of `up` does
    assert started.returncode != 0 and "nothing was applied" in started.stderr
    assert status(head)["handover_serial"] == 2000 and limit(head) == 3
    _, (service,) = head.pids()
    os.kill(service, signal.SIGKILL)
    wait(lambda: head.pids()[1] not in ([], [service]), "another one is started")
    assert status(head)["handover_serial"] == 2000 and limit(head) == 3
    head.hand_over(serial=2001, workers=1)
    assert head.ask({"request": "update"})[1] == {"done": "update"}
    wait(lambda: status(head)["handover_serial"] == 2001, "the newer one")
    assert limit(head) == 2
    copies = [path.name for path in head.folder.glob("handover.*.json")]
    assert copies == ["handover.2001.json"]
    assert (head.folder / copies[0]).stat().st_mode & 0o777 == 0o600


def test_a_configuration_that_is_not_understood_is_refused(head):
    assert head.shoal("autoscaler", "--background").returncode == 0
    head.hand_over(serial=7, config="[")
    assert "cannot parse the configuration" in head.ask({"request": "update"})[1]["error"]
    assert status(head)["handover_serial"] == 1


def test_a_node_tells_the_serial_that_it_knows(head):
    """So that the next `up` chooses a greater one, whatever its clock says."""
    assert json.loads(head.shoal("node", "serve", input="").stdout)["handover"] == 1
    head.hand_over(serial=1790000000000)
    assert head.shoal("autoscaler", "--background").returncode == 0
    assert json.loads(head.shoal("node", "serve", input="").stdout)["handover"] == 1790000000000


def test_without_a_handover_it_says_so(head):
    (head.folder / "handover.json").unlink()
    result = head.shoal("autoscaler")
    assert result.returncode == 1
    assert "not the head of a cluster" in result.stderr and "shoal up" in result.stderr


def test_a_follower_hears_changes_and_ends_with_the_service(head):
    assert head.shoal("autoscaler", "--background").returncode == 0
    with subprocess.Popen([SHOAL, "ctl"], env=head.env, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as follower:
        follower.stdin.write('{"request":"follow"}\n')
        follower.stdin.flush()
        kinds = [next(iter(json.loads(follower.stdout.readline()))) for _ in range(3)]
        assert kinds == ["shoal", "status", "node"]
        head.ask({"request": "release"})
        follower.stdout.read()
        assert follower.wait(10) == 0


def test_logs_are_told(head):
    assert head.shoal("autoscaler", "--background").returncode == 0
    (head.folder / "log/worker-1").write_text("one\ntwo\nhalf")
    lines = head.ask({"request": "log", "node": "worker-1"},
                     {"request": "log", "node": "../secret"},
                     {"request": "log", "node": "worker-9"})
    assert lines[1:4] == [{"log": "one"}, {"log": "two"}, {"end": "log"}]
    assert "the request needs a node" in lines[4]["error"]
    assert "No such file" in lines[5]["error"]


def test_logs_of_any_size_are_told(head):
    """Larger than what may wait for a reader, with a line that is larger than a piece."""
    assert head.shoal("autoscaler", "--background").returncode == 0
    lines = [f"{i} " + "x" * 90 for i in range(200_000)] + ["y" * 300_000, "last"]
    (head.folder / "log/worker-1").write_text("\n".join(lines) + "\n")
    said = head.ask({"request": "log", "node": "worker-1"})[1:]
    assert said[-1] == {"end": "log"}
    texts = [line["log"] for line in said[:-1]]
    assert texts[:200_000] == lines[:200_000] and texts[-1] == "last"
    assert "".join(texts[200_000:-1]) == "y" * 300_000
    assert head.ask({"request": "status"})[-1] == {"end": "status"}


def test_a_large_log_is_followed(head):
    assert head.shoal("autoscaler", "--background").returncode == 0
    path = head.folder / "log/worker-1"
    path.write_text("x" * 99 + "\n")
    with path.open("a") as log:
        log.writelines("x" * 99 + "\n" for _ in range(120_000))
    with subprocess.Popen([SHOAL, "ctl"], env=head.env, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as follower:
        follower.stdin.write('{"request":"log","node":"worker-1","follow":true}\n')
        follower.stdin.flush()
        for _ in range(120_002):
            assert follower.stdout.readline()
        with path.open("a") as log:
            log.write("more\n")
        assert json.loads(follower.stdout.readline()) == {"log": "more"}
        follower.stdin.close()
        follower.wait(10)


def test_a_silent_guest_does_not_matter(head):
    assert head.shoal("autoscaler", "--background").returncode == 0
    with socket.socket(socket.AF_UNIX) as guest:
        guest.connect(str(head.folder / "ctl.sock"))
        guest.send(b"x" * 100000)
        assert head.ask({"request": "status"})[-1] == {"end": "status"}


def test_the_token_is_made_once(head):
    assert head.shoal("autoscaler", "--background").returncode == 0
    token = head.home / ".ray/auth_token"
    assert len(token.read_text()) == 64 and token.stat().st_mode & 0o777 == 0o600
    before = token.read_text()
    _, (service,) = head.pids()
    os.kill(service, signal.SIGKILL)
    wait(lambda: head.pids()[1] not in ([], [service]), "another one is started")
    head.shoal("ctl", "--wait", input="")
    assert token.read_text() == before


def test_metrics_are_served_on_loopback(head):
    assert head.shoal("autoscaler", "--background").returncode == 0
    wait(lambda: "metrics address=" in head.log(), "the port")
    address, port = re.search(r"metrics address=(\S+) port=(\d+)", head.log()).groups()
    assert address == "127.0.0.1"
    with urllib.request.urlopen(f"http://{address}:{port}/metrics", timeout=10) as reply:
        assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        text = reply.read().decode()
    assert 'shoal_info{version="0.1.0",ray_version="",cluster="demo"} 1' in text
    assert 'shoal_leader{cluster="demo"} 0' in text
    assert 'shoal_nodes{type="head",state="setting-up",cluster="demo"} 1' in text
    assert float(re.search(r"process_resident_memory_bytes{.*} (\S+)", text)[1]) > 1e6
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://{address}:{port}/handover.json", timeout=10)


def test_metrics_may_be_served_nowhere(head):
    head.hand_over(metrics="none")
    assert head.shoal("autoscaler", "--background").returncode == 0
    head.ask({"request": "status"})
    assert "metrics address=" not in head.log()


def test_secrets_stay_out_of_the_log(head):
    assert head.shoal("autoscaler", "--background").returncode == 0
    head.ask({"request": "release"})
    assert "5c5c5c5c" not in head.log() and "not a key" not in head.log()


def test_it_is_back_within_five_seconds_whatever_ends_it(head):
    assert head.shoal("autoscaler", "--background").returncode == 0
    took = []
    for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL):
        _, (service,) = head.pids()
        began = time.monotonic()
        os.kill(service, number)
        wait(lambda: is_gone(service), "its end")
        assert "protocol" in json.loads(head.shoal("ctl", "--wait", input="").stdout)
        took.append(time.monotonic() - began)
    print("from death to the first answer:", *("%.0f ms" % (1000 * t) for t in took))
    assert max(took) < 5


def status(head):
    """Its own status; asked again while it restarts. The query starts no process."""
    said = []

    def ask():
        said[:] = head.ask({"request": "status"})
        return len(said) > 1 and "status" in said[1]

    wait(ask, "an answer")
    return said[1]["status"]


def message(head):
    return status(head).get("autoscaler_message", "")


def test_one_that_dies_again_and_again_freezes_until_somebody_looks(head):
    """Eleven deaths in a row; the waits between them grow, which takes half a minute."""
    assert head.shoal("autoscaler", "--background").returncode == 0
    before = 0
    for _ in range(11):
        wait(lambda: head.pids()[1] not in ([], [before]), "a service")
        _, (before,) = head.pids()
        os.kill(before, signal.SIGKILL)
    wait(lambda: "frozen: " in head.log(), "a frozen service")
    assert "died 10 times within 60 s (the last time, it was killed by signal 9" in message(head)
    assert "until the next `shoal up`" in message(head)
    supervisor, (service,) = head.pids()
    os.kill(supervisor, signal.SIGHUP)
    wait(lambda: "died" not in message(head), "it acts")
    assert head.pids() == (supervisor, [service])
    os.kill(service, signal.SIGKILL)  # and what was before is forgotten
    wait(lambda: head.pids()[1] not in ([], [service]), "another one is started")
    assert "died" not in message(head)


def test_a_frozen_one_acts_again_with_a_new_handover(head):
    env = dict(head.env, SHOAL_FROZEN="exited with status 1")
    service = subprocess.Popen([SHOAL, "autoscaler"], env=env, stderr=subprocess.DEVNULL)
    try:
        wait(lambda: (head.folder / "ctl.sock").exists(), "a service")
        assert "it exited with status 1)" in message(head)
        assert head.ask({"request": "update"})[1] == {"done": "update"}  # nothing is new
        assert "died" in message(head)
        head.hand_over(serial=9)  # as `shoal up` does
        assert head.ask({"request": "update"})[1] == {"done": "update"}
        wait(lambda: "died" not in message(head), "it acts")
    finally:
        service.terminate()
        service.wait(10)


def test_the_supervisor_in_the_foreground_has_the_variables_it_was_left(head):
    (head.folder / "environment").write_text("LEFT=a b\nc\0HOME=%s\0" % head.home)
    (head.folder / "environment").chmod(0o600)
    env = {key: value for key, value in head.env.items() if key != "HOME"}
    supervisor = subprocess.Popen([SHOAL, "autoscaler", "--supervise", "--folder", head.folder],
                                  env=env)
    try:
        wait(lambda: (head.folder / "ctl.sock").exists(), "a service")
        assert head.pids()[0] == supervisor.pid
        variables = pathlib.Path(f"/proc/{head.pids()[1][0]}/environ").read_text()
        assert "LEFT=a b\nc\0" in variables
    finally:
        supervisor.terminate()
        assert supervisor.wait(10) == 0


def test_a_newer_program_takes_over_in_the_same_process(head):
    """Ray's processes and the supervisor are not touched: the service becomes the new program."""
    program = head.home / "shoal"
    shutil.copy(SHOAL, program)

    def start():
        done = subprocess.run([program, "autoscaler", "--background"], env=head.env, text=True,
                              capture_output=True, timeout=30)
        assert done.returncode == 0, done.stderr

    start()
    before = head.pids()
    exe = f"/proc/{before[1][0]}/exe"
    shutil.copy(SHOAL, head.home / "newer")  # as the payload of the next `up` is put there
    (head.home / "newer").rename(program)
    assert os.readlink(exe).endswith(" (deleted)")
    head.hand_over(serial=5)
    start()
    wait(lambda: os.readlink(exe) == str(program), "the new program")
    assert head.pids() == before
