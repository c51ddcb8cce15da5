/* slot_backoff.c: counts slots that ended before they were ready. */
#include "core/train/slot_backoff.h"

void slot_backoff_ready(struct slot_backoff *backoff)
{
    backoff->failures = 0;
}

bool slot_backoff_failed(struct slot_backoff *backoff, uint32_t slot, uint32_t last_slot,
                         bool was_ready, int64_t now)
{
    bool is_counted = !was_ready && slot > backoff->last_slot;
    backoff->has_failed = true;
    backoff->failed_at = now;
    if (was_ready) {
        backoff->failures = 0;
    } else if (is_counted) {
        backoff->failures++;
        backoff->last_slot = last_slot;
    }
    return is_counted;
}

int64_t slot_backoff_ms(const struct slot_backoff *backoff)
{
    int64_t wait = SLOT_BACKOFF_MS;
    for (int64_t i = 1; i < backoff->failures && wait < SLOT_BACKOFF_MAX_MS; i++) {
        wait *= 2;
    }
    return wait < SLOT_BACKOFF_MAX_MS ? wait : SLOT_BACKOFF_MAX_MS;
}

bool slot_backoff_is_waiting(const struct slot_backoff *backoff, int64_t now)
{
    return backoff->has_failed && now - backoff->failed_at < slot_backoff_ms(backoff);
}

int64_t slot_backoff_need(const struct slot_backoff *backoff, int64_t need)
{
    return backoff->failures > SLOT_BACKOFF_QUIET && need > 1 ? 1 : need;
}
