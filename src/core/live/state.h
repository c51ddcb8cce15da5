/*
 * state.h: what the core remembers between two events. Private to core/live.
 *
 * Everything is an array of fixed size made once by core_new(). Nodes lie in a table with a list of
 * free records and an index by instance; launches that are not settled lie in a short array.
 */
#pragma once

#include "core/bug.h"
#include "core/core.h"
#include "core/plan/shapes.h"

enum {
    LAUNCH_CAPACITY = 512,  /* launches whose outcome is not known, at a time */
    ACTION_CAPACITY = 1024, /* in one answer; the rest comes with the next */
    CHANGE_CAPACITY = 1024, /* told in one answer; further ones happen without being told */
};

#define NO_NODE UINT32_MAX

/* A launch from the first call until every machine of it is known to exist or not to. */
struct launch {
    uint64_t number;
    uint32_t offering;
    uint32_t requested; /* list of its records that have no instance yet */
    int64_t count;
    int64_t first_at;
    int64_t sent_at;      /* the last call, as far as we know */
    int64_t unsure_until; /* an earlier call without an answer may take effect until then */
    int64_t retry_at;     /* not to be asked for again before */
    bool is_asked;        /* a call is under way */
    bool is_frozen;       /* not to be asked for again: a listing will settle it */
    int64_t count_by_cause[LAUNCH_CAUSE_COUNT];
};

/* The part a node plays in a plan. */
enum role {
    ROLE_NONE,    /* none */
    ROLE_HEAD,    /* offers what it has and counts against nothing */
    ROLE_PENDING, /* will offer what its type has */
    ROLE_RUNNING, /* offers what Ray says it has */
    ROLE_FULL,    /* the same, and only counts: nothing fits on it and it need not end */
    ROLE_OTHER,   /* on its way out: only counts against the limits */
    ROLE_COUNT,
};

struct mark {
    uint32_t offering;
    uint8_t role; /* enum role */
    bool is_stale;
};

struct tally {
    int64_t counts[ROLE_COUNT];
};

/* Those that offer something now or soon, the head excepted. */
static inline int64_t tally_offering(const struct tally *tally)
{
    return tally->counts[ROLE_PENDING] + tally->counts[ROLE_RUNNING] + tally->counts[ROLE_FULL];
}

/* The cloud answers badly: one call at a time, further and further apart. */
struct trouble {
    uint32_t failures;
    int64_t retry_at;
    bool is_probing;
};

struct core {
    const struct core_settings *settings;
    struct dice dice;
    int64_t now;
    enum goal goal;

    struct node *nodes;
    uint32_t node_end; /* records beyond were never used */
    uint32_t free_nodes;
    uint32_t used_nodes;
    struct mark *marks;    /* by node */
    struct tally *tallies; /* by type, as of the last census */
    struct tally all;
    int64_t price;   /* per hour, of everything that counts */
    uint32_t *slots; /* index by instance: position + 1, or 0 */
    size_t slot_mask;

    struct launch launches[LAUNCH_CAPACITY];
    size_t launch_count;
    uint64_t last_launch; /* the highest number heard of: epoch in the upper half */

    struct breaker *offering_breakers; /* refused: not to be asked */
    struct breaker *offering_warnings; /* machines were taken away there: others come first */
    struct breaker *type_breakers;     /* set-ups fail */
    struct breaker *type_deaths;       /* nodes die soon after they have joined */
    struct plan_type *types;           /* the settings', with prices and limits of the moment */
    struct trouble trouble;

    bool has_records;
    int64_t trusted_from; /* a listing asked for before says too little to launch */
    int64_t quiet_until;  /* nothing ends before */
    uint64_t epoch;
    int64_t lease_until;
    bool is_fenced;

    uint32_t listings;   /* heard so far */
    int64_t listed_at;   /* when the last complete one was asked for; -1: none */
    int64_t ray_seen_at; /* when Ray's view was asked for; -1: never */
    struct ray_load load;
    struct shapes shapes; /* of the load */

    /* So that a tick on which nothing has changed costs nothing. */
    bool is_stirred;      /* something happened that may need an action */
    bool is_changed;      /* something happened that a plan would look at */
    int64_t due_at;       /* a deadline or a retry */
    int64_t rested_at;    /* an idle node that was left out of plans takes part again */
    int64_t decide_at;    /* something cools down or has rested */
    int64_t idle_over_at; /* a look at Ray from then on finds a node idle for too long */
    enum stance launching;
    enum stance ending;

    struct change changes[CHANGE_CAPACITY];
    size_t change_count;
    struct action actions[ACTION_CAPACITY];
    size_t action_count;
    bool has_more;
};

/* nodes.c: the table. */
struct node *nodes_add(struct core *core, uint64_t instance); /* NULL: full */
void nodes_free(struct core *core, struct node *node);
struct node *nodes_find(const struct core *core, uint64_t instance); /* NULL: unknown */
void nodes_name(struct core *core, struct node *node, uint64_t instance);
static inline uint32_t nodes_position(const struct core *core, const struct node *node)
{
    return (uint32_t)(node - core->nodes);
}

/* Something about it has changed that a plan would look at. */
static inline void node_touch(struct core *core, const struct node *node)
{
    core->marks[nodes_position(core, node)].is_stale = true;
    core->is_changed = true;
}

/* A step of its life; what follows from it for plans is noted. */
void node_move(struct core *core, struct node *node, enum node_state state);
void node_end(struct core *core, struct node *node, enum node_state state, struct reason reason);
static inline uint32_t node_type(const struct core *core, const struct node *node)
{
    return node->is_head ? core->settings->head_type
                         : core->settings->offerings[node->offering].type;
}

static inline int64_t idle_timeout_of(const struct core *core, uint32_t type)
{
    int64_t own = core->types[type].idle_timeout_ms;
    return own != PLAN_NO_LIMIT ? own : core->settings->idle_timeout;
}

/* Until then it does not count as idle: it has just joined and waits for its first work, or has
 * just refused to go. */
static inline int64_t idle_counts_from(const struct core *core, const struct node *node)
{
    int64_t settled_at = node->has_worked ? 0 : node->joined_at + core->settings->times.settle;
    return settled_at > node->until ? settled_at : node->until;
}

/* Its machine failed: three in a row, and its type is left alone for a while. */
void node_strike(struct core *core, const struct node *node);
void node_strike_death(struct core *core, const struct node *node);
static inline bool type_is_paused(const struct core *core, uint32_t type)
{
    return breaker_is_open(&core->type_breakers[type], core->now) ||
           breaker_is_open(&core->type_deaths[type], core->now);
}

/* census.c */
void census_take(struct core *core);
void census_of_shapes(struct core *core); /* they have changed: who was full may not be */

/* launches.c */
struct launch *launches_find(struct core *core, uint64_t number);
struct launch *launches_open(struct core *core, uint64_t number, uint32_t offering, int64_t count);
struct node *launches_bind(struct core *core, struct launch *launch, uint64_t instance);
uint64_t launches_next_number(struct core *core);
void launches_note_number(struct core *core, uint64_t number);
void launches_close(struct core *core, struct launch *launch);
void launches_freeze_all(struct core *core);
void launches_settle_by_listing(struct core *core, int64_t asked_at);
void launches_hear_intent(struct core *core, const struct event *event);
void launches_hear_launched(struct core *core, const struct event *event);
void launches_hear_reply(struct core *core, const struct event *event);
void launches_restore(struct core *core, uint64_t reign);
void launches_repeat(struct core *core);

/* trouble.c */
bool trouble_blocks(const struct core *core);
void trouble_note_call(struct core *core);
void trouble_hear(struct core *core, enum outcome outcome);

/* sight.c: what may be done now; acting at all, then launching and ending. */
enum stance sight_acting(const struct core *core);
enum stance sight_launching(const struct core *core);
enum stance sight_ending(const struct core *core);
bool sight_of_ray(const struct core *core);
bool sight_of_cloud(const struct core *core);

/* hear_cloud.c, hear_ray.c */
void hear_listing(struct core *core, const struct listing *listing);
void hear_terminate_reply(struct core *core, const struct event *event);
void hear_setup_reply(struct core *core, const struct event *event);
void hear_notice(struct core *core, const struct event *event);
void hear_ray_node(struct core *core, const struct ray_node *ray);
/* Somebody else drains it: the watcher on the node has seen a notice, or an earlier run of ours. */
void hear_drain_of_others(struct core *core, struct node *node);
void hear_drain_reply(struct core *core, const struct event *event);

/* The cloud takes machines away there: the next ones come from elsewhere, if there is elsewhere. */
void offering_warn(struct core *core, uint32_t offering);

/* Takes back a verdict that somebody else may have overruled: what is it now? */
void hear_again(struct core *core, struct node *node);

/* actions.c; NULL: the answer is full */
struct action *actions_add(struct core *core, enum action_kind kind, struct reason reason);

/* due.c: deadlines, and the actions that states call for. */
void due_expire(struct core *core);
void due_act(struct core *core);

/* displaced.c: what waits, and what runs where it cannot stay. */
struct displaced {
    const struct demand *demands; /* the load's first */
    size_t count;
    bool is_any; /* something runs where it cannot stay */
};
void displaced_gather(const struct core *core, struct arena *scratch, struct displaced *ret_all);

/* By type, how many of the plan's launches would not be made without what is displaced. */
int64_t *displaced_launches(const struct core *core, const struct plan_input *input,
                            const struct plan *plan, struct arena *scratch);

/* From whom a launch of this type takes over: the first, and how many they are. */
struct leavers {
    uint64_t first;
    int64_t count;
};
struct leavers displaced_leavers(const struct core *core, uint32_t type);
void displaced_relieve(struct core *core); /* launches were made for all of them */

/* decide.c */
void decide(struct core *core, struct arena *scratch, struct core_answer *answer);
bool decide_is_due(const struct core *core);
