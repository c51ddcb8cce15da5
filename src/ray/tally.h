/* tally.h: things counted by name, in the order in which the names came. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/table.h"

#include <stddef.h>
#include <stdint.h>

struct tally_item {
    struct str name;
    int64_t count, part; /* part: of them, with something in particular */
    double used, total;
    struct str text; /* the last that came with it */
    bool is_counted; /* something was added to `used`, or to `part` */
};

struct tally {
    struct tally_item *items;
    size_t count, capacity;
    struct table table;
};

/* The one of that name; made with zeros when there is none. Valid until the next call. */
struct tally_item *tally_of(struct tally *tally, struct arena *arena, struct str name);
/* NULL: none. */
struct tally_item *tally_find(const struct tally *tally, struct str name);
