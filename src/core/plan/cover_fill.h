/* cover_fill.h: fills one node with the requests that are worth most. */
#pragma once

#include "core/plan/cover.h"

/* Memory for filling one node. */
struct cover_fill {
    uint32_t *order; /* candidate classes, by decreasing density */
    uint32_t *spare;
    size_t order_count;
    double *density;  /* by class: value divided by weight */
    double *weight;   /* by class: share of the room */
    int64_t *taken;   /* by position in `order` */
    int64_t *best;    /* the same, for the best filling so far */
    int64_t *room;    /* by column: remaining room */
    double *pressure; /* by column: how much of it is in demand */
    bool *key_used;
    struct cover_part *parts; /* the result */
    size_t part_count;
    double value;
};

void cover_fill_init(struct cover *cover);

/*
 * Fills one node of a kind from `counts` so that the sum of `values` (by class) is high. Tries at
 * most `steps` fillings, the greedy one first. Results: parts, part_count, value.
 */
void cover_fill(struct cover *cover, uint32_t kind, const double *values, const int64_t *counts,
                int64_t steps);
