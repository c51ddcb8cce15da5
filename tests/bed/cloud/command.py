"""The command line of `bed`: one function per command."""

import argparse
import json
import sys
import time

from . import client, docker, images, settings
from .control import ACTIONS_ON_NODES
from .faults import KINDS, LAUNCH_KINDS, SHAPES

MIB = 1 << 20
IMAGES = ("base", "ray", "systemd", "systemd-ray", "train", "docker")


def megabytes(count):
    return f"{count / MIB:.0f} MB"


# ---- commands ----


def up(words):
    start = time.monotonic()
    bed = client.up(words.image or ["base"], words.seconds)
    if "ray" in (words.image or []) or words.wheels:
        images.ensure_wheels()
    state = bed.ps()
    print(f"bed is up in {time.monotonic() - start:.1f} s, front {megabytes(state['front_memory'])}"
          f"; its call log: {settings.STATE / 'calls.jsonl'}", file=sys.stderr)
    env(words)


def build(words):
    start = time.monotonic()
    client.build(words.image)
    print(f"built in {time.monotonic() - start:.1f} s", file=sys.stderr)


def env(_words):
    for name, value in client.environment().items():
        print(f"export {name}={value}")


def ps(_words):
    state = client.Bed().ps()
    row = "{:<19} {:<13} {:<10} {:<10} {:<14} {:<14} {:>7} {:>5} {:>4} {}"
    print(row.format("INSTANCE", "STATE", "TYPE", "ZONE", "PRIVATE", "PUBLIC", "MEMORY", "SSH",
                     "RUNS", "NAME"))
    for node in state["nodes"]:
        print(row.format(node["id"], node["state"], node["type"], node["zone"], node["private"],
                         node["public"] or "-", megabytes(node["memory"]), node["connections"],
                         node["sessions"], node["name"]))
    total = state["front_memory"] + sum(node["memory"] for node in state["nodes"])
    print(f"up {state['seconds']:.0f} s, {state['calls']} calls, front "
          f"{megabytes(state['front_memory'])}, in all {megabytes(total)}")


def fault(words):
    bed = client.Bed()
    kind = words.kind
    if kind == "list":
        for row in bed.ask("faults"):
            print(json.dumps(row))
    elif kind == "clear":
        bed.clear()
    elif kind == "mix":
        bed.mix(words.chance, words.seed, words.seconds)
    elif kind == "expire":
        print(f"{bed.expire(words.identity)} credentials ended")
    elif kind == "deny":
        bed.deny(words.identity, words.action)
    elif kind in ACTIONS_ON_NODES and words.instance:
        bed.node(words.instance, kind)
    else:
        bed.fault(words.action, kind, count=words.count, chance=words.chance, code=words.code,
                  status=words.status, seconds=words.seconds, after=words.after,
                  shape=words.shape, identity=words.identity, type=words.type, zone=words.zone,
                  left=words.left)


def notice(words):
    print(json.dumps(client.Bed().notice(words.instance, seconds=words.seconds,
                                         rebalance=words.rebalance)))


def turn(words):
    bed = client.Bed()
    if words.value is None:
        for name, value in bed.set().items():
            if words.name in (None, name):
                print(f"{name} {value:g}")
    else:
        bed.set(**{words.name: float(words.value)})


def counts(words):
    for action, count in sorted(client.Bed().counts(who=words.who, clear=words.clear).items()):
        print(f"{count:6} {action}")


def logs(words):
    if words.instance:
        sys.stdout.write(client.Bed().console(words.instance))
        return
    name = "front.log" if words.front else "calls.jsonl"
    lines = (settings.STATE / name).read_text(errors="replace").splitlines()
    print("\n".join(lines[-words.lines:]))


def down(words):
    start = time.monotonic()
    client.down(words.keep_docker)
    print(f"bed is down in {time.monotonic() - start:.1f} s", file=sys.stderr)


# ---- arguments ----


def parser():
    top = argparse.ArgumentParser(prog="bed", description="A cloud on one machine.")
    verbs = top.add_subparsers(dest="verb", required=True)

    one = verbs.add_parser("up", help="start the bed and print variables for AWS clients")
    one.add_argument("--image", action="append", choices=IMAGES,
                     help="have this image ready (again for more; default: base)")
    one.add_argument("--wheels", action="store_true", help="fill the package index with Ray")
    one.add_argument("--seconds", type=float, default=client.LIFE_SECONDS,
                     help="go down by itself after so long (default: %(default)s)")
    one = verbs.add_parser("build", help="build images ahead; starts Docker, not the bed")
    one.add_argument("image", nargs="+", choices=IMAGES)
    verbs.add_parser("env", help="print the variables again")
    verbs.add_parser("ps", help="list instances, with memory and ssh counts")

    one = verbs.add_parser("fault", help="break something")
    one.add_argument("kind", choices=[*KINDS, *LAUNCH_KINDS, "capacity", *sorted(
        set(ACTIONS_ON_NODES) - set(LAUNCH_KINDS)), "mix", "deny", "expire", "list", "clear"])
    one.add_argument("--action", default="*", help='API action ("RunInstances", "ec2:*")')
    one.add_argument("--instance", help="for pause, kill, disk-full, ...: a running machine")
    one.add_argument("--count", type=int, default=1, help="how often (0: for ever)")
    one.add_argument("--chance", type=float, default=1.0)
    one.add_argument("--code", default="")
    one.add_argument("--status", type=int, default=0)
    one.add_argument("--seconds", type=float, default=0.0)
    one.add_argument("--after", action="store_true", help="hang, reset: after the effect")
    one.add_argument("--shape", choices=SHAPES, default="html")
    one.add_argument("--identity", default="*")
    one.add_argument("--type", default="*")
    one.add_argument("--zone", default="*")
    one.add_argument("--left", type=int, default=0, help="capacity: so many more")
    one.add_argument("--seed", type=int, default=1)

    one = verbs.add_parser("notice", help="tell a spot instance that it will end")
    one.add_argument("instance")
    one.add_argument("--seconds", type=float, default=120)
    one.add_argument("--rebalance", action="store_true", help="only the recommendation")
    one = verbs.add_parser("set", help="show or turn a number")
    one.add_argument("name", nargs="?")
    one.add_argument("value", nargs="?")
    one = verbs.add_parser("counts", help="API calls by action")
    one.add_argument("--who", help='"laptop" or an instance')
    one.add_argument("--clear", action="store_true")
    one = verbs.add_parser("logs", help="the call log, or the console of an instance")
    one.add_argument("instance", nargs="?")
    one.add_argument("--front", action="store_true", help="the front's own messages")
    one.add_argument("--lines", type=int, default=40)
    one = verbs.add_parser("down", help="end everything and leave nothing behind")
    one.add_argument("--keep-docker", action="store_true")
    return top


VERBS = {"up": up, "build": build, "env": env, "ps": ps, "fault": fault, "notice": notice,
         "set": turn, "counts": counts, "logs": logs, "down": down}


def main():
    words = parser().parse_args()
    try:
        VERBS[words.verb](words)
    except (client.BedError, docker.DockerError) as error:
        print(f"bed: {error}", file=sys.stderr)
        return 1
    return 0
