"""The methods and schemas of Google's APIs, read from the discovery documents of
google-api-python-client: which request is which method, and what it may contain.

Compute has dated versions. A request with the header X-Goog-Api-Version is checked against the
document of that version, a request without it against the last document from before dated versions.
These documents come from older packages, in the folder `documents` of the Python environment, or in
SHOAL_GCE_DOCUMENTS.
"""

import dataclasses
import json
import os
import pathlib
import re
import sys
import urllib.parse

from .errors import Refusal

SERVICES = ("iam.v1", "iamcredentials.v1", "cloudresourcemanager.v1", "cloudresourcemanager.v3")
VERSION_HEADER = "x-goog-api-version"
UNDATED, NEWEST = "undated", "2026-11-01"
COMPUTE_VERSIONS = (UNDATED, "2026-09-01", NEWEST)  # the newest is in the installed package
VARIABLE = re.compile(r"\{(\w+)\}")


@dataclasses.dataclass
class Method:
    id: str            # compute.instances.insert
    service: str
    http: str
    segments: list     # of its path: (literal, variable, literal after it)
    value: dict        # as in the document
    document: object

    @property
    def action(self):
        return self.id.partition(".")[2]

    @property
    def literal(self):
        return sum(len(before) + len(after) for before, _, after in self.segments)


def segment(text):
    found = VARIABLE.search(text)
    if not found:
        return text, "", ""
    return text[:found.start()], found.group(1), text[found.end():]


def match(segments, words):
    """{variable: value}, or None."""
    found = {}
    for (before, variable, after), word in zip(segments, words):
        if not variable:
            if word != before:
                return None
            continue
        inner = word[len(before):len(word) - len(after)]
        if not inner or not word.startswith(before) or not word.endswith(after):
            return None
        found[variable] = urllib.parse.unquote(inner)
    return found


class Document:
    def __init__(self, path):
        value = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        self.name, self.revision = value["name"], value["revision"]
        self.schemas, self.parameters = value["schemas"], value["parameters"]
        self.host = urllib.parse.urlsplit(value["rootUrl"]).netloc
        self.methods = {}
        self.by_shape = {}  # (HTTP method, number of segments): methods, the most specific first
        self._collect(value, value["servicePath"])

    def _collect(self, value, prefix):
        for found in value.get("methods", {}).values():
            words = (prefix + found.get("flatPath", found["path"])).split("/")
            method = Method(found["id"], self.name, found["httpMethod"],
                            [segment(word) for word in words], found, self)
            self.methods[method.id] = method
            self.by_shape.setdefault((method.http, len(words)), []).append(method)
        for inner in value.get("resources", {}).values():
            self._collect(inner, prefix)
        for methods in self.by_shape.values():
            methods.sort(key=lambda m: (sum(1 for s in m.segments if s[1]), -m.literal))

    def find(self, http, words):
        for method in self.by_shape.get((http, len(words)), ()):
            found = match(method.segments, words)
            if found is not None:
                return method, found
        return None


def folder():
    import googleapiclient.discovery_cache as cache
    return pathlib.Path(cache.__file__).parent / "documents"


def compute_document(version):
    """The path of the document of a version of compute."""
    if version == NEWEST:
        return folder() / "compute.v1.json"
    root = os.environ.get("SHOAL_GCE_DOCUMENTS") or pathlib.Path(sys.prefix) / "documents"
    path = pathlib.Path(root, version, "googleapiclient/discovery_cache/documents/compute.v1.json")
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: the test cloud needs an older "
                                "google-api-python-client there; see docs/dev/gce.md")
    return path


class Router:
    def __init__(self):
        self.compute = {}  # version: document; dated ones are read when they are needed first
        self.others = [Document(folder() / f"{name}.json") for name in SERVICES]
        self.load(UNDATED)

    def find(self, call):
        """(method, path variables) of a request; None: no such method."""
        words = urllib.parse.urlsplit(call.target).path.lstrip("/").split("/")
        if words[:2] == ["compute", "v1"]:
            return self.compute_of(call).find(call.method, words)
        host = call.headers.get("host", "").partition(":")[0]
        named = [d for d in self.others if d.host == host]
        for document in named or self.others:
            found = document.find(call.method, words)
            if found:
                return found
        return None

    def compute_of(self, call):
        version = call.headers.get(VERSION_HEADER) or UNDATED
        if version not in COMPUTE_VERSIONS:
            raise Refusal(400, "badRequest", f"Version '{version}' of the API is not supported.",
                          status="INVALID_ARGUMENT")
        return self.compute.get(version) or self.load(version)

    def load(self, version):
        document = Document(compute_document(version))
        dated = document.methods["compute.instances.insert"].value.get("apiVersion", UNDATED)
        if dated != version:
            raise ValueError(f"the document of version {version} has version {dated}")
        self.compute[version] = document
        return document
