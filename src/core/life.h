/*
 * life.h: the life of a node, as one table.
 *
 *   requested -> launching -> booting -> setting up -> ready <-> idle
 *             -> draining -> terminating -> gone
 *
 * with a way to `failed` from everywhere, and from there to `terminating`. A verdict that was not
 * carried out can be taken back. What a state means for limits, planning and deadlines is said here
 * and nowhere else.
 */
#pragma once

#include "core/action.h"
#include "core/event.h"

enum node_state {
    NODE_GONE,        /* no such machine; the record is free */
    NODE_REQUESTED,   /* asked for; the cloud's answer is not known */
    NODE_LAUNCHING,   /* the cloud gave it a number */
    NODE_BOOTING,     /* the cloud runs it; ssh does not answer yet */
    NODE_SETTING_UP,  /* from the first step to the moment it appears in Ray */
    NODE_READY,       /* in Ray, busy */
    NODE_IDLE,        /* in Ray, nothing to do */
    NODE_DRAINING,    /* asked to let go of its work, or told by the cloud that it must */
    NODE_FAILED,      /* given up; ends as soon as something may end */
    NODE_TERMINATING, /* the cloud was asked to end it */
    NODE_STRANGER,    /* Ray knows it, no listing has shown it yet */
    NODE_STATE_COUNT,
};

struct node {
    uint64_t instance;  /* INSTANCE_NONE while requested */
    int64_t since;      /* entered its state */
    int64_t created_at; /* first heard of: horizons count from here */
    int64_t joined_at;  /* appeared in Ray; 0 before */
    int64_t idle_since; /* or NOT_IDLE */
    int64_t until;      /* draining: ends anyway; terminating: asked again; else: no drain before */
    struct reason reason; /* why it ends, from draining on */
    const struct capacity *capacities;
    const struct label *labels;
    uint32_t capacity_count;
    uint32_t label_count;
    uint64_t launch;
    uint32_t offering;
    uint32_t seen_in; /* the number of the last listing that showed it */
    uint32_t next;    /* in the list of its launch, or of free records */
    uint8_t state;    /* enum node_state */
    uint8_t cloud;    /* enum cloud_state, the latest that is known */
    uint8_t ray;      /* enum ray_status */
    bool is_head;
    bool is_asked;      /* the action of this state was sent and is not answered yet */
    bool is_drain_ours; /* draining: the raylet may refuse */
    bool is_set_up;     /* ray start succeeded */
    bool has_worked;    /* something ran on it since it joined */
    bool is_relieved;   /* draining: a launch was made for what runs on it */
};

struct life_row {
    const char *name;
    bool counts;     /* against max_workers (terminating: until the cloud has confirmed) */
    bool is_pending; /* will offer its type's resources */
    bool is_running; /* offers what Ray says it has */
    uint16_t next;   /* set of states, as bits, that may follow */
};

extern const struct life_row life_table[NODE_STATE_COUNT];

/* The name of a state in words: "setting up". */
const char *node_state_name(enum node_state state);

/* Ends the program when the table has no such step. */
void node_enter(struct node *node, enum node_state state, int64_t now);

/* Does it count against max_workers? */
static inline bool node_counts(const struct node *node)
{
    return life_table[node->state].counts && !node->is_head &&
           (node->state != NODE_TERMINATING || node->cloud < CLOUD_ENDING);
}
