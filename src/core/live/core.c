/* core.c: the door. Hands each event to the file that understands it; ticks decide. */
#include "core/core.h"

#include "core/live/state.h"

#include <string.h>

enum { SECOND = 1000, MINUTE = 60 * SECOND };

void core_times_default(struct core_times *times)
{
    *times = (struct core_times){.horizon = 2 * MINUTE,
                                 .call_timeout = 1 * MINUTE,
                                 .token_life = 25 * MINUTE,
                                 .cloud_fresh = 2 * MINUTE,
                                 .ray_fresh = 30 * SECOND,
                                 .quiet_start = 1 * MINUTE,
                                 .settle = 1 * MINUTE,
                                 .drain_retry = 10 * SECOND,
                                 .drain_grace = 5 * MINUTE,
                                 .terminate_retry = 30 * SECOND,
                                 .retry_first = 1 * SECOND,
                                 .retry_most = 1 * MINUTE,
                                 .cool_first = 3 * MINUTE,
                                 .cool_most = 30 * MINUTE,
                                 .cool_quota = 10 * MINUTE,
                                 .join = 15 * MINUTE,
                                 .deadlines = {[NODE_LAUNCHING] = 10 * MINUTE,
                                               [NODE_BOOTING] = 15 * MINUTE,
                                               [NODE_SETTING_UP] = 30 * MINUTE}};
}

static void add_head(struct core *core)
{
    if (core->settings->head_instance == INSTANCE_NONE) {
        return;
    }
    struct node *head = nodes_add(core, core->settings->head_instance);
    node_move(core, head, NODE_READY);
    head->is_head = true;
    node_touch(core, head);
}

struct core *core_new(const struct core_settings *settings, struct arena *arena)
{
    struct core *core = ARENA_NEW(arena, struct core);
    size_t slots = 16;
    while (slots < settings->node_capacity + settings->node_capacity / 4) {
        slots *= 2;
    }
    core->settings = settings;
    core->dice.state = settings->seed;
    core->nodes = ARENA_ARRAY(arena, settings->node_capacity, struct node);
    core->marks = ARENA_ARRAY(arena, settings->node_capacity, struct mark);
    core->tallies = ARENA_ARRAY(arena, settings->type_count, struct tally);
    core->free_nodes = NO_NODE;
    core->slots = ARENA_ARRAY(arena, slots, uint32_t);
    core->slot_mask = slots - 1;
    core->offering_breakers = ARENA_ARRAY(arena, settings->offering_count, struct breaker);
    core->offering_warnings = ARENA_ARRAY(arena, settings->offering_count, struct breaker);
    core->type_breakers = ARENA_ARRAY(arena, settings->type_count, struct breaker);
    core->type_deaths = ARENA_ARRAY(arena, settings->type_count, struct breaker);
    core->types = ARENA_ARRAY(arena, settings->type_count, struct plan_type);
    memcpy(core->types, settings->types, settings->type_count * sizeof(*core->types));
    core->listed_at = -1;
    core->rested_at = INT64_MAX;
    core->idle_over_at = INT64_MAX;
    core->ray_seen_at = -1;
    core->launching = STANCE_NOT_STARTED;
    core->ending = STANCE_NOT_STARTED;
    add_head(core);
    return core;
}

/* Whatever others have launched until then is in a listing that is asked for so much later. */
static void trust_listings_after(struct core *core, int64_t theirs)
{
    const struct core_times *times = &core->settings->times;
    int64_t from = theirs + times->call_timeout + times->horizon;
    if (from > core->trusted_from && !BUG(core, trusts_first_listing)) {
        core->trusted_from = from;
    }
}

/*
 * Somebody else may have acted since we last knew everything. Their calls may be under way for a
 * call's timeout and hidden for the horizon; ours must not be repeated, because what they stood for
 * may have been launched by the other meanwhile. Nodes that we had given up may work for them.
 */
static void take_over(struct core *core)
{
    const struct core_times *times = &core->settings->times;
    trust_listings_after(core, core->now);
    core->quiet_until = core->now + times->quiet_start;
    if (!BUG(core, repeats_after_take_over)) {
        launches_freeze_all(core);
    }
    for (uint32_t i = 0; i < core->node_end; i++) {
        if (core->nodes[i].state != NODE_GONE && !core->nodes[i].is_head) {
            hear_again(core, &core->nodes[i]);
        }
    }
}

static void hear_lease(struct core *core, const struct event *event)
{
    uint64_t epoch = event->lease.epoch;
    core->lease_until = event->lease.until;
    if (event->lease.until == 0 || epoch == core->epoch) {
        return;
    }
    if (core->epoch != 0 && epoch != core->epoch + 1) {
        take_over(core);
    }
    core->epoch = epoch;
    core->is_fenced = false;
    core->is_changed = true;
}

static void hear_records_end(struct core *core, const struct event *event)
{
    uint64_t reign = event->records.reign;
    launches_restore(core, reign);
    core->has_records = true;
    core->trusted_from = core->now;
    core->quiet_until = core->now + core->settings->times.quiet_start;
    core->is_changed = true;
    if (reign == core->epoch && core->epoch > 1) {
        take_over(core);
    } else if (reign > 1) {
        trust_listings_after(core, event->records.since); /* who began it may have died waiting */
    }
}

/* While Ray was out of sight nobody could join; those who wait get their whole time again. */
static void hear_ray_seen(struct core *core, const struct event *event)
{
    if (!sight_of_ray(core)) {
        for (uint32_t i = 0; i < core->node_end; i++) {
            struct node *node = &core->nodes[i];
            if (node->state == NODE_SETTING_UP && node->is_set_up) {
                node->since = core->now;
            }
        }
        core->is_changed = true;
        core->is_stirred = true;
    }
    core->ray_seen_at = event->asked_at;
    core->is_changed |= core->ray_seen_at >= core->idle_over_at;
}

/*
 * A GCS that was started again lists dead nodes as alive until its health checks have run, or knows
 * nobody yet: what it says is no reason to end anything for a while.
 */
static void hear_ray_anew(struct core *core)
{
    int64_t until = core->now + core->settings->times.quiet_start;
    core->quiet_until = until > core->quiet_until ? until : core->quiet_until;
    core->is_changed = true;
}

/* The counts change all the time, the shapes rarely: what is full stays full. */
static void hear_load(struct core *core, const struct ray_load *load)
{
    struct shapes shapes;
    shapes_gather(&shapes, load->demands, load->demand_count, load->gangs, load->gang_count);
    if (!shapes_same(&shapes, &core->shapes)) {
        core->shapes = shapes;
        census_of_shapes(core);
    }
    core->load = *load;
    core->is_changed = true;
}

static void end_everything(struct core *core)
{
    launches_freeze_all(core);
    if (sight_ending(core) != STANCE_ACTING) {
        return;
    }
    for (uint32_t i = 0; i < core->node_end; i++) {
        struct node *node = &core->nodes[i];
        if (!node->is_head && node->instance != INSTANCE_NONE && node->state != NODE_STRANGER &&
            node->state != NODE_TERMINATING) {
            node_end(core, node, NODE_TERMINATING, (struct reason){.kind = REASON_DOWN});
        }
    }
}

static void tick(struct core *core, struct arena *scratch, struct core_answer *answer)
{
    bool is_down = core->goal == GOAL_DOWN;
    if (core->is_stirred || core->now >= core->due_at) {
        core->due_at = INT64_MAX;
        core->is_stirred = false;
        due_expire(core);
        due_act(core);
    }
    if (is_down) {
        end_everything(core);
    } else if (decide_is_due(core)) {
        decide(core, scratch, answer);
    }
    if (core->is_stirred) {
        core->is_stirred = false;
        due_act(core);
    }
}

static void hear(struct core *core, const struct event *event)
{
    switch (event->kind) {
    case EVENT_GOAL:
        core->goal = event->goal;
        core->is_changed = true;
        break;
    case EVENT_LEASE:
        hear_lease(core, event);
        break;
    case EVENT_INTENT:
        launches_hear_intent(core, event);
        break;
    case EVENT_LAUNCHED:
        launches_hear_launched(core, event);
        break;
    case EVENT_LAUNCH_REPLY:
        launches_hear_reply(core, event);
        break;
    case EVENT_RECORDS_END:
        hear_records_end(core, event);
        break;
    case EVENT_LISTING:
        hear_listing(core, &event->listing);
        break;
    case EVENT_TERMINATE_REPLY:
        hear_terminate_reply(core, event);
        break;
    case EVENT_SETUP_REPLY:
        hear_setup_reply(core, event);
        break;
    case EVENT_DRAIN_REPLY:
        hear_drain_reply(core, event);
        break;
    case EVENT_NOTICE:
        hear_notice(core, event);
        break;
    case EVENT_RAY_NODE:
        hear_ray_node(core, &event->ray_node);
        break;
    case EVENT_RAY_LOAD:
        hear_load(core, &event->ray_load);
        break;
    case EVENT_RAY_SEEN:
        hear_ray_seen(core, event);
        break;
    case EVENT_RAY_ANEW:
        hear_ray_anew(core);
        break;
    case EVENT_START:
    case EVENT_TICK:
    case EVENT_KIND_COUNT:
        break;
    }
}

void core_step(struct core *core, const struct event *event, struct arena *scratch,
               struct core_answer *ret_answer)
{
    *ret_answer = (struct core_answer){0};
    core->now = event->at;
    core->action_count = 0;
    core->change_count = 0;
    core->has_more = false;
    bool was_changed = core->is_changed;
    core->is_changed = false;
    hear(core, event);
    ret_answer->is_news = core->is_changed;
    core->is_changed |= was_changed;
    if (event->kind == EVENT_TICK) {
        tick(core, scratch, ret_answer);
    }
    ret_answer->actions = core->actions;
    ret_answer->action_count = core->action_count;
    ret_answer->changes = core->changes;
    ret_answer->change_count = core->change_count;
    ret_answer->has_more = core->has_more;
    ret_answer->wake_at = core->due_at < core->decide_at ? core->due_at : core->decide_at;
    ret_answer->launching = core->launching;
    ret_answer->ending = core->ending;
}

size_t core_node_count(const struct core *core)
{
    return core->node_end;
}

const struct node *core_node_at(const struct core *core, size_t position)
{
    return &core->nodes[position];
}

const struct node *core_find(const struct core *core, uint64_t instance)
{
    return nodes_find(core, instance);
}
