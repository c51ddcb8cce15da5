/* server_clock.c: maintains the bounds and the estimate between them. */
#include "provider/server_clock.h"

enum { BACK_MS = 1000, BEHIND_MAX = 3 };

void server_clock_set(struct server_clock *clock, int64_t date_s, int64_t sent_ms,
                      int64_t received_ms)
{
    int64_t lo = date_s * 1000 - received_ms;
    int64_t hi = date_s * 1000 + 999 - sent_ms;
    *clock = (struct server_clock){.is_known = true, .offset_ms = lo + (hi - lo) / 2};
}

static void fall_behind(struct server_clock *clock, int64_t hi)
{
    clock->behind_hi_ms = clock->behind == 0 || hi > clock->behind_hi_ms ? hi : clock->behind_hi_ms;
    if (++clock->behind >= BEHIND_MAX) {
        clock->offset_ms = clock->behind_hi_ms;
        clock->behind = 0;
    }
}

void server_clock_observe(struct server_clock *clock, int64_t date_s, int64_t sent_ms,
                          int64_t received_ms)
{
    int64_t lo = date_s * 1000 - received_ms;
    int64_t hi = date_s * 1000 + 999 - sent_ms;
    if (!clock->is_known) {
        server_clock_set(clock, date_s, sent_ms, received_ms);
        return;
    }
    if (clock->offset_ms > hi + BACK_MS) {
        fall_behind(clock, hi);
        return;
    }
    clock->behind = 0;
    if (clock->offset_ms < lo) {
        clock->offset_ms = lo;
    } else if (clock->offset_ms > hi) {
        clock->offset_ms = hi;
    }
}
