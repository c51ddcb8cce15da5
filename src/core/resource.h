/*
 * resource.h: amounts of CPU, memory, GPU and other resources.
 *
 * Amounts are integers in ten-thousandths, as in Ray, so that arithmetic is exact and the same on
 * every machine.
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

/* The resources of a node type or request, in their original order, without duplicates. */
struct resource_set {
    const struct resource *items;
    size_t count;
};

/* The amount of one resource; 0 if it is not in the set. */
int64_t resource_amount(struct resource_set set, struct str name);

/*
 * Resources of which every node has one unit without listing them (Ray's IMPLICIT_RESOURCE_PREFIX).
 */
bool resource_is_implicit(struct str name);

/* Converts a whole number of units; false on overflow. */
bool resource_from_units(int64_t units, int64_t *ret_amount) MUST_USE;
