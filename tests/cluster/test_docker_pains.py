"""Failures of `docker` sections: what `ray up` and `shoal up` print.

Real Ray, a real Docker daemon. docs/user/failures.md shows the transcripts.
"""

import json

import driver
import files
import pytest
import test_pains

PRIVATE = "registry.invalid:5000/team/ray:1"


@pytest.fixture(scope="session")
def running_bed(running_base_bed):
    driver.client.up(["base", "ray", "docker"], seconds=3600)
    return running_base_bed


def without_docker(name):
    made = files.docker(name, workers=0)
    made["available_node_types"]["head"]["node_config"]["ImageId"] = files.BASE
    return made


def private_registry(name):
    return files.docker(name, workers=0, docker={"image": PRIVATE, "pull_before_run": True})


CASES = {"no docker (P6)": without_docker, "private registry (P16)": private_registry}
# What the user must learn from shoal.
WORDS = {"no docker (P6)": ["docker is not installed", "apt-get install -y docker.io"],
         "private registry (P16)": [PRIVATE, "docker login"]}


@pytest.mark.long(seconds=600)
@pytest.mark.parametrize("case", CASES)
def test_under_shoal_up(cluster, case):
    made = cluster(CASES[case]("ours"))
    done = made.run("up", "-y")
    test_pains.show(f"shoal up, {case}", done.seconds, done.status, done.err)
    assert done.status == 1
    for words in WORDS[case]:
        assert words in done.err
    made.down()


@pytest.mark.long(seconds=600)
@pytest.mark.parametrize("case", CASES)
def test_under_ray_up(bed, ec2, key_name, key_files, tmp_path, case):
    (tmp_path / "key").write_bytes(key_files[0].read_bytes())
    (tmp_path / "key").chmod(0o600)
    made = files.for_both(CASES[case]("rays"), key_name, "/laptop/key")
    (tmp_path / "c.yaml").write_text(json.dumps(made), encoding="ascii")
    up = test_pains.ray(tmp_path, "ray", "up", "-y", "--no-config-cache", "--log-style", "pretty",
                        "--log-color", "false", "/laptop/c.yaml", seconds=240)
    test_pains.show(f"ray up, {case}", *up)
    assert up[1] != 0
