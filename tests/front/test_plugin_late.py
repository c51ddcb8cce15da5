"""As test_late_answers.py, with a plug-in. Its machines are in a file only: `up` waits for ssh."""

import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess

import pytest
from front import SHOAL, Front, wait_for
from lease import SHIM, TIMES

HERE = pathlib.Path(__file__).resolve().parent
FILE_CLOUD = HERE.parent.parent / "examples" / "plug-ins" / "file_cloud.py"
SLEEP = 120  # longer than a lease
# While there is a file `hold`, replies to Alice's launches of the node type in it wait.
SLOW_CLOUD = f"""#!/usr/bin/env python3
import json, os, pathlib, subprocess, sys, time
hold, held = (pathlib.Path(__file__).with_name(name) for name in ("hold", "held"))
with subprocess.Popen([{str(FILE_CLOUD)!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                      text=True) as cloud:
    for line in sys.stdin:
        cloud.stdin.write(line)
        cloud.stdin.flush()
        reply, asked = cloud.stdout.readline(), json.loads(line)
        kind = asked.get("tags", {{}}).get("ray-node-type")
        while os.environ["USER"] == "alice" and hold.exists() and hold.read_text() == kind:
            held.touch()
            time.sleep(0.02)
        print(reply, end="", flush=True)
"""


class Scene:
    def __init__(self, folder):
        self.folder, self.clock, self.children = folder, folder / "clock", []
        self.clock.write_bytes(bytes(16))
        (folder / "payloads").mkdir()
        for arch in ("x86_64", "aarch64"):
            os.link(shutil.copy(SHOAL, folder / f"shoal-{arch}"),
                    folder / "payloads" / f"shoal-{arch}")
        program = folder / "slow_cloud.py"
        program.write_text(SLOW_CLOUD, encoding="utf-8")
        program.chmod(0o755)
        file = Front.cluster("demo", workers=1)
        file["provider"] = {"type": "external", "command": [str(program)],
                            "state": str(folder / "cloud.json")}
        for kind in file["available_node_types"].values():
            kind["node_config"] = {"InstanceType": "small"}
        (folder / "cluster.yaml").write_text(json.dumps(file), encoding="utf-8")

    def start(self, name, *words):
        """Without a network: its machines have the address of this host."""
        home = self.folder / name
        home.mkdir(exist_ok=True)
        output = open(home / "output", "w", encoding="utf-8")
        self.children.append(subprocess.Popen(
            ["unshare", "-n", SHOAL, *words, "-y", "cluster.yaml"], cwd=self.folder, stdout=output,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env={
                "HOME": str(home), "USER": name, "PATH": os.environ["PATH"],
                "SHOAL_PAYLOADS": str(self.folder / "payloads"), "LD_PRELOAD": str(SHIM),
                "SHOAL_CLOCK_FILE": str(self.clock), "SHOAL_TEST_TIMES": TIMES}))
        return self.children[-1]

    def said(self, name):
        return (self.folder / name / "output").read_text(errors="replace")

    def second_laptop(self):
        """Bob has Alice's key, and not her journal."""
        shutil.copytree(self.folder / "alice" / ".local", self.folder / "bob" / ".local",
                        ignore=shutil.ignore_patterns("journal*", "lock"))

    def jump(self):
        with self.clock.open("r+b") as stream:
            stream.write(struct.pack("qq", SLEEP * 1000, SLEEP * 1000))

    def alive(self):
        rows = json.loads((self.folder / "cloud.json").read_text())["machines"]
        return {row["id"] for row in rows if row["state"] not in ("ending", "gone")}


@pytest.fixture(name="scene")
def _scene(tmp_path):
    made = Scene(tmp_path)
    yield made
    for child in made.children:
        child.kill()
        child.wait()


@pytest.mark.parametrize("moment", ["ended", "takeover"])
@pytest.mark.parametrize("kind", ["head", "worker"])
def test_a_launch(scene, kind, moment):
    (scene.folder / "hold").write_text(kind)
    alice = scene.start("alice", "up")
    wait_for((scene.folder / "held").exists, 60)
    alice.send_signal(signal.SIGSTOP)
    scene.jump()
    if moment == "takeover":
        scene.second_laptop()
        scene.start("bob", "up")
        wait_for(lambda: "waiting for ssh" in scene.said("bob"), 60, what=scene.said("bob"))
    used = scene.alive()
    (scene.folder / "hold").unlink()
    alice.send_signal(signal.SIGCONT)
    assert alice.wait(60) == 1, scene.said("alice")
    assert used and used <= scene.alive(), scene.said("alice")
    for child in scene.children[1:]:
        child.send_signal(signal.SIGINT)
        child.wait(60)
    name = "bob" if moment == "takeover" else "alice"
    assert scene.start(name, "down").wait(240) == 0, scene.said(name)
    assert scene.alive() == set()
