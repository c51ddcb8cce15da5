/* head_launch.c: written down, called, and called again elsewhere when there was no room. */
#include "app/launch/head_launch.h"

#include "app/control/launch_compose.h"
#include "app/launch/launch_parts.h"
#include "io/heap.h"

enum { RETRY_MS = 1000, UNKNOWN_TRIES = 5 };

struct head_launch {
    struct head_launch_setup setup;
    struct arena arena;
    struct loop_task begin;
    struct loop_timer *again;
    uint64_t launch;  /* that is being made */
    struct str call;  /* its bytes */
    uint32_t attempt; /* how many of this epoch were made before */
    size_t offering;  /* that is tried */
    int tries;        /* of one launch whose answer is not known */
    bool was_written; /* by an earlier run: its machines may be gone */
};

static void end_with(struct head_launch *head, const struct machine *machine, const struct err *err)
{
    head->setup.done(head->setup.context, machine, head->launch, err);
}

/* ---- what earlier runs have written down ---- */

static void take_written(void *context, const struct journal_intent *intent)
{
    struct head_launch *head = context;
    if (launch_is_cores(intent->launch)) {
        return;
    }
    if (intent->launch >> 32 == head->setup.epoch) {
        head->attempt = HEAD_LAUNCH_ATTEMPT(intent->launch) + 1;
    }
    if (!intent->is_settled) {
        head->launch = intent->launch;
        head->call = arena_str(&head->arena, intent->call);
        head->was_written = true;
    }
}

/* ---- a new one ---- */

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
        .wall_ms = clock_wall_ms(loop_clock(head->setup.loop)),
    };
    struct journal *journal = head->setup.journal;
    return journal_begin(journal, err) &&
           journal_end(journal, journal_intend(journal, &intent, err), err);
}

static bool compose(struct head_launch *head, const struct offering *offering, struct err *err)
{
    const struct head_launch_setup *setup = &head->setup;
    struct str token;
    head->launch = HEAD_LAUNCH(setup->epoch, head->attempt++);
    head->was_written = false;
    head->tries = 0;
    const struct launch_wish wish = {
        .config = setup->config,
        .type = setup->config->head_type,
        .uid = setup->uid,
        .secret = setup->secret,
        .launch = head->launch,
        .zone = names_text(&setup->core->names, offering->zone),
        .market = offering->market,
        .count = 1,
        .is_head = true,
    };
    return launch_compose(&wish, setup->provider, &head->arena, &token, &head->call, err) &&
           write_down(head, token, err);
}

static void call(struct head_launch *head);

static void launch_anew(struct head_launch *head)
{
    struct err err;
    const struct offering *offering = next_offering(head);
    if (!offering) {
        err_set(&err, ERR_CAPACITY, "no zone is left for the head");
        end_with(head, NULL, &err);
    } else if (!compose(head, offering, &err)) {
        end_with(head, NULL, &err);
    } else {
        call(head);
    }
}

/* ---- the answer ---- */

static void settle(struct head_launch *head, enum outcome outcome)
{
    struct err err;
    struct journal *journal = head->setup.journal;
    bool ok = journal_begin(journal, &err) &&
              journal_end(journal, journal_settle(journal, head->launch, outcome, &err), &err);
    (void)ok; /* else it stays open and is asked for again by the next run */
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

static void on_again(void *context)
{
    call(context);
}

static bool has_other_place(struct head_launch *head, enum outcome outcome)
{
    if (outcome != OUTCOME_CAPACITY) {
        return false;
    }
    head->offering++;
    return next_offering(head) != NULL;
}

static void on_launched(void *context, const struct provider_answer *answer,
                        const struct machine *machines, size_t count)
{
    struct head_launch *head = context;
    const struct machine *machine = living(machines, count);
    enum outcome outcome = answer->outcome;
    if (outcome == OUTCOME_UNKNOWN || outcome == OUTCOME_THROTTLED) {
        if (++head->tries < UNKNOWN_TRIES) {
            loop_timer_start(head->again, RETRY_MS * head->tries);
        } else {
            end_with(head, NULL, &answer->err); /* it stays open: the next run asks again */
        }
        return;
    }
    settle(head, outcome);
    if (outcome == OUTCOME_DONE && machine) {
        end_with(head, machine, NULL);
    } else if (outcome == OUTCOME_DONE || head->was_written || has_other_place(head, outcome)) {
        launch_anew(head); /* that of an earlier run has ended, or there was no room */
    } else {
        end_with(head, NULL, &answer->err);
    }
}

static void call(struct head_launch *head)
{
    failpoint("up:after-head-intent");
    head->setup.provider->ops->launch(head->setup.provider, head->call, on_launched, head);
}

static void on_begin(void *context)
{
    struct head_launch *head = context;
    struct err err;
    if (!journal_intents(head->setup.journal, take_written, head, &err)) {
        end_with(head, NULL, &err);
    } else if (head->was_written) {
        call(head);
    } else {
        launch_anew(head);
    }
}

struct head_launch *head_launch_start(const struct head_launch_setup *setup)
{
    struct head_launch *head = HEAP_NEW(struct head_launch);
    head->setup = *setup;
    head->begin = (struct loop_task){.run = on_begin, .context = head};
    head->again = loop_timer_new(setup->loop, on_again, head);
    arena_init(&head->arena);
    loop_later(setup->loop, &head->begin);
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
