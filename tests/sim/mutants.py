"""Deliberate bugs that the simulator must detect, as edits of the source.

usage: mutants.py SOURCE_FOLDER OUTPUT_FOLDER FILE...

Writes mutants.h and, for each FILE such as core/live/decide.c, a copy with the edits below, named
after the last part of its path. One build has all bugs; MUTANT(name) is
true for the one that is switched on. `old` of an edit is exactly once in its file.
"""

import os
import re
import sys

# File, old, new.
EDITS = (
    # Repeats failed calls at once.
    ("core/live/api_breaker.c", "return trouble->failures > 0 &&",
     "return !MUTANT(storms) && trouble->failures > 0 &&"),
    # Treats absence from a listing as proof before the horizon.
    ("core/live/apply_cloud.c", "int64_t horizon = core->settings->times.horizon;",
     "int64_t horizon = MUTANT(absence_too_soon) ? 0 : core->settings->times.horizon;"),
    # Treats absence from an incomplete listing as proof.
    ("core/live/apply_cloud.c", "if (!listing->is_complete)",
     "if (!listing->is_complete && !MUTANT(believes_cut_listing))"),
    # Treats a terminate without a reply as success.
    ("core/live/apply_cloud.c", "if (outcome == OUTCOME_DONE)",
     "if (outcome == OUTCOME_DONE || (outcome == OUTCOME_UNKNOWN && MUTANT(hopes_it_ended)))"),
    # Treats a not-found terminate as terminated.
    ("core/live/apply_cloud.c",
     "        node->until = core->now + core->settings->times.terminate_retry;\n",
     "        if (MUTANT(not_found_is_gone)) { node_move(core, node, NODE_GONE); return; }\n"
     "        node->until = core->now + core->settings->times.terminate_retry;\n"),
    # Treats a node that Ray does not list as dead.
    ("core/live/apply_ray.c",
     "    if (node_state_table[node->state].is_running) {\n"
     "        node_move(core, node, NODE_SETTING_UP);\n",
     "    if (MUTANT(absent_is_dead)) { die(core, node); }\n"
     "    else if (node_state_table[node->state].is_running) {\n"
     "        node_move(core, node, NODE_SETTING_UP);\n"),
    # Treats a drain without a reply, or a refused one, as accepted.
    ("core/live/apply_ray.c", "if (answer == DRAIN_ACCEPTED)",
     "if (answer == DRAIN_ACCEPTED ||"
     " (answer == DRAIN_UNKNOWN && MUTANT(lost_drain_is_consent)) ||"
     " (answer == DRAIN_REFUSED && MUTANT(refusal_is_consent)))"),
    # After a take-over, trusts the first listing as complete.
    ("core/live/core.c", "if (from > core->trusted_from)",
     "if (from > core->trusted_from && !MUTANT(trusts_first_listing))"),
    # Repeats launches of an earlier lease period.
    ("core/live/core.c", "quiet_start;\n    launches_freeze_all(core);",
     "quiet_start;\n    if (!MUTANT(repeats_after_take_over)) { launches_freeze_all(core); }"),
    ("core/live/launches.c", "launch->number >> 32 < sole_writer_epoch;",
     "launch->number >> 32 < sole_writer_epoch && !MUTANT(repeats_after_take_over);"),
    # Deadlines never pass.
    ("core/live/deadlines.c", "if (limit == 0)", "if (limit == 0 || MUTANT(waits_for_ever))"),
    # Treats a node as idle from its request on.
    ("core/live/decide.c", "int64_t from = idle_counts_from(core, node);",
     "int64_t from = MUTANT(idle_kill_of_new) ? node->created_at : idle_counts_from(core, node);"),
    ("core/live/decide.c", "int64_t idle = core->ray_seen_at - node->idle_since;",
     "int64_t idle = (MUTANT(ends_while_gcs_away) ? core->now : core->ray_seen_at) -"
     " (MUTANT(idle_kill_of_new) ? node->created_at : node->idle_since);"),
    ("core/live/node_counts.c", "if (core->now >= at)",
     "if (core->now >= at || MUTANT(idle_kill_of_new))"),
    # Terminates idle nodes without a drain, always or while the GCS is away.
    ("core/live/decide.c", "    node_end(core, node, NODE_DRAINING, reason);\n",
     "    if (end->cause == END_IDLE && (MUTANT(ends_without_asking) ||"
     " (MUTANT(ends_while_gcs_away) && !ray_view_is_fresh(core)))) {\n"
     "        node_end(core, node, NODE_TERMINATING, reason);\n        return;\n    }\n"
     "    node_end(core, node, NODE_DRAINING, reason);\n"),
    ("core/live/permission.c", "!ray_view_is_fresh(core)",
     "!(ray_view_is_fresh(core) || MUTANT(ends_while_gcs_away))"),
    # An offering without capacity does not cool down.
    ("core/live/launches.c",
     "    if (launch->offering >= core->settings->offering_count ||\n        (",
     "    if (launch->offering >= core->settings->offering_count ||\n"
     "        MUTANT(keeps_asking_refused) || ("),
    # A partial launch leaves records that are never settled.
    ("core/live/launches.c",
     "    launches_close(core, launch);\n}\n\nstatic void launches_do_apply_reply",
     "    if (MUTANT(expects_the_rest) && launch->requested != NO_NODE) {\n"
     "        *launch = core->launches[--core->launch_count];\n        return;\n    }\n"
     "    launches_close(core, launch);\n}\n\nstatic void launches_do_apply_reply"),
    # A refusal settles a launch although an older call is in flight.
    ("core/live/launches.c", "bool is_unsure = core->now < launch->unsure_until;",
     "bool is_unsure = core->now < launch->unsure_until && !MUTANT(forgets_older_calls);"),
    # Treats a launch without a reply as no machines.
    ("core/live/launches.c",
     "        launch->unsure_until = launch->sent_at + core->settings->times.call_timeout;\n",
     "        launch->unsure_until = launch->sent_at + core->settings->times.call_timeout;\n"
     "        if (MUTANT(lost_answer_is_refusal)) { launches_close(core, launch); }\n"),
    # Repeats an unanswered launch under a new number, or in another zone.
    ("core/live/launches.c", "    action->launch = launch->number;\n",
     "    if (MUTANT(fresh_number_per_retry)) { launch->number = launches_next_number(core); }\n"
     "    uint32_t next = (launch->offering + 1) % (uint32_t)core->settings->offering_count;\n"
     "    const struct offering *offerings = core->settings->offerings;\n"
     "    if (MUTANT(other_zone_per_retry) &&"
     " offerings[next].type == offerings[launch->offering].type) { launch->offering = next; }\n"
     "    action->launch = launch->number;\n"),
    # Does not count instances that the file does not describe.
    ("core/live/node_counts.c", "        return node_counts(node) ? ROLE_OTHER : ROLE_NONE;",
     "        return node_counts(node) && !MUTANT(ignores_outdated) ? ROLE_OTHER : ROLE_NONE;"),
    # Does not count unanswered launches against the limits.
    ("core/live/node_counts.c", "return ROLE_PENDING;",
     "return MUTANT(counts_only_known) && node->state == NODE_REQUESTED ? ROLE_NONE"
     " : ROLE_PENDING;"),
    # Does not count terminating nodes against the limits.
    ("core/live/node_counts.c", "\n    return node_counts(node) ? ROLE_OTHER : ROLE_NONE;",
     "\n    return node_counts(node) && !MUTANT(ending_counts_not) ? ROLE_OTHER : ROLE_NONE;"),
    # Launches a type whose setup always fails again and again.
    ("core/live/nodes.c", "    strike(core, setups);\n",
     "    if (!MUTANT(never_stops)) { strike(core, setups); }\n"),
    # Terminates outdated nodes without a drain.
    ("core/live/outdated.c", "    if (life->is_running && core->settings->keeps_outdated) {",
     "    if (MUTANT(kills_outdated) && (life->is_running || life->is_pending)) {\n"
     "        node_end(core, node, NODE_TERMINATING, outdated_reason(node));\n"
     "    } else if (life->is_running && core->settings->keeps_outdated) {"),
    # Ignores the lease.
    ("core/live/permission.c", "if (core->now >= core->lease_until)",
     "if (core->now >= core->lease_until && !MUTANT(acts_without_lease))"),
    ("sim/controller.c", "if (now >= action->not_after)",
     "if (now >= action->not_after && !MUTANT(acts_without_lease))"),
    # Launches before the first listing.
    ("core/live/permission.c", "if (core->listed_at < core->trusted_from) {",
     "if (core->listed_at < core->trusted_from && !MUTANT(launches_unseen)) {"),
    # The shell adopts machines that only have our name.
    ("sim/controller.c", "if (listed->is_ours && !listed->is_head)",
     "if ((listed->is_ours || MUTANT(adopts_by_name)) && !listed->is_head)"),
)


def names():
    found = (name for _, _, new in EDITS for name in re.findall(r"MUTANT\((\w+)\)", new))
    return list(dict.fromkeys(found))


def header():
    listed = " ".join(f"X({name})" for name in names())
    numbers = ", ".join(f"MUTANT_{name}" for name in names())
    return ("#pragma once\n#include <stdint.h>\nextern uint32_t mutant_on;\n"
            "#define MUTANT(name) (mutant_on == MUTANT_##name)\n"
            f"#define MUTANT_LIST(X) {listed}\n"
            f"enum mutant {{ MUTANT_NONE, {numbers}, MUTANT_COUNT }};\n")


def edited(root, file):
    with open(os.path.join(root, file), encoding="utf-8") as stream:
        text = stream.read()
    edits = [(old, new) for name, old, new in EDITS if name == file]
    for old, new in edits:
        if text.count(old) != 1:
            sys.exit(f"{file}: an edit of tests/sim/mutants.py no longer applies: {old}")
        text = text.replace(old, new)
    if not edits:
        sys.exit(f"{file} has no edits in tests/sim/mutants.py")
    return '#include "mutants.h"\n' + text


def main(root, output, files):
    if set(files) != {file for file, _, _ in EDITS}:
        sys.exit("tests/sim/meson.build does not list the files that tests/sim/mutants.py edits")
    for name, text in [("mutants.h", header())] + [
            (os.path.basename(file), edited(root, file)) for file in files]:
        with open(os.path.join(output, name), "w", encoding="utf-8") as stream:
            stream.write(text)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
