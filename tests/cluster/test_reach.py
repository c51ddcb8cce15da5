"""Ways to a head that has no public address, or must not be reached by it."""

import driver
import files
import pytest
from bed_conftest import FROM_LAPTOP


@pytest.fixture
def inner(ec2, group):
    """A security group that allows ssh from the laptop, and all traffic between its members."""
    made = group(FROM_LAPTOP)
    ec2.authorize_security_group_ingress(GroupId=made, IpPermissions=[
        {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": made}]}])
    return made


@pytest.fixture
def subnet(ec2):
    """subnet(public): the id of a subnet in us-west-2a."""

    def find(public):
        return next(s["SubnetId"] for s in ec2.describe_subnets()["Subnets"]
                    if s["AvailabilityZone"] == "us-west-2a" and
                    s["MapPublicIpOnLaunch"] == public)

    return find


def placed(name, where, group, workers=1, key=None, **provider):
    config = files.quick(name, workers=workers)
    config["provider"].update(provider)
    for kind in config["available_node_types"].values():
        kind["node_config"].update(SubnetIds=[where], SecurityGroupIds=[group])
        if key:
            kind["node_config"]["KeyName"] = key
    return config


def full_circle(made, address):
    made.up()
    assert made("exec", "hostname").out.strip() == \
        "ip-" + made.machines()[0]["PrivateIpAddress"].replace(".", "-")
    assert made("get-head-ip").out.strip() == made.machines()[0][address]
    made.down()
    assert made.remains() == {}


def test_private_subnet_by_a_jump_host(bed, ec2, cluster, machine, inner, subnet, key_files,
                                       key_name):
    jump = machine(SecurityGroupIds=[inner], SubnetId=subnet(True))
    config = placed("jump", subnet(False), inner, workers=0, key=key_name, use_internal_ips=True)
    config["auth"].update(
        ssh_private_key=str(key_files[0]),
        ssh_proxy_command=f"ssh -F none -i {key_files[0]} -o StrictHostKeyChecking=no -o "
        f"UserKnownHostsFile=/dev/null -W %h:%p ubuntu@{jump['PublicIpAddress']}")
    made = cluster(config)
    full_circle(made, "PrivateIpAddress")
    assert driver.machines(ec2)[0]["InstanceId"] == jump["InstanceId"]


@pytest.mark.long
def test_internal_addresses(bed, cluster, inner, subnet):
    """As from a laptop in the VPC's own network."""
    bed.set(vpn=1)
    full_circle(cluster(placed("inside", subnet(False), inner, use_internal_ips=True)),
                "PrivateIpAddress")


@pytest.mark.long
def test_the_head_from_outside_the_rest_inside(bed, cluster, inner, subnet):
    full_circle(cluster(placed("mixed", subnet(True), inner, use_internal_ips=True,
                               use_external_head_ip=True)), "PublicIpAddress")
