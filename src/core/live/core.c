/* core.c: dispatches each event to its handler; ticks decide. */
#include "core/core.h"
#include "base/require.h"

#include "core/live/core_internal.h"

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
                                 .policy_lag = 2 * MINUTE,
                                 .policy_first = 5 * SECOND,
                                 .policy_most = 20 * SECOND,
                                 .join = 15 * MINUTE,
                                 .deadlines = {[NODE_LAUNCHING] = 10 * MINUTE,
                                               [NODE_BOOTING] = 15 * MINUTE,
                                               [NODE_SETTING_UP] = 30 * MINUTE}};
}

static void core_add_head(struct core *core)
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
    require(settings->node_capacity < NO_NODE, "positions of nodes fit into 32 bits");
    require(settings->offering_count < OFFERING_GONE, "offerings have numbers below OFFERING_GONE");
    require(settings->head_instance == INSTANCE_NONE || settings->head_type < settings->type_count,
            "the head has a type of the file");
    require(settings->head_instance == INSTANCE_NONE || settings->node_capacity > 0,
            "the table has room for the head");
    for (size_t i = 0; i < settings->offering_count; i++) {
        require(settings->offerings[i].type < settings->type_count,
                "an offering has a type of the file");
    }
    struct core *core = ARENA_NEW(arena, struct core);
    size_t slots = 16;
    while (slots < settings->node_capacity + settings->node_capacity / 4) {
        slots *= 2;
    }
    require(slots > settings->node_capacity, "the index always has a free slot");
    require((slots & (slots - 1)) == 0, "the size of the index is a power of two");
    core->settings = settings;
    core->rng.state = settings->seed;
    core->nodes = ARENA_ARRAY(arena, settings->node_capacity, struct node);
    core->marks = ARENA_ARRAY(arena, settings->node_capacity, struct mark);
    core->tallies = ARENA_ARRAY(arena, settings->type_count + 1, struct role_counts);
    core->free_nodes = NO_NODE;
    core->slots = ARENA_ARRAY(arena, slots, uint32_t);
    core->slot_mask = slots - 1;
    core->offering_breakers = ARENA_ARRAY(arena, settings->offering_count, struct breaker);
    core->ceilings = ARENA_ARRAY(arena, settings->type_count * MARKET_COUNT, struct ceiling);
    core->offering_warnings = ARENA_ARRAY(arena, settings->offering_count, struct breaker);
    core->type_breakers = ARENA_ARRAY(arena, settings->type_count + 1, struct breaker);
    core->type_deaths = ARENA_ARRAY(arena, settings->type_count + 1, struct breaker);
    core->type_works = ARENA_ARRAY(arena, settings->type_count + 1, bool);
    core->type_turns = ARENA_ARRAY(arena, settings->type_count + 1, int64_t);
    core->types = ARENA_ARRAY(arena, settings->type_count + 1, struct plan_type);
    core->types[settings->type_count] = (struct plan_type){.is_gone = true,
                                                           .idle_timeout_ms = PLAN_NO_LIMIT};
    memcpy(core->types, settings->types, settings->type_count * sizeof(*core->types));
    core->listed_at = -1;
    core->rested_at = INT64_MAX;
    core->idle_over_at = INT64_MAX;
    core->ray_seen_at = -1;
    core->launching = PERMIT_NOT_STARTED;
    core->ending = PERMIT_NOT_STARTED;
    core_add_head(core);
    return core;
}

/* Instances that others launched until `theirs` are in every listing requested after the call
 * timeout and the horizon. */
static void trust_listings_after(struct core *core, int64_t theirs)
{
    const struct core_times *times = &core->settings->times;
    int64_t from = theirs + times->call_timeout + times->horizon;
    if (from > core->trusted_from) {
        core->trusted_from = from;
    }
}

/*
 * Another controller may have acted since our state was complete. Its calls may be in flight for
 * the call timeout and hidden for the horizon. Our open launches must not be repeated, because the
 * other controller may have replaced them. Nodes that we had given up may be in use.
 */
static void core_take_over(struct core *core)
{
    const struct core_times *times = &core->settings->times;
    trust_listings_after(core, core->now);
    core->quiet_until = core->now + times->quiet_start;
    launches_freeze_all(core);
    for (uint32_t i = 0; i < core->node_end; i++) {
        if (core->nodes[i].state != NODE_GONE && !core->nodes[i].is_head) {
            reevaluate(core, &core->nodes[i]);
        }
    }
}

static void apply_lease(struct core *core, const struct event *event)
{
    uint64_t epoch = event->lease.epoch;
    core->lease_until = event->lease.until;
    if (event->lease.until == 0 || epoch == core->epoch) {
        return;
    }
    if (core->epoch != 0 && epoch != core->epoch + 1) {
        core_take_over(core);
    }
    core->epoch = epoch;
    require(core->lease_until == event->lease.until, "the lease belongs to this epoch");
    core->is_fenced = false;
    core->is_changed = true;
}

static void apply_records_end(struct core *core, const struct event *event)
{
    uint64_t sole_writer_epoch = event->records.sole_writer_epoch;
    launches_restore(core, sole_writer_epoch);
    for (uint32_t i = 0; i < core->node_end; i++) {
        core->nodes[i].is_of_past = true;
    }
    core->has_records = true;
    core->trusted_from = core->now;
    core->quiet_until = core->now + core->settings->times.quiet_start;
    core->is_changed = true;
    if (sole_writer_epoch == core->epoch && core->epoch > 1) {
        core_take_over(core);
    } else if (sole_writer_epoch > 1) {
        /* The process that took over at `since` may have died before listings could be trusted, so
         * the wait counts from then. */
        trust_listings_after(core, event->records.since);
    }
}

/* No node could join while Ray was unreachable; waiting nodes get their full time again. */
static void apply_ray_seen(struct core *core, const struct event *event)
{
    if (!ray_view_is_fresh(core)) {
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
 * A restarted GCS lists dead nodes as alive until its health checks have run, or lists no nodes
 * yet: pause terminations.
 */
static void apply_ray_anew(struct core *core)
{
    int64_t until = core->now + core->settings->times.quiet_start;
    core->quiet_until = until > core->quiet_until ? until : core->quiet_until;
    core->is_changed = true;
}

/* Counts change often, shapes rarely: while the shapes are the same, a full node stays full. */
static void apply_load(struct core *core, const struct ray_load *load)
{
    struct shapes shapes;
    shapes_gather(&shapes, load->demands, load->demand_count, load->gangs, load->gang_count);
    if (!shapes_same(&shapes, &core->shapes)) {
        core->shapes = shapes;
        node_counts_update_shapes(core);
    }
    core->load = *load;
    core->is_changed = true;
}

static void end_everything(struct core *core)
{
    launches_freeze_all(core);
    if (permission_to_terminate(core) != PERMIT_OK) {
        return;
    }
    for (uint32_t i = 0; i < core->node_end; i++) {
        struct node *node = &core->nodes[i];
        if (!node->is_head && node->instance != INSTANCE_NONE && node->state != NODE_UNLISTED &&
            node->state != NODE_TERMINATING) {
            node_end(core, node, NODE_TERMINATING, (struct reason){.kind = REASON_DOWN});
        }
    }
}

static void core_tick(struct core *core, struct arena *scratch, struct core_answer *answer)
{
    bool is_down = core->goal == GOAL_DOWN;
    if (core->is_stirred || core->now >= core->due_at) {
        core->due_at = INT64_MAX;
        core->is_stirred = false;
        deadlines_expire(core);
        deadlines_act(core);
    }
    if (is_down) {
        core->decide_at = INT64_MAX; /* no decision is due until the goal changes */
        end_everything(core);
    } else if (decide_is_due(core)) {
        decide(core, scratch, answer);
    }
    require(!is_down || !answer->is_decision, "no plan while the cluster is deleted");
    if (core->is_stirred) {
        core->is_stirred = false;
        deadlines_act(core);
    }
}

static void core_handle(struct core *core, const struct event *event)
{
    switch (event->kind) {
    case EVENT_GOAL:
        core->goal = event->goal;
        core->is_changed = true;
        break;
    case EVENT_LEASE:
        apply_lease(core, event);
        break;
    case EVENT_INTENT:
        launches_apply_intent(core, event);
        break;
    case EVENT_LAUNCHED:
        launches_apply_launched(core, event);
        break;
    case EVENT_LAUNCH_REPLY:
        launches_apply_reply(core, event);
        break;
    case EVENT_RECORDS_END:
        apply_records_end(core, event);
        break;
    case EVENT_LISTING:
        apply_listing(core, &event->listing);
        break;
    case EVENT_TERMINATE_REPLY:
        apply_terminate_reply(core, event);
        break;
    case EVENT_SETUP_REPLY:
        apply_setup_reply(core, event);
        break;
    case EVENT_DRAIN_REPLY:
        apply_drain_reply(core, event);
        break;
    case EVENT_NOTICE:
        apply_notice(core, event);
        break;
    case EVENT_RAY_NODE:
        apply_ray_node(core, &event->ray_node);
        break;
    case EVENT_RAY_LOAD:
        apply_load(core, &event->ray_load);
        break;
    case EVENT_RAY_SEEN:
        apply_ray_seen(core, event);
        break;
    case EVENT_RAY_RESTARTED:
        apply_ray_anew(core);
        break;
    case EVENT_HEAD:
        core->is_stirred |= core->head != event->head;
        core->is_changed |= core->head != event->head;
        core->head = event->head;
        break;
    case EVENT_PRICES:
        node_counts_forget(core);
        core->is_changed = true;
        break;
    case EVENT_START:
    case EVENT_TICK:
    case EVENT_KIND_COUNT:
        break;
    }
}

/* Actions that do not fit come with the next step. */
struct action *actions_add(struct core *core, enum action_kind kind, struct reason reason)
{
    require(kind < ACTION_KIND_COUNT, "the kind of an action");
    require(core->action_count <= ACTION_CAPACITY, "the actions fit");
    require(permission_to_act(core) == PERMIT_OK, "no action without the lease and the records");
    require(kind != ACTION_LAUNCH || permission_to_launch(core) == PERMIT_OK,
            "no launch without a listing");
    if (core->action_count == ACTION_CAPACITY) {
        core->has_more = true;
        core->is_stirred = true;
        return NULL;
    }
    struct action *action = &core->actions[core->action_count++];
    *action = (struct action){
        .kind = kind, .reason = reason, .not_after = core->lease_until, .epoch = core->epoch};
    return action;
}

void core_step(struct core *core, const struct event *event, struct arena *scratch,
               struct core_answer *ret_answer)
{
    require(event->kind < EVENT_KIND_COUNT, "the kind of the event is valid");
    *ret_answer = (struct core_answer){0};
    core->now = event->at;
    core->action_count = 0;
    core->change_count = 0;
    core->has_more = false;
    bool was_changed = core->is_changed;
    core->is_changed = false;
    core_handle(core, event);
    ret_answer->is_news = core->is_changed;
    core->is_changed |= was_changed;
    if (event->kind == EVENT_TICK) {
        core_tick(core, scratch, ret_answer);
    }
    require(core->action_count <= ACTION_CAPACITY, "the actions fit");
    require(core->change_count <= CHANGE_CAPACITY, "the changes fit");
    require(event->kind == EVENT_TICK || core->action_count == 0, "only a tick returns actions");
    require(!core->has_more || core->action_count == ACTION_CAPACITY,
            "more actions only follow a full answer");
    require(core->used_nodes <= core->node_end, "the used records are among those ever used");
    require(core->node_end <= core->settings->node_capacity, "the nodes fit into their table");
    require(core->launch_count <= LAUNCH_CAPACITY, "the launches fit into their table");
    ret_answer->actions = core->actions;
    ret_answer->action_count = core->action_count;
    ret_answer->changes = core->changes;
    ret_answer->change_count = core->change_count;
    ret_answer->has_more = core->has_more;
    ret_answer->wake_at = core->due_at < core->decide_at ? core->due_at : core->decide_at;
    ret_answer->launching = core->launching;
    ret_answer->ending = core->ending;
    require(!ret_answer->is_decision || ret_answer->launching == PERMIT_OK ||
                ret_answer->ending == PERMIT_OK,
            "a plan needs a permission");
    require(ret_answer->is_decision || ret_answer->hold_count == 0,
            "only a plan holds launches back");
}

size_t core_node_count(const struct core *core)
{
    return core->node_end;
}

const struct node *core_node_at(const struct core *core, size_t position)
{
    require(position < core->node_end, "the position is that of a node");
    return &core->nodes[position];
}

const struct node *core_find(const struct core *core, uint64_t instance)
{
    return nodes_find(core, instance);
}
