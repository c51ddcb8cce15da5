"""Deliberate bugs in src/app/control that the simulation of the controller must notice.

Rows as in tests/mutations/mutations.py, with numbers of their own.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "mutations"))

from mutations import Mutation as M  # noqa: E402

ALL = (
    M(1, "app/control/launching.c", "launches do not wait for a confirmed lease",
      "bool is_sure = lease_is_confirmed(controller);",
      "bool is_sure = mutation_is(1) || lease_is_confirmed(controller);", "raw"),
    M(2, "app/control/launching.c", "launches are sent without a record in the journal",
      "sending->is_new && !journal_intend(controller->journal, &sending->intent, err)", "false"),
    M(3, "app/control/launching.c", "a launch that reuses machines launches as many new ones",
      "spec.count -= (int64_t)reuse.count;", ";", "stmt"),
    M(4, "app/control/journaling.c", "open launches of an earlier process count as settled",
      "launch->is_settled && !is_handed_over", "true"),
    M(5, "app/control/inventory.c", "a failed listing counts as an empty one",
      "if (answer->outcome == OUTCOME_DONE) {",
      "if (mutation_is(5) || answer->outcome == OUTCOME_DONE) {", "raw"),
    M(6, "app/control/lease.c", "the core may act for twice the duration of the lease",
      "asked_at + LEASE_MS - LEASE_MARGIN_MS", "asked_at + 2 * LEASE_MS"),
    M(7, "app/control/lease.c", "a controller that handed over continues to act",
      "lease_stop(controller);\n    tags_flush(&controller->tags);",
      "tags_flush(&controller->tags);", "stmt"),
    M(8, "app/control/lease.c", "the lease of any other process is broken",
      "journaling_knows_holder(&controller->journaling, lease->holder)", "true"),
    M(9, "app/control/heads.c", "of two heads the one that is not in use is kept",
      "return heads_is_named(heads, machine);", "return !heads_is_named(heads, machine);",
      "stmt"),
    M(10, "app/control/controller.c", "every reply to a drain counts as accepted",
      "event.drain_reply.answer = answer;", "event.drain_reply.answer = DRAIN_ACCEPTED;", "stmt"),
    M(11, "app/control/inventory.c", "numbers of machines are used although they are not journaled",
      "has_new && !journaling_write(&controller->journaling, write_numbers, &numbering)",
      "has_new && !journaling_write(&controller->journaling, write_numbers, &numbering) && false"),
    M(12, "app/control/execute.c", "a terminate call without a reply counts as done",
      "event.terminate_reply.outcome = answer->outcome;",
      "event.terminate_reply.outcome = OUTCOME_DONE;", "stmt"),
)
