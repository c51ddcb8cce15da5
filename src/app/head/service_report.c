/*
 * service_report.c: reports the autoscaler's state to Ray, for `ray status`, the dashboard and
 * drivers: pending nodes, failed launches, infeasible requests, the node types, and messages for
 * drivers.
 *
 * A report is sent soon after a change and every few seconds. The last one is empty: Ray would show
 * it forever.
 */
#include "app/head/service_report.h"

#include "app/head/ray/autoscaler_report.h"
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
    struct reporter_setup setup;
    struct head_context *head;
    struct loop_timer *timer;    /* timer of the next report */
    struct loop_timer *patience; /* time limit of the empty report */
    int64_t version;             /* version of the last report */
    int64_t sent_at;             /* monotonic */
    bool is_sending;             /* a report is in flight */
    bool is_news;                /* something has changed since the last report */
    bool has_groups;             /* node types were reported */
    bool is_notifying;           /* a message is in flight */
    struct line *lines, *last_line;
    size_t line_count;
    struct report_failures failures;
    reporter_done_fn *farewell; /* called once, after the empty report */
    void *farewell_context;
};

static int64_t wall_ms(const struct reporter *reporter)
{
    return clock_wall_ms(loop_clock(reporter->head->session.loop));
}

/* ---- sending ---- */

static void service_report_plan_next(struct reporter *reporter, int64_t wait)
{
    int64_t least = reporter->sent_at + APART_MS - loop_now_ms(reporter->head->session.loop);
    loop_timer_start(reporter->timer, reporter->sent_at > 0 && least > wait ? least : wait);
}

static int64_t next_version(struct reporter *reporter)
{
    reporter->version = report_version(reporter->version, wall_ms(reporter));
    return reporter->version;
}

static void finish_farewell(struct reporter *reporter)
{
    reporter_done_fn *done = reporter->farewell;
    reporter->farewell = NULL;
    loop_timer_stop(reporter->patience);
    if (done) {
        done(reporter->farewell_context);
    }
}

static void on_reported(void *context, const struct gcs_answer *answer)
{
    struct reporter *reporter = context;
    reporter->is_sending = false;
    if (answer->trouble != GCS_FINE) {
        LOG(reporter->head, WARNING, "report to Ray failed: %s", answer->err.text);
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
    const struct core_settings *settings = &reporter->head->core.settings;
    reporter->has_groups = true;
    gcs_report_groups(gcs, report_groups(settings, arena), settings->type_count,
                      service_report_on_groups, reporter);
}

/* Only the acting autoscaler reports. */
static bool may_report(const struct reporter *reporter)
{
    const struct head_context *head = reporter->head;
    return head->controller && head->is_leading && head->ray.is_alive &&
           !ray_autoscaler_is_active(reporter->setup.ray_autoscaler);
}

static void service_report_send(void *context)
{
    struct reporter *reporter = context;
    struct gcs *gcs = gcs_poller_gcs(reporter->head->ray.poller);
    struct arena arena;
    if (reporter->is_sending || reporter->farewell) {
        return;
    }
    if (!gcs || !may_report(reporter)) {
        service_report_plan_next(reporter, EVERY_MS);
        return;
    }
    arena_init(&arena);
    struct ray_report report = {.seen_version = ray_view_version(reporter->head->ray.view),
                                .version = next_version(reporter)};
    report.failures = report_failures_list(&reporter->failures, reporter->head->core.facts, &arena);
    report.failure_count = reporter->failures.count;
    reporter->setup.fill(reporter->setup.context, &arena, &report);
    reporter->is_sending = true;
    reporter->is_news = false;
    reporter->sent_at = loop_now_ms(reporter->head->session.loop);
    if (!reporter->has_groups) {
        tell_groups(reporter, gcs, &arena);
    }
    gcs_report(gcs, &report, on_reported, reporter);
    arena_clear(&arena);
}

void reporter_soon(struct reporter *reporter)
{
    if (!reporter->is_sending && !reporter->is_news) {
        service_report_plan_next(reporter, SOON_MS);
    }
    reporter->is_news = true;
}

void reporter_lost(struct reporter *reporter)
{
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

void reporter_farewell(struct reporter *reporter, reporter_done_fn *done, void *context)
{
    struct gcs *gcs = gcs_poller_gcs(reporter->head->ray.poller);
    reporter->farewell = done;
    reporter->farewell_context = context;
    loop_timer_stop(reporter->timer);
    if (!gcs || ray_autoscaler_is_active(reporter->setup.ray_autoscaler)) {
        loop_timer_start(reporter->patience, 0);
        return;
    }
    struct ray_report report = {.seen_version = ray_view_version(reporter->head->ray.view),
                                .version = next_version(reporter)};
    loop_timer_start(reporter->patience, FAREWELL_MS);
    gcs_report(gcs, &report, on_farewell, reporter);
}

/* ---- failed launches ---- */

void reporter_launch_failed(struct reporter *reporter, uint32_t type, int64_t count,
                            int64_t asked_ms, struct str reason)
{
    struct report_failure failure = {
        .type = type, .count = count, .asked_ms = asked_ms, .failed_ms = wall_ms(reporter)};
    snprintf(failure.reason, sizeof(failure.reason), "%.*s", STR_ARG(reason));
    if (type < reporter->head->core.settings.type_count &&
        report_failures_note(&reporter->failures, &failure)) {
        reporter_soon(reporter);
    }
}

void reporter_launched(struct reporter *reporter, uint32_t type)
{
    if (report_failures_forget(&reporter->failures, type)) {
        reporter_soon(reporter);
    }
}

/* ---- messages for drivers ---- */

static void service_report_next(struct reporter *reporter);

static void service_report_on_notified(void *context, const struct gcs_answer *answer)
{
    struct reporter *reporter = context;
    reporter->is_notifying = false;
    if (answer->trouble != GCS_FINE) {
        LOG(reporter->head, DEBUG, "cannot notify drivers: %s", answer->err.text);
    }
    service_report_next(reporter);
}

/* Sends one at a time, to keep their order. */
static void service_report_next(struct reporter *reporter)
{
    struct line *line = reporter->lines;
    struct gcs *gcs = gcs_poller_gcs(reporter->head->ray.poller);
    if (!line || reporter->is_notifying || !gcs) {
        return;
    }
    reporter->lines = line->next;
    reporter->last_line = reporter->lines ? reporter->last_line : NULL;
    reporter->line_count--;
    reporter->is_notifying = true;
    struct gcs_line told = {.ray_version = gcs_poller_version(reporter->head->ray.poller),
                            .head_address = reporter->head->handover.head_private_ip,
                            .text = str_from(line->text),
                            .is_warning = line->is_warning};
    gcs_tell_drivers(gcs, &told, service_report_on_notified, reporter);
    free(line);
}

void reporter_tell_drivers(struct reporter *reporter, struct str text, bool is_warning)
{
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

void reporter_reset(struct reporter *reporter)
{
    reporter->has_groups = false;
    reporter_soon(reporter);
    service_report_next(reporter); /* messages queued while there was no GCS */
}

/* ---- opening and closing ---- */

struct reporter *reporter_open(const struct reporter_setup *setup)
{
    struct reporter *reporter = HEAP_NEW(struct reporter);
    reporter->setup = *setup;
    reporter->head = setup->head;
    reporter->timer = loop_timer_new(setup->head->session.loop, service_report_send, reporter);
    reporter->patience = loop_timer_new(setup->head->session.loop, on_impatient, reporter);
    service_report_plan_next(reporter, EVERY_MS);
    return reporter;
}

void reporter_close(struct reporter *reporter)
{
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
}
