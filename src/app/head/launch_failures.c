/* launch_failures.c: the last refused launch. */
#include "app/head/launch_failures.h"

#include "app/control/launch_request.h"

#include <stdio.h>

bool launch_failures_is_refusal(enum outcome outcome)
{
    return outcome == OUTCOME_CAPACITY || outcome == OUTCOME_QUOTA || outcome == OUTCOME_DENIED ||
           outcome == OUTCOME_INVALID;
}

struct past_launch {
    uint64_t launch;
    enum outcome outcome;
    int64_t asked, came;
};

static void launch_failures_take_intent(void *context, const struct journal_intent *intent)
{
    struct past_launch *last = context;
    if (intent->is_settled && launch_is_cores(intent->launch) && intent->launch > last->launch &&
        (launch_failures_is_refusal(intent->outcome) || intent->outcome == OUTCOME_DONE)) {
        *last = (struct past_launch){intent->launch, intent->outcome, intent->count, 0};
    }
}

static void launch_failures_take_launched(void *context, const struct journal_launched *launched)
{
    struct past_launch *last = context;
    last->came += launched->launch == last->launch;
}

bool launch_failures_read(struct launch_failures *failures, struct journal *journal,
                          struct err *err)
{
    struct past_launch last = {.outcome = OUTCOME_DONE};
    if (!journal_intents(journal, launch_failures_take_intent, &last, err) ||
        !journal_all_launched(journal, launch_failures_take_launched, &last, err)) {
        return false;
    }
    failures->launch = last.launch;
    failures->past[0] = '\0';
    if (last.outcome != OUTCOME_DONE) {
        snprintf(failures->past, sizeof(failures->past), "the last launch was refused: %s",
                 outcome_text(last.outcome));
    } else if (last.came > 0 && last.came < last.asked) {
        snprintf(failures->past, sizeof(failures->past),
                 "the last launch got %lld of %lld: no capacity for the rest", (long long)last.came,
                 (long long)last.asked);
    }
    return true;
}

bool launch_failures_note(struct launch_failures *failures, uint64_t launch, struct str why)
{
    failures->launch = launch;
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

void launch_failures_came(struct launch_failures *failures, uint64_t launch)
{
    if (launch > failures->launch) {
        *failures = (struct launch_failures){0};
    }
}

const char *launch_failures_text(const struct launch_failures *failures)
{
    return failures->text[0] != '\0' ? failures->text : failures->past;
}
