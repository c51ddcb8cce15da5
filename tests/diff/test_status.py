"""What `shoal status` prints first is what `ray status` prints for the same reply of the GCS.

Ray writes the resources of one request in the order of a hash; here they are sorted, so Ray's are
sorted before they are compared.

SHOAL_DIFF_STATUSES  number of replies (default 400)
"""

import ast
import os
import random
import re
import time

import need_ray  # noqa: F401  skips this module without Ray

import conftest
import workers

from ray.autoscaler._private.util import parse_placement_group_resource_str
from ray.autoscaler.v2.schema import Stats
from ray.autoscaler.v2.utils import ClusterStatusFormatter, ClusterStatusParser
from ray.core.generated import autoscaler_pb2 as pb

REPLIES = int(os.environ.get("SHOAL_DIFF_STATUSES") or 400)
ASKED_S = 1790000000.123456
GROUP = "%s_group_%s9f3c2ab01000000"
TYPES = ["head", "worker", "gpu", "m5.large", "ray.head.default", "", "wörker", "a b"]
RESOURCES = ["CPU", "GPU", "memory", "object_store_memory", "foo", "it's", 'say "hi"', "both'\"",
             "back\\slash", "node:10.0.0.4", "node:__internal_head__", "accelerator_type:A10G",
             "TPU-v4-8-head", "_group_", "x_group_", "x_group_y", "x_group_1_", "tab\t"]
AMOUNTS = [0.0, 1.0, 2.0, 0.5, 0.1, 0.2, 0.3, 4.0, 64.0, 1e-4, 1e16, 123456789.0, 5 * 2.0**30,
           2.0**40 * 3.3, 2.0**20, 1023.0, 1024.0, 2.0**30 - 1]


def name_of(rng):
    name = rng.choice(RESOURCES[:5]) if rng.random() < 0.7 else rng.choice(RESOURCES)
    if rng.random() < 0.15:
        name = GROUP % (name, rng.choice(["", "0_", "1_", "12_", "a_"]))
    return name


def fill(rng, amounts, most=4):
    for _ in range(rng.randint(0, most)):
        amounts[name_of(rng)] = rng.choice(AMOUNTS)


def plain(name):
    """Without the placement group to which it belongs."""
    return parse_placement_group_resource_str(name)[0]


def request(rng, made):
    fill(rng, made.resources_bundle)
    amounts = {plain(name): amount for name, amount in made.resources_bundle.items()}
    for name in list(made.resources_bundle):  # if several have the same resource Ray picks any
        made.resources_bundle[name] = amounts[plain(name)]
    if rng.random() < 0.1:
        made.resources_bundle[GROUP % ("bundle", "")] = 0.001
    if rng.random() < 0.3:
        made.label_selectors.add()


def node(rng, made):
    made.node_id = rng.randbytes(28)
    made.instance_id = "i-%x" % rng.randrange(1 << 30)
    made.ray_node_type_name = rng.choice(TYPES)
    made.status = rng.choice([1, 1, 1, 2, 3, 3, 4, 0])
    made.idle_duration_ms = rng.randrange(1 << 20)
    made.node_activity.append("Busy workers on node.")
    fill(rng, made.total_resources, 8)
    for name, amount in list(made.total_resources.items()):
        if rng.random() < 0.9:
            made.available_resources[name] = rng.choice([amount, 0.0, amount / 2, amount / 3])


def gang(rng, made):
    for _ in range(rng.randint(0, 3)):
        request(rng, made.requests.add())
    made.details = rng.choice(["9f3c:STRICT_SPREAD|PENDING", "9f3c:PACK|PENDING", ":PACK|PENDING",
                               "9f3c:STRICT_PACK|RESCHEDULING", "", "nothing", "a:b"])


def report(rng, made):
    made.autoscaler_state_version = rng.randrange(1 << 40)
    for _ in range(rng.randint(0, 3)):
        made.pending_instance_requests.add(ray_node_type_name=rng.choice(TYPES),
                                           instance_type_name="m5.large", count=rng.randint(0, 9),
                                           request_ts=rng.randrange(1 << 31))
    for _ in range(rng.randint(0, 3)):
        made.pending_instances.add(ray_node_type_name=rng.choice(TYPES), instance_id="i-7",
                                   ip_address="10.0.0.7", instance_type_name="m5.large",
                                   details=rng.choice(["Setting UP, step 2", "", "booting"]))
    for _ in range(rng.choice([0, 0, 1, 2, 25])):
        made.failed_instance_requests.add(ray_node_type_name=rng.choice(TYPES), count=2,
                                          reason="no capacity", failed_ts=rng.randrange(1 << 31),
                                          start_ts=rng.choice([5, 5, 1789999000, 1790000000]))
    for _ in range(rng.randint(0, 2)):
        request(rng, made.infeasible_resource_requests.add())


def reply(rng):
    made = pb.GetClusterStatusReply()
    state = made.cluster_resource_state
    state.cluster_resource_state_version = rng.randrange(1 << 40)
    for _ in range(rng.choice([0, 1, 2, 3, 8, 40])):
        node(rng, state.node_states.add())
    for _ in range(rng.randint(0, 4)):
        one = state.pending_resource_requests.add(count=rng.randint(0, 12))
        request(rng, one.request)
        if rng.random() < 0.3:
            state.pending_resource_requests.add().CopyFrom(one)
    for _ in range(rng.randint(0, 3)):
        gang(rng, state.pending_gang_resource_requests.add())
    if rng.random() < 0.4:
        constraint = state.cluster_resource_constraints.add()
        for _ in range(rng.randint(0, 3)):
            request(rng, constraint.resource_requests.add(count=rng.randint(1, 9)).request)
    if rng.random() < 0.8:
        report(rng, made.autoscaling_state)
    return made


def sorted_shapes(text):
    def mend(found):
        return repr(dict(sorted(ast.literal_eval(found.group(0)).items())))

    return re.sub(r"\{[^{}]*\}", mend, text)


def rays_text(made):
    stats = Stats(gcs_request_time_s=0.01, request_ts_s=ASKED_S)
    return ClusterStatusFormatter.format(
        ClusterStatusParser.from_get_cluster_status_reply(made, stats))


def test_the_text_is_rays(monkeypatch, seed):
    monkeypatch.setenv("TZ", "America/St_Johns")
    time.tzset()
    rng = random.Random(seed)
    replies = [reply(rng) for _ in range(REPLIES)]
    ours = workers.ask_probe(conftest.program("tests", "status_probe"),
                             [made.SerializeToString() for made in replies])
    for made, text in zip(replies, ours):
        wanted = sorted_shapes(rays_text(made))
        assert text.replace("\x1e", "\n") == wanted, str(made)
    print(f"{REPLIES} status texts are Ray's")


def test_what_is_no_reply_is_refused():
    whole = reply(random.Random(3)).SerializeToString()
    broken = [b"\xff", b"\x12\x7f", whole[:-1], b"\x0a\x05\xff\xff\xff\xff\xff"]
    for answer in workers.ask_probe(conftest.program("tests", "status_probe"), broken):
        assert answer.startswith("!error invalid cluster state from Ray"), answer
