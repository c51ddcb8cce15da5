"""Listings: filters, order, pages, one entry per scope in aggregated lists, and what a listing
shows late or not at all.
"""

import base64
import binascii
import hashlib
import json
import time

from . import errors, filters, store
from .errors import Refusal
from .store import LINK

PAGE_MAX = 500


def visible(cloud, records, kind, project):
    """What a listing shows: new instances late, deleted ones for a while longer."""
    now, lag, gone = time.monotonic(), cloud.tunables.listing_lag, cloud.tunables.gone_lag
    if kind != "instances":
        return records
    cloud.store.ghosts = [r for r in cloud.store.ghosts if now - r.ended < gone]
    prefix = f"projects/{project}/"
    ghosts = [r for r in cloud.store.ghosts if r.kind == kind and r.path.startswith(prefix)]
    return [r for r in records + ghosts if now - r.born >= max(lag, cloud.tunables.get_lag)]


def item_fields(method, kind):
    """The names of an item's fields, from the schema of the reply."""
    schemas = method.document.schemas
    rule = schemas[method.value["response"]["$ref"]]["properties"]["items"]
    if "additionalProperties" in rule:
        scoped = schemas[rule["additionalProperties"]["$ref"]]["properties"]
        rule = scoped[kind]
    return schemas[rule["items"]["$ref"]]["properties"]


def chosen(call, method, records, kind):
    """The page of the records that the call asks for: ([record], next page token)."""
    text = call.get("filter")
    if text:
        test = filters.compile_filter(text, item_fields(method, kind))
        records = [r for r in records if test(r.value)]
    order = call.get("orderBy", "name")
    if order not in ("name", "creationTimestamp desc"):
        raise errors.invalid("orderBy", order, "Only name and creationTimestamp desc are "
                                               "supported.")
    ranked = sorted(records, key=rank)
    if order != "name":
        ranked = sorted(records, key=lambda r: [born(r), rank(r)], reverse=True)
    size = call.get("maxResults", PAGE_MAX)
    if not 0 <= size <= PAGE_MAX:
        raise errors.invalid("maxResults", size, f"Must be between 0 and {PAGE_MAX}.")
    size = min(size or PAGE_MAX, call.page_max)
    return cut(call, ranked, size, order)


def rank(record):
    return [record.scope, record.name, record.value["id"]]


def born(record):
    return record.value.get("creationTimestamp") or record.value.get("insertTime", "")


def cut(call, ranked, size, order):
    """A page starts after the last item of the page before it, even if that is gone."""
    question = hashlib.sha256(json.dumps([
        call.target.partition("?")[0], call.get("filter", ""), order]).encode()).hexdigest()[:12]
    token = call.get("pageToken")
    if token:
        try:
            bound, key = json.loads(base64.urlsafe_b64decode(token.encode()))
        except (ValueError, binascii.Error, UnicodeDecodeError):
            bound, key = "", None
        if bound != question:
            raise errors.invalid("pageToken", token, "The page token is invalid.")
        key_of = rank if order == "name" else lambda r: [born(r), rank(r)]
        ranked = [r for r in ranked if (key_of(r) > key if order == "name" else key_of(r) < key)]
    page = ranked[:size]
    if len(ranked) <= size:
        return page, None
    last = rank(page[-1]) if order == "name" else [born(page[-1]), rank(page[-1])]
    return page, base64.urlsafe_b64encode(json.dumps([question, last]).encode()).decode()


def frame(call, kind, items, token):
    path = call.target.partition("?")[0].partition("/compute/v1/")[2]
    reply = {"kind": f"compute#{kind}", "id": path, "selfLink": LINK + path}
    if items:
        reply["items"] = items
    if token:
        reply["nextPageToken"] = token
    return reply


def listing(cloud, call, method, folder, kind, type_name):
    """The reply of a list method. `type_name` is as in compute#instance."""
    zone = call.vars.get("zone")
    if zone in cloud.unreachable:
        raise Refusal(503, "backendError", f"The zone '{zone}' is not reachable.")
    records = visible(cloud, cloud.store.all(folder), kind, call.project)
    records = [r for r in records if r.path.startswith(folder + "/")]
    page, token = chosen(call, method, records, kind)
    reply = frame(call, type_name + "List", [r.value for r in page], token)
    if not page:
        reply["warning"] = warning(folder.split("/", 2)[2].rpartition("/")[0])
    return reply


def aggregated(cloud, call, method, kind, type_name):
    """The reply of an aggregatedList method: one entry per scope, empty ones with a warning."""
    partial = call.get("returnPartialSuccess") or "apiVersion" in method.value
    if cloud.unreachable and not partial:
        raise Refusal(503, "backendError", "Not all zones are reachable.")
    records = visible(cloud, cloud.store.of_kind(kind, call.project), kind, call.project)
    lost = {f"zones/{zone}" for zone in cloud.unreachable}
    records = [r for r in records if r.scope not in lost]
    page, token = chosen(call, method, records, kind)
    items = {}
    for scope in scopes(kind):
        own = [r.value for r in page if r.scope == scope]
        if own:
            items[scope] = {kind: own}
        else:
            items[scope] = {"warning": unreached(scope) if scope in lost else warning(scope)}
    reply = frame(call, type_name + "AggregatedList", items, token)
    if lost:
        reply["unreachables"] = sorted(LINK + f"projects/{call.project}/{s}" for s in lost)
    return reply


def scopes(kind):
    regions = [f"regions/{name}" for name in {store.region_of(z) for z in store.zones()}]
    zones = [f"zones/{name}" for name in store.zones()]
    if kind == "subnetworks":
        return sorted(regions)
    if kind == "instanceTemplates":
        return ["global", *sorted(regions)]
    return ["global", *sorted(regions), *zones] if kind == "operations" else zones


def warning(scope):
    return {"code": "NO_RESULTS_ON_PAGE",
            "message": f"There are no results for scope '{scope}' on this page.",
            "data": [{"key": "scope", "value": scope}]}


def unreached(scope):
    return {"code": "UNREACHABLE", "message": f"The scope '{scope}' is not reachable.",
            "data": [{"key": "scope", "value": scope}]}
