"""`shoal policy`: a user who may do what it prints launches and removes a cluster, and each of its
statements is needed for that."""

import copy
import json

import pytest

SOON = {"SHOAL_TEST_TIMES": "horizon=500,call_timeout=500"}  # listings do not lag here
DENIED = {"UnauthorizedOperation", "AccessDenied", "AccessDeniedException"}


LICENSE = "arn:aws:license-manager:us-west-2:123456789012:license-configuration:lic-1"


def cluster(front, **more):
    """With licensed spot workers, so that every call happens that a launch may need."""
    file = front.cluster("demo", workers=1, **more)
    file["available_node_types"]["worker"] = copy.deepcopy(file["available_node_types"]["worker"])
    file["available_node_types"]["worker"]["node_config"].update(
        InstanceMarketOptions={"MarketType": "spot"},
        LicenseSpecifications=[{"LicenseConfigurationArn": LICENSE}])
    return file


def policy_of(laptop, file):
    return json.loads(laptop("policy", file).out)


def refused(front, name):
    return sorted({row["action"] for row in front.calls()
                   if row.get("as") == f"user/{name}" and row.get("refused") in DENIED})


def test_it_is_enough(front):
    admin = front.laptop("admin")
    policy = policy_of(admin, admin.file("cluster.yaml", cluster(front)))
    ada = front.limited_laptop("ada", policy)
    file = ada.file("cluster.yaml", cluster(front))
    checked = ada("check", file)
    assert "warning" not in checked.out, checked.out
    ada("up", "-y", file)
    assert "demo" in ada("ls", "--region", "us-west-2").out
    ada("down", "-y", file, env=SOON)
    assert refused(front, "ada") == []
    assert front.remains() == {}


# For each statement a command that fails without it. What `up` and `down` need is tested with them.
NEEDED = {"Look": "check", "LookAtAccount": "ls", "FindNewestImage": "check", "Launch": "check",
          "LaunchFrom": "check", "MakeKeyGroupAndLease": "check", "TagWhatIsMade": "check",
          "ChangeOwn": "up", "HeadRole": "check", "ListRoles": "ls",
          "MakeSpotRole": "check", "EncryptDisks": "check"}
# Those that IAM's simulation shows, so that nothing is refused, and in which account.
SIMULATED = {"HeadRole": {}, "MakeSpotRole": {"spot_role": 0},
             "EncryptDisks": {"ebs_key": "arn:aws:kms:us-west-2:123456789012:key/1"}}


def test_each_statement_is_needed(front):
    admin = front.laptop("admin")
    text = cluster(front)
    for node_type in text["available_node_types"].values():
        node_type["node_config"].pop("ImageId")
    with_image = admin.file("cluster.yaml", cluster(front))
    policy = policy_of(admin, with_image)
    assert {s["Sid"] for s in policy["Statement"]} == set(NEEDED)
    for sid, verb in NEEDED.items():
        name = sid.lower()
        less = {**policy, "Statement": [s for s in policy["Statement"] if s["Sid"] != sid]}
        user = front.limited_laptop(name, less)
        file = user.file("cluster.yaml", cluster(front))
        if sid == "FindNewestImage":  # in a region without a default image of Ray
            text["provider"] = {**text["provider"], "region": "us-east-1"}
            file = user.file("other.yaml", text)
            other = policy_of(admin, admin.file("other.yaml", text))
            other["Statement"] = [s for s in other["Statement"] if s["Sid"] != sid]
            user = front.limited_laptop(name, other)
        words = {"check": ["check", file], "ls": ["ls"], "up": ["up", "-y", file]}[verb]
        before = front.set(**SIMULATED.get(sid, {}))
        done = user.run(*words)
        if sid in SIMULATED:
            assert "is ready" not in done.out, (sid, done)
            front.set(**{key: before[key] for key in SIMULATED[sid]})
            continue
        assert refused(front, name), (sid, done)
        if verb == "up":
            assert done.status != 0, (sid, done)
            admin.run("down", "-y", with_image, env=SOON)


@pytest.mark.parametrize("more, sid", [({"IamInstanceProfile": {"Name": "team"}}, "NamedProfiles")])
def test_a_file_that_names_its_profile(front, more, sid):
    laptop = front.laptop("admin")
    text = cluster(front)
    for node_type in text["available_node_types"].values():
        node_type["node_config"].update(more)
    names = {s["Sid"] for s in policy_of(laptop, laptop.file("c.yaml", text))["Statement"]}
    assert sid in names and "HeadRole" not in names


def test_a_lease_that_may_not_be_taken(front):
    """`up` exits at once and names the missing permission."""
    admin = front.laptop("admin")
    policy = policy_of(admin, admin.file("cluster.yaml", cluster(front)))
    for statement in policy["Statement"]:
        actions = statement["Action"]
        if isinstance(actions, list) and "ec2:CreateLaunchTemplateVersion" in actions:
            actions.remove("ec2:CreateLaunchTemplateVersion")
    ada = front.limited_laptop("ada", policy)
    file = ada.file("cluster.yaml", cluster(front))
    # The lease object exists now; taking the lease again needs a new version of it.
    assert ada.run("up", "-y", file, env={"SHOAL_FAILPOINT": "up:after-take"}).status == -9
    done = ada.run("up", "-y", file)
    assert done.status == 1, str(done)
    assert "the cluster's lease cannot be taken, so nothing was launched" in done.err, str(done)
    assert "CreateLaunchTemplateVersion" in done.err, str(done)
    assert front.alive() == []
