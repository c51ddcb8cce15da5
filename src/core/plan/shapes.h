/*
 * shapes.h: the distinct shapes of requests in a load, and which nodes are too full for all of
 * them.
 *
 * A busy node on which nothing fits only counts against the limits in a plan. In a busy cluster
 * most nodes are like that, so the caller of the planner may omit them and pass their number
 * (plan_input.full_nodes).
 */
#pragma once

#include "core/plan.h"

enum { SHAPES_MOST = 32, SHAPE_AMOUNTS_MOST = 8 };

struct shape {
    struct amount amounts[SHAPE_AMOUNTS_MOST];
    size_t amount_count;
};

struct shapes {
    struct shape items[SHAPES_MOST];
    size_t count;
    bool is_complete; /* false if too many or too large; then no node may be omitted */
};

void shapes_gather(struct shapes *shapes, const struct demand *demands, size_t demand_count,
                   const struct gang *gangs, size_t gang_count);

bool shapes_same(const struct shapes *a, const struct shapes *b);

/* True if no shape fits into the free amounts. */
bool shapes_fit_none(const struct shapes *shapes, const struct names *names,
                     const struct capacity *capacities, size_t capacity_count);
