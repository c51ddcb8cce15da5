"""The bed's process: its HTTP servers, its life from `bed up` to `bed down`, its control socket.

usage: python -m cloud.server SECONDS    (after so many seconds it goes down by itself)
"""

import html
import http.server
import json
import os
import signal
import socket
import struct
import sys
import threading
import time
import traceback
import urllib.parse

from . import control, docker, metadata, network, relay, settings
from .front import Cloud
from .wire import Call, Refusal, Reply, refuse

BODY_MAX = 64 << 20


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 120

    def answer_any(self):
        try:
            body = self.read_body()
        except (ValueError, OSError):
            self.close_connection = True
            return
        headers = {}
        for name, value in self.headers.items():
            name = name.lower()
            headers[name] = f"{headers[name]},{value}" if name in headers else value
        call = Call(self.command, self.path, headers, body, self.client_address[0])
        try:
            reply = self.server.answer(call)
        except Exception as error:  # a bug of the bed must not look like an error of the cloud
            self.log_error("bug: %s\n%s", call.action, traceback.format_exc())
            reply = refuse(call, Refusal("BedBug", f"The bed has a bug: {error!r}", 400))
        self.send(reply)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = answer_any

    def read_body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            parts = []
            while True:
                size = int(self.rfile.readline(100).split(b";")[0], 16)
                parts.append(self.rfile.read(size))
                self.rfile.readline(3)
                if size == 0:
                    return b"".join(parts)
        size = int(self.headers.get("Content-Length") or 0)
        if size > BODY_MAX:
            raise ValueError("too large")
        return self.rfile.read(size)

    def send(self, reply):
        if reply.seconds:
            time.sleep(reply.seconds)
        if reply.manner in ("hang", "reset"):
            self.cut(reset=reply.manner == "reset")
            return
        clock = time.time() + self.server.clock()
        self.send_response_only(reply.status)
        self.send_header("Date", self.date_time_string(clock))
        if "Server" not in reply.headers:
            self.send_header("Server", "AmazonEC2")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD":
            half = len(reply.body) // 2 if reply.manner == "truncate" else len(reply.body)
            self.wfile.write(reply.body[:half])
        if reply.manner == "truncate":
            self.cut()

    def cut(self, reset=False):
        """Close the connection; with a reset the caller sees ECONNRESET."""
        self.close_connection = True
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                       struct.pack("ii", 1, 0))
            self.connection.close()
        else:
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format, *args):
        pass

    def log_error(self, format, *args):
        print(format % args, file=sys.stderr, flush=True)

    def finish(self):
        try:
            super().finish()
        except (OSError, ValueError):
            pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address, port, answer, clock=lambda: 0.0):
        self.answer, self.clock = answer, clock
        super().__init__((address, port), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


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
