"""The shared AWS files and the environment must mean to us what they mean to botocore: the same
profiles, the same region, and credentials from the same source with the same settings.

SHOAL_DIFF_PROFILES  number of file sets, and of random texts (default 300)
"""

import collections
import contextlib
import hashlib
import json
import os
import random
from unittest import mock

import pytest

import aws_files
import conftest
import workers

pytest.importorskip("botocore")

import botocore.credentials
import botocore.session
import botocore.utils

SETS = int(os.environ.get("SHOAL_DIFF_PROFILES") or 300)
SHOWN = 5
NEVER = 2**63 - 1


class Stop(Exception):
    """A source was reached that would leave the process: these are its settings."""

    def __init__(self, source):
        super().__init__(source["kind"])
        self.source = source


def no_process(arguments, **_options):
    if not arguments:
        raise IndexError("an empty command")
    raise Stop({"kind": "credential-process", "argv": arguments})


def no_container(fetcher, url, headers=None):
    fetcher._validate_allowed_url(url)
    raise Stop({"kind": "container", "url": url})


def no_metadata(fetcher):
    if fetcher._disabled:
        return {}
    base = fetcher.get_base_url()
    base += "" if base.endswith("/") else "/"
    raise Stop({"kind": "instance-metadata", "endpoint": base})


@contextlib.contextmanager
def sealed(record, folder):
    """botocore with these files and variables; it can neither start programs nor send requests."""
    environ = dict(record["environ"], HOME=str(folder), AWS_CONFIG_FILE=str(folder / "config"),
                   AWS_SHARED_CREDENTIALS_FILE=str(folder / "credentials"))
    for name in ["config", "credentials"]:
        (folder / name).unlink(missing_ok=True)
        if record[name] is not None:
            (folder / name).write_bytes(record[name].encode())
    container = botocore.utils.ContainerMetadataFetcher
    machine = botocore.utils.InstanceMetadataFetcher
    process = botocore.credentials.ProcessProvider
    with mock.patch.dict(os.environ, environ, clear=True), \
            mock.patch.object(process.__init__, "__defaults__", (no_process,)), \
            mock.patch.object(container, "retrieve_full_uri", no_container), \
            mock.patch.object(machine, "retrieve_iam_role_credentials", no_metadata):
        yield


def keys(kind, credentials):
    expires = getattr(credentials, "_expiry_time", None)
    return {"kind": kind, "access": credentials.access_key, "secret": credentials.secret_key,
            "token": credentials.token or "",
            "expires": int(expires.timestamp()) if expires else NEVER}


def describe(credentials):
    """The settings behind the credentials that botocore found, fetched or not."""
    kinds = {"env": "environment", "shared-credentials-file": "credentials-file",
             "config-file": "config-file"}
    if credentials.method in kinds:
        with mock.patch.object(botocore.credentials.RefreshableCredentials, "_refresh",
                               lambda self: None):
            return keys(kinds[credentials.method], credentials)
    refresh = credentials._refresh_using
    fetcher = getattr(refresh, "__self__", None) or refresh._refresh.__self__
    if credentials.method == "sso":
        name = fetcher._sso_session_name
        key = hashlib.sha1((name or fetcher._start_url).encode()).hexdigest()
        return {"kind": "sso", "start_url": fetcher._start_url, "region": fetcher._sso_region,
                "account_id": fetcher._account_id, "role_name": fetcher._role_name,
                "session": name or "", "cache_name": key + ".json"}
    given = dict(fetcher._assume_kwargs)
    session_name = "" if fetcher._using_default_session_name else given["RoleSessionName"]
    if credentials.method == "assume-role-with-web-identity":
        return {"kind": "web-identity", "arn": given["RoleArn"], "session_name": session_name,
                "token_path": fetcher._web_identity_token_loader._web_identity_token_path}
    return {"kind": "assume-role", "arn": given["RoleArn"], "session_name": session_name,
            "external_id": given.get("ExternalId", ""), "mfa_serial": given.get("SerialNumber", ""),
            "duration": given.get("DurationSeconds", 0),
            "base": describe(fetcher._source_credentials)}


class Oracle:
    def __init__(self, record):
        self.session = botocore.session.Session()
        if record["named"]:
            self.session.set_config_variable("profile", record["named"])

    def source(self):
        try:
            resolver = botocore.credentials.create_credential_resolver(self.session)
            credentials = resolver.load_credentials()
        except Stop as stop:
            return stop.source
        except Exception as problem:  # every kind of refusal counts the same
            return {"kind": "refused", "why": type(problem).__name__}
        return describe(credentials) if credentials else {"kind": "none"}

    def answer(self):
        try:
            region = self.session.get_config_variable("region") or ""
            profiles = self.session.full_config["profiles"]
        except Exception as problem:
            return {"error": type(problem).__name__}
        source = self.source()
        if source.get("why") == "ProfileNotFound":  # found late if a variable set the region
            return {"error": source["why"]}
        return {"region": region, "profiles": profiles, "source": source}


def strip(source):
    """Without what only one side has."""
    base = source.get("base")
    # If a source stops botocore while it looks for a role's base, it counts as the role's source.
    while source.get("kind") == "assume-role" and base["kind"] in (
            "credential-process", "container", "instance-metadata"):
        source, base = base, None
    plain = {name: value for name, value in source.items() if name not in ("state", "base")}
    if base and source.get("kind") == "assume-role":
        plain["base"] = strip(base)
        if plain["base"]["kind"] in ("credential-process", "container", "instance-metadata"):
            return plain["base"]
    return plain


def decided(answer):
    for source in answer["sources"]:
        if source["state"] == "broken":
            return {"kind": "refused"}
        if source["state"] == "ready":
            return strip(source)
    return {"kind": "none"}


def differs(ours, theirs):
    if "error" in ours or "error" in theirs:
        return ("error" in ours) != ("error" in theirs)
    source = dict(theirs["source"])
    source.pop("why", None)
    return (ours["region"] != theirs["region"] or ours["profiles"] != theirs["profiles"]
            or decided(ours) != source)


def every_reason_is_said(answer):
    return all(source.get("reason") for source in answer.get("sources", [])
               if source["state"] != "ready")


def test_profiles(seed, say, tmp_path):
    rng = random.Random(seed)
    maker = aws_files.Maker(rng)
    records = [maker.record() for _ in range(SETS)]
    questions = [dict(record, environ=["%s=%s" % pair for pair in record["environ"].items()])
                 for record in records]
    answers = workers.ask_probe(conftest.program("tests", "aws_profile_probe"),
                                [json.dumps(question).encode() for question in questions])
    wrong = []
    counts = collections.Counter()
    for record, answer in zip(records, answers):
        with sealed(record, tmp_path):
            theirs = Oracle(record).answer()
        ours = {"died": answer} if answer.startswith("!") else json.loads(answer)
        counts[theirs["source"]["kind"] if "source" in theirs else "no profile or bad file"] += 1
        if "died" in ours or differs(ours, theirs) or not every_reason_is_said(ours):
            wrong.append("%s\n ours:   %s %s\n theirs: %s" % (
                json.dumps(record), "error" not in ours and decided(ours), answer,
                json.dumps(theirs)))
    say("aws profiles: %d file sets, %d differ; %s" % (len(records), len(wrong), ", ".join(
        "%d %s" % (number, what) for what, number in counts.most_common())))
    assert not wrong, "\n".join(wrong[:SHOWN])


PIECES = ["[", "]", "[default]", "[profile a]", "[profile 'b c']", "[DEFAULT]", "=", ":", "#", ";",
          " ", "  ", "\t", "\n", "\n", "\n", "\r\n", "\r", "a", "B", "region", "x = 1", "'", '"',
          "\\", "\x0c", "\x1c", "é", "profile", "\n  ", "\n  k = v", "\ny: ", "\n[c]\n"]


def test_random_texts(seed, say, tmp_path):
    """Files with almost random text: accepted or not, and with the same profiles."""
    rng = random.Random(seed)
    records = []
    for _ in range(SETS):
        start = rng.choice(["", "[default]\nz = ", "[default]\n", "[profile a]\nz =\n  "])
        text = start + "".join(rng.choices(PIECES, k=rng.randrange(1, 12)))
        records.append({"config": text, "credentials": None, "environ": {}, "named": ""})
    answers = workers.ask_probe(
        conftest.program("tests", "aws_profile_probe"),
        [json.dumps(dict(record, environ=[])).encode() for record in records])
    accepted = 0
    for record, answer in zip(records, map(json.loads, answers)):
        with sealed(record, tmp_path):
            theirs = Oracle(record).answer()
        assert not differs(answer, theirs), (record, answer, theirs)
        accepted += "error" not in theirs
    say("aws profiles: %d random texts, %d accepted, 0 differ" % (len(records), accepted))


def test_secrets_stay_out_of_messages():
    """Files with a fault in every line that can hold a secret."""
    secret = "sEcReT123"
    texts = ["aws_secret_access_key = " + secret,
             "[default]\naws_secret_access_key " + secret,
             "[default]\naws_secret_access_key = %s\naws_secret_access_key = %s" % (secret, secret),
             "[default]\nx =\n  " + secret,
             "[default]\naws_access_key_id = A\n[other]\naws_secret_access_key=" + secret,
             "[default]\ncredential_process = x '" + secret]
    records = [{"config": text, "credentials": None, "environ": [], "named": ""} for text in texts]
    answers = workers.ask_probe(conftest.program("tests", "aws_profile_probe"),
                                [json.dumps(record).encode() for record in records])
    for text, answer in zip(texts, map(json.loads, answers)):
        answer.pop("profiles", None)
        assert secret not in json.dumps(answer), text
