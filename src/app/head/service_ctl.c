/* service_ctl.c: answers requests of clients on the control socket. */
#include "app/head/explain/service_explain.h"
#include "app/head/service_internal.h"
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
    ctl_server_view_fn *take;
    void *taker;
    struct cluster_status cluster_status;
    struct table nodes; /* index of the nodes by instance */
};

struct node_search {
    const struct cluster_status *cluster_status;
    uint64_t instance;
};

static uint64_t service_ctl_hash_of(uint64_t instance)
{
    return instance * 0x9e3779b97f4a7c15;
}

static bool service_ctl_is_same(const void *context, size_t position)
{
    const struct node_search *search = context;
    return search->cluster_status->nodes[position].instance == search->instance;
}

static const struct node_usage *find_cluster_status(const struct each *each, uint64_t instance)
{
    struct node_search search = {&each->cluster_status, instance};
    size_t at = table_find(&each->nodes, service_ctl_hash_of(instance), service_ctl_is_same,
                           &search);
    return at == TABLE_NONE ? NULL : &each->cluster_status.nodes[at];
}

/* Only the living Ray node of a machine is relevant; the others are from earlier starts. */
static void index_nodes(struct each *each)
{
    decision_cluster_status(each->service->decision, each->arena, &each->cluster_status);
    for (size_t i = 0; i < each->cluster_status.node_count; i++) {
        const struct node_usage *node = &each->cluster_status.nodes[i];
        if (node->instance != INSTANCE_NONE && !node->is_dead) {
            table_add(&each->nodes, each->arena, service_ctl_hash_of(node->instance), i);
        }
    }
}

/* Adds Ray's state of the node. In whole seconds, because Ray's idle time varies with each poll. */
static void service_ctl_add_usage(struct node_view *view, const struct node_usage *node,
                                  int64_t seen_ms)
{
    enum { SECOND_MS = 1000 };
    view->ray_id = node->ray_id;
    view->uses = node->uses;
    view->use_count = node->use_count;
    view->activity = node->activity;
    view->is_draining = node->is_draining;
    if (node->idle_ms >= 0 && seen_ms > node->idle_ms) {
        view->idle_since_ms = (seen_ms - node->idle_ms) / SECOND_MS * SECOND_MS;
    }
}

static void service_ctl_take_view(struct each *each, uint64_t instance, struct node_view *view)
{
    const struct node_usage *node = find_cluster_status(each, instance);
    if (node) {
        service_ctl_add_usage(view, node, each->cluster_status.seen_ms);
    }
    each->take(each->taker, view);
}

static void view_one(void *context, const struct managed_node *managed_node)
{
    struct each *each = context;
    struct node_view view;
    if (!managed_node->is_head && managed_node->instance != INSTANCE_NONE) {
        service_view(each->service, managed_node, each->arena, &view);
        service_ctl_take_view(each, managed_node->instance, &view);
    }
}

/* The head is known without a controller. */
static bool service_ctl_find_node(const struct service *service, uint64_t instance,
                                  struct managed_node *ret)
{
    if (service->head.controller && controller_find(service->head.controller, instance, ret)) {
        return true;
    }
    *ret = (struct managed_node){.instance = instance, .is_head = instance == HEAD_INSTANCE};
    return ret->is_head;
}

/* Shows failed workers after their machine is gone. */
static void view_failed(void *context, const struct worker_machine *machine)
{
    struct each *each = context;
    const struct service *service = each->service;
    struct managed_node managed_node = {.instance = machine->instance};
    struct node_view view;
    if (!service->head.controller ||
        !controller_find(service->head.controller, machine->instance, &managed_node)) {
        service_view(service, &managed_node, each->arena, &view);
        view.id = machine->id;
        view.type = machine->type->name;
        view.machine = machine->machine;
        view.private_ip = machine->address;
        view.is_spot = machine->is_spot;
        each->take(each->taker, &view);
    }
}

static void view_all(void *context, struct arena *arena, ctl_server_view_fn *take, void *taker)
{
    const struct service *service = context;
    struct each each = {.service = service, .arena = arena, .take = take, .taker = taker};
    struct managed_node head;
    struct node_view view;
    index_nodes(&each);
    if (service_ctl_find_node(service, HEAD_INSTANCE, &head)) {
        service_view(service, &head, arena, &view);
        service_ctl_take_view(&each, HEAD_INSTANCE, &view);
    }
    if (service->head.controller) {
        controller_each(service->head.controller, view_one, &each);
    }
    worker_setups_each_failed(service->setups, view_failed, &each);
}

static bool view_some(void *context, uint64_t instance, struct arena *arena,
                      struct node_view *ret_view)
{
    const struct service *service = context;
    struct managed_node managed_node;
    if (!service_ctl_find_node(service, instance, &managed_node)) {
        return false;
    }
    service_view(service, &managed_node, arena, ret_view);
    return true;
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
    arena_grow(gathering->arena, (void **)&gathering->nodes, gathering->node_count,
               &gathering->node_capacity, sizeof(*gathering->nodes));
    gathering->nodes[gathering->node_count++] = *view;
}

static void gather_event(void *context, const struct cluster_event *event)
{
    struct service_ctl_gathering *gathering = context;
    struct arena *arena = gathering->arena;
    arena_grow(arena, (void **)&gathering->events, gathering->event_count,
               &gathering->event_capacity, sizeof(*gathering->events));
    struct cluster_event *kept = &gathering->events[gathering->event_count++];
    *kept = *event;
    kept->node = arena_str(arena, event->node);
    kept->text = arena_str(arena, event->text);
    kept->reason = arena_str(arena, event->reason);
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
    view_all(service, arena, gather_node, &gathering);
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
        .is_acting = service->head.is_leading && service->head.controller,
        .is_ray_scaling = status.is_ray_scaling,
        .ray_trouble = gcs_poller_trouble(service->head.ray.poller),
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
    service->requests.is_requesting = false;
    ctl_server_answer(service->head.ctl_server, "request-resources",
                      answer->trouble == GCS_FINE ? NULL : &answer->err);
}

static bool request_resources(void *context, const struct gcs_bundle *wishes, size_t count,
                              struct err *err)
{
    struct service *service = context;
    struct gcs *gcs = find_gcs(service, err);
    if (service->requests.is_requesting) {
        return err_set(err, ERR_UNAVAILABLE, "another request is in progress; try again");
    }
    if (gcs) {
        service->requests.is_requesting = true;
        gcs_request_resources(gcs, wishes, count, on_requested, service);
    }
    return gcs;
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
    hooks->status = say_status;
    hooks->each = view_all;
    hooks->one = view_some;
    hooks->cluster_status = say_cluster_status;
    hooks->events = say_events;
    hooks->explain = say_why;
    hooks->request_resources = request_resources;
    hooks->ray_status = ray_status;
}

/* ---- metrics ---- */

void service_fill_metrics(void *context, struct arena *arena, struct metrics_scene *scene)
{
    struct service *service = context;
    struct service_ctl_gathering gathering = {.arena = arena};
    struct cluster_status *cluster_status = ARENA_NEW(arena, struct cluster_status);
    decision_cluster_status(service->decision, arena, cluster_status);
    view_all(service, arena, gather_node, &gathering);
    scene->cluster_status = cluster_status;
    scene->nodes = gathering.nodes;
    scene->node_count = gathering.node_count;
}
