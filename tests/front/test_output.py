"""Every command with -o json on a running cluster: its real output matches its schema."""

import json

import output_schema
from front import wait_for

# The words of each command. `None`: the suites cli and train run it, without a cluster.
COMMANDS = {
    "check": ["cluster.yaml"], "plan": ["cluster.yaml"], "up": ["-y", "cluster.yaml"],
    "status": ["cluster.yaml"], "top": ["cluster.yaml"], "explain": ["cluster.yaml"],
    "events": ["cluster.yaml"], "logs": ["cluster.yaml", "head"],
    "get-head-ip": ["cluster.yaml"], "get-worker-ips": ["cluster.yaml"], "ls": ["--region", None],
    "stop": ["-y", "cluster.yaml"], "start": ["cluster.yaml"],
    "down": ["-y", "cluster.yaml"], "gc": ["-y", "--region", None],
    "validate": None, "config": None, "config-hashes": None, "simulate": None, "version": None,
    "train": None, "train-ls": None, "train-status": None}
# Parts of other objects.
PARTS = {"error", "failure", "node", "demand", "event", "train-job", "train-event"}


def test_every_output_is_listed():
    outputs = output_schema.definitions() | set(output_schema.SAME) | set(output_schema.FILES)
    assert outputs - PARTS == set(COMMANDS)


def test_outputs_of_a_cluster(front):
    laptop = front.laptop()
    config = front.cluster("demo", workers=1)
    laptop.file("cluster.yaml", config)
    for verb, words in COMMANDS.items():
        if words is None:
            continue
        words = [config["provider"]["region"] if word is None else word for word in words]
        done = laptop(verb, *words, "-o", "json")  # compares the output with the schema
        records = output_schema.objects(done.out)
        assert records and all(isinstance(record, dict) for record in records), done
        assert output_schema.name_of([verb, "-o", "json"]), verb
        if verb == "up":
            wait_for(lambda: json.loads(laptop("status", "cluster.yaml", "-o", "json").out)[
                "ray_nodes"] == 2, 60, 0.2, "both nodes in Ray")
    assert front.remains() == {}
