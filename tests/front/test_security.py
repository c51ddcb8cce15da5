"""Secrets stay in their places and text of a file is never executed: searches through whole
clusters.

SECURITY.md lists what a hostile Ray task or worker can reach; `test_what_a_task_can_reach` is how
that was found out.
"""

import base64
import json
import pathlib
import sys

import pytest
from canaries import Canaries, Sampler, check_files, files_below, hits


IMPORT = "import boto3, sys; boto3.client('ec2').import_key_pair(KeyName='users', " \
         "PublicKeyMaterial=sys.argv[1])"


def script(machine, text):
    """stdout of a script there; sudo's login shell would change the text."""
    packed = base64.b64encode(text.encode()).decode()
    return machine.run("bash", "-c", f"echo {packed} | base64 -d | bash")


def imds(machine, path):
    where = "http://169.254.169.254/latest"
    return script(machine, f"""
        token=$(curl -sX PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' {where}/api/token)
        curl -s -H "X-aws-ec2-metadata-token: $token" {where}/{path}""")


@pytest.mark.parametrize("fails", [False, True], ids=["fine", "failing"])
def test_no_secret_gets_anywhere_else(front, fails):
    laptop = front.laptop()
    secrets = Canaries(laptop)
    laptop("-c", IMPORT, secrets.public, program=sys.executable)
    config = secrets.put_in(front.cluster("canary", workers=1))
    config["setup_commands"] += ["exit 7"] if fails else []
    file = laptop.file("cluster.yaml", config)
    sampler = Sampler()
    done = laptop.run("up", "-y", "-v", file, env=secrets.env, seconds=120)
    more = [laptop.run("exec", "-v", file, "true", env=secrets.env),
            laptop.run("rsync-down", "-v", file, "~/mounted", "./back", env=secrets.env),
            laptop.run("config", file, env=secrets.env)] if not fails else []
    seen = sampler.end()
    assert (done.status != 0) == fails, str(done)
    said = "".join(d.out + d.err for d in [done, *more])
    assert not hits(said.encode(), secrets.all), said
    assert not hits(seen, secrets.all)
    check_files(laptop.state, secrets.all)
    machines = front.machines(states=("pending", "running", "terminated", "shutting-down"))
    assert machines
    for machine in machines:
        secrets.check_machine(machine.disk, files_below(machine.disk))
        assert not hits(json.dumps(machine.row).encode(), secrets.all)
        assert not hits(machine.console().encode(), secrets.secrets)
    for machine in front.alive("canary"):
        data = imds(machine, "user-data")
        assert "ssh_authorized_keys" in data and not hits(data.encode(), secrets.all)


# ---- text that must not be executed ----

EVIL = ["$(touch /tmp/PWNED)", "`touch /tmp/PWNED`", "'; touch /tmp/PWNED; '",
        "\"; touch /tmp/PWNED; \"", "&& touch /tmp/PWNED", "| touch /tmp/PWNED"]


def marks(front):
    found = [p for laptop in front.laptops.values() for p in laptop.folder.rglob("PWNED")]
    return found + [p for p in (front.folder / "nodes").glob("*/upper/**/PWNED")] + \
        list(pathlib.Path("/tmp").glob("PWNED"))


def test_hostile_text_in_every_field_is_only_text(front):
    """All at once, in fields that accept any text; cli/test_security.py has those that do not."""
    laptop = front.laptop()
    config = front.cluster("evil", workers=1)
    config["file_mounts"] = {}
    for i, evil in enumerate(EVIL):
        name = evil.replace("/", ":")
        laptop.file(f"m{i} {name}/inside {name}", evil)
        config["file_mounts"][f"~/m{i} {name}"] = f"./m{i} {name}"
    config["rsync_exclude"] = EVIL
    config["rsync_filter"] = [evil.replace("/", ":") for evil in EVIL]
    for kind in config["available_node_types"].values():
        kind["resources"] = {"CPU": 1, EVIL[0]: 1}
        kind["node_config"] = {**kind["node_config"], "TagSpecifications": [
            {"ResourceType": "instance",
             "Tags": [{"Key": f"evil{i}", "Value": evil} for i, evil in enumerate(EVIL)]}]}
    file = laptop.file("cluster.yaml", config)
    done = laptop.run("up", "-y", "-v", file, seconds=120)
    assert done.status == 0, str(done)
    laptop.run("exec", file, "true")
    laptop.run("rsync-down", file, "~/m0 " + EVIL[0].replace("/", ":") + "/", "./back")
    for machine in front.alive("evil"):
        for i, evil in enumerate(EVIL):
            name = evil.replace("/", ":")
            path = machine.home / f"m{i} {name}" / f"inside {name}"
            assert path.read_text(encoding="utf-8") == evil, path
            assert machine.tag(f"evil{i}") == evil
    assert marks(front) == []


# ---- who can reach what ----


def test_what_a_task_can_reach(front):
    """A Ray task is a process of the login user. Checks what SECURITY.md says about it."""
    laptop = front.laptop()
    laptop("up", "-y", laptop.file("cluster.yaml", front.cluster("reach", workers=1)))
    head = front.head("reach")
    worker = next(m for m in front.alive("reach") if m.kind == "worker")

    def can(machine, line):
        return script(machine, f"({line}) >/dev/null 2>&1 && echo yes; true").strip() == "yes"

    assert can(head, "test -r ~/ray_bootstrap_key.pem && test -r ~/.shoal/cluster/secret")
    assert can(head, "~/.shoal/bin/shoal ctl < /dev/null")
    assert imds(head, "meta-data/iam/security-credentials/").strip()
    # The service's memory is private; its files are not.
    assert not can(head, "cat /proc/$(pgrep -of 'shoal autoscaler')/environ")
    assert not can(worker, "test -r ~/ray_bootstrap_key.pem || test -d ~/.shoal/cluster")
    assert "AccessKeyId" not in imds(worker, "meta-data/iam/security-credentials/any")
    assert can(worker, "test -r ~/.ray/auth_token")
    # The head's role can launch workers, but nothing with the tag of a head.
    role = imds(head, "meta-data/iam/security-credentials/").strip()
    keys = json.loads(imds(head, f"meta-data/iam/security-credentials/{role}"))
    told = laptop.run("-c", STEAL, json.dumps(keys), head.id, program=sys.executable, seconds=60)
    assert told.out.splitlines() == ["head UnauthorizedOperation", "end-head UnauthorizedOperation",
                                     "other-type UnauthorizedOperation", "worker fine"], str(told)


STEAL = """
import boto3, json, sys
keys, head = json.loads(sys.argv[1]), sys.argv[2]
mine = boto3.client("ec2")
ec2 = boto3.client("ec2", aws_access_key_id=keys["AccessKeyId"], aws_session_token=keys["Token"],
                   aws_secret_access_key=keys["SecretAccessKey"])
found = mine.describe_instances(InstanceIds=[head])["Reservations"][0]["Instances"][0]
uid = next(t["Value"] for t in found["Tags"] if t["Key"] == "shoal-cluster-uid")

def launch(kind, machine="m5.large"):
    tags = [{"Key": "shoal-cluster-uid", "Value": uid}, {"Key": "ray-node-type", "Value": kind}]
    ec2.run_instances(
        ImageId=found["ImageId"], InstanceType=machine, MinCount=1, MaxCount=1,
        KeyName=found["KeyName"], SubnetId=found["SubnetId"],
        SecurityGroupIds=[g["GroupId"] for g in found["SecurityGroups"]],
        MetadataOptions={"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
        TagSpecifications=[{"ResourceType": k, "Tags": tags} for k in
                           ("instance", "volume", "network-interface")])

def tell(name, work):
    try:
        work()
        print(name, "fine")
    except ec2.exceptions.ClientError as error:
        print(name, error.response["Error"]["Code"])

tell("head", lambda: launch("head"))
tell("end-head", lambda: ec2.terminate_instances(InstanceIds=[head]))
tell("other-type", lambda: launch("worker", "p4d.24xlarge"))
tell("worker", lambda: launch("worker"))
"""
