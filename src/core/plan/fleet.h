/*
 * fleet.h: the nodes during planning.
 *
 * Existing nodes come first, then those that the plan launches. Tracks the remaining resources and
 * the added labels of each, and the order of the nodes, on which Ray's tie-breaking depends.
 * Private to core/.
 */
#pragma once

#include "core/plan.h"

/* The source of requests. Demand uses the free amounts, the constraint uses the totals. */
enum demand_source { SOURCE_DEMAND, SOURCE_CONSTRAINT };

/* A label that anti-affinity added to a node. */
struct added_label {
    struct label label;
    struct added_label *next;
};

/* A partly used implicit resource (one unit on every node, never listed). */
struct implicit_use {
    uint32_t name;
    int64_t left;
    struct implicit_use *next;
};

/* Lists the requests with selectors that a node got, in order. The node's score depends on how
 * well the selectors match. */
struct selector_use {
    const struct request *request;
    struct selector_use *next;
};

/* The remaining resources of a node for one source, and the requests placed on it. */
struct ledger {
    int64_t *free; /* parallel to the capacities */
    uint8_t *used; /* 1 if a request placed here uses this resource */
    struct implicit_use *implicit;
    struct selector_use *selectors;
    bool has_requests;
    bool has_gpu_requests;
};

struct fleet_node {
    const struct capacity *capacities;
    struct label_set labels;
    struct added_label *added;
    struct ledger demand;
    struct ledger *constraint; /* NULL if the input has no constraint */
    uint32_t capacity_count;
    uint32_t type;
    uint8_t cause;     /* enum launch_cause, for new nodes */
    uint8_t end_cause; /* enum end_cause */
    bool is_running;   /* runs Ray */
    bool is_head;
    bool is_to_launch;
    bool is_gpu_node;
};

struct fleet {
    const struct plan_input *input;
    struct arena *arena;
    struct fleet_node *nodes; /* the first input->node_count are the input's */
    size_t node_count;
    size_t node_capacity;
    uint32_t *order; /* all participating nodes, in Ray's list order */
    uint32_t *spare; /* array of equal length, for sorting and reordering */
    size_t order_count;
    size_t order_capacity;
    int64_t *type_nodes;    /* by type: all nodes, including terminating ones */
    int64_t *type_launches; /* by type and cause: launches without a node of their own */
    int64_t total_nodes;    /* including those launches */
    uint32_t gpu;           /* the name "GPU" */
};

void fleet_init(struct fleet *fleet, const struct plan_input *input, struct arena *arena);

/* Appends `count` nodes of a type to nodes and order; returns the index of the first. */
uint32_t fleet_launch(struct fleet *fleet, uint32_t type, int64_t count, enum launch_cause cause);

/* Adds launches of nodes on which nothing more will be placed. */
void fleet_count_launch(struct fleet *fleet, uint32_t type, int64_t count, enum launch_cause cause);

/* Makes `node` an empty node of a type, as far as trials use it. */
void fleet_describe_new(struct fleet *fleet, struct fleet_node *node, uint32_t type);

/* Open ledgers with the totals: for the constraint on all nodes, for demand on a new node. */
void fleet_open_constraint(struct fleet *fleet);
void fleet_open_demand(struct fleet *fleet, struct fleet_node *node);

static inline struct ledger *fleet_ledger(struct fleet_node *node, enum demand_source source)
{
    return source == SOURCE_DEMAND ? &node->demand : node->constraint;
}

static inline const struct ledger *fleet_read(const struct fleet_node *node,
                                              enum demand_source source)
{
    return source == SOURCE_DEMAND ? &node->demand : node->constraint;
}

/* The value of a label on a node, including added ones, or NAME_NONE. */
uint32_t fleet_label(const struct fleet_node *node, uint32_t key);
