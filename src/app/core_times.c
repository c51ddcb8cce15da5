/* core_times.c: the core's timeouts, and their overrides for tests. */
#include "app/core_times.h"

#include "app/test_times.h"

enum {
    /* Ray needs about a second to schedule work on a node that has joined. */
    SETTLE_LEAST_MS = 10 * 1000,
    /* After a start, and after Ray has restarted: a GCS detects dead nodes within 15 s. */
    QUIET_MS = 20 * 1000,
    /* Own machines: asking again costs nothing, and each host has its own pause. */
    COOL_FIRST_MS = 10 * 1000,
    COOL_MOST_MS = 30 * 1000,
};

static int64_t settle_time(int64_t usual, int64_t idle_timeout_ms)
{
    int64_t wanted = idle_timeout_ms > SETTLE_LEAST_MS ? idle_timeout_ms : SETTLE_LEAST_MS;
    return idle_timeout_ms != PLAN_NO_LIMIT && wanted < usual ? wanted : usual;
}

void core_times_list_at_once(struct core_times *times)
{
    times->horizon = 0;
    times->call_timeout = 0;
    times->cool_first = COOL_FIRST_MS;
    times->cool_most = COOL_MOST_MS;
}

void core_times_make(struct core_times *times, int64_t idle_timeout_ms)
{
    const struct test_time known[] = {
        {"settle", &times->settle},           {"quiet_start", &times->quiet_start},
        {"drain_retry", &times->drain_retry}, {"drain_grace", &times->drain_grace},
        {"ray_fresh", &times->ray_fresh},     {"cloud_fresh", &times->cloud_fresh},
        {"horizon", &times->horizon},         {"call_timeout", &times->call_timeout},
    };
    core_times_default(times);
    times->quiet_start = QUIET_MS;
    times->settle = settle_time(times->settle, idle_timeout_ms);
    test_times_read(known, sizeof(known) / sizeof(known[0]));
}
