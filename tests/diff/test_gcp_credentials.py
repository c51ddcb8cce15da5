"""Google's credentials: the same variables and files must lead us to the same requests, and to the
same token, project and quota project, as google-auth."""

import contextlib
import datetime
import importlib
import json
import os
import subprocess
from unittest import mock

import pytest

import conftest
import gcp_cases
import workers

pytest.importorskip("google.auth")
pytest.importorskip("cryptography")

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

import google.auth
import google.auth._exponential_backoff
import google.auth._helpers
import google.auth._regional_access_boundary_utils as boundary
import google.auth.pluggable
import google.auth.transport.requests
from google.auth.compute_engine import _metadata

import gcp_server

NOW = 1794916800  # 2026-11-17T12:00:00Z
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
SHOWN = 5


@pytest.fixture(scope="module")
def keys():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    formats = {"KEY": serialization.PrivateFormat.PKCS8,
               "KEY1": serialization.PrivateFormat.TraditionalOpenSSL}
    return {name: key.private_bytes(serialization.Encoding.PEM, form,
                                    serialization.NoEncryption()).decode()
            for name, form in formats.items()}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    running = gcp_server.Server(folder)
    running.ca = str(folder / "ca.pem")
    yield running
    running.shutdown()


class Probe:
    """One process for all cases. It finds the server as any client does: by a proxy."""

    def __init__(self, server):
        self.process = subprocess.Popen(
            [conftest.program("tests", "gcp_token_probe")], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=outside(server))

    def ask(self, environ):
        record = {"environ": ["%s=%s" % pair for pair in environ.items()], "now": NOW}
        self.process.stdin.write(workers.pack([json.dumps(record).encode()]))
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"died": self.process.wait()}

    def end(self):
        """What it logged. A sanitizer's report makes it fail."""
        log = self.process.communicate(timeout=600)[1].decode()
        assert self.process.returncode == 0, log[-2000:]
        return log


def outside(server):
    return {"HTTPS_PROXY": "http://127.0.0.1:%d" % server.port, "REQUESTS_CA_BUNDLE": server.ca}


def fill(value, words):
    """Replaces the placeholders in all texts."""
    if isinstance(value, dict):
        return {name: fill(item, words) for name, item in value.items()}
    if isinstance(value, list):
        return [fill(item, words) for item in value]
    if isinstance(value, str):
        if value in words:
            return words[value]
        for word in ("{tmp}", "{port}", "{here}"):
            value = value.replace(word, words[word])
    return value


def prepare(case, folder, server, keys):
    """Writes the files of the case; returns its variables."""
    words = {"{tmp}": str(folder), "{port}": str(server.port),
             "{here}": "http://127.0.0.1:%d" % server.port, **keys}
    for name, content in case["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = fill(content, words)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        path.chmod(0o700)
    (folder / "bin").mkdir(exist_ok=True)
    fake = folder / "bin" / "gcloud"
    fake.write_text("#!/bin/sh\necho '%s'\n" % case.get("gcloud_project", ""))
    fake.chmod(0o700)
    return {"HOME": str(folder / "home"), "PATH": "%s/bin:/usr/bin:/bin" % folder,
            "GCE_METADATA_HOST": "127.0.0.1:%d" % server.port,
            "GCE_METADATA_IP": "127.0.0.1:%d" % server.port,
            "GCE_METADATA_TIMEOUT": "60",  # a busy machine must not cause retries
            **fill(case["env"], words)}


@contextlib.contextmanager
def frozen(environ, server):
    """google-auth at a fixed time, without pauses and without its background lookups."""
    moment = datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).replace(tzinfo=None)
    with mock.patch.dict(os.environ, {**environ, **outside(server)}, clear=True), \
            mock.patch.object(google.auth._helpers, "utcnow", lambda: moment), \
            mock.patch.object(google.auth.pluggable.time, "time", lambda: NOW), \
            mock.patch.object(google.auth._exponential_backoff.time, "sleep", lambda _s: None), \
            mock.patch.object(boundary._RegionalAccessBoundaryRefreshManager, "start_refresh",
                              lambda *_args: None):
        importlib.reload(_metadata)
        with mock.patch.object(_metadata, "detect_gce_residency_linux", lambda: False):
            yield


def ask_google():
    headers = {}
    request = google.auth.transport.requests.Request()
    try:
        credentials, project = google.auth.default(scopes=[SCOPE])
        credentials.before_request(request, "GET", "https://compute.googleapis.com/", headers)
    except Exception as problem:  # every kind of refusal counts the same
        return {"error": "%s: %s" % (type(problem).__name__, problem)}
    end = credentials.expiry
    end = end and int(end.replace(tzinfo=datetime.timezone.utc).timestamp())
    return {"token": headers["authorization"].removeprefix("Bearer "), "expires": end,
            "project": project or "", "quota": headers.get("x-goog-user-project", ""),
            "universe": credentials.universe_domain}


def same(ours, theirs):
    if "error" in ours or "error" in theirs:
        return "error" in ours and "error" in theirs
    return {name: value for name, value in ours.items() if name != "source"} == theirs


def secrets_of(case, keys):
    """Every text that must not be shown."""
    names = {"client_secret", "refresh_token", "rapt_token", "private_key", "access_token",
             "accessToken", "token", "id_token", "saml_response", "SecretAccessKey",
             "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}
    found = {line for key in keys.values() for line in key.splitlines() if len(line) > 40}

    def walk(value, name=""):
        if isinstance(value, dict):
            for inner, item in value.items():
                walk(item, inner)
        elif isinstance(value, (list, tuple)):
            for item in value:
                walk(item, name)
        elif isinstance(value, str) and name in names and len(value) >= 6:
            found.add(value)

    walk([case["files"], case["answers"], case["env"]])
    return found - set(keys)


@pytest.mark.filterwarnings("ignore")
def test_credentials(say, server, keys, tmp_path):
    probe = Probe(server)
    wrong, refused, requests, secrets = [], 0, 0, set()
    for number, (name, case) in enumerate(gcp_cases.CASES.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        environ = prepare(case, folder, server, keys)
        server.play(case["answers"])
        with frozen(environ, server):
            theirs = ask_google()
        their_log = server.log
        server.play(case["answers"])
        ours = probe.ask(environ)
        refused += "error" in theirs
        requests += len(their_log)
        secrets |= secrets_of(case, keys)
        if not same(ours, theirs) or server.log != their_log:
            wrong.append("%s\n ours:   %s\n theirs: %s\n requests: %s\n theirs:   %s" % (
                name, ours, theirs, server.log, their_log))
        assert not any(secret in ours.get("error", "") + ours.get("source", "")
                       for secret in secrets), (name, ours)
        if "died" in ours:
            break
    log = probe.end()
    assert not any(secret in log for secret in secrets), log
    say("gcp credentials: %d cases (%d refused), %d requests, %d differ" % (
        len(gcp_cases.CASES), refused, requests, len(wrong)))
    assert not wrong, "\n".join(wrong[:SHOWN])


# What we do differently on purpose: the case, and what our error or token must contain.
DELIBERATE = {
    "a certificate as identity": (gcp_cases.good({
        **gcp_cases.POOL, "credential_source": {"certificate": {
            "use_default_certificate_config": True}}}), "certificate is not supported"),
    "Google Distributed Cloud": (gcp_cases.good({
        "type": "gdch_service_account", "format_version": "1"}), "Google Distributed Cloud"),
    "a secret without TLS": (gcp_cases.good({
        **gcp_cases.ACCOUNT, "token_uri": "http://login.example.org/token"}), "not an https URL"),
    "a token that has expired on arrival": (gcp_cases.good(gcp_cases.USER, answers={
        gcp_cases.OAUTH: (200, {"access_token": "t", "expires_in": 0})}), "expired already"),
    "a busy exchange": (gcp_cases.good(gcp_cases.POOL, answers={
        gcp_cases.STS: [(503, "busy"), (500, "busy"), gcp_cases.TOKEN]}), "token-1"),
    "a busy impersonation": (gcp_cases.good(gcp_cases.IMPERSONATED, answers={
        gcp_cases.IMPERSONATION: [(503, "busy"), gcp_cases.ISSUED]}), "token-2"),
}


def test_deliberate_differences(server, keys, tmp_path):
    probe = Probe(server)
    for number, (name, (case, words)) in enumerate(DELIBERATE.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        environ = prepare(case, folder, server, keys)
        server.play(case["answers"])
        answer = probe.ask(environ)
        assert words in answer.get("error", answer.get("token", "")), (name, answer)
    probe.end()
