"""Durable checkpoints in a directory, in S3 (moto) and in Google Cloud Storage, with damage and
failed requests. Google's XML API is that of S3: moto is the stand-in for it, behind a proxy that
wants a token and answers the second deletion of an object with 404.
"""

import hashlib
import http.client
import http.server
import json
import os
import pathlib
import resource
import socket
import subprocess
import threading
import time

import pytest

SHOAL = str(pathlib.Path(os.environ.get("SHOAL_BUILD", "build"), "src", "cli", "shoal").resolve())


FOR_MOTO = ("AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, "
            "SignedHeaders=host, Signature=0")


class Proxy:
    """Passes requests to moto. `fault(method, path)` returns what happens instead, or None."""

    def __init__(self, port):
        proxy = self
        self.fault = lambda method, path: None
        self.requests = []
        self.is_google, self.deleted = False, set()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def handle_one(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                proxy.requests.append((self.command, self.path))
                deed = proxy.fault(self.command, self.path)
                headers = dict(self.headers)
                if proxy.is_google:
                    deed = deed if headers["Authorization"] == "Bearer the-token" else 403
                    headers["Authorization"] = FOR_MOTO
                if proxy.is_google and self.command == "DELETE" and "uploadId" not in self.path:
                    deed = deed or (404 if self.path in proxy.deleted else None)
                    proxy.deleted.add(self.path)
                if deed == "reset":
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                    return
                if deed == "slow":
                    time.sleep(1.5)
                if isinstance(deed, int):
                    code = {403: "AccessDenied", 404: "NoSuchKey", 503: "SlowDown"}[deed]
                    return self.answer(deed, {}, f"<Error><Code>{code}</Code></Error>".encode())
                link = http.client.HTTPConnection("127.0.0.1", port)
                link.request(self.command, self.path, body, headers)
                reply = link.getresponse()
                data = reply.read()
                headers = {k: v for k, v in reply.getheaders()
                           if k.lower() in ("etag", "content-type", "date")}
                self.answer(reply.status, headers, data, deed == "truncate")

            def answer(self, status, headers, data, is_cut=False):
                self.send_response_only(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if status != 204:
                    self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[:len(data) // 2] if is_cut else data)
                if is_cut:
                    self.wfile.flush()
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_one

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def moto():
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    yield Proxy(server.get_host_and_port()[1])
    server.stop()


class Store:
    def __init__(self, folder, output, env):
        self.slot, self.output, self.env = folder / "slot", output, env
        (self.slot / "kept").mkdir(parents=True, mode=0o700)
        self.slot.chmod(0o700)
        folder.chmod(0o700)

    def run(self, word, *words, limit=None):
        def apply():
            if limit:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        return subprocess.run(
            [SHOAL, "node", word, "--output", self.output, "--job", "job", "--folder",
             str(self.slot), "--keep", "2", *map(str, words)], env={**os.environ, **self.env},
            text=True, capture_output=True, timeout=120, preexec_fn=apply)

    def make(self, number, text, part=False, extra=b""):
        folder = self.slot / "kept" / (f"{number}.part" if part else str(number))
        (folder / "sub").mkdir(parents=True)
        (folder / "model").write_text(text)
        (folder / "sub" / "a b+c").write_bytes(extra)
        return folder

    def put(self, number, **keywords):
        return self.run("train-store", "--checkpoint", number, **keywords)

    def get(self, number):
        """On another node."""
        subprocess.run(["rm", "-rf", str(self.slot / "kept")])
        (self.slot / "kept").mkdir(mode=0o700)
        return self.run("train-restore", "--checkpoint", number)

    def text(self, number):
        return (self.slot / "kept" / str(number) / "model").read_text()


def s3_store(tmp_path, moto):
    moto.fault, moto.requests = lambda method, path: None, []
    moto.is_google, moto.deleted = False, set()
    bucket = "b" + hashlib.sha256(str(tmp_path).encode()).hexdigest()[:20]
    link = http.client.HTTPConnection("127.0.0.1", moto.port)
    link.request("PUT", "/" + bucket)
    link.getresponse().read()
    env = {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{moto.port}", "AWS_ACCESS_KEY_ID": "test",
           "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1", "HOME": str(tmp_path)}
    return Store(tmp_path, f"s3://{bucket}/runs", env)


def gs_store(tmp_path, moto):
    made = s3_store(tmp_path, moto)
    moto.is_google = True
    login = tmp_path / "login.json"
    login.write_text(json.dumps({
        "type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "r",
        "token": "the-token", "expiry": "2099-01-01T00:00:00Z"}))
    return Store(tmp_path / "google", made.output.replace("s3://", "gs://"), {
        "STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{moto.port}", "HOME": str(tmp_path),
        "GOOGLE_APPLICATION_CREDENTIALS": str(login)})


BUCKETS = {"s3": s3_store, "gs": gs_store}


@pytest.fixture(params=["directory", *BUCKETS])
def store(request, tmp_path):
    if request.param == "directory":
        return Store(tmp_path, str(tmp_path / "shared"), {})
    return BUCKETS[request.param](tmp_path, request.getfixturevalue("moto"))


@pytest.fixture(params=BUCKETS)
def bucket(request, tmp_path, moto):
    return BUCKETS[request.param](tmp_path, moto)


def test_a_checkpoint_comes_back(store):
    """F20: what is stored comes back with the same bytes; only the newest two are kept (--keep)."""
    for number in (1001, 1002, 2001, 3001):
        store.make(number, f"weights {number}", extra=b"x" * 100000)
        done = store.put(number)
        assert (done.returncode, done.stdout) == (0, f"{number}\n"), done.stderr
    done = store.get(3001)
    assert done.returncode == 0, done.stderr
    assert store.text(3001) == "weights 3001"
    assert (store.slot / "kept/3001/sub/a b+c").read_bytes() == b"x" * 100000
    assert store.get(2001).returncode == 0
    assert store.get(1002).returncode == 3    # removed


def test_parts_are_complete_together(store):
    """A sharded checkpoint exists when all of its parts do."""
    store.make(1001, "whole")
    assert store.put(1001).stdout == "1001\n"
    store.make(2001, "part", part=True)
    assert store.run("train-store", "--checkpoint", 2001, "--part", 1, "--parts",
                     2).stdout == "1001\n"
    assert store.run("train-store", "--checkpoint", 2001, "--part", 0, "--parts",
                     2).stdout == "2001\n"
    assert store.get(2001).returncode == 0 and store.text(2001) == "part"


@pytest.mark.parametrize("damage", ["flip", "cut", "missing", "manifest"])
def test_damage_is_found(tmp_path, damage):
    """A torn, truncated or corrupted checkpoint is not used; the older one is named."""
    store = Store(tmp_path, str(tmp_path / "shared"), {})
    for number in (1001, 2001):
        store.make(number, "weights")
        assert store.put(number).returncode == 0
    folder = tmp_path / "shared/job/checkpoint-2001"
    model = folder / "part-0-of-1/model"
    manifest = folder / "manifest-0-of-1.json"
    if damage == "flip":
        model.write_text("weighty")
    elif damage == "cut":
        model.write_text("weigh")
    elif damage == "missing":
        model.unlink()
    else:
        manifest.write_text(manifest.read_text()[:-40])
    done = store.get(2001)
    assert (done.returncode, done.stdout) == (3, "1001\n"), done.stderr
    assert done.stderr.strip() and not (store.slot / "kept/2001").exists()
    assert store.get(1001).returncode == 0


def test_an_upload_that_was_cut_short_does_not_exist(tmp_path):
    """A checkpoint without a manifest does not exist."""
    store = Store(tmp_path, str(tmp_path / "shared"), {})
    store.make(1001, "weights")
    store.put(1001)
    store.make(2001, "weights")
    store.put(2001)
    (tmp_path / "shared/job/checkpoint-2001/manifest-0-of-1.json").unlink()
    assert store.run("train-store").stdout == "1001\n"


def test_disk_full(tmp_path):
    """The older checkpoint remains, and the error says what failed."""
    store = Store(tmp_path, str(tmp_path / "shared"), {})
    store.make(1001, "weights")
    assert store.put(1001).returncode == 0
    store.make(2001, "weights", extra=b"x" * 500000)
    done = store.put(2001, limit=100000)
    assert done.returncode != 0
    assert store.run("train-store").stdout == "1001\n"


@pytest.mark.parametrize("deed", [503, "reset", "truncate", "slow"])
def test_bucket_faults_are_retried(bucket, moto, deed):
    """The first try of every request fails."""
    store = bucket
    seen = set()

    def fault(method, path):    # the first try of each request
        key = (method, path)
        if key in seen:
            return None
        seen.add(key)
        return deed
    moto.fault = fault
    store.make(1001, "weights", extra=b"y" * 300000)
    done = store.put(1001)
    assert (done.returncode, done.stdout) == (0, "1001\n"), done.stderr
    seen.clear()
    done = store.get(1001)
    assert done.returncode == 0, done.stderr
    assert store.text(1001) == "weights"


def test_bucket_denied(bucket, moto):
    """Not retried; the message names the denied call."""
    store = bucket
    store.make(1001, "weights")
    moto.fault = lambda method, path: 403 if method == "PUT" else None
    done = store.put(1001)
    assert done.returncode == 1 and "AccessDenied" in done.stderr and "PutObject" in done.stderr
    moto.fault = lambda method, path: None
    assert store.run("train-store").stdout == "0\n"


def test_bucket_large_file(bucket, moto):
    """Files over 64 MB are uploaded in parts; a failed upload is aborted."""
    store = bucket
    data = os.urandom(1 << 20) * 70
    store.make(1001, "weights", extra=data)
    moto.fault = lambda method, path: 403 if "partNumber=2" in path else None
    assert store.put(1001).returncode == 1
    assert any(method == "DELETE" and "uploadId=" in path for method, path in moto.requests)
    moto.fault = lambda method, path: None
    done = store.put(1001)
    assert done.returncode == 0, done.stderr
    assert store.get(1001).returncode == 0
    assert (store.slot / "kept/1001/sub/a b+c").read_bytes() == data
