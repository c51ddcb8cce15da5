"""The cloud calls of a first `up`, and what `down` says that it removed.

The cluster starts with its maximum number of workers. A cluster that can grow repeats the launch
queries once after it is up, so that its first launch does not have to.
"""

import json
import time

import driver
import files

# Calls that happen once, however slow the instances are: the queries before a launch, the lease
# object, the launches, the claim of the head's service. A quota, the dry run of each node type, the
# caller's rights to create the role, and the key of new volumes find problems before the first
# launch that would otherwise show only after it. The caller is asked for twice, at the same time:
# for the checks, and as the owner of the records.
ONCE = {"DescribeSubnets": 1, "DescribeImages": 1, "DescribeInstanceTypes": 1,
        "DescribeInstanceTypeOfferings": 1, "CreateLaunchTemplate": 1, "RunInstances": 2,
        "CreateLaunchTemplateVersion": 1, "GetServiceQuota": 1, "RunInstancesDryRun": 2,
        "CreateLaunchTemplateDryRun": 1, "GetCallerIdentity": 2, "GetRole": 1,
        "SimulatePrincipalPolicy": 2, "GetEbsEncryptionByDefault": 1, "GetEbsDefaultKmsKeyId": 1,
        "GetProducts": 3}  # an instance type, and two kinds of volumes
# A slow launch writes its progress to tags and renews its lease.
OF_TIME = ("CreateTags", "DescribeLaunchTemplateVersions")
MOST, QUICK_S = 24, 14


def test_a_first_up_asks_what_it_must(cluster):
    made = cluster(files.quick("calls", workers=2))
    began = time.time()
    made.up()
    took = time.time() - began
    driver.wait_for(lambda: all(driver.tag_of(i, "ray-node-status") == "up-to-date"
                                for i in made.machines()), 30)
    counted, _ = driver.api_calls(began)
    assert {a: n for a, n in counted.items() if a not in OF_TIME} == ONCE, counted
    assert took > QUICK_S or sum(counted.values()) <= MOST, (took, counted)
    said = json.loads(made("down", "-y", "-o", "json").out)
    assert said["terminated_instances"] == 3 and said["left"] == []
    assert said["removed_resources"] == 4  # key pair, security group, role, instance profile
    assert made.remains() == {}
