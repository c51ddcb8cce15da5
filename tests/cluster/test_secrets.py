"""Ten kinds of secrets on a cluster of containers with real Ray, where `up` was killed once: none
of them leaks. tests/front/test_security.py is the same test without containers.
"""

import json
import subprocess
import sys

import driver
import files
import pytest

sys.path.append(str(driver.HERE.parent / "front"))

from canaries import Canaries, Sampler, check_files, hits, is_readable  # noqa: E402


def changed_files(instance):
    """(root, [path]): every file of a running container that differs from its image."""
    root = driver.root_of(f"bed-{instance}")
    said = subprocess.run(["docker", "diff", f"bed-{instance}"], capture_output=True, text=True,
                          check=True, timeout=60).stdout
    paths = [root / line[2:].lstrip("/") for line in said.splitlines() if line[0] in "AC"]
    return root, list(filter(is_readable, paths))


@pytest.mark.long
def test_no_secret_gets_anywhere_else(cluster, laptop, bed, aws):
    keys = bed.mint(kind="admin", name="canary")
    laptop.more = {"AWS_ACCESS_KEY_ID": keys["key"], "AWS_SECRET_ACCESS_KEY": keys["secret"],
                   "AWS_SESSION_TOKEN": keys["token"]}
    secrets = Canaries(laptop)
    aws("ec2").import_key_pair(KeyName="users", PublicKeyMaterial=secrets.public.encode())
    made = cluster(secrets.put_in(files.quick("canary", workers=1)))
    sampler = Sampler()
    killed = {**secrets.env, "SHOAL_FAILPOINT": "up:after-request"}
    done = [made.run("up", "-y", "-v", env=killed), made.run("up", "-y", "-v", env=secrets.env),
            made.run("exec", "-v", "true", env=secrets.env),
            made.run("rsync-down", "~/mounted", "./back", "-v", env=secrets.env)]
    assert [d.status for d in done] == [-9, 0, 0, 0], "\n".join(map(str, done))
    said = "".join(d.out + d.err for d in done)
    assert not hits(said.encode(), secrets.all), said
    check_files(laptop.state, secrets.all)
    for machine in made.machines():
        root, paths = changed_files(machine["InstanceId"])
        assert any(path.name == "raylet.out" for path in paths), "no logs of Ray"
        assert any(path.name == "user-data.txt" for path in paths), "no user-data"
        assert any(hits(path.read_bytes(), secrets.on_nodes) for path in paths), "not a search"
        secrets.check_machine(root, paths)
        print(f"{len(paths)} files of {machine['InstanceId']}")
    assert not hits(json.dumps(bed.truth()).encode(), secrets.all)
    made.down()
    assert not hits(sampler.end(), secrets.all)
    print(f"{len(sampler.words)} command lines")
