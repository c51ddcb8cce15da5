/*
 * service_idle.c: stops a cluster that has been idle for long enough, including its head
 * (idle_stop.h), if the file enables that.
 *
 * It works like `shoal exec --stop`: the workers are terminated, then this machine shuts down. A
 * head that was launched with idle_stop in the file is only stopped, and the next `shoal up` starts
 * it again.
 */
#include "app/head/service_idle.h"

#include "app/head/head_use.h"
#include "io/clock.h"

#include <stdio.h>
#include <time.h>

enum {
    FIRST_MS = 1000,
    SEEN_MS = 10 * 1000,
    ANSWER_MS = 30 * 1000,
    GPU_MS = 20 * 1000,
    GPU_BYTES_MAX = 4096
};

void idle_watch_add_nodes(const struct cluster_status *cluster_status, struct idle_stop_view *view)
{
    for (size_t i = 0; i < cluster_status->node_count; i++) {
        const struct node_usage *node = &cluster_status->nodes[i];
        if (node->is_dead) {
            continue;
        }
        view->busy += node->idle_ms < 0 && !node->is_draining;
        view->on_way += node->is_draining;
        if (node->idle_ms >= 0 && (view->idle_ms < 0 || node->idle_ms < view->idle_ms)) {
            view->idle_ms = node->idle_ms;
        }
    }
}

static void service_idle_pause(struct idle_watch *watch)
{
    struct arena arena;
    struct err err;
    arena_init(&arena);
    double minutes = (double)watch->idle_stop.after_ms / 60000;
    struct str reason = arena_printf(
        &arena,
        "for %.4g minutes there was no work and no connected driver, and on the head no ssh "
        "session, remote editor, notebook or GPU in use (idle_stop)",
        minutes);
    events_add(watch->head->events, CLUSTER_EVENT_AUTOSCALER, STR(""),
               STR("the cluster is idle; stopping it"), reason);
    if (!watch->terminate(watch->context, &err)) {
        LOG(watch->head, WARNING, "cannot stop the idle cluster: %s", err.text);
    }
    arena_clear(&arena);
}

/* ---- the head outside Ray ---- */

/* Images for GPUs also run on instances without one, where the program fails. It can be slow: then
 * the last answer counts. */
static void service_idle_on_gpus(void *context, const struct child_result *result)
{
    struct idle_watch *watch = context;
    watch->gpu_query = NULL;
    watch->has_no_gpu = result->end == CHILD_NOT_STARTED && result->err.kind == ERR_NOT_FOUND;
    if (result->end != CHILD_TIMED_OUT) {
        watch->gpus = child_was_fine(result) ? idle_stop_gpus(result->output[CHILD_STDOUT]) : 0;
    }
}

static void service_idle_ask_gpus(struct idle_watch *watch)
{
    static const char *const argv[] = {IDLE_STOP_GPU_COMMAND, NULL};
    struct child_spec spec = {.argv = argv,
                              .env_names = child_usual_env,
                              .output = {{.bytes_max = GPU_BYTES_MAX}},
                              .deadline_ms = GPU_MS,
                              .done = service_idle_on_gpus,
                              .context = watch};
    if (!watch->has_no_gpu && !watch->gpu_query) {
        watch->gpu_query = child_start(watch->head->session.children, &spec);
    }
}

static void service_idle_add_head(const struct idle_watch *watch, struct idle_stop_view *view)
{
    struct head_use use = head_use_scan(watch->proc);
    view->logins = use.logins;
    view->editors = use.editors;
    view->notebooks = use.notebooks;
    view->gpus = watch->gpus;
}

/* ---- the decision ---- */

static void service_idle_note(struct idle_watch *watch, const struct idle_stop_view *view,
                              int64_t now_ms)
{
    AUTO_BUF struct buf reason;
    buf_init(&reason, sizeof(watch->kept_by));
    idle_stop_add_reason(view, &reason);
    snprintf(watch->kept_by, sizeof(watch->kept_by), "%.*s", STR_ARG(buf_str(&reason)));
    int64_t left = watch->idle_stop.after_ms - (now_ms - watch->idle_stop.idle_since_ms);
    watch->stops_at_ms = reason.len > 0 ? 0 : clock_wall_ms(&clock_of_machine) + left;
}

struct str idle_watch_text(const struct idle_watch *watch, struct arena *arena)
{
    char when[32] = "";
    struct tm day;
    time_t at = (time_t)(watch->stops_at_ms / 1000);
    if (watch->idle_stop.after_ms <= 0) {
        return STR("");
    }
    if (watch->kept_by[0] != '\0') {
        return arena_printf(arena, "kept running by %s", watch->kept_by);
    }
    if (watch->stops_at_ms == 0 || !gmtime_r(&at, &day)) {
        return STR("");
    }
    strftime(when, sizeof(when), "%Y-%m-%d %H:%M UTC", &day);
    return arena_printf(arena, "idle and stops at %s", when);
}

static void service_idle_decide(struct idle_watch *watch, struct idle_stop_view *view)
{
    int64_t wait_ms;
    int64_t now = loop_now_ms(watch->head->session.loop);
    if (watch->head->is_ending) {
        return;
    }
    if (watch->idle_stop.after_ms <= 0) { /* idle_stop is off; drivers are counted anyway */
        loop_timer_start(watch->timer, SEEN_MS);
        return;
    }
    service_idle_add_head(watch, view);
    service_idle_ask_gpus(watch);
    bool is_due = idle_stop_is_due(&watch->idle_stop, view, now, &wait_ms);
    service_idle_note(watch, view, now);
    if (is_due) {
        service_idle_pause(watch);
        wait_ms = SEEN_MS;
    }
    loop_timer_start(watch->timer, wait_ms);
}

void idle_watch_on_drivers(void *context, const struct gcs_answer *answer, size_t count)
{
    struct idle_watch *watch = context;
    struct idle_stop_view view = watch->view(watch->context);
    watch->has_drivers = answer->trouble == GCS_FINE;
    watch->drivers = count;
    view.drivers = count;
    view.sees_ray = view.sees_ray && answer->trouble == GCS_FINE;
    service_idle_decide(watch, &view);
}

static void service_idle_inspect(void *context)
{
    struct idle_watch *watch = context;
    struct gcs *gcs = gcs_poller_gcs(watch->head->ray.poller);
    if (gcs) {
        loop_timer_start(watch->timer, ANSWER_MS); /* a closed client never answers */
        gcs_count_drivers(gcs, idle_watch_on_drivers, watch);
    } else {
        watch->has_drivers = false;
        service_idle_decide(watch, &(struct idle_stop_view){.idle_ms = -1});
    }
}

void idle_watch_open(struct idle_watch *watch)
{
    bool stops = !config_is_local(watch->head->config); /* an own machine keeps running */
    watch->idle_stop.after_ms = stops ? idle_stop_after(watch->head->config->shoal) : 0;
    watch->timer = loop_timer_new(watch->head->session.loop, service_idle_inspect, watch);
    loop_timer_start(watch->timer, FIRST_MS);
}
