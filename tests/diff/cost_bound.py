"""The lowest possible cost of launches: a lower bound for every plan, computed by HiGHS.

The configuration program of Gilmore and Gomory: it has a variable for every way to fill one node of
a kind (a pattern); each request must be held by enough patterns. Fractions of nodes may be bought,
so its optimum is below every plan of whole nodes. Existing nodes are kinds that cost nothing.

The dual alone proves the bound: for any values of the requests, if no filling of a node is worth
more than the node costs, then all requests together cost at least the sum of their values. How the
values were found does not matter. HiGHS proves that no filling is worth more: it solves the filling
of each kind as an integer program to optimality.

Finally the bound is raised to the next sum of whole nodes' prices, because no plan costs anything
in between.
"""

import math

import numpy
from scipy import optimize, sparse

import plan_cases

ROUNDS_MAX = 400
TOLERANCE = 1e-7
CLOSE = 2e-5  # how far the bound may stay below the program's optimum
SUM_TABLE_MAX = 4_000_000


class Problem:
    """What must be placed and where it can go, from a case and the requests that a plan leaves
    unmet.
    """

    def __init__(self, case, answer):
        self.case = case
        self.classes = {}  # (source, request key) -> [request, count]
        self.fill_classes(answer)
        self.columns = sorted({(source, name) for (source, _), (request, _) in self.classes.items()
                               for name, amount in request["amounts"].items() if amount > 0})
        self.counts = numpy.array([count for _, count in self.classes.values()], float)
        self.needs = numpy.array([[request["amounts"].get(name, 0) if source == mine else 0
                                   for source, name in self.columns]
                                  for (mine, _), (request, _) in self.classes.items()], float)
        self.needs = self.needs.reshape(len(self.classes), len(self.columns))
        self.keys = [anti_key(request) for request, _ in self.classes.values()]
        self.kinds = []  # (price, limit, room, accepts, is new)
        self.fill_kinds()  # also base: what must be paid in any case

    def add(self, source, request, count):
        entry = self.classes.setdefault((source, plan_cases.request_key(request)), [request, 0])
        entry[1] += count

    def fill_classes(self, answer):
        unmet = dict(answer["unmet"])
        for one in self.case["demands"]:
            key = plan_cases.request_key(one["request"])
            missing = min(unmet.get(key, 0), one["count"])
            unmet[key] = unmet.get(key, 0) - missing
            if one["count"] > missing:
                self.add("demand", one["request"], one["count"] - missing)
        for index, gang in enumerate(self.case["gangs"]):
            if index not in answer["gangs"]:
                for request in combined(gang["requests"]):
                    self.add("demand", request, 1)
        if not answer["constraint"]:
            for one in self.case["constraint"] or []:
                self.add("constraint", one["request"], one["count"])

    def room_of(self, free, total):
        def amount(listed, name):
            implicit = plan_cases.UNIT if name.startswith(plan_cases.IMPLICIT) else 0
            return listed.get(name, implicit)

        return numpy.array([amount(free if source == "demand" else total, name)
                            for source, name in self.columns], float)

    def add_kind(self, price, limit, room, labels, is_new):
        fits = [bool(numpy.all((need <= room) | (need == 0))) and accepts(request, labels)
                for need, (request, _) in zip(self.needs, self.classes.values())]
        self.kinds.append((price, limit, room, numpy.array(fits, bool), is_new))

    def fill_kinds(self):
        types = {one["name"]: one for one in self.case["types"]}
        standing = dict.fromkeys(types, 0)
        for index in plan_cases.planned_nodes(self.case):
            node = self.case["nodes"][index]
            kind = types[node["type"]]
            standing[node["type"]] += 1
            is_running = node["status"] == "RAY_RUNNING"
            total = node["total"] if is_running else kind["resources"]
            free = node["free"] if is_running else total
            labels = {**node["labels"], **node["pg_labels"]} if is_running else kind["labels"]
            self.add_kind(0, 1, self.room_of(free, total), labels, False)
        limit = self.case["max_nodes"]
        may_launch = None if limit is None else max(0, limit - sum(standing.values()))
        minimum = []  # the price of each node that min_workers requests
        for name, one in types.items():
            missing = max(0, one["min"] - standing[name])
            room = self.room_of(one["resources"], one["resources"])
            if missing:
                minimum += [one["price"]] * missing
                self.add_kind(0, missing, room, one["labels"], False)
            standing[name] += missing
            self.add_kind(one["price"], one["max"] - standing[name], room, one["labels"], True)
        # If max_nodes does not allow all of them, it does not matter here which ones are launched.
        self.base = sum(sorted(minimum)[:may_launch])
        self.new_limit = None if limit is None else max(0, limit - sum(standing.values()))
        self.merge_kinds()

    def merge_kinds(self):
        merged = {}
        for price, limit, room, fits, is_new in self.kinds:
            key = (len(merged) if is_new else -1, tuple(room), tuple(fits))
            before = merged[key][1] if key in merged else 0
            merged[key] = (price, before + limit, room, fits, is_new)
        self.kinds = [one for one in merged.values() if one[3].any() and one[1] > 0]


def anti_key(request):
    keys = {key for kind, key, _ in request["placements"] if kind == "ANTI"}
    assert len(keys) <= 1
    return keys.pop() if keys else None


def combined(requests):
    """The requests of a gang; those that must share a node are merged into one."""
    sums, single = {}, []
    for one in requests:
        if not (one["placements"] and one["placements"][0][0] == "AFFINITY"):
            single.append(one)
            continue
        selectors = [[[key, op, sorted(values)] for key, op, values in rules]
                     for rules in one["selectors"]]
        key = repr((one["placements"][0], selectors))
        sums.setdefault(key, {**one, "amounts": {}})
        for name, amount in one["amounts"].items():
            sums[key]["amounts"][name] = sums[key]["amounts"].get(name, 0) + amount
    return single + list(sums.values())


def accepts(request, labels):
    """Label selectors and anti-affinity, against the labels of an empty node."""
    def holds(rule):
        key, op, values = rule
        return (labels.get(key) in values) == (op == "IN")

    if request["selectors"] and not any(all(map(holds, rules)) for rules in request["selectors"]):
        return False
    key = anti_key(request)
    return key is None or key not in labels


# ---- filling one node ----


class Filling:
    """The most valuable filling of a node of one kind, as an integer program."""

    def __init__(self, problem, kind):
        self.kind = kind
        self.members = numpy.flatnonzero(kind[3])
        needs, room = problem.needs[self.members], kind[2]
        most = problem.counts[self.members].copy()
        with numpy.errstate(divide="ignore"):
            fits = numpy.where(needs > 0, numpy.floor(room / numpy.maximum(needs, 1)), numpy.inf)
        self.most = numpy.minimum(most, fits.min(axis=1)) if len(room) else most
        # Memory is in ten-thousandths of bytes: scaled, because HiGHS fails on such large numbers.
        scale = numpy.maximum(room, 1)
        self.rows, self.limits = (needs / scale).T, numpy.where(room > 0, room / scale, 0.0)
        keys = [problem.keys[member] for member in self.members]
        for key in sorted({key for key in keys if key}):
            self.rows = numpy.vstack([self.rows, [float(one == key) for one in keys]])
            self.limits = numpy.append(self.limits, 1.0)
        self.most = numpy.array([min(count, 1) if key else count
                                 for count, key in zip(self.most, keys)])
        asked = self.rows.any(axis=1)  # HiGHS reports a program with an empty row as infeasible
        self.rows, self.limits = self.rows[asked], self.limits[asked]

    def greedy(self, values, rng):
        """A good filling, fast: greedily by value per room, with the weights of the room updated
        each time.
        """
        best, best_value = None, 0.0
        mine = values[self.members]
        for _ in range(8):
            weights = rng.random(len(self.limits)) + 0.05
            size = weights @ self.rows + 1e-12
            left = self.limits + 1e-12
            taken = numpy.zeros(len(self.members))
            for at in numpy.argsort(-mine / size, kind="stable"):
                if mine[at] <= 0:
                    break
                need = self.rows[:, at]
                asked = need > 0
                count = min([self.most[at], *numpy.floor(left[asked] / need[asked] + 1e-9)])
                taken[at] = count
                left = left - count * need
            value = float(mine @ taken)
            if value > best_value:
                best, best_value = taken, value
        return best, best_value

    def exact(self, values):
        """The best filling and a proven upper bound of its value."""
        mine = values[self.members]
        if not (mine > 0).any():
            return None, 0.0
        scale = mine.max()
        done = optimize.milp(-mine / scale, integrality=numpy.ones(len(mine)),
                             bounds=optimize.Bounds(0, self.most),
                             constraints=optimize.LinearConstraint(self.rows, -numpy.inf,
                                                                   self.limits + 1e-12),
                             options={"mip_rel_gap": 0})
        assert done.x is not None, done.message
        return numpy.round(done.x), max(-done.mip_dual_bound, -done.fun) * scale


# ---- the program over patterns ----


class Master:
    def __init__(self, problem):
        self.problem = problem
        self.fillings = [Filling(problem, kind) for kind in problem.kinds]
        self.price_unit = max(kind[0] for kind in problem.kinds) or 1
        self.patterns = []  # (kind, counts by class)
        self.seen = set()
        self.rng = numpy.random.default_rng(1)

    def add(self, kind, taken):
        full = numpy.zeros(len(self.problem.counts))
        full[self.fillings[kind].members] = taken
        key = (kind, full.tobytes())
        if key in self.seen:
            return False
        self.seen.add(key)
        self.patterns.append((kind, full))
        return True

    def start(self):
        for index, filling in enumerate(self.fillings):
            for at, most in enumerate(filling.most):
                taken = numpy.zeros(len(filling.members))
                taken[at] = most
                self.add(index, taken)

    def solve(self):
        """Values of the classes and prices of the limits, from the patterns so far."""
        problem = self.problem
        classes, kinds = len(problem.counts), len(problem.kinds)
        costs = [problem.kinds[kind][0] / self.price_unit for kind, _ in self.patterns]
        rows = [-numpy.array([full for _, full in self.patterns]).T]
        used = numpy.zeros((kinds + 1, len(self.patterns)))
        for at, (kind, _) in enumerate(self.patterns):
            used[kind, at] = 1
            used[kinds, at] = problem.kinds[kind][4]
        limits = [kind[1] for kind in problem.kinds]
        total = problem.new_limit if problem.new_limit is not None else 1e9
        upper = numpy.concatenate([-problem.counts, limits, [total]])
        # A request may stay unplaced at a high price, so that there is always a solution.
        missing = numpy.vstack([-numpy.eye(classes), numpy.zeros((kinds + 1, classes))])
        table = sparse.csr_matrix(numpy.hstack([numpy.vstack(rows + [used]), missing]))
        done = optimize.linprog(numpy.concatenate([costs, numpy.full(classes, 1000.0)]),
                                A_ub=table, b_ub=upper, method="highs")
        assert done.status == 0, done.message
        dual = done.ineqlin.marginals
        return done.fun, -dual[:classes], dual[classes:classes + kinds], dual[-1]

    def threshold(self, kind, limits, total):
        price, _, _, _, is_new = self.problem.kinds[kind]
        return price / self.price_unit - limits[kind] - (total if is_new else 0.0)

    def improve_greedily(self, values, limits, total):
        found = False
        for kind, filling in enumerate(self.fillings):
            taken, value = filling.greedy(values, self.rng)
            if taken is not None and value > self.threshold(kind, limits, total) + TOLERANCE:
                found = self.add(kind, taken) or found
        return found

    def improve_exactly(self, values, limits, total):
        """Is there a better pattern? Also returns the bound that this proves."""
        found, best = False, []
        values = numpy.maximum(values, 0)
        for kind, filling in enumerate(self.fillings):
            taken, most = filling.exact(values)
            best.append(most)
            if taken is not None and most > self.threshold(kind, limits, total) + TOLERANCE:
                found = self.add(kind, taken) or found
        return found, self.proven(values, numpy.minimum(limits, 0), min(total, 0), best)

    def proven(self, values, limits, total, best):
        """The values corrected for rounding, and the bound that they prove."""
        problem = self.problem
        excess, bound = 1.0, 0.0
        for kind, (price, limit, _, _, is_new) in enumerate(problem.kinds):
            if price == 0:
                limits[kind] = -best[kind] + (-total if is_new else 0.0)
            else:
                cost = price / self.price_unit
                worth = best[kind] + limits[kind] + (total if is_new else 0.0)
                excess = max(excess, worth / cost)
            bound += limit * limits[kind]
        bound += float(problem.counts @ values)
        bound += (problem.new_limit or 0) * total
        return bound / excess

    def bound(self):
        """A lower bound of the cost of any mix of patterns, in micro-dollars an hour."""
        self.start()
        best = 0.0
        for _ in range(ROUNDS_MAX):
            price, values, limits, total = self.solve()
            if self.improve_greedily(values, limits, total):
                continue
            found, bound = self.improve_exactly(values, limits, total)
            best = max(best, bound)
            if not found or best >= price * (1 - CLOSE):
                break
        return best * self.price_unit


def next_sum(bound, prices):
    """The smallest sum of prices that is not below the bound."""
    bound = math.ceil(bound * (1 - 1e-9) - 1e-3)
    unit = math.gcd(*prices)
    steps = -(-bound // unit)
    if bound <= 0 or steps > SUM_TABLE_MAX:
        return max(bound, 0)
    reach = steps + max(prices) // unit
    mask, sums = (1 << (reach + 1)) - 1, 1
    for price in prices:
        shift = price // unit
        while shift <= reach:
            sums |= (sums << shift) & mask
            shift *= 2
    above = sums >> steps
    return (steps + (above & -above).bit_length() - 1) * unit


def lower_bound(case, answer):
    """Micro-dollars an hour: (the program's bound, the same raised to a sum of prices)."""
    problem = Problem(case, answer)
    if not problem.classes:
        return problem.base, problem.base
    bound = Master(problem).bound()
    prices = sorted({price for price, _, _, _, is_new in problem.kinds if is_new and price > 0})
    raised = next_sum(bound, prices) if prices else 0
    return problem.base + bound, problem.base + max(raised, bound)
