"""The section "Start" of README.md, typed on a terminal as it is written: two commands from
`pip install` to `shoal validate`, four to a running cluster.

The wheel has the program of this build and comes from an index in the network of the front. That
program is not static, so machines get theirs from SHOAL_PAYLOADS. A person answers the question of
`up`.
"""

import os
import pathlib
import re
import subprocess
import sys
import tarfile
import time

import pytest

from front import REPOSITORY, SHOAL, wait_for

sys.path.insert(0, str(REPOSITORY / "tests" / "cli"))

import terminal  # noqa: E402
import test_readme  # noqa: E402

ARCH = os.uname().machine
SECONDS = 10  # for the first two commands
PORT = 8099
PROMPT = rb"<(\d+) ready>"


def start():
    """The commands of the section."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    section = re.search(r"^## Start\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)[1]
    return [command for command, _ in test_readme.steps(section)]


def wheel(folder):
    """The package as packaging/wheel makes it; the program for another architecture is empty."""
    version = subprocess.run([SHOAL, "version"], capture_output=True, text=True,
                             check=True).stdout.split()[1]
    top = f"shoal-{version}-linux-{ARCH}"
    program, other = folder / "shoal", folder / "other"
    subprocess.run(["strip", "-s", "-o", program, SHOAL], check=True)
    other.touch()
    with tarfile.open(folder / f"{top}.tar.gz", "w:gz") as archive:
        archive.add(program, f"{top}/bin/shoal")
        for arch in ("x86_64", "aarch64"):
            archive.add(program if arch == ARCH else other,
                        f"{top}/libexec/shoal/payload/shoal-{arch}")
        archive.add(REPOSITORY / "LICENSE", f"{top}/LICENSE")
    done = subprocess.run([REPOSITORY / "packaging" / "wheel", folder / f"{top}.tar.gz"],
                          capture_output=True, text=True, check=True)
    return pathlib.Path(done.stdout.strip())


@pytest.fixture(name="index")
def _index(front, tmp_path):
    """The address of an index with the package, in the network of the front."""
    place = tmp_path / "simple" / "shoal-ray"
    place.mkdir(parents=True)
    made = wheel(tmp_path)
    made.rename(place / made.name)
    front.popen([sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "--directory",
                 str(tmp_path), str(PORT)], {}, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)
    return f"http://127.0.0.1:{PORT}/simple"


def environment(folder):
    """The bin folder of a new Python environment with pip, as a user activates it. The pip of
    this Python serves, because a copy of it would take seconds. Not in /tmp: a laptop has its own.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    pip = folder / "bin" / "pip"
    pip.write_text(f'#!/bin/sh\nexec {sys.executable} -m pip --python {folder}/bin/python "$@"\n',
                   encoding="utf-8")
    pip.chmod(0o755)
    return folder / "bin"


class Shell:
    """A shell of a laptop on a terminal; its prompt has the status of the last command."""

    def __init__(self, laptop, programs, index):
        env = laptop.env(TERM="xterm", PS1="<$? ready>", PIP_INDEX_URL=index,
                         PATH=f"{programs}:/usr/bin:/bin:/usr/sbin")
        self.terminal = terminal.Terminal(laptop.words("bash", "--norc", "--noprofile", "-i"),
                                          env=env, columns=100, lines=40)
        self.terminal.read(PROMPT)

    def __call__(self, command, seconds=240):
        """Types a command; its output and how long it took."""
        self.terminal.data = b""
        began = time.monotonic()
        self.terminal.type(command.encode() + b"\n")
        asked = rb"Confirm \[y/N\]: "
        if rb"Confirm" in self.terminal.read(asked + b"|" + PROMPT, seconds):
            self.terminal.type(b"y\n")
        said = self.terminal.read(PROMPT, seconds)
        assert re.search(PROMPT, said)[1] == b"0", said.decode(errors="replace")
        return said.decode(errors="replace"), time.monotonic() - began

    def processor_time(self):
        """What all commands so far have used, in seconds."""
        said, _ = self("times")
        return sum(int(minutes) * 60 + float(seconds)
                   for minutes, seconds in re.findall(r"(\d+)m([\d.]+)s", said))


def test_the_commands_of_the_first_page():
    commands = start()
    assert [command.split()[:2] for command in commands] == [
        ["pip", "install"], ["shoal", "validate"], ["shoal", "check"], ["shoal", "up"]]


def test_start(front, index):
    laptop = front.laptop()
    laptop.file("cluster.yaml", front.cluster("demo", workers=1))
    wait_for(lambda: listens(front), 30, what="the index")
    programs = environment(laptop.folder / "venv")
    shell, commands = Shell(laptop, programs, index), start()
    assert f"{programs}/pip\r" in shell("command -v pip")[0], "this host's pip"
    _, installing = shell(commands[0])
    said, validating = shell(commands[1])
    assert "is fine" in said
    took, used, load = installing + validating, shell.processor_time(), os.getloadavg()[0]
    print(f"pip install and validate: {took:.1f} s, {used:.1f} s of processor "
          f"time; load {load:.1f}")
    assert used < SECONDS
    assert took < SECONDS * max(1, load / os.cpu_count())  # others may use the processors
    assert f"{programs}/shoal\r" in shell("command -v shoal")[0], "not the installed program"
    for command in commands[2:]:
        said, _ = shell(command)
    assert "2 of 2 nodes joined" in said, said
    assert len(front.alive("demo")) == 2
    laptop("down", "-y", "cluster.yaml")
    assert front.remains() == {}


def listens(front):
    return f":{PORT:04X} " in pathlib.Path(f"/proc/{front.pid}/net/tcp").read_text(encoding="ascii")
