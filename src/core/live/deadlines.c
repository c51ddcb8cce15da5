/* deadlines.c: expires deadlines, and emits the actions that the states of nodes require. */
#include "base/require.h"
#include "core/live/core_internal.h"

static void note_due(struct core *core, int64_t at)
{
    core->due_at = at < core->due_at ? at : core->due_at;
    require(core->due_at <= at, "the earliest deadline is kept");
}

static struct action *add_for(struct core *core, struct node *node, enum action_kind kind,
                              struct reason reason)
{
    require(!node->is_asked, "an action is sent once");
    require(node->instance != INSTANCE_NONE, "an action is about an instance");
    require(!node->is_head, "no action is about the head");
    struct action *action = actions_add(core, kind, reason);
    if (action) {
        action->instance = node->instance;
        action->launch = node->launch;
        action->offering = node->offering;
        node->is_asked = true;
    }
    return action;
}

/* A deadline for Ray applies only while the view of Ray is fresh, a deadline for the cloud only
 * while the view of the cloud is fresh. */
static bool is_watched(const struct core *core, const struct node *node)
{
    if (node->state == NODE_SETTING_UP && node->is_set_up) {
        return ray_view_is_fresh(core);
    }
    return node->state != NODE_LAUNCHING || cloud_view_is_fresh(core);
}

static void expire_wait(struct core *core, struct node *node)
{
    require(node_state_table[node->state].is_pending, "only a pending node has a deadline");
    const struct core_times *times = &core->settings->times;
    bool is_joining = node->state == NODE_SETTING_UP && node->is_set_up;
    int64_t limit = is_joining ? times->join : times->deadlines[node->state];
    if (limit == 0) {
        return;
    }
    if (core->now < node->since + limit) {
        note_due(core, node->since + limit);
        return;
    }
    if (!is_watched(core, node)) {
        note_due(core, core->now + times->retry_most);
        return;
    }
    struct reason reason = {.kind = node->joined_at > 0 ? REASON_LOST_CONTACT : REASON_TOO_SLOW,
                            .state = node->state,
                            .amount = core->now - node->since,
                            .limit = limit};
    require(reason.amount >= limit, "the time of this state has passed");
    node_end(core, node, NODE_FAILED, reason);
    node_strike(core, node);
}

/* A drain by others, or one that cannot be refused: the node is terminated once idle, or at its
 * deadline. */
static void expire_drain(struct core *core, struct node *node)
{
    require(node->state == NODE_DRAINING, "the node is draining");
    bool is_free = node->ray == RAY_DRAINING && node->idle_since != NOT_IDLE &&
                   ray_view_is_fresh(core);
    if (node->is_drain_ours) {
        return;
    }
    bool is_over = core->now >= node->until && (!node->is_outdated || ray_view_is_fresh(core));
    if (is_free || is_over) {
        node_end(core, node, NODE_TERMINATING, node->reason);
    } else {
        note_due(core, node->until);
    }
}

void deadlines_expire(struct core *core)
{
    for (uint32_t i = 0; i < core->node_end; i++) {
        struct node *node = &core->nodes[i];
        if (node->is_head || node->state == NODE_GONE) {
            continue;
        }
        if (node->state == NODE_DRAINING) {
            expire_drain(core, node);
        } else if (node_state_table[node->state].is_pending) {
            expire_wait(core, node);
        }
    }
}

static void act_terminating(struct core *core, struct node *node)
{
    require(node->state == NODE_TERMINATING, "the node is terminating");
    require(permission_to_act(core) == PERMIT_OK, "terminating needs the lease");
    if (node->is_asked || node->cloud >= CLOUD_ENDING) {
        return;
    }
    if (core->now < node->until) {
        note_due(core, node->until);
        return;
    }
    if (api_breaker_blocks(core)) {
        note_due(core, core->trouble.is_probing ? INT64_MAX : core->trouble.retry_at);
        return;
    }
    if (add_for(core, node, ACTION_TERMINATE, node->reason)) {
        api_breaker_note_call(core);
    }
}

static void act_draining(struct core *core, struct node *node)
{
    require(node->state == NODE_DRAINING, "the node is draining");
    if (node->is_asked) {
        return;
    }
    if (node->ray != RAY_ALIVE) {
        return; /* there is no raylet to drain */
    }
    struct action *action = add_for(core, node, ACTION_DRAIN, node->reason);
    if (action) {
        action->is_rejectable = node->is_drain_ours;
        action->drain_until = node->until;
    }
}

int64_t core_kept_until(const struct core_settings *settings, const struct node *node)
{
    bool is_setup = node->reason.kind == REASON_SETUP_FAILED ||
                    node->reason.kind == REASON_TOO_SLOW;
    bool is_kept = node->state == NODE_FAILED && is_setup && settings->keep_failed > 0;
    return is_kept ? node->since + settings->keep_failed : 0;
}

/* Given up: terminates the node as soon as permitted, or later if it is kept for inspection. */
static void act_failed(struct core *core, struct node *node)
{
    require(node->state == NODE_FAILED, "the node has failed");
    int64_t kept_until = core_kept_until(core->settings, node);
    if (core->now < kept_until) {
        note_due(core, kept_until);
        return;
    }
    if (permission_to_end_failed(core, node) != PERMIT_OK) {
        note_due(core, core->now + core->settings->times.retry_first);
        return;
    }
    node_end(core, node, NODE_TERMINATING, node->reason);
    act_terminating(core, node);
}

static void act_booting(struct core *core, struct node *node)
{
    require(node->state == NODE_BOOTING, "the node is booting");
    if (!node->is_asked && (!node->is_outdated || node->is_waiting)) {
        add_for(core, node, ACTION_SET_UP, (struct reason){.kind = REASON_CLOUD_RUNS_IT});
    }
}

static void deadlines_do_act(struct core *core, struct node *node)
{
    static void (*const acts[NODE_STATE_COUNT])(struct core * core, struct node * node) = {
        [NODE_BOOTING] = act_booting,
        [NODE_DRAINING] = act_draining,
        [NODE_FAILED] = act_failed,
        [NODE_TERMINATING] = act_terminating};
    if (acts[node->state]) {
        acts[node->state](core, node);
    }
}

void deadlines_act(struct core *core)
{
    if (permission_to_act(core) != PERMIT_OK) {
        core->is_stirred = true; /* retry once acting is permitted */
        return;
    }
    for (uint32_t i = 0; i < core->node_end; i++) {
        if (core->nodes[i].state != NODE_GONE && !core->nodes[i].is_head) {
            deadlines_do_act(core, &core->nodes[i]);
        }
    }
    if (permission_to_launch(core) != PERMIT_OK) {
        core->is_stirred |= core->launch_count > 0; /* retry once a listing permits it */
        return;
    }
    launches_repeat(core);
    for (size_t i = 0; i < core->launch_count; i++) {
        const struct launch *launch = &core->launches[i];
        if (!launch->is_asked && !launch->is_frozen && !core->trouble.is_probing) {
            int64_t calm_at = core->trouble.failures > 0 ? core->trouble.retry_at : core->now;
            note_due(core, launch->retry_at > calm_at ? launch->retry_at : calm_at);
        }
    }
}
