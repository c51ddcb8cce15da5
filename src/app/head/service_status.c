/* service_status.c: the cluster as the service sees it, for users. */
#include "app/head/supervisor/service_supervisor.h"
#include "app/machine_tags.h"
#include "base/attr.h"
#include "io/clock.h"
#include "ray/version.h"

/* With too few workers and none pending for this long, no more are expected soon: the cloud
 * refused, or launched fewer than requested. */
enum { SHORT_MS = 8 * 1000 };

struct str service_node_name(const struct managed_node *managed_node, struct arena *arena)
{
    return managed_node->is_head
               ? STR("head")
               : arena_printf(arena, "worker-%llu",
                              (unsigned long long)managed_node->instance - HEAD_INSTANCE);
}

/* ---- one node ---- */

/* Why a node is being terminated. */
static const struct {
    const char *words;
    bool is_failure;
} reasons[REASON_KIND_COUNT] = {
    [REASON_SETUP_FAILED] = {"its setup failed", true},
    [REASON_TOO_SLOW] = {"timed out", true},
    [REASON_CLOUD_ENDED] = {"terminated by the cloud or by a user", true},
    [REASON_RAY_DEAD] = {"Ray reports it dead", true},
    [REASON_LOST_CONTACT] = {"no heartbeat in Ray for too long", true},
    [REASON_IDLE] = {"idle", false},
    [REASON_OUTDATED] = {"outdated: its node type was changed or removed in the file", false},
    [REASON_TYPE_LIMIT] = {"over max_workers of its node type", false},
    [REASON_CLUSTER_LIMIT] = {"over max_workers", false},
    [REASON_DRAINED] = {"drained", false},
    [REASON_NOTICE] = {"spot interruption notice", false},
    [REASON_DOWN] = {"the cluster is being removed", false},
};

static bool is_failure(const struct node *node)
{
    return node->reason.kind < REASON_KIND_COUNT && reasons[node->reason.kind].is_failure;
}

static bool service_status_is_ending(const struct node *node)
{
    return node->state == NODE_DRAINING || node->state == NODE_TERMINATING ||
           node->state == NODE_FAILED;
}

/* Only spot machines get notices. Any node may be drained externally. */
struct str service_notice_text(const struct managed_node *managed_node)
{
    bool is_spot = managed_node->machine && managed_node->machine->market == MARKET_SPOT;
    return is_spot ? str_from(reasons[REASON_NOTICE].words) : STR("drained externally");
}

struct str service_reason(const struct node *node, struct arena *arena)
{
    const struct reason *reason = &node->reason;
    if (!service_status_is_ending(node)) {
        return STR("");
    }
    if (reason->kind == REASON_TOO_SLOW) {
        return arena_printf(arena, "timed out after %lld s", (long long)(reason->limit / 1000));
    }
    return reason->kind < REASON_KIND_COUNT ? str_from(reasons[reason->kind].words) : STR("");
}

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
    if (!service_status_is_ending(node) &&
        service_is_updating(service, managed_node->instance, &keeps_ray)) {
        return CONVERGE_PENDING;
    }
    if (service_status_is_ending(node)) {
        return is_failure(node) ? CONVERGE_FAILED : CONVERGE_GONE;
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
    if (service_status_is_ending(node)) {
        return is_failure(node) ? PHASE_FAILED : PHASE_TERMINATING;
    }
    bool is_being_set_up = node->state == NODE_BOOTING || node->state == NODE_SETTING_UP ||
                           service_is_updating(service, managed_node->instance, &keeps_ray);
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
        view->requested_ms = machine->launched_at * 1000;
    }
}

static void service_status_add_node(const struct service *service, struct node_view *view,
                                    const struct managed_node *managed_node, struct arena *arena)
{
    const struct node *node = managed_node->node;
    const struct core_settings *settings = &service->core.settings;
    if (!node) {
        return;
    }
    if (node->offering < settings->offering_count && !managed_node->is_head) {
        const struct offering *offering = &settings->offerings[node->offering];
        view->type = service->config->node_types[offering->type].name;
        view->price = offering->price;
    }
    if (managed_node->machine &&
        !managed_node->is_head) { /* the actual machine, not the current file */
        const struct machine *machine = managed_node->machine;
        struct str type = machine_tag_value(machine, "ray-user-node-type");
        view->type = type.len > 0 ? type : view->type;
        view->price = core_setup_price(service->config, machine->type,
                                       machine->market == MARKET_SPOT);
    }
    int64_t age_ms = loop_now_ms(service->session.loop) - node->since;
    view->since_ms = clock_wall_ms(loop_clock(service->session.loop)) - age_ms;
    bool has_notice = service_status_is_ending(node) && node->reason.kind == REASON_NOTICE;
    view->reason = has_notice                       ? service_notice_text(managed_node)
                   : service_status_is_ending(node) ? service_reason(node, arena)
                   : node->launch != 0              ? service_why_launched(service, node->launch)
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
    const struct handover *handover = &service->handover;
    const struct config_node_type *type = &service->config->node_types[service->config->head_type];
    view->is_head = true;
    view->type = type->name;
    view->price = service->core.facts[service->config->head_type].price;
    view->phase = service->is_head_alive ? PHASE_READY : PHASE_SETTING_UP;
    view->id = handover->head_id;
    view->price = service->core.facts[service->core.settings.head_type].price;
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
    struct node_view view = {.name = service_node_name(managed_node, arena),
                             .price = PRICE_UNKNOWN};
    service_status_add_machine(&view, managed_node->machine);
    service_status_add_node(service, &view, managed_node, arena);
    if (managed_node->is_head) {
        view_head(service, &view);
    } else {
        view.phase = service_status_phase_of(service, managed_node, progress);
        if (view.phase == PHASE_FAILED &&
            !(managed_node->node && service_status_is_ending(managed_node->node))) {
            view.reason = STR(""); /* the launch reason does not explain the failure */
        }
        add_progress(&view, progress);
    }
    *ret_view = view;
}

/* In whole seconds, because Ray's idle time varies with each poll. */
void service_view_cluster_status(struct node_view *view, const struct node_usage *node,
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

/* ---- status ---- */

size_t service_wanted_workers(const struct service *service)
{
    const struct config *config = service->config;
    int64_t wanted = 0;
    for (size_t i = 0; i < config->node_type_count; i++) {
        wanted += config->node_types[i].is_head ? 0 : config->node_types[i].min_workers;
    }
    wanted = wanted < config->max_workers ? wanted : config->max_workers;
    return wanted > 0 ? (size_t)wanted : 0;
}

bool service_ray_scales(const struct service *service)
{
    return service->monitor_pid != 0 || service->old_ray[0] != '\0';
}

static enum autoscaler_state autoscaler_state(const struct service *service)
{
    return service->is_frozen                                    ? AUTOSCALER_CRASH_LOOPING
           : service_ray_scales(service) || !service->is_leading ? AUTOSCALER_STANDBY
                                                                 : AUTOSCALER_ACTIVE;
}

/* Why the autoscaler is not active, or what hinders an active one; empty: nothing. */
static struct str autoscaler_message(const struct service *service, struct arena *arena)
{
    if (service->is_frozen) {
        return arena_str(arena, str_from(service->refusal));
    }
    if (service->old_ray[0] != '\0') {
        return arena_printf(arena,
                            "Ray %s on the head is older than " RAY_VERSION_TOKEN
                            ": Ray's own autoscaler manages the workers, and token authentication "
                            "is off",
                            service->old_ray);
    }
    if (service->monitor_pid != 0) {
        return arena_printf(arena,
                            "Ray's own autoscaler runs on this head (process %d); two autoscalers "
                            "would undo each other's work. Start Ray with --no-monitor",
                            service->monitor_pid);
    }
    if (!service->is_leading) {
        return arena_str(arena, str_from(service->refusal));
    }
    struct str journal = service_journal_text(service, arena);
    if (journal.len > 0) {
        return journal;
    }
    if (service->launch_trouble[0]) {
        return arena_str(arena, str_from(service->launch_trouble));
    }
    return service_resume_note(service, arena);
}

static bool is_settled(const struct service *service, size_t workers)
{
    bool is_short = service->short_since_ms > 0 &&
                    loop_now_ms(service->session.loop) - service->short_since_ms >= SHORT_MS;
    if (service_ray_scales(service)) {
        return true; /* the number of workers to come is unknown here */
    }
    return service->is_head_alive && !service_waits_for_ray(service) &&
           (convergence_is_reached(&service->slots, workers) || is_short);
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
    if (!service->is_leading) {
        return arena_printf(arena, "the lease of the cluster%s%s", service->refusal[0] ? ": " : "",
                            service->refusal);
    }
    if (!service->is_head_alive) {
        return STR("Ray on the head");
    }
    if (service_waits_for_ray(service)) {
        return STR("Ray's restart on the head");
    }
    struct service_status_waiting waiting = {service, arena, &text, 0};
    controller_each(service->controller, add_waiting, &waiting);
    return waiting.count > 0 ? arena_str(arena, buf_str(&text)) : STR("the launch of workers");
}

void service_note_shortage(struct service *service)
{
    size_t workers = service_wanted_workers(service);
    bool is_short = service->is_leading && service->is_head_alive &&
                    convergence_count(&service->slots, CONVERGE_PENDING) == 0 &&
                    !convergence_is_reached(&service->slots, workers);
    if (!is_short) {
        service->short_since_ms = 0;
    } else if (service->short_since_ms == 0) {
        service->short_since_ms = loop_now_ms(service->session.loop);
    }
}

static void add_cluster_status(const struct service *service, struct arena *arena,
                               struct ctl_status *status)
{
    struct cluster_status cluster_status;
    service_cluster_status(service, arena, &cluster_status);
    status->now_ms = clock_wall_ms(loop_clock(service->session.loop));
    status->seen_ms = cluster_status.seen_ms;
    status->price = cluster_status.price;
    status->price_limit = cluster_status.price_limit;
    status->launching = str_from(cluster_status.launching);
    status->ending = str_from(cluster_status.ending);
    status->demand_count = cluster_status.demand_count;
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
    size_t workers = service_wanted_workers(service);
    *ret_status = (struct ctl_status){
        .ray_version = gcs_poller_version(service->ray),
        .ray_address = service->ray_address,
        .autoscaler = autoscaler_state(service),
        .autoscaler_message = autoscaler_message(service, arena),
        .goal = STR("run"),
        .joined = service->ray_alive,
        .wanted = 1 + workers,
        .is_settled = is_settled(service, workers),
        .is_ray_scaling = service_ray_scales(service),
        .serial = service->handover.serial,
        .jobs = service->has_drivers ? (int64_t)service->drivers : -1,
    };
    ret_status->waits_for = ret_status->is_settled ? STR("") : waits_for(service, arena);
    ret_status->waits_for_lease = !ret_status->is_settled && !service->is_leading;
    add_cluster_status(service, arena, ret_status);
}
