"""One price: what `plan`, `up`, `status` and `ls` show is the same number, or "unknown".

The price of a node is that of its instance, disks and public address, in the region of the file.
"""

import json
import re
import sys
import time

import pytest
from front import Front, IMAGE, wait_for

REGIONS = ("us-west-2", "us-east-1", "eu-west-1", "ap-northeast-1", "ap-south-1", "sa-east-1")
TYPES = ("t3.micro", "t3.medium", "m5.large", "m5.xlarge", "m5.2xlarge", "m6i.large", "c5.large",
         "c5.xlarge", "r5.large", "g4dn.xlarge", "r5.xlarge", "c6i.xlarge")
M5_LARGE = {"us-west-2": 0.096, "us-east-1": 0.096, "eu-west-1": 0.107, "ap-northeast-1": 0.124,
            "ap-south-1": 0.101, "sa-east-1": 0.153}  # on demand, from AWS's public price list
IPV4, HOURS, ROOT_GB = 0.005, 730, 8
GP2 = {"us-west-2": 0.10, "us-east-1": 0.10, "eu-west-1": 0.11, "ap-northeast-1": 0.12,
       "ap-south-1": 0.114, "sa-east-1": 0.19}
SPOT = {"InstanceMarketOptions": {"MarketType": "spot"}}

# Launches an instance of each type in both markets, and prints their ids.
LAUNCH = """
import boto3, json, sys
region, zone, types, image, spot = json.loads(sys.argv[1])
ec2 = boto3.client("ec2", region)
ids = {}
for kind in types:
    for name, more in (("demand", {}), ("spot", spot)):
        made = ec2.run_instances(ImageId=image, InstanceType=kind, MinCount=1, MaxCount=1, **more,
            Placement={"AvailabilityZone": zone},
            TagSpecifications=[{"ResourceType": "instance", "Tags": [
                {"Key": "ray-cluster-name", "Value": "priced"},
                {"Key": "ray-node-type", "Value": "worker"}]}])
        ids[f"{name}-{kind}"] = made["Instances"][0]["InstanceId"]
print(json.dumps(ids))
"""


@pytest.fixture(name="front")
def _front():
    with Front() as made:
        made.set(regions=6, vcpu_quota=10000, spot_vcpu_quota=10000)
        yield made


def cluster(front, region, *kinds, **shoal):
    """A cluster file with a worker of each kind: "spot-m5.large", "demand-c5.large"."""
    file = json.loads(json.dumps(front.cluster("demo", workers=1, max_workers=len(kinds))))
    types = file["available_node_types"]
    worker = types.pop("worker")
    file["provider"]["region"] = region
    for kind in kinds:
        market, _, machine = kind.partition("-")
        config = {**worker["node_config"], "InstanceType": machine,
                  **(SPOT if market == "spot" else {})}
        types[kind] = {**worker, "node_config": config}
    return {**file, "metadata": {"shoal": shoal}} if shoal else file


def planned(laptop, file):
    """{node type: dollars per hour} of what `plan` would launch."""
    steps = json.loads(laptop("plan", "-o", "json", file).out)["steps"]
    return {step["type"]: step.get("dollars_per_hour") for step in steps}


def listed(laptop, region, name):
    """{instance id: row} of what `ls` shows."""
    clusters = json.loads(laptop("ls", "--region", region, "-o", "json").out)["clusters"]
    found = [each for each in clusters if each["name"] == name]
    return {row["id"]: row for each in found for row in each["instances"]}


def status(laptop, file):
    return json.loads(laptop("status", "-o", "json", file).out)


# ---- 12 types, 6 regions, 2 markets ----


@pytest.mark.parametrize("region", REGIONS)
def test_plan_and_ls_show_one_number_for_every_type(front, region):
    front.set(containers=0)
    laptop = front.laptop()
    kinds = [f"{market}-{kind}" for kind in TYPES for market in ("demand", "spot")]
    file = laptop.file("cluster.yaml", cluster(front, region, *kinds))
    zone = region + ("b" if region.startswith("us-") else "a")  # the one that is tried first
    words = json.dumps([region, zone, TYPES, IMAGE, SPOT])
    done = laptop.run("-c", LAUNCH, words, program=sys.executable)
    assert done.status == 0, str(done)
    ids = json.loads(done.out)
    plan, rows = planned(laptop, file), listed(laptop, region, "priced")
    assert len(rows) == 2 * len(TYPES)
    for kind in kinds:
        row = rows[ids[kind]]
        assert row["dollars_per_hour"] == plan[kind] > 0, (kind, row, plan[kind])
        assert row["price_from"] == ("spot-history" if kind[0] == "s" else "price-list"), row
        print("priced", region, kind, plan[kind])
    disk = ROOT_GB * GP2[region] / HOURS
    assert plan["demand-m5.large"] == pytest.approx(M5_LARGE[region] + IPV4 + disk, abs=2e-6)
    # The spot market has prices of its own, not a share of the list's.
    shares = {round(plan[f"spot-{kind}"] / plan[f"demand-{kind}"], 2) for kind in TYPES}
    assert len(shares) > 4, shares


# ---- clusters that run ----


def check_cluster(front, region):
    laptop = front.laptop()
    file = laptop.file("cluster.yaml", cluster(front, region, "demand-c5.large", "spot-m5.xlarge",
                                               max_hourly_cost=2, planner="price"))
    plan = planned(laptop, file)
    laptop("up", "-y", file)
    state, rows = status(laptop, file), listed(laptop, region, "demo")
    assert len(state["nodes"]) == 3 and len(rows) == 3
    for node in state["nodes"]:
        shown = {plan[node["type"]], node["dollars_per_hour"], rows[node["id"]]["dollars_per_hour"]}
        assert len(shown) == 1, (node, shown)
        print("cost", region, node["type"], *shown)
    assert state["dollars_per_hour"] == pytest.approx(sum(plan.values()))
    assert state["max_dollars_per_hour"] == 2
    told = re.search(r"\$(\S+)/h for 3 instances", laptop("explain", file, "cost").out)[1]
    assert float(told) == pytest.approx(sum(plan.values()), abs=1e-4)
    assert f"  {sum(plan.values()):.2f}" in laptop("ls", "--region", region).out
    assert "Cost: " in laptop("down", "-y", file).err


@pytest.mark.parametrize("region", REGIONS[-2:])
def test_all_commands_show_one_number(front, region):
    check_cluster(front, region)


@pytest.mark.long
@pytest.mark.parametrize("region", REGIONS[:-2])
def test_all_commands_show_one_number_elsewhere(front, region):
    check_cluster(front, region)


def test_the_head_follows_the_spot_market(front):
    times = {"SHOAL_TEST_TIMES": front.times["SHOAL_TEST_TIMES"] + ",spot_prices=1000"}
    front.times = times
    front.machine_env()
    laptop = front.laptop()
    file = laptop.file("cluster.yaml", cluster(front, "sa-east-1", "spot-m5.xlarge"))
    laptop("up", "-y", file)

    def price():
        return next(node["dollars_per_hour"] for node in status(laptop, file)["nodes"]
                    if node["spot"])

    before = price()
    front.set(market=5)
    wait_for(lambda: price() != before, 60, 0.5, "the new price")
    other = front.laptop("bob")  # has no prices from before
    spot = [row for row in listed(other, "sa-east-1", "demo").values() if row["market"] == "spot"]
    assert [row["dollars_per_hour"] for row in spot] == [price()]
    metrics = status(laptop, file)["dollars_per_hour"]
    assert metrics == pytest.approx(sum(n["dollars_per_hour"]
                                        for n in status(laptop, file)["nodes"]))


# ---- without the permission to ask ----


def limited(front):
    """A user who may launch, but not ask for prices."""
    policy = {"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "*", "Resource": "*"},
        {"Effect": "Deny", "Action": ["pricing:*", "ec2:DescribeSpotPriceHistory"],
         "Resource": "*"}]}
    return front.limited_laptop("carol", policy)


def test_unknown_prices_are_unknown_and_never_free(front):
    laptop = limited(front)
    file = laptop.file("cluster.yaml", cluster(front, "sa-east-1", "demand-m5.large"))
    assert set(planned(laptop, file).values()) == {None}
    assert "price unknown" in laptop("plan", file).out
    file = laptop.file("cluster.yaml", cluster(front, "sa-east-1", "demand-m5.large",
                                               max_hourly_cost=100))
    began = time.time()
    done = laptop.run("up", "-y", file)
    assert done.status == 1, str(done)
    assert "price of" in done.err and "is unknown and max_hourly_cost is set" in done.err, str(done)
    assert len(front.alive()) == 1
    assert status(laptop, file)["dollars_per_hour"] is None
    assert len([row for row in front.calls(began) if row["action"] == "GetProducts"]) < 10


def test_the_built_in_prices_are_those_of_their_region(front):
    laptop = limited(front)
    file = laptop.file("cluster.yaml", cluster(front, "us-east-1", "demand-m5.large",
                                               "spot-m5.large"))
    plan = planned(laptop, file)
    assert plan["demand-m5.large"] == pytest.approx(0.096 + IPV4 + ROOT_GB * 0.1 / HOURS, abs=2e-6)
    assert plan["spot-m5.large"] is None  # the market is never guessed
