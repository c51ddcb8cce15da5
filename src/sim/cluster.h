/*
 * cluster.h: a Ray that is as much like Ray as an autoscaler can tell.
 *
 * Nodes join and die, tasks and gangs wait for room, run and end; raylets accept or refuse
 * drains; the GCS can be away or come back empty. Controllers see it only through polls, which
 * copy what has changed: nothing reaches a controller between two polls.
 *
 * What was chosen where Ray leaves room:
 *  - While the GCS is away, what runs runs on and tasks still start, because raylets settle that
 *    among themselves. Gangs do not start, and raylets that come up wait to be registered.
 *  - A GCS that comes back empty knows no node, neither living nor dead ones. Raylets register
 *    again within 40 s and take nothing new before; what runs on them runs on.
 *  - A raylet that was drained and has nothing left to run leaves by itself a few seconds later,
 *    and the GCS calls it dead at once. The deadline of a drain is the cloud's to enforce.
 *  - Of a machine that vanished the GCS keeps telling the last it heard, for 10 to 60 s.
 */
#pragma once

#include "base/table.h"
#include "core/event.h"
#include "sim/agenda.h"
#include "sim/faults.h"
#include "sim/workload.h"

struct cluster_node {
    uint64_t instance;
    uint32_t type;
    enum ray_status status; /* as the GCS tells it */
    bool is_alive;          /* the machine and its raylet */
    bool is_draining;       /* the raylet accepted a drain of any kind */
    bool accepted_idle_drain;
    int64_t drain_until;  /* of one that may not be refused; 0: none */
    bool has_worked;      /* something ran on it since it joined */
    int64_t idle_since;   /* NOT_IDLE while something runs on it */
    const int64_t *total; /* by resource of the type */
    int64_t *free;        /* of one that died: as the GCS heard it last, like idle_since */
    size_t running;       /* tasks and bundles of gangs on it */
    uint64_t changed;     /* number of the last change, for polls */
    /* cluster.c */
    uint32_t life;       /* counts the raylets that were started on the machine */
    uint32_t newest_run; /* the list of what runs on it */
    uint32_t older;      /* the list of nodes by their last change */
    uint32_t newer;
};

struct cluster_run;   /* cluster_parts.h: running */
struct cluster_queue; /* cluster_parts.h: waiting, by class */

/* Kept for the report, per class of the workload. A gang counts once. */
struct class_figures {
    int64_t arrived;
    int64_t started; /* started again after a loss: once more */
    int64_t finished;
    int64_t lost;   /* started, then thrown back because the node went away */
    int64_t *waits; /* milliseconds from arrival to (last) start, one per start */
    size_t wait_count;
    size_t wait_capacity;
};

/* What one controller has seen; the arrays its core points into. */
struct cluster_view;

struct cluster {
    struct arena *arena;
    struct agenda *agenda;
    struct faults *faults;
    struct dice dice;
    const struct plan_type *types;
    size_t type_count;
    const struct workload *workload;
    const struct names *names;
    uint64_t head; /* set before it joins: stays out of the figures and survives the GCS */
    bool is_gcs_up;
    uint64_t session; /* changes when the GCS comes back empty */
    uint64_t changes;
    uint64_t load_changed;      /* number of the last change of what is pending */
    struct cluster_node *nodes; /* dead ones too, in the order of joining */
    size_t node_count;
    size_t node_capacity;
    struct table index;   /* instance to node */
    uint32_t newest_node; /* the one that changed last */
    struct cluster_run *runs;
    size_t run_count;
    size_t run_capacity;
    uint32_t free_run;
    struct cluster_queue *queues; /* by class */
    int64_t waiting;              /* tasks and gangs in all queues */
    const int64_t **totals;       /* by type, then by resource */
    size_t *total_counts;         /* the type's own resources and the implicit ones in use */
    uint32_t *places;             /* room to plan one gang */
    int64_t *rooms;
    struct class_figures *figures;
    int64_t alive;    /* workers whose raylet lives */
    int64_t busy;     /* of them: with something running */
    int64_t busy_ms;  /* node-milliseconds with something running, up to accounted_at */
    int64_t alive_ms; /* node-milliseconds in Ray */
    int64_t accounted_at;
};

/* `workload` has its gang labels (workload_label_gangs). */
void cluster_init(struct cluster *cluster, struct agenda *agenda, struct faults *faults,
                  const struct plan_type *types, size_t type_count, const struct names *names,
                  const struct workload *workload, uint64_t seed, struct arena *arena);

/*
 * A raylet starts on an instance; the node takes work at once if the GCS is there. On an instance
 * whose raylet died it is a new raylet, on one whose raylet lives nothing happens.
 */
void cluster_join(struct cluster *cluster, uint64_t instance, uint32_t type);

/* The machine is gone: its work goes back to the queue. Nothing happens if it was not in Ray. */
void cluster_lose(struct cluster *cluster, uint64_t instance);

/* NULL for one that never joined. Valid until the next join. */
const struct cluster_node *cluster_find(const struct cluster *cluster, uint64_t instance);

/*
 * DrainNode at this moment. DRAIN_UNKNOWN, without effect, only while the GCS is away; otherwise
 * lost answers are the controller's. Nodes that are dead or not in Ray's view: refused.
 */
enum drain_answer cluster_drain(struct cluster *cluster, uint64_t instance, bool is_rejectable,
                                int64_t until);

/* Every entry of the agenda that is the cluster's. */
void cluster_on(struct cluster *cluster, const struct agenda_entry *entry);

/* Requests that wait, over all classes; bundles of gangs one by one. */
int64_t cluster_pending(const struct cluster *cluster);

/* Brings busy_ms and alive_ms up to now. */
void cluster_account(struct cluster *cluster);

/* Has seen nothing yet: a new one for every start of a controller. Lives in `arena`. */
struct cluster_view *cluster_view_new(struct cluster *cluster, struct arena *arena);

/*
 * A poll by one controller: writes RAY_NODE events for nodes that changed since its last poll, a
 * RAY_LOAD when the load did (the first time always), and RAY_SEEN with `asked_at`. False when the
 * GCS does not answer. The events are valid until the next poll of the same view. The arrays of a
 * node stay until a poll after the next event about it, those of a load likewise: whoever handles
 * the events late may still look at the old ones.
 */
bool cluster_poll(const struct cluster *cluster, struct cluster_view *view, int64_t asked_at,
                  const struct event **ret_events, size_t *ret_count);
