"""Failures of `docker` sections: what `ray up` and `shoal up` print.

Real Ray, a real Docker daemon. docs/user/failures.md shows the transcripts.
"""

import base64
import json

import driver
import files
import pytest
import test_pains

LARGE, PRIVATE = "127.0.0.1:5000/team/large:1", "127.0.0.1:5000/team/private:1"


@pytest.fixture(scope="session")
def running_bed(running_base_bed):
    driver.client.up(["base", "ray", "docker"], seconds=3600)
    return running_base_bed


def without_docker(name):
    made = files.docker(name, workers=0)
    made["available_node_types"]["head"]["node_config"]["ImageId"] = files.BASE
    return made


def stopped_daemon(name):
    return files.docker(name, workers=0, initialization_commands=["sudo pkill -x dockerd; sleep 1"])


# A registry with one image, of 256 MB of zeros: a few hundred kilobytes on the way. With the word
# "private" it asks everyone for a login.
REGISTRY = """
import gzip, hashlib, http.server, io, json, sys, tarfile
tar = io.BytesIO()
with tarfile.open(fileobj=tar, mode='w') as out:
    row = tarfile.TarInfo('large')
    row.size = 256 << 20
    out.addfile(row, open('/dev/zero', 'rb'))
plain = tar.getvalue()
digest = lambda data: 'sha256:' + hashlib.sha256(data).hexdigest()
layer = gzip.compress(plain, 1)
config = json.dumps({'architecture': 'amd64', 'os': 'linux', 'config': {},
                     'rootfs': {'type': 'layers', 'diff_ids': [digest(plain)]}}).encode()
KIND = 'application/vnd.docker.'
row = lambda kind, data: {'mediaType': KIND + kind, 'size': len(data), 'digest': digest(data)}
manifest = json.dumps({'schemaVersion': 2, 'mediaType': KIND + 'distribution.manifest.v2+json',
                       'config': row('container.image.v1+json', config),
                       'layers': [row('image.rootfs.diff.tar.gzip', layer)]}).encode()
class Registry(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.rsplit('/', 1)[1]
        body = {digest(layer): layer, digest(config): config}.get(name, manifest)
        body = b'{}' if self.path == '/v2/' else body
        kind = KIND + 'distribution.manifest.v2+json' if body is manifest else 'application/json'
        self.send_response(401 if 'private' in sys.argv else 200)
        self.send_header('WWW-Authenticate', 'Basic realm=team')
        for key, value in (('Content-Type', kind), ('Content-Length', len(body)),
                           ('Docker-Content-Digest', digest(body))):
            self.send_header(key, str(value))
        self.end_headers()
        if self.command == 'GET':
            self.wfile.write(body)
    do_HEAD = do_GET
http.server.ThreadingHTTPServer(('127.0.0.1', 5000), Registry).serve_forever()
"""

def serve(word=""):
    """The command that starts the registry on the machine."""
    text = base64.b64encode(REGISTRY.encode()).decode()
    return (f"echo {text} | base64 -d > ~/registry.py; setsid nohup python3 ~/registry.py {word} "
            "< /dev/null > ~/registry.log 2>&1 & sleep 3")


def private_registry(name):
    return files.docker(name, workers=0, docker={"image": PRIVATE, "pull_before_run": True},
                        initialization_commands=[serve("private")])


def full_disk(name):
    """Docker's own folder has 96 MB."""
    return files.docker(
        name, workers=0, docker={"image": LARGE, "pull_before_run": True},
        initialization_commands=[
            serve(),
            "sudo pkill -x dockerd; sleep 2; sudo mount -t tmpfs -o size=96m none /var/lib/docker; "
            "sudo setsid nohup dockerd --iptables=false --bridge=none < /dev/null "
            "> /tmp/dockerd.log 2>&1 & for n in $(seq 60); do docker info > /dev/null 2>&1 && "
            "break; sleep 0.5; done"])


CASES = {"disk full (P3)": full_disk, "no docker (P6)": without_docker,
         "stopped daemon (P6)": stopped_daemon, "private registry (P16)": private_registry}
# What the user must learn from shoal.
WORDS = {"disk full (P3)": [LARGE, "the disk of the machine is too small for the image"],
         "no docker (P6)": ["docker is not installed", "apt-get install -y docker.io"],
         "stopped daemon (P6)": ["its daemon does not answer", "systemctl enable --now docker"],
         "private registry (P16)": [PRIVATE, "docker login"]}


@pytest.mark.long(seconds=600)
@pytest.mark.parametrize("case", CASES)
def test_under_shoal_up(cluster, case):
    made = cluster(CASES[case]("ours"))
    done = made.run("up", "-y")
    test_pains.show(f"shoal up, {case}", done.seconds, done.status, done.err)
    assert done.status == 1
    for words in WORDS[case]:
        assert words in done.err
    made.down()


@pytest.mark.long(seconds=600)
@pytest.mark.parametrize("case", CASES)
def test_under_ray_up(bed, ec2, key_name, key_files, tmp_path, case):
    (tmp_path / "key").write_bytes(key_files[0].read_bytes())
    (tmp_path / "key").chmod(0o600)
    made = files.for_both(CASES[case]("rays"), key_name, "/laptop/key")
    (tmp_path / "c.yaml").write_text(json.dumps(made), encoding="ascii")
    up = test_pains.ray(tmp_path, "ray", "up", "-y", "--no-config-cache", "--log-style", "pretty",
                        "--log-color", "false", "/laptop/c.yaml", seconds=240)
    test_pains.show(f"ray up, {case}", *up)
    assert up[1] != 0
