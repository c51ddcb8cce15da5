/*
 * batch.h: requests that are placed together, in Ray's order, as runs of equal requests.
 *
 * Ray sorts the requests once and then packs each node by walking down the list. Equal requests
 * are adjacent in that order, so "place as many of this run as fit, go on with the next" is the
 * same as trying them one by one. Requests that differ only in labels compare equal and stay as
 * given; they are separate runs.
 *
 * The runs stand at the leaves of a tree whose inner nodes hold the smallest amount of each
 * resource below them, so that the next run which fits into what a node has left is found
 * without looking at those that do not.
 */
#pragma once

#include "base/arena.h"
#include "core/demand.h"

/* The tree filters by the resources met first; the rest is checked run by run. */
enum { BATCH_DIMENSIONS_MAX = 6 };

/* Resources are numbered within a batch: a column is an index into a trial's amounts. */
#define COLUMN_NONE UINT32_MAX

struct need {
    uint32_t column;
    int64_t amount; /* more than 0 */
};

struct run {
    const struct request *request;
    uint32_t source;    /* index of the first of its requests in the list given */
    uint32_t user_list; /* for the packer: trials that count on this run */
    uint32_t need_first;
    uint32_t need_count;
    int64_t left;      /* not placed yet */
    int64_t most_used; /* for the packer: no trial counts on more than this */
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
    int64_t *column_default; /* by column: what a node that does not list the resource has */
    size_t column_count;
    uint32_t *column_of; /* by name, COLUMN_NONE for resources nobody asks for */
    uint32_t *sorted;    /* scratch for sorting, two arrays of run_capacity */
    bool has_selectors;
    bool has_labels; /* selectors or anti-affinity */
    int64_t left;    /* over all runs */
    size_t leaf_count;
    size_t dimension_count;
    int64_t *tree;
    size_t tree_capacity;
};

/* What a list of requests looks like to the batch: requests with or without counts. */
struct batch_source {
    const struct demand *demands;   /* either these */
    const struct request *requests; /* or these, once each */
    size_t count;
};

/* Once per plan; a batch is then filled again and again and reuses its memory. */
void batch_init(struct batch *batch, const struct names *names, struct arena *arena);

void batch_fill(struct batch *batch, struct batch_source source);

/*
 * The first run at or after `from` that has requests left and whose amounts fit into `amounts`
 * (by column); SIZE_MAX when there is none. Labels are not looked at.
 */
size_t batch_next_fit(const struct batch *batch, size_t from, const int64_t *amounts);

/* Takes `count` requests off a run. */
void batch_take(struct batch *batch, size_t run, int64_t count);
