"""The metadata service at 169.254.169.254: IMDSv2, user-data, credentials, spot notices.

The caller's address identifies the node. IMDSv1 answers unless the instance requires tokens.
"""

import json
import secrets
import threading
import time

from . import settings
from .wire import Reply

TTL_HEADER, TOKEN_HEADER = "x-aws-ec2-metadata-token-ttl-seconds", "x-aws-ec2-metadata-token"
TTL_MAX = 21600


class Metadata:
    def __init__(self, cloud):
        self.cloud = cloud
        self.roles = {}   # (instance, role) -> credentials, the same until they are about to expire
        self.tokens = {}  # token -> (instance, expiry)
        self.lock = threading.Lock()

    def answer(self, call):
        node = self.cloud.nodes.at(call.source)
        if node is None or not node.imds or "x-forwarded-for" in call.headers:
            return plain(403, "Forbidden")
        path = "/" + call.target.partition("?")[0].strip("/")
        self.cloud.count("imds", path, node.id)
        if path == "/latest/api/token":
            return self.new_token(call, node)
        if call.method not in ("GET", "HEAD"):
            return plain(405, "Method Not Allowed")
        token = call.headers.get(TOKEN_HEADER)
        if token is None and node.tokens_required:
            return plain(401, "Unauthorized")
        if token is not None and not self.good(token, node):
            return plain(401, "Unauthorized")
        value = self.value(node, path)
        return plain(404, "Not Found") if value is None else plain(200, value)

    def new_token(self, call, node):
        text = call.headers.get(TTL_HEADER, "")
        if call.method != "PUT":
            return plain(405, "Method Not Allowed")
        if not text.isdigit() or not 1 <= int(text) <= TTL_MAX:
            return plain(400, "Bad Request")
        token = secrets.token_urlsafe(40)
        with self.lock:
            self.tokens[token] = (node.id, time.monotonic() + int(text))
        reply = plain(200, token)
        reply.headers[TTL_HEADER] = text
        return reply

    def good(self, token, node):
        with self.lock:
            ident, end = self.tokens.get(token, ("", 0.0))
        return ident == node.id and time.monotonic() < end

    # ---- the tree ----

    def value(self, node, path):
        """Text or bytes of a path; a folder lists its names; None: 404."""
        words = path.strip("/").split("/")
        if words[0] not in ("latest", "2009-04-04", "2021-03-23", "2019-10-01", "2016-09-02",
                            "2020-10-27", "2021-01-03"):
            return "latest\n2009-04-04\n2021-03-23" if path == "/" else None
        if words[1:] == ["user-data"]:
            return node.user_data or None
        if words[1:] == ["dynamic", "instance-identity", "document"]:
            return self.document(node)
        if words[1:] == ["dynamic", "instance-identity"]:
            return "document"
        if words[1:2] != ["meta-data"]:
            return "dynamic\nmeta-data\nuser-data" if len(words) == 1 else None
        here = self.tree(node)
        for word in words[2:]:
            here = here.get(word) if isinstance(here, dict) else None
            if here is None:
                return None
        if callable(here):
            return here()
        if here and words[-1] == "public-keys":  # these have listings of their own
            return f"0={node.key_name}"
        if isinstance(here, dict):
            return "\n".join(name + ("/" if isinstance(inner, dict) else "")
                             for name, inner in here.items() if inner is not None)
        return here

    def tree(self, node):
        cloud = self.cloud
        name = "ip-" + node.private.replace(".", "-") + f".{node.region}.compute.internal"
        groups = cloud.moto.groups(node.region)
        profile = cloud.moto.profile(node.profile) if node.profile else None
        role = profile[2] if profile else None
        key = cloud.moto.public_key(node.region, node.key_name)
        mac = "02:42:" + ":".join(f"{int(n):02x}" for n in node.private.split("."))
        subnet = cloud.moto.subnet(node.region, node.subnet)
        return {
            "ami-id": node.image, "ami-launch-index": "0", "hostname": name, "instance-id": node.id,
            "instance-life-cycle": "spot" if node.spot else "on-demand",
            "instance-type": node.type, "local-hostname": name, "local-ipv4": node.private,
            "mac": mac, "network": {"interfaces": {"macs": {mac: {
                "device-number": "0", "local-ipv4s": node.private, "mac": mac,
                "subnet-id": node.subnet, "vpc-id": subnet.vpc_id,
                "subnet-ipv4-cidr-block": subnet.cidr_block}}}},
            "placement": {"availability-zone": node.zone, "region": node.region},
            "public-ipv4": node.public, "reservation-id": "r-" + node.id[2:],
            "security-groups": "\n".join(groups[g].name for g in cloud.moto.groups_of(
                node.region, node.id) if g in groups),
            "public-keys": {"0": {"openssh-key": key}} if key else None,
            "services": {"domain": "amazonaws.com", "partition": "aws"},
            "iam": {"info": json.dumps({"Code": "Success", "InstanceProfileArn": profile[0],
                                        "InstanceProfileId": profile[1]}),
                    "security-credentials": {role: lambda: self.credentials(node, role)}
                    if role else None} if profile else None,
            "spot": {"instance-action": json.dumps(node.notice),
                     "termination-time": node.notice["time"]} if node.notice else None,
            "events": {"recommendations": {"rebalance": json.dumps(
                {"noticeTime": node.rebalance})}} if node.rebalance else None,
            "tags": {"instance": cloud.moto.tags_of(node.region, node.id)}
            if node.imds_tags else None,
        }

    def credentials(self, node, role):
        made = self.roles.get((node.id, role))
        life = self.cloud.tunables.role_seconds
        if made is None or made.expires - time.time() < life / 6:
            made = self.cloud.identities.mint("role", role, life, node.id)
            self.roles[node.id, role] = made
        return json.dumps({
            "Code": "Success", "LastUpdated": stamp(time.time()), "Type": "AWS-HMAC",
            "AccessKeyId": made.key, "SecretAccessKey": made.secret, "Token": made.token,
            "Expiration": stamp(made.expires)})

    def document(self, node):
        image = self.cloud.moto.image(node.region, node.image)
        return json.dumps({
            "accountId": settings.ACCOUNT,
            "architecture": image.architecture if image else "x86_64",
            "availabilityZone": node.zone, "imageId": node.image, "instanceId": node.id,
            "instanceType": node.type, "privateIp": node.private, "region": node.region,
            "version": "2017-09-30"})


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def plain(status, value):
    data = value if isinstance(value, bytes) else str(value).encode()
    return Reply(status, data, {"Content-Type": "text/plain", "Server": "EC2ws"})
