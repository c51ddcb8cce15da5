"""Resources by path, and what all of them share: ids, links, fingerprints, references."""

import base64
import dataclasses
import hashlib
import json
import re
import time

from . import errors, settings

LINK = "https://www.googleapis.com/compute/v1/"
HOSTS = re.compile(r"https?://[^/]+/compute/(?:v1|beta|alpha)/")
LABELS_MAX, METADATA_VALUE_MAX, METADATA_MAX = 64, 256 << 10, 512 << 10
METADATA_KEY = re.compile(r"[A-Za-z0-9_-]{1,128}")


@dataclasses.dataclass
class Record:
    path: str                  # projects/P/zones/Z/instances/N
    value: dict                # as the API shows it
    born: float = 0.0          # monotonic
    ended: float = 0.0

    @property
    def name(self):
        return self.path.rpartition("/")[2]

    @property
    def kind(self):
        return self.path.split("/")[-2]

    @property
    def scope(self):
        """zones/Z, regions/R or global."""
        words = self.path.split("/")
        return "global" if words[2] == "global" else "/".join(words[2:4])


class Store:
    def __init__(self, now):
        self.now = now             # the cloud's clock
        self.records = {}          # path: Record
        self.ghosts = []           # deleted, but still listed for a while
        self.last_id = int(time.time() * 1e6)

    def new_id(self):
        self.last_id += 1
        return str(self.last_id * 977 % 10**19)

    def add(self, path, value, kind, cls=Record, **more):
        """Store a new resource; `kind` is the name of its type in the API."""
        value.update(kind=f"compute#{kind}", id=self.new_id(), name=path.rpartition("/")[2],
                     creationTimestamp=stamp(self.now()), selfLink=LINK + path)
        self.records[path] = record = cls(path, value, time.monotonic(), **more)
        words = path.split("/")
        if words[2] in ("zones", "regions"):
            value[words[2][:-1]] = LINK + "/".join(words[:4])
        return record

    def remove(self, record):
        self.records.pop(record.path, None)
        record.ended = time.monotonic()
        self.ghosts.append(record)

    def get(self, path):
        """By path; the last word may be the id of an instance, an operation or a disk."""
        record = self.records.get(path)
        if record is None:
            folder, _, last = path.rpartition("/")
            if last.isdigit():
                record = next((r for r in self.all(folder) if r.value["id"] == last), None)
        if record is None:
            raise errors.not_found(path)
        return record

    def all(self, folder):
        """Everything directly in a folder, as projects/P/zones/Z/instances."""
        folder += "/"
        depth = folder.count("/")
        return [r for p, r in self.records.items() if p.startswith(folder)
                and p.count("/") == depth]

    def of_kind(self, kind, project):
        prefix = f"projects/{project}/"
        return [r for p, r in self.records.items() if r.kind == kind and p.startswith(prefix)]


def stamp(seconds):
    text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{text}.{int(seconds % 1 * 1000):03d}-00:00"


def fingerprint(value):
    data = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()[:8]
    return base64.urlsafe_b64encode(data).decode()


# ---- references ----


def path_of(field, text, kind, project, zone="", others=()):
    """The path that a full or partial URL names; it may be in one of the projects `others`."""
    words = HOSTS.sub("", text).strip("/").split("/")
    if words[0] in ("zones", "regions", "global"):
        words = ["projects", project, *words]
    is_named = words[-2:-1] == [kind] or kind == "images" and words[-2:-1] == ["family"]
    if len(words) < 5 or words[0] != "projects" or not is_named:
        raise errors.invalid(field, text, "The URL is malformed.")
    if words[1] == settings.PROJECT_NUMBER:
        words[1] = settings.PROJECT
    if kind != "images" and words[1] not in (project, *others):
        raise errors.invalid(field, text, "Cross project referencing is not allowed for this "
                                          "resource.")
    if zone and words[2:4] != ["zones", zone]:
        raise errors.invalid(field, text, f"The resource must be in zone '{zone}'.")
    return "/".join(words)


# ---- rules that many resources share ----


def check_labels(labels, field="resource.labels"):
    """Google's rules for labels: at most 64, small letters, digits, _ and -; no dots."""
    if len(labels) > LABELS_MAX:
        raise errors.invalid(field, len(labels), f"At most {LABELS_MAX} labels are allowed.")
    for key, value in labels.items():
        if not 1 <= len(key) <= 63 or not key[0].isalpha() or not all(map(label_letter, key)):
            raise errors.invalid(field, key, "Label key must start with a lowercase letter and "
                                 "contain only lowercase letters, digits, '_' and '-', at most 63.")
        if len(value) > 63 or not all(map(label_letter, value)):
            raise errors.invalid(field, value, "Label value must contain only lowercase letters, "
                                 "digits, '_' and '-', at most 63.")


def label_letter(letter):
    if letter in "_-" or letter.isdecimal():
        return True
    return letter.isalpha() and letter == letter.lower()  # letters of all alphabets, small


def check_metadata(items, field="resource.metadata"):
    seen, total = set(), 0
    for item in items:
        key, value = item.get("key", ""), item.get("value", "")
        if not METADATA_KEY.fullmatch(key):
            raise errors.invalid(f"{field}.items[].key", key,
                                 f"Must be a match of regex '{METADATA_KEY.pattern}'")
        if key in seen:
            raise errors.invalid(f"{field}.items[].key", key, "Metadata has duplicate keys.")
        if len(value.encode()) > METADATA_VALUE_MAX:
            raise errors.invalid(f"{field}.items[].value", value[:20], "Value is too large: "
                                 f"maximum size {METADATA_VALUE_MAX} bytes.")
        seen.add(key)
        total += len(key) + len(value.encode())
    if total > METADATA_MAX:
        raise errors.invalid(field, total, f"Metadata is too large: at most {METADATA_MAX} bytes.")


def check_fingerprint(given, current, message):
    """Writes that carry no fingerprint are refused like stale ones."""
    if given != current:
        raise errors.stale(message)


def region_of(zone):
    return zone.rpartition("-")[0]


def zones():
    return [f"{region}-{letter}" for region, letters in settings.ZONES.items()
            for letter in letters]
