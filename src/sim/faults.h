/*
 * faults.h: the faults of a simulation and their rates.
 *
 * Chances are in thousandths per call or machine; times are in milliseconds. A mean interval of 0
 * means that the fault never occurs.
 */
#pragma once

#include "base/rng.h"

#include <stdbool.h>
#include <stdint.h>

/* Upper limits of all profiles; the core's horizon and token life must tolerate these. */
#define FAULT_LISTING_LAG_MOST (90 * INT64_C(1000))
#define FAULT_TOKEN_LIFE_LEAST (31 * 60 * INT64_C(1000))

enum fault_profile { FAULTS_NONE, FAULTS_MILD, FAULTS_NASTY };

/* Every fault can be switched off individually, to minimize a failing seed. */
#define FAULT_LIST(X)                                                                           \
    X(listing_lag)      /* instances appear in listings up to 90 s late */                      \
    X(listing_cut)      /* a listing ends early and says so */                                  \
    X(throttle)         /* calls are throttled */                                               \
    X(lost_call)        /* no reply, and the call had no effect */                              \
    X(lost_answer)      /* no reply, but the call took effect */                                \
    X(token_forgotten)  /* the cloud forgets tokens after a while */                            \
    X(partial_launch)   /* fewer machines than requested */                                     \
    X(no_capacity)      /* an offering has no capacity for a while */                           \
    X(quota)            /* the account's limit is reached */                                    \
    X(outage)           /* the whole API is unavailable for a while */                          \
    X(slow_boot)        /* machines take very long to boot */                                   \
    X(never_joins)      /* machines boot but never appear in Ray */                             \
    X(setup_fails)      /* a setup step fails */                                                \
    X(machine_dies)     /* a machine dies silently */                                           \
    X(spot_notice)      /* spot instances are interrupted after a notice of two minutes */      \
    X(spot_kill)        /* spot instances are interrupted without a notice */                   \
    X(gcs_away)         /* the GCS does not answer for a while */                               \
    X(gcs_restart)      /* the GCS comes back empty; raylets register again one by one */       \
    X(drain_race)       /* work arrives between the decision to drain and the drain */          \
    X(drain_lost)       /* the reply to a drain is lost */                                      \
    X(controller_kill)  /* the controller dies at any point and restarts */                     \
    X(controller_pause) /* the controller pauses for minutes and continues, as after SIGSTOP */ \
    X(twin)             /* a second controller tries to drive the same cluster */               \
    X(foreign)          /* machines of others with the same name */                             \
    X(hand)             /* a user terminates machines manually */                               \
    X(new_config)       /* a node type is renamed or changed in the file */

enum fault {
#define X(name) FAULT_##name,
    FAULT_LIST(X)
#undef X
        FAULT_COUNT,
};

struct faults {
    bool is_on[FAULT_COUNT];
    int64_t listing_lag;         /* maximum */
    int64_t chance[FAULT_COUNT]; /* per call, machine or drain, in thousandths */
    int64_t span[FAULT_COUNT];   /* mean interval, for faults that occur by time */
    int64_t length[FAULT_COUNT]; /* mean duration; how long tokens are remembered */
    int64_t call_time;           /* maximum duration of a call */
    int64_t call_timeout;        /* a lost call is given up after this */
    int64_t boot_least;
    int64_t boot_most;
    int64_t setup_least;
    int64_t setup_most;
    int64_t ending_most; /* maximum time from the terminate call to gone */
};

const char *fault_name(enum fault fault);

/* none; mild: occasional faults; nasty: every fault, often. */
void faults_from_profile(struct faults *faults, enum fault_profile profile);

/* Each fault is on with probability one half, at a random rate: seeds test different mixtures. */
void faults_swarm(struct faults *faults, struct rng *rng);

/* The healing phase: all faults off, calls fast again; boot and setup times stay as they were. */
void faults_stop(struct faults *faults);

/* A random duration with this mean, mostly short and sometimes long; at least 1. Without floating
 * point: the same on every machine. */
int64_t draw_span(struct rng *rng, int64_t mean);

/* Time until the next fault of a kind that occurs by time; INT64_MAX if never. */
int64_t fault_wait(const struct faults *faults, enum fault fault, struct rng *rng);

static inline bool fault_strikes(const struct faults *faults, enum fault fault, struct rng *rng)
{
    return faults->is_on[fault] && rng_chance(rng, faults->chance[fault]);
}
