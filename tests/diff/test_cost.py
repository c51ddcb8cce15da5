"""The strategy `price`: never dearer than Ray, allowed in every detail, close to what is possible.

SHOAL_COST_CASES   number of random cases (default 600)
SHOAL_COST_TABLE   a file that the table of the named workloads is written to, as Markdown

The named workloads stand in cost_cases.py, the lower bound in cost_bound.py, and the rules that a
plan must keep, a second time and apart from the C code, in cost_check.py.
"""

import copy
import os
import pathlib
import random
from concurrent.futures import ProcessPoolExecutor

import pytest

import need_ray  # noqa: F401  skips this module without Ray

if os.environ.get("SHOAL_REQUIRE_RAY") != "1":
    pytest.importorskip("scipy")

import conftest
import cost_bound
import cost_cases
import cost_check
import plan_cases
import plan_oracle
import workers

CASES = int(os.environ.get("SHOAL_COST_CASES") or 600)
BUDGET = 20_000_000  # PLAN_WORK_DEFAULT
SMALL_BUDGET = 2_000_000
MEAN_MAX = 1.02
JOBS = 2
SHOWN = 5
# Ray itself runs where it answers quickly.
RAY_REQUESTS_MAX = 60
BOUNDED_CASES = 60


class Workload:
    """A named case with both plans."""

    def __init__(self, name, case, ray, price):
        self.name, self.case = name, case
        self.ray = plan_cases.parse_answer(case, ray)
        self.plan = cost_check.parse(case, price)
        self.ray_price = cost_check.price_of(case, self.ray["launch"])
        self.price = cost_check.price_of(case, self.plan["launch"])


def ask(cases, *options):
    probe = [conftest.program("tests", "plan_probe"), *options]
    lines = workers.ask_probe(probe, [cost_cases.record(case) for case in cases])
    died = [line for line in lines if line.startswith("!")]
    assert not died, died[0]
    return lines


def plan_all(named, budget):
    rays = ask(named.values())
    prices = ask(named.values(), "--price", str(budget), "--places")
    return [Workload(name, case, *lines)
            for (name, case), lines in zip(named.items(), zip(rays, prices))]


@pytest.fixture(scope="module")
def corpus():
    return plan_all(cost_cases.corpus(), BUDGET)


def assert_allowed(workloads, say):
    wrong = [(one.name, cost_check.problems(one.case, one.ray, one.plan)) for one in workloads]
    wrong = [(name, problems) for name, problems in wrong if problems]
    for name, problems in wrong[:SHOWN]:
        say(f"{name}: {problems[:3]}")
    assert not wrong


def mean(numbers):
    return sum(numbers) / len(numbers)


def write_table(rows):
    def cells(one, program, bound):
        return [one.name, f"{one.ray_price / 1e6:.3f}", f"{one.price / 1e6:.3f}",
                f"{program / 1e6:.3f}", f"{bound / 1e6:.3f}", f"{one.price / bound:.4f}",
                f"{one.ray_price / bound:.3f}"]

    lines = [["workload", "Ray $/h", "price $/h", "LP $/h", "bound $/h", "price / bound",
              "Ray / bound"], ["---"] + ["---:"] * 6]
    lines += [cells(*row) for row in rows]
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    pathlib.Path(os.environ["SHOAL_COST_TABLE"]).write_text(text + "\n", encoding="utf-8")


def test_corpus_is_allowed(corpus, say):
    assert len(corpus) >= 60
    assert_allowed(corpus, say)


def test_corpus_is_close_to_the_bound(corpus, say):
    with ProcessPoolExecutor(JOBS) as pool:
        bounds = pool.map(cost_bound.lower_bound, *zip(*[(one.case, one.ray) for one in corpus]))
        rows = [(one, *bound) for one, bound in zip(corpus, bounds)]
    for one, program, bound in rows:
        assert program <= bound <= one.price * (1 + 1e-9), f"{one.name}: a bound that is none"
    ratios = [one.price / bound for one, _, bound in rows]
    worst = max(range(len(rows)), key=lambda index: ratios[index])
    say(f"cost: {len(rows)} workloads; price / bound: mean {mean(ratios):.4f}, worst "
        f"{ratios[worst]:.4f} ({rows[worst][0].name}), equal in "
        f"{sum(ratio < 1 + 1e-9 for ratio in ratios)}; price / LP: mean "
        f"{mean([one.price / program for one, program, _ in rows]):.4f}; Ray / bound: mean "
        f"{mean([one.ray_price / bound for one, _, bound in rows]):.4f}, worst "
        f"{max(one.ray_price / bound for one, _, bound in rows):.3f}; Ray / price: mean "
        f"{mean([one.ray_price / one.price for one in corpus]):.4f}")
    if os.environ.get("SHOAL_COST_TABLE"):
        write_table(rows)
    assert mean(ratios) <= MEAN_MAX


def test_nothing_more_once_the_launches_are_on_their_way(corpus):
    """The next plan sees the nodes as pending, and Ray would pack them worse than we did."""
    again = {}
    for one in corpus:
        case = copy.deepcopy(one.case)
        kinds = {kind["name"]: kind for kind in case["types"]}
        for name, count in one.plan["launch"].items():
            case["nodes"] += [cost_cases.pending(kinds[name])] * count
        again[one.name] = case
    more = {one.name: one.price for one in plan_all(again, BUDGET) if one.price > 0}
    assert not more


def test_corpus_starts_from_rays_answer(corpus):
    asked = 0
    for one in corpus:
        requests = sum(demand["count"] for demand in
                       one.case["demands"] + (one.case["constraint"] or []))
        requests += sum(len(gang["requests"]) for gang in one.case["gangs"])
        if requests <= RAY_REQUESTS_MAX:
            assert plan_oracle.Oracle(one.case).answer() == one.ray, one.name
            asked += 1
    assert asked >= 10


def test_any_budget_is_enough(corpus, say):
    named = {one.name: one.case for one in corpus}
    for one in plan_all(named, 0):
        assert one.plan["launch"] == one.ray["launch"] and one.plan["saving"] == 0
    for budget in (1, 3_000, 100_000):
        assert_allowed(plan_all(named, budget), say)


def random_case(seed):
    case = plan_cases.make(seed)
    rng = random.Random(seed)
    for kind in case["types"]:
        kind["price"] = rng.choice([None, 0] + [rng.randint(1, 400) * 10_000] * 8)
    return case


def test_random_cases(seed, say):
    first = seed * 10_000_000 + 5_000_000
    named = {f"seed {number}": random_case(number) for number in range(first, first + CASES)}
    workloads = plan_all(named, SMALL_BUDGET)
    assert_allowed(workloads, say)
    cheaper = sum(one.plan["saving"] > 0 for one in workloads)
    launching = sum(bool(one.ray["launch"]) for one in workloads)
    say(f"cost: {CASES} random cases, {launching} with launches, {cheaper} cheaper than Ray")
    assert cheaper >= CASES // 40


def test_the_bound_holds_for_random_cases(seed):
    """A bound above an allowed plan would be wrong."""
    bounded = 0
    for number in range(seed * 10_000_000 + 6_000_000, seed * 10_000_000 + 6_001_000):
        case = random_case(number)
        if any(kind["price"] is None or kind["gone"] for kind in case["types"]) or case["check"]:
            continue
        one, = plan_all({"": case}, SMALL_BUDGET)
        if one.ray_price > 0 and "MAX_NUM_NODES" not in one.ray["end"].values():
            _, bound = cost_bound.lower_bound(case, one.ray)
            assert bound <= one.price * (1 + 1e-9), f"seed {number}"
            bounded += 1
        if bounded == BOUNDED_CASES:
            break
    assert bounded > 0


def test_the_checker_has_teeth(corpus):
    """Each kind of violation, planted into a good plan, must be found."""
    named = {one.name: one for one in corpus}

    def faults(name, spoil):
        one = copy.deepcopy(named[name])
        spoil(one.plan)
        return cost_check.problems(one.case, one.ray, one.plan)

    def drop(plan):
        plan["places"].pop()

    def crowd(plan):
        plan["places"][0]["placed"] *= 2

    def launch_more(plan):
        plan["launch"] = {name: count + 1 for name, count in plan["launch"].items()}

    def swap_types(plan):
        for place in plan["places"]:
            place["type"] = 0

    def stack(plan):
        """All nodes of a place are one node."""
        place = max(plan["places"], key=lambda place: place["times"])
        for cause, count, request in list(place["placed"]):
            place["placed"].append((cause, count * (place["times"] - 1), request))
        place["times"] = 1

    for spoil in (drop, crowd, launch_more):
        assert faults("CPU mix: 5 shapes", spoil), spoil
    assert faults("labels: two zones", swap_types)
    assert any("apart" in text for text in faults("gangs: four spreads share nodes", crowd))
    assert faults("gangs: STRICT_SPREAD of 6 and filling", stack)
