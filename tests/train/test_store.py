"""Durable checkpoints in a directory, in S3 (moto) and in Google Cloud Storage, with damage and
failed requests. Google's XML API is that of S3: moto is the stand-in for it, behind a proxy that
wants a token and answers the second deletion of an object with 404.
"""

import concurrent.futures
import hashlib
import http.client
import http.server
import json
import os
import pathlib
import re
import resource
import signal
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
        self.behind = port
        self.fault = lambda method, path: None
        self.requests = []
        self.is_google, self.deleted = False, set()
        self.lost_at_most = 0
        self.region = None    # that of the buckets; signatures for another one are refused

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def handle_one(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                proxy.requests.append((self.command, self.path))
                deed = proxy.fault(self.command, self.path)
                headers = dict(self.headers)
                proxy.signed_for = headers.get("Authorization", "").split("/")[2:3]
                if proxy.region and proxy.signed_for != [proxy.region]:
                    return self.answer(*proxy.refusal())
                if proxy.is_google:
                    deed = deed if headers["Authorization"] == "Bearer the-token" else 403
                    headers["Authorization"] = FOR_MOTO
                if headers.pop("x-goog-if-generation-match", None) == "0":
                    headers["If-None-Match"] = "*"
                if proxy.is_google and self.command == "DELETE" and "uploadId" not in self.path:
                    deed = deed or (404 if self.path in proxy.deleted else None)
                    if deed not in (403, 503, "reset"):
                        proxy.deleted.add(self.path)
                if deed == "reset":
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                    return
                lost = deed == "lost" and proxy.lost_at_most > 0
                proxy.lost_at_most -= lost
                if deed == "slow":
                    time.sleep(1.5)
                if isinstance(deed, int):
                    code = {403: "AccessDenied", 404: "NoSuchKey", 503: "SlowDown"}[deed]
                    return self.answer(deed, {}, f"<Error><Code>{code}</Code></Error>".encode())
                link = http.client.HTTPConnection("127.0.0.1", port)
                link.request(self.command, self.path, body, headers)
                reply = link.getresponse()
                data = reply.read()
                if lost:    # it was done, but the reply does not come
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                    return
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

        self.is_moved = False
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


    def refusal(self):
        """What S3 answers in another region than the bucket's."""
        code, status = ("PermanentRedirect", 301) if self.is_moved else \
            ("AuthorizationHeaderMalformed", 400)
        return status, {"x-amz-bucket-region": self.region}, \
            f"<Error><Code>{code}</Code><Region>{self.region}</Region></Error>".encode()


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

    def run(self, word, *words, limit=None, owner="job-1"):
        def apply():
            if limit:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)    # EFBIG, as a full disk's ENOSPC
        return subprocess.run(
            [SHOAL, "node", word, "--output", self.output, "--job", "job", "--folder",
             str(self.slot), "--keep", "2", "--owner", owner, *map(str, words)],
            env={**os.environ, **self.env}, text=True, capture_output=True, timeout=120,
            preexec_fn=apply)

    def make(self, number, text, part=False, extra=b""):
        folder = self.slot / "kept" / (f"{number}.part" if part else str(number))
        (folder / "sub").mkdir(parents=True)
        (folder / "model").write_text(text)
        (folder / "sub" / "a b+c").write_bytes(extra)
        return folder

    def put(self, number, *words, **keywords):
        return self.run("train-store", "--checkpoint", number, *words, **keywords)

    def put_part(self, number, part, save, text):
        """Rank `part` of two stores what it saved."""
        kept = self.slot / "kept" / f"{number}.part"
        subprocess.run(["rm", "-rf", str(kept)])
        self.make(number, text, part=True)
        (kept / "model").rename(kept / f"model-{part}")
        return self.put(number, "--part", part, "--parts", 2, "--save", save, "--keep", 1)

    def names(self):
        """All files or objects of the place."""
        if "://" not in self.output:
            root = pathlib.Path(self.output)
            return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
        bucket, prefix = self.output.split("://")[1].split("/", 1)
        link = http.client.HTTPConnection("127.0.0.1", self.server)
        link.request("GET", f"/{bucket}?list-type=2&prefix={prefix}")
        keys = re.findall("<Key>(.*?)</Key>", link.getresponse().read().decode())
        link.request("GET", f"/{bucket}?uploads")
        uploads = re.findall("<UploadId>", link.getresponse().read().decode())
        return {key.removeprefix(prefix + "/") for key in keys} | set(uploads)

    def checkpoints(self):
        return {name.split("/")[1] for name in self.names() if "/checkpoint-" in name}

    def get(self, number):
        """On another node."""
        subprocess.run(["rm", "-rf", str(self.slot / "kept")])
        (self.slot / "kept").mkdir(mode=0o700)
        return self.run("train-restore", "--checkpoint", number)

    def text(self, number):
        return (self.slot / "kept" / str(number) / "model").read_text()


def s3_store(tmp_path, moto):
    moto.fault, moto.requests = lambda method, path: None, []
    moto.is_google, moto.deleted, moto.lost_at_most = False, set(), 0
    moto.region, moto.is_moved = None, False
    bucket = "b" + hashlib.sha256(str(tmp_path).encode()).hexdigest()[:20]
    link = http.client.HTTPConnection("127.0.0.1", moto.port)
    link.request("PUT", "/" + bucket)
    link.getresponse().read()
    env = {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{moto.port}", "AWS_ACCESS_KEY_ID": "test",
           "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1", "HOME": str(tmp_path)}
    store = Store(tmp_path, f"s3://{bucket}/runs", env)
    store.server = moto.behind
    return store


def gs_store(tmp_path, moto):
    made = s3_store(tmp_path, moto)
    moto.is_google = True
    login = tmp_path / "login.json"
    login.write_text(json.dumps({
        "type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "r",
        "token": "the-token", "expiry": "2099-01-01T00:00:00Z"}))
    store = Store(tmp_path / "google", made.output.replace("s3://", "gs://"), {
        "STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{moto.port}", "HOME": str(tmp_path),
        "GOOGLE_APPLICATION_CREDENTIALS": str(login)})
    store.server = moto.behind
    return store


BUCKETS = {"s3": s3_store, "gs": gs_store}


@pytest.fixture(params=["directory", *BUCKETS])
def store(request, tmp_path):
    if request.param == "directory":
        return Store(tmp_path, str(tmp_path / "shared"), {})
    return BUCKETS[request.param](tmp_path, request.getfixturevalue("moto"))


@pytest.fixture(params=BUCKETS)
def bucket(request, tmp_path, moto):
    return BUCKETS[request.param](tmp_path, moto)


def newest(done):
    """What train-store prints first: the newest complete checkpoint."""
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[0])


def test_a_checkpoint_comes_back(store):
    """F20: what is stored comes back with the same bytes; only the newest two are kept (--keep)."""
    for number in (1001, 1002, 2001, 3001):
        store.make(number, f"weights {number}", extra=b"x" * 100000)
        done = store.put(number)
        assert newest(done) == number
    done = store.get(3001)
    assert done.returncode == 0, done.stderr
    assert store.text(3001) == "weights 3001"
    assert (store.slot / "kept/3001/sub/a b+c").read_bytes() == b"x" * 100000
    assert store.get(2001).returncode == 0
    assert store.get(1002).returncode == 3    # removed


@pytest.mark.parametrize("is_moved", [False, True])
@pytest.mark.parametrize("known, wasted", [
    ({}, True), ({"SHOAL_TRAIN_REGION": "eu-west-1"}, False), ({"AWS_REGION": "eu-west-1"}, False),
    ({"AWS_REGION": "us-west-2", "SHOAL_TRAIN_REGION": "eu-west-1"}, True)])
def test_the_region_of_the_bucket(tmp_path, moto, is_moved, known, wasted):
    """S3 refuses a signature for another region, and says which one is right: one call is lost."""
    store = s3_store(tmp_path, moto)
    moto.region, moto.is_moved = "eu-west-1", is_moved
    del store.env["AWS_REGION"]
    store.env.update(known)
    store.make(1001, "weights", extra=b"x" * 100000)
    refusals, answer = [], moto.refusal
    moto.refusal = lambda: refusals.append(1) or answer()
    try:
        assert newest(store.put(1001)) == 1001
        assert len(refusals) == wasted
        done = store.get(1001)
    finally:
        del moto.refusal
    assert done.returncode == 0, done.stderr
    assert store.text(1001) == "weights"


def test_parts_are_complete_together(store):
    """A sharded checkpoint exists when all of its parts do."""
    store.make(1001, "whole")
    assert newest(store.put(1001)) == 1001
    store.make(2001, "part", part=True)
    assert newest(store.put(2001, "--part", 1, "--parts", 2)) == 1001
    assert newest(store.put(2001, "--part", 0, "--parts", 2)) == 2001
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
    assert newest(store.run("train-store")) == 1001


def test_disk_full(tmp_path):
    """The older checkpoint remains, and the error says what failed."""
    store = Store(tmp_path, str(tmp_path / "shared"), {})
    store.make(1001, "weights")
    assert store.put(1001).returncode == 0
    store.make(2001, "weights", extra=b"x" * 500000)
    done = store.put(2001, limit=100000)
    assert done.returncode == 1 and "File too large" in done.stderr
    assert newest(store.run("train-store")) == 1001


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
    assert newest(done) == 1001
    seen.clear()
    done = store.get(1001)
    assert done.returncode == 0, done.stderr
    assert store.text(1001) == "weights"


def test_bucket_denied(bucket, moto):
    """Not retried; the message names the denied call."""
    store = bucket
    store.make(1001, "weights")
    assert newest(store.run("train-store")) == 0
    moto.fault = lambda method, path: 403 if method == "PUT" else None
    done = store.put(1001)
    assert done.returncode == 1 and "AccessDenied" in done.stderr and "PutObject" in done.stderr
    moto.fault = lambda method, path: None
    assert newest(store.run("train-store")) == 0
    assert store.checkpoints() == set()


def test_bucket_large_file(bucket, moto):
    """Files over 64 MB are uploaded in parts; a failed upload is aborted."""
    store = bucket
    data = os.urandom(1 << 20) * 70
    store.make(1001, "weights", extra=data)
    moto.fault = lambda method, path: 403 if "partNumber=2" in path else None
    assert store.put(1001).returncode == 1
    assert any(method == "DELETE" and "uploadId=" in path for method, path in moto.requests)
    assert store.names() <= {"job/owner.json"}
    moto.fault = lambda method, path: None
    done = store.put(1001)
    assert done.returncode == 0, done.stderr
    assert store.get(1001).returncode == 0
    assert (store.slot / "kept/1001/sub/a b+c").read_bytes() == data


# ---- a failed upload ----

@pytest.mark.parametrize("word", ["model", "sub", "manifest-"])
def test_a_failed_upload_leaves_nothing(bucket, moto, word):
    """Whichever file is refused: the others are removed, and the next try stores all."""
    store = bucket
    store.make(1001, "weights")
    moto.fault = lambda method, path: 403 if method == "PUT" and f"/{word}" in path else None
    done = store.put(1001)
    assert done.returncode == 1 and "AccessDenied" in done.stderr
    assert store.names() <= {"job/owner.json"}
    moto.fault = lambda method, path: None
    assert newest(store.put(1001)) == 1001
    assert store.get(1001).returncode == 0


def test_a_full_disk_leaves_nothing(tmp_path):
    store = Store(tmp_path, str(tmp_path / "shared"), {})
    store.make(2001, "weights", extra=b"x" * 500000)
    done = store.put(2001, limit=100000)
    assert done.returncode == 1 and "File too large" in done.stderr
    assert store.names() <= {"job/owner.json"}


def test_what_cannot_be_removed_is_named(bucket, moto):
    """It is never a checkpoint, and goes when a newer one is complete."""
    store = bucket
    store.make(1001, "weights")
    moto.fault = lambda method, path: (
        403 if method == "DELETE" or method == "PUT" and "manifest-" in path else None)
    done = store.put(1001)
    assert done.returncode == 1 and "PutObject" in done.stderr
    assert "checkpoint-1001/part-0-of-1/ is left" in done.stderr
    moto.fault = lambda method, path: None
    assert newest(store.run("train-store")) == 0
    store.make(2001, "weights")
    assert newest(store.put(2001)) == 2001
    assert store.checkpoints() == {"checkpoint-2001"}


def test_a_manifest_of_unknown_fate_keeps_its_files(bucket, moto):
    """Its reply is lost: it may be there, or still arrive. Without its files it would name what
    does not exist. The next try finds it, and stores nothing again."""
    store = bucket
    store.make(1001, "weights")
    moto.fault = lambda method, path: (
        "lost" if method == "PUT" and "manifest-" in path else None)
    moto.lost_at_most = 1
    assert newest(store.put(1001)) == 1001    # the second try of the request
    before = len([path for method, path in moto.requests if method == "PUT"])
    moto.fault = lambda method, path: 403 if method == "PUT" else None
    assert newest(store.put(1001)) == 1001
    assert len([path for method, path in moto.requests if method == "PUT"]) == before
    assert store.get(1001).returncode == 0


# ---- what is kept ----

def test_incomplete_checkpoints_are_not_counted(tmp_path):
    """--keep 2: the newest two complete ones stay; what was never completed goes."""
    store = Store(tmp_path, str(tmp_path / "shared"), {})
    for number in (1001, 1002):
        store.make(number, f"weights {number}")
        assert newest(store.put(number)) == number
    for number in (1003, 1004):
        folder = tmp_path / f"shared/job/checkpoint-{number}/part-0-of-1"
        folder.mkdir(parents=True)
        (folder / "model").write_text("half")
    store.make(1005, "weights 1005")
    assert newest(store.put(1005)) == 1005
    assert store.checkpoints() == {"checkpoint-1002", "checkpoint-1005"}
    assert store.get(1002).returncode == 0 and store.text(1002) == "weights 1002"


def test_an_unfinished_newer_checkpoint_stays(tmp_path):
    """Another rank may be storing its part of it now."""
    store = Store(tmp_path, str(tmp_path / "shared"), {})
    store.put_part(2001, 0, "s1", "mine")
    store.make(1001, "weights")
    assert newest(store.put(1001)) == 1001
    assert store.checkpoints() == {"checkpoint-1001", "checkpoint-2001"}


def test_a_late_store_is_not_completed(tmp_path):
    """A newer checkpoint is complete, so the files of this one may have been removed already."""
    store = Store(tmp_path, str(tmp_path / "shared"), {})
    for number in (2001, 1001):
        store.make(number, "weights")
        assert newest(store.put(number)) == 2001
    assert store.checkpoints() == {"checkpoint-2001"}


# ---- parts of two lives ----

def test_parts_of_two_saves_are_not_one_checkpoint(store):
    """The job lost everything after rank 1 had stored its part. Its second life saves under the
    same number: the part of the first life does not complete it, and the older one stays."""
    store.make(1001, "whole")
    assert newest(store.put(1001, "--keep", 1)) == 1001
    assert newest(store.put_part(2001, 1, "life1", "rank 1, first life")) == 1001
    done = store.put_part(2001, 0, "life2", "rank 0, second life")
    assert newest(done) == 1001
    assert done.stdout.split()[1] == "2001"    # new numbers are above it
    assert store.checkpoints() == {"checkpoint-1001", "checkpoint-2001"}
    assert store.get(2001).returncode == 3
    assert newest(store.put_part(2001, 1, "life2", "rank 1, second life")) == 2001
    assert store.get(2001).returncode == 0
    kept = store.slot / "kept/2001"
    assert (kept / "model-0").read_text() == "rank 0, second life"
    assert (kept / "model-1").read_text() == "rank 1, second life"


def test_saves_of_different_sizes_are_not_mixed(tmp_path):
    """Two of two parts and one of three are one complete checkpoint."""
    store = Store(tmp_path, str(tmp_path / "shared"), {})
    store.make(2001, "a", part=True)
    assert newest(store.put(2001, "--part", 2, "--parts", 3, "--save", "s")) == 0
    assert newest(store.put(2001, "--part", 0, "--parts", 2, "--save", "s")) == 0
    assert newest(store.put(2001, "--part", 1, "--parts", 2, "--save", "s")) == 2001


# ---- the owner ----

def test_another_job_of_the_same_name_is_refused(store):
    """It neither continues from the checkpoints of the first one nor writes there."""
    store.make(1001, "theirs")
    assert newest(store.run("train-store")) == 0
    assert newest(store.put(1001)) == 1001
    before = store.names()
    done = store.run("train-store", owner="job-2")
    assert done.returncode == 4 and done.stdout == "", done.stdout
    assert "belong to another job" in done.stderr and "--adopt" in done.stderr
    store.make(2001, "ours")
    assert store.put(2001, owner="job-2").returncode == 4
    assert store.run("train-restore", "--checkpoint", 1001, owner="job-2").returncode in (0, 4)
    assert store.names() == before
    assert store.get(1001).returncode == 0 and store.text(1001) == "theirs"


def test_a_job_adopts_checkpoints(store):
    """--adopt: the new owner continues from them, and the old one cannot store any more."""
    store.make(1001, "theirs")
    assert newest(store.put(1001)) == 1001
    assert newest(store.run("train-store", "--adopt", owner="job-2")) == 1001
    store.make(2001, "ours")
    assert newest(store.put(2001, owner="job-2")) == 2001
    done = store.put(2001)
    assert done.returncode == 4 and "belong to another job" in done.stderr


def test_checkpoints_without_an_owner_are_not_taken(store):
    """Of an earlier release. The job that stored them goes on."""
    store.make(1001, "old")
    assert newest(store.put(1001)) == 1001
    remove_owner(store)
    done = store.run("train-store", owner="job-2")
    assert done.returncode == 4 and "earlier release" in done.stderr
    store.make(2001, "goes on")
    assert newest(store.put(2001)) == 2001
    assert store.run("train-store", owner="job-2").returncode == 4
    remove_owner(store)
    assert newest(store.run("train-store", "--adopt", owner="job-2")) == 2001


def remove_owner(store):
    if "://" not in store.output:
        pathlib.Path(store.output, "job/owner.json").unlink()
        return
    path = "/" + store.output.split("://")[1] + "/job/owner.json"
    link = http.client.HTTPConnection("127.0.0.1", store.server)
    link.request("DELETE", path, headers={"Authorization": FOR_MOTO})
    assert link.getresponse().status == 204


def test_a_damaged_owner_is_no_owner(tmp_path):
    """It does not mean that the place is free; --adopt replaces it."""
    store = Store(tmp_path, str(tmp_path / "shared"), {})
    (tmp_path / "shared/job").mkdir(parents=True, mode=0o700)
    (tmp_path / "shared/job/owner.json").write_text("")
    assert store.run("train-store").returncode == 1
    assert newest(store.run("train-store", "--adopt")) == 0
    assert newest(store.run("train-store")) == 0


def test_one_of_several_jobs_becomes_the_owner(store):
    """They begin at the same time: the place decides."""
    names = [f"job-{number}" for number in range(6)]
    with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
        runs = list(pool.map(lambda name: store.run("train-store", owner=name), names))
    codes = [done.returncode for done in runs]
    again = [store.run("train-store", owner=name).returncode for name in names]
    assert again.count(0) == 1 and again.count(4) == len(names) - 1
    assert codes.count(0) == 1 and set(codes) <= {0, 1, 4}, [done.stderr for done in runs]
    assert codes[again.index(0)] == 0


# ---- strangers ----

def test_a_manifest_does_not_write_outside_its_folder(tmp_path):
    """Its digests are right: a process that can write to the place could write to the nodes."""
    for path in ("../evil", "sub/../../evil", "/tmp/evil", "sub//evil", "./evil"):
        store = Store(tmp_path / path.replace("/", "_"), str(tmp_path / "shared"), {})
        store.make(1001, "weights")
        assert store.put(1001).returncode == 0
        [manifest] = (tmp_path / "shared/job/checkpoint-1001").glob("manifest-*")
        rows = json.loads(manifest.read_text().splitlines()[0])
        row = next(row for row in rows["files"] if row["path"] == "model")
        row["path"] = path
        line = json.dumps(rows, separators=(",", ":")) + "\n"
        manifest.write_text(line + hashlib.sha256(line.encode()).hexdigest() + "\n")
        target = tmp_path / "shared/job/checkpoint-1001/part-0-of-1" / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("weights")
        done = store.get(1001)
        assert done.returncode == 3 and "invalid path" in done.stderr
        assert not (store.slot / "kept/1001").exists()
        assert not list(store.slot.rglob("evil"))
        subprocess.run(["rm", "-rf", str(tmp_path / "shared")])


def test_no_token_in_clear_to_another_machine(tmp_path, moto):
    """STORAGE_EMULATOR_HOST is reached without TLS: over a proxy, so that it needs no name."""
    store = gs_store(tmp_path, moto)
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.path, self.headers.get("Authorization")))
            self.send_response(403)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_PUT = do_POST = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    store.env.update(STORAGE_EMULATOR_HOST="http://storage.example",
                     http_proxy=f"http://127.0.0.1:{server.server_address[1]}", no_proxy="")
    done = store.run("train-store")
    server.shutdown()
    assert done.returncode == 1
    assert seen and all(path.startswith("http://storage.example/") for path, _ in seen), seen
    assert {token for _, token in seen} == {None}
