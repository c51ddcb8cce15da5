/*
 * fleet.h: the nodes while a plan is made.
 *
 * Existing nodes first, then those the plan launches. Owns what each has left, which labels were
 * added, and the order of the nodes, on which Ray's ties depend. Nothing outside core/ needs it.
 */
#pragma once

#include "core/plan/plan.h"

/* Who asks. Pending demand is held against what is free, the constraint against the totals. */
enum demand_source { SOURCE_DEMAND, SOURCE_CONSTRAINT };

/* A label that anti-affinity put on a node. */
struct added_label {
    struct label label;
    struct added_label *next;
};

/* An implicit resource (one unit on every node, never listed) of which something was taken. */
struct implicit_use {
    uint32_t name;
    int64_t left;
    struct implicit_use *next;
};

/* Requests with selectors that a node took, in order: its score asks how well they match. */
struct selector_use {
    const struct request *request;
    struct selector_use *next;
};

/* What one source has left on a node and what it has put there. */
struct ledger {
    int64_t *free; /* parallel to the capacities */
    uint8_t *used; /* 1: something placed here asked for this resource */
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
    struct ledger *constraint; /* NULL unless the input has a constraint */
    uint32_t capacity_count;
    uint32_t type;
    uint8_t cause;     /* enum launch_cause, for nodes to launch */
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
    uint32_t *order; /* every node that takes part, in Ray's list order */
    uint32_t *spare; /* as long, for sorting and reordering */
    size_t order_count;
    size_t order_capacity;
    int64_t *type_nodes;    /* by type: all nodes, ending ones too */
    int64_t *type_launches; /* by type and cause: launches that need no node of their own */
    int64_t total_nodes;    /* with those launches */
    uint32_t gpu;           /* the name "GPU" */
};

void fleet_init(struct fleet *fleet, const struct plan_input *input, struct arena *arena);

/* Appends `count` nodes of a type to nodes and order; returns the index of the first. */
uint32_t fleet_launch(struct fleet *fleet, uint32_t type, int64_t count, enum launch_cause cause);

/* Counts launches of nodes that nothing will be placed on any more. */
void fleet_count_launch(struct fleet *fleet, uint32_t type, int64_t count, enum launch_cause cause);

/* Makes room for `count` more in the order and its spare. */
void fleet_reserve_order(struct fleet *fleet, size_t count);

/* Makes `node` an empty node of a type, as far as a trial looks at it. */
void fleet_describe_new(struct fleet *fleet, struct fleet_node *node, uint32_t type);

/* Ledgers that start with the totals: of the constraint for all nodes, of demand for a new one. */
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

/* The value of a label on a node, added ones included, or NAME_NONE. */
uint32_t fleet_label(const struct fleet_node *node, uint32_t key);
