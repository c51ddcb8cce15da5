"""Clusters on instances as on a cloud: systemd as first process, PAM, the real cloud-init."""

import driver
import files
import pytest

SYSTEMD_RAY = next(a.id for a in driver.settings.AMIS if a.image == "systemd-ray")


@pytest.fixture
def images(running_bed):
    driver.client.up(["systemd-ray"])


def config(name, workers=1, **more):
    return files.quick(name, workers=workers, image=SYSTEMD_RAY, **more)


def show(instance, unit, *properties):
    words = [f"--property={name}" for name in properties]
    said = driver.in_machine(instance, "systemctl", "show", unit, *words)
    return dict(line.partition("=")[::2] for line in said.splitlines())


def unit_of(instance):
    said = driver.in_machine(instance, "systemctl", "list-units", "--all", "--plain", "--no-legend",
                             "shoal-????????.service")
    names = [line.split()[0] for line in said.splitlines()]
    assert len(names) == 1, said
    return names[0]


def test_up_and_down(images, cluster):
    made = cluster(config("units"))
    made.up()
    head, worker = [i["InstanceId"] for i in made.machines()]
    driver.wait_for(lambda: made.alive() == 2, 40, 0.2, "a Ray of the right size")
    service = show(head, unit_of(head), "ActiveState", "UnitFileState", "User", "MainPID")
    assert service["ActiveState"] == "active" and service["UnitFileState"] == "enabled"
    assert service["User"] == driver.in_machine(head, "id", "-u").strip()
    # The dead-man switch: it keeps running on the worker; on a head that was set up it exits.
    assert show(worker, "shoal-contact", "ActiveState")["ActiveState"] == "active"
    driver.wait_for(lambda: show(head, "shoal-contact", "ActiveState")["ActiveState"] != "active",
                    40, 1, "the end of the head's switch")
    made.down()
    assert made.remains() == {}


@pytest.mark.long
@pytest.mark.parametrize("image", [SYSTEMD_RAY, files.RAY], ids=["systemd", "without"])
def test_a_head_that_reboots_comes_back(images, cluster, image):
    """The service starts at boot, starts Ray with the file's commands, and the worker joins. The
    setup commands do not run again.
    """
    made = cluster(files.quick("reboots", workers=1, image=image,
                               setup_commands=["echo again >> ~/setup"]))
    made.up()
    before = [i["InstanceId"] for i in made.machines()]
    boot = driver.in_machine(made.head, "cat", "/proc/1/stat")
    made.ec2.reboot_instances(InstanceIds=[made.head])
    driver.wait_for(lambda: driver.in_machine(made.head, "cat", "/proc/1/stat", check=False)
                    not in ("", boot), 60, 0.5, "the reboot")
    driver.wait_for(lambda: driver.processes(made.head, "gcs_server"), 60, 1, "Ray on the head")
    driver.wait_for(lambda: made.alive() == 2, 150, 1, "a Ray of the right size")
    assert [i["InstanceId"] for i in made.machines()] == before
    for one in before:
        assert driver.in_machine(one, "cat", "/home/ubuntu/setup").split() == ["again"]
    events = made("events").out
    assert "starting Ray after a reboot" in events, events


COUNT = """
import os, ray
ray.init(address="auto", namespace="n", logging_level="ERROR")

@ray.remote(num_cpus=1, lifetime="detached", name="counter", get_if_exists=True)
class Counter:
    count = 0

    def add(self):
        self.count += 1
        return self.count, os.getpid()

print(*ray.get(Counter.remote().add.remote(), timeout=60))
"""


@pytest.mark.long
def test_a_detached_actor_survives_a_reboot_of_the_head(images, cluster):
    """gcs_store: disk. The worker's Ray is not restarted, and its actor keeps its counter."""
    config = files.quick("keeps", workers=1, image=SYSTEMD_RAY,
                         metadata={"shoal": {"gcs_store": "disk"}})
    config["available_node_types"]["head"]["resources"] = {"CPU": 0}
    made = cluster(config)
    made.up()
    worker = next(i["InstanceId"] for i in made.machines() if i["InstanceId"] != made.head)
    driver.wait_for(lambda: made.alive() == 2, 40, 0.2, "a Ray of the right size")

    def count():
        said = driver.in_machine(made.head, "bash", "-lic", f"python3 -c '{COUNT}'")
        return said.split()[-2:]

    first = count()
    raylets = driver.processes(worker, "raylet/raylet ")
    assert first[0] == "1" and raylets
    boot = driver.in_machine(made.head, "cat", "/proc/1/stat")
    made.ec2.reboot_instances(InstanceIds=[made.head])
    driver.wait_for(lambda: driver.in_machine(made.head, "cat", "/proc/1/stat", check=False)
                    not in ("", boot), 60, 0.5, "the reboot")
    driver.wait_for(lambda: driver.processes(made.head, "gcs_server"), 90, 1, "Ray on the head")
    driver.wait_for(lambda: made.alive() == 2, 150, 1, "a Ray of the right size")
    assert count() == ["2", first[1]]
    assert driver.processes(worker, "raylet/raylet ") == raylets
    events = made("events").out
    assert "starting Ray after a reboot" in events, events
    assert "setting up again" not in events, events


@pytest.mark.long
def test_a_head_that_was_stopped_by_down_waits_for_up(images, cluster):
    """The head is started in the cloud's console: its service must not launch workers."""
    config = files.quick("stopped", workers=1, image=SYSTEMD_RAY)
    config["provider"]["cache_stopped_nodes"] = True
    made = cluster(config)
    made.up()
    head = made.head
    made.down(seconds=200)
    made.ec2.start_instances(InstanceIds=[head])
    driver.wait_for(lambda: driver.in_machine(head, "systemctl", "is-system-running", check=False)
                    .strip() in ("running", "degraded"), 90, 1, "its boot")
    assert show(head, unit_of(head), "ActiveState", "ConditionResult") == {
        "ActiveState": "inactive", "ConditionResult": "no"}
