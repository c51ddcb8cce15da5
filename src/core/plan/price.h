/*
 * price.h: cheaper launches for the requests that Ray's answer places.
 *
 * What Ray left unmet stays unmet, so gangs and the constraint need no second thought: whatever
 * was placed as a whole is placed as a whole again. Types without a price are never chosen here,
 * and nodes of such types that Ray launches stay as they are.
 */
#pragma once

#include "core/plan/price_log.h"

/* The fleet before anything is placed, and the log of what is. */
struct price {
    struct price_log log;
    size_t node_count;
    int64_t *type_nodes;
    int64_t total_nodes;
};

/* Before the first batch. */
void price_begin(struct price *price, struct packer *packer);

/* After the last: changes the fleet's launches if that is cheaper, and fills the plan's places. */
void price_improve(struct price *price, struct fleet *fleet, struct plan *plan);
