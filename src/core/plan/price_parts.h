/* price_parts.h: what price.c and market.c share. Private to them. */
#pragma once

#include "core/plan/price.h"

/* Existing nodes that are alike: a kind of the cover that costs nothing. */
struct node_group {
    uint32_t first; /* the others follow in next_in_group */
    uint32_t last;
    int64_t count;
    const int64_t *room;
    double worth; /* room in nodes of the largest type, times the count */
};

/* The cover for a fleet, and the way back from it. */
struct market {
    struct price *price;
    struct fleet *fleet;
    struct arena *arena;
    struct cover cover;
    int64_t *kept_of_type; /* launches that stay as Ray wants them, by type */
    int64_t kept;

    uint32_t *column_of[2]; /* by source and name; COLUMN_NONE */
    int64_t *column_default;
    bool has_labels;
    uint32_t *type_of_kind; /* the first kinds are types, the others groups */
    size_t new_kinds;
    struct node_group *groups;
    size_t group_count;
    uint32_t *group_of;      /* by node before requests; NOWHERE: stays as Ray has it */
    uint32_t *next_in_group; /* by node */

    struct plan_place *places;
    uint32_t next_number; /* of a new node */
};

/* False when there is nothing to choose, or labels that depend on what is placed before. */
bool market_fill(struct market *market);

/* Does the cover decide about what stands there? Otherwise it stays as Ray has it. */
bool market_is_flexible(const struct market *market, const struct logged_place *place);

/* Ray's placement of what is flexible; counts the requests of the cover's classes on the way. */
void market_start(struct market *market, struct cover_answer *start);
