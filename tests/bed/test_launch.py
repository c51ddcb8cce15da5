"""RunInstances and CreateFleet refuse and accept what AWS does. No machines, only the API."""

import base64
import json
import string

import pytest
from conftest import ARM, BASE, by_id, listing, refused, wait_state

from cloud import settings


def subnet_of(ec2, name):
    rows = ec2.describe_subnets(Filters=[{"Name": "tag:Name", "Values": [name]}])["Subnets"]
    return rows[0]["SubnetId"]


# ---- counts ----


def test_launches_up_to_max_count(paper, ec2, run):
    assert len(run(MinCount=1, MaxCount=4)) == 4
    assert len(listing(ec2)) == 4


def test_max_below_min_is_refused(paper, run):
    with refused("InvalidParameterValue"):
        run(MinCount=3, MaxCount=2)


def test_partial_launch_when_capacity_is_short(paper, run):
    paper.capacity(2, type="m5.large", zone="us-west-2a")
    assert len(run(MinCount=1, MaxCount=5)) == 2
    with refused("InsufficientInstanceCapacity") as caught:
        run(MinCount=1, MaxCount=5)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500


def test_capacity_is_of_a_type_and_zone(paper, ec2, run):
    paper.capacity(0, type="m5.large", zone="us-west-2a")
    with refused("InsufficientInstanceCapacity"):
        run()
    assert run(SubnetId=subnet_of(ec2, "public-b"))
    assert run(InstanceType="m5.xlarge")


def test_min_count_is_all_or_nothing(paper, ec2, run):
    paper.capacity(2)
    with refused("InsufficientInstanceCapacity"):
        run(MinCount=3, MaxCount=5)
    assert listing(ec2) == []
    assert len(run(MinCount=2, MaxCount=2)) == 2


# ---- idempotency ----


def test_same_token_same_instances(paper, ec2, run):
    first = run(ClientToken="one", Count=2)
    assert run(ClientToken="one", Count=2) == first
    assert len(listing(ec2)) == 2


def test_same_token_other_parameters(paper, ec2, run):
    run(ClientToken="one")
    with refused("IdempotentParameterMismatch"):
        run(ClientToken="one", InstanceType="m5.xlarge")
    with refused("IdempotentParameterMismatch"):
        run(ClientToken="one", UserData="#!/bin/sh")
    assert len(listing(ec2)) == 1


def test_tokens_are_zonal(paper, ec2, run):
    """A pitfall: the same token in another zone launches a second instance."""
    zones = [subnet_of(ec2, name) for name in ("public-a", "public-b")]
    first = run(ClientToken="one", SubnetId=zones[0])
    assert run(ClientToken="one", SubnetId=zones[1]) != first
    assert run(ClientToken="one", SubnetId=zones[0]) == first
    assert len(listing(ec2)) == 2


def test_tokens_are_regional(paper, aws, run):
    first = run(ClientToken="one")
    assert run(aws("ec2", region="us-east-1"), ClientToken="one") != first


def test_replay_of_a_terminated_instance(paper, ec2, run):
    """AWS reports that its instance was terminated, and does not launch another one."""
    first = run(ClientToken="one")
    ec2.terminate_instances(InstanceIds=first)
    wait_state(ec2, first[0], "terminated")
    with refused("IdempotentInstanceTerminated"):
        run(ClientToken="one")
    assert [i["State"]["Name"] for i in listing(ec2)] == ["terminated"]


def test_a_refused_launch_leaves_its_token_free(paper, run):
    paper.capacity(0)
    with refused("InsufficientInstanceCapacity"):
        run(ClientToken="one")
    paper.clear()
    assert run(ClientToken="one")


def test_token_of_65_characters(paper, run):
    assert run(ClientToken="t" * 64)
    with refused("InvalidParameterValue"):
        run(ClientToken="t" * 65)


# ---- what the request names ----


def test_architecture_must_match(paper, run):
    with refused("InvalidParameterValue") as caught:
        run(ImageId=ARM, InstanceType="m5.large")
    assert "architecture 'arm64' of the specified AMI" in str(caught.value)
    with refused("InvalidParameterValue"):
        run(ImageId=BASE, InstanceType="m6g.large")
    assert run(ImageId=ARM, InstanceType="m6g.large")


@pytest.mark.parametrize("code, fields", [
    ("InvalidAMIID.NotFound", {"ImageId": "ami-0123456789abcdef0"}),
    ("InvalidAMIID.Malformed", {"ImageId": "ami-xyz"}),
    ("InvalidParameterValue", {"InstanceType": "m5.enormous"}),
    ("InvalidKeyPair.NotFound", {"KeyName": "nobody"}),
    ("InvalidGroup.NotFound", {"SecurityGroupIds": ["sg-0123456789abcdef0"]}),
    ("InvalidSubnetID.NotFound", {"SubnetId": "subnet-0123456789abcdef0"}),
    ("InvalidParameterValue", {"IamInstanceProfile": {"Name": "nobody"}}),
    ("InvalidLaunchTemplateName.NotFoundException",
     {"LaunchTemplate": {"LaunchTemplateName": "nobody"}}),
    ("InvalidParameterValue", {"Placement": {"AvailabilityZone": "us-west-2z"}}),
])
def test_unknown_names(paper, ec2, run, code, fields):
    with refused(code):
        run(**fields)
    assert listing(ec2) == []


def test_group_of_another_vpc(paper, ec2, run):
    vpc = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    group = ec2.create_security_group(GroupName="far", Description="x", VpcId=vpc)["GroupId"]
    with refused("InvalidParameter"):
        run(SecurityGroupIds=[group])


def test_every_instance_of_a_launch_has_the_profile(paper, aws, ec2, run):
    iam = aws("iam")
    iam.create_role(RoleName="r", AssumeRolePolicyDocument=json.dumps({
        "Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"},
            "Action": "sts:AssumeRole"}]}))
    iam.create_instance_profile(InstanceProfileName="both")
    iam.add_role_to_instance_profile(InstanceProfileName="both", RoleName="r")
    run(Count=2, IamInstanceProfile={"Name": "both"})
    assert all(i["IamInstanceProfile"]["Arn"].endswith("/both") for i in listing(ec2))


def test_dry_run_checks_and_makes_nothing(paper, ec2, run):
    with refused("DryRunOperation"):
        run(DryRun=True)
    with refused("InvalidAMIID.NotFound"):
        run(DryRun=True, ImageId="ami-0123456789abcdef0")
    assert listing(ec2) == []


# ---- user-data and tags ----


def test_user_data_is_limited(paper, run):
    assert run(UserData="x" * 16384)
    with refused("InvalidParameterValue"):
        run(UserData="x" * 16385)


def test_user_data_can_be_read_back(paper, ec2, run):
    ident = run(UserData="#!/bin/sh\necho hello")[0]
    found = ec2.describe_instance_attribute(InstanceId=ident, Attribute="userData")
    assert base64.b64decode(found["UserData"]["Value"]) == b"#!/bin/sh\necho hello"


def tagged(kind, **tags):
    return {"TagSpecifications": [{"ResourceType": kind, "Tags": [
        {"Key": key, "Value": value} for key, value in tags.items()]}]}


@pytest.mark.parametrize("key, value", [("aws:mine", "x"), ("AWS:mine", "x"), ("k" * 129, "x"),
                                        ("k", "v" * 257), ("", "x")])
def test_bad_tags(paper, ec2, run, key, value):
    with refused("InvalidParameterValue"):
        run(TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": key,
                                                                      "Value": value}]}])
    ident = run()[0]
    with refused("InvalidParameterValue"):
        ec2.create_tags(Resources=[ident], Tags=[{"Key": key, "Value": value}])


def test_too_many_tags(paper, ec2, run):
    tags = {f"k{number}": "v" for number in range(50)}
    ident = run(**tagged("instance", **tags))[0]
    with refused("TagLimitExceeded"):
        run(**tagged("instance", one="more", **tags))
    with refused("TagLimitExceeded"):
        ec2.create_tags(Resources=[ident], Tags=[{"Key": "one", "Value": "more"}])


def test_duplicate_tag_keys(paper, run):
    with refused("InvalidParameterValue"):
        run(TagSpecifications=[{"ResourceType": "instance", "Tags": [
            {"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]}])


def test_tags_of_what_cannot_be_tagged(paper, run):
    with refused("InvalidParameterValue"):
        run(**tagged("subnet", a="b"))


@pytest.mark.parametrize("ident, code", [
    ("i-0123456789abcdef0", "InvalidInstanceID.NotFound"),
    ("sg-0123456789abcdef0", "InvalidGroup.NotFound"),
    ("vol-0123456789abcdef0", "InvalidVolume.NotFound"), ("nonsense", "InvalidID")])
def test_tags_of_what_is_not_there(paper, ec2, ident, code):
    with refused(code):
        ec2.create_tags(Resources=[ident], Tags=[{"Key": "a", "Value": "b"}])


def test_tags_are_there_with_the_instance(paper, ec2, run):
    """An instance is never listed without its tags."""
    ident = run(**tagged("instance", cluster="x"))[0]
    found = listing(ec2, Filters=[{"Name": "tag:cluster", "Values": ["x"]}])
    assert [i["InstanceId"] for i in found] == [ident]


# ---- quotas ----


def test_vcpu_quota(paper, run):
    paper.set(vcpu_quota=8)
    assert len(run(Count=3)) == 3
    with refused("VcpuLimitExceeded"):
        run(Count=2)
    assert len(run(MinCount=1, MaxCount=2)) == 1


def test_an_ending_instance_still_counts(paper, ec2, run):
    paper.set(vcpu_quota=2, terminating=4)
    first = run()
    ec2.terminate_instances(InstanceIds=first)
    with refused("VcpuLimitExceeded"):
        run()
    wait_state(ec2, first[0], "terminated")
    assert run()


SPOT = {"InstanceMarketOptions": {"MarketType": "spot"}}


def test_spot_has_a_quota_of_its_own(paper, run):
    paper.set(spot_vcpu_quota=2)
    assert run(**SPOT)
    with refused("MaxSpotInstanceCountExceeded"):
        run(**SPOT)
    assert run()


def test_quotas_can_be_asked_for(paper, aws):
    quotas = aws("service-quotas")
    paper.set(vcpu_quota=48)
    assert quotas.get_service_quota(ServiceCode="ec2", QuotaCode="L-1216C47A")["Quota"][
        "Value"] == 48
    with refused("NoSuchResourceException"):
        quotas.get_service_quota(ServiceCode="ec2", QuotaCode="L-00000000")


def test_a_spot_instance_has_a_request(paper, ec2, run):
    found = by_id(ec2, run(**SPOT)[0])
    assert found["InstanceLifecycle"] == "spot"
    rows = ec2.describe_spot_instance_requests(
        SpotInstanceRequestIds=[found["SpotInstanceRequestId"]])["SpotInstanceRequests"]
    assert rows[0]["InstanceId"] == found["InstanceId"]


# ---- templates and fleets ----


@pytest.fixture
def template(ec2, request):
    name = "lt-" + "".join(c for c in request.node.name if c in string.ascii_lowercase)[:40]
    ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData={
        "ImageId": BASE, "InstanceType": "m5.large", "TagSpecifications": [
            {"ResourceType": "instance", "Tags": [{"Key": "from", "Value": "template"}]}]})
    yield name
    ec2.delete_launch_template(LaunchTemplateName=name)


def test_a_template_gives_what_the_request_leaves_out(paper, ec2, template):
    made = ec2.run_instances(MinCount=1, MaxCount=1, InstanceType="m5.xlarge", LaunchTemplate={
        "LaunchTemplateName": template})["Instances"][0]
    found = by_id(ec2, made["InstanceId"])
    assert (found["ImageId"], found["InstanceType"]) == (BASE, "m5.xlarge")
    assert {"Key": "from", "Value": "template"} in found["Tags"]


def test_a_template_is_made_once(paper, ec2, template):
    with refused("InvalidLaunchTemplateName.AlreadyExistsException"):
        ec2.create_launch_template(LaunchTemplateName=template,
                                   LaunchTemplateData={"ImageId": BASE})


def fleet(ec2, template, kinds, count, **more):
    return ec2.create_fleet(
        Type="instant", LaunchTemplateConfigs=[{
            "LaunchTemplateSpecification": {"LaunchTemplateName": template, "Version": "$Latest"},
            "Overrides": [{"InstanceType": kind} for kind in kinds]}],
        TargetCapacitySpecification={"TotalTargetCapacity": count,
                                     "DefaultTargetCapacityType": "on-demand"}, **more)


def test_a_fleet_takes_the_next_type_and_tells_why(paper, ec2, template):
    paper.capacity(1, type="m5.large")
    made = fleet(ec2, template, ["m5.large", "m5.xlarge"], 3)
    assert [(row["InstanceType"], len(row["InstanceIds"])) for row in made["Instances"]] == [
        ("m5.large", 1), ("m5.xlarge", 2)]
    made = fleet(ec2, template, ["m5.large"], 1)
    assert made["Instances"] == []
    assert [row["ErrorCode"] for row in made["Errors"]] == ["InsufficientInstanceCapacity"]


def test_a_fleet_is_idempotent(paper, ec2, template):
    first = fleet(ec2, template, ["m5.large"], 2, ClientToken="f")
    assert fleet(ec2, template, ["m5.large"], 2, ClientToken="f")["FleetId"] == first["FleetId"]
    assert len(listing(ec2)) == 2
    with refused("IdempotentParameterMismatch"):
        fleet(ec2, template, ["m5.large"], 3, ClientToken="f")


# ---- regions ----


def test_regions_are_apart(paper, aws, ec2, run):
    east = aws("ec2", region="us-east-1")
    ident = run(east)[0]
    assert listing(ec2) == []
    assert [i["InstanceId"] for i in listing(east)] == [ident]
    with refused("InvalidInstanceID.NotFound"):
        ec2.terminate_instances(InstanceIds=[ident])


def test_the_seeded_subnets(paper, ec2):
    found = {s["CidrBlock"]: s["MapPublicIpOnLaunch"] for s in ec2.describe_subnets()["Subnets"]}
    assert found == {s.cidr: s.public for s in settings.SUBNETS if s.region == settings.REGION}
