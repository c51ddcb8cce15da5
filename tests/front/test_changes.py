"""A changed cluster file: `plan` says what `up` will do, and no change is ignored or lost."""

import json
import pathlib
import sys

import pytest

from front import wait_for

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))

from terminal import Terminal  # noqa: E402

MUTATING = ("RunInstances", "TerminateInstances", "CreateTags", "CreateLaunchTemplate",
            "CreateLaunchTemplateVersion", "CreateSecurityGroup", "ImportKeyPair", "CreateRole",
            "StartInstances", "StopInstances", "ModifyLaunchTemplate", "PutRolePolicy")


def mutations(front, since=0.0):
    return [row["action"] for row in front.calls(since) if row["action"] in MUTATING]


def workers(front):
    return [m for m in front.alive() if m.kind == "worker"]


def test_plan_shows_and_changes_nothing(front):
    laptop = front.laptop()
    content = front.cluster("demo", workers=2)
    file = laptop.file("cluster.yaml", content)
    done = laptop.run("plan", "--detailed-exitcode", file)
    assert done.status == 2, str(done)
    assert "+ launch   head m5.large  $0.10/h" in done.out, str(done)
    assert "+ launch   2 x m5.large  (worker)  $0.10/h each" in done.out, str(done)
    assert "$0.00/h now, $0.31/h after" in done.out, str(done)
    assert mutations(front) == []
    assert laptop.leftovers() == []
    laptop("up", "-y", file)
    before = len(mutations(front))
    done = laptop("plan", "--detailed-exitcode", file)
    assert "Nothing to do. Price: $0.31/h." in done.out, str(done)
    # A command changes: Ray is restarted everywhere.
    laptop.file("cluster.yaml", {**content, "setup_commands": ["true"]})
    done = laptop.run("plan", "-o", "json", "--detailed-exitcode", file)
    assert done.status == 2, str(done)
    plan = json.loads(done.out)
    assert plan["ray_restarts"] == 3 and plan["steps"] == [] and plan["update"], plan
    # Only a limit changes: Ray keeps running.
    laptop.file("cluster.yaml", {**content, "max_workers": 5})
    done = laptop("plan", "-o", "json", file)
    assert json.loads(done.out)["ray_restarts"] == 0, done.out
    assert len([row for row in front.calls() if row["who"] == "laptop" and
                row["action"] in MUTATING]) <= before


def answer(laptop, file, question, word):
    """What `up` prints after this answer to its question, and its exit status."""
    terminal = Terminal(laptop.words(laptop.front.program, "up", "--color", "never", file),
                        env=laptop.env(TERM="dumb"))
    try:
        terminal.read(question)
        terminal.type(word)
        data, status = terminal.end(240)
    finally:
        terminal.close()
    return data.decode(errors="replace"), status


def test_the_question_is_the_plan(front):
    laptop = front.laptop()
    content = front.cluster("demo", workers=1)
    file = laptop.file("cluster.yaml", content)
    question = (rb"This will launch 2 instances: head m5.large \(\$0.10/h\), "
                rb"1 x m5.large \(\$0.10/h\): \$0.20/h. Confirm \[y/N\]: ")
    said, status = answer(laptop, file, question, b"n\n")
    assert status == 1 and "nothing was changed" in said, said
    assert mutations(front) == [] and front.alive() == []
    said, status = answer(laptop, file, question, b"y\n")
    assert status == 0 and "demo is up" in said, said
    # A command changes while a job runs.
    laptop.file("cluster.yaml", {**content, "setup_commands": ["true"]})
    said, status = answer(laptop, file, rb"Ray will be restarted on 2 nodes; .*Confirm", b"n\n")
    assert status == 1 and "nothing was changed" in said, said
    # Nothing to do: no question.
    laptop.file("cluster.yaml", content)
    laptop.run("status", file)
    terminal = Terminal(laptop.words(laptop.front.program, "up", file), env=laptop.env(TERM="dumb"))
    data, status = terminal.end(240)
    terminal.close()
    assert status == 0 and b"up to date" in data and b"Confirm" not in data, data


def variables(machine, program):
    """Of the one process whose command line contains this: the variables about the GCS. None if
    there is no such process, or several: Ray is being restarted.
    """
    pids = [pid for pid, line in machine.processes().items() if program in line]
    rows = machine.run("cat", f"/proc/{pids[0]}/environ", check=False) if len(pids) == 1 else ""
    return dict(row.split("=", 1) for row in rows.split("\0")
                if row.startswith("RAY_gcs_")) if rows else None


def test_the_gcs_on_disk_reaches_every_start_command(front):
    laptop = front.laptop()
    content = front.cluster("demo", workers=1)
    kept = {**content, "metadata": {"shoal": {"gcs_store": "disk"}}}
    file = laptop.file("cluster.yaml", kept)
    assert "gcs_store: disk is alpha in Ray" in laptop("up", "-y", file).err
    head, worker = front.head(), workers(front)[0]
    folder = f".shoal/gcs/{head.tag('shoal-cluster-uid')}-{head.id}"
    waits = {"RAY_gcs_rpc_server_reconnect_timeout_s": "600"}
    assert variables(head, "gcs_server ") == {
        **waits, "RAY_gcs_storage": "rocksdb", "RAY_gcs_storage_path": f"/home/ubuntu/{folder}"}
    assert (head.home / folder).stat().st_mode & 0o777 == 0o700
    assert variables(worker, "/raylet ") == waits
    assert json.loads(laptop("plan", "-o", "json", file).out)["ray_restarts"] == 0
    laptop.file("cluster.yaml", content)
    assert json.loads(laptop("plan", "-o", "json", file).out)["ray_restarts"] == 2
    assert "alpha" not in laptop("up", "-y", file).err
    assert variables(head, "gcs_server ") == {}
    wait_for(lambda: variables(worker, "/raylet ") == {}, 60, 0.5, "the worker's new Ray")


def test_an_unchanged_up_starts_a_dead_ray_again(front):
    """Ray on the head was stopped or crashed; the file and all steps are as before."""
    laptop = front.laptop()
    file = laptop.file("cluster.yaml", front.cluster("demo", workers=1))
    laptop("up", "-y", file)
    said = laptop("up", "-y", file)
    assert "does not run" not in said.out + said.err, said
    head, before = front.head("demo"), {m.id for m in front.alive("demo")}
    head.run("ray", "stop")
    done = laptop.run("up", "-y", "--no-restart", file)
    assert done.status == 1 and "Ray on the head does not run" in done.err, done
    done = laptop("up", "-y", file)
    assert "Ray on the head does not run; starting it again" in " ".join(done.err.split()), done
    status = json.loads(laptop("status", "-o", "json", file).out)
    assert status["ray_version"] and status["ray_nodes"] == 2, status
    assert {m.id for m in front.alive("demo")} == before
    done = laptop("up", "-y", file)
    assert "does not run" not in done.out + done.err, done
    laptop("down", "-y", file)
    assert front.remains() == {}


def test_a_renamed_type_is_counted_drained_and_ended(front):
    laptop = front.laptop()
    content = front.cluster("demo", workers=1)
    file = laptop.file("cluster.yaml", content)
    laptop("up", "-y", file)
    old = workers(front)[0].id
    types = content["available_node_types"]
    types["cpu"] = types.pop("worker")
    laptop.file("cluster.yaml", content)
    done = laptop("plan", file)
    assert "- drain    1 x m5.large  (worker)" in done.out, str(done)
    assert "its node type is no longer in the file" in done.out, str(done)
    most = []

    def is_replaced():
        most.append(len(workers(front)))
        return [m.tag("ray-user-node-type") for m in workers(front)] == ["cpu"]

    laptop("up", "-y", file, seconds=240)
    wait_for(is_replaced, 180, 0.2, "the new worker instead of the old one")
    assert max(most) <= 1, most
    assert old not in [m.id for m in workers(front)]
    events = laptop("events", file).out
    assert "no longer in the file" in events, events


def test_a_changed_type_is_replaced_one_by_one(front):
    laptop = front.laptop()
    content = front.cluster("demo", workers=2)
    file = laptop.file("cluster.yaml", content)
    laptop("up", "-y", file)
    old = {m.id for m in workers(front)}
    worker = content["available_node_types"]["worker"]
    worker["node_config"] = {**worker["node_config"], "InstanceType": "m5.xlarge"}
    laptop.file("cluster.yaml", content)
    done = laptop("plan", file)
    assert "- drain    2 x m5.large  (worker)" in done.out, str(done)
    seen = []

    def is_replaced():
        now = {m.id for m in workers(front)}
        if not seen or seen[-1] != now:
            seen.append(now)
        return len(now) == 2 and not now & old

    laptop("up", "-y", file, seconds=240)
    wait_for(is_replaced, 240, 0.1, "two new workers")
    assert min(len(now) for now in seen) >= 1, seen
    assert any(len(now) == 2 and len(now & old) == 1 for now in seen), seen  # one of each


def test_a_changed_head_is_refused_and_named(front):
    laptop = front.laptop()
    content = front.cluster("demo", workers=0)
    file = laptop.file("cluster.yaml", content)
    laptop("up", "-y", file)
    before = len(mutations(front))
    head = content["available_node_types"]["head"]
    head["node_config"] = {**head["node_config"], "InstanceType": "m5.xlarge"}
    laptop.file("cluster.yaml", content)
    done = laptop.run("up", "-y", file)
    assert done.status == 1, str(done)
    assert "runs m5.large, the file says m5.xlarge" in done.err, str(done)
    assert "shoal down" in done.err, str(done)
    assert len([m for m in front.alive()]) == 1
    assert not [a for a in mutations(front)[before:] if a in (
        "RunInstances", "TerminateInstances", "PutRolePolicy")]
    assert "! replace" in laptop("plan", file).out
    # `status` shows the instance type of the running head, not that of the cluster file.
    assert "m5.large" in laptop("status", file).out
    content["provider"]["disable_launch_config_check"] = True
    laptop.file("cluster.yaml", content)
    laptop("up", "-y", file)


def without(policy, action):
    """The policy without this action."""
    def rest(statement):
        actions = statement["Action"]
        actions = [actions] if isinstance(actions, str) else actions
        return {**statement, "Action": [a for a in actions if a != action]}
    return {**policy, "Statement": [rest(s) for s in policy["Statement"] if rest(s)["Action"]]}


def test_a_denied_change_of_the_role_is_reported_and_retried(front):
    admin = front.laptop()
    content = front.cluster("demo", workers=0)
    policy = json.loads(admin("policy", admin.file("cluster.yaml", content)).out)
    ada = front.limited_laptop("ada", policy)
    file = ada.file("cluster.yaml", content)
    ada("up", "-y", file)
    front.limited_laptop("ada", without(policy, "iam:PutRolePolicy"))
    ada.file("cluster.yaml", {**content, "max_workers": 3})
    done = ada("up", "-y", file)
    assert "the role of the head was not updated" in done.err, str(done)
    front.limited_laptop("ada", policy)
    before = len(mutations(front))
    done = ada("up", "-y", file)
    assert "was not updated" not in done.err, str(done)
    assert "PutRolePolicy" in mutations(front)[before:]


def test_a_set_up_that_always_fails_uses_three_instances(front):
    laptop = front.laptop()
    file = laptop.file("cluster.yaml", front.cluster(
        "demo", workers=1, worker_setup_commands=["echo broken; exit 7"]))
    done = laptop.run("up", "-y", file, seconds=120)
    assert done.status == 1, str(done)
    assert "failed" in done.err and "exit 7" in done.err, str(done)

    def launched():
        return [m for m in front.machines(states=("pending", "running", "shutting-down",
                                                  "terminated", "stopping", "stopped"))
                if m.kind == "worker"]

    def is_stopped():
        return "no more launches after 3 failures" in laptop.run("status", file).out

    wait_for(is_stopped, 120, 1, "the stop of the type")
    assert len(launched()) == 3, [m.id for m in launched()]
    assert "fix what failed (shoal explain shows it) and run shoal up" in laptop(
        "status", file).out
    done = laptop.run("up", "-y", file, seconds=120)  # unchanged: the type starts again
    assert done.status == 1, str(done)
    wait_for(lambda: len(launched()) >= 4, 60, 0.5, "another try")


def with_worker_type(front, machine, **more):
    content = front.cluster("demo", workers=1, **more)
    worker = content["available_node_types"]["worker"]
    worker["node_config"] = {**worker["node_config"], "InstanceType": machine}
    return content


def test_no_capacity_is_told_and_costs_nothing(front):
    laptop = front.laptop()
    front.capacity(0, type="m5.xlarge")
    file = laptop.file("cluster.yaml", with_worker_type(front, "m5.xlarge"))
    done = laptop.run("up", "-y", file)
    assert done.status == 1 and done.seconds < 45, str(done)
    assert "1 more is requested: worker cannot be launched now" in done.err, str(done)
    assert workers(front) == []
    status = laptop("status", file).out
    assert "Fewer workers than min_workers: worker cannot be launched now" in status, status


def test_a_limit_on_cost_is_named(front):
    laptop = front.laptop()
    file = laptop.file("cluster.yaml", front.cluster(
        "demo", workers=1, metadata={"shoal": {"max_hourly_cost": 0.15}}))
    done = laptop.run("up", "-y", file)
    assert done.status == 1, str(done)
    assert "would cost more than max_hourly_cost allows" in done.err, str(done)
    assert "max_hourly_cost" in laptop("explain", file).out
    assert workers(front) == []


@pytest.mark.parametrize("planner, chosen", [("ray", "m5.large"), ("price", "m5.xlarge")])
def test_the_planner_chooses_the_node_type(front, planner, chosen):
    """Both fit. Ray prefers the type that the task uses up, `price` the one that costs less."""
    laptop = front.laptop()
    content = front.cluster("demo", workers=0, max_workers=2)
    node = content["available_node_types"]["worker"]
    content["available_node_types"] |= {
        "worker": {**node, "resources": {"CPU": 2}, "min_workers": 0, "max_workers": 1},
        "large": {"node_config": {**node["node_config"], "InstanceType": "m5.xlarge"},
                  "resources": {"CPU": 4}, "min_workers": 0, "max_workers": 1}}
    content["metadata"] = {"shoal": {"planner": planner,
                                     "prices": {"m5.large": 0.5, "m5.xlarge": 0.2}}}
    file = laptop.file("cluster.yaml", content)
    laptop("up", "-y", file)
    front.head("demo").run("sh", "-c", """echo '[{"CPU": 2}]' > /tmp/ray/demand.json""")
    wait_for(lambda: len(front.alive("demo")) == 2, 60, what="a worker")
    assert [m.type for m in front.alive("demo") if m.kind == "worker"] == [chosen]
    laptop("down", "-y", file)
    assert front.remains() == {}
