/*
 * plan.h: from a cluster and its demand to what should be launched and ended, with reasons.
 *
 * One function of its arguments: same input, same plan, on every machine. It reads no clock,
 * touches nothing outside, allocates only from `scratch` and cannot fail; what does not fit is
 * data with a reason.
 *
 * Strategy PLAN_RAY gives the answers of the v2 scheduler of Ray 2.60, ties included. In its
 * order: outdated nodes end; min_workers are filled up; nodes beyond a type's max_workers, then
 * beyond max_nodes end; the request_resources constraint is held against the nodes' totals; gangs
 * are placed, then plain demand; idle nodes that nothing needs end. Nodes that are ending still
 * take demand and still count against every limit, so their replacements come with the next plan.
 *
 * Strategy PLAN_PRICE makes that plan first, then looks for cheaper launches that place the same
 * requests by the same rules. It never costs more an hour, and keeps Ray's launches unless others
 * cost less. It may move requests between existing nodes; which of them end follows Ray's rules.
 *
 * Left out on purpose: resizing pods in place (Kubernetes), and pending_idle_timeout_s, which
 * is off by default and needs memory between decisions.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "core/demand.h"
#include "core/label.h"
#include "core/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum plan_strategy {
    PLAN_RAY,   /* what Ray's scheduler would do */
    PLAN_PRICE, /* that, or something cheaper that places the same requests */
};

#define PLAN_NO_LIMIT (-1)

/* Steps of improvement that take some tens of milliseconds. */
#define PLAN_WORK_DEFAULT 20000000

#define PRICE_UNKNOWN (-1)

/* What a node or type has of one resource, in ten-thousandths. */
struct capacity {
    uint32_t name;
    int64_t total; /* CAPACITY_ABSENT: not among the node's totals */
    int64_t free;  /* CAPACITY_ABSENT: not among what is available; unused in a type */
};

/* Not listed differs from 0: Ray's score passes over resources without an available amount. */
#define CAPACITY_ABSENT (-1)

struct plan_type {
    struct str name;
    bool is_gone; /* not in the configuration any more; only existing nodes still name it */
    int64_t min_nodes;
    int64_t max_nodes;
    const struct capacity *capacities; /* in the order of the configuration */
    size_t capacity_count;
    struct label_set labels;
    int64_t priority;        /* the higher is launched first among equal scores */
    int64_t idle_timeout_ms; /* PLAN_NO_LIMIT: the cluster's */
    uint32_t launch_hash;    /* a name; NAME_NONE: never outdated */
    int64_t price;           /* micro-dollars an hour, of the cheapest offer; PRICE_UNKNOWN */
    double recoverable;      /* 1.0, or less while the type recovers from failed launches */
    double availability;     /* 1.0, or less when launches failed lately */
};

struct plan_node {
    uint32_t type; /* index into the types */
    bool is_head;
    bool is_running;      /* runs Ray; otherwise it will: an empty node of its type */
    uint32_t launch_hash; /* a name or NAME_NONE */
    int64_t idle_ms;
    const struct capacity *capacities; /* the rest only for running nodes */
    size_t capacity_count;
    struct label_set labels;
};

struct plan_input {
    enum plan_strategy strategy;
    const struct names *names;
    const struct plan_type *types; /* in the order of the configuration: it settles ties */
    size_t type_count;
    const struct plan_node *nodes; /* every node that runs Ray or may yet; order settles ties */
    /* Instead of an array: makes the node at an index, the same one every time. */
    void (*node_at)(void *context, size_t index, struct plan_node *ret_node);
    void *node_context;
    size_t node_count;
    /*
     * By type: further running nodes that are busy and have no room for anything asked for here
     * (shapes.h), or NULL. Only for a fleet within its limits and without a constraint.
     */
    const int64_t *full_nodes;
    const struct demand *demands;
    size_t demand_count;
    const struct gang *gangs;
    size_t gang_count;
    const struct demand *constraint; /* request_resources(): what the totals must offer */
    size_t constraint_count;
    int64_t max_nodes;       /* of the cluster, the head included; PLAN_NO_LIMIT */
    int64_t idle_timeout_ms; /* PLAN_NO_LIMIT: nodes are never idle for too long */
    bool checks_launch_hash; /* end nodes whose type was changed or removed */
    bool conserves_gpus;     /* keep work without GPU off GPU nodes; Ray's default */
    int64_t work_budget;     /* PLAN_PRICE: steps, not time; 0: Ray's answer; PLAN_NO_LIMIT */
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

/* Why a node is launched: how many of the launches were asked for by whom. */
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
    int64_t price;  /* of all of them, micro-dollars an hour; PRICE_UNKNOWN */
    int64_t saving; /* of the whole plan against Ray's launches; 0: these are Ray's launches */
};

enum end_cause { END_NONE, END_OUTDATED, END_MAX_OF_TYPE, END_MAX_NODES, END_IDLE };

struct plan_end {
    uint32_t node; /* index into the nodes */
    enum end_cause cause;
    int64_t limit;   /* the max_workers or max_nodes; for END_IDLE the timeout in ms */
    int64_t idle_ms; /* for END_IDLE */
};

enum refusal_cause {
    REFUSED_TOO_LARGE,     /* no type has that much of `resource`; `type` has most, `offered` */
    REFUSED_COMBINATION,   /* each amount exists somewhere, no type has all of them */
    REFUSED_LABELS,        /* types that are large enough do not have the labels */
    REFUSED_TYPE_LIMIT,    /* the types that fit have reached max_workers: `type`, `limit` */
    REFUSED_CLUSTER_LIMIT, /* max_nodes is reached: `limit` */
    REFUSED_TOGETHER,      /* each request fits somewhere, all of them at once do not */
    REFUSED_UNAVAILABLE,   /* `type` fits and cannot be had for another `limit` ms */
    REFUSED_PRICE_UNKNOWN, /* `type` fits, and with a limit on cost nobody knows what it costs */
};

/* A request for which no place exists now and none can be launched. */
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
    uint32_t demand; /* index into the demands; equal demands are counted at the first of them */
    int64_t count;
    struct refusal refusal;
};

struct plan_unmet_gang {
    uint32_t gang;
    struct refusal refusal;
};

struct plan_placed {
    const struct request *request; /* of a gang: after requests that must share a node are one */
    enum launch_cause cause;       /* who asks: the constraint, a gang or plain demand */
    int64_t count;
};

/* What is placed on a node, or on each of `times` new nodes. A node may have several of these. */
struct plan_place {
    uint32_t node; /* index into the nodes; beyond them the number of the first new node */
    uint32_t type;
    int64_t times;
    const struct plan_placed *placed;
    size_t placed_count;
};

/* Carved from the scratch arena; points into the input. */
struct plan {
    struct plan_launch *launches; /* at most one per type, in the order of the types */
    size_t launch_count;
    struct plan_end *ends; /* in the order of the nodes */
    size_t end_count;
    struct plan_unmet *unmet;
    size_t unmet_count;
    struct plan_unmet_gang *unmet_gangs;
    size_t unmet_gang_count;
    bool is_constraint_unmet;
    struct refusal constraint_refusal;
    int64_t saving; /* PLAN_PRICE: micro-dollars an hour less than Ray's launches */
    const struct plan_place *places; /* PLAN_PRICE: who goes where */
    size_t place_count;
};

/*
 * `scratch` holds the plan and everything on the way to it: some 150 to 300 bytes for each node,
 * a few hundred for each shape and for each node that gangs or the constraint launch; PLAN_PRICE
 * takes three times that and some megabytes. It may be fixed memory; one that runs out ends the
 * program (arena.h).
 */
void plan_decide(const struct plan_input *input, struct arena *scratch, struct plan *ret_plan);

/*
 * The reasons in one line each, for logs and status: "8x GPU: no type offers it; largest is
 * g5.12xlarge with 4". The text lives in `arena`.
 */
struct str plan_launch_text(const struct plan_input *input, const struct plan_launch *launch,
                            struct arena *arena);
struct str plan_end_text(const struct plan_input *input, const struct plan_end *end,
                         struct arena *arena);
struct str plan_reason_text(const struct plan_input *input, const struct refusal *refusal,
                            struct arena *arena);
