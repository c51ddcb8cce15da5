/*
 * core.h: the only door. Events in, actions with reasons out.
 *
 * core_step() folds one event into the state; on EVENT_TICK it also decides. It reads no clock,
 * does no I/O, allocates nothing but from the arenas it is given, and the same events give the
 * same actions on every machine. The launcher on the laptop, the autoscaler on the head and the
 * simulator drive the same core.
 *
 * What it promises, whatever the events say:
 *  - no launch without a lease, a listing and settled records; never more than max_workers,
 *    counting launches whose outcome is unknown; a lost answer is asked for again with the same
 *    number;
 *  - nothing ends for being idle unless its raylet accepted the drain;
 *  - nothing ends while the cloud or Ray is out of sight;
 *  - absence is concluded only from a complete listing asked for after the horizon.
 */
#pragma once

#include "core/action.h"
#include "core/event.h"
#include "core/life.h"
#include "core/offering.h"

/* All in milliseconds. core_times_default() says what is usual. */
struct core_times {
    int64_t horizon;         /* after a call its effect shows in every listing */
    int64_t call_timeout;    /* a call that got no answer by then has no effect any more */
    int64_t token_life;      /* how long the cloud surely remembers a token */
    int64_t cloud_fresh;     /* a listing older than this is no sight of the cloud */
    int64_t ray_fresh;       /* the same for Ray */
    int64_t quiet_start;     /* after a start nothing ends */
    int64_t settle;          /* a node that joined may not count as idle before */
    int64_t drain_retry;     /* after a refused drain */
    int64_t drain_grace;     /* what a node gets that must go but is busy */
    int64_t terminate_retry; /* after a terminate call that found nothing */
    int64_t retry_first;     /* after a failed call; doubles, full jitter */
    int64_t retry_most;
    int64_t cool_first; /* an offering without capacity; doubles */
    int64_t cool_most;
    int64_t cool_quota;
    int64_t join;                        /* from the end of the set-up to Ray's view */
    int64_t deadlines[NODE_STATE_COUNT]; /* how long a node may stay in a state; 0: for ever */
};

void core_times_default(struct core_times *times);

struct core_settings {
    const struct names *names;     /* holds every name that events will use */
    const struct plan_type *types; /* price, availability and recoverable are the core's to fill */
    size_t type_count;
    const struct offering *offerings; /* of each type in the order in which they are tried */
    size_t offering_count;
    int64_t max_workers;
    int64_t max_price; /* micro-dollars per hour over all workers; PLAN_NO_LIMIT */
    int64_t idle_timeout;
    int64_t upscaling_permille; /* of the running nodes of a type; PLAN_NO_LIMIT: no ramp */
    enum plan_strategy strategy;
    int64_t work_budget; /* of the strategy by price */
    bool conserves_gpus;
    uint64_t head_instance; /* or INSTANCE_NONE */
    uint32_t head_type;
    int64_t max_per_call; /* most machines in one launch call */
    size_t node_capacity; /* most nodes that are known at a time, ending ones included */
    uint64_t seed;        /* of the jitter */
    struct core_times times;
    uint32_t bug; /* a deliberate one, in builds that have them (bug.h) */
};

/* Why the core does less than it might. */
enum stance {
    STANCE_ACTING,
    STANCE_NOT_STARTED, /* records are still being read */
    STANCE_NO_LEASE,
    STANCE_FENCED,     /* somebody else used our token */
    STANCE_NO_LISTING, /* the cloud was not seen yet, or not for long enough */
    STANCE_COUNT,
};

/* Why fewer are launched than the plan wants. */
enum hold_cause {
    HOLD_STANCE,        /* nothing may be launched now: `launching` says why */
    HOLD_UNAVAILABLE,   /* everywhere it can be had was refused lately */
    HOLD_ROOM,          /* machines on their way out still count */
    HOLD_RAMP,          /* upscaling_speed: more when these have come */
    HOLD_PRICE,         /* max_price would be exceeded */
    HOLD_PRICE_UNKNOWN, /* there is a max_price, and nobody knows what it costs */
    HOLD_TROUBLE,       /* the cloud answers badly, or too much is under way: soon */
    HOLD_CAUSE_COUNT,
};

struct hold {
    uint32_t type;
    int64_t count;
    enum hold_cause cause;
};

/* A step in the life of a node, for whoever follows the cluster. */
struct change {
    uint64_t instance; /* INSTANCE_NONE for a machine that never got one */
    uint64_t launch;
    uint8_t from; /* enum node_state */
    uint8_t to;
};

/* One line: "instance 17: booting -> setting up". */
struct str change_text(const struct change *change, struct arena *arena);

struct core;

/* Everything in it is valid until the next step. */
struct core_answer {
    const struct action *actions;
    size_t action_count;
    const struct change *changes;
    size_t change_count;
    bool has_more;            /* the buffer of actions was full: tick again at once */
    int64_t wake_at;          /* nothing will happen by itself before; INT64_MAX: never */
    bool is_news;             /* the event changed what the core knows */
    bool is_decision;         /* a plan was made in this step */
    struct plan plan;         /* only then */
    const struct hold *holds; /* launches of the plan that are not made now; in the scratch arena */
    size_t hold_count;
    enum stance launching;
    enum stance ending; /* STANCE_NO_LISTING also when Ray is out of sight */
};

/* `settings` and what it points to must outlive the core. */
struct core *core_new(const struct core_settings *settings, struct arena *arena);

void core_step(struct core *core, const struct event *event, struct arena *scratch,
               struct core_answer *ret_answer);

/* For status, tests and the simulator's checks. */
size_t core_node_count(const struct core *core);
const struct node *core_node_at(const struct core *core, size_t position);
const struct node *core_find(const struct core *core, uint64_t instance);
