/*
 * pack.h: places a batch on the fleet as Ray does.
 *
 * Ray's rule: in each round, try every remaining node, keep the best, and remove it from the list;
 * when no existing node takes anything more, do the same with one new node of each type. Here each
 * node is tried once, the trials are kept in a heap, and a trial is repeated only if requests that
 * it uses have run short.
 */
#pragma once

#include "core/plan/trial.h"

struct group;
struct heap_entry;
struct kin_slot;
struct offer;
struct price_log;
struct use;

#define NOWHERE UINT32_MAX

/* What a node takes: an existing one, or each of `count` new ones of a type. */
struct win {
    uint32_t position; /* in the order, or NOWHERE */
    uint32_t type;
    int64_t count;
    uint32_t placed_first;
    uint32_t placed_count;
};

/* State of the packer, kept between batches to reuse memory. */
struct packer {
    struct fleet *fleet;
    struct batch batch;
    struct trial trial;
    enum demand_source source;
    uint32_t *type_rank;          /* by type: rank in the tie-breakers */
    struct fleet_node *templates; /* by type: an empty new node */

    uint8_t *fates;          /* by position in the order: enum fate */
    uint32_t *next_in_group; /* by position */
    size_t position_capacity;
    struct group *groups;
    size_t group_count;
    size_t group_capacity;
    struct kin_slot *slots; /* hash table of the first node of each equivalence class */
    size_t slot_count;
    size_t slot_capacity;
    struct heap_entry *heap; /* groups, best first */
    size_t heap_count;
    struct use *uses;
    size_t use_count;
    size_t use_capacity;
    uint32_t *stale; /* groups to be tried again */
    size_t stale_count;

    struct offer *offers; /* by type */
    int64_t launched;     /* new nodes of this batch */

    uint32_t *winners; /* positions of the existing nodes that take requests, in order */
    size_t winner_count;
    struct win *wins; /* what winners and new nodes take; in the last batch only new nodes */
    size_t win_count;
    size_t win_capacity;
    struct placed *win_placed;
    size_t win_placed_count;
    size_t win_placed_capacity;
    bool is_last;          /* nothing is placed after this batch: placements need not be kept */
    struct price_log *log; /* records placements (price_log.h); may be NULL */
};

void packer_init(struct packer *packer, struct fleet *fleet);

/*
 * Places requests; nodes launched for them have `cause`. With `is_atomic`, places all requests or
 * changes nothing. Returns whether all were placed; the others are left in packer->batch.
 * LAUNCH_DEMAND is the last step of a plan: its launches are only counted.
 */
bool pack_batch(struct packer *packer, struct batch_source requests, enum launch_cause cause,
                bool is_atomic);
