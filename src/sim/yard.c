/* yard.c: puts cloud, Ray and controllers together and lets time run. */
#include "sim/yard.h"

#include "sim/yard_parts.h"

#include <stdarg.h>
#include <stdio.h>

enum { RESTART = 60 * 1000, RESTART_OF_TWIN = 300 * 1000 };

void yard_violate(struct yard *yard, const char *invariant, const char *fmt, ...)
{
    char text[512];
    if (yard->violation.invariant) {
        return;
    }
    va_list arguments;
    va_start(arguments, fmt);
    vsnprintf(text, sizeof(text), fmt, arguments);
    va_end(arguments);
    yard->violation = (struct violation){invariant, yard->agenda.now,
                                         arena_str(yard->arena, str_from(text))};
}

static void mix(struct yard *yard, uint64_t value)
{
    yard->hash = (yard->hash ^ value) * 0x100000001b3u;
    yard->hash ^= yard->hash >> 29;
}

static void say(struct yard *yard, uint32_t controller, struct str text)
{
    struct str line = yard->controller_count > 1
                          ? arena_printf(&yard->texts, "[%c] %.*s", 'A' + (char)controller,
                                         STR_ARG(text))
                          : text;
    yard->setup.on_line(yard->setup.context, yard->agenda.now, line);
    if (yard->texts.used_bytes > (1 << 20)) {
        arena_clear(&yard->texts);
        arena_init(&yard->texts);
    }
}

/* Events bring their time with them; what we add ourselves does not. */
static void say_now(struct yard *yard, uint32_t controller, struct str text)
{
    long long now = yard->agenda.now;
    say(yard, controller,
        arena_printf(&yard->texts, "%lld.%03lld %.*s", now / 1000, now % 1000, STR_ARG(text)));
}

static void say_plan(struct yard *yard, uint32_t controller, const struct core_answer *answer)
{
    const struct plan *plan = &answer->plan;
    struct plan_input input = {.names = yard->settings.names,
                               .types = yard->settings.types,
                               .type_count = yard->settings.type_count,
                               .demands = NULL};
    for (size_t i = 0; i < plan->unmet_count; i++) {
        say_now(yard, controller, plan_reason_text(&input, &plan->unmet[i].refusal, &yard->texts));
    }
    for (size_t i = 0; i < plan->unmet_gang_count; i++) {
        say_now(yard, controller,
                plan_reason_text(&input, &plan->unmet_gangs[i].refusal, &yard->texts));
    }
}

/* Comes again and again, and mostly says nothing new. */
static bool is_routine(enum event_kind kind)
{
    return kind == EVENT_TICK || kind == EVENT_RAY_SEEN || kind == EVENT_LEASE ||
           kind == EVENT_LISTING;
}

static void on_event(void *context, uint32_t controller, const struct event *event,
                     const struct core_answer *answer)
{
    struct yard *yard = context;
    yard->events[event->kind]++;
    mix(yard, (uint64_t)event->at << 8 ^ (uint64_t)event->kind);
    mix(yard, answer->action_count);
    if (yard->setup.on_line) {
        if (answer->is_news || !is_routine(event->kind)) {
            say(yard, controller, event_text(event, &yard->settings, &yard->texts));
        }
        for (size_t i = 0; i < answer->change_count; i++) {
            say_now(yard, controller, change_text(&answer->changes[i], &yard->texts));
        }
        if (answer->is_decision) {
            say_plan(yard, controller, answer);
        }
    }
    if (yard->setup.on_event) {
        yard->setup.on_event(yard->setup.context, event);
    }
    if (yard->setup.checks) {
        checks_after_event(yard, controller, event);
    }
}

static void on_action(void *context, uint32_t controller, const struct action *action)
{
    struct yard *yard = context;
    mix(yard, (uint64_t)action->kind << 56 ^ action->instance << 20 ^ action->launch);
    mix(yard,
        (uint64_t)action->count << 32 ^ (uint64_t)action->offering << 8 ^ action->reason.kind);
    if (yard->setup.on_line) {
        say_now(yard, controller, action_text(action, &yard->settings, &yard->texts));
    }
    if (yard->setup.checks) {
        checks_before_action(yard, controller, action);
    }
}

/* Between half and one and a half of the mean. */
static int64_t around(struct yard *yard, int64_t mean)
{
    return mean / 2 + dice_below(&yard->dice, mean + 1);
}

static void plan_fault(struct yard *yard, enum fault fault, enum agenda_kind kind,
                       uint32_t controller)
{
    if (yard->faults.is_on[fault] && yard->faults.span[fault] > 0) {
        agenda_add(&yard->agenda, yard->agenda.now + around(yard, yard->faults.span[fault]), kind,
                   controller, 0, 0);
    }
}

static void add_controller(struct yard *yard, int64_t starts_at)
{
    uint32_t number = (uint32_t)yard->controller_count++;
    struct controller *controller = &yard->controllers[number];
    controller_init(controller, number, yard->arena);
    controller->settings = &yard->settings;
    controller->agenda = &yard->agenda;
    controller->cloud = &yard->cloud;
    controller->cluster = &yard->cluster;
    controller->faults = &yard->faults;
    controller->lease = &yard->lease;
    controller->is_lease_local = yard->setup.is_lease_local;
    controller->dice.state = dice_next(&yard->dice);
    controller->watcher = (struct watcher){yard, on_event, on_action};
    controller->tick = yard->setup.tick;
    /* Long enough for the lease to pass to the other one, if there is one. */
    controller->restart = yard->faults.is_on[FAULT_twin] ? RESTART_OF_TWIN : RESTART;
    agenda_add(&yard->agenda, starts_at, AGENDA_CONTROLLER_START, number, 0, 0);
    plan_fault(yard, FAULT_controller_kill, AGENDA_CONTROLLER_KILL, number);
    plan_fault(yard, FAULT_controller_pause, AGENDA_CONTROLLER_PAUSE, number);
}

static uint32_t head_offering(const struct core_settings *settings)
{
    uint32_t offering = 0;
    while (offering + 1 < settings->offering_count &&
           settings->offerings[offering].type != settings->head_type) {
        offering++;
    }
    return offering;
}

struct yard *yard_new(const struct yard_setup *setup, struct arena *arena)
{
    struct yard *yard = ARENA_NEW(arena, struct yard);
    yard->setup = *setup;
    yard->settings = *setup->settings;
    yard->arena = arena;
    yard->faults = setup->faults;
    yard->dice.state = setup->seed;
    arena_init(&yard->texts);
    agenda_init(&yard->agenda, arena);
    cloud_init(&yard->cloud, &yard->agenda, &yard->faults, setup->settings->offerings,
               setup->settings->offering_count, dice_next(&yard->dice), arena);
    yard->settings.head_instance = cloud_plant(&yard->cloud, head_offering(setup->settings), true,
                                               true);
    cluster_init(&yard->cluster, &yard->agenda, &yard->faults, setup->settings->types,
                 setup->settings->type_count, setup->settings->names, setup->workload,
                 dice_next(&yard->dice), arena);
    yard->cluster.head = yard->settings.head_instance;
    cluster_join(&yard->cluster, yard->settings.head_instance, setup->settings->head_type);
    if (yard->faults.is_on[FAULT_foreign]) {
        cloud_plant(&yard->cloud, 0, false, false);
        cloud_plant(&yard->cloud, (uint32_t)setup->settings->offering_count - 1, false, false);
    }
    checks_init(yard);
    add_controller(yard, 0);
    if (yard->faults.is_on[FAULT_twin]) {
        add_controller(yard, dice_below(&yard->dice, setup->duration / 2));
    }
    measure_init(&yard->measure, setup->settings->type_count, arena);
    if (setup->sample > 0) {
        agenda_add(&yard->agenda, 0, AGENDA_SAMPLE, 0, 0, 0);
    }
    if (setup->down_at > 0) {
        agenda_add(&yard->agenda, setup->down_at, AGENDA_DOWN, 0, 0, 0);
    }
    agenda_add(&yard->agenda, setup->duration, setup->healing > 0 ? AGENDA_HEAL : AGENDA_END, 0, 0,
               0);
    return yard;
}

static struct instance *machine(struct yard *yard, uint64_t instance)
{
    return &yard->cloud.instances[instance - 1];
}

static void begin_setup(struct yard *yard, uint64_t instance)
{
    struct instance *it = machine(yard, instance);
    if (it->setup_begun_at == INT64_MAX) {
        it->setup_begun_at = yard->agenda.now;
        it->setup_done_at = yard->agenda.now + it->setup_time;
        agenda_add(&yard->agenda, it->setup_done_at, AGENDA_SETUP_END, 0, instance, 0);
    }
}

static void end_setup(struct yard *yard, uint64_t instance)
{
    const struct instance *it = machine(yard, instance);
    if (instance_answers(it, yard->agenda.now) && !it->fails_setup && !it->never_joins) {
        cluster_join(&yard->cluster, instance, yard->settings.offerings[it->offering].type);
        measure_ready(&yard->measure, yard->agenda.now, yard->cluster.alive);
    }
}

/* The watcher on the node hears it first and drains the node itself; sometimes we hear it too. */
static void give_notice(struct yard *yard, uint64_t instance)
{
    int64_t until = machine(yard, instance)->taken_at;
    if (yard->cluster.is_gcs_up && dice_chance(&yard->dice, 900)) {
        cluster_drain(&yard->cluster, instance, false, until);
    }
    for (size_t i = 0; i < yard->controller_count; i++) {
        if (dice_chance(&yard->dice, 500)) {
            controller_notice(&yard->controllers[i], instance, until);
        }
    }
}

/* Machines that were asked for and not given, whether all of a call or a part of it. */
static void count_refused(struct yard *yard, const struct cloud_call *call)
{
    bool is_refusal = call->outcome == OUTCOME_CAPACITY || call->outcome == OUTCOME_QUOTA;
    if (call->verb == CLOUD_LAUNCH && (is_refusal || call->outcome == OUTCOME_DONE)) {
        yard->measure.refused += call->count - (is_refusal ? 0 : (int64_t)call->instance_count);
    }
}

static void on_cloud(struct yard *yard, const struct agenda_entry *entry)
{
    if (!cloud_on(&yard->cloud, entry)) {
        return;
    }
    switch (entry->kind) {
    case AGENDA_CALL_REPLY:
        count_refused(yard, cloud_call(&yard->cloud, entry->what));
        controller_on(&yard->controllers[cloud_call(&yard->cloud, entry->what)->controller], entry);
        break;
    case AGENDA_INSTANCE_NOTICE:
        give_notice(yard, entry->what);
        break;
    case AGENDA_INSTANCE_TAKEN:
    case AGENDA_INSTANCE_GONE:
        cluster_lose(&yard->cluster, entry->what);
        measure_ready(&yard->measure, yard->agenda.now, yard->cluster.alive);
        break;
    default:
        break;
    }
}

/* What is wished for must now become what is. */
static void heal(struct yard *yard)
{
    yard->is_healing = true;
    faults_stop(&yard->faults);
    cloud_heal(&yard->cloud);
    for (uint32_t i = 0; i < yard->controller_count; i++) {
        if (!yard->controllers[i].is_alive) {
            agenda_add(&yard->agenda, yard->agenda.now, AGENDA_CONTROLLER_START, i, 0, 0);
        }
    }
    agenda_add(&yard->agenda, yard->agenda.now + yard->setup.healing, AGENDA_END, 0, 0, 0);
}

static void on_controller(struct yard *yard, const struct agenda_entry *entry)
{
    struct controller *controller = &yard->controllers[entry->who];
    switch (entry->kind) {
    case AGENDA_CONTROLLER_START:
        checks_forget(yard, entry->who);
        controller_start(controller);
        break;
    case AGENDA_CONTROLLER_KILL:
        if (!yard->is_healing) {
            controller_kill(controller);
            controller_restart(controller);
            plan_fault(yard, FAULT_controller_kill, AGENDA_CONTROLLER_KILL, entry->who);
        }
        break;
    case AGENDA_CONTROLLER_PAUSE:
        if (!yard->is_healing) {
            controller_pause(controller, yard->faults.length[FAULT_controller_pause]);
            plan_fault(yard, FAULT_controller_pause, AGENDA_CONTROLLER_PAUSE, entry->who);
        }
        break;
    default:
        controller_on(controller, entry);
        break;
    }
}

static void on_entry(struct yard *yard, const struct agenda_entry *entry)
{
    switch (entry->kind) {
    case AGENDA_SETUP_BEGIN:
        begin_setup(yard, entry->what);
        break;
    case AGENDA_SETUP_END:
        end_setup(yard, entry->what);
        break;
    case AGENDA_SAMPLE:
        billing_sample(yard);
        break;
    case AGENDA_DOWN:
        for (size_t i = 0; i < yard->controller_count; i++) {
            controller_aim(&yard->controllers[i], GOAL_DOWN);
        }
        break;
    case AGENDA_HEAL:
        heal(yard);
        break;
    case AGENDA_END:
        yard->is_over = true;
        break;
    case AGENDA_ARRIVAL:
        if (!yard->is_healing) {
            cluster_on(&yard->cluster, entry);
        }
        break;
    default:
        if (entry->kind < AGENDA_TASK_END) {
            on_cloud(yard, entry);
        } else if (entry->kind < AGENDA_TICK) {
            cluster_on(&yard->cluster, entry);
        } else {
            on_controller(yard, entry);
        }
        break;
    }
}

void yard_run(struct yard *yard)
{
    struct agenda_entry entry;
    while (!yard->is_over && !yard->violation.invariant && agenda_next(&yard->agenda, &entry)) {
        mix(yard, (uint64_t)entry.at << 16 ^ entry.kind << 8 ^ entry.what);
        on_entry(yard, &entry);
        if (yard->setup.checks) {
            checks_after_entry(yard, &entry);
        }
    }
    if (yard->setup.checks && !yard->violation.invariant && yard->setup.healing > 0) {
        checks_at_end(yard);
    }
    billing_finish(yard);
    for (size_t i = 0; i < yard->controller_count; i++) {
        controller_clear(&yard->controllers[i]);
    }
    arena_clear(&yard->texts);
}

const struct violation *yard_violation(const struct yard *yard)
{
    return &yard->violation;
}

uint64_t yard_trace_hash(const struct yard *yard)
{
    return yard->hash;
}

uint64_t yard_event_count(const struct yard *yard, enum event_kind kind)
{
    return yard->events[kind];
}

const struct measure *yard_measure(const struct yard *yard)
{
    return &yard->measure;
}
