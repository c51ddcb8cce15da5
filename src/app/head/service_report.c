/*
 * service_report.c: reports the autoscaler's state to Ray, for `ray status`, the dashboard and
 * drivers: pending nodes, failed launches, infeasible requests, the node types, and messages for
 * drivers.
 *
 * A report is sent soon after a change and every few seconds. The last one is empty: Ray would show
 * it forever.
 */
#include "app/head/ray/autoscaler_report.h"
#include "app/head/service_internal.h"
#include "io/xalloc.h"

#include <stdio.h>

enum {
    SOON_MS = 50,    /* batches changes */
    APART_MS = 1000, /* least time between reports */
    EVERY_MS = 5000,
    FAREWELL_MS = 1500, /* time limit of the empty report */
    LINES_MAX = 64,     /* queued messages */
    LINE_BYTES_MAX = 4096,
};

struct line {
    struct line *next;
    bool is_warning;
    char text[];
};

struct reporter {
    struct service *service;
    struct loop_timer *timer;    /* for the next report */
    struct loop_timer *patience; /* for the empty report */
    int64_t version;             /* of the last report */
    int64_t sent_at;             /* monotonic */
    bool is_sending;             /* a report is in flight */
    bool is_news;                /* something has changed since the last report */
    bool has_groups;             /* node types were reported */
    bool is_notifying;           /* a message is in flight */
    struct line *lines, *last_line;
    size_t line_count;
    struct report_failures failures;
    service_done_fn *farewell; /* called once, after the empty report */
};

static int64_t wall_ms(const struct service *service)
{
    return clock_wall_ms(loop_clock(service->session.loop));
}

/* ---- pending nodes ---- */

struct service_report_gathering {
    const struct service *service;
    struct arena *arena;
    struct report_requests requests;
    struct ray_pending_node *nodes;
    size_t node_count, node_capacity;
};

/* Converts a time on the loop's clock to wall clock seconds. */
static int64_t service_report_seconds_of(const struct service *service, int64_t at_ms)
{
    return (wall_ms(service) - (loop_now_ms(service->session.loop) - at_ms)) / 1000;
}

static void service_report_add_node(struct service_report_gathering *gathering,
                                    const struct managed_node *managed_node, uint32_t type)
{
    const struct type_facts *facts = &gathering->service->core.facts[type];
    struct node_view view;
    service_view(gathering->service, managed_node, gathering->arena, &view);
    void *items = gathering->nodes;
    arena_grow(gathering->arena, &items, gathering->node_count, &gathering->node_capacity,
               sizeof(*gathering->nodes));
    gathering->nodes = items;
    gathering->nodes[gathering->node_count++] = (struct ray_pending_node){
        .machine = facts->machine,
        .type = facts->name,
        .instance_id = view.id,
        .address = view.private_ip,
        .details = report_details(&view, gathering->arena),
    };
}

static void service_report_gather(void *context, const struct managed_node *managed_node)
{
    struct service_report_gathering *gathering = context;
    const struct core_settings *settings = &gathering->service->core.settings;
    const struct node *node = managed_node->node;
    if (!node || managed_node->is_head || node->offering >= settings->offering_count ||
        !node_state_table[node->state].is_pending) {
        return;
    }
    uint32_t type = settings->offerings[node->offering].type;
    if (node->state == NODE_REQUESTED || !managed_node->machine) {
        report_requests_add(&gathering->requests, &gathering->service->core.facts[type],
                            service_report_seconds_of(gathering->service, node->created_at),
                            gathering->arena);
    } else {
        service_report_add_node(gathering, managed_node, type);
    }
}

/* ---- sending ---- */

static void service_report_plan_next(struct reporter *reporter, int64_t wait)
{
    int64_t least = reporter->sent_at + APART_MS - loop_now_ms(reporter->service->session.loop);
    loop_timer_start(reporter->timer, reporter->sent_at > 0 && least > wait ? least : wait);
}

static int64_t next_version(struct reporter *reporter)
{
    reporter->version = report_version(reporter->version, wall_ms(reporter->service));
    return reporter->version;
}

static void finish_farewell(struct reporter *reporter)
{
    service_done_fn *done = reporter->farewell;
    reporter->farewell = NULL;
    loop_timer_stop(reporter->patience);
    if (done) {
        done(reporter->service);
    }
}

static void on_reported(void *context, const struct gcs_answer *answer)
{
    struct reporter *reporter = context;
    reporter->is_sending = false;
    if (answer->trouble != GCS_FINE) {
        LOG(reporter->service, WARNING, "report to Ray failed: %s", answer->err.text);
    }
    if (!reporter->farewell) {
        service_report_plan_next(reporter, reporter->is_news ? SOON_MS : EVERY_MS);
    }
}

static void on_farewell(void *context, const struct gcs_answer *answer)
{
    (void)answer; /* no retry at shutdown */
    finish_farewell(context);
}

static void service_report_on_groups(void *context, const struct gcs_answer *answer)
{
    struct reporter *reporter = context;
    if (answer->trouble != GCS_FINE && answer->trouble != GCS_TOO_OLD) {
        reporter->has_groups = false; /* retried with the next report */
    }
}

static void tell_groups(struct reporter *reporter, struct gcs *gcs, struct arena *arena)
{
    const struct core_settings *settings = &reporter->service->core.settings;
    reporter->has_groups = true;
    gcs_report_groups(gcs, report_groups(settings, arena), settings->type_count,
                      service_report_on_groups, reporter);
}

static void service_report_fill(struct reporter *reporter, struct arena *arena,
                                struct ray_report *report)
{
    struct service_report_gathering gathering = {.service = reporter->service, .arena = arena};
    controller_each(reporter->service->controller, service_report_gather, &gathering);
    report->requests = gathering.requests.items;
    report->request_count = gathering.requests.count;
    report->nodes = gathering.nodes;
    report->node_count = gathering.node_count;
    report->failures = report_failures_list(&reporter->failures, reporter->service->core.facts,
                                            arena);
    report->failure_count = reporter->failures.count;
    service_infeasible(reporter->service, arena, report);
}

/* Only the acting autoscaler reports. */
static bool may_report(const struct service *service)
{
    return service->controller && service->is_leading && service->is_head_alive &&
           !service_ray_scales(service);
}

static void service_report_send(void *context)
{
    struct reporter *reporter = context;
    struct service *service = reporter->service;
    struct gcs *gcs = gcs_poller_gcs(service->ray);
    struct arena arena;
    if (reporter->is_sending || reporter->farewell) {
        return;
    }
    if (!gcs || !may_report(service)) {
        service_report_plan_next(reporter, EVERY_MS);
        return;
    }
    arena_init(&arena);
    struct ray_report report = {.seen_version = ray_view_version(service->mirror),
                                .version = next_version(reporter)};
    service_report_fill(reporter, &arena, &report);
    reporter->is_sending = true;
    reporter->is_news = false;
    reporter->sent_at = loop_now_ms(service->session.loop);
    if (!reporter->has_groups) {
        tell_groups(reporter, gcs, &arena);
    }
    gcs_report(gcs, &report, on_reported, reporter);
    arena_clear(&arena);
}

void service_report_soon(struct service *service)
{
    struct reporter *reporter = service->reporter;
    if (!reporter->is_sending && !reporter->is_news) {
        service_report_plan_next(reporter, SOON_MS);
    }
    reporter->is_news = true;
}

/* The client was closed: calls in flight will not be answered. */
void service_report_lost(struct service *service)
{
    struct reporter *reporter = service->reporter;
    reporter->is_notifying = false;
    if (reporter->is_sending) {
        reporter->is_sending = false;
        service_report_plan_next(reporter, SOON_MS);
    }
}

static void on_impatient(void *context)
{
    finish_farewell(context);
}

void service_report_farewell(struct service *service, service_done_fn *done)
{
    struct reporter *reporter = service->reporter;
    struct gcs *gcs = gcs_poller_gcs(service->ray);
    reporter->farewell = done;
    loop_timer_stop(reporter->timer);
    if (!gcs || service_ray_scales(service)) {
        loop_timer_start(reporter->patience, 0);
        return;
    }
    struct ray_report report = {.seen_version = ray_view_version(service->mirror),
                                .version = next_version(reporter)};
    loop_timer_start(reporter->patience, FAREWELL_MS);
    gcs_report(gcs, &report, on_farewell, reporter);
}

/* ---- failed launches ---- */

void service_report_failed(struct service *service, uint32_t type, int64_t count, int64_t asked_ms,
                           struct str reason)
{
    struct report_failure failure = {
        .type = type, .count = count, .asked_ms = asked_ms, .failed_ms = wall_ms(service)};
    snprintf(failure.reason, sizeof(failure.reason), "%.*s", STR_ARG(reason));
    if (type < service->core.settings.type_count &&
        report_failures_note(&service->reporter->failures, &failure)) {
        service_report_soon(service);
    }
}

void service_report_came(struct service *service, uint32_t type)
{
    if (report_failures_forget(&service->reporter->failures, type)) {
        service_report_soon(service);
    }
}

/* ---- messages for drivers ---- */

static void service_report_next(struct reporter *reporter);

static void service_report_on_notified(void *context, const struct gcs_answer *answer)
{
    struct reporter *reporter = context;
    reporter->is_notifying = false;
    if (answer->trouble != GCS_FINE) {
        LOG(reporter->service, DEBUG, "cannot notify drivers: %s", answer->err.text);
    }
    service_report_next(reporter);
}

/* Sends one at a time, to keep their order. */
static void service_report_next(struct reporter *reporter)
{
    struct service *service = reporter->service;
    struct line *line = reporter->lines;
    struct gcs *gcs = gcs_poller_gcs(service->ray);
    if (!line || reporter->is_notifying || !gcs) {
        return;
    }
    reporter->lines = line->next;
    reporter->last_line = reporter->lines ? reporter->last_line : NULL;
    reporter->line_count--;
    reporter->is_notifying = true;
    struct gcs_line told = {.ray_version = gcs_poller_version(service->ray),
                            .head_address = service->handover.head_private_ip,
                            .text = str_from(line->text),
                            .is_warning = line->is_warning};
    gcs_tell_drivers(gcs, &told, service_report_on_notified, reporter);
    free(line);
}

void service_tell_drivers(struct service *service, struct str text, bool is_warning)
{
    struct reporter *reporter = service->reporter;
    text = str_sub(text, 0, LINE_BYTES_MAX);
    if (reporter->line_count >= LINES_MAX || text.len == 0) {
        return;
    }
    struct line *line = heap_zeroed(sizeof(*line) + text.len + 1);
    memcpy(line->text, text.ptr, text.len);
    line->is_warning = is_warning;
    if (reporter->last_line) {
        reporter->last_line->next = line;
    } else {
        reporter->lines = line;
    }
    reporter->last_line = line;
    reporter->line_count++;
    service_report_next(reporter);
}

/* ---- a new GCS ---- */

void service_report_reset(struct service *service)
{
    service->reporter->has_groups = false;
    service_report_soon(service);
    service_report_next(service->reporter); /* messages queued while there was no GCS */
}

/* ---- opening and closing ---- */

void service_open_report(struct service *service)
{
    struct reporter *reporter = HEAP_NEW(struct reporter);
    reporter->service = service;
    reporter->timer = loop_timer_new(service->session.loop, service_report_send, reporter);
    reporter->patience = loop_timer_new(service->session.loop, on_impatient, reporter);
    service->reporter = reporter;
    service_report_plan_next(reporter, EVERY_MS);
}

void service_close_report(struct service *service)
{
    struct reporter *reporter = service->reporter;
    if (!reporter) {
        return;
    }
    while (reporter->lines) {
        struct line *line = reporter->lines;
        reporter->lines = line->next;
        free(line);
    }
    loop_timer_free(reporter->timer);
    loop_timer_free(reporter->patience);
    free(reporter);
    service->reporter = NULL;
}
