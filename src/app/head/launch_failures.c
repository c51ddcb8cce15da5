/* launch_failures.c: the last refused launch. */
#include "app/head/launch_failures.h"

#include "app/control/launch_request.h"

#include <stdio.h>

bool launch_failures_is_refusal(enum outcome outcome)
{
    return outcome == OUTCOME_CAPACITY || outcome == OUTCOME_QUOTA || outcome == OUTCOME_DENIED ||
           outcome == OUTCOME_INVALID;
}

static void launch_failures_take_intent(void *context, const struct journal_intent *intent)
{
    struct launch_failures *failures = context;
    if (!intent->is_settled || !launch_is_cores(intent->launch)) {
        return;
    }
    if (launch_failures_is_refusal(intent->outcome)) {
        snprintf(failures->past, sizeof(failures->past), "the last launch was refused: %s",
                 outcome_text(intent->outcome));
    } else if (intent->outcome == OUTCOME_DONE) {
        failures->past[0] = '\0';
    }
}

bool launch_failures_read(struct launch_failures *failures, struct journal *journal,
                          struct err *err)
{
    return journal_intents(journal, launch_failures_take_intent, failures, err);
}

bool launch_failures_note(struct launch_failures *failures, uint64_t launch, struct str why)
{
    why = str_sub(why, 0, sizeof(failures->why) - 1);
    bool is_new = !str_eq(why, str_from(failures->why));
    snprintf(failures->why, sizeof(failures->why), "%.*s", STR_ARG(why));
    if (launch != 0) {
        snprintf(failures->text, sizeof(failures->text), "launch %u.%u: %s", LAUNCH_ARG(launch),
                 failures->why);
    } else {
        snprintf(failures->text, sizeof(failures->text), "%s", failures->why);
    }
    return is_new;
}

void launch_failures_clear(struct launch_failures *failures)
{
    *failures = (struct launch_failures){0};
}

const char *launch_failures_text(const struct launch_failures *failures)
{
    return failures->text[0] != '\0' ? failures->text : failures->past;
}
