/*
 * node_state.h: the states of a node, as one table.
 *
 *   requested -> launching -> booting -> setting up -> ready <-> idle
 *             -> draining -> terminating -> gone
 *
 * Every state can lead to `failed`, and from there to `terminating`. A decision that was not
 * carried out can be revoked. The meaning of a state for limits, planning and deadlines is defined
 * only here.
 */
#pragma once

#include "core/action.h"
#include "core/event.h"

enum node_state {
    NODE_GONE,        /* no such instance; the record is free */
    NODE_REQUESTED,   /* requested; no reply from the cloud yet */
    NODE_LAUNCHING,   /* the cloud has assigned an id */
    NODE_BOOTING,     /* running; ssh does not answer yet */
    NODE_SETTING_UP,  /* from the first step until it appears in Ray */
    NODE_READY,       /* in Ray, busy */
    NODE_IDLE,        /* in Ray, without work */
    NODE_DRAINING,    /* draining, by us or because of a notice from the cloud */
    NODE_FAILED,      /* given up; terminated as soon as permitted */
    NODE_TERMINATING, /* termination was requested */
    NODE_UNLISTED,    /* in Ray's view, but in no listing yet */
    NODE_STATE_COUNT,
};

struct node {
    uint64_t instance;  /* INSTANCE_NONE while requested */
    int64_t since;      /* when the node entered its state */
    int64_t created_at; /* when the node was first seen: horizons start here */
    int64_t joined_at;  /* when the node appeared in Ray; 0 before */
    int64_t idle_since; /* or NOT_IDLE */
    /* Draining: when it is terminated anyway; terminating: when the call is repeated; otherwise: no
     * drain before this time. */
    int64_t until;
    struct reason reason; /* why the node is terminated; set from draining on */
    int64_t price;        /* for outdated nodes; otherwise the offering's price applies */
    const struct capacity *capacities;
    const struct label *labels;
    uint32_t capacity_count;
    uint32_t label_count;
    uint64_t launch;
    uint32_t offering; /* or OFFERING_GONE, which implies is_outdated */
    uint32_t seen_in;  /* number of the last listing that contained it */
    uint32_t next;     /* next node in the list of its launch, or of free records */
    uint8_t state;     /* enum node_state */
    uint8_t cloud;     /* enum cloud_state, the latest known */
    uint8_t ray;       /* enum ray_status */
    bool is_head;
    bool is_of_past;    /* launched by an earlier run, and not seen alive by this one */
    bool is_asked;      /* the action of this state was sent and has no reply yet */
    bool is_drain_ours; /* draining: the raylet may refuse */
    bool is_set_up;     /* ray start succeeded */
    bool is_unused;     /* failed: Ray was never started on it */
    bool has_worked;    /* ran something since it joined */
    bool is_replaced;   /* draining: a launch was made to replace its work */
    bool is_outdated;   /* the file has changed since its launch: to be replaced */
    bool is_waiting;    /* outdated: it serves until its turn to be drained comes */
};

struct node_state_row {
    const char *name;
    bool counts;     /* against max_workers (when terminating, until the cloud confirms) */
    bool is_pending; /* will offer its type's resources */
    bool is_running; /* offers what Ray says it has */
    uint16_t next;   /* bit set of allowed successors */
};

extern const struct node_state_row node_state_table[NODE_STATE_COUNT];

/* The display name of a state: "setting up". */
const char *node_state_name(enum node_state state);

/* Aborts the program if the table does not allow the transition. */
void node_enter(struct node *node, enum node_state state, int64_t now);

/* Does the node count against max_workers? */
static inline bool node_counts(const struct node *node)
{
    return node_state_table[node->state].counts && !node->is_head &&
           (node->state != NODE_TERMINATING || node->cloud < CLOUD_ENDING);
}
