"""Is a plan by price allowed? Judged only from the case and from which request goes to which node.

This file implements every rule a second time: room, label selectors, anti-affinity, limits, and
that everything which Ray would place has a place.
"""

from collections import Counter

import cost_bound
import plan_cases


class Words:
    def __init__(self, text):
        self.rest = iter(text.split())

    def word(self):
        word = next(self.rest)
        return "" if word == "~" else word

    def number(self):
        return int(next(self.rest))

    def list(self, item):
        return [item() for _ in range(self.number())]

    def request(self):
        amounts = dict(self.list(lambda: (self.word(), self.number())))
        selectors = self.list(lambda: self.list(
            lambda: [self.word(), self.word(), self.list(self.word)]))
        placements = self.list(lambda: [self.word(), self.word(), self.word()])
        return {"amounts": amounts, "selectors": selectors, "placements": placements}

    def place(self):
        return {"node": self.number(), "type": self.number(), "times": self.number(),
                "placed": self.list(lambda: (self.word(), self.number(), self.request()))}


def parse(case, line):
    """The plan in the form of plan_cases, with `saving` and `places`."""
    answer = plan_cases.parse_answer(case, line)
    parts = dict(part.strip().partition(" ")[::2] for part in line.split("|"))
    answer["saving"] = int(parts["saving"])
    words, places = Words(parts["places"]), []
    while True:
        try:
            places.append(words.place())
        except StopIteration:
            break
    answer["places"] = places
    return answer


def price_of(case, launches):
    """Total price of the launches that have a price, in micro-dollars an hour."""
    prices = {one["name"]: one.get("price") for one in case["types"]}
    return sum(prices[name] * count for name, count in launches.items()
               if prices[name] is not None)


class Checker:
    def __init__(self, case, ray, plan):
        self.case, self.ray, self.plan = case, ray, plan
        self.wrong = []
        self.numbers = plan_cases.planned_nodes(case)
        self.types = case["types"]
        # Labels that a placement adds to nodes.
        self.keys = {key for place in plan["places"] for _, _, request in place["placed"]
                     for kind, key, _ in request["placements"] if kind == "ANTI"}

    def complain(self, text):
        self.wrong.append(text)

    # ---- nodes ----

    def node(self, place):
        """The node's resources for each source, and its labels."""
        kind = self.types[place["type"]]
        if place["node"] < len(self.numbers):
            node = self.case["nodes"][self.numbers[place["node"]]]
            if node["type"] != kind["name"]:
                self.complain(f"node {place['node']} is of another type")
            if node["status"] == "RAY_RUNNING":
                return node["free"], node["total"], {**node["labels"], **node["pg_labels"]}
        if kind["gone"]:
            return {}, {}, {}
        return kind["resources"], kind["resources"], kind["labels"]

    def check_nodes(self):
        held = {}
        for place in self.plan["places"]:
            for number in range(place["node"], place["node"] + place["times"]):
                entry = held.setdefault(number, (place, []))
                if entry[0]["type"] != place["type"]:
                    self.complain(f"node {number} has two types")
                entry[1].extend(place["placed"])
        for number, (place, placed) in held.items():
            self.check_node(number, place, placed)
        return held

    def check_node(self, number, place, placed):
        free, total, labels = self.node(place)
        used = {"demand": Counter(), "constraint": Counter()}
        keys = Counter()
        for cause, count, request in placed:
            source = "constraint" if cause == "C" else "demand"
            for name, amount in request["amounts"].items():
                used[source][name] += count * amount
            self.check_labels(number, request, labels)
            key = cost_bound.anti_key(request)
            if key is not None:
                keys[key] += count
        for source, has in (("demand", free), ("constraint", total)):
            for name, amount in used[source].items():
                unlisted = plan_cases.UNIT if name.startswith(plan_cases.IMPLICIT) else 0
                if amount > 0 and amount > has.get(name, unlisted):
                    self.complain(f"node {number}: {amount} of {name}, has {has.get(name)}")
        for key, count in keys.items():
            if count > 1:
                self.complain(f"node {number}: {count} requests that {key} keeps apart")

    def check_labels(self, number, request, labels):
        looks_at_keys = any(rule[0] in self.keys for rules in request["selectors"]
                            for rule in rules)
        if looks_at_keys:  # depends on the placement order: such plans must be Ray's
            if self.plan["saving"] != 0:
                self.complain("labels that placing adds were played with")
        elif not cost_bound.accepts(request, labels):
            self.complain(f"node {number} has labels {labels}, refused by {request}")

    # ---- limits ----

    def missing(self, kind):
        """Nodes that min_workers requests."""
        outdated = {int(node) for node, cause in self.plan["end"].items() if cause == "OUTDATED"}
        staying = sum(node["type"] == kind["name"] for index, node in enumerate(self.case["nodes"])
                      if index in self.numbers and index not in outdated)
        return 0 if kind["gone"] else max(0, kind["min"] - staying)

    def check_limits(self, held):
        launch, before = self.plan["launch"], self.ray["launch"]
        asked = {kind["name"]: self.missing(kind) for kind in self.types}
        first = len(self.numbers) + sum(asked.values())
        standing = Counter(self.case["nodes"][index]["type"] for index in self.numbers)
        used = Counter(self.types[place["type"]]["name"] for number, (place, _) in held.items()
                       if number >= first)
        for kind in self.types:
            name = kind["name"]
            count = launch.get(name, 0)
            if not 0 <= count - used[name] <= asked[name]:
                self.complain(f"{count} launches of {name}, {used[name]} are used")
            if count + standing[name] > kind["max"] and count > before.get(name, 0):
                self.complain(f"{name}: more than max_workers")
            if count and kind["gone"]:
                self.complain(f"{name} is gone")
            if kind.get("price") is None and count != before.get(name, 0):
                self.complain(f"{name} has no price, but other launches than Ray's")
        limit = self.case["max_nodes"]
        total, rays = sum(launch.values()), sum(before.values())
        if limit is not None and total + self.nodes_that_count() > limit and total > rays:
            self.complain("more than max_nodes")

    def nodes_that_count(self):
        """A pending node whose type is gone has unknown resources: Ray leaves it out."""
        gone = {kind["name"] for kind in self.types if kind["gone"]}
        nodes = [self.case["nodes"][index] for index in self.numbers]
        return sum(self.case["check"] or node["type"] not in gone or
                   node["status"] == "RAY_RUNNING" for node in nodes)

    # ---- requests ----

    def check_requests(self, held):
        placed = {cause: Counter() for cause in "CGD"}
        for _, requests in held.values():
            for cause, count, request in requests:
                placed[cause][plan_cases.request_key(request)] += count
        wanted = {cause: Counter() for cause in "CGD"}
        for one in self.case["demands"]:
            wanted["D"][plan_cases.request_key(one["request"])] += one["count"]
        wanted["D"].subtract(self.plan["unmet"])
        for index, gang in enumerate(self.case["gangs"]):
            for request in cost_bound.combined(gang["requests"]):
                key = plan_cases.request_key(request)
                wanted["G"][key] += index not in self.plan["gangs"]
        for one in self.case["constraint"] or []:
            key = plan_cases.request_key(one["request"])
            wanted["C"][key] += one["count"] * (not self.plan["constraint"])
        for cause in "CGD":
            if +wanted[cause] != +placed[cause]:
                self.complain(f"{cause}: wanted {+wanted[cause]}, placed {+placed[cause]}")
        if any(count > self.ray["unmet"].get(key, 0) for key, count in self.plan["unmet"].items()):
            self.complain("demand unmet that Ray meets")
        if not set(self.plan["gangs"]) <= set(self.ray["gangs"]):
            self.complain("a gang unmet that Ray meets")
        if self.plan["constraint"] > self.ray["constraint"]:
            self.complain("the constraint unmet that Ray meets")

    def check_ends(self, held):
        for node, cause in self.plan["end"].items():
            if cause == "IDLE" and self.numbers.index(int(node)) in held:
                self.complain(f"node {node} ends although it is needed")
        for cause in ("OUTDATED", "MAX_NUM_NODE_PER_TYPE", "MAX_NUM_NODES"):
            if ([node for node, mine in self.plan["end"].items() if mine == cause]
                    != [node for node, rays in self.ray["end"].items() if rays == cause]):
                self.complain(f"other nodes than Ray's end as {cause}")

    def check_price(self):
        rays, ours = (price_of(self.case, one["launch"]) for one in (self.ray, self.plan))
        if ours > rays:
            self.complain(f"dearer: {ours}, Ray {rays}")
        if rays - ours != self.plan["saving"]:
            self.complain(f"says that it saves {self.plan['saving']}, saves {rays - ours}")
        if rays == ours:
            for part in self.ray:
                if self.plan[part] != self.ray[part]:
                    self.complain(f"no cheaper, and yet another {part} than Ray's")

    def check(self):
        held = self.check_nodes()
        self.check_limits(held)
        self.check_requests(held)
        self.check_ends(held)
        self.check_price()
        return self.wrong


def problems(case, ray, plan):
    """The rules that a plan breaks; empty if none."""
    return Checker(case, ray, plan).check()
