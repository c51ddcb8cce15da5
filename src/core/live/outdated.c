/*
 * outdated.c: instances that no longer match the file.
 *
 * The node type was removed or renamed, or its node_config changed. Such an instance is drained
 * without a deadline: its raylet accepts no more work, running work continues, and the instance is
 * terminated once idle. It then offers nothing to the planner, but counts against every limit and
 * costs money. Nothing else revokes the decision.
 *
 * Nodes of a changed type are replaced in turn. Until its turn comes, a node is like any other. At
 * most max_unavailable nodes of the type are leaving or not yet in Ray, and no node leaves after a
 * failed setup or while the type cannot be launched. New settings that do not work thus cost at
 * most max_unavailable nodes.
 */
#include "base/require.h"
#include "core/live/node_facts.h"

void outdated_apply(struct core *core, struct node *node, const struct listed *listed)
{
    bool is_gone = listed->offering >= core->settings->offering_count;
    bool is_outdated = is_gone || listed->is_outdated;
    if (!is_outdated && !node->is_outdated) {
        return;
    }
    if (node->is_outdated != is_outdated || node->offering != listed->offering ||
        node->price != listed->price) {
        node->is_waiting = is_outdated && !is_gone && (node->is_waiting || !node->is_outdated) &&
                           core->settings->max_unavailable != PLAN_NO_LIMIT;
        node->is_outdated = is_outdated;
        node->offering = listed->offering;
        node->price = listed->price;
        require(node->offering < core->settings->offering_count || node->is_outdated,
                "a node without an offering is outdated");
        node_touch(core, node);
        core->is_stirred = true;
    }
}

struct reason outdated_reason(const struct node *node)
{
    return (struct reason){.kind = REASON_OUTDATED, .amount = node->offering == OFFERING_GONE};
}

/* If the node disappears from Ray's view, the GCS may have restarted: it may still be working. */
static bool may_still_work(struct core *core, const struct node *node)
{
    int64_t until = node->since + core->settings->times.quiet_start;
    if (node->joined_at == 0 || core->now >= until) {
        return false;
    }
    core->decide_at = until < core->decide_at ? until : core->decide_at;
    return true;
}

static void outdated_drain(struct core *core, struct node *node)
{
    require(node->is_outdated, "the file does not describe the node");
    require(node_state_table[node->state].is_running, "only a running node is drained");
    node_end(core, node, NODE_DRAINING, outdated_reason(node));
    node->is_drain_ours = false;
    node->until = INT64_MAX;
}

/* provider.disable_launch_config_check: like other workers, it is kept while it has work. */
static void drain_if_idle(struct core *core, struct node *node)
{
    require(core->settings->keeps_outdated, "outdated nodes are kept while they work");
    int64_t timeout = core->settings->idle_timeout;
    int64_t idle = core->ray_seen_at - node->idle_since;
    if (node->state != NODE_IDLE || timeout == PLAN_NO_LIMIT ||
        core->now < idle_counts_from(core, node)) {
        return;
    }
    if (idle <= timeout) {
        int64_t over_at = node->idle_since + timeout + 1;
        core->idle_over_at = over_at < core->idle_over_at ? over_at : core->idle_over_at;
        return;
    }
    node_end(core, node, NODE_DRAINING,
             (struct reason){.kind = REASON_IDLE, .amount = idle, .limit = timeout});
    node->is_drain_ours = true;
    node->until = core->now + core->settings->times.drain_grace;
}

static void outdated_do_end(struct core *core, struct node *node)
{
    const struct node_state_row *life = &node_state_table[node->state];
    if (node->is_waiting) {
        return;
    }
    if (life->is_running && core->settings->keeps_outdated) {
        drain_if_idle(core, node);
    } else if (life->is_running) {
        outdated_drain(core, node);
    } else if (life->is_pending && !may_still_work(core, node)) {
        node_end(core, node, NODE_TERMINATING, outdated_reason(node));
    }
}

void outdated_end(struct core *core)
{
    for (uint32_t i = 0; i < core->node_end; i++) {
        struct node *node = &core->nodes[i];
        if (node->is_outdated && !node->is_head && node->instance != INSTANCE_NONE &&
            node->state != NODE_GONE) {
            outdated_do_end(core, node);
        }
    }
}

/* A launch of this type is held, so a node that leaves might not be replaced. A limit on the price
 * does not matter if the new node costs no more than the old one. */
static bool outdated_is_held(const struct core *core, const struct node *node,
                             const struct hold *holds, size_t hold_count)
{
    uint32_t type = node_type(core, node);
    uint32_t offering = decide_open_offering(core, type);
    if (offering == core->settings->offering_count) {
        return true;
    }
    int64_t price = core->settings->offerings[offering].price;
    bool is_cheap = price != PRICE_UNKNOWN && price <= node_price(core, node);
    for (size_t i = 0; i < hold_count; i++) {
        if (holds[i].type == type && !(is_cheap && holds[i].cause == HOLD_PRICE)) {
            return true;
        }
    }
    return false;
}

/* A setup with the current settings failed, and none has succeeded since. This is forgotten after a
 * while, with a new decision: the cause may be gone, and perhaps no launch would show it. */
static bool outdated_has_failed(struct core *core, uint32_t type)
{
    const struct breaker *setups = &core->type_breakers[type];
    int64_t until = setups->cool_until + core->settings->times.cool_most;
    if (setups->refusals == 0 || core->now > until) {
        return false;
    }
    core->decide_at = until + 1 < core->decide_at ? until + 1 : core->decide_at;
    return true;
}

/* Do the new settings work? Until a node with them has joined, max_unavailable is the limit of all
 * turns, unless min_workers makes sure that a replacement is launched, which will show it. */
static bool outdated_is_tried(const struct core *core, uint32_t type)
{
    int64_t present = role_counts_offering(&core->tallies[type]);
    return core->type_works[type] || core->type_turns[type] < core->settings->max_unavailable ||
           present <= core->settings->types[type].min_nodes;
}

/* Can the cluster do without one more node of this type? */
static bool outdated_has_turn(struct core *core, uint32_t type)
{
    const struct role_counts *tally = &core->tallies[type];
    int64_t unavailable = tally->counts[ROLE_PENDING] + tally->counts[ROLE_OTHER];
    int64_t most = core->settings->max_unavailable;
    require(most > 0, "some node may be replaced");
    return unavailable < most && outdated_is_tried(core, type) && !outdated_has_failed(core, type);
}

static bool outdated_is_any_waiting(const struct core *core)
{
    for (uint32_t i = 0; i < core->node_end; i++) {
        if (core->nodes[i].is_waiting) {
            return true;
        }
    }
    return false;
}

void outdated_give_turn(struct core *core, const struct hold *holds, size_t hold_count)
{
    struct node *next = NULL;
    if (!outdated_is_any_waiting(core)) {
        return;
    }
    node_counts_update(core);
    for (uint32_t i = 0; i < core->node_end; i++) {
        struct node *node = &core->nodes[i];
        bool is_better = !next || (next->state != NODE_IDLE && node->state == NODE_IDLE);
        if (is_better && node->is_waiting && node_state_table[node->state].is_running &&
            outdated_has_turn(core, node_type(core, node)) &&
            !outdated_is_held(core, node, holds, hold_count)) {
            next = node;
        }
    }
    if (next) {
        require(next->is_outdated && !next->is_head, "only an outdated worker is replaced");
        next->is_waiting = false;
        core->type_turns[node_type(core, next)]++;
        outdated_do_end(core, next);
        core->decide_at = core->now; /* the next plan launches its replacement */
    }
}
