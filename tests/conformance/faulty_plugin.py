#!/usr/bin/env python3
"""Between Shoal and a plug-in: dies before or after the work, sends garbage or half a line,
replies with another id, is silent, hides new instances, replies late. In the environment:

    PLUGIN   its program; without it, file_cloud.py
    FAULTS   of 1000 requests, how many go wrong
    HIDDEN   seconds for which new instances are not listed
    LATE     seconds before the reply to a launch is sent
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
CLOUD = os.environ.get("PLUGIN", HERE.parent.parent / "examples/plug-ins/file_cloud.py")
FAULTS, HIDDEN, LATE = (float(os.environ.get(name, "0")) for name in ("FAULTS", "HIDDEN", "LATE"))
KINDS = ["before", "after", "garbage", "half", "other", "silent"]

dice = random.Random(os.getpid())
with subprocess.Popen([CLOUD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as cloud:
    for line in sys.stdin:
        asked = json.loads(line)
        is_faulty = asked["op"] != "hello" and dice.uniform(0, 1000) < FAULTS
        fault = dice.choice(KINDS) if is_faulty else ""
        if fault == "before":
            sys.exit(f"fault before {asked['op']}")
        cloud.stdin.write(line)
        cloud.stdin.flush()
        reply = json.loads(cloud.stdout.readline())
        if fault == "after":
            sys.exit(f"fault after {asked['op']}")
        if fault == "silent":
            time.sleep(1000)
        if asked["op"] == "hello" and HIDDEN:
            reply["list_delay_s"] = int(HIDDEN) + 2
        if asked["op"] == "list":
            reply["machines"] = [m for m in reply["machines"]
                                 if m.get("launched_at", 0) + HIDDEN <= time.time()]
        if asked["op"] == "launch":
            time.sleep(LATE)
        if fault == "other":
            reply["id"] += 1000
        text = "Traceback (most recent call last):" if fault == "garbage" else json.dumps(reply)
        if fault == "half":
            print(text[:len(text) // 2], end="", flush=True)
            sys.exit("fault in the middle of a line")
        print(text, flush=True)
