/* journal_time.c: a time base that lasts until the machine reboots. */
#include "app/control/journal_time.h"

#include <inttypes.h>

int64_t journal_time_base(struct journal *journal, const struct clock *clock, struct arena *arena)
{
    char boot[CLOCK_BOOT_ID_MAX];
    struct str rest = STR("");
    struct err err;
    int64_t base;
    clock_boot_id(boot);
    if (boot[0] != '\0' && journal_get(journal, "clock", arena, &rest, &err) &&
        str_is(str_cut(&rest, ' '), boot) && str_to_i64(rest, &base)) {
        return base;
    }
    return clock_wall_ms(clock) - clock_monotonic_ms(clock);
}

bool journal_time_write(struct journal *journal, int64_t base_ms, struct arena *arena,
                        struct err *err)
{
    char boot[CLOCK_BOOT_ID_MAX];
    clock_boot_id(boot);
    return journal_set(journal, "clock", arena_printf(arena, "%s %" PRId64, boot, base_ms), err);
}
