"""`shoal check` against the bed: what it says, and that it changes nothing.

SHOAL_UPDATE_GOLDEN   1: rewrite the transcripts in golden/check instead of comparing
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
from conftest import ARM, BASE, HERE, wait_state

from cloud import client, settings

GOLDEN = HERE / "golden" / "check"
BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD") or HERE.parents[1] / "build")
READS = re.compile(r"(Describe|Get|List|Simulate)[A-Z]|.*DryRun$")
NOTE = f"shoal: note: AWS_ENDPOINT_URL is set: calls go to {settings.ENDPOINT}\n"
HEAD = "cluster_name: demo\n\nprovider:\n  type: aws\n  region: us-west-2\n"


def cluster(node_config="", provider="", rest="", region="us-west-2"):
    """A cluster file; `node_config` is that of the head, indented by six blanks."""
    lines = [f"      {line}" for line in ["InstanceType: m5.large", *node_config.splitlines()]]
    if "InstanceType:" in node_config:
        lines.pop(0)
    return (HEAD.replace("us-west-2", region) +
            "".join(f"  {line}\n" for line in provider.splitlines()) + rest +
            "\nmax_workers: 0\nhead_node_type: head\navailable_node_types:\n  head:\n"
            "    resources: {}\n    node_config:\n" + "\n".join(lines) + "\n")


class Run:
    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr


@pytest.fixture
def place(tmp_path):
    """The folder where shoal runs, with its own HOME."""
    (tmp_path / "home").mkdir()
    (tmp_path / "here").mkdir()
    return tmp_path


@pytest.fixture
def variables(place):
    for arch in ("x86_64", "aarch64"):
        (place / f"shoal-{arch}").touch()
    return {**client.environment(), "PATH": os.environ["PATH"], "HOME": str(place / "home"),
            "LC_ALL": "C.UTF-8", "SHOAL_PAYLOADS": str(place)}


@pytest.fixture
def check(paper, place, variables):
    """check(file text, *words, env=..., verb=...): runs it; only read-only calls may reach the
    API.
    """

    def run(text, *words, env=None, file="cluster.yaml", verb="check"):
        (place / "here" / "cluster.yaml").write_text(text)
        env = {name: value for name, value in {**variables, **(env or {})}.items() if value}
        paper.counts(clear=True)
        done = subprocess.run([BUILD / "src/cli/shoal", verb, *words, file], env=env,
                              cwd=place / "here", capture_output=True, text=True, timeout=60,
                              check=False)
        changed = [action for action in paper.counts() if not READS.match(action)]
        assert not changed, changed
        assert done.returncode in (0, 1, 2), done
        return Run(done)

    return run


def stable(text):
    """Replace generated ids by numbers, in the order in which they appear."""
    seen = {}

    def name(match):
        kind = match.group(1)
        number = sum(1 for known in seen if known.startswith(kind)) + 1
        return seen.setdefault(match.group(), f"{kind}-{number}")

    return re.sub(r"\b(subnet|vpc|sg)-[0-9a-f]{8,17}\b", name, text)


@pytest.fixture
def golden():
    """golden(name, run): compares the transcript with the stored one."""

    def compare(name, run, status):
        text = stable(run.out)
        rest = run.err.replace(NOTE, "")
        text += f"-- on standard error:\n{stable(rest)}" if rest else ""
        text += f"-- exit status {run.status}\n"
        path = GOLDEN / f"{name}.txt"
        if os.environ.get("SHOAL_UPDATE_GOLDEN") == "1":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"{path} is missing; write it with SHOAL_UPDATE_GOLDEN=1"
        assert text == path.read_text(), \
            f"{name} says otherwise; if this is better, run again with SHOAL_UPDATE_GOLDEN=1"
        assert run.status == status

    return compare


# ---- files without findings ----


def test_everything_is_fine(check, golden, paper):
    run = check(cluster())
    assert run.err == NOTE
    golden("fine", run, 0)
    said = check(cluster(), "-o", "json")
    answer = json.loads(said.out)
    assert (answer["errors"], answer["warnings"], answer["asked"]) == (0, 0, True)
    assert (answer["provider"], answer["region"]) == ("aws", "us-west-2")
    assert {"identity", "machine", "image", "subnets", "key"} <= \
        {f["subject"] for f in answer["findings"]}
    assert set(answer["findings"][0]) == {"level", "subject", "text", "remedy", "path", "line",
                                          "column", "rows"}
    assert answer["not_checked"]


def test_a_region_without_rays_image(check, golden):
    golden("image-gone", check(cluster(region="us-east-1")), 0)


def test_a_file_that_names_everything(check, golden, ec2, aws, place, key_files, paper):
    ec2.import_key_pair(KeyName="mine", PublicKeyMaterial=key_files[1].encode())
    iam = aws("iam")
    iam.create_instance_profile(InstanceProfileName="nodes")
    iam.create_role(RoleName="nodes", AssumeRolePolicyDocument="{}")
    iam.add_role_to_instance_profile(InstanceProfileName="nodes", RoleName="nodes")
    group = ec2.describe_security_groups(GroupNames=["default"])["SecurityGroups"][0]["GroupId"]
    subnets = ec2.describe_subnets()["Subnets"]
    subnet = next(s["SubnetId"] for s in subnets if s["MapPublicIpOnLaunch"])
    os.symlink(key_files[0], place / "home" / "key")
    run = check(cluster(f"ImageId: {BASE}\nKeyName: mine\nSecurityGroupIds: [{group}]\n"
                        f"SubnetIds: [{subnet}]\nIamInstanceProfile: {{Name: nodes}}",
                        rest="auth: {ssh_user: ubuntu, ssh_private_key: ~/key}\n"))
    golden("named", run, 0)


# ---- what this machine or this release lacks ----


def both(check, text, env=None):
    """What `check` and `up` say; neither creates anything."""
    checked = check(text, env=env)
    launched = check(text, "-y", env=env, verb="up")
    assert (checked.status, launched.status) == (1, 1), (checked.out, launched.err)
    assert "nothing was created" in launched.err
    return checked.out, launched.err


def test_programs_for_the_machines_are_missing(check, place):
    (place / "shoal-x86_64").unlink()
    for text in both(check, cluster()):
        assert f"the shoal program for x86_64 machines is missing: {place}/shoal-x86_64" in text
        assert "packaging/static" in text
    assert not (place / "home" / ".local").exists() or \
        not list((place / "home" / ".local").rglob("journal*"))
    (place / "shoal-aarch64").unlink()
    assert "for aarch64 machines is missing" in both(
        check, cluster("InstanceType: m6g.large"))[0]


def test_persistent_spot_requests_are_refused(check):
    text = cluster("InstanceType: m5.large\nInstanceMarketOptions: {MarketType: spot, "
                   "SpotOptions: {SpotInstanceType: persistent}}")
    for said in both(check, text):
        assert "uses persistent spot requests" in said
    assert check(text, verb="validate").status == 0


# ---- what the account does not allow ----

SPOT = "InstanceType: m5.large\nInstanceMarketOptions: {MarketType: spot}"


def test_a_launch_that_is_denied(check, golden, paper):
    paper.deny("admin", "ec2:RunInstances")
    run = check(cluster())
    assert "ec2:RunInstances" in run.out and "shoal policy" in run.out
    assert "Encoded authorization" not in run.out
    both(check, cluster())
    assert check(cluster(), verb="validate").status == 0


@pytest.mark.parametrize("action", ["CreateLaunchTemplate", "CreateSecurityGroup",
                                    "ImportKeyPair"])
def test_making_is_denied(check, paper, action):
    paper.deny("admin", f"ec2:{action}")
    for said in both(check, cluster()):
        assert f"ec2:{action}" in said
        assert re.search(r"creating the .*cluster's [a-z ]+ is not allowed", said), said


def test_quotas(check, paper):
    paper.set(vcpu_quota=1)
    for said in both(check, cluster()):
        assert "the account's quota is 1 vCPUs of on-demand Standard" in said
        assert "--quota-code L-1216C47A --desired-value 2" in said
    paper.set(vcpu_quota=2)
    assert "2 vCPUs of on-demand Standard" in check(cluster()).out
    paper.deny("admin", "servicequotas:*")
    run = check(cluster())
    assert run.status == 0 and "servicequotas:GetServiceQuota" in run.out


def test_the_role_of_spot_instances(check, paper):
    assert "AWSServiceRoleForEC2Spot" not in check(cluster(SPOT)).out
    paper.set(spot_role=0)
    run = check(cluster(SPOT))
    assert run.status == 0 and "shoal up creates it" in run.out
    paper.deny("admin", "iam:CreateServiceLinkedRole")
    for said in both(check, cluster(SPOT)):
        assert "aws iam create-service-linked-role" in said
    assert "AWSServiceRoleForEC2Spot" not in check(cluster()).out


# ---- credentials ----

NO_KEYS = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}


def test_no_credentials(check, golden):
    golden("no-credentials", check(cluster(), env=NO_KEYS), 1)


def test_no_such_profile(check, golden, place):
    (place / "home" / ".aws").mkdir()
    (place / "home" / ".aws" / "config").write_text("[profile work]\nregion = us-east-1\n")
    golden("no-profile", check(cluster(), "--profile", "wrok", env=NO_KEYS), 1)


def test_expired(check, golden, paper):
    made = paper.mint(kind="admin", name="admin")
    paper.expire(made["key"])
    golden("expired", check(cluster(), env={
        "AWS_ACCESS_KEY_ID": made["key"], "AWS_SECRET_ACCESS_KEY": made["secret"],
        "AWS_SESSION_TOKEN": made["token"]}), 1)


def test_unknown_keys(check, golden):
    golden("unknown-keys", check(cluster(), env={"AWS_ACCESS_KEY_ID": "AKIANOBODY0000000001"}), 1)


def test_profiles_and_keys_of_the_file(check, place):
    (place / "home" / ".aws").mkdir()
    (place / "home" / ".aws" / "credentials").write_text(
        f"[work]\naws_access_key_id = {settings.ADMIN_KEY}\n"
        f"aws_secret_access_key = {settings.ADMIN_SECRET}\n")
    for run in (check(cluster(), "--profile", "work", env=NO_KEYS),
                check(cluster(provider="aws_profile: work"), env=NO_KEYS)):
        assert run.status == 0 and "(profile work" in run.out, run.out
    keys = (f"aws_credentials:\n  aws_access_key_id: {settings.ADMIN_KEY}\n"
            f"  aws_secret_access_key: {settings.ADMIN_SECRET}")
    run = check(cluster(provider=keys), env=NO_KEYS)
    assert run.status == 0 and "(the cluster file)" in run.out
    assert settings.ADMIN_SECRET not in run.out + run.err


def test_denied(check, golden, paper):
    for action in ("ec2:DescribeSubnets", "ec2:DescribeImages", "ec2:DescribeInstanceTypes"):
        paper.deny("admin", action)
    golden("denied", check(cluster()), 1)


# ---- subnets ----


@pytest.fixture
def other_vpc(paper, ec2, run):
    """A second VPC with a security group, a private subnet and a full one; removed at the end."""
    made = contextlib.ExitStack()
    vpc = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    made.callback(lambda: ec2.delete_vpc(VpcId=vpc))
    group = ec2.create_security_group(GroupName="far", Description="x", VpcId=vpc)["GroupId"]
    made.callback(lambda: ec2.delete_security_group(GroupId=group))

    def subnet(zone, cidr, public):
        ident = ec2.create_subnet(VpcId=vpc, CidrBlock=cidr, AvailabilityZone=f"us-west-2{zone}")[
            "Subnet"]["SubnetId"]
        made.callback(lambda: ec2.delete_subnet(SubnetId=ident))
        ec2.modify_subnet_attribute(SubnetId=ident, MapPublicIpOnLaunch={"Value": public})
        return ident

    subnet("a", "10.9.0.0/24", False)
    full = subnet("c", "10.9.1.0/28", True)
    paper.set(terminating=0)
    nodes = run(Count=11, SubnetId=full, SecurityGroupIds=[group])  # all addresses of a /28
    made.callback(lambda: [wait_state(ec2, node, "terminated") for node in nodes])
    made.callback(lambda: ec2.terminate_instances(InstanceIds=nodes))
    with made:
        yield group


def test_no_subnet_can_be_used(check, golden, other_vpc):
    """Every reason in one run, each with its place or what to write."""
    golden("subnets", check(cluster(f"SecurityGroupIds: [{other_vpc}]")), 1)
    run = check(cluster(f"SecurityGroupIds: [{other_vpc}]", provider="use_internal_ips: true"))
    assert run.status == 0, run.out


def test_named_subnets(check, golden, ec2):
    private = next(s["SubnetId"] for s in ec2.describe_subnets()["Subnets"]
                   if not s["MapPublicIpOnLaunch"])
    golden("named-subnets",
           check(cluster(f"SubnetIds: [{private}, subnet-0123456789abcdef0]")), 1)


def test_a_zone_without_subnets(check, golden):
    golden("zone", check(cluster(provider="availability_zone: us-west-2d")), 1)


def test_a_region_that_is_closed(check, golden):
    golden("closed-region", check(cluster(region="ap-east-1")), 1)


# ---- instances, images and others ----


def test_an_image_for_another_processor(check, golden):
    golden("x86-on-arm", check(cluster(f"InstanceType: m6g.large\nImageId: {BASE}")), 1)
    golden("arm-on-x86", check(cluster(f"ImageId: {ARM}")), 1)


def test_an_arm_machine_gets_an_arm_image(check):
    run = check(cluster("InstanceType: m6g.large"))
    assert run.status == 0 and f"{ARM} newest Ubuntu 22.04 arm64" in run.out


def test_what_is_not_there(check, golden):
    """An instance type, an image, a group, a profile: all in one run."""
    golden("missing", check(cluster(
        "InstanceType: hpc7a.12xlarge\nImageId: ami-0123456789abcdef0\n"
        "SecurityGroupIds: [sg-0123456789abcdef0]\nIamInstanceProfile: {Name: nodes}")), 1)


def test_launch_templates(check, golden, ec2):
    """What they set applies if the file does not set it."""
    ec2.create_launch_template(LaunchTemplateName="team", LaunchTemplateData={
        "InstanceType": "m6g.large", "ImageId": BASE})
    ec2.create_launch_template_version(LaunchTemplateName="team", LaunchTemplateData={
        "InstanceType": "m6g.large", "ImageId": ARM})
    named = "LaunchTemplate: {{LaunchTemplateName: {}, Version: '{}'}}"
    text = cluster(named.format("team", 2)).replace("      InstanceType: m5.large\n", "")
    golden("template", check(text), 0)
    text = text.replace("Version: '2'", "Version: '1'")
    golden("template-arm", check(text), 1)
    golden("template-gone", check(cluster(named.format("teem", 1))), 1)


@pytest.mark.parametrize("kind", ["ed25519", "rsa"])
@pytest.mark.parametrize("form", ["RFC4716", "PEM", "PKCS8"])
def test_private_keys(check, ec2, place, kind, form):
    """As ssh-keygen and AWS write them: a right key is distinguished from a wrong one."""
    size = ["-b", "2048"] if kind == "rsa" else []
    for name in ("right", "wrong"):
        path = place / "home" / name
        subprocess.run(["ssh-keygen", "-q", "-t", kind, *size, "-m", form, "-N", "",
                        "-f", path],
                       check=True)
    ec2.import_key_pair(KeyName="mine",
                        PublicKeyMaterial=(place / "home" / "right.pub").read_bytes())
    for name, status in (("right", 0), ("wrong", 1)):
        run = check(cluster("KeyName: mine",
                            rest=f"auth: {{ssh_user: ubuntu, ssh_private_key: ~/{name}}}\n"))
        assert run.status == status, run.out
        assert ("is not the private key of" in run.out) == (name == "wrong")


def test_a_key_pair_that_is_missing(check, golden, ec2, place, key_files):
    ec2.import_key_pair(KeyName="mine", PublicKeyMaterial=key_files[1].encode())
    os.symlink(key_files[0], place / "home" / "key")
    golden("key", check(cluster("KeyName: mime",
                                rest="auth: {ssh_user: ubuntu, ssh_private_key: ~/key}\n")), 1)


# ---- errors of the file come first ----


def test_mistakes_in_the_file_end_it_there(check, golden, paper):
    golden("file", check(cluster() + "max_worker: 2\n"), 1)
    assert not paper.counts()
    answer = json.loads(check(cluster() + "max_worker: 2\n", "-o", "json").out)
    assert (answer["errors"], answer["asked"]) == (1, False)
    assert answer["findings"][0]["subject"] == "file"


def test_other_clouds(check, paper):
    run = check("cluster_name: x\nprovider: {type: spark}\n")
    assert run.status == 0 and "spark is not supported yet; use aws" in run.out
    assert not paper.counts()


# ---- API failures ----


def test_throttling_is_waited_out(check, paper):
    paper.fault("DescribeSubnets", "throttle", count=2)
    assert check(cluster()).status == 0


def test_answers_that_do_not_come(check, golden, paper):
    paper.fault("DescribeImages", "hang", count=0)
    begun = time.monotonic()
    golden("late", check(cluster(), "--timeout", "1"), 1)
    assert time.monotonic() - begun < 15


def test_ctrl_c(paper, place, variables):
    """On a terminal, where `check` also says what it waits for."""
    paper.fault("DescribeImages", "hang", count=0)
    (place / "cluster.yaml").write_text(cluster())
    ours, theirs = os.openpty()
    running = subprocess.Popen([BUILD / "src/cli/shoal", "check", "cluster.yaml"], env=variables,
                               cwd=place, stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    said = b""
    while b"still waiting for aws us-west-2" not in said:
        said += os.read(ours, 1000)
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=30)
    assert running.returncode == 130 and out == ""
    assert os.read(ours, 1000) == b"shoal: error: stopped by Ctrl-C; nothing was created\r\n"
    os.close(ours)
