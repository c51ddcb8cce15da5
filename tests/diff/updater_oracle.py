"""What Ray's own launcher and installer would run on a node, recorded instead of run.

Ray's code builds an ssh command for each step; a recording process runner replaces `subprocess`.
The result is the command as the node's shell would see it, with the variables that were exported
before it.
"""

import copy
import os
import re
import shlex
import types

import oracle

HEAD_IP = "10.1.2.3"
NODE = "i-0123"


class Recorder:
    """Replaces `subprocess`."""

    DEVNULL = -3

    def __init__(self):
        self.commands = []

    def check_call(self, words, *args, **options):
        self.commands.append(words)
        return 0

    def check_output(self, words, *args, **options):
        self.commands.append(words)
        return b""


def paper_provider(config):
    """A provider of one node, which exists as soon as it is requested."""
    from ray.autoscaler.node_provider import NodeProvider

    class Paper(NodeProvider):
        def __init__(self):
            super().__init__({}, config["cluster_name"])
            self.tags = {}
            self.is_there = False

        def non_terminated_nodes(self, tag_filters):
            return [NODE] if self.is_there else []

        def create_node(self, node_config, tags, count):
            self.is_there = True
            self.tags.update(tags)

        def is_terminated(self, node_id):
            return False

        def node_tags(self, node_id):
            return dict(self.tags)

        def set_node_tags(self, node_id, tags):
            self.tags.update(tags)

        def internal_ip(self, node_id):
            return HEAD_IP

        external_ip = internal_ip

        def terminate_node(self, node_id):
            raise AssertionError("nothing is ended here")

    return Paper()


def read_command(words):
    """([(name, value)], command) of one ssh call; None if it is not a command of the file."""
    if words[0] != "ssh" or words[-5:-1] != ["bash", "--login", "-c", "-i"]:
        return None
    (line,) = shlex.split(words[-1])
    match = re.fullmatch(
        r"source ~/.bashrc; export OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore && \((.*)\)", line,
        re.DOTALL)
    rest = match.group(1)
    variables = []
    while True:
        match = re.match(r"export (RAY_\w+)=('(?:[^']|'\"'\"')*'|[^;'\s]*); ?", rest)
        if not match:
            break
        (value,) = shlex.split(match.group(2)) or [""]
        variables.append((match.group(1), value))
        rest = rest[match.end():]
    if rest == "uptime" or rest.startswith("mkdir -p "):
        return None
    return variables, rest


def read_commands(recorder):
    found = [read_command(words) for words in recorder.commands]
    return [entry for entry in found if entry is not None]


def stripped(config):
    """Without what would need files or a cloud: neither is part of the commands."""
    config = copy.deepcopy(config)
    config["file_mounts"] = {}
    config["cluster_synced_files"] = []
    config["auth"] = {"ssh_user": "ubuntu"}
    config["provider"] = dict(config["provider"])
    config["provider"].pop("cloudwatch", None)
    return config


def quiet(monkeypatch):
    from ray.autoscaler._private import updater
    from ray.autoscaler._private.cli_logger import cli_logger

    for name in ("print", "labeled_value", "warning", "success", "newline", "error", "verbose"):
        monkeypatch.setattr(cli_logger, name, lambda *args, **options: None)
    # Asks AWS whether the CloudWatch agent is installed; not part of the comparison.
    import ray.autoscaler._private.aws.cloudwatch.cloudwatch_helper as cloudwatch
    monkeypatch.setattr(cloudwatch.CloudwatchHelper, "update_from_config", lambda *args: None)
    monkeypatch.setattr(cloudwatch.CloudwatchHelper, "__init__", lambda *args: None)
    return updater


def head_commands(config, no_restart=False, restart_only=False, is_there=False):
    """What `ray up` runs on a head, with the v2 autoscaler."""
    from ray.autoscaler._private import commands

    oracle.ray_modules()
    config = stripped(config)
    provider = paper_provider(config)
    provider.is_there = is_there
    if is_there:
        head = config["available_node_types"][config["head_node_type"]]
        provider.tags.update({
            "ray-launch-config": commands.hash_launch_conf(head["node_config"], config["auth"]),
            "ray-user-node-type": config["head_node_type"]})
    recorder = Recorder()
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_UP_enable_autoscaler_v2"] = "1"
    commands.get_or_create_head_node(config, "file", no_restart, restart_only, True, None,
                                     no_monitor_on_head=True, _provider=provider, _runner=recorder)
    return read_commands(recorder)


def worker_commands(config, node_type, prepare_again=False):
    """What the v2 autoscaler's installer runs on a worker."""
    from ray.autoscaler.v2.instance_manager.config import AutoscalingConfig
    from ray.autoscaler.v2.instance_manager.ray_installer import RayInstaller

    oracle.ray_modules()
    config = stripped(config)
    recorder = Recorder()
    if prepare_again:
        holder = AutoscalingConfig(config)
    else:
        holder = AutoscalingConfig.__new__(AutoscalingConfig)
        holder._configs = config
        holder._runtime_hash, holder._file_mounts_contents_hash = "a", "b"
        holder._sync_continuously = False
    installer = RayInstaller(paper_provider(config), holder, process_runner=recorder)
    instance = types.SimpleNamespace(cloud_instance_id=NODE, instance_type=node_type)
    installer.install_ray(instance, HEAD_IP)
    return read_commands(recorder)
