/* apply_cloud.c: applies listings, replies and notices from the cloud to the nodes. */
#include "base/require.h"
#include "core/live/node_facts.h"

/* Adds an instance of ours that is not known: from a lost reply, or from another controller. */
static struct node *adopt(struct core *core, const struct listed *listed)
{
    uint64_t instance = listed->instance;
    struct launch *launch = launches_find(core, listed->launch);
    struct node *node = launch ? launches_bind(core, launch, instance) : NULL;
    if (node) {
        return node;
    }
    node = nodes_add(core, instance);
    if (node) {
        node->launch = listed->launch;
        node->offering = listed->offering;
        node_move(core, node, NODE_LAUNCHING);
    }
    return node;
}

void offering_warn(struct core *core, uint32_t offering)
{
    const struct core_times *times = &core->settings->times;
    if (offering >= core->settings->offering_count) {
        return;
    }
    struct breaker *warning = &core->offering_warnings[offering];
    if (core->now > warning->cool_until + times->cool_most) {
        breaker_succeed(warning); /* no interruptions for a long time */
    }
    breaker_refuse(warning, core->now, times->cool_first, times->cool_most, &core->rng);
}

/*
 * The instance ended without our request: interrupted, or terminated manually. If instances of a
 * type repeatedly end before they join, its image may not boot, so it is launched less and less
 * often. It is never disabled, because the cloud may be the cause. An instance that an earlier run
 * of the service launched may have been terminated by it: that says nothing.
 */
static void lose(struct core *core, struct node *node)
{
    bool is_pending = node_state_table[node->state].is_pending;
    if (node->state != NODE_TERMINATING) {
        if (node_is_spot(core, node)) {
            offering_warn(core, node->offering);
        }
        if (is_pending && !node->is_of_past) {
            node_strike_death(core, node);
        }
        bool has_notice = node->state == NODE_DRAINING && node->reason.kind == REASON_NOTICE;
        node_end(core, node, NODE_TERMINATING,
                 has_notice ? node->reason : (struct reason){.kind = REASON_CLOUD_ENDED});
    }
}

static void apply_cloud_show(struct core *core, struct node *node, enum cloud_state state)
{
    require(state < CLOUD_STATE_COUNT, "the cloud state is valid");
    require(!node->is_head, "the head is not in the listing of workers");
    if (state > node->cloud) {
        node->cloud = (uint8_t)state;
        node_touch(core, node);
        core->is_stirred = true;
    }
    node->is_of_past = node->is_of_past && state >= CLOUD_ENDING;
    if (state == CLOUD_GONE) {
        lose(core, node);
        node_move(core, node, NODE_GONE);
    } else if (state == CLOUD_ENDING) {
        lose(core, node);
    } else if (state == CLOUD_RUNNING && node->state == NODE_LAUNCHING) {
        node_move(core, node, NODE_BOOTING);
    }
}

void apply_introduction(struct core *core, struct node *node, const struct listed *listed)
{
    require(node->state == NODE_UNLISTED, "only Ray knew the node");
    node->launch = listed->launch;
    node->offering = listed->offering;
    outdated_apply(core, node, listed);
    node->created_at = core->now;
    if (node->ray == RAY_ALIVE) {
        node->joined_at = core->now;
        node_move(core, node, node->idle_since == NOT_IDLE ? NODE_READY : NODE_IDLE);
    } else {
        node_move(core, node, NODE_LAUNCHING);
        if (node->ray == RAY_DRAINING) {
            apply_drain_of_others(core, node);
        }
    }
}

/* Listings usually keep their order, so the node is mostly the one after the previous node. */
static struct node *find_listed(struct core *core, const struct listed *listed, uint32_t *hint)
{
    bool is_next = *hint < core->node_end && core->nodes[*hint].instance == listed->instance;
    struct node *node = is_next ? &core->nodes[*hint] : nodes_find(core, listed->instance);
    *hint = node ? nodes_position(core, node) + 1 : *hint;
    require(*hint <= core->node_end, "the hint is a valid position");
    return node;
}

static void apply_listed(struct core *core, const struct listed *listed, uint32_t *hint)
{
    launches_note_number(core, listed->launch);
    struct node *node = find_listed(core, listed, hint);
    if (node && node->state == NODE_UNLISTED) {
        apply_introduction(core, node, listed);
    }
    if (!node && (listed->state < CLOUD_ENDING || launches_find(core, listed->launch))) {
        node = adopt(core, listed);
    }
    if (node && !node->is_head) {
        node->seen_in = core->listings;
        outdated_apply(core, node, listed);
        apply_cloud_show(core, node, listed->state);
    }
}

/* An instance that is missing from a complete listing, and would be shown by now, is terminated. */
static void apply_absence(struct core *core, int64_t asked_at)
{
    int64_t horizon = core->settings->times.horizon;
    for (uint32_t i = 0; i < core->node_end; i++) {
        struct node *node = &core->nodes[i];
        if (node->seen_in == core->listings || node->instance == INSTANCE_NONE || node->is_head ||
            node->state == NODE_UNLISTED) {
            continue;
        }
        if (asked_at >= node->created_at + horizon) {
            lose(core, node);
            node_move(core, node, NODE_GONE);
        }
    }
}

void apply_listing(struct core *core, const struct listing *listing)
{
    uint32_t hint = 0;
    core->listings++;
    for (size_t i = 0; i < listing->count; i++) {
        apply_listed(core, &listing->items[i], &hint);
    }
    if (!listing->is_complete) {
        return;
    }
    if (core->listed_at < core->trusted_from || !cloud_view_is_fresh(core)) {
        core->is_stirred = true; /* actions may have waited for it */
    }
    core->listed_at = listing->asked_at > core->listed_at ? listing->asked_at : core->listed_at;
    require(core->listed_at >= listing->asked_at, "the newest listing is kept");
    apply_absence(core, listing->asked_at);
    launches_settle_by_listing(core, listing->asked_at);
}

void apply_terminate_reply(struct core *core, const struct event *event)
{
    require(event->terminate_reply.outcome < OUTCOME_COUNT,
            "the outcome of the termination is valid");
    struct node *node = nodes_find(core, event->terminate_reply.instance);
    enum outcome outcome = event->terminate_reply.outcome;
    api_breaker_apply(core, outcome);
    if (!node || node->state != NODE_TERMINATING) {
        return;
    }
    if (outcome == OUTCOME_DONE) {
        node->cloud = node->cloud < CLOUD_ENDING ? CLOUD_ENDING : node->cloud;
        node_touch(core, node);
    } else if (outcome == OUTCOME_NOT_FOUND) {
        /* Right after a launch this means "not yet"; later no listing will show it either. */
        node->is_asked = false;
        node->until = core->now + core->settings->times.terminate_retry;
    } else {
        node->is_asked = false;
    }
}

void apply_setup_reply(struct core *core, const struct event *event)
{
    require(event->setup_reply.news < SETUP_NEWS_COUNT, "the setup report is valid");
    struct node *node = nodes_find(core, event->setup_reply.instance);
    if (!node || (node->state != NODE_BOOTING && node->state != NODE_SETTING_UP)) {
        return;
    }
    if (node->state == NODE_BOOTING) {
        node_move(core, node, NODE_SETTING_UP);
        node->is_asked = true;
    }
    if (event->setup_reply.news == SETUP_CONTACT && node->is_set_up) {
        node->is_set_up = false; /* the node is set up again, with the full deadline */
        node->since = core->now;
    }
    if (event->setup_reply.news == SETUP_DONE) {
        node->is_set_up = true;
        node->since = core->now; /* from here on the deadline for joining Ray applies */
        core->is_stirred = true;
    } else if (event->setup_reply.news != SETUP_CONTACT) {
        node->is_unused = event->setup_reply.is_unused;
        node_end(core, node, NODE_FAILED, (struct reason){.kind = REASON_SETUP_FAILED});
        node_strike(core, node);
        if (event->setup_reply.news == SETUP_BLOCKED) {
            node_pause_type(core, node);
        }
    }
}

void apply_notice(struct core *core, const struct event *event)
{
    struct node *node = nodes_find(core, event->notice.instance);
    if (!node || node->is_head || node->reason.kind == REASON_NOTICE) {
        return;
    }
    struct reason reason = {.kind = REASON_NOTICE, .limit = event->notice.until};
    offering_warn(core, node->offering);
    if (node->state == NODE_DRAINING) {
        node->reason = reason;
        node->is_asked = false;
    } else if (node_state_table[node->state].is_running ||
               node_state_table[node->state].is_pending) {
        node_end(core, node, NODE_DRAINING, reason);
    } else {
        return;
    }
    node->until = event->notice.until;
    node->is_drain_ours = false;
    core->is_stirred = true;
}
