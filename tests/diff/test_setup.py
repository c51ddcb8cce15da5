"""The same commands in the same order with the same variables as Ray's own launcher and installer,
except for the differences in docs/user/compatibility.md.
"""

import json
import re
import subprocess

import pytest

import need_ray  # noqa: F401  skips this module without Ray

import conftest
import oracle
import updater_oracle

FILE_FULL = """\
cluster_name: full
provider: {type: aws, region: us-west-2}
max_workers: 8
available_node_types:
  head:
    node_config: {InstanceType: m5.large}
    resources: {CPU: 0, "custom, one": 3}
    labels: {team: "it's ours", empty: ""}
  small:
    node_config: {InstanceType: m5.xlarge}
    resources: {}
    min_workers: 1
    labels: {zone: a}
  own:
    node_config: {InstanceType: g4dn.xlarge, InstanceMarketOptions: {MarketType: spot}}
    resources: {CPU: 4, GPU: 1}
    min_workers: 1
    initialization_commands: [echo only here]
    worker_setup_commands: ["echo $RAY_HEAD_IP > own", 'true']
head_node_type: head
initialization_commands:
  - sudo true
  - echo "a ( b" && echo 'c'
setup_commands:
  - |
    if true; then
      echo several lines
    fi
  - export X=1; echo $X
head_setup_commands: [pip install x]
worker_setup_commands: [echo worker]
head_start_ray_commands:
  - ray stop
  - ulimit -n 65536; ray start --head --port=7001 --autoscaling-config=~/ray_bootstrap_config.yaml
worker_start_ray_commands:
  - ray stop
  - ulimit -n 65536; ray start --address=$RAY_HEAD_IP:7001
"""

# A file of 2019.
FILE_OLD = """\
cluster_name: old
min_workers: 2
initial_workers: 2
max_workers: 2
autoscaling_mode: default
target_utilization_fraction: 0.8
idle_timeout_minutes: 5
provider: {type: aws, region: us-west-2, availability_zone: us-west-2a}
auth: {ssh_user: ubuntu}
head_node: {InstanceType: m5.large, ImageId: ami-1}
worker_nodes: {InstanceType: m5.large, ImageId: ami-1, InstanceMarketOptions: {MarketType: spot}}
file_mounts: {}
setup_commands:
  - echo 'export PATH="$HOME/anaconda3/bin:$PATH"' >> ~/.bashrc
  - pip install -U ray
head_setup_commands: [pip install boto3==1.4.8]
worker_setup_commands: []
head_start_ray_commands:
  - ray stop
  - ulimit -n 65536; ray start --head --redis-port=6379 --object-manager-port=8076 \
--autoscaling-config=~/ray_bootstrap_config.yaml
worker_start_ray_commands:
  - ray stop
  - ulimit -n 65536; ray start --redis-address=$RAY_HEAD_IP:6379 --object-manager-port=8076
"""


@pytest.fixture(autouse=True)
def hush(monkeypatch):
    oracle.ray_modules()
    updater_oracle.quiet(monkeypatch)
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_UP_enable_autoscaler_v2"):
        monkeypatch.setenv(name, "")  # restored afterwards


def prepared(path):
    """Ray's own preparation, and which commands come from its defaults; None if rejected."""
    try:
        config = oracle.load_file(path)
        if oracle.is_legacy(config):
            config = oracle.modern_form(config)
        written = {key for key in config}
        return oracle.ray_prepare(oracle.without_nightly_wheel(config)), written
    except Exception:
        return None, None


# ---- intended differences ----

def our_start(command, is_head, is_default):
    if command.strip() == "ray stop":
        return "~/.shoal/bin/shoal node idle || ray stop"
    if not is_head:
        return command
    if "--autoscaling-config" in command:
        command = 'eval "$(~/.shoal/bin/shoal node start)"; ' + \
            re.sub(r"(--autoscaling-config[= ]\S+)", r"${SHOAL_MONITOR-\1}", command)
    elif "ray start" in command and "--head" in command:
        command = command.replace("--head", "--head --no-monitor", 1)
    return command.replace("--dashboard-host=0.0.0.0", "--dashboard-host=127.0.0.1") \
        if is_default else command


def expected(steps, config, written, is_head, node_type):
    """Ray's steps, changed to what ours should be."""
    key = "head_start_ray_commands" if is_head else "worker_start_ray_commands"
    starts = len(config[key])
    result = []
    for position, (variables, command) in enumerate(steps):
        variables = dict(variables)
        is_start = position >= len(steps) - starts
        if is_start:
            command = our_start(command, is_head, key not in written)
            machine = config["available_node_types"][node_type]["node_config"]
            variables["RAY_CLOUD_INSTANCE_TYPE_NAME"] = machine.get("InstanceType", "")
        elif is_head and "head_setup_commands" not in written and \
                command == "pip install 'boto3>=1.4.8'":
            continue  # for Ray's monitor
        result.append((variables, command))
    return result


# ---- ours ----

def our_steps(path, node_type, *mode):
    done = subprocess.run([conftest.program("tests", "setup_probe"), str(path), node_type, *mode],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    steps = [step for step in json.loads(done.stdout)
             if step["kind"] in ("initialization", "setup", "start")]
    return [(dict(step["variables"]), step["command"]) for step in steps]


def compare(path, config, written):
    count = 0
    for node_type in config["available_node_types"]:
        is_head = node_type == config["head_node_type"]
        theirs = updater_oracle.head_commands(config) if is_head \
            else updater_oracle.worker_commands(config, node_type)
        assert our_steps(path, node_type) == \
            expected(theirs, config, written, is_head, node_type), (path.name, node_type)
        count += 1
    return count


@pytest.mark.parametrize("text", [FILE_FULL, FILE_OLD], ids=["full", "old"])
def test_files_of_this_test(text, tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    config, written = prepared(path)
    assert compare(path, config, written) >= 2


def test_the_corpus(corpus, say):
    """Every aws file that Ray accepts and whose nodes have no containers."""
    files = nodes = 0
    for path in corpus:
        config, written = prepared(path)
        if config is None or config["provider"]["type"] != "aws" or \
                (config.get("docker") or {}).get("container_name") or \
                not all(re.fullmatch(r"[\w.-]+", name) for name in config["available_node_types"]):
            continue
        try:
            json.dumps(config, sort_keys=True)
        except TypeError:
            continue  # Ray's launcher fails on its own hash
        nodes += compare(path, config, written)
        files += 1
    say(f"the steps of {nodes} node types of {files} files are Ray's")
    assert files > 10


@pytest.mark.parametrize("mode", ["no-restart", "restart-only"])
def test_restarts(mode, tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_text(FILE_FULL)
    config, written = prepared(path)
    theirs = updater_oracle.head_commands(config, no_restart=mode == "no-restart",
                                          restart_only=mode == "restart-only", is_there=True)
    if mode == "no-restart":
        config = dict(config, head_start_ray_commands=[])
    assert our_steps(path, "head", mode) == expected(theirs, config, written, True, "head")


def test_ray_runs_common_commands_twice(tmp_path):
    """Ray prepares an already prepared file again on the head. We do not."""
    path = tmp_path / "cluster.yaml"
    path.write_text(FILE_FULL)
    config, _ = prepared(path)
    common = config["setup_commands"]
    theirs = [command for _, command in
              updater_oracle.worker_commands(config, "small", prepare_again=True)]
    ours = [command for _, command in our_steps(path, "small")]
    first = len(config["initialization_commands"])
    assert theirs[first:first + 2 * len(common)] == common + common
    assert ours[first:first + len(common) + 1] == common + ["echo worker"]
