"""`ray status` in the same states with either autoscaler. Ray's monitor writes the golden file;
Shoal's service must produce the same text.

usage: status_states.py      rewrites golden/status.txt with Ray's own monitor (on the bed)
"""

import pathlib
import re
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cluster")]

import agent  # noqa: E402
import contest  # noqa: E402
import driver  # noqa: E402
import files  # noqa: E402

NAME, MOST = "states", 1
GOLDEN = HERE / "golden" / "status.txt"


def config():
    """At most one worker, and a long idle timeout, so that its idle state can be seen."""
    return files.scaling(NAME, MOST, 0.1)


def said(head):
    done = driver.in_machine(head, "bash", "-lic", "ray status", seconds=60)
    begin = done.find("=====")
    return normal(done[begin:])


def normal(text):
    """Without what differs between runs: times, ids, memory sizes."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?", "DATE", text)
    text = re.sub(r"=+ (Autoscaler status)", r"= \1", text)
    text = re.sub(r"\bi-[0-9a-f]{8,17}\b", "INSTANCE", text)
    text = re.sub(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UUID", text)
    # Ray shows its own instance id; the state is compared, not the text after it.
    text = re.sub(r"^ (UUID|INSTANCE|ADDRESS): (\w+),.*", r" ID: \2,", text, flags=re.M)
    text = re.sub(r"\b[0-9a-f]{56}\b", "NODE", text)
    text = re.sub(r"\b198\.18\.\d+\.\d+\b", "ADDRESS", text)
    text = re.sub(r"[\d.]+[KMG]?i?B/[\d.]+[KMG]?i?B", "SIZE", text)
    # The GCS lists nodes in hash order, and Ray prints the node types in that order.
    text = re.sub(r"(?m)^(Active|Idle):\n(?: .*\n)+", in_order, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def in_order(found):
    title, *types = found[0].splitlines(keepends=True)
    return title + "".join(sorted(types))


def wait_said(head, wanted, seconds=60):
    """Poll `ray status` until it says what it should. Return the last output."""
    end = time.monotonic() + seconds
    while True:
        text = said(head)
        if re.search(wanted, text) or time.monotonic() > end:
            return text
        time.sleep(0.3)


def states(bed, head, hold):
    """Bring the cluster from state to state and return [(name, text)]. `hold`: for how many seconds
    a state must last to be reported.
    """
    found = [("at rest", wait_said(head, r"Pending:\n \(no pending nodes\)"))]
    driven = agent.Agent(head)
    # Instances are listed only after the launch call has returned, so that the listing does not
    # show their ids before.
    bed.set(boot_delay=hold, listing_lag=hold)
    bed.fault("RunInstances", "slow", seconds=hold)
    driven.tasks("first", 1, hold)
    found.append(("a worker is asked for", wait_said(head, r"Pending:\n (?!\(no)", 30)))
    found.append(("a worker boots", wait_said(head, r"Pending:\n ID", 30)))
    driver.wait_for(lambda: any(n["type"] == "worker" for n in driven.alive()), 90, 0.2, "a worker")
    driven.tasks("rest", 2, 0.2)
    found.append(("one works, two tasks wait", wait_said(
        head, r"Active:\n 1 worker(.*\n)*Pending:\n \(no(.*\n)*.*: 2\+ pending", 60)))
    driven.event("rest", "done", 120)
    found.append(("the worker is idle", wait_said(head, r"Idle:\n(.*\n)* 1 worker", 30)))
    found.append(("the worker is gone", wait_said(head, r"NodeTerminated", 60)))
    driven.tasks("never", 1, 1, resources={"unobtainium": 1})
    found.append(("a task can never run", wait_said(head, r"unobtainium", 30)))
    driven.ask("request", bundles=[{"CPU": 3}])
    found.append(("resources are requested that no type has", wait_said(head, r"'CPU': 3", 30)))
    driven.close()
    return found


def text_of(found):
    return "\n\n".join(f"### {name}\n{text}" for name, text in found) + "\n"


def main():
    with tempfile.TemporaryDirectory(prefix="shoal-states-") as folder:
        bench = contest.Contest(folder)
        bench.prepare()
        try:
            with bench.ray(lambda key: files.for_both(config(), contest.KEY_NAME, key)) as (up, _):
                up()
                head = driver.machines(bench.ec2, NAME)[0]["InstanceId"]
                text = text_of(states(bench.bed, head, 14))
        finally:
            bench.bed.reset()
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
