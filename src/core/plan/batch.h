/*
 * batch.h: requests that are placed together, in Ray's order, as runs of equal requests.
 *
 * Ray sorts the requests once and then packs each node by walking down the list. Equal requests are
 * adjacent in that order, so "place as many of this run as fit, then continue with the next" is
 * equivalent to trying them one by one. Requests that differ only in labels compare equal and keep
 * their order; they are separate runs.
 *
 * The runs are the leaves of a tree whose inner nodes hold the minimum amount of each resource
 * below them, so that the next run that fits into a node is found without visiting those that do
 * not.
 */
#pragma once

#include "base/arena.h"
#include "core/demand.h"

/* The tree filters by the first resources only; the others are checked run by run. */
enum { BATCH_DIMENSIONS_MAX = 6 };

/* Resources are numbered within a batch: a column is an index into the amounts of a trial. */
#define COLUMN_NONE UINT32_MAX

struct need {
    uint32_t column;
    int64_t amount; /* more than 0 */
};

struct run {
    const struct request *request;
    uint32_t source;    /* index of its first request in the given list */
    uint32_t user_list; /* for the packer: trials that use this run */
    uint32_t need_first;
    uint32_t need_count;
    int64_t left;      /* requests that are not placed yet */
    int64_t most_used; /* for the packer: maximum that any trial uses */
    bool has_anti_affinity;
    bool asks_gpu;
};

struct batch {
    struct arena *arena;
    const struct names *names;
    uint32_t gpu;
    struct run *runs;
    size_t run_count;
    size_t run_capacity;
    struct need *needs;
    size_t need_count;
    size_t need_capacity;
    uint32_t *column_names;  /* by column */
    int64_t *column_default; /* by column: the amount of a node that does not list the resource */
    size_t column_count;
    uint32_t *column_of; /* by name; COLUMN_NONE for resources that are not requested */
    uint32_t *sorted;    /* scratch for sorting, two arrays of run_capacity */
    bool has_selectors;
    bool has_labels; /* selectors or anti-affinity */
    int64_t left;    /* sum over all runs */
    size_t leaf_count;
    size_t dimension_count;
    int64_t *tree;
    size_t tree_capacity;
};

/* The input of a batch: requests with or without counts. */
struct batch_source {
    const struct demand *demands;   /* either these */
    const struct request *requests; /* or these, once each */
    size_t count;
};

/* Call once per plan; a batch is then refilled and reuses its memory. */
void batch_init(struct batch *batch, const struct names *names, struct arena *arena);

void batch_fill(struct batch *batch, struct batch_source source);

/*
 * The first run at or after `from` that has requests left and whose amounts fit into `amounts` (by
 * column); SIZE_MAX if there is none. Ignores labels.
 */
size_t batch_next_fit(const struct batch *batch, size_t from, const int64_t *amounts);

/* Removes `count` requests from a run. */
void batch_take(struct batch *batch, size_t run, int64_t count);
