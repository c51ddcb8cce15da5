"""The load of the planning benchmark: a fragmented cluster and demand in a few or many shapes.

Three types in turn (16 CPU and 64 GiB, 64 CPU and 256 GiB, 96 CPU, 8 GPU and 1152 GiB), each node
with 0-3 CPU, 0-16 GiB and 0-1 GPU free. One shape in five wants GPUs. No limit on launches.
Cases are made in the form of tests/diff/plan_cases.py, so that the benchmark and the parity test
feed both sides through the same code.
"""

import random

GIB = 1 << 30
UNIT = 10000
TYPES = {"m16": {"CPU": 16 * UNIT, "memory": 64 * GIB * UNIT},
         "m64": {"CPU": 64 * UNIT, "memory": 256 * GIB * UNIT},
         "g96": {"CPU": 96 * UNIT, "GPU": 8 * UNIT, "memory": 1152 * GIB * UNIT}}
# Micro-dollars an hour: m5.4xlarge, m5.16xlarge, p4d.24xlarge.
PRICES = {"m16": 768_000, "m64": 3_072_000, "g96": 32_772_600}


def node(rng, number, is_real):
    name = list(TYPES)[number % 3]
    total = dict(TYPES[name])
    free = {"CPU": rng.randint(0, 3) * UNIT, "memory": rng.randint(0, 16) * GIB * UNIT}
    if "GPU" in total:
        free["GPU"] = rng.randint(0, 1) * UNIT
    labels = {}
    if is_real:  # as the GCS reports them: no two nodes alike
        total[f"node:10.{number >> 16}.{number >> 8 & 255}.{number & 255}"] = UNIT
        total["object_store_memory"] = 4 * GIB * UNIT
        free.update({key: total[key] for key in total if key not in free and key != "GPU"})
        free["memory"] += rng.randint(0, GIB) * UNIT
        labels = {"ray.io/node-id": f"n{number}", "zone": rng.choice("abc")}
    return {"type": name, "head": False, "status": "RAY_RUNNING", "hash": "", "idle_ms": 0,
            "total": total, "free": free, "labels": labels, "pg_labels": {}, "is_known": True}


def shape(rng, grain):
    """Memory in steps of `grain` bytes: a small one makes every shape unlike the others."""
    if rng.random() < 0.2:
        amounts = {"CPU": rng.randint(1, 12), "GPU": rng.choice([1, 1, 2, 4])}
        low, high = 4, 64
    else:
        amounts = {"CPU": rng.randint(1, 8)}
        low, high = 1, 16
    amounts = {name: count * UNIT for name, count in amounts.items()}
    amounts["memory"] = rng.randint(low * GIB // grain, high * GIB // grain) * grain * UNIT
    return amounts


def request(amounts, placements=()):
    return {"amounts": amounts, "selectors": [], "placements": list(placements)}


def make(nodes, demands, shapes, seed=1, is_real=False, gangs=0):
    rng = random.Random(seed)
    grain = GIB if shapes <= 100 else 1 << 20
    made = {}
    while len(made) < shapes:
        one = shape(rng, grain)
        made[tuple(sorted(one.items()))] = one
    kinds = list(made.values())
    counts = [demands // shapes + (number < demands % shapes) for number in range(shapes)]
    types = [{"name": name, "gone": False, "min": 0, "max": 1_000_000, "priority": 0,
              "idle_s": None, "hash": "", "resources": resources, "labels": {},
              "recoverable": None, "available": None, "price": PRICES[name]}
             for name, resources in TYPES.items()]
    return {"max_nodes": None, "idle_s": None, "check": False, "conserve": True, "grid": "whole",
            "types": types, "nodes": [node(rng, number, is_real) for number in range(nodes)],
            "demands": [{"count": count, "request": request(kind)}
                        for count, kind in zip(counts, kinds)],
            "gangs": [gang(rng, number) for number in range(gangs)], "constraint": None}


def gang(rng, number):
    """Eight bundles, half of the gangs spread over eight nodes."""
    placements = [["ANTI", f"_PG_{number}", ""]] if number % 2 else []
    amounts = {"CPU": rng.randint(1, 4) * UNIT}
    return {"requests": [request(amounts, placements)] * 8, "is_legacy": False}
