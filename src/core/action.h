/*
 * action.h: everything the core can ask for, each with its reason.
 *
 * The shell answers every action with an event; one that cannot be answered is answered with
 * "unknown". An action must not be started after `not_after`: by then another controller may act.
 */
#pragma once

#include "base/arena.h"
#include "core/event.h"

#include <stdint.h>

enum action_kind {
    ACTION_LAUNCH,    /* write the intent down, then call; a repeated launch is the same call */
    ACTION_TERMINATE, /* answered by EVENT_TERMINATE_REPLY */
    ACTION_SET_UP,    /* wait for ssh, run the steps; safe to ask for again */
    ACTION_DRAIN,     /* answered by EVENT_DRAIN_REPLY */
    ACTION_KIND_COUNT,
};

enum reason_kind {
    REASON_NEEDED,        /* launch: `by_cause` says by whom; `amount` of those for demand take
                             over from `limit` nodes that go away, the first is `instance` */
    REASON_REPEATED,      /* launch: asked again, there is no definite answer so far */
    REASON_CLOUD_RUNS_IT, /* set up: the machine is there */
    REASON_IDLE,          /* `amount` ms idle, `limit` ms allowed */
    REASON_OUTDATED,      /* the configuration of its type has changed */
    REASON_TYPE_LIMIT,    /* more than `limit` of its type */
    REASON_CLUSTER_LIMIT, /* more than `limit` in the cluster */
    REASON_DRAINED,       /* the raylet let go of it; `amount` is the first reason */
    REASON_NOTICE,        /* the cloud takes it away at `limit` */
    REASON_CLOUD_ENDED,   /* the cloud took it away, or somebody ended it by hand */
    REASON_RAY_DEAD,      /* Ray declared it dead */
    REASON_LOST_CONTACT,  /* gone from Ray's view for `amount` ms, `limit` allowed */
    REASON_SETUP_FAILED,  /* a step failed */
    REASON_TOO_SLOW,      /* `amount` ms in state `state`, `limit` allowed */
    REASON_DOWN,          /* the user ends the cluster */
    REASON_KIND_COUNT,
};

struct reason {
    uint8_t kind;  /* enum reason_kind */
    uint8_t state; /* enum node_state, for REASON_TOO_SLOW */
    int64_t amount;
    int64_t limit;
};

struct action {
    enum action_kind kind;
    struct reason reason;
    int64_t not_after;
    uint64_t epoch;
    uint64_t instance; /* of launches: INSTANCE_NONE, or from whom it takes over */
    uint64_t launch;   /* launches, and the launch an instance came from */
    uint32_t offering;
    int64_t count;                              /* launches */
    int64_t count_by_cause[LAUNCH_CAUSE_COUNT]; /* launches, REASON_NEEDED */
    bool is_rejectable;                         /* drains: the raylet may refuse when it is busy */
    int64_t drain_until;                        /* drains that may not be refused */
};

/* One line: "launch 7.3: 2 x g5.xlarge in us-east-1a (spot): 2 for pending requests". */
struct str action_text(const struct action *action, const struct core_settings *settings,
                       struct arena *arena);

/* Only why: "2 for pending requests, 1 to keep min_workers", "idle for 5 min 10 s, 5 min allowed".
 */
struct str action_reason_text(const struct action *action, struct arena *arena);

/* The same, where the node from which a launch takes over has a name: "1 for the work of worker-3,
 * which is going away". */
struct str action_reason_text_with(const struct action *action, struct str leaver,
                                   struct arena *arena);

/* How many of a launch take over from nodes that go away. */
static inline int64_t action_takes_over(const struct action *action)
{
    int64_t count = action->reason.amount;
    bool is_launch = action->kind == ACTION_LAUNCH && action->reason.kind == REASON_NEEDED;
    return is_launch && count > 0 && count <= action->count_by_cause[LAUNCH_DEMAND] ? count : 0;
}

/* As with events (event.h). A record of an action is never read as one of an event. */
struct str action_encode(const struct action *action, struct arena *arena);
bool action_decode(struct str *bytes, struct action *ret_action) MUST_USE;
