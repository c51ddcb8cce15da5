/*
 * service_idle.c: stops a cluster that has been idle for long enough, including its head
 * (idle_stop.h), if the file enables that.
 *
 * It works like `shoal exec --stop`: the workers are terminated, then this machine shuts down. A
 * head that was launched with idle_stop in the file is only stopped, and the next `shoal up` starts
 * it again.
 */
#include "app/head/service_idle.h"

#include "io/clock.h"

enum { FIRST_MS = 1000, SEEN_MS = 10 * 1000, ANSWER_MS = 30 * 1000 };

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
        &arena, "no work and no connected driver for %.4g minutes (idle_stop)", minutes);
    events_add(watch->head->events, CLUSTER_EVENT_AUTOSCALER, STR(""),
               STR("the cluster is idle; stopping it"), reason);
    if (!watch->terminate(watch->context, &err)) {
        LOG(watch->head, WARNING, "cannot stop the idle cluster: %s", err.text);
    }
    arena_clear(&arena);
}

static void service_idle_decide(struct idle_watch *watch, const struct idle_stop_view *view)
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
    if (idle_stop_is_due(&watch->idle_stop, view, now, &wait_ms)) {
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
        service_idle_decide(watch, &(struct idle_stop_view){.sees_ray = false});
    }
}

void idle_watch_open(struct idle_watch *watch)
{
    bool stops = !config_is_local(watch->head->config); /* an own machine keeps running */
    watch->idle_stop.after_ms = stops ? idle_stop_after(watch->head->config->shoal) : 0;
    watch->timer = loop_timer_new(watch->head->session.loop, service_idle_inspect, watch);
    loop_timer_start(watch->timer, FIRST_MS);
}
