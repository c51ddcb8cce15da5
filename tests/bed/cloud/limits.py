"""Request rates: EC2's token buckets by action, when the tunable `throttle` is set."""

import threading
import time

from .wire import Refusal

# (burst, refill per second), as EC2 documents them.
BUCKETS = {"RunInstances": (5, 2), "StartInstances": (5, 2), "CreateFleet": (5, 2),
           "TerminateInstances": (100, 5), "CreateTags": (100, 10)}
READS, WRITES, UNFILTERED = (100, 20), (50, 5), (50, 10)
RUN_RESOURCES = (1000, 2)


class Buckets:
    def __init__(self):
        self.lock = threading.Lock()
        self.levels = {}  # name -> (level, when)

    def take(self, name, size, refill, amount=1):
        with self.lock:
            now = time.monotonic()
            level, when = self.levels.get(name, (size, now))
            level = min(size, level + (now - when) * refill)
            enough = level >= amount
            self.levels[name] = (level - amount if enough else level, now)
            return enough

    def check(self, call):
        """Refuses when the caller's bucket for this action is empty."""
        if call.service != "ec2":
            return
        if call.action.startswith(("Describe", "Get")):
            narrow = any(k.startswith(("Filter.", "InstanceId.", "MaxResults"))
                         for k in call.params)
            size = READS if narrow else UNFILTERED
        else:
            size = BUCKETS.get(call.action, WRITES)
        name = f"{call.region} {call.action}"
        enough = self.take(name, *size)
        if enough and call.action == "RunInstances" and call.get("MaxCount", "1").isdigit():
            enough = self.take(f"{call.region} instances", *RUN_RESOURCES,
                               amount=int(call.get("MaxCount", "1")))
        if not enough:
            raise Refusal("RequestLimitExceeded", "Request limit exceeded.", 503)
