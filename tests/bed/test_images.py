"""The images with Ray, without pip, and with systemd are as the launcher expects them."""

import os
import pathlib
import subprocess
import zipfile

import pytest
from conftest import FROM_LAPTOP, HERE, RAY, SYSTEMD, bed_client, wait_for, wait_state

from cloud import images, settings

INDEX = f"http://{settings.GATEWAY}:{settings.INDEX_PORT}"
SHOAL = pathlib.Path(os.environ.get("SHOAL_BUILD") or HERE.parents[1] / "build") / "src/cli/shoal"
# Most of the cost of a Ray node is its start: no dashboard, little memory.
START = "ray start --num-cpus 1 --object-store-memory 80000000 --disable-usage-stats"
TASK = """
import ray
ray.init(address="auto", logging_level="ERROR")
@ray.remote(num_cpus=1, scheduling_strategy="SPREAD")
def where():
    import time, socket
    time.sleep(1)
    return socket.gethostname()
print(*sorted(set(ray.get([where.remote() for _ in range(4)]))))
"""


@pytest.fixture
def image(running_bed):
    """image("ray"): builds it if needed."""
    def ensure(kind):
        bed_client.up([kind])
    return ensure


@pytest.fixture
def small_wheel():
    """One package in the index, without a download."""
    name = "bedtest-1.0-py3-none-any.whl"
    settings.WHEELS.mkdir(parents=True, exist_ok=True)
    path = settings.WHEELS / name
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("bedtest.py", "WORDS = 'out of the index'\n")
    yield name
    path.unlink()


def test_a_wheel_by_the_index(plain, ssh, small_wheel):
    shell = ssh(plain)
    assert '<a href="/simple/bedtest/">bedtest</a>' in shell(f"curl -s -m 5 {INDEX}/simple/")
    page = shell(f"curl -s -m 5 {INDEX}/simple/bedtest/")
    assert f'<a href="/files/{small_wheel}">' in page
    shell(f"curl -s -m 5 -O {INDEX}/files/{small_wheel}")
    assert shell(f"PYTHONPATH={small_wheel} python3 -c 'import bedtest; print(bedtest.WORDS)'") == \
        "out of the index\n"
    status = shell(f"curl -s -m 5 -o /dev/null -w '%{{http_code}}' {INDEX}/simple/nothing/")
    assert status == "404"


def test_an_ordinary_build_runs_there(plain, ssh):
    """The machines have its libraries, and the tools that the setup of a node needs."""
    shell = ssh(plain)
    with open(SHOAL, "rb") as stream:
        subprocess.run([*shell.words, "cat > shoal && chmod 700 shoal"], stdin=stream, check=True,
                       timeout=60)
    assert shell("./shoal --version").startswith("shoal ")
    shell("command -v rsync nc pgrep sudo python3")
    assert shell.run("python3 -m pip --version").returncode != 0
    assert shell.run("python3 -m ensurepip --version").returncode != 0


def test_sshd_says_when(running_bed, plain, ssh):
    """The log of a machine's sshd has times; tests of unnecessary waits compare them."""
    ssh(plain)("true")
    row = next(n for n in running_bed.ps()["nodes"] if n["id"] == plain["InstanceId"])
    log = running_bed.ssh(plain["InstanceId"])["log"]
    lines = [line.split(" ", 1) for line in log.splitlines()]
    up = next(float(when) for when, text in lines if text.startswith("Server listening"))
    let_in = next(float(when) for when, text in lines if text.startswith("Starting session"))
    assert row["times"]["pending"] < up < let_in


@pytest.mark.long
def test_ray_on_two_machines(bed, ec2, image, machine, group, ssh):
    image("ray")
    inner = group(FROM_LAPTOP)
    ec2.authorize_security_group_ingress(GroupId=inner, IpPermissions=[
        {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": inner}]}])
    head, worker = (machine(ImageId=RAY, SecurityGroupIds=[inner]) for _ in range(2))
    address = head["PrivateIpAddress"]
    shell = ssh(head)
    shell(f"{START} --head --port 6379 --node-ip-address {address} --include-dashboard=false",
          seconds=120)
    ssh(worker)(f"{START} --address {address}:6379", seconds=120)
    shell(f"cat > task.py <<'END'\n{TASK}END\n")
    names = shell("python3 task.py", seconds=120).split()
    assert names == sorted("ip-" + n["PrivateIpAddress"].replace(".", "-") for n in (head, worker))
    for node in (head, worker):
        ssh(node).run("ray stop --force", seconds=60)


@pytest.mark.long
def test_ray_by_the_index_on_a_bare_machine(bed, machine, ssh):
    images.ensure_wheels()
    shell = ssh(machine())
    page = shell(f"curl -s -m 5 {INDEX}/simple/pip/")
    wheel = page.split('href="/files/')[1].split('"')[0]
    shell(f"curl -s -m 20 -O {INDEX}/files/{wheel}")
    install = f"sudo python3 {wheel}/pip install -q"
    shell(f"{install} pip click", seconds=120)
    assert "click" in shell("python3 -m pip list 2>/dev/null")
    assert shell.run(f"{install} no-such-package", seconds=60).returncode != 0
    found = shell(f"curl -s -m 5 {INDEX}/simple/ray/")
    assert f"ray-{images.RAY_VERSION}" in found


CONFIG = """#cloud-config
write_files:
  - path: /etc/systemd/system/ticker.service
    content: |
      [Service]
      ExecStart=/bin/sleep 1000
      Restart=always
      RestartSec=0
runcmd:
  - systemctl start ticker
  - echo real cloud-init > /var/made
"""


def test_systemd_and_cloud_init(bed, ec2, image, machine, ssh):
    image("systemd")
    node = machine(ImageId=SYSTEMD, UserData=CONFIG, InstanceInitiatedShutdownBehavior="terminate")
    shell = ssh(node, wait=False).wait(90)
    wait_for(lambda: shell.run("cat /var/made").stdout == "real cloud-init\n", 60)
    assert shell("cat /proc/1/comm") == "systemd\n"
    before = shell("systemctl show -p MainPID --value ticker")
    shell("sudo systemctl kill -s KILL ticker")
    wait_for(lambda: shell.run("systemctl is-active ticker").stdout == "active\n", 20)
    assert shell("systemctl show -p MainPID --value ticker") != before
    assert bed.ssh(node["InstanceId"])["sessions"] >= 3
    shell.run("sudo systemctl poweroff")
    wait_state(ec2, node["InstanceId"], "terminated")
