"""`shoal node container` and `shoal node inside`, with a program that answers like docker."""

import json
import os
import pathlib
import shutil
import subprocess
import uuid

import fake_docker
import pytest

SHOAL = str(pathlib.Path(os.environ["SHOAL_BUILD"]) / "src/cli/shoal")
IMAGE = "ray:1"


class Machine:
    """A home folder, and the daemon that runs on the machine."""

    def __init__(self, folder, **state):
        self.home, self.bin, self.daemon = folder / "home", folder / "bin", folder / "daemon"
        for place in (self.home / ".shoal" / "steps", self.bin):
            place.mkdir(parents=True)
        fake_docker.install(self.bin, self.daemon, **{"images": {IMAGE: ["HOME=/home/ray"]},
                                                      **state})
        self.cluster = f"t-{uuid.uuid4().hex}"
        self.spec = {"name": "box", "image": IMAGE, "cluster": self.cluster, "pulls": False,
                     "runtime": True, "shm": True, "options": ["-e 'A=b c'"], "mounts": []}

    def node(self, *words, text="", **more):
        env = {"HOME": str(self.home), "PATH": f"{self.bin}:{os.environ['PATH']}",
               "FAKE_DOCKER": str(self.daemon), "SHOAL_CONTAINER": json.dumps(self.spec),
               "SHOAL_TEST_TIMES": "look_again=50,gpu=0", **more}
        return subprocess.run([SHOAL, "node", *words], env=env, text=True, capture_output=True,
                              timeout=120, input=text, check=False)

    def ensure(self, *words, **more):
        self.daemon.joinpath("log.jsonl").unlink(missing_ok=True)
        return self.node("container", *words, **more)

    def calls(self, verb):
        return [words for words in fake_docker.calls(self.daemon) if words[0] == verb]

    @property
    def box(self):
        return fake_docker.load(self.daemon)["box"]

    def set(self, **state):
        fake_docker.save(self.daemon, {**fake_docker.load(self.daemon), **state})

    @property
    def pid_file(self):
        return pathlib.Path(f"/tmp/shoal-step-{self.box['id']}.pid")

    @property
    def inner(self):
        return self.daemon / "home"


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def mount(machine, path):
    (machine.home / ".shoal/mounts" / machine.cluster / path.lstrip("/")).mkdir(parents=True)
    machine.spec["mounts"].append(path)


# ---- the container ----

def test_a_container_is_started_and_kept(machine):
    done = machine.ensure("--make-token")
    assert done.returncode == 0, done.stderr
    words = machine.calls("run")[0]
    assert words[:7] == ["run", "--rm", "--name", "box", "-d", "-it", "-e"]
    assert "A=b c" in words and words[-3:] == ["--net=host", IMAGE, "bash"]
    assert any(word.startswith("--shm-size=") for word in words)
    assert machine.calls("pull") == []
    first = machine.box["id"]
    assert (machine.home / ".shoal/steps/place").read_text() == first
    # This program and the token are in the container.
    assert (machine.inner / ".shoal/bin/shoal").stat().st_mode & 0o777 == 0o700
    token = machine.home / ".ray/auth_token"
    assert (machine.inner / ".ray/auth_token").read_text() == token.read_text() != ""
    assert (machine.inner / ".ray/auth_token").stat().st_mode & 0o077 == 0

    done = machine.ensure("--make-token")
    assert done.returncode == 0 and machine.box["id"] == first
    assert machine.calls("run") == machine.calls("rm") == machine.calls("pull") == []
    assert len(machine.calls("exec")) == 1  # the program is not copied again


def test_another_image_needs_another_container(machine):
    machine.ensure()
    first = machine.box["id"]
    machine.set(images={IMAGE: [], "ray:2": []})
    machine.spec["image"] = "ray:2"
    assert "kept, because of --no-restart" in machine.ensure(SHOAL_KEEP_RUNNING="1").stdout
    assert machine.box["id"] == first
    done = machine.ensure()
    assert "runs the image ray:1 instead of ray:2" in done.stdout
    assert machine.box["image"] == "ray:2" and machine.box["id"] != first
    assert (machine.home / ".shoal/steps/place").read_text() == machine.box["id"]


def test_another_mount_needs_another_container(machine):
    machine.ensure()
    first = machine.box["id"]
    mount(machine, "~/code")
    done = machine.ensure()
    assert "does not mount /home/ray/code" in done.stdout
    assert machine.box["id"] != first and machine.box["mounts"] == ["/home/ray/code"]
    source = machine.home / ".shoal/mounts" / machine.cluster / "~/code"
    assert f"{source}:/home/ray/code" in machine.calls("run")[0]
    first = machine.box["id"]
    machine.spec["mounts"] = []  # one mount too many does not matter
    machine.ensure()
    assert machine.box["id"] == first


def test_changed_options_are_reported(machine):
    machine.ensure()
    first = machine.box["id"]
    machine.spec["options"] = ["--privileged"]
    done = machine.ensure()
    assert "changed run_options take effect in a new container" in done.stdout
    assert machine.box["id"] == first


def test_a_mount_that_is_gone(machine):
    machine.spec["mounts"] = ["/data"]
    done = machine.ensure()
    assert done.returncode == 1 and "run `shoal up --restart-only FILE`" in done.stderr
    assert machine.box is None


def test_a_stopped_container_is_replaced(machine):
    machine.ensure()
    first = machine.box["id"]
    machine.set(box={**machine.box, "running": False})
    assert machine.ensure().returncode == 0
    assert machine.calls("rm") == [["rm", "-f", "box"]] and machine.box["id"] != first


def test_a_container_of_ray_is_kept(machine):
    """It has the image and the mounts, and another tool started it."""
    box = {"id": "f" * 64, "name": "box", "image": IMAGE, "mounts": [], "running": True}
    machine.set(box=box)
    assert machine.ensure().returncode == 0
    assert machine.box == box and (machine.inner / ".shoal/bin/shoal").exists()


# ---- own machines: other people's containers ----

@pytest.fixture
def own(machine):
    machine.spec["own"] = True
    return machine


def foreign(**more):
    return {"id": "f" * 64, "name": "box", "image": "myteam/jupyter:1", "mounts": [],
            "running": True, **more}


@pytest.mark.parametrize("box", [
    foreign(), foreign(running=False), foreign(image=IMAGE), foreign(labels={"a": "b"}),
    foreign(labels={"shoal-cluster": "another"}),
    foreign(image=IMAGE, mounts=["/x"], sources=["/home/somebody/.shoal/mounts/demo/x"])])
@pytest.mark.parametrize("keep", ["", "1"])
def test_a_container_of_another_user_stays(own, box, keep):
    own.set(box=box)
    done = own.ensure(**({"SHOAL_KEEP_RUNNING": keep} if keep else {}))
    assert done.returncode == 1 and own.box == box
    assert [own.calls(verb) for verb in ("rm", "stop", "run", "pull", "exec")] == [[]] * 5
    assert ("error: the container box on this machine was not started by `shoal up` of cluster "
            f"{own.cluster}" in done.stderr)
    assert "`docker rm -f box`" in done.stderr and "docker.container_name" in done.stderr
    assert not (own.home / ".shoal/container.json").exists()


def test_the_own_container_is_kept_and_replaced(own):
    assert own.ensure().returncode == 0
    first = own.box["id"]
    assert own.box["labels"] == {"shoal-cluster": own.cluster}
    assert own.ensure().returncode == 0 and own.box["id"] == first
    own.set(images={IMAGE: [], "ray:2": []})
    own.spec["image"] = "ray:2"
    assert own.ensure().returncode == 0
    assert own.box["image"] == "ray:2" and own.box["id"] != first


def test_the_own_container_is_known_without_its_record(own):
    """`up` was killed before it wrote the record."""
    own.ensure()
    first = own.box["id"]
    (own.home / ".shoal/container.json").unlink()
    assert own.ensure().returncode == 0 and own.box["id"] == first


def test_a_container_of_an_older_shoal_is_adopted(own):
    """It has no label: the record of the machine knows it, or its mounts are Shoal's."""
    del own.spec["own"]
    own.ensure()
    own.spec["own"] = True
    first = own.box["id"]
    assert "labels" not in own.box
    assert own.ensure().returncode == 0 and own.box["id"] == first
    (own.home / ".shoal/container.json").unlink()
    box = own.box
    assert own.ensure().returncode == 1 and own.box == box
    mount(own, "~/code")
    source = own.home / ".shoal/mounts" / own.cluster / "~/code"
    box = {**box, "mounts": ["/home/ray/code"], "sources": [str(source)]}
    own.set(box=box)
    assert own.ensure().returncode == 0 and own.box == box


def test_a_gpu_is_found(machine):
    machine.set(runtimes="map[nvidia:{nvidia-container-runtime []}]")
    assert "nvidia-smi finds no GPU" in machine.ensure().stdout
    assert "--runtime=nvidia" not in machine.calls("run")[0]
    (machine.bin / "nvidia-smi").symlink_to("/bin/true")
    machine.set(box=None)
    machine.ensure()
    assert "--runtime=nvidia" in machine.calls("run")[0]
    machine.set(box=None)
    machine.spec.update(runtime=False, shm=False)
    machine.ensure()
    assert not any("--runtime" in word or "--shm" in word for word in machine.calls("run")[0])


def program(machine, name, text):
    """A stand-in on the machine's PATH."""
    (machine.bin / name).write_text(f"#!/bin/sh\n{text}\n")
    (machine.bin / name).chmod(0o755)


def test_gpus_that_come_after_the_container(machine):
    """The toolkit was installed too late: the next `up` replaces the container, once."""
    machine.spec["gpus"] = True
    program(machine, "nvidia-smi", "echo 'GPU 0: NVIDIA L4'")
    done = machine.ensure()
    assert done.returncode == 0 and "--runtime=nvidia" not in machine.calls("run")[0]
    assert "no NVIDIA Container Toolkit for docker" in done.stdout
    first = machine.box["id"]
    assert machine.ensure().returncode == 0 and machine.box["id"] == first
    machine.set(runtimes="map[nvidia:{nvidia-container-runtime []}]")
    done = machine.ensure()
    assert "the container box was started without the GPUs" in done.stdout
    assert machine.box["id"] != first and "--runtime=nvidia" in machine.calls("run")[0]
    first = machine.box["id"]
    assert machine.ensure().returncode == 0 and machine.box["id"] == first


@pytest.mark.parametrize("option", ["--gpus all", "--runtime=nvidia",
                                    "--device nvidia.com/gpu=all"])
def test_gpus_of_the_run_options(machine, option):
    """They need no detection, and a running container stays when a runtime appears."""
    machine.spec.update(gpus=True, options=[option])
    program(machine, "nvidia-smi", "echo 'GPU 0: NVIDIA L4'")
    done = machine.ensure()
    assert done.returncode == 0 and "Toolkit" not in done.stdout
    first = machine.box["id"]
    machine.set(runtimes="map[nvidia:{nvidia-container-runtime []}]")
    assert machine.ensure().returncode == 0 and machine.box["id"] == first


def test_gpus_in_podman(machine):
    """It has no runtimes. `nvidia-ctk cdi list` names the devices."""
    machine.spec.update(podman=True, gpus=True)
    program(machine, "nvidia-smi", "echo 'GPU 0: NVIDIA L4'")
    done = machine.ensure()
    assert done.returncode == 0 and "no NVIDIA Container Toolkit for podman" in done.stdout
    assert not any("gpu" in word or "--runtime" in word for word in machine.calls("run")[0])
    program(machine, "nvidia-ctk", '[ "$*" = "cdi list" ] && echo nvidia.com/gpu=0 && '
            "echo nvidia.com/gpu=all")
    assert machine.ensure().returncode == 0
    words = machine.calls("run")[0]
    assert words[words.index("--device") + 1] == "nvidia.com/gpu=all"
    assert "--runtime=nvidia" not in words


@pytest.mark.parametrize("mode, end", [("Enforcing", ":z"), ("Permissive", ""), (None, "")])
def test_mounts_on_a_host_with_selinux(machine, mode, end):
    mount(machine, "~/code")
    if mode:
        program(machine, "getenforce", f"echo {mode}")
    assert machine.ensure().returncode == 0
    source = machine.home / ".shoal/mounts" / machine.cluster / "~/code"
    assert f"{source}:/home/ray/code{end}" in machine.calls("run")[0]


@pytest.mark.parametrize("uid, says", [(4321, True), (0, False), (os.getuid(), False)])
def test_another_user_in_the_container(machine, uid, says):
    mount(machine, "~/code")
    machine.set(uid=uid)
    text = f"warning: commands in the container run as user {uid}"
    assert (text in machine.ensure().stdout) == says
    assert text not in machine.ensure().stdout  # it said so once
    machine.set(box=None)
    machine.spec["mounts"] = []
    assert text not in machine.ensure().stdout


def test_an_entrypoint_that_ends(machine):
    machine.set(ends="usage: vllm serve MODEL")
    done = machine.ensure(SHOAL_TEST_TIMES="look_again=60000")
    assert done.returncode == 1 and "usage: vllm serve MODEL" in done.stdout
    assert "ended after its start" in done.stderr and "--entrypoint=" in done.stderr
    assert not (machine.home / ".shoal/container.json").exists()


# ---- the GPU check ----

def gpu(machine, count=2, *words, **more):
    return machine.node("gpu", "--count", str(count), *words, **more)


def test_a_driver_that_appears_late(machine):
    """nvidia-smi is there first, and fails until the driver is loaded."""
    ready = machine.home / "ready"
    program(machine, "nvidia-smi", f"""echo "$*" >>{machine.home}/calls
        [ "$(grep -c . {machine.home}/calls)" -lt 3 ] || touch {ready}
        [ -e {ready} ] || {{ echo "NVIDIA-SMI has failed" >&2; exit 9; }}
        echo 'GPU 0: NVIDIA A10G (UUID: GPU-1)'; echo 'GPU 1: NVIDIA A10G (UUID: GPU-2)'""")
    done = gpu(machine, SHOAL_TEST_TIMES="gpu=60000")
    assert done.returncode == 0 and "2 GPUs" in done.stdout, done.stderr
    assert "waiting for the NVIDIA driver: nvidia-smi shows 0 of 2 GPUs" in done.stdout
    assert set((machine.home / "calls").read_text().split("\n")) == {"-L", ""}


@pytest.mark.parametrize("words, place", [
    ([], "machine"), (["--container", "docker"], "container")])
def test_a_driver_that_never_comes(machine, words, place):
    done = gpu(machine, 2, *words)
    assert done.returncode == 1
    assert f"error: nvidia-smi -L shows 0 of the 2 GPUs of this {place}" in done.stderr
    program(machine, "nvidia-smi", "echo NVIDIA-SMI has failed; exit 9")
    done = gpu(machine, 2, *words)
    assert done.returncode == 1 and "NVIDIA-SMI has failed" in done.stdout
    # A container does not get them later.
    done = gpu(machine, 2, "--container", "docker", SHOAL_TEST_TIMES="gpu=60000")
    assert done.returncode == 1 and "waiting" not in done.stdout


def test_fewer_gpus_than_declared(machine):
    program(machine, "nvidia-smi", "echo 'GPU 0: NVIDIA A10G (UUID: GPU-1)'")
    done = gpu(machine, 2)
    assert done.returncode == 1 and "shows 1 of the 2 GPUs" in done.stderr
    assert gpu(machine, 1).returncode == 0


def test_a_divided_gpu(machine):
    program(machine, "nvidia-smi", "echo 'GPU 0: NVIDIA A100 (UUID: GPU-1)'; "
            "echo '  MIG 3g.20gb Device 0: (UUID: 1)'; echo '  MIG 3g.20gb Device 1: (UUID: 2)'")
    assert gpu(machine, 2).returncode == 0


def test_an_image_is_pulled(machine):
    machine.spec.update(image="other:1")
    assert machine.ensure().returncode == 0
    assert machine.calls("pull") == [["pull", "other:1"]]  # it was missing
    machine.set(box=None)
    machine.spec.update(pulls=True)
    machine.ensure()
    assert machine.calls("pull") == [["pull", "other:1"]]


# ---- errors ----

def test_a_pull_is_repeated_only_if_that_can_help(machine):
    machine.spec.update(pulls=True)
    machine.set(fail={"pull": ["net/http: TLS handshake timeout"]})
    done = machine.ensure()
    assert done.returncode == 0 and len(machine.calls("pull")) == 2
    machine.set(box=None, fail={"pull": "pull access denied, repository does not exist"})
    done = machine.ensure()
    assert done.returncode == 1 and len(machine.calls("pull")) == 1
    assert "pull access denied" in done.stdout
    assert "error: docker cannot pull the image ray:1" in done.stderr


    # A limit that counts hours. A short one says when to come back.
    limit = "toomanyrequests: You have reached your pull rate limit."
    machine.set(box=None, fail={"pull": limit})
    done = machine.ensure()
    assert done.returncode == 1 and len(machine.calls("pull")) == 1 and limit in done.stdout
    machine.set(box=None, fail={"pull": ["toomanyrequests: retry-after: 246.478us"]})
    assert machine.ensure().returncode == 0 and len(machine.calls("pull")) == 2
    # A digit of a layer's id is not a status.
    machine.set(box=None, fail={"pull": "5030f502EOF: Pull complete\nmanifest unknown"})
    assert machine.ensure().returncode == 1 and len(machine.calls("pull")) == 1
    for passing in ("received unexpected HTTP status: 503 Service Unavailable", "unexpected EOF"):
        machine.set(box=None, fail={"pull": [passing]})
        assert machine.ensure().returncode == 0 and len(machine.calls("pull")) == 2


@pytest.mark.parametrize("size, status", [(900_000, 0), (1_100_000, 1)])
def test_a_long_answer(machine, size, status):
    """The home of the image is at its end; what was cut is not believed."""
    machine.set(images={IMAGE: ["A=" + size * "x", "HOME=/home/other"]})
    mount(machine, "~/code")
    done = machine.ensure()
    assert done.returncode == status
    if status == 0:
        assert machine.box["mounts"] == ["/home/other/code"]
        first = machine.box["id"]
        assert machine.ensure().returncode == 0 and machine.box["id"] == first
    else:
        assert "said more than 1 MB" in done.stderr and machine.box is None


def test_a_container_that_cannot_be_removed(machine):
    machine.ensure()
    machine.set(box={**machine.box, "running": False}, fail={"rm": "device is busy"})
    done = machine.ensure()
    assert done.returncode == 1 and "error: docker cannot remove the container box" in done.stderr


@pytest.mark.parametrize("name", [".ray/auth_token", "ray_bootstrap_config.yaml"])
def test_a_file_that_cannot_be_read(machine, name):
    (machine.home / name).mkdir(parents=True)
    done = machine.ensure()
    assert done.returncode == 1 and name in done.stderr


def test_a_full_disk_shows_the_disk(machine):
    machine.set(fail={"run": "write /var/lib/docker/x: no space left on device"})
    done = machine.ensure()
    assert done.returncode == 1
    assert "Mounted on" in done.stdout  # df
    assert "too small for the image" in done.stderr


def test_docker_is_missing(machine):
    for name in ("docker", "podman"):
        (machine.bin / name).unlink()
    for name in ("bash", "sh", "cat", "mkdir", "env"):
        (machine.bin / name).symlink_to(shutil.which(name))
    for installer, words in ("dnf", "sudo dnf install -y docker"), \
            ("apt-get", "sudo apt-get install -y docker.io"):
        (machine.bin / installer).symlink_to("/bin/true")
        for verb in (["container"], ["probe", "--bare", "--container", "docker"]):
            done = machine.node(*verb, PATH=str(machine.bin))
            assert done.returncode == 1 and "docker is not installed" in done.stderr
            assert words in done.stderr and "initialization_commands" in done.stderr
    # An initialization command may install it.
    assert machine.node("probe", "--container", "docker", PATH=str(machine.bin)).returncode == 0


def test_docker_is_not_running(machine):
    down = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock."
    machine.set(fail={"version": [down, down]})
    done = machine.ensure()  # it starts late
    assert done.returncode == 0 and "waiting for the Docker daemon" in done.stdout
    machine.set(fail={"version": down})
    done = machine.ensure(SHOAL_TEST_TIMES="daemon=3000")
    assert done.returncode == 1 and 2 <= len(machine.calls("version")) <= 7
    assert "its daemon does not answer" in done.stderr
    assert "sudo systemctl enable --now docker" in done.stderr


def test_a_user_without_permission(machine):
    denied = "permission denied while trying to connect to the Docker daemon socket"
    machine.set(fail={"version": denied})
    (machine.bin / "sg").write_text("#!/bin/sh\nexit 1\n")
    (machine.bin / "sg").chmod(0o755)
    done = machine.ensure()
    assert done.returncode == 1
    assert "sudo usermod -aG docker $USER" in done.stderr
    # The user has become a member since the login.
    machine.set(fail={"version": [denied]})
    (machine.bin / "sg").write_text('#!/bin/sh\necho "$1" >>~/sg\nexec sh -c "$3"\n')
    assert machine.ensure().returncode == 0
    count = len((machine.home / "sg").read_text().split())
    assert count > 3
    assert machine.node("inside", text="echo hello").stdout == "hello\n"
    assert len((machine.home / "sg").read_text().split()) == count + 1


# ---- steps in the container ----

def test_a_script_runs_inside(machine):
    assert "no container" in machine.node("inside", text="true").stderr
    machine.ensure()
    (machine.inner / ".bashrc").write_text("export FROM_RC=yes\n")
    done = machine.node("inside", text="export A='it s'\necho $HOME $FROM_RC $OMP_NUM_THREADS\n"
                                       "cat # reads nothing\nexit 3\n")
    assert done.returncode == 3
    assert done.stdout == f"{machine.inner} yes 1\n"
    assert not machine.pid_file.exists()


def test_start_up_files_that_read_standard_input(machine):
    """The script is not lost; a script without text is an error."""
    machine.ensure()
    for name in (".bashrc", ".profile"):
        (machine.inner / name).write_text("cat >/dev/null\n")
    done = machine.node("inside", text="echo \"it's $HOME\"; ls /proc/self/fd\nexit 3\n")
    assert done.returncode == 3
    assert done.stdout.splitlines()[0] == f"it's {machine.inner}"
    assert done.stdout.split()[2:] == ["0", "1", "2", "3"]  # ls itself has the folder open
    long = "# " + 300_000 * "x" + "\necho end\n"
    assert machine.node("inside", text=long).stdout == "end\n"
    done = machine.node("inside", text="")
    assert done.returncode == 1 and "error: cannot store the command" in done.stderr


def test_ray_is_started_once_in_a_container(machine):
    machine.ensure()
    start = "echo start >>~/starts"
    assert machine.node("inside", "--once", "--last", text="exit 1").returncode == 1
    assert machine.node("inside", "--once", "--last", text=start).returncode == 0
    done = machine.node("inside", "--once", "--last", text=start)
    assert done.returncode == 0 and "started in this container before" in done.stdout
    assert (machine.inner / "starts").read_text().split() == ["start"]
    machine.node("inside", "--last", text=start)
    assert (machine.inner / "starts").read_text().split() == ["start", "start"]
    # The home may outlive the container.
    machine.set(box=None)
    machine.ensure()
    assert machine.node("inside", "--once", "--last", text=start).returncode == 0
    assert (machine.inner / "starts").read_text().split() == ["start"] * 3


@pytest.mark.parametrize("words", [["sleep", "100"], ["bash", "-c", "trap '' TERM; sleep 100"]])
def test_what_a_killed_step_left_is_ended(machine, words):
    machine.ensure()
    left = subprocess.Popen(words, start_new_session=True)
    machine.pid_file.write_text(f"{left.pid}\n")
    assert machine.node("inside", text="true").returncode == 0
    assert left.wait(timeout=10) < 0
    assert not machine.pid_file.exists()


def test_a_step_removes_only_its_own_mark(machine):
    machine.ensure()
    assert machine.node("inside", text=f"echo 4194305 >{machine.pid_file}").returncode == 0
    assert machine.pid_file.read_text() == "4194305\n"
    machine.pid_file.unlink()


def test_the_version_is_known_on_the_machine(machine):
    machine.ensure()
    assert machine.node("inside", "--note-ray").returncode == 1
    (machine.inner / ".shoal/ray-version").write_text("2.60.0")
    assert machine.node("inside", "--note-ray").returncode == 0
    assert (machine.home / ".shoal/ray-version").read_text() == "2.60.0"
