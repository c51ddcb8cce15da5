/* service_status.c: the cluster as the service sees it, for users. */
#include "app/head/node_reason.h"
#include "app/head/service_internal.h"
#include "base/attr.h"
#include "base/table.h"
#include "io/clock.h"
#include "provider/machine_tags.h"

/* ---- one node ---- */

/* Phase and convergence of each node state. */
static const struct {
    enum node_phase phase;
    enum slot_state slot;
} meanings[NODE_STATE_COUNT] = {
    [NODE_GONE] = {PHASE_TERMINATED, CONVERGE_GONE},
    [NODE_REQUESTED] = {PHASE_REQUESTED, CONVERGE_PENDING},
    [NODE_LAUNCHING] = {PHASE_BOOTING, CONVERGE_PENDING},
    [NODE_BOOTING] = {PHASE_CONNECTING, CONVERGE_PENDING},
    [NODE_SETTING_UP] = {PHASE_CONNECTING, CONVERGE_PENDING},
    [NODE_READY] = {PHASE_READY, CONVERGE_READY},
    [NODE_IDLE] = {PHASE_READY, CONVERGE_READY},
    [NODE_DRAINING] = {PHASE_TERMINATING, CONVERGE_GONE},
    [NODE_FAILED] = {PHASE_FAILED, CONVERGE_FAILED},
    [NODE_TERMINATING] = {PHASE_TERMINATING, CONVERGE_GONE},
    [NODE_UNLISTED] = {PHASE_BOOTING, CONVERGE_PENDING},
};

enum slot_state service_slot(const struct service *service, const struct managed_node *managed_node)
{
    const struct worker_progress *progress = worker_setups_progress(service->setups,
                                                                    managed_node->instance);
    const struct node *node = managed_node->node;
    if (progress && progress->phase == PHASE_FAILED) {
        return CONVERGE_FAILED;
    }
    if (!node) {
        return CONVERGE_GONE;
    }
    bool keeps_ray;
    if (!node_reason_is_ending(node) &&
        worker_records_is_updating(&service->workers, managed_node->instance, &keeps_ray)) {
        return CONVERGE_PENDING;
    }
    if (node_reason_is_ending(node)) {
        return node_reason_is_failure(node) ? CONVERGE_FAILED : CONVERGE_GONE;
    }
    return meanings[node->state].slot;
}

static enum node_phase service_status_phase_of(const struct service *service,
                                               const struct managed_node *managed_node,
                                               const struct worker_progress *progress)
{
    const struct node *node = managed_node->node;
    bool keeps_ray;
    if (progress && progress->phase == PHASE_FAILED) {
        return PHASE_FAILED;
    }
    if (!node) {
        bool is_there = managed_node->machine && managed_node->machine->state <= MACHINE_RUNNING;
        return is_there ? PHASE_BOOTING : PHASE_TERMINATED;
    }
    if (node_reason_is_ending(node)) {
        return node_reason_is_failure(node) ? PHASE_FAILED : PHASE_TERMINATING;
    }
    bool is_being_set_up = node->state == NODE_BOOTING || node->state == NODE_SETTING_UP ||
                           worker_records_is_updating(&service->workers, managed_node->instance,
                                                      &keeps_ray);
    return is_being_set_up && progress ? progress->phase : meanings[node->state].phase;
}

static void service_status_add_machine(struct node_view *view, const struct machine *machine)
{
    if (machine) {
        view->id = machine->id;
        view->machine = machine->type;
        view->zone = machine->zone;
        view->public_ip = machine->public_ip;
        view->private_ip = machine->private_ip;
        view->is_spot = machine->market == MARKET_SPOT;
        view->type = machine_tag_value(machine, "ray-user-node-type");
        view->requested_ms = machine->launched_at * 1000;
    }
}

static void service_status_add_node(const struct service *service, struct node_view *view,
                                    const struct managed_node *managed_node, struct arena *arena)
{
    const struct node *node = managed_node->node;
    const struct core_settings *settings = &service->head.core.settings;
    if (!node) {
        return;
    }
    if (node->offering < settings->offering_count && !managed_node->is_head) {
        const struct offering *offering = &settings->offerings[node->offering];
        view->price = offering->price;
        if (view->type.len == 0) { /* the actual machine, not the current file */
            view->type = service->head.config->node_types[offering->type].name;
        }
    }
    if (managed_node->machine && !managed_node->is_head) {
        const struct machine *machine = managed_node->machine;
        view->price = core_setup_price(&service->head.core, machine);
    }
    int64_t age_ms = loop_now_ms(service->head.session.loop) - node->since;
    view->since_ms = clock_wall_ms(loop_clock(service->head.session.loop)) - age_ms;
    view->is_outdated = node->is_waiting;
    int64_t kept_until = core_kept_until(settings, node);
    view->kept_until_ms = kept_until > 0 ? view->since_ms + (kept_until - node->since) : 0;
    bool has_notice = node_reason_is_ending(node) && node->reason.kind == REASON_NOTICE;
    view->reason = has_notice                    ? node_reason_notice(managed_node)
                   : node_reason_is_ending(node) ? node_reason_text(node, arena)
                   : node->launch != 0
                       ? arena_str(arena, launch_reasons_find(service->reasons, node->launch))
                       : STR("");
}

static void add_progress(struct node_view *view, const struct worker_progress *progress)
{
    if (progress && (view->phase == progress->phase || view->phase == PHASE_FAILED)) {
        view->since_ms = progress->since_ms;
        view->step = progress->step;
        view->steps = progress->steps;
        view->detail = progress->detail;
        view->failure = progress->failure;
    }
    if (view->phase == PHASE_FAILED && view->failure.step.len == 0) {
        view->failure.step = progress ? progress->detail : STR("");
        view->failure.why = view->reason; /* the core gave up on it */
    }
}

static void view_head(const struct service *service, struct node_view *view)
{
    const struct handover *handover = &service->head.handover;
    const struct config_node_type *type =
        &service->head.config->node_types[service->head.config->head_type];
    view->is_head = true;
    view->type = type->name;
    view->price = service->head.core.facts[service->head.config->head_type].price;
    bool has_failed = head_watch_state(&service->head_watch) == HEAD_FAILED;
    view->phase = service->head.ray.is_alive ? PHASE_READY
                  : has_failed               ? PHASE_FAILED
                                             : PHASE_SETTING_UP;
    if (has_failed) {
        view->failure = service->head_watch.failure;
    }
    view->id = handover->head_id;
    view->price = service->head.core.facts[service->head.core.settings.head_type].price;
    if (view->private_ip.len == 0) {
        view->private_ip = handover->head_private_ip;
        view->public_ip = handover->head_public_ip;
    }
}

void service_view(const struct service *service, const struct managed_node *managed_node,
                  struct arena *arena, struct node_view *ret_view)
{
    const struct worker_progress *progress = worker_setups_progress(service->setups,
                                                                    managed_node->instance);
    struct node_view view = {.name = node_reason_name(managed_node, arena), .price = PRICE_UNKNOWN};
    service_status_add_machine(&view, managed_node->machine);
    service_status_add_node(service, &view, managed_node, arena);
    if (managed_node->is_head) {
        view_head(service, &view);
    } else {
        view.phase = service_status_phase_of(service, managed_node, progress);
        if (view.phase == PHASE_FAILED &&
            !(managed_node->node && node_reason_is_ending(managed_node->node))) {
            view.reason = STR(""); /* the launch reason does not explain the failure */
        }
        add_progress(&view, progress);
    }
    *ret_view = view;
}

/* ---- all nodes ---- */

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

static uint64_t service_status_hash_of(uint64_t instance)
{
    return instance * 0x9e3779b97f4a7c15;
}

static bool service_status_is_same(const void *context, size_t position)
{
    const struct node_search *search = context;
    return search->cluster_status->nodes[position].instance == search->instance;
}

static const struct node_usage *find_cluster_status(const struct each *each, uint64_t instance)
{
    struct node_search search = {&each->cluster_status, instance};
    size_t at = table_find(&each->nodes, service_status_hash_of(instance), service_status_is_same,
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
            table_add(&each->nodes, each->arena, service_status_hash_of(node->instance), i);
        }
    }
}

/* Adds Ray's state of the node. In whole seconds, because Ray's idle time varies with each poll. */
static void service_status_add_usage(struct node_view *view, const struct node_usage *node,
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

static void service_status_take_view(struct each *each, uint64_t instance, struct node_view *view)
{
    const struct node_usage *node = find_cluster_status(each, instance);
    if (node) {
        service_status_add_usage(view, node, each->cluster_status.seen_ms);
    }
    each->take(each->taker, view);
}

static void view_one(void *context, const struct managed_node *managed_node)
{
    struct each *each = context;
    struct node_view view;
    if (!managed_node->is_head && managed_node->instance != INSTANCE_NONE) {
        service_view(each->service, managed_node, each->arena, &view);
        service_status_take_view(each, managed_node->instance, &view);
    }
}

/* The head is known without a controller. */
static bool service_status_find_node(const struct service *service, uint64_t instance,
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

void service_view_all(void *context, struct arena *arena, ctl_server_view_fn *take, void *taker)
{
    const struct service *service = context;
    struct each each = {.service = service, .arena = arena, .take = take, .taker = taker};
    struct managed_node head;
    struct node_view view;
    index_nodes(&each);
    if (service_status_find_node(service, HEAD_INSTANCE, &head)) {
        service_view(service, &head, arena, &view);
        service_status_take_view(&each, HEAD_INSTANCE, &view);
    }
    if (service->head.controller) {
        controller_each(service->head.controller, view_one, &each);
    }
    worker_setups_each_failed(service->setups, view_failed, &each);
}

bool service_view_one(void *context, uint64_t instance, struct arena *arena,
                      struct node_view *ret_view)
{
    const struct service *service = context;
    struct managed_node managed_node;
    if (!service_status_find_node(service, instance, &managed_node)) {
        return false;
    }
    service_view(service, &managed_node, arena, ret_view);
    return true;
}

/* ---- status ---- */

/* Why the autoscaler is not active, or what hinders an active one; empty: nothing. */
static struct str autoscaler_message(const struct service *service, struct arena *arena)
{
    if (activity_state(&service->activity) != AUTOSCALER_ACTIVE) {
        return activity_message(&service->activity, arena);
    }
    struct str journal = head_context_journal_text(&service->head, arena);
    if (journal.len > 0) {
        return journal;
    }
    if (service->failures.text[0]) {
        return arena_str(arena, str_from(service->failures.text));
    }
    return resume_note(service->resume, arena);
}

bool service_is_settled(const void *context)
{
    const struct service *service = context;
    if (ray_autoscaler_is_active(&service->activity.ray_autoscaler)) {
        return true; /* the number of workers to come is unknown here */
    }
    return service->head.ray.is_alive && !head_ray_is_restarting(&service->head) &&
           (convergence_is_reached(&service->workers, head_context_min_workers(&service->head)) ||
            shortage_is_lasting(&service->shortage));
}

/* ---- pending parts ---- */

struct service_status_waiting {
    const struct service *service;
    struct arena *arena;
    struct buf *text;
    size_t count;
};

static void add_waiting(void *context, const struct managed_node *managed_node)
{
    enum { NAMED_MAX = 3 };
    struct service_status_waiting *waiting = context;
    struct node_view view;
    if (managed_node->is_head || service_slot(waiting->service, managed_node) != CONVERGE_PENDING) {
        return;
    }
    if (waiting->count++ < NAMED_MAX) {
        service_view(waiting->service, managed_node, waiting->arena, &view);
        buf_addf(waiting->text, "%s%.*s (%s)", waiting->text->len > 0 ? ", " : "",
                 STR_ARG(view.name), node_phase_text(view.phase));
    } else if (waiting->count == NAMED_MAX + 1) {
        buf_add_c(waiting->text, ", ...");
    }
}

static struct str waits_for(const struct service *service, struct arena *arena)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 400);
    if (!service->head.is_leading) {
        return arena_printf(arena, "the cluster lease%s%s",
                            service->activity.refusal[0] ? ": " : "", service->activity.refusal);
    }
    if (!service->head.ray.is_alive) {
        return STR("Ray on the head");
    }
    if (head_ray_is_restarting(&service->head)) {
        return STR("the restart of Ray on the head");
    }
    struct service_status_waiting waiting = {service, arena, &text, 0};
    controller_each(service->head.controller, add_waiting, &waiting);
    return waiting.count > 0 ? arena_str(arena, buf_str(&text)) : STR("the launch of workers");
}

static void count_stopped(void *context, const struct managed_node *managed_node)
{
    size_t *count = context;
    *count += !managed_node->is_head && managed_node->machine &&
              managed_node->machine->state == MACHINE_STOPPED;
}

static void add_cluster_status(const struct service *service, struct arena *arena,
                               struct ctl_status *status)
{
    struct cluster_status cluster_status;
    decision_cluster_status(service->decision, arena, &cluster_status);
    status->now_ms = clock_wall_ms(loop_clock(service->head.session.loop));
    status->seen_ms = cluster_status.seen_ms;
    status->price = cluster_status.price;
    status->price_limit = cluster_status.price_limit;
    status->launching = str_from(cluster_status.launching);
    status->ending = str_from(cluster_status.ending);
    status->demand_count = cluster_status.demand_count;
    if (service->head.controller) {
        controller_each(service->head.controller, count_stopped, &status->stopped);
    }
    for (size_t i = 0; i < cluster_status.held_count; i++) {
        status->held = arena_printf(arena, "%.*s%s%.*s", STR_ARG(status->held), i > 0 ? "; " : "",
                                    STR_ARG(cluster_status.held[i]));
    }
    for (size_t i = 0; i < cluster_status.demand_count; i++) {
        const struct pending_demand *demand = &cluster_status.demands[i];
        bool is_held = demand->source == DEMAND_REQUEST_RESOURCES && demand->unmet == 0;
        status->waiting += is_held ? 0 : demand->count;
        status->unmet += demand->unmet;
    }
}

void service_status(const struct service *service, struct arena *arena,
                    struct ctl_status *ret_status)
{
    *ret_status = (struct ctl_status){
        .ray_version = gcs_poller_version(service->head.ray.poller),
        .ray_address = service->head.ray_address,
        .is_ray_gone = gcs_poller_is_gone(service->head.ray.poller),
        .autoscaler = activity_state(&service->activity),
        .autoscaler_message = autoscaler_message(service, arena),
        .goal = service->head.is_ending ? STR("down") : STR("run"),
        .joined = service->head.ray.alive,
        .wanted = 1 + head_context_min_workers(&service->head),
        .is_settled = service_is_settled(service),
        .is_ray_scaling = ray_autoscaler_is_active(&service->activity.ray_autoscaler),
        .serial = service->head.handover.serial,
        .idle_stop = idle_watch_text(&service->idle, arena),
        .jobs = service->idle.has_drivers ? (int64_t)service->idle.drivers : -1,
    };
    ret_status->waits_for = ret_status->is_settled ? STR("") : waits_for(service, arena);
    ret_status->waits_for_lease = !ret_status->is_settled && !service->head.is_leading;
    add_cluster_status(service, arena, ret_status);
}
