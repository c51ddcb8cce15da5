/* hear_ray.c: what Ray's view of a node and the raylets' answers to drains mean. */
#include "core/live/state.h"

static bool is_working(const struct ray_node *ray)
{
    for (size_t i = 0; ray->idle_since == NOT_IDLE && i < ray->capacity_count; i++) {
        if (ray->capacities[i].free < ray->capacities[i].total) {
            return true;
        }
    }
    return false;
}

static void update(struct node *node, const struct ray_node *ray)
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

/* Given up for being slow or silent, and here it is before anybody was asked to end it. */
static bool is_pardoned(const struct node *node)
{
    bool is_given_up = node->state == NODE_FAILED ||
                       (node->state == NODE_TERMINATING && !node->is_asked &&
                        node->cloud < CLOUD_ENDING);
    return is_given_up &&
           (node->reason.kind == REASON_TOO_SLOW || node->reason.kind == REASON_LOST_CONTACT);
}

static void appear(struct core *core, struct node *node)
{
    enum node_state state = state_in_ray(node);
    bool is_ending = node->state == NODE_FAILED || node->state == NODE_TERMINATING ||
                     node->state == NODE_DRAINING;
    if (node->state == state || (is_ending && !is_pardoned(node)) || node->state == NODE_STRANGER) {
        return;
    }
    if (!life_table[node->state].is_running) {
        node->joined_at = core->now;
        node->is_set_up = true;
        node->until = 0;
        node->reason = (struct reason){0};
        breaker_succeed(&core->type_breakers[node_type(core, node)]);
    }
    node_move(core, node, state);
}

void hear_drain_of_others(struct core *core, struct node *node)
{
    if (!life_table[node->state].is_running && !life_table[node->state].is_pending) {
        return;
    }
    int64_t until = core->now + core->settings->times.drain_grace;
    if (core->settings->offerings[node->offering].market == MARKET_SPOT) {
        offering_warn(core, node->offering);
    }
    node_end(core, node, NODE_DRAINING, (struct reason){.kind = REASON_NOTICE, .limit = until});
    node->until = until;
    node->is_drain_ours = false;
    node->is_asked = true; /* no need to ask */
}

/* A raylet that was drained exits by itself, sometimes before its answer is heard: whether it has
 * agreed or died of something else, the answer will tell. */
static void die(struct core *core, struct node *node)
{
    enum { EARLY = 2 * 60 * 1000 };
    struct reason dead = {.kind = REASON_RAY_DEAD};
    if (life_table[node->state].is_running) {
        if (core->now < node->joined_at + EARLY) {
            node_strike_death(core, node);
        }
        node_end(core, node, NODE_FAILED, dead);
    } else if (node->state == NODE_DRAINING && !(node->is_drain_ours && node->is_asked)) {
        node_end(core, node, NODE_FAILED, node->is_drain_ours ? dead : node->reason);
    }
}

/* Not dead, only not there: the GCS came back empty, say. It gets time to come back. */
static void vanish(struct core *core, struct node *node)
{
    if (BUG(core, absent_is_dead)) {
        die(core, node);
    } else if (life_table[node->state].is_running) {
        node_move(core, node, NODE_SETTING_UP);
        node->is_asked = true;
    }
}

void hear_ray_node(struct core *core, const struct ray_node *ray)
{
    struct node *node = nodes_find(core, ray->instance);
    if (!node && ray->status != RAY_ABSENT && ray->status != RAY_DEAD) {
        node = nodes_add(core, ray->instance);
        if (node) {
            node_move(core, node, NODE_STRANGER);
        }
    }
    if (!node) {
        return;
    }
    update(node, ray);
    node_touch(core, node);
    core->is_stirred |= node->state == NODE_DRAINING;
    if (node->is_head) {
        return;
    }
    if (node->state == NODE_STRANGER) {
        if (ray->status == RAY_ABSENT || ray->status == RAY_DEAD) {
            node_move(core, node, NODE_GONE);
        }
        return;
    }
    switch (ray->status) {
    case RAY_ALIVE:
        appear(core, node);
        break;
    case RAY_DRAINING:
        hear_drain_of_others(core, node);
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

/* Back to work: the drain was refused, or nobody knows. */
static void resume(struct core *core, struct node *node)
{
    node_move(core, node, node->ray == RAY_ALIVE ? state_in_ray(node) : NODE_SETTING_UP);
    node->is_asked = node->ray != RAY_ALIVE;
    node->reason = (struct reason){0};
    node->until = core->now + core->settings->times.drain_retry;
    if (node->ray == RAY_DRAINING) {
        hear_drain_of_others(core, node);
    } else if (node->ray == RAY_DEAD) {
        node_end(core, node, NODE_FAILED, (struct reason){.kind = REASON_RAY_DEAD});
    }
}

void hear_drain_reply(struct core *core, const struct event *event)
{
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
    bool is_consent = answer == DRAIN_ACCEPTED ||
                      (answer == DRAIN_UNKNOWN && BUG(core, lost_drain_is_consent)) ||
                      (answer == DRAIN_REFUSED && BUG(core, refusal_is_consent));
    if (is_consent) {
        node_end(core, node, NODE_TERMINATING, node->reason);
    } else {
        resume(core, node);
    }
}

void hear_again(struct core *core, struct node *node)
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
        hear_drain_of_others(core, node);
        break;
    case RAY_ABSENT:
    case RAY_DEAD:
    case RAY_STATUS_COUNT:
        node_move(core, node, NODE_BOOTING); /* setting up again is safe, and ends if it fails */
        break;
    }
}
