/*
 * core.h: the core's interface. Events in, actions with reasons out.
 *
 * core_step() applies one event to the state; on EVENT_TICK it also decides. It reads no clock,
 * does no I/O, allocates only from the arenas it is given, and equal events give equal actions on
 * every machine. The launcher on the laptop, the autoscaler on the head and the simulator all run
 * this core.
 *
 * Guarantees, whatever the events are:
 *  - no launch without a lease, a listing and complete records; never more than max_workers,
 *    including launches whose outcome is unknown; a launch without a reply is repeated with the
 *    same number;
 *  - no node is terminated for being idle unless its raylet accepted the drain;
 *  - an instance whose node type was removed from the file or whose node_config changed counts
 *    against limits and costs like any other; it is drained without a deadline and terminated once
 *    idle;
 *  - a type of which no node has joined Ray is disabled after three failed setups;
 *  - a termination is decided only with a fresh view of the cloud and of Ray, unless the user
 *    deletes the cluster or the deadline of a drain passes;
 *  - absence is concluded only from a complete listing requested after the horizon.
 */
#pragma once

#include "core/action.h"
#include "core/event.h"
#include "core/node_state.h"
#include "core/offering.h"

/* All in milliseconds. core_times_default() sets the defaults. */
struct core_times {
    int64_t horizon;         /* time after a call until every listing shows its effect */
    int64_t call_timeout;    /* a call without a reply by then can no longer take effect */
    int64_t token_life;      /* how long the cloud is sure to remember a token */
    int64_t cloud_fresh;     /* a listing older than this is stale */
    int64_t ray_fresh;       /* the same limit for Ray's view */
    int64_t quiet_start;     /* no terminations for this time after a start */
    int64_t settle;          /* a node is not considered idle for this time after it joined */
    int64_t drain_retry;     /* delay after a refused drain */
    int64_t drain_grace;     /* time for a busy node that must be terminated */
    int64_t terminate_retry; /* delay after a terminate call that returned not-found */
    int64_t retry_first;     /* delay after a failed call; doubles, with jitter */
    int64_t retry_most;
    int64_t cool_first; /* pause of an offering without capacity; doubles */
    int64_t cool_most;
    int64_t cool_quota;
    int64_t policy_lag;   /* until a new policy of the head's role is certainly in force */
    int64_t policy_first; /* delay after a refusal in that time; doubles up to policy_most */
    int64_t policy_most;
    /* From the end of the setup until the node appears in Ray. */
    int64_t join;
    int64_t deadlines[NODE_STATE_COUNT]; /* limit for the time in a state; 0 for none */
};

void core_times_default(struct core_times *times);

struct core_settings {
    const struct names *names;     /* contains every name that events use */
    const struct plan_type *types; /* the core fills in price, availability and recoverable */
    size_t type_count;
    const struct offering *offerings; /* by type, in the order in which they are tried */
    size_t offering_count;
    int64_t max_workers;
    int64_t max_price;      /* micro-dollars per hour over all workers; PLAN_NO_LIMIT */
    bool has_unpriced_head; /* so it is unknown what max_price leaves for workers */
    int64_t idle_timeout;
    int64_t keep_failed; /* a node whose setup failed stays this long for inspection; 0: not */
    /* Relative to the running nodes of a type; PLAN_NO_LIMIT: no ramp. */
    int64_t upscaling_permille;
    enum plan_strategy strategy;
    int64_t work_budget; /* work limit of the strategy by price */
    bool conserves_gpus;
    bool keeps_outdated;     /* terminate outdated nodes only after the idle timeout */
    int64_t max_unavailable; /* of a changed type while its nodes are replaced; PLAN_NO_LIMIT */
    uint64_t head_instance;  /* or INSTANCE_NONE */
    uint32_t head_type;
    bool min_excludes_head; /* the head does not count for the min_nodes of its type */
    int64_t max_per_call;   /* limit of instances in one launch call */
    int64_t policy_at; /* when the policy of the head's role may have changed (core time); or 0 */
    size_t node_capacity; /* limit of known nodes, including terminating ones */
    uint64_t seed;        /* for jitter */
    struct core_times times;
};

/* Until when a failed node is kept for inspection (core time); 0 if it is not. */
struct node;
int64_t core_kept_until(const struct core_settings *settings, const struct node *node);

/* Why the core must not launch or terminate. */
enum permission {
    PERMIT_OK,
    PERMIT_NOT_STARTED, /* records are still being loaded */
    PERMIT_NO_LEASE,
    PERMIT_FENCED,      /* another process used our token */
    PERMIT_NO_LISTING,  /* no listing of the cloud yet, or none that can be trusted */
    PERMIT_QUIET,       /* only for terminations: shortly after a start or an outage */
    PERMIT_HEAD_FAILED, /* only for launches: workers could not join */
    PERMIT_COUNT,
};

/* Why fewer nodes are launched than planned. */
enum hold_cause {
    HOLD_PERMISSION,    /* no launches are permitted now: `launching` has the reason */
    HOLD_UNAVAILABLE,   /* all its offerings were refused recently */
    HOLD_ROOM,          /* terminating instances still count */
    HOLD_RAMP,          /* upscaling_speed: more follow when these have joined */
    HOLD_PRICE,         /* max_price would be exceeded */
    HOLD_PRICE_UNKNOWN, /* there is a max_price, and this price or that of a node is unknown */
    HOLD_TROUBLE,       /* cloud API errors, or launches in flight: retried soon */
    /* `limit` setups failed and none ever succeeded: disabled until the next `up`. */
    HOLD_STOPPED,
    HOLD_TRIAL, /* setups failed: waits for the result of the others */
    HOLD_CAUSE_COUNT,
};

struct hold {
    uint32_t type;
    int64_t count;
    enum hold_cause cause;
    int64_t limit; /* number of failures, for HOLD_STOPPED */
};

/* A state transition of a node, for observers. */
struct change {
    uint64_t instance; /* INSTANCE_NONE for an instance that never had a number */
    uint64_t launch;
    uint8_t from; /* enum node_state */
    uint8_t to;
};

/* One line: "instance 17: booting -> setting up". */
struct str change_text(const struct change *change, struct arena *arena);

struct core;

/* Valid until the next step. */
struct core_answer {
    const struct action *actions;
    size_t action_count;
    const struct change *changes;
    size_t change_count;
    bool has_more;            /* the action buffer was full: tick again at once */
    int64_t wake_at;          /* time of the next deadline or retry; INT64_MAX if none */
    bool is_news;             /* the event changed the input of plans */
    bool is_decision;         /* a plan was made in this step */
    struct plan plan;         /* set only if is_decision */
    const struct hold *holds; /* planned launches that are delayed; in the scratch arena */
    size_t hold_count;
    enum permission launching;
    enum permission ending; /* PERMIT_NO_LISTING also if Ray's view is stale */
};

/* `settings` and everything it points to must outlive the core. */
struct core *core_new(const struct core_settings *settings, struct arena *arena);

void core_step(struct core *core, const struct event *event, struct arena *scratch,
               struct core_answer *ret_answer);

/* For status, tests and the simulator's checks. */
size_t core_node_count(const struct core *core);
const struct node *core_node_at(const struct core *core, size_t position);
const struct node *core_find(const struct core *core, uint64_t instance);
