"""Replies: JSON, Google's page for unknown addresses, and what faults make of them."""

import json
import time

from cloud.wire import Reply

from .errors import Refusal, body_of

GARBAGE = {
    "html": b"<html><head><title>Sign in</title></head><body>Welcome to the Wi-Fi of Hotel Bed. "
            b"<a href='/login'>Log in</a></body></html>",
    "binary": bytes(range(256)) * 8,
    "empty": b"",
    "deep": b"[" * 100000,
    "entity": b'{"a": "\\ud800", "a": 1e999, "\\u0000": [}',
}


def json_reply(body, status, headers=None):
    return Reply(status, body, {"Content-Type": "application/json; charset=UTF-8", "Server": "ESF",
                                **(headers or {})})


def no_page(path):
    text = "<!DOCTYPE html>\n<html lang=en><title>Error 404 (Not Found)!!1</title><p><b>404.</b> " \
           f"The requested URL <code>{path[:200]}</code> was not found on this server."
    return Reply(404, text.encode(), {"Content-Type": "text/html; charset=UTF-8",
                                      "Server": "ESF"})


def before(fault, call):
    """The reply to a call that a fault keeps from being carried out; None for other faults."""
    if fault.kind == "throttle":
        return refusal(call, Refusal(
            403, "rateLimitExceeded", "Rate Limit Exceeded", domain="usageLimits",
            status="PERMISSION_DENIED"))
    if fault.kind == "error" and not fault.after:
        return error_of(fault, call)
    if fault.kind in ("hang", "reset") and not fault.after:
        return Reply(0, b"", {}, fault.kind, fault.seconds)
    if fault.kind == "redirect":
        return Reply(302, b"", {"Location": "http://198.18.255.255/"})
    return None


def error_of(fault, call):
    status = fault.status or 503
    names = {500: "internalError", 502: "badGateway", 503: "backendError"}
    return refusal(call, Refusal(status, fault.code or names.get(status, "backendError"),
                                 fault.message or f"The test cloud was asked to answer {status}."))


def refusal(call, error):
    return json_reply(body_of(error, call.service), error.code)


def after(fault, call, reply, faults):
    """The reply to a call that was carried out although there is a fault."""
    if fault.kind == "hold" and fault.after:
        faults.hold(fault, call.action)
    elif fault.kind == "error":
        return error_of(fault, call)
    elif fault.kind == "slow":
        time.sleep(fault.seconds)
    elif fault.kind in ("hang", "reset"):
        return Reply(0, b"", {}, fault.kind, fault.seconds)
    elif fault.kind == "truncate":
        reply.manner = "truncate"
    elif fault.kind == "garbage":
        kind = "text/html" if fault.shape == "html" else "application/json; charset=UTF-8"
        return Reply(200, GARBAGE[fault.shape], {"Content-Type": kind})
    elif fault.kind == "loop" and reply.status == 200:
        value = json.loads(reply.body)
        value["nextPageToken"] = call.get("pageToken") or "again"
        reply.body = json.dumps(value).encode()
    return reply
