/*
 * train_day.h: simulates a training job on spot instances for up to a day, with virtual time.
 *
 * The job makes progress by a known curve of speed, and pauses at each restart. Its policy is
 * Shoal's (core/train/size.h, which measures steps with noise and fits its own curve), a fixed
 * size, or AdaptDL's rule.
 *
 * The price of a spot instance is the mean price times exp(x), where x reverts to 0
 * (Ornstein-Uhlenbeck). Each replica is interrupted at random (a Poisson process). Most
 * interruptions have a notice, and the replica continues until its replacement is ready. Others
 * lose the steps since the last checkpoint, and the job continues with one replica less until
 * then. Some replacements find no spot capacity, and are on-demand instances for an hour: each one
 * costs the mean of both prices.
 */
#pragma once

#include "core/train/size.h"

#include <stdbool.h>
#include <stdint.h>

enum train_day_policy {
    TRAIN_DAY_SHOAL,
    TRAIN_DAY_FIXED,   /* always `max` replicas */
    TRAIN_DAY_ADAPTDL, /* the largest size whose speed-up per replica is at least 1/2 */
};

/* Times in seconds, prices in dollars per hour. */
struct train_day {
    uint64_t seed;
    enum train_day_policy policy;
    struct size_goal goal; /* prices: what the policy assumes before it knows the spot price */
    int64_t min, max;
    double rates[SIZE_MAX_REPLICAS + 1]; /* progress per second */
    double noise;                        /* relative error of a measured step time */
    double spot_price, on_demand_price;
    double price_swing;   /* standard deviation of x */
    double price_hours;   /* time constant of its reversion */
    double interruptions; /* per replica and hour */
    double unannounced;   /* share of them without a notice */
    double shortage;      /* share of replacements without spot capacity */
    double pause;         /* of a planned restart */
    double kill_pause;    /* of one after a loss without notice */
    double checkpoint_every;
    double replace;  /* from a request until the replica can join */
    double duration; /* the simulated time, unless the work is complete before */
};

struct train_day_result {
    double progress, dollars;
    double seconds;      /* until the work was complete, or the duration */
    double useful;       /* share of the time that is neither paused nor repeated */
    int64_t restarts;    /* of the job */
    int64_t interrupted; /* replicas */
    bool is_complete;
};

/* Figures that were measured on real Ray, and a price process without a job. */
void train_day_default(struct train_day *day);
/* A random job on a random market. */
void train_day_draw(uint64_t seed, struct train_day *day);
struct train_day_result train_day_run(const struct train_day *day);
