/*
 * state.h: parses Ray's cluster state (the reply of GetClusterResourceState) in place.
 *
 * A reply has half a kilobyte per node, and a version and idle counters that differ in every reply,
 * while the relevant part of a node rarely changes. So nothing is unpacked: one pass over the bytes
 * returns the frequently changing fields of each node and a hash ("mark") of the rest, and only a
 * node with a new mark is parsed completely. Marks do not depend on the order of maps, which Ray
 * does not guarantee.
 *
 * Strings are views of the bytes.
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

struct ray_node_summary {
    struct str id;          /* RAY_ID_BYTES bytes, not text; nodes with other ids are skipped */
    struct str instance_id; /* empty if started manually */
    enum ray_node_status status;
    int64_t idle_ms; /* set only while idle */
    uint64_t mark;   /* mark of id, instance, status and everything ray_node_read() returns */
    struct str bytes;
};

struct ray_quantity {
    struct str name;
    double amount; /* 0 to 9e14; negative values and NaN are read as 0 */
};

struct ray_label {
    struct str key, value;
};

/* For a dead node only the first three are known. */
struct ray_node_detail {
    struct str type;    /* node type of the cluster file */
    struct str address; /* without port */
    struct str machine; /* "m5.large" */
    const struct ray_quantity *totals;
    size_t total_count;
    const struct ray_quantity *available;
    size_t available_count;
    const struct ray_label *labels; /* from the start of the node, then those added later */
    size_t label_count;
    const struct str *activities; /* why the node is not idle; only while running */
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
    bool is_apart; /* anti-affinity; otherwise affinity */
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
    struct str bytes; /* encoded ResourceRequest, to be reported if it is infeasible */
};

/* A pending placement group. */
struct ray_gang {
    /* With their selectors; if a part of it is already running, they also require its location. */
    const struct ray_request *requests;
    size_t request_count;
    struct str details;  /* "HEX:STRICT_SPREAD|PENDING" */
    struct str locality; /* label whose value all must share; empty if none */
    struct str bytes;    /* encoded GangResourceRequest */
};

struct ray_load_read {
    const struct ray_demand *demands;
    size_t demand_count;
    const struct ray_gang *gangs;
    size_t gang_count;
    const struct ray_demand *constraint; /* request_resources() */
    size_t constraint_count;
};

/* ---- parsing ---- */

/* The reply as a whole. */
struct ray_state {
    int64_t version;
    struct str session;
    uint64_t load_mark; /* mark of everything ray_state_load() returns */
    size_t node_count;
};

/* Called in Ray's order, which differs in every reply. */
typedef void ray_node_summary_fn(void *context, const struct ray_node_summary *glance);

/* ERR_PROTOCOL for malformed replies; some nodes may have been reported before. */
bool ray_state_pass(struct str bytes, ray_node_summary_fn *node, void *context,
                    struct ray_state *ret_state, struct err *err) MUST_USE;

/* `bytes` of a node summary. */
bool ray_node_read(struct str bytes, struct arena *arena, struct ray_node_detail *ret_node,
                   struct err *err) MUST_USE;

/* All pending requests of the whole reply; empty entries are omitted. */
bool ray_state_load(struct str bytes, struct arena *arena, struct ray_load_read *ret_load,
                    struct err *err) MUST_USE;
