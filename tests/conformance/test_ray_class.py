"""Ray's node provider classes behind the adapter (src/app/python/ray_class.py): the rules of every
provider, classes with bad habits, and Ray's own classes with stubs of their SDKs.
"""

import fcntl
import json
import os
import pathlib
import struct
import subprocess
import sys
import time

import guarantees
import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD", HERE.parent.parent / "build"))
ADAPTER = HERE.parent.parent / "src" / "app" / "python" / "ray_class.py"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFRlc3RUZXN0VGVzdFRlc3RUZXN0VGVzdFRlc3RUZXN0 me\n"
TAGS = {"ray-node-type": "worker", "ray-user-node-type": "worker",
        "ray-node-name": "ray-demo-worker", "ray-launch-config": "0a1b",
        "ray-node-status": "uninitialized",
        "shoal-cluster-uid": "f" * 32, "shoal-launch": "7.1"}
HEAD = {**TAGS, "ray-node-type": "head", "ray-user-node-type": "head",
        "ray-node-name": "ray-demo-head", "shoal-launch": "7.2"}


class Adapter:
    """The adapter of one process, spoken to as Shoal does."""

    def __init__(self, folder, provider, where="laptop", config=None, seconds=None, path="classes",
                 hello=True):
        self.folder, self.last = folder, 0
        environment = {**os.environ, "PYTHONPATH": str(HERE / path), "RAY_USAGE_STATS_ENABLED": "0"}
        environment |= {"SHOAL_ADAPTER_SECONDS": json.dumps(seconds)} if seconds else {}
        self.errors = (folder / "stderr").open("ab")
        self.child = subprocess.Popen([sys.executable, ADAPTER], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                      env=environment)
        self.greeting = self.ask("hello", version=1, cluster="demo", provider=provider, ray={
            "where": where, "folder": str(folder / where), **({"config": config} if config else {}),
        }) if hello else {}

    def send(self, op, **fields):
        self.last += 1
        self.child.stdin.write(json.dumps({"id": self.last, "op": op, **fields}) + "\n")
        self.child.stdin.flush()
        return self.last

    def ask(self, op, **fields):
        number = self.send(op, **fields)
        reply = json.loads(self.child.stdout.readline())
        assert reply["id"] == number
        return reply

    def launch(self, token="t1", count=1, tags=None, **more):
        tags = tags or TAGS
        return self.ask("launch", token=token, type=tags["ray-user-node-type"], count=count,
                        tags={**tags, "ray-cluster-name": "demo"}, node_config={}, user_data="#x",
                        **more)

    def list(self):
        return [m for m in self.ask("list")["machines"] if m["state"] != "gone"]

    def swap(self, expect, value):
        return self.ask("swap", expect=expect, value=value)["value"]

    def said(self):
        return (self.folder / "stderr").read_text(errors="replace")

    def close(self):
        self.child.stdin.close()
        assert self.child.wait(60) == 0
        self.child.stdout.close()


@pytest.fixture
def start(tmp_path):
    made = []

    def make(name="ToyProvider", **more):
        provider = {"type": "external", "module": f"toy_cloud.{name}",
                    "state": str(tmp_path / "toy.json"), **more.pop("provider", {})}
        made.append(Adapter(tmp_path, provider, **more))
        return made[-1]
    yield make
    for adapter in made:
        adapter.child.kill()
        adapter.child.wait()


# ---- a class that does what Ray asks for ----


def test_a_life(start):
    adapter = start()
    assert adapter.greeting["can"] == ["tags"] and "ToyProvider" in adapter.greeting["name"]
    made = adapter.launch(count=2)["machines"]
    assert len(made) == 2 and {m["token"] for m in made} == {"t1"}
    assert made[0]["tags"]["shoal-launch"] == "7.1" and made[0]["private_ip"] == "127.0.0.1"
    assert adapter.launch(count=2)["machines"] == made  # the same launch
    assert adapter.ask("tag", ids=[made[0]["id"]], tags={"a": "b"}) == {"id": 4}
    assert adapter.list()[0]["tags"]["a"] == "b"
    assert adapter.ask("terminate", ids=[m["id"] for m in made]) == {"id": 6}
    assert adapter.list() == []
    gone = adapter.ask("list")["machines"]
    assert {m["id"] for m in gone} == {m["id"] for m in made} and gone[0]["token"] == "t1"
    assert "error" not in adapter.ask("terminate", ids=[made[0]["id"]])  # twice is not an error
    assert adapter.ask("terminate", ids=["toy-0"])["error"] == "not_found"
    assert adapter.ask("stop", ids=["toy-0"])["error"] == "invalid"
    adapter.close()


RULE = json.dumps({"cluster": "demo", "uid": "f" * 32, "lease": {"epoch": 1}})


def record(**more):
    return json.dumps({**json.loads(RULE), **more}, sort_keys=True)


def test_the_record_moves_to_the_head_and_back(start):
    """Before the head it is a file, then two machines share it through the head's tags."""
    laptop = start()
    assert laptop.swap("", RULE) == RULE and laptop.swap("x", "y") == RULE
    made = laptop.launch(tags=HEAD)["machines"][0]
    assert not any(key.startswith("shoal-record") for key in made["tags"])
    head = start(where="head")
    seen = head.swap("", "")
    assert json.loads(seen) == json.loads(RULE)
    newer = record(lease={"epoch": 2, "holder": "x" * 300}, launches={"t9": {"at": 1}})
    assert head.swap(seen, newer) == newer
    assert json.loads(head.swap("", ""))["launches"] == {"t9": {"at": 1}}
    seen = laptop.swap("", "")  # without the notes of the other machine
    assert json.loads(seen)["lease"]["epoch"] == 2 and "launches" not in json.loads(seen)
    assert laptop.ask("terminate", ids=[made["id"]]).get("error") is None
    assert json.loads(laptop.swap("", "")) == json.loads(seen)
    assert laptop.swap(laptop.swap("", ""), "") == ""


def test_a_record_that_was_lost_with_the_head_is_not_taken_from_an_old_file(start):
    laptop = start()
    laptop.swap("", RULE)
    made = laptop.launch(tags=HEAD)["machines"][0]
    assert laptop.swap("", "") != ""
    state = laptop.folder / "toy.json"
    nodes = json.loads(state.read_text())
    nodes[made["id"]]["gone"] = True
    state.write_text(json.dumps(nodes))
    assert laptop.swap("", "") == ""


def test_what_was_prepared_is_removed(start, tmp_path):
    """Also if the file was edited since then, and if it takes longer than another swap may."""
    settings = {"type": "external", "module": "toy_cloud.Cleaning",
                "state": str(tmp_path / "toy.json")}
    config = {"provider": settings, "available_node_types": {"worker": {"node_config": {}}}}
    laptop = start(config=config)
    laptop.swap("", RULE)
    made = laptop.launch()["machines"][0]["id"]
    assert "error" not in laptop.ask("terminate", ids=[made])
    laptop.close()
    laptop = start(config={**config, "max_workers": 5}, seconds={"swap": 1})
    assert laptop.swap(RULE, "") == ""
    assert "the network was deleted" in laptop.said()


def until(there):
    while not there():
        time.sleep(0.05)


@pytest.mark.parametrize("result", ["", "fail"])
def test_a_renewal_while_the_head_is_terminated(start, tmp_path, result):
    """The record is in the file from then on, or stays with the head that could not be ended."""
    laptop = start("Slow")
    laptop.swap("", RULE)
    head = laptop.launch(tags=HEAD)["machines"][0]["id"]
    number = laptop.send("terminate", ids=[head])
    until((tmp_path / "ending").exists)
    assert json.loads(laptop.swap("", "")) == json.loads(RULE)
    (tmp_path / "go.new").write_text(result)
    (tmp_path / "go.new").rename(tmp_path / "go")
    reply = json.loads(laptop.child.stdout.readline())
    assert reply["id"] == number and reply.get("error") == ("unknown" if result else None), reply
    assert json.loads(laptop.swap("", "")) == json.loads(RULE)
    assert [m["state"] for m in laptop.list()] == (["running"] if result else [])


# ---- clocks ----


class Machine:
    """Starts adapters with a clock of their own: the wall clock is wrong by `skew` seconds."""

    def __init__(self, start, folder, monkeypatch, where, skew):
        self.start, self.where, self.skew, self.passed = start, where, skew, 0
        self.file, self.monkeypatch = folder / f"clock-{where}", monkeypatch
        self.wait(0)

    def wait(self, seconds):
        """Nothing runs that long. In place: the adapters have the file in memory."""
        self.passed += seconds
        with self.file.open("r+b" if self.file.exists() else "wb") as stream:
            stream.write(struct.pack("qq", (self.skew + self.passed) * 1000, self.passed * 1000))

    def adapter(self):
        self.monkeypatch.setenv("LD_PRELOAD", str(BUILD / "tests" / "front" / "libclock_shim.so"))
        self.monkeypatch.setenv("SHOAL_CLOCK_FILE", str(self.file))
        made = self.start(where=self.where)
        self.monkeypatch.delenv("LD_PRELOAD")
        return made


@pytest.mark.parametrize("skew", [150, -150])
def test_a_lease_and_clocks_that_are_wrong(start, tmp_path, monkeypatch, skew):
    """A lease that is renewed is never free; that of a dead holder is, after its time."""
    here = Machine(start, tmp_path, monkeypatch, "laptop", 0)
    there = Machine(start, tmp_path, monkeypatch, "head", skew)
    laptop, text = here.adapter(), ""
    laptop.swap("", RULE)
    laptop.launch(tags=HEAD)
    head = there.adapter()
    for renewals in range(8):
        until = laptop.ask("swap", expect="", value="")["now"] + 90
        text = record(lease={"epoch": 1, "until": until})
        laptop.swap(laptop.swap("", ""), text)
        for _ in range(3):
            seen = head.ask("swap", expect="", value="")
            assert seen["value"] == text and seen["now"] < until, (renewals, seen)
            here.wait(10), there.wait(10)
    there.wait(60)
    head.close()
    head = there.adapter()
    assert head.ask("swap", expect="", value="")["now"] < until + 10
    there.wait(15)
    assert head.ask("swap", expect="", value="")["now"] >= until + 10
    mine = record(lease={"epoch": 2, "until": until + 300})
    assert head.swap(text, mine) == mine
    assert head.ask("swap", expect="", value="")["now"] < until + 300
    here.wait(60)
    assert laptop.ask("swap", expect="", value="")["now"] < until + 300


def test_a_lease_that_ended_long_ago_is_free_at_once(start, tmp_path, monkeypatch):
    here = Machine(start, tmp_path, monkeypatch, "laptop", 0)
    laptop = here.adapter()
    until = int(time.time()) + 90
    laptop.swap("", record(lease={"epoch": 1, "until": until}))
    laptop.launch(tags=HEAD)
    here.wait(1100)
    other = Machine(start, tmp_path, monkeypatch, "head", 1100).adapter()
    assert other.ask("swap", expect="", value="")["now"] >= until + 10
    assert laptop.ask("swap", expect="", value="")["now"] >= until + 10


def test_two_processes_change_the_file_of_the_machine(start, tmp_path):
    laptop, other = start(), tmp_path / "laptop" / "ray-class.json"
    made = laptop.launch()["machines"][0]["id"]
    laptop.swap("", RULE)
    with open(f"{other}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        data = json.loads(other.read_text())
        laptop.send("terminate", ids=[made])
        until(lambda: json.loads((tmp_path / "toy.json").read_text())[made]["gone"])
        time.sleep(0.5)  # without the lock, it would write now
        other.write_text(json.dumps({**data, "record": record(uid="e" * 32)}))
    assert "error" not in json.loads(laptop.child.stdout.readline())
    assert json.loads(laptop.swap("", ""))["uid"] == "e" * 32
    assert [m["id"] for m in laptop.ask("list")["machines"]] == [made]


def test_a_failed_head_keeps_the_record(start):
    laptop = start("Exiting")
    laptop.swap("", RULE)
    assert laptop.launch(tags=HEAD)["error"] == "invalid"
    assert laptop.swap("", "") == RULE


def test_an_edited_file_is_prepared_again(start, tmp_path):
    """The next launch has the node_config of the file as it is now."""
    for number, kind in enumerate(("small", "large", "large")):
        settings = {"type": "external", "module": "toy_cloud.ToyProvider",
                    "state": str(tmp_path / "toy.json")}
        types = {"worker": {"node_config": {"InstanceType": kind}, "resources": {}}}
        laptop = start(config={"provider": settings, "available_node_types": types})
        made = laptop.launch(f"t{number}")["machines"][0]
        assert json.loads((tmp_path / "toy.json").read_text())[made["id"]]["kind"] == kind
        laptop.close()


# ---- bad habits ----


def test_what_a_class_prints_is_a_message(start):
    adapter = start("Printing")
    assert len(adapter.launch(count=2)["machines"]) == 2  # create_node() returned None
    assert len(adapter.list()) == 2
    adapter.close()  # in spite of its thread
    said = adapter.said()
    assert "looking" in said and "from a child" in said and '{"id": 1}' in said


@pytest.mark.parametrize("name, words", [
    ("Exiting", "Exiting.create_node failed: SystemExit: you forgot to log in"),
    ("Aborting", "Aborting.create_node failed"),
])
def test_a_class_that_exits(start, name, words):
    adapter = start(name)
    reply = adapter.launch()
    assert reply["error"] == "invalid" and words in reply["message"], reply
    assert adapter.list() == []


def test_half_a_launch(start):
    adapter = start("Half")
    made = adapter.launch(count=3)["machines"]
    assert len(made) == 1 and made == adapter.list()
    assert "the connection was reset; 1 nodes were created all the same" in adapter.said()


def test_no_capacity(start):
    adapter = start(provider={"limits": {"": 0}})
    assert adapter.launch()["error"] == "capacity"


def test_kinds_of_errors(start):
    adapter = start("Raising")
    for words, kind in (("Rate limit exceeded", "throttled"),
                        ("An error occurred (RequestLimitExceeded)", "throttled"),
                        ("VcpuLimitExceeded: you have requested more", "quota"),
                        ("The requested VM size is currently unavailable", "capacity"),
                        ("503 Service Unavailable", "unknown"),
                        ("the connection to stockholm was reset", "unknown")):
        assert adapter.launch(words)["error"] == kind, words


def test_a_class_that_hangs(start):
    """Other requests are answered, the user learns where, and a new process works."""
    adapter = start("Hanging")
    adapter.send("launch", token="t1", type="worker", count=1, tags=TAGS)
    assert adapter.list() == []
    adapter = start("Hanging", seconds={"launch": 3})
    reply = adapter.launch()
    assert reply["error"] == "unknown"
    assert reply["message"].endswith(" did not return within 3 s"), reply
    assert adapter.child.wait(60) == 1
    assert start().list() == []


def test_tags_that_are_not_stored(start):
    adapter = start("Forgetful")
    made = adapter.launch(count=2)["machines"]
    assert len(made) == 2 and adapter.list() == made
    assert made[0]["token"] == "t1" and made[0]["tags"]["shoal-cluster-uid"] == "f" * 32


def test_an_address_that_does_not_come(start):
    adapter = start("Waiting")
    made = adapter.launch(count=8)["machines"]
    assert made[0]["private_ip"] == "127.0.0.1" and made[0]["public_ip"] == ""
    assert adapter.list() == made  # it does not ask again
    assert adapter.said().count("waiting for") == 8
    # Ten seconds for each of them would be longer than the limit of a listing.
    assert len(start("Waiting").list()) == 8


@pytest.mark.parametrize("name, words", [
    ("ReadOnly", "ReadOnly cannot create nodes: it is read-only"),
    ("Broken", "Broken failed: KeyError: 'api_key'"),
    ("Missing", "has no attribute 'Missing'"),
])
def test_a_class_that_cannot_be_used(start, name, words):
    reply = start(name).greeting
    assert reply["error"] == "invalid" and words in reply["message"], reply


def test_a_module_that_is_not_there_may_come_on_the_head(tmp_path):
    settings = {"type": "external", "module": "no_such_cloud.Provider"}
    assert Adapter(tmp_path, settings).greeting["error"] == "invalid"
    reply = Adapter(tmp_path, settings, where="head").greeting
    assert reply["error"] == "throttled" and "No module named" in reply["message"]


# ---- the rules of every provider ----


def conform(folder, verb, *words, seconds=250, **environment):
    (folder / "key.pub").write_text(KEY, encoding="ascii")
    environment = {**os.environ, "SHOAL_PLUGIN_STATE": str(folder / "cloud.json"),
                   "RAY_PYTHON": sys.executable, "SHOAL_ADAPTER_DELAY_S": "1",
                   "SHOAL_PLUGIN_MS": "60000", **environment}
    done = subprocess.run(
        [BUILD / "tests" / "conformance" / "conform", verb, "--cloud", "external", "--cluster",
         "conform", "--image", HERE / "ray_class_plugin", "--key", folder / "key.pub", "--zone",
         "a", "--zone", "b", "--plain", *map(str, words)], env=environment, capture_output=True,
        text=True, timeout=seconds)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", ["ToyProvider", *(pytest.param(
    name, marks=pytest.mark.long) for name in ("Printing", "Forgetful"))])
def test_rules(tmp_path, name):
    status, out, err = conform(tmp_path, "rules", RAY_CLASS=f"toy_cloud.{name}")
    assert status == 0, out + err[-3000:]
    guarantees.check("Ray's classes", out)
    assert guarantees.LATE in out, out


# ---- Ray's own classes, with stubs of their SDKs ----

CLOUDS = {
    "azure": ({"type": "azure", "resource_group": "g", "location": "west", "subscription_id": "s"},
              {"azure_arm_parameters": {"vmSize": "Standard"}}),
    "aliyun": ({"type": "aliyun", "region": "r", "access_key": "a", "access_key_secret": "b",
                "key_name": "ray"}, {"InstanceType": "t", "ImageId": "i"}),
    "vsphere": ({"type": "vsphere", "vsphere_config": {"namespace": "n"}}, {"vm_class": "c"}),
}


@pytest.fixture
def ray_cloud(tmp_path, monkeypatch):
    """Starts the adapter with one of Ray's classes, on the laptop or on the head."""
    monkeypatch.setenv("STUB_STATE", str(tmp_path / "cloud.json"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RAY_CLASS_TEST", "1")
    made = []
    for name in ("key", "key.pub"):
        (tmp_path / name).write_text(KEY, encoding="ascii")

    def make(name, where="laptop"):
        provider, node_config = CLOUDS[name]
        kinds = {kind: {"node_config": node_config, "resources": {"CPU": 1}}
                 for kind in ("head", "worker")}
        config = {"provider": provider, "available_node_types": kinds, "max_workers": 9,
                  "head_node_type": "head", "docker": {"image": "ray"}, "file_mounts": {},
                  "head_setup_commands": [], "head_start_ray_commands": [],
                  "worker_start_ray_commands": [],
                  "auth": {"ssh_user": "u", "ssh_private_key": str(tmp_path / "key"),
                           "ssh_public_key": str(tmp_path / "key.pub")}}
        made.append(Adapter(tmp_path, provider, where=where, config=config, path="stubs"))
        if where == "laptop":  # what `up` sends to the head
            made[-1].send_prepared = lambda: (tmp_path / "head" / "plug-in").mkdir(
                parents=True) or (tmp_path / "head/plug-in/ray-class-bootstrap.json").write_bytes(
                    (tmp_path / "laptop/ray-class-bootstrap.json").read_bytes())
        return made[-1]
    yield make
    for adapter in made:
        adapter.child.kill()
        adapter.child.wait()


def cloud_of(folder):
    return json.loads((folder / "cloud.json").read_text())


@pytest.mark.parametrize("name", CLOUDS)
def test_the_life_of_a_cluster(ray_cloud, tmp_path, name):
    laptop = ray_cloud(name)
    assert "error" not in laptop.greeting, laptop.greeting
    assert laptop.list() == [] and laptop.swap("", RULE) == RULE
    head = laptop.launch("t0", tags=HEAD)
    assert len(head.get("machines", [])) == 1, (head, laptop.said()[-3000:])
    head = head["machines"][0]
    made = laptop.launch("t1", count=2)["machines"]
    assert len(made) == 2 and {m["token"] for m in made} == {"t1"}
    assert made[0]["state"] == "running" and made[0]["public_ip"] and made[0]["private_ip"]
    assert all(m["tags"]["shoal-cluster-uid"] == "f" * 32 for m in laptop.list())
    # On the head: nothing is prepared again, and the nodes of the laptop are known.
    laptop.send_prepared()
    there = ray_cloud(name, where="head")
    if name == "vsphere":
        assert there.swap("", RULE) == RULE  # a lease of its own
    else:
        assert json.loads(there.swap("", "")) == json.loads(RULE)
    assert {m["id"] for m in there.list()} == {head["id"], *(m["id"] for m in made)}
    assert all(m["tags"]["shoal-cluster-uid"] == "f" * 32 for m in there.list())
    more = there.launch("t2")["machines"]
    assert len(more) == 1
    there.close()
    ids = [m["id"] for m in laptop.list()]
    assert len(ids) == 4 and all(m["tags"]["shoal-cluster-uid"] == "f" * 32 for m in laptop.list())
    assert "error" not in laptop.ask("terminate", ids=[i for i in ids if i != head["id"]])
    assert "error" not in laptop.ask("terminate", ids=[head["id"]])
    while laptop.list():
        time.sleep(0.2)
    stored = laptop.swap("", "")
    assert laptop.swap(stored, "") == ""
    data = cloud_of(tmp_path)
    assert not data.get("vms") and not data.get("instances") and not data.get("cluster")
    assert not data.get("network"), "cleanup_cluster_resources was not called"


def test_the_key_of_the_cluster_is_installed(ray_cloud, tmp_path):
    ray_cloud("azure").launch("t0", tags=HEAD)
    assert [vm["publicKey"] for vm in cloud_of(tmp_path)["vms"].values()] == [KEY]


@pytest.mark.parametrize("name", ["aliyun", "vsphere"])
def test_a_cloud_that_is_down_is_not_empty(ray_cloud, tmp_path, name):
    """These classes log the error and go on."""
    laptop = ray_cloud(name)
    laptop.swap("", RULE)
    laptop.launch("t0", tags=HEAD)
    (tmp_path / "cloud.json").write_text(json.dumps({**cloud_of(tmp_path), "down": True}))
    assert laptop.ask("list")["error"] == "unknown"


# ---- guarantees ----

ABILITIES = ("tokens", "atomic_swap", "tags", "stop")


def greet(program, environment, **provider):
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, **environment}) as child:
        out, _ = child.communicate(json.dumps({
            "id": 1, "op": "hello", "version": 1, "cluster": "demo", "provider": provider}) + "\n")
        return json.loads(out.splitlines()[0])


def test_what_each_provider_cannot_guarantee(start, ray_cloud):
    """Printed as a table, and compared with that of docs/dev/providers.md."""
    examples = HERE.parent.parent / "examples" / "plug-ins"
    rows = {name: greet(examples / name, {}, state="none") for name in (
        "file_cloud.py", "small_cloud.pl")}
    rows["lagoon_plugin.py"] = greet(HERE / "lagoon_plugin.py", {"LAGOON_URL": "http://none"})
    for adapter in (start(), start("Forgetful"), *(ray_cloud(name) for name in CLOUDS)):
        assert "error" not in adapter.greeting, adapter.greeting
        rows[adapter.greeting["name"]] = adapter.greeting
    print("\n" + " ".join(f"{word:24}" for word in ("plug-in",) + ABILITIES).rstrip())
    for name, reply in rows.items():
        lacks = ["yes" if ability in reply.get("can", []) else "NO" for ability in ABILITIES]
        print(" ".join(f"{word:24}" for word in [name] + lacks).rstrip())
    guarantees.check_abilities("plug-in", rows["file_cloud.py"]["can"])
    guarantees.check_abilities("least plug-in", rows["small_cloud.pl"].get("can", []))
    guarantees.check_abilities("Ray's classes", rows["Ray's ToyProvider"]["can"])
    for name in guarantees.table():
        guarantees.show(name)
    assert rows["file_cloud.py"]["can"] == list(ABILITIES) and "can" not in rows["small_cloud.pl"]
    assert rows["Ray's AzureNodeProvider"]["can"] == ["tags"]
    assert "does not store tags" in rows["Ray's VsphereWcpNodeProvider"]["notes"][0]
    for reply in rows.values():
        print(*(f"- {note}" for note in reply.get("notes", [])[:1]), sep="\n")
