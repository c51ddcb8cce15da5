"""STS, IAM, SSM, Service Quotas and SSO, as far as the front must add to moto or answer itself."""

import json
import re
import secrets
import time
from xml.sax.saxutils import escape

from . import settings
from .identity import Identity
from .wire import QUERY_SERVICES, Refusal, Reply, json_reply

ROLE = re.compile(r"arn:aws[a-z-]*:iam::\d+:role/(?:.*/)?([^/]+)$")
# The newest images, by the parameters that their publishers set.
UBUNTU = "/aws/service/canonical/ubuntu/server"
PUBLIC_PARAMETERS = {
    UBUNTU + "/22.04/stable/current/{canonical}/hvm/ebs-gp2/ami-id": "base",
    UBUNTU + "/24.04/stable/current/{canonical}/hvm/ebs-gp3/ami-id": "base",
    "/aws/service/debian/release/12/latest/{canonical}": "base",
    "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-{plain}": "base",
    "/aws/service/deeplearning/ami/{plain}/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id":
        "ray",
}
QUOTAS = {"L-1216C47A": ("vcpu_quota", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) "
                                       "instances"),
          "L-34B43A08": ("spot_vcpu_quota", "All Standard (A, C, D, H, I, M, R, T, Z) Spot "
                                            "Instance Requests")}
DEFAULT_QUOTAS = settings.Tunables(vcpu_quota=5, spot_vcpu_quota=5)
SSO_TOKEN = "bed-sso-token"
EXPIRED_WEB_TOKEN = "bed-expired-web-token"
SESSION_SECONDS = (900, 43200)


def query_reply(call, result):
    body = (f'<{call.action}Response xmlns="{QUERY_SERVICES[call.service]}">'
            f"<{call.action}Result>{result}</{call.action}Result><ResponseMetadata><RequestId>"
            f"{secrets.token_hex(16)}</RequestId></ResponseMetadata></{call.action}Response>")
    return Reply(200, body.encode(), {"Content-Type": "text/xml"})


def when(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


# ---- STS ----


def caller_identity(_cloud, call):
    who = call.identity
    return query_reply(call, f"<Arn>{who.arn}</Arn><UserId>AIDA{who.key[4:]}</UserId>"
                             f"<Account>{settings.ACCOUNT}</Account>")


def credentials_xml(made):
    return (f"<Credentials><AccessKeyId>{made.key}</AccessKeyId><SecretAccessKey>{made.secret}"
            f"</SecretAccessKey><SessionToken>{made.token}</SessionToken><Expiration>"
            f"{when(made.expires)}</Expiration></Credentials>")


def assume_role(cloud, call):
    """Also by web identity, which needs no signature but a token."""
    match = ROLE.match(call.get("RoleArn", ""))
    if not match or cloud.moto.policies_of("role", match.group(1)) is None:
        who = call.identity.arn if call.identity else "anonymous"
        raise Refusal("AccessDenied", f"User: {who} is not authorized to perform: "
                      f"sts:{call.action} on resource: {call.get('RoleArn')}", 403)
    if call.action == "AssumeRoleWithWebIdentity" and not call.get("WebIdentityToken"):
        raise Refusal("InvalidIdentityToken", "No web identity token was given.")
    if call.get("WebIdentityToken") == EXPIRED_WEB_TOKEN:
        raise Refusal("ExpiredTokenException", "Token expired: current date/time must be before "
                                               "the expiration date/time")
    session = call.get("RoleSessionName", "session")
    made = cloud.identities.mint("role", match.group(1), session_seconds(call), session)
    return query_reply(call, credentials_xml(made) +
                       f"<AssumedRoleUser><Arn>{made.arn}</Arn><AssumedRoleId>AROABED:{session}"
                       "</AssumedRoleId></AssumedRoleUser>")


def session_seconds(call):
    """The lifetime of the credentials, limited as by AWS."""
    text, (low, high) = call.get("DurationSeconds", "3600"), SESSION_SECONDS
    if not text.isdigit() or not low <= int(text) <= high:
        edge = "greater than or equal to 900" if text.isdigit() and int(text) < low else \
            "less than or equal to 43200"
        raise Refusal("ValidationError", f"1 validation error detected: Value '{text}' at "
                      f"'durationSeconds' failed to satisfy constraint: Member must have value "
                      f"{edge}")
    return int(text)


def session_token(cloud, call):
    who = call.identity
    made = cloud.identities.mint(who.kind, who.name, int(call.get("DurationSeconds", "43200")))
    return query_reply(call, credentials_xml(made))


# ---- IAM ----


def create_access_key(cloud, call):
    reply = cloud.pass_on(call)
    text = reply.body.decode()
    found = [re.search(f"<{name}>([^<]+)<", text)
             for name in ("AccessKeyId", "SecretAccessKey", "UserName")]
    if reply.status == 200 and all(found):
        key, secret, user = (match.group(1) for match in found)
        cloud.identities.add(Identity(key, secret, "user", user))
    return reply


def put_role_policy(cloud, call):
    """The policy is in force after a delay; until then the old one is."""
    role = call.get("RoleName")
    before = cloud.moto.policies_of("role", role) or []
    reply = cloud.pass_on(call)
    if reply.status == 200 and before != cloud.moto.policies_of("role", role):
        cloud.policies_put.setdefault(role, []).append((time.monotonic(), before))
    return reply


def create_profile(cloud, call):
    reply = cloud.pass_on(call)
    if reply.status == 200:
        cloud.profiles_made[call.get("InstanceProfileName")] = time.monotonic()
    return reply


def empty_profile(cloud, call):
    """moto fails if the role is no longer in the profile."""
    profile, role = call.get("InstanceProfileName"), call.get("RoleName")
    profiles = cloud.moto.iam().instance_profiles.values()
    found = next((each for each in profiles if each.name == profile), None)
    if found and all(each.name != role for each in found.roles):
        raise Refusal("NoSuchEntity", f"The role with name {role} cannot be found in instance "
                      f"profile {profile}.", 404)
    return cloud.pass_on(call)


SPOT_ROLE = "AWSServiceRoleForEC2Spot"


def get_role(cloud, call):
    """The bed has the account's service-linked roles; moto has the others."""
    if call.get("RoleName") != SPOT_ROLE:
        return cloud.pass_on(call)
    if not cloud.tunables.spot_role:
        raise Refusal("NoSuchEntity", f"The role with name {SPOT_ROLE} cannot be found.", 404)
    path = "/aws-service-role/spot.amazonaws.com/"
    return Reply(200, ("<GetRoleResponse xmlns=\"https://iam.amazonaws.com/doc/2010-05-08/\">"
                       f"<GetRoleResult><Role><Path>{path}</Path><RoleName>{SPOT_ROLE}</RoleName>"
                       "<RoleId>AROABEDSPOT0000000001</RoleId><Arn>arn:"
                       f"{settings.partition_of(call.region)}:iam::"
                       f"{settings.ACCOUNT}:role{path}{SPOT_ROLE}</Arn>"
                       "<CreateDate>2026-01-01T00:00:00Z</CreateDate></Role></GetRoleResult>"
                       "</GetRoleResponse>").encode(), {"Content-Type": "text/xml"})


def create_linked_role(cloud, call):
    if call.get("AWSServiceName") == "spot.amazonaws.com":
        if cloud.tunables.spot_role:
            raise Refusal("InvalidInput", f"Service role name {SPOT_ROLE} has been taken in this "
                          "account, please try a different suffix.")
        cloud.tunables.spot_role = 1
    return cloud.pass_on(call)


def profile_tags(cloud, call):
    """moto stores the tags but does not implement this call."""
    name = call.get("InstanceProfileName", "")
    tags = cloud.moto.profile_tags(name)
    if tags is None:
        raise Refusal("NoSuchEntity", f"Instance Profile {name} cannot be found.", 404)
    rows = "".join(f"<member><Key>{escape(tag['Key'])}</Key><Value>{escape(tag['Value'])}</Value>"
                   "</member>" for tag in tags)
    return query_reply(call, f"<Tags>{rows}</Tags><IsTruncated>false</IsTruncated>")


# ---- SSM ----


def public_parameter(name):
    """(value) of a parameter that an image publisher sets, or None."""
    for pattern, image in PUBLIC_PARAMETERS.items():
        for arch, canonical in (("x86_64", "amd64"), ("arm64", "arm64")):
            if name == pattern.format(canonical=canonical, plain=arch):
                return next(a.id for a in settings.AMIS if a.image == image and a.arch == arch)
    return None


def parameter_row(name, value):
    return {"Name": name, "Type": "String", "Value": value, "Version": 1, "DataType":
            "aws:ec2:image", "ARN": f"arn:aws:ssm:{settings.REGION}::parameter{name}"}


def get_parameter(cloud, call):
    name = call.json().get("Name", "")
    if not name.startswith("/aws/service/"):
        return cloud.pass_on(call)
    value = public_parameter(name)
    if value is None:
        raise Refusal("ParameterNotFound", f"Parameter {name} not found.")
    return json_reply({"Parameter": parameter_row(name, value)})


def get_parameters(cloud, call):
    names = call.json().get("Names", [])
    if not any(name.startswith("/aws/service/") for name in names):
        return cloud.pass_on(call)
    known = {name: public_parameter(name) for name in names}
    return json_reply({"Parameters": [parameter_row(n, v) for n, v in known.items() if v],
                       "InvalidParameters": [n for n, v in known.items() if not v]})


# ---- quotas ----


def quota_row(values, code):
    field, name = QUOTAS[code]
    return {"ServiceCode": "ec2", "ServiceName": "Amazon Elastic Compute Cloud (Amazon EC2)",
            "QuotaCode": code, "QuotaName": name, "Value": float(getattr(values, field)),
            "Unit": "None", "Adjustable": True, "GlobalQuota": False}


def check_quota_named(call):
    code = call.json().get("QuotaCode", "")
    if call.json().get("ServiceCode") != "ec2" or code not in QUOTAS:
        raise Refusal("NoSuchResourceException", "The request failed because the specified quota "
                                                 "does not exist.")
    return code


def get_quota(cloud, call):
    return json_reply({"Quota": quota_row(cloud.tunables, check_quota_named(call))})


def get_default_quota(_cloud, call):
    return json_reply({"Quota": quota_row(DEFAULT_QUOTAS, check_quota_named(call))})


def list_quotas(cloud, call):
    """One per page, so that a client that ignores page tokens fails."""
    if call.json().get("ServiceCode") != "ec2":
        raise Refusal("NoSuchResourceException", "The request failed because the specified service "
                                                 "does not exist.")
    codes, start = sorted(QUOTAS), int(call.json().get("NextToken") or 0)
    answer = {"Quotas": [quota_row(cloud.tunables, codes[start])]}
    if start + 1 < len(codes):
        answer["NextToken"] = str(start + 1)
    return json_reply(answer)


# ---- SSO ----


def role_credentials(cloud, call):
    if call.headers.get("x-amz-sso_bearer_token") != SSO_TOKEN:
        return Reply(401, json.dumps({"message": "Session token not found or invalid"}).encode(),
                     {"Content-Type": "application/json",
                      "x-amzn-ErrorType": "UnauthorizedException"})
    name = call.get("role_name", "")
    known = name == "admin" or cloud.moto.policies_of("role", name) is not None
    if not known or call.get("account_id") != settings.ACCOUNT:
        return Reply(403, json.dumps({"message": "No access"}).encode(),
                     {"Content-Type": "application/json",
                      "x-amzn-ErrorType": "ForbiddenException"})
    made = cloud.identities.mint("admin" if name == "admin" else "role", name, 3600, "sso")
    return json_reply({"roleCredentials": {
        "accessKeyId": made.key, "secretAccessKey": made.secret, "sessionToken": made.token,
        "expiration": int(made.expires * 1000)}})
