/* controller.c: polls, records, executes actions; dies and restarts. */
#include "sim/controller.h"

#include <string.h>

enum {
    LEASE_LENGTH = 30 * 1000,
    LEASE_PERIOD = 10 * 1000,
    LEASE_RETRY = 5 * 1000,
    LISTING_PERIOD = 15 * 1000,
    RAY_CALL = 2 * 1000,         /* upper limit for the delay of a drain */
    RAY_TIMEOUT = 5 * 1000,      /* after this time the call is given up */
    KEEP_RECORDS = 7200 * 1000,  /* a listing covers what older ones contain */
    SETUP_POLL = 2 * 1000,       /* interval of checks of ssh and of the setup's progress */
    SCRATCH_LIMIT = 1024 * 1024, /* larger scratch memory is freed */
};

void controller_init(struct sim_controller *sim_controller, uint32_t number, struct arena *arena)
{
    sim_controller->number = number;
    sim_controller->arena = arena;
    arena_init(&sim_controller->life);
    arena_init(&sim_controller->scratch);
}

void controller_clear(struct sim_controller *sim_controller)
{
    arena_clear(&sim_controller->life);
    arena_clear(&sim_controller->scratch);
}

static void controller_remind(struct sim_controller *sim_controller, int64_t after,
                              enum event_queue_kind kind, uint64_t what)
{
    event_queue_add(sim_controller->event_queue, sim_controller->event_queue->now + after, kind,
                    sim_controller->number, what, sim_controller->incarnation);
}

void controller_restart(struct sim_controller *sim_controller)
{
    int64_t wait = rng_between(&sim_controller->rng, 1000, sim_controller->restart);
    event_queue_add(sim_controller->event_queue, sim_controller->event_queue->now + wait,
                    EVENT_QUEUE_CONTROLLER_START, sim_controller->number, 0, 0);
}

static bool dies_here(struct sim_controller *sim_controller)
{
    if (!fault_strikes(sim_controller->faults, FAULT_controller_kill, &sim_controller->rng)) {
        return false;
    }
    controller_kill(sim_controller);
    controller_restart(sim_controller);
    return true;
}

/* Only facts that a new incarnation cannot get from the cloud's listing in time. */
static void record(struct sim_controller *sim_controller, const struct event *event)
{
    struct sim_journal *sim_journal = &sim_controller->sim_journal;
    ARENA_PUSH(sim_controller->arena, sim_journal->events, sim_journal->count,
               sim_journal->capacity) = *event;
}

const struct event *journal_intent(const struct sim_journal *sim_journal, uint64_t launch)
{
    for (size_t i = 0; i < sim_journal->count; i++) {
        const struct event *event = &sim_journal->events[i];
        if (event->kind == EVENT_INTENT && event->intent.launch == launch) {
            return event;
        }
    }
    return NULL;
}

uint64_t journal_last_launch(const struct sim_journal *sim_journal)
{
    uint64_t last = 0;
    for (size_t i = 0; i < sim_journal->count; i++) {
        const struct event *event = &sim_journal->events[i];
        if (event->kind == EVENT_INTENT && event->intent.launch > last) {
            last = event->intent.launch;
        }
    }
    return last;
}

static void perform(struct sim_controller *sim_controller, const struct action *action);

/* Copied, because executing one may step the core again. */
static void perform_all(struct sim_controller *sim_controller, const struct core_answer *answer)
{
    uint64_t incarnation = sim_controller->incarnation;
    size_t count = answer->action_count;
    struct action *actions = ARENA_ARRAY(&sim_controller->scratch, count, struct action);
    memcpy(actions, answer->actions, count * sizeof(*actions));
    for (size_t i = 0; i < count; i++) {
        if (sim_controller->is_alive && sim_controller->incarnation == incarnation) {
            perform(sim_controller, &actions[i]);
        }
    }
}

/* Passes one event to the core and executes the resulting actions. */
static void controller_report(struct sim_controller *sim_controller, const struct event *event)
{
    struct core_answer answer;
    core_step(sim_controller->core, event, &sim_controller->scratch, &answer);
    sim_controller->watcher.on_event(sim_controller->watcher.context, sim_controller->number, event,
                                     &answer);
    if (answer.action_count > 0) {
        perform_all(sim_controller, &answer);
    }
}

static struct event event_now(const struct sim_controller *sim_controller, enum event_kind kind)
{
    return (struct event){.kind = kind, .at = sim_controller->event_queue->now};
}

static void controller_send(struct sim_controller *sim_controller, struct cloud_call call)
{
    call.sim_controller = sim_controller->number;
    call.incarnation = sim_controller->incarnation;
    cloud_send(sim_controller->cloud, &call);
}

/* Still open after a refusal: it was not final, because an older call was in flight. */
static bool is_open(const struct sim_journal *sim_journal, uint64_t launch)
{
    for (size_t i = sim_journal->count; i > 0; i--) {
        const struct event *event = &sim_journal->events[i - 1];
        if (event->kind == EVENT_LAUNCH_REPLY && event->launch_reply.launch == launch) {
            return false;
        }
        if (event->kind == EVENT_INTENT && event->intent.launch == launch) {
            return true;
        }
    }
    return false;
}

static void perform_launch(struct sim_controller *sim_controller, const struct action *action)
{
    if (!is_open(&sim_controller->sim_journal, action->launch)) {
        struct event intent = event_now(sim_controller, EVENT_INTENT);
        intent.intent.launch = action->launch;
        intent.intent.offering = action->offering;
        intent.intent.count = action->count;
        record(sim_controller, &intent);
    }
    if (!dies_here(sim_controller)) {
        controller_send(sim_controller, (struct cloud_call){.verb = CLOUD_LAUNCH,
                                                            .launch = action->launch,
                                                            .offering = action->offering,
                                                            .count = action->count});
        dies_here(sim_controller);
    }
}

/* Too late, or never sent: reports to the core that nothing was done. */
static void decline(struct sim_controller *sim_controller, const struct action *action)
{
    struct event event;
    if (action->kind == ACTION_LAUNCH) {
        event = event_now(sim_controller, EVENT_LAUNCH_REPLY);
        event.launch_reply.launch = action->launch;
        event.launch_reply.outcome = OUTCOME_THROTTLED;
    } else if (action->kind == ACTION_TERMINATE) {
        event = event_now(sim_controller, EVENT_TERMINATE_REPLY);
        event.terminate_reply.instance = action->instance;
        event.terminate_reply.outcome = OUTCOME_THROTTLED;
    } else if (action->kind == ACTION_DRAIN) {
        event = event_now(sim_controller, EVENT_DRAIN_REPLY);
        event.drain_reply.instance = action->instance;
        event.drain_reply.answer = DRAIN_UNKNOWN;
    } else {
        return;
    }
    controller_report(sim_controller, &event);
}

/* Encodes a drain in a queue entry: the node, whether it may be refused, and the deadline. */
static void perform_drain(struct sim_controller *sim_controller, const struct action *action)
{
    int64_t travel = rng_between(&sim_controller->rng, 1, RAY_CALL);
    const int64_t latest = ((int64_t)1 << 48) - 1; /* encodes a drain without a deadline */
    uint64_t until = action->is_rejectable          ? 0
                     : action->drain_until > latest ? (uint64_t)latest
                                                    : (uint64_t)action->drain_until;
    event_queue_add(sim_controller->event_queue, sim_controller->event_queue->now + travel,
                    EVENT_QUEUE_DRAIN_EFFECT, sim_controller->number, action->instance,
                    sim_controller->incarnation << 48 | until);
}

static void perform(struct sim_controller *sim_controller, const struct action *action)
{
    int64_t now = sim_controller->event_queue->now;
    bool must_wait = sim_controller->paused_until > now;
    if (!must_wait &&
        fault_strikes(sim_controller->faults, FAULT_controller_pause, &sim_controller->rng)) {
        controller_pause(sim_controller, sim_controller->faults->length[FAULT_controller_pause]);
        must_wait = true;
    }
    if (must_wait) {
        struct held_action *held = ARENA_NEW(&sim_controller->life, struct held_action);
        *held = (struct held_action){*action, sim_controller->held};
        sim_controller->held = held;
        return;
    }
    if (now >= action->not_after) {
        decline(sim_controller, action);
        return;
    }
    sim_controller->watcher.on_action(sim_controller->watcher.context, sim_controller->number,
                                      action);
    switch (action->kind) {
    case ACTION_LAUNCH:
        perform_launch(sim_controller, action);
        break;
    case ACTION_TERMINATE:
        controller_send(sim_controller,
                        (struct cloud_call){.verb = CLOUD_TERMINATE, .instance = action->instance});
        dies_here(sim_controller);
        break;
    case ACTION_SET_UP:
        controller_remind(sim_controller, SETUP_POLL, EVENT_QUEUE_SETUP_NEWS, action->instance);
        break;
    case ACTION_DRAIN:
        perform_drain(sim_controller, action);
        break;
    case ACTION_KIND_COUNT:
        break;
    }
}

/* A change of the file renames the node types of some old launches and changes those of others. */
static uint32_t offering_now(const struct sim_controller *sim_controller, uint64_t launch,
                             uint32_t offering)
{
    bool is_renamed = launch <= sim_controller->cloud->old_launches && launch % 2 == 1;
    return is_renamed ? OFFERING_GONE : offering;
}

static void play_records(struct sim_controller *sim_controller)
{
    int64_t oldest = sim_controller->event_queue->now - KEEP_RECORDS;
    for (size_t i = 0; i < sim_controller->sim_journal.count; i++) {
        struct event event = sim_controller->sim_journal.events[i];
        if (event.kind == EVENT_INTENT) {
            event.intent.offering = offering_now(sim_controller, event.intent.launch,
                                                 event.intent.offering);
        }
        if (event.at >= oldest) {
            controller_report(sim_controller, &event);
        }
    }
}

static void tell_goal(struct sim_controller *sim_controller)
{
    struct event event = event_now(sim_controller, EVENT_GOAL);
    event.goal = sim_controller->goal;
    controller_report(sim_controller, &event);
}

void controller_aim(struct sim_controller *sim_controller, enum goal goal)
{
    sim_controller->goal = goal;
    if (sim_controller->is_alive &&
        sim_controller->paused_until <= sim_controller->event_queue->now) {
        tell_goal(sim_controller);
    }
}

void controller_start(struct sim_controller *sim_controller)
{
    struct event start = event_now(sim_controller, EVENT_START);
    if (sim_controller->is_alive) {
        return;
    }
    sim_controller->is_alive = true;
    sim_controller->incarnation++;
    sim_controller->paused_until = 0;
    sim_controller->has_started = false;
    sim_controller->is_listing = false;
    sim_controller->held = NULL;
    arena_clear(&sim_controller->life);
    arena_init(&sim_controller->life);
    sim_controller->core = core_new(sim_controller->settings, &sim_controller->life);
    sim_controller->view = cluster_view_new(sim_controller->cluster, &sim_controller->life);
    controller_report(sim_controller, &start);
    tell_goal(sim_controller);
    play_records(sim_controller);
    controller_remind(sim_controller, 1, EVENT_QUEUE_LEASE, 0);
    controller_remind(sim_controller, 2, EVENT_QUEUE_POLL_CLOUD, 0);
    controller_remind(sim_controller, sim_controller->tick, EVENT_QUEUE_TICK, 0);
}

void controller_kill(struct sim_controller *sim_controller)
{
    sim_controller->is_alive = false;
}

void controller_pause(struct sim_controller *sim_controller, int64_t length)
{
    int64_t until = sim_controller->event_queue->now + length / 2 +
                    rng_below(&sim_controller->rng, length);
    if (sim_controller->is_alive && until > sim_controller->paused_until) {
        sim_controller->paused_until = until;
        controller_remind(sim_controller, until - sim_controller->event_queue->now,
                          EVENT_QUEUE_CONTROLLER_RESUME, 0);
    }
}

static void controller_resume(struct sim_controller *sim_controller)
{
    struct held_action *held = sim_controller->held;
    sim_controller->held = NULL;
    sim_controller->paused_until = 0;
    tell_goal(sim_controller);
    for (; held && sim_controller->is_alive; held = held->next) {
        perform(sim_controller, &held->action);
    }
}

static void renew_lease(struct sim_controller *sim_controller)
{
    int64_t now = sim_controller->event_queue->now;
    struct lease *lease = sim_controller->lease;
    bool can_ask = sim_controller->is_lease_local || !sim_controller->cloud->is_away;
    bool has_it = can_ask && lease_take(lease, sim_controller->number, sim_controller->incarnation,
                                        now, LEASE_LENGTH);
    controller_remind(sim_controller, has_it ? LEASE_PERIOD : LEASE_RETRY, EVENT_QUEUE_LEASE, 0);
    if (!has_it) {
        return;
    }
    struct event event = event_now(sim_controller, EVENT_LEASE);
    event.lease.epoch = lease->epoch;
    event.lease.until = lease->until;
    struct sim_journal *sim_journal = &sim_controller->sim_journal;
    if (lease->epoch != sim_journal->epoch && lease->epoch != sim_journal->epoch + 1) {
        sim_journal->sole_writer_epoch = lease->epoch; /* another controller held it in between */
        sim_journal->sole_writer_since = now;
    }
    sim_journal->epoch = lease->epoch;
    controller_report(sim_controller, &event);
    if (!sim_controller->has_started) {
        sim_controller->has_started = true;
        event = event_now(sim_controller, EVENT_RECORDS_END);
        event.records.sole_writer_epoch = sim_journal->sole_writer_epoch;
        event.records.since = sim_journal->sole_writer_since;
        controller_report(sim_controller, &event);
    }
}

static void poll_cloud(struct sim_controller *sim_controller)
{
    controller_remind(sim_controller, LISTING_PERIOD, EVENT_QUEUE_POLL_CLOUD, 0);
    if (!sim_controller->is_listing) {
        sim_controller->is_listing = true;
        controller_send(sim_controller, (struct cloud_call){.verb = CLOUD_LIST});
    }
}

static void apply_listing(struct sim_controller *sim_controller, const struct cloud_call *call)
{
    sim_controller->is_listing = false;
    if (call->outcome != OUTCOME_DONE) {
        return;
    }
    struct event event = event_now(sim_controller, EVENT_LISTING);
    struct listed *items = ARENA_ARRAY(&sim_controller->scratch, call->listed_count, struct listed);
    for (size_t i = 0; i < call->listed_count; i++) {
        const struct cloud_listed *listed = &call->listed[i];
        if (listed->is_ours && !listed->is_head) {
            items[event.listing.count++] = (struct listed){
                .instance = listed->instance,
                .launch = listed->launch,
                .offering = offering_now(sim_controller, listed->launch, listed->offering),
                .state = listed->state,
                .is_outdated = listed->is_outdated,
                .price = sim_controller->settings->offerings[listed->offering].price};
        }
    }
    event.listing.items = items;
    event.listing.asked_at = call->sent_at;
    event.listing.is_complete = call->is_complete;
    controller_report(sim_controller, &event);
}

static void apply_launch(struct sim_controller *sim_controller, const struct cloud_call *call)
{
    if (dies_here(sim_controller)) {
        return;
    }
    struct event event;
    for (size_t i = 0; call->outcome == OUTCOME_DONE && i < call->instance_count; i++) {
        event = event_now(sim_controller, EVENT_LAUNCHED);
        event.launched.launch = call->launch;
        event.launched.instance = call->instances[i];
        record(sim_controller, &event);
        controller_report(sim_controller, &event);
    }
    event = event_now(sim_controller, EVENT_LAUNCH_REPLY);
    event.launch_reply.launch = call->launch;
    event.launch_reply.outcome = call->outcome;
    record(sim_controller, &event);
    if (!dies_here(sim_controller)) {
        controller_report(sim_controller, &event);
    }
}

static void controller_apply_reply(struct sim_controller *sim_controller, uint64_t number)
{
    const struct cloud_call *call = cloud_call(sim_controller->cloud, number);
    struct event event = event_now(sim_controller, EVENT_TERMINATE_REPLY);
    switch (call->verb) {
    case CLOUD_LIST:
        apply_listing(sim_controller, call);
        break;
    case CLOUD_LAUNCH:
        apply_launch(sim_controller, call);
        break;
    case CLOUD_TERMINATE:
        event.terminate_reply.instance = call->instance;
        event.terminate_reply.outcome = call->outcome;
        controller_report(sim_controller, &event);
        break;
    case CLOUD_VERB_COUNT:
        break;
    }
    cloud_release(sim_controller->cloud, number);
}

static void poll_ray(struct sim_controller *sim_controller)
{
    const struct event *events;
    size_t count;
    if (!cluster_poll(sim_controller->cluster, sim_controller->view,
                      sim_controller->event_queue->now, &events, &count)) {
        return;
    }
    for (size_t i = 0; i < count && sim_controller->is_alive; i++) {
        controller_report(sim_controller, &events[i]);
    }
}

static void controller_tick(struct sim_controller *sim_controller)
{
    struct event event = event_now(sim_controller, EVENT_TICK);
    controller_remind(sim_controller, sim_controller->tick, EVENT_QUEUE_TICK, 0);
    poll_ray(sim_controller);
    if (sim_controller->is_alive) {
        controller_report(sim_controller, &event);
    }
}

/* The steps run detached on the machine; this only checks their progress. */
static void look_at_setup(struct sim_controller *sim_controller, uint64_t instance)
{
    const struct instance *machine = cloud_instance(sim_controller->cloud, instance);
    int64_t now = sim_controller->event_queue->now;
    struct event event = event_now(sim_controller, EVENT_SETUP_REPLY);
    const struct node *node = core_find(sim_controller->core, instance);
    if (!node || (node->state != NODE_BOOTING && node->state != NODE_SETTING_UP)) {
        return; /* the core no longer needs it */
    }
    bool answers = instance_answers(machine, now);
    event.setup_reply.instance = instance;
    if (answers && machine->setup_done_at <= now) {
        event.setup_reply.news = machine->fails_setup ? SETUP_FAILED : SETUP_DONE;
        controller_report(sim_controller, &event);
        return;
    }
    if (answers && machine->setup_begun_at == INT64_MAX) {
        event_queue_add(sim_controller->event_queue, now, EVENT_QUEUE_SETUP_BEGIN, 0, instance, 0);
        event.setup_reply.news = SETUP_CONTACT;
        controller_report(sim_controller, &event);
    }
    controller_remind(sim_controller, SETUP_POLL, EVENT_QUEUE_SETUP_NEWS, instance);
}

static void controller_drain(struct sim_controller *sim_controller,
                             const struct event_queue_entry *entry)
{
    int64_t until = (int64_t)(entry->extra & 0xffffffffffff);
    enum drain_answer answer = DRAIN_UNKNOWN;
    int64_t travel = rng_between(&sim_controller->rng, 1, RAY_CALL);
    if (sim_controller->cluster->is_gcs_up) {
        answer = cluster_drain(sim_controller->cluster, entry->what, until == 0, until);
    }
    if (answer == DRAIN_UNKNOWN ||
        fault_strikes(sim_controller->faults, FAULT_drain_lost, &sim_controller->rng)) {
        answer = DRAIN_UNKNOWN;
        travel = RAY_TIMEOUT;
    }
    event_queue_add(sim_controller->event_queue, sim_controller->event_queue->now + travel,
                    EVENT_QUEUE_DRAIN_REPLY, sim_controller->number, entry->what,
                    (entry->extra >> 48) << 48 | (uint64_t)answer);
}

static void apply_drain(struct sim_controller *sim_controller,
                        const struct event_queue_entry *entry)
{
    struct event event = event_now(sim_controller, EVENT_DRAIN_REPLY);
    event.drain_reply.instance = entry->what;
    event.drain_reply.answer = (enum drain_answer)(entry->extra & 0xff);
    controller_report(sim_controller, &event);
}

void controller_notice(struct sim_controller *sim_controller, uint64_t instance, int64_t until)
{
    struct event event = event_now(sim_controller, EVENT_NOTICE);
    event.notice.instance = instance;
    event.notice.until = until;
    if (sim_controller->is_alive &&
        sim_controller->paused_until <= sim_controller->event_queue->now) {
        controller_report(sim_controller, &event);
    }
}

/* The incarnation that an entry is for. */
static uint64_t addressee(const struct sim_controller *sim_controller,
                          const struct event_queue_entry *entry)
{
    switch (entry->kind) {
    case EVENT_QUEUE_CALL_REPLY:
        return cloud_call(sim_controller->cloud, entry->what)->incarnation;
    case EVENT_QUEUE_DRAIN_REPLY:
        return entry->extra >> 48;
    default:
        return entry->extra;
    }
}

static void dispatch(struct sim_controller *sim_controller, const struct event_queue_entry *entry)
{
    if (sim_controller->scratch.used_bytes > SCRATCH_LIMIT) {
        arena_clear(&sim_controller->scratch);
        arena_init(&sim_controller->scratch);
    }
    switch (entry->kind) {
    case EVENT_QUEUE_CALL_REPLY:
        controller_apply_reply(sim_controller, entry->what);
        break;
    case EVENT_QUEUE_TICK:
        controller_tick(sim_controller);
        break;
    case EVENT_QUEUE_POLL_CLOUD:
        poll_cloud(sim_controller);
        break;
    case EVENT_QUEUE_LEASE:
        renew_lease(sim_controller);
        break;
    case EVENT_QUEUE_SETUP_NEWS:
        look_at_setup(sim_controller, entry->what);
        break;
    case EVENT_QUEUE_DRAIN_REPLY:
        apply_drain(sim_controller, entry);
        break;
    case EVENT_QUEUE_CONTROLLER_RESUME:
        controller_resume(sim_controller);
        break;
    default:
        break;
    }
}

void controller_on(struct sim_controller *sim_controller, const struct event_queue_entry *entry)
{
    if (entry->kind == EVENT_QUEUE_DRAIN_EFFECT) {
        controller_drain(sim_controller, entry); /* in transit, even if the sender has died */
        return;
    }
    bool is_for_me = sim_controller->is_alive &&
                     addressee(sim_controller, entry) == sim_controller->incarnation;
    if (!is_for_me) {
        if (entry->kind == EVENT_QUEUE_CALL_REPLY) {
            cloud_release(sim_controller->cloud, entry->what);
        }
        return;
    }
    if (sim_controller->paused_until > sim_controller->event_queue->now) {
        event_queue_add(sim_controller->event_queue, sim_controller->paused_until,
                        (enum event_queue_kind)entry->kind, entry->who, entry->what, entry->extra);
        return;
    }
    dispatch(sim_controller, entry);
}

bool controller_holds_lease(const struct sim_controller *sim_controller)
{
    return sim_controller->is_alive &&
           lease_is_held(sim_controller->lease, sim_controller->number, sim_controller->incarnation,
                         sim_controller->lease->epoch, sim_controller->event_queue->now);
}
