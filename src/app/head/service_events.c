/*
 * service_events.c: writes decisions and node changes as events with their reasons, and sends
 * drivers the same messages as Ray's own autoscaler.
 *
 * Failure, interruption and termination are each reported once per node, however often the core
 * repeats the action.
 */
#include "app/head/service_events.h"

#include "app/head/node_reason.h"
#include "app/head/ray/driver_messages.h"
#include "core/format.h"
#include "io/xalloc.h"

#include <math.h>
#include <string.h>

enum {
    LAUNCHES = 64,                  /* recent launches, to report their results */
    TOLD = 64,                      /* infeasible requests that were reported */
    TELL_AGAIN_MS = 10 * 60 * 1000, /* an infeasible request is reported again after this time */
    TEXT_MAX = 4096,
    KEPT_KEY_BYTES_MAX = 1024, /* of a message */
};

struct launch_note {
    uint64_t launch;
    uint32_t type;
    int64_t count;
    int64_t asked_ms; /* wall clock */
};

struct told {
    uint64_t hash;
    int64_t at_ms;
};

struct event_log {
    struct event_log_setup setup;
    struct head_context *head;
    struct launch_note launches[LAUNCHES]; /* ring */
    size_t launch_count;
    struct told told[TOLD]; /* ring */
    size_t told_count;
};

/* Does not repeat reports of an earlier process. */
static void recall(void *context, const struct cluster_event *event)
{
    struct event_log *event_log = context;
    int64_t age = clock_wall_ms(loop_clock(event_log->head->session.loop)) - event->wall_ms;
    if (event->kind == CLUSTER_EVENT_INFEASIBLE && age >= 0 && age < TELL_AGAIN_MS) {
        event_log->told[event_log->told_count++ % TOLD] = (struct told){
            str_hash(event->text), loop_now_ms(event_log->head->session.loop) - age};
    }
}

struct event_log *event_log_open(const struct event_log_setup *setup)
{
    struct event_log *event_log = HEAP_NEW(struct event_log);
    event_log->setup = *setup;
    event_log->head = setup->head;
    events_each(setup->head->events, 0, recall, event_log);
    return event_log;
}

void event_log_close(struct event_log *event_log)
{
    free(event_log);
}

static struct str service_events_name_of(uint64_t instance, struct arena *arena)
{
    struct managed_node managed_node = {.instance = instance, .is_head = instance == HEAD_INSTANCE};
    return node_reason_name(&managed_node, arena);
}

static void service_events_add(struct event_log *event_log, enum cluster_event_kind kind,
                               uint64_t instance, struct str text, struct str reason)
{
    struct arena arena;
    arena_init(&arena);
    struct str node = instance != INSTANCE_NONE ? service_events_name_of(instance, &arena)
                                                : STR("");
    events_add(event_log->head->events, kind, node, text, reason);
    arena_clear(&arena);
}

/* ---- launches ---- */

static void note_launch(struct event_log *event_log, const struct action *action, uint32_t type)
{
    event_log->launches[event_log->launch_count++ % LAUNCHES] = (struct launch_note){
        action->launch, type, action->count,
        clock_wall_ms(loop_clock(event_log->head->session.loop))};
}

static void log_launch(struct event_log *event_log, const struct action *action,
                       struct arena *arena)
{
    const struct core_settings *settings = &event_log->head->core.settings;
    const struct offering *offering = &settings->offerings[action->offering];
    const struct type_facts *facts = &event_log->head->core.facts[offering->type];
    struct str zone = intern_text(settings->names, offering->zone);
    struct str reason = action_reason_text_with(
        action, service_events_name_of(action->instance, arena), arena);
    struct str load = decision_load_text(event_log->setup.decision, arena);
    int64_t waiting = action->count_by_cause[LAUNCH_DEMAND] - action_takes_over(action) +
                      action->count_by_cause[LAUNCH_GANGS];
    if (waiting > 0 && load.len > 0) {
        reason = arena_printf(arena, "%.*s; waiting: %.*s", STR_ARG(reason), STR_ARG(load));
    }
    struct str text = arena_printf(arena, "launch %u.%u: %lld x %.*s (%.*s%s) in %.*s",
                                   LAUNCH_ARG(action->launch), (long long)action->count,
                                   STR_ARG(facts->name), STR_ARG(facts->machine),
                                   offering->market == MARKET_SPOT ? ", spot" : "", STR_ARG(zone));
    note_launch(event_log, action, offering->type);
    events_add_launch(event_log->head->events, CLUSTER_EVENT_LAUNCH, action->launch, text, reason);
}

void event_log_refused(struct event_log *event_log, uint64_t launch, struct str why)
{
    struct events *events = event_log->head->events;
    struct arena arena;
    if (launch == 0) {
        events_add(events, CLUSTER_EVENT_LAUNCH_FAILED, STR(""), why, STR(""));
        return;
    }
    arena_init(&arena);
    events_add_launch(events, CLUSTER_EVENT_LAUNCH_FAILED, launch,
                      arena_printf(&arena, "launch %u.%u failed", LAUNCH_ARG(launch)), why);
    arena_clear(&arena);
    for (size_t i = 0; i < LAUNCHES && i < event_log->launch_count; i++) {
        const struct launch_note *note = &event_log->launches[i];
        if (note->launch == launch) {
            reporter_launch_failed(event_log->setup.reporter, note->type, note->count,
                                   note->asked_ms, why);
            return;
        }
    }
}

/* ---- messages for drivers ---- */

static bool is_end_told(void *context, uint64_t instance)
{
    const struct event_log *event_log = context;
    const struct worker_record *worker = worker_records_find(event_log->setup.workers, instance);
    return worker && worker->is_end_logged;
}

static void service_events_read_line(void *context, struct str line)
{
    struct event_log *event_log = context;
    reporter_tell_drivers(event_log->setup.reporter, line, false);
}

static void service_events_measure(void *context, const struct managed_node *managed_node)
{
    if (managed_node->node) {
        driver_size_add(context, managed_node->node, managed_node->is_head);
    }
}

static void service_events_report_lines(struct event_log *event_log,
                                        const struct core_answer *answer, struct arena *arena)
{
    struct driver_scene scene = {.settings = &event_log->head->core.settings,
                                 .facts = event_log->head->core.facts,
                                 .is_told = is_end_told,
                                 .take = service_events_read_line,
                                 .context = event_log};
    struct driver_size size;
    if (driver_lines(&scene, answer, arena)) {
        driver_size_begin(&size, &event_log->head->core.settings);
        controller_each(event_log->head->controller, service_events_measure, &size);
        reporter_tell_drivers(event_log->setup.reporter, driver_size_line(&size, arena), false);
    }
}

/* ---- infeasible requests ---- */

static bool was_told(struct event_log *event_log, uint64_t hash, int64_t now_ms)
{
    for (size_t i = 0; i < TOLD && i < event_log->told_count; i++) {
        struct told *told = &event_log->told[i];
        if (told->hash == hash && now_ms < told->at_ms + TELL_AGAIN_MS) {
            return true;
        }
    }
    event_log->told[event_log->told_count++ % TOLD] = (struct told){hash, now_ms};
    return false;
}

/* Adds an event and notifies drivers, unless that was done recently. */
static void service_events_infeasible(void *context, const struct pending_demand *demand)
{
    struct event_log *event_log = context;
    struct arena arena;
    arena_init(&arena);
    struct str labels = demand->labels.len > 0
                            ? arena_printf(&arena, " with labels %.*s", STR_ARG(demand->labels))
                            : STR("");
    struct str text = arena_printf(&arena, "%.*s%.*s cannot be scheduled on any node type",
                                   STR_ARG(demand->shape), STR_ARG(labels));
    if (was_told(event_log, str_hash(text), loop_now_ms(event_log->head->session.loop))) {
        arena_clear(&arena);
        return;
    }
    reporter_tell_drivers(event_log->setup.reporter, driver_infeasible_line(demand, &arena), true);
    service_events_add(event_log, CLUSTER_EVENT_INFEASIBLE, INSTANCE_NONE, text, demand->why);
    arena_clear(&arena);
}

/* ---- decisions ---- */

static void log_action(struct event_log *event_log, const struct action *action,
                       struct arena *arena)
{
    struct str reason = action_reason_text(action, arena);
    if (driver_is_addition(action)) {
        log_launch(event_log, action, arena);
    } else if (action->kind == ACTION_DRAIN) {
        service_events_add(event_log, CLUSTER_EVENT_DRAIN, action->instance, STR("draining"),
                           reason);
    } else if (action->kind == ACTION_TERMINATE) {
        struct worker_record *worker = worker_records_get(event_log->setup.workers,
                                                          action->instance);
        if (!worker->is_end_logged) {
            worker->is_end_logged = true;
            metrics_count_end(&event_log->head->metrics);
            service_events_add(event_log, CLUSTER_EVENT_TERMINATE, action->instance,
                               STR("terminated"), reason);
        }
    }
}

void event_log_decided(struct event_log *event_log, const struct core_answer *answer)
{
    struct arena arena;
    arena_init(&arena);
    service_events_report_lines(event_log, answer, &arena);
    for (size_t i = 0; i < answer->action_count; i++) {
        log_action(event_log, &answer->actions[i], &arena);
    }
    if (answer->is_decision) {
        decision_each_infeasible(event_log->setup.decision, service_events_infeasible, event_log);
    }
    arena_clear(&arena);
}

/* ---- nodes ---- */

void event_log_joined(struct event_log *event_log, const struct managed_node *managed_node)
{
    struct arena arena;
    arena_init(&arena);
    int64_t age = managed_node->machine ? clock_wall_ms(loop_clock(event_log->head->session.loop)) -
                                              managed_node->machine->launched_at * 1000
                                        : 0;
    struct str reason = age > 0 && managed_node->machine->launched_at > 0
                            ? arena_printf(&arena, "%lld s after its launch",
                                           (long long)(age / 1000))
                            : STR("");
    service_events_add(event_log, CLUSTER_EVENT_JOIN, managed_node->instance, STR("joined Ray"),
                       reason);
    arena_clear(&arena);
}

/* The failed step and its command. */
static struct str service_events_failure_text(const struct event_log *event_log, uint64_t instance,
                                              struct str reason, struct arena *arena)
{
    const struct worker_progress *progress = worker_setups_progress(event_log->setup.setups,
                                                                    instance);
    const struct node_failure *failure = progress ? &progress->failure : NULL;
    if (!failure || failure->step.len == 0) {
        return reason;
    }
    struct str text = arena_printf(arena, "%.*s: %.*s", STR_ARG(reason), STR_ARG(failure->step));
    if (failure->command.len > 0) {
        text = arena_printf(arena, "%.*s: %.*s (exit status %d)", STR_ARG(text),
                            STR_ARG(str_sub(failure->command, 0, 300)), (int)failure->status);
    }
    return failure->why.len > 0
               ? arena_printf(arena, "%.*s: %.*s", STR_ARG(text), STR_ARG(failure->why))
               : text;
}

/* The event is the same whether a listing showed the end or, as on some clouds, nothing at all. */
static void service_events_cloud_end(struct event_log *event_log,
                                     const struct managed_node *managed_node)
{
    struct arena arena;
    arena_init(&arena);
    bool is_spot = managed_node->machine && managed_node->machine->market == MARKET_SPOT;
    struct str why = is_spot ? STR("the cloud reclaimed the spot instance, or a user stopped or "
                                   "deleted it")
                             : STR("the cloud or a user stopped or deleted the instance");
    service_events_add(event_log, CLUSTER_EVENT_TERMINATE, managed_node->instance,
                       STR("terminated"),
                       service_events_failure_text(event_log, managed_node->instance, why, &arena));
    arena_clear(&arena);
}

/* The core no longer knows it. */
static void service_events_forget(struct event_log *event_log,
                                  const struct managed_node *managed_node)
{
    struct worker_record *worker = worker_records_find(event_log->setup.workers,
                                                       managed_node->instance);
    if (!worker || worker->is_gone) {
        return;
    }
    if (!worker->is_failure_logged && !worker->is_end_logged && !worker->is_notice_logged) {
        service_events_cloud_end(event_log, managed_node);
    }
    worker->is_failure_logged = worker->is_end_logged = worker->is_notice_logged = false;
    worker->is_gone = true;
}

static void service_events_fail(struct event_log *event_log,
                                const struct managed_node *managed_node)
{
    struct arena arena;
    arena_init(&arena);
    struct str why = service_events_failure_text(
        event_log, managed_node->instance, node_reason_text(managed_node->node, &arena), &arena);
    service_events_add(event_log, CLUSTER_EVENT_FAILURE, managed_node->instance, STR("failed"),
                       why);
    arena_clear(&arena);
}

void event_log_changed(struct event_log *event_log, const struct managed_node *managed_node)
{
    const struct node *node = managed_node->node;
    if (!node) {
        service_events_forget(event_log, managed_node);
        return;
    }
    struct worker_record *known = worker_records_find(event_log->setup.workers,
                                                      managed_node->instance);
    if (known) {
        known->is_gone = false;
    }
    bool is_ending = node->state == NODE_FAILED || node->state == NODE_TERMINATING;
    bool is_taken = (node->state == NODE_DRAINING || is_ending) &&
                    node->reason.kind == REASON_NOTICE;
    if (!is_taken && !(is_ending && node_reason_is_failure(node))) {
        return;
    }
    struct worker_record *worker = worker_records_get(event_log->setup.workers,
                                                      managed_node->instance);
    if (is_taken && !worker->is_notice_logged) {
        worker->is_notice_logged = true;
        metrics_count_notice(&event_log->head->metrics);
        service_events_add(event_log, CLUSTER_EVENT_SPOT_INTERRUPTION, managed_node->instance,
                           node_reason_notice(managed_node),
                           STR("Ray moves its work to other nodes; then the node is terminated"));
    } else if (is_ending && !worker->is_failure_logged) {
        worker->is_failure_logged = true;
        if (node->reason.kind == REASON_CLOUD_ENDED) {
            service_events_cloud_end(event_log, managed_node);
        } else {
            service_events_fail(event_log, managed_node);
        }
    }
}

void event_log_drained(struct event_log *event_log, uint64_t instance, enum drain_answer answer,
                       struct str why)
{
    static const char *const words[DRAIN_ANSWER_COUNT] = {
        [DRAIN_ACCEPTED] = "accepts no new work",
        [DRAIN_REFUSED] = "kept: its raylet refused the drain",
        [DRAIN_UNKNOWN] = "kept: its raylet did not answer",
    };
    service_events_add(event_log, CLUSTER_EVENT_DRAIN, instance, str_from(words[answer]), why);
}

void event_log_no_switch(struct event_log *event_log, struct str name)
{
    struct head_context *head = event_log->head;
    AUTO_BUF struct buf text;
    buf_init(&text, KEPT_KEY_BYTES_MAX);
    buf_addf(
        &text,
        "%.*s has no dead-man switch: its image did not run Shoal's startup script. If it loses "
        "the head, it keeps running and billing until you terminate it.",
        STR_ARG(name));
    LOG(head, WARNING, "%s", text.ptr);
    ctl_server_broadcast_error(head->ctl_server, buf_str(&text));
    events_add(head->events, CLUSTER_EVENT_FAILURE, name, STR("has no dead-man switch"),
               STR("its image did not run Shoal's startup script"));
}

void event_log_kept_host_key(struct event_log *event_log, struct str name, struct str why)
{
    struct head_context *head = event_log->head;
    AUTO_BUF struct buf text;
    buf_init(&text, KEPT_KEY_BYTES_MAX);
    buf_addf(
        &text,
        "%.*s still uses the host key of its first boot, because it could not be replaced: %.*s. "
        "Anyone who can read its user-data knows that key. The next setup of the node tries again.",
        STR_ARG(name), STR_ARG(str_sub(why, 0, 300)));
    LOG(head, WARNING, "%s", text.ptr);
    ctl_server_broadcast_error(head->ctl_server, buf_str(&text));
    events_add(head->events, CLUSTER_EVENT_FAILURE, name, STR("still uses its first host key"),
               why);
}
