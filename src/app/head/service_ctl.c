/* service_ctl.c: answers requests of clients on the control socket. */
#include "app/head/explain/service_explain.h"
#include "app/head/service_internal.h"
#include "io/clock.h"
#include "ray/status_text.h"

/* ---- the service ---- */

static void greet(void *context, struct ctl_line *line)
{
    const struct service *service = context;
    const struct cluster_lease *lease = service->head.is_leading
                                            ? controller_lease(service->head.controller)
                                            : NULL;
    line->greeting.version = STR(SHOAL_VERSION);
    line->greeting.protocol = CTL_PROTOCOL;
    line->greeting.least = CTL_PROTOCOL_LEAST;
    line->greeting.cluster = service->head.config->cluster_name;
    line->greeting.uid = service->head.handover.uid;
    line->greeting.epoch = lease ? lease->epoch : 0;
}

static bool update(void *context, struct err *err)
{
    struct service *service = context;
    bool is_new = false;
    if (!head_context_take_handover(&service->head, &is_new, err)) {
        LOG(&service->head, WARNING, "handover refused: %s", err->text);
        return false;
    }
    if (is_new) {
        LOG(&service->head, INFO, "new configuration received; restarting");
        activity_restart(&service->activity);
    }
    return true;
}

static bool stand_down(void *context, bool *ret_is_later, struct err *err)
{
    struct service *service = context;
    (void)err;
    *ret_is_later = activity_release(&service->activity);
    return true;
}

static bool terminate(void *context, bool *ret_is_later, struct err *err)
{
    struct service *service = context;
    *ret_is_later = activity_terminate(&service->activity, err);
    return *ret_is_later;
}

/* ---- the cluster ---- */

static void say_status(void *context, struct arena *arena, struct ctl_status *ret_status)
{
    service_status(context, arena, ret_status);
}

/* ---- demand and events ---- */

static void say_cluster_status(void *context, struct arena *arena,
                               struct cluster_status *ret_cluster_status)
{
    const struct service *service = context;
    decision_cluster_status(service->decision, arena, ret_cluster_status);
}

static bool say_events(void *context, int64_t after, ctl_server_event_fn *take, void *taker,
                       struct err *err)
{
    const struct service *service = context;
    (void)err; /* read errors are logged */
    if (events_last(service->head.events) > after) {
        events_each(service->head.events, after, take, taker);
    }
    return true;
}

/* ---- explain ---- */

enum { EVENTS_LOOKED_AT = 500 };

struct service_ctl_gathering {
    struct arena *arena;
    struct node_view *nodes;
    size_t node_count, node_capacity;
    struct cluster_event *events;
    size_t event_count, event_capacity;
};

static void gather_node(void *context, const struct node_view *view)
{
    struct service_ctl_gathering *gathering = context;
    ARENA_PUSH(gathering->arena, gathering->nodes, gathering->node_count,
               gathering->node_capacity) = *view;
}

static void gather_event(void *context, const struct cluster_event *event)
{
    struct service_ctl_gathering *gathering = context;
    struct arena *arena = gathering->arena;
    struct cluster_event *kept = &ARENA_PUSH(arena, gathering->events, gathering->event_count,
                                             gathering->event_capacity);
    *kept = *event;
    kept->node = arena_str(arena, event->node);
    kept->text = arena_str(arena, event->text);
    kept->reason = arena_str(arena, event->reason);
}

/* Ray is asked who requested capacity only if there is such a request. */
static bool explain_later(void *context, struct arena *arena)
{
    struct service *service = context;
    struct cluster_status cluster_status;
    decision_cluster_status(service->decision, arena, &cluster_status);
    for (size_t i = 0; i < cluster_status.demand_count; i++) {
        if (cluster_status.demands[i].source == DEMAND_REQUEST_RESOURCES) {
            return requesters_ask(&service->requesters);
        }
    }
    return false;
}

static bool say_why(void *context, struct str about, struct arena *arena,
                    ctl_server_explain_fn *take, void *taker, struct err *err)
{
    struct service *service = context;
    struct service_ctl_gathering gathering = {.arena = arena};
    struct cluster_status cluster_status;
    struct ctl_status status;
    decision_cluster_status(service->decision, arena, &cluster_status);
    service_status(service, arena, &status);
    struct str journal = head_context_journal_text(&service->head, arena);
    service_view_all(service, arena, gather_node, &gathering);
    events_each(service->head.events, events_last(service->head.events) - EVENTS_LOOKED_AT,
                gather_event, &gathering);
    struct explain_scene scene = {
        .config = service->head.config,
        .cluster_status = &cluster_status,
        .nodes = gathering.nodes,
        .node_count = gathering.node_count,
        .events = gathering.events,
        .event_count = gathering.event_count,
        .now_ms = clock_wall_ms(loop_clock(service->head.session.loop)),
        .autoscaler_message = status.autoscaler_message,
        .launch_trouble = journal.len > 0 ? journal : str_from(service->failures.text),
        .idle_stop = status.idle_stop,
        .is_acting = service->head.is_leading && service->head.controller,
        .is_ray_scaling = status.is_ray_scaling,
        .ray_trouble = gcs_poller_trouble(service->head.ray.poller),
        .requesters = &service->requesters.found,
    };
    return explain(&scene, about, arena, take, taker, err);
}

/* ---- requests to Ray ---- */

static struct gcs *find_gcs(struct service *service, struct err *err)
{
    struct gcs *gcs = gcs_poller_gcs(service->head.ray.poller);
    struct str trouble = gcs_poller_trouble(service->head.ray.poller);
    if (!gcs) {
        err_set(err, ERR_UNAVAILABLE, "Ray on the head does not answer%s%.*s",
                trouble.len > 0 ? ": " : "", STR_ARG(str_sub(trouble, 0, 200)));
    }
    return gcs;
}

static void on_requested(void *context, const struct gcs_answer *answer)
{
    struct service *service = context;
    bool is_accepted = answer->trouble == GCS_FINE;
    if (is_accepted && requesters_ask(&service->requesters)) {
        service->requests.is_requested = true;
        return;
    }
    service->requests.is_requesting = false;
    ctl_server_answer(service->head.ctl_server, "request-resources",
                      is_accepted ? NULL : &answer->err);
}

static bool request_resources(void *context, const struct gcs_bundle *bundles, size_t count,
                              struct err *err)
{
    struct service *service = context;
    struct gcs *gcs = find_gcs(service, err);
    if (service->requests.is_requesting) {
        return err_set(err, ERR_UNAVAILABLE, "another request is in progress; try again");
    }
    if (gcs) {
        service->requests.is_requesting = true;
        gcs_request_resources(gcs, bundles, count, on_requested, service);
    }
    return gcs;
}

/* Why the autoscaler launches nothing for this job; empty if it does, or is about to. */
static struct str training_why(const struct service *service, struct str job, struct arena *arena)
{
    struct cluster_status cluster_status;
    struct ctl_status status;
    service_status(service, arena, &status);
    if (status.autoscaler != AUTOSCALER_ACTIVE && status.autoscaler_message.len > 0) {
        return status.autoscaler_message;
    }
    decision_cluster_status(service->decision, arena, &cluster_status);
    for (size_t i = 0; i < cluster_status.demand_count; i++) {
        const struct pending_demand *demand = &cluster_status.demands[i];
        bool is_passing = demand->cause == CAUSE_PASSING || demand->cause == CAUSE_RAMP;
        if (demand->source == DEMAND_TRAINING && str_eq(demand->job, job) && demand->unmet > 0 &&
            !is_passing) {
            return demand->why;
        }
    }
    return STR("");
}

static bool train_demand(void *context, const struct ctl_request *request, struct arena *arena,
                         struct str *ret_why, struct err *err)
{
    struct service *service = context;
    struct str session = ray_view_session(service->head.ray.view);
    bool is_new = false;
    if (request->session.len > 0 && !str_eq(request->session, session)) {
        return err_set(err, ERR_UNAVAILABLE,
                       session.len > 0 ? "this autoscaler manages another Ray cluster"
                                       : "the autoscaler has not seen Ray yet");
    }
    if (!training_demand_set(service->training, request->job, request->bundles,
                             request->bundle_count, loop_now_ms(service->head.session.loop),
                             &is_new, err)) {
        return false;
    }
    if (is_new) {
        ray_view_resend_load(service->head.ray.view);
        gcs_poller_hurry(service->head.ray.poller);
    } else if (request->bundle_count > 0) {
        *ret_why = training_why(service, request->job, arena);
    }
    return true;
}

void service_answers_requesters(void *context)
{
    struct service *service = context;
    struct arena arena;
    arena_init(&arena);
    ctl_server_explain(service->head.ctl_server);
    if (service->requests.is_requested) {
        struct str text = requesters_warning(&service->requesters.found, &arena);
        service->requests.is_requesting = service->requests.is_requested = false;
        if (text.len > 0) {
            ctl_server_answer_text(service->head.ctl_server, "request-resources", text);
        } else {
            ctl_server_answer(service->head.ctl_server, "request-resources", NULL);
        }
    }
    arena_clear(&arena);
}

static void on_ray_status(void *context, const struct gcs_answer *answer, struct str bytes)
{
    struct service *service = context;
    AUTO_BUF struct buf text;
    struct err err = answer->err;
    service->requests.is_asking_status = false;
    buf_init(&text, CTL_LINE_BYTES_MAX / 2);
    if (answer->trouble == GCS_FINE &&
        ray_status_text(bytes, service->requests.asked_us, &text, &err)) {
        ctl_server_answer_text(service->head.ctl_server, "ray-status", buf_str(&text));
    } else {
        ctl_server_answer(service->head.ctl_server, "ray-status", &err);
    }
}

/* Concurrent requests share one answer. */
static bool ray_status(void *context, struct err *err)
{
    struct service *service = context;
    struct gcs *gcs = find_gcs(service, err);
    if (gcs && !service->requests.is_asking_status) {
        service->requests.is_asking_status = true;
        service->requests.asked_us = clock_wall_ms(loop_clock(service->head.session.loop)) * 1000;
        gcs_read_status(gcs, on_ray_status, service);
    }
    return gcs;
}

void service_answers_lost(struct service *service)
{
    struct err err;
    err_set(&err, ERR_UNAVAILABLE, "Ray on the head stopped answering");
    requesters_lost(&service->requesters);
    if (service->requests.is_requesting) {
        service->requests.is_requesting = false;
        ctl_server_answer(service->head.ctl_server, "request-resources", &err);
    }
    if (service->requests.is_asking_status) {
        service->requests.is_asking_status = false;
        ctl_server_answer(service->head.ctl_server, "ray-status", &err);
    }
}

void service_answers(struct ctl_server_hooks *hooks)
{
    hooks->greeting = greet;
    hooks->update = update;
    hooks->stand_down = stand_down;
    hooks->end = terminate;
    hooks->status = say_status;
    hooks->each = service_view_all;
    hooks->one = service_view_one;
    hooks->cluster_status = say_cluster_status;
    hooks->events = say_events;
    hooks->explain = say_why;
    hooks->explain_later = explain_later;
    hooks->request_resources = request_resources;
    hooks->train_demand = train_demand;
    hooks->ray_status = ray_status;
}

/* ---- metrics ---- */

void service_fill_metrics(void *context, struct arena *arena, struct metrics_scene *scene)
{
    struct service *service = context;
    struct service_ctl_gathering gathering = {.arena = arena};
    struct cluster_status *cluster_status = ARENA_NEW(arena, struct cluster_status);
    decision_cluster_status(service->decision, arena, cluster_status);
    service_view_all(service, arena, gather_node, &gathering);
    scene->cluster_status = cluster_status;
    scene->nodes = gathering.nodes;
    scene->node_count = gathering.node_count;
}
