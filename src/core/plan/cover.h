/*
 * cover.h: finds the cheapest set of nodes on which every request has a place.
 *
 * The planner's problem in abstract form: *classes* of equal requests, each with a count, and
 * *kinds* of nodes, each with room, a price and a limit. Existing nodes are kinds that cost
 * nothing. A *pattern* is one way to fill one node of a kind; an answer is a list of patterns with
 * multiplicities that together hold every request exactly once.
 *
 * Work is measured in steps instead of time, so that equal input gives equal answers on every
 * machine. Doubles are only added, multiplied, divided and compared (without fused operations, see
 * meson.build), which is the same with every compiler; prices and amounts are integers.
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
    uint32_t key; /* at most one request of all classes with this key per node; or COVER_NO_KEY */
};

struct cover_kind {
    int64_t price;       /* 0 for existing nodes */
    int64_t limit;       /* how many exist or may be launched; or COVER_NO_LIMIT */
    bool is_new;         /* counts against `new_limit` */
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
    int64_t new_limit; /* for all new nodes together; or COVER_NO_LIMIT */
    int64_t work;      /* remaining steps */
    struct cover_fill *fill;
};

/* The requests still to be placed and the limits still available. */
struct cover_rest {
    int64_t *counts; /* by class */
    int64_t *limits; /* by kind */
    int64_t new_limit;
};

/*
 * Searches for an answer that is cheaper than `start`, a valid answer; true if one was found.
 * `cover` must be filled in except for `fill`, with `accepts` set by labels. The search ends soon
 * after its work is used up.
 */
bool cover_solve(struct cover *cover, const struct cover_answer *start,
                 struct cover_answer *ret_answer);

/* Copies parts into the arena. */
struct cover_pattern cover_pattern(struct cover *cover, uint32_t kind,
                                   const struct cover_part *parts, size_t count);

void cover_append(struct cover *cover, struct cover_answer *answer, struct cover_pattern pattern);
