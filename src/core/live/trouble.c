/* trouble.c: one breaker for the whole cloud, so that an outage is not answered with a storm. */
#include "core/live/state.h"

bool trouble_blocks(const struct core *core)
{
    const struct trouble *trouble = &core->trouble;
    if (BUG(core, storms)) {
        return false;
    }
    return trouble->failures > 0 && (trouble->is_probing || core->now < trouble->retry_at);
}

void trouble_note_call(struct core *core)
{
    core->trouble.is_probing = core->trouble.failures > 0;
}

void trouble_hear(struct core *core, enum outcome outcome)
{
    const struct core_times *times = &core->settings->times;
    struct trouble *trouble = &core->trouble;
    trouble->is_probing = false;
    core->is_stirred = true;
    core->is_changed = true; /* a launch may have waited for this answer, whatever it says */
    if (outcome != OUTCOME_UNKNOWN && outcome != OUTCOME_THROTTLED && outcome != OUTCOME_DENIED) {
        *trouble = (struct trouble){0};
        return;
    }
    if (core->now < trouble->retry_at) {
        return; /* another answer to the calls that were under way when it began */
    }
    int64_t most = times->retry_first;
    for (uint32_t i = 0; i < trouble->failures && most < times->retry_most; i++) {
        most *= 2;
    }
    most = most < times->retry_most ? most : times->retry_most;
    trouble->failures++;
    /* Full jitter over the upper half: never at once, never all together. */
    trouble->retry_at = core->now + most / 2 + dice_below(&core->dice, most / 2 + 1);
}
