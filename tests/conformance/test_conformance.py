"""A provider compared with the state of the bed.

The program `conform` knows the provider's interface and nothing else; what it says is compared
here with what the cloud really has.

SHOAL_CONFORM_LAUNCHES  how many machines are launched at least (default 60)
SHOAL_CONFORM_KILLS     how often the program is killed (default 4)
SHOAL_CONFORM_LEVELS    faults under which the rules are tried (default "mild")
"""

import collections
import json
import os
import random
import subprocess
import time
import urllib.parse

import guarantees
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.httpsession import URLLib3Session
from conftest import bed_client, bed_conftest

LAUNCHES = int(os.environ.get("SHOAL_CONFORM_LAUNCHES", "60"))
KILLS = int(os.environ.get("SHOAL_CONFORM_KILLS", "4"))
LEVELS = os.environ.get("SHOAL_CONFORM_LEVELS", "mild").split()
FAULTS = 0.05
LAG = 0.5
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
    cloud.set(page=7, listing_lag=0.3, profile_lag=2)
    set_level(cloud, level)
    start = time.monotonic()
    status, out = conform.run("rules", "--foreign", foreign[0])
    cloud.clear()
    cloud.set(throttle=0, page=1000, profile_lag=0)
    print(out[-200:], f"{level}: {time.monotonic() - start:.1f} s")
    assert status == 0, out + conform.tail()
    assert out.count("ok  ") > 60
    guarantees.check("aws", out)
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
    iam.create_role(RoleName=name + "-head", AssumeRolePolicyDocument="{}")
    status, out = conform.run("prepare")
    assert status == 1 and f"the role {name}-head does not belong to this cluster" in out, out
    assert ("role", name + "-head") in things(aws)
    iam.delete_role(RoleName=name + "-head")
    ec2.create_key_pair(KeyName=name)
    status, out = conform.run("prepare")
    assert status == 1 and f"the key pair {name} does not belong to this cluster" in out, out
    ec2.delete_key_pair(KeyName=name)
    ec2.create_security_group(GroupName=name, Description="mine")
    status, out = conform.run("prepare")
    assert status == 1 and f"the security group {name} does not belong to this cluster" in out, out
    before = things(aws)
    status, out = conform.run("remove")
    assert status == 0, out + conform.tail()
    assert {("key pair", name), ("role", name + "-head"),
            ("template", f"shoal-anchor-{conform.cluster}")} <= before - things(aws)
    assert ("group", name) in things(aws)


def test_an_anchor_of_others_stays(cloud, conform, aws, ec2):
    name = f"shoal-anchor-{conform.cluster}"
    ec2.create_launch_template(LaunchTemplateName=name,
                               LaunchTemplateData={"InstanceType": "m5.large"})
    for verb in ("uid", "prepare", "remove"):
        status, out = conform.run(verb)
        assert status == 1 and f"the launch template {name} was not created by Shoal" in out, out
    assert ("template", name) in things(aws)


# ---- the lease ----

GRACE = 10  # seconds after its end, in which no process acts


def test_a_lease_ends_by_itself(cloud, conform):
    start = time.monotonic()
    assert conform.run("take", "--holder", "gone", "--count", 2000)[0] == 0
    while True:
        status, out = conform.run("take", "--holder", "next", "--count", 60000)
        took = time.monotonic() - start
        if status == 0:
            break
        assert "epoch 1 holder gone" in out and "held by gone" in out, out
        assert took < 2 + GRACE + 5, "nobody gets it"
        time.sleep(0.5)
    assert took > 2 + GRACE - 1, "it was given away too early"
    assert out.startswith("epoch 2 holder next")


def test_many_take_at_once(cloud, conform):
    """Again and again, each time exactly one, under numbers that grow."""
    cloud.mix(0.02, seed=8)
    last = 0
    for _ in range(5):
        children = [conform.start("take", "--holder", f"h{n}", "--count", 600000)
                    for n in range(5)]
        said = [child.communicate(timeout=120)[0] for child in children]
        won = [out for out, child in zip(said, children) if child.returncode == 0]
        assert len(won) == 1, "\n".join(said)
        epochs = {out.split()[1] for out in said}
        assert len(epochs) == 1, said
        assert int(epochs.pop()) > last
        last = int(won[0].split()[1])
        assert conform.run("uid")[0] == 0  # breaks it and gives it back


@pytest.mark.long
def test_old_claims_are_deleted(cloud, conform, ec2):
    for _ in range(130):
        assert conform.run("uid")[0] == 0
    name = f"shoal-anchor-{conform.cluster}"
    template = ec2.describe_launch_templates(LaunchTemplateNames=[name])["LaunchTemplates"][0]
    versions = ec2.describe_launch_template_versions(LaunchTemplateName=name, MaxResults=200)
    assert template["LatestVersionNumber"] >= 130
    assert template["DefaultVersionNumber"] > 100
    assert len(versions["LaunchTemplateVersions"]) < 50
    status, out = conform.run("take", "--count", 60000)
    assert status == 0 and int(out.split()[1]) > 130, out


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
    """(group, {(port, place)})."""
    groups = ec2.describe_security_groups()["SecurityGroups"]
    group = next(g for g in groups if conform.cluster in g["GroupName"])
    members = [pair["GroupId"] for p in group["IpPermissions"] if p["IpProtocol"] == "-1"
               for pair in p["UserIdGroupPairs"]]
    assert members == [group["GroupId"]]
    return group["GroupId"], {(p.get("FromPort"), r["CidrIp"]) for p in group["IpPermissions"]
                              for r in p.get("IpRanges", [])}


def test_ssh_from_here_and_nowhere_else(cloud, conform, ec2):
    assert conform.run("prepare")[0] == 0
    group, rules = ingress(ec2, conform)
    here = f"{bed_conftest.settings.LAPTOP}/32"
    assert rules == {(22, here)}
    # As if the last run had been elsewhere, and a colleague had added a rule of his own.
    rule = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22}
    ec2.revoke_security_group_ingress(GroupId=group, IpPermissions=[
        {**rule, "IpRanges": [{"CidrIp": here, "Description": "shoal caller: ssh"}]}])
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[{**rule, "IpRanges": [
        {"CidrIp": "198.51.100.7/32", "Description": "shoal caller: ssh"},
        {"CidrIp": "203.0.113.0/24", "Description": "the office"}]}])
    assert conform.run("prepare")[0] == 0
    assert ingress(ec2, conform) == (group, {(22, here), (22, "203.0.113.0/24")})
    conform.environment["SHOAL_CALLER_URL"] = "http://127.0.0.1:9/"
    assert conform.run("prepare")[0] == 0
    assert ingress(ec2, conform) == (group, {(22, here), (22, "203.0.113.0/24")})
    assert conform.run("remove")[0] == 0
    status, out = conform.run("prepare")
    assert status == 1 and "metadata.shoal.ssh_from" in out, out
    assert conform.run("remove")[0] == 0


def test_places_that_the_file_names(cloud, conform, ec2):
    conform.environment["SHOAL_CALLER_URL"] = "http://127.0.0.1:9/"
    words = ("--ssh-from", "198.51.100.0/24", "--open-to", "203.0.113.0/24")
    for _ in range(2):
        status, out = conform.run("prepare", *words)
        assert status == 0, out + conform.tail()
        assert ingress(ec2, conform)[1] == {(22, "198.51.100.0/24"), (8265, "203.0.113.0/24")}
    status, out = conform.run("prepare", "--private")
    assert status == 0, out + conform.tail()
    vpc = next(v for v in ec2.describe_vpcs()["Vpcs"] if v["IsDefault"])["CidrBlock"]
    assert ingress(ec2, conform)[1] == {(22, vpc), (8265, "203.0.113.0/24")}
    status, out = conform.run("prepare", "--ssh-from", "my house")
    assert status == 1 and '"my house" is not an IP address' in out, out
    assert conform.run("remove")[0] == 0


def test_another_key_is_noticed(cloud, conform, tmp_path):
    assert conform.run("prepare")[0] == 0
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "other"],
                   check=True)
    status, out = conform.run("prepare", "--key", tmp_path / "other.pub")
    assert status == 1 and "does not match the private key" in out, out
    assert conform.run("remove")[0] == 0


@pytest.mark.long
def test_a_group_in_use_is_told(cloud, conform, aws, ec2, run):
    """An instance of another owner in the cluster's group: both stay, and so does the lease
    object.
    """
    assert conform.run("prepare")[0] == 0
    group = ingress(ec2, conform)[0]
    guest = run(SecurityGroupIds=[group])[0]
    status, out = conform.run("remove")
    assert status == 0, out + conform.tail()
    assert f"security group\t{group}\tstill in use by eni-" in out, out
    assert guest in out and "launch template\t" in out
    assert only_ours(aws, conform) == {"group": 1, "template": 1}
    ec2.terminate_instances(InstanceIds=[guest])
    status, out = conform.run("remove")
    assert status == 0 and only_ours(aws, conform) == {}, out


# ---- the role of the head ----


def test_the_heads_role_is_enough_and_no_more(cloud, conform, aws, ec2):
    """With the head's credentials workers come and go and the lease is kept; nothing else."""
    assert conform.run("prepare")[0] == 0
    name = next(n for kind, n in things(aws) if kind == "role")
    made = cloud.mint(kind="role", name=name)
    head = {"key": made["key"], "secret": made["secret"], "token": made["token"]}
    status, out = conform.run("launches", "--journal", conform.journal, "--count", 5)
    assert status == 0, out + conform.tail()
    uid = json.loads(out)["uid"]
    workers = [i["InstanceId"] for i in machines(ec2, uid)]
    ec2.create_tags(Resources=workers[:1], Tags=[{"Key": "ray-node-type", "Value": "head"},
                                                 {"Key": "shoal-head", "Value": "in-use"}])
    conform.environment.update(bed_client.environment(**head))
    status, out = conform.run("workers")
    assert status == 0, out + conform.tail()
    client = aws("ec2", **head)
    body = dict(urllib.parse.parse_qsl(next(line for line in conform.journal.read_text().split()
                                            if line.startswith("Action="))))
    for change in ({"InstanceType": "p3.2xlarge"}, {"MetadataOptions.HttpTokens": "optional"},
                   {"TagSpecification.1.Tag.2.Value": "0" * 32}, {"ImageId": bed_conftest.RAY},
                   {"MetadataOptions.HttpPutResponseHopLimit": "2"}):
        assert "UnauthorizedOperation" in raw_call(client, {**body, **change, "ClientToken": "x"})
    assert "<instanceId>" in raw_call(client, {**body, "ClientToken": "y"})
    with bed_conftest.refused("UnauthorizedOperation"):
        client.terminate_instances(InstanceIds=workers[:1])
    with bed_conftest.refused("UnauthorizedOperation"):
        client.delete_tags(Resources=workers[:1], Tags=[{"Key": "shoal-head"}])
    # A head that no process has set up: its launch arrived late.
    ec2.delete_tags(Resources=workers[:1], Tags=[{"Key": "shoal-head"}])
    client.terminate_instances(InstanceIds=workers[:1])
    with bed_conftest.refused("UnauthorizedOperation"):
        client.create_tags(Resources=workers[1:2], Tags=[{"Key": "shoal-cluster-uid",
                                                          "Value": uid}])
    with bed_conftest.refused("UnauthorizedOperation"):
        client.modify_instance_attribute(InstanceId=workers[1], DisableApiTermination={
            "Value": True})
    with bed_conftest.refused("UnauthorizedOperation"):
        client.create_security_group(GroupName="x", Description="x")
    with bed_conftest.refused("AccessDenied"):
        aws("iam", **head).create_user(UserName="x")
    with bed_conftest.refused("AccessDenied"):
        aws("iam", **head).get_role(RoleName=name)


def raw_call(client, fields):
    """The answer to an EC2 call as it stands, signed by a client's credentials."""
    request = AWSRequest("POST", bed_conftest.settings.ENDPOINT + "/",
                         data=urllib.parse.urlencode(fields), headers={
                             "Content-Type": "application/x-www-form-urlencoded"})
    SigV4Auth(client._request_signer._credentials, "ec2", "us-west-2").add_auth(request)
    return URLLib3Session(proxies={}).send(request.prepare()).text


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
    states = {m["InstanceId"]: (m["State"]["Name"], m.get("ClientToken")) for m in machines(ec2)}
    for ident in sorted(orphans | lost):
        print(f"{ident}: {states.get(ident, 'not listed')}")
    return {"calls": len(drafts), "refused": len(refused), "machines": sum(map(len, real.values())),
            "orphans": len(orphans), "twins": len(twins), "lost": len(lost)}


def test_launches_with_kills(cloud, conform, ec2):
    """Faults of every kind and kills at random: every machine is known, none is there twice."""
    cloud.mix(FAULTS, seed=6)
    cloud.set(listing_lag=LAG)
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
    time.sleep(LAG + 0.2)  # until the last ones are listed
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
