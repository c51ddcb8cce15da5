"""The stand-in for Google with containers as machines, on the bed's network.

usage: python -m gce.bed [--image gce-ray] SECONDS    (it ends by itself after so many seconds)

Prints {"api": URL, "control": URL}. There is one bed per machine: do not start it while a bed of
tests/bed is up.
"""

import argparse
import functools
import json
import os
import signal
import threading

from cloud import docker, network
from cloud import settings as bed
from cloud.wire import Reply

from . import containers, control, server, settings, tls
from .front import Cloud


def write_trust():
    """The CA, and a bundle with it for machines."""
    tls.make(bed.STATE)
    own = (bed.STATE / "ca.pem").read_text(encoding="ascii")
    (bed.STATE / "bundle.crt").write_text(own, encoding="ascii")


def serve(image=containers.IMAGE):
    """(URL of the API, URL of control, cloud)."""
    bed.STATE.mkdir(parents=True, exist_ok=True)
    write_trust()
    docker.remove_all()
    network.tear_down()
    docker.create_network()
    network.set_up()
    containers.IMAGE = image
    cloud = Cloud(containers.Containers)
    clock = lambda: cloud.tunables.clock  # noqa: E731
    listen = functools.partial(server.Listener, bed.GATEWAY)
    listen(bed.API_PORT, cloud.answer, clock)
    tls.TlsListener(bed.STATE, bed.GATEWAY, bed.TLS_PORT, cloud.answer, clock)
    listen(bed.IMDS_PORT, lambda call: cloud.metadata.by_address(call))
    listen(bed.CALLER_PORT, lambda call: caller(cloud, call))
    steer = server.Listener(settings.LOOPBACK, 0, control.Control(cloud, server.Listener).answer)
    return bed.ENDPOINT, server.url_of(steer), cloud


def caller(cloud, call):
    """The address from which a call comes, as the Internet sees it."""
    found = cloud.instance_at(call.source)
    address = found.public if found else bed.LAPTOP
    return Reply(200 if address else 503, f"{address}\n".encode(), {"Content-Type": "text/plain"})


def close():
    docker.remove_all()
    network.tear_down()
    docker.set_share(docker.USUAL)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--image", default=containers.IMAGE)
    parser.add_argument("seconds", type=float)
    words = parser.parse_args()
    end = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: end.set())
    api, steer, _ = serve(words.image)
    print(json.dumps({"api": api, "control": steer}), flush=True)
    end.wait(words.seconds)
    close()
    os._exit(0)


if __name__ == "__main__":
    main()
