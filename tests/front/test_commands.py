"""Commands of ray up's users on whole clusters without containers."""

import json
import re
import subprocess
import sys
import time

from cloud import settings as front_settings
from front import wait_for


def fewer(config, workers):
    """The same file with another min_workers."""
    changed = json.loads(json.dumps(config))
    changed["available_node_types"]["worker"]["min_workers"] = workers
    return changed


def test_copy_to_all_nodes_and_keep_min_workers(front):
    laptop = front.laptop()
    config = front.cluster("demo", workers=3)
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    laptop.file("data/a b.txt", "new\n")
    # A worker without a known host key does not stop the others, nor the head.
    known = "/home/ubuntu/.shoal/cluster/known_hosts"
    strange = next(m for m in front.alive("demo") if m.kind == "worker")
    front.head("demo").run("mv", f"{known}/{strange.id}", f"{known}/aside")
    done = laptop.run("rsync-up", "-A", file, "data/a b.txt", "~/early.txt")
    assert done.status == 1 and "does not know its host key" in done.err, done
    have = {m.id for m in front.alive("demo") if (m.home / "early.txt").exists()}
    assert have == {m.id for m in front.alive("demo")} - {strange.id}
    front.head("demo").run("mv", f"{known}/aside", f"{known}/{strange.id}")
    laptop("rsync-up", "-A", file, "./data/", "~/new folder/data/")
    for machine in front.alive("demo"):
        assert (machine.home / "new folder/data/a b.txt").read_text() == "new\n", machine.kind
    # A worker that cannot be reached does not stop the others; the exit status says so.
    broken = next(m for m in front.alive("demo") if m.kind == "worker")
    broken.run("sudo", "-n", "rm", "/home/ubuntu/.ssh/authorized_keys")
    laptop.file("one.txt", "one\n")
    done = laptop.run("rsync-up", "--all-nodes", file, "one.txt", "~/one.txt")
    assert done.status != 0 and "not copied to worker-" in done.err, done
    have = {m.id for m in front.alive("demo") if (m.home / "one.txt").exists()}
    assert have == {m.id for m in front.alive("demo")} - {broken.id}

    # Ray's meaning: min_workers of the file stay.
    laptop.file("cluster.yaml", fewer(config, 1))
    done = laptop("down", "-y", "--workers-only", "--keep-min-workers", file)
    assert "terminated 2 instances; kept 1 worker" in done.err, done
    assert sorted(m.kind for m in front.alive("demo")) == ["head", "worker"]
    done = laptop("down", "-y", "--keep-min-workers", "-o", "json", file)
    said = json.loads(done.out)
    assert (said["terminated_instances"], said["kept_instances"]) == (1, 1)
    assert [m.kind for m in front.alive("demo")] == ["worker"]
    laptop("down", "-y", file)
    assert front.remains() == {}
    done = laptop.run("down", "-y", "--keep-min-workers", "demo", "--region", "us-west-2")
    assert done.status == 2 and "needs the cluster file" in done.err


# A proxy for ssh: `proxy ID` connects to the address in the file addresses/ID next to it.
PROXY = """#!/usr/bin/env python3
import pathlib, socket, sys, threading
here = pathlib.Path(__file__).parent
with open(here / "asked", "a") as log:
    log.write(sys.argv[1] + "\\n")
address = (here / "addresses" / sys.argv[1]).read_text()
there = socket.create_connection((address, 22))
def up():
    while chunk := sys.stdin.buffer.raw.read(65536):
        there.sendall(chunk)
    there.shutdown(socket.SHUT_WR)
threading.Thread(target=up, daemon=True).start()
while chunk := there.recv(65536):
    sys.stdout.buffer.raw.write(chunk)
"""


def test_changed_mounts_are_copied_to_running_workers(front):
    """file_mounts_sync_continuously: Ray on the worker keeps running."""
    laptop = front.laptop()
    (laptop.here / "code").mkdir()
    (laptop.here / "code" / "old.py").write_text("1\n")
    content = front.cluster("demo", workers=1, file_mounts_sync_continuously=True,
                            file_mounts={"/home/ubuntu/code": "code"},
                            rsync_exclude=["*.tmp"], rsync_filter=[".ignore"])
    file = laptop.file("cluster.yaml", content)
    laptop("up", "-y", file)
    head, worker = front.head("demo"), next(m for m in front.alive("demo") if m.kind == "worker")
    assert (worker.home / "code" / "old.py").read_text() == "1\n"
    raylets = {pid for pid, line in worker.processes().items() if "raylet" in line}
    for text in ("2\n", "3\n"):
        word = text.strip()
        head.run("sh", "-c", f"echo {word} > ~/code/old.py; echo {word} > ~/code/new")
        wait_for(lambda text=text: (worker.home / "code" / "new").exists() and
                 (worker.home / "code" / "new").read_text() == text and
                 (worker.home / "code" / "old.py").read_text() == text, 60, 0.2, "the copy")
    assert raylets == {pid for pid, line in worker.processes().items() if "raylet" in line}
    head.run("sh", "-c", "echo '*.log' > ~/code/.ignore")
    wait_for((worker.home / "code" / ".ignore").exists, 60, 0.2, "the copy")
    # Files may change all the time: the log has one line for several copies.
    said = (head.home / ".shoal" / "cluster" / "service.log").read_text(encoding="utf-8")
    assert said.count("copying changed file mounts") == 1, said
    # Files that are not copied cause no copy, which would fail here.
    worker.run("sh", "-c", "mv ~/code ~/moved; touch ~/code")
    head.run("sh", "-c", "for n in 1 2 3; do echo $n > ~/code/x.tmp; "
                         "echo $n > ~/code/y.log; sleep 4; done")
    assert "could not be copied" not in laptop("events", file).out
    # A copy that fails ends no worker, and is reported.
    head.run("sh", "-c", "echo 4 > ~/code/new")
    wait_for(lambda: "changed file mounts could not be copied" in laptop("events", file).out, 60,
             0.5, "the event")
    assert [m.id for m in front.alive("demo") if m.kind == "worker"] == [worker.id]
    laptop("down", "-y", file)
    assert front.remains() == {}


def test_a_proxy_that_finds_instances_by_their_id(front):
    """As AWS Session Manager does: ssh gets the id of the instance, not an address."""
    laptop = front.laptop()
    proxy = laptop.file("proxy", PROXY)
    proxy.chmod(0o755)
    config = front.cluster("byid", workers=1)
    config["auth"].update(ssh_proxy_command=f"{proxy} %h", ssh_proxy_use_node_id=True)
    file = laptop.file("cluster.yaml", config)
    (laptop.here / "addresses").mkdir()
    child = laptop.start("up", "-y", file)
    made = wait_for(lambda: [m for m in front.alive("byid") if m.kind == "head" and m.public], 60)
    (laptop.here / "addresses" / made[0].id).write_text(made[0].public)
    _, err = child.communicate(timeout=120)
    assert child.returncode == 0, err
    head = front.head("byid")
    assert laptop("exec", file, "echo there").out == "there\n"
    assert set((laptop.here / "asked").read_text().split()) == {head.id}
    # An address is still an address.
    assert laptop("get-head-ip", file).out.strip() == head.public
    laptop("down", "-y", file)
    assert front.remains() == {}


AWS_PROGRAM = """#!/bin/sh
[ "$*" = "ssm start-session --target $4 --document-name AWS-StartSSHSession \\
--parameters portNumber=22 --region us-west-2" ] || { echo "called as: $*" >&2; exit 9; }
exec "${0%/*}/../proxy" "$4"
"""
LOOK = """import boto3, json
ec2, iam = boto3.client("ec2"), boto3.client("iam")
groups = [g for g in ec2.describe_security_groups()["SecurityGroups"] if "shoal" in g["GroupName"]]
role = [r["RoleName"] for r in iam.list_roles()["Roles"] if "shoal" in r["RoleName"]][0]
name = iam.list_role_policies(RoleName=role)["PolicyNames"][0]
policy = iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
print(json.dumps([[p for g in groups for p in g["IpPermissions"]], policy], default=str))
"""


def test_a_head_behind_session_manager(front):
    """access: ssm: ssh goes through the AWS CLI, here a stand-in, and no port is open."""
    laptop = front.laptop()
    config = front.cluster("closed", workers=1)
    config["metadata"] = {"shoal": {"access": "ssm"}}
    file = laptop.file("cluster.yaml", config)
    folder = laptop.here / "programs"
    folder.mkdir()
    bare = {"PATH": f"{folder}:/usr/sbin:/usr/bin:/sbin:/bin"}
    done = laptop.run("check", file, env=bare)
    assert done.status == 1 and "needs the program session-manager-plugin" in done.out, done
    for name, text in (("proxy", PROXY), ("programs/aws", AWS_PROGRAM),
                       ("programs/session-manager-plugin", "#!/bin/sh\n")):
        laptop.file(name, text).chmod(0o755)
    (laptop.here / "addresses").mkdir()
    child = laptop.start("up", "-y", file, env=bare)
    made = wait_for(lambda: [m for m in front.alive("closed") if m.kind == "head" and m.public], 60)
    (laptop.here / "addresses" / made[0].id).write_text(made[0].public)
    out, err = child.communicate(timeout=200)
    assert child.returncode == 0, out + err
    head = front.head("closed")
    assert laptop("exec", file, "echo there", env=bare).out == "there\n"
    assert set((laptop.here / "asked").read_text().split()) == {head.id}
    config_text = laptop("ssh-config", "--print", file, env=bare).out
    assert f"HostName {head.id}\n" in config_text
    assert "ProxyCommand aws ssm start-session --target %h" in config_text
    rules, policy = json.loads(laptop.run("-c", LOOK, program=sys.executable).out)
    assert rules and not any(rule["IpRanges"] or rule["Ipv6Ranges"] for rule in rules), rules
    actions = [s["Action"] for s in policy["Statement"] if s["Sid"] == "SessionManager"]
    assert "ssmmessages:OpenDataChannel" in actions[0]
    laptop("down", "-y", file, env=bare)
    assert front.remains() == {}


IMPORT = """import boto3, sys
boto3.client("ec2", "us-west-2").import_key_pair(
    KeyName="team", PublicKeyMaterial=open(sys.argv[1], "rb").read())
"""


def team_cluster(front, laptop):
    """A file with a key that every laptop can read."""
    key = laptop.folder / "team"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    laptop("-c", IMPORT, f"{key}.pub", program=sys.executable)
    config = front.cluster("team", workers=1)
    config["auth"]["ssh_private_key"] = str(key)
    for kind in config["available_node_types"].values():
        kind["node_config"] = {**kind["node_config"], "KeyName": "team"}
    return config


def test_a_teammate_uses_the_cluster(front):
    """Another machine with credentials, the file and the file's key; then with the cluster's key.

    The head's host key is verified from the first connection on: it is in a tag of the head.
    """
    alice, bob = front.laptop("alice"), front.laptop("bob")
    config = team_cluster(front, alice)
    alices = alice.file("cluster.yaml", config)
    bobs = bob.file("cluster.yaml", config)
    alice("up", "-y", alices)
    wait_for(lambda: front.head("team").tag("shoal-host-key"), 20, 0.1, "the tag")  # eventual
    head = front.head("team")
    assert head.tag("shoal-host-key").startswith("ssh-ed25519 ")
    assert "@" in head.tag("shoal-started-from")

    assert bob("exec", bobs, "echo hello").out == "hello\n"
    assert "worker" in bob("status", bobs).out
    # The cluster's own key stays with alice; an error names the machine, and nothing changes.
    before = front.alive()
    done = bob.run("up", "-y", bobs)
    assert done.status == 1 and head.tag("shoal-started-from") in done.err, done
    assert "shoal key export" in done.err and bob.leftovers() == []
    assert [m.id for m in front.alive()] == [m.id for m in before]
    done = bob.run("rsync-up", "-A", bobs, "cluster.yaml", "~/x")
    assert done.status == 1 and "own key" in done.err

    wrong = bob.file("other.yaml", {**config, "cluster_name": "other"})
    exported = alice("key", "export", alices).out
    assert "PRIVATE KEY" in exported
    key_file = alice.folder / "exported.key"
    key_file.write_text("")
    key_file.chmod(0o644)
    into = 'exec "$0" key export "$1" > "$2"'
    # The shell has made the file: who opened it already would read the key.
    done = alice.run("-c", into, front.program, alices, key_file, program="sh")
    assert done.status == 2 and "-o cluster.key" in done.err and key_file.read_text() == ""
    key_file.chmod(0o600)
    alice("-c", into, front.program, alices, key_file, program="sh")
    assert key_file.read_text() == exported
    done = alice.run("key", "export", alices, "-o", key_file)
    assert done.status == 1 and "File exists" in done.err
    alice("-c", 'umask 0; exec "$0" key export "$1" -o "$2"', front.program, alices, "new.key",
          program="sh")
    made = alice.here / "new.key"
    assert made.read_text() == exported and made.stat().st_mode & 0o777 == 0o600
    done = bob.run("key", "import", wrong, "-", text=exported)
    assert done.status == 1 and "another cluster" in done.err
    for cut in (exported[:200], exported[:-40], "nothing"):
        done = bob.run("key", "import", bobs, "-", text=cut)
        assert done.status == 1 and bob.run("key", "export", bobs).status == 1
    bob("key", "import", bobs, "-", text=exported)
    assert bob("key", "export", bobs).out == exported
    bob("rsync-up", "-A", bobs, "cluster.yaml", "~/x")
    bob("up", "-y", bobs)
    assert [m.id for m in front.alive()] == [m.id for m in before]
    assert alice("exec", alices, "echo still").out == "still\n"
    bob("down", "-y", bobs)
    assert front.remains().keys() <= {"keys"}
    assert bob.leftovers() == []


def test_ssh_and_the_machine_without_a_key(front):
    """ssh NAME; and a machine that has neither the cluster's key nor one of the file."""
    alice, bob = front.laptop("alice"), front.laptop("bob")
    file = alice.file("cluster.yaml", front.cluster("demo", workers=0))
    alice("up", "-y", file)
    (alice.home / ".ssh").mkdir(mode=0o700)
    (alice.home / ".ssh/config").write_text("Host other\n  User me\n")
    printed = alice("ssh-config", "--print", file).out
    assert printed.splitlines()[1] == "Host demo" and alice.leftovers()
    alice("ssh-config", "--include", file)
    alice("ssh-config", "--include", file)
    text = (alice.home / ".ssh/config").read_text()
    assert text.count("Include ") == 1 and text.endswith("Host other\n  User me\n"), text
    # ssh reads the configuration of the user in the password file, not of $HOME.
    said = alice("-F", alice.home / ".ssh/config", "demo", "echo here", program="ssh")
    assert said.out == "here\n"

    bobs = bob.file("cluster.yaml", front.cluster("demo", workers=0))
    done = bob.run("exec", bobs, "true")
    assert done.status == 1 and "shoal key export demo" in done.err, done
    assert front.head("demo").tag("shoal-started-from") in done.err
    alice("down", "-y", file)
    assert front.remains() == {} and alice.leftovers() == []


def test_a_stopped_cluster_starts_again(front):
    """The same head and workers, also after a kill in the middle of either command."""
    laptop = front.laptop()
    config = front.cluster("night", workers=1, setup_commands=["echo again >> ~/setup"])
    config["provider"].pop("cache_stopped_nodes")
    file = laptop.file("cluster.yaml", config)
    done = laptop.run("start", file)
    assert done.status == 1 and "shoal up" in done.err and front.machines() == []
    laptop("up", "-y", file)
    before = [m.id for m in front.alive("night")]

    def states():
        return {m.id: m.state for m in front.machines("night")}

    child = laptop.start("stop", "-y", file)  # killed as soon as the first instance stops
    wait_for(lambda: "running" not in list(states().values())[:1] or child.poll() is not None, 60)
    laptop.stop(child)
    assert "stopped 2 instances and kept their disks" in laptop("stop", "-y", file).err
    assert states() == dict.fromkeys(before, "stopped")
    assert "stopped" in laptop("ls").out

    for point in ("after-head-start", "after-request"):
        done = laptop.run("start", file, env={"SHOAL_FAILPOINT": f"start:{point}"})
        assert done.status == -9, f"{point} was not reached: {done}"
    laptop("start", file)
    assert sorted(m.id for m in front.alive("night")) == sorted(before)
    assert sorted(states()) == sorted(before)
    for machine in front.alive("night"):
        assert (machine.home / "setup").read_text() == "again\n"
    laptop("start", file)  # nothing to do
    # Tags are shown late: the cloud still shows the lease of `stop`, which is over.
    front.set(tag_lag=5)
    laptop("stop", "-y", file)
    laptop("start", file)
    front.set(tag_lag=0.1)
    laptop("down", "-y", file)
    assert front.remains() == {}


def test_a_cluster_that_is_stopped_for_too_long(front):
    """With idle_terminate: `ls` flags it, `gc` terminates it, unless it was started again."""
    laptop = front.laptop()
    config = front.cluster("old", workers=0)
    config["provider"].pop("cache_stopped_nodes")
    config["metadata"] = {"shoal": {"idle_terminate": "1s"}}
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    head = front.head("old").id
    laptop("stop", "-y", file)
    time.sleep(1.2)
    listed = laptop("ls").out
    assert "stopped" in listed and re.search(r"expired \d+s ago: shoal gc", listed), listed
    assert head in laptop("gc").out
    laptop("start", file)
    assert "expired" not in laptop("ls").out and head not in laptop("gc", "--delete", "-y").out
    assert front.head("old").id == head
    # The time of the stop does not count for a later one, in whatever way it happens.
    wait_for(lambda: front.head("old").tag("shoal-stopped") == "", 20, 0.1, "an empty tag")
    laptop("stop", "-y", file)
    time.sleep(1.2)
    laptop("gc", "--delete", "-y")
    assert front.remains() == {}


# Works on the head from the moment it can, until the file ~/done is there.
USER = """import os, subprocess, time
line = "until [ -e ~/done ]; do sleep 0.2; done"
while subprocess.run([os.environ["SHOAL"], "exec", "cluster.yaml", line]).returncode:
    time.sleep(0.3)
"""


def test_an_idle_cluster_with_a_user(front):
    """A command over ssh keeps it running, and `status` and `explain` say so."""
    laptop = front.laptop()
    config = front.cluster("quiet", workers=0)
    config["metadata"] = {"shoal": {"idle_stop": 0.05, "idle_terminate": "14d"}}
    file = laptop.file("cluster.yaml", config)
    child = laptop.start("up", "-y", file)
    head = wait_for(lambda: [m for m in front.alive("quiet") if m.kind == "head" and m.public], 60)
    user = laptop.start("-c", USER, program=sys.executable, env={"SHOAL": str(front.program)})
    _, err = child.communicate(timeout=120)
    assert child.returncode == 0, err

    def said():
        return "kept running by 1 ssh session on the head" in laptop.run("status", file).out

    wait_for(said, 30, 0.5, "the reason")
    assert "kept running by 1 ssh session" in laptop("explain", file).out
    assert front.head("quiet").id == head[0].id and not front.head("quiet").tag("shoal-stopped")
    laptop("exec", file, "touch ~/done")
    user.communicate(timeout=60)
    laptop("down", "-y", file)
    assert front.remains() == {}


def test_the_dump_has_no_secrets(front):
    """Planted in the file, the environment, the head's logs and its commands. The login prints
    lines of its own, before the token is known.
    """
    laptop = front.laptop()
    config = front.cluster("dump", workers=1, setup_commands=[
        "export MY_PASSWORD=plantedOne123; echo password=plantedTwo456"])
    config["head_start_ray_commands"].append(
        "mkdir -p /tmp/ray/session_latest/logs; "
        "echo MY_TOKEN=plantedThree789 > /tmp/ray/session_latest/logs/x.log; "
        "cat ~/ray_bootstrap_key.pem ~/.ray/auth_token >> /tmp/ray/session_latest/logs/x.log; "
        "echo harmless-line >> /tmp/ray/session_latest/logs/x.log")
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    laptop.file("files/fake/docker", "#!/bin/sh\nexport HOME=~/files/inside\n"
                'echo in-container $1 $2 $3; shift 3\nexec "$@"\n')
    (laptop.here / "files/fake/docker").chmod(0o755)
    laptop.file("files/inside/.ray/auth_token", "plantedFour012\n")
    laptop.file("files/inside/.bashrc", "cat ~/.ray/auth_token\n")
    laptop("rsync-up", file, "./files/", "~/files/")
    rc = front.head("dump").home / ".bashrc"
    login = rc.read_text() if rc.exists() else ""
    rc.write_text("echo hello; cat ~/.ray/auth_token; printf greeting\n"
                  f"{login}\nexport PATH=~/files/fake:$PATH\n")
    laptop("cluster-dump", "-o", "dump.txt", file)
    dump = laptop.here / "dump.txt"
    text = dump.read_text()
    assert dump.stat().st_mode & 0o777 == 0o600
    folder = laptop.record("secret").parent
    token = (front.head("dump").home / ".ray/auth_token").read_text().strip()
    secrets = ["plantedOne123", "plantedTwo456", "plantedThree789", token,
               (folder / "secret").read_text().strip(), laptop.more["AWS_SECRET_ACCESS_KEY"],
               *(folder / "key").read_text().split("\n")[1:-2]]
    assert len(token) > 8 and "hello" in laptop("exec", file, "true").out
    for secret in secrets:
        assert secret not in text, secret
    assert "hello" not in text and "greeting" not in text
    for there in ("harmless-line", "ctl --ask events ====", "cluster_name: dump", "worker-1",
                  "==== processes ===="):
        assert there in text, there
    laptop("cluster-dump", "--no-logs", "--no-processes", "--no-pip", "--host", "x", file)
    less_dump, = laptop.here.glob("dump-dump-*.txt")
    less = less_dump.read_text()
    assert "x.log ====" in text and "x.log ====" not in less and "==== processes" not in less
    # With a container, Ray's parts come from there; the container's token is masked, too.
    docker = {"image": "an-image", "container_name": "ray"}
    laptop("cluster-dump", "-o", "docker.txt", laptop.file("docker.yaml", {**config,
                                                                         "docker": docker}))
    text = (laptop.here / "docker.txt").read_text()
    host, _, ray = text.partition("in-container exec -i ray\n")
    assert "==== machine of the head" in host and "x.log ====" not in host
    assert "*harmless-line\n" in ray and "==== Python packages" in ray and "processes ==" in ray
    assert "plantedFour012" not in text and token not in text
    # A login that ends before the script runs.
    rc.write_text("cat ~/.ray/auth_token; exit 0\n")
    done = laptop.run("cluster-dump", "-o", "none.txt", file)
    text = (laptop.here / "none.txt").read_text()
    assert done.status == 1 and "no line shoal-dump" in text and token not in text, done
    rc.write_text(login)
    laptop("down", "-y", file)
    done = laptop.run("cluster-dump", "-o", "gone.txt", file)
    assert done.status == 1 and "not reached" in (laptop.here / "gone.txt").read_text()


SERVE = """import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"203.0.113.9")
server = http.server.HTTPServer(("127.0.0.1", 9099), Handler)
print("ready", flush=True)
server.serve_forever()
"""


def test_a_laptop_with_a_new_address(front):
    """ssh does not answer: the laptop allows its new address in the cluster's group, and says so.
    Rules of other machines stay.
    """
    laptop = front.laptop()
    file = laptop.file("cluster.yaml", front.cluster("moved", workers=0))
    laptop("up", "-y", file)
    server = front.popen([sys.executable, "-c", SERVE], {}, stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "ready\n"
    head = front.head("moved")
    here = [front_settings.GATEWAY, front_settings.LAPTOP]

    def route(what):
        for address in here:
            head.run("sudo", "-n", "ip", "route", what, "blackhole", f"{address}/32", check=False)

    def rules():
        return front.calls(action="AuthorizeSecurityGroupIngress")

    before = len(rules())
    assert "new address" not in laptop("exec", file, "true").err
    assert len(rules()) == before  # a head that answers costs no call
    route("add")
    env = {"SHOAL_CALLER_URL": "http://127.0.0.1:9099/"}
    child = laptop.start("exec", file, "echo back", env=env)
    wait_for(lambda: len(rules()) > before, 30, 0.05, "the rule")
    route("del")
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (0, "back\n"), err
    assert "ssh from 203.0.113.9/32 is allowed now" in err
    assert "the next shoal up removes rules of other addresses" in " ".join(err.split())
    assert not front.calls(action="RevokeSecurityGroupIngress")
    laptop("down", "-y", file)
    assert front.remains() == {}


def test_a_head_that_ssh_does_not_reach(front):
    """The rule may be for another address than the one that ssh comes from: say which one it is."""
    laptop = front.laptop()
    front.launch_fault("no-sshd", type="m5.large", count=0)
    file = laptop.file("cluster.yaml", front.cluster("far", workers=0))
    done = laptop.run("up", "-y", file, env={"AUTOSCALER_NODE_START_WAIT_S": "20"})
    assert done.status == 1, done
    assert re.search(r"yet\. sg-\w+ allows ssh from [\d.]+/32: if your ssh leaves", done.err), done
    laptop("down", "-y", file)


def test_stopped_workers_are_billed(front):
    """Idle workers are terminated; only `stop` keeps them, and `start` may not need all of them."""
    laptop = front.laptop()
    config = front.cluster("kept", workers=1)
    file = laptop.file("cluster.yaml", config)
    laptop("up", "-y", file)
    assert "stopped worker" not in laptop("status", file).out
    laptop("stop", "-y", file)
    laptop.file("cluster.yaml", fewer(config, 0))
    laptop("up", "-y", file)
    wait_for(lambda: "1 stopped worker is kept for the next scale-up: disks are billed"
             in laptop("status", file).out, 60, 0.5, "the sentence about disks")
    assert json.loads(laptop("status", "-o", "json", file).out)["stopped_workers"] == 1
    laptop("down", "-y", "--terminate", file)
    assert front.remains() == {}
