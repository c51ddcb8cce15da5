/* apply_ray.c: applies Ray's view of nodes and the raylets' replies to drains. */
#include "base/require.h"
#include "core/live/node_facts.h"

static bool is_working(const struct ray_node *ray)
{
    for (size_t i = 0; ray->idle_since == NOT_IDLE && i < ray->capacity_count; i++) {
        if (ray->capacities[i].free < ray->capacities[i].total) {
            return true;
        }
    }
    return false;
}

static void apply_ray_update(struct node *node, const struct ray_node *ray)
{
    node->has_worked = node->has_worked || is_working(ray);
    node->ray = (uint8_t)ray->status;
    node->idle_since = ray->idle_since;
    node->capacities = ray->capacities;
    node->capacity_count = (uint32_t)ray->capacity_count;
    node->labels = ray->labels.items;
    node->label_count = (uint32_t)ray->labels.count;
}

static enum node_state state_in_ray(const struct node *node)
{
    return node->idle_since == NOT_IDLE ? NODE_READY : NODE_IDLE;
}

/* The node was given up before it joined (slow, silent or outdated). It has joined now, and no
 * termination is known to have reached the cloud. An outdated node is then drained first. */
static bool is_recovered(const struct node *node)
{
    bool is_given_up = node->state == NODE_FAILED ||
                       (node->state == NODE_TERMINATING && !node->is_asked &&
                        node->cloud < CLOUD_ENDING);
    uint8_t kind = node->reason.kind;
    return is_given_up && (kind == REASON_TOO_SLOW || kind == REASON_LOST_CONTACT ||
                           (kind == REASON_OUTDATED && node->joined_at == 0));
}

static void appear(struct core *core, struct node *node)
{
    enum node_state state = state_in_ray(node);
    bool is_ending = node->state == NODE_FAILED || node->state == NODE_TERMINATING ||
                     node->state == NODE_DRAINING;
    if (node->state == state || (is_ending && !is_recovered(node)) ||
        node->state == NODE_UNLISTED) {
        return;
    }
    if (!node_state_table[node->state].is_running) {
        node->joined_at = core->now;
        node->is_set_up = true;
        node->until = 0;
        node->reason = (struct reason){0};
        if (!node->is_outdated) {
            breaker_succeed(&core->type_breakers[node_type(core, node)]);
        }
    }
    node_move(core, node, state);
    require(node_state_table[node->state].is_running, "a node that is alive in Ray is running");
}

void apply_drain_of_others(struct core *core, struct node *node)
{
    if (!node_state_table[node->state].is_running && !node_state_table[node->state].is_pending) {
        return;
    }
    int64_t until = core->now + core->settings->times.drain_grace;
    struct reason reason = {.kind = REASON_NOTICE, .limit = until};
    /* A node that waits is drained by others, unless it was already draining when it appeared: then
     * an earlier run of ours did it, without a deadline. */
    bool is_ours = node->is_outdated &&
                   !(node->is_waiting && node_state_table[node->state].is_running);
    if (is_ours) {
        node->is_waiting = false;
        until = INT64_MAX;
        reason = outdated_reason(node);
    } else if (node_is_spot(core, node)) {
        offering_warn(core, node->offering);
    }
    require(is_ours || reason.kind == REASON_NOTICE, "others drain a node because of a notice");
    node_end(core, node, NODE_DRAINING, reason);
    node->until = until;
    node->is_drain_ours = false;
    node->is_asked = true; /* the drain is already in progress */
}

/* A drained raylet exits on its own, sometimes before its reply arrives: the reply decides whether
 * it accepted or died of another cause. */
static void die(struct core *core, struct node *node)
{
    enum { EARLY = 2 * 60 * 1000 };
    struct reason dead = {.kind = REASON_RAY_DEAD};
    if (node_state_table[node->state].is_running) {
        if (core->now < node->joined_at + EARLY) {
            node_strike_death(core, node);
        }
        node_end(core, node, NODE_FAILED, dead);
    } else if (node->state == NODE_DRAINING && !(node->is_drain_ours && node->is_asked)) {
        node_end(core, node, NODE_FAILED, node->is_drain_ours ? dead : node->reason);
    }
}

/* Absent, but not dead; for example, the GCS restarted with empty tables. The node gets time to
 * register again. */
static void vanish(struct core *core, struct node *node)
{
    if (node_state_table[node->state].is_running) {
        node_move(core, node, NODE_SETTING_UP);
        node->is_asked = true;
    } else if (outdated_is_drained(node)) {
        /* It gets time to register again, too. */
        node->until = core->now + core->settings->times.join;
    }
}

/* A node that registered with a new GCS may have lost its drain. */
static void apply_ray_come_back(struct core *core, struct node *node)
{
    if (outdated_is_drained(node)) {
        node->until = INT64_MAX;
        node->is_asked = false;
        core->is_stirred = true;
    }
}

void apply_ray_node(struct core *core, const struct ray_node *ray)
{
    require(ray->status < RAY_STATUS_COUNT, "the node's state in Ray is valid");
    struct node *node = nodes_find(core, ray->instance);
    if (!node && ray->status != RAY_ABSENT && ray->status != RAY_DEAD) {
        node = nodes_add(core, ray->instance);
        if (node) {
            node_move(core, node, NODE_UNLISTED);
        }
    }
    if (!node) {
        return;
    }
    bool was_absent = node->ray == RAY_ABSENT;
    apply_ray_update(node, ray);
    node_touch(core, node);
    core->is_stirred |= node->state == NODE_DRAINING;
    if (node->is_head) {
        return;
    }
    if (node->state == NODE_UNLISTED) {
        if (ray->status == RAY_ABSENT || ray->status == RAY_DEAD) {
            node_move(core, node, NODE_GONE);
        }
        return;
    }
    if (was_absent && ray->status != RAY_ABSENT) {
        apply_ray_come_back(core, node);
    }
    if (ray->status != RAY_ABSENT && !node->is_outdated) {
        /* A dead node has also joined, perhaps before this controller started. */
        core->type_works[node_type(core, node)] = true;
    }
    switch (ray->status) {
    case RAY_ALIVE:
        appear(core, node);
        break;
    case RAY_DRAINING:
        apply_drain_of_others(core, node);
        break;
    case RAY_DEAD:
        die(core, node);
        break;
    case RAY_ABSENT:
    case RAY_STATUS_COUNT:
        vanish(core, node);
        break;
    }
}

/* Returns the node to service: the drain was refused, or its outcome is unknown. */
static void apply_ray_resume(struct core *core, struct node *node)
{
    require(node->state == NODE_DRAINING, "only a draining node can leave the drain");
    require(node->is_drain_ours, "only our drain can be refused");
    node_move(core, node, node->ray == RAY_ALIVE ? state_in_ray(node) : NODE_SETTING_UP);
    node->is_asked = node->ray != RAY_ALIVE;
    node->reason = (struct reason){0};
    node->until = core->now + core->settings->times.drain_retry;
    if (node->ray == RAY_DRAINING) {
        apply_drain_of_others(core, node);
    } else if (node->ray == RAY_DEAD) {
        node_end(core, node, NODE_FAILED, (struct reason){.kind = REASON_RAY_DEAD});
    }
}

void apply_drain_reply(struct core *core, const struct event *event)
{
    require(event->drain_reply.answer < DRAIN_ANSWER_COUNT, "the answer to the drain is valid");
    struct node *node = nodes_find(core, event->drain_reply.instance);
    enum drain_answer answer = event->drain_reply.answer;
    if (!node || node->state != NODE_DRAINING) {
        return;
    }
    if (!node->is_drain_ours) {
        node->is_asked = answer == DRAIN_ACCEPTED;
        core->is_stirred = true;
        return;
    }
    if (answer == DRAIN_ACCEPTED) {
        node_end(core, node, NODE_TERMINATING, node->reason);
    } else {
        apply_ray_resume(core, node);
    }
}

void reevaluate(struct core *core, struct node *node)
{
    bool is_open = node->state == NODE_FAILED || node->state == NODE_DRAINING ||
                   (node->state == NODE_TERMINATING && node->cloud < CLOUD_ENDING);
    if (!is_open) {
        return;
    }
    node->until = 0;
    node->reason = (struct reason){0};
    switch ((enum ray_status)node->ray) {
    case RAY_ALIVE:
        node_move(core, node, state_in_ray(node));
        break;
    case RAY_DRAINING:
        node_move(core, node, NODE_READY);
        apply_drain_of_others(core, node);
        break;
    case RAY_ABSENT:
    case RAY_DEAD:
    case RAY_STATUS_COUNT:
        /* Repeating the setup is safe; if it fails, the node is terminated. */
        node_move(core, node, NODE_BOOTING);
        break;
    }
}
