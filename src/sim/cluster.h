/*
 * cluster.h: a simulated Ray that an autoscaler cannot tell from Ray.
 *
 * Nodes join and die; tasks and gangs wait for room, run and finish; raylets accept or refuse
 * drains; the GCS can be down or come back empty. Controllers see it only through polls, which copy
 * the changes: nothing reaches a controller between two polls.
 *
 * Choices where Ray's behavior is not defined:
 *  - While the GCS is down, running work continues and tasks still start, because raylets schedule
 *    them among themselves. Gangs do not start, and new raylets wait to be registered.
 *  - A GCS that comes back empty knows no nodes, alive or dead. Raylets register again within 40 s
 *    and take no new work before; their running work continues.
 *  - A drained raylet without running work exits a few seconds later, and the GCS declares it dead
 *    at once. The cloud enforces the deadline of a drain.
 *  - The GCS keeps reporting the last state of a machine that vanished for 10 to 60 s.
 */
#pragma once

#include "base/table.h"
#include "core/event.h"
#include "sim/event_queue.h"
#include "sim/faults.h"
#include "sim/workload.h"

struct cluster_node {
    uint64_t instance;
    uint32_t type;
    enum ray_status status; /* status as reported by the GCS */
    bool is_alive;          /* the machine and its raylet are running */
    bool is_draining;       /* the raylet has accepted a drain of any kind */
    bool accepted_idle_drain;
    int64_t drain_until;  /* deadline of a drain that cannot be refused; 0 if none */
    bool has_worked;      /* ran something since it joined */
    int64_t idle_since;   /* NOT_IDLE while busy */
    const int64_t *total; /* by resource of the type */
    int64_t *free;        /* for dead nodes: last reported state, like idle_since */
    size_t running;       /* tasks and bundles of gangs */
    uint64_t changed;     /* number of the last change, for polls */
    /* cluster.c */
    uint32_t life;       /* number of raylets started on the machine */
    uint32_t newest_run; /* list of its running work */
    uint32_t older;      /* list of nodes by their last change */
    uint32_t newer;
};

struct cluster_run;   /* cluster_internal.h: running work */
struct cluster_queue; /* cluster_internal.h: pending work, by class */

/* Figures for the report, per class of the workload. A gang counts once. */
struct class_figures {
    int64_t arrived;
    int64_t started; /* includes restarts after a loss */
    int64_t finished;
    int64_t lost;   /* started, then requeued because the node was lost */
    int64_t *waits; /* milliseconds from arrival to (last) start, one per start */
    size_t wait_count;
    size_t wait_capacity;
};

/* The state seen by one controller, with the arrays that its core points to. */
struct cluster_view;

struct cluster {
    struct arena *arena;
    struct event_queue *event_queue;
    struct faults *faults;
    struct rng rng;
    const struct plan_type *types;
    size_t type_count;
    const struct workload *workload;
    const struct names *names;
    uint64_t head; /* set before it joins: excluded from the figures, and survives GCS restarts */
    bool is_gcs_up;
    uint64_t session; /* changes when the GCS comes back empty */
    uint64_t changes;
    uint64_t load_changed;      /* number of the last change of the pending work */
    struct cluster_node *nodes; /* including dead ones, in order of joining */
    size_t node_count;
    size_t node_capacity;
    struct table index;   /* instance to node */
    uint32_t newest_node; /* most recently changed */
    struct cluster_run *runs;
    size_t run_count;
    size_t run_capacity;
    uint32_t free_run;
    struct cluster_queue *queues; /* by class */
    int64_t waiting;              /* tasks and gangs in all queues */
    const int64_t **totals;       /* by type, then by resource */
    size_t *total_counts;         /* the type's own resources plus the implicit ones in use */
    uint32_t *places;             /* scratch space to place one gang */
    int64_t *rooms;
    struct class_figures *figures;
    int64_t alive;    /* workers with a running raylet */
    int64_t busy;     /* nodes with running work */
    int64_t busy_ms;  /* node-milliseconds with running work, up to accounted_at */
    int64_t alive_ms; /* node-milliseconds in Ray */
    int64_t accounted_at;
};

/* `workload` must have its gang labels (workload_label_gangs). */
void cluster_init(struct cluster *cluster, struct event_queue *event_queue, struct faults *faults,
                  const struct plan_type *types, size_t type_count, const struct names *names,
                  const struct workload *workload, uint64_t seed, struct arena *arena);

/*
 * Starts a raylet on an instance; the node takes work at once if the GCS is available. Replaces a
 * dead raylet; does nothing if the raylet is alive.
 */
void cluster_join(struct cluster *cluster, uint64_t instance, uint32_t type);

/* The machine is gone: requeues its work. Does nothing if it was not in Ray. */
void cluster_lose(struct cluster *cluster, uint64_t instance);

/* NULL if it never joined. Valid until the next join. */
const struct cluster_node *cluster_find(const struct cluster *cluster, uint64_t instance);

/*
 * DrainNode. Returns DRAIN_UNKNOWN, without effect, only while the GCS is down; lost replies are
 * simulated by the controller. Nodes that are dead or not in Ray's view refuse.
 */
enum drain_answer cluster_drain(struct cluster *cluster, uint64_t instance, bool is_rejectable,
                                int64_t until);

/* Handles the cluster's entries of the event queue. */
void cluster_on(struct cluster *cluster, const struct event_queue_entry *entry);

/* Pending requests of all classes; bundles of gangs are counted individually. */
int64_t cluster_pending(const struct cluster *cluster);

/* Updates busy_ms and alive_ms to the current time. */
void cluster_account(struct cluster *cluster);

/* An empty view: create one for every start of a controller. Lives in `arena`. */
struct cluster_view *cluster_view_new(struct cluster *cluster, struct arena *arena);

/*
 * A poll by one controller: writes RAY_NODE events for nodes that changed since its last poll, a
 * RAY_LOAD if the load changed (always the first time), and RAY_SEEN with `asked_at`. False if the
 * GCS does not answer. The events are valid until the next poll of the same view. The arrays of a
 * node or load stay valid until a poll after the next event about it, so a controller that handles
 * events late may still read the old ones.
 */
bool cluster_poll(const struct cluster *cluster, struct cluster_view *view, int64_t asked_at,
                  const struct event **ret_events, size_t *ret_count);
