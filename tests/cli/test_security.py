"""Memory that other processes cannot read, and text that never becomes shell words."""

import datetime
import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile

import pytest

STRINGS = 20_000
USER = 61005  # an unprivileged user


# ---- memory ----


@pytest.fixture
def open_folder():
    """A folder that any user can enter, unlike pytest's."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="shoal-open-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def test_no_other_process_reads_our_memory(program, open_folder):
    """Keys are in it. What the kernel gives to root alone, it gives to no core dump either."""
    copy = shutil.copy(program, open_folder)
    user = USER if os.geteuid() == 0 else None
    with subprocess.Popen([copy, "validate", "-"], stdin=subprocess.PIPE, user=user, group=user,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
                          env={"PATH": os.environ["PATH"]}) as child:
        try:
            place = pathlib.Path(f"/proc/{child.pid}")
            while (place / "wchan").exists() and " S " not in (place / "stat").read_text():
                pass  # it starts; then it waits for the file
            assert place.stat().st_uid == (user or os.geteuid())
            assert {(place / name).stat().st_uid for name in ("mem", "environ", "maps")} == {0}
        finally:
            child.kill()


# ---- quotes ----


def strings(seed):
    """Random words: what shells give a meaning to, control characters, bytes that are no UTF-8."""
    dice = random.Random(seed)
    special = [b"'", b'"', b"\\", b"$", b"`", b"\n", b" ", b"\t", b"!", b"*", b"?", b"[", b"]",
               b"{", b"}", b"(", b")", b"<", b">", b"|", b"&", b";", b"~", b"#", b"%", b"^", b"-",
               b"=", b"\r", b"\x01", b"\x1b", b"\x7f", b"\xff", b"\xc3", b"\xe2\x80\xae",
               "é".encode(), "😀".encode(), b"$(touch made)", b"`touch made`", b"';touch made;'"]
    made = [b"", b"-", b"--", b"-n", b"\\", b"'", b"''", b"'\"'\"'", b"\n", b"~", b"~root", b"a=b"]
    while len(made) < STRINGS:
        made.append(b"".join(
            dice.choice(special) if dice.random() < 0.6 else bytes([dice.randrange(1, 256)])
            for _ in range(dice.randrange(1, 24))))
    return made


@pytest.mark.parametrize("shell", ["bash", "dash"])
@pytest.mark.parametrize("seed", [1, datetime.date.today().toordinal()], ids=["fixed", "today"])
def test_quoted_words_come_back_from_a_shell(build, need, tmp_path, shell, seed):
    words = strings(seed)
    quoted = subprocess.run([build / "tests/quote_probe"], timeout=60, check=True,
                            input=b"".join(word + b"\0" for word in words),
                            capture_output=True).stdout.split(b"\0")[:-1]
    assert len(quoted) == len(words)
    script = tmp_path / "script"
    script.write_bytes(b"".join(b"printf '%s\\0' " + word + b"\n" for word in quoted))
    done = subprocess.run([need(shell), script], capture_output=True, timeout=60, check=True,
                          cwd=tmp_path, env={"PATH": os.environ["PATH"], "HOME": "/nowhere"})
    assert done.stderr == b""
    back = done.stdout.split(b"\0")[:-1]
    wrong = [(a, b) for a, b in zip(words, back) if a != b]
    assert wrong == [] and len(back) == len(words), f"seed {seed}"
    assert not (tmp_path / "made").exists()


# ---- hostile text in files ----

EVIL = ["$(touch MADE)`touch MADE`'; touch MADE; '\"; touch MADE; \"%n%s%p",
        "-oProxyCommand=touch MADE", "a\nb: $(touch MADE)\u202etxt.exe",
        "\x1b[2J\x1b]0;owned\x07\r\x9b31m", "../../../MADE\x00b"]
NODE = {"node_config": {"InstanceType": "m5.large", "ImageId": "ami-1"}, "resources": {"CPU": 1}}
FILE = {"cluster_name": "demo", "max_workers": 1, "head_node_type": "head",
        "provider": {"type": "aws", "region": "us-west-2"}, "auth": {"ssh_user": "ubuntu"},
        "available_node_types": {"head": NODE, "worker": {**NODE, "min_workers": 1}}}


def put(*path):
    def change(config, evil):
        for name in path[:-1]:
            config = config.setdefault(name, {})
        config[path[-1]] = evil
    return change


def rename(config, evil):
    config["available_node_types"][evil] = config["available_node_types"].pop("worker")


def name_both(config, evil):
    config["available_node_types"][evil] = config["available_node_types"].pop("head")
    config["head_node_type"] = evil


HEAD = ("available_node_types", "head", "node_config")
FIELDS = {
    "cluster_name": put("cluster_name"), "head_node_type": name_both, "node type": rename,
    "provider.type": put("provider", "type"), "provider.region": put("provider", "region"),
    "provider.availability_zone": put("provider", "availability_zone"),
    "provider.security_group": lambda c, e: put("provider", "security_group")(c, {"GroupName": e}),
    "auth.ssh_user": put("auth", "ssh_user"),
    "auth.ssh_private_key": put("auth", "ssh_private_key"),
    "ImageId": put(*HEAD, "ImageId"), "InstanceType": put(*HEAD, "InstanceType"),
    "KeyName": put(*HEAD, "KeyName"), "SubnetIds": lambda c, e: put(*HEAD, "SubnetIds")(c, [e]),
    "IamInstanceProfile": lambda c, e: put(*HEAD, "IamInstanceProfile")(c, {"Name": e}),
    "Tags": lambda c, e: put(*HEAD, "TagSpecifications")(
        c, [{"ResourceType": "instance", "Tags": [{"Key": e, "Value": e}]}]),
    "resources": lambda c, e: put("available_node_types", "head", "resources")(c, {e: 1}),
    "labels": lambda c, e: put("available_node_types", "head", "labels")(c, {e: e}),
    "file_mounts": lambda c, e: put("file_mounts")(c, {e: e}),
    "cluster_synced_files": lambda c, e: put("cluster_synced_files")(c, [e]),
    "rsync_exclude": lambda c, e: put("rsync_exclude")(c, [e]),
    "rsync_filter": lambda c, e: put("rsync_filter")(c, [e]),
    "docker.image": lambda c, e: put("docker")(c, {"image": e, "container_name": e}),
    "metadata.shoal": lambda c, e: put("metadata", "shoal")(c, {e: e, "planner": e})}


@pytest.mark.parametrize("field", FIELDS)
def test_text_of_a_file_is_never_run_nor_shown_raw(program, environment, tmp_path, field):
    """By no command that reads a file; what reaches machines is in front/test_security.py."""
    quiet = {**environment, "AWS_EC2_METADATA_DISABLED": "true", "HOME": str(tmp_path),
             "XDG_STATE_HOME": str(tmp_path / "state")}
    for evil in EVIL:
        config = json.loads(json.dumps(FILE))
        FIELDS[field](config, evil)
        (tmp_path / "c.yaml").write_text(json.dumps(config), encoding="utf-8")
        for words in (["validate"], ["config"], *([["up", "-y"]] if evil in EVIL[::3] else [])):
            done = subprocess.run([program, *words, "c.yaml"], env=quiet, cwd=tmp_path,
                                  capture_output=True, timeout=30, check=False)
            assert done.returncode in (0, 1, 2), (words, evil, done)
            raw = (done.stdout + done.stderr).decode("utf-8")
            odd = {c for c in raw if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160
                   or (c == "\u202e" and words != ["config"])}  # which prints data
            assert odd == set(), (words, evil, raw)
        assert not [p for p in tmp_path.rglob("*MADE*") if "state" not in p.parts], evil
        assert not pathlib.Path("MADE").exists()
