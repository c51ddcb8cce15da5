/*
 * lease.h: the simulated lease. Visible to all controllers; taking it is atomic.
 *
 * Every take increments the epoch, every renewal keeps it. A controller that restarts on the same
 * machine takes its own lease at once, because the process that held it is dead.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lease {
    uint32_t holder; /* controller + 1; 0 if none yet */
    uint64_t incarnation;
    uint64_t epoch;
    int64_t until;
    uint64_t sole_writer_epoch; /* the first epoch since which only the holder has held it */
};

static inline bool lease_take(struct lease *lease, uint32_t sim_controller, uint64_t incarnation,
                              int64_t now, int64_t length)
{
    bool is_mine = lease->holder == sim_controller + 1;
    if (!is_mine && lease->holder != 0 && now < lease->until) {
        return false;
    }
    if (!is_mine || lease->incarnation != incarnation || now >= lease->until) {
        lease->epoch++;
    }
    uint64_t sole_writer_epoch = is_mine ? lease->sole_writer_epoch : lease->epoch;
    *lease = (struct lease){sim_controller + 1, incarnation, lease->epoch, now + length,
                            sole_writer_epoch};
    return true;
}

static inline bool lease_is_held(const struct lease *lease, uint32_t sim_controller,
                                 uint64_t incarnation, uint64_t epoch, int64_t now)
{
    return lease->holder == sim_controller + 1 && lease->incarnation == incarnation &&
           lease->epoch == epoch && now < lease->until;
}
