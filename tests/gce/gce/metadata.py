"""The metadata server of an instance: its tree, and replies that wait for a change.

A machine reaches it at 169.254.169.254 and is known by its address. For instances without machines
control opens a server of its own for each instance (verb `metadata`).
"""

import hashlib
import json
import re
import time
import urllib.parse

from cloud.wire import Reply

from . import settings

PREFIX = "/computeMetadata/v1"
VALUE_MAX = 256 << 10
GUEST_KEY = re.compile(r"[\w.-]+/[\w.-]+")


class Metadata:
    def __init__(self, cloud):
        self.cloud = cloud

    def server(self, record):
        """The function that answers for one instance."""
        return lambda call: self.answer(call, record)

    def by_address(self, call):
        """The function that answers for all machines."""
        found = self.cloud.instance_at(call.source)
        return self.answer(call, found) if found else plain(403, "Forbidden")

    def answer(self, call, record):
        url = urllib.parse.urlsplit(call.target)
        path = re.sub("/+", "/", url.path)
        call.service, call.action = "metadata", path
        return self.cloud.with_faults(call, lambda: self.respond(call, record, url, path))

    def respond(self, call, record, url, path):
        if path == "/":
            return plain(200, "0.1/\ncomputeMetadata/\n")
        if call.headers.get("metadata-flavor") != "Google" or "x-forwarded-for" in call.headers:
            return plain(403, "Your client does not have permission to get URL.")
        if not path.startswith(PREFIX + "/"):
            return plain(404, "not found") if path != PREFIX else moved(PREFIX + "/")
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        words = [urllib.parse.unquote(w) for w in path[len(PREFIX) + 1:].split("/")]
        with self.cloud.state:
            if self.cloud.store.records.get(record.path) is not record:
                return plain(404, "not found")
            self.cloud.count("metadata", path, record.name)
            if words[:2] == ["instance", "guest-attributes"] and call.method in ("PUT", "DELETE"):
                return self.write(call, record, "/".join(words[2:]))
            if call.method not in ("GET", "HEAD"):
                return plain(405, "Method Not Allowed")
            return self.read(record, words, query, path)

    # ---- reading ----

    def read(self, record, words, query, path):
        is_folder = words[-1] == ""
        names = [w for w in words if w]
        if names[:2] == ["instance", "guest-attributes"] and \
                not self.cloud.instances.guest_attributes(record):
            return plain(403, "Guest attributes endpoint access is disabled.")
        if names[-1:] == ["token"] and names[:2] == ["instance", "service-accounts"]:
            return self.token(record, names[2], query)
        found = self.find(record, names)
        if found is None:
            return plain(404, "not found")
        if query.get("wait_for_change", "").lower() == "true":
            found = self.wait(record, names, query, etag_of(found))
            if found is None:
                return plain(404, "not found")
        if isinstance(found, (dict, list)) and not is_folder and is_tree(found):
            return moved(path + "/")
        own = names[-1:] == ["attributes"] or "guest-attributes" in names
        return render(found, query, found if own else camels(found))

    def wait(self, record, names, query, etag):
        """Until the value differs from last_etag, or from what it is now."""
        known = query.get("last_etag", etag)
        seconds = query.get("timeout_sec", "0")
        limit = int(seconds) if seconds.isdigit() and int(seconds) else 3600
        end = time.monotonic() + limit
        while True:
            found = self.find(record, names)
            if found is None or etag_of(found) != known or time.monotonic() >= end \
                    or self.cloud.store.records.get(record.path) is not record:
                return found
            self.cloud.state.wait(end - time.monotonic())

    def find(self, record, names):
        here = self.tree(record)
        for name in names:
            if isinstance(here, list):
                here = here[int(name)] if name.isdigit() and int(name) < len(here) else None
            else:
                here = here.get(name) if isinstance(here, dict) else None
            if here is None:
                return None
        return here

    def tree(self, record):
        value, project = record.value, f"projects/{settings.PROJECT_NUMBER}"
        scheduling = value["scheduling"]
        boot = self.cloud.store.records.get(value["disks"][0]["source"].partition("/v1/")[2])
        accounts = {}
        for account in value.get("serviceAccounts", ()):
            own = {"aliases": ["default"], "email": account["email"], "scopes": account["scopes"]}
            accounts["default"] = accounts[account["email"]] = own
        return {"instance": {
            "attributes": record.items(), "cpu-platform": value["cpuPlatform"],
            "description": value.get("description", ""),
            "disks": [{"device-name": d["deviceName"], "index": d["index"], "mode": d["mode"],
                       "type": "PERSISTENT-BALANCED", "interface": "SCSI"}
                      for d in value["disks"]],
            "guest-attributes": nested(record.guest),
            "hostname": value.get("hostname") or
            f"{record.name}.{record.zone}.c.{settings.PROJECT}.internal",
            "id": int(value["id"]),
            "image": boot.value.get("sourceImage", "").partition("/v1/")[2] if boot else "",
            "licenses": [], "machine-type":
            f"{project}/machineTypes/{value['machineType'].rpartition('/')[2]}",
            "maintenance-event": record.maintenance, "name": record.name,
            "network-interfaces": [self.nic(n) for n in value["networkInterfaces"]],
            "preempted": "TRUE" if record.preempted else "FALSE",
            "remaining-cpu-time": -1, "scheduling": {
                "automatic-restart": str(scheduling["automaticRestart"]).upper(),
                "on-host-maintenance": scheduling["onHostMaintenance"],
                "preemptible": str(scheduling["preemptible"]).upper()},
            "service-accounts": accounts, "tags": value["tags"].get("items", []),
            "virtual-clock": {"drift-token": "0"}, "zone": f"{project}/zones/{record.zone}"},
            "project": {"attributes": self.cloud.project_items(),
                        "numeric-project-id": int(settings.PROJECT_NUMBER),
                        "project-id": settings.PROJECT}}

    @staticmethod
    def nic(nic):
        return {"access-configs": [{"external-ip": c.get("natIP", ""), "type": "ONE_TO_ONE_NAT"}
                                   for c in nic.get("accessConfigs", ())],
                "gateway": "", "ip": nic.get("networkIP", ""), "mac": "42:01:" + ":".join(
                    f"{int(n):02x}" for n in (nic["networkIP"] or "0.0.0.0").split(".")),
                "network": f"projects/{settings.PROJECT_NUMBER}/networks/default"}

    def token(self, record, account, query):
        own = {"default": 0, **{a["email"]: 0 for a in record.value.get("serviceAccounts", ())}}
        accounts = record.value.get("serviceAccounts")
        if not accounts or account not in own:
            return plain(404, "not found")
        scopes = accounts[0]["scopes"]
        wanted = query.get("scopes", "").split(",") if query.get("scopes") else scopes
        life = 3600
        token = self.cloud.tokens.mint(f"serviceAccount:{accounts[0]['email']}",
                                       [s for s in wanted if s in scopes], life)
        return plain(200, json.dumps({"access_token": token, "expires_in": life - 1,
                                      "token_type": "Bearer"}), "application/json")

    # ---- `guest-attributes` ----

    def write(self, call, record, key):
        if not self.cloud.instances.guest_attributes(record):
            return plain(403, "Guest attributes endpoint access is disabled.")
        if not GUEST_KEY.fullmatch(key) or len(call.body) > VALUE_MAX:
            return plain(400, "Bad Request")
        if call.method == "DELETE":
            record.guest.pop(key, None)
        else:
            record.guest[key] = call.body.decode("utf-8", "replace")
        self.cloud.state.notify_all()
        return plain(200, "")


# ---- writing replies ----


def nested(pairs):
    tree = {}
    for key, value in pairs.items():
        folder, _, name = key.partition("/")
        tree.setdefault(folder, {})[name] = value
    return tree


def is_tree(found):
    """A list of texts, as tags and scopes, is a value."""
    return isinstance(found, dict) or any(isinstance(item, dict) for item in found)


def camel(name):
    return re.sub(r"-([a-z])", lambda m: m.group(1).upper(), name)


# Keys below these are the user's own words.
VERBATIM = ("attributes", "guest-attributes", "service-accounts")


def camels(value, verbatim=False):
    if isinstance(value, list):
        return [camels(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name if verbatim else camel(name): inner if name in ("attributes", "guest-attributes")
            else camels(inner, name in VERBATIM) for name, inner in value.items()}


def etag_of(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def render(found, query, value):
    """`value` is what JSON shows: Google's own keys are written as in JavaScript."""
    etag = etag_of(found)
    if query.get("recursive", "").lower() == "true" and is_container(found):
        if query.get("alt") == "text":
            return plain(200, "".join(lines("", found)), etag=etag)
        return plain(200, json.dumps(value), "application/json", etag)
    if query.get("alt") == "json":
        return plain(200, json.dumps(value), "application/json", etag)
    if isinstance(found, dict):
        return plain(200, "".join(n + ("/" if is_container(v) and is_tree(v) else "") + "\n"
                                  for n, v in found.items()), etag=etag)
    if isinstance(found, list) and is_tree(found):
        return plain(200, "".join(f"{n}/\n" for n in range(len(found))), etag=etag)
    if isinstance(found, list):
        return plain(200, "\n".join(found), etag=etag)
    return plain(200, found, etag=etag)


def is_container(value):
    return isinstance(value, (dict, list))


def lines(prefix, value):
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from lines(f"{prefix}{name}" + ("/" if is_container(inner) else ""), inner)
    elif isinstance(value, list) and is_tree(value):
        for number, inner in enumerate(value):
            yield from lines(f"{prefix}{number}/", inner)
    else:
        yield f"{prefix} {value}\n"


def moved(path):
    reply = plain(301, path)
    reply.headers["Location"] = path
    return reply


def plain(status, value, kind="application/text", etag=""):
    headers = {"Content-Type": kind, "Metadata-Flavor": "Google",
               "Server": "Metadata Server for VM", "X-XSS-Protection": "0"}
    if etag:
        headers["ETag"] = etag
    return Reply(status, str(value).encode(), headers)
