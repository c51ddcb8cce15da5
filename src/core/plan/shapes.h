/*
 * shapes.h: the few different shapes that a load is made of, and which nodes are too full for all
 * of them.
 *
 * A busy node on which nothing fits counts against the limits and does nothing else in a plan. Most
 * nodes of a busy cluster are like that, so whoever calls the planner may leave them out and say
 * how many there are (plan_input.full_nodes).
 */
#pragma once

#include "core/plan/plan.h"

enum { SHAPES_MOST = 32, SHAPE_AMOUNTS_MOST = 8 };

struct shape {
    struct amount amounts[SHAPE_AMOUNTS_MOST];
    size_t amount_count;
};

struct shapes {
    struct shape items[SHAPES_MOST];
    size_t count;
    bool is_complete; /* false: too many or too large; nothing may be left out */
};

void shapes_gather(struct shapes *shapes, const struct demand *demands, size_t demand_count,
                   const struct gang *gangs, size_t gang_count);

bool shapes_same(const struct shapes *a, const struct shapes *b);

/* Is there no shape that fits into what is free? */
bool shapes_fit_none(const struct shapes *shapes, const struct names *names,
                     const struct capacity *capacities, size_t capacity_count);
