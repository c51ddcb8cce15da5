/* controller.c: polls, records, carries out; dies and comes back. */
#include "sim/controller.h"

#include "core/bug.h"

#include <string.h>

enum {
    LEASE_LENGTH = 30 * 1000,
    LEASE_PERIOD = 10 * 1000,
    LEASE_RETRY = 5 * 1000,
    LISTING_PERIOD = 15 * 1000,
    RAY_CALL = 2 * 1000,         /* a drain travels up to this long */
    RAY_TIMEOUT = 5 * 1000,      /* and is given up after this */
    KEEP_RECORDS = 7200 * 1000,  /* older ones say nothing that a listing does not say */
    SETUP_POLL = 2 * 1000,       /* to notice that ssh answers or a step has ended */
    SCRATCH_LIMIT = 1024 * 1024, /* scratch beyond this is given back */
};

void controller_init(struct controller *controller, uint32_t number, struct arena *arena)
{
    controller->number = number;
    controller->arena = arena;
    arena_init(&controller->life);
    arena_init(&controller->scratch);
}

void controller_clear(struct controller *controller)
{
    arena_clear(&controller->life);
    arena_clear(&controller->scratch);
}

static void remind(struct controller *controller, int64_t after, enum agenda_kind kind,
                   uint64_t what)
{
    agenda_add(controller->agenda, controller->agenda->now + after, kind, controller->number, what,
               controller->incarnation);
}

void controller_restart(struct controller *controller)
{
    int64_t wait = dice_between(&controller->dice, 1000, controller->restart);
    agenda_add(controller->agenda, controller->agenda->now + wait, AGENDA_CONTROLLER_START,
               controller->number, 0, 0);
}

static bool dies_here(struct controller *controller)
{
    if (!fault_strikes(controller->faults, FAULT_controller_kill, &controller->dice)) {
        return false;
    }
    controller_kill(controller);
    controller_restart(controller);
    return true;
}

/* Only facts that a new incarnation cannot learn from the cloud's listing in time. */
static void record(struct controller *controller, const struct event *event)
{
    struct journal *journal = &controller->journal;
    void *events = journal->events;
    arena_grow(controller->arena, &events, journal->count, &journal->capacity,
               sizeof(*journal->events));
    journal->events = events;
    journal->events[journal->count++] = *event;
}

const struct event *journal_intent(const struct journal *journal, uint64_t launch)
{
    for (size_t i = 0; i < journal->count; i++) {
        const struct event *event = &journal->events[i];
        if (event->kind == EVENT_INTENT && event->intent.launch == launch) {
            return event;
        }
    }
    return NULL;
}

static void perform(struct controller *controller, const struct action *action);

/* Copied, because carrying one out may step the core again. */
static void perform_all(struct controller *controller, const struct core_answer *answer)
{
    uint64_t incarnation = controller->incarnation;
    size_t count = answer->action_count;
    struct action *actions = ARENA_ARRAY(&controller->scratch, count, struct action);
    memcpy(actions, answer->actions, count * sizeof(*actions));
    for (size_t i = 0; i < count; i++) {
        if (controller->is_alive && controller->incarnation == incarnation) {
            perform(controller, &actions[i]);
        }
    }
}

/* Hands one event to the core and carries out what it answers. */
static void tell(struct controller *controller, const struct event *event)
{
    struct core_answer answer;
    core_step(controller->core, event, &controller->scratch, &answer);
    controller->watcher.on_event(controller->watcher.context, controller->number, event, &answer);
    if (answer.action_count > 0) {
        perform_all(controller, &answer);
    }
}

static struct event event_now(const struct controller *controller, enum event_kind kind)
{
    return (struct event){.kind = kind, .at = controller->agenda->now};
}

static void send(struct controller *controller, struct cloud_call call)
{
    call.controller = controller->number;
    call.incarnation = controller->incarnation;
    cloud_send(controller->cloud, &call);
}

/* Not after a refusal: that one was not the last word, as an older call was under way. */
static bool is_open(const struct journal *journal, uint64_t launch)
{
    for (size_t i = journal->count; i > 0; i--) {
        const struct event *event = &journal->events[i - 1];
        if (event->kind == EVENT_LAUNCH_REPLY && event->launch_reply.launch == launch) {
            return false;
        }
        if (event->kind == EVENT_INTENT && event->intent.launch == launch) {
            return true;
        }
    }
    return false;
}

static void perform_launch(struct controller *controller, const struct action *action)
{
    if (!is_open(&controller->journal, action->launch)) {
        struct event intent = event_now(controller, EVENT_INTENT);
        intent.intent.launch = action->launch;
        intent.intent.offering = action->offering;
        intent.intent.count = action->count;
        record(controller, &intent);
    }
    if (!dies_here(controller)) {
        send(controller, (struct cloud_call){.verb = CLOUD_LAUNCH,
                                             .launch = action->launch,
                                             .offering = action->offering,
                                             .count = action->count});
        dies_here(controller);
    }
}

/* Too late, or never sent: the core hears that nothing was done. */
static void decline(struct controller *controller, const struct action *action)
{
    struct event event;
    if (action->kind == ACTION_LAUNCH) {
        event = event_now(controller, EVENT_LAUNCH_REPLY);
        event.launch_reply.launch = action->launch;
        event.launch_reply.outcome = OUTCOME_THROTTLED;
    } else if (action->kind == ACTION_TERMINATE) {
        event = event_now(controller, EVENT_TERMINATE_REPLY);
        event.terminate_reply.instance = action->instance;
        event.terminate_reply.outcome = OUTCOME_THROTTLED;
    } else if (action->kind == ACTION_DRAIN) {
        event = event_now(controller, EVENT_DRAIN_REPLY);
        event.drain_reply.instance = action->instance;
        event.drain_reply.answer = DRAIN_UNKNOWN;
    } else {
        return;
    }
    tell(controller, &event);
}

/* What the agenda carries about a drain: who, and whether it may be refused, and until when. */
static void perform_drain(struct controller *controller, const struct action *action)
{
    int64_t travel = dice_between(&controller->dice, 1, RAY_CALL);
    uint64_t until = action->is_rejectable ? 0 : (uint64_t)action->drain_until;
    agenda_add(controller->agenda, controller->agenda->now + travel, AGENDA_DRAIN_EFFECT,
               controller->number, action->instance, controller->incarnation << 48 | until);
}

static void perform(struct controller *controller, const struct action *action)
{
    int64_t now = controller->agenda->now;
    bool must_wait = controller->paused_until > now;
    if (!must_wait &&
        fault_strikes(controller->faults, FAULT_controller_pause, &controller->dice)) {
        controller_pause(controller, controller->faults->length[FAULT_controller_pause]);
        must_wait = true;
    }
    if (must_wait) {
        struct held_action *held = ARENA_NEW(&controller->life, struct held_action);
        *held = (struct held_action){*action, controller->held};
        controller->held = held;
        return;
    }
    if (now >= action->not_after && controller->settings->bug != BUG_acts_without_lease) {
        decline(controller, action);
        return;
    }
    controller->watcher.on_action(controller->watcher.context, controller->number, action);
    switch (action->kind) {
    case ACTION_LAUNCH:
        perform_launch(controller, action);
        break;
    case ACTION_TERMINATE:
        send(controller,
             (struct cloud_call){.verb = CLOUD_TERMINATE, .instance = action->instance});
        dies_here(controller);
        break;
    case ACTION_SET_UP:
        remind(controller, SETUP_POLL, AGENDA_SETUP_NEWS, action->instance);
        break;
    case ACTION_DRAIN:
        perform_drain(controller, action);
        break;
    case ACTION_KIND_COUNT:
        break;
    }
}

static void play_records(struct controller *controller)
{
    int64_t oldest = controller->agenda->now - KEEP_RECORDS;
    for (size_t i = 0; i < controller->journal.count; i++) {
        struct event event = controller->journal.events[i];
        if (event.at >= oldest) {
            tell(controller, &event);
        }
    }
}

static void tell_goal(struct controller *controller)
{
    struct event event = event_now(controller, EVENT_GOAL);
    event.goal = controller->goal;
    tell(controller, &event);
}

void controller_aim(struct controller *controller, enum goal goal)
{
    controller->goal = goal;
    if (controller->is_alive && controller->paused_until <= controller->agenda->now) {
        tell_goal(controller);
    }
}

void controller_start(struct controller *controller)
{
    struct event start = event_now(controller, EVENT_START);
    if (controller->is_alive) {
        return;
    }
    controller->is_alive = true;
    controller->incarnation++;
    controller->paused_until = 0;
    controller->has_started = false;
    controller->is_listing = false;
    controller->held = NULL;
    arena_clear(&controller->life);
    arena_init(&controller->life);
    controller->core = core_new(controller->settings, &controller->life);
    controller->view = cluster_view_new(controller->cluster, &controller->life);
    tell(controller, &start);
    tell_goal(controller);
    play_records(controller);
    remind(controller, 1, AGENDA_LEASE, 0);
    remind(controller, 2, AGENDA_POLL_CLOUD, 0);
    remind(controller, controller->tick, AGENDA_TICK, 0);
}

void controller_kill(struct controller *controller)
{
    controller->is_alive = false;
}

void controller_pause(struct controller *controller, int64_t length)
{
    int64_t until = controller->agenda->now + length / 2 + dice_below(&controller->dice, length);
    if (controller->is_alive && until > controller->paused_until) {
        controller->paused_until = until;
        remind(controller, until - controller->agenda->now, AGENDA_CONTROLLER_RESUME, 0);
    }
}

static void resume(struct controller *controller)
{
    struct held_action *held = controller->held;
    controller->held = NULL;
    controller->paused_until = 0;
    tell_goal(controller);
    for (; held && controller->is_alive; held = held->next) {
        perform(controller, &held->action);
    }
}

static void renew_lease(struct controller *controller)
{
    int64_t now = controller->agenda->now;
    struct lease *lease = controller->lease;
    bool can_ask = controller->is_lease_local || !controller->cloud->is_away;
    bool has_it = can_ask &&
                  lease_take(lease, controller->number, controller->incarnation, now, LEASE_LENGTH);
    remind(controller, has_it ? LEASE_PERIOD : LEASE_RETRY, AGENDA_LEASE, 0);
    if (!has_it) {
        return;
    }
    struct event event = event_now(controller, EVENT_LEASE);
    event.lease.epoch = lease->epoch;
    event.lease.until = lease->until;
    struct journal *journal = &controller->journal;
    if (lease->epoch != journal->epoch && lease->epoch != journal->epoch + 1) {
        journal->reign = lease->epoch; /* somebody else had it in between */
        journal->reign_since = now;
    }
    journal->epoch = lease->epoch;
    tell(controller, &event);
    if (!controller->has_started) {
        controller->has_started = true;
        event = event_now(controller, EVENT_RECORDS_END);
        event.records.reign = journal->reign;
        event.records.since = journal->reign_since;
        tell(controller, &event);
    }
}

static void poll_cloud(struct controller *controller)
{
    remind(controller, LISTING_PERIOD, AGENDA_POLL_CLOUD, 0);
    if (!controller->is_listing) {
        controller->is_listing = true;
        send(controller, (struct cloud_call){.verb = CLOUD_LIST});
    }
}

static bool is_taken_for_ours(const struct controller *controller,
                              const struct cloud_listed *listed)
{
    bool is_ours = listed->is_ours;
#ifdef SHOAL_TEETH
    is_ours |= controller->settings->bug == BUG_adopts_by_name;
#endif
    (void)controller;
    return is_ours && !listed->is_head;
}

static void hear_listing(struct controller *controller, const struct cloud_call *call)
{
    controller->is_listing = false;
    if (call->outcome != OUTCOME_DONE) {
        return;
    }
    struct event event = event_now(controller, EVENT_LISTING);
    struct listed *items = ARENA_ARRAY(&controller->scratch, call->listed_count, struct listed);
    for (size_t i = 0; i < call->listed_count; i++) {
        const struct cloud_listed *listed = &call->listed[i];
        if (is_taken_for_ours(controller, listed)) {
            items[event.listing.count++] = (struct listed){listed->instance, listed->launch,
                                                           listed->offering, listed->state};
        }
    }
    event.listing.items = items;
    event.listing.asked_at = call->sent_at;
    event.listing.is_complete = call->is_complete;
    tell(controller, &event);
}

static void hear_launch(struct controller *controller, const struct cloud_call *call)
{
    if (dies_here(controller)) {
        return;
    }
    struct event event;
    for (size_t i = 0; call->outcome == OUTCOME_DONE && i < call->instance_count; i++) {
        event = event_now(controller, EVENT_LAUNCHED);
        event.launched.launch = call->launch;
        event.launched.instance = call->instances[i];
        record(controller, &event);
        tell(controller, &event);
    }
    event = event_now(controller, EVENT_LAUNCH_REPLY);
    event.launch_reply.launch = call->launch;
    event.launch_reply.outcome = call->outcome;
    record(controller, &event);
    if (!dies_here(controller)) {
        tell(controller, &event);
    }
}

static void hear_reply(struct controller *controller, uint64_t number)
{
    const struct cloud_call *call = cloud_call(controller->cloud, number);
    struct event event = event_now(controller, EVENT_TERMINATE_REPLY);
    switch (call->verb) {
    case CLOUD_LIST:
        hear_listing(controller, call);
        break;
    case CLOUD_LAUNCH:
        hear_launch(controller, call);
        break;
    case CLOUD_TERMINATE:
        event.terminate_reply.instance = call->instance;
        event.terminate_reply.outcome = call->outcome;
        tell(controller, &event);
        break;
    case CLOUD_VERB_COUNT:
        break;
    }
    cloud_release(controller->cloud, number);
}

static void poll_ray(struct controller *controller)
{
    const struct event *events;
    size_t count;
    if (!cluster_poll(controller->cluster, controller->view, controller->agenda->now, &events,
                      &count)) {
        return;
    }
    for (size_t i = 0; i < count && controller->is_alive; i++) {
        tell(controller, &events[i]);
    }
}

static void tick(struct controller *controller)
{
    struct event event = event_now(controller, EVENT_TICK);
    remind(controller, controller->tick, AGENDA_TICK, 0);
    poll_ray(controller);
    if (controller->is_alive) {
        tell(controller, &event);
    }
}

/* The steps run on the machine by themselves; this only looks how far they are. */
static void look_at_setup(struct controller *controller, uint64_t instance)
{
    const struct instance *machine = cloud_instance(controller->cloud, instance);
    int64_t now = controller->agenda->now;
    struct event event = event_now(controller, EVENT_SETUP_REPLY);
    const struct node *node = core_find(controller->core, instance);
    if (!node || (node->state != NODE_BOOTING && node->state != NODE_SETTING_UP)) {
        return; /* the core has lost interest */
    }
    bool answers = instance_answers(machine, now);
    event.setup_reply.instance = instance;
    if (answers && machine->setup_done_at <= now) {
        event.setup_reply.news = machine->fails_setup ? SETUP_FAILED : SETUP_DONE;
        tell(controller, &event);
        return;
    }
    if (answers && machine->setup_begun_at == INT64_MAX) {
        agenda_add(controller->agenda, now, AGENDA_SETUP_BEGIN, 0, instance, 0);
        event.setup_reply.news = SETUP_CONTACT;
        tell(controller, &event);
    }
    remind(controller, SETUP_POLL, AGENDA_SETUP_NEWS, instance);
}

static void drain(struct controller *controller, const struct agenda_entry *entry)
{
    int64_t until = (int64_t)(entry->extra & 0xffffffffffff);
    enum drain_answer answer = DRAIN_UNKNOWN;
    int64_t travel = dice_between(&controller->dice, 1, RAY_CALL);
    if (controller->cluster->is_gcs_up) {
        answer = cluster_drain(controller->cluster, entry->what, until == 0, until);
    }
    if (answer == DRAIN_UNKNOWN ||
        fault_strikes(controller->faults, FAULT_drain_lost, &controller->dice)) {
        answer = DRAIN_UNKNOWN;
        travel = RAY_TIMEOUT;
    }
    agenda_add(controller->agenda, controller->agenda->now + travel, AGENDA_DRAIN_REPLY,
               controller->number, entry->what, (entry->extra >> 48) << 48 | (uint64_t)answer);
}

static void hear_drain(struct controller *controller, const struct agenda_entry *entry)
{
    struct event event = event_now(controller, EVENT_DRAIN_REPLY);
    event.drain_reply.instance = entry->what;
    event.drain_reply.answer = (enum drain_answer)(entry->extra & 0xff);
    tell(controller, &event);
}

void controller_notice(struct controller *controller, uint64_t instance, int64_t until)
{
    struct event event = event_now(controller, EVENT_NOTICE);
    event.notice.instance = instance;
    event.notice.until = until;
    if (controller->is_alive && controller->paused_until <= controller->agenda->now) {
        tell(controller, &event);
    }
}

/* Which incarnation an entry is for. */
static uint64_t addressee(const struct controller *controller, const struct agenda_entry *entry)
{
    switch (entry->kind) {
    case AGENDA_CALL_REPLY:
        return cloud_call(controller->cloud, entry->what)->incarnation;
    case AGENDA_DRAIN_REPLY:
        return entry->extra >> 48;
    default:
        return entry->extra;
    }
}

static void dispatch(struct controller *controller, const struct agenda_entry *entry)
{
    if (controller->scratch.used_bytes > SCRATCH_LIMIT) {
        arena_clear(&controller->scratch);
        arena_init(&controller->scratch);
    }
    switch (entry->kind) {
    case AGENDA_CALL_REPLY:
        hear_reply(controller, entry->what);
        break;
    case AGENDA_TICK:
        tick(controller);
        break;
    case AGENDA_POLL_CLOUD:
        poll_cloud(controller);
        break;
    case AGENDA_LEASE:
        renew_lease(controller);
        break;
    case AGENDA_SETUP_NEWS:
        look_at_setup(controller, entry->what);
        break;
    case AGENDA_DRAIN_REPLY:
        hear_drain(controller, entry);
        break;
    case AGENDA_CONTROLLER_RESUME:
        resume(controller);
        break;
    default:
        break;
    }
}

void controller_on(struct controller *controller, const struct agenda_entry *entry)
{
    if (entry->kind == AGENDA_DRAIN_EFFECT) {
        drain(controller, entry); /* on its way, whether the sender lives or not */
        return;
    }
    bool is_for_me = controller->is_alive &&
                     addressee(controller, entry) == controller->incarnation;
    if (!is_for_me) {
        if (entry->kind == AGENDA_CALL_REPLY) {
            cloud_release(controller->cloud, entry->what);
        }
        return;
    }
    if (controller->paused_until > controller->agenda->now) {
        agenda_add(controller->agenda, controller->paused_until, (enum agenda_kind)entry->kind,
                   entry->who, entry->what, entry->extra);
        return;
    }
    dispatch(controller, entry);
}

bool controller_holds_lease(const struct controller *controller)
{
    return controller->is_alive &&
           lease_is_held(controller->lease, controller->number, controller->incarnation,
                         controller->lease->epoch, controller->agenda->now);
}
