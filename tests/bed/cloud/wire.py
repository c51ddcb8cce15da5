"""Requests and replies on the wire: the action, its service, and the protocol of that service.

`Call` is one parsed request. `Refusal` is an error as AWS would return it; `refuse` writes it in
the protocol of the service. `Reply` is the answer.
"""

import dataclasses
import json
import re
import secrets
import urllib.parse
import xml.etree.ElementTree as ET
from xml.sax.saxutils import escape

EC2_NAMESPACE = "http://ec2.amazonaws.com/doc/2016-11-15/"
QUERY_SERVICES = {"sts": "https://sts.amazonaws.com/doc/2011-06-15/",
                  "iam": "https://iam.amazonaws.com/doc/2010-05-08/"}
UNSIGNED = {"AssumeRoleWithWebIdentity": "sts", "AssumeRoleWithSAML": "sts"}


class Refusal(Exception):
    """An error that the caller gets instead of an answer."""

    def __init__(self, code, message, status=400):
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.status = code, message, status


@dataclasses.dataclass
class Reply:
    status: int
    body: bytes
    headers: dict = dataclasses.field(default_factory=dict)
    manner: str = ""       # how it is sent: "", hang, reset or truncate
    seconds: float = 0.0   # before it is sent


@dataclasses.dataclass
class Call:
    method: str
    target: str
    headers: dict  # lower-case names
    body: bytes
    source: str    # address of the caller
    service: str = ""
    region: str = ""
    action: str = ""
    params: dict = dataclasses.field(default_factory=dict)
    access_key: str = ""
    identity: object = None
    done_at: float = None  # when the call took effect, on the cloud's clock
    lease: dict = None     # what it changed of a lease: see front.lease_in()
    resource_arn: str = None  # the one resource, of a question that is not a request

    def get(self, name, default=None):
        return self.params.get(name, default)

    def list(self, prefix):
        """Values of PREFIX.1, PREFIX.2, ... in the order of their numbers."""
        found = []
        for name, value in self.params.items():
            match = re.fullmatch(re.escape(prefix) + r"\.(\d+)", name)
            if match:
                found.append((int(match.group(1)), value))
        return [value for _, value in sorted(found)]

    def items(self, prefix):
        """[{rest: value}] of PREFIX.N.rest."""
        found = {}
        for name, value in self.params.items():
            match = re.fullmatch(re.escape(prefix) + r"\.(\d+)\.(.+)", name)
            if match:
                found.setdefault(int(match.group(1)), {})[match.group(2)] = value
        return [found[number] for number in sorted(found)]

    def filters(self):
        """{name: [value]} of Filter.N."""
        return {item.get("Name", ""): [v for k, v in sorted(item.items())
                                       if k.startswith("Value.")] for item in self.items("Filter")}

    def json(self):
        return json.loads(self.body or b"{}")


# ---- parsing a request ----


def credential_of(call):
    """[access key, date, region, service] of a signed request, or None."""
    match = re.search(r"Credential=([^,\s]+)", call.headers.get("authorization", ""))
    text = match.group(1) if match else query_of(call).get("X-Amz-Credential", "")
    words = text.split("/")
    return [*words[:4]] if len(words) == 5 and words[4] == "aws4_request" else None


def query_of(call):
    query = urllib.parse.urlsplit(call.target).query
    return dict(urllib.parse.parse_qsl(query, keep_blank_values=True))


def s3_action(call):
    """A name for an S3 request: its method and its subresource."""
    path = urllib.parse.urlsplit(call.target).path.strip("/")
    kind = "Object" if "/" in path else "Bucket" if path else "Buckets"
    verb = {"GET": "Get", "HEAD": "Head", "PUT": "Put", "DELETE": "Delete"}.get(call.method, "Post")
    return "ListBuckets" if verb + kind == "GetBuckets" else verb + kind


def understand(call):
    """Fills in service, region, action and parameters."""
    credential = credential_of(call)
    if credential:
        call.access_key, _, call.region, call.service = credential
    call.params = query_of(call)
    if call.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        call.params.update(urllib.parse.parse_qsl(call.body.decode("utf-8", "replace"),
                                                  keep_blank_values=True))
    target = call.headers.get("x-amz-target", "")
    if target:
        call.action = target.rsplit(".", 1)[-1]
    elif "Action" in call.params:
        call.action = call.params["Action"]
        call.service = call.service or UNSIGNED.get(call.action, "")
    elif call.service in ("s3", ""):
        call.service = "s3" if call.service or not call.target.startswith("/federation") else "sso"
        call.action = s3_action(call) if call.service == "s3" else "GetRoleCredentials"
    return call


# ---- errors ----


def refuse(call, refusal):
    ident = secrets.token_hex(16)
    code, message = escape(refusal.code), escape(refusal.message)
    if call.service == "ec2":
        body = (f'<?xml version="1.0" encoding="UTF-8"?>\n<Response><Errors><Error><Code>{code}'
                f"</Code><Message>{message}</Message></Error></Errors><RequestID>{ident}"
                "</RequestID></Response>")
    elif call.service in QUERY_SERVICES:
        kind = "Sender" if refusal.status < 500 else "Receiver"
        body = (f'<ErrorResponse xmlns="{QUERY_SERVICES[call.service]}"><Error><Type>{kind}</Type>'
                f"<Code>{code}</Code><Message>{message}</Message></Error><RequestId>{ident}"
                "</RequestId></ErrorResponse>")
    elif call.service == "s3":
        body = (f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>'
                f"{message}</Message><RequestId>{ident}</RequestId></Error>")
    else:
        return json_reply({"__type": refusal.code, "message": refusal.message}, refusal.status,
                          {"x-amzn-ErrorType": refusal.code, "x-amzn-RequestId": ident})
    return Reply(refusal.status, body.encode(), {"Content-Type": "text/xml;charset=UTF-8"})


def json_reply(value, status=200, headers=None):
    return Reply(status, json.dumps(value).encode(),
                 {"Content-Type": "application/x-amz-json-1.1", **(headers or {})})


# ---- EC2's XML ----


def parse(data):
    """A tree without namespaces."""
    root = ET.fromstring(data)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root


def text_of(root):
    root.set("xmlns", EC2_NAMESPACE)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root)


def xml_reply(root):
    for element in root.iter("requestId"):
        element.text = secrets.token_hex(16)
    return Reply(200, text_of(root), {"Content-Type": "text/xml;charset=UTF-8"})


def put(parent, name, value):
    """Sets or adds a child; a value of None removes it."""
    child = parent.find(name)
    if value is None:
        if child is not None:
            parent.remove(child)
        return None
    if child is None:
        child = ET.SubElement(parent, name)
    if isinstance(value, dict):
        for key, inner in value.items():
            put(child, key, inner)
    elif isinstance(value, list):
        child.clear()
        for inner in value:
            put_all(ET.SubElement(child, "item"), inner)
    else:
        child.text = str(value)
    return child


def put_all(parent, values):
    if isinstance(values, dict):
        for key, value in values.items():
            put(parent, key, value)
    else:
        parent.text = str(values)


def ec2_reply(action, values):
    """<ActionResponse> of a dict: lists become <item>s, None is left out."""
    root = ET.Element(f"{action}Response")
    ET.SubElement(root, "requestId").text = "-"
    put_all(root, values)
    return xml_reply(root)


def error_of(data):
    """(code, message) of an EC2 error body."""
    root = parse(data)
    return root.findtext(".//Code") or "InternalError", root.findtext(".//Message") or ""
