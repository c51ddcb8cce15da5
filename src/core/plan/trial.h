/*
 * trial.h: what one node would take of a batch, and how good that would be in Ray's eyes.
 *
 * A trial changes nothing; trial_commit() puts its result on the node. A trial stays true while
 * every run it counts on has at least as many requests left as it would take: what limits it then
 * is the node, not the demand. The packer lives on this.
 */
#pragma once

#include "core/plan/batch.h"
#include "core/plan/fleet.h"

struct placed {
    uint32_t run;
    int64_t count;
};

/* Ray's score without its ties: the larger is the better, compared from the top. */
struct score {
    uint64_t matches;  /* label preference, GPU kept for GPU work, resources in use */
    double least_used; /* the smallest use over the resources */
    double mean_used;
};

enum { CUBE_MEMO_SIZE = 1024 };

/* The use of one resource, total * (used share)^3, remembered: pow() is most of a score. */
struct cube_memo {
    int64_t total; /* 0: empty */
    int64_t free;
    double value;
};

/* Room for one trial at a time; the results are valid until the next. */
struct trial {
    const struct fleet *fleet;
    const struct batch *batch;
    enum demand_source source;
    int64_t *amounts; /* by column: what is left */
    uint8_t *asked;   /* by column: 1 when something placed asks for it */
    size_t column_capacity;
    struct placed *placed; /* in the order of the runs */
    size_t placed_count;
    size_t placed_capacity;
    struct label *labels; /* added on the way */
    size_t label_count;
    size_t label_capacity;
    struct cube_memo *memo;
};

void trial_init(struct trial *trial, const struct fleet *fleet);

/* Before the trials of another batch or source. */
void trial_begin(struct trial *trial, const struct batch *batch, enum demand_source source);

/* What a node has left, by column. */
void trial_load(struct trial *trial, const struct fleet_node *node);

/* After trial_load(): fills `placed`; nothing placed is an answer too. */
void trial_pack(struct trial *trial, const struct fleet_node *node);

/* After trial_pack(). */
struct score trial_score(struct trial *trial, const struct fleet_node *node);

/* Puts requests on a node for good. `fleet` is the trial's. */
void trial_commit(struct trial *trial, struct fleet *fleet, struct fleet_node *node,
                  const struct placed *placed, size_t placed_count);
