"""`shoal check` and the checks of `up` on Google Compute Engine's stand-in."""

import json
import pathlib
import re

import pytest
import yaml

import gce_front
from gce import discovery, iam

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent


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
    assert len(calls) <= 18, calls  # four ask for policies, two for the account of Ray's launcher
    assert "bug" not in front.log()
    assert front.remains() == {}


def test_the_default_file_is_ready(laptop):
    """A file with a provider section only: its images are families that Google still has."""
    file = {"cluster_name": "minimal", "provider": {
        "type": "gcp", "project_id": "shoal-test", "region": "us-central1",
        "availability_zone": "us-central1-a"}}
    done = check(laptop, file)
    assert done.status == 0 and "with ubuntu-2204-jammy" in done.out, done.out


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


@pytest.mark.parametrize("constraint, says, fits", [
    ("requireOsLogin", "requires OS Login", None),
    ("vmExternalIpAccess", "use_internal_ips: true", {"use_internal_ips": True}),
    ("disableGuestAttributesAccess", "ssh host keys", None),
    ("requireShieldedVm", "enableSecureBoot: true",
     {"shieldedInstanceConfig": {"enableSecureBoot": True}}),
])
def test_a_policy_of_the_organization(front, laptop, constraint, says, fits):
    """An error with the policy's name, before anything is created, unless the file fits it."""
    file = front.cluster("demo", workers=2)
    front.policy(constraint=constraint)
    done = check(laptop, file)
    assert done.status == 1 and f"constraints/compute.{constraint}" in done.out, done.out
    assert says in done.out and "is ready" not in done.out
    assert laptop.run("up", "-y", laptop.file("c.yaml", file)).status == 1
    assert front.remains() == {}
    if fits:
        file = with_node(front, **{k: v for k, v in fits.items() if k != "use_internal_ips"})
        file["provider"].update({k: v for k, v in fits.items() if k == "use_internal_ips"})
        assert constraint not in check(laptop, file).out
    front.policy(constraint=constraint, on=False)
    done = laptop("check", "-o", "json", laptop.file("c.yaml", front.cluster("demo", workers=2)))
    assert json.loads(done.out)["warnings"] == 0


def test_the_role_of_shoal_policy_has_every_method(front, laptop):
    """Also of methods that are called only after a lost reply or a deletion by others."""
    file = laptop.file("cluster.yaml", front.cluster("roled"))
    role = yaml.safe_load(laptop("policy", file).out)
    document = discovery.Document(discovery.compute_document(discovery.NEWEST))
    methods = {method.action: method for method in document.methods.values()}
    named = {word for path in (REPOSITORY / "src/provider/gcp").rglob("*.c")
             for word in re.findall(r'"([a-zA-Z]+\.[a-zA-Z]+)"', path.read_text())}
    calls = [methods[name] for name in named if name in methods]
    assert len(calls) > 25, calls
    needed = {iam.permission_of(method): method.action for method in calls}
    missing = {p: action for p, action in needed.items() if p not in role["includedPermissions"]}
    assert not missing, missing


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
