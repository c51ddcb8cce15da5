"""A metadata service of EC2 and GCE: says what the files of a folder say. python metadata_server.py
FOLDER PORT"""

import http.server
import pathlib
import sys
import time

PAGES = {"/latest/meta-data/spot/instance-action": "notice",
         "/latest/meta-data/events/recommendations/rebalance": "rebalance",
         "/computeMetadata/v1/instance/preempted": "preempted"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder = None
    tokens = set()

    def answer(self, status, text=""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_PUT(self):
        token = f"token-{time.monotonic_ns()}"
        self.tokens.add(token)
        life = self.headers.get("X-aws-ec2-metadata-token-ttl-seconds", "")
        self.answer(200 if self.path == "/latest/api/token" and life == "21600" else 400, token)

    def do_GET(self):
        if (self.folder / "forget").exists():
            (self.folder / "forget").unlink()
            self.tokens.clear()
        is_gce = self.headers.get("Metadata-Flavor") == "Google"
        if not is_gce and self.headers.get("X-aws-ec2-metadata-token") not in self.tokens:
            return self.answer(401)
        with open(self.folder / "asked", "a") as asked:
            asked.write(f"{time.time():.3f} {self.path}\n")
        page = self.folder / PAGES.get(self.path, "none")
        return self.answer(200, page.read_text()) if page.exists() else self.answer(404)

    def log_message(self, *words):
        pass


if __name__ == "__main__":
    Handler.folder = pathlib.Path(sys.argv[1])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
    (Handler.folder / "port").write_text(str(server.server_port))
    server.serve_forever()
