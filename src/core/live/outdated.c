/*
 * outdated.c: instances that no longer match the file.
 *
 * The node type was removed or renamed, or its node_config changed. Such an instance is drained
 * without a deadline: its raylet accepts no more work, running work continues, and the instance is
 * terminated once idle. It then offers nothing to the planner, but counts against every limit and
 * costs money. Nothing else revokes the decision.
 *
 * Nodes of a changed type are replaced in turn: until its turn comes, a node serves like any other.
 * At most max_unavailable nodes of the type are leaving or not yet in Ray, and nobody gets a turn
 * after a failed setup or while the type cannot be launched. A failure of the new settings thus
 * costs at most max_unavailable nodes.
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
    if (outdated_serves(node)) {
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

static bool outdated_is_held(uint32_t type, const struct hold *holds, size_t hold_count)
{
    for (size_t i = 0; i < hold_count; i++) {
        if (holds[i].type == type) {
            return true;
        }
    }
    return false;
}

/* Can the cluster do without one more node of this type? */
static bool outdated_has_turn(const struct core *core, uint32_t type)
{
    const struct role_counts *tally = &core->tallies[type];
    int64_t unavailable = tally->counts[ROLE_PENDING] + tally->counts[ROLE_OTHER];
    int64_t most = core->settings->max_unavailable;
    require(most > 0, "some node may be replaced");
    return unavailable < most && core->type_breakers[type].refusals == 0 &&
           decide_open_offering(core, type) < core->settings->offering_count;
}

void outdated_give_turn(struct core *core, const struct hold *holds, size_t hold_count)
{
    struct node *next = NULL;
    node_counts_update(core);
    for (uint32_t i = 0; i < core->node_end; i++) {
        struct node *node = &core->nodes[i];
        uint32_t type = node_type(core, node);
        bool is_better = !next || (next->state != NODE_IDLE && node->state == NODE_IDLE);
        if (is_better && outdated_serves(node) && outdated_has_turn(core, type) &&
            !outdated_is_held(type, holds, hold_count)) {
            next = node;
        }
    }
    if (next) {
        require(next->is_outdated && !next->is_head, "only an outdated worker is replaced");
        next->is_waiting = false;
        outdated_do_end(core, next);
        core->decide_at = core->now; /* the next plan launches its replacement */
    }
}
