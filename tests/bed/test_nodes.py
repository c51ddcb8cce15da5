"""Machines: ssh, user-data, host keys, stop and start, shutdowns, and faults."""

import shutil
import subprocess
import time

import pytest
from conftest import BASE, Ssh, by_id, wait_for, wait_state

from cloud import settings

SPOT = {"InstanceMarketOptions": {"MarketType": "spot"}}


def host_key(tmp_path):
    path = tmp_path / "host"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path.read_text(encoding="ascii"), path.with_suffix(".pub").read_text(encoding="ascii")


# ---- every machine ----


def test_ssh_sudo_rsync_and_python(plain, ssh, tmp_path):
    node = plain
    shell = ssh(node)
    assert shell("sudo -n id -u").strip() == "0"
    assert shell("hostname").strip() == "ip-" + node["PrivateIpAddress"].replace(".", "-")
    assert shell("python3 -c 'print(6 * 7)'").strip() == "42"
    assert shutil.which("rsync")
    (tmp_path / "file").write_text("carried")
    subprocess.run(["rsync", "-e", " ".join(shell.words[:-1]), str(tmp_path / "file"),
                    f"{shell.words[-1]}:file"], check=True, timeout=30)
    assert shell("cat file") == "carried"


def test_only_the_key_of_the_instance(plain, ssh, tmp_path):
    node = plain
    ssh(node)
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    assert "Permission denied" in Ssh(node["PublicIpAddress"], other).run("true").stderr


def test_the_console_tells_the_host_key(ec2, plain, ssh):
    node = plain
    shell = ssh(node)
    text = ec2.get_console_output(InstanceId=node["InstanceId"])["Output"]
    fingerprint = shell("ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub").split()[1]
    part = text.split("-----BEGIN SSH HOST KEY FINGERPRINTS-----")[1].split("-----END")[0]
    assert fingerprint in part


def test_connections_and_sessions_are_counted(running_bed, plain, ssh, tmp_path):
    node, bed = plain, running_bed
    ssh(node)
    before = bed.ssh(node["InstanceId"])
    shell = ssh(node, "-o", "ControlMaster=auto", "-o", f"ControlPath={tmp_path}/c", "-o",
                "ControlPersist=20", wait=False)
    for _ in range(3):
        shell("true")
    after = bed.ssh(node["InstanceId"])
    assert after["connections"] - before["connections"] == 1
    assert after["sessions"] - before["sessions"] == 3
    subprocess.run([*shell.words[:1], "-O", "exit", *shell.words[1:]], capture_output=True,
                   timeout=10, check=False)


def test_calls_of_nodes_are_counted_apart(running_bed, plain, ssh):
    node, bed = plain, running_bed
    shell = ssh(node)
    bed.counts(clear=True)
    shell(f"curl -s -m 5 -d 'Action=DescribeInstances' {settings.ENDPOINT}/")
    assert sum(bed.counts(who=node["InstanceId"]).values()) == 1
    assert sum(bed.counts(who="laptop").values()) == 0


def test_images_by_ami(plain, ssh):
    """The base image has neither Ray nor pip."""
    assert plain["ImageId"] == BASE
    shell = ssh(plain)
    assert shell.run("python3 -m pip --version").returncode != 0
    assert shell.run("python3 -c 'import ray'").returncode != 0

# ---- boot ----


def test_user_data_runs_once(bed, ec2, machine, ssh):
    node = machine(UserData="#!/bin/sh\necho ran >> /var/ran; echo said")
    shell = ssh(node)
    wait_for(lambda: shell.run("cat /var/ran").stdout == "ran\n", 20)
    wait_for(lambda: "said" in bed.console(node["InstanceId"]), 20)
    ec2.reboot_instances(InstanceIds=[node["InstanceId"]])
    wait_for(lambda: bed.console(node["InstanceId"]).count("boot finished") == 2, 30)
    assert shell.wait()("cat /var/ran") == "ran\n"


CLOUD_CONFIG = """#cloud-config
write_files:
  - path: /etc/cluster/name
    permissions: "0600"
    content: one
runcmd:
  - echo first > /var/order
  - [sh, -c, "echo second >> /var/order"]
"""


def test_cloud_config(bed, machine, ssh):
    shell = ssh(machine(UserData=CLOUD_CONFIG))
    wait_for(lambda: shell.run("cat /var/order").stdout == "first\nsecond\n", 20)
    assert shell("sudo cat /etc/cluster/name; sudo stat -c %a /etc/cluster/name") == "one600\n"


def test_host_keys_by_user_data(bed, machine, ssh, tmp_path):
    """The laptop knows and pins the host key before the machine exists."""
    private, public = host_key(tmp_path)
    body = "".join(f"    {line}\n" for line in private.splitlines())
    data = f"#cloud-config\nssh_keys:\n  ed25519_private: |\n{body}  ed25519_public: {public}"
    node = machine(UserData=data)
    known = tmp_path / "known"
    known.write_text(f"{node['InstanceId']} {public}", encoding="ascii")
    options = ["-o", f"HostKeyAlias={node['InstanceId']}", "-o", f"UserKnownHostsFile={known}"]
    shell = ssh(node, *options, "-o", "StrictHostKeyChecking=yes")
    known.write_text(f"{node['InstanceId']} {host_key(tmp_path / '..')[1]}", encoding="ascii")
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in shell.run("true").stderr or \
        "Host key verification failed" in shell.run("true").stderr


# ---- stop, start, terminate ----


def test_a_disk_survives_a_stop(bed, ec2, machine, ssh):
    node = machine()
    ssh(node)("echo kept > file")
    ec2.stop_instances(InstanceIds=[node["InstanceId"]])
    wait_state(ec2, node["InstanceId"], "stopped")
    ec2.start_instances(InstanceIds=[node["InstanceId"]])
    again = wait_state(ec2, node["InstanceId"], "running")
    assert again["PublicIpAddress"] != node["PublicIpAddress"]
    assert ssh(again)("cat file") == "kept\n"


@pytest.mark.parametrize("behaviour, state", [("stop", "stopped"), ("terminate", "terminated")])
def test_poweroff_inside(bed, ec2, machine, ssh, behaviour, state):
    node = machine(InstanceInitiatedShutdownBehavior=behaviour)
    ssh(node).run("sudo poweroff")
    found = wait_state(ec2, node["InstanceId"], state)
    assert found["StateReason"]["Code"] == "Client.InstanceInitiatedShutdown"


def test_terminate_overtakes_the_start(bed, ec2, run):
    ident = run()[0]
    ec2.terminate_instances(InstanceIds=[ident])
    wait_state(ec2, ident, "terminated")
    time.sleep(1)
    names = subprocess.run(["docker", "ps", "-a", "--format", "{{.Names}}"], capture_output=True,
                           text=True, check=True, timeout=20).stdout
    assert ident not in names


def test_a_public_address_is_not_given_again_soon(bed, ec2, machine):
    first = machine()
    ec2.terminate_instances(InstanceIds=[first["InstanceId"]])
    wait_state(ec2, first["InstanceId"], "terminated")
    assert machine()["PublicIpAddress"] != first["PublicIpAddress"]


# ---- faults ----


def test_sshd_that_never_comes(bed, machine, ssh):
    bed.launch_fault("no-sshd")
    node = machine(UserData="#!/bin/sh\necho data ran")
    wait_for(lambda: "data ran" in bed.console(node["InstanceId"]), 20)
    assert "refused" in ssh(node, wait=False).run("true").stderr
    ssh(machine())


def test_boot_delay(bed, machine, ssh):
    bed.launch_fault("boot-delay", seconds=3)
    start = time.monotonic()
    node = machine()
    assert time.monotonic() - start < 2.5, "running, and not booted yet"
    ssh(node)
    assert time.monotonic() - start >= 3


def test_disk_full(bed, machine, ssh):
    bed.launch_fault("disk-full")
    shell = ssh(machine())
    assert "No space left" in shell.run("head -c 100000 /dev/zero > /tmp/x").stderr
    other = machine()
    shell = ssh(other)
    shell("head -c 100000 /dev/zero > /tmp/x")
    bed.node(other["InstanceId"], "disk-full")
    assert "No space left" in shell.run("head -c 100000 /dev/zero > /tmp/y").stderr
    bed.node(other["InstanceId"], "disk-free")
    shell("head -c 100000 /dev/zero > /tmp/y")


def test_a_paused_machine_is_a_black_hole(bed, ec2, machine, ssh):
    node = machine()
    shell = ssh(node)
    bed.node(node["InstanceId"], "pause")
    assert "timed out" in ssh(node, "-o", "ConnectTimeout=1", wait=False).run("true").stderr
    assert by_id(ec2, node["InstanceId"])["State"]["Name"] == "running"
    bed.node(node["InstanceId"], "unpause")
    shell.wait()


def test_a_killed_spot_machine_is_terminated(bed, ec2, machine):
    node = machine(**SPOT)
    bed.node(node["InstanceId"], "kill")
    wait_state(ec2, node["InstanceId"], "terminated")


def test_network_delay(bed, machine, ssh):
    node = machine()
    shell = ssh(node)

    def seconds():
        times = []
        for _ in range(2):
            start = time.monotonic()
            shell("true")
            times.append(time.monotonic() - start)
        return min(times)

    near = seconds()
    bed.set(relay_ms=80)
    far = seconds()
    # An ssh login needs more than five round trips of 160 ms.
    assert far > near + 5 * 0.160
    bed.set(relay_ms=0)
    assert seconds() < near + 0.5


def test_the_relay_keeps_the_rules(bed, machine, group, ssh):
    bed.set(relay_ms=20)
    node = machine(SecurityGroupIds=[group()])
    done = ssh(node, "-o", "ConnectTimeout=1", wait=False).run("true")
    assert done.returncode != 0


def test_images_by_ami(plain, ssh):
    """The base image has neither Ray nor pip."""
    assert plain["ImageId"] == BASE
    shell = ssh(plain)
    assert shell.run("python3 -m pip --version").returncode != 0
    assert shell.run("python3 -c 'import ray'").returncode != 0
