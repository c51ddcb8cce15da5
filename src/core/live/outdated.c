/*
 * outdated.c: instances that no longer match the file.
 *
 * The node type was removed or renamed, or its node_config changed. Such an instance still counts
 * against every limit and costs money, so it is tracked like any other, but offers nothing to the
 * planner. It is drained without a deadline: its raylet accepts no more work, running work
 * continues, and the instance is terminated once idle. Nothing else revokes the decision.
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
