/*
 * launches.c: from the wish for machines to the knowledge of which exist.
 *
 * The rule that everything here serves: a call whose answer was lost is repeated with the same
 * number until the answer is definite; when repeating is no longer safe, a complete listing that
 * was asked for late enough decides.
 */
#include "core/live/state.h"

#include <string.h>

struct launch *launches_find(struct core *core, uint64_t number)
{
    for (size_t i = 0; i < core->launch_count; i++) {
        if (core->launches[i].number == number) {
            return &core->launches[i];
        }
    }
    return NULL;
}

void launches_note_number(struct core *core, uint64_t number)
{
    core->last_launch = number > core->last_launch ? number : core->last_launch;
}

/* Numbers of different epochs differ, so controllers that do not know of each other never
 * ask for different things under one token. */
uint64_t launches_next_number(struct core *core)
{
    uint64_t first = core->epoch << 32;
    core->last_launch = (core->last_launch > first ? core->last_launch : first) + 1;
    return core->last_launch;
}

struct launch *launches_open(struct core *core, uint64_t number, uint32_t offering, int64_t count)
{
    struct launch *launch = &core->launches[core->launch_count++];
    launches_note_number(core, number);
    *launch = (struct launch){.number = number,
                              .offering = offering,
                              .requested = NO_NODE,
                              .count = count,
                              .first_at = core->now,
                              .sent_at = core->now};
    for (int64_t i = 0; i < count; i++) {
        struct node *node = nodes_add(core, INSTANCE_NONE);
        if (!node) {
            break; /* the table was made too small for what is recorded */
        }
        node->launch = number;
        node->offering = offering;
        node_move(core, node, NODE_REQUESTED);
        node->next = launch->requested;
        launch->requested = nodes_position(core, node);
    }
    return launch;
}

struct node *launches_bind(struct core *core, struct launch *launch, uint64_t instance)
{
    if (launch->requested == NO_NODE) {
        return NULL;
    }
    struct node *node = &core->nodes[launch->requested];
    launch->requested = node->next;
    node->next = NO_NODE;
    nodes_name(core, node, instance);
    node_move(core, node, NODE_LAUNCHING);
    node->created_at = core->now;
    return node;
}

/* Records that are still without an instance stand for machines that do not exist. */
void launches_close(struct core *core, struct launch *launch)
{
    while (launch->requested != NO_NODE) {
        struct node *node = &core->nodes[launch->requested];
        launch->requested = node->next;
        node_move(core, node, NODE_GONE);
    }
    *launch = core->launches[--core->launch_count];
}

void launches_freeze_all(struct core *core)
{
    for (size_t i = 0; i < core->launch_count; i++) {
        core->launches[i].is_frozen = true;
    }
}

/* The end of the records: what was sent, and when, is not known for sure. */
void launches_restore(struct core *core, uint64_t reign)
{
    for (size_t i = 0; i < core->launch_count; i++) {
        struct launch *launch = &core->launches[i];
        launch->is_asked = false;
        launch->sent_at = core->now;
        launch->unsure_until = core->now + core->settings->times.call_timeout;
        launch->is_frozen |= launch->number >> 32 < reign && !BUG(core, repeats_after_take_over);
    }
}

void launches_settle_by_listing(struct core *core, int64_t asked_at)
{
    const struct core_times *times = &core->settings->times;
    for (size_t i = core->launch_count; i > 0; i--) {
        struct launch *launch = &core->launches[i - 1];
        int64_t shows_by = launch->sent_at + times->call_timeout + times->horizon;
        if (launch->is_frozen && !launch->is_asked && asked_at >= shows_by) {
            launches_close(core, launch);
        }
    }
}

void launches_hear_launched(struct core *core, const struct event *event)
{
    struct node *node = nodes_find(core, event->launched.instance);
    if (node && node->state != NODE_STRANGER) {
        return; /* a listing was faster, or this is the answer to a repeated call */
    }
    struct launch *launch = launches_find(core, event->launched.launch);
    if (launch && !node) {
        launches_bind(core, launch, event->launched.instance);
    }
}

static void cool(struct core *core, uint32_t offering, enum outcome outcome)
{
    const struct core_times *times = &core->settings->times;
    int64_t first = outcome == OUTCOME_CAPACITY ? times->cool_first : times->cool_quota;
    if (!BUG(core, keeps_asking_refused)) {
        breaker_refuse(&core->offering_breakers[offering], core->now, first, times->cool_most,
                       &core->dice);
    }
}

static void finish(struct core *core, struct launch *launch)
{
    struct breaker *breaker = &core->offering_breakers[launch->offering];
    breaker_succeed(breaker);
    if (launch->requested != NO_NODE) {
        breaker_refuse(breaker, core->now, core->settings->times.cool_first,
                       core->settings->times.cool_most, &core->dice);
    }
    if (BUG(core, expects_the_rest) && launch->requested != NO_NODE) {
        *launch = core->launches[--core->launch_count];
        return;
    }
    launches_close(core, launch);
}

static void hear_reply(struct core *core, struct launch *launch, enum outcome outcome)
{
    bool is_unsure = core->now < launch->unsure_until && !BUG(core, forgets_older_calls);
    launch->is_asked = false;
    core->is_stirred = true;
    switch (outcome) {
    case OUTCOME_DONE:
        finish(core, launch);
        break;
    case OUTCOME_UNKNOWN:
    case OUTCOME_NOT_FOUND: /* not an answer to a launch; believe nothing */
        launch->unsure_until = launch->sent_at + core->settings->times.call_timeout;
        if (BUG(core, lost_answer_is_refusal)) {
            launches_close(core, launch);
        }
        break;
    case OUTCOME_THROTTLED:
        break;
    case OUTCOME_MISMATCH:
        core->is_fenced = true;
        launch->is_frozen = true;
        break;
    case OUTCOME_CAPACITY:
    case OUTCOME_QUOTA:
    case OUTCOME_DENIED:
    case OUTCOME_INVALID:
    case OUTCOME_COUNT:
        cool(core, launch->offering, outcome);
        if (is_unsure) {
            launch->retry_at = launch->unsure_until; /* an older call may still do something */
        } else {
            launches_close(core, launch);
        }
        break;
    }
}

void launches_hear_intent(struct core *core, const struct event *event)
{
    if (!launches_find(core, event->intent.launch) && core->launch_count < LAUNCH_CAPACITY &&
        event->intent.offering < core->settings->offering_count) {
        launches_open(core, event->intent.launch, event->intent.offering, event->intent.count);
    }
}

void launches_hear_reply(struct core *core, const struct event *event)
{
    struct launch *launch = launches_find(core, event->launch_reply.launch);
    trouble_hear(core, event->launch_reply.outcome);
    if (launch) {
        hear_reply(core, launch, event->launch_reply.outcome);
    }
}

static bool is_too_many(const struct core *core)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < core->node_end; i++) {
        count += node_counts(&core->nodes[i]);
    }
    return count > core->settings->max_workers;
}

static void repeat(struct core *core, struct launch *launch)
{
    struct reason reason = {.kind = REASON_REPEATED};
    struct action *action = actions_add(core, ACTION_LAUNCH, reason);
    if (!action) {
        return;
    }
    if (BUG(core, fresh_number_per_retry)) {
        launch->number = launches_next_number(core);
    }
    if (BUG(core, other_zone_per_retry)) {
        uint32_t next = (launch->offering + 1) % (uint32_t)core->settings->offering_count;
        const struct offering *offerings = core->settings->offerings;
        launch->offering = offerings[next].type == offerings[launch->offering].type
                               ? next
                               : launch->offering;
    }
    action->launch = launch->number;
    action->offering = launch->offering;
    action->count = launch->count;
    memcpy(action->count_by_cause, launch->count_by_cause, sizeof(action->count_by_cause));
    launch->is_asked = true;
    launch->sent_at = core->now;
    trouble_note_call(core);
}

/* Asks again for what was never answered, as long as that is safe. */
void launches_repeat(struct core *core)
{
    if (sight_launching(core) != STANCE_ACTING) {
        return;
    }
    bool is_over = core->launch_count > 0 && is_too_many(core);
    for (size_t i = 0; i < core->launch_count; i++) {
        struct launch *launch = &core->launches[i];
        if (launch->is_asked || launch->is_frozen || core->now < launch->retry_at) {
            continue;
        }
        bool is_forgotten = core->now - launch->first_at > core->settings->times.token_life;
        if (is_forgotten || is_over) {
            launch->is_frozen = true;
        } else if (!trouble_blocks(core)) {
            repeat(core, launch);
        }
    }
}
