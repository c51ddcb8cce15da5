"""The head's service as a verb meets it: a socket in a home folder that speaks the control channel
(src/app/head/ctl/ctl.h), and says what a test tells it to say."""

import json
import os
import socket
import threading

GREETING = {"shoal": "0.1.0", "protocol": 1, "min_protocol": 1, "cluster": "demo", "uid": "0" * 32,
            "epoch": 3}


class FakeService:
    """`answers`: the answer to each request, by name; a list of lines, or a function of it."""

    def __init__(self, home, answers):
        folder = home / ".shoal" / "cluster"
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        (home / ".shoal").chmod(0o700)
        folder.chmod(0o700)
        self.path = folder / "ctl.sock"
        self.answers = answers
        self.asked = []
        self.guests = []
        self.open()

    def open(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(self.path))
        self.socket.listen()
        threading.Thread(target=self.accept, args=(self.socket,), daemon=True).start()

    def accept(self, listener):
        while True:
            try:
                guest, _ = listener.accept()
            except OSError:
                return
            self.guests.append(guest)
            threading.Thread(target=self.serve, args=(guest,), daemon=True).start()

    def serve(self, guest):
        self.say(GREETING, guest)
        try:
            for line in guest.makefile():
                request = json.loads(line)
                self.asked.append(request)
                answer = self.answers.get(request["request"], [{"error": "not known", **request}])
                for said in answer(request) if callable(answer) else answer:
                    self.say(said, guest)
        except OSError:
            pass

    def say(self, line, guest=None):
        """Send to one connection, or to all."""
        data = json.dumps(line).encode() + b"\n"
        for one in [guest] if guest else list(self.guests):
            try:
                one.sendall(data)
            except OSError:
                pass

    def close(self):
        """Close all connections, which the clients notice."""
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for guest in self.guests:
            try:
                guest.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            guest.close()
        self.guests = []
        os.unlink(self.path)
