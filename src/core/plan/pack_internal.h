/* pack_internal.h: shared by the files of the packer. */
#pragma once

#include "core/plan/pack.h"

/* The result for a node in a batch, and two flags of its equivalence class. */
enum fate {
    FATE_STAYS,     /* may take requests, but has not */
    FATE_EXHAUSTED, /* runs, and none of the requests fits: Ray lists it last */
    FATE_WON,
    FATE_MASK = 3,
    KIN_FIRST = 4, /* represents its equivalence class */
    KIN_MIXED = 8, /* the class is equal for Ray, but scores differ: each node is tried */
};

/* The first node of an equivalence class: its position plus one, or 0 for an empty slot. */
struct kin_slot {
    uint32_t hash;
    uint32_t first;
};

/* Includes all that the heap compares: looking it up in the groups would take most of the time. */
struct heap_entry {
    struct score score;
    uint32_t type_rank;
    uint32_t first; /* first node of the group: final tie-breaker, the first listed wins */
    uint32_t group;
};

/* Interchangeable existing nodes, and the trial of the first of them. */
struct group {
    uint32_t first;   /* position in the order; the others follow in next_in_group */
    uint32_t heap_at; /* NOWHERE if it takes nothing */
    uint32_t use_first;
    uint32_t use_count;
    uint32_t use_capacity;
    uint32_t logged; /* index of the current trial in win_placed, or NOWHERE */
    bool is_mixed;
    bool is_stale;
};

/* One line of a group's trial, linked into the list of trials that use the same run. */
struct use {
    uint32_t run;
    uint32_t group;
    uint32_t previous;
    uint32_t next;
    int64_t count;
};

/* A new node of one type, and its trial. */
struct offer {
    struct score score;
    struct placed *placed;
    size_t placed_count;
    size_t placed_capacity;
    int64_t available; /* how many more of this type may be launched */
    uint64_t turn;     /* Ray's pool order: a type that won moves to the end */
    bool is_open;
    bool is_tried;
};

/* Negative if `a` is better. Ties are broken by the type's rank; 0 if that is equal, too. */
int score_compare(const struct score *a, uint32_t rank_a, const struct score *b, uint32_t rank_b);

/* Appends to win_placed and returns the index. */
uint32_t log_placed(struct packer *packer, const struct placed *placed, size_t count);
void log_win(struct packer *packer, struct win win);

static inline struct fleet_node *node_at(const struct packer *packer, uint32_t position)
{
    return &packer->fleet->nodes[packer->fleet->order[position]];
}

/* Groups the existing nodes that have room for any request, and marks exhausted ones. */
void gather_groups(struct packer *packer);

void pack_existing(struct packer *packer);
void pack_new(struct packer *packer);
