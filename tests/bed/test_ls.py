"""`shoal ls` against the API: clusters in several regions, leftovers of others, and prices."""

import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
from conftest import BASE, wait_for

from cloud import client, prices, settings

BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD") or
                     pathlib.Path(__file__).resolve().parents[2] / "build")
SHOAL = BUILD / "src" / "cli" / "shoal"
WEST, EAST = "us-west-2", "us-east-1"
BOTH = f"{WEST},{EAST}"
TRUST = json.dumps({"Version": "2012-10-17", "Statement": [{
    "Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]})
UIDS = collections.defaultdict(lambda: f"{len(UIDS):032x}")
HOURS = 730
IPV4 = 0.005
REST = round(8 * prices.VOLUMES["gp2"] / HOURS, 6) + IPV4  # disk and address of an instance


def tags(cluster, **more):
    """Tags as Shoal sets them."""
    given = {"ray-cluster-name": cluster, "shoal-cluster-uid": UIDS[cluster], **more}
    return [{"Key": key.replace("_", "-"), "Value": value} for key, value in given.items()]


def spec(kind, given):
    return [{"ResourceType": kind, "Tags": given}]


@pytest.fixture
def launch(paper, aws):
    """launch(region, tags, ...): instances that exist in the API only."""

    def make(region, given, **more):
        fields = {"ImageId": BASE, "InstanceType": "m5.large", "MinCount": 1, "MaxCount": 1,
                  "TagSpecifications": spec("instance", given), **more}
        ec2 = aws("ec2", region=region)
        ids = [i["InstanceId"] for i in ec2.run_instances(**fields)["Instances"]]
        wait_for(lambda: states(ec2, ids) == {"running"}, step=0.05)
        return ids

    return make


def states(ec2, ids):
    found = ec2.describe_instances(InstanceIds=ids)["Reservations"]
    return {i["State"]["Name"] for r in found for i in r["Instances"]}


@pytest.fixture
def ls(paper, tmp_path):
    """ls(option, ...): runs the program with its own cache; its status, output and stderr."""

    def run(*options, **env):
        where = {**client.environment(), "PATH": os.environ["PATH"], "HOME": str(tmp_path),
                 "XDG_CACHE_HOME": str(tmp_path / "cache"), **env}
        return subprocess.run([SHOAL, "ls", *options], env=where, capture_output=True, text=True,
                              timeout=60, check=False)

    run.cache = tmp_path / "cache" / "shoal"
    return run


def listed(done):
    """{name: cluster} of -o json."""
    assert done.returncode == 0, done.stderr
    return {c["name"]: c for c in json.loads(done.stdout)["clusters"]}


def cells(text):
    """{name: cells of its row} of the table."""
    return {row.split()[0]: row.split(None, 6) for row in text.splitlines()[1:]}


def spot_price(aws, zone):
    rows = aws("ec2").describe_spot_price_history(
        InstanceTypes=["m5.large"], AvailabilityZone=zone, ProductDescriptions=["Linux/UNIX"],
        StartTime=time.time())["SpotPriceHistory"]
    return float(rows[0]["SpotPrice"])


@pytest.fixture
def scene(aws, launch):
    """Clusters in two regions, one of Ray's own, one stopped, and leftovers of another."""
    launch(WEST, tags("demo", ray_node_type="head"))
    launch(WEST, tags("demo", ray_node_type="worker"), MinCount=2, MaxCount=2,
           InstanceMarketOptions={"MarketType": "spot"},
           Placement={"AvailabilityZone": "us-west-2b"})
    old = launch(EAST, tags("old-run", ray_node_type="head"), MinCount=2, MaxCount=2,
                 BlockDeviceMappings=[{"DeviceName": "/dev/sda1",
                                       "Ebs": {"VolumeSize": 100, "VolumeType": "gp3"}}])
    launch(EAST, [{"Key": "ray-cluster-name", "Value": "rays"},
                  {"Key": "ray-node-type", "Value": "head"}])
    launch(WEST, [{"Key": "Name", "Value": "somebody else's"}])
    east, west = aws("ec2", region=EAST), aws("ec2")
    east.stop_instances(InstanceIds=old)
    wait_for(lambda: states(east, old) == {"stopped"}, step=0.05)
    west.create_security_group(GroupName="shoal-gone", Description="left",
                               TagSpecifications=spec("security-group", tags("gone")))
    west.import_key_pair(KeyName="shoal-gone", PublicKeyMaterial=b"ssh-ed25519 AAAAC3NzaC1lZDI1"
                         b"NTE5AAAAIJ6mYq3GX0mYVxKqbiHhL2Yf8E3sQ0yGkVZ9lM4T0o1B me",
                         TagSpecifications=spec("key-pair", tags("gone")))
    west.create_launch_template(LaunchTemplateName="shoal-anchor-gone",
                                LaunchTemplateData={"InstanceType": "m5.large"},
                                TagSpecifications=spec("launch-template", tags(
                                    "gone", shoal_lease_until="1 0")))


def test_every_region_is_looked_at(aws, scene, ls):
    """With resources that belong to no region: a role of a running cluster, and a leftover role."""
    iam = aws("iam")
    for name in ("demo", "gone"):
        iam.create_role(RoleName=f"shoal-{name}", Path="/shoal/", Tags=tags(name),
                        AssumeRolePolicyDocument=TRUST)
        iam.create_instance_profile(InstanceProfileName=f"shoal-{name}", Path="/shoal/",
                                    Tags=tags(name))
    iam.create_role(RoleName="another", AssumeRolePolicyDocument=TRUST)
    done = ls("-o", "json")
    found = listed(done)
    whole = json.loads(done.stdout)
    assert set(found) == {"demo", "old-run", "rays", "gone"}
    assert whole["account"] == settings.ACCOUNT and whole["complete"]
    assert {WEST, EAST} <= set(whole["regions"]) and "ap-east-1" not in whole["regions"]
    assert [t["kind"] for t in found["gone"]["resources"]] == ["security group", "key pair",
                                                            "launch template", "role",
                                                            "instance profile"]
    assert [t["id"] for t in found["demo"]["resources"]] == ["shoal-demo", "shoal-demo"]
    # If only some regions are listed, a role without a cluster may belong to one in another region.
    found = listed(ls("-o", "json", "--region", EAST))
    assert set(found) == {"old-run", "rays"}


def keys_of(value):
    """Every key of an object, however deep."""
    if isinstance(value, list):
        return {key for item in value for key in keys_of(item)}
    return set(value) | {key for item in value.values() for key in keys_of(item)} \
        if isinstance(value, dict) else set()


def test_every_key_is_documented(scene, ls):
    docs = pathlib.Path(__file__).resolve().parents[2] / "docs"
    page = (docs / "user" / "ls.md").read_text("utf-8")
    for key in keys_of(json.loads(ls("-o", "json", "--region", BOTH).stdout)):
        assert re.search(rf"`\.?{key}(\[\])?`", page), key


def test_the_table(aws, scene, ls):
    done = ls("--region", BOTH)
    assert done.returncode == 0, done.stderr
    rows = cells(done.stdout)
    head = done.stdout.splitlines()[0].split()
    assert head == ["CLUSTER", "REGION", "STATE", "NODES", "AGE", "$/H", "NOTE"]
    assert list(rows) == ["demo", "old-run", "rays", "gone"]
    spot = spot_price(aws, "us-west-2b")
    volumes = 3 * 8 * prices.VOLUMES["gp2"] / HOURS
    assert rows["demo"][1:4] == [WEST, "up", "3"]
    assert float(rows["demo"][5]) == round(0.096 + 2 * spot + volumes + 3 * IPV4, 2)
    assert rows["old-run"][1:4] == [EAST, "stopped", "2"]
    assert float(rows["old-run"][5]) == round(200 * 0.08 / HOURS, 2)
    assert rows["old-run"][6] == "2 volumes, 200 GB: shoal down old-run --region us-east-1"
    assert rows["rays"][1:4] == [EAST, "up", "1"] and rows["rays"][6] == "by Ray"
    assert rows["gone"][1:4] == [WEST, "leftover", "-"]
    assert rows["gone"][6] == "1 security group, 1 key pair, 1 launch template: shoal gc"
    assert re.search(r"^3 clusters in 2 regions of account \d+: \$0\.\d\d an hour\. "
                     r"Prices: AWS's list of \d{4}-\d\d-\d\d, spot at \d\d:\d\d UTC\.$",
                     done.stderr, re.M)


def test_prices_have_a_source_and_a_date(aws, scene, ls):
    demo = listed(ls("-o", "json", "--region", WEST))["demo"]
    by_market = {m["market"]: m for m in demo["instances"]}
    assert by_market["on-demand"]["dollars_per_hour"] == pytest.approx(0.096 + REST, abs=2e-6)
    assert by_market["on-demand"]["price_from"] == "price-list"
    assert by_market["spot"]["dollars_per_hour"] == pytest.approx(
        spot_price(aws, "us-west-2b") + REST, abs=2e-6)
    assert by_market["spot"]["price_from"] == "spot-history"
    age = time.time() - time.mktime(time.strptime(by_market["spot"]["price_at"][:19],
                                                  "%Y-%m-%dT%H:%M:%S")) + time.timezone
    assert 0 <= age < 60
    assert demo["nodes"]["running"] == 3 and demo["has_head"] and demo["dollars_are_complete"]


def test_prices_are_kept(paper, scene, ls):
    first = ls("--region", BOTH)
    asked = paper.counts(who="laptop", clear=True)
    assert asked["GetProducts"] == 5 and asked["DescribeSpotPriceHistory"] == 1
    file = ls.cache / "prices-us-west-2.json"
    assert file.stat().st_mode & 0o777 == 0o600
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert kept["region"] == WEST and len(kept["prices"]) == 3
    again = ls("--region", BOTH)
    assert [row[5] for row in cells(again.stdout).values()] == [
        row[5] for row in cells(first.stdout).values()]
    asked = paper.counts(who="laptop", clear=True)
    assert asked["GetProducts"] == 0 and asked["DescribeSpotPriceHistory"] == 0
    # Old, from the future, of another user, damaged: not used, and replaced.
    for change in (lambda row: {**row, "at": "2020-01-01T00:00:00Z"},
                   lambda row: {**row, "at": "2090-01-01T00:00:00Z"},
                   lambda row: {**row, "account": "1"} if row["kind"] == "spot" else row,
                   lambda row: {**row, "price": "free"}):
        wrong = {**kept, "prices": [change(row) for row in kept["prices"]]}
        file.write_text(json.dumps(wrong), encoding="utf-8")
        done = ls("--region", WEST)
        assert done.returncode == 0 and cells(done.stdout)["demo"][5] == cells(
            first.stdout)["demo"][5], done
        asked = paper.counts(who="laptop", clear=True)
        assert asked["DescribeSpotPriceHistory"] == 1
    file.write_text(json.dumps(kept)[:-40], encoding="utf-8")
    assert ls("--region", WEST).returncode == 0
    assert json.loads(file.read_text(encoding="utf-8"))["region"] == WEST


def test_nothing_is_invented(paper, aws, scene, ls):
    """The price list is denied: the built-in table is used, for its region only."""
    paper.deny("admin", "pricing:*")
    done = ls("-o", "json", "--region", BOTH)
    found = listed(done)
    head = next(m for m in found["demo"]["instances"] if m["head"])
    assert head["dollars_per_hour"] is None and head["price_from"] is None
    assert not found["demo"]["dollars_are_complete"]
    assert found["demo"]["dollars_per_hour"] is None  # nor are the disks of the others known
    assert found["rays"]["instances"][0]["price_from"] == "catalog"
    assert "cannot read some prices" in done.stderr
    rows = cells(ls("--region", BOTH).stdout)
    assert rows["demo"][5] == "?" and "price" in rows["demo"][6]
    assert float(rows["old-run"][5]) == round(200 * 0.08 / HOURS, 2)


def test_a_region_that_refuses_is_named(aws, scene, ls):
    iam = aws("iam")
    iam.create_user(UserName="ann")
    key = iam.create_access_key(UserName="ann")["AccessKey"]
    policy = {"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": ["ec2:*", "pricing:*", "iam:List*"], "Resource": "*"},
        {"Effect": "Deny", "Action": "ec2:*", "Resource": "*",
         "Condition": {"StringEquals": {"aws:RequestedRegion": WEST}}}]}
    iam.put_user_policy(UserName="ann", PolicyName="p", PolicyDocument=json.dumps(policy))
    who = {"AWS_ACCESS_KEY_ID": key["AccessKeyId"],
           "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}
    done = ls(**who, AWS_REGION=EAST)
    assert done.returncode == 1
    assert set(cells(done.stdout)) == {"old-run", "rays"}  # nothing of WEST counts as left over
    lines = [line for line in done.stderr.splitlines() if "not listed" in line]
    assert len(lines) == 1 and "instances, key pairs, launch templates, security groups, " \
        f"volumes in {WEST} (" in lines[0] and "not authorized" in lines[0]
    done = ls("-o", "json", "--region", BOTH, **who)
    whole = json.loads(done.stdout)
    assert done.returncode == 1 and not whole["complete"]
    assert {(g["region"], g["what"]) for g in whole["gaps"]} >= {(WEST, "instances")}
    # No region answered: that is a failure, not an empty account.
    done = ls("--region", WEST, **who)
    assert done.returncode == 1 and done.stdout == ""
    assert "not authorized" in done.stderr


def test_a_region_that_is_not_open(scene, ls):
    done = ls("--region", f"{EAST},{settings.CLOSED_REGION}")
    assert done.returncode == 1 and set(cells(done.stdout)) == {"old-run", "rays"}
    line = next(line for line in done.stderr.splitlines() if "not listed" in line)
    assert f"in {settings.CLOSED_REGION} (" in line
    assert "a region that is not enabled for the account gives the same error" in line


def test_broken_calls_are_repeated(paper, scene, ls):
    before = listed(ls("-o", "json", "--region", BOTH))
    paper.mix(0.15, seed=3, seconds=0.2)
    for _ in range(2):
        assert listed(ls("-o", "json", "--region", BOTH)) == before


def test_many_pages_and_a_circle(paper, launch, ls):
    launch(WEST, tags("many"), MinCount=12, MaxCount=12)
    launch(EAST, tags("few", ray_node_type="head"))
    paper.set(page=5)
    found = listed(ls("-o", "json", "--region", BOTH))
    assert len(found["many"]["instances"]) == len(found["many"]["volumes"]) == 12
    paper.fault("DescribeInstances", "loop", count=0)
    done = ls("--region", BOTH)
    assert done.returncode == 1 and set(cells(done.stdout)) == {"few"}
    assert "not listed: instances in us-west-2" in done.stderr
    assert "the same page token twice" in done.stderr


def test_a_cluster_that_is_being_made(paper, aws, ls):
    """Its lease object exists before its first instance, and no message suggests to remove it."""
    for name, more in (("new", {}), ("held", {"shoal_lease_until": f"2 {int(time.time()) + 60}"}),
                       ("given-back", {"shoal_lease_until": "1 0"})):
        aws("ec2").create_launch_template(
            LaunchTemplateName=f"shoal-anchor-{name}",
            LaunchTemplateData={"InstanceType": "m5.large"},
            TagSpecifications=spec("launch-template", tags(name, **more)))
    rows = cells(ls("--region", WEST).stdout)
    assert rows["new"][2:4] == rows["held"][2:4] == ["starting", "0"]
    assert len(rows["new"]) == len(rows["held"]) == 6  # no note
    assert rows["given-back"][2] == "leftover"
    assert rows["given-back"][6] == "1 launch template: shoal gc"


def test_an_empty_account(paper, ls):
    done = ls("--region", BOTH)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == [
        f"shoal: note: AWS_ENDPOINT_URL is set: calls go to {settings.ENDPOINT}",
        f"No clusters and no leftover resources in 2 regions of account {settings.ACCOUNT}."]
    assert json.loads(ls("-o", "json", "--region", BOTH).stdout)["clusters"] == []


def test_no_credentials(paper, ls):
    done = ls(AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
    assert done.returncode == 1 and done.stdout == ""
    assert "credentials" in done.stderr and "  environment  " in done.stderr
    done = ls("--profile", "nobody")
    assert done.returncode == 1 and "nobody" in done.stderr


def test_ctrl_c(paper, tmp_path):
    paper.fault("DescribeInstances", "hang", count=0, seconds=20)
    where = {**client.environment(), "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    child = subprocess.Popen([SHOAL, "ls", "--region", WEST], env=where, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: paper.counts(who="laptop")["DescribeInstances"] > 0, step=0.05)
    start = time.monotonic()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert time.monotonic() - start < 10
    assert (child.returncode, out) == (130, "") and "Ctrl-C" in err
