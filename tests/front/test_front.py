"""The front itself: whole clusters without containers come up, go down, and leave nothing."""

import os
import pathlib

from front import Front, wait_for


def test_up_and_down(front):
    laptop = front.laptop()
    laptop.file("app/main.py", "print('main')\n")
    file = laptop.file("cluster.yaml", front.cluster(
        "demo", workers=2, file_mounts={"~/app": "./app"},
        setup_commands=["echo setup >> ~/order", "test -f ~/app/main.py"]))
    laptop("up", "-y", file)
    assert [m.kind for m in front.alive("demo")].count("worker") == 2
    for machine in front.alive("demo"):
        assert (machine.home / "order").read_text() == "setup\n"
        assert (machine.home / "app/main.py").exists()
    assert "worker" in laptop("status", file).out
    for words in (["status"], ["status", "demo"]):  # ./cluster.yaml, and the cluster by its name
        assert "worker" in laptop(*words).out
    first, second = front.alive("demo")[:2]
    assert first.run("hostname").strip() != second.run("hostname").strip()
    # Every call has a caller: laptops by name, heads by the role of their instance.
    callers = {(row["who"], row["as"]) for row in front.calls()}
    assert ("laptop", "alice") in callers
    assert any(who == front.head("demo").id and name.startswith("role/") for who, name in callers)
    laptop("down", "-y", file)
    assert front.remains() == {}
    assert laptop.leftovers() == []
    assert "bug" not in front.log()


def test_laptops_and_fronts_share_nothing(front):
    with Front() as other:
        alice, bob = front.laptop("alice"), front.laptop("bob")
        pathlib.Path(alice.folder, "tmp", "mark").write_text("alice")
        assert alice.run("/tmp/mark", program="cat").out == "alice"
        assert bob.run("/tmp/mark", program="cat").status == 1
        file = alice.file("cluster.yaml", front.cluster("one", workers=0))
        alice("up", "-y", file)
        assert [m.kind for m in front.alive()] == ["head"]
        assert other.machines() == []
        pid = front.pid
    assert os.path.exists(f"/proc/{pid}")


def test_a_machine_that_switches_itself_off_ends(front):
    laptop = front.laptop()
    laptop("up", "-y", laptop.file("cluster.yaml", front.cluster("demo", workers=1)))
    worker = next(m for m in front.alive() if m.kind == "worker")
    worker.run("sudo", "-n", "shutdown", "-h", "now", check=False)
    wait_for(lambda: worker.id not in [m.id for m in front.alive()], 20, 0.05, "its end")


def test_a_killed_front_takes_everything_with_it():
    front = Front()
    laptop = front.laptop()
    child = laptop.start("up", "-y", laptop.file("c.yaml", front.cluster("demo", workers=1)))
    wait_for(lambda: front.alive(), 30)
    inside = os.readlink(f"/proc/{front.pid}/ns/net")
    front.close()
    child.communicate(timeout=10)

    def left():
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/ns/net") == inside:
                    found.append(pid)
            except OSError:
                continue
        return found

    wait_for(lambda: not left(), 10, 0.05, "the end of all processes")
    assert not front.folder.exists()
