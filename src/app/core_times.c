/* core_times.c: how patient the core is, and what a test makes of that. */
#include "app/core_times.h"

#include "base/str.h"

#include <stdlib.h>

enum {
    /* Ray needs about a second to send work to a node that is there. */
    SETTLE_LEAST_MS = 10 * 1000,
    /* After a start, and after Ray began anew: a GCS knows after 15 s who is dead. */
    QUIET_MS = 20 * 1000,
};

static int64_t settle_time(int64_t usual, int64_t idle_timeout_ms)
{
    int64_t wanted = idle_timeout_ms > SETTLE_LEAST_MS ? idle_timeout_ms : SETTLE_LEAST_MS;
    return idle_timeout_ms != PLAN_NO_LIMIT && wanted < usual ? wanted : usual;
}

static void turn(struct core_times *times, struct str name, int64_t value)
{
    const struct {
        const char *name;
        int64_t *place;
    } known[] = {
        {"settle", &times->settle},           {"quiet_start", &times->quiet_start},
        {"drain_retry", &times->drain_retry}, {"drain_grace", &times->drain_grace},
        {"ray_fresh", &times->ray_fresh},     {"cloud_fresh", &times->cloud_fresh},
        {"horizon", &times->horizon},         {"call_timeout", &times->call_timeout},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (str_is(name, known[i].name)) {
            *known[i].place = value;
        }
    }
}

void core_times_make(struct core_times *times, int64_t idle_timeout_ms)
{
    const char *given = getenv("SHOAL_TEST_TIMES");
    struct str rest = str_from(given ? given : "");
    core_times_default(times);
    times->quiet_start = QUIET_MS;
    times->settle = settle_time(times->settle, idle_timeout_ms);
    while (rest.len > 0) {
        struct str value = str_cut(&rest, ',');
        struct str name = str_cut(&value, '=');
        int64_t number;
        if (str_to_i64(value, &number) && number >= 0) {
            turn(times, name, number);
        }
    }
}
