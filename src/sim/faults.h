/*
 * faults.h: what goes wrong in the yard, and how often.
 *
 * Chances are in thousandths per call or machine; spans are in milliseconds. A mean span of 0
 * means that it never happens.
 */
#pragma once

#include "base/dice.h"

#include <stdbool.h>
#include <stdint.h>

/* What no profile exceeds; the core's horizon and token life must hold against these. */
#define FAULT_LISTING_LAG_MOST (90 * INT64_C(1000))
#define FAULT_TOKEN_LIFE_LEAST (31 * 60 * INT64_C(1000))

enum fault_profile { FAULTS_NONE, FAULTS_MILD, FAULTS_NASTY };

/* Every class of faults can be switched off by itself: that is how a failing seed is made small. */
#define FAULT_LIST(X)                                                                   \
    X(listing_lag)      /* instances show up in listings up to 90 s late */             \
    X(listing_cut)      /* a listing ends early and says so */                          \
    X(throttle)         /* calls are refused for being too many */                      \
    X(lost_call)        /* no answer, and the call had no effect */                     \
    X(lost_answer)      /* no answer, but the call had its effect */                    \
    X(token_forgotten)  /* the cloud forgets tokens after a while */                    \
    X(partial_launch)   /* fewer machines than asked for */                             \
    X(no_capacity)      /* an offering has none left for a while */                     \
    X(quota)            /* the account may not have more */                             \
    X(outage)           /* the whole API is away for a while */                         \
    X(slow_boot)        /* machines that take very long to boot */                      \
    X(never_joins)      /* machines that boot and never appear in Ray */                \
    X(setup_fails)      /* a set-up step fails */                                       \
    X(machine_dies)     /* a machine stops without a word */                            \
    X(spot_notice)      /* spot machines are taken after a notice of two minutes */     \
    X(spot_kill)        /* spot machines are taken without a notice */                  \
    X(gcs_away)         /* Ray's GCS does not answer for a while */                     \
    X(gcs_restart)      /* it comes back empty; raylets register again by and by */     \
    X(drain_race)       /* work arrives between the decision to drain and the drain */  \
    X(drain_lost)       /* the answer to a drain is lost */                             \
    X(controller_kill)  /* the controller dies at any point and is started again */     \
    X(controller_pause) /* it stands still for minutes and goes on, as after SIGSTOP */ \
    X(twin)             /* a second controller tries to drive the same cluster */       \
    X(foreign)          /* other people's machines with the same name */                \
    X(hand)             /* somebody ends machines by hand */

enum fault {
#define X(name) FAULT_##name,
    FAULT_LIST(X)
#undef X
        FAULT_COUNT,
};

struct faults {
    bool is_on[FAULT_COUNT];
    int64_t listing_lag;         /* at most */
    int64_t chance[FAULT_COUNT]; /* per call, machine or drain, in thousandths */
    int64_t span[FAULT_COUNT];   /* mean time between two, for those that come by time */
    int64_t length[FAULT_COUNT]; /* how long it lasts, mean; how long tokens are remembered */
    int64_t call_time;           /* a call takes up to this */
    int64_t call_timeout;        /* a lost call is given up after this */
    int64_t boot_least;
    int64_t boot_most;
    int64_t setup_least;
    int64_t setup_most;
    int64_t ending_most; /* from the terminate call to gone */
};

const char *fault_name(enum fault fault);

/* none, mild: what an ordinary week brings; nasty: everything, often. */
void faults_from_profile(struct faults *faults, enum fault_profile profile);

/* Each class on with one half, its rate drawn: different seeds test different mixtures. */
void faults_swarm(struct faults *faults, struct dice *dice);

/* The healing phase: every class off, calls quick again; booting and set-up stay as they were. */
void faults_stop(struct faults *faults);

/* Drawn, mostly short and sometimes long, with this mean; at least 1. No floating point: the same
 * on every machine. */
int64_t draw_span(struct dice *dice, int64_t mean);

/* Until the next one of a class that comes by time; INT64_MAX: never. */
int64_t fault_wait(const struct faults *faults, enum fault fault, struct dice *dice);

static inline bool fault_strikes(const struct faults *faults, enum fault fault, struct dice *dice)
{
    return faults->is_on[fault] && dice_chance(dice, faults->chance[fault]);
}
