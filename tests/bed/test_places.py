"""What a launcher queries before a launch: regions, types, images, networks, quotas, disks."""

import json
import re

import pytest
from conftest import BASE, by_id, refused, wait_for, wait_state

from cloud import settings

RAY_DEFAULT = settings.AMIS[-1].id
TRUST = json.dumps({"Version": "2012-10-17", "Statement": [{
    "Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]})
ALLOW = json.dumps({"Version": "2012-10-17", "Statement": [{
    "Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"}]})
MANAGED = "arn:aws:iam::aws:policy/AmazonEC2ReadOnlyAccess"


def tags(**pairs):
    return [{"Key": key, "Value": value} for key, value in pairs.items()]


def tagged(kind, **pairs):
    return [{"ResourceType": kind, "Tags": tags(**pairs)}]


def by_tag(name, *values):
    return [{"Name": f"tag:{name}", "Values": list(values)}]


# ---- regions and zones ----


def test_regions_and_one_that_is_closed(paper, aws, ec2):
    def names(**more):
        return {r["RegionName"]: r["OptInStatus"] for r in ec2.describe_regions(**more)["Regions"]}

    have = {name: "opt-in-not-required" for name in ("us-east-1", "us-west-2")}
    assert names() == have
    assert names(AllRegions=True) == {**have, settings.CLOSED_REGION: "not-opted-in"}
    assert names(RegionNames=["us-east-1"]) == {"us-east-1": "opt-in-not-required"}
    assert names(AllRegions=True, Filters=[{"Name": "opt-in-status",
                                            "Values": ["not-opted-in"]}]) == {
        settings.CLOSED_REGION: "not-opted-in"}
    with refused("InvalidParameterValue"):
        names(RegionNames=["mars-north-1"])
    with refused("AuthFailure"):
        aws("ec2", region=settings.CLOSED_REGION).describe_instances()


def test_a_zone_without_a_subnet(paper, ec2, run):
    zones = {z["ZoneName"] for z in ec2.describe_availability_zones()["AvailabilityZones"]}
    assert zones > {"us-west-2a", "us-west-2b"}
    empty = min(zones - {"us-west-2a", "us-west-2b"})
    with refused("MissingInput"):
        run(Placement={"AvailabilityZone": empty})
    with refused("InvalidParameterValue"):
        run(Placement={"AvailabilityZone": "us-west-2z"})


# ---- types ----


def test_types_by_name(paper, ec2):
    found = ec2.describe_instance_types(InstanceTypes=["m5.large", "m6g.large"])["InstanceTypes"]
    facts = {t["InstanceType"]: t for t in found}
    assert facts["m5.large"]["VCpuInfo"]["DefaultVCpus"] == 2
    assert facts["m5.large"]["MemoryInfo"]["SizeInMiB"] == 8192
    assert facts["m6g.large"]["ProcessorInfo"]["SupportedArchitectures"] == ["arm64"]
    with refused("InvalidInstanceType"):
        ec2.describe_instance_types(InstanceTypes=["m5.large", "m5.enormous"])
    with refused("InvalidParameterCombination"):
        ec2.describe_instance_types(InstanceTypes=["m5.large"], MaxResults=5)


def test_offerings_by_zone(paper, ec2):
    def zones(*types):
        pages = ec2.get_paginator("describe_instance_type_offerings").paginate(
            LocationType="availability-zone", Filters=[{"Name": "instance-type",
                                                        "Values": list(types)}])
        return {(o["InstanceType"], o["Location"]) for page in pages
                for o in page["InstanceTypeOfferings"]}

    assert {("m5.large", "us-west-2a"), ("m5.large", "us-west-2b")} <= zones("m5.large")
    assert zones("m5.l*") == zones("m5.large")
    assert zones("m5.enormous") == set()


def test_offerings_come_in_pages(paper, ec2):
    asked = {"LocationType": "availability-zone", "Filters": [
        {"Name": "instance-type", "Values": ["m5.*"]}, {"Name": "location",
                                                        "Values": ["us-west-2a"]}]}
    whole = ec2.describe_instance_type_offerings(**asked)["InstanceTypeOfferings"]
    first = ec2.describe_instance_type_offerings(MaxResults=5, **asked)
    assert len(first["InstanceTypeOfferings"]) == 5 and first["NextToken"]
    pages = ec2.get_paginator("describe_instance_type_offerings").paginate(
        PaginationConfig={"PageSize": 5}, **asked)
    assert [o for page in pages for o in page["InstanceTypeOfferings"]] == whole
    everything = ec2.describe_instance_type_offerings(LocationType="availability-zone")
    assert len(everything["InstanceTypeOfferings"]) == 1000 and everything["NextToken"]


# ---- images ----


@pytest.mark.parametrize("region", ("us-east-1", "us-west-2"))
@pytest.mark.parametrize("name, arch", [
    ("/aws/service/canonical/ubuntu/server/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id",
     "x86_64"),
    ("/aws/service/canonical/ubuntu/server/22.04/stable/current/arm64/hvm/ebs-gp2/ami-id", "arm64"),
    ("/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id",
     "x86_64"),
    ("/aws/service/canonical/ubuntu/server/24.04/stable/current/arm64/hvm/ebs-gp3/ami-id", "arm64"),
    ("/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64", "x86_64"),
    ("/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64", "arm64")])
def test_newest_images_by_parameter(paper, aws, region, name, arch):
    ssm = aws("ssm", region=region)
    ident = ssm.get_parameter(Name=name)["Parameter"]["Value"]
    image = aws("ec2", region=region).describe_images(ImageIds=[ident])["Images"][0]
    assert image["Architecture"] == arch and image["State"] == "available"
    several = ssm.get_parameters(Names=[name, "/aws/service/nothing"])
    assert [p["Value"] for p in several["Parameters"]] == [ident]
    assert several["InvalidParameters"] == ["/aws/service/nothing"]
    with refused("ParameterNotFound"):
        ssm.get_parameter(Name="/aws/service/nothing")


def test_ray_s_default_image_is_there_or_gone(paper, aws, ec2, run):
    assert ec2.describe_images(ImageIds=[RAY_DEFAULT])["Images"][0]["ImageId"] == RAY_DEFAULT
    assert run(ImageId=RAY_DEFAULT)
    east = aws("ec2", region="us-east-1")
    with refused("InvalidAMIID.NotFound"):
        east.describe_images(ImageIds=[RAY_DEFAULT])
    with refused("InvalidAMIID.NotFound"):
        run(east, ImageId=RAY_DEFAULT)


# ---- networks ----


def test_networks(paper, ec2, run):
    vpc = ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"][0]
    assert vpc["CidrBlock"] == settings.VPCS[settings.REGION]
    inside = [{"Name": "vpc-id", "Values": [vpc["VpcId"]]}]
    subnets = ec2.describe_subnets(Filters=inside)["Subnets"]
    assert len(subnets) == 3
    tables = ec2.describe_route_tables(Filters=inside)["RouteTables"]
    out = {a["SubnetId"] for t in tables for a in t["Associations"] if "SubnetId" in a
           and any(r.get("GatewayId", "").startswith("igw-") for r in t["Routes"])}
    assert out == {s["SubnetId"] for s in subnets if s["MapPublicIpOnLaunch"]}


def test_a_subnet_has_fewer_addresses_with_machines(paper, ec2, run):
    def free():
        rows = ec2.describe_subnets(Filters=by_tag("Name", "public-a"))["Subnets"]
        return rows[0]["AvailableIpAddressCount"]

    before = free()
    made = run(Count=3)
    assert free() == before - 3
    ec2.terminate_instances(InstanceIds=made)
    for ident in made:
        wait_state(ec2, ident, "terminated")
    assert free() == before


# ---- resources with tags ----


def test_keys_by_tag(paper, ec2, key_files):
    ec2.import_key_pair(KeyName="mine", PublicKeyMaterial=key_files[1].encode(),
                        TagSpecifications=tagged("key-pair", cluster="one"))
    rows = ec2.describe_key_pairs(Filters=by_tag("cluster", "one"))["KeyPairs"]
    assert [(k["KeyName"], k["Tags"]) for k in rows] == [("mine", tags(cluster="one"))]
    assert ec2.describe_key_pairs(Filters=by_tag("cluster", "two"))["KeyPairs"] == []
    with refused("InvalidKeyPair.NotFound") as caught:
        ec2.describe_key_pairs(KeyNames=["mine", "other"])
    assert "'other'" in str(caught.value)
    with refused("InvalidKeyPair.Duplicate"):
        ec2.import_key_pair(KeyName="mine", PublicKeyMaterial=key_files[1].encode())


def test_groups_by_tag(paper, ec2):
    made = ec2.create_security_group(GroupName="mine", Description="d", TagSpecifications=tagged(
        "security-group", cluster="one"))["GroupId"]
    rows = ec2.describe_security_groups(Filters=by_tag("cluster", "one"))["SecurityGroups"]
    assert [(g["GroupId"], g["Tags"]) for g in rows] == [(made, tags(cluster="one"))]
    assert ec2.describe_security_groups(Filters=by_tag("cluster", "two"))["SecurityGroups"] == []
    with refused("InvalidGroup.NotFound") as caught:
        ec2.describe_security_groups(GroupIds=[made, "sg-0123456789abcdef0"])
    assert "'sg-0123456789abcdef0'" in str(caught.value)
    with refused("InvalidGroup.Duplicate"):
        ec2.create_security_group(GroupName="mine", Description="d")


# ---- disks ----


def test_disks_of_a_stopped_instance(paper, ec2, run):
    ident = run(BlockDeviceMappings=[
        {"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 140, "VolumeType": "gp3"}},
        {"DeviceName": "/dev/sdb", "Ebs": {"VolumeSize": 20, "DeleteOnTermination": False}}],
        TagSpecifications=tagged("volume", cluster="one"))[0]
    wait_state(ec2, ident, "running")
    ec2.stop_instances(InstanceIds=[ident])
    wait_state(ec2, ident, "stopped")
    asked = [{"Name": "attachment.instance-id", "Values": [ident]}]
    rows = ec2.describe_volumes(Filters=asked)["Volumes"]
    assert sorted(v["Size"] for v in rows) == [20, 140]
    assert all(v["State"] == "in-use" and v["Tags"] == tags(cluster="one") for v in rows)
    disks = {d["DeviceName"]: d["Ebs"]["DeleteOnTermination"]
             for d in by_id(ec2, ident)["BlockDeviceMappings"]}
    assert disks == {"/dev/sda1": True, "/dev/sdb": False}
    ec2.terminate_instances(InstanceIds=[ident])
    wait_state(ec2, ident, "terminated")
    left = wait_for(lambda: len(r := ec2.describe_volumes()["Volumes"]) == 1 and r)
    assert (left[0]["Size"], left[0]["State"]) == (20, "available")


# ---- quotas ----


def test_quotas(paper, aws):
    quotas = aws("service-quotas")
    paper.set(vcpu_quota=64)
    one = quotas.get_service_quota(ServiceCode="ec2", QuotaCode="L-1216C47A")["Quota"]
    assert one["Value"] == 64 and "Standard" in one["QuotaName"]
    pages = quotas.get_paginator("list_service_quotas").paginate(ServiceCode="ec2")
    values = {q["QuotaCode"]: q["Value"] for page in pages for q in page["Quotas"]}
    assert values == {"L-1216C47A": 64, "L-34B43A08": 256}
    default = quotas.get_aws_default_service_quota(ServiceCode="ec2", QuotaCode="L-1216C47A")
    assert default["Quota"]["Value"] == 5
    with refused("NoSuchResourceException"):
        quotas.get_service_quota(ServiceCode="ec2", QuotaCode="L-00000000")


# ---- roles and profiles ----


@pytest.fixture
def profile(paper, aws):
    iam = aws("iam")
    iam.create_role(RoleName="head", AssumeRolePolicyDocument=TRUST)
    iam.put_role_policy(RoleName="head", PolicyName="inline", PolicyDocument=ALLOW)
    iam.attach_role_policy(RoleName="head", PolicyArn=MANAGED)
    iam.create_instance_profile(InstanceProfileName="head")
    return iam


def test_a_profile_needs_a_role(profile, run):
    with refused("InvalidParameterValue") as caught:
        run(IamInstanceProfile={"Name": "head"})
    assert re.search('"arn:.*/head" has no associated IAM Roles', str(caught.value))
    profile.add_role_to_instance_profile(InstanceProfileName="head", RoleName="head")
    assert run(IamInstanceProfile={"Name": "head"})


def test_a_profile_is_not_known_at_once(paper, profile, run):
    paper.set(profile_lag=60)
    profile.create_instance_profile(InstanceProfileName="young")
    profile.add_role_to_instance_profile(InstanceProfileName="young", RoleName="head")
    for given in ({"Name": "young"}, {"Arn": profile.get_instance_profile(
            InstanceProfileName="young")["InstanceProfile"]["Arn"]}):
        with refused("InvalidParameterValue") as caught:
            run(IamInstanceProfile=given)
        assert "Invalid IAM Instance Profile" in str(caught.value)

    def launched():
        try:
            return run(IamInstanceProfile={"Name": "young"})
        except profile.exceptions.ClientError:
            return None

    paper.set(profile_lag=1)
    assert wait_for(launched)


def test_what_is_in_use_is_not_deleted(profile):
    iam = profile
    iam.add_role_to_instance_profile(InstanceProfileName="head", RoleName="head")
    with refused("LimitExceeded"):
        iam.add_role_to_instance_profile(InstanceProfileName="head", RoleName="head")
    with refused("DeleteConflict"):
        iam.delete_instance_profile(InstanceProfileName="head")
    with refused("DeleteConflict"):
        iam.delete_role(RoleName="head")
    iam.remove_role_from_instance_profile(InstanceProfileName="head", RoleName="head")
    with refused("DeleteConflict"):
        iam.delete_role(RoleName="head")
    iam.detach_role_policy(RoleName="head", PolicyArn=MANAGED)
    with refused("DeleteConflict"):
        iam.delete_role(RoleName="head")
    iam.delete_role_policy(RoleName="head", PolicyName="inline")
    iam.delete_role(RoleName="head")
    iam.delete_instance_profile(InstanceProfileName="head")
    for work in (lambda: iam.get_role(RoleName="head"), lambda: iam.delete_role(RoleName="head"),
                 lambda: iam.get_instance_profile(InstanceProfileName="head")):
        with refused("NoSuchEntity"):
            work()


def test_names_of_roles_and_profiles_are_taken_once(profile):
    with refused("EntityAlreadyExists"):
        profile.create_role(RoleName="head", AssumeRolePolicyDocument=TRUST)
    with refused("EntityAlreadyExists"):
        profile.create_instance_profile(InstanceProfileName="head")


def test_the_base_image_is_of_its_publisher(paper, ec2):
    rows = ec2.describe_images(Owners=["099720109477"], Filters=[
        {"Name": "architecture", "Values": ["x86_64"]}])["Images"]
    assert BASE in {image["ImageId"] for image in rows}
