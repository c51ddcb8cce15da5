/*
 * table.h: a hash index over items that the owner keeps in an array.
 *
 * Stores 32-bit positions, not the items; the owner compares for equality. Grows in an arena.
 * Iterate over the owner's array, so that the order never depends on hashes.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_slot {
    uint32_t hash;
    uint32_t position; /* position plus one; 0: empty */
};

struct table {
    struct table_slot *slots;
    size_t slot_count; /* a power of two, or 0 */
    size_t used;
};

/* True if the item at `position` is the one searched for. */
typedef bool table_same_fn(const void *context, size_t position);

#define TABLE_NONE SIZE_MAX

size_t table_find(const struct table *table, uint64_t hash, table_same_fn *same,
                  const void *context);

/* The item must not be in the table yet. */
void table_add(struct table *table, struct arena *arena, uint64_t hash, size_t position);
