"""A Ray cluster of several raylets on one machine, in its own namespaces, for elastic training.

The head has no CPU. Every worker has one CPU and its own address (127.0.0.2, 127.0.0.3, ...), so
that Ray and torch treat it as a machine. Needs root."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cli"))

import output_schema  # noqa: E402

PYTHON = os.environ.get("SHOAL_TRAIN_PYTHON", sys.executable)
RAY = str(pathlib.Path(PYTHON).parent / "ray")
SHOAL = str(pathlib.Path(os.environ.get("SHOAL_BUILD", "build"), "src", "cli", "shoal").resolve())


TOKEN = "the-token-of-a-test-" + "0" * 20


class Cluster:
    def __init__(self, workers=0):
        self.folder = tempfile.TemporaryDirectory(prefix="shoal-train-")
        self.home = pathlib.Path(self.folder.name, "home")
        self.home.mkdir()
        self.ray_folder = pathlib.Path(self.folder.name, "ray")
        self.ray_folder.mkdir()
        self.env = {**os.environ, "HOME": str(self.home), "RAY_enable_autoscaler_v2": "1",
                    "PATH": str(pathlib.Path(PYTHON).parent) + ":" + os.environ["PATH"],
                    "RAY_DISABLE_IMPORT_WARNING": "1", "GLOO_SOCKET_IFNAME": "lo",
                    "OMP_NUM_THREADS": "1",
                    # As on a cluster of `shoal up`: Ray asks for a token.
                    "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}
        script = ("ip link set lo up; mount -t tmpfs tmpfs /dev/shm; mkdir -p /tmp/ray; "
                  "mount --bind %s /tmp/ray; echo ready; while :; do sleep 5; done"
                  % self.ray_folder)
        self.outer = subprocess.Popen(["unshare", "-npmf", "--mount-proc", "bash", "-c", script],
                                      stdout=subprocess.PIPE, text=True)
        assert self.outer.stdout.readline() == "ready\n"
        children = pathlib.Path(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children")
        self.pid = children.read_text().split()[0]
        self.workers = 0
        self._start_head()
        for _ in range(workers):
            self.add_worker()

    def inside(self, argv):
        return ["nsenter", "-t", self.pid, "-n", "-p", "-m"] + argv

    def run(self, argv, timeout=120, env=None):
        return subprocess.run(self.inside(argv), env={**self.env, **(env or {})}, text=True,
                              capture_output=True, timeout=timeout)

    def _start_head(self):
        done = self.run([RAY, "start", "--head", "--no-monitor", "--port", "6379",
                         "--node-ip-address", "127.0.0.1", "--num-cpus", "0",
                         "--object-store-memory", "80000000", "--dashboard-port", "8265",
                         "--disable-usage-stats"])
        assert done.returncode == 0, done.stdout + done.stderr
        self._wait(lambda: self.jobs() is not None, 60, "the dashboard does not answer")

    def add_worker(self, cpus=1):
        """Starts a raylet; returns its address. On a busy machine a raylet may give up: Ray allows
        its agents 30 s to start."""
        for attempt in range(3):
            address, done = self._try_worker(cpus)
            if done.returncode == 0:
                return address
            print(f"raylet {address}, attempt {attempt + 1}: {done.stdout[-500:]}")
        raise AssertionError(done.stdout + done.stderr)

    def _try_worker(self, cpus):
        self.workers += 1
        number = self.workers
        address = f"127.0.0.{number + 1}"
        done = self.run([RAY, "start", "--address", "127.0.0.1:6379", "--node-ip-address", address,
                         "--num-cpus", str(cpus), "--object-store-memory", "80000000",
                         "--dashboard-agent-listen-port", str(52400 + number),
                         "--dashboard-agent-grpc-port", str(52500 + number),
                         "--runtime-env-agent-port", str(52600 + number),
                         "--metrics-export-port", str(52700 + number)],
                        env={"RAY_CLOUD_INSTANCE_ID": f"i-{number}",
                             "RAY_NODE_TYPE_NAME": "worker"})
        return address, done

    def jobs(self):
        """All Ray jobs, or None while the dashboard does not answer."""
        done = self.run(["curl", "-sf", "-m", "20", "-H", "Authorization: Bearer " + TOKEN,
                         "http://127.0.0.1:8265/api/jobs/"])
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout else None

    def stop_job(self, submission_id):
        """As `ray job stop` does."""
        done = self.run(["curl", "-sf", "-X", "POST", "-H", "Authorization: Bearer " + TOKEN,
                         f"http://127.0.0.1:8265/api/jobs/{submission_id}/stop"])
        assert done.returncode == 0, done.stderr

    def processes(self, word):
        """(pid outside, command line) of processes whose command line has the word."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                ours = os.readlink(entry / "ns/net") == os.readlink(f"/proc/{self.pid}/ns/net")
            except OSError:
                continue
            if ours and word in line:
                found.append((int(entry.name), line))
        return found

    def _wait(self, condition, seconds, text):
        deadline = time.time() + seconds
        while time.time() < deadline:
            if condition():
                return
            time.sleep(0.2)
        raise AssertionError(text)

    def close(self):
        os.kill(int(self.pid), signal.SIGKILL)  # takes its whole namespace with it
        self.outer.wait()
        time.sleep(0.1)
        self.folder.cleanup()


class Training:
    """A `shoal train` in the background, and its events so far."""

    def __init__(self, cluster, script, *words, args=(), name="job", log=None):
        self.cluster, self.name = cluster, name
        self.log = pathlib.Path(cluster.folder.name, (log or name) + ".log")
        self.output = open(self.log, "w")
        argv = [SHOAL, "train", "-f", str(script), "-n", name, "--python", PYTHON, "-o", "json",
                *words, "--", *args]
        self.process = subprocess.Popen(cluster.inside(argv), env=cluster.env, stdout=self.output,
                                        stderr=subprocess.STDOUT, cwd=str(cluster.home))

    def lines(self):
        return [line for line in self.log.read_text().splitlines() if line]

    def objects(self):
        """What it printed as JSON so far; its errors are text."""
        found = []
        for line in self.lines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return found

    def events(self, kind=None):
        return [event for event in self.objects() if kind is None or event.get("event") == kind]

    def wait_for(self, condition, seconds, text):
        deadline = time.time() + seconds
        while time.time() < deadline:
            if condition():
                return
            assert self.process.poll() is None, "shoal train ended:\n" + self.log.read_text()
            time.sleep(0.05)
        raise AssertionError(text + ":\n" + self.log.read_text())

    def wait_for_generation(self, number, seconds=60):
        self.wait_for(lambda: any(e["generation"] >= number for e in self.events("generation")),
                      seconds, f"generation {number} made no step")
        return self.events("generation")[-1]

    def wait(self, seconds=120):
        status = self.process.wait(timeout=seconds)
        output_schema.check(["train", "-o", "json"], "\n".join(map(json.dumps, self.objects())))
        return status
