/*
 * head_launch.c: launches the head: records the intent, sends the call, and retries in the next
 * zone if there is no capacity.
 */
#include "app/launch/head_launch.h"

#include "app/control/launch_request.h"
#include "app/launch/cluster_session.h"
#include "io/failpoint.h"
#include "io/xalloc.h"
#include "provider/launch_token.h"

enum {
    RETRY_MS = 1000,
    UNKNOWN_TRIES = 5,
    WAIT_MS = 100, /* interval of checks whether the head may be launched */
    LOOK_MS = 10 * 1000,
    STALE_MAX = 8,
    WAIT_TELL_MS = 3000, /* do not report shorter waits */
};

struct head_launch {
    struct head_launch_setup setup;
    struct arena arena;
    struct loop_task begin;
    struct loop_timer *again;
    uint64_t launch;  /* number of the current launch */
    struct str call;  /* the encoded call of the launch; empty if none */
    uint32_t attempt; /* launches already made with this epoch */
    size_t offering;  /* index of the offering being tried */
    int tries;        /* tries of one launch with an unknown outcome */
    /* Open launches from before another process held the lease; not repeated. */
    uint64_t stale[STALE_MAX];
    size_t stale_count;
    bool was_written; /* recorded by an earlier run: its machines may be terminated by now */
    int64_t asked_at_ms;
    int64_t unsure_until_ms; /* an earlier call may take effect until then; 0 if there is none */
    int64_t waits_since_ms;
    int64_t looked_at_ms;
    bool has_told_waiting;
};

static int64_t call_timeout(const struct head_launch *head)
{
    return head->setup.core->settings.times.call_timeout;
}

static void head_launch_end_with(struct head_launch *head, const struct machine *machine,
                                 const struct err *err)
{
    head->setup.done(head->setup.context, machine, head->launch, err);
}

/* ---- launches recorded by earlier runs ---- */

static void take_written(void *context, const struct journal_intent *intent)
{
    struct head_launch *head = context;
    if (launch_is_cores(intent->launch)) {
        return;
    }
    if (intent->launch >> 32 == head->setup.epoch) {
        head->attempt = HEAD_LAUNCH_ATTEMPT(intent->launch) + 1;
    }
    if (!intent->is_settled &&
        intent->launch >> 32 < controller_sole_writer_epoch(head->setup.controller)) {
        if (head->stale_count < STALE_MAX) { /* the next run handles the rest */
            head->stale[head->stale_count++] = intent->launch;
        }
    } else if (!intent->is_settled) {
        head->launch = intent->launch;
        head->call = arena_str(&head->arena, intent->call);
        head->was_written = true;
        head->unsure_until_ms = loop_now_ms(head->setup.loop) + call_timeout(head);
    }
}

/* ---- a new launch ---- */

static const struct offering *next_offering(struct head_launch *head)
{
    const struct core_settings *settings = &head->setup.core->settings;
    for (; head->offering < settings->offering_count; head->offering++) {
        if (settings->offerings[head->offering].type == settings->head_type) {
            return &settings->offerings[head->offering];
        }
    }
    return NULL;
}

static bool write_down(struct head_launch *head, struct str token, struct err *err)
{
    const struct journal_intent intent = {
        .launch = head->launch,
        .offering = (uint32_t)head->offering,
        .count = 1,
        .token = token,
        .call = head->call,
        .wall_ms = controller_time_ms(head->setup.controller),
    };
    struct journal *journal = head->setup.journal;
    return journal_begin(journal, err) &&
           journal_end(journal, journal_intend(journal, &intent, err), err);
}

static bool head_launch_compose(struct head_launch *head, const struct offering *offering,
                                struct err *err)
{
    const struct head_launch_setup *setup = &head->setup;
    struct str token;
    head->launch = HEAD_LAUNCH(setup->epoch, head->attempt++);
    head->was_written = false;
    head->tries = 0;
    head->unsure_until_ms = 0;
    const struct launch_spec spec = {
        .config = setup->config,
        .type = setup->config->head_type,
        .uid = setup->uid,
        .secret = setup->secret,
        .cluster_key = setup->cluster_key,
        .launch = head->launch,
        .zone = intern_text(&setup->core->names, offering->zone),
        .market = offering->market,
        .count = 1,
        .is_head = true,
    };
    return launch_request_make(&spec, setup->provider, &head->arena, &token, &head->call, err) &&
           write_down(head, token, err);
}

static void go(struct head_launch *head);

/* ---- the reply ---- */

static void head_launch_settle(struct head_launch *head, uint64_t launch, enum outcome outcome)
{
    struct err err;
    struct journal *journal = head->setup.journal;
    bool ok = journal_begin(journal, &err) &&
              journal_end(journal, journal_settle(journal, launch, outcome, &err), &err);
    (void)ok; /* on failure the launch stays open and the next run repeats it */
}

static const struct machine *living(const struct machine *machines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (machines[i].state < MACHINE_ENDING) {
            return &machines[i];
        }
    }
    return NULL;
}

static void head_launch_on_again(void *context)
{
    go(context);
}

static bool has_other_place(struct head_launch *head, enum outcome outcome)
{
    if (outcome != OUTCOME_CAPACITY) {
        return false;
    }
    head->offering++;
    return next_offering(head) != NULL;
}

static void head_launch_on_launched(void *context, const struct provider_answer *answer,
                                    const struct machine *machines, size_t count)
{
    struct head_launch *head = context;
    const struct machine *machine = living(machines, count);
    enum outcome outcome = answer->outcome;
    if (outcome == OUTCOME_NO_LEASE) {
        /* Nothing was sent. The controller checks whether the lease is still ours, and either lets
         * the launch continue or ends the run. */
        controller_renew(head->setup.controller);
        loop_timer_start(head->again, WAIT_MS);
        return;
    }
    if (outcome == OUTCOME_UNKNOWN) {
        head->unsure_until_ms = head->asked_at_ms + call_timeout(head);
    }
    if (outcome == OUTCOME_UNKNOWN || outcome == OUTCOME_THROTTLED) {
        if (++head->tries < UNKNOWN_TRIES) {
            loop_timer_start(head->again, RETRY_MS * head->tries);
        } else {
            head_launch_end_with(head, NULL,
                                 &answer->err); /* the launch stays open: the next run repeats it */
        }
        return;
    }
    int64_t unsure_ms = head->unsure_until_ms - loop_now_ms(head->setup.loop);
    if (outcome != OUTCOME_DONE && unsure_ms > 0) {
        /* This call was refused, but an earlier one may still take effect: do not try another zone
         * yet. */
        loop_timer_start(head->again, unsure_ms);
        return;
    }
    head_launch_settle(head, head->launch, outcome);
    if (outcome == OUTCOME_DONE && machine) {
        head_launch_end_with(head, machine, NULL);
    } else if (outcome == OUTCOME_DONE || head->was_written || has_other_place(head, outcome)) {
        /* The earlier run's machine is terminated, or there was no capacity. */
        head->call = STR("");
        go(head);
    } else {
        head_launch_end_with(head, NULL, &answer->err);
    }
}

/* A listing would show their machines by now, so these launches failed. */
static void settle_stale(struct head_launch *head)
{
    for (size_t i = 0; i < head->stale_count; i++) {
        head_launch_settle(head, head->stale[i], OUTCOME_NO_LEASE);
    }
    head->stale_count = 0;
}

static void call(struct head_launch *head)
{
    struct err err;
    settle_stale(head);
    if (head->call.len == 0) {
        const struct offering *offering = next_offering(head);
        bool ok = offering ? head_launch_compose(head, offering, &err)
                           : err_set(&err, ERR_CAPACITY,
                                     "no availability zone has capacity for the head");
        if (!ok) {
            head_launch_end_with(head, NULL, &err);
            return;
        }
    }
    failpoint("after-head-intent", NULL, NULL);
    head->asked_at_ms = loop_now_ms(head->setup.loop);
    head->setup.provider->ops->launch(head->setup.provider, head->call, head_launch_on_launched,
                                      head);
}

/* A process that held the lease before us launched a head, and only now a listing shows it. */
static bool head_launch_exists(struct head_launch *head)
{
    struct managed_node found;
    if (!controller_find(head->setup.controller, HEAD_INSTANCE, &found) || !found.machine ||
        found.machine->state >= MACHINE_STOPPING) {
        return false;
    }
    if (!launch_number_parse(machine_tag_value(found.machine, TAG_LAUNCH), &head->launch)) {
        head->launch = 0; /* unknown: the machine has no launch tag */
    }
    head_launch_end_with(head, found.machine, NULL);
    return true;
}

static void head_launch_wait(struct head_launch *head)
{
    int64_t now_ms = loop_now_ms(head->setup.loop);
    head->waits_since_ms = head->waits_since_ms > 0 ? head->waits_since_ms : now_ms;
    if (now_ms >= head->waits_since_ms + WAIT_TELL_MS && !head->has_told_waiting) {
        head->has_told_waiting = true;
        head->setup.waits(head->setup.context);
    }
    if (now_ms >= head->looked_at_ms + LOOK_MS) { /* permission to launch depends on a listing */
        head->looked_at_ms = now_ms;
        controller_refresh(head->setup.controller);
    }
    loop_timer_start(head->again, WAIT_MS);
}

/* Takes the next step as soon as the controller permits it. */
static void go(struct head_launch *head)
{
    if (head_launch_exists(head)) {
        return;
    }
    if (controller_may_launch(head->setup.controller)) {
        head->waits_since_ms = 0;
        call(head);
    } else {
        head_launch_wait(head);
    }
}

static void on_begin(void *context)
{
    struct head_launch *head = context;
    struct err err;
    if (!journal_intents(head->setup.journal, take_written, head, &err)) {
        head_launch_end_with(head, NULL, &err);
    } else {
        go(head);
    }
}

struct head_launch *head_launch_start(const struct head_launch_setup *setup)
{
    struct head_launch *head = HEAP_NEW(struct head_launch);
    head->setup = *setup;
    head->begin = (struct loop_task){.run = on_begin, .context = head};
    head->again = loop_timer_new(setup->loop, head_launch_on_again, head);
    arena_init(&head->arena);
    loop_defer(setup->loop, &head->begin);
    return head;
}

void head_launch_end(struct head_launch *head)
{
    if (head) {
        loop_later_cancel(head->setup.loop, &head->begin);
        loop_timer_free(head->again);
        arena_clear(&head->arena);
        free(head);
    }
}
