"""The cloud calls of a first `up`, and what `down` says that it removed.

The cluster starts with its maximum number of workers. A cluster that can grow repeats the launch
queries once after it is up, so that its first launch does not have to.
"""

import json
import time

import driver
import files

# Calls that happen once, however slow the instances are: the queries before a launch, the lease
# object, the launches, the claim of the head's service. Three of them, a quota and two dry runs,
# find problems before the first launch that would otherwise show only after it.
ONCE = {"DescribeSubnets": 1, "DescribeImages": 1, "DescribeInstanceTypes": 1,
        "DescribeInstanceTypeOfferings": 1, "CreateLaunchTemplate": 1, "RunInstances": 2,
        "CreateLaunchTemplateVersion": 1, "GetServiceQuota": 1, "RunInstancesDryRun": 1,
        "CreateLaunchTemplateDryRun": 1}
# A slow launch writes its progress to tags and renews its lease.
OF_TIME = ("CreateTags", "DescribeLaunchTemplateVersions")
MOST, QUICK_S = 13, 14


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
