/* controller.c: the turns of the controller: apply events, tick, journal, execute. */
#include "app/control/controller.h"

#include "app/control/controller_internal.h"
#include "base/require.h"
#include "io/xalloc.h"

enum {
    SCRATCH_LIMIT = 1024 * 1024,
    WAKE_MOST_MS = 3600 * 1000,
    LOAD_NOTE_MS = 10 * 1000, /* least time between two records of the load */
    LOAD_NOTE_SHAPES = 100,   /* larger loads are not recorded */
};

int64_t controller_time_ms(const struct controller *controller)
{
    return controller_now(controller) + controller->journaling.time_base_ms;
}

struct event controller_event(const struct controller *controller, enum event_kind kind)
{
    return (struct event){.kind = kind, .at = controller_now(controller)};
}

/* ---- events ---- */

/* Records when a node's Ray status changes, not when it becomes busy or idle, which happens many
 * times a second. */
static bool is_ray_kept(struct controller *controller, const struct event *event)
{
    if (event->kind == EVENT_RAY_NODE) {
        struct known *known = machine_table_find(&controller->machine_table,
                                                 event->ray_node.instance);
        bool is_other = !known || known->ray != event->ray_node.status;
        if (known) {
            known->ray = event->ray_node.status;
        }
        return is_other;
    }
    const struct ray_load *load = &event->ray_load;
    size_t shapes = load->demand_count + load->gang_count + load->constraint_count;
    if (shapes > LOAD_NOTE_SHAPES ||
        (controller->load_noted_at > 0 && event->at < controller->load_noted_at + LOAD_NOTE_MS)) {
        return false;
    }
    controller->load_noted_at = event->at;
    return true;
}

/* Skips events that the next listing would repeat. */
static bool is_kept(struct controller *controller, const struct event *event,
                    const struct core_answer *answer)
{
    enum event_kind kind = event->kind;
    if (kind == EVENT_RAY_NODE || kind == EVENT_RAY_LOAD) {
        return is_ray_kept(controller, event);
    }
    if (kind == EVENT_TICK || kind == EVENT_RAY_SEEN || kind == EVENT_START) {
        return false;
    }
    if (kind == EVENT_LISTING) {
        return answer->is_news;
    }
    if (kind == EVENT_LEASE) {
        return event->lease.until == 0 || !controller->has_started;
    }
    return !controller->is_replaying;
}

static void note_changes(struct controller *controller, const struct core_answer *answer)
{
    for (size_t i = 0; i < answer->change_count && !controller->is_replaying; i++) {
        notify_changed(&controller->notifier, answer->changes[i].instance);
    }
}

void controller_apply(struct controller *controller, const struct event *event)
{
    struct core_answer answer;
    require(event->kind < EVENT_KIND_COUNT, "the kind of an event");
    require(event->kind != EVENT_TICK, "only a turn ticks");
    require(event->at <= controller_now(controller), "an event is not in the future");
    core_step(controller->core, event, &controller->scratch, &answer);
    require(answer.action_count == 0, "only a tick returns actions");
    note_changes(controller, &answer);
    if (is_kept(controller, event, &answer)) {
        journaling_add_event(&controller->journaling, event);
    }
    loop_defer(controller->loop, &controller->turn);
}

void controller_apply_later(struct controller *controller, const struct event *event)
{
    HEAP_ROOM(controller->answers, controller->answer_count, controller->answer_capacity);
    require(controller->answer_count < controller->answer_capacity, "there is room for an event");
    controller->answers[controller->answer_count++] = *event;
    loop_defer(controller->loop, &controller->turn);
}

void controller_decline(struct controller *controller, const struct action *action)
{
    struct event event;
    if (action->kind == ACTION_LAUNCH) {
        event = controller_event(controller, EVENT_LAUNCH_REPLY);
        event.launch_reply.launch = action->launch;
        event.launch_reply.outcome = OUTCOME_THROTTLED;
    } else if (action->kind == ACTION_TERMINATE) {
        event = controller_event(controller, EVENT_TERMINATE_REPLY);
        event.terminate_reply.instance = action->instance;
        event.terminate_reply.outcome = OUTCOME_THROTTLED;
    } else if (action->kind == ACTION_DRAIN) {
        event = controller_event(controller, EVENT_DRAIN_REPLY);
        event.drain_reply.instance = action->instance;
        event.drain_reply.answer = DRAIN_UNKNOWN;
    } else {
        return;
    }
    controller_apply_later(controller, &event);
}

struct notifier *controller_notifier(struct controller *controller)
{
    return &controller->notifier;
}

/* ---- turns ---- */

static void tell_answers(struct controller *controller)
{
    for (size_t i = 0; i < controller->answer_count; i++) {
        struct event event = controller->answers[i];
        event.at = controller_now(controller);
        controller_apply(controller, &event);
    }
    controller->answer_count = 0;
}

static void wake_at(struct controller *controller, const struct core_answer *answer)
{
    int64_t wait = answer->wake_at - controller_now(controller);
    if (answer->has_more) {
        loop_defer(controller->loop, &controller->turn);
    }
    if (answer->wake_at == INT64_MAX || controller->is_over) {
        loop_timer_stop(controller->wake);
        return;
    }
    wait = wait < 1 ? 1 : wait;
    require(controller->has_started || !answer->has_more,
            "more actions follow only after the start");
    loop_timer_start(controller->wake, wait < WAKE_MOST_MS ? wait : WAKE_MOST_MS);
}

/* Do only requested launches keep the cluster from being empty? They may still take effect. */
static bool only_launches_are_left(const struct controller *controller)
{
    size_t requested = 0;
    for (size_t i = 0; i < core_node_count(controller->core); i++) {
        const struct node *node = core_node_at(controller->core, i);
        if (!node->is_head && node->state != NODE_GONE && node->state != NODE_REQUESTED) {
            return false;
        }
        requested += node->state == NODE_REQUESTED;
    }
    return requested > 0;
}

/* With GOAL_DOWN: reports when the cluster is empty, and once why that takes long. */
static void watch_the_end(struct controller *controller)
{
    const struct core_times *times = &controller->settings.times;
    struct provider_answer answer = {.outcome = OUTCOME_UNKNOWN};
    bool is_empty = controller_is_empty(controller);
    require(!is_empty || controller->has_listed, "only a listing shows that nothing is left");
    if (is_empty && !controller->was_empty) {
        journaling_record_empty(&controller->journaling);
        notify_emptied(&controller->notifier);
    }
    controller->was_empty = is_empty;
    if (controller->setup.goal == GOAL_DOWN && controller->has_listed &&
        !controller->has_told_waiting && only_launches_are_left(controller)) {
        controller->has_told_waiting = true;
        (void)err_set(&answer.err, ERR_TIMEOUT,
                      "the cloud did not answer a launch request; waiting up to %lld s until the "
                      "request can no longer take effect",
                      (long long)((times->call_timeout + times->horizon) / 1000));
        notify_warning(&controller->notifier, &answer, "%s", answer.err.text);
    }
}

static void tell_decided(const struct controller *controller, const struct core_answer *answer)
{
    const struct controller_hooks *hooks = &controller->setup.hooks;
    if (hooks->decided && (answer->is_decision || answer->action_count > 0)) {
        hooks->decided(hooks->context, answer);
    }
}

/* Applies all events since the last turn, then ticks and executes the decision. */
static void controller_turn(void *context)
{
    struct controller *controller = context;
    struct event event;
    struct core_answer answer;
    tell_answers(controller);
    loop_later_cancel(controller->loop, &controller->turn); /* this call is that turn */
    event = controller_event(controller, EVENT_TICK);
    core_step(controller->core, &event, &controller->scratch, &answer);
    note_changes(controller, &answer);
    controller->launching = answer.launching;
    require(answer.action_count == 0 || controller->has_started, "no action before the start");
    require(answer.action_count == 0 || !controller->is_over, "no action without the lease");
    require(!controller->is_replaying, "the journal is replayed within one event");
    wake_at(controller, &answer);
    tell_decided(controller, &answer);
    execute_actions(&controller->executor, answer.actions, answer.action_count);
    inventory_schedule(controller);
    watch_the_end(controller);
    if (controller->scratch.used_bytes > SCRATCH_LIMIT) {
        arena_clear(&controller->scratch);
        arena_init(&controller->scratch);
    }
}

static void on_wake(void *context)
{
    controller_turn(context);
}

/* ---- opening and closing ---- */

/* Without a set_up hook there is no setup deadline. */
static void set_times(struct controller *controller)
{
    if (!controller->setup.hooks.set_up) {
        controller->settings.times.deadlines[NODE_BOOTING] = 0;
        controller->settings.times.deadlines[NODE_SETTING_UP] = 0;
    }
}

/* The modules that have a struct of their own. */
static void open_modules(struct controller *controller)
{
    controller->calls = (struct call_list){.controller = controller,
                                           .loop = controller->loop,
                                           .memory = &controller->setup.session->memory};
    controller->notifier = (struct notifier){.controller = controller,
                                             .loop = controller->loop,
                                             .hooks = &controller->setup.hooks,
                                             .machines = &controller->machine_table};
    notify_init(&controller->notifier);
    controller->journaling = (struct journaling){.controller = controller,
                                                 .setup = &controller->setup,
                                                 .settings = &controller->settings,
                                                 .loop = controller->loop,
                                                 .journal = controller->journal,
                                                 .notifier = &controller->notifier,
                                                 .reuser = &controller->reuser,
                                                 .scratch = &controller->scratch};
    journaling_init(&controller->journaling);
    controller->heads = (struct heads){.controller = controller,
                                       .setup = &controller->setup,
                                       .loop = controller->loop,
                                       .provider = controller->provider,
                                       .journal = controller->journal,
                                       .journaling = &controller->journaling,
                                       .calls = &controller->calls,
                                       .notifier = &controller->notifier,
                                       .machines = &controller->machine_table,
                                       .life = &controller->life,
                                       .scratch = &controller->scratch};
    heads_init(&controller->heads);
    controller->executor = (struct executor){.controller = controller,
                                             .journaling = &controller->journaling,
                                             .setup = &controller->setup,
                                             .loop = controller->loop,
                                             .provider = controller->provider,
                                             .calls = &controller->calls,
                                             .notifier = &controller->notifier,
                                             .machines = &controller->machine_table,
                                             .scratch = &controller->scratch};
    controller->tags = (struct tags){.loop = controller->loop,
                                     .provider = controller->provider,
                                     .calls = &controller->calls,
                                     .machines = &controller->machine_table,
                                     .scratch = &controller->scratch};
    tags_init(&controller->tags);
    controller->reuser = (struct reuser){.setup = &controller->setup,
                                         .provider = controller->provider,
                                         .offerings = controller->settings.offerings,
                                         .calls = &controller->calls,
                                         .notifier = &controller->notifier,
                                         .machines = &controller->machine_table,
                                         .life = &controller->life,
                                         .scratch = &controller->scratch};
}

struct controller *controller_open(const struct controller_setup *setup)
{
    struct controller *controller = HEAP_NEW(struct controller);
    controller->setup = *setup;
    controller->loop = setup->session->loop;
    controller->provider = setup->provider;
    controller->journal = setup->journal;
    controller->settings = setup->core->settings;
    controller->settings.head_instance = HEAD_INSTANCE;
    set_times(controller);
    arena_init(&controller->life);
    arena_init(&controller->scratch);
    machine_table_init(&controller->machine_table);
    controller->core = core_new(&controller->settings, &controller->life);
    controller->launching = PERMIT_NOT_STARTED;
    controller->turn = (struct loop_task){.run = controller_turn, .context = controller};
    controller->wake = loop_timer_new(controller->loop, on_wake, controller);
    open_modules(controller);
    lease_init(controller);
    inventory_init(controller);
    launching_init(controller);
    lease_start(controller);
    return controller;
}

void controller_close(struct controller *controller)
{
    calls_clear(&controller->calls);
    journaling_clear(&controller->journaling);
    notify_clear(&controller->notifier);
    tags_clear(&controller->tags);
    launching_clear(controller);
    machine_table_clear(&controller->machine_table);
    loop_later_cancel(controller->loop, &controller->turn);
    loop_timer_free(controller->wake);
    loop_timer_free(controller->lease_timer);
    loop_timer_free(controller->listing_timer);
    arena_clear(&controller->lease_memory);
    arena_clear(&controller->scratch);
    arena_clear(&controller->life);
    free(controller->answers);
    free(controller);
}

/* ---- input ---- */

void controller_set_goal(struct controller *controller, enum goal goal)
{
    controller->setup.goal = goal;
    if (controller->has_started) {
        struct event event = controller_event(controller, EVENT_GOAL);
        event.goal = goal;
        controller_apply(controller, &event);
        inventory_expedite(controller);
    }
}

void controller_set_up(struct controller *controller, uint64_t instance, enum setup_news news,
                       bool is_unused)
{
    struct event event = controller_event(controller, EVENT_SETUP_REPLY);
    event.setup_reply.instance = instance;
    event.setup_reply.news = news;
    event.setup_reply.is_unused = is_unused;
    controller_apply(controller, &event);
}

void controller_ray_node(struct controller *controller, const struct ray_node *node)
{
    struct event event = controller_event(controller, EVENT_RAY_NODE);
    event.ray_node = *node;
    controller_apply(controller, &event);
}

void controller_ray_load(struct controller *controller, const struct ray_load *load)
{
    struct event event = controller_event(controller, EVENT_RAY_LOAD);
    event.ray_load = *load;
    controller_apply(controller, &event);
}

void controller_ray_seen(struct controller *controller, int64_t asked_at_ms)
{
    struct event event = controller_event(controller, EVENT_RAY_SEEN);
    event.asked_at = asked_at_ms;
    controller_apply(controller, &event);
}

void controller_head(struct controller *controller, enum head_state state)
{
    struct event event = controller_event(controller, EVENT_HEAD);
    event.head = state;
    controller_apply(controller, &event);
}

void controller_reprice(struct controller *controller)
{
    struct event event = controller_event(controller, EVENT_PRICES);
    controller->settings.max_price = controller->setup.core->settings.max_price;
    controller->settings.has_unpriced_head = controller->setup.core->settings.has_unpriced_head;
    controller_apply(controller, &event);
}

void controller_ray_restarted(struct controller *controller)
{
    struct event event = controller_event(controller, EVENT_RAY_RESTARTED);
    controller_apply(controller, &event);
}

/* Deferred to the next turn, because the hook may reply while actions are being executed. */
void controller_drained(struct controller *controller, uint64_t instance, enum drain_answer answer)
{
    struct event event = controller_event(controller, EVENT_DRAIN_REPLY);
    event.drain_reply.instance = instance;
    event.drain_reply.answer = answer;
    controller_apply_later(controller, &event);
}

void controller_tag(struct controller *controller, uint64_t instance, struct str key,
                    struct str value, bool is_passing)
{
    tags_add(&controller->tags, instance, key, value, is_passing);
}

/* ---- queries ---- */

static struct managed_node managed_node_of(const struct controller *controller,
                                           const struct known *known)
{
    require(known->is_head == (known->instance == HEAD_INSTANCE), "the head has its own number");
    return (struct managed_node){.instance = known->instance,
                                 .machine = known->machine,
                                 .node = core_find(controller->core, known->instance),
                                 .is_head = known->is_head};
}

void controller_each(const struct controller *controller, managed_node_fn *take, void *context)
{
    for (size_t i = 0; i < controller->machine_table.count; i++) {
        struct managed_node managed_node = managed_node_of(controller,
                                                           &controller->machine_table.items[i]);
        take(context, &managed_node);
    }
    for (size_t i = 0; i < core_node_count(controller->core); i++) {
        const struct node *node = core_node_at(controller->core, i);
        if (node->state == NODE_REQUESTED) {
            struct managed_node managed_node = {.instance = INSTANCE_NONE, .node = node};
            take(context, &managed_node);
        }
    }
}

bool controller_find(const struct controller *controller, uint64_t instance,
                     struct managed_node *ret_managed_node)
{
    const struct known *known = machine_table_find(&controller->machine_table, instance);
    const struct node *node = known ? NULL : core_find(controller->core, instance);
    if (known) {
        *ret_managed_node = managed_node_of(controller, known);
    } else if (node) {
        *ret_managed_node = (struct managed_node){
            .instance = instance, .node = node, .is_head = node->is_head};
    }
    return known || node;
}

uint64_t controller_instance_of(const struct controller *controller, struct str id)
{
    const struct known *known = machine_table_find_id(&controller->machine_table, id);
    return known ? known->instance : INSTANCE_NONE;
}

/* A launch without a definite result still has nodes in the core. */
bool controller_is_empty(const struct controller *controller)
{
    if (controller->setup.goal != GOAL_DOWN || !controller->has_listed) {
        return false;
    }
    for (size_t i = 0; i < core_node_count(controller->core); i++) {
        const struct node *node = core_node_at(controller->core, i);
        if (!node->is_head && node->state != NODE_GONE && node->state != NODE_UNLISTED) {
            return false;
        }
    }
    for (size_t i = 0; i < controller->machine_table.count; i++) {
        const struct known *known = &controller->machine_table.items[i];
        enum machine_state state = known->machine->state;
        bool is_kept = state == MACHINE_STOPPED && controller->setup.keeps_stopped;
        if (!known->is_head && !is_kept && state != MACHINE_GONE) {
            return false;
        }
    }
    return true;
}
