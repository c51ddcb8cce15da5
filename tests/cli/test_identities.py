"""Every command that takes a cluster file, with the credentials of another account, with none, with
expired ones, and with the file of another region: none of them changes anything of the cluster,
in the cloud or on this machine, and each says what is wrong.

SHOAL_UPDATE_GOLDEN=1 with `-m ""` writes docs/results/2026-11-19-identities.md.
"""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from moto_cloud import ACCOUNT, REGION, Cloud
from moto_cluster import FILE, things
from test_owner import OTHER, TIMES, state_of

ELSEWHERE = "eu-west-1"
RESULTS = pathlib.Path(__file__).resolve().parents[2] / "docs/results/2026-11-19-identities.md"

COMMANDS = [
    "plan FILE", "submit FILE s.py", "exec FILE true", "exec --start FILE true",
    "exec --stop FILE true", "attach FILE", "rsync-up FILE s.py ~/s.py", "rsync-down FILE ~/s.py s",
    "dashboard FILE", "notebook FILE", "ssh-config FILE", "ssh-config --include FILE",
    "request-resources --num-cpus 1 FILE", "status FILE", "status -o json FILE", "explain FILE",
    "events FILE", "logs FILE head", "monitor FILE", "cluster-dump FILE", "get-head-ip FILE",
    "get-worker-ips FILE", "train FILE -f s.py", "train status FILE s", "train logs FILE s",
    "train fetch FILE s there", "down -y FILE", "down -y --workers-only FILE",
    "down -y --terminate FILE", "down -y -o json FILE", "stop -y FILE", "start FILE",
]
# What differs by the identity is in these; the others are in the suite `long`.
QUICK = ["plan FILE", "exec FILE true", "status FILE", "down -y FILE", "stop -y FILE", "start FILE",
         "ssh-config --include FILE", "exec --start FILE true", "train status FILE s"]
IDENTITIES = ["other account", "no credentials", "expired credentials", "other region"]


class Scene:
    """The cluster of one account, made once; nothing may change it."""

    def __init__(self, cloud, home, folder, run_shoal):
        self.cloud, self.home, self.folder, self.run = cloud, home, folder, run_shoal
        self.other, self.expired = cloud.account(OTHER), cloud.account(ACCOUNT)
        cloud.expired.add(self.expired.keys["aws_access_key_id"])
        self.records = home / ".local" / "state" / "shoal"

    def environment(self, identity):
        if identity == "other account":
            return self.other.environment
        if identity == "expired credentials":
            return self.expired.environment
        if identity == "no credentials":
            names = ("AWS_ENDPOINT_URL", "AWS_MAX_ATTEMPTS", "SHOAL_CALLER_URL")
            return {**{name: self.cloud.environment[name] for name in names},
                    "AWS_EC2_METADATA_DISABLED": "true"}
        return self.cloud.environment

    def command(self, command, identity):
        file = "y.yaml" if identity == "other region" else "x.yaml"
        words = [file if word == "FILE" else word for word in command.split()]
        return self.run(words, self.environment(identity))

    def state(self):
        """What a command must not change: both accounts, the records, and ~/.ssh."""
        return {"cloud": things(self.cloud), "other": things(self.other),
                "records": state_of(self.records), "ssh": state_of(self.home / ".ssh"),
                "folders": sorted(path.name for path in self.records.iterdir())}


@pytest.fixture(scope="module")
def scene(tmp_path_factory, program):
    base = tmp_path_factory.mktemp("identities")
    home, folder, payloads = (base / name for name in ("home", "here", "payloads"))
    for path in (home, folder, payloads, home / ".ssh"):
        path.mkdir(mode=0o700)
    for arch in ("x86_64", "aarch64"):
        shutil.copy(program, payloads / f"shoal-{arch}")
    (folder / "x.yaml").write_text(FILE)
    (folder / "y.yaml").write_text(FILE.replace(REGION, ELSEWHERE))
    (folder / "s.py").write_text("print('hello')\n")

    def run(words, environment):
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C.UTF-8",
               "SHOAL_PAYLOADS": str(payloads), "SHOAL_TEST_TIMES": TIMES, **environment}
        return subprocess.run([program, *words], cwd=folder, env=env, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                              timeout=60)

    with Cloud() as cloud:
        cloud.reset()
        done = run(["up", "-y", "x.yaml"], {**cloud.environment,
                                            "SHOAL_FAILPOINT": "up:after-head-launch"})
        assert done.returncode == -9 and len(cloud.living()) == 1, done.stderr
        yield Scene(cloud, home, folder, run)


def said(done):
    """The line that says what is wrong."""
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    wrong = [line for line in lines if re.match(r"shoal: error|error:", line)]
    line = (wrong or [line for line in lines if line.startswith("No cluster")] or lines or [""])[-1]
    return re.sub(r"^shoal: ", "", line)


def check(scene, command, identity):
    before = scene.state()
    done = scene.command(command, identity)
    assert scene.state() == before, (command, identity, done.stderr)
    text = done.stderr + done.stdout
    assert "nothing is left" not in text and '"nothing_left": true' not in text, text
    if identity == "other account" and command != "plan FILE":
        assert done.returncode == 1, text
        assert f"account {OTHER} has no cluster demo" in text, text
        assert f"of account {ACCOUNT}" in text, text
    elif identity == "other account":
        assert f"knows a cluster demo of account {ACCOUNT}" in text, text
    elif identity in ("no credentials", "expired credentials"):
        assert done.returncode in (1, 2), text
        assert "redentials" in text or "xpired" in text, text
    return done.returncode, said(done)


PAIRS = [(command, identity) for command in COMMANDS for identity in IDENTITIES
         if (command, identity) != ("exec --start FILE true", "other region")]  # makes one there


@pytest.mark.parametrize("command, identity", [pair for pair in PAIRS if pair[0] in QUICK])
def test_nothing_of_another_owner_is_changed(scene, command, identity):
    check(scene, command, identity)


def page(rows):
    table = "\n".join(f"| `{command}` | {identity} | {status} | {text} |"
                      for command, identity, status, text in rows)
    return f"""# Commands with the wrong credentials, 2026-11-19

`tests/cli/test_identities.py` against moto, two accounts in one process: the cluster `demo` of
account {ACCOUNT} runs, and this machine has its records. Each command ran with credentials of
account {OTHER}, without credentials, with expired ones, and with the same file but another region.
After each one, the resources of both accounts, every file of the records and `~/.ssh` were the same
as before. The last column is the line with the error. Nothing here has touched AWS.

| command | identity | exit status | message |
|---|---|---:|---|
{table}
"""


@pytest.mark.long
def test_every_command_with_every_identity(scene):
    rows = []
    for command, identity in PAIRS:
        status, text = check(scene, command, identity)
        text = text.replace(str(scene.home), "~").replace("|", "\\|")
        rows.append((command.replace("FILE", "cluster.yaml"), identity, status,
                     re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)))
    if os.environ.get("SHOAL_UPDATE_GOLDEN") == "1":
        RESULTS.write_text(page(rows))
