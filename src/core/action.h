/*
 * action.h: the actions that the core can request, each with its reason.
 *
 * The shell answers every action with an event; if it has no reply, with an "unknown" outcome. An
 * action must not be started after `not_after`: another controller may act by then.
 */
#pragma once

#include "base/arena.h"
#include "core/event.h"

#include <stdint.h>

enum action_kind {
    ACTION_LAUNCH,    /* record the intent, then call; a repeated launch is the same call */
    ACTION_TERMINATE, /* answered by EVENT_TERMINATE_REPLY */
    ACTION_SET_UP,    /* wait for ssh, run the steps; may be requested again */
    ACTION_DRAIN,     /* answered by EVENT_DRAIN_REPLY */
    ACTION_KIND_COUNT,
};

enum reason_kind {
    /* Launch: `count_by_cause` has the counts. Of the nodes for demand, `amount` replace `limit`
     * departing nodes, the first of which is `instance`. */
    REASON_NEEDED,
    REASON_REPEATED,      /* launch: repeated, because there is no definite reply so far */
    REASON_CLOUD_RUNS_IT, /* set up: the instance is running */
    REASON_IDLE,          /* `amount` ms idle, `limit` ms allowed */
    REASON_OUTDATED,      /* the node_config changed; `amount` 1: the node type was removed */
    REASON_TYPE_LIMIT,    /* more than `limit` nodes of its type */
    REASON_CLUSTER_LIMIT, /* more than `limit` nodes in the cluster */
    REASON_DRAINED,       /* the raylet accepted the drain; `amount` is the original reason */
    REASON_NOTICE,        /* the cloud will interrupt it at `limit` */
    REASON_CLOUD_ENDED,   /* interrupted by the cloud, or terminated manually */
    REASON_RAY_DEAD,      /* Ray declared it dead */
    REASON_LOST_CONTACT,  /* absent from Ray's view for `amount` ms, `limit` allowed */
    REASON_SETUP_FAILED,  /* a setup step failed */
    REASON_TOO_SLOW,      /* `amount` ms in state `state`, `limit` allowed */
    REASON_DOWN,          /* the user is deleting the cluster */
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
    uint64_t instance; /* for launches: INSTANCE_NONE, or the node being replaced */
    uint64_t launch;   /* number of the launch, or of the launch an instance came from */
    uint32_t offering;
    int64_t count;                              /* for launches */
    int64_t count_by_cause[LAUNCH_CAUSE_COUNT]; /* for launches, REASON_NEEDED */
    /* For drains: the raylet may refuse while it is busy. */
    bool is_rejectable;
    int64_t drain_until; /* deadline of drains that cannot be refused */
};

/* One line: "launch 7.3: 2 x g5.xlarge in us-east-1a (spot): 2 for pending requests". */
struct str action_text(const struct action *action, const struct core_settings *settings,
                       struct arena *arena);

/* Only the reason: "2 for pending requests, 1 to keep min_workers", "idle for 5 min 10 s, 5 min
 * allowed". */
struct str action_reason_text(const struct action *action, struct arena *arena);

/* The same, with the name of the node that a launch replaces: "1 for the work of worker-3, which is
 * going away". */
struct str action_reason_text_with(const struct action *action, struct str leaver,
                                   struct arena *arena);

/* How many instances of a launch replace departing nodes. */
static inline int64_t action_takes_over(const struct action *action)
{
    int64_t count = action->reason.amount;
    bool is_launch = action->kind == ACTION_LAUNCH && action->reason.kind == REASON_NEEDED;
    return is_launch && count > 0 && count <= action->count_by_cause[LAUNCH_DEMAND] ? count : 0;
}
