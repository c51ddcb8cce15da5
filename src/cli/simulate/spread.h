/*
 * spread.h: how much of a difference between planners is luck.
 *
 * With one seed a spot machine that is taken at a bad moment can decide which planner is cheaper.
 * So the same is simulated with a few more seeds, and the difference is told as a range.
 */
#pragma once

#include "cli/simulate/figures.h"

enum { SPREAD_SEEDS = 10 };

/* Of the second planner against the first. Money is in micro-dollars, time in milliseconds. */
struct spread {
    size_t seeds; /* 1: too much to simulate more */
    bool has_cost;
    int64_t cost_mean, cost_least, cost_most;
    int64_t cost_permille; /* the mean, of the first's mean */
    int64_t wait_mean, wait_least, wait_most;
    /* "price would cost $7.03 less (10 %) and wait 4s longer at p90, on average over 10 seeds (from
     * $26.25 less to $11.96 more)." */
    struct str text;
};

/* One for each planner behind the first; the runs of `figures` are the first seed. */
struct spread *spread_make(struct arena *arena, const struct result *result,
                           const struct figures *figures);
