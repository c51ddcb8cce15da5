"""Record `shoal up` on the test cloud as the picture of README.md.

usage: sudo SHOAL_BUILD=build venv/bin/python tests/cluster/record_up.py docs/images/up.svg

Real Ray in containers, a head and two spot workers, Ray installed in the image. Instances take
BOOT_SECONDS until sshd answers, because containers would answer at once.
"""

import importlib.util
import os
import sys
import tempfile

import driver

BOOT_SECONDS = 20
FILE = """\
cluster_name: demo
provider: {type: aws, region: us-west-2}
max_workers: 2
available_node_types:
  head:
    node_config: {InstanceType: m5.large, ImageId: IMAGE}
    resources: {CPU: 2}
  cpu:
    min_workers: 2
    resources: {CPU: 2}
    node_config:
      InstanceType: m5.large
      ImageId: IMAGE
      InstanceMarketOptions: {MarketType: spot}
head_node_type: head
"""


def recorder():
    path = driver.REPOSITORY / "tools" / "record.py"
    spec = importlib.util.spec_from_file_location("record", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(out):
    bed = driver.client.up(["ray"], seconds=1200)
    bed.reset()
    bed.set(boot_delay=BOOT_SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        laptop = driver.Laptop(folder)
        laptop.file("cluster.yaml", FILE.replace("IMAGE", driver.settings.AMIS[1].id))
        out = os.path.abspath(out)
        os.environ.update(laptop.env(TERM="xterm-256color"), PATH=f"{driver.SHOAL.parent}:"
                          + os.environ["PATH"])
        os.chdir(laptop.here)
        status = recorder().main([
            out, "--note",
            "The project's test cloud, not AWS: real Ray 2.60.0 in containers on one machine with "
            f"{os.cpu_count()} cores at load {driver.load():.0f}, {BOOT_SECONDS} s of boot time "
            "per instance, Ray in the image.",
            "--", "shoal", "up", "-y", "cluster.yaml"])
        laptop.run("down", "-y", "cluster.yaml", seconds=120)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
