/*
 * launching.c: prepares shared resources, then launches: journals, sends and handles the results.
 *
 * A retried launch sends the bytes that were journaled for it.
 */
#include "app/control/launching.h"

#include "app/control/controller_internal.h"
#include "app/control/launch_request.h"
#include "base/require.h"
#include "io/xalloc.h"
#include "provider/launch_token.h"

/* ---- preparation ---- */

static void tell_preparers(struct controller *controller, const struct provider_answer *answer,
                           const struct provider_resource *things, size_t count)
{
    struct preparer *preparers = controller->preparers;
    size_t preparer_count = controller->preparer_count;
    require(preparer_count <= controller->preparer_capacity, "those who wait are in their array");
    controller->preparers = NULL;
    controller->preparer_count = controller->preparer_capacity = 0;
    for (size_t i = 0; i < preparer_count; i++) {
        preparers[i].done(preparers[i].context, answer, things, count);
    }
    free(preparers);
}

void launching_decline(struct controller *controller)
{
    require(controller->held_count <= controller->held_capacity,
            "held launches are in their array");
    for (size_t i = 0; i < controller->held_count; i++) {
        controller_decline(controller, &controller->held[i]);
    }
    controller->held_count = 0;
}

static void prepare_failed(struct controller *controller, const struct provider_answer *answer,
                           const char *what)
{
    controller->preparing = PREPARING_NOT;
    notify_warning(&controller->notifier, answer, "%s: %s", what, answer->err.text);
    launching_decline(controller);
    tell_preparers(controller, answer, NULL, 0);
}

void launching_go_on(struct controller *controller)
{
    struct action *held = controller->held;
    size_t count = controller->held_count;
    controller->held = NULL;
    controller->held_count = controller->held_capacity = 0;
    if (count > 0) {
        launching_send(controller, held, count);
    }
    free(held);
}

static void on_prepare(void *context, const struct provider_answer *answer,
                       const struct provider_resource *things, size_t count)
{
    struct controller *controller = call_end(context);
    if (!controller) {
        return;
    }
    require(controller->preparing == PREPARING_REST, "resources were being prepared");
    if (answer->outcome != OUTCOME_DONE) {
        prepare_failed(controller, answer,
                       config_is_local(controller->setup.config) ? "cannot prepare the hosts"
                       : str_is(controller->setup.config->provider_type, "gcp")
                           ? "cannot prepare the firewall rules"
                           : "cannot prepare the key pair, security group and IAM role");
        return;
    }
    controller->preparing = PREPARING_DONE;
    launching_go_on(controller);
    tell_preparers(controller, answer, things, count); /* last: it may close the controller */
}

static void launching_do_prepare(struct controller *controller)
{
    require(controller->preparing == PREPARING_NOT, "one preparation at a time");
    require(controller->has_started, "resources get the uid that comes with the lease");
    require(controller->setup.is_surveyed, "the preflight comes before the preparation");
    controller->preparing = PREPARING_REST;
    controller->provider->ops->prepare(controller->provider, controller->setup.public_key,
                                       on_prepare, call_begin(&controller->calls));
}

/* The node type that a finding is about; SIZE_MAX: it is about the whole file. */
static size_t launching_type_of(const struct config *config, const struct finding *finding)
{
    struct str rest = finding->path;
    size_t found = SIZE_MAX;
    if (!str_starts(rest, "available_node_types.")) {
        return SIZE_MAX;
    }
    rest = str_sub(rest, strlen("available_node_types."), rest.len);
    for (size_t i = 0; i < config->node_type_count; i++) {
        struct str name = config->node_types[i].name; /* may contain a period */
        bool is_type = rest.len > name.len && rest.ptr[name.len] == '.' &&
                       str_eq(str_sub(rest, 0, name.len), name);
        if (is_type && (found == SIZE_MAX || name.len > config->node_types[found].name.len)) {
            found = i;
        }
    }
    return found;
}

/* An error about one node type stops only its launches. Returns the first error about the whole
 * file, or NULL. */
static const struct finding *launching_keep_errors(struct controller *controller,
                                                   const struct finding *findings, size_t count)
{
    const struct config *config = controller->setup.config;
    const struct finding *error = NULL;
    arena_clear(&controller->misfits_memory);
    controller->misfits = ARENA_ARRAY(&controller->misfits_memory, config->node_type_count,
                                      struct str);
    for (size_t i = 0; i < count; i++) {
        if (findings[i].level != FINDING_ERROR) {
            continue;
        }
        size_t type = launching_type_of(config, &findings[i]);
        if (type == SIZE_MAX) {
            error = error ? error : &findings[i];
        } else if (controller->misfits[type].len == 0) {
            controller->misfits[type] = arena_str(&controller->misfits_memory, findings[i].text);
        }
    }
    return error;
}

/* The next launch checks the account again. */
static bool launching_fits(struct controller *controller, size_t type, struct err *err)
{
    if (!controller->misfits || controller->misfits[type].len == 0) {
        return true;
    }
    if (controller->preparing == PREPARING_DONE) {
        controller->preparing = PREPARING_NOT;
        controller->setup.is_surveyed = false;
    }
    return err_set(err, ERR_CONFIG, "the node type does not fit the account: %.*s",
                   STR_ARG(controller->misfits[type]));
}

static void launching_on_preflight(void *context, const struct provider_answer *answer,
                                   const struct finding *findings, size_t count)
{
    struct controller *controller = call_end(context);
    if (!controller) {
        return;
    }
    require(controller->preparing == PREPARING_PREFLIGHT, "the preflight was running");
    if (answer->outcome != OUTCOME_DONE) {
        prepare_failed(controller, answer, "cannot read the account");
        return;
    }
    const struct finding *error = launching_keep_errors(controller, findings, count);
    if (error) { /* the next launch checks again */
        struct provider_answer refused = {.outcome = OUTCOME_INVALID};
        err_set(&refused.err, ERR_CONFIG, "%.*s", STR_ARG(error->text));
        prepare_failed(controller, &refused, "the cluster file does not fit the account");
        return;
    }
    controller->setup.is_surveyed = true;
    controller->preparing = PREPARING_NOT;
    if (controller->is_prepare_wanted) {
        launching_prepare(controller);
    }
}

static void preflight(struct controller *controller)
{
    require(controller->preparing == PREPARING_NOT, "one preparation at a time");
    controller->preparing = PREPARING_PREFLIGHT;
    controller->provider->ops->preflight(controller->provider, PREFLIGHT_FOR_LAUNCH,
                                         launching_on_preflight, call_begin(&controller->calls));
}

void launching_prepare(struct controller *controller)
{
    controller->is_prepare_wanted = true;
    if (controller->preparing != PREPARING_NOT || !controller->has_started) {
        return; /* resources are tagged with the uid, which comes with the lease */
    }
    if (controller->setup.is_surveyed) {
        launching_do_prepare(controller);
    } else {
        preflight(controller);
    }
}

static void tell_prepared(void *context)
{
    struct provider_answer answer = {.outcome = OUTCOME_DONE};
    tell_preparers(context, &answer, NULL, 0);
}

void controller_prepare(struct controller *controller, provider_resources_fn *done, void *context)
{
    HEAP_ROOM(controller->preparers, controller->preparer_count, controller->preparer_capacity);
    require(controller->preparer_count < controller->preparer_capacity,
            "there is room for one more");
    controller->preparers[controller->preparer_count++] = (struct preparer){done, context};
    if (controller->preparing == PREPARING_DONE) {
        loop_defer(controller->loop, &controller->prepared_task);
    } else {
        launching_prepare(controller);
    }
}

/* The preflight needs no lease and runs while it is being acquired. The head's service requests it
 * later, with controller_prepare(). */
void launching_init(struct controller *controller)
{
    arena_init(&controller->misfits_memory);
    controller->prepared_task = (struct loop_task){.run = tell_prepared, .context = controller};
    if (controller->setup.is_prepared) {
        controller->preparing = PREPARING_DONE;
    } else if (!controller->setup.is_surveyed && controller->setup.goal == GOAL_RUN &&
               controller->setup.public_key.len > 0) {
        preflight(controller);
    }
}

void launching_clear(struct controller *controller)
{
    loop_later_cancel(controller->loop, &controller->prepared_task);
    arena_clear(&controller->misfits_memory);
    free(controller->preparers);
    free(controller->held);
    free(controller->open);
}

/* ---- open launches ---- */

static struct open_launch *find_open(struct controller *controller, uint64_t launch)
{
    for (size_t i = 0; i < controller->open_count; i++) {
        if (controller->open[i].launch == launch) {
            return &controller->open[i];
        }
    }
    return NULL;
}

void launching_open(struct controller *controller, uint64_t launch, int64_t unsure_until)
{
    struct open_launch *there = find_open(controller, launch);
    if (there) {
        there->unsure_until = unsure_until > there->unsure_until ? unsure_until
                                                                 : there->unsure_until;
        require(there->unsure_until >= unsure_until, "the latest possible effect counts");
        return;
    }
    HEAP_ROOM(controller->open, controller->open_count, controller->open_capacity);
    require(controller->open_count < controller->open_capacity, "there is room for a launch");
    require(launch_is_cores(launch), "the head's launches are not the core's");
    controller->open[controller->open_count++] = (struct open_launch){launch, unsure_until};
}

bool launching_is_unsure(struct controller *controller, uint64_t launch)
{
    const struct open_launch *open = find_open(controller, launch);
    return open && controller_now(controller) < open->unsure_until;
}

static void close_open(struct controller *controller, uint64_t launch)
{
    struct open_launch *there = find_open(controller, launch);
    if (there) {
        require(controller->open_count > 0, "an open launch is in the array");
        *there = controller->open[--controller->open_count];
    }
    require(!find_open(controller, launch), "a launch is open once");
    reuse_close(&controller->reuser, launch);
}

/* ---- results ---- */

static void reply(struct controller *controller, const struct call *call, enum outcome outcome)
{
    struct event event = controller_event(controller, EVENT_LAUNCH_REPLY);
    event.launch_reply.launch = call->launch;
    event.launch_reply.outcome = outcome;
    event.launch_reply.sent_at = call->asked_at;
    controller_apply(controller, &event);
}

struct launch_refusal {
    uint64_t launch;
    enum outcome outcome;
};

static bool write_refusal(struct controller *controller, void *context, struct err *err)
{
    const struct launch_refusal *refusal = context;
    return journal_settle(controller->journal, refusal->launch, refusal->outcome, err);
}

static void launched(struct controller *controller, const struct call *call,
                     const struct machine *machines, size_t count)
{
    uint64_t *instances = ARENA_ARRAY(&controller->scratch, count, uint64_t);
    if (!inventory_ingest(controller, machines, count, call->launch, instances)) {
        reply(controller, call, OUTCOME_UNKNOWN); /* the launch will be retried */
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct event event = controller_event(controller, EVENT_LAUNCHED);
        event.launched.launch = call->launch;
        event.launched.instance = instances[i];
        controller_apply(controller, &event);
    }
    close_open(controller, call->launch);
    reply(controller, call, OUTCOME_DONE);
    inventory_expedite(controller);
}

/* A refusal is final only if no earlier call can still take effect. */
static void launching_refused(struct controller *controller, const struct call *call,
                              const struct provider_answer *answer)
{
    struct launch_refusal refusal = {call->launch, answer->outcome};
    require(answer->outcome != OUTCOME_DONE, "a launch that is done was not refused");
    bool is_open = find_open(controller, call->launch) != NULL;
    bool is_certain = answer->outcome == OUTCOME_CAPACITY || answer->outcome == OUTCOME_QUOTA ||
                      answer->outcome == OUTCOME_DENIED || answer->outcome == OUTCOME_INVALID;
    if (answer->outcome == OUTCOME_UNKNOWN) {
        launching_open(controller, call->launch,
                       call->asked_at + controller->settings.times.call_timeout);
    }
    if (is_certain && is_open && !launching_is_unsure(controller, call->launch)) {
        if (journaling_write(&controller->journaling, write_refusal, &refusal)) {
            close_open(controller, call->launch);
        }
    }
    reply(controller, call, answer->outcome);
    notify_launch_failed(&controller->notifier, call->launch, answer, "%s", answer->err.text);
    if (answer->outcome == OUTCOME_NO_LEASE) {
        lease_recheck(controller); /* either the lease is still ours, or we stop */
    }
}

void launching_answer(struct controller *controller, const struct call *call,
                      const struct provider_answer *answer, const struct machine *machines,
                      size_t count)
{
    if (answer->outcome == OUTCOME_DONE) {
        launched(controller, call, machines, count);
    } else {
        launching_refused(controller, call, answer);
    }
}

/* The cloud launches what it can; fewer machines than requested means no more capacity. */
static void tell_partial(struct controller *controller, const struct call *call,
                         const struct provider_answer *answer, size_t count)
{
    if (answer->outcome != OUTCOME_DONE || count >= call->count) {
        return;
    }
    require(call->offering < controller->settings.offering_count,
            "a new launch is of an offering of the file");
    const struct offering *offering = &controller->settings.offerings[call->offering];
    const struct core_setup *core = controller->setup.core;
    struct provider_answer partial = {.outcome = OUTCOME_CAPACITY};
    struct str machine = core->facts[offering->type].machine;
    struct str zone = intern_text(controller->settings.names, offering->zone);
    if (answer->err.kind == ERR_CAPACITY) { /* the provider knows why */
        partial.err = answer->err;
        notify_launch_failed(&controller->notifier, call->launch, &partial, "got %zu of %zu: %s",
                             count, call->count, answer->err.text);
        return;
    }
    err_set(&partial.err, ERR_CAPACITY, "no capacity for the rest");
    notify_launch_failed(&controller->notifier, call->launch, &partial,
                         "got %zu of %zu x %.*s in %.*s; no capacity for the rest now", count,
                         call->count, STR_ARG(machine), STR_ARG(zone));
}

static void tell_counters(const struct controller *controller, const struct call *call,
                          const struct provider_answer *answer, size_t count)
{
    const struct controller_hooks *hooks = &controller->setup.hooks;
    if (hooks->launched) {
        hooks->launched(hooks->context, answer->outcome, call->count,
                        answer->outcome == OUTCOME_DONE ? count : 0,
                        controller_now(controller) - call->asked_at);
    }
}

static void on_launch(void *context, const struct provider_answer *answer,
                      const struct machine *machines, size_t count)
{
    struct call *call = context;
    struct controller *controller = call_end(call);
    if (controller) {
        tell_counters(controller, call, answer, count);
        tell_partial(controller, call, answer, count);
        launching_answer(controller, call, answer, machines, count);
    }
}

/* ---- sending ---- */

struct sending {
    const struct action *action;
    struct journal_intent intent;
    bool is_new;
};

struct sendings {
    struct sending *items;
    size_t count;
};

static bool write_intents(struct controller *controller, void *context, struct err *err)
{
    const struct sendings *sendings = context;
    for (size_t i = 0; i < sendings->count; i++) {
        const struct sending *sending = &sendings->items[i];
        if (sending->is_new && !journal_intend(controller->journal, &sending->intent, err)) {
            return false;
        }
    }
    return true;
}

static bool launching_compose(struct controller *controller, const struct action *action,
                              struct sending *sending, struct err *err)
{
    require(action->kind == ACTION_LAUNCH, "only launches are composed");
    require(action->offering < controller->settings.offering_count,
            "a launch is of an offering of the file");
    const struct offering *offering = &controller->settings.offerings[action->offering];
    struct launch_spec spec = {.config = controller->setup.config,
                               .type = offering->type,
                               .uid = controller->lease.uid,
                               .secret = controller->setup.secret,
                               .cluster_key = controller->setup.cluster_key,
                               .launch = action->launch,
                               .zone = intern_text(controller->settings.names, offering->zone),
                               .market = offering->market,
                               .count = action->count};
    bool is_there = false;
    struct reuse reuse = {0};
    *sending = (struct sending){.action = action};
    if (!journal_find_intent(controller->journal, action->launch, &controller->scratch, &is_there,
                             &sending->intent, err)) {
        return false;
    }
    sending->is_new = !is_there;
    if (is_there) {
        return true;
    }
    if (!launching_fits(controller, offering->type, err)) {
        return false;
    }
    sending->intent = (struct journal_intent){.launch = action->launch,
                                              .offering = action->offering,
                                              .count = action->count,
                                              .wall_ms = controller_time_ms(controller)};
    reuse.count = reuse_pick(&controller->reuser, action, &reuse.ids);
    require((int64_t)reuse.count <= spec.count, "not more machines are reused than requested");
    spec.count -= (int64_t)reuse.count;
    sending->intent.token = launch_token(spec.uid, spec.launch, &controller->scratch);
    if (spec.count > 0 && !launch_request_make(&spec, controller->provider, &controller->scratch,
                                               &sending->intent.token, &reuse.call, err)) {
        reuse_close(&controller->reuser, action->launch);
        return false;
    }
    sending->intent.call = reuse_write(&reuse, &controller->scratch);
    return true;
}

static void cannot_compose(struct controller *controller, const struct action *action,
                           const struct err *err)
{
    struct provider_answer answer = {.outcome = OUTCOME_INVALID, .err = *err};
    struct event event = controller_event(controller, EVENT_LAUNCH_REPLY);
    event.launch_reply.launch = action->launch;
    event.launch_reply.outcome = OUTCOME_INVALID;
    controller_apply_later(controller, &event);
    notify_launch_failed(&controller->notifier, action->launch, &answer, "%s", err->text);
}

static void launching_do_send(struct controller *controller, const struct sending *sending)
{
    require(sending->intent.launch == sending->action->launch, "the record is of this launch");
    launching_open(controller, sending->intent.launch, 0);
    if (reuse_read(sending->intent.call, &controller->scratch).count > 0) {
        reuse_send(&controller->reuser, sending->intent.launch, sending->intent.call);
        return;
    }
    struct call *call = call_begin(&controller->calls);
    call->launch = sending->intent.launch;
    call->offering = sending->intent.offering;
    call->count = sending->is_new ? (size_t)sending->intent.count
                                  : 0; /* unknown for a retry: some may have terminated */
    controller->provider->ops->launch(controller->provider, sending->intent.call, on_launch, call);
}

static void launching_hold(struct controller *controller, const struct action *action)
{
    HEAP_ROOM(controller->held, controller->held_count, controller->held_capacity);
    require(controller->held_count < controller->held_capacity, "there is room for a launch");
    controller->held[controller->held_count++] = *action;
}

void launching_send(struct controller *controller, const struct action *actions, size_t count)
{
    struct sendings sendings = {ARENA_ARRAY(&controller->scratch, count, struct sending), 0};
    struct err err;
    bool is_ready = controller->preparing == PREPARING_DONE;
    bool is_sure = lease_is_confirmed(controller);
    for (size_t i = 0; i < count; i++) {
        if (!is_ready || !is_sure) {
            launching_hold(controller, &actions[i]);
        } else if (controller_now(controller) >= actions[i].not_after) {
            controller_decline(controller, &actions[i]);
        } else if (launching_compose(controller, &actions[i], &sendings.items[sendings.count],
                                     &err)) {
            sendings.count++;
        } else {
            cannot_compose(controller, &actions[i], &err);
        }
    }
    if (!is_ready) {
        launching_prepare(controller);
    } else if (!is_sure) {
        controller_renew(controller);
    }
    require(sendings.count <= count, "each action is sent once at most");
    require(sendings.count == 0 || (is_ready && is_sure),
            "a launch needs its resources and a confirmed lease");
    if (sendings.count == 0) {
        return;
    }
    if (!journaling_write(&controller->journaling, write_intents, &sendings)) {
        for (size_t i = 0; i < sendings.count; i++) {
            reuse_close(&controller->reuser, sendings.items[i].action->launch);
            controller_decline(controller, sendings.items[i].action);
        }
        return;
    }
    for (size_t i = 0; i < sendings.count; i++) {
        launching_do_send(controller, &sendings.items[i]);
    }
}
