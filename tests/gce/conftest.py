"""Fixtures for the stand-in for Google's Compute API: one process for all tests, emptied before
each. Without Google's clients the tests are skipped.
"""

import functools
import pathlib
import socket
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

try:
    import requests
    from google.api_core.future import polling
    from google.cloud import compute_v1
    from google.oauth2.credentials import Credentials
    from googleapiclient import discovery as api_client
    MISSING = ""
except ImportError as _error:
    MISSING = str(_error)

from gce import client, settings  # noqa: E402

ZONE = "us-central1-a"


def pytest_configure(config):
    config.addinivalue_line("markers", "long: needs Docker and the bed's network")
    if MISSING:
        pytest.exit(f"skipped: {MISSING}; see docs/dev/gce.md", returncode=77)  # Meson: skipped


@pytest.fixture(scope="session", autouse=True)
def only_loopback():
    """No request of a test may reach Google, whatever a client makes of its endpoint."""
    real = socket.getaddrinfo

    def look_up(host, *words, **more):
        assert host in (settings.LOOPBACK, "198.18.0.1", "localhost", None), \
            f"a test asked for {host}"
        return real(host, *words, **more)

    socket.getaddrinfo = look_up
    yield
    socket.getaddrinfo = real


@pytest.fixture(scope="session")
def running():
    with client.up() as cloud:
        yield cloud


@pytest.fixture
def cloud(running):
    running.reset()
    return running


class Raw:
    """Requests without a client library: (status, JSON)."""

    def __init__(self, cloud, token):
        self.cloud, self.token = cloud, token
        self.session = requests.Session()
        self.session.trust_env = False

    def __call__(self, method, path, body=None, version=None, **query):
        headers = {"X-Goog-Api-Version": version} if version else {}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        base = "/compute/v1/" if not path.startswith("/") else ""
        reply = self.session.request(method, self.cloud.api + base + path, json=body,
                                     headers=headers, params=query, timeout=90)
        kind = reply.headers.get("Content-Type", "")
        return reply.status_code, reply.json() if kind.startswith("application/json") else \
            reply.text

    def zonal(self, method, path, body=None, zone=ZONE, **query):
        return self(method, f"projects/{settings.PROJECT}/zones/{zone}/{path}", body, **query)

    def wait(self, operation):
        """The finished operation."""
        path = operation["selfLink"].partition("/compute/v1/")[2]
        status, value = self("POST", f"{path}/wait")
        assert status == 200 and value["status"] == "DONE", value
        return value

    def insert(self, name="one", **more):
        """Insert an instance and wait: the finished operation."""
        status, value = self.zonal("POST", "instances", instance(name, **more))
        assert status == 200, value
        return self.wait(value)


@pytest.fixture
def raw(cloud):
    return Raw(cloud, cloud.token())


@pytest.fixture
def raw_as(cloud):
    """Raw requests of another identity."""
    return lambda member, **more: Raw(cloud, cloud.token(member=member, **more))


def instance(name, zone=ZONE, type="n1-standard-1", **more):
    """The body of a small instance."""
    return {"name": name, "machineType": f"zones/{zone}/machineTypes/{type}",
            "disks": [{"boot": True, "autoDelete": True, "initializeParams": {
                "sourceImage": "projects/debian-cloud/global/images/family/debian-12",
                "diskSizeGb": "20", "diskType": f"zones/{zone}/diskTypes/pd-balanced"}}],
            "networkInterfaces": [{"network": "global/networks/default",
                                   "accessConfigs": [{"type": "ONE_TO_ONE_NAT"}]}], **more}


def properties(type="n1-standard-1", **more):
    """The same for bulkInsert and templates: types by name."""
    body = instance("x", type=type, **more)
    del body["name"]
    body["machineType"] = type
    body["disks"][0]["initializeParams"]["diskType"] = "pd-balanced"
    return body


SPOT = {"provisioningModel": "SPOT", "instanceTerminationAction": "DELETE",
        "onHostMaintenance": "TERMINATE", "automaticRestart": False}


# ---- Google's clients: they take long to make, so each is made once ----


@pytest.fixture(scope="session")
def credentials(running):
    return Credentials(running.token())


@pytest.fixture(scope="session")
def compute_clients(running, credentials):
    @functools.cache
    def make(name):
        client = getattr(compute_v1, name)(credentials=credentials,
                                           client_options={"api_endpoint": running.api})
        # Its clients that poll operations ignore the endpoint and would go to Google.
        services = getattr(client.transport, "_extended_operations_services", None)
        for scope in ("zone", "global") if services is not None else ():
            services[f"{scope}_operations"] = make(f"{scope.capitalize()}OperationsClient")
        return client
    return make


@pytest.fixture
def compute(cloud, compute_clients):
    """google-cloud-compute: compute("InstancesClient") and so on, for this cloud."""
    return compute_clients


@pytest.fixture(scope="session")
def api_services(running, credentials):
    @functools.cache
    def build(name="compute", version="v1"):
        endpoint = f"{running.api}/compute/v1/" if name == "compute" else f"{running.api}/"
        return api_client.build(name, version, credentials=credentials,
                                client_options={"api_endpoint": endpoint}, static_discovery=True,
                                cache_discovery=False)
    return build


@pytest.fixture
def service(cloud, api_services):
    """google-api-python-client: service("iam", "v1")."""
    return api_services


def done(operation):
    """Wait for an operation of google-cloud-compute, which by default waits a second first."""
    return operation.result(polling=polling.DEFAULT_POLLING.with_delay(0.05, 0.05, 1))
