/*
 * service_ray.c: what the head's Ray says becomes what the core hears; what the core asks of
 * raylets is asked.
 *
 * A node that is just taken out of Ray because its Ray is started anew is hidden from the core. A
 * GCS that was itself started anew knows less than before, so the core is told, and ends nothing
 * for a while.
 */
#include "app/head/service_parts.h"
#include "io/heap.h"

#include <stdio.h>

/* A drain that a raylet was asked for. */
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

static enum drain_answer meaning_of(const struct gcs_answer *answer, bool is_accepted)
{
    if (answer->trouble != GCS_FINE) {
        return DRAIN_UNKNOWN;
    }
    return is_accepted ? DRAIN_ACCEPTED : DRAIN_REFUSED;
}

static void on_drain(void *context, const struct gcs_answer *answer, bool is_accepted,
                     struct str why_not)
{
    struct drain_call *call = context;
    struct service *service = call->service;
    enum drain_answer meaning = meaning_of(answer, is_accepted);
    uint64_t instance = call->instance;
    forget_call(service, call);
    if (!service->controller || instance == INSTANCE_NONE) {
        return;
    }
    struct str why = answer->trouble != GCS_FINE ? str_from(answer->err.text) : why_not;
    metrics_count_drain(&service->metrics, meaning);
    service_happen_drained(service, instance, meaning, why);
    controller_drained(service->controller, instance, meaning);
}

/* The deadline is for people and for Ray, on the clock of both; what is decided by it is not. */
void service_drain(struct service *service, const struct controlled *controlled,
                   const struct action *action)
{
    struct gcs *gcs = ray_watch_gcs(service->ray);
    struct str id = ray_mirror_node_id(service->mirror, controlled->instance);
    if (!gcs || id.len != RAY_ID_BYTES || controlled->is_head) {
        controller_drained(service->controller, controlled->instance, DRAIN_UNKNOWN);
        return;
    }
    struct arena arena;
    struct drain_call *call = HEAP_NEW(struct drain_call);
    int64_t left = action->drain_until - loop_now_ms(service->session.loop);
    *call = (struct drain_call){service, service->drains, controlled->instance};
    service->drains = call;
    arena_init(&arena);
    struct gcs_drain drain = {
        .node = id,
        .is_refusable = action->is_rejectable,
        .message = arena_printf(&arena, "Shoal: %.*s", STR_ARG(action_reason_text(action, &arena))),
        .deadline_ms = action->is_rejectable ? 0
                                             : clock_wall_ms(loop_clock(service->session.loop)) +
                                                   (left > 0 ? left : 0),
    };
    gcs_drain(gcs, &drain, on_drain, call);
    arena_clear(&arena);
}

/* Nobody will answer them any more. */
static void give_up_drains(struct service *service)
{
    while (service->drains) {
        struct drain_call *call = service->drains;
        if (service->controller && call->instance != INSTANCE_NONE) {
            controller_drained(service->controller, call->instance, DRAIN_UNKNOWN);
        }
        forget_call(service, call);
    }
}

/* ---- what the mirror asks and tells ---- */

static uint64_t instance_of(void *context, struct str instance_id)
{
    const struct service *service = context;
    return service->controller && service->is_leading
               ? controller_instance_of(service->controller, instance_id)
               : INSTANCE_NONE;
}

static bool is_hidden(void *context, uint64_t instance)
{
    const struct service *service = context;
    bool keeps_ray;
    return service_is_updating(service, instance, &keeps_ray) && !keeps_ray;
}

static void on_node(void *context, const struct ray_node *node)
{
    struct service *service = context;
    if (!service->controller) {
        return;
    }
    if (node->status == RAY_DEAD && service_had_joined(service, node->instance)) {
        /* It died while nobody was looking, before this core had ever seen it alive. */
        struct ray_node alive = {
            .instance = node->instance, .status = RAY_ALIVE, .idle_since = NOT_IDLE};
        controller_ray_node(service->controller, &alive);
    }
    controller_ray_node(service->controller, node);
}

static void on_load(void *context, const struct ray_load *load)
{
    struct service *service = context;
    service_note_load(service, load);
    if (service->controller) {
        controller_ray_load(service->controller, load);
    }
}

/* ---- what the watch tells ---- */

static void begin_anew(struct service *service, const char *what)
{
    LOG(service, WARNING, "ray has begun anew: %s", what);
    events_add(service->events, EVENT_WORD_SERVICE, STR(""), STR("Ray on the head has begun anew"),
               STR("nothing ends for a while"));
    if (service->controller && service->is_leading) {
        controller_ray_anew(service->controller);
    }
    service_report_anew(service);
}

/* What others look at without asking the mirror. True: somebody who waits should look again. */
static bool note_facts(struct service *service)
{
    struct str head = ray_mirror_head(service->mirror);
    size_t alive = ray_mirror_alive(service->mirror);
    bool is_news = alive != service->ray_alive || (head.len > 0) != service->is_head_alive;
    service->ray_alive = alive;
    service->is_head_alive = head.len > 0;
    snprintf(service->ray_head, sizeof(service->ray_head), "%.*s", STR_ARG(head));
    ray_watch_size(service->ray, alive);
    return is_news;
}

static void tell_controller(struct service *service, int64_t asked_at_ms)
{
    service->has_seen_ray = true;
    service_set_up_late(service);
    uint64_t mark = ray_mirror_mark(service->mirror);
    if (mark != service->ray_mark) {
        service_update(service);
        service->ray_mark = mark;
        ray_watch_hurry(service->ray); /* whoever is set up again is hidden from now on */
    }
    controller_ray_seen(service->controller, asked_at_ms);
}

static bool on_seen(void *context, struct str bytes, int64_t asked_at_ms, struct err *err)
{
    struct service *service = context;
    int64_t version = ray_mirror_version(service->mirror);
    int64_t wall_ms = clock_wall_ms(loop_clock(service->session.loop));
    if (!ray_mirror_take(service->mirror, bytes, asked_at_ms, wall_ms, err)) {
        return false;
    }
    service->seen_wall_ms = wall_ms;
    if (ray_mirror_version(service->mirror) < version) { /* it was started again, with its memory */
        begin_anew(service, "its version went back");
    }
    bool is_news = note_facts(service);
    if (service->controller && service->is_leading) {
        tell_controller(service, asked_at_ms);
    }
    if (is_news) {
        worker_setups_go_on(service->setups);
        desk_changed(service->desk, HEAD_INSTANCE);
    }
    service_expect_ray(service);
    metrics_count_poll(&service->metrics,
                       (double)(loop_now_ms(service->session.loop) - asked_at_ms));
    return true;
}

static void on_replaced(void *context)
{
    struct service *service = context;
    ray_mirror_forget(service->mirror);
    begin_anew(service, "another cluster is behind its address");
    (void)note_facts(service);
}

static void on_closing(void *context)
{
    give_up_drains(context);
    service_report_lost(context);
    service_answers_lost(context);
}

static void on_answering(void *context)
{
    struct service *service = context;
    struct str trouble = ray_watch_trouble(service->ray);
    struct str version = ray_watch_version(service->ray);
    bool is_away = trouble.len > 0;
    loop_timer_start(service->guard, 0); /* another Ray may be there, with its own autoscaler */
    LOG(service, INFO, is_away ? "ray does not answer: %.*s" : "ray answers version=%.*s",
        STR_ARG(is_away ? trouble : version));
    if (is_away && service->is_head_alive) {
        events_add(service->events, EVENT_WORD_SERVICE, STR(""), STR("lost sight of Ray"), trouble);
    } else if (!is_away && service->has_lost_ray) {
        events_add(service->events, EVENT_WORD_SERVICE, STR(""), STR("Ray answers again"), STR(""));
    }
    service->has_lost_ray = is_away && (service->has_lost_ray || service->is_head_alive);
    if (!is_away) {
        service_report_anew(service);
        service_metrics_tell(service);
    }
    desk_changed(service->desk, INSTANCE_NONE);
}

/* ---- opening and closing ---- */

void service_expect_ray(struct service *service)
{
    bool expects = !service->is_head_alive || service_waits_for_ray(service) ||
                   slots_count(&service->slots, SLOT_PENDING) > 0;
    ray_watch_expect(service->ray, expects);
}

void service_open_ray(struct service *service)
{
    struct ray_mirror_hooks hooks = {service, instance_of, is_hidden, on_node, on_load};
    service->mirror = ray_mirror_open(&service->core.names, &hooks);
    service->ray = ray_watch_open(&(struct ray_watch_setup){
        .loop = service->session.loop,
        .http = service->session.http,
        .address = service->ray_address,
        .token_path = service->token_path,
        .hooks = {service, on_seen, on_answering, on_replaced, on_closing},
    });
}

void service_close_ray(struct service *service)
{
    if (service->ray) {
        ray_watch_close(service->ray);
    }
    ray_mirror_close(service->mirror);
}

/* Another core listens from now on. */
void service_ray_begin(struct service *service)
{
    ray_mirror_forget_told(service->mirror);
    service->ray_mark = 0;
    service->has_seen_ray = false;
    ray_watch_hurry(service->ray);
}

/* Answers that are still to come are for nobody. */
void service_ray_end(struct service *service)
{
    for (struct drain_call *call = service->drains; call; call = call->next) {
        call->instance = INSTANCE_NONE;
    }
}
