"""The dead-man switch as it goes into user-data, with everything around it played: the checks come
at once, and each test says what the machine shows at which check.
"""

import os
import pathlib
import shutil
import subprocess
import time

import pytest

BUILD = pathlib.Path(os.environ["SHOAL_BUILD"]).resolve()
PROBE = BUILD / "tests" / "contact_probe"
SHELLS = [[path] for path in ("/bin/dash", "/bin/bash") if os.path.exists(path)]
if shutil.which("busybox"):
    SHELLS.append(["busybox", "sh"])

# `sleep` is where time passes: it counts, lets the test change the machine, and ends the switch
# after so many checks.
SLEEP = """#!/bin/sh
echo . >>{root}/checks
n=$(wc -l <{root}/checks)
[ "$1" = 15 ] || echo "slept $1" >>{root}/log
[ ! -e {root}/at/$n ] || . {root}/at/$n
[ "$n" -le {most} ] || kill -KILL $PPID
"""
NOTED = "#!/bin/sh\necho \"{name} $*\" >>{root}/log\n{more}"
INFO = "\t cubic wscale:7,7 rto:204 rtt:0.1/0.05 lastsnd:{snd} lastrcv:{rcv} lastack:{ack} pacing\n"


class Machine:
    def __init__(self, folder, shell):
        self.root, self.shell = folder, shell
        self.programs = folder / "programs"
        for name in ("programs", "at", "run", "dev", "proc/1", "proc/77", "proc/net",
                     "var/lib/cloud/instance"):
            (folder / name).mkdir(parents=True)
        (folder / "proc/1/comm").write_text("init\n")
        (folder / "proc/77/comm").write_text("bash\n")
        self.program("shutdown", f"kill -KILL $(cat {folder}/pid)\n")
        self.program("poweroff")
        self.program("logger")
        self.ss("")

    def program(self, name, more=""):
        path = self.programs / name
        path.write_text(NOTED.format(name=name, root=self.root, more=more))
        path.chmod(0o755)

    def ss(self, said):
        (self.root / "ss").write_text("Recv-Q Send-Q Local Peer\n" + said)
        self.program("ss", f"cat {self.root}/ss\n")

    def without_ss(self):
        """Only what is named here is on PATH."""
        (self.programs / "ss").unlink()
        for name in ("grep", "cat", "mkdir", "chmod", "wc"):
            (self.programs / name).symlink_to(shutil.which(name))
        self.path = str(self.programs)

    path = None

    def at(self, check, script):
        """Happens while the switch waits for that check."""
        (self.root / "at" / str(check)).write_text(script.replace("@", str(self.root)) + "\n")

    def run(self, role="worker", timeout_ms=45000, most=20):
        """(checks made, what was called); the switch ends by `shutdown`, by itself, or after
        `most` checks."""
        text = subprocess.run([PROBE, role, str(timeout_ms)], capture_output=True, check=True,
                              text=True, timeout=30).stdout
        if self.path:  # as on a machine that has no ss at all
            text = text.replace("PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin", ":")
        script = self.root / "contact.sh"
        script.write_text(text)
        sleep = self.programs / "sleep"
        sleep.write_text(SLEEP.format(root=self.root, most=most))
        sleep.chmod(0o755)
        for name in ("checks", "log"):
            (self.root / name).write_text("")
        env = {"PATH": self.path or f"{self.programs}:{os.environ['PATH']}",
               "SHOAL_CONTACT_ROOT": str(self.root),
               "SHOAL_HOST_FOLDER": str(self.root / "run/shoal")}
        (self.root / "run/shoal").mkdir(exist_ok=True)
        (self.root / "run/shoal/contact").touch()
        words = [shutil.which(self.shell[0]), *self.shell[1:], "-c",
                 'echo $$ >"$0"; exec "$@"', str(self.root / "pid"),
                 shutil.which(self.shell[0]), *self.shell[1:], str(script), "watch"]
        self.done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60,
                                   check=False)
        log = [line for line in (self.root / "log").read_text().splitlines()
               if not line.startswith(("ss ", "logger "))]
        return (self.root / "checks").read_text().count("."), log


@pytest.fixture(params=SHELLS, ids=[words[0].rpartition("/")[2] for words in SHELLS])
def machine(tmp_path, request):
    return Machine(tmp_path, request.param)


def test_without_contact_it_shuts_down(machine):
    assert machine.run() == (3, ["shutdown -h now"])
    said = (machine.root / "dev/console").read_text()
    assert said == ("shoal: no contact with the cluster for 3 checks of 15 s: "
                    "this worker shuts down\n")
    assert machine.done.stderr == ""


CURL = """case "$*" in
*/token) echo '{"access_token":"ya29.s","expires_in":3599,"token_type":"Bearer"}' ;;
*/instance/zone) echo projects/123/zones/us-central1-a ;;
*/instance/name) echo one ;;
*DELETE*) echo "stdin $(cat)" >>{root}/log ;;
esac
"""
ASKED = "curl -sfm 20 -H Metadata-Flavor: Google " \
        "http://metadata.google.internal/computeMetadata/v1/instance/"


def test_at_google_it_deletes_itself(machine):
    """The token is not in a command line. Without a service account it only shuts down."""
    machine.program("curl", CURL.replace("{root}", str(machine.root)))
    token, zone, name, delete, header, off = machine.run("gce")[1]
    assert (token, zone, name) == (ASKED + "service-accounts/default/token", ASKED + "zone",
                                   ASKED + "name")
    assert delete == "curl -sfm 60 -X DELETE -H @- -o /dev/null https://compute.googleapis.com/" \
                     "compute/v1/projects/123/zones/us-central1-a/instances/one"
    assert header == "stdin Authorization: Bearer ya29.s" and off == "shutdown -h now"
    machine.program("curl", "exit 22")
    assert machine.run("gce") == (3, [ASKED + "service-accounts/default/token", "shutdown -h now"])
    assert machine.done.stderr == ""


def test_an_own_machine_stops_ray_and_keeps_running(machine):
    """What stops Ray there is the script `lost`, which the provider has left."""
    lost = machine.root / "run/shoal/lost"
    lost.parent.mkdir()
    lost.write_text(f"echo lost >>{machine.root}/log\n")
    machine.at(2, "echo 1 >>@/run/shoal/contact")
    assert machine.run("host") == (5, ["lost"])
    machine.at(4, "rm -r @/run/shoal")  # the cluster has freed the host
    (machine.root / "proc/77/comm").write_text("raylet\n")
    assert machine.run("host") == (4, [])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")
def test_other_users_of_an_own_machine_are_no_contact(machine):
    """Neither their raylet nor their ssh session; a raylet in a container counts."""
    lost = machine.root / "run/shoal/lost"
    lost.parent.mkdir()
    lost.write_text(f"echo lost >>{machine.root}/log\n")
    theirs, ours = machine.root / "proc/77", machine.root / "proc/1"
    (theirs / "comm").write_text("raylet\n")
    (theirs / "status").write_text("Name:\traylet\nNSpid:\t77\n")
    (theirs / "environ").write_text("A=b\0SSH_CONNECTION=10.0.0.4 6 10.0.0.5 22\0")
    os.chown(theirs, 65534, 65534)
    machine.ss("0 0 10.0.0.5:22 10.0.0.4:6\n" + INFO.format(snd=9, rcv=5, ack=5)
               + "0 0 10.0.0.5:22 10.0.0.4:66\n" + INFO.format(snd=9, rcv=90000, ack=90000))
    assert machine.run("host") == (3, ["lost"])
    (ours / "environ").write_text("SSH_CONNECTION=10.0.0.4 66 10.0.0.5 22\0")
    assert machine.run("host") == (3, ["lost"])
    (ours / "environ").write_text("A=b\0SSH_CONNECTION=10.0.0.4 6 10.0.0.5 22\0")
    assert machine.run("host") == (21, [])
    (ours / "environ").write_text("")
    (theirs / "status").write_text("Name:\traylet\nNSpid:\t77\t12\n")
    assert machine.run("host") == (21, [])


def test_own_ssh_without_ss(machine):
    machine.without_ss()
    for name in ("tr", "sed", "sort", "sh"):
        (machine.programs / name).symlink_to(shutil.which(name))
    (machine.root / "run/shoal").mkdir()
    (machine.root / "run/shoal/lost").write_text(f"echo lost >>{machine.root}/log\n")
    (machine.root / "proc/net/tcp").write_text(
        "   1: 0500000A:0016 0400000A:C350 01 00000000:00000000 02:0009\n")
    (machine.root / "proc/77/environ").write_text("SSH_CONNECTION=10.0.0.4 50001 10.0.0.5 22\0")
    assert machine.run("host") == (3, ["lost"])
    (machine.root / "proc/1/environ").write_text("SSH_CONNECTION=10.0.0.4 50000 10.0.0.5 22\0")
    assert machine.run("host") == (21, [])


def test_a_raylet_is_contact(machine):
    (machine.root / "proc/77/comm").write_text("raylet\n")
    assert machine.run() == (21, [])


def test_another_program_is_not(machine):
    (machine.root / "proc/77/comm").write_text("raylet_helper\n")
    assert machine.run() == (3, ["shutdown -h now"])


def test_checks_count_in_a_row_from_the_last_contact(machine):
    (machine.root / "proc/77/comm").write_text("raylet\n")
    machine.at(6, "echo bash >@/proc/77/comm")  # the head is gone
    assert machine.run() == (8, ["shutdown -h now"])


def test_a_message_is_contact_once(machine):
    machine.at(2, "echo 1 >>@/run/shoal/contact")
    machine.at(4, "echo 1 >>@/run/shoal/contact")
    assert machine.run() == (7, ["shutdown -h now"])
    assert (machine.root / "run/shoal/contact").read_text() == ""


def test_a_message_is_read_also_beside_a_raylet(machine):
    (machine.root / "proc/77/comm").write_text("raylet\n")
    machine.at(2, "echo 1 >>@/run/shoal/contact")
    machine.at(3, "echo bash >@/proc/77/comm")
    assert machine.run() == (5, ["shutdown -h now"])


@pytest.mark.parametrize("rcv, ack, lives", [
    (5000, 5000, True),          # the keepalive of a controller that waits
    (2400000, 1000, True),       # it only listens to a long step
    (29000, 3600000, True), (31000, 31000, False),
    (3600000, 3600000, False),   # of a head that vanished without a word
])
def test_ssh_is_contact_while_the_other_end_answers(machine, rcv, ack, lives):
    machine.ss("0 0 10.0.0.5:22 10.0.0.4:5\n" + INFO.format(snd=9, rcv=3600000, ack=3600000)
               + "0 0 10.0.0.5:22 10.0.0.4:6\n" + INFO.format(snd=9, rcv=rcv, ack=ack))
    assert machine.run() == ((21, []) if lives else (3, ["shutdown -h now"]))


def test_ssh_that_spoke_just_now(machine):
    """ss leaves out what is 0."""
    machine.ss("0 0 10.0.0.5:22 10.0.0.4:6\n\t cubic rto:204 lastsnd:5 lastack:3600000\n")
    assert machine.run() == (21, [])


@pytest.mark.parametrize("row, lives", [
    ("   1: 0500000A:0016 0400000A:C350 01 00000000:00000000 02:0009", True),
    ("   1: 0500000A:0016 0400000A:C350 06 00000000:00000000 00:0000", False),  # it was closed
    ("   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:0000", False),  # it listens
    ("   1: 0500000A:C350 0400000A:0016 01 00000000:00000000 02:0009", False),  # from here
])
def test_ssh_without_ss(machine, row, lives):
    machine.without_ss()
    head = "  sl  local_address rem_address   st\n"
    (machine.root / "proc/net/tcp").write_text(head + row + "\n")
    assert machine.run() == ((21, []) if lives else (3, ["shutdown -h now"]))


def test_a_head_that_was_never_set_up_shuts_down(machine):
    machine.at(1, "echo 1 >>@/run/shoal/contact")
    assert machine.run("head") == (4, ["shutdown -h now"])


def test_a_head_that_was_set_up_stays(machine):
    machine.at(2, "echo keep >>@/run/shoal/contact")
    assert machine.run("head") == (2, []) and machine.done.returncode == 0
    assert machine.run("head") == (0, [])  # after a reboot


def test_a_worker_cannot_be_kept_that_way(machine):
    machine.at(2, "echo keep >>@/run/shoal/contact")
    assert machine.run() == (5, ["shutdown -h now"])


def test_a_shutdown_that_fails_is_tried_again(machine):
    machine.program("shutdown", "exit 1\n")
    machine.program("poweroff", "exit 1\n")
    machine.program("halt", "exit 1\n")
    checks, log = machine.run(most=5)
    assert checks == 6 and log == ["shutdown -h now", "poweroff ", "halt -p"] * 3


def test_a_shutdown_that_hangs_is_forced(machine):
    machine.program("shutdown")
    checks, log = machine.run(most=23)
    assert log == ["shutdown -h now"] * 20 + ["poweroff -f"]


# ---- the start, at boot ----


def start(machine, role="worker"):
    """Runs it as cloud-init does; returns what was called."""
    machine.run(role, most=0)
    (machine.root / "run/shoal/contact").unlink()
    (machine.root / "log").write_text("")
    (machine.root / "checks").write_text("")
    env = {"PATH": f"{machine.programs}:{os.environ['PATH']}",
           "SHOAL_CONTACT_ROOT": str(machine.root)}
    subprocess.run([shutil.which(machine.shell[0]), *machine.shell[1:],
                    str(machine.root / "contact.sh")], env=env, timeout=30, check=True,
                   stdin=subprocess.DEVNULL)
    return (machine.root / "log").read_text().splitlines()


def wait_for_checks(machine):
    end = time.monotonic() + 20
    while not (machine.root / "checks").read_text() and time.monotonic() < end:
        time.sleep(0.02)
    return (machine.root / "checks").read_text() != ""


def test_at_boot_it_is_a_unit_of_systemd(machine):
    (machine.root / "run/systemd/system").mkdir(parents=True)
    machine.program("systemd-run")
    called = start(machine)
    assert len(called) == 1 and called[0].startswith("systemd-run --quiet --no-block "
                                                      "--unit=shoal-contact ")
    assert called[0].endswith(f"/bin/sh {machine.root}/contact.sh watch")
    assert (machine.root / "run/shoal/contact").stat().st_mode & 0o777 == 0o622
    assert (machine.root / "checks").read_text() == ""


def test_without_systemd_it_is_a_process(machine):
    assert start(machine) == []
    assert wait_for_checks(machine)


def test_systemd_that_refuses_is_no_reason_to_go_without(machine):
    (machine.root / "run/systemd/system").mkdir(parents=True)
    machine.program("systemd-run", "exit 1\n")
    assert len(start(machine)) == 1
    assert wait_for_checks(machine)


def test_a_head_that_was_set_up_starts_nothing(machine):
    (machine.root / "run/systemd/system").mkdir(parents=True)
    (machine.root / "var/lib/cloud/instance/shoal-kept").touch()
    machine.program("systemd-run")
    assert start(machine, "head") == []
    assert (machine.root / "run/shoal/contact").exists()
