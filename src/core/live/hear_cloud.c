/* hear_cloud.c: what listings, answers and notices of the cloud mean for the nodes. */
#include "core/live/state.h"

/* An instance of ours that we did not know: from a lost answer, or from another controller. */
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
    struct breaker *warning = &core->offering_warnings[offering];
    if (core->now > warning->cool_until + times->cool_most) {
        breaker_succeed(warning); /* it went well for long */
    }
    breaker_refuse(warning, core->now, times->cool_first, times->cool_most, &core->dice);
}

/* The cloud ends it without our asking: taken away, or ended by hand. */
static void lose(struct core *core, struct node *node)
{
    if (node->state != NODE_TERMINATING) {
        if (core->settings->offerings[node->offering].market == MARKET_SPOT) {
            offering_warn(core, node->offering);
        }
        node_end(core, node, NODE_TERMINATING, (struct reason){.kind = REASON_CLOUD_ENDED});
    }
}

static void show(struct core *core, struct node *node, enum cloud_state state)
{
    if (state > node->cloud) {
        node->cloud = (uint8_t)state;
        node_touch(core, node);
        core->is_stirred = true;
    }
    if (state == CLOUD_GONE) {
        lose(core, node);
        node_move(core, node, NODE_GONE);
    } else if (state == CLOUD_ENDING) {
        lose(core, node);
    } else if (state == CLOUD_RUNNING && node->state == NODE_LAUNCHING) {
        node_move(core, node, NODE_BOOTING);
    }
}

/* Ray told us about it first. */
static void introduce(struct core *core, struct node *node, const struct listed *listed)
{
    node->launch = listed->launch;
    node->offering = listed->offering;
    node->created_at = core->now;
    if (node->ray == RAY_ALIVE) {
        node->joined_at = core->now;
        node_move(core, node, node->idle_since == NOT_IDLE ? NODE_READY : NODE_IDLE);
    } else {
        node_move(core, node, NODE_LAUNCHING);
        if (node->ray == RAY_DRAINING) {
            hear_drain_of_others(core, node);
        }
    }
}

/* Listings come in the same order again and again: mostly it is the one behind the last. */
static struct node *find_listed(struct core *core, const struct listed *listed, uint32_t *hint)
{
    bool is_next = *hint < core->node_end && core->nodes[*hint].instance == listed->instance;
    struct node *node = is_next ? &core->nodes[*hint] : nodes_find(core, listed->instance);
    *hint = node ? nodes_position(core, node) + 1 : *hint;
    return node;
}

static void hear_listed(struct core *core, const struct listed *listed, uint32_t *hint)
{
    if (listed->offering >= core->settings->offering_count) {
        return; /* from a configuration that we do not have */
    }
    launches_note_number(core, listed->launch);
    struct node *node = find_listed(core, listed, hint);
    if (node && node->state == NODE_STRANGER) {
        introduce(core, node, listed);
    }
    if (!node && (listed->state < CLOUD_ENDING || launches_find(core, listed->launch))) {
        node = adopt(core, listed);
    }
    if (node && !node->is_head) {
        node->seen_in = core->listings;
        show(core, node, listed->state);
    }
}

/* Whatever a complete listing does not show, although it must by now, is gone. */
static void hear_absence(struct core *core, int64_t asked_at)
{
    int64_t horizon = BUG(core, absence_too_soon) ? 0 : core->settings->times.horizon;
    for (uint32_t i = 0; i < core->node_end; i++) {
        struct node *node = &core->nodes[i];
        if (node->seen_in == core->listings || node->instance == INSTANCE_NONE || node->is_head ||
            node->state == NODE_STRANGER) {
            continue;
        }
        if (asked_at >= node->created_at + horizon) {
            node_move(core, node, NODE_GONE);
        }
    }
}

void hear_listing(struct core *core, const struct listing *listing)
{
    uint32_t hint = 0;
    core->listings++;
    for (size_t i = 0; i < listing->count; i++) {
        hear_listed(core, &listing->items[i], &hint);
    }
    if (!listing->is_complete && !BUG(core, believes_cut_listing)) {
        return;
    }
    if (core->listed_at < core->trusted_from || !sight_of_cloud(core)) {
        core->is_stirred = true; /* it was missed */
    }
    core->listed_at = listing->asked_at > core->listed_at ? listing->asked_at : core->listed_at;
    hear_absence(core, listing->asked_at);
    launches_settle_by_listing(core, listing->asked_at);
}

void hear_terminate_reply(struct core *core, const struct event *event)
{
    struct node *node = nodes_find(core, event->terminate_reply.instance);
    enum outcome outcome = event->terminate_reply.outcome;
    trouble_hear(core, outcome);
    if (!node || node->state != NODE_TERMINATING) {
        return;
    }
    if (outcome == OUTCOME_DONE || (outcome == OUTCOME_UNKNOWN && BUG(core, hopes_it_ended))) {
        node->cloud = node->cloud < CLOUD_ENDING ? CLOUD_ENDING : node->cloud;
        node_touch(core, node);
    } else if (outcome == OUTCOME_NOT_FOUND) {
        /* Right after a launch it means "not yet"; later a listing will not show it either. */
        if (BUG(core, not_found_is_gone)) {
            node_move(core, node, NODE_GONE);
            return;
        }
        node->is_asked = false;
        node->until = core->now + core->settings->times.terminate_retry;
    } else {
        node->is_asked = false;
    }
}

void hear_setup_reply(struct core *core, const struct event *event)
{
    struct node *node = nodes_find(core, event->setup_reply.instance);
    if (!node || (node->state != NODE_BOOTING && node->state != NODE_SETTING_UP)) {
        return;
    }
    if (node->state == NODE_BOOTING) {
        node_move(core, node, NODE_SETTING_UP);
        node->is_asked = true;
    }
    if (event->setup_reply.news == SETUP_CONTACT && node->is_set_up) {
        node->is_set_up = false; /* it is set up again, and has all the time for that */
        node->since = core->now;
    }
    if (event->setup_reply.news == SETUP_DONE) {
        node->is_set_up = true;
        node->since = core->now; /* from here on it is Ray's turn */
        core->is_stirred = true;
    } else if (event->setup_reply.news == SETUP_FAILED) {
        node_end(core, node, NODE_FAILED, (struct reason){.kind = REASON_SETUP_FAILED});
        node_strike(core, node);
    }
}

void hear_notice(struct core *core, const struct event *event)
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
    } else if (life_table[node->state].is_running || life_table[node->state].is_pending) {
        node_end(core, node, NODE_DRAINING, reason);
    } else {
        return;
    }
    node->until = event->notice.until;
    node->is_drain_ours = false;
    core->is_stirred = true;
}
