/*
 * node_counts.c: counts nodes by role, updated incrementally.
 *
 * Every node has a mark with its role in a plan. A change to a node makes its mark stale; the next
 * update refreshes stale marks only.
 */
#include "base/require.h"
#include "core/live/node_facts.h"

/* The earliest time at which an idle node may be terminated, by its own timeouts. */
static int64_t may_end_at(const struct core *core, const struct node *node)
{
    int64_t timeout = idle_timeout_of(core, node_type(core, node));
    if (timeout == PLAN_NO_LIMIT) {
        return INT64_MAX;
    }
    int64_t idle_at = node->idle_since + timeout;
    int64_t from = idle_counts_from(core, node);
    return idle_at > from ? idle_at : from;
}

/* Nothing pending fits on the node, and it need not be terminated: it only counts. */
static bool is_full(struct core *core, const struct node *node)
{
    if (!shapes_fit_none(&core->shapes, core->settings->names, node->capacities,
                         node->capacity_count)) {
        return false;
    }
    if (node->state == NODE_IDLE) {
        int64_t at = may_end_at(core, node);
        if (core->now >= at) {
            return false;
        }
        core->rested_at = at < core->rested_at ? at : core->rested_at;
    }
    return true;
}

/* An idle node has reached its earliest termination time: it takes part in plans again. */
static void wake_rested(struct core *core)
{
    core->rested_at = INT64_MAX;
    for (uint32_t i = 0; i < core->node_end; i++) {
        core->marks[i].is_stale |= core->marks[i].role == ROLE_FULL &&
                                   core->nodes[i].state == NODE_IDLE;
    }
}

static enum role role_of(struct core *core, const struct node *node)
{
    const struct node_state_row *life = &node_state_table[node->state];
    if (node->is_head) {
        return ROLE_HEAD;
    }
    if (node->is_outdated && !node->is_waiting) {
        return node_counts(node) ? ROLE_OTHER : ROLE_NONE;
    }
    if (life->is_pending) {
        return ROLE_PENDING;
    }
    if (life->is_running) {
        return is_full(core, node) ? ROLE_FULL : ROLE_RUNNING;
    }
    return node_counts(node) ? ROLE_OTHER : ROLE_NONE;
}

static void node_counts_add(struct core *core, const struct mark *mark, int64_t sign)
{
    require(mark->role < ROLE_COUNT, "the role of the node is valid");
    require(mark->type <= core->settings->type_count, "the node type is valid");
    struct role_counts *tally = &core->tallies[mark->type];
    if (mark->role == ROLE_NONE || mark->role == ROLE_HEAD) {
        return;
    }
    tally->counts[mark->role] += sign;
    core->all.counts[mark->role] += sign;
    core->price += mark->price > 0 ? sign * mark->price : 0;
    core->unpriced += mark->price == PRICE_UNKNOWN ? sign : 0;
    require(tally->counts[mark->role] >= 0, "the number of nodes of a type is not negative");
    require(core->all.counts[mark->role] >= tally->counts[mark->role],
            "a node type has at most as many nodes as the cluster");
    require(core->price >= 0, "the price of all nodes is not negative");
}

static void refresh(struct core *core, uint32_t position)
{
    const struct node *node = &core->nodes[position];
    struct mark *mark = &core->marks[position];
    node_counts_add(core, mark, -1);
    mark->type = node_type(core, node);
    mark->price = node_price(core, node);
    mark->role = (uint8_t)role_of(core, node);
    require(mark->role != ROLE_HEAD || node->is_head, "only the head has its role");
    require(node->state != NODE_GONE || mark->role == ROLE_NONE || node->is_head,
            "a record without a node counts nowhere");
    mark->is_stale = false;
    node_counts_add(core, mark, 1);
}

void node_counts_update(struct core *core)
{
    if (core->now >= core->rested_at) {
        wake_rested(core);
    }
    for (uint32_t i = 0; i < core->node_end; i++) {
        if (core->marks[i].is_stale) {
            refresh(core, i);
        }
    }
}

void node_counts_forget(struct core *core)
{
    for (uint32_t i = 0; i < core->node_end; i++) {
        core->marks[i].is_stale = true;
    }
}

void node_counts_update_shapes(struct core *core)
{
    for (uint32_t i = 0; i < core->node_end; i++) {
        core->marks[i].is_stale |= core->marks[i].role == ROLE_RUNNING ||
                                   core->marks[i].role == ROLE_FULL;
    }
}
