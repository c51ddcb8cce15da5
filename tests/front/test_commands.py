"""Commands of ray up's users on whole clusters without containers."""

import json

from front import wait_for


def fewer(config, workers):
    """The same file with another min_workers."""
    changed = json.loads(json.dumps(config))
    changed["available_node_types"]["worker"]["min_workers"] = workers
    return changed


def test_copy_to_all_nodes_and_keep_min_workers(front):
    laptop = front.laptop()
    config = front.cluster("demo", workers=3)
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    laptop.file("data/a b.txt", "new\n")
    laptop("rsync-up", "-A", file, "./data/", "~/new folder/data/")
    for machine in front.alive("demo"):
        assert (machine.home / "new folder/data/a b.txt").read_text() == "new\n", machine.kind
    # A worker that cannot be reached does not stop the others; the exit status says so.
    broken = next(m for m in front.alive("demo") if m.kind == "worker")
    broken.run("sudo", "-n", "rm", "/home/ubuntu/.ssh/authorized_keys")
    laptop.file("one.txt", "one\n")
    done = laptop.run("rsync-up", "--all-nodes", file, "one.txt", "~/one.txt")
    assert done.status != 0 and "not copied to worker-" in done.err, done
    have = {m.id for m in front.alive("demo") if (m.home / "one.txt").exists()}
    assert have == {m.id for m in front.alive("demo")} - {broken.id}

    # Ray's meaning: min_workers of the file stay.
    laptop.file("cluster.yaml", fewer(config, 1))
    done = laptop("down", "-y", "--workers-only", "--keep-min-workers", file)
    assert "terminated 2 instances; kept 1 worker" in done.err, done
    assert sorted(m.kind for m in front.alive("demo")) == ["head", "worker"]
    done = laptop("down", "-y", "--keep-min-workers", "-o", "json", file)
    said = json.loads(done.out)
    assert (said["terminated_instances"], said["kept_instances"]) == (1, 1)
    assert [m.kind for m in front.alive("demo")] == ["worker"]
    laptop("down", "-y", file)
    assert front.remains() == {}
    done = laptop.run("down", "-y", "--keep-min-workers", "demo", "--region", "us-west-2")
    assert done.status == 2 and "needs the cluster file" in done.err


def test_a_proxy_that_finds_instances_by_their_id(front):
    """As AWS Session Manager does: ssh gets the id of the instance, not an address."""
    laptop = front.laptop()
    proxy = laptop.file("proxy", """#!/usr/bin/env python3
import pathlib, socket, sys, threading
here = pathlib.Path(__file__).parent
with open(here / "asked", "a") as log:
    log.write(sys.argv[1] + "\\n")
address = (here / "addresses" / sys.argv[1]).read_text()
there = socket.create_connection((address, 22))
def up():
    while chunk := sys.stdin.buffer.raw.read(65536):
        there.sendall(chunk)
    there.shutdown(socket.SHUT_WR)
threading.Thread(target=up, daemon=True).start()
while chunk := there.recv(65536):
    sys.stdout.buffer.raw.write(chunk)
""")
    proxy.chmod(0o755)
    config = front.cluster("byid", workers=1)
    config["auth"].update(ssh_proxy_command=f"{proxy} %h", ssh_proxy_use_node_id=True)
    file = laptop.file("cluster.yaml", config)
    (laptop.here / "addresses").mkdir()
    child = laptop.start("up", "-y", file)
    made = wait_for(lambda: [m for m in front.alive("byid") if m.kind == "head" and m.public], 60)
    (laptop.here / "addresses" / made[0].id).write_text(made[0].public)
    _, err = child.communicate(timeout=120)
    assert child.returncode == 0, err
    head = front.head("byid")
    assert laptop("exec", file, "echo there").out == "there\n"
    assert set((laptop.here / "asked").read_text().split()) == {head.id}
    # An address is still an address.
    assert laptop("get-head-ip", file).out.strip() == head.public
    laptop("down", "-y", file)
    assert front.remains() == {}
