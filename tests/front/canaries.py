"""Ten kinds of secrets in the places where users keep them, and a search for them in everything
that a cluster leaves: output of commands, command lines, files, user-data, tags. Used on the front
and on the bed.
"""

import base64
import os
import pathlib
import subprocess
import threading
import time


def canary(number):
    return f"cAnArY{number:02d}x7Qf93kLmZ"


class Canaries:
    """The secrets of a laptop with temporary AWS credentials. Each has places where it may be."""

    def __init__(self, laptop):
        self.laptop = laptop
        key = laptop.home / "users.pem"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        self.public = key.with_suffix(".pem.pub").read_text(encoding="ascii")
        self.key = key
        self.env = {
            "DOCKER_PASSWORD": canary(4), "RAY_AUTH_TOKEN": canary(5), "SSHPASS": canary(6),
            "HTTPS_PROXY": f"http://me:{canary(7)}@127.0.0.1:9", "GITHUB_TOKEN": canary(8)}
        self.secrets = {
            "AWS secret key": laptop.more["AWS_SECRET_ACCESS_KEY"],
            "AWS session token": laptop.more["AWS_SESSION_TOKEN"],
            "the user's private key": key.read_text(encoding="ascii").splitlines()[3],
            "a registry's password": canary(4), "the laptop's Ray token": canary(5),
            "a proxy's password for ssh": canary(6), "a proxy's password in a URL": canary(7),
            "a token in the environment": canary(8)}
        # The cluster file has these for nodes: on nodes they are in private files, and nowhere
        # else.
        self.on_nodes = {"a password of the provider": canary(9),
                         "an index's password in a URL": canary(10),
                         "a mounted file": canary(11)}
        self.all = {**self.secrets, **self.on_nodes}

    def put_in(self, config):
        """The cluster file with its secrets; the file that it mounts; the key pair `users`."""
        config["file_mounts"] = {"~/mounted": "./mounted"}
        config["auth"]["ssh_private_key"] = str(self.key)
        config["provider"]["security_password"] = canary(9)
        index = f"https://me:{canary(10)}@index.example/simple"
        config["setup_commands"] = [f"PIP_INDEX_URL={index} true",
                                    f"echo fetching from {index} > /dev/null"]
        for kind in config["available_node_types"].values():
            kind["node_config"] = {**kind["node_config"], "KeyName": "users"}
        self.laptop.file("mounted", canary(11))
        return config

    def check_machine(self, root, paths):
        """`paths` below `root`: a secret that a node needs is only in files that only its user can
        read, and in no log; no other secret is in any file.
        """
        for path in paths:
            data, inside = path.read_bytes(), path.relative_to(root)
            found = hits(data, self.on_nodes)
            closed = any((root / p).stat().st_mode & 0o077 == 0
                         for p in [inside, *inside.parents] if str(p) not in OPEN)
            assert not hits(data, self.secrets), inside
            assert not found or closed or inside.name == "mounted", (found, inside)
            assert not found or "log" not in inside.parts, (found, inside)


OPEN = (".", "home", "home/ubuntu")  # their members are searched one by one


class Sampler(threading.Thread):
    """Record the command lines of all processes, and the environment of ssh and rsync,
    continuously.
    """

    def __init__(self):
        super().__init__(daemon=True)
        self.words, self.variables, self.is_over = set(), set(), False
        self.start()

    def run(self):
        while not self.is_over:
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    words = pathlib.Path("/proc", pid, "cmdline").read_bytes()
                    self.words.add(words)
                    if words.startswith((b"ssh\0", b"rsync\0")):
                        self.variables.add(pathlib.Path("/proc", pid, "environ").read_bytes())
                except OSError:
                    pass
            time.sleep(0.01)

    def end(self):
        self.is_over = True
        self.join()
        assert len(self.words) > 20
        return b"\n".join(self.words | self.variables)


def forms(secret):
    text = secret.encode()
    return [text, base64.b64encode(text)[:-4], text[::-1]]


def hits(data, secrets):
    return {name for name, secret in secrets.items() if any(f in data for f in forms(secret))}


def is_readable(path):
    return path.is_file() and not path.is_symlink() and path.stat().st_size < 32 << 20


def files_below(folder):
    return filter(is_readable, folder.rglob("*"))


def check_files(folder, secrets):
    for path in files_below(folder):
        assert not hits(path.read_bytes(), secrets), path
