/* simulation.c: connects cloud, Ray and controllers, and advances time. */
#include "sim/simulation.h"

#include "sim/simulation_internal.h"

#include <stdarg.h>
#include <stdio.h>

enum { RESTART = 60 * 1000, RESTART_OF_TWIN = 300 * 1000 };

void simulation_violate(struct simulation *simulation, const char *invariant, const char *fmt, ...)
{
    char text[512];
    if (simulation->violation.invariant) {
        return;
    }
    va_list arguments;
    va_start(arguments, fmt);
    vsnprintf(text, sizeof(text), fmt, arguments);
    va_end(arguments);
    simulation->violation = (struct violation){invariant, simulation->event_queue.now,
                                               arena_str(simulation->arena, str_from(text))};
}

static void simulation_mix(struct simulation *simulation, uint64_t value)
{
    simulation->hash = (simulation->hash ^ value) * 0x100000001b3u;
    simulation->hash ^= simulation->hash >> 29;
}

static void simulation_send(struct simulation *simulation, uint32_t sim_controller, struct str text)
{
    struct str line = simulation->controller_count > 1
                          ? arena_printf(&simulation->texts, "[%c] %.*s",
                                         'A' + (char)sim_controller, STR_ARG(text))
                          : text;
    simulation->setup.on_line(simulation->setup.context, simulation->event_queue.now, line);
    if (simulation->texts.used_bytes > (1 << 20)) {
        arena_clear(&simulation->texts);
        arena_init(&simulation->texts);
    }
}

/* Events include their time; text that we add does not. */
static void say_now(struct simulation *simulation, uint32_t sim_controller, struct str text)
{
    long long now = simulation->event_queue.now;
    simulation_send(simulation, sim_controller,
                    arena_printf(&simulation->texts, "%lld.%03lld %.*s", now / 1000, now % 1000,
                                 STR_ARG(text)));
}

static void say_plan(struct simulation *simulation, uint32_t sim_controller,
                     const struct core_answer *answer)
{
    const struct plan *plan = &answer->plan;
    struct plan_input input = {.names = simulation->settings.names,
                               .types = simulation->settings.types,
                               .type_count = simulation->settings.type_count,
                               .demands = NULL};
    for (size_t i = 0; i < plan->unmet_count; i++) {
        say_now(simulation, sim_controller,
                plan_reason_text(&input, &plan->unmet[i].refusal, &simulation->texts));
    }
    for (size_t i = 0; i < plan->unmet_gang_count; i++) {
        say_now(simulation, sim_controller,
                plan_reason_text(&input, &plan->unmet_gangs[i].refusal, &simulation->texts));
    }
}

/* Frequent events, mostly without changes. */
static bool is_routine(enum event_kind kind)
{
    return kind == EVENT_TICK || kind == EVENT_RAY_SEEN || kind == EVENT_LEASE ||
           kind == EVENT_LISTING;
}

static bool has_stopped_type(const struct core_answer *answer)
{
    for (size_t i = 0; i < answer->hold_count; i++) {
        if (answer->holds[i].cause == HOLD_STOPPED) {
            return true;
        }
    }
    for (size_t i = 0; i < answer->plan.unmet_count; i++) {
        if (answer->plan.unmet[i].refusal.cause == REFUSED_STOPPED) {
            return true;
        }
    }
    for (size_t i = 0; i < answer->plan.unmet_gang_count; i++) {
        if (answer->plan.unmet_gangs[i].refusal.cause == REFUSED_STOPPED) {
            return true;
        }
    }
    return answer->plan.is_constraint_unmet &&
           answer->plan.constraint_refusal.cause == REFUSED_STOPPED;
}

/* A disabled node type is re-enabled by the next `up`. Once faults have stopped, the user checks
 * the status from time to time and runs it. */
static void run_up_if_stopped(struct simulation *simulation, const struct core_answer *answer)
{
    enum { LOOKS_EVERY = 30 * 60 * 1000 };
    if (answer->is_decision) {
        simulation->has_stopped_type = has_stopped_type(answer);
    }
    if (simulation->is_healing && simulation->has_stopped_type &&
        simulation->event_queue.now >= simulation->next_up) {
        simulation->next_up = simulation->event_queue.now + LOOKS_EVERY;
        event_queue_add(&simulation->event_queue, simulation->event_queue.now, EVENT_QUEUE_UP, 0, 0,
                        0);
    }
}

static void simulation_on_event(void *context, uint32_t sim_controller, const struct event *event,
                                const struct core_answer *answer)
{
    struct simulation *simulation = context;
    simulation->events[event->kind]++;
    simulation_mix(simulation, (uint64_t)event->at << 8 ^ (uint64_t)event->kind);
    simulation_mix(simulation, answer->action_count);
    if (simulation->setup.on_line) {
        if (answer->is_news || !is_routine(event->kind)) {
            simulation_send(simulation, sim_controller,
                            event_text(event, &simulation->settings, &simulation->texts));
        }
        for (size_t i = 0; i < answer->change_count; i++) {
            say_now(simulation, sim_controller,
                    change_text(&answer->changes[i], &simulation->texts));
        }
        if (answer->is_decision) {
            say_plan(simulation, sim_controller, answer);
        }
    }
    run_up_if_stopped(simulation, answer);
    if (simulation->setup.on_event) {
        simulation->setup.on_event(simulation->setup.context, event);
    }
    if (simulation->setup.checks) {
        checks_after_event(simulation, sim_controller, event);
    }
}

static void on_action(void *context, uint32_t sim_controller, const struct action *action)
{
    struct simulation *simulation = context;
    simulation_mix(simulation,
                   (uint64_t)action->kind << 56 ^ action->instance << 20 ^ action->launch);
    simulation_mix(simulation, (uint64_t)action->count << 32 ^ (uint64_t)action->offering << 8 ^
                                   action->reason.kind);
    if (simulation->setup.on_line) {
        say_now(simulation, sim_controller,
                action_text(action, &simulation->settings, &simulation->texts));
    }
    if (simulation->setup.checks) {
        checks_before_action(simulation, sim_controller, action);
    }
}

/* Between half and one and a half of the mean. */
static int64_t around(struct simulation *simulation, int64_t mean)
{
    return mean / 2 + rng_below(&simulation->rng, mean + 1);
}

static void plan_fault(struct simulation *simulation, enum fault fault, enum event_queue_kind kind,
                       uint32_t sim_controller)
{
    if (simulation->faults.is_on[fault] && simulation->faults.span[fault] > 0) {
        event_queue_add(&simulation->event_queue,
                        simulation->event_queue.now +
                            around(simulation, simulation->faults.span[fault]),
                        kind, sim_controller, 0, 0);
    }
}

static void add_controller(struct simulation *simulation, int64_t starts_at)
{
    uint32_t number = (uint32_t)simulation->controller_count++;
    struct sim_controller *sim_controller = &simulation->controllers[number];
    controller_init(sim_controller, number, simulation->arena);
    sim_controller->settings = &simulation->settings;
    sim_controller->event_queue = &simulation->event_queue;
    sim_controller->cloud = &simulation->cloud;
    sim_controller->cluster = &simulation->cluster;
    sim_controller->faults = &simulation->faults;
    sim_controller->lease = &simulation->lease;
    sim_controller->is_lease_local = simulation->setup.is_lease_local;
    sim_controller->rng.state = rng_next(&simulation->rng);
    sim_controller->watcher = (struct watcher){simulation, simulation_on_event, on_action};
    sim_controller->tick = simulation->setup.tick;
    /* Long enough for the lease to pass to the other controller, if there is one. */
    sim_controller->restart = simulation->faults.is_on[FAULT_twin] ? RESTART_OF_TWIN : RESTART;
    event_queue_add(&simulation->event_queue, starts_at, EVENT_QUEUE_CONTROLLER_START, number, 0,
                    0);
    plan_fault(simulation, FAULT_controller_kill, EVENT_QUEUE_CONTROLLER_KILL, number);
    plan_fault(simulation, FAULT_controller_pause, EVENT_QUEUE_CONTROLLER_PAUSE, number);
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

struct simulation *simulation_new(const struct simulation_setup *setup, struct arena *arena)
{
    struct simulation *simulation = ARENA_NEW(arena, struct simulation);
    simulation->setup = *setup;
    simulation->settings = *setup->settings;
    simulation->arena = arena;
    simulation->faults = setup->faults;
    simulation->rng.state = setup->seed;
    arena_init(&simulation->texts);
    event_queue_init(&simulation->event_queue, arena);
    cloud_init(&simulation->cloud, &simulation->event_queue, &simulation->faults,
               setup->settings->offerings, setup->settings->offering_count,
               rng_next(&simulation->rng), arena);
    simulation->settings.head_instance = cloud_plant(&simulation->cloud,
                                                     head_offering(setup->settings), true, true);
    cluster_init(&simulation->cluster, &simulation->event_queue, &simulation->faults,
                 setup->settings->types, setup->settings->type_count, setup->settings->names,
                 setup->workload, rng_next(&simulation->rng), arena);
    simulation->cluster.head = simulation->settings.head_instance;
    cluster_join(&simulation->cluster, simulation->settings.head_instance,
                 setup->settings->head_type);
    if (simulation->faults.is_on[FAULT_foreign]) {
        cloud_plant(&simulation->cloud, 0, false, false);
        cloud_plant(&simulation->cloud, (uint32_t)setup->settings->offering_count - 1, false,
                    false);
    }
    checks_init(simulation);
    add_controller(simulation, 0);
    if (simulation->faults.is_on[FAULT_twin]) {
        add_controller(simulation, rng_below(&simulation->rng, setup->duration / 2));
    }
    measure_init(&simulation->measure, setup->settings->type_count, arena);
    if (setup->sample > 0) {
        event_queue_add(&simulation->event_queue, 0, EVENT_QUEUE_SAMPLE, 0, 0, 0);
    }
    plan_fault(simulation, FAULT_new_config, EVENT_QUEUE_CONFIG, 0);
    if (setup->down_at > 0) {
        event_queue_add(&simulation->event_queue, setup->down_at, EVENT_QUEUE_DOWN, 0, 0, 0);
    }
    event_queue_add(&simulation->event_queue, setup->duration,
                    setup->healing > 0 ? EVENT_QUEUE_HEAL : EVENT_QUEUE_END, 0, 0, 0);
    return simulation;
}

static struct instance *machine(struct simulation *simulation, uint64_t instance)
{
    return &simulation->cloud.instances[instance - 1];
}

static void begin_setup(struct simulation *simulation, uint64_t instance)
{
    struct instance *it = machine(simulation, instance);
    if (it->setup_begun_at == INT64_MAX) {
        it->setup_begun_at = simulation->event_queue.now;
        it->setup_done_at = simulation->event_queue.now + it->setup_time;
        event_queue_add(&simulation->event_queue, it->setup_done_at, EVENT_QUEUE_SETUP_END, 0,
                        instance, 0);
    }
}

static void end_setup(struct simulation *simulation, uint64_t instance)
{
    const struct instance *it = machine(simulation, instance);
    if (instance_answers(it, simulation->event_queue.now) && !it->fails_setup && !it->never_joins) {
        cluster_join(&simulation->cluster, instance,
                     simulation->settings.offerings[it->offering].type);
        measure_ready(&simulation->measure, simulation->event_queue.now, simulation->cluster.alive);
    }
}

/* The watcher on the node is notified first and drains the node itself; sometimes the controller is
 * notified, too. */
static void give_notice(struct simulation *simulation, uint64_t instance)
{
    int64_t until = machine(simulation, instance)->taken_at;
    if (simulation->cluster.is_gcs_up && rng_chance(&simulation->rng, 900)) {
        cluster_drain(&simulation->cluster, instance, false, until);
    }
    for (size_t i = 0; i < simulation->controller_count; i++) {
        if (rng_chance(&simulation->rng, 500)) {
            controller_notice(&simulation->controllers[i], instance, until);
        }
    }
}

/* Counts machines that were requested but refused, for all or part of a call. */
static void count_refused(struct simulation *simulation, const struct cloud_call *call)
{
    bool is_refusal = call->outcome == OUTCOME_CAPACITY || call->outcome == OUTCOME_QUOTA;
    if (call->verb == CLOUD_LAUNCH && (is_refusal || call->outcome == OUTCOME_DONE)) {
        simulation->measure.refused += call->count -
                                       (is_refusal ? 0 : (int64_t)call->instance_count);
    }
}

static void on_cloud(struct simulation *simulation, const struct event_queue_entry *entry)
{
    if (!cloud_on(&simulation->cloud, entry)) {
        return;
    }
    switch (entry->kind) {
    case EVENT_QUEUE_CALL_REPLY:
        count_refused(simulation, cloud_call(&simulation->cloud, entry->what));
        controller_on(
            &simulation->controllers[cloud_call(&simulation->cloud, entry->what)->sim_controller],
            entry);
        break;
    case EVENT_QUEUE_INSTANCE_NOTICE:
        give_notice(simulation, entry->what);
        break;
    case EVENT_QUEUE_INSTANCE_TAKEN:
    case EVENT_QUEUE_INSTANCE_GONE:
        cluster_lose(&simulation->cluster, entry->what);
        measure_ready(&simulation->measure, simulation->event_queue.now, simulation->cluster.alive);
        break;
    default:
        break;
    }
}

/* The cluster must reach its desired state from now on. */
static void heal(struct simulation *simulation)
{
    simulation->is_healing = true;
    faults_stop(&simulation->faults);
    cloud_heal(&simulation->cloud);
    for (uint32_t i = 0; i < simulation->controller_count; i++) {
        if (!simulation->controllers[i].is_alive) {
            event_queue_add(&simulation->event_queue, simulation->event_queue.now,
                            EVENT_QUEUE_CONTROLLER_START, i, 0, 0);
        }
    }
    event_queue_add(&simulation->event_queue,
                    simulation->event_queue.now + simulation->setup.healing, EVENT_QUEUE_END, 0, 0,
                    0);
}

static void on_controller(struct simulation *simulation, const struct event_queue_entry *entry)
{
    struct sim_controller *sim_controller = &simulation->controllers[entry->who];
    switch (entry->kind) {
    case EVENT_QUEUE_CONTROLLER_START:
        checks_forget(simulation, entry->who);
        controller_start(sim_controller);
        break;
    case EVENT_QUEUE_CONTROLLER_KILL:
        if (!simulation->is_healing) {
            controller_kill(sim_controller);
            controller_restart(sim_controller);
            plan_fault(simulation, FAULT_controller_kill, EVENT_QUEUE_CONTROLLER_KILL, entry->who);
        }
        break;
    case EVENT_QUEUE_CONTROLLER_PAUSE:
        if (!simulation->is_healing) {
            controller_pause(sim_controller, simulation->faults.length[FAULT_controller_pause]);
            plan_fault(simulation, FAULT_controller_pause, EVENT_QUEUE_CONTROLLER_PAUSE,
                       entry->who);
        }
        break;
    default:
        controller_on(sim_controller, entry);
        break;
    }
}

static void run_up(struct simulation *simulation)
{
    for (uint32_t i = 0; i < simulation->controller_count; i++) {
        controller_kill(&simulation->controllers[i]);
        event_queue_add(&simulation->event_queue, simulation->event_queue.now + 1000,
                        EVENT_QUEUE_CONTROLLER_START, i, 0, 0);
    }
}

/* The user changes the file and runs `up`: the lease holder restarts with the new file, and all
 * launches so far used the old one. */
static void change_config(struct simulation *simulation)
{
    if (simulation->is_healing) {
        return;
    }
    for (uint32_t i = 0; i < simulation->controller_count; i++) {
        struct sim_controller *sim_controller = &simulation->controllers[i];
        uint64_t last = journal_last_launch(&sim_controller->sim_journal);
        simulation->cloud.old_launches = last > simulation->cloud.old_launches
                                             ? last
                                             : simulation->cloud.old_launches;
    }
    run_up(simulation);
    plan_fault(simulation, FAULT_new_config, EVENT_QUEUE_CONFIG, 0);
}

static void on_entry(struct simulation *simulation, const struct event_queue_entry *entry)
{
    switch (entry->kind) {
    case EVENT_QUEUE_CONFIG:
        change_config(simulation);
        break;
    case EVENT_QUEUE_UP:
        run_up(simulation);
        break;
    case EVENT_QUEUE_SETUP_BEGIN:
        begin_setup(simulation, entry->what);
        break;
    case EVENT_QUEUE_SETUP_END:
        end_setup(simulation, entry->what);
        break;
    case EVENT_QUEUE_SAMPLE:
        billing_sample(simulation);
        break;
    case EVENT_QUEUE_DOWN:
        for (size_t i = 0; i < simulation->controller_count; i++) {
            controller_aim(&simulation->controllers[i], GOAL_DOWN);
        }
        break;
    case EVENT_QUEUE_HEAL:
        heal(simulation);
        break;
    case EVENT_QUEUE_END:
        simulation->is_over = true;
        break;
    case EVENT_QUEUE_ARRIVAL:
        if (!simulation->is_healing) {
            cluster_on(&simulation->cluster, entry);
        }
        break;
    default:
        if (entry->kind < EVENT_QUEUE_TASK_END) {
            on_cloud(simulation, entry);
        } else if (entry->kind < EVENT_QUEUE_TICK) {
            cluster_on(&simulation->cluster, entry);
        } else {
            on_controller(simulation, entry);
        }
        break;
    }
}

void simulation_run(struct simulation *simulation)
{
    struct event_queue_entry entry;
    while (!simulation->is_over && !simulation->violation.invariant &&
           event_queue_next(&simulation->event_queue, &entry)) {
        simulation_mix(simulation, (uint64_t)entry.at << 16 ^ entry.kind << 8 ^ entry.what);
        on_entry(simulation, &entry);
        if (simulation->setup.checks) {
            checks_after_entry(simulation, &entry);
        }
    }
    if (simulation->setup.checks && !simulation->violation.invariant &&
        simulation->setup.healing > 0) {
        checks_at_end(simulation);
    }
    billing_finish(simulation);
    for (size_t i = 0; i < simulation->controller_count; i++) {
        controller_clear(&simulation->controllers[i]);
    }
    arena_clear(&simulation->texts);
}

const struct violation *simulation_violation(const struct simulation *simulation)
{
    return &simulation->violation;
}

uint64_t simulation_trace_hash(const struct simulation *simulation)
{
    return simulation->hash;
}

uint64_t simulation_event_count(const struct simulation *simulation, enum event_kind kind)
{
    return simulation->events[kind];
}

const struct measure *simulation_measure(const struct simulation *simulation)
{
    return &simulation->measure;
}
