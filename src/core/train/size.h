/*
 * size.h: chooses how many replicas a training job should have. Pure.
 *
 * From the speed of each size, its price, and what a restart costs. Two sizes are measured in any
 * case: the first one, and half or twice of it. Another one is tried only if the model expects a
 * gain, and only up to twice the largest measured one, as AdaptDL does. Twice and half of the best
 * size are measured too, once, unless the model expects them to be much worse. So exploration costs
 * a few restarts: at most two per doubling.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIZE_MAX_REPLICAS = 128 };

/* ---- the speed of a job ---- */

/* All measured steps with 1, 2, ... replicas. */
struct speed_samples {
    double steps[SIZE_MAX_REPLICAS + 1]; /* 0: not measured */
    double seconds[SIZE_MAX_REPLICAS + 1];
};

/*
 * Steps per second with 1 to `max` replicas, from measured step times. Explains them by a constant
 * part, a part that is divided among the replicas, and one that grows with their number; with one
 * measured size, all of it is divided.
 *
 * This assumes that a step makes the same progress with any number of replicas: the script divides
 * a fixed global batch. With `is_scaled` each replica has a batch of fixed size instead; a step
 * with n replicas then counts n times, which assumes that the script scales its learning rate.
 *
 * Without a measured size, all rates are 0.
 */
void speed_rates(const struct speed_samples *samples, int64_t max, bool is_scaled,
                 double rates[SIZE_MAX_REPLICAS + 1]);

/* ---- the choice ---- */

enum size_objective {
    SIZE_LARGEST, /* as many as there is room for */
    SIZE_FASTEST,
    SIZE_CHEAPEST, /* the least dollars per progress */
};

/* What the user wants. Dollars are per hour. */
struct size_goal {
    enum size_objective objective;
    double price;       /* of one replica; 0: unknown */
    double fixed_price; /* of what runs anyway: the head */
    double max_cost;    /* of the job; 0: no limit */
    int64_t finish_by;  /* wall time in seconds; 0: no deadline */
    double total;       /* steps of the job; 0: unknown */
    bool is_scaled;     /* each replica has its own batch, see speed_rates() */
};

struct size_question {
    enum size_objective objective;
    int64_t min, max;
    int64_t current; /* 0: none */
    double price, fixed_price, max_cost;
    double rates[SIZE_MAX_REPLICAS + 1]; /* progress per second; 0: unknown */
    bool is_measured[SIZE_MAX_REPLICAS + 1];
    double restart_seconds;      /* pause of a planned restart */
    double interruptions;        /* per replica and second */
    double interruption_seconds; /* progress lost by each */
    bool has_deadline;
    double seconds_left; /* until it */
    double remaining;    /* progress until the job is complete */
};

/* Why a size was chosen. */
enum size_cause {
    SIZE_KEEP,       /* no other size is worth a restart */
    SIZE_FIRST,      /* nothing was measured yet */
    SIZE_SECOND,     /* one size was measured */
    SIZE_PROBE,      /* the model may be wrong about it */
    SIZE_AFFORDABLE, /* the budget has room for no more */
    SIZE_IN_TIME,
    SIZE_LATE, /* no size finishes in time */
    SIZE_BETTER,
};

struct size_choice {
    int64_t replicas;
    enum size_cause cause;
};

/* Returns the current size unless another one is worth a restart. */
struct size_choice size_choose(const struct size_question *question);

/* The reason for users: "3 replicas are 16 % cheaper per step than 8". */
struct str size_reason(const struct size_question *question, struct size_choice choice,
                       struct arena *arena);
