/*
 * lease.h: who may act. Kept where every controller can see it; taking it is atomic.
 *
 * Every taking counts the epoch up, every renewal keeps it. A controller that was started again
 * on the same machine takes its own lease at once: the process that held it is dead.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lease {
    uint32_t holder; /* controller + 1; 0: nobody yet */
    uint64_t incarnation;
    uint64_t epoch;
    int64_t until;
    uint64_t reign; /* the first epoch since which nobody but the holder has had it */
};

static inline bool lease_take(struct lease *lease, uint32_t controller, uint64_t incarnation,
                              int64_t now, int64_t length)
{
    bool is_mine = lease->holder == controller + 1;
    if (!is_mine && lease->holder != 0 && now < lease->until) {
        return false;
    }
    if (!is_mine || lease->incarnation != incarnation || now >= lease->until) {
        lease->epoch++;
    }
    uint64_t reign = is_mine ? lease->reign : lease->epoch;
    *lease = (struct lease){controller + 1, incarnation, lease->epoch, now + length, reign};
    return true;
}

static inline bool lease_is_held(const struct lease *lease, uint32_t controller,
                                 uint64_t incarnation, uint64_t epoch, int64_t now)
{
    return lease->holder == controller + 1 && lease->incarnation == incarnation &&
           lease->epoch == epoch && now < lease->until;
}
