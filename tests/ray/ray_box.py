"""A real Ray head in namespaces of its own: nothing of it is seen from outside, and all of it is
gone when the box is closed. Needs root."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

# The Ray that is run; another release than the one that tests are run with, if asked for.
PYTHON = os.environ.get("SHOAL_RAY_PYTHON", sys.executable)
RAY = str(pathlib.Path(PYTHON).parent / "ray")


class RayBox:
    def __init__(self, token=None, env=None):
        self.folder = tempfile.TemporaryDirectory(prefix="shoal-ray-")
        self.env = {**os.environ, "RAY_enable_autoscaler_v2": "1",
                    "RAY_CLOUD_INSTANCE_ID": "i-head", "RAY_NODE_TYPE_NAME": "head", **(env or {})}
        if token:
            self.env.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=token)
        # The first process must reap its children, or a dead raylet would look alive.
        script = ("ip link set lo up; mkdir -p /tmp/ray; mount --bind %s /tmp/ray; echo ready; "
                  "while :; do sleep 5; done" % self.folder.name)
        self.outer = subprocess.Popen(["unshare", "-npmf", "--mount-proc", "bash", "-c", script],
                                      stdout=subprocess.PIPE, text=True)
        assert self.outer.stdout.readline() == "ready\n"
        children = pathlib.Path(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children")
        self.pid = children.read_text().split()[0]

    def inside(self, argv):
        return ["nsenter", "-t", self.pid, "-n", "-p", "-m"] + argv

    def run(self, argv, env=None, **options):
        return subprocess.run(self.inside(argv), env=env or self.env, text=True,
                              capture_output=True, timeout=120, **options)

    def start_head(self):
        done = self.run([RAY, "start", "--head", "--no-monitor", "--port", "6379",
                         "--node-ip-address", "127.0.0.1", "--num-cpus", "1",
                         "--object-store-memory", "80000000", "--include-dashboard=false",
                         "--disable-usage-stats"])
        assert done.returncode == 0, done.stdout + done.stderr
        return self

    def start_worker(self, instance, node_type, *words, env=None):
        done = self.run([RAY, "start", "--address", "127.0.0.1:6379", "--node-ip-address",
                         "127.0.0.1", "--object-store-memory", "80000000", *words],
                        env=dict(self.env, RAY_CLOUD_INSTANCE_ID=instance,
                                 RAY_NODE_TYPE_NAME=node_type, **(env or {})))
        assert done.returncode == 0, done.stdout + done.stderr

    def kill_gcs(self):
        """Ends the GCS as a crash would; returns how to start the same again."""
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    argv = (entry / "cmdline").read_bytes().split(b"\0")[:-1]
                    is_gcs = argv and argv[0].endswith(b"gcs_server") and self._is_ours(entry)
                except OSError:  # it ended just now
                    continue
                if is_gcs:
                    os.kill(int(entry.name), signal.SIGKILL)
                    return [word.decode() for word in argv]
        raise AssertionError("there is no GCS")

    def _is_ours(self, entry):
        return os.readlink(entry / "ns/net") == os.readlink(f"/proc/{self.pid}/ns/net")

    def start_gcs(self, argv):
        return subprocess.Popen(self.inside(argv), env=self.env, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def close(self):
        os.kill(int(self.pid), signal.SIGKILL)  # takes its whole namespace with it
        self.outer.wait()
        time.sleep(0.1)
        self.folder.cleanup()
