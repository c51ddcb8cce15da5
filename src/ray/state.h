/*
 * state.h: Ray's view of its cluster (the reply of GetClusterResourceState), read where it lies.
 *
 * A reply has half a kilobyte per node, and a version and idle counters that differ in every reply;
 * what matters of a node hardly ever does. So nothing is unpacked: one pass over the bytes gives of
 * each node what changes by itself and a mark of all the rest, and only a node with a new mark is
 * read whole. Marks do not depend on the order of maps, which Ray does not promise.
 *
 * Texts are views of the bytes.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RAY_ID_BYTES = 28 };

enum ray_node_status {
    RAY_NODE_UNSPECIFIED,
    RAY_NODE_RUNNING,
    RAY_NODE_DEAD,
    RAY_NODE_IDLE,
    RAY_NODE_DRAINING,
};

/* ---- nodes ---- */

struct ray_glance {
    struct str id; /* RAY_ID_BYTES bytes, not text; nodes with another id are passed over */
    struct str instance_id; /* empty: started by hand */
    enum ray_node_status status;
    int64_t idle_ms; /* only while it is idle */
    uint64_t mark;   /* of id, instance, status and whatever ray_node_read() gives */
    struct str bytes;
};

struct ray_quantity {
    struct str name;
    double amount; /* 0 to 9e14; what is no number or below is read as 0 */
};

struct ray_label {
    struct str key, value;
};

/* Of a dead node only the first three are known. */
struct ray_node_detail {
    struct str type;    /* of the cluster's file */
    struct str address; /* without port */
    struct str machine; /* "m5.large" */
    const struct ray_quantity *totals;
    size_t total_count;
    const struct ray_quantity *available;
    size_t available_count;
    const struct ray_label *labels; /* what it was started with, then what is put on it */
    size_t label_count;
    const struct str *activities; /* why it is not idle; only while it is running */
    size_t activity_count;
    bool is_head;
};

/* ---- demand ---- */

enum ray_operator { RAY_OPERATOR_OTHER, RAY_IN, RAY_NOT_IN };

struct ray_rule {
    struct str key;
    enum ray_operator op;
    const struct str *values;
    size_t value_count;
};

struct ray_selector {
    const struct ray_rule *rules;
    size_t rule_count;
};

struct ray_placement {
    struct ray_label label;
    bool is_apart; /* anti-affinity; else together */
};

struct ray_request {
    const struct ray_quantity *amounts;
    size_t amount_count;
    const struct ray_selector *selectors; /* the first choice, then fallbacks */
    size_t selector_count;
    const struct ray_placement *placements;
    size_t placement_count;
};

struct ray_demand {
    struct ray_request request;
    int64_t count;
    struct str bytes; /* of the ResourceRequest, to be given back when it is infeasible */
};

/* A placement group that waits. */
struct ray_gang {
    const struct ray_request *requests; /* with their selectors; where a part of it runs already,
                                         * they also say that it is to come back there */
    size_t request_count;
    struct str details;  /* "HEX:STRICT_SPREAD|PENDING" */
    struct str locality; /* the label that all must share a value of; empty: none */
    struct str bytes;    /* of the GangResourceRequest */
};

struct ray_load_read {
    const struct ray_demand *demands;
    size_t demand_count;
    const struct ray_gang *gangs;
    size_t gang_count;
    const struct ray_demand *constraint; /* request_resources() */
    size_t constraint_count;
};

/* ---- reading ---- */

/* The reply as a whole. */
struct ray_state {
    int64_t version;
    struct str session;
    uint64_t load_mark; /* of all that ray_state_load() gives */
    size_t node_count;
};

/* In Ray's order, which is another one in every reply. */
typedef void ray_glance_fn(void *context, const struct ray_glance *glance);

/* ERR_PROTOCOL for bytes that are not such a reply; some nodes may have been told by then. */
bool ray_state_pass(struct str bytes, ray_glance_fn *node, void *context,
                    struct ray_state *ret_state, struct err *err) MUST_USE;

/* `bytes` of a glance. */
bool ray_node_read(struct str bytes, struct arena *arena, struct ray_node_detail *ret_node,
                   struct err *err) MUST_USE;

/* All that waits; empty entries are left out. Of the whole reply. */
bool ray_state_load(struct str bytes, struct arena *arena, struct ray_load_read *ret_load,
                    struct err *err) MUST_USE;
