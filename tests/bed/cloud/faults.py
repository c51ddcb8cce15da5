"""Faults on demand: which call meets which, how often, and how a broken reply looks.

A fault of the API names an action ("RunInstances", "ec2:*", "*"), a kind, and how often it
happens: a count, or a chance. Kinds:

error      refused with `code` (and `status`); nothing happened
throttle   refused with RequestLimitExceeded (ThrottlingException in JSON services)
slow       answered after `seconds`
hang       no answer for `seconds`, then the connection ends; with after=True: carried out
reset      the connection is reset, before or after the effect
truncate   carried out; half of the body, then the connection ends
garbage    carried out; the body is not what it says: `shape` html, binary, empty, deep or entity
redirect   302 to nowhere; nothing happened
loop       a listing whose NextToken leads to the same page again
hold       waits until `release`: before the call reaches AWS, or with after=True its answer; not of
           dry runs

`skip` lets so many calls pass before the first one is met.

Faults of nodes (`launch`) are taken by the next instances launched: no-sshd, disk-full, boot-delay,
dies (`code`: the state reason). `capacity` limits instances by type and zone.
"""

import dataclasses
import fnmatch
import random
import threading

from .wire import Refusal, Reply

KINDS = ("error", "throttle", "slow", "hang", "reset", "truncate", "garbage", "redirect", "loop",
         "hold")
LAUNCH_KINDS = ("no-sshd", "disk-full", "boot-delay", "dies")
SHAPES = ("html", "binary", "empty", "deep", "entity")


@dataclasses.dataclass
class Fault:
    action: str
    kind: str
    count: int = 1          # 0: forever
    chance: float = 1.0
    skip: int = 0           # calls that pass before the first fault
    contains: str = ""      # only calls whose body contains this
    code: str = ""
    status: int = 0
    message: str = ""
    seconds: float = 0.0
    after: bool = False
    shape: str = "html"
    identity: str = "*"
    type: str = "*"         # of launch faults: instance type and zone
    zone: str = "*"
    left: int = 0           # of capacity: how many more instances
    hits: int = 0
    held: str = ""          # of hold: the action that is waiting

    def check(self):
        known = (*KINDS, *LAUNCH_KINDS, "capacity")
        if self.kind not in known:
            raise ValueError(f"no fault {self.kind!r}; there are: {' '.join(known)}")
        if self.kind == "garbage" and self.shape not in SHAPES:
            raise ValueError(f"no shape {self.shape!r}; there are: {' '.join(SHAPES)}")
        return self


class Faults:
    def __init__(self, seed=1):
        self.lock = threading.Lock()
        self.all = []
        self.random = random.Random(seed)
        self.holds = threading.Condition()

    def add(self, **fields):
        fault = Fault(**fields).check()
        with self.lock:
            self.all.append(fault)
        return fault

    def clear(self):
        with self.lock:
            self.all = []

    def hold(self, fault, action):
        """Return after a call of `release`."""
        with self.holds:
            fault.held = action
            self.holds.wait()

    def release(self):
        with self.holds:
            self.holds.notify_all()

    def reseed(self, seed):
        self.random = random.Random(seed)

    def mix(self, rate, seconds=0.3):
        """Every kind of broken call with its share of `rate`, forever."""
        share = {"throttle": {}, "error": {"code": "InternalError", "status": 500}, "slow": {},
                 "hang": {}, "reset": {}, "truncate": {}, "garbage": {}}
        broken = [{"kind": kind, **more} for kind, more in share.items()]
        broken += [{"kind": "hang", "after": True}, {"kind": "reset", "after": True}]
        for fields in broken:
            self.add(action="*", count=0, chance=rate / len(broken), seconds=seconds, **fields)

    def _take(self, wanted):
        """The first fault that `wanted` accepts and that happens now."""
        with self.lock:
            for fault in self.all:
                if not wanted(fault) or self.random.random() >= fault.chance:
                    continue
                if fault.skip:
                    fault.skip -= 1
                    continue
                fault.hits += 1
                if fault.count and fault.hits >= fault.count:
                    self.all.remove(fault)
                return fault
        return None

    def of_call(self, call):
        full = f"{call.service}:{call.action}"

        def wanted(fault):
            names = fnmatch.fnmatchcase(call.action, fault.action) or \
                fnmatch.fnmatchcase(full, fault.action)
            who = call.identity.label if call.identity else ""
            is_dry = fault.kind == "hold" and call.get("DryRun") == "true"
            return fault.kind in KINDS and names and fnmatch.fnmatch(who, fault.identity) and \
                fault.contains.encode() in call.body and not is_dry

        return self._take(wanted)

    def of_launch(self, node_type, zone):
        """{kind: fault} for one new instance."""
        found = {}
        for kind in LAUNCH_KINDS:
            fault = self._take(lambda f, kind=kind: f.kind == kind and
                               fnmatch.fnmatch(node_type, f.type) and fnmatch.fnmatch(zone, f.zone))
            if fault:
                found[kind] = fault
        return found

    def capacity(self, node_type, zone, wanted, take=True):
        """For how many of `wanted` instances there is capacity."""
        with self.lock:
            limits = [f for f in self.all if f.kind == "capacity" and
                      fnmatch.fnmatch(node_type, f.type) and fnmatch.fnmatch(zone, f.zone)]
            granted = min([wanted] + [f.left for f in limits])
            if take:
                for fault in limits:
                    fault.left -= granted
                    fault.hits += 1
            return granted


# ---- replies ----


def refusal_of(fault, call):
    """The error of the kinds that refuse a call; None for the other kinds."""
    in_json = call.service not in ("ec2", "sts", "iam", "s3")
    if fault.kind == "throttle":
        if call.service == "ec2":
            return Refusal("RequestLimitExceeded", "Request limit exceeded.", 503)
        if call.service == "s3":
            return Refusal("SlowDown", "Please reduce your request rate.", 503)
        return Refusal("ThrottlingException" if in_json else "Throttling", "Rate exceeded", 400)
    if fault.kind == "error":
        code = fault.code or "InternalError"
        status = fault.status or (500 if code.startswith(("Internal", "Insufficient")) else
                                  503 if code in ("Unavailable", "ServiceUnavailable") else 400)
        return Refusal(code, fault.message or f"The bed was told to answer {code}.", status)
    return None


def garbage(shape):
    bodies = {
        "html": b"<html><head><title>Sign in</title></head><body>Welcome to the Wi-Fi of Hotel "
                b"Bed. <a href='/login'>Log in</a></body></html>",
        "binary": bytes(range(256)) * 8,
        "empty": b"",
        "deep": b"<a>" * 100000,
        "entity": b'<!DOCTYPE a [<!ENTITY b "' + b"b" * 50 + b'">' + b"".join(
            b'<!ENTITY c%d "%s">' % (n, b"&c%d;" % (n - 1) * 10 if n else b"&b;" * 10)
            for n in range(10)) + b"]><a>&c9;</a>",
    }
    kind = "text/html" if shape == "html" else "text/xml;charset=UTF-8"
    return Reply(200, bodies[shape], {"Content-Type": kind})
