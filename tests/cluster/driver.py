"""A laptop on the bed, and the records of the cloud, of sshd and of Ray about its commands.

Used by the tests of this folder and by tests/bench/bench_up.py.

SHOAL_BUILD  the build directory (default: build in the repository)
"""

import collections
import contextlib
import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "bed"))
sys.path.append(str(HERE.parent / "cli"))

import output_schema  # noqa: E402
from cloud import client, docker, settings  # noqa: E402

BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD") or REPOSITORY / "build").resolve()
SHOAL = BUILD / "src" / "cli" / "shoal"
CALLER_URL = f"http://{settings.GATEWAY}:{settings.CALLER_PORT}/"
SESSION = "tmp/ray/session_latest"
# Listings lag by seconds here, not by a minute; `down` waits that long for its proof.
SOON = {"SHOAL_TEST_TIMES": "horizon=5000,call_timeout=2000"}
PATIENCE = 3  # limits of commands only detect hangs; a busy machine gets this many times as long


def wait_for(work, seconds=180, step=0.1, what="what was waited for"):
    """The first true value that `work` returns."""
    end = time.monotonic() + seconds
    while True:
        value = work()
        if value:
            return value
        assert time.monotonic() < end, f"{what} did not come within {seconds} s"
        time.sleep(step)


def load():
    """The load average of this machine over the last minute."""
    return os.getloadavg()[0]


# ---- the laptop ----


class Done:
    """A finished command."""

    def __init__(self, words, status, out, err, seconds):
        self.words, self.status, self.out, self.err = words, status, out, err
        self.seconds = seconds

    def __str__(self):
        return (f"shoal {' '.join(self.words)}: exit {self.status} after {self.seconds:.1f} s\n"
                f"--- out\n{self.out[-6000:]}\n--- err\n{self.err[-6000:]}")


class Laptop:
    """A home directory of its own, in which shoal has no other state."""

    def __init__(self, folder, payload=None, **env):
        self.folder = pathlib.Path(folder)
        self.home = self.folder / "home"
        self.state = self.folder / "state"
        self.here = self.folder / "here"
        for place in (self.home, self.here, self.folder / "payloads"):
            place.mkdir(parents=True, exist_ok=True)
        sent = self.folder / "payloads" / "shoal-x86_64"
        if not sent.exists():
            # Without debug symbols, as in a release, because it is sent to every instance.
            subprocess.run(["strip", "-s", "-o", sent, payload or SHOAL], check=True)
        self.more = env

    def env(self, **more):
        return {**client.environment(), "PATH": os.environ["PATH"], "HOME": str(self.home),
                "XDG_STATE_HOME": str(self.state), "XDG_CACHE_HOME": str(self.folder / "cache"),
                "LC_ALL": "C.UTF-8", "SHOAL_PAYLOADS": str(self.folder / "payloads"),
                "SHOAL_CALLER_URL": CALLER_URL, **self.more, **more}

    def start(self, *words, **more):
        """Start a command; stdout and stderr are pipes."""
        fields = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                  "stderr": subprocess.PIPE, "text": True, "cwd": self.here,
                  "errors": "replace", "start_new_session": True,
                  "env": self.env(**more.pop("env", {})), **more}
        return subprocess.Popen([SHOAL, *map(str, words)], **fields)

    def run(self, *words, seconds=120, text=None, env=None):
        """Wait for the end; fail after the limit, with the output until then."""
        began = time.monotonic()
        more = {} if text is None else {"stdin": subprocess.PIPE}
        soon = SOON if words[0] == "down" else {}
        child = self.start(*words, env={**soon, **(env or {})}, **more)
        try:
            out, err = child.communicate(text, timeout=PATIENCE * seconds)
        except subprocess.TimeoutExpired:
            out, err = self.stop(child)
            done = Done([str(w) for w in words], None, out, err, time.monotonic() - began)
            raise AssertionError(f"no result within {PATIENCE * seconds} s: {done}") from None
        output_schema.check(words, out)
        return Done([str(w) for w in words], child.returncode, out, err, time.monotonic() - began)

    def stop(self, child, number=signal.SIGKILL, seconds=15):
        """Send a signal to a child and its children; return (out, err)."""
        child.send_signal(number)
        try:
            return child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:  # its children hold the pipes
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            return child.communicate(timeout=seconds)

    def __call__(self, *words, **more):
        """The same, and it must succeed."""
        done = self.run(*words, **more)
        assert done.status == 0, str(done)
        return done

    def file(self, name, content):
        """Write a file in the folder where shoal runs. Anything but text becomes JSON, which is
        YAML.
        """
        path = self.here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1),
                        encoding="utf-8")
        return path

    def leftovers(self):
        """Files of any cluster that shoal still keeps."""
        return sorted(str(p.relative_to(self.state)) for p in self.state.rglob("*") if p.is_file())


# ---- what the cloud recorded ----

TAG = "ray-cluster-name"


def has_tag(thing, cluster):
    return {"Key": TAG, "Value": cluster} in (thing.get("Tags") or [])


def machines(ec2, cluster=None, states=("pending", "running", "stopping", "stopped")):
    """Instances of a cluster: the head first, then in launch order."""
    pages = ec2.get_paginator("describe_instances").paginate()
    found = [i for page in pages for r in page["Reservations"] for i in r["Instances"]
             if i["State"]["Name"] in states and (cluster is None or has_tag(i, cluster))]
    return sorted(found, key=lambda i: (tag_of(i, "ray-node-type") != "head", i["LaunchTime"],
                                        i["InstanceId"]))


def tag_of(thing, key):
    return next((t["Value"] for t in thing.get("Tags") or [] if t["Key"] == key), None)


def remains(aws, cluster, seconds=0):
    """Everything of a cluster that the cloud still lists, by kind, including instances in any state
    except terminated. With `seconds`: wait that long for instances that are shutting down.
    """
    ec2, iam = aws("ec2"), aws("iam")
    names = (cluster, f"shoal-{cluster}")
    end = time.monotonic() + seconds
    while machines(ec2, cluster, ("shutting-down",)) and time.monotonic() < end:
        time.sleep(0.05)
    found = {
        "machines": [i["InstanceId"] for i in machines(
            ec2, cluster, ("pending", "running", "stopping", "stopped", "shutting-down"))],
        "volumes": [v["VolumeId"] for v in ec2.describe_volumes()["Volumes"]
                    if has_tag(v, cluster)],
        "keys": [k["KeyName"] for k in ec2.describe_key_pairs()["KeyPairs"]
                 if has_tag(k, cluster) or k["KeyName"].startswith(names)],
        "groups": [g["GroupName"] for g in ec2.describe_security_groups()["SecurityGroups"]
                   if has_tag(g, cluster) or g["GroupName"].startswith(names)],
        "templates": [t["LaunchTemplateName"] for t in
                      ec2.describe_launch_templates()["LaunchTemplates"] if has_tag(t, cluster)],
        "roles": [r["RoleName"] for r in iam.list_roles()["Roles"]
                  if cluster in r["RoleName"]],
        "profiles": [p["InstanceProfileName"] for p in
                     iam.list_instance_profiles()["InstanceProfiles"]
                     if cluster in p["InstanceProfileName"]],
    }
    return {kind: things for kind, things in found.items() if things}


def calls_since(when):
    """The API's own log: a row per call, with the time of its answer."""
    rows = []
    with open(settings.STATE / "calls.jsonl", encoding="utf-8") as stream:
        for line in stream:
            row = json.loads(line)
            if row["at"] >= when:
                rows.append(row)
    return rows


# Not counted among the calls of `up`: calls that create the cluster's own group, key, role and
# profile, and listings of instance states, which are polled with backoff.
OWN = re.compile("(Create|Put|Import|Attach|Authorize|Add|Tag)"
                 "(SecurityGroup|KeyPair|Role|InstanceProfile).*")
POLLS = ("DescribeInstances", "DescribeInstanceStatus")


def api_calls(when):
    """({action: count} of counted calls, {action: count} of all), of all callers since `when`."""
    rows = collections.Counter(row["action"] for row in calls_since(when))
    counted = {a: n for a, n in rows.items() if not OWN.fullmatch(a) and a not in POLLS}
    return counted, dict(rows)


# ---- what happened on the machines ----


def root_of(container):
    """The root folder of a running container, as seen from this host."""
    found = docker.inspect(container)
    pid = found["State"]["Pid"] if found else 0
    return pathlib.Path(f"/proc/{pid}/root") if pid else None


STAMP = re.compile(r"\[(\S+ \S+?),(\d+) ")


def log_time(line):
    """The time at the start of a line of Ray's logs (wall clock), or None."""
    found = STAMP.match(line)
    if not found:
        return None
    when = datetime.datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S")
    return when.replace(tzinfo=datetime.timezone.utc).timestamp() + int(found[2]) / 1000


def gcs_log(container):
    """The log of the GCS that runs in this container, as seen from this host."""
    root = root_of(container)
    try:
        target = os.readlink(root / SESSION)  # the full path inside the container
    except (OSError, TypeError):
        return None
    return root / target.lstrip("/") / "logs" / "gcs_server.out"


def registered(container):
    """Times (wall clock) at which nodes were registered in the GCS of this container; read from its
    log, so that the reading costs the instance nothing.
    """
    path = gcs_log(container)
    if path is None or not path.exists():
        return []
    with open(path, encoding="utf-8", errors="replace") as stream:
        return [log_time(line) for line in stream if "Registering new node" in line]


def ssh_counts(bed):
    """{instance: (connections, sessions)} of running instances."""
    return {n["id"]: (n["connections"], n["sessions"]) for n in bed.ps()["nodes"]
            if n["state"] == "running"}


def ssh_times(bed, instance):
    """[(time, line)] of a machine's sshd."""
    rows = []
    for line in bed.ssh(instance)["log"].splitlines():
        when, _, text = line.partition(" ")
        try:
            rows.append((float(when), text))
        except ValueError:
            continue
    return rows


def in_machine(instance, *words, user="ubuntu", seconds=60, check=True, text=None):
    """stdout of a command on an instance, without ssh, so that it is not counted."""
    done = subprocess.run(["docker", "exec", *(["-i"] if text is not None else []), "-u", user,
                           "-w", "/home/ubuntu", "-e", "HOME=/home/ubuntu", f"bed-{instance}",
                           *words], capture_output=True, text=True, timeout=seconds, check=False,
                          input=text)
    assert not check or done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


# ---- processes of an instance, seen from this host ----


def processes(instance, pattern):
    """{host pid: command line} of the processes whose command line matches."""
    words = ["docker", "top", f"bed-{instance}", "-ww", "-eo", "pid,args"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    rows = [line.split(None, 1) for line in done.stdout.splitlines()[1:]]
    return {int(row[0]): row[1] for row in rows if len(row) == 2 and re.search(pattern, row[1])}


def memory(pids):
    """(resident, private) bytes of these processes together."""
    resident = private = 0
    for pid in pids:
        text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        rows = {name: int(size) * 1024 for name, size in re.findall(r"(\w+): +(\d+) kB", text)}
        resident += rows["Rss"]
        private += rows["Private_Clean"] + rows["Private_Dirty"]
    return resident, private


def processor_seconds(pids):
    """CPU time of these processes, to the nanosecond; of their reaped children, to a hundredth of a
    second.
    """
    total = 0.0
    for pid in pids:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                total += int((task / "schedstat").read_text(encoding="ascii").split()[0]) / 1e9
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2]
        total += sum(map(int, fields.split()[13:15])) / os.sysconf("SC_CLK_TCK")
    return total
