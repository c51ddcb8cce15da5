/* control_faults.h: the faults of a simulated world. Each seed has its own mixture. */
#pragma once

#include "base/rng.h"

#include <stdbool.h>
#include <stdint.h>

/* Every fault can be switched off individually, to find the ones that a violation needs. */
#define CONTROL_FAULT_LIST(X)                                                              \
    X(listing_lag)   /* instances and their states appear in listings up to 90 s late */   \
    X(throttle)      /* calls are throttled */                                             \
    X(lost_call)     /* no reply, and the call had no effect */                            \
    X(lost_answer)   /* no reply, but the call took effect, perhaps later */               \
    X(no_capacity)   /* a launch or a start is refused */                                  \
    X(partial)       /* fewer machines than requested */                                   \
    X(kill)          /* a process dies at any call or commit, or between callbacks */      \
    X(reboot)        /* some deaths are reboots: another boot id, the clock starts at 0 */ \
    X(suspend)       /* a process is suspended, often past the expiry of its lease */      \
    X(disk_full)     /* the journal cannot be written for a while */                       \
    X(lease_deleted) /* a user deletes the lease object */                                 \
    X(up_again)      /* `up` runs again, perhaps from a laptop without a journal */        \
    X(wall_jump)     /* wall clocks are set */                                             \
    X(hand)          /* a user terminates workers */                                       \
    X(gcs_away)      /* the GCS does not answer for a while */                             \
    X(drain_lost)    /* the reply to a drain is lost */                                    \
    X(second_head)   /* a second head appears */

enum control_fault {
#define X(name) FAULT_##name,
    CONTROL_FAULT_LIST(X)
#undef X
        CONTROL_FAULT_COUNT,
};

struct control_faults {
    bool is_on[CONTROL_FAULT_COUNT];
    int64_t chance[CONTROL_FAULT_COUNT];  /* per call or drain, in thousandths */
    int64_t span_ms[CONTROL_FAULT_COUNT]; /* mean interval of those that occur by time */
    int64_t listing_lag_ms;
    int64_t call_ms; /* maximum duration of a call that is not lost */
};

const char *control_fault_name(enum control_fault fault);
/* Each fault is on with probability one half, at a random rate. */
void control_faults_draw(struct control_faults *faults, struct rng *rng);
void control_faults_stop(struct control_faults *faults);

static inline bool control_fault_strikes(const struct control_faults *faults,
                                         enum control_fault fault, struct rng *rng)
{
    return faults->is_on[fault] && rng_chance(rng, faults->chance[fault]);
}
