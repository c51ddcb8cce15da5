/*
 * server_clock.h: estimates a cloud's time from the Date of every reply. Pure.
 *
 * A Date is the second in which the reply was made, between sending and receiving. So each reply
 * bounds the offset of the servers' clock, and the estimate moves only as far as the bounds
 * require. It is relative to the loop's clock, which never jumps and includes suspended time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct server_clock {
    bool is_known;
    int64_t offset_ms;    /* servers' clock minus the loop's clock */
    unsigned behind;      /* consecutive replies whose Date was too early for the estimate */
    int64_t behind_hi_ms; /* latest offset that all of them allow */
};

/*
 * Adds a reply with this Date (seconds since 1970) to a request sent and received at these times
 * (loop's clock). The estimate moves forward immediately. It moves back by more than a second only
 * after three consecutive replies agree: one old Date may come from a cache, and a clock that moves
 * back would extend a lease.
 */
void server_clock_observe(struct server_clock *clock, int64_t date_s, int64_t sent_ms,
                          int64_t received_ms);

/* The cloud refused a request because of its time, so this Date overrides the estimate. */
void server_clock_set(struct server_clock *clock, int64_t date_s, int64_t sent_ms,
                      int64_t received_ms);

/* Milliseconds since 1970. Call only if the time is known. */
static inline int64_t server_clock_ms(const struct server_clock *clock, int64_t now_ms)
{
    return now_ms + clock->offset_ms;
}
