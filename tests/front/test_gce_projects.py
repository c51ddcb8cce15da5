"""Two projects of Google Cloud, one machine, one cluster name: the file's project decides, and no
command touches the cluster of the other one."""

import json

from gce import settings as google
from test_gce_clusters import _front, _laptop, cluster, down  # noqa: F401

COMMANDS = [("exec", "FILE", "true"), ("status", "FILE"), ("get-head-ip", "FILE"),
            ("logs", "FILE", "head"), ("ssh-config", "FILE"), ("exec", "--start", "FILE", "true"),
            ("stop", "-y", "FILE"), ("start", "FILE"), ("down", "-y", "FILE"),
            ("down", "-y", "--workers-only", "FILE")]


def records(laptop):
    """The bytes of every file below the state folder; a journal's shared memory is none."""
    home = laptop.state / "shoal"
    return {str(path.relative_to(home)): path.read_bytes() for path in sorted(home.rglob("*"))
            if path.is_file() and not path.name.endswith(("-shm", "-wal"))}


def test_commands_with_the_file_of_another_project(front, laptop):
    mine = cluster(front, 1)
    other = json.loads(json.dumps(mine))
    other["provider"]["project_id"] = google.OTHER_PROJECT
    file, others = laptop.file("cluster.yaml", mine), laptop.file("other.yaml", other)
    laptop("up", "-y", file)
    alive, kept = {m.name for m in front.alive("demo")}, records(laptop)
    assert len(alive) == 2
    for command in COMMANDS:
        done = laptop.run(*[others if word == "FILE" else word for word in command])
        assert done.status == 1, done
        assert f"project {google.OTHER_PROJECT} has no cluster demo" in done.err, done
        assert f"is of project {google.PROJECT}" in done.err, done
        assert {m.name for m in front.alive("demo")} == alive, command
        assert records(laptop) == kept, command
    # The key says whose it is, too.
    exported = laptop("key", "export", file).out
    bob = front.laptop("bob")
    done = bob.run("key", "import", bob.file("other.yaml", other), "-", text=exported)
    assert done.status == 1 and f"the file names project {google.OTHER_PROJECT}" in done.err, done
    assert laptop("exec", file, "echo still").out == "still\n"
    down(front, laptop, file)


def test_a_project_without_records_here(front, laptop):
    """Nothing is known of either: as before, there is no such cluster."""
    other = cluster(front, 1)
    other["provider"]["project_id"] = google.OTHER_PROJECT
    done = laptop("down", "-y", laptop.file("other.yaml", other))
    assert "No cluster demo in gcp" in done.err
