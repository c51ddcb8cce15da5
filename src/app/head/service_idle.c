/*
 * service_idle.c: a cluster that has had nothing to do for long enough rests, its head included
 * (idle_stop.h), if the file asks for that.
 *
 * It ends as `shoal exec --stop` ends it: the workers first, then this machine is switched off. A
 * head that was launched with the same wish in the file only stands still, and the next `shoal up`
 * starts it again.
 */
#include "app/head/service_parts.h"
#include "io/clock.h"

enum { SEEN_MS = 10 * 1000, ANSWER_MS = 30 * 1000 };

static void add_nodes(const struct insight *insight, struct idle_stop_view *view)
{
    for (size_t i = 0; i < insight->node_count; i++) {
        const struct insight_node *node = &insight->nodes[i];
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

static struct idle_stop_view look_around(const struct service *service)
{
    struct idle_stop_view view = {.idle_ms = -1};
    struct insight insight;
    struct arena arena;
    arena_init(&arena);
    service_insight(service, &arena, &insight);
    int64_t age_ms = clock_wall_ms(&clock_of_machine) - insight.seen_ms;
    view.sees_ray = service->is_leading && service->is_head_alive && insight.seen_ms > 0 &&
                    age_ms < SEEN_MS;
    view.waiting = insight.demand_count;
    view.on_way = slots_count(&service->slots, SLOT_PENDING) + service_waits_for_ray(service);
    add_nodes(&insight, &view);
    arena_clear(&arena);
    return view;
}

static void rest(struct service *service)
{
    struct arena arena;
    struct err err;
    arena_init(&arena);
    double minutes = (double)service->idle_stop.after_ms / 60000;
    struct str reason = arena_printf(
        &arena, "nothing ran and no driver was connected for %.4g minutes (idle_stop)", minutes);
    events_add(service->events, EVENT_WORD_SERVICE, STR(""), STR("the whole cluster rests"),
               reason);
    if (!service_end(service, &err)) {
        LOG(service, WARNING, "cannot rest: %s", err.text);
    }
    arena_clear(&arena);
}

static void decide(struct service *service, const struct idle_stop_view *view)
{
    int64_t wait_ms;
    int64_t now = loop_now_ms(service->session.loop);
    if (service->is_ending) {
        return;
    }
    if (idle_stop_is_due(&service->idle_stop, view, now, &wait_ms)) {
        rest(service);
        wait_ms = SEEN_MS;
    }
    loop_timer_start(service->idle_look, wait_ms);
}

static void hear_drivers(void *context, const struct gcs_answer *answer, size_t count)
{
    struct service *service = context;
    struct idle_stop_view view = look_around(service);
    view.drivers = count;
    view.sees_ray = view.sees_ray && answer->trouble == GCS_FINE;
    decide(service, &view);
}

static void look(void *context)
{
    struct service *service = context;
    struct gcs *gcs = ray_watch_gcs(service->ray);
    if (gcs) {
        loop_timer_start(service->idle_look, ANSWER_MS); /* a client that is closed says nothing */
        gcs_count_drivers(gcs, hear_drivers, service);
    } else {
        decide(service, &(struct idle_stop_view){.sees_ray = false});
    }
}

void service_open_idle(struct service *service)
{
    service->idle_stop.after_ms = idle_stop_after(service->config->shoal);
    service->idle_look = loop_timer_new(service->session.loop, look, service);
    if (service->idle_stop.after_ms > 0) {
        loop_timer_start(service->idle_look, SEEN_MS);
    }
}
