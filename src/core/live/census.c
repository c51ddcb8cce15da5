/*
 * census.c: how many nodes there are of each kind, kept up to date by what has changed.
 *
 * Beside every node stands a mark with the part it plays in a plan. Whoever changes a node makes
 * its mark stale; the next census looks at stale ones only.
 */
#include "core/live/state.h"

/* When an idle node may end at the earliest, as far as its own times go. */
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

/* Nothing that is asked for fits on it, and it need not end: it only counts. */
static bool is_full(struct core *core, const struct node *node)
{
    if (!shapes_fit_none(&core->shapes, core->settings->names, node->capacities,
                         node->capacity_count)) {
        return false;
    }
    if (node->state == NODE_IDLE) {
        int64_t at = may_end_at(core, node);
        if (core->now >= at || BUG(core, idle_kill_of_new)) {
            return false;
        }
        core->rested_at = at < core->rested_at ? at : core->rested_at;
    }
    return true;
}

/* Some idle node has rested long enough: it takes part again. */
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
    const struct life_row *life = &life_table[node->state];
    if (node->is_head) {
        return ROLE_HEAD;
    }
    if (life->is_pending) {
        bool is_dropped = BUG(core, counts_only_known) && node->state == NODE_REQUESTED;
        return is_dropped ? ROLE_NONE : ROLE_PENDING;
    }
    if (life->is_running) {
        return is_full(core, node) ? ROLE_FULL : ROLE_RUNNING;
    }
    return node_counts(node) && !BUG(core, ending_counts_not) ? ROLE_OTHER : ROLE_NONE;
}

static void add(struct core *core, const struct mark *mark, int64_t sign)
{
    const struct offering *offering = &core->settings->offerings[mark->offering];
    struct tally *tally = &core->tallies[offering->type];
    if (mark->role == ROLE_NONE || mark->role == ROLE_HEAD) {
        return;
    }
    tally->counts[mark->role] += sign;
    core->all.counts[mark->role] += sign;
    core->price += offering->price > 0 ? sign * offering->price : 0;
}

static void refresh(struct core *core, uint32_t position)
{
    const struct node *node = &core->nodes[position];
    struct mark *mark = &core->marks[position];
    add(core, mark, -1);
    mark->offering = node->offering;
    mark->role = (uint8_t)role_of(core, node);
    mark->is_stale = false;
    add(core, mark, 1);
}

void census_take(struct core *core)
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

void census_of_shapes(struct core *core)
{
    for (uint32_t i = 0; i < core->node_end; i++) {
        core->marks[i].is_stale |= core->marks[i].role == ROLE_RUNNING ||
                                   core->marks[i].role == ROLE_FULL;
    }
}
