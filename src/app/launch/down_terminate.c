/*
 * down_terminate.c: terminates instances until a listing proves that none is left.
 *
 *     list by uid -> look up the ids that only the journal knows -> terminate what is alive ->
 *     list again, until nothing is alive and every launch is accounted for
 */
#include "app/idle_stop.h"
#include "app/launch/down_internal.h"
#include "provider/expiry.h"
#include "provider/launch_token.h"

#include <string.h>

enum {
    PAUSE_FIRST_MS = 300,
    PAUSE_MOST_MS = 1500,
    AGAIN_MS = 30 * 1000,         /* repeat a request that had no effect */
    PATIENCE_MS = 15 * 60 * 1000, /* limit for instances that do not terminate */
};

static int64_t wall(const struct down *down)
{
    return clock_wall_ms(loop_clock(down->launch.session->loop));
}

static int64_t now_of(const struct down *down)
{
    return loop_now_ms(down->launch.session->loop);
}

/* ---- known instances ---- */

struct down_node *down_know(struct down *down, struct str id)
{
    for (size_t i = 0; i < down->node_count; i++) {
        if (str_eq(down->nodes[i].id, id)) {
            return &down->nodes[i];
        }
    }
    struct down_node *node = &ARENA_PUSH(down->launch.arena, down->nodes, down->node_count,
                                         down->node_capacity);
    *node = (struct down_node){.id = arena_str(down->launch.arena, id),
                               .ending = {.state = MACHINE_GONE, .asked_at = INT64_MIN}};
    return node;
}

static size_t count_heads(const struct down *down)
{
    size_t heads = 0;
    for (size_t i = 0; i < down->node_count; i++) {
        heads += down->nodes[i].ending.is_head && down->nodes[i].name.len > 0;
    }
    return heads;
}

static struct str down_terminate_name_for(struct down *down, bool is_head)
{
    struct arena *arena = down->launch.arena;
    if (!is_head) {
        return arena_printf(arena, "worker-%u", (unsigned)(++down->highest - HEAD_INSTANCE));
    }
    size_t heads = count_heads(down);
    return heads == 0 ? STR("head") : arena_printf(arena, "head-%zu", heads + 1);
}

/* Instances that were already terminated are not shown: this run did not terminate them. */
static void down_terminate_show(struct down *down, struct down_node *node,
                                const struct machine *machine)
{
    const struct launcher_hooks *hooks = &down->launch.setup->hooks;
    struct managed_node managed_node = {.machine = machine, .is_head = node->ending.is_head};
    struct node_view view;
    bool is_kept = node->ending.is_kept || (node->ending.is_head && down->rules.is_workers_only);
    if (!node->was_living || is_kept) {
        return;
    }
    launch_view(&down->launch, &managed_node, &down->round, &view);
    view.name = node->name;
    hooks->node(hooks->context, &view);
}

static void meet(struct down *down, const struct machine *machine)
{
    struct down_node *node = down_know(down, machine->id);
    uint64_t launch;
    node->ending.is_head = machine_is_head(machine);
    if (node->name.len == 0 || (node->ending.is_head && !node->is_seen)) {
        node->name = STR("");
        node->name = down_terminate_name_for(down, node->ending.is_head);
    }
    if (!node->is_seen) {
        node->is_seen = true;
        node->was_living = machine->state != MACHINE_GONE;
        node->ending.is_kept = down->kept && ending_keeps(down->launch.config, machine, down->kept);
    }
    if (launch_number_parse(machine_tag_value(machine, TAG_LAUNCH), &launch)) {
        node->launch = launch;
    }
    node->hidden_since_ms = 0;
    node->ending.state = machine->state;
    node->ending.market = machine->market;
    node->expires_at = expiry_at(machine_tag_value(machine, TAG_STOPPED), machine->launched_at);
    down_terminate_show(down, node, machine);
}

/* ---- the proof ---- */

static size_t down_terminate_seen_of(const struct down *down, uint64_t launch)
{
    size_t seen = 0;
    for (size_t i = 0; i < down->node_count; i++) {
        seen += down->nodes[i].is_seen && down->nodes[i].launch == launch;
    }
    return seen;
}

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The wall clock time from which an empty listing is a proof. */
static int64_t trusted_at(const struct down *down)
{
    int64_t at = ending_others_trusted_at(down->others, down->others_until_ms, &down->times,
                                          down->taken_at_ms);
    for (size_t i = 0; i < down->launch_count; i++) {
        const struct ending_launch *launch = &down->launches[i];
        at = later_of(at,
                      ending_launch_trusted_at(launch, down_terminate_seen_of(down, launch->launch),
                                               &down->times, down->taken_at_ms));
    }
    for (size_t i = 0; i < down->node_count; i++) {
        const struct down_node *node = &down->nodes[i];
        if (!node->is_seen && node->launched_ms > 0) { /* it exists but is not listed yet */
            /* After the clock was set back, wait no longer than for a new launch. */
            int64_t from = node->launched_ms < down->taken_at_ms ? node->launched_ms
                                                                 : down->taken_at_ms;
            at = later_of(at, from + down->times.horizon);
        }
    }
    return at;
}

/* ---- one round ---- */

static void down_terminate_on_again(void *context)
{
    down_look(context);
}

static void down_terminate_inspect_later(struct down *down, int64_t pause_ms)
{
    loop_timer_start(down->again, pause_ms);
}

static void pause_and_look(struct down *down)
{
    down->pause_ms = down->pause_ms == 0 ? PAUSE_FIRST_MS : down->pause_ms * 3 / 2;
    down->pause_ms = down->pause_ms < PAUSE_MOST_MS ? down->pause_ms : PAUSE_MOST_MS;
    down_terminate_inspect_later(down, down->pause_ms);
}

static void wait_for_proof(struct down *down, int64_t at)
{
    enum { CLOCK_FROM = 11, CLOCK_TO = 19 }; /* in "2026-11-15T08:15:56.123Z" */
    AUTO_BUF struct buf text;
    buf_init(&text, 64);
    clock_add_utc(&text, at);
    if (!down->is_waiting_told) {
        down->is_waiting_told = true;
        launch_note(
            &down->launch,
            "the cloud lists no more instances, but an instance that was launched a moment ago may "
            "be listed late; the last check is at %.*s UTC",
            STR_ARG(str_sub(buf_str(&text), CLOCK_FROM, CLOCK_TO)));
    }
    down_terminate_inspect_later(
        down, at - down->asked_at_ms > PAUSE_MOST_MS ? PAUSE_MOST_MS : at - down->asked_at_ms + 1);
}

struct down_terminate_batch {
    struct str *ids;
    size_t count;
};

static struct down_terminate_batch down_terminate_gather(struct down *down, enum ending_deed deed)
{
    struct down_terminate_batch batch = {
        ARENA_ARRAY(&down->round, down->node_count + 1, struct str), 0};
    for (size_t i = 0; i < down->node_count; i++) {
        struct down_node *node = &down->nodes[i];
        if (node->is_seen && ending_deed(&node->ending, &down->rules, now_of(down)) == deed &&
            !(down->is_one_by_one && batch.count == 1)) {
            batch.ids[batch.count++] = node->id;
        }
    }
    return batch;
}

static bool is_certain_refusal(enum outcome outcome)
{
    return outcome != OUTCOME_DONE && outcome != OUTCOME_NOT_FOUND && outcome != OUTCOME_UNKNOWN &&
           outcome != OUTCOME_THROTTLED;
}

static void down_terminate_on_ended(void *context, const struct provider_answer *answer)
{
    struct down *down = context;
    size_t count = 0;
    struct down_node *last = NULL;
    bool is_refused = is_certain_refusal(answer->outcome);
    for (size_t i = 0; i < down->node_count; i++) {
        if (down->nodes[i].is_asked) {
            last = &down->nodes[i];
            last->is_asked = false;
            last->ending.asked_at = is_refused ? INT64_MIN : now_of(down);
            count++;
        }
    }
    if (down->is_over) {
        return;
    }
    if (is_refused && count == 1) {
        last->ending.is_refused = true;
        last->refusal = arena_str(down->launch.arena, str_from(answer->err.text));
    } else if (is_refused) {
        /* EC2 applies a call to all instances or none: one may block the others. */
        down->is_one_by_one = true;
    } else if (answer->outcome != OUTCOME_DONE && answer->outcome != OUTCOME_NOT_FOUND) {
        launch_note(&down->launch, "not terminated yet, trying again: %s", answer->err.text);
        for (size_t i = 0; i < down->node_count; i++) {
            down->nodes[i].ending.asked_at = INT64_MIN;
        }
        pause_and_look(down);
        return;
    }
    down_terminate_inspect_later(down, is_refused ? 0 : PAUSE_FIRST_MS);
}

static void down_terminate_on_noted(void *context, const struct provider_answer *answer)
{
    struct down *down = context;
    struct provider *provider = down->launch.provider;
    if (down->is_over) {
        return;
    }
    if (answer->outcome != OUTCOME_DONE) {
        launch_note(&down->launch,
                    "cannot record the time of this stop, so idle_terminate does not apply: %s",
                    answer->err.text);
    }
    provider->ops->stop(provider, down->stopping, down->stopping_count, down_terminate_on_ended,
                        down);
}

/* With idle_terminate, the instances get a tag that says when they were stopped. */
static void down_terminate_stop(struct down *down, const struct down_terminate_batch *batch)
{
    struct provider *provider = down->launch.provider;
    int64_t limit = idle_terminate_after(down->launch.config->shoal);
    if (limit == 0) {
        provider->ops->stop(provider, batch->ids, batch->count, down_terminate_on_ended, down);
        return;
    }
    struct machine_tag tag = {STR(TAG_STOPPED),
                              expiry_text(wall(down) / 1000, limit, &down->round)};
    down->stopping = batch->ids;
    down->stopping_count = batch->count;
    provider->ops->tag(provider, batch->ids, batch->count, &tag, 1, down_terminate_on_noted, down);
}

static bool down_terminate_act(struct down *down)
{
    const struct provider_ops *ops = down->launch.provider->ops;
    struct down_terminate_batch batch = down_terminate_gather(down, ENDING_TERMINATE);
    bool is_stop = batch.count == 0;
    if (is_stop) {
        batch = down_terminate_gather(down, ENDING_STOP);
    }
    if (batch.count == 0) {
        return false;
    }
    for (size_t i = 0; i < batch.count; i++) {
        down_know(down, batch.ids[i])->is_asked = true;
    }
    if (is_stop) {
        down_terminate_stop(down, &batch);
    } else {
        ops->terminate(down->launch.provider, batch.ids, batch.count, down_terminate_on_ended,
                       down);
    }
    return true;
}

static void down_terminate_give_up(struct down *down)
{
    for (size_t i = 0; i < down->node_count; i++) {
        struct down_node *node = &down->nodes[i];
        if (!ending_is_over(&node->ending, &down->rules) && !node->ending.is_refused) {
            node->ending.is_refused = true;
            node->refusal = STR("still not terminated after 15 minutes");
        }
    }
    down_refused(down);
}

/* Checked again by each listing: the cluster may have been started since it was listed as
 * expired. */
static bool down_terminate_is_in_use(const struct down *down)
{
    for (size_t i = 0; i < down->node_count; i++) {
        const struct down_node *node = &down->nodes[i];
        enum machine_state state = node->ending.state;
        bool is_fresh = state == MACHINE_STOPPED && node->ending.is_head &&
                        (node->expires_at == EXPIRY_NEVER || node->expires_at > wall(down) / 1000);
        if (node->is_seen && (state <= MACHINE_STOPPING || is_fresh)) {
            return true;
        }
    }
    return false;
}

static void down_terminate_evaluate(struct down *down)
{
    size_t waiting = 0;
    size_t refused = 0;
    for (size_t i = 0; i < down->node_count; i++) {
        const struct down_node *node = &down->nodes[i];
        bool is_over = ending_is_over(&node->ending, &down->rules);
        refused += node->ending.is_refused && !is_over;
        waiting += !is_over && !node->ending.is_refused;
    }
    if (down->launch.setup->is_leftover && waiting > 0) {
        struct err err;
        err_set(&err, ERR_EXISTS, "cluster %.*s has instances again; nothing was deleted",
                STR_ARG(down->launch.config->cluster_name));
        down_fail(down, &err);
        return;
    }
    if (down->launch.setup->is_expired && down_terminate_is_in_use(down)) {
        struct err err;
        err_set(&err, ERR_EXISTS,
                "cluster %.*s is in use again, or was stopped again; nothing was deleted",
                STR_ARG(down->launch.config->cluster_name));
        down_fail(down, &err);
        return;
    }
    if (down_terminate_act(down)) {
        return;
    }
    if (waiting > 0 && now_of(down) >= down->give_up_at) {
        down_terminate_give_up(down);
    } else if (waiting > 0) {
        pause_and_look(down);
    } else if (refused > 0) {
        down_refused(down);
    } else if (down->asked_at_ms < trusted_at(down)) {
        wait_for_proof(down, trusted_at(down));
    } else {
        down_proven(down);
    }
}

/* EC2 forgets a terminated instance after a while. An instance that was neither listed nor found by
 * its id for the whole horizon is terminated. */
static void forget_hidden(struct down *down)
{
    for (size_t i = 0; i < down->node_count; i++) {
        struct down_node *node = &down->nodes[i];
        if (node->hidden_since_ms > 0 &&
            down->asked_at_ms - node->hidden_since_ms >= down->times.horizon) {
            node->ending.state = MACHINE_GONE;
        }
    }
}

static void on_looked_up(void *context, const struct provider_answer *answer,
                         const struct machine *machines, size_t count)
{
    struct down *down = context;
    if (answer->outcome != OUTCOME_DONE) {
        down_fail(down, &answer->err);
        return;
    }
    for (size_t i = 0; i < down->node_count; i++) {
        struct down_node *node = &down->nodes[i];
        bool is_hidden = !node->is_listed && node->is_seen;
        node->hidden_since_ms = !is_hidden                   ? 0
                                : node->hidden_since_ms == 0 ? down->asked_at_ms
                                                             : node->hidden_since_ms;
    }
    for (size_t i = 0; i < count; i++) {
        if (str_eq(machine_tag_value(&machines[i], TAG_CLUSTER_UID), down->uid)) {
            meet(down, &machines[i]);
        }
    }
    forget_hidden(down);
    down_terminate_evaluate(down);
}

/* Looks up, by id, instances that the listing omits and that may still be alive. */
static void look_up(struct down *down)
{
    struct str *ids = ARENA_ARRAY(&down->round, down->node_count + 1, struct str);
    size_t count = 0;
    for (size_t i = 0; i < down->node_count; i++) {
        const struct down_node *node = &down->nodes[i];
        if (!node->is_listed && (!node->is_seen || node->ending.state != MACHINE_GONE)) {
            ids[count++] = node->id;
        }
    }
    if (count == 0) {
        down_terminate_evaluate(down);
        return;
    }
    struct machine_query query = {ids, count};
    down->launch.provider->ops->list_by(down->launch.provider, &query, on_looked_up, down);
}

static void down_terminate_on_listed(void *context, const struct provider_answer *answer,
                                     const struct machine *machines, size_t count)
{
    struct down *down = context;
    if (answer->outcome != OUTCOME_DONE) {
        down_fail(down, &answer->err);
        return;
    }
    for (size_t i = 0; i < down->node_count; i++) {
        down->nodes[i].is_listed = false;
    }
    for (size_t i = 0; i < count; i++) {
        meet(down, &machines[i]);
        down_know(down, machines[i].id)->is_listed = true;
    }
    look_up(down);
}

void down_look(struct down *down)
{
    struct loop *loop = down->launch.session->loop;
    if (down->is_over) {
        return;
    }
    if (!down->again) {
        down->again = loop_timer_new(loop, down_terminate_on_again, down);
        down->give_up_at = now_of(down) + PATIENCE_MS;
        down->rules.again_ms = AGAIN_MS;
    }
    arena_clear(&down->round);
    arena_init(&down->round);
    down->asked_at_ms = wall(down);
    down->launch.provider->ops->list(down->launch.provider, down_terminate_on_listed, down);
}
