"""OAuth: access tokens, who they belong to, and the token endpoint.

The endpoint takes signed assertions of service accounts, which it verifies with the account's key,
and refresh tokens of users.
"""

import base64
import binascii
import dataclasses
import json
import secrets
import urllib.parse

from cloud.wire import Reply

from . import settings
from .errors import Refusal

GRANT_JWT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
REAL_ENDPOINT = "https://oauth2.googleapis.com/token"
JWT_LIFE_MAX, CLOCK_SLACK = 3600, 300


@dataclasses.dataclass
class Identity:
    label: str       # user:EMAIL or serviceAccount:EMAIL
    scopes: tuple
    end: float       # on the cloud's clock

    @property
    def email(self):
        return self.label.partition(":")[2]


class Tokens:
    def __init__(self, cloud):
        self.cloud = cloud
        self.all = {}        # access token: Identity
        self.refresh = {}    # refresh token: label
        self.endpoints = {REAL_ENDPOINT}  # what an assertion may be addressed to

    def mint(self, label, scopes=(settings.CLOUD_SCOPE,), seconds=3600):
        token = "ya29." + secrets.token_urlsafe(32)
        self.all[token] = Identity(label, tuple(scopes), self.cloud.now() + seconds)
        return token

    def revoke(self, label):
        for token, identity in list(self.all.items()):
            if identity.label == label:
                del self.all[token]

    # ---- checking a request ----

    def identify(self, call):
        words = call.headers.get("authorization", "").split()
        if len(words) != 2 or words[0].lower() != "bearer":
            raise Refusal(401, "required", "Request is missing required authentication credential. "
                          "Expected OAuth 2 access token, login cookie or other valid "
                          "authentication credential.", status="UNAUTHENTICATED",
                          where=("header", "Authorization"))
        found = self.all.get(words[1])
        if not found or found.end <= self.cloud.now():
            raise Refusal(401, "authError", "Request had invalid authentication credentials. "
                          "Expected OAuth 2 access token, login cookie or other valid "
                          "authentication credential.", status="UNAUTHENTICATED",
                          where=("header", "Authorization"))
        return found

    @staticmethod
    def check_scopes(identity, method):
        """Any one of the method's scopes will do."""
        wanted = method.value.get("scopes", ())
        if wanted and not set(wanted) & set(identity.scopes):
            detail = {"@type": "type.googleapis.com/google.rpc.ErrorInfo",
                      "reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT", "domain": "googleapis.com"}
            raise Refusal(403, "insufficientPermissions", "Request had insufficient authentication "
                          "scopes.", status="PERMISSION_DENIED", details=[detail])

    # ---- the endpoint ----

    def answer(self, call):
        if call.method != "POST":
            return broken("invalid_request", "Only POST is supported.", 405)
        form = dict(urllib.parse.parse_qsl(call.body.decode("utf-8", "replace")))
        grant = form.get("grant_type")
        if grant == GRANT_JWT:
            return self.of_assertion(form.get("assertion", ""))
        if grant == "refresh_token":
            return self.of_refresh(form)
        return broken("unsupported_grant_type", f"Invalid grant_type: {grant}")

    def of_refresh(self, form):
        if (form.get("client_id"), form.get("client_secret")) != (
                settings.CLIENT_ID, settings.CLIENT_SECRET):
            return broken("invalid_client", "The OAuth client was not found.", 401)
        label = self.refresh.get(form.get("refresh_token"))
        if label is None:
            return broken("invalid_grant", "Token has been expired or revoked.")
        scopes = form.get("scope", settings.CLOUD_SCOPE).split()
        return self.granted(label, scopes)

    def of_assertion(self, text):
        try:
            head, claims, mark = text.split(".")
            header, body = json.loads(unbase(head)), json.loads(unbase(claims))
            signature, account = unbase(mark), self.cloud.iam.account(body.get("iss", ""))
            algorithm, ident = header.get("alg"), header.get("kid")
        except (ValueError, AttributeError, TypeError, binascii.Error):
            return broken("invalid_grant", "Invalid JWT: Failed to parse.")
        if account is None or not self.cloud.iam.usable(account):
            return broken("invalid_grant", "Invalid grant: account not found")
        if algorithm != "RS256" or not verify(account, ident, f"{head}.{claims}".encode(),
                                              signature):
            return broken("invalid_grant", "Invalid JWT Signature.")
        problem = self.wrong_claims(body)
        if problem:
            return broken(*problem)
        return self.granted(f"serviceAccount:{account.value['email']}", body["scope"].split())

    def wrong_claims(self, body):
        now, begin, end = self.cloud.now(), body.get("iat"), body.get("exp")
        if body.get("aud") not in self.endpoints:
            return "invalid_grant", "Invalid JWT: Failed audience check."
        if not isinstance(begin, (int, float)) or not isinstance(end, (int, float)) \
                or begin > now + CLOCK_SLACK or end < now or end - begin > JWT_LIFE_MAX:
            return ("invalid_grant", "Invalid JWT: Token must be a short-lived token (60 minutes) "
                    "and in a reasonable timeframe. Check your iat and exp values in the JWT "
                    "claim.")
        if not body.get("scope"):
            return "invalid_scope", "Invalid OAuth scope or ID token audience provided."
        return None

    def granted(self, label, scopes):
        token = self.mint(label, scopes, 3600)
        return json_reply({"access_token": token, "expires_in": 3599, "token_type": "Bearer",
                           "scope": " ".join(scopes)}, 200)


def broken(code, text, status=400):
    return json_reply({"error": code, "error_description": text}, status)


def json_reply(value, status):
    return Reply(status, json.dumps(value).encode(),
                 {"Content-Type": "application/json; charset=utf-8"})


def unbase(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


# ---- keys of service accounts ----


def new_key(cloud, account):
    """(id, the credentials file) of a new key."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    ident = secrets.token_hex(20)
    account.keys[ident] = key.public_key()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                            serialization.NoEncryption()).decode()
    return ident, json.dumps({
        "type": "service_account", "project_id": settings.PROJECT, "private_key_id": ident,
        "private_key": pem, "client_email": account.value["email"],
        "client_id": account.value["uniqueId"], "token_uri": cloud.token_uri,
        "auth_uri": "https://accounts.google.com/o/oauth2/auth",
        "universe_domain": "googleapis.com"}, indent=2)


def verify(account, ident, data, signature):
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding
    keys = [account.keys[ident]] if ident in account.keys else [] if ident else \
        account.keys.values()
    for key in keys:
        try:
            key.verify(signature, data, padding.PKCS1v15(), hashes.SHA256())
            return True
        except InvalidSignature:
            continue
    return False
