"""Kinds of AWS accounts: what `check`, `up`, a launch by the head and `down` do in each.

`check` never says "is ready" for a file that `up` cannot launch, and wherever `up` could start,
`down` exits with 0 and leaves nothing. docs/results/2026-11-19-accounts.md has the table.
"""

import copy
import json

import pytest
from cloud import settings
from front import wait_for
from moto.iam.aws_managed_policies import aws_managed_policies_data

SOON = {"SHOAL_TEST_TIMES": "horizon=500,call_timeout=500"}  # listings do not lag here
MANAGED = json.loads(aws_managed_policies_data)
KEY = f"arn:aws:kms:us-west-2:{settings.ACCOUNT}:key/11111111-2222-3333-4444-555555555555"
TRUST = {"Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"},
                        "Action": "sts:AssumeRole"}]}


def document(*statements):
    return {"Version": "2012-10-17", "Statement": list(statements)}


def managed(*names, more=()):
    """AWS's own policies, and more statements."""
    found = [MANAGED[name]["Document"]["Statement"] for name in names]
    return document(*(s for each in found for s in each), *more)


def allow(*actions, resource="*"):
    return {"Effect": "Allow", "Action": list(actions), "Resource": resource}


def deny(action, condition, resource="*"):
    return {"Effect": "Deny", "Action": action, "Resource": resource, "Condition": condition}


ADMINISTRATOR = document(allow("*"))


def cluster(front, workers=1, shoal=None, region=None, **node_config):
    """`node_config`: more of every node type."""
    file = copy.deepcopy(front.cluster("demo", workers=workers))
    for node_type in file["available_node_types"].values():
        node_type["node_config"] = {**node_type["node_config"], **node_config}
    if shoal:
        file["metadata"] = {"shoal": shoal}
    if region:
        file["provider"]["region"] = region
    return file


def grow(front, laptop, file, to=2):
    """The head, not the laptop, launches one more worker."""
    more = copy.deepcopy(file)
    more["max_workers"] = to
    more["available_node_types"]["worker"].update(min_workers=to, max_workers=to)
    laptop("up", "-y", laptop.file("cluster.yaml", more))
    wait_for(lambda: len(front.alive("demo")) == 1 + to, 60, what="a launch by the head")
    asked = [row for row in front.calls(action="RunInstances") if row["who"] != "laptop"]
    assert asked, "the head launched nothing"


def lives(front, laptop, file, ready=True):
    """check, up, scale and down all succeed, and nothing is left."""
    path = laptop.file("cluster.yaml", file)
    checked = laptop("check", path)
    assert ("is ready" in checked.out) == ready, checked
    laptop("up", "-y", path)
    grow(front, laptop, file)
    laptop("down", "-y", path, env=SOON)
    assert front.remains() == {}


def refused(front, laptop, file, *words):
    """`check` says these words and not "is ready", `up` starts nothing, `down` exits with 0."""
    path = laptop.file("cluster.yaml", file)
    checked = laptop.run("check", path)
    said = " ".join((checked.out + checked.err).split())
    assert checked.status == 1 and "is ready" not in said, checked
    for word in words:
        assert word in said, (word, str(checked))
    assert laptop.run("up", "-y", path).status == 1
    assert front.machines("demo") == [] and front.remains() == {}
    assert laptop.run("down", "-y", path, env=SOON).status == 0


# ---- who calls ----


def test_an_administrator(front):
    lives(front, front.limited_laptop("ada", ADMINISTRATOR), cluster(front))


def test_a_power_user(front):
    """It may not read or create roles."""
    ada = front.limited_laptop("ada", managed("PowerUserAccess"))
    refused(front, ada, cluster(front), "is not allowed to create the role of the head",
            "iam:GetRole", "set an IamInstanceProfile for the head")


def test_a_power_user_who_may_read_roles(front):
    """IAM says which rights are missing."""
    ada = front.limited_laptop("ada", managed("PowerUserAccess", "IAMReadOnlyAccess"))
    refused(front, ada, cluster(front), "is not allowed to create the role of the head",
            "iam:CreateRole", "iam:CreateInstanceProfile")


def test_a_role_whose_creation_cannot_be_foreseen(front):
    """Roles may be read, rights may not: `check` says so, and does not say "is ready"."""
    reads = allow("iam:GetRole", "iam:GetInstanceProfile")
    ada = front.limited_laptop("ada", managed("PowerUserAccess", more=[reads]))
    path = ada.file("cluster.yaml", cluster(front))
    checked = ada("check", path)
    assert "is ready" not in checked.out, checked
    assert "Not checked: the permission to create the head's IAM role" in checked.out, checked
    assert json.loads(ada("check", "-o", "json", path).out)["not_checked"][0] == \
        "the permission to create the head's IAM role"
    done = ada.run("up", "-y", path)
    assert done.status == 1 and "iam:CreateRole" in done.err, done
    assert front.machines("demo") == []
    assert sorted(front.remains()) == ["templates"]  # the role is the first to be created
    ada("down", "-y", path, env=SOON)
    assert front.remains() == {}


def profile(front, partition="aws"):
    """An instance profile that an administrator made for heads."""
    front.ask("role", name="team-head", trust=TRUST, policy=ADMINISTRATOR)
    return {"IamInstanceProfile": {"Name": "team-head"}}, \
        f"arn:{partition}:iam::{settings.ACCOUNT}:role/team-head"


def with_profile(front, named):
    file = cluster(front)
    head = file["available_node_types"]["head"]
    head["node_config"] = {**head["node_config"], **named}
    return file


def test_a_power_user_with_a_profile_that_it_may_not_pass(front):
    named, _ = profile(front)
    ada = front.limited_laptop("ada", managed("PowerUserAccess"))
    path = ada.file("cluster.yaml", with_profile(front, named))
    checked = ada.run("check", path)
    assert checked.status == 1 and "iam:PassRole" in checked.out, checked
    assert ada.run("up", "-y", path).status == 1
    assert front.machines("demo") == []
    assert ada.run("down", "-y", path, env=SOON).status == 0


def left(front):
    """What is left besides the profile of the administrator."""
    rest = front.remains()
    return {kind: names for kind, names in rest.items()
            if kind not in ("roles", "profiles") or names != ["team-head"]}


def test_a_power_user_with_a_profile(front):
    """It may not read roles: `down` does not ask for one that was never made."""
    named, role = profile(front)
    ada = front.limited_laptop("ada", managed("PowerUserAccess",
                                              more=[allow("iam:PassRole", resource=role)]))
    file = with_profile(front, named)
    path = ada.file("cluster.yaml", file)
    assert "is ready" in ada("check", path).out
    ada("up", "-y", path)
    grow(front, ada, file)
    ada("down", "-y", path, env=SOON)
    assert left(front) == {}
    assert not [row for row in front.calls(action="GetRole") if row.get("refused")]


def test_a_file_that_no_longer_names_a_profile(front):
    """The role is noted before it is created, so that `down` looks for it."""
    named, _ = profile(front)
    laptop = front.laptop()
    path = laptop.file("cluster.yaml", with_profile(front, named))
    laptop.run("up", "-y", path, env={"SHOAL_FAILPOINT": "up:after-take"})
    path = laptop.file("cluster.yaml", cluster(front))
    laptop("up", "-y", path)
    assert len(front.ask("truth")["roles"]) == 2
    laptop("down", "-y", path, env=SOON)
    assert left(front) == {}


def test_the_printed_policy(front):
    admin = front.laptop("admin")
    file = cluster(front)
    policy = json.loads(admin("policy", admin.file("cluster.yaml", file)).out)
    lives(front, front.limited_laptop("ada", policy), file)


# ---- what the organization demands ----


NEEDS_TAG = {"Statement": [
    deny(["ec2:RunInstances"], {"Null": {"aws:RequestTag/CostCenter": "true"}},
         ["arn:aws:ec2:*:*:instance/*", "arn:aws:ec2:*:*:volume/*"]),
    deny(["ec2:CreateSecurityGroup"], {"Null": {"aws:RequestTag/CostCenter": "true"}},
         "arn:aws:ec2:*:*:security-group/*"),
    deny(["ec2:CreateLaunchTemplate", "ec2:ImportKeyPair", "iam:CreateRole",
          "iam:CreateInstanceProfile"], {"Null": {"aws:RequestTag/CostCenter": "true"}})]}


def test_tags_that_an_organization_demands(front):
    front.set(scp=json.dumps(NEEDS_TAG))
    laptop = front.limited_laptop("ada", ADMINISTRATOR)
    refused(front, laptop, cluster(front), "is not allowed")
    lives(front, laptop, cluster(front, shoal={"tags": {"CostCenter": "1234"}}))


def test_a_tag_of_the_file_that_an_organization_demands(front):
    """Only instances need it, and the file has it: the dry run is the real request."""
    front.set(scp=json.dumps({"Statement": [
        deny("ec2:RunInstances", {"Null": {"aws:RequestTag/Project": "true"}},
             "arn:aws:ec2:*:*:instance/*")]}))
    laptop = front.limited_laptop("ada", ADMINISTRATOR)
    lives(front, laptop, cluster(front, TagSpecifications=[
        {"ResourceType": "instance", "Tags": [{"Key": "Project", "Value": "x"}]}]))


def test_encryption_that_an_organization_demands(front):
    front.set(scp=json.dumps({"Statement": [
        deny("ec2:RunInstances", {"Bool": {"ec2:Encrypted": "false"}},
             "arn:aws:ec2:*:*:volume/*")]}))
    laptop = front.limited_laptop("ada", ADMINISTRATOR)
    refused(front, laptop, cluster(front), "is not allowed")
    disk = {"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 40, "Encrypted": True}}
    path = laptop.file("cluster.yaml", cluster(front, BlockDeviceMappings=[disk]))
    assert "is ready" in laptop("check", path).out
    laptop("up", "-y", path)
    laptop("down", "-y", path, env=SOON)
    assert front.remains() == {}


def test_a_boundary_that_an_organization_demands(front):
    boundary = f"arn:aws:iam::{settings.ACCOUNT}:policy/Boundary"
    front.set(scp=json.dumps({"Statement": [
        deny("iam:CreateRole", {"StringNotEquals": {"iam:PermissionsBoundary": boundary}})]}))
    laptop = front.limited_laptop("ada", ADMINISTRATOR)
    refused(front, laptop, cluster(front), "iam:CreateRole")
    more = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"
    path = laptop.file("cluster.yaml", cluster(front, shoal={
        "permissions_boundary": boundary, "head_policies": [more]}))
    assert "is ready" in laptop("check", path).out
    laptop("up", "-y", path)
    assert front.ask("attached") == {"demo": [more]}
    laptop("down", "-y", path, env=SOON)
    assert front.remains() == {}


# ---- the account's plan, keys, roles and network ----


def test_the_free_plan(front):
    front.set(free_plan=1)
    laptop = front.laptop()
    refused(front, laptop, cluster(front), "not eligible for Free Tier",
            "use an InstanceType that the account's plan allows: ", "m7i-flex.large", "t3.micro")
    lives(front, laptop, cluster(front, InstanceType="m7i-flex.large"))


def test_a_customers_key(front):
    """The head's role may use it for the volumes of workers."""
    front.set(ebs_key=KEY)
    lives(front, front.limited_laptop("ada", ADMINISTRATOR), cluster(front))


def test_a_customers_key_that_the_caller_may_not_use(front):
    front.set(ebs_key=KEY)
    less = {"Effect": "Deny", "Action": "kms:*", "Resource": "*"}
    laptop = front.limited_laptop("ada", document(allow("*"), less))
    path = laptop.file("cluster.yaml", cluster(front))
    checked = laptop("check", path)
    assert "is ready" not in checked.out and KEY in checked.out, checked
    done = laptop.run("up", "-y", path)
    said = " ".join(done.err.split())
    assert done.status == 1 and "kms:CreateGrant" in said and "KMS key" in said, done
    laptop("down", "-y", path, env=SOON)
    assert front.remains() == {}


def test_a_shared_subnet(front):
    front.set(shared_subnets=1)
    lives(front, front.limited_laptop("ada", ADMINISTRATOR), cluster(front))


SPOT = {"InstanceMarketOptions": {"MarketType": "spot"}}


def test_the_first_spot_instance_of_an_account(front):
    """Also when a later `up` adds the spot type."""
    front.set(spot_role=0)
    laptop = front.limited_laptop("ada", ADMINISTRATOR)
    laptop("up", "-y", laptop.file("cluster.yaml", cluster(front)))
    file = cluster(front)
    file["available_node_types"]["cheap"] = {
        **file["available_node_types"]["worker"], "min_workers": 1,
        "node_config": {**file["available_node_types"]["worker"]["node_config"], **SPOT}}
    file["max_workers"] = 2
    path = laptop.file("cluster.yaml", file)
    checked = laptop("check", path)
    assert "is ready" in checked.out and "shoal up creates it" in checked.out, checked
    laptop("up", "-y", path)
    wait_for(lambda: [m for m in front.alive("demo") if m.spot], 60, what="a spot worker")
    laptop("down", "-y", path, env=SOON)
    assert left_of_account(front) == {}


def left_of_account(front):
    rest = front.remains()
    rest["roles"] = [name for name in rest.get("roles", [])
                     if not name.startswith("AWSServiceRoleFor")]
    return {kind: names for kind, names in rest.items() if names}


def test_a_spot_role_that_may_not_be_created(front):
    front.set(spot_role=0)
    less = {"Effect": "Deny", "Action": "iam:CreateServiceLinkedRole", "Resource": "*"}
    laptop = front.limited_laptop("ada", document(allow("*"), less))
    file = cluster(front)
    worker = file["available_node_types"]["worker"]
    worker["node_config"] = {**worker["node_config"], **SPOT}
    refused(front, laptop, file, "AWSServiceRoleForEC2Spot",
            "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com")


# ---- other partitions ----


@pytest.mark.parametrize("partition, region", [("aws-us-gov", "us-gov-west-1"),
                                               ("aws-cn", "cn-north-1")])
def test_another_partition(front, partition, region):
    front.set(partition=partition)
    admin = front.laptop("admin")
    file = cluster(front, region=region)
    policy = json.loads(admin("policy", admin.file("cluster.yaml", file)).out)
    lives(front, front.limited_laptop("ada", policy), file)
