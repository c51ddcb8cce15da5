/* launch_failures.h: why the cloud refuses launches, until one succeeds. */
#pragma once

#include "base/attr.h"
#include "provider/provider.h"
#include "store/journal.h"

struct launch_failures {
    char text[300]; /* the last refusal: "launch 7.3: no capacity for g5.xlarge"; may be empty */
    char past[100]; /* refusal of the last launch before this service; may be empty */
};

/* Would an immediate retry get the same answer? */
bool launch_failures_is_refusal(enum outcome outcome);
/* Reads refusals of `up` or of an earlier service process from the journal. */
bool launch_failures_read(struct launch_failures *failures, struct journal *journal,
                          struct err *err) MUST_USE;
/* True if the cloud's answer differs from that to the last launch. */
bool launch_failures_note(struct launch_failures *failures, struct str what);
/* A launch succeeded. */
void launch_failures_clear(struct launch_failures *failures);
/* Empty if unknown. */
const char *launch_failures_text(const struct launch_failures *failures);
