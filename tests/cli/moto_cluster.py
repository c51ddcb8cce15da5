"""A cluster in moto: made by `shoal up`, which is killed right after it has launched the head."""

import shutil
import subprocess

import pytest

from moto_cloud import IMAGE, REGION, Cloud

FILE = f"""cluster_name: demo
provider: {{type: aws, region: {REGION}}}
auth: {{ssh_user: ubuntu}}
available_node_types:
  head: {{node_config: {{InstanceType: m5.large, ImageId: {IMAGE}}}, resources: {{CPU: 1}}}}
  w: {{node_config: {{InstanceType: m5.large, ImageId: {IMAGE}}}, resources: {{CPU: 1}}}}
head_node_type: head
max_workers: 0
metadata: {{shoal: {{ssh_from: ["127.0.0.1/32"], prices: {{m5.large: 0.1}}}}}}
"""


@pytest.fixture(scope="module")
def server():
    with Cloud() as cloud:
        yield cloud


@pytest.fixture
def cloud(server):
    server.reset()
    return server


@pytest.fixture
def payloads(tmp_path, program):
    folder = tmp_path / "payloads"
    folder.mkdir()
    for arch in ("x86_64", "aarch64"):
        shutil.copy(program, folder / f"shoal-{arch}")
    return folder


@pytest.fixture
def run_up(cloud, payloads, environment, program, write, folder):
    """Create the cluster; the head runs, and no process holds the lease."""
    write("x.yaml", FILE)

    def make(failpoint="up:after-head-launch"):
        env = {**environment, **cloud.environment, "SHOAL_PAYLOADS": str(payloads),
               "SHOAL_FAILPOINT": failpoint}
        done = subprocess.run([program, "up", "-y", "x.yaml"], cwd=folder, env=env, check=False,
                              capture_output=True, encoding="utf-8", timeout=60)
        assert done.returncode == -9, done.stderr
        return cloud.living()

    return make


def things(cloud):
    """Everything that carries the tag of a Shoal cluster, terminated instances left out."""
    tagged = [{"Name": "tag-key", "Values": ["shoal-cluster-uid"]}]
    ec2, iam = cloud.ec2, cloud.client("iam")
    return {
        "instances": cloud.living(),
        "groups": [g["GroupId"] for g in
                   ec2.describe_security_groups(Filters=tagged)["SecurityGroups"]],
        "keys": [k["KeyName"] for k in ec2.describe_key_pairs(Filters=tagged)["KeyPairs"]],
        "templates": [t["LaunchTemplateName"] for t in
                      ec2.describe_launch_templates()["LaunchTemplates"]],
        "roles": [r["RoleName"] for r in iam.list_roles()["Roles"]],
        "profiles": [p["InstanceProfileName"] for p in
                     iam.list_instance_profiles()["InstanceProfiles"]],
    }
