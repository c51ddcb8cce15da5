"""Calls of `up` that create something and are answered late: after the end of the lease, after
another laptop has taken it, or after the head's service has. Instances in use stay, and `down`
leaves nothing. `test_gce_late.py` and `test_plugin_late.py` do the same at Google and with a
plug-in; `conform late` does it for single launches of every provider.
"""

import pytest
from late import AwsScene, check

# (call, a part of its body)
HEAD, WORKER = ("RunInstances", "Value=head"), ("RunInstances", "Value=worker")
PREPARING = [(action, "") for action in (
    "ImportKeyPair", "CreateSecurityGroup", "AuthorizeSecurityGroupIngress", "CreateRole",
    "PutRolePolicy", "CreateInstanceProfile", "AddRoleToInstanceProfile")]


def test_a_worker_after_the_handover():
    with AwsScene() as scene:
        check(scene, WORKER, "handover")


@pytest.mark.long
@pytest.mark.parametrize("moment", ["ended", "takeover"])
@pytest.mark.parametrize("call", [*PREPARING, HEAD, WORKER], ids=" ".join)
def test_all(call, moment):
    with AwsScene() as scene:
        check(scene, call, moment)
