/* controller.c: the turns of the live shell: hear, tick, write down, carry out. */
#include "app/control/controller.h"

#include "app/control/controller_parts.h"
#include "io/heap.h"

enum {
    SCRATCH_LIMIT = 1024 * 1024,
    WAKE_MOST_MS = 3600 * 1000,
    LOAD_NOTE_MS = 10 * 1000, /* the load is written down so often at most, */
    LOAD_NOTE_SHAPES = 100,   /* and only if it has no more than this */
};

int64_t controller_wall(const struct controller *controller)
{
    return clock_wall_ms(loop_clock(controller->loop));
}

struct event controller_event(const struct controller *controller, enum event_kind kind)
{
    return (struct event){.kind = kind, .at = controller_now(controller)};
}

void heap_grow(void **items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) {
        return;
    }
    size_t more = *capacity > 0 ? 2 * *capacity : 8;
    void *grown = heap_zeroed(more * size);
    if (count > 0) {
        memcpy(grown, *items, count * size);
    }
    free(*items);
    *items = grown;
    *capacity = more;
}

/* ---- calls ---- */

struct call *call_begin(struct controller *controller)
{
    struct call *call = controller->spare_calls;
    if (call) {
        controller->spare_calls = call->next;
    } else {
        call = ARENA_NEW(&controller->setup.session->memory, struct call);
    }
    *call = (struct call){.controller = controller,
                          .next = controller->calls,
                          .asked_at = controller_now(controller)};
    controller->calls = call;
    return call;
}

/* What it holds stays until the next call begins, so that whoever hears the answer can read it. */
struct controller *call_end(struct call *call)
{
    struct controller *controller = call->controller;
    if (!controller) {
        return NULL;
    }
    struct call **at = &controller->calls;
    while (*at != call) {
        at = &(*at)->next;
    }
    *at = call->next;
    call->next = controller->spare_calls;
    controller->spare_calls = call;
    return controller;
}

void call_free(struct call *call)
{
    free(call->instances);
    tag_group_free(call->tags);
    reuse_run_free(call->reuse);
    call->instances = NULL;
    call->tags = NULL;
    call->reuse = NULL;
}

static void calls_clear(struct controller *controller)
{
    for (struct call *call = controller->calls; call; call = call->next) {
        call_free(call);
        call->controller = NULL;
    }
}

/* ---- hearing ---- */

/* Work comes and goes many times a second: who is busy is not kept, who joins and dies is. */
static bool is_ray_kept(struct controller *controller, const struct event *event)
{
    if (event->kind == EVENT_RAY_NODE) {
        struct known *known = roster_find(&controller->roster, event->ray_node.instance);
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

/* What says nothing that the next listing would not say is not kept. */
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
    return !controller->is_playing;
}

static void note_changes(struct controller *controller, const struct core_answer *answer)
{
    for (size_t i = 0; i < answer->change_count && !controller->is_playing; i++) {
        news_changed(controller, answer->changes[i].instance);
    }
}

void controller_tell(struct controller *controller, const struct event *event)
{
    struct core_answer answer;
    core_step(controller->core, event, &controller->scratch, &answer);
    note_changes(controller, &answer);
    if (is_kept(controller, event, &answer)) {
        records_note_event(controller, event);
    }
    loop_later(controller->loop, &controller->turn);
}

void controller_tell_later(struct controller *controller, const struct event *event)
{
    void *answers = controller->answers;
    heap_grow(&answers, controller->answer_count, &controller->answer_capacity,
              sizeof(*controller->answers));
    controller->answers = answers;
    controller->answers[controller->answer_count++] = *event;
    loop_later(controller->loop, &controller->turn);
}

/* ---- turns ---- */

static void tell_answers(struct controller *controller)
{
    for (size_t i = 0; i < controller->answer_count; i++) {
        struct event event = controller->answers[i];
        event.at = controller_now(controller);
        controller_tell(controller, &event);
    }
    controller->answer_count = 0;
}

static void wake_at(struct controller *controller, const struct core_answer *answer)
{
    int64_t wait = answer->wake_at - controller_now(controller);
    if (answer->has_more) {
        loop_later(controller->loop, &controller->turn);
    }
    if (answer->wake_at == INT64_MAX || controller->is_over) {
        loop_timer_stop(controller->wake);
        return;
    }
    wait = wait < 1 ? 1 : wait;
    loop_timer_start(controller->wake, wait < WAKE_MOST_MS ? wait : WAKE_MOST_MS);
}

/* Is a launch all that keeps the cluster from being empty? Its effect may still come. */
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

/* A cluster that goes down: has it, and if not, why does it take so long? */
static void watch_the_end(struct controller *controller)
{
    const struct core_times *times = &controller->settings.times;
    struct provider_answer answer = {.outcome = OUTCOME_UNKNOWN};
    bool is_empty = controller_is_empty(controller);
    if (is_empty && !controller->was_empty) {
        records_emptied(controller);
        news_emptied(controller);
    }
    controller->was_empty = is_empty;
    if (controller->setup.goal == GOAL_DOWN && controller->has_listed &&
        !controller->has_told_waiting && only_launches_are_left(controller)) {
        controller->has_told_waiting = true;
        (void)err_set(&answer.err, ERR_TIMEOUT,
                      "a launch was never answered: waiting up to %lld s until it can have no "
                      "effect any more",
                      (long long)((times->call_timeout + times->horizon) / 1000));
        news_trouble(controller, &answer, "%s", answer.err.text);
    }
}

static void tell_decided(const struct controller *controller, const struct core_answer *answer)
{
    const struct controller_hooks *hooks = &controller->setup.hooks;
    if (hooks->decided && (answer->is_decision || answer->action_count > 0)) {
        hooks->decided(hooks->context, answer);
    }
}

/* Everything that has happened since the last turn, then a decision. */
static void turn(void *context)
{
    struct controller *controller = context;
    struct event event;
    struct core_answer answer;
    tell_answers(controller);
    loop_later_cancel(controller->loop, &controller->turn); /* this is the turn they asked for */
    event = controller_event(controller, EVENT_TICK);
    core_step(controller->core, &event, &controller->scratch, &answer);
    note_changes(controller, &answer);
    wake_at(controller, &answer);
    tell_decided(controller, &answer);
    act_on(controller, answer.actions, answer.action_count);
    look_plan(controller);
    watch_the_end(controller);
    if (controller->scratch.used_bytes > SCRATCH_LIMIT) {
        arena_clear(&controller->scratch);
        arena_init(&controller->scratch);
    }
}

static void on_wake(void *context)
{
    turn(context);
}

/* ---- opening and closing ---- */

/* Where nobody sets up, nobody is late with it. */
static void set_times(struct controller *controller)
{
    if (!controller->setup.hooks.set_up) {
        controller->settings.times.deadlines[NODE_BOOTING] = 0;
        controller->settings.times.deadlines[NODE_SETTING_UP] = 0;
    }
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
    roster_init(&controller->roster);
    controller->core = core_new(&controller->settings, &controller->life);
    controller->turn = (struct loop_task){.run = turn, .context = controller};
    controller->wake = loop_timer_new(controller->loop, on_wake, controller);
    records_init(controller);
    news_init(controller);
    lead_init(controller);
    look_init(controller);
    tags_init(controller);
    launching_init(controller);
    lead_start(controller);
    return controller;
}

void controller_close(struct controller *controller)
{
    calls_clear(controller);
    records_clear(controller);
    news_clear(controller);
    tags_clear(controller);
    launching_clear(controller);
    roster_clear(&controller->roster);
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

/* ---- what it is told ---- */

void controller_want(struct controller *controller, enum goal goal)
{
    controller->setup.goal = goal;
    if (controller->has_started) {
        struct event event = controller_event(controller, EVENT_GOAL);
        event.goal = goal;
        controller_tell(controller, &event);
        look_soon(controller);
    }
}

void controller_set_up(struct controller *controller, uint64_t instance, enum setup_news news)
{
    struct event event = controller_event(controller, EVENT_SETUP_REPLY);
    event.setup_reply.instance = instance;
    event.setup_reply.news = news;
    controller_tell(controller, &event);
}

void controller_ray_node(struct controller *controller, const struct ray_node *node)
{
    struct event event = controller_event(controller, EVENT_RAY_NODE);
    event.ray_node = *node;
    controller_tell(controller, &event);
}

void controller_ray_load(struct controller *controller, const struct ray_load *load)
{
    struct event event = controller_event(controller, EVENT_RAY_LOAD);
    event.ray_load = *load;
    controller_tell(controller, &event);
}

void controller_ray_seen(struct controller *controller, int64_t asked_at_ms)
{
    struct event event = controller_event(controller, EVENT_RAY_SEEN);
    event.asked_at = asked_at_ms;
    controller_tell(controller, &event);
}

void controller_ray_anew(struct controller *controller)
{
    struct event event = controller_event(controller, EVENT_RAY_ANEW);
    controller_tell(controller, &event);
}

/* In the next turn: it may be known while what was asked for is still being carried out. */
void controller_drained(struct controller *controller, uint64_t instance, enum drain_answer answer)
{
    struct event event = controller_event(controller, EVENT_DRAIN_REPLY);
    event.drain_reply.instance = instance;
    event.drain_reply.answer = answer;
    controller_tell_later(controller, &event);
}

/* ---- looking ---- */

static struct controlled controlled_of(const struct controller *controller,
                                       const struct known *known)
{
    return (struct controlled){.instance = known->instance,
                               .machine = known->machine,
                               .node = core_find(controller->core, known->instance),
                               .is_head = known->is_head};
}

void controller_each(const struct controller *controller, controlled_fn *take, void *context)
{
    for (size_t i = 0; i < controller->roster.count; i++) {
        struct controlled controlled = controlled_of(controller, &controller->roster.items[i]);
        take(context, &controlled);
    }
    for (size_t i = 0; i < core_node_count(controller->core); i++) {
        const struct node *node = core_node_at(controller->core, i);
        if (node->state == NODE_REQUESTED) {
            struct controlled controlled = {.instance = INSTANCE_NONE, .node = node};
            take(context, &controlled);
        }
    }
}

bool controller_find(const struct controller *controller, uint64_t instance,
                     struct controlled *ret_controlled)
{
    const struct known *known = roster_find(&controller->roster, instance);
    const struct node *node = known ? NULL : core_find(controller->core, instance);
    if (known) {
        *ret_controlled = controlled_of(controller, known);
    } else if (node) {
        *ret_controlled = (struct controlled){
            .instance = instance, .node = node, .is_head = node->is_head};
    }
    return known || node;
}

uint64_t controller_instance_of(const struct controller *controller, struct str id)
{
    const struct known *known = roster_find_id(&controller->roster, id);
    return known ? known->instance : INSTANCE_NONE;
}

/* A launch whose answer is not known still has nodes in the core; it settles them. */
bool controller_is_empty(const struct controller *controller)
{
    if (controller->setup.goal != GOAL_DOWN || !controller->has_listed) {
        return false;
    }
    for (size_t i = 0; i < core_node_count(controller->core); i++) {
        const struct node *node = core_node_at(controller->core, i);
        if (!node->is_head && node->state != NODE_GONE && node->state != NODE_STRANGER) {
            return false;
        }
    }
    for (size_t i = 0; i < controller->roster.count; i++) {
        const struct known *known = &controller->roster.items[i];
        enum machine_state state = known->machine->state;
        bool is_kept = state == MACHINE_STOPPED && controller->setup.keeps_stopped;
        if (!known->is_head && !is_kept && state != MACHINE_GONE) {
            return false;
        }
    }
    return true;
}
