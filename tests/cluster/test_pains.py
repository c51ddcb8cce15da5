"""Failures of workers, which `ray up` does not wait for: what each tool prints, and what it
launches.

Real Ray in containers. docs/user/failures.md shows the transcripts.
"""

import json
import subprocess
import time

import driver
import files
import pytest
from driver import client, settings

from cloud import images

FAILS = "echo 'no such thing: torch==9.9' >&2; exit 3"
START = "--object-store-memory 80000000 --disable-usage-stats"
NODE = {"node_config": {"InstanceType": "m5.large", "KeyName": "tests",
                        "ImageId": next(a.id for a in settings.AMIS if a.image == "ray")},
        "resources": {"CPU": 1}}
RAYS = {
    "cluster_name": "rays", "max_workers": 1,
    "provider": {"type": "aws", "region": settings.REGION, "cache_stopped_nodes": False},
    "auth": {"ssh_user": "ubuntu", "ssh_private_key": "/laptop/key"},
    "available_node_types": {"head": {**NODE, "max_workers": 0},
                             "worker": {**NODE, "min_workers": 1, "max_workers": 1}},
    "head_node_type": "head", "worker_setup_commands": [FAILS],
    "head_start_ray_commands": [
        "ray stop", f"export AWS_ENDPOINT_URL={settings.ENDPOINT} AWS_DEFAULT_REGION="
        f"{settings.REGION}; ray start --head --port=6379 --autoscaling-config="
        f"~/ray_bootstrap_config.yaml --include-dashboard=false {START}"],
    "worker_start_ray_commands": ["ray stop", f"ray start --address=$RAY_HEAD_IP:6379 {START}"],
}
WATCH_SECONDS = 90


def ray(folder, *words, seconds):
    """(seconds, status, text) of a Ray command on a laptop; one that does not end is stopped."""
    variables = [word for name, value in client.environment().items()
                 if name != "AWS_EC2_METADATA_DISABLED" for word in ("-e", f"{name}={value}")]
    began = time.monotonic()
    done = subprocess.run(
        ["docker", "run", "--rm", "--label", settings.LABEL, "--network", "host", "-v",
         f"{folder}:/laptop", *variables, images.ensure("ray"), "timeout", str(seconds), *words],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return time.monotonic() - began, done.returncode, done.stdout


def show(tool, seconds, status, text):
    print(f"\n### {tool}: exit {status} after {seconds:.1f} s, load {driver.load():.1f}\n{text}")


@pytest.mark.long(seconds=600)
def test_a_worker_that_fails_under_ray_up(bed, ec2, key_name, key_files, tmp_path):
    (tmp_path / "key").write_bytes(key_files[0].read_bytes())
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "c.yaml").write_text(json.dumps(RAYS), encoding="ascii")
    up = ray(tmp_path, "ray", "up", "-y", "--no-config-cache", "--log-style", "pretty",
             "--log-color", "false", "/laptop/c.yaml", seconds=240)
    show("ray up", *up)
    assert up[1] == 0 and "torch==9.9" not in up[2]
    watched = ray(tmp_path, "ray", "exec", "/laptop/c.yaml", "tail -n 100 -f "
                  "/tmp/ray/session_latest/logs/monitor*", seconds=WATCH_SECONDS)
    show("ray exec 'tail -f monitor*'", *watched)
    blocks = watched[2].count("======== Autoscaler status")
    head = driver.machines(ec2, "rays")[0]["InstanceId"]
    print(f"\n{blocks} status blocks; RunInstances by the head: "
          f"{bed.counts(who=head)['RunInstances']}")


@pytest.mark.long(seconds=600)
def test_a_worker_that_fails_under_shoal_up(cluster):
    made = cluster(files.quick("ours", workers=1, worker_setup_commands=[FAILS]))
    done = made.run("up", "-y")
    show("shoal up", done.seconds, done.status, done.err)
    assert done.status == 1 and "torch==9.9" in done.err
    began = time.monotonic()
    child = made.start("events", "-f")
    time.sleep(WATCH_SECONDS)
    out, err = made.laptop.stop(child, 2)
    show("shoal events -f", time.monotonic() - began, child.returncode, out + err)
    show("shoal status", 0, 0, made.run("status").out)
    print(f"\nRunInstances: {made.bed.counts()['RunInstances']}")
    made.down()
    assert made.remains() == {}
