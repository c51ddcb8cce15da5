/*
 * cluster_parts.h: what the files of the simulated Ray share with each other.
 *
 * Two things keep an event cheap. A class waits only while no node has room for it, so an arrival
 * behind others is one addition, and whoever gives room back offers it on his own node only. And
 * each class has a set of nodes that may have room: a node enters when something on it ends and
 * leaves when somebody looks and finds it full.
 */
#pragma once

#include "sim/cluster.h"

#define NO_INDEX UINT32_MAX
#define NEVER INT64_MAX

/* One task or one bundle that runs. The bundles of a gang form a ring. */
struct cluster_run {
    uint32_t class;
    uint32_t node;
    uint32_t newer; /* on the same node */
    uint32_t older; /* on the same node, or in the list of free records */
    uint32_t next_in_gang;
    uint32_t use; /* counts the uses of the record: an end that comes too late is not for it */
    int64_t arrived_at;
};

struct need {
    uint32_t column; /* of cluster_node.free */
    int64_t amount;  /* above 0 */
};

/* Plain work keeps off GPU nodes as long as others have room, and a later selector is a fallback:
 * such types stand in the second tier. */
enum { TIER_COUNT = 2 };

/* One class on one type. */
struct fit {
    bool is_accepted; /* an empty node takes it */
    uint32_t tier;
    const struct need *needs; /* of one piece */
    size_t need_count;
};

struct open_set {
    uint64_t *words; /* a bit per node that may have room */
    size_t word_capacity;
    size_t first; /* no bit before this word */
};

/* Work that arrived at the same time. */
struct wait_run {
    int64_t arrived_at;
    int64_t count;
};

struct cluster_queue {
    const struct work_class *work;
    int64_t bundles;  /* requests of one task or gang */
    size_t pieces;    /* what is placed one by one; a strictly packed gang is one piece */
    struct fit *fits; /* by type */
    struct open_set open[TIER_COUNT];
    struct wait_run *runs; /* a ring whose capacity is a power of two */
    size_t first;
    size_t run_count;
    size_t run_capacity;
    int64_t waiting;
    /* Streams of their own: the controller's doings do not change what arrives. */
    struct dice arrivals;
    struct dice durations;
    int64_t next_at;    /* the next arrival, or NEVER */
    uint64_t next_part; /* its fraction of a millisecond, in 1/65536 */
    int64_t next_count;
};

/* ---- cluster_queue.c: what waits ------------------------------------------------------------ */

void queue_init(struct cluster *cluster, uint32_t class, struct dice *seeds);
void queue_push_back(struct cluster *cluster, struct cluster_queue *queue, int64_t count);
void queue_push_front(struct cluster *cluster, struct cluster_queue *queue, int64_t arrived_at);

/* Takes the first off, which must be there, and returns when it arrived. */
int64_t queue_pop(struct cluster *cluster, struct cluster_queue *queue);

/* When the first of those that wait arrived; there must be one. */
int64_t queue_oldest(const struct cluster_queue *queue);

/* Puts what arrives now into the queue and the next arrival into the agenda. */
void queue_arrive(struct cluster *cluster, uint32_t class);

/* With a mean of `mean` milliseconds, memoryless; in 1/65536 ms. The same in every build. */
uint64_t dice_span(struct dice *dice, int64_t mean);

/* ---- cluster_fit.c: what fits where --------------------------------------------------------- */

/* After the queues. */
void fit_init(struct cluster *cluster);

/* ---- cluster_place.c: what runs ------------------------------------------------------------- */

void place_init(struct cluster *cluster);

/* Room for one more node. */
void place_grow(struct cluster *cluster);

static inline bool node_takes_work(const struct cluster_node *node)
{
    return node->is_alive && node->status == RAY_ALIVE;
}

bool place_fits(const struct cluster *cluster, const struct cluster_queue *queue, uint32_t node);

/* Starts the first of a queue, a single piece, on a node that has room for it. */
void place_on(struct cluster *cluster, struct cluster_queue *queue, uint32_t node);

/* Starts what waits in one queue or in all as far as there is room. */
void place_queue(struct cluster *cluster, struct cluster_queue *queue);
void place_all(struct cluster *cluster);

/* A node may have room it did not have before: offers it to everybody who waits. */
void place_offer(struct cluster *cluster, uint32_t node);

void place_end(struct cluster *cluster, uint32_t run, uint64_t use);

/* Everything on a node that died goes back to the front of its queue, whole gangs at a time. The
 * room that gangs leave elsewhere is offered to nobody yet. */
void place_throw_back(struct cluster *cluster, uint32_t node);

/* ---- cluster.c: nodes ----------------------------------------------------------------------- */

/* Something about the node changed that the GCS hears of. */
void node_touch(struct cluster *cluster, uint32_t node);

/* Called when the first piece starts and after the last has ended on a living node. */
void node_set_busy(struct cluster *cluster, uint32_t node, bool is_busy);
