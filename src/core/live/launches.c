/*
 * launches.c: tracks launches until it is known which instances exist.
 *
 * The central rule: a call without a reply is repeated with the same number until the reply is
 * definite; when repeating is no longer safe, a complete listing that was requested late enough
 * decides.
 */
#include "base/require.h"
#include "core/live/core_internal.h"
#include "core/live/node_facts.h"

#include <string.h>

struct launch *launches_find(struct core *core, uint64_t number)
{
    for (size_t i = 0; i < core->launch_count; i++) {
        if (core->launches[i].number == number) {
            return &core->launches[i];
        }
    }
    return NULL;
}

void launches_note_number(struct core *core, uint64_t number)
{
    core->last_launch = number > core->last_launch ? number : core->last_launch;
}

/* Numbers of different epochs differ, so controllers that do not know of each other never use one
 * token for different requests. */
uint64_t launches_next_number(struct core *core)
{
    uint64_t first = core->epoch << 32;
    core->last_launch = (core->last_launch > first ? core->last_launch : first) + 1;
    require(core->last_launch > first, "the launch number belongs to this epoch or a later one");
    return core->last_launch;
}

struct launch *launches_open(struct core *core, uint64_t number, uint32_t offering, int64_t count)
{
    require(core->launch_count < LAUNCH_CAPACITY, "there is room for a launch");
    require(!launches_find(core, number), "the number of a launch is unique");
    struct launch *launch = &core->launches[core->launch_count++];
    launches_note_number(core, number);
    *launch = (struct launch){.number = number,
                              .offering = offering,
                              .requested = NO_NODE,
                              .count = count,
                              .is_frozen = offering >= core->settings->offering_count,
                              .is_outdated = offering >= core->settings->offering_count,
                              .first_at = core->now,
                              .sent_at = core->now};
    for (int64_t i = 0; i < count; i++) {
        struct node *node = nodes_add(core, INSTANCE_NONE);
        if (!node) {
            break; /* the table is too small for the records */
        }
        node->launch = number;
        node->offering = offering;
        node->is_outdated = launch->is_outdated;
        node->price = PRICE_UNKNOWN;
        node_move(core, node, NODE_REQUESTED);
        node->next = launch->requested;
        launch->requested = nodes_position(core, node);
    }
    return launch;
}

struct node *launches_bind(struct core *core, struct launch *launch, uint64_t instance)
{
    if (launch->requested == NO_NODE) {
        return NULL;
    }
    struct node *node = &core->nodes[launch->requested];
    launch->requested = node->next;
    node->next = NO_NODE;
    require(node->state == NODE_REQUESTED, "a node without an instance is in state requested");
    require(node->instance == INSTANCE_NONE, "a requested node has no instance yet");
    require(node->launch == launch->number, "the node belongs to the launch");
    nodes_name(core, node, instance);
    node_move(core, node, NODE_LAUNCHING);
    node->created_at = core->now;
    return node;
}

/* Nodes that are still without an instance stand for instances that do not exist. */
static void launches_close(struct core *core, struct launch *launch)
{
    require(core->launch_count > 0, "an open launch is in the table");
    require(launch >= core->launches && launch < core->launches + core->launch_count,
            "the launch is in the table");
    while (launch->requested != NO_NODE) {
        struct node *node = &core->nodes[launch->requested];
        launch->requested = node->next;
        require(node->state == NODE_REQUESTED, "a node without an instance is in state requested");
        node_move(core, node, NODE_GONE);
    }
    *launch = core->launches[--core->launch_count];
}

void launches_freeze_all(struct core *core)
{
    for (size_t i = 0; i < core->launch_count; i++) {
        core->launches[i].is_frozen = true;
    }
}

/* At the end of the records: it is not certain which calls were sent, and when. */
void launches_restore(struct core *core, uint64_t sole_writer_epoch)
{
    for (size_t i = 0; i < core->launch_count; i++) {
        struct launch *launch = &core->launches[i];
        launch->is_asked = false;
        launch->sent_at = core->now;
        launch->unsure_until = core->now + core->settings->times.call_timeout;
        launch->is_frozen |= launch->number >> 32 < sole_writer_epoch;
    }
}

void launches_settle_by_listing(struct core *core, int64_t asked_at)
{
    const struct core_times *times = &core->settings->times;
    for (size_t i = core->launch_count; i > 0; i--) {
        struct launch *launch = &core->launches[i - 1];
        int64_t shows_by = launch->sent_at + times->call_timeout + times->horizon;
        if (launch->is_frozen && !launch->is_asked && asked_at >= shows_by) {
            launches_close(core, launch);
        }
    }
}

/* A listing or Ray may have been faster. A listing of the past may have shown an instance that the
 * launch started again: as the node of this launch it outlives other listings of the past. */
void launches_apply_launched(struct core *core, const struct event *event)
{
    struct node *node = nodes_find(core, event->launched.instance);
    struct launch *launch = launches_find(core, event->launched.launch);
    if (!launch) {
        return;
    }
    if (!node) {
        launches_bind(core, launch, event->launched.instance);
    } else if (node->state == NODE_UNLISTED) {
        apply_introduction(core, node,
                           &(struct listed){.launch = launch->number,
                                            .offering = launch->offering,
                                            .is_outdated = launch->is_outdated,
                                            .price = PRICE_UNKNOWN});
    } else if (node->launch != launch->number) {
        node->launch = launch->number;
        node->created_at = core->now;
    }
}

/* A refusal that may be due to a policy or a profile that is not in force yet. */
static bool is_early(const struct core *core, enum outcome outcome)
{
    const struct core_settings *settings = core->settings;
    return (outcome == OUTCOME_DENIED || outcome == OUTCOME_INVALID) && settings->policy_at > 0 &&
           core->now < settings->policy_at + settings->times.policy_lag;
}

static struct ceiling *ceiling_of(const struct core *core, uint32_t offering)
{
    const struct offering *it = &core->settings->offerings[offering];
    return &core->ceilings[it->type * MARKET_COUNT + it->market];
}

int64_t launches_most(const struct core *core, uint32_t offering)
{
    const struct ceiling *ceiling = ceiling_of(core, offering);
    return core->now < ceiling->until && ceiling->most < core->settings->max_per_call
               ? ceiling->most
               : core->settings->max_per_call;
}

bool launches_is_probing(const struct core *core, uint32_t offering)
{
    const struct ceiling *ceiling = ceiling_of(core, offering);
    for (size_t i = 0; i < core->launch_count && core->now < ceiling->until; i++) {
        const struct launch *launch = &core->launches[i];
        if (launch->is_asked && !launch->is_outdated &&
            ceiling_of(core, launch->offering) == ceiling) {
            return true;
        }
    }
    return false;
}

/* Half as many per call from now on; false if it was only one. */
static bool launches_halve(struct core *core, const struct launch *launch)
{
    struct ceiling *ceiling = ceiling_of(core, launch->offering);
    int64_t most = launches_most(core, launch->offering);
    int64_t half = launch->count > 1 ? launch->count / 2 : 1;
    ceiling->most = half < most ? half : most;
    ceiling->until = core->now + core->settings->times.cool_quota;
    require(ceiling->most >= 1, "a call may ask for one instance");
    return launch->count > 1;
}

/* Refused: the offering is not tried for a while, except with fewer instances if that may help. */
static void cool(struct core *core, const struct launch *launch, enum outcome outcome)
{
    const struct core_times *times = &core->settings->times;
    if (launch->offering >= core->settings->offering_count ||
        (outcome == OUTCOME_QUOTA && launches_halve(core, launch))) {
        return;
    }
    struct breaker *breaker = &core->offering_breakers[launch->offering];
    if (is_early(core, outcome)) {
        breaker_refuse(breaker, core->now, times->policy_first, times->policy_most, &core->rng);
        breaker->is_early = true;
        return;
    }
    if (breaker->is_early) {
        breaker_succeed(breaker); /* those refusals do not make this delay longer */
    }
    breaker_refuse(breaker, core->now,
                   outcome == OUTCOME_CAPACITY ? times->cool_first : times->cool_quota,
                   times->cool_most, &core->rng);
}

static void launches_finish(struct core *core, struct launch *launch)
{
    require(launch->is_outdated || launch->offering < core->settings->offering_count,
            "a current launch refers to an offering in the current file");
    if (!launch->is_outdated) {
        struct breaker *breaker = &core->offering_breakers[launch->offering];
        breaker_succeed(breaker);
        if (launch->requested != NO_NODE) {
            breaker_refuse(breaker, core->now, core->settings->times.cool_first,
                           core->settings->times.cool_most, &core->rng);
        }
    }
    launches_close(core, launch);
}

static void launches_do_apply_reply(struct core *core, struct launch *launch, enum outcome outcome,
                                    int64_t sent_at)
{
    bool is_unsure = core->now < launch->unsure_until;
    launch->is_asked = false;
    launch->sent_at = sent_at > launch->sent_at ? sent_at : launch->sent_at;
    core->is_stirred = true;
    switch (outcome) {
    case OUTCOME_DONE:
        launches_finish(core, launch);
        break;
    case OUTCOME_UNKNOWN:
    case OUTCOME_NOT_FOUND: /* not a valid reply to a launch: conclude nothing */
        launch->unsure_until = launch->sent_at + core->settings->times.call_timeout;
        break;
    case OUTCOME_THROTTLED:
    case OUTCOME_NO_LEASE: /* nothing was sent; the lease decides when to continue */
        break;
    case OUTCOME_MISMATCH:
        core->is_fenced = true;
        launch->is_frozen = true;
        break;
    case OUTCOME_CAPACITY:
    case OUTCOME_QUOTA:
    case OUTCOME_DENIED:
    case OUTCOME_INVALID:
    case OUTCOME_COUNT:
        cool(core, launch, outcome);
        if (is_unsure) {
            launch->retry_at = launch->unsure_until; /* an older call may still take effect */
        } else {
            launches_close(core, launch);
        }
        break;
    }
}

void launches_apply_intent(struct core *core, const struct event *event)
{
    if (!launches_find(core, event->intent.launch) && core->launch_count < LAUNCH_CAPACITY) {
        launches_open(core, event->intent.launch, event->intent.offering, event->intent.count);
    }
}

void launches_apply_reply(struct core *core, const struct event *event)
{
    require(event->launch_reply.outcome < OUTCOME_COUNT, "the outcome of the launch is valid");
    struct launch *launch = launches_find(core, event->launch_reply.launch);
    /* An early denial is not a failure of the API: the offering has its own short delay. */
    bool is_quick = is_early(core, event->launch_reply.outcome);
    api_breaker_apply(core, is_quick ? OUTCOME_INVALID : event->launch_reply.outcome);
    if (launch) {
        launches_do_apply_reply(core, launch, event->launch_reply.outcome,
                                event->launch_reply.sent_at);
    }
}

/* Are there more nodes than allowed if the launch takes effect, in total or of its type? */
static bool is_too_many(const struct core *core, const struct launch *launch)
{
    const struct core_settings *settings = core->settings;
    uint32_t type = launch->offering < settings->offering_count
                        ? settings->offerings[launch->offering].type
                        : UINT32_MAX;
    int64_t most = type != UINT32_MAX ? settings->types[type].max_nodes : PLAN_NO_LIMIT;
    int64_t count = 0;
    int64_t like_it = 0;
    for (uint32_t i = 0; i < core->node_end; i++) {
        bool counts = node_counts(&core->nodes[i]);
        count += counts;
        like_it += counts && node_type(core, &core->nodes[i]) == type;
    }
    return count > settings->max_workers || (most != PLAN_NO_LIMIT && like_it > most);
}

static void repeat(struct core *core, struct launch *launch)
{
    require(!launch->is_asked, "a launch has at most one call in flight");
    require(!launch->is_frozen, "a frozen launch is not repeated");
    require(core->now >= launch->retry_at, "a launch is not repeated before its time");
    struct reason reason = {.kind = REASON_REPEATED};
    struct action *action = actions_add(core, ACTION_LAUNCH, reason);
    if (!action) {
        return;
    }
    action->launch = launch->number;
    action->offering = launch->offering;
    action->count = launch->count;
    memcpy(action->count_by_cause, launch->count_by_cause, sizeof(action->count_by_cause));
    launch->is_asked = true;
    launch->sent_at = core->now;
    api_breaker_note_call(core);
}

/* Repeats launches without a reply, as long as that is safe. */
void launches_repeat(struct core *core)
{
    if (permission_to_launch(core) != PERMIT_OK) {
        return;
    }
    for (size_t i = 0; i < core->launch_count; i++) {
        struct launch *launch = &core->launches[i];
        if (launch->is_asked || launch->is_frozen || core->now < launch->retry_at) {
            continue;
        }
        bool is_forgotten = core->now - launch->first_at > core->settings->times.token_life;
        if (is_forgotten || is_too_many(core, launch)) {
            launch->is_frozen = true;
        } else if (!api_breaker_blocks(core)) {
            repeat(core, launch);
        }
    }
}
