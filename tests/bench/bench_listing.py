"""One listing of 1,000 machines, read by us and by botocore's parser, in one run.

usage: bench_listing.py [--machines N] [--write FILE]

Processor time: the best of several readings on each side, of the same bytes. Memory: what stays in
use while the result is held. Ours reads the bytes in pieces of 16 KiB, as a network gives them.

SHOAL_BUILD  the build directory (default: build in the repository)
"""

import argparse
import gc
import json
import os
import pathlib
import subprocess
import sys
import time
import tracemalloc

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "diff"))

BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD") or REPOSITORY / "build").resolve()
PROBE = BUILD / "tests" / "aws_reply_probe"
SKIPPED = 77
REPEATS = 5
RATIO_MIN = 50
LIVE_BYTES_MAX = 2 * 1024 * 1024

try:
    import botocore.parsers
    import botocore.session
except ImportError:
    print("botocore is not installed for this Python")
    sys.exit(SKIPPED)

INSTANCE = """<item><instanceId>i-%(id)017x</instanceId><imageId>ami-0c55b159cbfafe1f0</imageId>
<instanceState><code>16</code><name>running</name></instanceState>
<privateDnsName>ip-10-0-%(a)d-%(b)d.ec2.internal</privateDnsName>
<dnsName>ec2-54-1-%(a)d-%(b)d.compute-1.amazonaws.com</dnsName><reason/>
<keyName>cluster-key</keyName><amiLaunchIndex>0</amiLaunchIndex><productCodes/>
<instanceType>m5.large</instanceType><launchTime>2026-11-15T08:15:57.000Z</launchTime>
<placement><availabilityZone>us-east-1a</availabilityZone><groupName/><tenancy>default</tenancy>
</placement><monitoring><state>disabled</state></monitoring><subnetId>subnet-0a1b2c3d</subnetId>
<vpcId>vpc-0a1b2c3d</vpcId><privateIpAddress>10.0.%(a)d.%(b)d</privateIpAddress>
<ipAddress>54.1.%(a)d.%(b)d</ipAddress><sourceDestCheck>true</sourceDestCheck>
<groupSet><item><groupId>sg-0a1b2c3d</groupId><groupName>ray-cluster</groupName></item></groupSet>
<architecture>x86_64</architecture><rootDeviceType>ebs</rootDeviceType>
<rootDeviceName>/dev/sda1</rootDeviceName><blockDeviceMapping><item><deviceName>/dev/sda1
</deviceName><ebs><volumeId>vol-%(id)017x</volumeId><status>attached</status>
<attachTime>2026-11-15T08:15:58.000Z</attachTime><deleteOnTermination>true</deleteOnTermination>
</ebs></item></blockDeviceMapping><virtualizationType>hvm</virtualizationType>
<clientToken>tok-%(id)x</clientToken>
<tagSet><item><key>ray-cluster-name</key><value>big</value></item>
<item><key>ray-node-type</key><value>worker</value></item>
<item><key>ray-node-status</key><value>up-to-date</value></item>
<item><key>ray-user-node-type</key><value>cpu.large</value></item>
<item><key>ray-launch-config</key><value>%(id)040x</value></item>
<item><key>Name</key><value>ray-big-worker</value></item></tagSet>
<hypervisor>xen</hypervisor><networkInterfaceSet><item>
<networkInterfaceId>eni-%(id)017x</networkInterfaceId><subnetId>subnet-0a1b2c3d</subnetId>
<vpcId>vpc-0a1b2c3d</vpcId><description/><ownerId>123456789012</ownerId><status>in-use</status>
<macAddress>02:00:00:00:%(a)02x:%(b)02x</macAddress>
<privateIpAddress>10.0.%(a)d.%(b)d</privateIpAddress><sourceDestCheck>true</sourceDestCheck>
<attachment><attachmentId>eni-attach-1</attachmentId><deviceIndex>0</deviceIndex>
<status>attached</status><deleteOnTermination>true</deleteOnTermination></attachment>
</item></networkInterfaceSet><ebsOptimized>false</ebsOptimized>
<metadataOptions><state>applied</state><httpTokens>required</httpTokens>
<httpPutResponseHopLimit>1</httpPutResponseHopLimit><httpEndpoint>enabled</httpEndpoint>
</metadataOptions></item>"""


def listing(machines):
    reservations = "".join(
        "<item><reservationId>r-%d</reservationId><ownerId>123456789012</ownerId><groupSet/>"
        "<instancesSet>%s</instancesSet></item>" % (
            number, INSTANCE % {"id": number * 7919, "a": number // 250, "b": number % 250})
        for number in range(machines))
    return ('<?xml version="1.0" encoding="UTF-8"?>\n<DescribeInstancesResponse xmlns='
            '"http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId><reservationSet>%s'
            '</reservationSet></DescribeInstancesResponse>' % reservations)


def time_ours(body):
    record = json.dumps({"op": "time", "body": body}).encode()
    done = subprocess.run([str(PROBE)], input=b"%d\n%s" % (len(record), record), timeout=120,
                          stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def time_theirs(body):
    model = botocore.session.get_session().get_service_model("ec2")
    shape = model.operation_model("DescribeInstances").output_shape
    parser = botocore.parsers.create_parser("ec2")
    reply = {"body": body.encode(), "headers": {}, "status_code": 200}
    parser.parse(reply, shape)  # shapes are resolved once
    best = float("inf")
    for _ in range(REPEATS):
        gc.collect()
        start = time.process_time()
        parser.parse(reply, shape)
        best = min(best, time.process_time() - start)
    tracemalloc.start()
    result = parser.parse(reply, shape)
    live = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return best, live, sum(len(r["Instances"]) for r in result["Reservations"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machines", type=int, default=1000)
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    body = listing(options.machines)
    ours = time_ours(body)
    seconds, live, count = time_theirs(body)
    ratio = seconds / ours["seconds"]
    line = ("%d machines, %.1f MB of XML: ours %.2f ms and %.2f MB, botocore %.1f ms and %.1f MB: "
            "%.0f times less processor time, %.0f times less memory" % (
                count, len(body) / 1e6, ours["seconds"] * 1e3, ours["live_bytes"] / 1e6,
                seconds * 1e3, live / 1e6, ratio, live / ours["live_bytes"]))
    print(line)
    if options.write:
        options.write.write_text(line + "\n")
    good = (ours["count"] == count == options.machines and ratio >= RATIO_MIN
            and ours["live_bytes"] <= LIVE_BYTES_MAX)
    print("ok" if good else "FAILED: wanted %d times and at most %d bytes" % (
        RATIO_MIN, LIVE_BYTES_MAX))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
