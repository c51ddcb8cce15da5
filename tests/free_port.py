"""A port for a server of a test that starts later."""

import random
import socket

LOWEST, HIGHEST = 20000, 32000  # below the ports that Linux gives to clients


def free_port():
    """A port on loopback that is free. No connection of another process can take it; and a client
    that tries it before the server is there cannot connect to itself.
    """
    while True:
        port = random.randrange(LOWEST, HIGHEST)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
