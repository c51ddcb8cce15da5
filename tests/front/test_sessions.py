"""Sessions on the head: the shared connection of commands, and `attach` in a real terminal."""

import contextlib
import fcntl
import os
import pathlib
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest
from front import wait_for
from test_commands import team_cluster

MASTERS = r"^ssh -T -N -f "


@pytest.fixture
def up(front):
    laptop = front.laptop()
    file = laptop.file("cluster.yaml", front.cluster("demo", workers=1))
    laptop("up", "-y", file)
    return front, laptop, file


def asked(front, since):
    """API calls of laptops."""
    return [row["action"] for row in front.calls(since) if row["who"] == "laptop"]


def masters(laptop, program="pgrep"):
    return subprocess.run(laptop.words(program, "-f", MASTERS), check=False, env=laptop.env(),
                          capture_output=True, text=True).stdout.split()


def disconnect(laptop):
    masters(laptop, "pkill")
    wait_for(lambda: not masters(laptop), 10, 0.01, "the end of the shared connection")


def logins(front):
    """The number of logins on the head so far."""
    log = front.folder / "nodes" / front.head("demo").id / "log" / "sshd.log"
    return log.read_text(encoding="utf-8", errors="replace").count("Accepted publickey")


def stored(laptop):
    return laptop.record("head")


def hostname(laptop, file, **more):
    return laptop("exec", file, "hostname", **more).out.strip()


def test_commands_share_a_connection(up):
    """No API request, neither with an open connection nor with a known address."""
    front, laptop, file = up
    assert "worker" in laptop("status", file).out
    assert masters(laptop) and stored(laptop).stat().st_mode & 0o777 == 0o600
    since = time.time()
    assert "worker" in laptop("status", file).out
    disconnect(laptop)
    assert "worker" in laptop("status", file).out
    assert masters(laptop) and asked(front, since) == []
    # A terminal uses the open connection, a script has one of its own.
    for terminal, more in ((True, 0), (False, 1)):
        before = logins(front)
        if terminal:
            on = Terminal(laptop, "exec", file, "echo seen")
            on.expect("seen")
            assert on.close() == 0
        else:
            assert laptop("exec", file, "echo seen").out == "seen\n"
        assert logins(front) == before + more, terminal


def left_logs(laptop):
    return list(laptop.state.rglob("ssh-log*"))


def test_a_script_has_one_connection(up):
    """`exec` without a terminal at the known address: one login, no API request, nothing left."""
    front, laptop, file = up
    head = hostname(laptop, file)
    assert stored(laptop).stat().st_mode & 0o777 == 0o600
    since, before = time.time(), logins(front)
    assert hostname(laptop, file) == head
    assert logins(front) == before + 1
    done = laptop.run("exec", file, "cat; echo complaint >&2; exit 3", text="bytes\n")
    assert (done.status, done.out, done.err) == (3, "bytes\n", "complaint\n"), done
    # The command's own 255 is not one of ssh: it runs once.
    ran = front.head("demo").home / "ran"
    done = laptop.run("exec", file, "echo x >> ~/ran; exit 255")
    assert (done.status, done.err, ran.read_text()) == (255, "", "x\n"), done
    # A connection that is lost is reported, and the command does not run again.
    done = laptop.run("exec", file, "echo x >> ~/ran; echo begun; pkill -9 -f 'sshd: ubuntu'; "
                      "sleep 60")
    assert (done.status, done.out, ran.read_text()) == (255, "begun\n", "x\nx\n"), done
    assert "closed by" in done.err or "reset by" in done.err, done
    child = laptop.start("exec", file, "echo x >> ~/ran; echo begun; sleep 1000")
    assert child.stdout.readline() == "begun\n"
    laptop.stop(child, signal.SIGTERM)
    assert child.returncode == 143 and ran.read_text() == "x\n" * 3
    assert asked(front, since) == [] and not masters(laptop) and not left_logs(laptop)


def serve_nobody(laptop, address):
    """A server that closes every connection at once: not an sshd."""
    code = (f"import socket; s = socket.create_server(('{address}', 22)); print('ready', flush=1)"
            "\nwhile True: s.accept()[0].close()")
    server = laptop.start("-c", code, program=sys.executable)
    assert server.stdout.readline() == "ready\n"
    return server


def test_a_script_at_a_wrong_address(up):
    """ssh fails in each way: the listing decides, silently, and the command runs once."""
    front, laptop, file = up
    hostname(laptop, file)
    good = stored(laptop).read_text()
    server = serve_nobody(laptop, "127.0.0.9")
    ran = front.head("demo").home / "ran"
    for count, address in enumerate(("127.0.0.8", "127.0.0.9", "no-such-host.invalid"), 1):
        lines = good.splitlines()
        stored(laptop).write_text("\n".join([*lines[:2], address, *lines[3:]]) + "\n")
        since = time.time()
        done = laptop("exec", file, "echo x >> ~/ran; cat", text="all\n")
        assert (done.out, done.err) == ("all\n", ""), (address, done)
        assert asked(front, since).count("DescribeInstances") == 1, address
        assert stored(laptop).read_text() == good and ran.read_text() == "x\n" * count
        assert not left_logs(laptop)
    laptop.stop(server)
    # The head has another host key than the pinned one: ssh says so, as for every command.
    pinned = laptop.record(front.head("demo").id)
    worker = next(m for m in front.alive("demo") if m.kind == "worker")
    key = worker.run("cat", "/etc/ssh/ssh_host_ed25519_key.pub").split()
    pinned.write_text(f"{pinned.name} {key[0]} {key[1]}\n")
    done = laptop.run("exec", file, "echo x >> ~/ran")
    assert done.status == 255 and "Host key verification failed" in done.err, done
    assert ran.read_text() == "x\n" * 3 and not left_logs(laptop)


def test_a_stored_head_that_is_wrong(up):
    """Another machine has the address; the file is damaged; another account is used. The listing
    decides then.
    """
    front, laptop, file = up
    head = hostname(laptop, file)
    worker = next(m for m in front.alive("demo") if m.kind == "worker")
    good = stored(laptop).read_text()
    lines = good.splitlines()
    assert lines[1] == front.head("demo").id, good
    moved = "\n".join([*lines[:2], worker.public, *lines[3:]]) + "\n"
    strange = "\n".join([lines[0], worker.id, worker.public, *lines[3:]]) + "\n"
    for text in (moved, strange, "", "\n" * 9, good[:-40], "x" * 10000):
        stored(laptop).write_text(text)
        disconnect(laptop)
        since = time.time()
        assert hostname(laptop, file) == head, text
        assert "DescribeInstances" in asked(front, since), text
        assert stored(laptop).read_text() == good, text
    since = time.time()
    laptop("exec", "--no-config-cache", file, "true")
    assert "DescribeInstances" in asked(front, since)
    for other in (front.laptop("bob").more, {"AWS_CONFIG_FILE": "/dev/null"}):
        since = time.time()
        assert hostname(laptop, file, env=other) == head
        assert "DescribeInstances" in asked(front, since), other


def test_a_head_that_was_replaced(front):
    """Another laptop removed the cluster and created it again."""
    alice, bob = front.laptop("alice"), front.laptop("bob")
    config = team_cluster(front, alice)
    alices, bobs = alice.file("cluster.yaml", config), bob.file("cluster.yaml", config)
    alice("up", "-y", alices)
    first = hostname(alice, alices)
    bob("down", "-y", bobs)
    done = alice.run("exec", alices, "true")
    assert done.status == 1 and "has no head" in done.err, done
    bob("up", "-y", bobs)
    wait_for(lambda: front.head("team").tag("shoal-host-key"), 20, 0.1, "the tag")
    assert hostname(alice, alices) not in ("", first)
    assert stored(alice).read_text().splitlines()[1] == front.head("team").id
    # The head launches too, although its key for workers is not that of the file's key pair.
    config["max_workers"] = 2
    config["available_node_types"]["worker"].update(min_workers=2, max_workers=2)
    bob("up", "-y", bob.file("cluster.yaml", config))
    assert len(front.alive("team")) == 3


# ---- a terminal ----


class Terminal:
    """`shoal WORDS` on a real pseudo-terminal."""

    def __init__(self, laptop, *words, rows=40, columns=100):
        self.ours, theirs = os.openpty()
        self.text = ""
        self.resize(rows, columns)
        self.child = subprocess.Popen(
            laptop.words(laptop.front.program, *words), stdin=theirs, stdout=theirs, stderr=theirs,
            env=laptop.env(TERM="xterm"), start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)

    def resize(self, rows, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, text):
        os.write(self.ours, text.encode())

    def expect(self, pattern, seconds=30):
        """The match in the output since the last one."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.text)):
            left = end - time.monotonic()
            assert left > 0, f"no {pattern!r} in {self.text[-2000:]!r}"
            if select.select([self.ours], [], [], left)[0]:
                try:
                    self.text += os.read(self.ours, 65536).decode(errors="replace")
                except OSError:  # closed by the child
                    assert re.search(pattern, self.text), self.text[-2000:]
        self.text = self.text[found.end():]
        return found

    def close(self):
        """The exit status."""
        try:
            return self.child.wait(20)
        finally:
            self.child.kill()
            os.close(self.ours)


def test_attach_in_a_terminal(up):
    _front, laptop, file = up
    on = Terminal(laptop, "attach", file)
    on.send("echo here-$((1+1)) $(stty size)\n")
    on.expect(r"here-2 40 100\r\n")
    on.resize(50, 120)
    # ssh sends the new size and the line independently of each other.
    on.send("until [ \"$(stty size)\" = '50 120' ]; do sleep 0.1; done; echo again-$((1+1))\n")
    on.expect(r"again-2\r\n")
    # One process in the foreground: between two commands, the shell itself would get the Ctrl-C.
    on.send("sh -c 'echo asleep-$((1+1)); exec sleep 1000'; echo status-$?\n")
    on.expect(r"asleep-2\r\n")
    on.send("\x03")
    on.send("echo status=$?\n")
    on.expect(r"status=130\r\n")
    on.send("exit 7\n")
    assert on.close() == 7


def test_ctrl_c_before_the_command_starts_stops_nothing(up):
    """With --stop the cluster goes after the command, not after Ctrl-C while ssh connects."""
    front, laptop, file = up
    front.ask("node", instance=front.head("demo").id, what="pause")
    for words in ([], ["--no-config-cache"]):
        child = laptop.start("exec", "--stop", *words, file, "true")
        wait_for(lambda: "ssh" in names_below(child.pid), 60, 0.05, "ssh")
        time.sleep(0.5)
        laptop.send(child, signal.SIGINT)
        out, err = child.communicate(timeout=60)
        assert child.returncode == 130, (words, out, err)
        assert "the cluster was not stopped" in err, err
        assert len(front.alive("demo")) == 2
    front.ask("node", instance=front.head("demo").id, what="unpause")
    assert laptop.run("exec", "--stop", file, "exit 3").status == 3
    assert front.alive("demo") == []


def names_below(pid):
    """The names of all processes that this one has started, and theirs."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    found = set()
    for child in children:
        with contextlib.suppress(OSError):
            found |= {pathlib.Path(f"/proc/{child}/comm").read_text().strip()} | names_below(child)
    return found


def test_detach_and_attach_again(up):
    front, laptop, file = up
    on = Terminal(laptop, "attach", "--tmux", file)
    on.send("cd /tmp; mine=kept-$((40+2)); echo ready-$((1+1))\n")
    on.expect("ready-2")
    on.send("\x02d")  # tmux's own key
    on.expect("detached")
    assert on.close() == 0
    again = Terminal(laptop, "attach", "--tmux", file, rows=30, columns=90)
    again.send("echo $mine $PWD\n")
    again.expect(r"kept-42 /tmp")
    # The connection is lost: the session stays.
    again.child.kill()
    again.close()
    assert "tmux" in " ".join(front.head("demo").processes().values())
    last = Terminal(laptop, "attach", "--tmux", file)
    last.send("echo still $mine\n")
    last.expect(r"still kept-42")
    last.send("exit\n")
    last.expect("exited")
    assert last.close() == 0
