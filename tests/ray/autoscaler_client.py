"""Our calls of an autoscaler, made by hand: the program tests/probe/autoscaler_probe.c."""

import json
import os
import pathlib
import subprocess
import time

PROBE = str(pathlib.Path(os.environ["SHOAL_BUILD"]) / "tests/autoscaler_probe")


class Client:
    def __init__(self, box, *token, env=None):
        self.process = subprocess.Popen(box.inside([PROBE, "127.0.0.1:6379", *token]),
                                        env=env or box.env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, call, **words):
        self.process.stdin.write(json.dumps(dict(words, call=call)) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def fine(self, call, **words):
        answer = self.ask(call, **words)
        assert answer["trouble"] == "fine", answer
        return answer

    def state(self):
        return self.fine("state")

    def node(self, instance, status=None):
        """The newest of that name; with `status`, as soon as it has that."""
        return self.wait(lambda state: next(
            (node for node in reversed(state["nodes"])
             if node["instance"] == instance and status in (None, node["status"])), None))

    def wait(self, find, seconds=30):
        """Until `find` finds something in the state."""
        until = time.monotonic() + seconds
        while True:
            state = self.state()
            found = find(state)
            if found:
                return found
            assert time.monotonic() < until, json.dumps(state, indent=1)
            time.sleep(0.1)

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0
