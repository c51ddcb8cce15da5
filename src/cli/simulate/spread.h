/*
 * spread.h: measures how much of a difference between planners is chance.
 *
 * With one seed, a single spot interruption can decide which planner is cheaper. So the simulation
 * is repeated with a few more seeds, and the difference is given as a range.
 */
#pragma once

#include "cli/simulate/figures.h"

enum { SPREAD_SEEDS = 10 };

/* The second planner compared with the first. Money is in micro-dollars, time in milliseconds. */
struct spread {
    size_t seeds; /* 1: too expensive to repeat */
    bool has_cost;
    int64_t cost_mean, cost_least, cost_most;
    int64_t cost_permille; /* mean, relative to the first's mean */
    int64_t wait_mean, wait_least, wait_most;
    /* "price would cost $7.03 less (10 %) and wait 4s longer at p90, on average over 10 seeds (from
     * $26.25 less to $11.96 more)." */
    struct str text;
};

/* One for each planner after the first; the runs of `figures` are the first seed. */
struct spread *spread_make(struct arena *arena, const struct result *result,
                           const struct figures *figures);
