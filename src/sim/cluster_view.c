/*
 * cluster_view.c: Ray as controllers see it.
 *
 * Nodes are in a list ordered by their last change, so a poll visits only changed ones. Everything
 * is copied. Each copy has two buffers that are used in turn: the data of an event is still valid
 * while the next event about the same object is handled.
 */
#include "sim/cluster_internal.h"

#include <string.h>

struct view_node {
    enum ray_status status;
    int64_t idle_since;
    struct capacity *copies[2];
    uint32_t shown; /* which of them the last event used */
};

struct view_load {
    struct demand *demands;
    struct gang *gangs;
};

struct cluster_view {
    struct arena *arena;
    uint64_t seen; /* number of the last change before the last poll */
    struct view_node *nodes;
    size_t node_count;
    size_t node_capacity;
    bool has_load;
    int64_t *waiting; /* by class, as of the last load */
    struct view_load loads[2];
    uint32_t shown;                 /* which of them is in use */
    const struct request ***shapes; /* for gangs: by class and label; they never change */
    struct event *events;
    size_t event_count;
    size_t event_capacity;
};

struct cluster_view *cluster_view_new(struct cluster *cluster, struct arena *arena)
{
    size_t class_count = cluster->workload->class_count;
    struct cluster_view *view = ARENA_NEW(arena, struct cluster_view);
    view->arena = arena;
    view->waiting = ARENA_ARRAY(arena, class_count, int64_t);
    view->shapes = ARENA_ARRAY(arena, class_count, const struct request **);
    for (size_t i = 0; i < 2; i++) {
        view->loads[i].demands = ARENA_ARRAY(arena, class_count, struct demand);
    }
    return view;
}

static struct event *cluster_view_add_event(struct cluster_view *view,
                                            const struct cluster *cluster, enum event_kind kind)
{
    struct event *event = &ARENA_PUSH(view->arena, view->events, view->event_count,
                                      view->event_capacity);
    *event = (struct event){.kind = kind, .at = cluster->event_queue->now};
    return event;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static bool cluster_view_has_resources(enum ray_status status)
{
    return status == RAY_ALIVE || status == RAY_DRAINING;
}

static bool same_free(const struct capacity *shown, const int64_t *free, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (shown[i].free != free[i]) {
            return false;
        }
    }
    return true;
}

static bool cluster_view_is_shown(const struct view_node *copy, const struct cluster_node *node,
                                  size_t count)
{
    if (copy->status != node->status) {
        return false;
    }
    return !cluster_view_has_resources(node->status) ||
           (copy->idle_since == node->idle_since &&
            same_free(copy->copies[copy->shown], node->free, count));
}

/* Fills in and returns the next copy of the node's resources. */
static const struct capacity *copy_capacities(struct cluster_view *view, struct view_node *copy,
                                              const struct plan_type *type,
                                              const struct cluster_node *node)
{
    copy->shown = 1 - copy->shown;
    if (!copy->copies[copy->shown]) {
        copy->copies[copy->shown] = ARENA_ARRAY(view->arena, type->capacity_count, struct capacity);
    }
    struct capacity *capacities = copy->copies[copy->shown];
    for (size_t i = 0; i < type->capacity_count; i++) {
        capacities[i] = (struct capacity){type->capacities[i].name, node->total[i], node->free[i]};
    }
    return capacities;
}

static void cluster_view_show_node(const struct cluster *cluster, struct cluster_view *view,
                                   uint32_t index)
{
    const struct cluster_node *node = &cluster->nodes[index];
    const struct plan_type *type = &cluster->types[node->type];
    struct view_node *copy = &view->nodes[index];
    if (cluster_view_is_shown(copy, node, type->capacity_count)) {
        return;
    }
    copy->status = node->status;
    copy->idle_since = node->idle_since;
    struct ray_node *shown = &cluster_view_add_event(view, cluster, EVENT_RAY_NODE)->ray_node;
    *shown = (struct ray_node){
        .instance = node->instance, .status = node->status, .idle_since = NOT_IDLE};
    if (cluster_view_has_resources(node->status)) {
        shown->idle_since = node->idle_since;
        shown->capacities = copy_capacities(view, copy, type, node);
        shown->capacity_count = type->capacity_count;
        shown->labels = type->labels;
    }
}

static void show_nodes(const struct cluster *cluster, struct cluster_view *view)
{
    if (cluster->node_count > view->node_capacity) {
        size_t capacity = cluster->node_count * 2;
        struct view_node *nodes = ARENA_ARRAY(view->arena, capacity, struct view_node);
        if (view->node_count > 0) {
            memcpy(nodes, view->nodes, view->node_count * sizeof(*nodes));
        }
        view->nodes = nodes;
        view->node_capacity = capacity;
    }
    view->node_count = cluster->node_count;
    uint32_t first = NO_INDEX;
    for (uint32_t i = cluster->newest_node; i != NO_INDEX && cluster->nodes[i].changed > view->seen;
         i = cluster->nodes[i].older) {
        first = i;
    }
    for (uint32_t i = first; i != NO_INDEX; i = cluster->nodes[i].newer) {
        cluster_view_show_node(cluster, view, i);
    }
}

/* ---- load ----------------------------------------------------------------------------------- */

static const struct request *make_shape(const struct cluster *cluster, struct cluster_view *view,
                                        const struct work_class *work, size_t label)
{
    struct request *requests = ARENA_ARRAY(view->arena, (size_t)work->bundles, struct request);
    struct placement *placement = NULL;
    if (gang_is_strict(work->gang)) {
        placement = ARENA_NEW(view->arena, struct placement);
        placement->kind = work->gang == GANG_STRICT_PACK ? PLACEMENT_AFFINITY
                                                         : PLACEMENT_ANTI_AFFINITY;
        placement->label = cluster->workload->gang_labels[label];
    }
    for (int64_t i = 0; i < work->bundles; i++) {
        requests[i] = work->request;
        requests[i].placements = placement;
        requests[i].placement_count = placement ? 1 : 0;
    }
    return requests;
}

/* The requests of the gang at a position of the report; created once per view. */
static const struct request *find_shape(const struct cluster *cluster, struct cluster_view *view,
                                        size_t class, size_t place)
{
    const struct work_class *work = &cluster->workload->classes[class];
    size_t label = gang_is_strict(work->gang) ? place : 0;
    if (!view->shapes[class]) {
        size_t count = gang_is_strict(work->gang) ? cluster->workload->gang_label_count : 1;
        view->shapes[class] = ARENA_ARRAY(view->arena, count, const struct request *);
    }
    if (!view->shapes[class][label]) {
        view->shapes[class][label] = make_shape(cluster, view, work, label);
    }
    return view->shapes[class][label];
}

static size_t copy_gangs(const struct cluster *cluster, struct cluster_view *view, size_t class,
                         struct gang *gangs, size_t count)
{
    const struct work_class *work = &cluster->workload->classes[class];
    size_t most = GANGS_REPORTED_MOST;
    if (gang_is_strict(work->gang) && cluster->workload->gang_label_count < most) {
        most = cluster->workload->gang_label_count;
    }
    for (int64_t i = 0; i < cluster->queues[class].waiting && count < most; i++) {
        gangs[count].requests = find_shape(cluster, view, class, count);
        gangs[count++].request_count = (size_t)work->bundles;
    }
    return count;
}

static void show_load(const struct cluster *cluster, struct cluster_view *view)
{
    const struct workload *workload = cluster->workload;
    bool is_same = view->has_load;
    for (size_t i = 0; i < workload->class_count; i++) {
        is_same = is_same && view->waiting[i] == cluster->queues[i].waiting;
        view->waiting[i] = cluster->queues[i].waiting;
    }
    if (is_same) {
        return;
    }
    view->has_load = true;
    view->shown = 1 - view->shown;
    struct view_load *load = &view->loads[view->shown];
    struct ray_load shown = {.constraint = workload->constraint,
                             .constraint_count = workload->constraint_count};
    for (size_t i = 0; i < workload->class_count; i++) {
        const struct work_class *work = &workload->classes[i];
        if (work->gang == GANG_NONE && view->waiting[i] > 0) {
            load->demands[shown.demand_count++] = (struct demand){work->request, view->waiting[i]};
        } else if (work->gang != GANG_NONE && view->waiting[i] > 0) {
            if (!load->gangs) {
                load->gangs = ARENA_ARRAY(view->arena, GANGS_REPORTED_MOST, struct gang);
            }
            shown.gang_count = copy_gangs(cluster, view, i, load->gangs, shown.gang_count);
        }
    }
    shown.demands = load->demands;
    shown.gangs = load->gangs;
    cluster_view_add_event(view, cluster, EVENT_RAY_LOAD)->ray_load = shown;
}

bool cluster_poll(const struct cluster *cluster, struct cluster_view *view, int64_t asked_at,
                  const struct event **ret_events, size_t *ret_count)
{
    if (!cluster->is_gcs_up) {
        return false;
    }
    view->event_count = 0;
    show_nodes(cluster, view);
    if (!view->has_load || cluster->load_changed > view->seen) {
        show_load(cluster, view);
    }
    cluster_view_add_event(view, cluster, EVENT_RAY_SEEN)->asked_at = asked_at;
    view->seen = cluster->changes;
    *ret_events = view->events;
    *ret_count = view->event_count;
    return true;
}
