"""Operations: every change answers with one at once and finishes it later.

A failure is `error` in an operation that was fetched with status 200. A request with a requestId
that is known already gets the operation of the first request.
"""

import secrets
import time
import uuid

from . import errors, lists
from .store import LINK, Record, stamp


class Operations:
    def __init__(self, cloud):
        self.cloud = cloud
        self.requests = {}    # (project, requestId): (operation, method, request, when)
        self.mismatches = 0   # requestIds that came with another request

    # ---- life ----

    def new(self, call, kind, target, scope=None, **more):
        """A PENDING operation on the record `target` (or a path)."""
        cloud, now = self.cloud, self.cloud.now()
        path = target.path if isinstance(target, Record) else target
        words = path.split("/")
        where = scope or ("global" if len(words) < 4 or words[2] == "global"
                          else "/".join(words[2:4]))
        name = f"operation-{int(now * 1000)}-{secrets.token_hex(6)}-{secrets.token_hex(4)}-" \
               f"{secrets.token_hex(4)}"
        value = {"operationType": kind, "targetLink": LINK + path, "status": "PENDING",
                 "user": call.identity.email if call else "system", "progress": 0,
                 "insertTime": stamp(now), **more}
        if isinstance(target, Record):
            value["targetId"] = target.value["id"]
        project = words[1]
        record = cloud.store.add(f"projects/{project}/{where}/operations/{name}", value,
                                 "operation")
        del value["creationTimestamp"]
        if call and call.get("requestId"):
            value["clientOperationId"] = call.get("requestId")
        if cloud.tunables.queue > 0:
            cloud.later(cloud.tunables.queue, self.begin, record)
        else:
            self.begin(record)
        return record

    def begin(self, record):
        with self.cloud.state:
            if record.value["status"] == "PENDING":
                record.value.update(status="RUNNING", startTime=stamp(self.cloud.now()))
                self.cloud.state.notify_all()

    def finish(self, record, failures=(), warnings=()):
        """DONE; `failures` are (HTTP status, code, message[, details])."""
        with self.cloud.state:
            value, now = record.value, stamp(self.cloud.now())
            if value["status"] == "DONE":
                return
            value.update(status="DONE", progress=100, endTime=now)
            value.setdefault("startTime", now)
            if failures:
                status = failures[0][0]
                value["error"] = {"errors": [
                    {"code": f[1], "message": f[2], **({"errorDetails": f[3]} if f[3:] else {})}
                    for f in failures]}
                value["httpErrorStatusCode"] = status
                value["httpErrorMessage"] = {
                    400: "BAD REQUEST", 403: "FORBIDDEN", 404: "NOT FOUND", 409: "CONFLICT",
                    503: "SERVICE UNAVAILABLE"}.get(status, "INTERNAL SERVER ERROR")
            if warnings:
                value["warnings"] = list(warnings)
            record.ended = self.cloud.now()
            self.cloud.state.notify_all()

    def change(self, call, kind, target, work=None):
        """An operation whose effect is there already, or is `work`. Then the effect is there at
        once, or with `late_changes` when the operation finishes: in the meantime another request
        with the same fingerprint is accepted.
        """
        cloud = self.cloud
        record = self.new(call, kind, target)
        if work and not cloud.tunables.late_changes:
            work()
            work = None
        cloud.later(cloud.tunables.queue + cloud.tunables.change, self.finish_change, record, work)
        return record

    def finish_change(self, record, work):
        with self.cloud.state:
            if work:
                work()
            self.finish(record)

    def purge(self):
        kept, now = self.cloud.tunables.operation_kept, self.cloud.now()
        for path, record in list(self.cloud.store.records.items()):
            if record.kind == "operations" and record.ended and now - record.ended > kept:
                del self.cloud.store.records[path]

    # ---- the same request again ----

    def replayed(self, call, method):
        """The operation of an earlier request with this requestId, or None."""
        text = call.get("requestId")
        if not text:
            return None
        try:
            good = uuid.UUID(text).int != 0 and len(text) == 36
        except ValueError:
            good = False
        if not good:
            raise errors.invalid("requestId", text, "Must be a valid UUID other than zero.")
        found = self.requests.get((call.project, text))
        if not found or self.cloud.now() - found[3] > self.cloud.tunables.request_kept:
            return None
        if found[1:3] != (method.id, self.request(call)):
            self.mismatches += 1
            if self.cloud.tunables.request_mismatch == "refuse":
                raise errors.invalid("requestId", text, "It belongs to another request.")
        return found[0]

    @staticmethod
    def request(call):
        return call.target.partition("?")[0], call.body

    def remember(self, call, method, record):
        if call.get("requestId"):
            self.requests[call.project, call.get("requestId")] = (
                record, method.id, self.request(call), self.cloud.now())


# ---- methods ----


def path_of(call):
    scope = f"zones/{call.vars['zone']}" if "zone" in call.vars else \
        f"regions/{call.vars['region']}" if "region" in call.vars else "global"
    return f"projects/{call.project}/{scope}/operations/{call.vars.get('operation', '')}"


def get(cloud, call):
    return cloud.store.get(path_of(call)).value


def wait(cloud, call):
    """Holds the reply until the operation is done, or until the longest wait has passed."""
    record = cloud.store.get(path_of(call))
    end = time.monotonic() + cloud.tunables.wait
    while record.value["status"] != "DONE" and time.monotonic() < end:
        cloud.state.wait(end - time.monotonic())
    return record.value


def delete(cloud, call):
    record = cloud.store.get(path_of(call))
    if record.value["status"] != "DONE":
        raise errors.Refusal(400, "resourceNotReady", f"The resource '{record.path}' is not ready")
    cloud.store.records.pop(record.path)
    return None


def list_(cloud, call):
    folder = path_of(call).rpartition("/")[0]
    return lists.listing(cloud, call, call.rule, folder, "operations", "operation")


def aggregated_list(cloud, call):
    return lists.aggregated(cloud, call, call.rule, "operations", "operation")


METHODS = {f"{kind}Operations.{name}": work for kind in ("zone", "region", "global")
           for name, work in (("get", get), ("wait", wait), ("delete", delete), ("list", list_))}
METHODS["globalOperations.aggregatedList"] = aggregated_list
