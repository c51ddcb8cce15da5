/*
 * core_internal.h: the core's state between two events. Private to core/live.
 *
 * Everything is a fixed-size array allocated by core_new(). Nodes are in a table with a free list
 * and an index by instance; unsettled launches are in a short array.
 */
#pragma once

#include "core/core.h"
#include "core/plan/shapes.h"

enum {
    LAUNCH_CAPACITY = 512,  /* launches with an unknown outcome at a time */
    ACTION_CAPACITY = 1024, /* per answer; the rest comes with the next */
    CHANGE_CAPACITY = 1024, /* reported per answer; further ones happen unreported */
};

#define NO_NODE UINT32_MAX

/* A launch, from its first call until it is known which of its instances exist. */
struct launch {
    uint64_t number;
    uint32_t offering;
    uint32_t requested; /* list of its nodes without an instance */
    int64_t count;
    int64_t first_at;
    int64_t sent_at;      /* time of the last known call */
    int64_t unsure_until; /* an earlier call without a reply may take effect until then */
    int64_t retry_at;     /* not repeated before this time */
    bool is_asked;        /* a call is in flight */
    bool is_frozen;       /* not repeated: a listing will settle it */
    bool is_outdated;     /* the node type is no longer in the file */
    int64_t count_by_cause[LAUNCH_CAUSE_COUNT];
};

/* The role of a node in a plan. */
enum role {
    ROLE_NONE,    /* not part of the plan */
    ROLE_HEAD,    /* offers its resources, does not count against limits */
    ROLE_PENDING, /* will offer its type's resources */
    ROLE_RUNNING, /* offers the resources that Ray reports */
    ROLE_FULL,    /* running and full: it only counts, and need not be terminated */
    ROLE_OTHER,   /* departing: only counts against the limits */
    ROLE_COUNT,
};

struct mark {
    uint32_t type; /* index into `tallies` */
    int64_t price;
    uint8_t role; /* enum role */
    bool is_stale;
};

struct role_counts {
    int64_t counts[ROLE_COUNT];
};

/* Nodes that offer resources now or soon, without the head. */
static inline int64_t role_counts_offering(const struct role_counts *tally)
{
    return tally->counts[ROLE_PENDING] + tally->counts[ROLE_RUNNING] + tally->counts[ROLE_FULL];
}

/* State during cloud API errors: one call at a time, with increasing delays. */
struct trouble {
    uint32_t failures;
    int64_t retry_at;
    bool is_probing;
};

/* After "quota exceeded", fewer instances per call: the cloud may refuse a call as a whole. */
struct ceiling {
    int64_t most; /* per call */
    int64_t until;
};

struct core {
    const struct core_settings *settings;
    struct rng rng;
    int64_t now;
    enum goal goal;

    struct node *nodes;
    uint32_t node_end; /* records from here on were never used */
    uint32_t free_nodes;
    uint32_t used_nodes;
    struct mark *marks; /* by node */
    struct role_counts
        *tallies; /* by type, as of the last update; the last entry is for removed types */
    struct role_counts all;
    int64_t price;    /* per hour, of all nodes that count */
    int64_t unpriced; /* number of those whose price is unknown */
    uint32_t *slots;  /* index by instance: position + 1, or 0 */
    size_t slot_mask;

    struct launch launches[LAUNCH_CAPACITY];
    size_t launch_count;
    uint64_t last_launch; /* the highest launch number seen; the epoch is in the upper half */

    struct breaker *offering_breakers; /* lack of capacity: not tried */
    struct ceiling *ceilings;          /* by type and market: quotas are of a region */
    /* Instances were interrupted there: other offerings come first. */
    struct breaker *offering_warnings;
    struct breaker *type_breakers; /* setups failed */
    struct breaker *type_deaths;   /* nodes died early, or ended before they joined */
    bool *type_works;              /* Ray knows a node of this type, alive or dead */
    int64_t *type_turns;           /* outdated nodes that got their turn */
    /* Copy of the settings' types, with current prices and limits. */
    struct plan_type *types;
    struct trouble trouble;

    bool has_records;
    int64_t trusted_from; /* launching needs a listing requested after this */
    int64_t quiet_until;  /* no terminations before this time */
    uint64_t epoch;
    int64_t lease_until;
    bool is_fenced;
    enum head_state head;

    uint32_t listings;   /* received so far */
    int64_t listed_at;   /* when the last complete one was requested; -1 if none */
    int64_t ray_seen_at; /* when Ray's view was requested; -1 if never */
    struct ray_load load;
    struct shapes shapes; /* shapes of the load */

    /* These make a tick without changes cheap. */
    bool is_stirred;      /* an action may be needed */
    bool is_changed;      /* the input of a plan has changed */
    int64_t due_at;       /* next deadline or retry */
    int64_t rested_at;    /* when an idle node that was left out of plans takes part again */
    int64_t decide_at;    /* when a breaker closes or an idle node takes part again */
    int64_t idle_over_at; /* a view of Ray from then on finds a node over its idle timeout */
    enum permission launching;
    enum permission ending;

    struct change changes[CHANGE_CAPACITY];
    size_t change_count;
    struct action actions[ACTION_CAPACITY];
    size_t action_count;
    bool has_more;
};

/* nodes.c: the node table. */
struct node *nodes_add(struct core *core, uint64_t instance);        /* NULL if full */
struct node *nodes_find(const struct core *core, uint64_t instance); /* NULL if unknown */
void nodes_name(struct core *core, struct node *node, uint64_t instance);
static inline uint32_t nodes_position(const struct core *core, const struct node *node)
{
    return (uint32_t)(node - core->nodes);
}

/* Marks a change to the node that affects plans. */
static inline void node_touch(struct core *core, const struct node *node)
{
    core->marks[nodes_position(core, node)].is_stale = true;
    core->is_changed = true;
}

/* Enters a new state, and records its effects on plans. */
void node_move(struct core *core, struct node *node, enum node_state state);
void node_end(struct core *core, struct node *node, enum node_state state, struct reason reason);

void node_strike(struct core *core, const struct node *node);
void node_pause_type(struct core *core, const struct node *node); /* for the longest time */
void node_strike_death(struct core *core, const struct node *node);

/* node_counts.c */
void node_counts_update(struct core *core);
void node_counts_forget(struct core *core); /* prices have changed: all are counted again */
/* After a change of shapes: full nodes may not be full any more. */
void node_counts_update_shapes(struct core *core);

/* launches.c */
struct launch *launches_find(struct core *core, uint64_t number);
struct launch *launches_open(struct core *core, uint64_t number, uint32_t offering, int64_t count);
struct node *launches_bind(struct core *core, struct launch *launch, uint64_t instance);
uint64_t launches_next_number(struct core *core);
void launches_note_number(struct core *core, uint64_t number);
void launches_freeze_all(struct core *core);
void launches_settle_by_listing(struct core *core, int64_t asked_at);
void launches_apply_intent(struct core *core, const struct event *event);
void launches_apply_launched(struct core *core, const struct event *event);
void launches_apply_reply(struct core *core, const struct event *event);
void launches_restore(struct core *core, uint64_t sole_writer_epoch);
void launches_repeat(struct core *core);
int64_t launches_most(const struct core *core, uint32_t offering); /* per call */
/* Does such a call wait for its answer? The next one needs to know it. */
bool launches_is_probing(const struct core *core, uint32_t offering);

/* api_breaker.c */
bool api_breaker_blocks(const struct core *core);
void api_breaker_note_call(struct core *core);
void api_breaker_apply(struct core *core, enum outcome outcome);

/* permission.c: what is permitted now: acting at all, launching, terminating. */
enum permission permission_to_act(const struct core *core);
enum permission permission_to_launch(const struct core *core);
enum permission permission_to_terminate(const struct core *core);
enum permission permission_to_end_failed(const struct core *core, const struct node *node);
bool ray_view_is_fresh(const struct core *core);
bool cloud_view_is_fresh(const struct core *core);

/* outdated.c: instances that no longer match the file. */
void outdated_apply(struct core *core, struct node *node, const struct listed *listed);
void outdated_end(struct core *core);
/* Lets at most one node that waits leave. Call it after a plan, with the launches that are held. */
void outdated_give_turn(struct core *core, const struct hold *holds, size_t hold_count);
struct reason outdated_reason(const struct node *node);

/* apply_cloud.c, apply_ray.c */
void apply_listing(struct core *core, const struct listing *listing);
/* Completes a node that Ray reported before the cloud did. */
void apply_introduction(struct core *core, struct node *node, const struct listed *listed);
void apply_terminate_reply(struct core *core, const struct event *event);
void apply_setup_reply(struct core *core, const struct event *event);
void apply_notice(struct core *core, const struct event *event);
void apply_ray_node(struct core *core, const struct ray_node *ray);
/* Handles a drain that we did not request: by the watcher on the node after a notice, or by an
 * earlier run of ours. */
void apply_drain_of_others(struct core *core, struct node *node);
void apply_drain_reply(struct core *core, const struct event *event);

/* Instances are being interrupted there: prefers other offerings, if there are any. */
void offering_warn(struct core *core, uint32_t offering);

/* Recomputes the state of a node after a decision that another controller may have overruled. */
void reevaluate(struct core *core, struct node *node);

/* core.c; NULL if the answer is full */
struct action *actions_add(struct core *core, enum action_kind kind, struct reason reason);

/* deadlines.c: deadlines, and the actions that states require. */
void deadlines_expire(struct core *core);
void deadlines_act(struct core *core);

/* evictions.c: pending work, and work on departing nodes. */
struct displaced {
    const struct demand *demands; /* first those of the load */
    size_t count;
    bool is_any; /* there is work on departing nodes */
};
void evictions_gather(const struct core *core, struct arena *scratch, struct displaced *ret_all);

/* By type, the number of planned launches that are due to displaced work only. */
int64_t *evictions_launches(const struct core *core, const struct plan_input *input,
                            const struct plan *plan, struct arena *scratch);

/* The nodes that a launch of this type replaces: the first one, and their number. */
struct departing {
    uint64_t first;
    int64_t count;
};
struct departing evictions_departing(const struct core *core, uint32_t type);
void evictions_mark_replaced(struct core *core); /* called after launches for all of them */

/* decide.c */
/* The first offering of a type that may be tried now, or the offering count if none. */
uint32_t decide_open_offering(const struct core *core, uint32_t type);
void decide(struct core *core, struct arena *scratch, struct core_answer *answer);
bool decide_is_due(const struct core *core);
