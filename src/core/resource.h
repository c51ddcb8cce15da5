/*
 * resource.h: amounts of CPU, memory, GPU and whatever else a node type offers.
 *
 * Amounts are whole numbers of ten-thousandths, as in Ray itself, so that adding and comparing
 * are exact and the same on every machine.
 */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RESOURCE_UNIT = 10000 };

struct resource {
    struct str name; /* "CPU", "GPU", "memory", "accelerator_type:A10G", ... */
    int64_t amount;  /* in 1/RESOURCE_UNIT */
};

/* A node type's or a request's resources, in the order they were given; no name twice. */
struct resource_set {
    const struct resource *items;
    size_t count;
};

/* The amount of one resource; 0 when the set does not have it. */
int64_t resource_amount(struct resource_set set, struct str name);

/* Does everything in `wanted` fit into `offered`? */
bool resource_fits(struct resource_set wanted, struct resource_set offered);

/*
 * Resources that every node has one unit of without listing them: Ray's way of asking for
 * "a node that ..." (IMPLICIT_RESOURCE_PREFIX).
 */
bool resource_is_implicit(struct str name);

/* A whole number of units; false when it is too large to count in ten-thousandths. */
bool resource_from_units(int64_t units, int64_t *ret_amount) MUST_USE;
