"""Writes the first inputs of the fuzzer of stored events and actions.

usage: make_record_seeds.py FOLDER

Puts the format of src/core/record/frame.h together a second time, without our encoder: a file for
every kind of event and of action, one with a run of them and a few that are damaged.
"""

import os
import sys

EVENT, ACTION = 0x02, 0x81
NONE = 0xFFFFFFFF


def number(value):
    """Seven bits to a byte, lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


LAUNCH = number(7 << 32 | 3)  # the third under lease 7


def signed(value):
    return number(value * 2 if value >= 0 else -value * 2 - 1)


def many(items):
    items = list(items)
    return number(len(items)) + b"".join(items)


def record(form, body):
    return bytes([form]) + number(len(body)) + body


def event(kind, *fields, at=12500):
    return record(EVENT, bytes([kind]) + signed(at) + b"".join(fields))


def action(kind, reason, amount=0, limit=0, state=0, count=0, causes=(0, 0, 0, 0), until=0):
    numbers = [signed(amount), signed(limit), signed(99000), number(7), number(17), LAUNCH,
               number(1), signed(count), *map(signed, causes), bytes([until == 0]), signed(until)]
    return record(ACTION, bytes([kind, reason, state]) + b"".join(numbers))


def selector(*rules):
    return many(number(key) + bytes([operator]) + many(map(number, values))
                for key, operator, values in rules)


def request(amounts, selectors=(), placements=()):
    return (many(number(name) + signed(amount) for name, amount in amounts) + many(selectors) +
            many(bytes([kind]) + number(key) + number(value) for kind, key, value in placements))


def demand(count, *parts):
    return request(*parts) + signed(count)


def load():
    choices = [selector((3, 0, [1, 2]), (2, 1, [])), selector((3, 2, [NONE])), selector()]
    demands = [demand(3, [(0, 10000)]), demand(1, [(0, 5000), (1, 1 << 50)], choices)]
    apart = request([(0, 10000)], (), [(1, 3, 2)])
    return many(demands), many([many([apart, apart])]), many([demand(100, [(0, 40000)])])


def node(status, idle_since):
    capacities = [(0, 40000, 35000), (1, 10000, -1), (2, -1, 5)]
    return (number(17), bytes([status]), signed(idle_since),
            many(number(name) + signed(total) + signed(free) for name, total, free in capacities),
            many([number(3) + number(1)]))


SEEDS = {
    "start": event(0, at=0),
    "goal": event(1, b"\1"),
    "lease": event(2, number(7), signed(42500)),
    "intent": event(3, LAUNCH, number(1), signed(2)),
    "launched": event(4, LAUNCH, number(17)),
    "launch_reply": event(5, LAUNCH, b"\3"),
    "records_end": event(6, number(7)),
    "listing": event(7, signed(12000), b"\1",
                     many([number(17) + LAUNCH + number(0) + b"\1\0" + signed(-1)])),
    "listing_cut": event(7, signed(12000), b"\0", many([])),
    "terminate_reply": event(8, number(17), b"\10"),
    "setup_reply": event(9, number(17), b"\2"),
    "drain_reply": event(10, number(1 << 63), b"\1"),
    "notice": event(11, number(17), signed(132500)),
    "ray_node": event(12, *node(1, -1)),
    "ray_node_idle": event(12, *node(2, 10000)),
    "ray_load": event(13, *load()),
    "ray_load_empty": event(13, many([]), many([]), many([])),
    "ray_seen": event(14, signed(12400)),
    "tick": event(15, at=-(1 << 63)),
    "launch": action(0, 0, count=3, causes=(1, 0, 0, 2)),
    "terminate": action(1, 7, amount=3),
    "terminate_slow": action(1, 13, amount=602000, limit=600000, state=3),
    "set_up": action(2, 2),
    "drain": action(3, 3, amount=310000, limit=300000),
    "drain_notice": action(3, 8, limit=132500, until=130000),
    "bad_count": event(13, number(1 << 20)),
    "bad_kind": event(200, b"\0") + event(15),
    "bad_length": b"\1\x80\x00",
}
SEEDS["run"] = SEEDS["start"] + SEEDS["ray_load"] + SEEDS["launch"] + SEEDS["tick"]


def main(argv):
    if len(argv) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    os.makedirs(argv[0], exist_ok=True)
    for name, data in SEEDS.items():
        with open(os.path.join(argv[0], name), "wb") as stream:
            stream.write(data)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
