"""HTTP servers of the test clouds: read a request, send a reply, or break the connection as a fault
demands. What a request means is the business of `answer`.
"""

import http.server
import socket
import struct
import sys
import threading
import time
import traceback

from .wire import Call, Refusal, refuse

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
            reply = self.server.bug(call, error)
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
            self.send_header("Server", self.server.program)
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
    program = "AmazonEC2"  # the header Server
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address, port, answer, clock=lambda: 0.0):
        self.answer, self.clock = answer, clock
        super().__init__((address, port), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def bug(self, call, error):
        """The reply after an exception in `answer`."""
        return refuse(call, Refusal("BedBug", f"The bed has a bug: {error!r}", 400))

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)
