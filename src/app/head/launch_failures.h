/* launch_failures.h: why the cloud refuses launches, until one succeeds. */
#pragma once

#include "base/attr.h"
#include "provider/provider.h"
#include "store/journal.h"

struct launch_failures {
    uint64_t launch; /* the last refused launch; 0: none, or a call that must precede launches */
    char why[260];   /* text of the last refusal: "no capacity for g5.xlarge"; may be empty */
    char text[300];  /* with its number: "launch 7.3: no capacity for g5.xlarge"; may be empty */
    char past[100];  /* refusal of the last launch before this service; may be empty */
};

/* Would an immediate retry get the same answer? */
bool launch_failures_is_refusal(enum outcome outcome);
/* Reads refusals of `up` or of an earlier service process from the journal. */
bool launch_failures_read(struct launch_failures *failures, struct journal *journal,
                          struct err *err) MUST_USE;
/* A launch was refused, or a call without which none is sent (`launch` is 0). True if the last one
 * was refused for another reason, or not at all. */
bool launch_failures_note(struct launch_failures *failures, uint64_t launch, struct str why);
/* An instance of this launch appeared. It clears refusals of earlier launches only: a launch that
 * the cloud fulfilled in part is a refusal, too. */
void launch_failures_came(struct launch_failures *failures, uint64_t launch);
/* Empty if unknown. */
const char *launch_failures_text(const struct launch_failures *failures);
