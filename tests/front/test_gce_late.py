"""As test_late_answers.py, at Google: there a launch is answered when its operation ends."""

import pytest
from late import GceScene, check

HEAD = ("instances.bulkInsert", 'ray-node-type":"head')
WORKER = ("instances.bulkInsert", 'ray-node-type":"worker')
RULE = ("firewalls.insert", "")


@pytest.mark.parametrize("call, moment", [(HEAD, "takeover"), (WORKER, "handover")],
                         ids=["takeover", "handover"])
def test_a_launch(call, moment):
    with GceScene() as scene:
        check(scene, call, moment)


@pytest.mark.long
@pytest.mark.parametrize("call, moment", [
    (RULE, "ended"), (RULE, "takeover"), (HEAD, "ended"), (WORKER, "ended"), (WORKER, "takeover")])
def test_all(call, moment):
    with GceScene() as scene:
        check(scene, call, moment)
