"""The place where a machine would be started: which steps it sees, and what its failures do."""

import pytest
from conftest import Raw, instance
from gce import client, server
from gce.front import Call
from gce.machines import Machines


class Recorder(Machines):
    """Notes the steps; the machine of the instance `broken` does not start."""

    def __init__(self, cloud):
        super().__init__(cloud)
        self.steps = []

    def start(self, instance):
        self.steps.append(("start", instance.name))
        if instance.name == "broken":
            raise OSError("no container")

    def stop(self, instance):
        self.steps.append(("stop", instance.name))

    def reset(self, instance):
        self.steps.append(("reset", instance.name))

    def remove(self, instance):
        self.steps.append(("remove", instance.name))


@pytest.fixture(scope="module")
def made():
    api, control, cloud = server.serve(Recorder)
    steering = client.GceCloud(api, control)
    return cloud, Raw(steering, steering.token())


def test_the_steps_of_a_machine(made):
    cloud, raw = made
    raw.insert("one")
    for verb in ("stop", "start"):
        raw.wait(raw.zonal("POST", f"instances/one/{verb}")[1])
    raw.wait(raw.zonal("DELETE", "instances/one")[1])
    assert cloud.machines.steps == [("start", "one"), ("stop", "one"), ("start", "one"),
                                    ("remove", "one")]


def test_a_machine_that_does_not_start(made):
    cloud, raw = made
    operation = raw.insert("broken")
    failure = operation["error"]["errors"][0]
    assert failure == {"code": "INTERNAL_ERROR", "message": "Internal error: no container"}
    assert raw.zonal("GET", "instances/broken")[0] == 404
    assert raw.zonal("GET", "disks/broken")[0] == 404


def test_a_failed_insert_keeps_a_disk_that_was_there_before(made):
    cloud, raw = made
    image = instance("x")["disks"][0]["initializeParams"]["sourceImage"]
    raw.wait(raw.zonal("POST", "disks", {"name": "data"}, sourceImage=image)[1])
    body = {**instance("broken"), "disks": [{"boot": True, "source":
                                             "zones/us-central1-a/disks/data"}]}
    assert "error" in raw.wait(raw.zonal("POST", "instances", body)[1])
    status, disk = raw.zonal("GET", "disks/data")
    assert status == 200 and "users" not in disk


def test_a_machine_is_known_by_its_address(made):
    cloud, raw = made
    raw.insert("two")
    address = raw.zonal("GET", "instances/two")[1]["networkInterfaces"][0]["networkIP"]
    headers = {"metadata-flavor": "Google"}
    call = Call("GET", "/computeMetadata/v1/instance/name", headers, b"", address)
    assert cloud.metadata.by_address(call).body == b"two"
    call.source = "198.18.255.1"
    assert cloud.metadata.by_address(call).status == 403
