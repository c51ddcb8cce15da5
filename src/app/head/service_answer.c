/* service_answer.c: what guests ask of the service, beyond what it is told to do. */
#include "app/head/service_parts.h"
#include "base/table.h"
#include "io/clock.h"

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
    (void)context;
    (void)after;
    (void)take;
    (void)taker;
    (void)err;
    return true;
}

static bool explain(void *context, struct str about, struct arena *arena, desk_explain_fn *take,
                    void *taker, struct err *err)
{
    (void)context;
    (void)about;
    (void)arena;
    (void)take;
    (void)taker;
    return err_set(err, ERR_UNAVAILABLE, "not yet");
}

/* ---- what Ray is asked ---- */

static bool request_resources(void *context, const struct gcs_wish *wishes, size_t count,
                              struct err *err)
{
    (void)context;
    (void)wishes;
    (void)count;
    return err_set(err, ERR_UNAVAILABLE, "not yet");
}

static bool ray_status(void *context, struct err *err)
{
    (void)context;
    return err_set(err, ERR_UNAVAILABLE, "not yet");
}

void service_answers(struct desk_hooks *hooks)
{
    hooks->status = say_status;
    hooks->each = view_all;
    hooks->one = view_some;
    hooks->insight = say_insight;
    hooks->events = say_events;
    hooks->explain = explain;
    hooks->request_resources = request_resources;
    hooks->ray_status = ray_status;
}
