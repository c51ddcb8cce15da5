"""What a first `up` asks of the cloud, and what `down` says that it removed.

The cluster has all the workers that it may have: one that may grow asks once more what a launch
depends on, after it is up, so that the first launch need not.
"""

import json
import time

import driver
import files

# What is there once, however slow the machines are: the questions that a launch depends on, the
# lease object, the launches, the claim of the head's service. Three of them, a quota and two dry
# runs, find before a first launch what would fail after it.
ONCE = {"DescribeSubnets": 1, "DescribeImages": 1, "DescribeInstanceTypes": 1,
        "DescribeInstanceTypeOfferings": 1, "CreateLaunchTemplate": 1, "RunInstances": 2,
        "CreateLaunchTemplateVersion": 1, "GetServiceQuota": 1, "RunInstancesDryRun": 1,
        "CreateLaunchTemplateDryRun": 1}
# What takes long is told in tags on the way, and needs its lease renewed.
OF_TIME = ("CreateTags", "DescribeLaunchTemplateVersions")
MOST, QUICK_S = 13, 14


def test_a_first_up_asks_what_it_must(cluster):
    made = cluster(files.quick("calls", workers=2))
    began = time.time()
    made.up()
    took = time.time() - began
    driver.wait_for(lambda: all(driver.tag_of(i, "ray-node-status") == "up-to-date"
                                for i in made.machines()), 10)
    counted, _ = driver.api_calls(began)
    assert {a: n for a, n in counted.items() if a not in OF_TIME} == ONCE, counted
    assert took > QUICK_S or sum(counted.values()) <= MOST, (took, counted)
    said = json.loads(made("down", "-y", "-o", "json").out)
    assert said["removed_machines"] == 3 and said["left"] == []
    assert said["removed_things"] == 4  # key pair, security group, role, instance profile
    assert made.remains() == {}
