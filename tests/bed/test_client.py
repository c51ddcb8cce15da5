"""Our AWS client against the bed, by the program aws_probe: every source of credentials, their end
in the middle, wrong clocks, throttling, pages, faults. No machines.

SHOAL_BUILD  the build directory (default: build in the repository)
"""

import http.server
import json
import os
import pathlib
import subprocess
import threading
import time

import pytest
from conftest import HERE, wait_for

from cloud import client as bed_client
from cloud import services, settings

BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD") or HERE.parents[1] / "build").resolve()
PROBE = BUILD / "tests" / "aws_probe"
SECONDS = 120
TRUST = json.dumps({"Version": "2012-10-17", "Statement": [{
    "Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}]})


@pytest.fixture
def home(tmp_path):
    (tmp_path / ".aws" / "sso" / "cache").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def start(home):
    """start("identity", VARIABLE="..."): starts the probe, without the admin's keys."""

    def begin(*words, **variables):
        names = {**bed_client.environment(), "HOME": str(home), "PATH": os.environ["PATH"],
                 **variables}
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            if name not in variables:
                del names[name]
        if names.get("AWS_EC2_METADATA_SERVICE_ENDPOINT"):
            del names["AWS_EC2_METADATA_DISABLED"]
        return subprocess.Popen([str(PROBE), *map(str, words)], env=names, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    return begin


def finish(process):
    out, log = process.communicate(timeout=SECONDS)
    assert "Sanitizer" not in log, log
    return [json.loads(line) for line in out.splitlines()], log


@pytest.fixture
def probe(start):
    """The same, run to its end: its answers."""
    return lambda *words, **variables: finish(start(*words, **variables))[0]


@pytest.fixture
def admin(probe):
    """The same with the admin's keys."""
    return lambda *words, **variables: probe(
        *words, AWS_ACCESS_KEY_ID=settings.ADMIN_KEY,
        AWS_SECRET_ACCESS_KEY=settings.ADMIN_SECRET, **variables)


@pytest.fixture
def role(aws):
    def make(name):
        iam = aws("iam")
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=TRUST)
        iam.put_role_policy(RoleName=name, PolicyName="p", PolicyDocument=json.dumps({
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}))
        return f"arn:aws:iam::{settings.ACCOUNT}:role/{name}"

    return make


class Machine(http.server.BaseHTTPRequestHandler):
    """The credential services of a container and of an instance, with keys of the bed."""

    protocol_version = "HTTP/1.1"
    bed = None
    life = 3600

    def say(self, text, status=200):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        ttl = self.headers.get("X-aws-ec2-metadata-token-ttl-seconds")
        self.say("token-of-the-machine", 200 if ttl == "21600" else 400)

    def do_GET(self):
        role = "/latest/meta-data/iam/security-credentials/"
        token = self.headers.get("X-aws-ec2-metadata-token")
        if self.path.startswith("/latest/") and token != "token-of-the-machine":
            self.say("Unauthorized", 401)
        elif self.path == role:
            self.say("the-role")
        elif self.path in (role + "the-role", "/container"):
            made = self.bed.mint(name="guest", seconds=self.life)
            self.say(json.dumps({
                "Code": "Success", "AccessKeyId": made["key"], "SecretAccessKey": made["secret"],
                "Token": made["token"], "Expiration": time.strftime(
                    "%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + self.life))}))
        else:
            self.say("Not Found", 404)

    def log_message(self, *_):
        pass


@pytest.fixture
def machine_url(paper):
    Machine.bed, Machine.life = paper, 3600
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Machine)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


# ---- sources ----


def test_environment_and_files(paper, admin, probe, home):
    answer, = admin("identity")
    assert answer["ok"] and answer["source"] == "environment"
    assert answer["arn"] == f"arn:aws:iam::{settings.ACCOUNT}:user/admin"
    keys = (f"aws_access_key_id = {settings.ADMIN_KEY}\n"
            f"aws_secret_access_key = {settings.ADMIN_SECRET}\n")
    (home / ".aws" / "credentials").write_text(f"[work]\n{keys}", encoding="ascii")
    (home / ".aws" / "config").write_text(f"[profile other]\n{keys}", encoding="ascii")
    answer, = probe("--profile", "work", "identity")
    assert answer["ok"] and answer["source"] == "profile work: credentials-file"
    answer, = probe("identity", AWS_PROFILE="other")
    assert answer["ok"] and answer["source"] == "profile other: config-file"
    answer, = probe("--profile", "wrk", "identity")
    assert "work" in answer["error"] and answer["kind"] == "auth"


def test_chain_of_roles(paper, probe, role, home):
    first, second = role("first"), role("second")
    (home / ".aws" / "config").write_text(
        f"[profile a]\nrole_arn = {first}\nsource_profile = b\nrole_session_name = me\n"
        f"[profile b]\nrole_arn = {second}\nsource_profile = c\n"
        f"[profile c]\naws_access_key_id = {settings.ADMIN_KEY}\n"
        f"aws_secret_access_key = {settings.ADMIN_SECRET}\n", encoding="ascii")
    answer, = probe("--profile", "a", "identity")
    assert answer["arn"] == f"arn:aws:sts::{settings.ACCOUNT}:assumed-role/first/me"
    assert paper.counts()["AssumeRole"] == 2
    (home / ".aws" / "config").write_text(
        f"[profile a]\nrole_arn = arn:aws:iam::{settings.ACCOUNT}:role/nobody\n"
        "credential_source = Environment\n", encoding="ascii")
    answer, = probe("identity", AWS_PROFILE="a", AWS_ACCESS_KEY_ID=settings.ADMIN_KEY,
                    AWS_SECRET_ACCESS_KEY=settings.ADMIN_SECRET)
    assert answer["source"] == "environment"  # which comes first, as in botocore


def test_program(paper, probe, home):
    made = paper.mint(name="guest")
    (home / "keys.json").write_text(json.dumps({
        "Version": 1, "AccessKeyId": made["key"], "SecretAccessKey": made["secret"],
        "SessionToken": made["token"]}), encoding="ascii")
    (home / ".aws" / "config").write_text(
        f'[profile p]\ncredential_process = cat "{home}/keys.json"\n'
        f"[profile q]\ncredential_process = sh -c 'echo login please >&2; exit 1'\n",
        encoding="ascii")
    answer, = probe("--profile", "p", "identity")
    assert answer["ok"] and answer["source"] == "profile p: credential-process"
    answer, = probe("--profile", "q", "identity")
    assert answer["code"] == "NoCredentials" and answer["error"].endswith("login please")


def test_web_identity(paper, probe, role, home):
    arn = role("web")
    (home / "token").write_text("a.web.token\n", encoding="ascii")
    answer, = probe("identity", AWS_ROLE_ARN=arn, AWS_WEB_IDENTITY_TOKEN_FILE="~/token",
                    AWS_ROLE_SESSION_NAME="pod")
    assert answer["arn"].endswith(":assumed-role/web/pod")


def test_single_sign_on(paper, probe, home):
    (home / ".aws" / "config").write_text(
        f"[profile s]\nsso_session = admin\nsso_account_id = {settings.ACCOUNT}\n"
        "sso_role_name = admin\n[sso-session admin]\nsso_region = us-west-2\n"
        "sso_start_url = https://bed.awsapps.com/start\n", encoding="ascii")
    answer, = probe("--profile", "s", "identity")
    assert "aws sso login --profile s" in answer["error"]
    cache = home / ".aws" / "sso" / "cache" / "d033e22ae348aeb5660fc2140aec35850c4da997.json"
    for token, good in ((services.SSO_TOKEN, True), ("old", False)):
        cache.write_text(json.dumps({"accessToken": token, "expiresAt": "2099-01-01T00:00:00Z"}),
                         encoding="ascii")
        answer, = probe("--profile", "s", "identity")
        assert answer["ok"] == good
        assert good or "aws sso login --profile s" in answer["error"]


def test_container_and_machine(probe, machine_url):
    answer, = probe("identity", AWS_CONTAINER_CREDENTIALS_FULL_URI=machine_url + "/container")
    assert answer["ok"] and answer["source"] == "container"
    answer, = probe("identity", AWS_EC2_METADATA_SERVICE_ENDPOINT=machine_url)
    assert answer["ok"] and answer["source"] == "instance-metadata"


def test_no_source(paper, probe):
    answer, = probe("sources", AWS_EC2_METADATA_SERVICE_ENDPOINT="http://127.0.0.1:9")
    assert answer["code"] == "NoCredentials" and answer["kind"] == "auth"
    assert len(answer["report"].splitlines()) == 10
    assert "no metadata service answers" in answer["report"]


# ---- time ----


def test_keys_that_end_in_the_middle(paper, start, machine_url):
    under_way = start("--times", 12, "--every", 150, "identity",
                      AWS_CONTAINER_CREDENTIALS_FULL_URI=machine_url + "/container")
    wait_for(lambda: paper.counts()["GetCallerIdentity"] > 2, step=0.02)
    assert paper.expire("guest") == 1
    answers, log = finish(under_way)
    assert [a["ok"] for a in answers] == [True] * 12
    assert answers[-1]["refreshed"] == 2 and log == ""


@pytest.mark.parametrize("service, action", [("sts", "GetCallerIdentity"),
                                             ("ec2", "DescribeRegions"),
                                             ("ssm", "DescribeParameters")])
@pytest.mark.parametrize("clock", [5000, -5000])
def test_wrong_clock(paper, start, service, action, clock):
    paper.set(clock=clock)
    answers, log = finish(start("--times", 3, "call", service, action, "{}",
                                AWS_ACCESS_KEY_ID=settings.ADMIN_KEY,
                                AWS_SECRET_ACCESS_KEY=settings.ADMIN_SECRET))
    assert [(a["ok"], a["tries"]) for a in answers] == [(True, 2), (True, 1), (True, 1)]
    assert log.count("the clock of this machine is wrong") == 1 and len(log.splitlines()) == 1


# ---- faults ----


def test_throttling_passes(paper, admin):
    paper.fault("DescribeRegions", "throttle", count=3)
    answer, = admin("call", "ec2", "DescribeRegions", "{}")
    assert answer["ok"] and answer["tries"] == 4 and answer["throttled"] == 3


def test_we_stay_below_what_is_allowed(paper, admin):
    """Sixty reads at once, with EC2's own token buckets: none is refused."""
    paper.set(throttle=1)
    answers = admin("--times", 60, "--at-once", 1, "call", "ec2", "DescribeRegions", "{}")
    assert len(answers) == 60 and all(a["ok"] for a in answers)
    assert answers[-1]["throttled"] == 0


LAUNCH = json.dumps({"ImageId": "ami-0bed0000000000001", "InstanceType": "m5.large",
                     "MinCount": 1, "MaxCount": 1, "ClientToken": "once"})


@pytest.mark.parametrize("kind, fields", [
    ("reset", {}), ("reset", {"after": True}), ("truncate", {}), ("garbage", {"shape": "html"}),
    ("garbage", {"shape": "empty"}), ("error", {"code": "InternalError"})])
def test_a_launch_is_one_launch(paper, admin, ec2, kind, fields):
    """With a client token a call is repeated and succeeds; without one it is not repeated."""
    paper.fault("RunInstances", kind, **fields)
    answer, = admin("--care", "once", "call", "ec2", "RunInstances", LAUNCH)
    assert (answer["ok"], answer["tries"]) == (False, 1)
    assert answer["may_have_acted"] and answer["class"] == "ambiguous"
    paper.fault("RunInstances", kind, **fields)
    answer, = admin("--care", "repeatable", "call", "ec2", "RunInstances", LAUNCH)
    assert (answer["ok"], answer["tries"]) == (True, 2)
    found = [i for r in ec2.describe_instances()["Reservations"] for i in r["Instances"]]
    assert len(found) == 1


def test_refusals_are_told(paper, admin):
    paper.capacity(0)
    answer, = admin("--care", "repeatable", "call", "ec2", "RunInstances", LAUNCH)
    assert (answer["class"], answer["tries"], answer["may_have_acted"]) == ("capacity", 1, False)
    assert answer["error"].startswith("ec2 RunInstances in us-west-2: Insufficient")
    paper.fault("DescribeRegions", "hang", seconds=3)
    answer, = admin("--deadline", 1500, "call", "ec2", "DescribeRegions", "{}")
    assert answer["kind"] == "timeout" and not answer["may_have_acted"]


def test_a_profile_made_a_moment_ago(paper, admin, aws, role):
    """The process that created it waits for it; for any other process the name is wrong."""
    role("new")
    iam = aws("iam")
    paper.set(profile_lag=60)
    began = time.monotonic()
    iam.create_instance_profile(InstanceProfileName="fresh")
    iam.add_role_to_instance_profile(InstanceProfileName="fresh", RoleName="new")
    launch = json.dumps({**json.loads(LAUNCH), "IamInstanceProfile": {"Name": "fresh"}})
    answer, = admin("--care", "repeatable", "call", "ec2", "RunInstances", launch)
    assert (answer["ok"], answer["class"], answer["tries"]) == (False, "definite-no", 1)
    paper.set(profile_lag=time.monotonic() - began + 3)
    answer, = admin("--care", "repeatable", "--settles", 1, "call", "ec2", "RunInstances", launch)
    assert answer["ok"] and answer["tries"] > 1


def test_pages(paper, admin, run):
    run(Count=23)
    answer, = admin("--page", 5, "list")
    assert (answer["machines"], answer["pages"]) == (23, 5)
    paper.set(page=7)
    answer, = admin("list")
    assert (answer["machines"], answer["pages"]) == (23, 4)
    for kind in ("truncate", "reset", "throttle"):
        paper.fault("DescribeInstances", kind)
    answer, = admin("list")
    assert (answer["machines"], answer["pages"], answer["ok"]) == (23, 4, True)
    paper.fault("DescribeInstanceTypes", "loop", count=0)
    answer, = admin("pages", "ec2", "DescribeInstanceTypes", '{"MaxResults": 100}')
    assert not answer["ok"] and answer["pages"] == 0
    assert "the same page token twice" in answer["error"]


def test_new_machines_are_listed_late(paper, admin, run):
    paper.set(listing_lag=60)
    run(Count=3)
    answer, = admin("list")
    assert answer["machines"] == 0
    paper.set(listing_lag=0.1)
    time.sleep(0.1)
    answer, = admin("list")
    assert answer["machines"] == 3


def test_a_mix_of_faults(paper, admin, run):
    """One call in five fails, in every way; every listing is complete."""
    run(Count=9)
    paper.mix(0.2, seed=3)
    answers = admin("--times", 25, "--page", 5, "list")
    paper.clear()
    assert [(a["ok"], a["machines"]) for a in answers] == [(True, 9)] * 25
