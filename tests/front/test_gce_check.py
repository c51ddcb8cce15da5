"""`shoal check` and the checks of `up` on Google Compute Engine's stand-in."""

import json

import pytest
import yaml

import gce_front


@pytest.fixture(name="front", scope="module")
def _front():
    assert gce_front.missing() is None, gce_front.missing()
    with gce_front.GceFront() as front:
        yield front


@pytest.fixture(name="laptop")
def _laptop(front):
    return front.laptop("alice")


def check(laptop, file, **more):
    done = laptop.run("check", laptop.file("cluster.yaml", {**file, **more}))
    assert not done.err, done.err
    return done


def with_node(front, **fields):
    file = front.cluster("demo", workers=2)
    for node in file["available_node_types"].values():
        node["node_config"].update(fields)
    return file


def test_a_file_that_fits(front, laptop):
    before = len(front.calls())
    done = check(laptop, front.cluster("demo", workers=2))
    assert done.status == 0, done
    assert "cluster.yaml is ready for gcp us-central1. Nothing was created." in done.out
    assert "project          shoal-test, with authorized_user" in done.out
    assert "CPUS 0 of 72 in use" in done.out
    assert "all that launches need are granted" in done.out
    assert "123456789012-compute@developer.gserviceaccount.com, for the head" in done.out
    assert "not checked:" not in done.out
    calls = front.calls()[before:]
    assert len(calls) <= 13, calls
    assert "bug" not in front.log()
    assert front.remains() == {}


def test_what_the_file_names_exists(front, laptop):
    for fields, says in (
            ({"machineType": "n2-standard-3"}, "no zone of the cluster offers n2-standard-3"),
            ({"networkInterfaces": [{"subnetwork": "regions/us-central1/subnetworks/none"}]},
             "subnetworks/none does not exist"),
            ({"guestAccelerators": [{"acceleratorType": "nvidia-tesla-p4", "acceleratorCount": 1}],
              "scheduling": {"onHostMaintenance": "TERMINATE"}}, "GPUs of type nvidia-tesla-p4"),
            ({"machineType": "t2a-standard-2"}, "is for x86_64, and t2a-standard-2 has arm64"),
            ({"serviceAccounts": [{"email": "none@shoal-test.iam.gserviceaccount.com", "scopes": [
                "https://www.googleapis.com/auth/cloud-platform"]}]},
             "service account none@shoal-test.iam.gserviceaccount.com does not exist")):
        done = check(laptop, with_node(front, **fields))
        assert done.status == 1 and says in done.out, done.out
        assert "cluster.yaml:" in done.out
    done = check(laptop, with_node(front, machineType="n2-custom-6-20480"))
    assert done.status == 0, done
    assert front.remains() == {}


def test_quotas(front, laptop):
    front.quota(metric="CPUS", limit=4)
    done = check(laptop, front.cluster("demo", workers=2))
    assert "the project's quota CPUS is 4 in us-central1; the head and min_workers need 6" \
        in done.out
    done = laptop.run("up", "-y", laptop.file("cluster.yaml", front.cluster("demo", workers=2)))
    assert done.status != 0 and "CPUS is 4" in done.err + done.out
    assert front.remains() == {}
    front.quota(metric="CPUS", limit=72)


def test_missing_permissions(front):
    laptop = front.limited_laptop("carol", ["compute.machineTypes.get"])
    done = check(laptop, front.cluster("demo", workers=2))
    assert done.status == 1
    assert "permissions in project shoal-test are missing" in done.out
    assert "compute.instances.create" in done.out and "to create instances" in done.out
    assert "not checked: " in done.out


def test_os_login(front, laptop):
    front.set(require_os_login=1)
    done = check(laptop, front.cluster("demo", workers=2))
    assert done.status == 0 and "requires OS Login" in done.out
    front.set(require_os_login=0)
    done = laptop("check", "-o", "json", laptop.file("c.yaml", front.cluster("demo", workers=2)))
    assert json.loads(done.out)["warnings"] == 0


def test_the_role_of_shoal_policy_is_enough(front, laptop):
    file = front.cluster("roled", workers=1)
    role = yaml.safe_load(laptop("policy", laptop.file("cluster.yaml", file)).out)
    assert set(role) == {"title", "description", "stage", "includedPermissions"}
    dave = front.limited_laptop("dave", role["includedPermissions"])
    path = dave.file("cluster.yaml", file)
    dave("check", path)
    assert "roled is up: 2 nodes" in dave("up", "-y", path).err
    assert dave("exec", path, "echo here").out == "here\n"
    assert "roled" in dave("ls", "--project", file["provider"]["project_id"]).out
    dave("down", "-y", path)
    assert front.remains() == {}
