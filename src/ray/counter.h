/* counter.h: counts items by name, in the order in which the names first appeared. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/table.h"

#include <stddef.h>
#include <stdint.h>

struct counter_item {
    struct str name;
    int64_t count, part; /* part: a subset, defined by the caller */
    double used, total;
    struct str text; /* from the last item */
    bool is_counted; /* `used` or `part` was increased */
};

struct counter {
    struct counter_item *items;
    size_t count, capacity;
    struct table table;
};

/* The item of that name, created with zeros if missing. Valid until the next call. */
struct counter_item *counter_of(struct counter *tally, struct arena *arena, struct str name);
/* NULL if there is none. */
struct counter_item *counter_find(const struct counter *tally, struct str name);
