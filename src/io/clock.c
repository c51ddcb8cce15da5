/* clock.c: the system clocks, and formatting of timestamps. */
#include "io/clock.h"

#include "io/os.h"

#include <time.h>

static int64_t machine_monotonic_ms(void *context)
{
    (void)context;
    return os_monotonic_ms();
}

static int64_t machine_wall_ms(void *context)
{
    (void)context;
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

const struct clock clock_of_machine = {machine_monotonic_ms, machine_wall_ms, NULL};

void clock_boot_id(char ret_id[CLOCK_BOOT_ID_MAX])
{
    os_boot_id(ret_id, CLOCK_BOOT_ID_MAX);
}

void clock_add_utc(struct buf *out, int64_t wall_ms)
{
    int64_t ms = wall_ms % 1000;
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm parts = {0};
    if (ms < 0) { /* before 1970: division rounded up */
        ms += 1000;
        seconds--;
    }
    if (!gmtime_r(&seconds, &parts)) {
        buf_add_c(out, "(invalid time)"); /* the year is out of range */
        return;
    }
    buf_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1,
             parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, (int)ms);
}
