/* clock.c: the machine's clocks, and a moment as text. */
#include "io/clock.h"

#include <time.h>

static int64_t read_ms(clockid_t which)
{
    struct timespec now = {0};
    clock_gettime(which, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t machine_monotonic_ms(void *context)
{
    (void)context;
    return read_ms(CLOCK_MONOTONIC);
}

static int64_t machine_wall_ms(void *context)
{
    (void)context;
    return read_ms(CLOCK_REALTIME);
}

const struct clock clock_of_machine = {machine_monotonic_ms, machine_wall_ms, NULL};

void clock_add_utc(struct buf *out, int64_t wall_ms)
{
    int64_t ms = wall_ms % 1000;
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm parts = {0};
    if (ms < 0) { /* before 1970: division went up */
        ms += 1000;
        seconds--;
    }
    if (!gmtime_r(&seconds, &parts)) {
        buf_add_c(out, "(no such time)"); /* the year does not fit */
        return;
    }
    buf_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1,
             parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, (int)ms);
}
