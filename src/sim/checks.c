/*
 * checks.c: checks the invariants against the actual state of the simulated world.
 *
 * The checks see the world as it is, not as a controller believes it to be. Each is named after its
 * invariant:
 *   I1  every machine we pay for can be found again from the records
 *   I2  no node with work is terminated for being idle
 *   I3  never more machines than allowed
 *   I4  one controller at a time
 *   I7  no existing machine is considered terminated
 *   I10 no storms of calls
 *   I13 when the faults stop, the cluster reaches its desired state, without oscillation
 *   I14 machines of others are left alone
 */
#include "sim/simulation_internal.h"

enum {
    MINUTE = 60 * 1000,
    OUTAGE_GRACE = 2 * MINUTE, /* the first tries of an outage are close together */
    OUTAGE_CALLS = 12,         /* limit per window of five minutes after that */
    OUTAGE_WINDOW = 5 * MINUTE,
    REFUSAL_WINDOW = 10 * MINUTE,
    REFUSALS_MOST = 4,
    SETTLING = 30 * 1000,    /* a node that joined later and had no work yet is not idle */
    QUIET_END = 10 * MINUTE, /* end of the healing phase: no further changes allowed */
};

void checks_init(struct simulation *simulation)
{
    struct checks *checks = &simulation->checks;
    checks->live_by_type = ARENA_ARRAY(simulation->arena, simulation->settings.type_count, int64_t);
    checks->refusals = ARENA_ARRAY(simulation->arena, simulation->settings.offering_count,
                                   struct refusals);
    checks->failures = ARENA_ARRAY(simulation->arena, simulation->settings.type_count, int64_t);
    checks->works = ARENA_ARRAY(simulation->arena, simulation->settings.type_count, bool);
    checks->outage_since = -1;
}

static struct book *book_of(struct simulation *simulation, uint64_t instance)
{
    struct checks *checks = &simulation->checks;
    while (checks->book_capacity < instance) {
        size_t capacity = checks->book_capacity ? 2 * checks->book_capacity : 64;
        struct book *books = ARENA_ARRAY(simulation->arena, capacity, struct book);
        for (size_t i = 0; i < capacity; i++) {
            books[i] = i < checks->book_capacity ? checks->books[i]
                                                 : (struct book){.joined_at = -1};
        }
        checks->books = books;
        checks->book_capacity = capacity;
    }
    return &checks->books[instance - 1];
}

static bool is_written_down(const struct simulation *simulation, uint64_t launch)
{
    for (size_t i = 0; i < simulation->controller_count; i++) {
        if (journal_intent(&simulation->controllers[i].sim_journal, launch)) {
            return true;
        }
    }
    return false;
}

/* A machine appeared: its launch must be recorded. */
static void check_new(struct simulation *simulation, const struct instance *instance)
{
    struct book *book = book_of(simulation, instance->id);
    if (book->is_counted) {
        return;
    }
    book->is_counted = true;
    if (!is_written_down(simulation, instance->launch)) {
        simulation_violate(simulation, "I1", "instance %llu exists without any record of it",
                           (unsigned long long)instance->id);
    }
}

static void check_limits(struct simulation *simulation)
{
    struct checks *checks = &simulation->checks;
    const struct core_settings *settings = &simulation->settings;
    int64_t all = 0;
    int64_t price = 0;
    for (size_t i = 0; i < settings->type_count; i++) {
        checks->live_by_type[i] = 0;
    }
    for (size_t i = 0; i < simulation->cloud.listable_count; i++) {
        const struct instance *instance =
            &simulation->cloud.instances[simulation->cloud.listable[i]];
        if (!instance->is_ours || instance->is_head ||
            !instance_is_live(instance, simulation->event_queue.now)) {
            continue;
        }
        const struct offering *offering = &settings->offerings[instance->offering];
        bool is_old = instance->launch <= simulation->cloud.old_launches;
        checks->live_by_type[offering->type] += !is_old; /* the node type may have been renamed */
        all++;
        price += offering->price > 0 ? offering->price : 0;
        check_new(simulation, instance);
    }
    if (all > settings->max_workers) {
        simulation_violate(simulation, "I3", "%lld workers, limit %lld", (long long)all,
                           (long long)settings->max_workers);
    }
    if (settings->max_price != PLAN_NO_LIMIT && price > settings->max_price) {
        simulation_violate(simulation, "I3", "%lld micro-dollars per hour, limit %lld",
                           (long long)price, (long long)settings->max_price);
    }
    for (size_t i = 0; i < settings->type_count; i++) {
        int64_t most = settings->types[i].max_nodes;
        if (most != PLAN_NO_LIMIT && checks->live_by_type[i] > most) {
            simulation_violate(simulation, "I3", "%lld nodes of type %.*s, limit %lld",
                               (long long)checks->live_by_type[i], STR_ARG(settings->types[i].name),
                               (long long)most);
        }
    }
}

/* The reasons for which a node with work may be terminated. */
static bool may_cost_work(uint8_t reason)
{
    return reason == REASON_NOTICE || reason == REASON_TYPE_LIMIT ||
           reason == REASON_CLUSTER_LIMIT || reason == REASON_DOWN;
}

/* A terminate call takes effect now. */
static void check_end(struct simulation *simulation, uint64_t instance)
{
    const struct cluster_node *node = cluster_find(&simulation->cluster, instance);
    uint8_t reason = book_of(simulation, instance)->end_reason;
    if (!node) {
        return;
    }
    if (node->is_alive && node->running > 0 && !may_cost_work(reason)) {
        simulation_violate(simulation, "I2", "instance %llu is terminated while it is busy",
                           (unsigned long long)instance);
    }
    if (reason == REASON_IDLE && !node->accepted_idle_drain) {
        simulation_violate(simulation, "I2",
                           "instance %llu is terminated as idle, but its raylet did not accept "
                           "the drain",
                           (unsigned long long)instance);
    }
}

/* A launch has taken effect: its controller must still count it. */
static void check_counted(struct simulation *simulation, const struct cloud_call *call)
{
    const struct sim_controller *sim_controller = &simulation->controllers[call->sim_controller];
    const struct instance *newest =
        &simulation->cloud.instances[simulation->cloud.instance_count - 1];
    bool is_new = newest->launch == call->launch &&
                  newest->created_at == simulation->event_queue.now;
    if (!is_new || !sim_controller->is_alive || !sim_controller->has_started) {
        return;
    }
    for (size_t i = 0; i < core_node_count(sim_controller->core); i++) {
        const struct node *node = core_node_at(sim_controller->core, i);
        if (node->state != NODE_GONE && node->launch == call->launch) {
            return;
        }
    }
    simulation_violate(simulation, "I3", "launch %u.%u took effect, but no controller knows it",
                       LAUNCH_ARG(call->launch));
}

/* Failed calls in an outage must become rare. */
static void check_outage(struct simulation *simulation)
{
    struct checks *checks = &simulation->checks;
    int64_t now = simulation->event_queue.now;
    if (!simulation->cloud.is_away) {
        checks->outage_since = -1;
    } else if (checks->outage_since < 0) {
        checks->outage_since = now;
        checks->outage_window = -1;
    }
}

/* Counted per lease holder, because it does not know how often its predecessor has tried. */
static void count_call(struct simulation *simulation, uint32_t sim_controller)
{
    struct checks *checks = &simulation->checks;
    int64_t now = simulation->event_queue.now;
    if (checks->outage_caller != sim_controller) {
        checks->outage_caller = sim_controller;
        checks->outage_window = -1;
    }
    if (checks->outage_since >= 0 && checks->outage_window < 0) {
        checks->outage_window = now + OUTAGE_GRACE; /* starts with the first call */
        checks->outage_calls = 0;
    }
    if (checks->outage_since < 0 || now < checks->outage_window) {
        return;
    }
    if (now > checks->outage_window + OUTAGE_WINDOW) {
        checks->outage_window = now;
        checks->outage_calls = 0;
    }
    if (++checks->outage_calls > OUTAGE_CALLS) {
        simulation_violate(simulation, "I10", "%lld calls within %d s of an outage",
                           (long long)checks->outage_calls, OUTAGE_WINDOW / 1000);
    }
}

void checks_after_entry(struct simulation *simulation, const struct event_queue_entry *entry)
{
    if (entry->kind == EVENT_QUEUE_CALL_EFFECT) {
        const struct cloud_call *call = cloud_call(&simulation->cloud, entry->what);
        if (call->verb == CLOUD_TERMINATE) {
            const struct instance *instance = cloud_instance(&simulation->cloud, call->instance);
            if (instance && instance->ended_at == simulation->event_queue.now) {
                check_end(simulation, call->instance);
            }
        }
        if (call->verb == CLOUD_LAUNCH) {
            check_limits(simulation);
            check_counted(simulation, call);
        }
    }
    if (entry->kind == EVENT_QUEUE_OUTAGE_CHANGE || entry->kind == EVENT_QUEUE_HEAL) {
        check_outage(simulation);
    }
    if (entry->kind == EVENT_QUEUE_SETUP_END && cluster_find(&simulation->cluster, entry->what)) {
        const struct instance *instance = cloud_instance(&simulation->cloud, entry->what);
        simulation->checks.works[simulation->settings.offerings[instance->offering].type] = true;
        book_of(simulation, entry->what)->joined_at = simulation->event_queue.now;
    }
}

/* A machine that a controller removes from its state must not exist any more. */
static void check_known(struct simulation *simulation, uint32_t sim_controller)
{
    const struct sim_controller *it = &simulation->controllers[sim_controller];
    for (size_t i = 0; i < simulation->cloud.listable_count; i++) {
        const struct instance *instance =
            &simulation->cloud.instances[simulation->cloud.listable[i]];
        if (!instance->is_ours || instance->is_head) {
            continue;
        }
        struct book *book = book_of(simulation, instance->id);
        bool is_known = core_find(it->core, instance->id) != NULL;
        if (book->is_known[sim_controller] && !is_known &&
            instance_is_live(instance, simulation->event_queue.now)) {
            simulation_violate(simulation, "I7",
                               "instance %llu runs, but the controller "
                               "considers it terminated",
                               (unsigned long long)instance->id);
        }
        book->is_known[sim_controller] = is_known;
    }
}

/* An offering that refused must not be tried again. Launches decided before the refusal are
 * exempt. */
static void check_refusals(struct simulation *simulation, enum outcome outcome,
                           const struct event *intent)
{
    struct refusals *refusals = &simulation->checks.refusals[intent->intent.offering];
    int64_t now = simulation->event_queue.now;
    if (outcome == OUTCOME_DONE) {
        *refusals = (struct refusals){0};
    }
    if ((outcome != OUTCOME_CAPACITY && outcome != OUTCOME_QUOTA) ||
        intent->at < refusals->last_at) {
        return;
    }
    if (refusals->count == 0 || now - refusals->first_at > REFUSAL_WINDOW) {
        *refusals = (struct refusals){.first_at = now};
    }
    refusals->last_at = now;
    if (++refusals->count > REFUSALS_MOST) {
        simulation_violate(
            simulation, "I10", "launches of offering %u were refused %lld times within %d s",
            intent->intent.offering, (long long)refusals->count, REFUSAL_WINDOW / 1000);
    }
}

void checks_after_event(struct simulation *simulation, uint32_t sim_controller,
                        const struct event *event)
{
    if (event->kind == EVENT_LAUNCH_REPLY && event->at == simulation->event_queue.now) {
        const struct event *intent = journal_intent(
            &simulation->controllers[sim_controller].sim_journal, event->launch_reply.launch);
        if (intent) {
            check_refusals(simulation, event->launch_reply.outcome, intent);
        }
    }
    if (event->kind == EVENT_LISTING || event->kind == EVENT_TERMINATE_REPLY ||
        event->kind == EVENT_LAUNCH_REPLY) {
        check_known(simulation, sim_controller);
    }
}

/* A new incarnation has little state; its calls are counted from zero. */
void checks_forget(struct simulation *simulation, uint32_t sim_controller)
{
    struct checks *checks = &simulation->checks;
    for (size_t i = 0; i < checks->book_capacity; i++) {
        checks->books[i].is_known[sim_controller] = false;
    }
    for (size_t i = 0; i < simulation->settings.offering_count; i++) {
        checks->refusals[i] = (struct refusals){0};
    }
    for (size_t i = 0; i < simulation->settings.type_count; i++) {
        checks->failures[i] = 0;
        checks->works[i] = false;
    }
    for (size_t i = 0; i < simulation->cloud.listable_count; i++) { /* it will see them in Ray */
        const struct instance *instance =
            &simulation->cloud.instances[simulation->cloud.listable[i]];
        bool is_in_ray = cluster_find(&simulation->cluster, instance->id) != NULL;
        checks->works[simulation->settings.offerings[instance->offering].type] |= is_in_ray;
    }
    checks->outage_window = -1;
}

/* No silent churn: if setups of a type fail and none ever succeeds, only a few instances may
 * launch. */
enum { FAILURES_MOST = 3 };

static void check_churn(struct simulation *simulation, uint32_t sim_controller,
                        const struct action *action)
{
    const struct core_settings *settings = &simulation->settings;
    if (simulation->checks.failures_of != sim_controller) {
        simulation->checks.failures_of = sim_controller;
        memset(simulation->checks.failures, 0,
               settings->type_count * sizeof(*simulation->checks.failures));
    }
    if (action->offering >= settings->offering_count) {
        return;
    }
    uint32_t type = settings->offerings[action->offering].type;
    int64_t *failures = &simulation->checks.failures[type];
    if (action->kind == ACTION_TERMINATE && action->reason.kind == REASON_SETUP_FAILED &&
        book_of(simulation, action->instance)->end_reason != REASON_SETUP_FAILED) {
        ++*failures;
    }
    if (action->kind == ACTION_LAUNCH && action->reason.kind == REASON_NEEDED &&
        *failures >= FAILURES_MOST && !simulation->checks.works[type]) {
        simulation_violate(simulation, "I10", "%.*s is launched again after %lld failed setups",
                           STR_ARG(settings->types[type].name), (long long)*failures);
    }
}

static void check_ours(struct simulation *simulation, const struct action *action)
{
    const struct instance *instance = cloud_instance(&simulation->cloud, action->instance);
    if (!instance || !instance->is_ours || instance->is_head) {
        simulation_violate(simulation, "I14", "instance %llu does not belong to this cluster",
                           (unsigned long long)action->instance);
    }
}

void checks_before_action(struct simulation *simulation, uint32_t sim_controller,
                          const struct action *action)
{
    const struct sim_controller *it = &simulation->controllers[sim_controller];
    int64_t now = simulation->event_queue.now;
    if (action->kind != ACTION_LAUNCH) {
        check_ours(simulation, action);
    }
    if (action->kind == ACTION_DRAIN && action->reason.kind == REASON_IDLE) {
        int64_t joined_at = book_of(simulation, action->instance)->joined_at;
        const struct cluster_node *node = cluster_find(&simulation->cluster, action->instance);
        bool is_new = joined_at >= 0 && now - joined_at < SETTLING;
        if (is_new && node && !node->has_worked) {
            simulation_violate(simulation, "I13",
                               "instance %llu joined %lld ms ago and is terminated as idle",
                               (unsigned long long)action->instance, (long long)(now - joined_at));
        }
    }
    if (action->kind != ACTION_LAUNCH && action->kind != ACTION_TERMINATE) {
        return;
    }
    check_churn(simulation, sim_controller, action);
    if (!lease_is_held(&simulation->lease, sim_controller, it->incarnation, action->epoch, now)) {
        simulation_violate(simulation, "I4", "controller %c acts without the lease",
                           'A' + (char)sim_controller);
    }
    if (action->kind == ACTION_LAUNCH &&
        action->launch >> 32 < simulation->lease.sole_writer_epoch) {
        simulation_violate(simulation, "I4",
                           "launch %u.%u is requested after another controller has acted",
                           LAUNCH_ARG(action->launch));
    }
    if (action->kind == ACTION_TERMINATE) {
        book_of(simulation, action->instance)->end_reason = action->reason.kind;
    }
    simulation->checks.last_change_at = now;
    count_call(simulation, sim_controller);
}

static const struct sim_controller *actor(const struct simulation *simulation)
{
    for (size_t i = 0; i < simulation->controller_count; i++) {
        if (controller_holds_lease(&simulation->controllers[i])) {
            return &simulation->controllers[i];
        }
    }
    return NULL;
}

/* All machines are in the controller's state and in Ray, and their number is as desired. */
static void check_requested(struct simulation *simulation,
                            const struct sim_controller *sim_controller)
{
    const struct core_settings *settings = &simulation->settings;
    for (size_t i = 0; i < simulation->cloud.listable_count; i++) {
        const struct instance *instance =
            &simulation->cloud.instances[simulation->cloud.listable[i]];
        if (!instance->is_ours || instance->is_head ||
            !instance_is_live(instance, simulation->event_queue.now)) {
            continue;
        }
        const struct node *node = core_find(sim_controller->core, instance->id);
        if (!node) {
            simulation_violate(simulation, "I1",
                               "instance %llu is billed, but no controller "
                               "knows it",
                               (unsigned long long)instance->id);
        } else if (instance->launch <= simulation->cloud.old_launches) {
            simulation_violate(simulation, "I13", "instance %llu is outdated and still running",
                               (unsigned long long)instance->id);
        } else if (node->state != NODE_READY && node->state != NODE_IDLE) {
            simulation_violate(simulation, "I13", "instance %llu is still %s",
                               (unsigned long long)instance->id,
                               node_state_name((enum node_state)node->state));
        }
    }
    check_limits(simulation);
    for (size_t i = 0; i < settings->type_count; i++) {
        int64_t wanted = simulation->setup.down_at > 0 ? 0 : settings->types[i].min_nodes;
        if (simulation->checks.live_by_type[i] != wanted) {
            simulation_violate(simulation, "I13", "%lld nodes of type %.*s, expected %lld",
                               (long long)simulation->checks.live_by_type[i],
                               STR_ARG(settings->types[i].name), (long long)wanted);
        }
    }
}

void checks_at_end(struct simulation *simulation)
{
    const struct sim_controller *sim_controller = actor(simulation);
    if (!sim_controller) {
        simulation_violate(simulation, "I13", "no controller holds the lease");
        return;
    }
    if (cluster_pending(&simulation->cluster) > 0 && simulation->setup.down_at == 0) {
        simulation_violate(simulation, "I13", "%lld requests are still pending",
                           (long long)cluster_pending(&simulation->cluster));
    }
    check_requested(simulation, sim_controller);
    for (size_t i = 0; i < core_node_count(sim_controller->core); i++) {
        const struct node *node = core_node_at(sim_controller->core, i);
        if (node->state == NODE_REQUESTED) {
            simulation_violate(simulation, "I13", "launch %llx never completed",
                               (unsigned long long)node->launch);
        }
    }
    if (simulation->event_queue.now - simulation->checks.last_change_at < QUIET_END) {
        simulation_violate(simulation, "I13", "instances are still being launched or terminated");
    }
}
