"""Hand-made replies in EC2's format: order, blanks, escapes and unknown elements vary."""

import random
from xml.sax.saxutils import escape

STATES = ["pending", "running", "shutting-down", "terminated", "stopping", "stopped"]
TEXTS = ["plain", "a & b", "<tag>", "é \U0001F680", "", " blanks ", "quote\"'", "数据", "x" * 300]
TAGS = ["ray-cluster-name", "ray-node-type", "shoal-uid", "Name", "cost", "aws:ec2:fleet-id", "ray"]
UNKNOWN = ["<future>x</future>", "<deep><a><item><instanceId>i-no</instanceId></item></a></deep>",
           "<empty/>", "<!-- a comment -->", "<networkInterfaceSet><item><privateIpAddress>9.9.9.9"
           "</privateIpAddress><tagSet><item><key>ray-x</key><value>no</value></item></tagSet>"
           "</item></networkInterfaceSet>"]


class Maker:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def text(self, value):
        if self.rng.random() < 0.1 and "]]>" not in value:
            return "<![CDATA[" + value + "]]>"
        return "".join("&#%d;" % ord(c) if self.rng.random() < 0.02 else escape(c) for c in value)

    def leaf(self, name, value):
        return "<%s>%s</%s>" % (name, self.text(value), name)

    def shuffle(self, parts):
        rng = self.rng
        parts = list(parts)
        if rng.random() < 0.5:
            rng.shuffle(parts)
        for _ in range(rng.choice([0, 0, 1, 2])):
            parts.insert(rng.randrange(len(parts) + 1), rng.choice(UNKNOWN))
        return rng.choice(["", "", "\n    ", "\t"]).join(parts)

    def tags(self):
        rng = self.rng
        pairs = [(key, rng.choice(TEXTS)) for key in rng.sample(TAGS, rng.randrange(len(TAGS)))]
        return "<tagSet>%s</tagSet>" % "".join(
            "<item>%s</item>" % self.shuffle([self.leaf("key", key), self.leaf("value", value)])
            for key, value in pairs)

    def instance(self):
        rng = self.rng
        state = rng.choice(STATES)
        parts = [self.leaf("instanceId", "i-%017x" % rng.getrandbits(68)),
                 self.leaf("imageId", "ami-0123456789abcdef0"),
                 "<instanceState><code>16</code>%s</instanceState>" % self.leaf("name", state),
                 self.leaf("instanceType", rng.choice(["m5.large", "p5.48xlarge"])),
                 self.leaf("launchTime", "2026-0%d-1%dT0%d:00:0%d.000Z" % tuple(
                     rng.randrange(1, 10) for _ in range(4))),
                 "<placement>%s<groupName/><tenancy>default</tenancy></placement>" % self.leaf(
                     "availabilityZone", rng.choice(["us-east-1a", "us-east-1b"]))]
        if state in ("running", "pending"):
            parts.append(self.leaf("privateIpAddress", "10.0.%d.%d" % (
                rng.randrange(256), rng.randrange(256))))
        if rng.random() < 0.4:
            parts.append(self.leaf("ipAddress", "54.1.2.%d" % rng.randrange(256)))
        if rng.random() < 0.5:
            parts.append(self.leaf("subnetId", "subnet-0abc"))
        if rng.random() < 0.3:
            parts.append(self.leaf("instanceLifecycle", rng.choice(["spot", "scheduled"])))
        if rng.random() < 0.3:
            parts.append("<stateReason>%s%s</stateReason>" % (
                self.leaf("code", "Server.SpotInstanceTermination"),
                self.leaf("message", rng.choice(TEXTS))))
        if rng.random() < 0.6:
            parts.append(self.leaf("clientToken", rng.choice(["tok-1", "tok-2", ""])))
        if rng.random() < 0.8:
            parts.append(self.tags())
        return "<item>%s</item>" % self.shuffle(parts)

    def instances(self, count):
        return "<instancesSet>%s</instancesSet>" % "".join(self.instance() for _ in range(count))

    def wrap(self, root, parts):
        start = self.rng.choice(["", '<?xml version="1.0" encoding="UTF-8"?>\n'])
        return '%s<%s xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">%s</%s>%s' % (
            start, root, self.shuffle(parts), root, self.rng.choice(["", "\n"]))

    def listed(self, most=6):
        rng = self.rng
        reservations = "".join("<item>%s</item>" % self.shuffle(
            ["<reservationId>r-1</reservationId>", self.instances(rng.randrange(1, 4))])
            for _ in range(rng.randrange(most)))
        parts = ["<requestId>r</requestId>", "<reservationSet>%s</reservationSet>" % reservations]
        if rng.random() < 0.4:
            parts.append(self.leaf("nextToken", "eyJ2IjoiMiJ9 =+/"))
        return self.wrap("DescribeInstancesResponse", parts)

    def launched(self):
        return self.wrap("RunInstancesResponse", [
            "<reservationId>r-1</reservationId>", self.instances(self.rng.randrange(1, 5))])

    def changed(self, action):
        items = "".join("<item>%s</item>" % self.shuffle(
            [self.leaf("instanceId", "i-%x" % self.rng.getrandbits(40)),
             "<currentState><code>32</code>%s</currentState>" % self.leaf(
                 "name", self.rng.choice(STATES)),
             "<previousState><code>16</code><name>running</name></previousState>"])
            for _ in range(self.rng.randrange(4)))
        return self.wrap(action + "Response", ["<instancesSet>%s</instancesSet>" % items])
