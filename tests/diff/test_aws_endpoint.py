"""Endpoints and signing names must follow botocore's own rules, in every region that it knows, and
overrides must have its order.
"""

import functools
import json
import os
from unittest import mock

import pytest

import conftest
import workers

pytest.importorskip("botocore")

import botocore.configprovider
import botocore.endpoint_provider
import botocore.exceptions
import botocore.session

SERVICES = ["ec2", "sts", "iam", "ssm", "s3", "sso", "sso-oidc", "service-quotas"]
# Signed with the service's own name if the rules give none.
NAMES = {"sso": "awsssoportal", "sso-oidc": "sso-oauth", "service-quotas": "servicequotas"}
MORE = {"s3": {"UseGlobalEndpoint": False, "Accelerate": False},
        "sts": {"UseGlobalEndpoint": False}}


def ask(records):
    answers = workers.ask_probe(conftest.program("tests", "aws_endpoint_probe"),
                                [json.dumps(record).encode() for record in records])
    return [json.loads(answer) for answer in answers]


@functools.lru_cache
def rules(service):
    loader = botocore.session.get_session().get_component("data_loader")
    return botocore.endpoint_provider.EndpointProvider(
        loader.load_service_model(service, "endpoint-rule-set-1"), loader.load_data("partitions"))


def regions():
    """Every region of every partition, and one that does not exist yet."""
    loader = botocore.session.get_session().get_component("data_loader")
    return [name for partition in loader.load_data("partitions")["partitions"]
            for name in partition["regions"] if not name.endswith("-global")] + ["xx-north-9"]


def expected(service, region, fips=False, dual=False):
    try:
        found = rules(service).resolve_endpoint(Region=region, UseFIPS=fips, UseDualStack=dual,
                                                **MORE.get(service, {}))
    except botocore.exceptions.EndpointProviderError:
        return None
    scheme = (found.properties.get("authSchemes") or [{}])[0]
    return {"url": found.url, "region": scheme.get("signingRegion", region),
            "name": scheme.get("signingName", NAMES.get(service, service))}


def test_every_region(say):
    cases = [(service, region) for service in SERVICES for region in regions()]
    answers = ask([{"service": service, "region": region, "config": "", "environ": []}
                   for service, region in cases])
    wrong = [(case, answer, expected(*case)) for case, answer in zip(cases, answers)
             if answer != expected(*case)]
    say("endpoints: %d services and regions, %d differ" % (len(cases), len(wrong)))
    assert not wrong, wrong[:5]


@pytest.mark.parametrize("fips, dual", [(True, False), (False, True), (True, True)])
def test_fips_and_dual_stack(say, fips, dual):
    cases = [(service, region, fips, dual) for service in SERVICES for region in regions()]
    environ = ["AWS_USE_FIPS_ENDPOINT=%s" % str(fips).lower()]
    config = "[default]\nuse_fips_endpoint = true\nuse_dualstack_endpoint = %s" % dual
    answers = ask([{"service": service, "region": region, "config": config, "environ": environ}
                   for service, region, _, _ in cases])
    wrong = [(case, answer, wanted) for case, answer in zip(cases, answers)
             if (wanted := expected(*case)) != (None if "error" in answer else answer)]
    say("endpoints: fips %d, dual-stack %d: %d services and regions, %d differ" % (
        fips, dual, len(cases), len(wrong)))
    assert not wrong, wrong[:5]
    assert "error" in ask([{"service": "ec2", "region": "us-east-1", "config": config, "environ": [
        *environ, "AWS_ENDPOINT_URL=http://x"]}])[0]


def test_pricing_is_asked_where_it_is():
    session = botocore.session.get_session()
    for partition in session.get_available_partitions():
        homes = session.get_available_regions("pricing", partition)
        for region in session.get_available_regions("ec2", partition):
            answer = ask([{"service": "pricing", "region": region, "config": "", "environ": []}])[0]
            assert "error" in answer if not homes else answer["region"] in homes
            if homes:
                assert answer["url"] == expected("pricing", answer["region"])["url"]


OVERRIDES = [
    ("", {}),
    ("", {"AWS_ENDPOINT_URL": "http://localhost:4566"}),
    ("", {"AWS_ENDPOINT_URL": "http://localhost:4566/", "AWS_ENDPOINT_URL_EC2": "https://x/a/b"}),
    ("", {"AWS_ENDPOINT_URL_STS": "http://[::1]:80"}),
    ("[default]\nendpoint_url = http://all", {}),
    ("[default]\nendpoint_url = http://all\nservices = mine\n[services mine]\nec2 =\n"
     "  endpoint_url = http://ec2.local\n", {}),
    ("[default]\nservices = mine\n[services 'mine']\nsts =\n  endpoint_url = http://sts\n",
     {"AWS_ENDPOINT_URL": "http://env"}),
    ("[default]\nservices = none\nendpoint_url = http://all\n", {}),
    ("[default]\nendpoint_url = http://all\nignore_configured_endpoint_urls = true", {}),
    ("[default]\nendpoint_url = http://all", {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}),
]


def overridden(service, config, environ, folder):
    (folder / "config").write_text(config)
    environ = dict(environ, AWS_CONFIG_FILE=str(folder / "config"), HOME=str(folder))
    with mock.patch.dict(os.environ, environ, clear=True):
        session = botocore.session.Session()
        try:
            full = session.full_config
            if session.get_config_variable("ignore_configured_endpoint_urls"):
                return None
            return botocore.configprovider.ConfiguredEndpointProvider(
                full_config=full, scoped_config=session.get_scoped_config(),
                client_name=service).provide()
        except Exception:  # a [services] section that does not exist
            return "refused"


def test_overrides(tmp_path):
    for config, environ in OVERRIDES:
        for service in ["ec2", "sts"]:
            answer = ask([{"service": service, "region": "us-east-1", "config": config,
                           "environ": ["%s=%s" % pair for pair in environ.items()]}])[0]
            wanted = overridden(service, config, environ, tmp_path)
            if wanted == "refused":
                continue
            assert answer["url"] == (wanted or expected(service, "us-east-1")["url"]).rstrip("/")


def test_what_is_no_endpoint():
    bad = ["ftp://x", "x", "http://", "http://a b", "http://a/b?c", "http://u@h", "https:///x"]
    for url in bad:
        assert "error" in ask([{"service": "ec2", "region": "us-east-1", "config": "",
                                "environ": ["AWS_ENDPOINT_URL=" + url]}])[0], url
    for region in ["", "us east", "us-east-1.evil.org", "a/b", "é", "-x", "x" * 64]:
        assert "error" in ask([{"service": "ec2", "region": region, "config": "",
                                "environ": []}])[0], region
