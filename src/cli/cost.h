/* cost.h: what instances cost, from prices that are known without asking the cloud. */
#pragma once

#include "app/model/node_view.h"
#include "base/buf.h"
#include "config/config.h"

/* Micro-dollars an hour: metadata.shoal.prices of the file, else the catalog's on-demand price.
 * PRICE_UNKNOWN: neither has it, or it is a spot instance. */
int64_t cost_hourly(const struct config *config, struct str machine, bool is_spot);

struct cost {
    double dollars; /* cost of the instances whose price is known */
    size_t count;   /* of those */
    size_t unknown; /* number of the other instances */
};

/* Of instances that `down` has terminated, from their launch to their end. Not their disks. */
struct cost cost_of_ended(const struct config *config, const struct node_view *nodes, size_t count);

/* "Cost: about $0.04 for 3 instances, without disks and traffic.\n"; nothing if none is known. */
void cost_add(struct buf *out, const struct cost *cost);
