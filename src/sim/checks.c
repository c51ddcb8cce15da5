/*
 * checks.c: the promises, checked against what really happened.
 *
 * The checks see the world as it is, not as a controller believes it to be. Each is named after
 * the invariant it guards:
 *   I1  every machine we pay for can be found again from what was written down
 *   I2  nothing that works is ended for being idle
 *   I3  never more machines than allowed
 *   I4  one controller at a time
 *   I7  nothing is believed to be gone that is not
 *   I10 no storms of calls
 *   I13 when the faults stop, what is wished for becomes what is; no going back and forth
 *   I14 other people's machines are left alone
 */
#include "sim/yard_parts.h"

enum {
    MINUTE = 60 * 1000,
    OUTAGE_GRACE = 2 * MINUTE, /* the first tries of an outage are close together */
    OUTAGE_CALLS = 12,         /* then at most so many in a window of five minutes */
    OUTAGE_WINDOW = 5 * MINUTE,
    REFUSAL_WINDOW = 10 * MINUTE,
    REFUSALS_MOST = 4,
    SETTLING = 30 * 1000,    /* a node that joined later, and had no work yet, is not idle */
    QUIET_END = 10 * MINUTE, /* of the healing: nothing may change any more */
};

void checks_init(struct yard *yard)
{
    struct checks *checks = &yard->checks;
    checks->live_by_type = ARENA_ARRAY(yard->arena, yard->settings.type_count, int64_t);
    checks->refusals = ARENA_ARRAY(yard->arena, yard->settings.offering_count, struct refusals);
    checks->outage_since = -1;
}

static struct book *book_of(struct yard *yard, uint64_t instance)
{
    struct checks *checks = &yard->checks;
    while (checks->book_capacity < instance) {
        size_t capacity = checks->book_capacity ? 2 * checks->book_capacity : 64;
        struct book *books = ARENA_ARRAY(yard->arena, capacity, struct book);
        for (size_t i = 0; i < capacity; i++) {
            books[i] = i < checks->book_capacity ? checks->books[i]
                                                 : (struct book){.joined_at = -1};
        }
        checks->books = books;
        checks->book_capacity = capacity;
    }
    return &checks->books[instance - 1];
}

static bool is_written_down(const struct yard *yard, uint64_t launch)
{
    for (size_t i = 0; i < yard->controller_count; i++) {
        if (journal_intent(&yard->controllers[i].journal, launch)) {
            return true;
        }
    }
    return false;
}

/* A machine appeared: its launch must be on record. */
static void check_new(struct yard *yard, const struct instance *instance)
{
    struct book *book = book_of(yard, instance->id);
    if (book->is_counted) {
        return;
    }
    book->is_counted = true;
    if (!is_written_down(yard, instance->launch)) {
        yard_violate(yard, "I1", "instance %llu exists and no record leads to it",
                     (unsigned long long)instance->id);
    }
}

static void check_limits(struct yard *yard)
{
    struct checks *checks = &yard->checks;
    const struct core_settings *settings = &yard->settings;
    int64_t all = 0;
    int64_t price = 0;
    for (size_t i = 0; i < settings->type_count; i++) {
        checks->live_by_type[i] = 0;
    }
    for (size_t i = 0; i < yard->cloud.listable_count; i++) {
        const struct instance *instance = &yard->cloud.instances[yard->cloud.listable[i]];
        if (!instance->is_ours || instance->is_head ||
            !instance_is_live(instance, yard->agenda.now)) {
            continue;
        }
        const struct offering *offering = &settings->offerings[instance->offering];
        checks->live_by_type[offering->type]++;
        all++;
        price += offering->price > 0 ? offering->price : 0;
        check_new(yard, instance);
    }
    if (all > settings->max_workers) {
        yard_violate(yard, "I3", "%lld workers, %lld allowed", (long long)all,
                     (long long)settings->max_workers);
    }
    if (settings->max_price != PLAN_NO_LIMIT && price > settings->max_price) {
        yard_violate(yard, "I3", "%lld micro-dollars per hour, %lld allowed", (long long)price,
                     (long long)settings->max_price);
    }
    for (size_t i = 0; i < settings->type_count; i++) {
        int64_t most = settings->types[i].max_nodes;
        if (most != PLAN_NO_LIMIT && checks->live_by_type[i] > most) {
            yard_violate(yard, "I3", "%lld of type %.*s, %lld allowed",
                         (long long)checks->live_by_type[i], STR_ARG(settings->types[i].name),
                         (long long)most);
        }
    }
}

/* Why a node may be ended although something runs on it. */
static bool may_cost_work(uint8_t reason)
{
    return reason == REASON_NOTICE || reason == REASON_TYPE_LIMIT ||
           reason == REASON_CLUSTER_LIMIT || reason == REASON_OUTDATED || reason == REASON_DOWN;
}

/* A terminate call takes effect now. */
static void check_end(struct yard *yard, uint64_t instance)
{
    const struct cluster_node *node = cluster_find(&yard->cluster, instance);
    uint8_t reason = book_of(yard, instance)->end_reason;
    if (!node) {
        return;
    }
    if (node->is_alive && node->running > 0 && !may_cost_work(reason)) {
        yard_violate(yard, "I2", "instance %llu is ended while it works",
                     (unsigned long long)instance);
    }
    if (reason == REASON_IDLE && !node->accepted_idle_drain) {
        yard_violate(yard, "I2", "instance %llu is ended as idle and its raylet did not agree",
                     (unsigned long long)instance);
    }
}

/* A launch has taken effect: whoever asked for it must still count with it. */
static void check_counted(struct yard *yard, const struct cloud_call *call)
{
    const struct controller *controller = &yard->controllers[call->controller];
    const struct instance *newest = &yard->cloud.instances[yard->cloud.instance_count - 1];
    bool is_new = newest->launch == call->launch && newest->created_at == yard->agenda.now;
    if (!is_new || !controller->is_alive || !controller->has_started) {
        return;
    }
    for (size_t i = 0; i < core_node_count(controller->core); i++) {
        const struct node *node = core_node_at(controller->core, i);
        if (node->state != NODE_GONE && node->launch == call->launch) {
            return;
        }
    }
    yard_violate(yard, "I3", "launch %u.%u took effect and nobody counts with it",
                 LAUNCH_ARG(call->launch));
}

/* Failed calls in an outage must become rare. */
static void check_outage(struct yard *yard)
{
    struct checks *checks = &yard->checks;
    int64_t now = yard->agenda.now;
    if (!yard->cloud.is_away) {
        checks->outage_since = -1;
    } else if (checks->outage_since < 0) {
        checks->outage_since = now;
        checks->outage_window = -1;
    }
}

/* Of each who leads, for nobody knows how often the one before has tried. */
static void count_call(struct yard *yard, uint32_t controller)
{
    struct checks *checks = &yard->checks;
    int64_t now = yard->agenda.now;
    if (checks->outage_caller != controller) {
        checks->outage_caller = controller;
        checks->outage_window = -1;
    }
    if (checks->outage_since >= 0 && checks->outage_window < 0) {
        checks->outage_window = now + OUTAGE_GRACE; /* from the first call on */
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
        yard_violate(yard, "I10", "%lld calls within %d s of an outage",
                     (long long)checks->outage_calls, OUTAGE_WINDOW / 1000);
    }
}

void checks_after_entry(struct yard *yard, const struct agenda_entry *entry)
{
    if (entry->kind == AGENDA_CALL_EFFECT) {
        const struct cloud_call *call = cloud_call(&yard->cloud, entry->what);
        if (call->verb == CLOUD_TERMINATE) {
            const struct instance *instance = cloud_instance(&yard->cloud, call->instance);
            if (instance && instance->ended_at == yard->agenda.now) {
                check_end(yard, call->instance);
            }
        }
        if (call->verb == CLOUD_LAUNCH) {
            check_limits(yard);
            check_counted(yard, call);
        }
    }
    if (entry->kind == AGENDA_OUTAGE_CHANGE || entry->kind == AGENDA_HEAL) {
        check_outage(yard);
    }
    if (entry->kind == AGENDA_SETUP_END && cluster_find(&yard->cluster, entry->what)) {
        book_of(yard, entry->what)->joined_at = yard->agenda.now;
    }
}

/* Whatever a controller stops knowing must not exist any more. */
static void check_known(struct yard *yard, uint32_t controller)
{
    const struct controller *it = &yard->controllers[controller];
    for (size_t i = 0; i < yard->cloud.listable_count; i++) {
        const struct instance *instance = &yard->cloud.instances[yard->cloud.listable[i]];
        if (!instance->is_ours || instance->is_head) {
            continue;
        }
        struct book *book = book_of(yard, instance->id);
        bool is_known = core_find(it->core, instance->id) != NULL;
        if (book->is_known[controller] && !is_known &&
            instance_is_live(instance, yard->agenda.now)) {
            yard_violate(yard, "I7", "instance %llu is believed to be gone",
                         (unsigned long long)instance->id);
        }
        book->is_known[controller] = is_known;
    }
}

/* An offering that refused is left alone. Launches decided on before that do not count. */
static void check_refusals(struct yard *yard, enum outcome outcome, const struct event *intent)
{
    struct refusals *refusals = &yard->checks.refusals[intent->intent.offering];
    int64_t now = yard->agenda.now;
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
        yard_violate(yard, "I10", "offering %u was asked %lld times within %d s in vain",
                     intent->intent.offering, (long long)refusals->count, REFUSAL_WINDOW / 1000);
    }
}

void checks_after_event(struct yard *yard, uint32_t controller, const struct event *event)
{
    if (event->kind == EVENT_LAUNCH_REPLY && event->at == yard->agenda.now) {
        const struct event *intent = journal_intent(&yard->controllers[controller].journal,
                                                    event->launch_reply.launch);
        if (intent) {
            check_refusals(yard, event->launch_reply.outcome, intent);
        }
    }
    if (event->kind == EVENT_LISTING || event->kind == EVENT_TERMINATE_REPLY ||
        event->kind == EVENT_LAUNCH_REPLY) {
        check_known(yard, controller);
    }
}

/* A new incarnation starts from little; storms are counted anew. */
void checks_forget(struct yard *yard, uint32_t controller)
{
    struct checks *checks = &yard->checks;
    for (size_t i = 0; i < checks->book_capacity; i++) {
        checks->books[i].is_known[controller] = false;
    }
    for (size_t i = 0; i < yard->settings.offering_count; i++) {
        checks->refusals[i] = (struct refusals){0};
    }
    checks->outage_window = -1;
}

static void check_ours(struct yard *yard, const struct action *action)
{
    const struct instance *instance = cloud_instance(&yard->cloud, action->instance);
    if (!instance || !instance->is_ours || instance->is_head) {
        yard_violate(yard, "I14", "instance %llu is not ours to touch",
                     (unsigned long long)action->instance);
    }
}

void checks_before_action(struct yard *yard, uint32_t controller, const struct action *action)
{
    const struct controller *it = &yard->controllers[controller];
    int64_t now = yard->agenda.now;
    if (action->kind != ACTION_LAUNCH) {
        check_ours(yard, action);
    }
    if (action->kind == ACTION_DRAIN && action->reason.kind == REASON_IDLE) {
        int64_t joined_at = book_of(yard, action->instance)->joined_at;
        const struct cluster_node *node = cluster_find(&yard->cluster, action->instance);
        bool is_new = joined_at >= 0 && now - joined_at < SETTLING;
        if (is_new && node && !node->has_worked) {
            yard_violate(yard, "I13", "instance %llu joined %lld ms ago and is to go as idle",
                         (unsigned long long)action->instance, (long long)(now - joined_at));
        }
    }
    if (action->kind != ACTION_LAUNCH && action->kind != ACTION_TERMINATE) {
        return;
    }
    if (!lease_is_held(&yard->lease, controller, it->incarnation, action->epoch, now)) {
        yard_violate(yard, "I4", "controller %c acts without the lease", 'A' + (char)controller);
    }
    if (action->kind == ACTION_LAUNCH && action->launch >> 32 < yard->lease.reign) {
        yard_violate(yard, "I4", "launch %u.%u is asked for after somebody else has acted",
                     LAUNCH_ARG(action->launch));
    }
    if (action->kind == ACTION_TERMINATE) {
        book_of(yard, action->instance)->end_reason = action->reason.kind;
    }
    yard->checks.last_change_at = now;
    count_call(yard, controller);
}

static const struct controller *actor(const struct yard *yard)
{
    for (size_t i = 0; i < yard->controller_count; i++) {
        if (controller_holds_lease(&yard->controllers[i])) {
            return &yard->controllers[i];
        }
    }
    return NULL;
}

/* Every machine is in the controller's books and in Ray, and there are as many as wished for. */
static void check_wished(struct yard *yard, const struct controller *controller)
{
    const struct core_settings *settings = &yard->settings;
    for (size_t i = 0; i < yard->cloud.listable_count; i++) {
        const struct instance *instance = &yard->cloud.instances[yard->cloud.listable[i]];
        if (!instance->is_ours || instance->is_head ||
            !instance_is_live(instance, yard->agenda.now)) {
            continue;
        }
        const struct node *node = core_find(controller->core, instance->id);
        if (!node) {
            yard_violate(yard, "I1", "instance %llu is paid for and nobody knows it",
                         (unsigned long long)instance->id);
        } else if (node->state != NODE_READY && node->state != NODE_IDLE) {
            yard_violate(yard, "I13", "instance %llu is still %s", (unsigned long long)instance->id,
                         node_state_name((enum node_state)node->state));
        }
    }
    check_limits(yard);
    for (size_t i = 0; i < settings->type_count; i++) {
        int64_t wish = yard->setup.down_at > 0 ? 0 : settings->types[i].min_nodes;
        if (yard->checks.live_by_type[i] != wish) {
            yard_violate(yard, "I13", "%lld of type %.*s, %lld wished for",
                         (long long)yard->checks.live_by_type[i], STR_ARG(settings->types[i].name),
                         (long long)wish);
        }
    }
}

void checks_at_end(struct yard *yard)
{
    const struct controller *controller = actor(yard);
    if (!controller) {
        yard_violate(yard, "I13", "nobody holds the lease");
        return;
    }
    if (cluster_pending(&yard->cluster) > 0 && yard->setup.down_at == 0) {
        yard_violate(yard, "I13", "%lld requests still wait",
                     (long long)cluster_pending(&yard->cluster));
    }
    check_wished(yard, controller);
    for (size_t i = 0; i < core_node_count(controller->core); i++) {
        const struct node *node = core_node_at(controller->core, i);
        if (node->state == NODE_REQUESTED) {
            yard_violate(yard, "I13", "launch %llx was never settled",
                         (unsigned long long)node->launch);
        }
    }
    if (yard->agenda.now - yard->checks.last_change_at < QUIET_END) {
        yard_violate(yard, "I13", "machines still come and go");
    }
}
