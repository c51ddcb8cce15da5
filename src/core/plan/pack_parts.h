/* pack_parts.h: what pack.c, pack_existing.c and pack_new.c share. Private to the packer. */
#pragma once

#include "core/plan/pack.h"

/* What becomes of a node in a batch, and two marks about its kin. */
enum fate {
    FATE_STAYS,     /* may take something, has not */
    FATE_EXHAUSTED, /* runs, and has room for none of the requests: Ray lists it last */
    FATE_WON,
    FATE_MASK = 3,
    KIN_FIRST = 4, /* stands for all of its kin */
    KIN_MIXED = 8, /* its kin is equal for Ray, but not in score: each is tried anew */
};

/* The first of a kin: its position plus one, 0 for an empty slot. */
struct kin_slot {
    uint32_t hash;
    uint32_t first;
};

/* What the heap compares stands in it: looking it up in the groups would be most of the time. */
struct heap_entry {
    struct score score;
    uint32_t type_rank;
    uint32_t first; /* of the group: the last tie goes to whoever is listed first */
    uint32_t group;
};

/* Existing nodes that are interchangeable, and the trial of the first of them. */
struct group {
    uint32_t first;   /* position in the order; the others follow in next_in_group */
    uint32_t heap_at; /* NOWHERE when it takes nothing */
    uint32_t use_first;
    uint32_t use_count;
    uint32_t use_capacity;
    uint32_t logged; /* where the present trial stands in win_placed, or NOWHERE */
    bool is_mixed;
    bool is_stale;
};

#define NOWHERE UINT32_MAX

/* One line of a group's trial, linked into the list of all that count on the same run. */
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
    uint64_t turn;     /* Ray's pool order: a type that won goes to the end */
    bool is_open;
    bool is_tried;
};

/* What a node takes: an existing one, or each of `count` new ones of a type. */
struct win {
    uint32_t position; /* in the order, or NOWHERE */
    uint32_t type;
    int64_t count;
    uint32_t placed_first;
    uint32_t placed_count;
};

/* Negative: `a` is better. Equal scores fall to the type's rank; then 0. */
int score_compare(const struct score *a, uint32_t rank_a, const struct score *b, uint32_t rank_b);

/* Appends to win_placed and returns where. */
uint32_t log_placed(struct packer *packer, const struct placed *placed, size_t count);
void log_win(struct packer *packer, struct win win);

static inline struct fleet_node *node_at(const struct packer *packer, uint32_t position)
{
    return &packer->fleet->nodes[packer->fleet->order[position]];
}

/* Sorts the existing nodes that have room for anything into groups; decides who is exhausted. */
void gather_groups(struct packer *packer);

void pack_existing(struct packer *packer);
void pack_new(struct packer *packer);
