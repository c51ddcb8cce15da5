/*
 * cover.h: which nodes to take so that every request has a place, for the least money.
 *
 * The planner's question without its names: *classes* of equal requests, each with a count, and
 * *kinds* of nodes, each with room, a price and a limit. Nodes that stand already are kinds that
 * cost nothing. A *pattern* is one way to fill one node of a kind; an answer is patterns, each
 * taken a number of times, that together hold every request exactly once.
 *
 * The work is counted in steps and not in time, so that the same input gives the same answer on
 * every machine. Doubles are only added, multiplied, divided and compared (no fused operations,
 * see meson.build), which every compiler does alike; prices and amounts are whole numbers.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COVER_NO_KEY UINT32_MAX
#define COVER_NO_LIMIT INT64_MAX

struct cover_class {
    const int64_t *needs; /* by column */
    int64_t count;
    uint32_t key; /* at most one request of all classes with this key on a node; COVER_NO_KEY */
};

struct cover_kind {
    int64_t price;       /* 0 for nodes that stand already */
    int64_t limit;       /* how many there are, or may be launched; COVER_NO_LIMIT */
    bool is_new;         /* counts against the limit of all new nodes */
    const int64_t *room; /* by column */
    uint8_t *accepts;    /* by class: labels and room allow one on an empty node of this kind */
};

struct cover_part {
    uint32_t class;
    int64_t count;
};

struct cover_pattern {
    uint32_t kind;
    uint32_t part_count;
    const struct cover_part *parts;
    int64_t times;
};

struct cover_answer {
    struct cover_pattern *patterns;
    size_t count;
    size_t capacity;
    int64_t price;
};

struct cover {
    struct arena *arena;
    struct cover_class *classes;
    size_t class_count;
    struct cover_kind *kinds;
    size_t kind_count;
    size_t column_count;
    size_t key_count;
    int64_t new_limit; /* of all new nodes together; COVER_NO_LIMIT */
    int64_t work;      /* steps left */
    struct cover_fill *fill;
};

/* What is still to be placed and may still be taken. */
struct cover_rest {
    int64_t *counts; /* by class */
    int64_t *limits; /* by kind */
    int64_t new_limit;
};

/*
 * Looks for an answer cheaper than `start`, which is one; true when it was found. `cover` is
 * filled in but for `fill`, and `accepts` says what labels allow. The search ends soon after its
 * work has run out.
 */
bool cover_solve(struct cover *cover, const struct cover_answer *start,
                 struct cover_answer *ret_answer);
