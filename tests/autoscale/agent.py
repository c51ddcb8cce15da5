"""A driver on the head of a cluster, at the end of a pipe (agent_program.py)."""

import json
import pathlib
import re
import subprocess
import threading
import time

import driver

PROGRAM = pathlib.Path(__file__).resolve().parent / "agent_program.py"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Agent:
    """Started by the test, not over ssh, so that it does not count as an ssh connection."""

    def __init__(self, head):
        self.rows, self.lines, self.count = [], [], 0
        self.news = threading.Condition()
        driver.in_machine(head, "sh", "-c", "cat > /tmp/agent.py", text=PROGRAM.read_text())
        self.child = subprocess.Popen(
            ["docker", "exec", "-i", "-u", "ubuntu", "-w", "/home/ubuntu", "-e",
             "HOME=/home/ubuntu", f"bed-{head}", "bash", "-lic", "exec python3 -u /tmp/agent.py"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace")
        for read in (self._read_answers, self._read_lines):
            threading.Thread(target=read, daemon=True).start()
        self.row(lambda row: row.get("what") == "ready", 60)

    def _read_answers(self):
        """Keep what the shell prints before the program starts, as lines."""
        for line in self.child.stderr:
            with self.news:
                if line.startswith("{"):
                    self.rows.append(json.loads(line))
                else:
                    self.lines.append((time.time(), line.rstrip("\n")))
                self.news.notify_all()

    def _read_lines(self):
        for line in self.child.stdout:
            with self.news:
                self.lines.append((time.time(), COLOUR.sub("", line.rstrip("\n"))))
                self.news.notify_all()
        with self.news:
            self.child.wait()
            self.news.notify_all()

    def row(self, wanted, seconds=60):
        """Remove and return the first row that `wanted` accepts."""
        end = time.monotonic() + seconds
        with self.news:
            while True:
                for row in self.rows:
                    if wanted(row):
                        self.rows.remove(row)
                        return row
                left = end - time.monotonic()
                ended = self.child.returncode
                assert ended is None, (f"the driver has ended: {ended}", self.lines[-30:])
                assert left > 0, (f"the driver did not answer within {seconds} s", self.lines[-30:])
                self.news.wait(left)

    def start(self, verb, **fields):
        """Send a request. Return a number with which to wait for its answer."""
        self.count += 1
        asked = {"do": verb, "number": self.count, **fields}
        self.child.stdin.write(json.dumps(asked) + "\n")
        self.child.stdin.flush()
        return self.count

    def answer(self, number, seconds=30):
        answer = self.row(lambda row: row.get("number") == number, seconds)
        assert "error" not in answer, answer
        return answer

    def ask(self, verb, patience=30, **fields):
        return self.answer(self.start(verb, **fields), patience)

    def event(self, name, what, seconds=60):
        return self.row(lambda row: row.get("name") == name and row.get("what") == what, seconds)

    # ---- requests ----

    def tasks(self, name, count, seconds, **options):
        """Return when the tasks were submitted."""
        return self.ask("tasks", name=name, count=count, seconds=seconds, **options)["submitted"]

    def done(self, name, seconds=60):
        """[(host, began, ended)] of a batch. No task may be lost."""
        rows = self.event(name, "done", seconds)["rows"]
        lost = [row for row in rows if isinstance(row, str)]
        assert not lost, f"{len(lost)} of {len(rows)} tasks of {name} were lost: {lost[:3]}"
        return [tuple(row) for row in rows]

    def state(self):
        return self.ask("state")

    def alive(self):
        return [n for n in self.state()["nodes"] if n["state"] not in ("dead", "unspecified")]

    def autoscaler_lines(self, since=0.0):
        return [line for at, line in list(self.lines) if at >= since and "(autoscaler" in line]

    def line(self, pattern, seconds=20, since=0.0):
        """Wait for a line of the driver's output that matches."""
        found = re.compile(pattern)
        return driver.wait_for(lambda: next(
            (line for at, line in list(self.lines) if at >= since and found.search(line)), None),
            seconds, 0.1, f"a driver's line like {pattern!r}; there were {self.lines[-20:]}")

    def close(self):
        self.child.stdin.close()
        try:
            self.child.wait(5)
        except subprocess.TimeoutExpired:
            self.child.kill()
