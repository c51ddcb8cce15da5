/*
 * price_log.h: records the placements of Ray's answer.
 *
 * The packer reports every batch right before it is committed. Equal requests of one cause form a
 * class, so that the load of a node is a short list of (class, count); nodes with equal load share
 * one list.
 */
#pragma once

#include "base/table.h"
#include "core/plan/cover.h"
#include "core/plan/pack.h"

/* Interchangeable requests: equal, and with the same cause. */
struct logged_class {
    const struct request *request;
    enum launch_cause cause;
};

/* What one batch placed on a node, or on each of `times` nodes without an index of their own. */
struct logged_place {
    uint32_t node; /* index into the fleet; NOWHERE for launches of the last batch */
    uint32_t type;
    int64_t times;
    uint32_t part_first;
    uint32_t part_count;
};

struct price_log {
    struct arena *arena;
    struct logged_class *classes;
    size_t class_count;
    size_t class_capacity;
    struct table index; /* index of the classes */
    struct logged_place *places;
    size_t place_count;
    size_t place_capacity;
    struct cover_part *parts;
    size_t part_count;
    size_t part_capacity;
    uint32_t *class_of_run; /* by run of the current batch; NOWHERE if not seen yet */
    size_t run_capacity;
};

void price_log_init(struct price_log *log, struct arena *arena);

/* Call before a batch is committed, while the positions in `packer->wins` still match the order. */
void price_log_batch(struct price_log *log, const struct packer *packer, enum launch_cause cause);
