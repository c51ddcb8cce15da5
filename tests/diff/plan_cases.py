"""Random planning cases, the same for a seed on every machine, and their form for our probe.

A case is plain data. Amounts are whole ten-thousandths. Three grids of amounts: whole units,
parts that a double holds exactly, and decimal parts (0.1, 0.3), on which Ray's running sums of
doubles drift.
"""

import random

GIB = 1 << 30
UNIT = 10000
IMPLICIT = "node:__internal_implicit_resource_"

PENDING = ["QUEUED", "REQUESTED", "ALLOCATED", "RAY_INSTALLING", "RAY_STOP_REQUESTED"]
LOST = ["RAY_STOPPING", "RAY_STOPPED", "TERMINATING", "TERMINATED", "ALLOCATION_FAILED",
        "RAY_INSTALL_FAILED", "TERMINATION_FAILED", "ALLOCATION_TIMEOUT"]
ZONES = ["a", "b", "c"]
# On both sides of every timeout below.
IDLE_MS = [1, 30_000, 60_000, 60_001, 300_000, 300_500, 300_501, 400_000, 900_000]


class Maker:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.grid = self.rng.choice(["whole", "whole", "exact", "decimal"])
        self.has_labels = self.rng.random() < 0.5
        # Empty, idle nodes and little demand: which nodes are used shows in which are terminated;
        # there are many ties.
        self.is_quiet = self.rng.random() < 0.25
        self.has_implicit = self.grid != "decimal" and self.rng.random() < 0.15
        self.types = []

    def chance(self, share):
        return self.rng.random() < share

    def amount(self, most):
        """An amount of up to `most` units on the case's grid."""
        if self.grid == "whole":
            return self.rng.randint(0, most) * UNIT
        if self.grid == "exact":
            return self.rng.randint(0, most * 16) * (UNIT // 16)
        return self.rng.choice([self.rng.randint(0, most * 10) * (UNIT // 10),
                                self.rng.randint(0, most * UNIT)])

    # ---- types ----

    def resources(self):
        rng = self.rng
        cpus = rng.choice([1, 2, 4, 4, 8, 16, 64])
        has = {"CPU": cpus * UNIT}
        if self.chance(0.6):
            has["memory"] = cpus * rng.choice([2, 4]) * GIB * UNIT
        if self.chance(0.35):
            has["GPU"] = rng.choice([0, 1, 2, 4, 8]) * UNIT
        if self.chance(0.2):
            has["acc"] = rng.randint(1, 4) * UNIT
        if self.chance(0.05):
            has = {}
        names = list(has)
        rng.shuffle(names)
        return {name: has[name] for name in names}

    def labels(self):
        labels = {}
        if self.has_labels and self.chance(0.8):
            labels["zone"] = self.rng.choice(ZONES)
            if self.chance(0.5):
                labels["kind"] = self.rng.choice(["spot", "fixed"])
        return labels

    def type(self, name):
        rng = self.rng
        least = rng.choice([0, 0, 0, 0, 1, 2, 3])
        one = {"name": name, "gone": False, "min": least,
               "max": least + rng.choice([0, 1, 3, 10, 30, 100, 1000]),
               "priority": rng.choice([0, 0, 0, 1, 2]) if self.chance(0.4) else 0,
               "idle_s": rng.choice([None, None, None, 0, 60, 300.5]),
               "hash": rng.choice(["", "h1", "h1"]), "resources": self.resources(),
               "labels": self.labels(), "recoverable": None, "available": None}
        if self.types and self.chance(0.25):  # an identical type, for ties
            one["resources"] = dict(rng.choice(self.types)["resources"])
        if self.chance(0.2):
            one["recoverable"] = rng.choice([0.0, 0.5, 1.0])
        if self.chance(0.2):
            one["available"] = rng.choice([0.0, 0.25, 0.5])
        return one

    # ---- nodes ----

    def free_of(self, name, total):
        if self.chance(0.35):
            return total
        if name == "memory":
            return min(total, self.rng.randint(0, 16) * GIB * UNIT)
        return min(total, self.amount(max(1, total // UNIT)))

    def node(self, number, check):
        rng = self.rng
        kind = rng.choice(self.types)
        status = rng.choice(["RAY_RUNNING"] * 6 + [rng.choice(PENDING)] * 3 + [rng.choice(LOST)])
        if kind["gone"] and status == "RAY_RUNNING" and not check:
            status = rng.choice(PENDING)
        node = {"type": kind["name"], "head": False, "status": status,
                "hash": rng.choice(["h1", "h1", "h2", ""]), "idle_ms": 0, "total": {}, "free": {},
                "labels": {}, "pg_labels": {}, "is_known": not self.chance(0.02)}
        if status == "RAY_RUNNING":
            self.describe_running(node, kind, number)
            if self.chance(0.02):
                node["total"] = None  # runs, but the GCS does not know it
        return node

    def describe_running(self, node, kind, number):
        rng = self.rng
        total = dict(kind["resources"])
        if self.chance(0.05 if self.is_quiet else 0.3):
            total[f"node:10.0.0.{number}"] = UNIT
            total["object_store_memory"] = rng.choice([1, 2]) * GIB * UNIT
        if self.has_implicit and self.chance(0.1):
            total[IMPLICIT + "x"] = UNIT
        node["total"], node["free"] = total, {}
        is_idle = self.is_quiet or self.chance(0.4)
        for name, amount in total.items():
            if self.chance(0.04) or (name.startswith(IMPLICIT) and self.chance(0.5)):
                continue  # not listed as available
            node["free"][name] = amount if is_idle or ":" in name else self.free_of(name, amount)
        if is_idle or self.chance(0.1):
            node["idle_ms"] = rng.choice(IDLE_MS)
        node["labels"] = dict(kind["labels"]) if self.chance(0.9) else self.labels()
        if self.chance(0.1):
            node["pg_labels"] = {f"_PG_{rng.randint(0, 3)}": ""}

    # ---- requests ----

    def selectors(self):
        if not self.has_labels or not self.chance(0.5):
            return []
        return [[self.rule() for _ in range(self.rng.choice([1, 1, 1, 2, 0]))]
                for _ in range(self.rng.choice([1, 1, 2, 3]))]

    def rule(self):
        rng = self.rng
        key = rng.choice(["zone", "zone", "zone", "kind", "other"] + ["_PG_1"] * self.chance(0.1))
        values = {"kind": ["spot", "fixed", "none"], "_PG_1": ["", "x"]}.get(key, ZONES + ["z"])
        values = sorted(rng.sample(values, rng.randint(1, 2)))
        return [key, rng.choice(["IN", "IN", "NOT_IN"]), values]

    def bundle(self):
        rng = self.rng
        if self.chance(0.04):
            return {}
        wants = {"CPU": self.amount(rng.choice([1, 2, 4, 8, 16]))}
        if self.chance(0.4):
            wants["memory"] = rng.choice([1, 1, 2, 4, 8, 16, 64]) * GIB * UNIT
        if self.chance(0.25):
            wants["GPU"] = self.amount(rng.choice([0, 1, 1, 2, 4]))
        if self.chance(0.1):
            wants["acc"] = self.amount(2)
        if self.chance(0.03):
            wants["TPU"] = UNIT
        if self.has_implicit and self.chance(0.4):
            wants[IMPLICIT + rng.choice("xy")] = rng.choice([UNIT // 16, UNIT // 2, UNIT, 2 * UNIT])
        if self.chance(0.1):
            wants.pop("CPU")
        return wants

    def request(self, placements=()):
        return {"amounts": self.bundle(), "selectors": self.selectors(),
                "placements": [list(one) for one in placements]}

    def demand(self):
        rng = self.rng
        one = self.request()
        if self.chance(0.05):
            one["placements"] = [[rng.choice(["ANTI", "AFFINITY"]), f"_PG_{rng.randint(0, 3)}", ""]]
        counts = [1, 1, 2] if self.is_quiet else [1, 1, 2, 3, 5, 10, 20, 50]
        return {"count": rng.choice(counts), "request": one}

    def demands(self):
        made = []
        for _ in range(self.rng.choice([0, 1, 2] if self.is_quiet else [0, 1, 2, 3, 5, 8, 12])):
            again = made and self.chance(0.15)
            one = self.demand()
            if again:  # the same shape twice, or the same amounts with other labels
                one["request"] = dict(self.rng.choice(made)["request"])
                if self.chance(0.5):
                    one["request"]["selectors"] = self.selectors()
            made.append(one)
        return made

    def gang(self, number):
        rng = self.rng
        kind = rng.choice(["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD", "MIXED"])
        group = rng.choice([f"_PG_{number}", f"_PG_{rng.randint(0, 3)}"])
        together, apart = [["AFFINITY", group, ""]], [["ANTI", group, ""]]
        placement = {"STRICT_PACK": together, "STRICT_SPREAD": apart}.get(kind, [])
        same = self.request(placement)
        requests = []
        for _ in range(rng.choice([1, 2, 3, 4, 8])):
            one = dict(same) if self.chance(0.6) else self.request(placement)
            if kind == "MIXED":
                one["placements"] = rng.choice([[], together, apart])
            requests.append(one)
        return {"requests": requests, "is_legacy": self.chance(0.5)}

    # ---- the case ----

    def case(self):
        rng = self.rng
        check = self.chance(0.4)
        for i in range(rng.choice([1, 2, 2, 3, 4, 6])):
            self.types.append(self.type(f"t{i}"))
        configured = list(self.types)
        if self.chance(0.15):
            self.types.append({**self.type("old"), "gone": True})
        nodes = [self.node(i, check) for i in range(rng.choice([0, 1, 3, 6, 12, 25]))]
        if self.chance(0.8):
            head = self.node(1000, check)
            kind = rng.choice(configured)
            head.update(type=kind["name"], head=True, status="RAY_RUNNING", is_known=True)
            self.describe_running(head, kind, 1000)
            nodes.insert(rng.randint(0, len(nodes)), head)
        constraint = [self.demand() for _ in range(rng.randint(1, 3))]
        return {
            "max_nodes": rng.choice([None] * 6 + [0, 1, 3, 8, 15, 40]),
            "idle_s": 0 if self.is_quiet else rng.choice([None, 0, 60, 300, 300.5]),
            "check": check, "conserve": self.chance(0.9), "grid": self.grid,
            "types": self.types, "nodes": nodes, "demands": self.demands(),
            "gangs": [self.gang(i) for i in range(rng.choice([0, 0, 0, 1, 2, 4, 8]))],
            "constraint": constraint if self.chance(0.3) else None,
        }


def make(seed):
    return Maker(seed).case()


# ---- for the probe ----


def listed(items):
    items = list(items)
    return " ".join([str(len(items)), *items])


def word(text):
    return text or "~"


def request_words(request):
    amounts = listed(f"{name} {amount}" for name, amount in request["amounts"].items())
    selectors = listed(listed(f"{key} {op} {listed(map(word, values))}"
                              for key, op, values in selector)
                       for selector in request["selectors"])
    placements = listed(f"{kind} {key} {word(value)}" for kind, key, value in request["placements"])
    return f"{amounts} {selectors} {placements}"


def milliseconds(seconds):
    """Idle times are whole milliseconds, so the timeout may be rounded down to one."""
    return -1 if seconds is None else int(seconds * 1000)


def label_words(labels):
    return listed(f"{word(key)} {word(value)}" for key, value in labels.items())


def type_line(one):
    score = [1.0 if one[key] is None else one[key] for key in ("recoverable", "available")]
    resources = listed(f"{name} {amount}" for name, amount in one["resources"].items())
    return (f"T {one['name']} {one['gone']:d} {one['min']} {one['max']} {one['priority']} "
            f"{milliseconds(one['idle_s'])} {word(one['hash'])} {score[0]} {score[1]} "
            f"{resources} {label_words(one['labels'])}")


def node_line(node, types):
    total = node["total"]
    names = list(total) + [name for name in node["free"] if name not in total]
    capacities = listed(f"{name} {total.get(name, -1)} {node['free'].get(name, -1)}"
                        for name in names)
    labels = label_words({**node["labels"], **node["pg_labels"]})
    return (f"N {types.index(node['type'])} {node['head']:d} {node['status'] == 'RAY_RUNNING':d} "
            f"{word(node['hash'])} {node['idle_ms']} {capacities} {labels}")


def is_planned(node):
    """The input of our planner: nodes that run Ray or may still start it."""
    if not node["is_known"] or node["status"] in LOST:
        return False
    return node["status"] != "RAY_RUNNING" or node["total"] is not None


def planned_nodes(case):
    return [index for index, node in enumerate(case["nodes"]) if is_planned(node)]


def record(case):
    types = [one["name"] for one in case["types"]]
    limit = -1 if case["max_nodes"] is None else case["max_nodes"]
    lines = [f"L {limit} {milliseconds(case['idle_s'])} {case['check']:d} {case['conserve']:d}"]
    lines += [type_line(one) for one in case["types"]]
    lines += [node_line(case["nodes"][index], types) for index in planned_nodes(case)]
    for letter, demands in (("D", case["demands"]), ("C", case["constraint"] or [])):
        lines += [f"{letter} {one['count']} {request_words(one['request'])}" for one in demands]
    lines += ["G " + listed(map(request_words, gang["requests"])) for gang in case["gangs"]]
    return "\n".join(lines).encode()


def request_key(request):
    return repr((sorted(request["amounts"].items()), request["selectors"], request["placements"]))


def parse_answer(case, line):
    """A line of the probe, in the same form as the oracle's answers."""
    parts = dict(part.strip().partition(" ")[::2] for part in line.split("|"))
    nodes = planned_nodes(case)
    unmet = {}
    for item in parts["unmet"].split():
        index, count = map(int, item.split("="))
        key = request_key(case["demands"][index]["request"])
        unmet[key] = unmet.get(key, 0) + count
    launches = [item.split("=") for item in parts["launch"].split()]
    ends = [item.split("=") for item in parts["end"].split()]
    return {
        "launch": {name: int(count) for name, count in launches},
        "end": {str(nodes[int(node)]): cause for node, cause in ends},
        "unmet": unmet,
        "gangs": sorted(map(int, parts["gangs"].split())),
        "constraint": int(parts["constraint"]),
    }
