"""Commands of ray up's users on the stand-in for Compute Engine."""

import json
import subprocess

import pytest
from cloud import settings as bed
from front import wait_for
from points import Points
from test_commands import PROXY
from test_gce_clusters import (SPOT, _front, _laptop, cluster, delete, down,  # noqa: F401
                               workers)
from test_sessions import Terminal

ACCOUNT = {"serviceAccounts": [{"email": "default", "scopes": [
    "https://www.googleapis.com/auth/cloud-platform"]}]}


# ---- the autoscaler ----


def want(front, demand):
    front.head("demo").run("sh", "-c", f"echo '{json.dumps(demand)}' > /tmp/ray/demand.json")


def test_a_burst_and_its_end(front, laptop):
    """Four workers with one or two calls; they end when they are idle."""
    config = cluster(front, 4, least=0, upscaling_speed=100)
    config["available_node_types"]["worker"]["idle_timeout_s"] = 1
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    assert workers(front) == []
    want(front, [{"CPU": 1}] * 5)  # the head has one CPU
    wait_for(lambda: len(workers(front)) == 4, 60, 0.1, "four workers")
    calls = front.calls(action="instances.bulkInsert")
    assert len([c for c in calls if c["who"] != "laptop"]) <= 2, calls
    assert "pending" in laptop("explain", file).out
    wait_for(lambda: laptop("status", file).out.count("ready") == 5, 60, 0.2, "Ray there")
    want(front, [])
    wait_for(lambda: not workers(front, None), 90, 0.1, "their end")
    assert "idle" in laptop("events", file).out
    down(front, laptop, file)


def test_a_spot_notice(front, laptop):
    """30 s before the end: another worker is launched at once, and the node is drained."""
    config = cluster(front, 2, least=1, worker={"scheduling": SPOT})
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    lost, = workers(front)
    assert lost.row["scheduling"]["provisioningModel"] == "SPOT"
    front.head("demo").run("touch", f"/tmp/ray/busy-{lost.name}")
    front.preempt(instance=lost.name)
    wait_for(lambda: [m for m in front.alive("demo") if m.kind == "worker" and
                      m.name != lost.name], 28, 0.1, "another one")
    assert "raylet" in str(lost.processes())  # it still works
    said = laptop("explain", file).out + laptop("events", file).out
    assert "notice" in said, said
    wait_for(lambda: [m.name for m in front.machines("demo") if m.kind == "worker" and
                      m.name == lost.name] == [], 60, 0.2, "its end")
    assert len(workers(front)) == 1
    down(front, laptop, file)


def test_a_preemption_during_setup(front, laptop):
    """Listings do not show it any more: the events still say what happened to it."""
    front.set(preempt=0.5)
    config = cluster(front, 1, least=0, worker={"scheduling": SPOT},
                     worker_setup_commands=["sleep 600"])
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    want(front, [{"CPU": 1}] * 2)
    lost = wait_for(lambda: workers(front), 60, 0.1, "a worker")[0]
    front.preempt(instance=lost.name)
    wait_for(lambda: "worker-1: terminated  (the cloud reclaimed the spot instance" in
             laptop("events", file).out, 60, 0.2, "the event")
    assert "reclaimed the spot instance" in laptop("explain", file, "worker-1").out
    want(front, [])
    down(front, laptop, file)


# ---- commands ----


def test_up_again_changes_nothing(front, laptop):
    file = laptop.file("cluster.yaml", cluster(front, 1))
    laptop("up", "-y", file)
    before = [m.name for m in front.machines()]
    done = laptop("up", "-y", file)
    assert [m.name for m in front.machines()] == before
    assert "Nothing to do" in laptop("plan", file).out, done
    laptop.file("a file", "text\n")
    laptop("rsync-up", "-A", file, "a file", "~/a file")
    for machine in front.alive("demo"):
        assert (machine.home / "a file").read_text() == "text\n"
    laptop("rsync-down", file, "~/a file", "back")
    assert (laptop.here / "back").read_text() == "text\n"
    on = Terminal(laptop, "attach", file)
    on.send("echo here-$((1+1)) $(hostname)\n")
    on.expect(f"here-2 {front.head('demo').name}")
    on.send("exit 7\n")
    assert on.close() == 7
    down(front, laptop, file)


def test_stop_and_start(front, laptop):
    """The same instances with their disks, also when `start` is killed. A worker that stopped
    itself is not started: it is deleted. The head has a local SSD, which a stop must discard.
    """
    config = cluster(front, 2, setup_commands=["echo again >> ~/setup"])
    config["available_node_types"]["head"]["node_config"]["disks"].append({
        "type": "SCRATCH",
        "initializeParams": {"diskType": "zones/us-central1-a/diskTypes/local-ssd"}})
    config["provider"].pop("cache_stopped_nodes")
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    before = sorted(m.name for m in front.alive("demo"))
    assert "stopped 3 instances and kept their disks" in laptop("stop", "-y", file).err
    assert {m.name: m.state for m in front.machines()} == dict.fromkeys(before, "TERMINATED")
    done = laptop.run("start", file, env={"SHOAL_FAILPOINT": "start:after-head-start"})
    assert done.status == -9, done
    laptop("start", file)
    assert sorted(m.name for m in front.alive("demo")) == before
    for machine in front.alive("demo"):
        assert (machine.home / "setup").read_text() == "again\n"
    lost = workers(front)[0].name
    front.power_off(instance=lost)
    wait_for(lambda: lost not in [m.name for m in front.machines()], 60, 0.1, "its end")
    down(front, laptop, file)


def test_another_type_of_worker(front, laptop):
    """One by one: there is always a worker."""
    config = cluster(front, 2)
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    old = {m.name for m in workers(front)}
    config["available_node_types"]["worker"]["node_config"]["machineType"] = "n1-standard-4"
    laptop.file("cluster.yaml", config)
    assert "- drain    2 x n1-standard-2  (worker)" in laptop("plan", file).out
    seen = []

    def is_replaced():
        seen.append({m.name for m in workers(front)})
        return len(seen[-1]) == 2 and not seen[-1] & old

    laptop("up", "-y", file)
    wait_for(is_replaced, 120, 0.1, "two new workers")
    assert min(len(now) for now in seen) >= 1, seen
    down(front, laptop, file)


def test_a_second_laptop_and_a_key_of_the_file(front, laptop):
    """The host key comes from the head's metadata. The head has its own key for the workers."""
    key = laptop.folder / "team"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    own = {"metadata": {"items": [{"key": "ssh-keys", "value": "rosa:ssh-ed25519 AAAA rosa"}]}}
    config = cluster(front, 1, worker=own)
    config["auth"]["ssh_private_key"] = str(key)
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    head = wait_for(lambda: [m for m in front.alive("demo") if m.tag("shoal-host-key")], 20)[0]
    assert head.tag("shoal-host-key").startswith("ssh-ed25519 ") and head.kind == "head"
    public = key.with_suffix(".pub").read_text().split()[1]
    for machine in front.alive("demo"):
        assert public in (machine.home / ".ssh/authorized_keys").read_text()
    assert "rosa" in (workers(front)[0].disk / "home/rosa/.ssh/authorized_keys").read_text()
    bob = front.laptop("bob")
    bobs = bob.file("cluster.yaml", config)
    assert bob("exec", bobs, "hostname").out == head.name + "\n"
    assert "worker" in bob("status", bobs).out
    exported = laptop("key", "export", file).out
    bob("key", "import", bobs, "-", text=exported)
    before = [m.name for m in front.machines()]
    bob("up", "-y", bobs)
    assert [m.name for m in front.machines()] == before
    down(front, bob, bobs)


def test_a_startup_script_of_the_file(front, laptop):
    """It runs after ours, as it is."""
    script = "#!/bin/bash\n[ -e /run/shoal/contact ] && echo \"$0 'it'\" > /var/mine\n"
    worker = {"metadata": {"items": [{"key": "startup-script", "value": script},
                                     {"key": "other", "value": "kept"}]}}
    file = laptop.file("cluster.yaml", cluster(front, 1, worker=worker))
    laptop("up", "-y", file)
    machine, = workers(front)
    wait_for(lambda: (machine.disk / "var/mine").exists(), 20, 0.1, "the script")
    assert machine.run("cat", "/var/mine") == "/var/lib/shoal-boot/startup-script 'it'\n"
    items = {item["key"]: item["value"] for item in machine.row["metadata"]["items"]}
    assert items["other"] == "kept"
    down(front, laptop, file)


def test_exec_from_another_address(front, laptop):
    """The laptop is somewhere else, and nothing gets through: `exec` lets it in."""
    file = laptop.file("cluster.yaml", cluster(front, 0))
    laptop("up", "-y", file)
    head = front.head("demo")
    front.caller(address="203.0.113.7")
    here = [bed.GATEWAY, bed.LAPTOP]
    before = [head.run("ip", "route", "show", f"{a}/32", user="root").strip() for a in here]
    for address in here:
        head.run("ip", "route", "replace", "blackhole", f"{address}/32", user="root")
    child = laptop.start("exec", file, "echo here")
    wait_for(lambda: front.calls(action="firewalls.patch"), 60, 0.1, "the change of the rule")
    for address, route in zip(here, before):
        head.run("ip", "route", "del", "blackhole", f"{address}/32", user="root")
        if route:
            head.run("ip", "route", "replace", *route.split(), user="root")
    out, err = child.communicate(timeout=120)
    assert out == "here\n", err
    ranges = [rule["sourceRanges"] for rule in front.truth()["firewalls"]
              if rule.get("sourceRanges")]
    assert ranges == [[f"{bed.LAPTOP}/32", "203.0.113.7/32"]], ranges
    front.caller(address=bed.LAPTOP)
    down(front, laptop, file)


def test_private_addresses_behind_a_proxy(front, laptop):
    """No instance has a public address; ssh goes through the command of the file."""
    proxy = laptop.file("proxy", PROXY.replace(
        '(here / "addresses" / sys.argv[1]).read_text()', "sys.argv[1]"))
    proxy.chmod(0o755)
    config = cluster(front, 1)
    config["provider"]["use_internal_ips"] = True
    config["auth"]["ssh_proxy_command"] = f"{proxy} %h"
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    nics = [m.row["networkInterfaces"][0] for m in front.alive("demo")]
    assert not any(nic.get("accessConfigs") for nic in nics)
    assert laptop("exec", file, "hostname").out.strip() == front.head("demo").name
    assert set((laptop.here / "asked").read_text().split()) <= {n["networkIP"] for n in nics}
    down(front, laptop, file)


GCLOUD = """#!/usr/bin/env python3
import pathlib, sys
here = pathlib.Path(__file__).resolve().parent.parent
want = ["compute", "start-iap-tunnel", sys.argv[3], "22", "--listen-on-stdin", "--project",
        "shoal-test", "--zone", "us-central1-a"]
if sys.argv[1:] != want:
    sys.exit(f"called with {sys.argv[1:]}")
print("WARNING: \\n\\nTo increase the performance of the tunnel, consider installing NumPy.",
      file=sys.stderr)
place, tried = here / "addresses" / sys.argv[3], here / "tried"
if not place.exists() or not tried.exists():  # sshd has not started
    tried.touch()
    sys.exit("ERROR: (gcloud.compute.start-iap-tunnel) Error while connecting [4003: 'failed to "
             "connect to backend']. (Failed to connect to port 22)")
sys.argv[1:], __file__ = [sys.argv[3]], str(here / "proxy")
exec((here / "proxy").read_text())
"""


def test_a_tunnel_of_google(front, laptop):
    """Identity-Aware Proxy, with the lines of docs/user/gcp.md and a stand-in for gcloud: only its
    range may connect, and the head has a name.
    """
    laptop.file("proxy", PROXY)
    (laptop.here / "addresses").mkdir()
    gcloud = laptop.file("bin/gcloud", GCLOUD)
    gcloud.chmod(0o755)
    laptop.more["PATH"] = f"{gcloud.parent}:{laptop.env()['PATH']}"
    config = cluster(front, 1)
    config["provider"]["use_internal_ips"] = True
    config["auth"].update(ssh_proxy_use_node_id=True, ssh_proxy_command=(
        "gcloud compute start-iap-tunnel %h %p --listen-on-stdin --project shoal-test "
        "--zone us-central1-a"))
    file = laptop.file("cluster.yaml", config)
    done = laptop("check", file)
    assert "through Identity-Aware Proxy (35.235.240.0/20)" in done.out
    assert "subnetwork default has no Private Google Access" in done.out
    child = laptop.start("up", "-y", file)
    head = wait_for(lambda: [m for m in front.alive("demo") if m.kind == "head"
                             and m.row["status"] == "RUNNING"], 60)[0]
    nic = head.row["networkInterfaces"][0]
    assert not nic.get("accessConfigs")
    (laptop.here / "addresses" / head.name).write_text(nic["networkIP"])
    _, err = child.communicate(timeout=240)
    assert child.returncode == 0, err
    assert "head waiting for ssh" in err and "4003: 'failed to connect to backend'" in err
    rules = {tuple(rule["sourceRanges"]) for rule in front.ask("truth")["firewalls"]
             if rule.get("sourceRanges")}
    assert rules == {("35.235.240.0/20",)}
    assert laptop("exec", file, "hostname").out.strip() == head.name
    assert laptop("exec", "--node", "worker-1", file, "hostname").out.strip() == \
        workers(front)[0].name
    laptop.file("a file", "text\n")
    laptop("rsync-up", "-A", file, "a file", "~/a file")
    assert (workers(front)[0].home / "a file").read_text() == "text\n"
    assert set((laptop.here / "asked").read_text().split()) == {head.name}
    laptop("up", "-y", file)
    down(front, laptop, file)


def test_a_name_with_capitals(front, laptop):
    """Labels have none: the name is in the metadata."""
    config = {**cluster(front, 1), "cluster_name": "My_Cluster.1"}
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    assert len(front.alive("My_Cluster.1")) == 2
    assert laptop("exec", file, "echo there").out == "there\n"
    bob = front.laptop("bob")
    done = bob.run("up", "-y", bob.file("cluster.yaml", config))
    assert done.status == 1 and len(front.machines()) == 2, done
    laptop("up", "-y", file)
    assert len(front.machines()) == 2
    down(front, laptop, file)


# ---- the dead-man switch ----


@pytest.mark.parametrize("account", [ACCOUNT, {}], ids=["account", "none"])
def test_a_worker_without_its_head(front, laptop, account):
    """It deletes itself if it has a service account; else it stops, and `down` deletes it."""
    config = cluster(front, 1, worker=account,
                     metadata={"shoal": {"contact_timeout_minutes": 0.25}})
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    lost, = workers(front)
    delete(front, laptop, front.head("demo").name)
    if account:
        wait_for(lambda: not front.machines(), 90, 0.2, "its end")
        assert front.calls(action="instances.delete")[-1]["who"] == lost.name
    else:
        wait_for(lambda: [m.state for m in front.machines()] == ["TERMINATED"], 90, 0.2, "its end")
    down(front, laptop, file)


def test_an_image_that_does_not_run_the_startup_script(front, laptop):
    """The worker works, but would bill for ever if it lost its head: an event says so."""
    front.set(startup=0)
    file = laptop.file("cluster.yaml", cluster(front, 1))
    laptop("up", "-y", file)
    wait_for(lambda: "worker-1: has no dead-man switch" in laptop("events", file).out, 120, 1,
             "the warning")
    down(front, laptop, file)


# ---- killed ----


POINTS = ("up:gcp:instanceTemplates.insert:reply#1", "up:gcp:firewalls.insert:before#2",
          "up:gcp:instances.bulkInsert:before#1", "up:gcp:instances.bulkInsert:reply#1",
          "up:gcp:instances.setMetadata:before#1", "up:gcp:instances.bulkInsert:reply#2",
          "up:gcp:instances.setLabels:reply#1",
          "autoscaler-folder:gcp:instanceTemplates.insert:reply#1",
          "down:gcp:instances.delete:before#2", "down:gcp:firewalls.delete:reply#1",
          "down:gcp:instanceTemplates.delete:reply#1")


@pytest.mark.parametrize("point, follow", [(p, ("again", "down")[i % 2])
                                           for i, p in enumerate(POINTS)])
def test_killed(front, laptop, point, follow):
    """Nothing is lost or doubled, and nothing remains."""
    points = Points(front.folder / "points")
    front.machine_env(**points.machine_env)
    file = laptop.file("cluster.yaml", cluster(front, 2, setup_commands=["echo one >> ~/order"]))
    is_down = point.startswith("down:")
    if is_down:
        laptop("up", "-y", file)
    points.arm(point)
    done = laptop.run("down" if is_down else "up", "-y", file, env=points.env)
    assert points.disarm(), f"{point} was not reached: {done}"
    if follow == "again" and not is_down:
        laptop("up", "-y", file)
        assert sorted(m.kind for m in front.alive("demo")) == ["head", "worker", "worker"]
        for machine in front.alive("demo"):
            assert (machine.home / "order").read_text().split() == ["one"], machine.kind
    elif follow == "again":
        laptop("up", "-y", file)
        assert len(front.alive("demo")) == 3
    down(front, laptop, file)


def test_a_policy_that_the_checks_do_not_see(front, laptop):
    """Google refuses the head, and the next `up` does not repeat that launch."""
    file = laptop.file("cluster.yaml", cluster(front, 0))
    front.fault("projects.getEffectiveOrgPolicy", "error", count=0, status=403)
    front.policy(constraint="vmExternalIpAccess")
    done = laptop.run("up", "-y", file)
    assert done.status == 1 and "constraints/compute.vmExternalIpAccess violated" in done.err, done
    front.clear()
    laptop("up", "-y", file)
    down(front, laptop, file)


def test_workers_against_a_policy_do_not_stop_the_rest(front, laptop):
    """Launches of the type pause with Google's reason, and idle workers still end."""
    config = cluster(front, 9, least=0, upscaling_speed=100)
    config["available_node_types"]["worker"]["idle_timeout_s"] = 1
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    want(front, [{"CPU": 1}] * 2)
    wait_for(lambda: workers(front), 60, 0.1, "a worker")
    wait_for(lambda: laptop("status", file).out.count("ready") == 2, 60, 0.2, "Ray there")
    front.policy(constraint="vmExternalIpAccess")
    want(front, [{"CPU": 1}] * 4)
    wait_for(lambda: "vmExternalIpAccess" in laptop("events", file).out, 60, 0.2, "the reason")
    want(front, [])
    wait_for(lambda: not workers(front), 120, 0.2, "the end of the idle worker")
    down(front, laptop, file)


def test_another_address_is_let_in(front, laptop):
    """Home, office, VPN: `up` of a stopped cluster adds the address to the rule for ssh."""
    config = cluster(front, 0, metadata={"shoal": {"ssh_from": ["198.18.0.0/16"]}})
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    laptop("stop", "-y", file)
    config["metadata"]["shoal"]["ssh_from"] += ["203.0.113.7/32"]
    laptop("up", "-y", laptop.file("cluster.yaml", config))
    assert front.calls(action="firewalls.patch")
    ranges = [set(rule["sourceRanges"]) for rule in front.truth()["firewalls"]
              if rule.get("sourceRanges")]
    assert ranges == [{"198.18.0.0/16", "203.0.113.7/32"}], ranges
    down(front, laptop, file)
