/*
 * api_breaker.c: one circuit breaker for the whole cloud API, so that an outage does not cause a
 * storm of retries.
 */
#include "base/require.h"
#include "core/live/core_internal.h"

bool api_breaker_blocks(const struct core *core)
{
    const struct trouble *trouble = &core->trouble;
    return trouble->failures > 0 && (trouble->is_probing || core->now < trouble->retry_at);
}

void api_breaker_note_call(struct core *core)
{
    require(!api_breaker_blocks(core), "while the API fails, only one call is in flight");
    core->trouble.is_probing = core->trouble.failures > 0;
}

void api_breaker_apply(struct core *core, enum outcome outcome)
{
    require(outcome < OUTCOME_COUNT, "the outcome of the call is valid");
    const struct core_times *times = &core->settings->times;
    struct trouble *trouble = &core->trouble;
    trouble->is_probing = false;
    core->is_stirred = true;
    core->is_changed = true; /* a launch may have waited for any reply */
    if (outcome != OUTCOME_UNKNOWN && outcome != OUTCOME_THROTTLED && outcome != OUTCOME_DENIED) {
        *trouble = (struct trouble){0};
        return;
    }
    if (core->now < trouble->retry_at) {
        return; /* another reply to a call that was in flight when the failures began */
    }
    int64_t most = times->retry_first;
    for (uint32_t i = 0; i < trouble->failures && most < times->retry_most; i++) {
        most *= 2;
    }
    most = most < times->retry_most ? most : times->retry_most;
    trouble->failures++;
    /* Jitter over the upper half of the delay: retries are neither immediate nor simultaneous. */
    trouble->retry_at = core->now + most / 2 + rng_below(&core->rng, most / 2 + 1);
    require(trouble->retry_at >= core->now, "a retry is not in the past");
    require(trouble->retry_at <= core->now + most + 1,
            "a retry is not later than the longest delay");
}
