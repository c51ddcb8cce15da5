"""Acts as the agent: starts the runner, sends it requests and reads its events."""

import json
import os
import pathlib
import queue
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNNER = ROOT / "src/app/train/python/runner.py"
WAIT_SECONDS = 90


class RunnerClient:
    def __init__(self, preload=None, env=None):
        environment = dict(os.environ, OMP_NUM_THREADS="1", **(env or {}))
        environment.pop("SHOAL_TRAIN_PRELOAD", None)
        if preload is not None:
            environment["SHOAL_TRAIN_PRELOAD"] = preload
        self.folder = tempfile.TemporaryDirectory(prefix="shoal-train-", dir="/dev/shm")
        self.path = pathlib.Path(self.folder.name)
        self.errors = open(self.path / "output", "w+b")
        self.process = subprocess.Popen([sys.executable, str(RUNNER)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, env=environment)
        self.events = queue.Queue()
        self.seen = []
        self.generation = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            event = json.loads(line)
            event["time"] = time.time()
            self.events.put(event)
        self.events.put(None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if not self.process.stdin.closed:
            self.process.stdin.close()
        assert self.process.wait(10) == 0
        self.errors.close()
        self.folder.cleanup()

    def send(self, line):
        if not isinstance(line, (str, bytes)):
            line = json.dumps(line)
        self.process.stdin.write((line if isinstance(line, bytes) else line.encode()) + b"\n")
        self.process.stdin.flush()

    def wait(self, event, generation=None, timeout=WAIT_SECONDS):
        """The first event of this kind that no earlier call has returned."""
        deadline = time.monotonic() + timeout
        while True:
            for index, one in enumerate(self.seen):
                if one["event"] == event and generation in (None, one.get("generation")):
                    return self.seen.pop(index)
            try:
                one = self.events.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {event} of generation {generation} in {timeout} s; "
                                     f"output: {self.output()[-2000:]}") from None
            assert one is not None, f"the runner is gone; output: {self.output()[-2000:]}"
            self.seen.append(one)

    def steps_path(self, generation):
        return self.path / f"steps-{generation}"

    def start(self, script, args=(), env=None, folder=None):
        """Starts a file, or the text of a script; returns the generation."""
        self.generation += 1
        if "\n" in str(script):
            path = self.path / f"script{self.generation}.py"
            path.write_text(script)
        else:
            path = script
        self.steps_path(self.generation).write_bytes(bytes(64))
        self.send({"command": "start", "generation": self.generation, "script": str(path),
                   "args": list(args), "folder": str(folder or self.path), "env": env or {},
                   "steps": str(self.steps_path(self.generation))})
        return self.generation

    def signal(self, generation, number):
        self.send({"command": "signal", "generation": generation, "signal": int(number)})

    def kill(self, generation):
        self.send({"command": "kill", "generation": generation})

    def run(self, script, args=(), env=None, folder=None):
        """Starts a script and waits for its end; returns the outcome and its output."""
        before = len(self.output())
        exited = self.wait("exited", self.start(script, args, env, folder))
        outcome = {key: exited[key] for key in ("code", "signal") if key in exited}
        return outcome, self.output()[before:]

    def output(self):
        return (self.path / "output").read_text(errors="replace")

    def steps(self, generation):
        names = ("steps", "first", "last", "began", "group", "asked", "sum", "pid")
        return dict(zip(names, struct.unpack("<Q6dQ", self.steps_path(generation).read_bytes())))
