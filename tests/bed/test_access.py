"""Who may call: signatures, clocks, expiry, policies, and sources of credentials."""

import contextlib
import http.server
import json
import threading
import time
import urllib.error
import urllib.request
from email.utils import parsedate_to_datetime

import botocore.session
import pytest
from botocore import UNSIGNED
from conftest import refused

from cloud import services, settings

TRUST = json.dumps({"Version": "2012-10-17", "Statement": [{
    "Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]})


def ask(aws, service, **credentials):
    """One harmless call of a service."""
    client = aws(service, **credentials)
    return {"ec2": lambda: client.describe_regions(), "sts": lambda: client.get_caller_identity(),
            "iam": lambda: client.list_roles(), "s3": lambda: client.list_buckets(),
            "ssm": lambda: client.describe_parameters()}[service]()


# ---- keys and signatures ----


@pytest.mark.parametrize("service, code", [
    ("ec2", "AuthFailure"), ("sts", "InvalidClientTokenId"), ("s3", "InvalidAccessKeyId"),
    ("ssm", "UnrecognizedClientException")])
def test_unknown_key(paper, aws, service, code):
    with refused(code):
        ask(aws, service, key="AKIANOBODY0000000001")


@pytest.mark.parametrize("service, code", [
    ("ec2", "AuthFailure"), ("sts", "SignatureDoesNotMatch"), ("s3", "SignatureDoesNotMatch"),
    ("ssm", "InvalidSignatureException")])
def test_wrong_secret(paper, aws, service, code):
    with refused(code):
        ask(aws, service, secret="wrong")


@pytest.mark.parametrize("service", ["ec2", "sts", "iam", "s3", "ssm"])
def test_right_credentials(paper, aws, service):
    ask(aws, service)


def test_s3_objects_with_odd_names(paper, aws):
    """The signature covers the path as it was sent."""
    s3 = aws("s3")
    s3.create_bucket(Bucket="odd-names", CreateBucketConfiguration={
        "LocationConstraint": settings.REGION})
    for key in ("a b/c+d", "ü/é", "x=1&y=2", "a//b", "~.-_"):
        s3.put_object(Bucket="odd-names", Key=key, Body=key.encode())
        assert s3.get_object(Bucket="odd-names", Key=key)["Body"].read() == key.encode()


def test_s3_conditional_writes(paper, aws):
    s3 = aws("s3")
    s3.create_bucket(Bucket="anchors", CreateBucketConfiguration={
        "LocationConstraint": settings.REGION})
    s3.put_object(Bucket="anchors", Key="a", Body=b"1", IfNoneMatch="*")
    with refused("PreconditionFailed"):
        s3.put_object(Bucket="anchors", Key="a", Body=b"2", IfNoneMatch="*")


def test_a_changed_body_is_noticed(paper, aws):
    """A request that was changed on its way is refused."""
    ec2 = aws("ec2")

    def change(request, **_):
        request.body = request.body.replace("DescribeRegions", "DescribeVolumes")

    ec2.meta.events.register("before-send.ec2.DescribeRegions", change)
    with refused("AuthFailure"):
        ec2.describe_regions()


def test_unsigned_requests(paper):
    request = urllib.request.Request(
        settings.ENDPOINT, b"Action=DescribeInstances&Version=2016-11-15",
        {"Content-Type": "application/x-www-form-urlencoded"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with pytest.raises(urllib.error.HTTPError) as caught:
        opener.open(request, timeout=10)
    assert caught.value.code in (401, 403, 404)


# ---- time ----


@pytest.mark.parametrize("service, clock, code", [
    ("ec2", 1000, "RequestExpired"), ("ec2", -1000, "AuthFailure"),
    *[(service, clock, code) for clock in (1000, -1000) for service, code in [
        ("sts", "SignatureDoesNotMatch"), ("iam", "SignatureDoesNotMatch"),
        ("s3", "RequestTimeTooSkewed"), ("ssm", "InvalidSignatureException")]]])
def test_clocks_apart(paper, aws, service, clock, code):
    paper.set(clock=clock)
    with refused(code) as caught:
        ask(aws, service)
    date = caught.value.response["ResponseMetadata"]["HTTPHeaders"]["date"]
    assert abs(parsedate_to_datetime(date).timestamp() - time.time() - clock) < 10


def test_clocks_slightly_apart(paper, aws):
    paper.set(clock=800)
    ask(aws, "ec2")


# ---- temporary credentials ----


def short(made):
    return {"key": made["key"], "secret": made["secret"], "token": made["token"]}


@pytest.mark.parametrize("service, code", [
    ("ec2", "RequestExpired"), ("sts", "ExpiredToken"), ("s3", "ExpiredToken"),
    ("ssm", "ExpiredTokenException")])
def test_expired_credentials(paper, aws, service, code):
    made = paper.mint(name="guest")
    ask(aws, service, **short(made))
    assert paper.expire("guest") == 1
    with refused(code):
        ask(aws, service, **short(made))


def test_a_token_belongs_to_its_key(paper, aws):
    made = paper.mint()
    with refused("AuthFailure"):
        ask(aws, "ec2", key=made["key"], secret=made["secret"])
    with refused("AuthFailure"):
        ask(aws, "ec2", **{**short(made), "token": "other"})


@pytest.fixture
def role(aws):
    def make(name, *actions, statements=(), **more):
        iam = aws("iam")
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=TRUST)
        rows = [{"Effect": "Allow", "Resource": "*", **row} for row in statements]
        if actions:
            rows.append({"Effect": "Allow", "Action": list(actions), "Resource": "*", **more})
        if rows:
            iam.put_role_policy(RoleName=name, PolicyName="p", PolicyDocument=json.dumps({
                "Version": "2012-10-17", "Statement": rows}))
        return f"arn:aws:iam::{settings.ACCOUNT}:role/{name}"

    return make


def credentials_of(reply):
    made = reply["Credentials"]
    return {"key": made["AccessKeyId"], "secret": made["SecretAccessKey"],
            "token": made["SessionToken"]}


def assume(aws, arn):
    return credentials_of(aws("sts").assume_role(RoleArn=arn, RoleSessionName="me"))


def test_an_assumed_role_is_who_it_says(paper, aws, role):
    made = assume(aws, role("reader", "ec2:Describe*"))
    arn = ask(aws, "sts", **made)["Arn"]
    assert arn == f"arn:aws:sts::{settings.ACCOUNT}:assumed-role/reader/me"


def test_a_role_that_is_not_there(paper, aws):
    with refused("AccessDenied"):
        assume(aws, f"arn:aws:iam::{settings.ACCOUNT}:role/nobody")


def test_web_identity_needs_no_signature(paper, aws, role):
    arn = role("web", "ec2:*")
    client = aws("sts", signature_version=UNSIGNED)
    reply = client.assume_role_with_web_identity(RoleArn=arn, RoleSessionName="web",
                                                 WebIdentityToken="token")
    ask(aws, "ec2", **credentials_of(reply))
    with refused("ExpiredTokenException"):
        client.assume_role_with_web_identity(RoleArn=arn, RoleSessionName="web",
                                             WebIdentityToken=services.EXPIRED_WEB_TOKEN)


def test_the_life_of_a_session_is_bounded(paper, aws, role):
    arn = role("brief", "ec2:*")
    sts = aws("sts", parameter_validation=False)
    for seconds in (60, 43201):
        with refused("ValidationError"):
            sts.assume_role(RoleArn=arn, RoleSessionName="brief", DurationSeconds=seconds)
    reply = sts.assume_role(RoleArn=arn, RoleSessionName="brief", DurationSeconds=900)
    left = reply["Credentials"]["Expiration"].timestamp() - time.time()
    assert 890 < left <= 901


def test_sso_gives_credentials_for_a_token(paper, aws):
    sso = aws("sso", signature_version=UNSIGNED)
    made = sso.get_role_credentials(roleName="admin", accountId=settings.ACCOUNT,
                                    accessToken=services.SSO_TOKEN)["roleCredentials"]
    ask(aws, "ec2", key=made["accessKeyId"], secret=made["secretAccessKey"],
        token=made["sessionToken"])
    with refused("UnauthorizedException"):
        sso.get_role_credentials(roleName="admin", accountId=settings.ACCOUNT, accessToken="old")
    for role, account in (("nobody", settings.ACCOUNT), ("admin", "210987654321")):
        with refused("ForbiddenException"):
            sso.get_role_credentials(roleName=role, accountId=account,
                                     accessToken=services.SSO_TOKEN)


@contextlib.contextmanager
def container_endpoint(credentials, token):
    """The service that gives a container its credentials; it refuses a wrong token."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            good = self.headers.get("Authorization") == token
            body = json.dumps(credentials if good else {"message": "Unauthorized"}).encode()
            self.send_response(200 if good else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format, *args):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/credentials"
    server.shutdown()
    server.server_close()


def test_credentials_of_a_container(paper, aws, monkeypatch):
    """A client finds it by the environment variables of a container."""
    made = paper.mint(name="task")
    told = {"AccessKeyId": made["key"], "SecretAccessKey": made["secret"], "Token": made["token"],
            "Expiration": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(made["expires"]))}
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with container_endpoint(told, "sesame") as url:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url)
        monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "sesame")
        found = botocore.session.Session().get_credentials()
        assert found.method == "container-role"
        ask(aws, "ec2", key=found.access_key, secret=found.secret_key, token=found.token)
        assert ask(aws, "sts", key=found.access_key, secret=found.secret_key,
                   token=found.token)["Arn"].endswith("user/task")


# ---- policies ----


def test_policies_are_enforced(paper, aws, role, run):
    made = assume(aws, role("reader", "ec2:Describe*"))
    ask(aws, "ec2", **made)
    with refused("UnauthorizedOperation") as caught:
        run(aws("ec2", **made))
    assert "ec2:RunInstances" in str(caught.value)
    with refused("AccessDenied"):
        aws("iam", **made).create_user(UserName="x")
    with refused("AccessDeniedException"):
        aws("ssm", **made).describe_parameters()


def test_dry_run_tells_permission(paper, aws, role, run):
    made = assume(aws, role("launcher", "ec2:RunInstances"))
    with refused("DryRunOperation"):
        run(aws("ec2", **made), DryRun=True)
    with refused("UnauthorizedOperation"):
        aws("ec2", **made).terminate_instances(InstanceIds=["i-0123456789abcdef0"], DryRun=True)


def test_managed_policies_count(paper, aws, role):
    arn = role("full")
    aws("iam").attach_role_policy(RoleName="full",
                                  PolicyArn="arn:aws:iam::aws:policy/AmazonEC2FullAccess")
    ask(aws, "ec2", **assume(aws, arn))


MINE = {"StringEquals": {"aws:RequestTag/cluster": "mine"}}
TAGGED = [{"ResourceType": "instance", "Tags": [{"Key": "cluster", "Value": "mine"}]}]


def test_conditions_on_request_tags(paper, aws, role, run):
    """A launch needs permission for what it creates, for what it uses, and for the tags."""
    made = {"Action": "ec2:RunInstances", "Resource": "arn:aws:ec2:*:*:instance/*",
            "Condition": MINE}
    rest = {"Action": "ec2:RunInstances", "Resource": [
        f"arn:aws:ec2:*:*:{kind}/*" for kind in ("volume", "network-interface", "image")]}
    tags = {"Action": "ec2:CreateTags", "Condition": {"StringEquals": {
        "ec2:CreateAction": "RunInstances"}}}
    client = aws("ec2", **assume(aws, role("tagged", statements=[made, rest, tags])))
    with refused("UnauthorizedOperation"):
        run(client)
    ident = run(client, TagSpecifications=TAGGED)[0]
    with refused("UnauthorizedOperation"):
        client.create_tags(Resources=[ident], Tags=[{"Key": "a", "Value": "b"}])
    for name, rows in (("no-tags", [made, rest]), ("no-parts", [made, tags])):
        client = aws("ec2", **assume(aws, role(name, statements=rows)))
        with refused("UnauthorizedOperation"):
            run(client, TagSpecifications=TAGGED)


def test_conditions_on_resource_tags(paper, aws, ec2, role, run):
    mine, other = run(TagSpecifications=TAGGED)[0], run()[0]
    client = aws("ec2", **assume(aws, role("owner", "ec2:TerminateInstances", Condition={
        "StringEquals": {"aws:ResourceTag/cluster": "mine"}})))
    for idents in ([other], [mine, other]):
        with refused("UnauthorizedOperation"):
            client.terminate_instances(InstanceIds=idents)
    client.terminate_instances(InstanceIds=[mine])


def test_a_denial_wins(paper, aws, ec2, role, run):
    ident = run()[0]
    client = aws("ec2", **assume(aws, role("status", statements=[
        {"Action": "ec2:CreateTags"},
        {"Effect": "Deny", "Action": "ec2:CreateTags", "Condition": {
            "ForAnyValue:StringEquals": {"aws:TagKeys": ["cluster"]}}},
        {"Effect": "Deny", "Action": "*", "Condition": {
            "NumericLessThan": {"ec2:RoleDelivery": "2.0"}}}])))
    client.create_tags(Resources=[ident], Tags=[{"Key": "status", "Value": "up"}])
    with refused("UnauthorizedOperation"):
        client.create_tags(Resources=[ident], Tags=[{"Key": "status", "Value": "up"},
                                                    {"Key": "cluster", "Value": "mine"}])


def test_users_have_keys(paper, aws):
    iam = aws("iam")
    iam.create_user(UserName="ann")
    made = iam.create_access_key(UserName="ann")["AccessKey"]
    credentials = {"key": made["AccessKeyId"], "secret": made["SecretAccessKey"]}
    assert ask(aws, "sts", **credentials)["Arn"].endswith("user/ann")
    with refused("UnauthorizedOperation"):
        ask(aws, "ec2", **credentials)


def test_deny_by_action_and_identity(paper, aws, ec2, run):
    guest = short(paper.mint(name="guest"))
    paper.deny("guest", "ec2:Run*")
    with refused("UnauthorizedOperation"):
        run(aws("ec2", **guest))
    ask(aws, "ec2", **guest)
    assert run(ec2)
    paper.clear()
    assert run(aws("ec2", **guest))
