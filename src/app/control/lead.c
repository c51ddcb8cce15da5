/*
 * lead.c: who may act: the lease is taken, renewed in time, noticed when it is lost.
 *
 * The end that the core is told is counted from before the call by this machine's own clock, so it
 * never lies behind the cloud's, however wrong the wall clock is.
 */
#include "app/control/controller_parts.h"

static void take(struct controller *controller);

static void start_timer(struct controller *controller, int64_t wait_ms)
{
    controller->is_lease_waiting = true;
    loop_timer_start(controller->lease_timer, wait_ms);
}

static void retry(struct controller *controller)
{
    start_timer(controller, controller->lease_retry_ms);
    int64_t longer = controller->lease_retry_ms * 3 / 2;
    controller->lease_retry_ms = longer < RETRY_MOST_MS ? longer : RETRY_MOST_MS;
}

static void keep_lease(struct controller *controller, const struct cluster_lease *lease)
{
    struct cluster_lease copy = *lease; /* may be our own */
    struct arena memory;
    arena_init(&memory);
    copy.uid = arena_str(&memory, lease->uid);
    copy.holder = arena_str(&memory, lease->holder);
    copy.anchor = arena_str(&memory, lease->anchor);
    copy.account = arena_str(&memory, lease->account);
    arena_clear(&controller->lease_memory);
    controller->lease_memory = memory;
    controller->lease = copy;
}

static void tell_lease(struct controller *controller, int64_t asked_at)
{
    controller->confirmed_at = asked_at >= controller->doubted_at ? asked_at : -CONFIRM_MS;
    struct event event = controller_event(controller, EVENT_LEASE);
    event.lease.epoch = controller->lease.epoch;
    event.lease.until = asked_at > 0 ? asked_at + LEASE_MS - LEASE_MARGIN_MS : 0;
    controller_tell(controller, &event);
}

static void begin(struct controller *controller, int64_t asked_at)
{
    struct event event = controller_event(controller, EVENT_START);
    controller->is_playing = true;
    controller_tell(controller, &event);
    event = controller_event(controller, EVENT_GOAL);
    event.goal = controller->setup.goal;
    controller_tell(controller, &event);
    bool ok = records_play(controller);
    controller->is_playing = false;
    if (!ok) {
        return; /* what cannot be read cannot be acted on; trouble was told */
    }
    tell_lease(controller, asked_at);
    event = controller_event(controller, EVENT_RECORDS_END);
    event.records.reign = controller->reign;
    event.records.since = controller->reign_since;
    controller_tell(controller, &event);
    controller->has_started = true;
    look_now(controller);
    /* With a key it is the laptop's, which launches the head in any case. */
    bool is_laptop = controller->setup.goal == GOAL_RUN && controller->setup.public_key.len > 0;
    if (is_laptop || controller->is_prepare_wanted) {
        launching_prepare(controller);
    }
}

static void depose(struct controller *controller, const struct cluster_lease *lease)
{
    lead_stop(controller);
    news_deposed(controller, lease);
}

/* Before the start somebody else may have it and give it back, or not renew it. */
static void refused(struct controller *controller, const struct provider_answer *answer,
                    const struct cluster_lease *lease)
{
    if (controller->has_started) {
        depose(controller, lease);
        return;
    }
    bool was_tried = lease && controller->take_from == lease->epoch;
    if (lease && !was_tried && records_know_holder(controller, lease->holder) &&
        records_lease(controller, lease)) {
        controller->take_from = lease->epoch;
        take(controller);
        return;
    }
    if (controller->setup.gives_way) {
        depose(controller, lease);
        return;
    }
    if (lease && controller->refused_by != lease->epoch) {
        controller->refused_by = lease->epoch;
        controller->refused_at = controller_now(controller);
        news_trouble(controller, answer, "the cluster is held by %.*s", STR_ARG(lease->holder));
    }
    bool is_new = controller_now(controller) < controller->refused_at + HANDOVER_MS;
    start_timer(controller, is_new ? HANDOVER_TRY_MS : WAITING_TRY_MS);
}

static void on_take(void *context, const struct provider_answer *answer,
                    const struct cluster_lease *lease)
{
    struct call *call = context;
    int64_t asked_at = call->asked_at;
    struct controller *controller = call_end(call);
    if (!controller || controller->is_over) {
        return;
    }
    controller->is_handed_over = false;
    if (answer->outcome == OUTCOME_MISMATCH) {
        refused(controller, answer, lease);
        return;
    }
    if (answer->outcome != OUTCOME_DONE || !lease) {
        news_trouble(controller, answer, "taking the cluster: %s", answer->err.text);
        retry(controller);
        return;
    }
    if (controller->has_started && !str_eq(lease->uid, controller->lease.uid)) {
        depose(controller, lease); /* removed and made anew while we were away */
        return;
    }
    keep_lease(controller, lease);
    if (!records_lease(controller, &controller->lease)) {
        retry(controller);
        return;
    }
    controller->lease_retry_ms = RETRY_FIRST_MS;
    start_timer(controller, RENEW_MS);
    if (controller->has_started) {
        tell_lease(controller, asked_at);
        launching_go_on(controller);
    } else {
        begin(controller, asked_at);
    }
}

/* Who plays a journal in which the lease stands that was handed over has had none since. */
static bool is_handed_over(struct controller *controller)
{
    uint64_t epoch = 0;
    struct err err;
    return controller->is_handed_over &&
           journal_get_number(controller->journal, "epoch", &epoch, &err) &&
           epoch == controller->take_from;
}

static bool is_known(struct controller *controller)
{
    struct str uid = STR("");
    struct err err;
    return !journal_get(controller->journal, "uid", &controller->scratch, &uid, &err) ||
           uid.len > 0;
}

static void take(struct controller *controller)
{
    const struct controller_setup *setup = &controller->setup;
    bool is_handed = is_handed_over(controller);
    const struct take_request request = {
        .holder = setup->holder,
        .lease_ms = LEASE_MS,
        .from = controller->take_from,
        .uid = is_handed ? setup->uid : STR(""),
        .anchor = is_handed ? setup->anchor : STR(""),
        .is_new = setup->goal == GOAL_RUN && !is_known(controller),
    };
    struct call *call = call_begin(controller);
    controller->provider->ops->take(controller->provider, &request, on_take, call);
}

static void on_renew(void *context, const struct provider_answer *answer,
                     const struct cluster_lease *lease)
{
    struct call *call = context;
    int64_t asked_at = call->asked_at;
    struct controller *controller = call_end(call);
    if (!controller || controller->is_over) {
        return;
    }
    if (answer->outcome == OUTCOME_DONE) {
        if (lease) {
            keep_lease(controller, lease);
        }
        controller->lease_retry_ms = RETRY_FIRST_MS;
        start_timer(controller, RENEW_MS);
        tell_lease(controller, asked_at);
        launching_go_on(controller);
    } else if (answer->outcome == OUTCOME_MISMATCH &&
               (lease || answer->err.kind == ERR_NOT_FOUND)) {
        depose(controller, lease); /* taken, or the cluster was removed: it must not be made anew */
    } else if (answer->outcome == OUTCOME_MISMATCH) {
        controller->take_from = 0; /* it ran out; perhaps nobody has taken it yet */
        take(controller);
    } else {
        news_trouble(controller, answer, "renewing the lease: %s", answer->err.text);
        launching_decline(controller);
        retry(controller);
    }
}

/* Taken already: renewed. Not yet: tried again. */
static void on_timer(void *context)
{
    struct controller *controller = context;
    controller->is_lease_waiting = false;
    if (!controller->has_started) {
        lead_start(controller);
        return;
    }
    struct call *call = call_begin(controller);
    controller->provider->ops->renew(controller->provider, LEASE_MS, on_renew, call);
}

bool lead_is_sure(const struct controller *controller)
{
    return controller_now(controller) < controller->confirmed_at + CONFIRM_MS;
}

void lead_doubt(struct controller *controller)
{
    controller->confirmed_at = -CONFIRM_MS;
    controller->doubted_at = controller_now(controller);
    controller_renew(controller);
}

/* Unless a call about it is under way: then there is no need. */
void controller_renew(struct controller *controller)
{
    if (!controller->is_over && controller->is_lease_waiting) {
        start_timer(controller, 0);
    }
}

void lead_init(struct controller *controller)
{
    arena_init(&controller->lease_memory);
    controller->lease_retry_ms = RETRY_FIRST_MS;
    controller->take_from = controller->setup.take_from;
    controller->is_handed_over = controller->setup.anchor.len > 0;
    controller->lease_timer = loop_timer_new(controller->loop, on_timer, controller);
}

void lead_start(struct controller *controller)
{
    if (records_add_holder(controller)) {
        take(controller);
    } else {
        retry(controller);
    }
}

void lead_stop(struct controller *controller)
{
    controller->is_over = true;
    loop_timer_stop(controller->lease_timer);
    loop_timer_stop(controller->listing_timer);
    launching_decline(controller);
    if (controller->has_started) {
        tell_lease(controller, 0);
    }
}

static void on_release(void *context, const struct provider_answer *answer)
{
    struct controller *controller = call_end(context);
    if (controller) {
        controller->released(controller->released_context, answer);
    }
}

void controller_stand_down(struct controller *controller)
{
    lead_stop(controller);
    tags_flush(controller);
}

void controller_release(struct controller *controller, provider_done_fn *done, void *context)
{
    controller_stand_down(controller);
    controller->released = done;
    controller->released_context = context;
    controller->provider->ops->release(controller->provider, on_release, call_begin(controller));
}

const struct cluster_lease *controller_lease(const struct controller *controller)
{
    return &controller->lease;
}
