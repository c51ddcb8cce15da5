/*
 * price.h: finds cheaper launches for the requests that Ray's answer places.
 *
 * Requests that Ray did not place stay unplaced, so gangs and the constraint need no special
 * handling: a group that was placed completely is placed completely again. Types without a price
 * are never chosen here, and Ray's launches of such types are kept.
 */
#pragma once

#include "core/plan/price_log.h"

/* The fleet before placement, and the log of placements. */
struct price {
    struct price_log log;
    size_t node_count;
    int64_t *type_nodes;
    int64_t total_nodes;
};

/* Call before the first batch. */
void price_begin(struct price *price, struct packer *packer);

/* Call after the last batch: replaces the fleet's launches if that is cheaper, and fills in the
 * plan's places. */
void price_improve(struct price *price, struct fleet *fleet, struct plan *plan);
