"""The bed's process: its HTTP servers, its life from `bed up` to `bed down`, its control socket.

usage: python -m cloud.server SECONDS    (after so many seconds it goes down by itself)
"""

import html
import json
import os
import signal
import sys
import threading
import time
import urllib.parse

from . import control, docker, metadata, network, relay, settings
from .front import Cloud
from .listener import Server
from .wire import Reply


# ---- the small servers ----


def caller_address(cloud):
    """Like checkip: returns the address from which a call comes."""

    def answer(call):
        node = cloud.nodes.at(call.source)
        address = node.public if node else settings.LAPTOP
        if address is None:
            return Reply(503, b"no way out\n", {"Content-Type": "text/plain"})
        return Reply(200, address.encode() + b"\n", {"Content-Type": "text/plain"})

    return answer


def normal(name):
    return name.lower().replace("_", "-").replace(".", "-")


def wheel_index(call):
    """A package index of the wheels in the bed's folder: /simple/, /simple/NAME/, /files/WHEEL."""
    path = urllib.parse.unquote(call.target.partition("?")[0])
    wheels = sorted(p.name for p in settings.WHEELS.glob("*.whl")) \
        if settings.WHEELS.exists() else []
    words = path.strip("/").split("/")
    if words[0] == "files" and words[-1] in wheels:
        return Reply(200, (settings.WHEELS / words[-1]).read_bytes(),
                     {"Content-Type": "application/octet-stream"})
    if words == ["simple"]:
        rows = sorted({normal(w.split("-")[0]) for w in wheels})
        links = "".join(f'<a href="/simple/{name}/">{name}</a>\n' for name in rows)
        return Reply(200, links.encode(), {"Content-Type": "text/html"})
    if words[0] == "simple" and len(words) == 2:
        own = [w for w in wheels if normal(w.split("-")[0]) == normal(words[1])]
        links = "".join(f'<a href="/files/{html.escape(w)}">{html.escape(w)}</a>\n' for w in own)
        return Reply(200 if own else 404, links.encode(), {"Content-Type": "text/html"})
    return Reply(404, b"not found\n")


# ---- life ----


class Bed:
    def __init__(self, seconds):
        self.started, self.code = time.time(), settings.code()
        self.end = threading.Event()
        docker.remove_all()
        network.tear_down()
        docker.create_network()
        network.set_up()
        self.cloud = Cloud()
        clock = lambda: self.cloud.tunables.clock  # noqa: E731
        imds = metadata.Metadata(self.cloud)
        for address in (settings.LOOPBACK, settings.GATEWAY):
            Server(address, settings.API_PORT, self.cloud.answer, clock)
        Server(settings.GATEWAY, settings.IMDS_PORT, imds.answer)
        Server(settings.GATEWAY, settings.INDEX_PORT, wheel_index)
        Server(settings.GATEWAY, settings.CALLER_PORT, caller_address(self.cloud))
        relay.Relay(self.cloud)
        self.control = control.Control(self.cloud, self)
        Server(settings.LOOPBACK, settings.CONTROL_PORT, self.control.answer)
        threading.Timer(seconds, self.end.set).start()

    def close(self):
        self.cloud.nodes.close()
        docker.remove_all()
        network.tear_down()


def main():
    settings.STATE.mkdir(parents=True, exist_ok=True)
    bed = Bed(float(sys.argv[1]))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: bed.end.set())
    (settings.STATE / "front.json").write_text(json.dumps({"pid": os.getpid()}), encoding="ascii")
    print("ready", flush=True)
    bed.end.wait()
    bed.close()
    (settings.STATE / "front.json").unlink(missing_ok=True)
    os._exit(0)


if __name__ == "__main__":
    main()
