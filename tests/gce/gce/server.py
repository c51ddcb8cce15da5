"""The process of this cloud: an API server and a control server on free ports of loopback.

usage: python -m gce.server SECONDS    (it ends by itself after so many seconds)

Prints one line: {"api": URL, "control": URL}.
"""

import json
import os
import signal
import sys
import threading

from cloud.listener import Server

from . import control, errors, machines, replies, settings
from .front import Cloud


class Listener(Server):
    program = "ESF"

    def bug(self, call, error):
        refusal = errors.Refusal(501, "bug", f"The test cloud has a bug: {error!r}")
        return replies.json_reply(errors.body_of(refusal, "compute"), 501)


def serve(make_machines=machines.Machines):
    """Start both servers; (URL of the API, URL of control, cloud)."""
    cloud = Cloud(make_machines)
    api = Listener(settings.LOOPBACK, 0, cloud.answer, lambda: cloud.tunables.clock)
    url = url_of(api)
    cloud.token_uri = f"{url}/token"
    cloud.tokens.endpoints.add(cloud.token_uri)
    steer = Listener(settings.LOOPBACK, 0, control.Control(cloud, Listener).answer)
    return url, url_of(steer), cloud


def url_of(server):
    return f"http://{settings.LOOPBACK}:{server.server_address[1]}"


def main():
    end = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: end.set())
    api, steer, _ = serve()
    print(json.dumps({"api": api, "control": steer}), flush=True)
    end.wait(float(sys.argv[1]) if sys.argv[1:] else None)
    os._exit(0)


if __name__ == "__main__":
    main()
