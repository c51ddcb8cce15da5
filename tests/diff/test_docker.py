"""The container of a node: the same `docker run`, and the same decision to keep or replace a
container, as Ray's own DockerCommandRunner. Both work with a program that answers like docker.

One thing differs: the folder of the machine that has the copies of file_mounts. Ray's is
/tmp/ray_tmp_mount, which a reboot clears; ours is ~/.shoal/mounts. The names in it are compared.
"""

import copy
import json
import os
import pathlib
import shutil
import subprocess
import sys
import uuid

import pytest

import need_ray  # noqa: F401  skips this module without Ray

import conftest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import fake_docker  # noqa: E402

HOME = ["PATH=/bin", "HOME=/home/ray"]
KEPT = "e" * 64  # the id of a container that was there before
IMAGES = {"ray:1": HOME, "ray:2": [], "head:1": [], "worker:1": HOME}


class Ssh:
    """Replaces Ray's ssh runner: commands run here, with the fake docker in the PATH."""

    ssh_user = "me"

    def __init__(self, cluster_name, env):
        self.cluster_name, self.env = cluster_name, env

    def run(self, command, with_output=False, **_):
        done = subprocess.run(["bash", "-c", command], env=self.env, check=True, timeout=600,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return done.stdout

    def run_rsync_up(self, *_, **__):
        pass


def theirs(config, is_head, mounts, env):
    from ray.autoscaler._private.command_runner import DockerCommandRunner
    runner = DockerCommandRunner.__new__(DockerCommandRunner)
    docker = dict(config["docker"])
    runner.ssh_command_runner = Ssh(config["cluster_name"], env)
    runner.container_name, runner.docker_config = docker["container_name"], docker
    runner.home_dir, runner.initialized = None, False
    runner.docker_cmd = "podman" if docker.get("use_podman") else "docker"
    runner.run_init(as_head=is_head, file_mounts=dict(mounts), sync_run_yet=True)


def ours(path, node_type, env):
    done = subprocess.run([conftest.program("tests", "setup_probe"), str(path), node_type],
                          capture_output=True, text=True, timeout=600, check=True)
    step = next(s for s in json.loads(done.stdout) if s["kind"] == "container start")
    subprocess.run([conftest.program("src", "cli", "shoal"), "node", "container"], check=True,
                   env={**env, **dict(step["variables"])}, timeout=600, stdout=subprocess.DEVNULL)


def without_folder(word, folder):
    """A word of `docker run` with MOUNTS in place of the one folder that differs."""
    return os.path.normpath("MOUNTS" + word[len(folder):]) if word.startswith(folder) else word


def seen(daemon, folder):
    """(words of `docker run` without the size of the memory, the container, that size)."""
    runs, sizes = [], []
    for words in fake_docker.calls(daemon):
        if words[0] == "run":
            sizes += [float(w[11:].strip("'b")) for w in words if w.startswith("--shm-size=")]
            sources = [words[i + 1] for i, word in enumerate(words) if word == "-v"]
            assert all(source.startswith(folder + "/") for source in sources)
            runs.append([without_folder(w, folder) for w in words
                         if not w.startswith("--shm-size=")])
    made = fake_docker.load(daemon)["box"]
    return runs, {**made, "id": made["id"] == KEPT}, sizes


def box(image="ray:1", mounts=()):
    return {"id": KEPT, "name": "box", "image": image, "mounts": list(mounts),
            "running": True}


OPTIONS = {"run_options": ["--ulimit nofile=65536:65536", "-e 'A=b c' --cap-add X"]}
CASES = {
    "plain": ({}, {}, None),
    "options": (OPTIONS, {}, None),
    "shm-given": ({"run_options": ["--shm-size=2000000b"]}, {}, None),
    "shm-off": ({"disable_shm_size_detection": True}, {}, None),
    "podman": ({"use_podman": True}, {}, None),
    "no-pull": ({"pull_before_run": False}, {}, None),
    "mounts": ({}, {"/data/app": "/", "~/code": "/", "/data/deep/er/": "/"}, None),
    "two-images": ({"image": "", "head_image": "head:1", "worker_image": "worker:1",
                    "head_run_options": ["-e H=1"], "worker_run_options": ["-e W=1"]},
                   {"~/code": "/"}, None),
    "kept": ({}, {"/data/app": "/"}, box(mounts=["/data/app", "/more"])),
    "kept-other-options": (OPTIONS, {}, box()),
    "mount-is-new": ({}, {"/data/app": "/", "/b": "/"}, box(mounts=["/data/app"])),
}


@pytest.mark.parametrize("node_type", ["head", "worker"])
@pytest.mark.parametrize("name", CASES)
def test_the_same_container(name, node_type, tmp_path):
    docker, mounts, running = CASES[name]
    section = {"image": "ray:1", "container_name": "box", **docker}
    if not section["image"]:
        del section["image"]
    config = {"cluster_name": f"t-{uuid.uuid4().hex}",
              "provider": {"type": "aws", "region": "us-west-2"},
              "available_node_types": {
                  kind: {"node_config": {"InstanceType": "m5.large"}, "resources": {"CPU": 2}}
                  for kind in ("head", "worker")},
              "head_node_type": "head", "file_mounts": mounts, "docker": section}
    path = tmp_path / "cluster.yaml"
    path.write_text(json.dumps(config))
    staged = {"theirs": pathlib.Path("/tmp/ray_tmp_mount") / config["cluster_name"],
              "ours": tmp_path / "ours/.shoal/mounts" / config["cluster_name"]}
    results = []
    try:
        for side in "theirs", "ours":
            for target in mounts:
                (staged[side] / target.lstrip("/")).mkdir(parents=True)
            folder = tmp_path / side
            for name in "bin", ".shoal/steps":
                (folder / name).mkdir(parents=True)
            fake_docker.install(folder / "bin", folder / "daemon", images=IMAGES,
                                box=copy.deepcopy(running))
            env = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": str(folder),
                   "FAKE_DOCKER": str(folder / "daemon")}
            if side == "theirs":
                theirs(config, node_type == "head", mounts, env)
            else:
                ours(path, node_type, env)
            results.append(seen(folder / "daemon", str(staged[side])))
    finally:
        shutil.rmtree(staged["theirs"], ignore_errors=True)
    (their_runs, their_box, their_shm), (our_runs, our_box, our_shm) = results
    assert our_runs == their_runs
    assert our_box == their_box
    # The free memory changes between the two.
    assert len(our_shm) == len(their_shm) and all(
        abs(a - b) < 0.2 * b for a, b in zip(our_shm, their_shm))
