"""A driver of Ray that a test tells what to do, line by line, and whose output it can read."""

import pathlib
import subprocess
import tempfile
import time

from ray_box import PYTHON

PROGRAM = """
import sys, time
import ray
from ray.util.placement_group import placement_group
from ray.autoscaler.sdk import request_resources
ray.init("127.0.0.1:6379")

@ray.remote
def work(seconds=0.0):
    time.sleep(seconds)
    return 7

@ray.remote
class Holder:
    def ready(self):
        return True

for line in sys.stdin:
    exec(line)
    print("DONE", flush=True)
"""


class Driver:
    def __init__(self, box):
        self.out = tempfile.NamedTemporaryFile("r", prefix="shoal-driver-")
        self.process = subprocess.Popen(
            box.inside([PYTHON, "-u", "-c", PROGRAM]), env=box.env, text=True,
            stdin=subprocess.PIPE, stdout=open(self.out.name, "w"), stderr=subprocess.STDOUT)
        self.count = 0

    def do(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        self.count += 1
        self.wait_for(lambda text: text.count("DONE\n") >= self.count)

    def text(self):
        return pathlib.Path(self.out.name).read_text()

    def wait_for(self, is_there, seconds=40):
        until = time.monotonic() + seconds
        while not is_there(self.text()):
            assert self.process.poll() is None and time.monotonic() < until, self.text()
            time.sleep(0.05)

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)
        self.out.close()
