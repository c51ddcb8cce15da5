"""Runs a node provider class of Ray as a plug-in of Shoal (docs/dev/plug-ins.md).

Shoal starts this file with the user's Python. The class is loaded as Ray loads it and is not
changed. It knows neither idempotency tokens nor a compare-and-swap, so:

- A launch has a tag with its token. It is sent only if no listed node has that tag. After an
  exception the nodes that have it are the result.
- The text of `swap` is in the tags of the head (shoal-record-0, ...) while there is one, and in a
  file of this machine before and after that. Notes about launches are in that file only.
"""

import base64
import contextlib
import copy
import fcntl
import hashlib
import importlib.util
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import traceback
import zlib

TOKEN, RECORD, LAUNCH = "shoal-token", "shoal-record-", "shoal-launch"
KIND, TYPE, UID = "ray-node-type", "ray-user-node-type", "shoal-cluster-uid"
CHUNK_CHARS = 60  # of a tag: the strictest cloud allows 63 of a-z, 0-9, - and _
SECONDS = {"launch": 280, "terminate": 280, "hello": 280, "remove": 280}  # Shoal waits for 300
OTHER_SECONDS = 50
ADDRESS_SECONDS = 10  # of one listing
APPEAR_SECONDS = 30
AGAIN_SECONDS = 20
LEASE_SECONDS = 100  # a lease of Shoal and its grace: its holder writes every 30 seconds
OLD_SECONDS = 900  # the clocks of two machines differ by less
# The tags of these classes are lost with the process that set them.
FORGETFUL = {"VsphereWcpNodeProvider"}
WORDS = (
    ("throttled", r"throttl|rate ?(limit ?)?exceeded|requestlimitexceeded|too many requests"),
    ("quota", r"quota|limit ?exceeded|limit reached"),
    ("capacity", r"capacity|exhausted|insufficient|\bstock\b|sold out|(?<!service )unavailable"),
    ("denied", r"denied|unauthori|forbidden|credential|permission"),
)
MISTAKES = (TypeError, KeyError, AttributeError, NotImplementedError, ValueError, ImportError)


class Failure(Exception):
    """An error for Shoal: its kind, and a sentence."""


def say(text):
    print(f"shoal: {text}", file=sys.stderr, flush=True)


def sentence(error):
    """What an exception says, on one line."""
    text = " ".join(str(getattr(error, "message", None) or error).split())
    return f"{type(error).__name__}: {text}"[:250] if text else type(error).__name__


# ---- the class ----

calls = {}  # thread id -> the method that it runs


def call(work, *words):
    """Calls a method of the class. Nothing that it raises may end this process."""
    owner = getattr(work, "__self__", None)
    owner = owner if isinstance(owner, type) else type(owner)
    name = work.__qualname__ if owner in (type(None), Nodes) else (
        f"{owner.__name__}.{work.__name__}")
    calls[threading.get_ident()] = name
    try:
        return work(*words)
    except Failure:
        raise
    except BaseException as error:  # also SystemExit, which Ray's cli_logger.abort() raises
        traceback.print_exc()
        raise Raised(name, error) from None
    finally:
        calls.pop(threading.get_ident(), None)


class Raised(Exception):
    def __init__(self, name, error):
        super().__init__(f"{name} failed: {sentence(error)}")
        self.error = error

    def kind(self):
        """The kind of an error that certainly had no effect; otherwise "unknown"."""
        text = str(self).lower()
        for kind, words in WORDS:
            if re.search(words, text):
                return kind
        is_exit = isinstance(self.error, (SystemExit, KeyboardInterrupt))
        is_abort = type(self.error).__name__ in ("ClickException", "SilentClickException")
        return "invalid" if is_exit or is_abort or isinstance(self.error, MISTAKES) else "unknown"


@contextlib.contextmanager
def listing_errors():
    """Errors that a class logs instead of raising them: an empty list would mean that all nodes
    are gone. Ray's class for vSphere does so."""
    errors = []

    class Handler(logging.Handler):
        def emit(self, record):
            text = " ".join(record.getMessage().split())
            if text.startswith("Exception while getting") and "(404)" not in text:
                errors.append(text)
    logger, handler = logging.getLogger("ray.autoscaler._private.vsphere"), Handler()
    logger.addHandler(handler)
    try:
        yield errors
    finally:
        logger.removeHandler(handler)


def find_ray():
    """Continues with the Python that has Ray, if this one has none."""
    named = os.path.expanduser(os.environ.pop("SHOAL_ADAPTER_PYTHON", ""))
    if importlib.util.find_spec("ray"):
        return
    places = os.environ.get("PATH", "") + ":" + os.path.expanduser("~/.shoal/ray/bin")
    program = shutil.which("ray", path=places) or subprocess.run(
        ["bash", "-lc", "command -v ray"], stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=False).stdout.strip()
    first = open(program, "rb").readline().decode(errors="replace") if program else ""
    python = first[2:].split()[0] if first.startswith("#!/") else ""
    python = named if os.access(named, os.X_OK) else python
    if "python" not in python or os.environ.get("SHOAL_ADAPTER_AGAIN"):
        return  # hello says so
    loader = "import os;exec(compile(os.environ['SHOAL_ADAPTER'],'ray_class.py','exec'))"
    words = ["-c", loader] if "SHOAL_ADAPTER" in os.environ else sys.argv
    os.environ["SHOAL_ADAPTER_AGAIN"] = "1"
    os.execv(python, [python, *words])


class Nodes:
    """One object of the class, and what it lists."""

    def __init__(self, request):
        self.cluster = request["cluster"]
        more = request.get("ray", {})
        self.is_head = more.get("where") == "head"
        self.user_data_key = more.get("user_data_key", "")
        self.state = State(more.get("folder") or os.environ["SHOAL_ADAPTER_STATE"], self.is_head)
        self.config = more.get("config") or {"provider": request["provider"], "auth": {}}
        self.config["cluster_name"] = self.cluster
        auth = self.config.setdefault("auth", {})
        if more.get("key") and not auth.get("ssh_private_key"):
            auth |= {"ssh_private_key": more["key"], "ssh_public_key": more["key"] + ".pub"}
        # Shoal has no use for stopped nodes: a node that is terminated must be gone.
        self.config["provider"]["cache_stopped_nodes"] = False
        self.list_lock, self.launch_lock = threading.Lock(), threading.Lock()
        self.addresses, self.asked, self.patience = {}, set(), 0
        self.ending = {}  # nodes that were terminated and may still be listed: when
        sys.path[:0] = [folder for folder in more.get("modules", []) if folder not in sys.path]
        sys.argv = (["monitor.py", "--autoscaling-config=" + os.path.expanduser(
            "~/ray_bootstrap_config.yaml")] if self.is_head else ["ray", "up"])
        self.kind = call(self.load)
        self.forgets = self.kind.__name__ in FORGETFUL
        self.input = hashlib.sha256(json.dumps(self.config, sort_keys=True).encode()).hexdigest()
        self.given = self.config
        ready = self.state.bootstrapped()
        self.is_ready = (self.is_head or ready.get("input") == self.input or
                         "available_node_types" not in self.config)
        if ready:
            self.config = ready["config"]
            self.config["provider"]["cache_stopped_nodes"] = False
        self.make()

    def load(self):
        from ray.autoscaler._private.providers import _get_node_provider_cls
        return _get_node_provider_cls(self.config["provider"])

    def make(self):
        provider = {**self.config["provider"], "_config_cache_path": self.state.path + ".cache"}
        self.object = call(self.kind, provider, self.cluster)
        if call(self.object.is_readonly):
            raise Failure("invalid", f"{self.kind.__name__} cannot create nodes: it is read-only")

    def bootstrap(self):
        """As `ray up` does before its first node: creates networks, keys and roles."""
        with self.launch_lock:
            if self.is_ready:
                return
            config = call(self.kind.fillout_available_node_types_resources,
                          copy.deepcopy(self.given))
            self.config = call(self.kind.bootstrap_config, config)
            self.make()
            self.config = call(self.object.prepare_for_head_node, self.config) or self.config
            self.state.write_bootstrapped({"input": self.input, "config": self.config})
            self.is_ready = True

    def notes(self):
        """What `shoal check` says about the class."""
        from ray.autoscaler.node_provider import NodeProvider
        if self.forgets:
            yield (f"{self.kind.__name__} does not store tags: all nodes that it lists are used as "
                   "this cluster's, and the lease is a file of each machine")
        else:
            yield ("the lease of the cluster is in the tags of its head; until there is one, it is "
                   "a file of this machine")
        if not self.user_data_key:
            yield ("nodes get no user data: the host key of a new node is trusted at first contact")
        if self.kind.get_command_runner is not NodeProvider.get_command_runner:
            yield (f"{self.kind.__name__} has its own get_command_runner(), which is not used: "
                   "Shoal runs commands over ssh")

    # ---- listing ----

    def tags(self, node):
        tags = dict(call(self.object.node_tags, node) or {})
        if self.forgets:
            kept = self.state.tags(node)
            tags = {"ray-cluster-name": self.cluster, TOKEN: f"found-{node}", **tags, **kept}
            uid = self.state.uid()
            tags.update({UID: uid} if uid else {})
        return {str(key): str(value) for key, value in tags.items() if value is not None}

    def address(self, node, which):
        """An address, or "" while there is none. Some classes wait for it for ever."""
        key = (which, node)
        if key not in self.addresses and key not in self.asked:
            self.asked.add(key)

            def ask():
                try:
                    found = call(getattr(self.object, which), node)
                    if found:
                        self.addresses[key] = str(found)
                except Raised as error:
                    say(str(error))
                finally:
                    self.asked.discard(key)
            thread = threading.Thread(target=ask, daemon=True)
            thread.start()
            thread.join(max(self.patience - time.monotonic(), 0.05))
        return self.addresses.get(key, "")

    def machine(self, node):
        tags = self.tags(node)
        made = {"id": str(node), "token": tags.get(TOKEN, ""), "state": "pending",
                "tags": shown_tags(tags)}
        if node in self.ending:
            made["state"] = "ending"
        elif call(self.object.is_running, node):
            made["state"] = "running"
            inside = self.config["provider"].get("use_internal_ips")
            outside = self.config["provider"].get("use_external_head_ip")
            made["private_ip"] = self.address(node, "internal_ip")
            if not inside or (outside and tags.get(KIND) == "head"):
                made["public_ip"] = self.address(node, "external_ip")
        return made

    def forget_tags(self):
        """Ray's class for AWS reads the tags of a node once, and never again."""
        cache = getattr(self.object, "tag_cache", None)
        if isinstance(cache, dict) and not self.forgets:
            cache.clear()

    def ids(self):
        """The ids of all nodes. A class that ignored a termination is asked again."""
        self.forget_tags()
        with listing_errors() as errors:
            ids = [str(node) for node in call(self.object.non_terminated_nodes, {})]
        if errors:
            raise Failure("unknown", f"{self.kind.__name__} cannot list: {errors[0][:200]}")
        late = time.monotonic() - AGAIN_SECONDS
        again = [node for node in ids if self.ending.get(node, late + 1) < late]
        if again:
            call(self.object.terminate_nodes, again)
            self.ending.update((node, time.monotonic()) for node in again)
        for node in set(self.ending) - set(ids):
            del self.ending[node]
            self.state.drop_tags(node)
        return ids

    def list(self, tries=2):
        """All nodes. One that vanishes in the meantime is left out."""
        with self.list_lock:
            machines = []
            self.patience = time.monotonic() + ADDRESS_SECONDS
            for node in self.ids():
                try:
                    machines.append(self.machine(node))
                except Raised:
                    if node not in self.ids():
                        continue
                    if tries == 0:
                        raise
                    break
            else:
                return machines + self.state.gone({machine["id"] for machine in machines})
        time.sleep(0.5)
        return self.list(tries - 1)

    def of_token(self, token):
        return [machine for machine in self.list() if machine["token"] == token]

    def set_tags(self, node, tags):
        if self.forgets:
            self.state.add_tags(node, tags)
        if LAUNCH in tags:
            tags = {**tags, LAUNCH: tags[LAUNCH].replace(".", "-")}
        with self.list_lock if hasattr(self.object, "tag_cache") else contextlib.nullcontext():
            call(self.object.non_terminated_nodes, {})  # it must know the node
            call(self.object.set_node_tags, node, tags)

    # ---- launching ----

    def launch(self, request):
        token, tags = request["token"], dict(request["tags"])
        if not self.is_ready:
            self.bootstrap()
        before = self.list()
        same = [machine for machine in before if machine["token"] == token]
        if same:
            return same
        tags.setdefault(TYPE, request["type"])
        is_head = tags.setdefault(KIND, "worker") == "head"
        tags.pop("ray-cluster-name", None)  # the class adds it
        tags[TOKEN] = token
        born = {**tags, LAUNCH: tags[LAUNCH].replace(".", "-")}
        if is_head and not self.forgets:
            born.update(self.state.record_as_tags())
        kind = self.config.get("available_node_types", {}).get(request["type"], {})
        node_config = copy.deepcopy(kind.get("node_config", request.get("node_config", {})))
        if self.user_data_key and request.get("user_data"):
            node_config[self.user_data_key] = request["user_data"]
        words = [node_config, born, request["count"]]
        raised, made = None, None
        with self.launch_lock if self.forgets else contextlib.nullcontext():
            try:
                if is_head:
                    made = call(self.object.create_node, *words)
                else:
                    made = call(self.create(), *words, kind.get("resources", {}),
                                kind.get("labels", {}))
            except Raised as error:
                raised = error
            return self.result(token, born, before, made, raised)

    def create(self):
        """What Ray calls for a worker."""
        from ray.autoscaler.node_provider import NodeProvider
        name = "create_node_with_resources_and_labels"
        is_own = getattr(self.kind, name) is not getattr(NodeProvider, name)
        simple = self.object.create_node

        def create_node(node_config, tags, count, _resources, _labels):
            return simple(node_config, tags, count)
        create_node.__qualname__ = f"{self.kind.__name__}.create_node"
        return getattr(self.object, name) if is_own else create_node

    def result(self, token, born, before, made, raised):
        """The nodes of a launch. What is listed counts, whatever create_node() returned."""
        known = {machine["id"] for machine in before}
        end = time.monotonic() + (3 if raised else APPEAR_SECONDS)
        while True:
            listed = self.list()
            found = [machine for machine in listed if machine["token"] == token]
            found = [machine for machine in found if machine["state"] != "gone"]
            ids = {machine["id"] for machine in found}
            for machine in listed:  # a class may store some tags only, or none
                is_new = machine["id"] not in known and machine["token"] in (
                    "", f"found-{machine['id']}") and machine["tags"].get(TYPE) == born[TYPE]
                if machine["id"] not in ids and (machine["id"] in (made or {}) or is_new):
                    self.set_tags(machine["id"], born)
                    found.append({**machine, "token": token, "tags": shown_tags(
                        {**machine["tags"], **born})})
            if found:
                for machine in found:  # an id may be used again
                    self.ending.pop(machine["id"], None)
                    self.state.drop_gone(machine["id"])
                if raised:
                    say(f"{raised}; {len(found)} nodes were created all the same")
                return found
            if time.monotonic() > end:
                break
            time.sleep(0.5)
        if raised:
            raise Failure(raised.kind(), str(raised))
        raise Failure("unknown", f"{self.kind.__name__}.create_node returned, but "
                      f"non_terminated_nodes does not list a node of this launch after "
                      f"{APPEAR_SECONDS} s")

    def terminate(self, ids):
        listed = {machine["id"]: machine for machine in self.list()}
        wanted = [node for node in ids if node in listed and listed[node]["state"] != "gone"]
        heads = [node for node in wanted if listed[node]["tags"].get(KIND) == "head"]
        if heads:
            with self.state.lock():
                text = self.record()[0]
                if text:
                    self.state.write(text)  # the tags end with it
                self.ending.update((node, time.monotonic()) for node in heads)
        most = self.object.max_terminate_nodes or len(wanted) or 1
        try:
            for at in range(0, len(wanted), most):
                call(self.object.terminate_nodes, wanted[at:at + most])
        except Raised as error:
            left = {machine["id"] for machine in self.list()} & set(wanted)
            if left:
                for node in heads:
                    self.ending.pop(node, None)
                raise Failure("unknown", f"{error}; still listed: {', '.join(sorted(left))}"
                              ) from None
        self.state.add_gone({node: listed[node] for node in wanted})
        for node in wanted:
            self.ending[node] = time.monotonic()
            for which in ("internal_ip", "external_ip"):
                self.addresses.pop((which, node), None)  # an id may be used again
        return listed.keys() >= set(ids)

    def tag(self, ids, tags):
        with self.list_lock:
            listed = set(self.ids())
        for node in ids:
            if node in listed:
                self.set_tags(node, tags)
        return listed.issuperset(ids)

    # ---- the record ----

    def head(self):
        """(id, tags) of the head with the newest record; (None, {})."""
        found, serial = (None, {}), -1
        if self.forgets:
            return found
        with self.list_lock:
            self.forget_tags()
            for node in call(self.object.non_terminated_nodes, {KIND: "head"}):
                if node in self.ending:
                    continue
                tags = call(self.object.node_tags, node) or {}
                number = record_serial(tags)
                if number > serial:
                    found, serial = (node, tags), number
        return found

    def record(self):
        """(the text, the head that has it or None, its tags)."""
        node, tags = self.head()
        if not node:
            return self.state.read(), None, {}
        text = self.state.join(record_read(tags))
        self.state.change(moved=True)
        return text, node, tags

    def swap(self, expect, value):
        with self.state.lock():
            stored, node, tags = self.record()
            if stored == expect and stored != value:
                if node and value:
                    self.set_tags(node, record_write(self.state.split(value),
                                                     record_serial(tags) + 1))
                else:
                    self.remove_rest(value)
                    self.state.write(value)
                stored = value
            return {"value": stored, "now": self.state.now(stored)}

    def remove_rest(self, value):
        """As `ray down` does when no node is left."""
        clean = getattr(self.object, "cleanup_cluster_resources", None)
        is_prepared = self.is_ready or self.state.bootstrapped()  # also if the file was edited
        if value == "" and clean and is_prepared and not self.is_head:
            call(clean)
        if value == "":
            self.state.forget_bootstrapped()


# ---- tags ----


def shown_tags(tags):
    """Without those of the adapter. A dot is not allowed in the tags of every cloud."""
    return {key: value.replace("-", ".") if key == LAUNCH else value
            for key, value in tags.items() if key != TOKEN and not key.startswith(RECORD)}


def record_write(text, serial):
    packed = base64.b32encode(zlib.compress(text.encode())).decode().rstrip("=").lower()
    parts = [packed[at:at + CHUNK_CHARS] for at in range(0, len(packed), CHUNK_CHARS)]
    return {f"{RECORD}0": f"{serial}-{len(parts)}-{zlib.crc32(packed.encode())}",
            **{f"{RECORD}{number}": part for number, part in enumerate(parts, 1)}}


def lease_of(text):
    record = json.loads(text) if text else {}
    return record.get("lease", {})


def record_serial(tags):
    """-1 if the tags have no record."""
    return int(tags.get(f"{RECORD}0", "-1").partition("-")[0] or -1)


def record_read(tags):
    _, count, check = tags[f"{RECORD}0"].split("-")
    packed = "".join(tags.get(f"{RECORD}{number}", "") for number in range(1, int(count) + 1))
    if zlib.crc32(packed.encode()) != int(check):
        raise Failure("throttled", "the record in the tags of the head is being changed")
    packed = packed.upper() + "=" * (-len(packed) % 8)
    return zlib.decompress(base64.b32decode(packed)).decode()


class State:
    """The file of this machine: the record while there is no head, notes about launches, and the
    tags of classes that have none."""

    def __init__(self, folder, is_head):
        self.path = os.path.join(folder, "ray-class.json")
        self.ready = os.path.join(folder, "plug-in" if is_head else "", "ray-class-bootstrap.json")
        self.mutex, self.depth = threading.RLock(), 0

    @contextlib.contextmanager
    def lock(self):
        """Also against other processes. A thread may take it again."""
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        with self.mutex, open(self.path + ".lock", "w", encoding="utf-8") as file:
            if self.depth == 0:
                fcntl.flock(file, fcntl.LOCK_EX)
            self.depth += 1
            try:
                yield
            finally:
                self.depth -= 1

    @staticmethod
    def load(path):
        try:
            with open(path, encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return {}

    @staticmethod
    def save(path, data):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(os.open(path + ".new", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w",
                  encoding="utf-8") as file:
            json.dump(data, file, default=str)
        os.replace(path + ".new", path)

    def change(self, **parts):
        with self.lock():
            data = self.load(self.path)
            if {**data, **parts} != data:
                self.save(self.path, {**data, **parts})

    def read(self):
        """"" also if the record was in the tags of a head that is gone: it may be old."""
        data = self.load(self.path)
        return "" if data.get("moved") else data.get("record", "")

    def write(self, text):
        self.change(record=text, moved=False, uid=json.loads(text)["uid"] if text else "",
                    **({} if text else {"launches": {}, "tags": {}}))

    def now(self, text):
        """The time for Shoal. The clouds of these classes do not tell theirs, and those of two
        machines may differ: a lease is free when this machine has seen it unchanged for as long as
        a lease lasts."""
        wall, until = int(time.time()), lease_of(text).get("until", 0)
        if not until:
            return wall
        if self.seen(lease_of(text)) >= LEASE_SECONDS:
            return max(wall, until + LEASE_SECONDS)
        return wall if wall > until + OLD_SECONDS else min(wall, until - 1)

    def seen(self, lease):
        """For how many seconds the lease was the same, by a clock that is not set and counts sleep.
        After a reboot it is less."""
        now = time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
        last, since = self.load(self.path).get("seen", [{}, 0])
        if lease != last or since > now:
            self.change(seen=[lease, now])
            return 0
        return now - since

    def record_as_tags(self):
        text = self.read()
        return record_write(self.split(text), 1) if text else {}

    def split(self, text):
        """The part for the tags of the head. The notes stay here."""
        record = json.loads(text)
        self.change(launches=record.pop("launches", {}), uid=record["uid"])
        return json.dumps(record, sort_keys=True)

    def join(self, text):
        launches = self.load(self.path).get("launches")
        return json.dumps({**json.loads(text), "launches": launches}, sort_keys=True) \
            if launches else text

    def gone(self, listed):
        """Nodes that were terminated here in the last day and are not listed any more."""
        return [{**machine, "state": "gone"} for node, machine in
                self.load(self.path).get("gone", {}).items() if node not in listed]

    def add_gone(self, machines):
        with self.lock():
            day = time.time() - 24 * 3600
            old = {node: machine for node, machine in self.load(self.path).get("gone", {}).items()
                   if machine["ended_at"] > day}
            for node, machine in machines.items():
                old[node] = {"id": node, "token": machine["token"], "tags": machine["tags"],
                             "ended_at": int(time.time())}
            self.change(gone=old)

    def drop_gone(self, node):
        with self.lock():
            every = self.load(self.path).get("gone", {})
            if every.pop(node, None):
                self.change(gone=every)

    def uid(self):
        return self.load(self.path).get("uid", "")

    def tags(self, node):
        return self.load(self.path).get("tags", {}).get(node, {})

    def add_tags(self, node, tags):
        with self.lock():
            every = self.load(self.path).get("tags", {})
            self.change(tags={**every, node: {**every.get(node, {}), **tags}})

    def drop_tags(self, node):
        if self.tags(node):
            with self.lock():
                every = self.load(self.path).get("tags", {})
                every.pop(node, None)
                self.change(tags=every)

    def bootstrapped(self):
        return self.load(self.ready)

    def write_bootstrapped(self, data):
        self.save(self.ready, data)

    def forget_bootstrapped(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.ready)


# ---- requests ----


class Adapter:
    def __init__(self, replies):
        self.replies, self.mutex, self.nodes = replies, threading.Lock(), None

    def reply(self, request, body):
        with self.mutex:
            self.replies.write(json.dumps({"id": request["id"], **body}) + "\n")
            self.replies.flush()

    def hello(self, request):
        if not importlib.util.find_spec("ray"):
            raise Failure("throttled" if request.get("ray", {}).get("where") == "head" else
                          "invalid", f"{sys.executable} has no Ray, which has the classes of node "
                          "providers. Install it there, or name another Python in "
                          "metadata.shoal.python")
        try:
            self.nodes = Nodes(request)
        except Raised as error:  # on the head, a setup command may install the module later
            is_later = isinstance(error.error, ImportError) and \
                request.get("ray", {}).get("where") == "head"
            raise Failure("throttled" if is_later else error.kind(), str(error)) from None
        return {"version": 1, "name": f"Ray's {self.nodes.kind.__name__}", "can": ["tags"],
                "parallel": 8, "notes": list(self.nodes.notes()),
                "list_delay_s": int(os.environ.get("SHOAL_ADAPTER_DELAY_S", "30"))}

    def answer(self, request):
        op = request["op"]
        if op == "hello":
            return self.hello(request)
        if op == "list":
            return {"machines": self.nodes.list()}
        if op == "swap":
            return self.nodes.swap(request["expect"], request["value"])
        if op == "launch":
            return {"machines": self.nodes.launch(request)}
        if op == "terminate":
            is_all = self.nodes.terminate(request["ids"])
        elif op == "tag":
            is_all = self.nodes.tag(request["ids"], request["tags"])
        else:
            raise Failure("invalid", f"Ray's classes cannot {op} nodes")
        return {} if is_all else {"error": "not_found", "message": "some nodes are not listed"}

    def work(self, request, done, timer):
        try:
            body = self.answer(request)
        except Failure as failure:
            body = {"error": failure.args[0], "message": failure.args[1]}
        except Raised as error:
            body = {"error": error.kind() if request["op"] == "hello" else "unknown",
                    "message": str(error)}
        except BaseException as error:  # a fault of this file
            traceback.print_exc()
            body = {"error": "unknown", "message": sentence(error)}
        with self.mutex:
            is_late, done[0] = done[0], True
        timer[0].cancel()
        if not is_late:
            self.reply(request, body)

    def start(self, request):
        """In a thread: a class may take minutes for one node. If it does not return at all, it
        may hold a lock, so this process ends and Shoal starts another."""
        done, timer = [False], []
        thread = threading.Thread(target=self.work, args=(request, done, timer), daemon=True)
        is_remove = request["op"] == "swap" and request["expect"] and not request["value"]
        op = "remove" if is_remove else request["op"]  # cleanup_cluster_resources() may take long
        limits = {**SECONDS, **json.loads(os.environ.get("SHOAL_ADAPTER_SECONDS", "{}"))}
        seconds = limits.get(op, OTHER_SECONDS)

        def give_up():
            with self.mutex:
                is_late, done[0] = not done[0], True
            if is_late:
                where = calls.get(thread.ident) or request["op"]
                self.reply(request, {"error": "unknown", "message":
                                     f"{where} did not return within {seconds} s"})
                say(f"{where} did not return within {seconds} s; starting again")
                os._exit(1)
        timer.append(threading.Timer(seconds, give_up))
        timer[0].daemon = True
        thread.start()
        timer[0].start()
        if request["op"] == "hello":
            thread.join()  # the rest needs it

    def run(self, requests):
        for line in requests:
            self.start(json.loads(line))


def main():
    find_ray()
    for name in ("SHOAL_ADAPTER", "SHOAL_ADAPTER_AGAIN"):
        os.environ.pop(name, None)
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what the class prints is a message for people
    sys.stdout = sys.stderr
    Adapter(replies).run(requests)
    os._exit(0)  # a class may leave threads


main()
