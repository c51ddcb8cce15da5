/* cost.h: what instances have cost. */
#pragma once

#include "app/model/node_view.h"
#include "base/buf.h"

struct cost {
    double dollars; /* cost of the instances whose price is known */
    size_t count;   /* of those */
    size_t unknown; /* number of the other instances */
};

/* Of instances that `down` has terminated, from their launch to their end.  */
struct cost cost_of_ended(const struct node_view *nodes, size_t count);

/* "Cost: about $0.04 for 3 instances, without traffic.\n"; nothing if none is known. */
void cost_add(struct buf *out, const struct cost *cost);
