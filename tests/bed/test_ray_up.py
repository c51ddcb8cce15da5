"""Ray's own launcher, unchanged, on the bed: the bed has all that it needs of AWS.

The launcher runs in a container on the host's network, where the laptop is too. Takes more than a
minute: suite `long`.
"""

import json
import re
import subprocess

import pytest
from conftest import RAY, bed_client, listing, wait_for

from cloud import images, settings

TYPE = {"node_config": {"InstanceType": "m5.large", "ImageId": RAY, "KeyName": "tests"},
        "resources": {"CPU": 1}}
START = "--object-store-memory 80000000 --disable-usage-stats"
CONFIG = {
    "cluster_name": "real", "max_workers": 1,
    "provider": {"type": "aws", "region": settings.REGION, "cache_stopped_nodes": False},
    "auth": {"ssh_user": "ubuntu", "ssh_private_key": "/laptop/key"},
    "available_node_types": {"head": {**TYPE, "max_workers": 0},
                             "worker": {**TYPE, "min_workers": 1, "max_workers": 1}},
    "head_node_type": "head",
    "head_start_ray_commands": [
        "ray stop", f"export AWS_ENDPOINT_URL={settings.ENDPOINT} AWS_DEFAULT_REGION="
        f"{settings.REGION}; ray start --head --port=6379 --autoscaling-config="
        f"~/ray_bootstrap_config.yaml --include-dashboard=false {START}"],
    "worker_start_ray_commands": ["ray stop", f"ray start --address=$RAY_HEAD_IP:6379 {START}"],
}


def on_laptop(folder, *words, seconds):
    variables = [word for name, value in bed_client.environment().items()
                 if name != "AWS_EC2_METADATA_DISABLED" for word in ("-e", f"{name}={value}")]
    done = subprocess.run(
        ["docker", "run", "--rm", "--label", settings.LABEL, "--network", "host", "-v",
         f"{folder}:/laptop", *variables, images.ensure("ray"), *words],
        capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.long
def test_ray_up_and_down(bed, ec2, key_name, key_files, ssh, tmp_path):
    bed_client.up(["ray"])
    (tmp_path / "key").write_bytes(key_files[0].read_bytes())
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "c.yaml").write_text(json.dumps(CONFIG), encoding="ascii")
    on_laptop(tmp_path, "ray", "up", "-y", "--no-config-cache", "/laptop/c.yaml", seconds=240)
    head = next(i for i in listing(ec2) if "head" in str(i["Tags"]))
    shell = ssh(head)

    def both_joined():
        return re.search(r"/2\.0 CPU", shell.run("ray status", seconds=60).stdout)

    wait_for(both_joined, 120, 3)
    # The head's monitor used the role of its instance, not the laptop's keys.
    assert bed.counts(who=head["InstanceId"])["RunInstances"] == 1
    on_laptop(tmp_path, "ray", "down", "-y", "/laptop/c.yaml", seconds=120)
    wait_for(lambda: all(i["State"]["Name"] == "terminated" for i in listing(ec2)), 60)
