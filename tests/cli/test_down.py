"""`shoal down` against moto: what it removes, what it refuses to conclude, and its exit status.

The cluster is made by `shoal up`, which is killed right after it has launched the head
(moto_cluster.py).
"""

import ctypes
import errno
import fcntl
import json
import platform
import resource
import shutil
import signal
import struct
import subprocess

import pytest

from moto_cloud import CALLER, REGION
from moto_cluster import FILE, cloud, payloads, run_up, server, things  # noqa: F401
from terminal import Terminal

# A listing shows an instance after 3 s at the latest.
TIMES = "horizon=3000,call_timeout=500"


@pytest.fixture
def down(shoal, cloud):
    def run(*words, env=None, **more):
        return shoal("down", "-y", *words, **more,
                     env={**cloud.environment, "SHOAL_TEST_TIMES": TIMES, **(env or {})})

    return run


def state_folder(home):
    return home / ".local" / "state" / "shoal" / f"aws-{REGION}-demo"


# ---- the ordinary end ----

def test_everything_goes_and_that_is_said(run_up, down, cloud, home):
    assert len(run_up()) == 1
    done = down("x.yaml")
    assert done.returncode == 0, done.stderr
    assert ("demo: terminated 1 instance and deleted instance profile, role, security group, "
            "key pair, in ") in done.stderr
    assert "Checked: nothing is left.\n" in done.stderr
    assert done.stderr.endswith("Cost: less than $0.01 for 1 instance, without traffic.\n")
    assert not any(things(cloud).values()) and not state_folder(home).exists()
    again = down("x.yaml")
    assert again.returncode == 0
    assert f"No cluster demo in aws {REGION}. Nothing was changed." in again.stderr


def test_an_up_that_was_killed_before_its_lease_leaves_no_files(run_up, down, cloud, home):
    assert run_up("up:file:key:after") == []
    assert (state_folder(home) / "key").exists()
    done = down("x.yaml")
    assert done.returncode == 0, done.stderr
    assert f"No cluster demo in aws {REGION}." in done.stderr
    assert "deleted the files that an interrupted `shoal up` left on this machine" in done.stderr
    assert not any(things(cloud).values()) and not state_folder(home).exists()


def test_the_json_says_that_nothing_is_left(run_up, down):
    run_up()
    said = json.loads(down("-o", "json", "x.yaml").stdout)
    assert said["nothing_left"] is True and said["left"] == []
    assert said["terminated_instances"] == 1 and said["removed_resources"] == 4


def test_another_region_is_named(run_up, down, write, cloud):
    run_up()
    write("y.yaml", FILE.replace(REGION, "eu-west-1"))
    done = down("y.yaml")
    assert done.returncode == 0 and len(cloud.living()) == 1
    assert f"shoal down demo --region {REGION}" in done.stderr


# ---- by name, and the question ----

def test_by_name_without_a_file_and_from_any_machine(run_up, down, cloud, tmp_path):
    run_up()
    other = {"cwd": tmp_path, "env": {"HOME": str(tmp_path / "other")}}
    done = down("demo", "--region", REGION, **other)
    assert done.returncode == 0, done.stderr
    assert "terminated 1 instance " in done.stderr and not any(things(cloud).values())
    again = down("demo", "--region", REGION, **other)
    assert f"No cluster demo in aws {REGION}." in again.stderr


@pytest.mark.parametrize("region", ["", "US", "a b", "../x"])
def test_a_region_that_is_none(down, region):
    done = down("demo", "--region", region)
    assert done.returncode == 2 and "--region must be a name such as us-west-2" in done.stderr


def test_the_question_says_what_goes(run_up, cloud, program, environment):
    """Only a whole "y" or "yes" goes on; another word is asked again; the end of input is no."""
    run_up()

    def answer(typed):
        terminal = Terminal([program, "down", "--color", "never", "demo", "--region", REGION],
                            env={**environment, **cloud.environment, "SHOAL_TEST_TIMES": TIMES})
        try:
            terminal.read(rb"demo on aws us-west-2: 1 instance \(\$\?/h\) will be terminated "
                          rb"with its disk\.\s+Confirm \[y/N\]: ")
            terminal.type(typed)
            return terminal.end(30)
        finally:
            terminal.close()

    for typed in (b"\n", b"n\n", b"No\n", b"what?\nn\n", b"\x04"):
        data, status = answer(typed)
        assert status == 1 and b"not confirmed; nothing was changed" in data, (typed, data)
        assert len(cloud.living()) == 1
    data, status = answer(b"\x03")
    assert status in (-2, 130) and len(cloud.living()) == 1, (status, data)
    data, status = answer(b"maybe\nYES\n")
    assert status == 0 and not cloud.living(), data


# ---- cache_stopped_nodes ----

@pytest.mark.parametrize("written, option, state", [
    (", cache_stopped_nodes: true", None, "stopped"),
    (", cache_stopped_nodes: true", "--terminate", "terminated"),
    (", cache_stopped_nodes: false", None, "terminated"),
])
def test_stopped_only_when_the_file_itself_says_so(run_up, down, cloud, write, written, option,
                                                   state):
    head, = run_up()
    write("y.yaml", FILE.replace(REGION, REGION + written))
    done = down(*([option] if option else []), "y.yaml")
    assert done.returncode == 0 and cloud.instances()[head] == state, done.stderr
    assert ("nothing is left" in done.stderr) == (state == "terminated")
    assert ("stopped 1 instance and kept its disk" in done.stderr) == (state == "stopped")
    assert bool(things(cloud)["keys"]) == (state == "stopped")


# ---- without the lease object ----

def test_without_its_lease_object_the_cluster_is_removed(run_up, down, cloud, home):
    """The lease object is an unused launch template: what janitors delete."""
    run_up()
    cloud.ec2.delete_launch_template(LaunchTemplateName="shoal-anchor-demo")
    cloud.calls.clear()
    done = down("x.yaml")
    assert done.returncode == 0, done.stderr
    assert not any(things(cloud).values()), things(cloud)
    assert "CreateLaunchTemplate" not in cloud.actions()
    assert not state_folder(home).exists()


def test_without_its_lease_object_from_another_machine(run_up, down, cloud, tmp_path):
    run_up()
    cloud.ec2.delete_launch_template(LaunchTemplateName="shoal-anchor-demo")
    other = tmp_path / "other"
    other.mkdir()
    done = down("x.yaml", env={"HOME": str(other)})
    assert done.returncode == 0, done.stderr
    assert not any(things(cloud).values())
    assert list(other.rglob("*demo*")) == []


# ---- the proof ----

def test_a_head_that_no_listing_shows_yet_is_not_forgotten(run_up, down, cloud, home):
    cloud.lag = 2.5
    run_up()
    done = down("x.yaml")
    assert done.returncode == 0, done.stderr
    assert "the last check is at" in done.stderr
    assert cloud.living() == [] and "terminated 1 instance " in done.stderr


def test_a_launch_without_an_answer_is_waited_for(run_up, down, cloud):
    run_up("up:after-head-intent")
    cloud.calls.clear()
    done = down("x.yaml")
    assert done.returncode == 0 and "the last check is at" in done.stderr
    assert "RunInstances" not in cloud.actions()
    assert cloud.actions().count("DescribeInstances") >= 4


@pytest.mark.parametrize("action", ["DescribeInstances", "DescribeLaunchTemplates"])
def test_a_listing_that_is_denied_is_no_proof(run_up, down, cloud, home, action):
    run_up()
    cloud.refuse(action, "UnauthorizedOperation")
    done = down("x.yaml")
    assert done.returncode == 1 and "nothing is left" not in done.stderr
    assert len(cloud.living()) == 1 and state_folder(home).exists()


@pytest.mark.parametrize("action, needs, kind", [
    ("GetRole", "iam:GetRole", "role"),
    ("GetInstanceProfile", "iam:GetInstanceProfile", "instance profile"),
    ("DeleteRole", "iam:DeleteRole", "role"),
])
def test_denied_iam_is_not_none(run_up, down, cloud, home, action, needs, kind):
    """The user who ran `up` may have had more permissions than the user who runs `down`."""
    run_up()
    cloud.refuse(action, "AccessDenied")
    done = down("x.yaml")
    assert done.returncode == 1 and "nothing is left" not in done.stderr
    assert f"left      {kind} " in done.stderr and f"needs {needs}" in done.stderr
    assert "run again: shoal down x.yaml" in done.stderr
    left = things(cloud)
    assert left["roles"] and left["templates"] and not left["instances"]
    assert state_folder(home).exists()
    cloud.faults.clear()
    assert down("x.yaml").returncode == 0 and not any(things(cloud).values())


# ---- what goes wrong ----

def test_a_refused_termination_is_named(run_up, down, cloud, home):
    head, = run_up()
    cloud.refuse("TerminateInstances", "OperationNotPermitted")
    done = down("x.yaml")
    assert done.returncode == 1 and "nothing is left" not in done.stderr
    assert f"left      instance {head}" in done.stderr
    assert "OperationNotPermitted by order" in done.stderr
    assert things(cloud)["keys"] and state_folder(home).exists()


def test_one_instance_that_may_not_be_terminated_does_not_protect_the_others(run_up, down, cloud):
    head, = run_up()
    uid = cloud.ec2.describe_launch_templates()["LaunchTemplates"][0]["Tags"]
    uid = next(tag["Value"] for tag in uid if tag["Key"] == "shoal-cluster-uid")
    other = cloud.launch(ray_cluster_name="demo", shoal_cluster_uid=uid, ray_node_type="head")
    cloud.refuse("TerminateInstances", "OperationNotPermitted", naming=head)
    done = down("x.yaml")
    assert done.returncode == 1
    assert cloud.instances()[other] == "terminated" and cloud.living() == [head]


def test_a_role_in_use_is_waited_for(run_up, down, cloud):
    run_up()
    cloud.refuse("DeleteRole", "DeleteConflict", 2)
    done = down("x.yaml")
    assert done.returncode == 0 and not any(things(cloud).values())
    assert cloud.actions().count("DeleteRole") == 3


def test_only_what_carries_the_uid_is_deleted(run_up, down, cloud):
    """The filter of a listing is not trusted: AWS also returns instances of another owner."""
    run_up()
    ec2 = cloud.ec2
    group = ec2.create_security_group(GroupName="theirs", Description="x")["GroupId"]
    ec2.create_key_pair(KeyName="theirs")
    cloud.ignores_filters = True
    done = down("x.yaml")
    names = [k["KeyName"] for k in ec2.describe_key_pairs()["KeyPairs"]]
    assert "theirs" in names, done.stderr
    assert group in [g["GroupId"] for g in ec2.describe_security_groups()["SecurityGroups"]]


# ---- other launchers ----

def test_instances_of_ray_are_named_and_left(run_up, down, cloud):
    run_up()
    rays = cloud.launch(ray_cluster_name="demo", ray_node_type="head")
    done = down("x.yaml")
    assert done.returncode == 1 and "nothing is left" not in done.stderr
    assert (f"left      instance {rays}: has this cluster name, but was not launched by Shoal"
            in done.stderr)
    assert cloud.living() == [rays]


# ---- this machine's disk ----

def allow_no_writing():
    """As on a full disk: no file can grow."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def allow_no_locks():
    """As on a network file system whose lock service does not answer: ENOLCK for F_OFD_SETLK."""
    fcntl_call = {"x86_64": 72, "aarch64": 25}[platform.machine()]
    set_lock, load, compare, answer = 37, 0x20, 0x15, 0x06
    allow, refuse = 0x7fff0000, 0x00050000 | errno.ENOLCK
    lines = [(load, 0, 0, 0), (compare, 0, 3, fcntl_call),  # the number of the call
             (load, 0, 0, 24), (compare, 0, 1, set_lock),   # the low half of its second argument
             (answer, 0, 0, refuse), (answer, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    rules = ctypes.create_string_buffer(struct.pack("@HP", len(lines), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, rules):  # no new privileges; a filter
        raise OSError(ctypes.get_errno(), "prctl")


LIMITS = {"full": allow_no_writing, "no locks": allow_no_locks}


@pytest.mark.parametrize("how", ["full", "no locks", "lock", "folder"])
def test_a_disk_that_cannot_be_written_does_not_keep_instances_running(run_up, down, cloud, home,
                                                                       how):
    run_up()
    folder = state_folder(home)
    if how == "lock":
        (folder / "lock").unlink()
        (folder / "lock").mkdir()
    elif how == "folder":
        shutil.rmtree(folder)
        folder.write_text("a file where the folder should be")
    done = down("x.yaml", **({"preexec_fn": LIMITS[how]} if how in LIMITS else {}))
    assert cloud.living() == [] and not any(things(cloud).values()), done.stderr
    assert done.returncode == 0 and done.stderr.count("continuing with") == 1, done.stderr


def hold_lock(path, words):
    """A file object that holds the lock; it says who holds it."""
    file = open(path, "r+", encoding="utf-8")  # pylint: disable=consider-using-with
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    file.truncate(0)
    file.write(words)
    file.flush()
    return file


def test_no_process_is_signalled_for_its_number_alone(run_up, down, home, cloud):
    """The lock says "shoal up, pid N", and N is another program by now."""
    run_up()
    with subprocess.Popen(["sleep", "60"]) as bystander:
        path = state_folder(home) / "lock"
        words = path.read_text(encoding="utf-8")
        assert words.startswith("shoal up, pid ")
        with hold_lock(path, f"shoal up, pid {bystander.pid} of {words.split(' of ')[1]}"):
            done = down("x.yaml")
        assert done.returncode == 1 and "in use by" in done.stderr
        assert bystander.poll() is None and len(cloud.living()) == 1
        bystander.kill()


# ---- what `up` created ----

@pytest.mark.parametrize("written, place", [
    ('["127.0.0.1/32"]', "127.0.0.1/32"),
    ("[]", f"{CALLER}/32"),
])
def test_ssh_is_open_to_the_caller_only(run_up, cloud, write, written, place):
    write("x.yaml", FILE.replace('["127.0.0.1/32"]', written))
    run_up()
    groups = cloud.ec2.describe_security_groups(
        Filters=[{"Name": "tag-key", "Values": ["shoal-cluster-uid"]}])["SecurityGroups"]
    ranges = [r["CidrIp"] for g in groups for p in g["IpPermissions"] for r in p["IpRanges"]]
    assert ranges == [place]
    assert not any(p.get("Ipv6Ranges") for g in groups for p in g["IpPermissions"])


def test_a_role_that_iam_does_not_know_everywhere_yet_is_waited_for(run_up, cloud):
    cloud.refuse("PutRolePolicy", "NoSuchEntity", 1)
    cloud.refuse("AddRoleToInstanceProfile", "NoSuchEntity", 1)
    assert len(run_up()) == 1
    calls = cloud.actions()
    assert calls.count("PutRolePolicy") == calls.count("AddRoleToInstanceProfile") == 2


# ---- `up` and `check` next to a cluster of `ray up` ----

@pytest.mark.parametrize("verb", ["check", "up"])
def test_no_second_cluster_under_the_name_of_rays(shoal, cloud, payloads, write, verb):
    """Ray's monitor would terminate its own head."""
    write("x.yaml", FILE)
    rays = cloud.launch(ray_cluster_name="demo", ray_node_type="head")
    cloud.launch(ray_cluster_name="other", ray_node_type="head")
    done = shoal(verb, *(["-y"] if verb == "up" else []), "x.yaml",
                 env={**cloud.environment, "SHOAL_PAYLOADS": str(payloads)})
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert f"1 instance of a cluster with this name was not launched by Shoal: {rays}" in said
    assert "ray down FILE" in said and "-n OTHER" in said
    assert "RunInstances" not in cloud.actions() and "CreateLaunchTemplate" not in cloud.actions()
