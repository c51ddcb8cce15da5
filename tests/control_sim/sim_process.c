/*
 * sim_process.c: a process with a production controller: `up` on the laptop, or the service.
 *
 * It can be killed before and after each call and commit. The rest of the callback then has no
 * effect: calls are not sent, commits fail, hooks do nothing.
 */
#include "world.h"

enum { POLL_LEAST_MS = 500, POLL_MOST_MS = 5 * SECOND_MS };

/* What the service keeps about an instance. */
struct sim_report {
    bool is_reported;
    enum ray_status status;
    int64_t free_cpus, idle_since;
    struct capacity capacity;
    bool needs_set_up, has_contact;
    bool has_drain;
    enum drain_answer drain;
};

const char *sim_process_name(const struct sim_process *process)
{
    return process->role == ROLE_HEAD ? "head" : "laptop";
}

/* ---- deaths ---- */

bool sim_process_dies(struct sim_process *process)
{
    struct world *world = process->world;
    if (!process->is_dead && control_fault_strikes(&world->faults, FAULT_kill, &world->rng)) {
        process->is_dead = true;
        world_say(world, sim_process_name(process), "is killed here");
    }
    return process->is_dead;
}

void sim_process_kill(struct sim_process *process)
{
    if (process->is_alive && !process->is_dead) {
        process->is_dead = true;
        world_say(process->world, sim_process_name(process), "is killed");
    }
}

/* ---- hooks ---- */

static void on_started(void *context, const struct cluster_lease *lease)
{
    struct sim_process *process = context;
    process->has_started = !process->is_dead;
    world_say(process->world, sim_process_name(process), "has started, epoch %llu",
              (unsigned long long)lease->epoch);
}

static struct sim_instance *instance_of(struct sim_process *process,
                                        const struct managed_node *managed_node)
{
    return managed_node->machine ? sim_cloud_find(process->world, managed_node->machine->id) : NULL;
}

static void on_set_up(void *context, const struct managed_node *managed_node)
{
    struct sim_process *process = context;
    const struct sim_instance *instance = instance_of(process, managed_node);
    if (instance) {
        process->reports[instance->number].needs_set_up = true;
    }
}

static void on_trouble(void *context, const struct provider_answer *answer, struct str what)
{
    struct sim_process *process = context;
    (void)answer;
    world_say(process->world, sim_process_name(process), "warns: %.*s", STR_ARG(what));
}

static void on_lease_lost(void *context, const struct cluster_lease *lease, const struct err *why)
{
    struct sim_process *process = context;
    (void)why;
    world_say(process->world, sim_process_name(process), "lost the lease to %.*s",
              STR_ARG(lease ? lease->holder : STR("nobody")));
    process->stops_next = true;
}

static void on_drain(void *context, const struct managed_node *managed_node,
                     const struct action *action)
{
    struct sim_process *process = context;
    struct sim_instance *instance = instance_of(process, managed_node);
    if (process->is_dead) {
        return;
    }
    if (!instance) {
        controller_drained(process->controller, managed_node->instance, DRAIN_UNKNOWN);
        return;
    }
    struct sim_report *report = &process->reports[instance->number];
    report->has_drain = true;
    report->drain = sim_ray_drain(process->world, instance, action->is_rejectable);
}

static void note_end(struct sim_process *process, const struct action *action)
{
    struct managed_node managed_node;
    if (action->kind == ACTION_TERMINATE &&
        controller_find(process->controller, action->instance, &managed_node)) {
        struct sim_instance *instance = instance_of(process, &managed_node);
        if (instance) {
            instance->end_reason = action->reason.kind;
        }
    }
}

static void on_decided(void *context, const struct core_answer *core_answer)
{
    struct sim_process *process = context;
    struct world *world = process->world;
    for (size_t i = 0; i < core_answer->action_count; i++) {
        const struct action *action = &core_answer->actions[i];
        world_mix(world, (uint64_t)action->kind << 48 ^ action->instance << 16 ^ action->launch);
        note_end(process, action);
        if (world_is_traced(world)) {
            struct str text = action_text(action, &world->core.settings, &process->memory);
            world_say(world, sim_process_name(process), "decides: %.*s", STR_ARG(text));
        }
    }
}

/* ---- the state of Ray and of setups, by polling ---- */

static enum ray_status status_of(const struct sim_instance *instance)
{
    if (instance->is_head) {
        return RAY_ALIVE;
    }
    if (instance->is_in_ray) {
        return instance->is_draining ? RAY_DRAINING : RAY_ALIVE;
    }
    return instance->ray_dead_ms > 0 ? RAY_DEAD : RAY_ABSENT;
}

static void report_node(struct sim_process *process, const struct sim_instance *instance,
                        uint64_t number)
{
    struct world *world = process->world;
    struct sim_report *report = &process->reports[instance->number];
    enum ray_status status = status_of(instance);
    int64_t base = process->clocks.monotonic_base_ms;
    int64_t idle = instance->running > 0 ? NOT_IDLE : instance->idle_since_ms + base;
    int64_t free_cpus = instance->is_head ? 0 : sim_ray_free_cpus(world, instance);
    bool is_same = report->is_reported && report->status == status &&
                   report->free_cpus == free_cpus && report->idle_since == idle;
    if (is_same || (status == RAY_ABSENT && !report->is_reported)) {
        return;
    }
    report->is_reported = true;
    report->status = status;
    report->free_cpus = free_cpus;
    report->idle_since = idle;
    report->capacity = (struct capacity){intern_find(world->core.settings.names, STR("CPU")),
                                         sim_type_cpus(world, instance->type) * 10000,
                                         free_cpus * 10000};
    struct ray_node node = {.instance = number,
                            .status = status,
                            .idle_since = idle,
                            .capacities = &report->capacity,
                            .capacity_count = 1};
    controller_ray_node(process->controller, &node);
}

/* Pending tasks by size: 1, 2 or 4 CPUs. */
static void report_load(struct sim_process *process)
{
    struct world *world = process->world;
    struct demand *demands = ARENA_ARRAY(&process->memory, 3, struct demand);
    size_t count = 0;
    for (int64_t cpus = 1; cpus <= 4; cpus *= 2) {
        int64_t pending = 0;
        for (size_t i = 0; i < world->ray.task_count; i++) {
            const struct sim_task *task = &world->ray.tasks[i];
            pending += !task->node && !task->is_done && task->cpus == cpus;
        }
        if (pending > 0) {
            struct amount *amount = ARENA_NEW(&process->memory, struct amount);
            *amount = (struct amount){intern_find(world->core.settings.names, STR("CPU")),
                                      cpus * 10000};
            demands[count++] = (struct demand){{.amounts = amount, .amount_count = 1}, pending};
        }
    }
    bool is_same = process->demands && process->demand_count == count;
    for (size_t i = 0; is_same && i < count; i++) {
        is_same = process->demands[i].count == demands[i].count &&
                  process->demands[i].request.amounts->amount == demands[i].request.amounts->amount;
    }
    if (!is_same) {
        process->demands = demands;
        process->demand_count = count;
        controller_ray_load(process->controller,
                            &(struct ray_load){.demands = demands, .demand_count = count});
    }
}

static void poll_setup(struct sim_process *process, struct sim_instance *instance, uint64_t number)
{
    struct sim_report *report = &process->reports[instance->number];
    int64_t now = world_now(process->world);
    if (!report->needs_set_up || now < instance->ssh_ms ||
        sim_instance_state(instance, now) != MACHINE_RUNNING) {
        return;
    }
    /* A machine that was stopped and started has lost the connection: its setup begins again. */
    if (!report->has_contact || instance->setup_begun_ms == 0) {
        report->has_contact = true;
        instance->setup_begun_ms = instance->setup_begun_ms > 0 ? instance->setup_begun_ms : now;
        controller_set_up(process->controller, number, SETUP_CONTACT, false);
        controller_tag(process->controller, number, STR("ray-node-status"), STR("setting-up"),
                       true);
    }
    if (now >= instance->setup_begun_ms + instance->setup_ms) {
        report->needs_set_up = report->has_contact = false;
        controller_set_up(process->controller, number, SETUP_DONE, false);
        controller_tag(process->controller, number, STR("ray-node-status"), STR("up-to-date"),
                       false);
    }
}

static void poll_node(struct sim_process *process, struct sim_instance *instance, bool sees_ray)
{
    uint64_t number = controller_instance_of(process->controller, instance->id);
    struct sim_report *report = &process->reports[instance->number];
    if (number == INSTANCE_NONE || (instance->is_head && instance != process->world->head)) {
        return;
    }
    if (report->has_drain) {
        report->has_drain = false;
        controller_drained(process->controller, number, report->drain);
    }
    if (!instance->is_head) {
        poll_setup(process, instance, number);
    }
    if (sees_ray) {
        report_node(process, instance, number);
    }
}

static void on_poll(void *context)
{
    struct sim_process *process = context;
    struct world *world = process->world;
    bool sees_ray = world_now(world) >= world->ray.away_until_ms;
    loop_timer_start(process->poll, rng_between(&world->rng, POLL_LEAST_MS, POLL_MOST_MS));
    if (!process->has_started || process->is_dead || process->stops_next) {
        return;
    }
    for (size_t i = 0; i < world->cloud.count; i++) {
        poll_node(process, &world->cloud.instances[i], sees_ray);
    }
    if (sees_ray) {
        report_load(process);
        controller_ray_seen(process->controller, loop_now_ms(process->session.loop));
    }
}

/* ---- start and end ---- */

static void open_loop(struct sim_process *process)
{
    struct world *world = process->world;
    if (process->starts == 1 || control_fault_strikes(&world->faults, FAULT_reboot, &world->rng)) {
        process->clocks.boot++;
        process->clocks.wall_base_ms = process->boot_wall_ms;
        process->clocks.monotonic_base_ms = rng_between(&world->rng, 1000, 10 * MINUTE_MS) -
                                            (process->starts == 1 ? 0 : world_now(world));
    }
    process->session = (struct cloud_session){
        .loop = virtual_loop_new(&world->time, &process->clocks)};
    arena_init(&process->session.memory);
    virtual_loop_enter(process->session.loop);
}

static void open_controller(struct sim_process *process)
{
    struct world *world = process->world;
    bool is_head = process->role == ROLE_HEAD;
    struct controller_setup setup = {.session = &process->session,
                                     .provider = process->provider,
                                     .journal = process->journal,
                                     .config = world->config,
                                     .core = &world->core,
                                     .holder = process->holder,
                                     .secret = STR("0123456789abcdef0123456789abcdef"),
                                     .public_key = is_head ? STR("") : STR("ssh-ed25519 AAAA"),
                                     .is_surveyed = !is_head,
                                     .fails_if_held = !is_head,
                                     .keeps_stopped = world->keeps_stopped,
                                     .goal = world->goal,
                                     .hooks = {.context = process,
                                               .started = on_started,
                                               .set_up = is_head ? on_set_up : NULL,
                                               .trouble = on_trouble,
                                               .lease_lost = on_lease_lost,
                                               .drain = is_head ? on_drain : NULL,
                                               .decided = on_decided}};
    if (is_head && !sim_handover_take(process, &setup)) {
        process->is_dead = true; /* the supervisor starts it again */
        return;
    }
    process->controller = controller_open(&setup);
    if (is_head) {
        process->poll = loop_timer_new(process->session.loop, on_poll, process);
        loop_timer_start(process->poll, POLL_LEAST_MS);
    }
}

void sim_process_start(struct sim_process *process)
{
    struct world *world = process->world;
    process->starts++;
    process->is_alive = true;
    process->is_dead = process->has_started = process->stops_next = false;
    arena_init(&process->memory);
    process->holder = arena_printf(&process->memory, "%s pid %u", sim_process_name(process),
                                   process->starts);
    process->reports = ARENA_ARRAY(&process->memory, INSTANCES_MAX, struct sim_report);
    process->demands = NULL;
    process->controller = NULL;
    process->poll = NULL;
    world_say(world, sim_process_name(process), "starts with journal %u", process->folder_number);
    open_loop(process);
    process->provider = sim_provider_new(process);
    if (sim_journal_open(process)) {
        open_controller(process);
    } else {
        process->is_dead = true; /* its disk is full */
    }
}

void sim_process_reap(struct sim_process *process)
{
    if (!process->is_alive || (!process->is_dead && !process->stops_next)) {
        return;
    }
    virtual_loop_enter(process->session.loop);
    if (process->controller) {
        controller_close(process->controller);
    }
    process->controller = NULL;
    process->provider->ops->close(process->provider);
    journal_close(process->journal);
    loop_close(process->session.loop);
    arena_clear(&process->session.memory);
    arena_clear(&process->memory);
    process->is_alive = process->has_started = false;
}
