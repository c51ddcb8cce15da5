"""Record `shoal up`, `status`, `top` and `explain` on a small and on a large terminal.

usage: sudo SHOAL_BUILD=build venv/bin/python tests/cluster/record_pictures.py docs/images

Each size gets a cluster of its own on the test cloud, with real Ray in containers: a head, two spot
workers, a worker whose setup fails, and a request that no node type can meet. The SVGs are
FOLDER/COMMAND-COLUMNSxLINES.svg. Prints rows that were too wide for the terminal, and fails if
there are any or if the commands disagree about the number of nodes or the price.
"""

import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile

import driver
import record_up

SIZES = (80, 24), (200, 50)
BOOT_SECONDS = 5
TOP_SECONDS = "6"  # several refreshes
FILE = """\
cluster_name: demo
provider: {type: aws, region: us-west-2}
max_workers: 6
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
  gpu:
    min_workers: 1
    resources: {CPU: 4, GPU: 1}
    node_config: {InstanceType: g4dn.xlarge, ImageId: IMAGE}
    worker_setup_commands:
      - echo 'export DATA=/data' >> ~/.bashrc
      - pip install --quiet torch==9.9
head_node_type: head
"""
JOINED = "3 of 4 nodes joined"  # the head and both cpu workers
HELD = "Fewer workers than min_workers"  # status, when no more workers are launched


def record(folder, size, verb, *words):
    """Record `shoal VERB`; returns (what it showed last, the recorder's own lines)."""
    out = folder / f"{verb}-{size[0]}x{size[1]}.svg"
    still = [] if verb == "up" else ["--still"]
    keys = ["--keys", TOP_SECONDS, "q"] if verb == "top" else []
    notes = io.StringIO()
    with contextlib.redirect_stdout(notes):
        record_up.recorder().main([
            str(out), "--columns", str(size[0]), "--lines", str(size[1]), *still, *keys, "--note",
            "The project's test cloud, not AWS: real Ray 2.60.0 in containers on one machine with "
            f"{os.cpu_count()} cores at load {driver.load():.0f}.",
            "--", "shoal", verb, *words, "cluster.yaml"])
    lines = notes.getvalue().splitlines()
    print("\n".join(lines), flush=True)
    texts = re.findall(r"<text(?![^>]*opacity)[^>]*>(.*?)</text>", out.read_text(encoding="utf-8"))
    return "\n".join(re.sub("<[^>]*>", "", text) for text in texts), lines[1:]


def is_settled(laptop):
    """The request is known, and the workers that failed are terminated and cost nothing."""
    text = laptop("status", "cluster.yaml").out
    return HELD in text and "CPU: 64" in text and not re.search(r"failed .* 0\.526 ", text)


def pictures(bed, folder, size):
    """Record one cluster; returns complaints."""
    bed.reset()
    bed.set(boot_delay=BOOT_SECONDS)
    complaints = []
    with tempfile.TemporaryDirectory() as scratch:
        laptop = driver.Laptop(scratch)
        laptop.file("cluster.yaml", FILE.replace("IMAGE", driver.settings.AMIS[1].id))
        os.environ.update(laptop.env(TERM="xterm-256color"))
        os.environ["PATH"] = f"{driver.SHOAL.parent}:{os.environ['PATH']}"
        os.chdir(laptop.here)
        try:
            texts = {"up": record(folder, size, "up", "-y")}
            laptop("request-resources", "cluster.yaml", "--bundles", '[{"CPU": 64}, {"CPU": 64}]')
            driver.wait_for(lambda: is_settled(laptop), 90)
            for verb in ("status", "top", "explain"):
                texts[verb] = record(folder, size, verb)
        finally:
            laptop.run("down", "-y", "cluster.yaml", seconds=120)
        os.chdir("/")
    for verb, (text, faults) in texts.items():
        complaints += faults
        if verb != "explain" and JOINED not in text:
            complaints.append(f"{verb} at {size} does not say {JOINED}")
    prices = [set(re.findall(r"\$[0-9.]+/h", texts[verb][0])) for verb in ("status", "top")]
    if len(set.union(*prices)) != 1:
        complaints.append(f"different prices in status and top at {size}: {prices}")
    return complaints


def main(folder):
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    bed = driver.client.up(["ray"], seconds=1200)
    complaints = [line for size in SIZES for line in pictures(bed, folder, size)]
    for line in complaints:
        print("complaint:", line)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
