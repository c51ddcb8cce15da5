"""Named workloads with prices like EC2's, on which the strategy `price` is measured.

Each is a case in the form of plan_cases.py with a price for every type, in micro-dollars an hour.
They are the same on every machine: random parts use the name as the seed.
"""

import random

import plan_cases

GIB = plan_cases.GIB
UNIT = plan_cases.UNIT

# name: (CPU, GiB of memory, GPU, dollars an hour on demand)
EC2 = {
    "m5.large": (2, 8, 0, 0.096), "m5.xlarge": (4, 16, 0, 0.192),
    "m5.2xlarge": (8, 32, 0, 0.384), "m5.4xlarge": (16, 64, 0, 0.768),
    "m5.8xlarge": (32, 128, 0, 1.536), "m5.12xlarge": (48, 192, 0, 2.304),
    "m5.24xlarge": (96, 384, 0, 4.608),
    "c5.large": (2, 4, 0, 0.085), "c5.xlarge": (4, 8, 0, 0.17), "c5.2xlarge": (8, 16, 0, 0.34),
    "c5.4xlarge": (16, 32, 0, 0.68), "c5.9xlarge": (36, 72, 0, 1.53),
    "c5.18xlarge": (72, 144, 0, 3.06),
    "r5.large": (2, 16, 0, 0.126), "r5.xlarge": (4, 32, 0, 0.252), "r5.2xlarge": (8, 64, 0, 0.504),
    "r5.4xlarge": (16, 128, 0, 1.008), "r5.8xlarge": (32, 256, 0, 2.016),
    "r5.12xlarge": (48, 384, 0, 3.024), "r5.24xlarge": (96, 768, 0, 6.048),
    "g4dn.xlarge": (4, 16, 1, 0.526), "g4dn.2xlarge": (8, 32, 1, 0.752),
    "g4dn.4xlarge": (16, 64, 1, 1.204), "g4dn.8xlarge": (32, 128, 1, 2.176),
    "g4dn.12xlarge": (48, 192, 4, 3.912), "g4dn.metal": (96, 384, 8, 7.824),
    "g5.xlarge": (4, 16, 1, 1.006), "g5.2xlarge": (8, 32, 1, 1.212),
    "g5.4xlarge": (16, 64, 1, 1.624), "g5.8xlarge": (32, 128, 1, 2.448),
    "g5.12xlarge": (48, 192, 4, 5.672), "g5.24xlarge": (96, 384, 4, 8.144),
    "g5.48xlarge": (192, 768, 8, 16.288),
    "p3.2xlarge": (8, 61, 1, 3.06), "p3.8xlarge": (32, 244, 4, 12.24),
    "p3.16xlarge": (64, 488, 8, 24.48), "p4d.24xlarge": (96, 1152, 8, 32.7726),
}
# The spot price as a fraction of the on-demand price differs from pool to pool.
SPOT = {"large": 0.41, "xlarge": 0.38, "2xlarge": 0.36, "4xlarge": 0.37, "8xlarge": 0.43,
        "9xlarge": 0.40, "12xlarge": 0.45, "18xlarge": 0.39, "24xlarge": 0.47, "metal": 0.40,
        "16xlarge": 0.34, "48xlarge": 0.42}
M5 = [name for name in EC2 if name.startswith("m5")]
C5 = [name for name in EC2 if name.startswith("c5")]
R5 = [name for name in EC2 if name.startswith("r5")]
G4 = [name for name in EC2 if name.startswith("g4")]
G5 = [name for name in EC2 if name.startswith("g5")]
P = [name for name in EC2 if name.startswith("p")]
CPUS = M5 + C5 + R5


def node_type(name, most=1000, least=0, labels=None, rename=None, factor=1.0):
    cpus, memory, gpus, dollars = EC2[name]
    resources = {"CPU": cpus * UNIT, "memory": memory * GIB * UNIT}
    if gpus:
        resources["GPU"] = gpus * UNIT
    return {"name": rename or name, "gone": False, "min": least, "max": most, "priority": 0,
            "idle_s": None, "hash": "", "resources": resources, "labels": labels or {},
            "recoverable": None, "available": None, "price": round(dollars * factor * 1_000_000)}


def spot_type(name, **options):
    labels = {"market": "spot", **options.pop("labels", {})}
    return node_type(name, labels=labels, rename=name + ".spot",
                     factor=SPOT[name.partition(".")[2]], **options)


def request(cpus=0, memory=0, gpus=0, selectors=(), placements=()):
    """Units and GiB; an amount of 0 is left out."""
    wants = {"CPU": round(cpus * UNIT), "memory": round(memory * GIB * UNIT),
             "GPU": round(gpus * UNIT)}
    return {"amounts": {name: amount for name, amount in wants.items() if amount},
            "selectors": [[list(rule) for rule in one] for one in selectors],
            "placements": [list(one) for one in placements]}


def demand(count, *args, **named):
    return {"count": count, "request": request(*args, **named)}


def gang(number, kind, bundles):
    """A placement group; `bundles` are lists of arguments of request()."""
    label = {"STRICT_PACK": [["AFFINITY", f"_PG_{number}", ""]],
             "STRICT_SPREAD": [["ANTI", f"_PG_{number}", ""]]}.get(kind, [])
    return {"requests": [request(*one, placements=label) for one in bundles], "is_legacy": False}


def running(kind, cpus, memory=None, gpus=0, labels=None):
    """A node with these free resources."""
    total = dict(kind["resources"])
    free = {"CPU": cpus * UNIT,
            "memory": total["memory"] if memory is None else memory * GIB * UNIT}
    if "GPU" in total:
        free["GPU"] = gpus * UNIT
    return {"type": kind["name"], "head": False, "status": "RAY_RUNNING", "hash": "", "idle_ms": 0,
            "total": total, "free": free, "labels": dict(kind["labels"], **(labels or {})),
            "pg_labels": {}, "is_known": True}


def pending(kind):
    return {"type": kind["name"], "head": False, "status": "REQUESTED", "hash": "", "idle_ms": 0,
            "total": {}, "free": {}, "labels": {}, "pg_labels": {}, "is_known": True}


def case(types, demands=(), gangs=(), nodes=(), constraint=None, max_nodes=None):
    types = [node_type(one) if isinstance(one, str) else one for one in types]
    return {"max_nodes": max_nodes, "idle_s": None, "check": False, "conserve": True,
            "grid": "exact", "types": types, "nodes": list(nodes), "demands": list(demands),
            "gangs": list(gangs), "constraint": constraint}


def mixed(rng, shapes, counts, cpus, ratio, gpu_share=0.0):
    """Shapes with CPUs from a list, memory by a ratio to them, some of them with GPUs."""
    made = []
    for _ in range(shapes):
        cpu = rng.choice(cpus)
        gpus = rng.choice([0.5, 1, 1, 2, 4]) if rng.random() < gpu_share else 0
        made.append(demand(rng.randint(*counts), cpu, round(cpu * rng.choice(ratio), 2), gpus))
    return made


# ---- the workloads ----


def one_shape(add):
    add("one shape: 1 CPU x 1000", case(CPUS, [demand(1000, 1, 2)]))
    add("one shape: 3 CPU 10 GiB x 200", case(CPUS, [demand(200, 3, 10)]))
    add("one shape: 5 CPU x 64", case(M5, [demand(64, 5)]))
    add("one shape: 7 CPU 7 GiB x 90, compute", case(C5, [demand(90, 7, 7)]))
    add("one shape: 1 GPU x 40", case(G4 + G5, [demand(40, 4, 8, 1)]))
    add("one shape: half a GPU x 100", case(G4 + G5 + P, [demand(100, 2, 7, 0.5)]))
    add("one shape: 24 CPU x 17", case(M5 + C5, [demand(17, 24, 40)]))
    add("one shape: memory only x 80", case(CPUS, [demand(80, 0, 11)]))
    add("one shape: 0.25 CPU x 5000", case(CPUS, [demand(5000, 0.25, 0.9)]))
    add("tiny: three tasks", case(CPUS, [demand(3, 4, 8)]))
    add("tiny: one large, two small", case(M5 + R5, [demand(1, 8, 60), demand(2, 1, 2)]))
    add("tiny: one GPU and some CPU", case(CPUS + G4, [demand(1, 4, 16, 1), demand(6, 2, 4)]))
    add("tiny: two tasks of five CPUs", case(CPUS, [demand(2, 5, 12)]))
    add("tiny: five unlike tasks", case(CPUS, [demand(1, 1, 14), demand(1, 3, 3), demand(1, 5, 21),
                                               demand(1, 7, 9), demand(1, 0.5, 30)]))
    add("tiny: one very large, five small", case(CPUS, [demand(1, 30, 200), demand(5, 3, 6)]))
    add("tiny: two halves of a GPU", case(CPUS + G4 + G5, [demand(2, 3, 10, 0.5), demand(3, 3, 3)]))
    add("tiny: a spread of three", case(CPUS, [demand(2, 1, 3)],
                                        [gang(1, "STRICT_SPREAD", [(3, 5)] * 3)]))


def cpu_mixes(add):
    for number, (shapes, counts) in enumerate([(3, (20, 80)), (5, (10, 60)), (8, (5, 40)),
                                               (12, (5, 30)), (20, (2, 30)), (30, (1, 20))]):
        rng = random.Random(f"cpu {number}")
        add(f"CPU mix: {shapes} shapes", case(CPUS, mixed(rng, shapes, counts,
                                                          [1, 2, 3, 4, 6, 8, 12], [1, 2, 3, 4])))
    for number in range(4):
        rng = random.Random(f"general {number}")
        add(f"CPU mix on m5 only, {number}",
            case(M5, mixed(rng, 6, (5, 50), [1, 2, 3, 5, 7, 10], [1, 2, 3, 4, 5])))
    for number in range(4):
        rng = random.Random(f"memory {number}")
        add(f"memory-heavy, {number}",
            case(CPUS, mixed(rng, 6, (4, 40), [0.5, 1, 2, 3, 4], [6, 9, 13, 20])))
    rng = random.Random("wide")
    add("few types, 40 shapes", case(["m5.4xlarge", "c5.4xlarge", "r5.4xlarge", "m5.12xlarge",
                                      "c5.9xlarge", "r5.2xlarge"],
                                     mixed(rng, 40, (2, 20), [1, 2, 3, 4, 6, 8], [1, 2, 4, 7])))
    rng = random.Random("unlike")
    add("18 tasks, no two alike", case(M5[:5] + R5[:4], [
        demand(1, rng.randint(1, 40) / 4, rng.randint(4, 160) / 4) for _ in range(18)]))
    rng = random.Random("many")
    add("6 shapes, thousands of each", case(CPUS, mixed(rng, 6, (1000, 4000), [1, 2, 3, 5, 7],
                                                        [1, 2, 3, 5, 8])))
    add("plain tasks that keep apart", case(CPUS, [
        demand(9, 3, 6, placements=[("ANTI", "alone", "")]), demand(50, 1, 2)]))
    add("two extremes", case(CPUS, [demand(60, 8, 4), demand(60, 1, 14)]))
    add("complements", case(["m5.4xlarge", "m5.2xlarge"], [demand(30, 12, 16), demand(30, 4, 48)]))


def gpu_mixes(add):
    for number, share in enumerate([0.2, 0.3, 0.5, 0.7]):
        rng = random.Random(f"gpu {number}")
        add(f"CPU and GPU, {share:.0%} of shapes with GPU",
            case(CPUS + G4 + G5 + P, mixed(rng, 8, (5, 40), [1, 2, 4, 6, 8], [1, 2, 4], share)))
    rng = random.Random("spec")
    add("three types of old", case(["m5.4xlarge", "m5.24xlarge", "p4d.24xlarge"],
                                   mixed(rng, 10, (10, 60), [1, 2, 4, 6, 8], [1, 2, 4], 0.2)))
    add("GPUs with idle CPUs beside them",
        case(["g4dn.12xlarge", "m5.4xlarge"], [demand(16, 2, 8, 1), demand(120, 2, 6)]))
    add("training and serving", case(G4 + G5 + P + M5, [
        demand(4, 32, 200, 8), demand(12, 8, 32, 1), demand(30, 2, 6, 0.25), demand(40, 4, 8)]))
    add("whole p4d", case(P + M5, [demand(5, 90, 1000, 8), demand(50, 4, 10)]))


def gangs(add):
    pg = gang
    add("gangs: STRICT_SPREAD of 8", case(M5, [], [pg(1, "STRICT_SPREAD", [(4, 8)] * 8)]))
    add("gangs: STRICT_SPREAD of 6 and filling",
        case(CPUS, [demand(60, 1, 2)], [pg(1, "STRICT_SPREAD", [(6, 8)] * 6)]))
    add("gangs: four spreads share nodes",
        case(M5 + C5, [], [pg(n, "STRICT_SPREAD", [(3, 4)] * 5) for n in range(4)]))
    add("gangs: STRICT_PACK", case(CPUS, [], [pg(n, "STRICT_PACK", [(3, 5)] * 4)
                                              for n in range(6)]))
    add("gangs: STRICT_PACK with GPUs",
        case(G4 + G5 + P, [], [pg(n, "STRICT_PACK", [(4, 16, 1)] * 4) for n in range(3)]))
    add("gangs: PACK", case(CPUS, [demand(20, 2, 3)], [pg(n, "PACK", [(2, 6)] * 7)
                                                       for n in range(4)]))
    add("gangs: SPREAD with a heavy head",
        case(CPUS, [], [pg(n, "SPREAD", [(8, 50)] + [(1, 2)] * 6) for n in range(5)]))
    add("gangs: GPU workers and a CPU driver",
        case(M5 + G4 + G5, [demand(12, 2, 4)],
             [pg(n, "PACK", [(8, 16)] + [(3, 12, 1)] * 4) for n in range(4)]))
    add("gangs: all kinds together",
        case(CPUS + G4, [demand(40, 1, 4)],
             [pg(1, "STRICT_SPREAD", [(4, 8)] * 4), pg(2, "STRICT_PACK", [(5, 9)] * 3),
              pg(3, "PACK", [(2, 2, 1)] * 4), pg(4, "SPREAD", [(3, 20)] * 5)]))


def labels(add):
    zone_a = [m for name in ("m5.xlarge", "m5.4xlarge", "r5.2xlarge")
              for m in [node_type(name, labels={"zone": "a"}, rename=name + ".a")]]
    zone_b = [m for name in ("m5.xlarge", "m5.4xlarge", "c5.4xlarge")
              for m in [node_type(name, labels={"zone": "b"}, rename=name + ".b", factor=1.1)]]
    in_a, in_b = [[("zone", "IN", ["a"])]], [[("zone", "IN", ["b"])]]
    either = [[("zone", "IN", ["b"])], [("zone", "IN", ["a"])]]
    add("labels: two zones", case(zone_a + zone_b, [
        demand(30, 2, 6, selectors=in_a), demand(30, 2, 4, selectors=in_b), demand(50, 1, 3)]))
    add("labels: with a fallback", case(zone_a + zone_b, [
        demand(40, 3, 5, selectors=either), demand(12, 2, 12, selectors=in_a)]))
    add("labels: not in a zone", case(zone_a + zone_b, [
        demand(25, 4, 7, selectors=[[("zone", "NOT_IN", ["a"])]]), demand(33, 1, 7)]))
    both = ([node_type(name) for name in M5] + [spot_type(name) for name in M5])
    on_demand = [[("market", "NOT_IN", ["spot"])]]
    add("spot and on demand: nobody minds", case(both, [demand(70, 3, 8), demand(40, 1, 6)]))
    add("spot and on demand: half must not be spot", case(both, [
        demand(40, 3, 8, selectors=on_demand), demand(40, 3, 8)]))
    add("spot is scarce", case([node_type(name) for name in M5]
                               + [spot_type(name, most=3) for name in M5],
                               [demand(150, 3, 8), demand(80, 2, 8)]))
    gpus = [node_type(name) for name in G5] + [spot_type(name) for name in G4]
    add("spot GPUs are another kind", case(gpus, [
        demand(20, 4, 8, 1), demand(6, 4, 8, 1, selectors=on_demand), demand(40, 3, 6)]))


def limits(add):
    add("max_workers: the cheap ones run out",
        case([node_type("m5.xlarge", most=5), node_type("m5.4xlarge", most=4), "m5.12xlarge"],
             [demand(100, 3, 9)]))
    add("max_workers: one of each",
        case([node_type(name, most=1) for name in CPUS], [demand(40, 5, 11), demand(40, 2, 3)]))
    add("max_workers: cluster of 12 nodes", case(CPUS, [demand(180, 3, 6)], max_nodes=12))
    add("max_workers: cluster too small",
        case(M5, [demand(500, 3, 6)], max_nodes=4))
    add("min_workers of a dear type",
        case([node_type("m5.8xlarge", least=2), "c5.2xlarge", "m5.xlarge"], [demand(60, 2, 4)]))
    add("request_resources: 120 CPU", case(CPUS, [], constraint=[demand(120, 1)]))
    add("request_resources and demand",
        case(CPUS + G4, [demand(30, 2, 9)], constraint=[demand(40, 1), demand(4, 0, 0, 1)]))


def fragments(add):
    rng = random.Random("fragments")
    m4, m12, g12 = (node_type(name) for name in ("m5.4xlarge", "m5.12xlarge", "g4dn.12xlarge"))
    small, c9, r2 = (node_type(name) for name in ("m5.xlarge", "c5.9xlarge", "r5.2xlarge"))
    types = [m4, m12, g12, small, c9, r2]
    add("fragments: 12 nodes half full",
        case(types, [demand(60, 3, 7), demand(30, 1, 6)],
             nodes=[running(m4, rng.randint(2, 10), rng.randint(8, 40)) for _ in range(12)]))
    add("fragments: GPU nodes with free CPUs",
        case(types, [demand(50, 2, 6), demand(8, 2, 8, 1)],
             nodes=[running(g12, rng.randint(8, 40), 150, rng.randint(0, 2)) for _ in range(5)]))
    add("fragments: the wrong task first",
        case([m4, small], [demand(4, 10, 20), demand(4, 6, 20), demand(6, 5, 10)],
             nodes=[running(m4, 16, 64) for _ in range(4)]))
    add("fragments: nodes on their way",
        case(types, [demand(40, 3, 7), demand(20, 4, 12)], nodes=[pending(m12)] * 2
             + [pending(small)] * 5))
    add("fragments: gangs over old and new nodes",
        case(types, [demand(20, 2, 5)], [gang(1, "STRICT_SPREAD", [(6, 12)] * 6),
                                         gang(2, "STRICT_PACK", [(5, 9)] * 2)],
             nodes=[running(m4, 7, 30) for _ in range(3)]))
    add("fragments: 30 unlike nodes",
        case(types, mixed(rng, 8, (10, 30), [1, 2, 3, 5], [1, 2, 4]),
             nodes=[running(m12, rng.randint(0, 12), rng.randint(0, 60)) for _ in range(30)]))


def corpus():
    """name -> case, in order."""
    cases = {}

    def add(name, one):
        assert name not in cases, name
        cases[name] = one

    for group in (one_shape, cpu_mixes, gpu_mixes, gangs, labels, limits, fragments):
        group(add)
    return cases


def record(one):
    """The case for the probe, prices included."""
    lines = [plan_cases.record(one)]
    for index, kind in enumerate(one["types"]):
        if kind.get("price") is not None:
            lines.append(b"P %d %d" % (index, kind["price"]))
    return b"\n".join(lines)
