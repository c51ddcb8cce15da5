/* service_view.c: the cluster as the service sees it, in words for people. */
#include "app/head/service_parts.h"
#include "base/attr.h"
#include "io/clock.h"
#include "ray/version.h"

/* After so long without anything on its way, and with fewer than wanted, no more will come soon:
 * the cloud has refused, or given less than was asked for. */
enum { SHORT_MS = 8 * 1000 };

struct str service_node_name(const struct controlled *controlled, struct arena *arena)
{
    return controlled->is_head
               ? STR("head")
               : arena_printf(arena, "worker-%llu",
                              (unsigned long long)controlled->instance - HEAD_INSTANCE);
}

/* ---- one node ---- */

/* Why a node ends. */
static const struct {
    const char *words;
    bool is_failure;
} reasons[REASON_KIND_COUNT] = {
    [REASON_SETUP_FAILED] = {"its set-up failed", true},
    [REASON_TOO_SLOW] = {"it took too long", true},
    [REASON_CLOUD_ENDED] = {"the cloud, or somebody by hand, has ended it", true},
    [REASON_RAY_DEAD] = {"Ray says that it is dead", true},
    [REASON_LOST_CONTACT] = {"Ray has not heard of it for too long", true},
    [REASON_IDLE] = {"idle", false},
    [REASON_OUTDATED] = {"its type has changed", false},
    [REASON_TYPE_LIMIT] = {"more than there may be of its type", false},
    [REASON_CLUSTER_LIMIT] = {"more than there may be", false},
    [REASON_DRAINED] = {"drained", false},
    [REASON_NOTICE] = {"the cloud takes it away", false},
    [REASON_DOWN] = {"the cluster goes down", false},
};

static bool is_failure(const struct node *node)
{
    return node->reason.kind < REASON_KIND_COUNT && reasons[node->reason.kind].is_failure;
}

static bool is_ending(const struct node *node)
{
    return node->state == NODE_DRAINING || node->state == NODE_TERMINATING ||
           node->state == NODE_FAILED;
}

struct str service_reason(const struct node *node, struct arena *arena)
{
    const struct reason *reason = &node->reason;
    if (!is_ending(node)) {
        return STR("");
    }
    if (reason->kind == REASON_TOO_SLOW) {
        return arena_printf(arena, "it took longer than %lld s", (long long)(reason->limit / 1000));
    }
    return reason->kind < REASON_KIND_COUNT ? str_from(reasons[reason->kind].words) : STR("");
}

/* What a state of the core is to people, and to whoever waits for the cluster. */
static const struct {
    enum node_phase phase;
    enum slot_state slot;
} meanings[NODE_STATE_COUNT] = {
    [NODE_GONE] = {PHASE_GONE, SLOT_GONE},
    [NODE_REQUESTED] = {PHASE_ASKED, SLOT_PENDING},
    [NODE_LAUNCHING] = {PHASE_BOOTING, SLOT_PENDING},
    [NODE_BOOTING] = {PHASE_CONNECTING, SLOT_PENDING},
    [NODE_SETTING_UP] = {PHASE_CONNECTING, SLOT_PENDING},
    [NODE_READY] = {PHASE_READY, SLOT_READY},
    [NODE_IDLE] = {PHASE_READY, SLOT_READY},
    [NODE_DRAINING] = {PHASE_ENDING, SLOT_GONE},
    [NODE_FAILED] = {PHASE_FAILED, SLOT_FAILED},
    [NODE_TERMINATING] = {PHASE_ENDING, SLOT_GONE},
    [NODE_STRANGER] = {PHASE_BOOTING, SLOT_PENDING},
};

enum slot_state service_slot(const struct service *service, const struct controlled *controlled)
{
    const struct worker_progress *progress = worker_setups_progress(service->setups,
                                                                    controlled->instance);
    const struct node *node = controlled->node;
    if (progress && progress->phase == PHASE_FAILED) {
        return SLOT_FAILED;
    }
    if (!node) {
        return SLOT_GONE;
    }
    bool keeps_ray;
    if (!is_ending(node) && service_is_updating(service, controlled->instance, &keeps_ray)) {
        return SLOT_PENDING;
    }
    return is_ending(node) && is_failure(node) ? SLOT_FAILED : meanings[node->state].slot;
}

static enum node_phase phase_of(const struct service *service, const struct controlled *controlled,
                                const struct worker_progress *progress)
{
    const struct node *node = controlled->node;
    bool keeps_ray;
    if (progress && progress->phase == PHASE_FAILED) {
        return PHASE_FAILED;
    }
    if (!node) {
        bool is_there = controlled->machine && controlled->machine->state <= MACHINE_RUNNING;
        return is_there ? PHASE_BOOTING : PHASE_GONE;
    }
    if (is_ending(node) && is_failure(node)) {
        return PHASE_FAILED;
    }
    bool is_being_set_up = node->state == NODE_BOOTING || node->state == NODE_SETTING_UP ||
                           service_is_updating(service, controlled->instance, &keeps_ray);
    return is_being_set_up && progress ? progress->phase : meanings[node->state].phase;
}

static void add_machine(struct node_view *view, const struct machine *machine)
{
    if (machine) {
        view->id = machine->id;
        view->machine = machine->type;
        view->zone = machine->zone;
        view->public_ip = machine->public_ip;
        view->private_ip = machine->private_ip;
        view->is_spot = machine->market == MARKET_SPOT;
        view->born_ms = machine->launched_at * 1000;
    }
}

static void add_node(const struct service *service, struct node_view *view,
                     const struct controlled *controlled, struct arena *arena)
{
    const struct node *node = controlled->node;
    const struct core_settings *settings = &service->core.settings;
    if (!node) {
        return;
    }
    if (node->offering < settings->offering_count && !controlled->is_head) {
        const struct offering *offering = &settings->offerings[node->offering];
        view->type = service->config->node_types[offering->type].name;
        view->price = offering->price;
    }
    int64_t age_ms = loop_now_ms(service->session.loop) - node->since;
    view->since_ms = clock_wall_ms(loop_clock(service->session.loop)) - age_ms;
    view->reason = is_ending(node)     ? service_reason(node, arena)
                   : node->launch != 0 ? service_why_launched(service, node->launch)
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
        view->failure.why = view->reason; /* the core gave it up */
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

void service_view(const struct service *service, const struct controlled *controlled,
                  struct arena *arena, struct node_view *ret_view)
{
    const struct worker_progress *progress = worker_setups_progress(service->setups,
                                                                    controlled->instance);
    struct node_view view = {.name = service_node_name(controlled, arena), .price = PRICE_UNKNOWN};
    add_machine(&view, controlled->machine);
    add_node(service, &view, controlled, arena);
    if (controlled->is_head) {
        view_head(service, &view);
    } else {
        view.phase = phase_of(service, controlled, progress);
        if (view.phase == PHASE_FAILED && !(controlled->node && is_ending(controlled->node))) {
            view.reason = STR(""); /* what it was for is no reason for that */
        }
        add_progress(&view, progress);
    }
    *ret_view = view;
}

/* Whole seconds: Ray counts from when it looked, which is never twice the same. */
void service_view_insight(struct node_view *view, const struct insight_node *node, int64_t seen_ms)
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

/* ---- all of it ---- */

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

bool service_is_rays(const struct service *service)
{
    return service->monitor_pid != 0 || service->old_ray[0] != '\0';
}

static struct str stance(const struct service *service, struct arena *arena)
{
    if (service->is_frozen) {
        return arena_printf(arena, "frozen: %s", service->refusal);
    }
    if (service->old_ray[0] != '\0') {
        return arena_printf(arena,
                            "standing by: Ray %s on the head is older than " RAY_VERSION_TOKEN
                            ": Ray's own autoscaler keeps the workers; token authentication is off",
                            service->old_ray);
    }
    if (service->monitor_pid != 0) {
        return arena_printf(arena,
                            "standing by: Ray's own autoscaler runs on this head (process %d); two "
                            "of them would undo each other's work. Start Ray with --no-monitor",
                            service->monitor_pid);
    }
    if (!service->is_leading) {
        return arena_printf(arena, "standing by%s%s", service->refusal[0] ? ": " : "",
                            service->refusal);
    }
    if (service->launch_trouble[0]) {
        return arena_printf(arena, "acting; %s", service->launch_trouble);
    }
    return STR("acting");
}

static bool is_settled(const struct service *service, size_t workers)
{
    bool is_short = service->short_since_ms > 0 &&
                    loop_now_ms(service->session.loop) - service->short_since_ms >= SHORT_MS;
    if (service_is_rays(service)) {
        return true; /* nothing is known here of what will come */
    }
    return service->is_head_alive && !service_waits_for_ray(service) &&
           (slots_are_settled(&service->slots, workers) || is_short);
}

void service_note_shortage(struct service *service)
{
    size_t workers = service_wanted_workers(service);
    bool is_short = service->is_leading && service->is_head_alive &&
                    slots_count(&service->slots, SLOT_PENDING) == 0 &&
                    !slots_are_settled(&service->slots, workers);
    if (!is_short) {
        service->short_since_ms = 0;
    } else if (service->short_since_ms == 0) {
        service->short_since_ms = loop_now_ms(service->session.loop);
    }
}

static void add_insight(const struct service *service, struct arena *arena,
                        struct ctl_status *status)
{
    struct insight insight;
    service_insight(service, arena, &insight);
    status->now_ms = clock_wall_ms(loop_clock(service->session.loop));
    status->seen_ms = insight.seen_ms;
    status->price = insight.price;
    status->price_limit = insight.price_limit;
    status->launching = str_from(insight.launching);
    status->ending = str_from(insight.ending);
    status->demand_count = insight.demand_count;
    for (size_t i = 0; i < insight.demand_count; i++) {
        const struct insight_demand *demand = &insight.demands[i];
        bool is_held = demand->source == INSIGHT_CONSTRAINT && demand->unmet == 0;
        status->waiting += is_held ? 0 : demand->count;
        status->unmet += demand->unmet;
    }
}

void service_status(const struct service *service, struct arena *arena,
                    struct ctl_status *ret_status)
{
    size_t workers = service_wanted_workers(service);
    *ret_status = (struct ctl_status){
        .ray_version = ray_watch_version(service->ray),
        .ray_address = service->ray_address,
        .stance = stance(service, arena),
        .goal = STR("run"),
        .joined = service->ray_alive,
        .wanted = 1 + workers,
        .is_settled = is_settled(service, workers),
        .is_rays = service_is_rays(service),
        .serial = service->handover.serial,
    };
    add_insight(service, arena, ret_status);
}
