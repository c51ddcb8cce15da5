"""The Python side of this cloud: starts it, and speaks to its control port.

    with client.up() as cloud:
        cloud.set(listing_lag=2)
        cloud.fault("instances.insert", "reset", after=True)
        cloud.stockout(zone="us-central1-a", left=1)
"""

import json
import pathlib
import subprocess
import sys
import urllib.error
import urllib.request

HOME = pathlib.Path(__file__).resolve().parent.parent
LIFE_SECONDS = 4 * 3600


class CloudError(Exception):
    """The cloud cannot do the request; the text says why."""


class GceCloud:
    """A running cloud. Every verb of control is a method."""

    def __init__(self, api, control, child=None):
        self.api, self.control, self.child = api, control, child
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask(self, verb, **fields):
        request = urllib.request.Request(f"{self.control}/{verb}", json.dumps(fields).encode(),
                                         method="POST")
        try:
            with self.opener.open(request, timeout=60) as reply:
                return json.loads(reply.read())
        except urllib.error.HTTPError as error:
            raise CloudError(json.loads(error.read())["error"]) from None

    def __getattr__(self, verb):
        return lambda **fields: self.ask(verb, **fields)

    def fault(self, action, kind, **fields):
        return self.ask("fault", action=action, kind=kind, **fields)

    def token(self, **fields):
        return self.ask("mint", **fields)["token"]

    def counts(self, **fields):
        """{action: calls}."""
        found = {}
        for row in self.ask("counts", **fields)["calls"]:
            found[row["action"]] = found.get(row["action"], 0) + row["count"]
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait(60)


def up(seconds=LIFE_SECONDS, python=sys.executable):
    child = subprocess.Popen([python, "-m", "gce.server", str(seconds)], cwd=HOME,
                             stdout=subprocess.PIPE, text=True)
    line = child.stdout.readline()
    if not line:
        raise CloudError(f"the cloud did not start; {python} must have google-api-python-client")
    return GceCloud(**json.loads(line), child=child)
