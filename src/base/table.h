/*
 * table.h: a hash index over things its owner keeps in an array.
 *
 * Stores 32-bit positions, not the things; equality is the owner's business. Grows in an arena.
 * Iteration is over the owner's array, so order never depends on hashes.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_slot {
    uint32_t hash;
    uint32_t position; /* one more than the position; 0 means empty */
};

struct table {
    struct table_slot *slots;
    size_t slot_count; /* a power of two, or 0 */
    size_t used;
};

/* Is the thing at `position` the one looked for? */
typedef bool table_same_fn(const void *context, size_t position);

#define TABLE_NONE SIZE_MAX

size_t table_find(const struct table *table, uint64_t hash, table_same_fn *same,
                  const void *context);

/* The caller has made sure that it is not in there yet. */
void table_add(struct table *table, struct arena *arena, uint64_t hash, size_t position);
