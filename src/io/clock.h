/*
 * clock.h: what time it is, for whoever was handed a clock.
 *
 * Monotonic time measures and never jumps: timers, deadlines, backoff. Wall time can jump both
 * ways, so it serves two things only: signing requests and stamping records for people. A clock is
 * passed down, never looked up, so that a test can own it.
 */
#pragma once

#include "base/buf.h"

#include <stdint.h>

struct clock {
    int64_t (*monotonic_ms)(void *context);
    int64_t (*wall_ms)(void *context); /* since 1970, UTC */
    void *context;
};

/* The machine's own. */
extern const struct clock clock_of_machine;

static inline int64_t clock_monotonic_ms(const struct clock *clock)
{
    return clock->monotonic_ms(clock->context);
}

static inline int64_t clock_wall_ms(const struct clock *clock)
{
    return clock->wall_ms(clock->context);
}

/* "2026-11-15T08:15:56.123Z". */
void clock_add_utc(struct buf *out, int64_t wall_ms);
