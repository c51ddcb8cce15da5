"""The metadata service, as a machine sees it."""

import json

import pytest
from conftest import PLAIN_DATA, refused, wait_for, wait_state

from cloud.client import BedError

ROOT = "http://169.254.169.254/latest"
TOKEN = f"curl -s -m 5 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' {ROOT}/api/token"
TRUST = json.dumps({"Version": "2012-10-17", "Statement": [{
    "Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]})


def get(shell, path, token=True):
    """(status, text) of a path."""
    header = f'-H "X-aws-ec2-metadata-token: $({TOKEN})"' if token is True else token or ""
    said = shell(f"curl -s -m 5 {header} -w '\\n%{{http_code}}' {ROOT}/{path}")
    text, _, status = said.rpartition("\n")
    return int(status), text


# ---- every machine ----


def test_facts(plain, swift_ssh):
    node = plain
    shell = swift_ssh(node)
    for path, value in [
            ("meta-data/instance-id", node["InstanceId"]), ("meta-data/instance-type", "m5.large"),
            ("meta-data/local-ipv4", node["PrivateIpAddress"]),
            ("meta-data/public-ipv4", node["PublicIpAddress"]),
            ("meta-data/placement/availability-zone", "us-west-2a"),
            ("meta-data/placement/region", "us-west-2"), ("user-data", PLAIN_DATA)]:
        assert get(shell, path) == (200, value), path
    assert get(shell, "meta-data/public-keys/") == (200, "0=tests")
    assert get(shell, "meta-data/public-keys/0/openssh-key")[1].startswith("ssh-ed25519 ")
    assert get(shell, "meta-data/nothing")[0] == 404
    assert "instance-id" in get(shell, "meta-data/")[1].splitlines()
    assert json.loads(get(shell, "dynamic/instance-identity/document")[1])["region"] == "us-west-2"


@pytest.mark.parametrize("ttl", ["0", "21601", "x"])
def test_a_token_needs_a_life(plain, ssh, ttl):
    command = TOKEN.replace("seconds: 60", f"seconds: {ttl}")
    assert ssh(plain)(f"{command} -o /dev/null -w '%{{http_code}}'") == "400"


def test_forwarded_requests_are_refused(plain, ssh):
    shell = ssh(plain)
    assert get(shell, "meta-data/instance-id", "-H 'X-Forwarded-For: 1.2.3.4'")[0] == 403


def test_no_profile_no_credentials(plain, ssh):
    assert get(ssh(plain), "meta-data/iam/security-credentials/")[0] == 404


def test_no_notice_for_an_on_demand_machine(running_bed, plain):
    with pytest.raises(BedError, match="not a spot instance"):
        running_bed.notice(plain["InstanceId"])


# ---- machines with special settings ----


def test_tokens_can_be_required(bed, ec2, machine, swift_ssh):
    node = machine()
    shell = swift_ssh(node)
    assert get(shell, "meta-data/instance-id", token=None)[0] == 200
    ec2.modify_instance_metadata_options(InstanceId=node["InstanceId"], HttpTokens="required")
    assert get(shell, "meta-data/instance-id", token=None)[0] == 401
    assert get(shell, "meta-data/instance-id", "-H 'X-aws-ec2-metadata-token: guess'")[0] == 401
    assert get(shell, "meta-data/instance-id")[0] == 200
    ec2.modify_instance_metadata_options(InstanceId=node["InstanceId"], HttpEndpoint="disabled")
    assert get(shell, "meta-data/instance-id")[0] == 403


def test_required_from_the_launch(bed, machine, ssh):
    shell = ssh(machine(MetadataOptions={"HttpTokens": "required"}))
    assert get(shell, "meta-data/instance-id", token=None)[0] == 401


def test_a_token_is_of_one_machine(bed, machine, ssh):
    nodes = [machine(), machine()]
    first, second = (ssh(node) for node in nodes)
    token = first(TOKEN).strip()
    assert get(first, "meta-data/instance-id", f"-H 'X-aws-ec2-metadata-token: {token}'")[0] == 200
    assert get(second, "meta-data/instance-id", f"-H 'X-aws-ec2-metadata-token: {token}'")[0] == 401


def test_credentials_of_the_role(bed, aws, machine, ssh):
    iam = aws("iam")
    iam.create_role(RoleName="head", AssumeRolePolicyDocument=TRUST)
    iam.put_role_policy(RoleName="head", PolicyName="p", PolicyDocument=json.dumps({
        "Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "ec2:Describe*",
                                                "Resource": "*"}]}))
    iam.create_instance_profile(InstanceProfileName="head-profile")
    iam.add_role_to_instance_profile(InstanceProfileName="head-profile", RoleName="head")
    node = machine(IamInstanceProfile={"Name": "head-profile"})
    shell = ssh(node)
    assert get(shell, "meta-data/iam/security-credentials/") == (200, "head")
    made = json.loads(get(shell, "meta-data/iam/security-credentials/head")[1])
    role = {"key": made["AccessKeyId"], "secret": made["SecretAccessKey"], "token": made["Token"]}
    client = aws("ec2", **role)
    client.describe_instances()
    with refused("UnauthorizedOperation"):
        client.terminate_instances(InstanceIds=[node["InstanceId"]])
    assert node["InstanceId"] in aws("sts", **role).get_caller_identity()["Arn"]
    bed.expire("role/head")
    with refused("RequestExpired"):
        client.describe_instances()


# ---- spot ----


def test_a_notice_and_then_the_end(bed, ec2, machine, swift_ssh):
    node = machine(InstanceMarketOptions={"MarketType": "spot"})
    shell = swift_ssh(node)
    assert get(shell, "meta-data/spot/instance-action")[0] == 404
    assert get(shell, "meta-data/events/recommendations/rebalance")[0] == 404
    bed.notice(node["InstanceId"], rebalance=True)
    assert "noticeTime" in get(shell, "meta-data/events/recommendations/rebalance")[1]
    assert get(shell, "meta-data/spot/instance-action")[0] == 404
    bed.notice(node["InstanceId"], seconds=3)
    told = json.loads(get(shell, "meta-data/spot/instance-action")[1])
    assert told["action"] == "terminate"
    found = wait_state(ec2, node["InstanceId"], "terminated", 15)
    assert found["StateReason"]["Code"] == "Server.SpotInstanceTermination"


def test_tags_by_metadata(bed, machine, ssh):
    node = machine(MetadataOptions={"InstanceMetadataTags": "enabled"}, TagSpecifications=[
        {"ResourceType": "instance", "Tags": [{"Key": "slot", "Value": "7"}]}])
    shell = ssh(node)
    wait_for(lambda: get(shell, "meta-data/tags/instance/slot") == (200, "7"), 5)
