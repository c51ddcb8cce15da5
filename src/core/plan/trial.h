/*
 * trial.h: computes what one node would take of a batch, and Ray's score of that.
 *
 * A trial changes nothing; trial_commit() applies its result to the node. A trial stays valid while
 * every run it uses has at least as many requests left as it would take: then it is limited by the
 * node, not by the demand. The packer relies on this.
 */
#pragma once

#include "core/plan/batch.h"
#include "core/plan/fleet.h"

struct placed {
    uint32_t run;
    int64_t count;
};

/* Ray's score without tie-breakers: larger is better, compared from the first field on. */
struct score {
    uint64_t matches;  /* label preference, GPU kept for GPU work, resources in use */
    double least_used; /* lowest utilization over the resources */
    double mean_used;
};

enum { CUBE_MEMO_SIZE = 1024 };

/* The use of one resource, total * (used share)^3; cached, because pow() dominates the cost of a
 * score. */
struct cube_memo {
    int64_t total; /* 0 if empty */
    int64_t free;
    double value;
};

/* Memory of one trial; its results are valid until the next. */
struct trial {
    const struct fleet *fleet;
    const struct batch *batch;
    enum demand_source source;
    int64_t *amounts; /* by column: remaining amount */
    uint8_t *asked;   /* by column: 1 if a placed request uses it */
    size_t column_capacity;
    struct placed *placed; /* in the order of the runs */
    size_t placed_count;
    size_t placed_capacity;
    struct label *labels; /* added by placed requests */
    size_t label_count;
    size_t label_capacity;
    struct cube_memo *memo;
};

void trial_init(struct trial *trial, const struct fleet *fleet);

/* Call before the trials of another batch or source. */
void trial_begin(struct trial *trial, const struct batch *batch, enum demand_source source);

/* Loads the remaining amounts of a node, by column. */
void trial_load(struct trial *trial, const struct fleet_node *node);

/* Call after trial_load(): fills in `placed`, which may be empty. */
void trial_pack(struct trial *trial, const struct fleet_node *node);

/* After trial_pack(). */
struct score trial_score(struct trial *trial, const struct fleet_node *node);

/* Commits requests to a node. `fleet` is the trial's. */
void trial_commit(struct trial *trial, struct fleet *fleet, struct fleet_node *node,
                  const struct placed *placed, size_t placed_count);
