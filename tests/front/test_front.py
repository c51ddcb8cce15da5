"""The front itself: whole clusters without containers come up, go down, and leave nothing."""

import base64
import os
import pathlib
import sys

from front import IMAGE, Front, wait_for


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


TEMPLATE = """
import base64, boto3, sys
print(boto3.client("ec2").create_launch_template(LaunchTemplateName="mine", LaunchTemplateData={
    "InstanceType": "m5.large", "ImageId": sys.argv[1],
    "UserData": base64.b64encode(sys.argv[2].encode()).decode(),
    "MetadataOptions": {"HttpPutResponseHopLimit": 2, "InstanceMetadataTags": "enabled"}})[
        "LaunchTemplate"]["LaunchTemplateId"])
"""
METADATA = """
where=http://169.254.169.254/latest
token=$(curl -sX PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' $where/api/token)
for path in user-data meta-data/tags/instance/ray-node-type
do curl -sf -H "X-aws-ec2-metadata-token: $token" $where/$path || exit; done
"""


def test_a_launch_template_keeps_its_settings(front):
    """Also if the head launches: its user data is in our message, its metadata options count."""
    laptop = front.laptop("alice")
    config = front.cluster("demo", workers=2)
    made = laptop("-c", TEMPLATE, IMAGE, "#!/bin/sh\necho MINE\n", program=sys.executable)
    config["available_node_types"]["worker"].update(
        min_workers=1, node_config={"LaunchTemplate": {"LaunchTemplateId": made.out.strip()}})
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    worker = next(m for m in front.alive("demo") if m.kind == "worker")
    packed = base64.b64encode(METADATA.encode()).decode()
    said = worker.run("bash", "-c", f"echo {packed} | base64 -d | bash")
    assert "echo MINE" in said and "ssh_authorized_keys" in said
    assert said.endswith("worker"), said  # the tags are in the metadata
    front.head("demo").run("sh", "-c", """echo '[{"CPU": 1}, {"CPU": 1}, {"CPU": 1}]' """
                                       "> /tmp/ray/demand.json")
    wait_for(lambda: len(front.alive("demo")) == 3, 60, 0.1, "a worker that the head launched")
    # What cannot be combined is refused before anything is made.
    made = laptop("-c", TEMPLATE.replace('"mine"', '"odd"'), IMAGE, "echo MINE",
                  program=sys.executable)
    config["cluster_name"] = "odd"
    config["available_node_types"]["worker"]["node_config"]["LaunchTemplate"][
        "LaunchTemplateId"] = made.out.strip()
    done = laptop.run("check", laptop.file("odd.yaml", config))
    assert done.status == 1 and "does not start with a header that cloud-init knows" in done.out
    assert '"LaunchTemplate": {' in done.out
    laptop("down", "-y", file)


def test_a_file_without_an_image_scales(front):
    """The head launches workers from the image that `up` chose; it may not look for one itself."""
    laptop = front.laptop("alice")
    config = front.cluster("demo", workers=1)
    config["provider"]["region"] = "us-east-1"
    config["available_node_types"]["worker"]["min_workers"] = 0
    del config["available_node_types"]["head"]["node_config"]["ImageId"]  # both have the same one
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    front.head("demo").run("sh", "-c", """echo '[{"CPU": 1}, {"CPU": 1}]' > /tmp/ray/demand.json""")
    wait_for(lambda: len(front.alive("demo")) == 2, 60, 0.1, "a worker that the head launched")
    refused = [row for row in front.calls() if row.get("refused") and row["who"] != "laptop"]
    assert refused == [], refused
    laptop("down", "-y", file)
    assert front.remains() == {}
