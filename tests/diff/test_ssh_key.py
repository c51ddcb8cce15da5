"""Our ssh keys against ssh-keygen, and a machine's user-data against Python's mail parser, which is
the one of cloud-init."""

import email
import gzip
import os
import pathlib
import random
import subprocess

import pytest
import yaml

BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD") or
                     pathlib.Path(__file__).resolve().parents[2] / "build").resolve()
PROBE = BUILD / "tests" / "first_boot_probe"
SECRET = "a secret of thirty-two bytes or more"
EC2_BYTES_MAX = 16384
TYPES = {"#!": "text/x-shellscript", "#cloud-config": "text/cloud-config",
         "#include": "text/x-include-url", "#cloud-boothook": "text/cloud-boothook",
         "#include-once": "text/x-include-once-url", "#part-handler": "text/part-handler",
         "#cloud-config-archive": "text/cloud-config-archive",
         "## template: jinja": "text/jinja2", "\n #Cloud-Config": "text/cloud-config"}


def ask(what, launch=1, secret=SECRET, given=b"", check=True):
    done = subprocess.run([PROBE, what, secret, str(launch)], input=given, capture_output=True,
                          timeout=300, check=False)
    assert (done.returncode == 0) is check, done.stderr
    return done.stdout if check else done.stderr.decode()


def keygen(*words):
    return subprocess.run(["ssh-keygen", *map(str, words)], capture_output=True, text=True,
                          timeout=300, check=True, stdin=subprocess.DEVNULL).stdout


def parts_of(data):
    """[(type, bytes)] as cloud-init walks them."""
    found = []
    for part in email.message_from_bytes(data).walk():
        if not part.is_multipart():
            found.append((part.get_content_type(), part.get_payload(decode=True)))
    return found


# ---- keys ----


@pytest.mark.parametrize("launch", [0, 1, 2, 77, 2**32, 2**63 - 1])
def test_ssh_keygen_reads_our_keys(launch, tmp_path):
    private, public = tmp_path / "id", tmp_path / "id.pub"
    private.write_bytes(ask("private", launch))
    private.chmod(0o600)
    public.write_bytes(ask("public", launch) + b"\n")
    assert keygen("-y", "-f", private) == public.read_text()
    fingerprint = ask("fingerprint", launch).decode()
    for path in (private, public):
        assert keygen("-lf", path) == f"256 {fingerprint} a comment (ED25519)\n"
    assert fits(tmp_path, ask("private", launch).decode(), public.read_text())


def fits(folder, private, public):
    """Does the public key verify what the private key signed?"""
    (folder / "key").write_text(private)
    (folder / "key").chmod(0o600)
    (folder / "text").write_text("a text")
    (folder / "allowed").write_text("me " + public)
    keygen("-Y", "sign", "-f", folder / "key", "-n", "shoal", folder / "text")
    with open(folder / "text", "rb") as text:
        return subprocess.run(
            ["ssh-keygen", "-Y", "verify", "-f", folder / "allowed", "-I", "me", "-n", "shoal",
             "-s", folder / "text.sig"], stdin=text, capture_output=True, timeout=300,
            check=False).returncode == 0


def test_a_changed_private_key_does_not_fit(tmp_path):
    lines = ask("private").decode().splitlines(keepends=True)
    assert fits(tmp_path, "".join(lines), ask("public").decode() + "\n")
    (tmp_path / "text.sig").unlink()
    lines[4] = lines[4][:20] + ("A" if lines[4][20] != "A" else "B") + lines[4][21:]  # in the seed
    assert not fits(tmp_path, "".join(lines), ask("public").decode() + "\n")


def test_a_key_belongs_to_its_launch_and_cluster():
    assert ask("private", 5) == ask("private", 5)
    keys = {ask("fingerprint", launch, secret) for launch in range(20)
            for secret in (SECRET, SECRET + "!")}
    assert len(keys) == 40


def test_known_hosts_as_ssh_keygen_finds_them(tmp_path):
    path = tmp_path / "known"
    path.write_bytes(b"".join(ask(f"known-hosts=i-{n:017x}", n) for n in range(5)))
    for number in range(5):
        found = keygen("-lF", f"i-{number:017x}", "-f", path).splitlines()[-1]
        assert ask("fingerprint", number).decode() in found
    assert "byte 0x2a" in ask("known-hosts=i-*", check=False)


# ---- user-data ----


def check_ours(config, launch=1):
    told = yaml.safe_load(config)
    assert set(told) == {"ssh_deletekeys", "ssh_keys"} and told["ssh_deletekeys"] is True
    public = ask("public", launch).decode().split()[:2]
    assert told["ssh_keys"]["ed25519_public"].split() == public
    private = told["ssh_keys"]["ed25519_private"]
    assert private.startswith("-----BEGIN OPENSSH PRIVATE KEY-----\n") and private.endswith("-\n")
    assert set(told["ssh_keys"]) == {"ed25519_private", "ed25519_public"}


def test_without_user_data():
    data = ask("user-data")
    assert data.startswith(b"#cloud-config\n")
    check_ours(data)
    assert data == ask("user-data", given=b" \n")


@pytest.mark.parametrize("begin", TYPES)
@pytest.mark.parametrize("rest", [b"", b"\n", b"\necho a\n", b"\n\n--b--\n\n", b"\r\necho\r\n",
                                  "\nü\n".encode(), b"\n" + b"x" * 5000, b"\n\x00\xff",
                                  b"\nFrom me\n.\n", b"\n=20=\n"])
def test_every_form_arrives_as_it_was(begin, rest):
    given = begin.encode() + rest
    data = ask("user-data", given=given)
    (kind, text), (ours, config) = parts_of(data)
    assert (ours, kind) == ("text/cloud-config", TYPES[begin])
    check_ours(config)
    assert text == given
    # cloud-init searches for this word at the start to recognize a message.
    assert b"mime-version:" in data[:4096].lower()


def test_a_message_of_the_user_s_keeps_its_parts():
    given = (b'Content-Type: multipart/mixed; boundary="==B=="\nMIME-Version: 1.0\n\n'
             b"--==B==\nContent-Type: text/x-shellscript\n\n#!/bin/sh\ntrue\n\n"
             b"--==B==\nContent-Type: text/cloud-config; charset=\"us-ascii\"\n"
             b"Content-Transfer-Encoding: base64\n\nI2Nsb3VkLWNvbmZpZwo=\n--==B==--\n")
    found = parts_of(ask("user-data", given=given))
    check_ours(found[-1][1])
    assert found[:-1] == [("text/x-shellscript", b"#!/bin/sh\ntrue\n"),
                          ("text/cloud-config", b"#cloud-config\n")]
    assert found[:-1] == parts_of(given)


def test_a_message_of_one_part():
    for head in (b"", b"Subject: hello\n", b"From nobody Mon Jan  1 00:00:00 2026\n"):
        given = head + b"Content-Type: text/x-shellscript\nMIME-Version: 1.0\n\n#!/bin/sh\ntrue\n"
        found = parts_of(ask("user-data", given=given))
        assert found[:-1] == [("text/x-shellscript", b"#!/bin/sh\ntrue\n")]


def test_the_same_again_is_the_same():
    """A launch is repeated with its token: every byte must be the same."""
    for given in (b"", b"#!/bin/sh\n", "#cloud-config\n# ü".encode()):
        assert ask("user-data", 9, given=given) == ask("user-data", 9, given=given)


def test_random_bytes_behind_a_beginning():
    dice = random.Random(7)
    for _ in range(60):
        given = b"#!" + bytes(dice.choice(b"\r\n -=sho\xffal") for _ in range(dice.randrange(300)))
        assert parts_of(ask("user-data", given=given))[0] == ("text/x-shellscript", given)


@pytest.mark.parametrize("given, words", [
    (b"echo hello\n", "UserData does not start with a header that cloud-init knows"),
    (b"<powershell>\n</powershell>", "UserData does not start with a header that cloud-init knows"),
    (b"#!" + b"x" * EC2_BYTES_MAX, "EC2 accepts only 16384 bytes in total"),
    (b"#!" + b"\xff" * 12000, "EC2 accepts only 16384 bytes in total"),
    (gzip.compress(b"#!/bin/sh\n"), "UserData is compressed")])
def test_what_is_refused(given, words):
    assert words in ask("user-data", given=given, check=False)
