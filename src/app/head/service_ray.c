/*
 * service_ray.c: passes the state of the head's Ray to the core, sends drain requests, and fills
 * the report to Ray.
 *
 * A node that leaves Ray because its Ray is restarted is hidden from the core. When the GCS
 * restarts it has lost state, so the core is notified and pauses scale-down.
 */
#include "app/head/ray/autoscaler_report.h"
#include "app/head/service_internal.h"
#include "io/clock.h"
#include "io/xalloc.h"

#include <stdio.h>

/* A drain request in flight. */
struct drain_call {
    struct service *service;
    struct drain_call *next;
    uint64_t instance;
};

/* ---- drains ---- */

static void forget_call(struct service *service, struct drain_call *call)
{
    struct drain_call **at = &service->drains;
    while (*at != call) {
        at = &(*at)->next;
    }
    *at = call->next;
    free(call);
}

enum drain_answer service_drain_meaning(const struct gcs_answer *answer, bool is_accepted)
{
    if (answer->trouble != GCS_FINE) {
        return DRAIN_UNKNOWN;
    }
    return is_accepted ? DRAIN_ACCEPTED : DRAIN_REFUSED;
}

static void service_ray_on_drain(void *context, const struct gcs_answer *answer, bool is_accepted,
                                 struct str why_not)
{
    struct drain_call *call = context;
    struct service *service = call->service;
    enum drain_answer meaning = service_drain_meaning(answer, is_accepted);
    uint64_t instance = call->instance;
    forget_call(service, call);
    if (!service->head.controller || instance == INSTANCE_NONE) {
        return;
    }
    struct str why = answer->trouble != GCS_FINE ? str_from(answer->err.text) : why_not;
    metrics_count_drain(&service->head.metrics, meaning);
    event_log_drained(service->event_log, instance, meaning, why);
    controller_drained(service->head.controller, instance, meaning);
}

/* The deadline is only information, on the wall clock; no decision depends on it. */
struct gcs_drain service_drain_request(const struct action *action, struct str node, int64_t now_ms,
                                       int64_t wall_ms, struct arena *arena)
{
    bool has_deadline = !action->is_rejectable && action->drain_until != INT64_MAX;
    int64_t left = has_deadline ? action->drain_until - now_ms : 0;
    return (struct gcs_drain){
        .node = node,
        .is_refusable = action->is_rejectable,
        .message = arena_printf(arena, "Shoal: %.*s", STR_ARG(action_reason_text(action, arena))),
        .deadline_ms = has_deadline ? wall_ms + (left > 0 ? left : 0) : 0, /* 0 for none */
    };
}

void service_drain(struct service *service, const struct managed_node *managed_node,
                   const struct action *action)
{
    struct gcs *gcs = gcs_poller_gcs(service->head.ray.poller);
    struct str id = ray_view_node_id(service->head.ray.view, managed_node->instance);
    if (!gcs || id.len != RAY_ID_BYTES || managed_node->is_head) {
        controller_drained(service->head.controller, managed_node->instance, DRAIN_UNKNOWN);
        return;
    }
    struct arena arena;
    struct drain_call *call = HEAP_NEW(struct drain_call);
    *call = (struct drain_call){service, service->drains, managed_node->instance};
    service->drains = call;
    arena_init(&arena);
    struct gcs_drain drain = service_drain_request(
        action, id, loop_now_ms(service->head.session.loop),
        clock_wall_ms(loop_clock(service->head.session.loop)), &arena);
    gcs_drain(gcs, &drain, service_ray_on_drain, call);
    arena_clear(&arena);
}

/* Drains in flight will not be answered any more. */
static void give_up_drains(struct service *service)
{
    while (service->drains) {
        struct drain_call *call = service->drains;
        if (service->head.controller && call->instance != INSTANCE_NONE) {
            controller_drained(service->head.controller, call->instance, DRAIN_UNKNOWN);
        }
        forget_call(service, call);
    }
}

/* ---- hooks of the Ray view ---- */

static uint64_t instance_of(void *context, struct str instance_id)
{
    const struct service *service = context;
    return service->head.controller && service->head.is_leading
               ? controller_instance_of(service->head.controller, instance_id)
               : INSTANCE_NONE;
}

static bool is_hidden(void *context, uint64_t instance)
{
    const struct service *service = context;
    bool keeps_ray;
    return worker_records_is_updating(&service->workers, instance, &keeps_ray) && !keeps_ray;
}

static void service_ray_on_node(void *context, const struct ray_node *node)
{
    struct service *service = context;
    if (!service->head.controller) {
        return;
    }
    (void)deaths_drop(service->deaths, node->instance); /* this state is newer */
    if (node->status == RAY_DEAD &&
        setup_scheduler_lost_restored(service->scheduler, node->instance)) {
        return; /* setup_scheduler_ray_seen() starts its Ray again */
    }
    if (node->status == RAY_DEAD && deaths_hold(service->deaths, node->instance)) {
        return;
    }
    if (node->status == RAY_DEAD &&
        setup_scheduler_had_joined(service->scheduler, node->instance)) {
        /* It died while the service was down, before this core had seen it alive. */
        struct ray_node alive = {
            .instance = node->instance, .status = RAY_ALIVE, .idle_since = NOT_IDLE};
        controller_ray_node(service->head.controller, &alive);
    }
    controller_ray_node(service->head.controller, node);
}

static void on_load(void *context, const struct ray_load *load)
{
    struct service *service = context;
    decision_note_load(service->decision, load);
    if (service->head.controller) {
        controller_ray_load(service->head.controller, load);
    }
}

/* Training jobs ask the autoscaler, not Ray; their demand is merged with Ray's. */
static size_t add_training(void *context, struct arena *arena,
                           const struct ray_view_training **ret_items)
{
    const struct service *service = context;
    const struct training_demand *demand = service->training;
    struct ray_view_training *items = ARENA_ARRAY(arena, demand->job_count * TRAINING_BUNDLES_MAX,
                                                  struct ray_view_training);
    size_t count = 0;
    for (size_t i = 0; i < demand->job_count; i++) {
        const struct training_job *job = &demand->jobs[i];
        for (size_t j = 0; j < job->bundle_count; j++) {
            const struct gcs_bundle *bundle = &job->bundles[j];
            items[count++] = (struct ray_view_training){
                .job = str_from(job->name),
                .demand = {.request = {.amounts = bundle->amounts,
                                       .amount_count = bundle->amount_count},
                           .count = bundle->count},
                .leaving = bundle->leaving};
        }
    }
    *ret_items = items;
    return count;
}

/* ---- hooks of the poller ---- */

static void note_restart(struct service *service, const char *what)
{
    LOG(&service->head, WARNING, "ray on the head was restarted: %s", what);
    events_add(service->head.events, CLUSTER_EVENT_AUTOSCALER, STR(""),
               STR("Ray on the head was restarted"),
               STR("idle nodes are not terminated for a while"));
    if (service->head.controller && service->head.is_leading) {
        controller_ray_restarted(service->head.controller);
    }
    reporter_reset(service->reporter);
}

/* Copies facts that others read. True if waiting setups should be checked. */
static bool note_facts(struct service *service)
{
    struct head_ray *ray = &service->head.ray;
    struct str id = ray_view_head(ray->view);
    size_t alive = ray_view_alive(ray->view);
    bool is_news = alive != ray->alive || (id.len > 0) != ray->is_alive;
    ray->alive = alive;
    ray->is_alive = id.len > 0;
    snprintf(ray->id, sizeof(ray->id), "%.*s", STR_ARG(id));
    head_ray_note(&service->head);
    gcs_poller_size(ray->poller, alive);
    return is_news;
}

static void tell_controller(struct service *service, int64_t asked_at_ms)
{
    service->head.ray.has_seen = true;
    setup_scheduler_ray_seen(service->scheduler);
    controller_ray_seen(service->head.controller, asked_at_ms);
}

bool service_ray_seen(void *context, struct str bytes, int64_t asked_at_ms, struct err *err)
{
    struct service *service = context;
    struct head_ray *ray = &service->head.ray;
    int64_t version = ray_view_version(ray->view);
    int64_t wall_ms = clock_wall_ms(loop_clock(service->head.session.loop));
    if (training_demand_expire(service->training, loop_now_ms(service->head.session.loop))) {
        LOG(&service->head, INFO,
            "a training job no longer renews its request; the request was removed");
        ray_view_resend_load(ray->view);
    }
    if (!ray_view_update(ray->view, bytes, asked_at_ms, wall_ms, err)) {
        return false;
    }
    ray->seen_wall_ms = wall_ms;
    if (ray_view_version(ray->view) < version) { /* the GCS restarted and kept its data */
        note_restart(service, "the version of Ray's state decreased");
    }
    bool is_news = note_facts(service);
    deaths_ask(service->deaths);
    if (service->head.controller && service->head.is_leading) {
        tell_controller(service, asked_at_ms);
    }
    if (is_news) {
        worker_setups_go_on(service->setups);
        service_head_changed(service);
        ctl_server_notify(service->head.ctl_server, HEAD_INSTANCE);
    }
    service_expect_ray(service);
    metrics_count_poll(&service->head.metrics,
                       (double)(loop_now_ms(service->head.session.loop) - asked_at_ms));
    return true;
}

void service_ray_replaced(void *context)
{
    struct service *service = context;
    ray_view_forget(service->head.ray.view);
    note_restart(service, "another Ray cluster answers at the head's address");
    (void)note_facts(service);
}

static void on_closing(void *context)
{
    struct service *service = context;
    give_up_drains(service);
    deaths_lost(service->deaths);
    reporter_lost(service->reporter);
    service_answers_lost(service);
}

static void on_answering(void *context)
{
    struct service *service = context;
    struct str trouble = gcs_poller_trouble(service->head.ray.poller);
    struct str version = gcs_poller_version(service->head.ray.poller);
    bool is_away = trouble.len > 0;
    activity_check(&service->activity);
    LOG(&service->head, INFO, is_away ? "ray does not answer: %.*s" : "ray answers version=%.*s",
        STR_ARG(is_away ? trouble : version));
    if (is_away && service->head.ray.is_alive) {
        events_add(service->head.events, CLUSTER_EVENT_AUTOSCALER, STR(""),
                   STR("lost the connection to Ray"), trouble);
    } else if (!is_away && service->head.ray.has_lost) {
        events_add(service->head.events, CLUSTER_EVENT_AUTOSCALER, STR(""),
                   STR("Ray answers again"), STR(""));
    }
    if (!is_away) {
        resume_seen(service->resume);
    }
    service->head.ray.has_lost = is_away &&
                                 (service->head.ray.has_lost || service->head.ray.is_alive);
    if (!is_away) {
        reporter_reset(service->reporter);
        metrics_site_register(service->metrics_site);
    }
    ctl_server_notify(service->head.ctl_server, INSTANCE_NONE);
}

/* ---- the report for Ray ---- */

struct service_ray_report {
    const struct service *service;
    struct arena *arena;
    struct report_requests requests;
    struct ray_pending_node *nodes;
    size_t node_count, node_capacity;
};

/* Converts a time on the loop's clock to wall clock seconds. */
static int64_t service_ray_seconds_of(const struct service *service, int64_t at_ms)
{
    return (clock_wall_ms(loop_clock(service->head.session.loop)) -
            (loop_now_ms(service->head.session.loop) - at_ms)) /
           1000;
}

static void service_ray_add_pending(struct service_ray_report *gathering,
                                    const struct managed_node *managed_node, uint32_t type)
{
    const struct type_facts *facts = &gathering->service->head.core.facts[type];
    struct node_view view;
    service_view(gathering->service, managed_node, gathering->arena, &view);
    ARENA_PUSH(gathering->arena, gathering->nodes, gathering->node_count,
               gathering->node_capacity) = (struct ray_pending_node){
        .machine = facts->machine,
        .type = facts->name,
        .instance_id = view.id,
        .address = view.private_ip,
        .details = report_details(&view, gathering->arena),
    };
}

static void service_ray_gather(void *context, const struct managed_node *managed_node)
{
    struct service_ray_report *gathering = context;
    const struct core_settings *settings = &gathering->service->head.core.settings;
    const struct node *node = managed_node->node;
    if (!node || managed_node->is_head || node->offering >= settings->offering_count ||
        !node_state_table[node->state].is_pending) {
        return;
    }
    uint32_t type = settings->offerings[node->offering].type;
    if (node->state == NODE_REQUESTED || !managed_node->machine) {
        report_requests_add(&gathering->requests, &gathering->service->head.core.facts[type],
                            service_ray_seconds_of(gathering->service, node->created_at),
                            gathering->arena);
    } else {
        service_ray_add_pending(gathering, managed_node, type);
    }
}

void service_fill_report(void *context, struct arena *arena, struct ray_report *report)
{
    const struct service *service = context;
    struct service_ray_report gathering = {.service = service, .arena = arena};
    controller_each(service->head.controller, service_ray_gather, &gathering);
    report->requests = gathering.requests.items;
    report->request_count = gathering.requests.count;
    report->nodes = gathering.nodes;
    report->node_count = gathering.node_count;
    decision_add_infeasible(service->decision, arena, report);
}

/* ---- an idle cluster ---- */

struct idle_stop_view service_idle_view(void *context)
{
    enum { SEEN_MS = 10 * 1000 };
    const struct service *service = context;
    struct idle_stop_view view = {.idle_ms = -1};
    struct cluster_status cluster_status;
    struct arena arena;
    arena_init(&arena);
    decision_cluster_status(service->decision, &arena, &cluster_status);
    int64_t age_ms = clock_wall_ms(&clock_of_machine) - cluster_status.seen_ms;
    view.sees_ray = service->head.is_leading && service->head.ray.is_alive &&
                    cluster_status.seen_ms > 0 && age_ms < SEEN_MS;
    view.waiting = cluster_status.demand_count;
    view.on_way = convergence_count(&service->workers, CONVERGE_PENDING) +
                  head_ray_is_restarting(&service->head);
    idle_watch_add_nodes(&cluster_status, &view);
    arena_clear(&arena);
    return view;
}

/* ---- opening and closing ---- */

void service_expect_ray(struct service *service)
{
    bool expects = !service->head.ray.is_alive || head_ray_is_restarting(&service->head) ||
                   convergence_count(&service->workers, CONVERGE_PENDING) > 0;
    gcs_poller_expect(service->head.ray.poller, expects);
}

void service_open_ray(struct service *service)
{
    service->deaths = deaths_open(&service->head);
    struct ray_view_hooks hooks = {.context = service,
                                   .instance_of = instance_of,
                                   .is_hidden = is_hidden,
                                   .node = service_ray_on_node,
                                   .load = on_load,
                                   .training = add_training};
    service->training = HEAP_NEW(struct training_demand);
    service->head.ray.view = ray_view_open(&service->head.core.names, &hooks);
    service->head.ray.poller = gcs_poller_open(&(struct gcs_poller_setup){
        .loop = service->head.session.loop,
        .http = service->head.session.http,
        .address = service->head.ray_address,
        .token_path = service->head.token_path,
        .hooks = {service, service_ray_seen, on_answering, service_ray_replaced, on_closing},
    });
}

void service_close_ray(struct service *service)
{
    if (service->head.ray.poller) {
        gcs_poller_close(service->head.ray.poller);
    }
    ray_view_close(service->head.ray.view);
    free(service->training);
    deaths_close(service->deaths);
}

/* A new core needs the complete state. */
void service_ray_begin(struct service *service)
{
    ray_view_resend_all(service->head.ray.view);
    setup_scheduler_begin(service->scheduler);
    service->head.ray.has_seen = false;
    gcs_poller_hurry(service->head.ray.poller);
}

/* Ignore replies to drains in flight. */
void service_ray_end(struct service *service)
{
    for (struct drain_call *call = service->drains; call; call = call->next) {
        call->instance = INSTANCE_NONE;
    }
    deaths_forget(service->deaths);
}
