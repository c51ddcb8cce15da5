"""Kill processes with SIGKILL at failpoints, on instances with real Ray: the same command, run
again, continues from there. Never two heads, no orphan, nothing left after `down`.

The crash sweep of tests/front kills at every point, with a stand-in for Ray; this file has some of
its points. Each list is in the order in which the points are reached.
"""

import files
import kills
import pytest
from driver import settings


def rows(what, *points):
    return [(what, point) for point in points]


# For CI: each kind of process, and each kind of operation.
SOME = rows(
    "up",
    "up:aws:CreateLaunchTemplate:reply",
    "up:aws:RunInstances:reply",
    "node-serve:event:done:before",
    "up:after-request",
    "autoscaler-folder:file:handover.*.json:after",
    "autoscaler-folder:journal:journal.db:after#3",
) + rows(
    "down",
    "down:aws:TerminateInstances:reply",
    "down:remove:journal.db:before",
)

# The laptop, from an empty account to a cluster and back.
LAPTOP = rows(
    "up",
    "up:file:key:before",
    "up:journal:journal.db:before",
    "up:aws:CreateLaunchTemplate:before",
    "up:aws:CreateLaunchTemplate:reply",
    "up:aws:ImportKeyPair:after",
    "up:aws:CreateSecurityGroup:reply",
    "up:aws:AuthorizeSecurityGroupIngress:before#2",
    "up:aws:CreateRole:reply",
    "up:aws:AddRoleToInstanceProfile:before",
    "up:after-head-intent",
    "up:aws:RunInstances:before",
    "up:aws:RunInstances:reply",
    "up:after-worker-launch",
    "up:file:i-*:after",
    "up:child:ssh:after",
    "up:at-head-contact",
    "up:after-files",
    "up:after-request",
    "up:while-following",
) + rows(
    "down",
    "down:child:ssh:reply",
    "down:aws:CreateLaunchTemplateVersion:reply",
    "down:aws:TerminateInstances:before",
    "down:aws:TerminateInstances:reply",
    "down:aws:DeleteRole:after",
    "down:aws:DeleteLaunchTemplate:before",
    "down:remove:key:before",
)

# Instances: the step runner and the service, while repeated `up` commands bring the cluster up.
MACHINES = rows(
    "up",
    "node-serve:file:host_key:after",
    "node-serve:file:bundle.json:before",
    "node-serve:fork:runner:after",
    "node-serve:event:began:after",
    "node-serve:child:bash:before",
    "node-serve:child:bash:reply#2",
    "node-serve:file:*:before",
    "node-serve:event:done:before#2",
    "node-ray:child:python*:reply",
    "node-env:file:env.sh:before",
    "node-serve:file:handover.json:after",
    "autoscaler-folder:file:handover.*.json:after",
    "autoscaler-folder:journal:journal.db:after#2",
    "autoscaler-folder:aws:CreateLaunchTemplateVersion:reply",
    "autoscaler-folder:socket:before",
    "autoscaler-folder:child:ssh:after",
) + rows(
    "grow",
    "up:journal:journal.db:after#2",
    "autoscaler-folder:aws:RunInstances:before",
    "autoscaler-folder:aws:RunInstances:reply",
    "autoscaler-folder:file:i-*:before",
) + rows(
    "update",
    "up:after-request",
    "node-serve:event:skipped:after",
    "autoscaler-folder:journal:journal.db:before#3",
) + rows(
    "down",
    "autoscaler-folder:file:stood-down:after",
    "down:aws:DeleteSecurityGroup:before",
    "down:aws:DeleteLaunchTemplate:reply",
    "down:remove:journal.db:before",
)

LIVES = {"some": (SOME, 1), "laptop": (LAPTOP, 2), "machines": (MACHINES, 1)}  # first workers
# Processes with their operations, and points in time: `long` must cover them all.
KINDS = ("up:aws", "up:journal", "up:child", "up:file", "up:after-request", "down:aws",
         "down:child", "down:remove", "autoscaler-folder:aws", "autoscaler-folder:journal",
         "autoscaler-folder:child", "autoscaler-folder:file", "node-serve:child", "node-serve:fork",
         "node-serve:file", "node-serve:event", ":before", ":reply", ":after")


def test_every_kind_of_point_is_there():
    points = set(LAPTOP + MACHINES)
    assert len(points) >= 40 and len(set(SOME)) >= 8
    for kind in KINDS:
        assert any(kind in point for _, point in points), kind


def begin(cluster, workers):
    made = cluster(files.quick("killed", workers, setup_commands=kills.STEPS))
    made.bed.set(**settings.SHORT)
    return kills.Life(made, made.bed, settings.SHARED, settings.SHARED_ON_NODES)


@pytest.mark.parametrize("name", [
    "some", *(pytest.param(name, marks=pytest.mark.long)
              for name in ("laptop", "machines"))])
def test_killed_again_and_again(cluster, name):
    points, workers = LIVES[name]
    begin(cluster, workers).play(points)


@pytest.mark.long
@pytest.mark.parametrize("point", [
    "up:aws:CreateSecurityGroup:reply", "up:aws:RunInstances:reply", "up:after-request",
    "node-serve:event:done:before", "autoscaler-folder:child:ssh:after"])
def test_down_after_a_kill(cluster, point):
    """An interrupted `up` is not finished before `down`."""
    life = begin(cluster, 1)
    life.kill("up", point)
    life.end()
