"""A connection with a delay: laptop to public address, each byte some milliseconds later.

While `relay_ms` is set, connections to public addresses are redirected here; the original address
is read from the socket. The onward connection has a firewall mark, by which the security groups
recognize the laptop. A delay in the kernel would be more realistic, but not every kernel has one.
With this relay, a refused connection looks like one that is closed at once.
"""

import collections
import socket
import struct
import threading
import time

from . import network, settings

SO_ORIGINAL_DST = 80
BLOCK = 65536


def meant(connection):
    """The address and port to which the caller connected."""
    data = connection.getsockopt(socket.SOL_IP, SO_ORIGINAL_DST, 16)
    port, raw = struct.unpack("!2xH4s8x", data)
    return socket.inet_ntoa(raw), port


class Pump:
    """One direction of a connection: data that is read now is written `delay` seconds later."""

    def __init__(self, source, target, delay):
        self.source, self.target, self.delay = source, target, delay
        self.queue = collections.deque()
        self.ready = threading.Condition()
        for work in (self.read, self.write):
            threading.Thread(target=work, daemon=True).start()

    def put(self, data):
        with self.ready:
            self.queue.append((time.monotonic() + self.delay, data))
            self.ready.notify()

    def read(self):
        data = b"-"
        while data:
            try:
                data = self.source.recv(BLOCK)
            except OSError:
                data = b""
            self.put(data)

    def write(self):
        while True:
            with self.ready:
                while not self.queue:
                    self.ready.wait()
                when, data = self.queue.popleft()
            time.sleep(max(0.0, when - time.monotonic()))
            try:
                if not data:
                    self.target.shutdown(socket.SHUT_WR)
                    return
                self.target.sendall(data)
            except OSError:
                self.source.close()
                return


class Relay:
    def __init__(self, cloud):
        self.cloud = cloud
        self.listener = socket.create_server((settings.GATEWAY, settings.RELAY_PORT), backlog=64)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.join, args=(connection,), daemon=True).start()

    def join(self, connection):
        delay = self.cloud.tunables.relay_ms / 1000
        try:
            address, port = meant(connection)
            node = next(n for n in self.cloud.nodes.live() if n.public == address)
            onward = socket.socket()
            onward.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, int(network.MARK, 16))
            onward.settimeout(20)
            time.sleep(2 * delay)  # the round trip of the handshake
            onward.connect((node.private, port))
            onward.settimeout(None)
        except (OSError, StopIteration):
            connection.close()
            return
        for end in (connection, onward):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        Pump(connection, onward, delay)
        Pump(onward, connection, delay)
