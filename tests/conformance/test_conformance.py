"""A provider against the truth of the bed.

The program `conform` knows the provider's interface and nothing else; what it says is compared
here with what the cloud really has.

SHOAL_CONFORM_LAUNCHES  how many machines are launched at least (default 60)
SHOAL_CONFORM_KILLS     how often the program is killed meanwhile (default 4)
SHOAL_CONFORM_LEVELS    faults under which the rules are tried (default "mild")
"""

import collections
import json
import os
import random
import subprocess
import time

import pytest
from conftest import bed_conftest

LAUNCHES = int(os.environ.get("SHOAL_CONFORM_LAUNCHES", "60"))
KILLS = int(os.environ.get("SHOAL_CONFORM_KILLS", "4"))
LEVELS = os.environ.get("SHOAL_CONFORM_LEVELS", "mild").split()
FAULTS = 0.05
DEAD = ("terminated", "shutting-down")


# ---- the truth ----


def things(aws):
    """Everything in the account that a cluster may have made: {(kind, name)}."""
    ec2, iam = aws("ec2"), aws("iam")
    found = {("key pair", k["KeyName"]) for k in ec2.describe_key_pairs()["KeyPairs"]}
    found |= {("group", g["GroupName"]) for g in ec2.describe_security_groups()["SecurityGroups"]
              if g["GroupName"] != "default"}
    found |= {("template", t["LaunchTemplateName"])
              for t in ec2.describe_launch_templates()["LaunchTemplates"]}
    found |= {("role", r["RoleName"]) for r in iam.list_roles()["Roles"]}
    found |= {("profile", p["InstanceProfileName"])
              for p in iam.list_instance_profiles()["InstanceProfiles"]}
    return found


def machines(ec2, uid=None):
    every = bed_conftest.listing(ec2)
    return [i for i in every if uid is None or tags(i).get("shoal-cluster-uid") == uid]


def tags(thing):
    return {tag["Key"]: tag["Value"] for tag in thing.get("Tags", [])}


def set_level(cloud, level):
    cloud.clear()
    cloud.capacity(2, type="c5.large", zone="us-west-2b")
    if level == "mild":
        cloud.mix(0.02, seed=3)
    elif level == "nasty":
        cloud.mix(0.10, seed=4)
        cloud.set(throttle=1, listing_lag=2.0)


# ---- rules ----


@pytest.mark.parametrize("level", LEVELS)
def test_rules(cloud, conform, aws, ec2, run, level):
    foreign = run(TagSpecifications=[{"ResourceType": "instance", "Tags": [
        {"Key": "ray-cluster-name", "Value": conform.cluster}, {"Key": "Name", "Value": "mine"}]}])
    before = things(aws)
    cloud.set(page=7, listing_lag=0.3)
    set_level(cloud, level)
    start = time.monotonic()
    status, out = conform.run("rules", "--foreign", foreign[0])
    cloud.clear()
    cloud.set(throttle=0, page=1000)
    print(out[-200:], f"{level}: {time.monotonic() - start:.1f} s")
    assert status == 0, out + conform.tail()
    assert out.count("ok  ") > 60
    assert things(aws) == before
    live = [i for i in machines(ec2) if i["State"]["Name"] not in DEAD]
    assert [i["InstanceId"] for i in live] == foreign
    assert tags(live[0]) == {"ray-cluster-name": conform.cluster, "Name": "mine"}


# ---- things of others ----


def test_things_of_others_stay(cloud, conform, aws, ec2):
    """Same names, another owner: refused, not used, not changed, not removed."""
    status, out = conform.run("uid")
    assert status == 0, out + conform.tail()
    uid = out.split()[1]
    name = f"shoal-{conform.cluster}-{uid[:8]}"
    iam = aws("iam")
    ec2.create_key_pair(KeyName=name)
    status, out = conform.run("prepare")
    assert status == 1 and f"there is a key pair {name} which is not this cluster's" in out, out
    ec2.delete_key_pair(KeyName=name)
    group = ec2.create_security_group(GroupName=name, Description="mine")["GroupId"]
    status, out = conform.run("prepare")
    assert status == 1 and f"there is a security group {name} which is not" in out, out
    ec2.delete_security_group(GroupId=group)
    iam.create_role(RoleName=name + "-head", AssumeRolePolicyDocument="{}")
    status, out = conform.run("prepare")
    assert status == 1 and f"there is a role {name}-head which is not" in out, out
    before = things(aws)
    status, out = conform.run("remove")
    assert status == 0, out + conform.tail()
    assert before - things(aws) == {("key pair", name), ("group", name),
                                    ("template", f"shoal-anchor-{conform.cluster}")}
    assert ("role", name + "-head") in things(aws)


def test_an_anchor_of_others_stays(cloud, conform, aws, ec2):
    name = f"shoal-anchor-{conform.cluster}"
    ec2.create_launch_template(LaunchTemplateName=name,
                               LaunchTemplateData={"InstanceType": "m5.large"})
    for verb in ("uid", "prepare", "remove"):
        status, out = conform.run(verb)
        assert status == 1 and f"the launch template {name} is not one of Shoal's" in out, out
    assert ("template", name) in things(aws)


# ---- made once ----


def only_ours(aws, conform):
    made = collections.Counter(kind for kind, name in things(aws) if conform.cluster in name)
    return dict(made)


ONE_OF_EACH = {"key pair": 1, "group": 1, "template": 1, "role": 1, "profile": 1}


def test_a_killed_preparation_is_run_again(cloud, conform, aws):
    cloud.mix(0.02, seed=5)
    dice = random.Random(1)
    for _ in range(6):
        child = conform.start("prepare")
        time.sleep(dice.uniform(0.02, 0.5))
        child.kill()
        child.communicate()
    status, out = conform.run("prepare")
    cloud.clear()
    assert status == 0, out + conform.tail()
    assert only_ours(aws, conform) == ONE_OF_EACH
    status, out = conform.run("remove")
    assert status == 0, out + conform.tail()
    assert only_ours(aws, conform) == {}


def test_many_prepare_at_once(cloud, conform, aws):
    """Each breaks the others' leases; all agree on the uid and on what there is."""
    children = [conform.start("prepare") for _ in range(6)]
    said = [child.communicate(timeout=120)[0] for child in children]
    assert len({out.split()[1] for out in said if out.startswith("uid")}) == 1, said
    status, out = conform.run("prepare")
    assert status == 0, out + conform.tail()
    assert only_ours(aws, conform) == ONE_OF_EACH
    assert conform.run("remove")[0] == 0
    assert only_ours(aws, conform) == {}


def ingress(ec2, conform):
    groups = ec2.describe_security_groups()["SecurityGroups"]
    group = next(g for g in groups if conform.cluster in g["GroupName"])
    return group["GroupId"], {(p["IpProtocol"], r["CidrIp"]) for p in group["IpPermissions"]
                              for r in p.get("IpRanges", [])}


def test_ssh_from_here_and_nowhere_else(cloud, conform, ec2):
    assert conform.run("prepare")[0] == 0
    group, rules = ingress(ec2, conform)
    here = f"{bed_conftest.settings.LAPTOP}/32"
    assert rules == {("tcp", here)}
    # As if the last run had been elsewhere, and a colleague had added a rule of his own.
    rule = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22}
    ec2.revoke_security_group_ingress(GroupId=group, IpPermissions=[
        {**rule, "IpRanges": [{"CidrIp": here, "Description": "shoal caller: ssh"}]}])
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[{**rule, "IpRanges": [
        {"CidrIp": "198.51.100.7/32", "Description": "shoal caller: ssh"},
        {"CidrIp": "203.0.113.0/24", "Description": "the office"}]}])
    assert conform.run("prepare")[0] == 0
    assert ingress(ec2, conform) == (group, {("tcp", here), ("tcp", "203.0.113.0/24")})
    conform.environment["SHOAL_CALLER_URL"] = "http://127.0.0.1:9/"
    assert conform.run("prepare")[0] == 0
    assert ingress(ec2, conform) == (group, {("tcp", here), ("tcp", "203.0.113.0/24")})
    assert conform.run("remove")[0] == 0
    status, out = conform.run("prepare")
    assert status == 1 and "metadata.shoal.ssh_from" in out, out
    assert conform.run("remove")[0] == 0


# ---- launches ----


def journal_of(conform):
    """({launch: (count, token)}, {launch: [id]}, {launch refused})."""
    drafts, came, refused = {}, {}, set()
    for line in conform.journal.read_text().splitlines():
        kind, launch, *rest = line.split(" ")
        if kind == "D":
            drafts[launch] = (int(rest[0]), rest[1])
        elif kind == "R":
            came[launch] = rest
        else:
            refused.add(launch)
    return drafts, came, refused


def compare(conform, ec2, uid):
    """Orphans (alive and unknown), twins (more than asked for), lost (known and not there)."""
    drafts, came, refused = journal_of(conform)
    assert set(came) | refused == set(drafts), "a launch was not settled"
    real = collections.defaultdict(set)
    for machine in machines(ec2, uid):
        if machine["State"]["Name"] not in DEAD:
            real[machine["ClientToken"]].add(machine["InstanceId"])
    known = {drafts[launch][1]: set(ids) for launch, ids in came.items()}
    orphans = {i for token, ids in real.items() for i in ids - known.get(token, set())}
    lost = {i for token, ids in known.items() for i in ids - real.get(token, set())}
    most = {token: count for count, token in drafts.values()}
    twins = {token for token, ids in real.items() if len(ids) > most.get(token, 0)}
    return {"calls": len(drafts), "refused": len(refused), "machines": sum(map(len, real.values())),
            "orphans": len(orphans), "twins": len(twins), "lost": len(lost)}


def test_launches_with_kills(cloud, conform, ec2):
    """Faults of every kind and kills at random: every machine is known, none is there twice."""
    cloud.mix(FAULTS, seed=6)
    cloud.set(listing_lag=0.5)
    dice = random.Random(2)
    words = ("--journal", conform.journal, "--count", LAUNCHES)
    start, kills = time.monotonic(), 0
    while kills < KILLS:
        child = conform.start("launches", *words, "--seed", kills)
        try:
            child.communicate(timeout=dice.uniform(0.2, 2 + LAUNCHES / 200))
            break  # it was faster than we
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            kills += 1
    status, out = conform.run("launches", *words, "--seed", 99, seconds=3000)
    took = time.monotonic() - start
    faults = sum(fault["hits"] for fault in cloud.ask("faults"))
    cloud.clear()
    cloud.set(listing_lag=0)  # the truth, at once
    assert status == 0, out + conform.tail()
    said = json.loads(out)
    found = {**compare(conform, ec2, said["uid"]), "kills": kills, "faults": faults,
             "open_at_last_start": said["found_open"], "seconds": round(took, 1)}
    print(json.dumps(found))
    assert found["machines"] >= LAUNCHES
    assert (found["orphans"], found["twins"], found["lost"]) == (0, 0, 0)
    status, out = conform.run("remove")
    assert status == 0, out + conform.tail()
    assert not [i for i in machines(ec2, said["uid"]) if i["State"]["Name"] not in DEAD]
