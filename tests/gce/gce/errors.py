"""Errors as Google writes them.

Compute answers with `code`, `message` and a list `errors` with domain and reason. What is refused
before a request reaches the service (credentials, rates, malformed JSON) also has a `status` and
`details`. The other services have `code`, `message` and `status` only.
"""

import json

STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED",
          404: "NOT_FOUND", 409: "ALREADY_EXISTS", 412: "FAILED_PRECONDITION",
          429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE"}


class Refusal(Exception):
    """An error that the caller gets instead of an answer."""

    def __init__(self, code, reason, message, domain="global", status="", details=(), where=None):
        super().__init__(f"{code} {reason}: {message}")
        self.code, self.reason, self.message, self.domain = code, reason, message, domain
        self.status, self.details = status, list(details)
        self.where = where  # (locationType, location)


def body_of(refusal, service):
    error = {"code": refusal.code, "message": refusal.message}
    if service == "compute":
        item = {"message": refusal.message, "domain": refusal.domain, "reason": refusal.reason}
        if refusal.where:
            item["locationType"], item["location"] = refusal.where
        error["errors"] = [item]
        if refusal.status:
            error["status"] = refusal.status
    else:
        error["status"] = refusal.status or STATUS.get(refusal.code, "UNKNOWN")
    if refusal.details:
        error["details"] = refusal.details
    return json.dumps({"error": error}, indent=2).encode()


# ---- the common ones ----


def invalid(field, value, why):
    return Refusal(400, "invalid", f"Invalid value for field '{field}': '{value}'. {why}")


def required(field):
    return Refusal(400, "required", f"Required field '{field}' not specified")


def not_found(path):
    return Refusal(404, "notFound", f"The resource '{path}' was not found")


def exists(path):
    return Refusal(409, "alreadyExists", f"The resource '{path}' already exists")


def stale(message):
    return Refusal(412, "conditionNotMet", message, where=("header", "If-Match"))


def in_use(path, user):
    return Refusal(400, "resourceInUseByAnotherResource",
                   f"The resource '{path}' is already being used by '{user}'")


def forbidden(permission, path):
    return Refusal(403, "forbidden", f"Required '{permission}' permission for '{path}'")


def bad_json(message, field):
    """Refused while the JSON is read, before compute sees the request."""
    detail = {"@type": "type.googleapis.com/google.rpc.BadRequest",
              "fieldViolations": [{"field": field, "description": message}]}
    return Refusal(400, "badRequest", message, status="INVALID_ARGUMENT", details=[detail])
