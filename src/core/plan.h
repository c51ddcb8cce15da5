/*
 * plan.h: decides which nodes to launch and terminate for a cluster and its demand, with reasons.
 *
 * A pure function: equal input gives the same plan on every machine. It reads no clock, has no side
 * effects, allocates only from `scratch` and cannot fail; requests that do not fit are returned
 * with a reason.
 *
 * Strategy PLAN_RAY gives the answers of the v2 scheduler of Ray 2.60, including ties. Its steps,
 * in order: terminate outdated nodes; fill up min_workers; terminate nodes beyond a type's
 * max_workers, then beyond max_nodes; place the request_resources constraint on the nodes' totals;
 * place gangs, then plain demand; terminate idle nodes that are not needed. Nodes chosen for
 * termination still take demand and still count against every limit, so their replacements come
 * with the next plan.
 *
 * Strategy PLAN_PRICE makes that plan first, then searches for cheaper launches that place the same
 * requests by the same rules. Its plan never costs more per hour, and keeps Ray's launches unless
 * others cost less. It may move requests between existing nodes; terminations follow Ray's rules.
 *
 * Not supported, on purpose: in-place resizing of pods (Kubernetes), and pending_idle_timeout_s,
 * which is off by default and needs state between decisions.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "core/demand.h"
#include "core/intern.h"
#include "core/label.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum plan_strategy {
    PLAN_RAY,   /* same plan as Ray's scheduler */
    PLAN_PRICE, /* Ray's plan, or a cheaper plan for the same requests */
};

#define PLAN_NO_LIMIT (-1)

/* Takes some tens of milliseconds. */
#define PLAN_WORK_DEFAULT 20000000

#define PRICE_UNKNOWN (-1)

/* Amounts of one resource on a node or type, in ten-thousandths. */
struct capacity {
    uint32_t name;
    int64_t total; /* CAPACITY_ABSENT if not in the node's totals */
    int64_t free;  /* CAPACITY_ABSENT if not in the available amounts; unused in a type */
};

/* Differs from 0: Ray's score skips resources without an available amount. */
#define CAPACITY_ABSENT (-1)

struct plan_type {
    struct str name;
    bool is_gone; /* no longer in the configuration; only existing nodes refer to it */
    int64_t min_nodes;
    int64_t max_nodes;
    const struct capacity *capacities; /* in the order of the configuration */
    size_t capacity_count;
    struct label_set labels;
    int64_t priority;        /* among equal scores, higher is launched first */
    int64_t idle_timeout_ms; /* PLAN_NO_LIMIT: the cluster's value applies */
    uint32_t launch_hash;    /* a name; NAME_NONE if never outdated */
    /* Micro-dollars per hour, of the cheapest offering; or PRICE_UNKNOWN. */
    int64_t price;
    double recoverable;  /* 1.0, or less while the type recovers from failed launches */
    double availability; /* 1.0, or less after recent failed launches */
};

struct plan_node {
    uint32_t type; /* index into the types */
    bool is_head;
    bool is_running;      /* runs Ray; otherwise pending, an empty node of its type */
    uint32_t launch_hash; /* a name or NAME_NONE */
    int64_t idle_ms;
    const struct capacity *capacities; /* this and the rest only for running nodes */
    size_t capacity_count;
    struct label_set labels;
};

struct plan_input {
    enum plan_strategy strategy;
    const struct names *names;
    const struct plan_type *types; /* in the order of the configuration, which breaks ties */
    size_t type_count;
    const struct plan_node *nodes; /* every running or pending node; the order breaks ties */
    /* Alternative to the array: fills in the node at an index, always with the same values. */
    void (*node_at)(void *context, size_t index, struct plan_node *ret_node);
    void *node_context;
    size_t node_count;
    /*
     * By type: additional running nodes that are busy and have no room for any request here
     * (shapes.h), or NULL. Only for a fleet within its limits and without a constraint.
     */
    const int64_t *full_nodes;
    const struct demand *demands;
    size_t demand_count;
    const struct gang *gangs;
    size_t gang_count;
    const struct demand *constraint; /* request_resources(): what the totals must provide */
    size_t constraint_count;
    int64_t max_nodes;       /* for the cluster, including the head; or PLAN_NO_LIMIT */
    int64_t idle_timeout_ms; /* PLAN_NO_LIMIT: idle nodes are not terminated */
    bool checks_launch_hash; /* terminate nodes whose type was changed or removed */
    bool conserves_gpus;     /* place work without GPU on GPU nodes last; Ray's default */
    int64_t work_budget;     /* PLAN_PRICE: steps, not time; 0: Ray's answer; or PLAN_NO_LIMIT */
};

static inline struct plan_node plan_node_at(const struct plan_input *input, size_t index)
{
    struct plan_node node;
    if (input->nodes) {
        return input->nodes[index];
    }
    input->node_at(input->node_context, index, &node);
    return node;
}

/* Why nodes are launched. */
enum launch_cause {
    LAUNCH_MIN_NODES,
    LAUNCH_CONSTRAINT,
    LAUNCH_GANGS,
    LAUNCH_DEMAND,
    LAUNCH_CAUSE_COUNT,
};

struct plan_launch {
    uint32_t type;
    int64_t count;
    int64_t count_by_cause[LAUNCH_CAUSE_COUNT];
    int64_t price;  /* price of all of them, micro-dollars per hour; or PRICE_UNKNOWN */
    int64_t saving; /* saving of the whole plan, compared to Ray's launches; 0 if these are Ray's */
};

enum end_cause { END_NONE, END_OUTDATED, END_MAX_OF_TYPE, END_MAX_NODES, END_IDLE };

struct plan_end {
    uint32_t node; /* index into the nodes */
    enum end_cause cause;
    int64_t limit;   /* max_workers or max_nodes; for END_IDLE the timeout in ms */
    int64_t idle_ms; /* for END_IDLE */
};

enum refusal_cause {
    REFUSED_TOO_LARGE,     /* no type has that much of `resource`; `type` has the most, `offered` */
    REFUSED_COMBINATION,   /* each amount exists on some type, but no type has all of them */
    REFUSED_LABELS,        /* types that are large enough do not have the labels */
    REFUSED_TYPE_LIMIT,    /* the matching types have reached max_workers: `type`, `limit` */
    REFUSED_CLUSTER_LIMIT, /* max_nodes is reached: `limit` */
    REFUSED_TOGETHER,      /* each request fits somewhere, but not all of them at once */
    REFUSED_UNAVAILABLE,   /* `type` fits but is unavailable for another `limit` ms */
    REFUSED_PRICE_UNKNOWN, /* `type` fits, but there is a price limit and its price is unknown */
    REFUSED_STOPPED,       /* `type` fits, but was disabled after `limit` failed setups */
};

/* A request that fits on no existing or new node. */
struct refusal {
    enum refusal_cause cause;
    const struct request *request;
    uint32_t resource; /* a name */
    int64_t wanted;
    int64_t offered;
    uint32_t type; /* index into the types */
    int64_t limit;
};

struct plan_unmet {
    uint32_t demand; /* index into the demands; equal demands are added to the first of them */
    int64_t count;
    struct refusal refusal;
};

struct plan_unmet_gang {
    uint32_t gang;
    struct refusal refusal;
};

struct plan_placed {
    const struct request *request; /* for a gang: after merging requests that must share a node */
    enum launch_cause cause;       /* the source: constraint, gang or plain demand */
    int64_t count;
};

/* Requests placed on a node, or on each of `times` new nodes. A node may have several of these. */
struct plan_place {
    uint32_t node; /* index into the nodes; from node_count on, the number of the first new node */
    uint32_t type;
    int64_t times;
    const struct plan_placed *placed;
    size_t placed_count;
};

/* Lives in the scratch arena; points into the input. */
struct plan {
    struct plan_launch *launches; /* launches, at most one per type, in the order of the types */
    size_t launch_count;
    struct plan_end *ends; /* terminations in the order of the nodes */
    size_t end_count;
    struct plan_unmet *unmet;
    size_t unmet_count;
    struct plan_unmet_gang *unmet_gangs;
    size_t unmet_gang_count;
    bool is_constraint_unmet;
    struct refusal constraint_refusal;
    int64_t saving;                  /* PLAN_PRICE: micro-dollars per hour below Ray's launches */
    const struct plan_place *places; /* PLAN_PRICE: placement of requests */
    size_t place_count;
};

/*
 * `scratch` holds the plan and all temporary data: about 150 to 300 bytes per node, a few hundred
 * per shape and per node that gangs or the constraint launch; PLAN_PRICE needs three times that and
 * some megabytes. It may be a fixed buffer; running out of it aborts the program (arena.h).
 */
void plan_decide(const struct plan_input *input, struct arena *scratch, struct plan *ret_plan);

/*
 * Each reason as one line, for logs and status: "8x GPU: no type offers it; largest is g5.12xlarge
 * with 4". The text lives in `arena`.
 */
struct str plan_launch_text(const struct plan_input *input, const struct plan_launch *launch,
                            struct arena *arena);
struct str plan_end_text(const struct plan_input *input, const struct plan_end *end,
                         struct arena *arena);
struct str plan_reason_text(const struct plan_input *input, const struct refusal *refusal,
                            struct arena *arena);
