"""The front of Google: takes one request from arrival to reply.

In this order: fault, route, credentials, scopes, rate, shape of the request, permission, and the
method itself. `METHODS` of each module maps methods to functions of (cloud, call); they run with
the cloud's lock, and `wait` releases it.
"""

import collections
import concurrent.futures
import dataclasses
import json
import re
import threading
import time
import urllib.parse

from cloud import faults, wire
from cloud.nodes import Clockwork
from cloud.wire import Reply

from . import (bulk, capacity, catalog, discovery, disks, errors, iam, iam_api, instance_api,
               instances, machines, masks, metadata, networks, operations, rates, replies, settings,
               store, templates, tokens, validate)
from .errors import Refusal

MODULES = (bulk, catalog, disks, instance_api, networks, operations, templates)
METHODS = {f"compute.{name}": work for module in MODULES for name, work in module.METHODS.items()}
METHODS.update({f"compute.{name}": work for name, work in iam_api.COMPUTE_METHODS.items()})
METHODS.update(iam_api.METHODS)
REPLY_CHECKED_MAX = 64 << 10  # larger replies would take too long to check
PUBLIC_PROJECTS = {row[0] for row in settings.IMAGES}


@dataclasses.dataclass
class Call(wire.Call):
    """A request, as far as it is understood. `params` are the query's, with their types."""

    vars: dict = dataclasses.field(default_factory=dict)  # of the path
    value: dict = None      # the body
    rule: object = None     # the discovery.Method
    project: str = ""
    page_max: int = 500


class Cloud:
    def __init__(self, make_machines=machines.Machines, router=None):
        self.tunables = settings.Tunables()
        self.state = threading.Condition()  # the lock of everything; notified after each change
        self.router = router or discovery.Router()
        self.log = None  # called with each call, its reply and the time of its arrival
        self.pool = concurrent.futures.ThreadPoolExecutor(max_workers=8)
        self.later = Clockwork(self.pool).later
        self.faults = faults.Faults()
        self.token_uri = tokens.REAL_ENDPOINT
        self.make_machines = make_machines
        self.counts = collections.Counter()   # (service, action, who)
        self.refused = collections.Counter()  # reason
        self.reset()

    def reset(self):
        """Everything as after the start, except tokens."""
        if hasattr(self, "machines"):
            self.machines.close()
        with self.state:
            self.store = store.Store(self.now)
            self.operations = operations.Operations(self)
            self.capacity = capacity.Capacity(self)
            self.rates = rates.Rates(self)
            if not hasattr(self, "tokens"):
                self.tokens = tokens.Tokens(self)
            self.iam = iam.Iam(self)
            self.instances = instances.Instances(self)
            self.machines = self.make_machines(self)
            self.metadata = metadata.Metadata(self)
            self.unreachable = set()    # zones
            self.policies = set()       # of the organization: constraints that are enforced
            self.hosts = set()          # projects whose networks this one may use (shared VPC)
            self.late_exists = False    # a name that exists is reported in the operation
            self.faults.clear()
            self.counts.clear()
            self.refused.clear()
            for name, value in dataclasses.asdict(settings.Tunables()).items():
                setattr(self.tunables, name, value)
            catalog.seed(self)
            networks.seed(self)
            self.state.notify_all()

    def now(self):
        return time.time() + self.tunables.clock

    def count(self, service, action, who):
        self.counts[service, action, who] += 1

    # ---- helpers for methods ----

    def project_items(self):
        return {i["key"]: i.get("value", "") for i in self.project_metadata["items"]}

    def instance_at(self, address):
        """The instance with this internal address, or None."""
        with self.state:
            return next((r for r in self.store.of_kind("instances", settings.PROJECT)
                         if r.address == address), None)

    def image(self, text, field="sourceImage"):
        """The record of an image that a full or partial URL names; also of a family, or of the
        view of a family in a zone, which gcloud prefers.
        """
        text = re.sub(r"/zones/[a-z0-9-]+/imageFamilyViews/", "/global/images/family/", text)
        path = store.path_of(field, text, "images", settings.PROJECT)
        words = path.split("/")
        if words[-2] == "family":
            return catalog.newest_of_family(self, words[1], words[-1])
        return self.store.get(path)

    # ---- one request ----

    def answer(self, request):
        call = Call(**{f.name: getattr(request, f.name) for f in dataclasses.fields(request)})
        call.page_max = self.tunables.page
        began = time.time()
        reply = self.dispatch(call)
        if self.log:
            self.log(call, reply, began)
        return reply

    def dispatch(self, call):
        url = urllib.parse.urlsplit(call.target)
        if url.path == "/token":
            call.service, call.action = "oauth2", "token"
            return self.with_faults(call, lambda: self.locked(self.tokens.answer, call))
        try:
            found = self.router.find(call)
        except Refusal as refusal:
            return self.refuse(call, refusal)
        if found is None:
            return replies.no_page(url.path)
        call.rule, call.vars = found
        call.service, call.action = call.rule.service, call.rule.action
        return self.with_faults(call, lambda: self.carry_out(call, url.query))

    def locked(self, work, *words):
        with self.state:
            return work(*words)

    def with_faults(self, call, work):
        """The reply, or what a fault makes of it."""
        try:
            with self.state:
                call.identity = self.tokens.identify(call)
        except Refusal:
            pass  # carry_out refuses it, unless a fault comes first
        fault = self.faults.of_call(call)
        if fault is None:
            return work()
        if fault.kind == "hold" and not fault.after:
            self.faults.hold(fault, call.action)
        early = replies.before(fault, call)
        return early or replies.after(fault, call, work(), self.faults)

    def carry_out(self, call, query):
        try:
            with self.state:
                value = self.run(call, query)
        except Refusal as refusal:
            return self.refuse(call, refusal)
        return value

    def refuse(self, call, refusal):
        self.refused[refusal.reason] += 1
        headers = {"WWW-Authenticate": 'Bearer realm="https://accounts.google.com/"'} \
            if refusal.code == 401 else {}
        return replies.json_reply(errors.body_of(refusal, call.service or "compute"), refusal.code,
                                  headers)

    def run(self, call, query):
        """Check and carry out a call, with the lock held; the reply."""
        method = call.rule
        call.identity = self.tokens.identify(call)
        self.count(call.service, call.action, call.identity.label)
        self.tokens.check_scopes(call.identity, method)
        self.rates.check(call, method)
        validate.check_path(method, call.vars)
        call.params = validate.check_query(
            method, urllib.parse.parse_qsl(query, keep_blank_values=True))
        mask = masks.parse(call.params["fields"]) if call.params.get("fields") else None
        call.value = validate.read_body(method, call)
        self.operations.purge()
        if call.service == "compute":
            self.check_place(call)
            if call.project == settings.PROJECT:  # images of other projects are public
                iam.require(self, call, iam.permission_of(method), self.resource(call))
            found = self.operations.replayed(call, method)
            if found:
                return self.reply(method, found.value, mask)
        work = METHODS.get(method.id)
        if work is None:
            raise Refusal(501, "notImplemented", f"The test cloud has no method {method.id}.")
        value = work(self, call)
        if isinstance(value, store.Record):  # an operation
            self.operations.remember(call, method, value)
            value = value.value
        return self.reply(method, value, mask)

    @staticmethod
    def reply(method, value, mask):
        if value is None:
            return Reply(204, b"", {})
        body = json.dumps(masks.apply(mask, value)).encode()
        if len(body) < REPLY_CHECKED_MAX:
            validate.check_reply(method, value)
        return replies.json_reply(body, 200, {"Vary": "Origin, X-Origin, Referer"})

    def check_place(self, call):
        """The project, the region and the zone of the path exist."""
        project = call.vars["project"]
        if project == settings.PROJECT_NUMBER:
            project = settings.PROJECT
        is_visible = project in PUBLIC_PROJECTS and call.action.startswith("images.") or \
            project in self.hosts and call.action in ("networks.get", "subnetworks.get")
        if project not in (settings.PROJECT, settings.OTHER_PROJECT) and not is_visible:
            raise errors.not_found(f"projects/{project}")
        call.project = project
        zone, region = call.vars.get("zone"), call.vars.get("region")
        if zone and zone not in store.zones():
            raise errors.invalid("zone", zone, "Unknown zone.")
        if region and region not in settings.ZONES:
            raise errors.invalid("region", region, "Unknown region.")

    @staticmethod
    def resource(call):
        """What a permission is checked on: the resource of the path, or its project."""
        words = call.target.partition("?")[0].partition("/compute/v1/")[2].split("/")
        depth = 5 if words[2:3] == ["global"] else 6
        is_item = words[2:3] in (["global"], ["zones"], ["regions"]) and len(words) >= depth
        return "/".join(words[:depth]) if is_item else f"projects/{call.vars['project']}"
