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
    M(3, "app/control/launching.c",
      "a refusal settles a launch whose earlier call may still take effect",
      "controller_now(controller) >= open->unsure_until", "true"),
    M(4, "app/control/journaling.c", "open launches of an earlier process count as settled",
      "launch->is_settled && !is_handed_over", "true"),
    M(5, "app/control/journaling.c", "launches of another holder in between are not expected",
      "epoch == 0 || (lease->epoch != epoch && lease->epoch != epoch + 1)", "epoch == 0"),
    M(6, "app/control/lease.c", "the core may act for twice the duration of the lease",
      "asked_at + LEASE_MS - LEASE_MARGIN_MS", "asked_at + 2 * LEASE_MS"),
    M(7, "app/control/lease.c", "a controller that handed over continues to act",
      "lease_stop(controller);\n    tags_flush(controller);", "tags_flush(controller);", "stmt"),
    M(8, "app/control/lease.c", "the lease of any other process is broken",
      "journaling_knows_holder(controller, lease->holder)", "true"),
    M(9, "app/control/heads.c", "of two heads the one in use is terminated",
      "return heads_is_named(controller, machine);", "return !heads_is_named(controller, machine);",
      "stmt"),
    M(10, "app/control/controller.c", "every reply to a drain counts as accepted",
      "event.drain_reply.answer = answer;", "event.drain_reply.answer = DRAIN_ACCEPTED;", "stmt"),
    M(11, "app/control/inventory.c", "numbers of machines are used although they are not journaled",
      "has_new && !journaling_write(controller, write_numbers, &numbering)",
      "has_new && !journaling_write(controller, write_numbers, &numbering) && false"),
    M(12, "app/control/execute.c", "a terminate call without a reply counts as done",
      "event.terminate_reply.outcome = answer->outcome;",
      "event.terminate_reply.outcome = OUTCOME_DONE;", "stmt"),
    M(13, "app/control/reuse.c", "two launches start the same stopped machine",
      "!is_claimed(controller, machine->id)", "true"),
    M(14, "app/control/journaling.c", "machines of an earlier process are not replayed",
      "machine->launch == launch->launch", "false"),
    M(15, "app/control/journaling.c", "the machines of a late success are expected in a listing",
      "age_of_effect(play, launch)", "launch->age_ms"),
    M(16, "app/control/execute.c", "a setup is dropped when the journal cannot be written",
      "execute_set_up(controller, kept[i].instance, is_written);",
      "if (is_written) { execute_set_up(controller, kept[i].instance, true); }", "stmt"),
    M(17, "app/control/launching.c", "a launch whose reply is lost counts as refused",
      "answer->outcome == OUTCOME_CAPACITY || answer->outcome == OUTCOME_QUOTA ||",
      "mutation_is(17) || answer->outcome == OUTCOME_CAPACITY || "
      "answer->outcome == OUTCOME_QUOTA ||", "raw"),
    M(18, "app/control/inventory.c", "a failed listing counts as an empty one",
      "if (answer->outcome == OUTCOME_DONE) {",
      "if (mutation_is(18) || answer->outcome == OUTCOME_DONE) {", "raw"),
)
