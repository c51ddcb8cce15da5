"""Security groups, on real machines: what can reach a node, from the laptop and from other
nodes.
"""

import pytest
from conftest import FROM_LAPTOP, is_silent, refused, tcp, wait_state

from cloud import settings

VPC = settings.VPCS[settings.REGION]


def opens(shell, address, port):
    """Can that machine open a port of another?"""
    return shell.run(f"nc -z -w 1 {address} {port}").returncode == 0


def none_opens(shell, *places):
    """Which of these (address, port) pairs are open; all at once, because a dropped packet takes
    time.
    """
    tries = " & ".join(f"{{ nc -z -w 1 {address} {port} && echo {address}:{port}; }}"
                       for address, port in places)
    return shell(f"command -v nc > /dev/null && {{ {tries} & wait; true; }}") == ""


def listen(shell, port):
    shell(f"(nohup nc -lk -p {port} >/dev/null 2>&1 &) ; sleep 0.3")


# ---- the API ----


def test_a_group_with_members_stays(paper, ec2, run, group):
    paper.set(terminating=1.0)
    ident = group()
    node = run(SecurityGroupIds=[ident])[0]
    with refused("DependencyViolation"):
        ec2.delete_security_group(GroupId=ident)
    ec2.terminate_instances(InstanceIds=[node])
    with refused("DependencyViolation"):
        ec2.delete_security_group(GroupId=ident)
    wait_state(ec2, node, "terminated")
    ec2.delete_security_group(GroupId=ident)
    with refused("InvalidGroup.NotFound"):
        ec2.delete_security_group(GroupId=ident)


def test_a_group_named_by_another_stays(paper, ec2, group):
    first = group()
    group(tcp(22, group=first))
    with refused("DependencyViolation"):
        ec2.delete_security_group(GroupId=first)


def test_the_default_group_stays(paper, ec2):
    groups = ec2.describe_security_groups(GroupNames=["default"])["SecurityGroups"]
    with refused("CannotDelete"):
        ec2.delete_security_group(GroupId=groups[0]["GroupId"])


def test_duplicates(paper, ec2, group):
    ident = group(FROM_LAPTOP)
    with refused("InvalidPermission.Duplicate"):
        ec2.authorize_security_group_ingress(GroupId=ident, IpPermissions=[FROM_LAPTOP])


# ---- the laptop ----


def test_the_laptop_needs_a_rule(bed, ec2, machine, group, ssh):
    ident = group()
    node = machine(SecurityGroupIds=[ident])
    assert is_silent(node)
    ec2.authorize_security_group_ingress(GroupId=ident, IpPermissions=[FROM_LAPTOP])
    ssh(node)
    ec2.revoke_security_group_ingress(GroupId=ident, IpPermissions=[FROM_LAPTOP])
    assert is_silent(node)


def test_a_rule_for_somebody_else_does_not_help(bed, machine, group):
    node = machine(SecurityGroupIds=[group(tcp(22, VPC), tcp(22, "198.18.128.2/32"))])
    assert is_silent(node)


def test_only_the_port_of_the_rule(bed, machine, group, ssh):
    node = machine(SecurityGroupIds=[group(FROM_LAPTOP)])
    shell = ssh(node)
    listen(shell, 8265)
    assert is_silent(node, 8265)


def test_the_private_address_is_not_the_laptop_s(bed, machine, ssh):
    node = machine()
    ssh(node)
    private = node["PrivateIpAddress"]
    assert is_silent(private)
    bed.set(vpn=1)
    ssh(private)


# ---- node to node ----


def test_between_nodes_only_by_rule(bed, ec2, machine, group, ssh, swift_ssh):
    inner = group(FROM_LAPTOP)
    ec2.authorize_security_group_ingress(GroupId=inner, IpPermissions=[
        {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": inner}]}])
    first, second = machine(SecurityGroupIds=[inner]), machine(SecurityGroupIds=[inner])
    stranger = machine(SecurityGroupIds=[group(FROM_LAPTOP)])
    shell, outside = ssh(first), swift_ssh(stranger)
    listen(shell, 6379)
    assert opens(ssh(second), first["PrivateIpAddress"], 6379)
    assert none_opens(outside, (first["PrivateIpAddress"], 6379), (first["PrivateIpAddress"], 22))
    # A change to a group of a running machine applies at once.
    ec2.modify_instance_attribute(InstanceId=stranger["InstanceId"], Groups=[inner])
    assert opens(outside, first["PrivateIpAddress"], 6379)


def test_by_address_range(bed, machine, group, ssh):
    open_one = machine(SecurityGroupIds=[group(FROM_LAPTOP, tcp(7000, VPC))])
    other = machine()
    listen(ssh(open_one), 7000)
    shell = ssh(other)
    assert opens(shell, open_one["PrivateIpAddress"], 7000)
    assert not opens(shell, open_one["PrivateIpAddress"], 22)


# ---- private subnets ----


@pytest.fixture
def private_subnet(ec2):
    rows = ec2.describe_subnets(Filters=[{"Name": "tag:Name", "Values": ["private-a"]}])["Subnets"]
    return rows[0]["SubnetId"]


def test_a_private_subnet_by_a_jump_host(bed, machine, group, ssh, private_subnet, key_files):
    jump_group = group(FROM_LAPTOP)
    jump = machine(SecurityGroupIds=[jump_group])
    hidden = machine(SubnetId=private_subnet, SecurityGroupIds=[group(tcp(22, group=jump_group))])
    assert "PublicIpAddress" not in hidden
    address = hidden["PrivateIpAddress"]
    assert is_silent(address)
    words = ssh(jump).words
    proxy = " ".join(words[:-1]) + f" -W %h:%p {words[-1]}"
    assert ssh(address, "-o", f"ProxyCommand={proxy}")("hostname").strip() == \
        "ip-" + address.replace(".", "-")


def test_nothing_leaves_the_machine(bed, machine, swift_ssh):
    shell = swift_ssh(machine())
    assert none_opens(shell, ("192.0.2.1", 80), ("10.0.0.1", 80), (settings.LAPTOP, 22))
    # On the host only the cloud's ports are open.
    assert opens(shell, settings.GATEWAY, settings.API_PORT)
    assert none_opens(shell, (settings.GATEWAY, settings.CONTROL_PORT),
                      (settings.GATEWAY, settings.RELAY_PORT))
