"""Google's own command line, unmodified, on a laptop of the front at Google."""

import json
import shutil

import pytest
from gce_front import GceFront

pytestmark = [pytest.mark.long,
              pytest.mark.skipif(not shutil.which("gcloud"), reason="gcloud is not installed")]
ZONE = ("--zone", "us-central1-a")


@pytest.fixture
def gcloud():
    with GceFront() as front:
        laptop = front.laptop()
        token = laptop.file("token", front.mint()["token"])
        env = {"CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": str(token), "CLOUDSDK_CORE_PROJECT": "shoal-test",
               "CLOUDSDK_CORE_DISABLE_PROMPTS": "1", "CLOUDSDK_CORE_CHECK_GCE_METADATA": "false",
               "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
               "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "true"}

        def run(*words):
            done = laptop.run("compute", "instances", *words, "--format", "json",
                              program="gcloud", env=env, seconds=600)
            assert done.status == 0, str(done)
            return json.loads(done.out or "null")

        yield front, run


def test_create_list_and_delete(gcloud):
    front, run = gcloud
    made, = run("create", "one", *ZONE, "--machine-type", "n1-standard-2", "--metadata",
                "enable-guest-attributes=TRUE", "--labels", "ray-cluster-name=demo")
    assert made["status"] == "RUNNING"
    assert [m.name for m in front.alive("demo")] == ["one"]
    assert [row["name"] for row in run("list", "--filter", "labels.ray-cluster-name=demo")] == \
        ["one"]
    made = run("bulk", "create", "--name-pattern", "two-##", "--count", "2", *ZONE,
               "--machine-type", "n1-standard-2")
    assert len(front.alive()) == 3, made
    for name in ("one", "two-01", "two-02"):  # several at once would be a batch request
        run("delete", name, *ZONE)
    assert front.remains() == {}
