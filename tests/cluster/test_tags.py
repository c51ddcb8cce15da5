"""What Ray's own tools read of a cluster: tags, names and hashes on its instances."""

import hashlib

import driver
import files
import pytest

util = pytest.importorskip("ray.autoscaler._private.util")


def check_keys(made, users_key):
    """No file on the head has the user's own key; the head reaches its workers with another one."""
    head, worker = made.machines()
    listed = driver.in_machine(head["InstanceId"], "sh", "-c",
                               "sudo find / -xdev -type f -size -64k -exec sha256sum {} + "
                               "2>/dev/null; true")
    sums = {line.split()[0] for line in listed.splitlines()}
    assert len(sums) > 1000
    text = users_key.read_bytes()
    assert not {hashlib.sha256(t).hexdigest() for t in (text, text.strip())} & sums
    body = text.split(b"\n")[3].decode()  # the first lines are the same in all keys
    found = driver.in_machine(head["InstanceId"], "sh", "-c",
                              f"sudo grep -rlsF {body} /home /root /tmp /etc /var; true")
    assert found.strip() == ""
    assert driver.in_machine(
        head["InstanceId"], "ssh", "-o", "StrictHostKeyChecking=yes", "-o", "BatchMode=yes",
        "-o", f"UserKnownHostsFile=~/.shoal/cluster/known_hosts/{worker['InstanceId']}",
        "-o", f"HostKeyAlias={worker['InstanceId']}", "-i", "ray_bootstrap_key.pem",
        worker["PrivateIpAddress"], "echo came in").strip() == "came in"


def test_tags_are_those_of_ray(cluster, ec2, group, key_name, key_files):
    """The launch hash is also Ray's, for a file that names image, subnet, group and key."""
    subnet = next(s["SubnetId"] for s in ec2.describe_subnets()["Subnets"]
                  if s["AvailabilityZone"] == "us-west-2a" and s["MapPublicIpOnLaunch"])
    inner = group({"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22,
                   "IpRanges": [{"CidrIp": f"{driver.settings.LAPTOP}/32"}]})
    ec2.authorize_security_group_ingress(GroupId=inner, IpPermissions=[
        {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": inner}]}])
    config = files.quick("tagged", workers=1)
    config["auth"]["ssh_private_key"] = str(key_files[0])
    for kind in config["available_node_types"].values():
        kind["node_config"].update(SubnetIds=[subnet], SecurityGroupIds=[inner], KeyName=key_name)
    made = cluster(config)
    made.up()
    head, worker = made.machines()
    # Ray writes its status during the launch; the tests do not wait for that.
    driver.wait_for(lambda: all(driver.tag_of(i, "ray-node-status") == "up-to-date"
                                for i in made.machines()), 30)
    head, worker = made.machines()
    for machine, kind in ((head, "head"), (worker, "worker")):
        wanted = {"ray-cluster-name": "tagged", "ray-node-type": kind,
                  # Ray's EC2 provider stores ray-node-name under this name.
                  "ray-user-node-type": kind, "Name": f"ray-tagged-{kind}",
                  "ray-node-status": "up-to-date",
                  "ray-launch-config": util.hash_launch_conf(
                      config["available_node_types"][kind]["node_config"], config["auth"])}
        have = {tag["Key"]: tag["Value"] for tag in machine["Tags"]}
        assert {key: have.get(key) for key in wanted} == wanted, kind
        assert machine["SubnetId"] == subnet
        assert [g["GroupId"] for g in machine["SecurityGroups"]] == [inner]
        assert machine["KeyName"] == key_name
    assert driver.tag_of(head, "ray-runtime-config")
    check_keys(made, key_files[0])
    made.down()
    left = made.remains()
    assert left == {}
    # Resources that the file names belong to the user and stay.
    assert ec2.describe_security_groups(GroupIds=[inner])["SecurityGroups"]
    assert ec2.describe_key_pairs(KeyNames=[key_name])["KeyPairs"]
