"""A server on loopback that plays every service of Google's: plain HTTP for metadata servers, and a
proxy that ends TLS for https URLs, so that clients need no change. It logs all requests."""

import datetime
import http.server
import ipaddress
import json
import ssl
import threading

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

NAMES = ["*.googleapis.com", "*.example.org", "*.amazonaws.com", "login.example.org"]
# Headers that carry meaning; the rest belongs to the HTTP client.
LOGGED = ["authorization", "content-type", "metadata-flavor", "x-aws-ec2-metadata-token",
          "x-aws-ec2-metadata-token-ttl-seconds", "x-custom", "x-goog-user-project"]


def _name(text):
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def _certificate(subject, key, issuer, issuer_key, extensions):
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (x509.CertificateBuilder().subject_name(_name(subject)).issuer_name(_name(issuer))
               .public_key(key.public_key()).serial_number(x509.random_serial_number())
               .not_valid_before(now - datetime.timedelta(days=1))
               .not_valid_after(now + datetime.timedelta(days=1)))
    for extension in extensions:
        builder = builder.add_extension(extension, critical=isinstance(
            extension, x509.BasicConstraints))
    return builder.sign(issuer_key, hashes.SHA256())


def make_certificates(folder):
    """Writes ca.pem and server.pem."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca = _certificate("test", ca_key, "test", ca_key,
                      [x509.BasicConstraints(ca=True, path_length=None)])
    names = [x509.DNSName(name) for name in NAMES]
    names.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    leaf = _certificate("server", key, "test", ca_key, [x509.SubjectAlternativeName(names)])
    pem = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(ca.public_bytes(pem))
    (folder / "server.pem").write_bytes(leaf.public_bytes(pem) + key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    tunnel = None

    def do_CONNECT(self):
        self.tunnel = self.path.rsplit(":", 1)[0]
        self.send_response(200)
        self.end_headers()
        self.connection = self.server.tls.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb", -1)
        self.wfile = self.connection.makefile("wb", 0)
        self.close_connection = False

    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        base = "https://" + self.tunnel if self.tunnel else "http://HERE"
        url = base + self.path
        headers = {name: self.headers[name] for name in LOGGED if self.headers[name] is not None}
        self.server.log.append([self.command, url, headers, body])
        self.close_connection = True
        reply = self.server.next_answer(url)
        if reply is None:
            return  # the connection is lost
        status, content, extra = (*reply, {})[:3]
        kind = "text/plain" if isinstance(content, str) else "application/json"
        data = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)),
                            "Connection": "close", **extra}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = answer

    def finish(self):
        try:
            super().finish()
            if self.tunnel:
                self.connection.close()
        except (OSError, ValueError):
            pass

    def log_message(self, *_args):
        pass


class Server(http.server.ThreadingHTTPServer):
    """Answers by URL without its query: one reply, or a list of which the last one repeats. A reply
    is (status, body, headers); None loses the connection. Other URLs are not found."""

    daemon_threads = True

    def __init__(self, folder):
        make_certificates(folder)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(folder / "server.pem")
        super().__init__(("127.0.0.1", 0), Handler)
        self.port = self.server_address[1]
        self.log, self.answers = [], {}
        threading.Thread(target=self.serve_forever, daemon=True, args=(0.05,)).start()

    def handle_error(self, *_args):
        pass

    def play(self, answers):
        self.log = []
        self.answers = {url: list(reply) if isinstance(reply, list) else [reply]
                        for url, reply in answers.items()}

    def next_answer(self, url):
        replies = self.answers.get(url.split("?")[0])
        if not replies:
            return (404, "not found")
        return replies.pop(0) if len(replies) > 1 else replies[0]
