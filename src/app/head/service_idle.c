/*
 * service_idle.c: stops a cluster that has been idle for long enough, including its head
 * (idle_stop.h), if the file enables that.
 *
 * It works like `shoal exec --stop`: the workers are terminated, then this machine shuts down. A
 * head that was launched with idle_stop in the file is only stopped, and the next `shoal up` starts
 * it again.
 */
#include "app/head/service_internal.h"
#include "io/clock.h"

enum { FIRST_MS = 1000, SEEN_MS = 10 * 1000, ANSWER_MS = 30 * 1000 };

static void add_nodes(const struct cluster_status *cluster_status, struct idle_stop_view *view)
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

struct idle_stop_view service_idle_view(const struct service *service)
{
    struct idle_stop_view view = {.idle_ms = -1};
    struct cluster_status cluster_status;
    struct arena arena;
    arena_init(&arena);
    service_cluster_status(service, &arena, &cluster_status);
    int64_t age_ms = clock_wall_ms(&clock_of_machine) - cluster_status.seen_ms;
    view.sees_ray = service->is_leading && service->is_head_alive && cluster_status.seen_ms > 0 &&
                    age_ms < SEEN_MS;
    view.waiting = cluster_status.demand_count;
    view.on_way = convergence_count(&service->slots, CONVERGE_PENDING) +
                  service_waits_for_ray(service);
    add_nodes(&cluster_status, &view);
    arena_clear(&arena);
    return view;
}

static void service_idle_pause(struct service *service)
{
    struct arena arena;
    struct err err;
    arena_init(&arena);
    double minutes = (double)service->idle_stop.after_ms / 60000;
    struct str reason = arena_printf(
        &arena, "no work and no connected driver for %.4g minutes (idle_stop)", minutes);
    events_add(service->events, CLUSTER_EVENT_AUTOSCALER, STR(""),
               STR("the cluster is idle; stopping it"), reason);
    if (!service_terminate(service, &err)) {
        LOG(service, WARNING, "cannot rest: %s", err.text);
    }
    arena_clear(&arena);
}

static void service_idle_decide(struct service *service, const struct idle_stop_view *view)
{
    int64_t wait_ms;
    int64_t now = loop_now_ms(service->session.loop);
    if (service->is_ending) {
        return;
    }
    if (service->idle_stop.after_ms <= 0) { /* idle_stop is off; drivers are counted anyway */
        loop_timer_start(service->idle_look, SEEN_MS);
        return;
    }
    if (idle_stop_is_due(&service->idle_stop, view, now, &wait_ms)) {
        service_idle_pause(service);
        wait_ms = SEEN_MS;
    }
    loop_timer_start(service->idle_look, wait_ms);
}

void service_hear_drivers(void *context, const struct gcs_answer *answer, size_t count)
{
    struct service *service = context;
    struct idle_stop_view view = service_idle_view(service);
    service->has_drivers = answer->trouble == GCS_FINE;
    service->drivers = count;
    view.drivers = count;
    view.sees_ray = view.sees_ray && answer->trouble == GCS_FINE;
    service_idle_decide(service, &view);
}

static void service_idle_inspect(void *context)
{
    struct service *service = context;
    struct gcs *gcs = gcs_poller_gcs(service->ray);
    if (gcs) {
        loop_timer_start(service->idle_look, ANSWER_MS); /* a closed client never answers */
        gcs_count_drivers(gcs, service_hear_drivers, service);
    } else {
        service->has_drivers = false;
        service_idle_decide(service, &(struct idle_stop_view){.sees_ray = false});
    }
}

void service_open_idle(struct service *service)
{
    service->idle_stop.after_ms = idle_stop_after(service->config->shoal);
    service->idle_look = loop_timer_new(service->session.loop, service_idle_inspect, service);
    loop_timer_start(service->idle_look, FIRST_MS);
}
