/* price_internal.h: shared by price*.c and market.c, and private to them. */
#pragma once

#include "core/plan/price.h"

/* Identical existing nodes: a kind of the cover that costs nothing. */
struct node_group {
    uint32_t first; /* the others follow in next_in_group */
    uint32_t last;
    int64_t count;
    const int64_t *room;
    double worth; /* room in units of the largest type, times the count */
};

/* The cover for a fleet, and the mapping back. */
struct market {
    struct price *price;
    struct fleet *fleet;
    struct arena *arena;
    struct cover cover;
    int64_t *kept_of_type; /* by type: launches of Ray's plan that are kept */
    int64_t kept;

    uint32_t *column_of[2]; /* by source and name; COLUMN_NONE */
    int64_t *column_default;
    bool has_labels;
    uint32_t *type_of_kind; /* the first kinds are types, the others groups */
    size_t new_kinds;
    struct node_group *groups;
    size_t group_count;
    uint32_t *group_of;      /* by node before requests; NOWHERE: keeps Ray's placement */
    uint32_t *next_in_group; /* by node */

    struct plan_place *places;
    uint32_t next_number; /* number of the next new node */
};

/* False if there is no choice, or if labels depend on earlier placements. */
bool market_fill(struct market *market);

/* Does the cover decide about this place? Otherwise Ray's placement is kept. */
bool market_is_flexible(const struct market *market, const struct logged_place *place);

/* Ray's placement of the flexible part; also counts the requests of the cover's classes. */
void market_start(struct market *market, struct cover_answer *start);
