/*
 * lease.c: acquires, renews and releases the cluster lease, and notices its loss.
 *
 * The expiry given to the core is counted from before the call, on the loop's clock, which includes
 * suspended time. So it is never later than the cloud's, even with a wrong wall clock or after this
 * machine was suspended. The provider checks again before each creating call.
 */
#include "app/control/lease.h"

#include "app/control/controller_internal.h"
#include "base/require.h"

static void lease_do_take(struct controller *controller);

static void lease_start_timer(struct controller *controller, int64_t wait_ms)
{
    require(!controller->is_over, "a lease that is over is not renewed");
    require(wait_ms >= 0 && wait_ms <= LEASE_MS, "the next call is within the lease");
    controller->is_lease_waiting = true;
    loop_timer_start(controller->lease_timer, wait_ms);
}

static void retry(struct controller *controller)
{
    lease_start_timer(controller, controller->lease_retry_ms);
    int64_t longer = controller->lease_retry_ms * 3 / 2;
    controller->lease_retry_ms = longer < RETRY_MOST_MS ? longer : RETRY_MOST_MS;
    require(controller->lease_retry_ms >= RETRY_FIRST_MS, "delays grow from the first one");
}

static void lease_keep_lease(struct controller *controller, const struct cluster_lease *lease)
{
    struct cluster_lease copy = *lease; /* `lease` may point to controller->lease */
    struct arena memory;
    arena_init(&memory);
    copy.uid = arena_str(&memory, lease->uid);
    copy.holder = arena_str(&memory, lease->holder);
    copy.lease_object = arena_str(&memory, lease->lease_object);
    copy.account = arena_str(&memory, lease->account);
    arena_clear(&controller->lease_memory);
    controller->lease_memory = memory;
    controller->lease = copy;
}

/* A virtual machine that was paused may not count that time. Its wall clock is set afterwards. */
static int64_t lease_wall_ahead_ms(const struct controller *controller)
{
    return clock_wall_ms(loop_clock(controller->loop)) - controller_now(controller);
}

static void tell_lease(struct controller *controller, int64_t asked_at)
{
    controller->confirmed_ahead_ms = controller->asked_ahead_ms;
    controller->confirmed_at = asked_at >= controller->doubted_at ? asked_at : -CONFIRM_MS;
    struct event event = controller_event(controller, EVENT_LEASE);
    event.lease.epoch = controller->lease.epoch;
    event.lease.until = asked_at > 0 ? asked_at + LEASE_MS - LEASE_MARGIN_MS : 0;
    require(asked_at <= event.at, "the lease is confirmed by a call of the past");
    require(!controller->is_over || event.lease.until == 0, "a lease that is over stays over");
    controller_apply(controller, &event);
}

static void lease_begin(struct controller *controller, int64_t asked_at)
{
    struct event event = controller_event(controller, EVENT_START);
    require(!controller->has_started, "the controller starts once");
    require(!controller->is_replaying, "the journal is replayed once at a time");
    controller->is_replaying = true;
    controller_apply(controller, &event);
    event = controller_event(controller, EVENT_GOAL);
    event.goal = controller->setup.goal;
    controller_apply(controller, &event);
    bool ok = journaling_replay(&controller->journaling);
    controller->is_replaying = false;
    if (!ok) {
        return; /* the owner was warned; tried again with the next timer */
    }
    tell_lease(controller, asked_at);
    event = controller_event(controller, EVENT_RECORDS_END);
    event.records.sole_writer_epoch = controller->journaling.sole_writer_epoch;
    event.records.since = controller->journaling.sole_writer_since;
    controller_apply(controller, &event);
    controller->has_started = true;
    inventory_refresh(controller);
    /* Only the laptop has a public key, and it always launches the head. */
    bool is_laptop = controller->setup.goal == GOAL_RUN && controller->setup.public_key.len > 0;
    if (is_laptop || controller->is_prepare_wanted) {
        launching_prepare(controller);
    }
}

static void lease_stop(struct controller *controller)
{
    controller->is_over = true;
    loop_timer_stop(controller->lease_timer);
    loop_timer_stop(controller->listing_timer);
    launching_decline(controller);
    if (controller->has_started) {
        tell_lease(controller, 0);
    }
}

static void lease_handle_loss(struct controller *controller, const struct cluster_lease *lease)
{
    lease_stop(controller);
    notify_lease_lost(&controller->notifier, lease, NULL);
}

/* Before the start, the holder may still release the lease or let it expire. */
static void lease_refused(struct controller *controller, const struct provider_answer *answer,
                          const struct cluster_lease *lease)
{
    if (controller->has_started) {
        lease_handle_loss(controller, lease);
        return;
    }
    bool was_tried = lease && controller->take_from == lease->epoch;
    if (lease && !was_tried && journaling_knows_holder(&controller->journaling, lease->holder) &&
        journaling_accepts_uid(&controller->journaling, lease->uid) &&
        journaling_record_lease(&controller->journaling, lease)) {
        controller->take_from = lease->epoch;
        lease_do_take(controller);
        return;
    }
    if (controller->setup.fails_if_held) {
        lease_handle_loss(controller, lease);
        return;
    }
    if (lease && controller->refused_by != lease->epoch) {
        controller->refused_by = lease->epoch;
        controller->refused_at = controller_now(controller);
        notify_warning(&controller->notifier, answer, "the cluster lease is held by %.*s",
                       STR_ARG(lease->holder));
    }
    bool is_new = controller_now(controller) < controller->refused_at + HANDOVER_MS;
    lease_start_timer(controller, is_new ? HANDOVER_TRY_MS : WAITING_TRY_MS);
}

/* A missing permission does not appear while a command runs. */
static void not_taken(struct controller *controller, const struct provider_answer *answer)
{
    if (answer->outcome == OUTCOME_DENIED && controller->setup.fails_if_held) {
        lease_stop(controller);
        notify_lease_lost(&controller->notifier, NULL, &answer->err);
        return;
    }
    notify_warning(&controller->notifier, answer, "cannot acquire the cluster lease: %s",
                   answer->err.text);
    retry(controller);
}

static void lease_on_take(void *context, const struct provider_answer *answer,
                          const struct cluster_lease *lease)
{
    struct call *call = context;
    int64_t asked_at = call->asked_at;
    struct controller *controller = call_end(call);
    if (!controller || controller->is_over) {
        return;
    }
    require(!controller->is_lease_waiting, "one call about the lease at a time");
    controller->is_handed_over = false;
    if (answer->outcome == OUTCOME_MISMATCH) {
        lease_refused(controller, answer, lease);
        return;
    }
    if (answer->outcome == OUTCOME_NOT_FOUND) {
        lease_handle_loss(controller, NULL); /* a lease object that does not exist cannot be held */
        return;
    }
    if (answer->outcome != OUTCOME_DONE || !lease) {
        not_taken(controller, answer);
        return;
    }
    if (controller->has_started && !str_eq(lease->uid, controller->lease.uid)) {
        lease_handle_loss(controller, lease); /* deleted and created again */
        return;
    }
    if (!journaling_accepts_uid(&controller->journaling, lease->uid)) {
        lease_handle_loss(controller, NULL);
        return;
    }
    lease_keep_lease(controller, lease);
    if (!journaling_record_lease(&controller->journaling, &controller->lease)) {
        retry(controller);
        return;
    }
    controller->lease_retry_ms = RETRY_FIRST_MS;
    lease_start_timer(controller, RENEW_MS);
    if (controller->has_started) {
        tell_lease(controller, asked_at);
        launching_go_on(controller);
    } else {
        lease_begin(controller, asked_at);
    }
}

/* Valid only if no lease was taken since: the journal's last epoch is the one handed over. */
static bool is_handed_over(struct controller *controller)
{
    uint64_t epoch = 0;
    struct err err;
    return controller->is_handed_over &&
           journal_get_number(controller->journal, "epoch", &epoch, &err) &&
           epoch == controller->take_from;
}

/* Once started, a missing lease object is not created again: the cluster may have been deleted. */
static void lease_do_take(struct controller *controller)
{
    const struct controller_setup *setup = &controller->setup;
    require(!controller->is_over, "a lease that is over is not taken again");
    bool is_handed = is_handed_over(controller);
    struct provider_answer answer = {.outcome = OUTCOME_UNKNOWN};
    struct str uid;
    uint64_t epoch;
    if (!journal_get(controller->journal, "uid", &controller->scratch, &uid, &answer.err) ||
        !journal_get_number(controller->journal, "epoch", &epoch, &answer.err)) {
        notify_warning(&controller->notifier, &answer, "the journal cannot be read: %s",
                       answer.err.text);
        retry(controller);
        return;
    }
    const struct take_request request = {
        .holder = setup->holder,
        .lease_ms = LEASE_MS,
        .from = controller->take_from,
        .uid = is_handed ? setup->uid : STR(""),
        .lease_object = is_handed ? setup->lease_object : STR(""),
        .is_new = uid.len == 0,
        .key = setup->public_key,
        .may_create = !controller->has_started,
        .known_uid = uid,
        .known_epoch = epoch,
    };
    struct call *call = call_begin(&controller->calls);
    controller->asked_ahead_ms = lease_wall_ahead_ms(controller);
    controller->provider->ops->take(controller->provider, &request, lease_on_take, call);
}

/*
 * The lease expired before it could be renewed: this machine was suspended, or the cloud did not
 * answer. A command stops here because its state may be stale; the user runs it again. The head's
 * service takes the lease again if it is free.
 */
static void ran_out(struct controller *controller, const struct provider_answer *answer)
{
    if (controller->setup.fails_if_held) {
        notify_warning(&controller->notifier, answer, "%s", answer->err.text);
        lease_handle_loss(controller, NULL);
        return;
    }
    controller->take_from = 0;
    lease_do_take(controller);
}

static void lease_on_renew(void *context, const struct provider_answer *answer,
                           const struct cluster_lease *lease)
{
    struct call *call = context;
    int64_t asked_at = call->asked_at;
    struct controller *controller = call_end(call);
    if (!controller || controller->is_over) {
        return;
    }
    require(controller->has_started, "only a lease that was taken is renewed");
    require(!controller->is_lease_waiting, "one call about the lease at a time");
    if (answer->outcome == OUTCOME_DONE) {
        if (lease) {
            lease_keep_lease(controller, lease);
        }
        controller->lease_retry_ms = RETRY_FIRST_MS;
        lease_start_timer(controller, RENEW_MS);
        tell_lease(controller, asked_at);
        launching_go_on(controller);
        if (controller->heads.waits_to_end_head) {
            inventory_refresh(controller); /* the next one comes after the confirmation expires */
        }
    } else if (answer->outcome == OUTCOME_MISMATCH &&
               (lease || answer->err.kind == ERR_NOT_FOUND)) {
        lease_handle_loss(controller,
                          lease); /* lost, or the cluster was deleted and must not be recreated */
    } else if (answer->outcome == OUTCOME_MISMATCH) {
        ran_out(controller, answer);
    } else {
        notify_warning(&controller->notifier, answer, "cannot renew the lease: %s",
                       answer->err.text);
        launching_decline(controller);
        retry(controller);
    }
}

/* Renews the lease, or tries again to take it. */
static void lease_on_timer(void *context)
{
    struct controller *controller = context;
    require(controller->is_lease_waiting, "the timer was running");
    controller->is_lease_waiting = false;
    if (!controller->has_started) {
        lease_start(controller);
        return;
    }
    struct call *call = call_begin(&controller->calls);
    controller->asked_ahead_ms = lease_wall_ahead_ms(controller);
    controller->provider->ops->renew(controller->provider, LEASE_MS, lease_on_renew, call);
}

bool controller_may_launch(struct controller *controller)
{
    if (controller->is_over || controller->launching != PERMIT_OK) {
        return false;
    }
    if (!lease_is_confirmed(controller)) {
        controller_renew(controller);
        return false;
    }
    return true;
}

uint64_t controller_sole_writer_epoch(const struct controller *controller)
{
    return controller->journaling.sole_writer_epoch;
}

bool lease_is_confirmed(const struct controller *controller)
{
    int64_t jump_ms = lease_wall_ahead_ms(controller) - controller->confirmed_ahead_ms;
    return controller_now(controller) < controller->confirmed_at + CONFIRM_MS &&
           jump_ms < CLOCK_JUMP_MS && jump_ms > -CLOCK_JUMP_MS;
}

bool lease_is_over(const struct controller *controller)
{
    return controller->is_over;
}

void lease_recheck(struct controller *controller)
{
    controller->confirmed_at = -CONFIRM_MS;
    controller->doubted_at = controller_now(controller);
    require(!lease_is_confirmed(controller), "a doubted lease is not confirmed");
    controller_renew(controller);
}

/* Does nothing while a call about the lease is in flight. */
void controller_renew(struct controller *controller)
{
    if (!controller->is_over && controller->is_lease_waiting) {
        lease_start_timer(controller, 0);
    }
}

void lease_init(struct controller *controller)
{
    arena_init(&controller->lease_memory);
    controller->lease_retry_ms = RETRY_FIRST_MS;
    controller->take_from = controller->setup.take_from;
    controller->is_handed_over = controller->setup.lease_object.len > 0;
    controller->lease_timer = loop_timer_new(controller->loop, lease_on_timer, controller);
}

void lease_start(struct controller *controller)
{
    if (journaling_add_holder(&controller->journaling)) {
        lease_do_take(controller);
    } else {
        retry(controller);
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
    lease_stop(controller);
    tags_flush(&controller->tags);
}

void controller_release(struct controller *controller, provider_done_fn *done, void *context)
{
    controller_stand_down(controller);
    controller->released = done;
    controller->released_context = context;
    controller->provider->ops->release(controller->provider, on_release,
                                       call_begin(&controller->calls));
}

const struct cluster_lease *controller_lease(const struct controller *controller)
{
    return &controller->lease;
}
