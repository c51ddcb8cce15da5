/*
 * pack.h: places a batch on the fleet as Ray does.
 *
 * Ray's rule: each round, try every node that is left, keep the best, take it off the list; when
 * no existing node takes anything more, do the same with one new node of each type. Here each
 * node is tried once, the trials wait in a heap, and only those are repeated that count on
 * requests which have meanwhile run short.
 */
#pragma once

#include "core/plan/trial.h"

struct group;
struct heap_entry;
struct kin_slot;
struct offer;
struct price_log;
struct use;
struct win;

/* Everything that packing needs, kept from batch to batch so that memory is reused. */
struct packer {
    struct fleet *fleet;
    struct batch batch;
    struct trial trial;
    enum demand_source source;
    uint32_t *type_rank;          /* by type: order of the tie-breakers that belong to types */
    struct fleet_node *templates; /* by type: a new node */

    uint8_t *fates;          /* by position in the order: enum fate */
    uint32_t *next_in_group; /* by position */
    size_t position_capacity;
    struct group *groups;
    size_t group_count;
    size_t group_capacity;
    struct kin_slot *slots; /* hash of the first of each kin */
    size_t slot_count;
    size_t slot_capacity;
    struct heap_entry *heap; /* groups, the best first */
    size_t heap_count;
    struct use *uses;
    size_t use_count;
    size_t use_capacity;
    uint32_t *stale; /* groups to try again */
    size_t stale_count;

    struct offer *offers; /* by type */
    int64_t launched;     /* in this batch */

    uint32_t *winners; /* positions of the existing nodes that take something, in order */
    size_t winner_count;
    struct win *wins; /* what winners and new nodes take; for the last batch only new nodes */
    size_t win_count;
    size_t win_capacity;
    struct placed *win_placed;
    size_t win_placed_count;
    size_t win_placed_capacity;
    bool is_last;          /* nothing is placed after this batch: what is taken need not be kept */
    struct price_log *log; /* NULL, or told who takes what (price_log.h) */
};

void packer_init(struct packer *packer, struct fleet *fleet);

/*
 * Places requests; nodes that are launched for them carry `cause`. With `is_atomic` either all
 * are placed or nothing is changed. Returns whether all were; what could not be placed is left
 * in packer->batch. LAUNCH_DEMAND is the last step of a plan: its launches are only counted.
 */
bool pack_batch(struct packer *packer, struct batch_source requests, enum launch_cause cause,
                bool is_atomic);
