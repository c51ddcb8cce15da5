/*
 * cluster_internal.h: shared by the files of the simulated Ray.
 *
 * Two properties keep an event cheap. A class waits only while no node has room for it, so an
 * arrival behind others is one addition, and freed room is offered only on its own node. And each
 * class has a set of nodes that may have room: a node is added when work on it ends, and removed
 * when a search finds it full.
 */
#pragma once

#include "sim/cluster.h"

#define NO_INDEX UINT32_MAX
#define NEVER INT64_MAX

/* One running task or bundle. The bundles of a gang form a ring. */
struct cluster_run {
    uint32_t class;
    uint32_t node;
    uint32_t newer; /* on the same node */
    uint32_t older; /* on the same node, or in the free list */
    uint32_t next_in_gang;
    uint32_t use; /* use count of the record: ignores the end of an earlier use */
    int64_t arrived_at;
};

struct cluster_need {
    uint32_t column; /* index into cluster_node.free */
    int64_t amount;  /* greater than 0 */
};

/* Work without GPU avoids GPU nodes as long as others have room, and a later selector is a
 * fallback: such types are in the second tier. */
enum { TIER_COUNT = 2 };

/* One class on one type. */
struct fit {
    bool is_accepted; /* fits on an empty node */
    uint32_t tier;
    const struct cluster_need *needs; /* for one piece */
    size_t need_count;
};

struct open_set {
    uint64_t *words; /* one bit per node that may have room */
    size_t word_capacity;
    size_t first; /* no bits before this word */
};

/* Work that arrived at the same time. */
struct wait_run {
    int64_t arrived_at;
    int64_t count;
};

struct cluster_queue {
    const struct work_class *work;
    int64_t bundles;  /* requests of one task or gang */
    size_t pieces;    /* units of placement; a strictly packed gang is one piece */
    struct fit *fits; /* by type */
    struct open_set open[TIER_COUNT];
    struct wait_run *runs; /* a ring whose capacity is a power of two */
    size_t first;
    size_t run_count;
    size_t run_capacity;
    int64_t waiting;
    /* Separate random streams: actions of the controller do not change the arrivals. */
    struct rng arrivals;
    struct rng durations;
    int64_t next_at;    /* the next arrival, or NEVER */
    uint64_t next_part; /* its fraction of a millisecond, in 1/65536 */
    int64_t next_count;
};

/* ---- cluster_queue.c: pending work ---------------------------------------------------------- */

void queue_init(struct cluster *cluster, uint32_t class, struct rng *seeds);
void queue_push_back(struct cluster *cluster, struct cluster_queue *queue, int64_t count);
void queue_push_front(struct cluster *cluster, struct cluster_queue *queue, int64_t arrived_at);

/* Removes the first, which must exist, and returns its arrival time. */
int64_t queue_pop(struct cluster *cluster, struct cluster_queue *queue);

/* The arrival time of the first, which must exist. */
int64_t queue_oldest(const struct cluster_queue *queue);

/* Queues the current arrival and schedules the next. */
void queue_arrive(struct cluster *cluster, uint32_t class);

/* Exponentially distributed with a mean of `mean` milliseconds; in 1/65536 ms. The same in every
 * build. */
uint64_t rng_span(struct rng *rng, int64_t mean);

/* Call after the queues are initialized. */
void fit_init(struct cluster *cluster);

/* ---- cluster_place.c: running work ---------------------------------------------------------- */

void place_init(struct cluster *cluster);

/* Grows the node sets for one more node. */
void place_grow(struct cluster *cluster);

static inline bool node_takes_work(const struct cluster_node *node)
{
    return node->is_alive && node->status == RAY_ALIVE;
}

bool place_fits(const struct cluster *cluster, const struct cluster_queue *queue, uint32_t node);

/* Starts the first of a queue, a single piece, on a node that has room for it. */
void place_on(struct cluster *cluster, struct cluster_queue *queue, uint32_t node);

/* Start the pending work of one queue, or of all, as far as there is room. */
void place_queue(struct cluster *cluster, struct cluster_queue *queue);
void place_all(struct cluster *cluster);

/* A node may have new room: offers it to all pending work. */
void place_offer(struct cluster *cluster, uint32_t node);

void place_end(struct cluster *cluster, uint32_t run, uint64_t use);

/* Requeues all work of a dead node at the front of its queue, whole gangs at a time. The room that
 * gangs free on other nodes is not offered yet. */
void place_throw_back(struct cluster *cluster, uint32_t node);

/* ---- cluster.c: nodes ----------------------------------------------------------------------- */

/* Marks a change of the node that the GCS reports. */
void node_touch(struct cluster *cluster, uint32_t node);

/* Called when the first piece starts and after the last one has ended on a live node. */
void node_set_busy(struct cluster *cluster, uint32_t node, bool is_busy);
