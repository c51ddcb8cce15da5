/* service_answer.c: what guests ask of the service, beyond what it is told to do. */
#include "app/head/explain/service_explain.h"
#include "app/head/service_parts.h"
#include "base/table.h"
#include "io/clock.h"
#include "ray/status_text.h"

/* ---- the cluster ---- */

static void say_status(void *context, struct arena *arena, struct ctl_status *ret_status)
{
    service_status(context, arena, ret_status);
}

struct each {
    const struct service *service;
    struct arena *arena;
    desk_view_fn *take;
    void *taker;
    struct insight insight;
    struct table nodes; /* of the insight, by instance */
};

struct node_search {
    const struct insight *insight;
    uint64_t instance;
};

static uint64_t hash_of(uint64_t instance)
{
    return instance * 0x9e3779b97f4a7c15;
}

static bool is_same(const void *context, size_t position)
{
    const struct node_search *search = context;
    return search->insight->nodes[position].instance == search->instance;
}

static const struct insight_node *find_insight(const struct each *each, uint64_t instance)
{
    struct node_search search = {&each->insight, instance};
    size_t at = table_find(&each->nodes, hash_of(instance), is_same, &search);
    return at == TABLE_NONE ? NULL : &each->insight.nodes[at];
}

/* Of the nodes of one machine the one that lives counts: the others are of earlier starts. */
static void index_nodes(struct each *each)
{
    service_insight(each->service, each->arena, &each->insight);
    for (size_t i = 0; i < each->insight.node_count; i++) {
        const struct insight_node *node = &each->insight.nodes[i];
        if (node->instance != INSTANCE_NONE && !node->is_dead) {
            table_add(&each->nodes, each->arena, hash_of(node->instance), i);
        }
    }
}

/* With what Ray says of it. */
static void take_view(struct each *each, uint64_t instance, struct node_view *view)
{
    const struct insight_node *node = find_insight(each, instance);
    if (node) {
        service_view_insight(view, node, each->insight.seen_ms);
    }
    each->take(each->taker, view);
}

static void view_one(void *context, const struct controlled *controlled)
{
    struct each *each = context;
    struct node_view view;
    if (!controlled->is_head && controlled->instance != INSTANCE_NONE) {
        service_view(each->service, controlled, each->arena, &view);
        take_view(each, controlled->instance, &view);
    }
}

/* The head is known without asking anybody. */
static bool find_node(const struct service *service, uint64_t instance, struct controlled *ret)
{
    if (service->controller && controller_find(service->controller, instance, ret)) {
        return true;
    }
    *ret = (struct controlled){.instance = instance, .is_head = instance == HEAD_INSTANCE};
    return ret->is_head;
}

/* What failed is told of after its machine is gone. */
static void view_failed(void *context, const struct worker_machine *machine)
{
    struct each *each = context;
    const struct service *service = each->service;
    struct controlled controlled = {.instance = machine->instance};
    struct node_view view;
    if (!service->controller ||
        !controller_find(service->controller, machine->instance, &controlled)) {
        service_view(service, &controlled, each->arena, &view);
        view.id = machine->id;
        view.type = machine->type->name;
        view.machine = machine->machine;
        view.private_ip = machine->address;
        view.is_spot = machine->is_spot;
        each->take(each->taker, &view);
    }
}

static void view_all(void *context, struct arena *arena, desk_view_fn *take, void *taker)
{
    const struct service *service = context;
    struct each each = {.service = service, .arena = arena, .take = take, .taker = taker};
    struct controlled head;
    struct node_view view;
    index_nodes(&each);
    if (find_node(service, HEAD_INSTANCE, &head)) {
        service_view(service, &head, arena, &view);
        take_view(&each, HEAD_INSTANCE, &view);
    }
    if (service->controller) {
        controller_each(service->controller, view_one, &each);
    }
    worker_setups_each_failed(service->setups, view_failed, &each);
}

static bool view_some(void *context, uint64_t instance, struct arena *arena,
                      struct node_view *ret_view)
{
    const struct service *service = context;
    struct controlled controlled;
    if (!find_node(service, instance, &controlled)) {
        return false;
    }
    service_view(service, &controlled, arena, ret_view);
    return true;
}

/* ---- what waits, and what has happened ---- */

static void say_insight(void *context, struct arena *arena, struct insight *ret_insight)
{
    service_insight(context, arena, ret_insight);
}

static bool say_events(void *context, int64_t after, desk_event_fn *take, void *taker,
                       struct err *err)
{
    const struct service *service = context;
    (void)err; /* what cannot be read is logged */
    if (events_last(service->events) > after) {
        events_each(service->events, after, take, taker);
    }
    return true;
}

/* ---- why ---- */

enum { EVENTS_LOOKED_AT = 500 };

struct gathering {
    struct arena *arena;
    struct node_view *nodes;
    size_t node_count, node_capacity;
    struct insight_event *events;
    size_t event_count, event_capacity;
};

static void gather_node(void *context, const struct node_view *view)
{
    struct gathering *gathering = context;
    arena_grow(gathering->arena, (void **)&gathering->nodes, gathering->node_count,
               &gathering->node_capacity, sizeof(*gathering->nodes));
    gathering->nodes[gathering->node_count++] = *view;
}

static void gather_event(void *context, const struct insight_event *event)
{
    struct gathering *gathering = context;
    struct arena *arena = gathering->arena;
    arena_grow(arena, (void **)&gathering->events, gathering->event_count,
               &gathering->event_capacity, sizeof(*gathering->events));
    struct insight_event *kept = &gathering->events[gathering->event_count++];
    *kept = *event;
    kept->node = arena_str(arena, event->node);
    kept->text = arena_str(arena, event->text);
    kept->reason = arena_str(arena, event->reason);
}

static bool say_why(void *context, struct str about, struct arena *arena, desk_explain_fn *take,
                    void *taker, struct err *err)
{
    struct service *service = context;
    struct gathering gathering = {.arena = arena};
    struct insight insight;
    struct ctl_status status;
    service_insight(service, arena, &insight);
    service_status(service, arena, &status);
    view_all(service, arena, gather_node, &gathering);
    events_each(service->events, events_last(service->events) - EVENTS_LOOKED_AT, gather_event,
                &gathering);
    struct explain_scene scene = {
        .config = service->config,
        .insight = &insight,
        .nodes = gathering.nodes,
        .node_count = gathering.node_count,
        .events = gathering.events,
        .event_count = gathering.event_count,
        .now_ms = clock_wall_ms(loop_clock(service->session.loop)),
        .stance = status.stance,
        .is_acting = service->is_leading && service->controller,
        .is_rays = status.is_rays,
        .ray_trouble = ray_watch_trouble(service->ray),
    };
    return explain(&scene, about, arena, take, taker, err);
}

/* ---- what Ray is asked ---- */

static struct gcs *find_gcs(struct service *service, struct err *err)
{
    struct gcs *gcs = ray_watch_gcs(service->ray);
    struct str trouble = ray_watch_trouble(service->ray);
    if (!gcs) {
        err_set(err, ERR_UNAVAILABLE, "Ray on the head does not answer%s%.*s",
                trouble.len > 0 ? ": " : "", STR_ARG(str_sub(trouble, 0, 200)));
    }
    return gcs;
}

static void on_requested(void *context, const struct gcs_answer *answer)
{
    struct service *service = context;
    service->is_requesting = false;
    desk_answer(service->desk, "request-resources",
                answer->trouble == GCS_FINE ? NULL : &answer->err);
}

static bool request_resources(void *context, const struct gcs_wish *wishes, size_t count,
                              struct err *err)
{
    struct service *service = context;
    struct gcs *gcs = find_gcs(service, err);
    if (service->is_requesting) {
        return err_set(err, ERR_UNAVAILABLE, "another request is under way; try again");
    }
    if (gcs) {
        service->is_requesting = true;
        gcs_request_resources(gcs, wishes, count, on_requested, service);
    }
    return gcs;
}

static void on_ray_status(void *context, const struct gcs_answer *answer, struct str bytes)
{
    struct service *service = context;
    AUTO_BUF struct buf text;
    struct err err = answer->err;
    service->is_asking_status = false;
    buf_init(&text, CTL_LINE_BYTES_MAX / 2);
    if (answer->trouble == GCS_FINE &&
        ray_status_text(bytes, service->status_asked_us, &text, &err)) {
        desk_answer_text(service->desk, "ray-status", buf_str(&text));
    } else {
        desk_answer(service->desk, "ray-status", &err);
    }
}

/* Those who ask at the same time hear the same. */
static bool ray_status(void *context, struct err *err)
{
    struct service *service = context;
    struct gcs *gcs = find_gcs(service, err);
    if (gcs && !service->is_asking_status) {
        service->is_asking_status = true;
        service->status_asked_us = clock_wall_ms(loop_clock(service->session.loop)) * 1000;
        gcs_read_status(gcs, on_ray_status, service);
    }
    return gcs;
}

void service_answers_lost(struct service *service)
{
    struct err err;
    err_set(&err, ERR_UNAVAILABLE, "Ray on the head does not answer any more");
    if (service->is_requesting) {
        service->is_requesting = false;
        desk_answer(service->desk, "request-resources", &err);
    }
    if (service->is_asking_status) {
        service->is_asking_status = false;
        desk_answer(service->desk, "ray-status", &err);
    }
}

void service_answers(struct desk_hooks *hooks)
{
    hooks->status = say_status;
    hooks->each = view_all;
    hooks->one = view_some;
    hooks->insight = say_insight;
    hooks->events = say_events;
    hooks->explain = say_why;
    hooks->request_resources = request_resources;
    hooks->ray_status = ray_status;
}
