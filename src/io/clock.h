/*
 * clock.h: an injectable clock.
 *
 * Monotonic time is for measuring: timers, deadlines, backoff, leases. It never goes back and
 * includes the time the machine was suspended. Wall time can jump both ways, so it is used only to
 * sign the first request and to stamp records. A clock is always passed as an argument, so that a
 * test can provide its own.
 */
#pragma once

#include "base/buf.h"

#include <stdint.h>

struct clock {
    int64_t (*monotonic_ms)(void *context);
    int64_t (*wall_ms)(void *context); /* since 1970-01-01 UTC */
    void *context;
};

/* The system clock. */
extern const struct clock clock_of_machine;

/* Identifies the current boot: the monotonic clock restarts at 0 with each boot. Empty if
 * unknown. */
enum { CLOCK_BOOT_ID_MAX = 64 };
void clock_boot_id(char ret_id[CLOCK_BOOT_ID_MAX]);

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
