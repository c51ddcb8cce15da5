"""Who calls: access keys with secrets, session tokens and expiry; signatures; permissions.

Every signature is computed again from what arrived (SigV4, in the header or in the query). An
identity may do everything (the admin), or what its IAM policies allow, minus what a test denied.
"""

import dataclasses
import datetime
import fnmatch
import hashlib
import hmac
import re
import secrets
import string
import threading
import time
import urllib.parse

from . import policy, settings
from .wire import Refusal, credential_of, query_of

SKEW_MAX = 900
ALPHABET = string.ascii_uppercase + "234567"


@dataclasses.dataclass
class Identity:
    key: str
    secret: str
    kind: str                # admin, user or role
    name: str
    token: str = ""
    expires: float = 0.0     # 0: never
    session: str = ""
    disabled: bool = False
    partition: str = "aws"

    @property
    def arn(self):
        if self.kind == "role":
            return (f"arn:{self.partition}:sts::{settings.ACCOUNT}:assumed-role/{self.name}/"
                    f"{self.session or 'session'}")
        return f"arn:{self.partition}:iam::{settings.ACCOUNT}:user/{self.name}"

    @property
    def label(self):
        return f"{self.kind}/{self.name}" if self.kind != "admin" else self.name


class Identities:
    def __init__(self, moto):
        self.moto = moto
        self.lock = threading.Lock()
        self.reset()

    def reset(self):
        self.by_key = {}
        self.denied = []  # (identity pattern, action pattern)
        self.add(Identity(settings.ADMIN_KEY, settings.ADMIN_SECRET, "admin", "admin"))

    def add(self, identity):
        with self.lock:
            self.by_key[identity.key] = identity
        return identity

    def mint(self, kind, name, seconds, session=""):
        """New temporary credentials."""
        key = "ASIA" + "".join(secrets.choice(ALPHABET) for _ in range(16))
        return self.add(Identity(key, secrets.token_urlsafe(30), kind, name,
                                 token="bed" + secrets.token_urlsafe(120), session=session,
                                 expires=time.time() + seconds if seconds else 0.0))

    def expire(self, pattern):
        """Expire credentials at once; return how many."""
        ended = 0
        for identity in list(self.by_key.values()):
            if fnmatch.fnmatch(identity.label, pattern) or identity.key == pattern:
                identity.expires = time.time() - 1
                ended += 1
        return ended

    # ---- permissions ----

    def authorize(self, call, policies_of):
        """Raise unless the caller's identity may take this action now."""
        wanted = f"{call.service}:{call.action}"
        for who, what in self.denied:
            if fnmatch.fnmatch(call.identity.label, who) and policy.matches(what, wanted):
                raise denied(call, wanted, "with an explicit deny in an identity-based policy")
        if call.identity.kind == "admin" or wanted == "sts:GetCallerIdentity":
            return
        if not policy.allows(policies_of(call.identity), wanted, call, self.moto):
            raise denied(call, wanted, f"because no identity-based policy allows the {wanted} "
                                       "action")


def denied(call, action, why):
    who = call.identity.arn
    if call.service == "ec2":
        return Refusal("UnauthorizedOperation",
                       f"You are not authorized to perform this operation. User: {who} is not "
                       f"authorized to perform: {action} {why}. Encoded authorization failure "
                       f"message: {secrets.token_urlsafe(60)}", 403)
    code = "AccessDenied" if call.service in ("sts", "iam", "s3") else "AccessDeniedException"
    return Refusal(code, f"User: {who} is not authorized to perform: {action} {why}",
                   400 if code.endswith("Exception") else 403)


# ---- signatures ----


def unknown_key(call):
    if call.service == "ec2":
        return Refusal("AuthFailure", "AWS was not able to validate the provided access "
                                      "credentials", 401)
    if call.service == "s3":
        return Refusal("InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in "
                                             "our records.", 403)
    code = "InvalidClientTokenId" if call.service in ("sts", "iam") else \
        "UnrecognizedClientException"
    return Refusal(code, "The security token included in the request is invalid.",
                   403 if code.startswith("I") else 400)


def expired_token(call):
    if call.service == "ec2":
        return Refusal("RequestExpired", "Request has expired.", 400)
    code = "ExpiredToken" if call.service in ("sts", "iam", "s3") else "ExpiredTokenException"
    return Refusal(code, "The security token included in the request is expired",
                   403 if call.service in ("sts", "iam") else 400)


def wrong_signature(call):
    if call.service == "ec2":
        return Refusal("AuthFailure", "AWS was not able to validate the provided access "
                                      "credentials", 401)
    code = "InvalidSignatureException" if call.service not in ("sts", "iam", "s3") else \
        "SignatureDoesNotMatch"
    return Refusal(code, "The request signature we calculated does not match the signature you "
                         "provided. Check your AWS Secret Access Key and signing method. Consult "
                         "the service documentation for details.", 403)


def skewed(call, stamp, now):
    now_text = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    if call.service == "ec2" and stamp_seconds(stamp) > now:
        # AWS documents both cases as RequestExpired; it answers this one with the message for a
        # key.
        return Refusal("AuthFailure", "AWS was not able to validate the provided access "
                                      "credentials", 401)
    if call.service == "ec2":
        return Refusal("RequestExpired", "Request has expired.", 400)
    if call.service == "s3":
        return Refusal("RequestTimeTooSkewed", "The difference between the request time and the "
                                               "current time is too large.", 403)
    early = stamp_seconds(stamp) > now
    edge = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now + (SKEW_MAX if early else -SKEW_MAX)))
    text = f"Signature {'not yet current' if early else 'expired'}: {stamp} is " \
           f"{'still later' if early else 'now earlier'} than {edge} ({now_text} " \
           f"{'+' if early else '-'} 15 min.)"
    code = "SignatureDoesNotMatch" if call.service in ("sts", "iam") else \
        "InvalidSignatureException"
    return Refusal(code, text, 403)


def stamp_seconds(stamp):
    try:
        when = datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ")
    except ValueError:
        return 0.0
    return when.replace(tzinfo=datetime.timezone.utc).timestamp()


def hmac_of(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def canonical_path(call):
    path = urllib.parse.urlsplit(call.target).path or "/"
    return path if call.service == "s3" else urllib.parse.quote(path, safe="/-_.~")


def canonical_query(call):
    query = urllib.parse.urlsplit(call.target).query
    pairs = [tuple(part.partition("=")[::2]) for part in query.split("&") if part]
    def clean(text):
        return urllib.parse.quote(urllib.parse.unquote(text), safe="-_.~")
    cleaned = sorted((clean(k), clean(v)) for k, v in pairs if k != "X-Amz-Signature")
    return "&".join(f"{name}={value}" for name, value in cleaned)


def signature(call, secret, date, signed, stamp, payload):
    """SigV4 of a request as it arrived."""
    lines = "".join(f"{name}:{' '.join(call.headers.get(name, '').split())}\n" for name in signed)
    request = "\n".join([call.method, canonical_path(call), canonical_query(call), lines,
                         ";".join(signed), payload])
    scope = f"{date}/{call.region}/{call.service}/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope,
                      hashlib.sha256(request.encode()).hexdigest()])
    key = hmac_of(("AWS4" + secret).encode(), date)
    for part in (call.region, call.service, "aws4_request"):
        key = hmac_of(key, part)
    return hmac_of(key, text).hex()


def check(identities, call, now):
    """The identity of a signed request; raise the error that AWS would give."""
    credential = credential_of(call)
    if not credential:
        raise missing(call)
    identity = identities.by_key.get(credential[0])
    if identity is None or identity.disabled:
        raise unknown_key(call)
    query = query_of(call)
    in_query = "X-Amz-Signature" in query
    field = re.search(r"SignedHeaders=([^,\s]+)", call.headers.get("authorization", ""))
    given = re.search(r"Signature=([0-9a-f]+)", call.headers.get("authorization", ""))
    signed = (query.get("X-Amz-SignedHeaders", "") if in_query else field.group(1) if field
              else "").split(";")
    stamp = query.get("X-Amz-Date", "") if in_query else call.headers.get("x-amz-date", "")
    payload = hashlib.sha256(call.body).hexdigest()
    declared = call.headers.get("x-amz-content-sha256")
    if in_query:
        payload = "UNSIGNED-PAYLOAD" if call.service == "s3" else payload
    elif declared and not re.fullmatch("[0-9a-f]{64}", declared):
        payload = declared
    given = query.get("X-Amz-Signature") if in_query else given.group(1) if given else ""
    expected = signature(call, identity.secret, credential[1], signed, stamp, payload)
    if not hmac.compare_digest(expected, given) or (not in_query and "host" not in signed):
        raise wrong_signature(call)
    if abs(stamp_seconds(stamp) - now) > SKEW_MAX:
        raise skewed(call, stamp, now)
    token = query.get("X-Amz-Security-Token") or call.headers.get("x-amz-security-token", "")
    if token != identity.token:
        raise unknown_key(call)
    if identity.expires and time.time() > identity.expires:
        raise expired_token(call)
    return identity


def missing(call):
    code = "AuthFailure" if call.service == "ec2" else \
        "AccessDenied" if call.service == "s3" else "MissingAuthenticationToken"
    return Refusal(code, "Request is missing Authentication Token",
                   401 if code == "AuthFailure" else 403)
