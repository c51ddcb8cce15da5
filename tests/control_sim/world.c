/* world.c: users, faults and restarts. A run ends when the goal is reached without faults. */
#include "world.h"

#include "app/control/launch_request.h"
#include "base/panic.h"
#include "config/document/yaml_read.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    TICK_MS = SECOND_MS,
    CHAOS_LEAST_MS = 3 * MINUTE_MS,
    CHAOS_MOST_MS = 20 * MINUTE_MS,
    HEALING_MS = 90 * MINUTE_MS,
    QUIET_MS = 90 * SECOND_MS, /* the goal must stay reached for this time */
    STEPS_MAX = 2000000,
    MINUTE_STEPS_MAX = 3000, /* more callbacks per minute are a busy loop */
};

/* ---- the trace ---- */

bool world_is_traced(const struct world *world)
{
    return world->setup->on_line != NULL;
}

void world_say(struct world *world, const char *who, const char *fmt, ...)
{
    char text[400];
    char line[480];
    va_list args;
    if (!world_is_traced(world)) {
        return;
    }
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    snprintf(line, sizeof(line), "%lld.%03lld %s: %s", (long long)(world_now(world) / 1000),
             (long long)(world_now(world) % 1000), who, text);
    world->setup->on_line(world->setup->context, line);
}

void world_mix(struct world *world, uint64_t value)
{
    world->hash = (world->hash ^ value ^ (uint64_t)world_now(world) << 20) * 0x100000001b3u;
    world->hash ^= world->hash >> 29;
}

/* ---- files ---- */

#define TYPE(name, least, most, machine, cpus, more)                                           \
    "  " name ": {min_workers: " least ", max_workers: " most ", resources: {CPU: " cpus "}, " \
    "node_config: {InstanceType: " machine more "}}\n"
#define FILE_OF(most, types)                                                  \
    "cluster_name: demo\nprovider: {type: aws, region: us-west-2, "           \
    "availability_zone: \"us-west-2a,us-west-2b\"}\n"                         \
    "auth: {ssh_user: ubuntu}\nmax_workers: " most "\nhead_node_type: head\n" \
    "available_node_types:\n"                                                 \
    "  head: {node_config: {InstanceType: m5.large}, resources: {CPU: 0}}\n" types

static const char *const yamls[] = {
    FILE_OF("4", TYPE("small", "2", "2", "m5.large", "2", "")
                     TYPE("large", "1", "2", "m5.xlarge", "4", "")),
    FILE_OF("5", TYPE("small", "0", "5", "m5.large", "2", "")
                     TYPE("spot", "1", "3", "m5.xlarge", "4",
                          ", InstanceMarketOptions: {MarketType: spot}")),
    FILE_OF("3", TYPE("large", "0", "3", "m5.xlarge", "4", "")),
};

static struct world_file files[ARRAY_LEN(yamls)];

void world_files_open(void)
{
    static struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(yamls); i++) {
        struct source *source = ARENA_NEW(&arena, struct source);
        struct diag_list diags;
        struct err err;
        source->name = STR("sim.yaml");
        source->text = str_from(yamls[i]);
        diag_list_init(&diags, &arena);
        const struct value *tree = config_parse(&arena, source, &diags);
        if (!tree) {
            panic("the file of world %zu is invalid", i);
        }
        files[i].config = config_type(&arena, tree);
        if (!core_setup_make(&arena, files[i].config, NULL, &diags, &files[i].core, &err)) {
            panic("the file of world %zu is invalid: %s", i, err.text);
        }
    }
    sim_journals_init();
}

/* ---- users ---- */

/* `up` launches the head once it may. The launch itself is not simulated. */
static void launch_head(struct world *world, struct sim_process *laptop)
{
    struct arena arena;
    if (!controller_may_launch(laptop->controller) || laptop->is_dead) {
        return;
    }
    uint64_t epoch = controller_lease(laptop->controller)->epoch;
    world->head = sim_cloud_add(world, world->core.settings.head_type, true);
    sim_instance_tag_launch(world, world->head, HEAD_LAUNCH(epoch, 0));
    arena_init(&arena);
    struct machine machine = sim_cloud_machine(world, world->head, world_now(world), &arena);
    controller_learn(laptop->controller, &machine, 1);
    arena_clear(&arena);
    world_say(world, "laptop", "launches the head, %.*s", STR_ARG(world->head->id));
}

/* A head that is not set up yet may lose to a second one: a laptop without the journal cannot know
 * which of them was there first. */
static struct sim_instance *head_in_use(struct world *world)
{
    if (world->head && sim_instance_is_live(world, world->head)) {
        return world->head;
    }
    for (size_t i = 0; i < world->cloud.count; i++) {
        struct sim_instance *instance = &world->cloud.instances[i];
        if (instance->is_head && sim_instance_is_live(world, instance)) {
            return instance;
        }
    }
    return NULL;
}

/* A deleted cluster is not handed over. */
static void advance_laptop(struct world *world)
{
    struct sim_process *laptop = &world->processes[ROLE_LAPTOP];
    int64_t now = world_now(world);
    if (!laptop->is_alive || !laptop->has_started || laptop->stops_next || laptop->is_dead ||
        virtual_loop_is_suspended(laptop->session.loop) ||
        (world->goal == GOAL_DOWN && laptop->exits_ms == 0)) {
        return;
    }
    virtual_loop_enter(laptop->session.loop);
    if (laptop->exits_ms > 0) {
        laptop->stops_next = now >= laptop->exits_ms;
    } else if (!world->head) {
        launch_head(world, laptop);
    } else if (laptop->handover_ms == 0) {
        laptop->handover_ms = now + rng_between(&world->rng, SECOND_MS, 60 * SECOND_MS);
    } else if (now >= laptop->handover_ms) {
        sim_handover_send(laptop, &world->processes[ROLE_HEAD]);
    }
}

static bool is_up_needed(const struct world *world)
{
    const struct sim_process *head = &world->processes[ROLE_HEAD];
    return head->handover.len == 0 || !world->cloud.lease.exists;
}

/* A laptop without the journal of the cluster: another machine, or a deleted folder. */
static void new_journal(struct world *world, struct sim_process *process)
{
    process->folder_number = world->folder_count++;
    process->folder = arena_printf(&world->memory, "%s/%u", world->setup->folder,
                                   process->folder_number);
    world->kept[process->folder_number] = sim_journal_keep(process->folder);
}

static void start_laptop(struct world *world)
{
    struct sim_process *laptop = &world->processes[ROLE_LAPTOP];
    if (laptop->starts == 0 ||
        (!world->is_healing && world->folder_count < FOLDERS_MAX && world->head &&
         world->faults.is_on[FAULT_up_again] && rng_chance(&world->rng, 200))) {
        new_journal(world, laptop);
    }
    laptop->handover_ms = laptop->exits_ms = 0;
    sim_process_start(laptop);
}

static void start_processes(struct world *world)
{
    struct sim_process *laptop = &world->processes[ROLE_LAPTOP];
    struct sim_process *head = &world->processes[ROLE_HEAD];
    int64_t now = world_now(world);
    if (!laptop->is_alive && now >= world->next_up_ms) {
        bool is_needed = is_up_needed(world) || world->wants_up;
        world->next_up_ms = now + rng_between(&world->rng, 5 * SECOND_MS, 60 * SECOND_MS);
        world->wants_up = false;
        if (is_needed) {
            start_laptop(world);
        }
    }
    if (!head->is_alive && head->handover.len > 0 && now >= world->next_head_ms) {
        world->next_head_ms = now + rng_between(&world->rng, SECOND_MS, 15 * SECOND_MS);
        sim_process_start(head);
    }
}

static void set_goal(struct world *world, enum goal goal)
{
    world->goal = goal;
    world_say(world, "user", goal == GOAL_DOWN ? "wants the cluster down" : "wants the cluster up");
    for (size_t i = 0; i < PROCESSES; i++) {
        struct sim_process *process = &world->processes[i];
        bool has_handed_over = process->exits_ms > 0;
        if (process->is_alive && process->controller && !process->stops_next && !has_handed_over) {
            virtual_loop_enter(process->session.loop);
            controller_set_goal(process->controller, goal);
        }
    }
}

static void follow_user(struct world *world)
{
    int64_t now = world_now(world);
    if (world->down_ms > 0 && now >= world->down_ms) {
        world->down_ms = 0;
        set_goal(world, GOAL_DOWN);
    }
    if (world->up_ms > 0 && now >= world->up_ms) {
        world->up_ms = 0;
        set_goal(world, GOAL_RUN);
    }
    if (!world->is_healing && world->goal == GOAL_RUN && rng_chance(&world->rng, 15)) {
        int64_t cpus = INT64_C(1) << rng_below(&world->rng, 3);
        int64_t run_ms = rng_between(&world->rng, SECOND_MS, 3 * MINUTE_MS);
        for (int64_t i = rng_between(&world->rng, 1, 4); i > 0; i--) {
            sim_ray_add_task(world, cpus, run_ms);
        }
    }
}

/* ---- faults that occur by time ---- */

static void kill_process(struct world *world, struct sim_process *process)
{
    (void)world;
    sim_process_kill(process);
}

static void suspend(struct world *world, struct sim_process *process)
{
    int64_t length = rng_between(&world->rng, SECOND_MS, 4 * MINUTE_MS);
    if (process->is_alive) {
        virtual_loop_suspend(process->session.loop, world_now(world) + length);
        world_say(world, sim_process_name(process), "is suspended for %lld ms", (long long)length);
    }
}

static int64_t soon(struct world *world)
{
    return world_now(world) + rng_between(&world->rng, SECOND_MS, 60 * SECOND_MS);
}

static void fill_disk(struct world *world, struct sim_process *process)
{
    process->full_until_ms = soon(world);
    world_say(world, sim_process_name(process), "its disk is full");
}

static void delete_lease(struct world *world, struct sim_process *process)
{
    (void)process;
    if (world->cloud.lease.exists) {
        world->cloud.lease.exists = false;
        world->cloud.lease.disturbed_ms = world_now(world);
        world_say(world, "user", "deletes the lease object");
    }
}

static void run_up(struct world *world, struct sim_process *process)
{
    (void)process;
    world->wants_up = true;
}

static void jump_wall(struct world *world, struct sim_process *process)
{
    int64_t shift = rng_between(&world->rng, -60 * MINUTE_MS, 60 * MINUTE_MS);
    process->clocks.wall_base_ms += shift;
    if (process->is_alive) {
        virtual_loop_shift_wall(process->session.loop, shift);
    }
}

static void end_by_hand(struct world *world, struct sim_process *process)
{
    int64_t count = (int64_t)world->cloud.count;
    struct sim_instance *instance = &world->cloud.instances[rng_below(&world->rng, count)];
    (void)process;
    if (count > 0 && !instance->is_head && sim_instance_is_live(world, instance)) {
        world_say(world, "user", "terminates %.*s", STR_ARG(instance->id));
        sim_instance_end(world, instance);
    }
}

static void stop_gcs(struct world *world, struct sim_process *process)
{
    (void)process;
    world->ray.away_until_ms = soon(world);
}

static void add_second_head(struct world *world, struct sim_process *process)
{
    (void)process;
    if (world->head) {
        struct sim_instance *head = sim_cloud_add(world, world->core.settings.head_type, true);
        world_say(world, "cloud", "a second head appears: %.*s", STR_ARG(head->id));
    }
}

/* The faults that occur by time; some need a process. */
typedef void strike_fn(struct world *world, struct sim_process *process);
static strike_fn *const strikes[CONTROL_FAULT_COUNT] = {[FAULT_kill] = kill_process,
                                                        [FAULT_suspend] = suspend,
                                                        [FAULT_disk_full] = fill_disk,
                                                        [FAULT_lease_deleted] = delete_lease,
                                                        [FAULT_up_again] = run_up,
                                                        [FAULT_wall_jump] = jump_wall,
                                                        [FAULT_hand] = end_by_hand,
                                                        [FAULT_gcs_away] = stop_gcs,
                                                        [FAULT_second_head] = add_second_head};

static void plan_fault(struct world *world, enum control_fault fault)
{
    int64_t span = world->faults.span_ms[fault];
    world->next_fault_ms[fault] = span > 0
                                      ? world_now(world) + rng_between(&world->rng, 1, 2 * span)
                                      : INT64_MAX;
}

static void strike_due(struct world *world)
{
    for (int i = 0; i < CONTROL_FAULT_COUNT; i++) {
        if (world_now(world) >= world->next_fault_ms[i]) {
            plan_fault(world, (enum control_fault)i);
            struct sim_process *process = &world->processes[rng_below(&world->rng, PROCESSES)];
            if (world->faults.is_on[i] && strikes[i]) {
                strikes[i](world, process);
            }
        }
    }
}

/* ---- the run ---- */

static void heal(struct world *world)
{
    world->is_healing = true;
    control_faults_stop(&world->faults);
    world->ray.away_until_ms = 0;
    for (size_t i = 0; i < PROCESSES; i++) {
        world->processes[i].full_until_ms = 0;
    }
    world_say(world, "world", "the faults stop");
}

static void watch_goal(struct world *world)
{
    char why[256];
    int64_t now = world_now(world);
    if (!world->is_healing || world->down_ms > 0 || world->up_ms > 0) {
        return;
    }
    if (!checks_are_reached(world, why)) {
        world->quiet_since_ms = 0;
        if (now >= world->heals_ms + HEALING_MS) {
            world_violate(world, "I13", "%s", why);
        }
    } else if (world->quiet_since_ms == 0) {
        world->quiet_since_ms = now;
    } else if (now >= world->quiet_since_ms + QUIET_MS) {
        world->is_over = true;
    }
}

static void on_tick(void *context)
{
    struct world *world = context;
    loop_timer_start(world->tick, TICK_MS);
    if (!world->is_healing && world_now(world) >= world->heals_ms) {
        heal(world);
    }
    follow_user(world);
    strike_due(world);
    sim_ray_step(world);
    start_processes(world);
    world->head = head_in_use(world);
    advance_laptop(world);
    watch_goal(world);
}

static void draw_world(struct world *world)
{
    struct rng *rng = &world->rng;
    const struct world_file *file = &files[rng_below(rng, ARRAY_LEN(files))];
    world->config = file->config;
    world->core = file->core;
    world->core.settings.seed = rng_next(rng);
    world->core.settings.idle_timeout = rng_between(rng, 10, 90) * SECOND_MS;
    world->core.settings.node_capacity = INSTANCES_MAX;
    world->heals_ms = rng_between(rng, CHAOS_LEAST_MS, CHAOS_MOST_MS);
    world->keeps_stopped = rng_chance(rng, 300);
    if (rng_chance(rng, 400)) {
        world->down_ms = rng_between(rng, 10 * SECOND_MS, world->heals_ms);
        world->up_ms = rng_chance(rng, 500)
                           ? world->down_ms + rng_between(rng, SECOND_MS, 5 * MINUTE_MS)
                           : 0;
    }
    control_faults_draw(&world->faults, rng);
    for (int i = 0; i < CONTROL_FAULT_COUNT; i++) {
        world->faults.is_on[i] = world->faults.is_on[i] && !world->setup->without[i];
        plan_fault(world, (enum control_fault)i);
    }
}

static void open_world(struct world *world, const struct world_setup *setup)
{
    struct virtual_clocks clocks = {.boot = 1};
    memset(world, 0, sizeof(*world));
    world->setup = setup;
    arena_init(&world->memory);
    world->rng.state = setup->seed;
    world->time.rng.state = rng_next(&world->rng);
    world->cloud.rng.state = rng_next(&world->rng);
    world->ray.rng.state = rng_next(&world->rng);
    world->loop = virtual_loop_new(&world->time, &clocks);
    world->tick = loop_timer_new(world->loop, on_tick, world);
    draw_world(world);
    for (size_t i = 0; i < PROCESSES; i++) {
        struct sim_process *process = &world->processes[i];
        process->world = world;
        process->role = (enum sim_role)i;
        process->boot_wall_ms = INT64_C(1795000000000) +
                                rng_between(&world->rng, -60 * MINUTE_MS, 60 * MINUTE_MS);
        process->clocks.boot = 100 * (uint32_t)(i + 1);
    }
    new_journal(world, &world->processes[ROLE_HEAD]);
    loop_timer_start(world->tick, 0);
}

static void close_world(struct world *world)
{
    for (size_t i = 0; i < PROCESSES; i++) {
        world->processes[i].stops_next = true;
        sim_process_reap(&world->processes[i]);
    }
    sim_provider_free_calls(world);
    loop_close(world->loop);
    for (uint32_t i = 0; i < world->folder_count; i++) {
        sim_journal_drop(world->kept[i]);
    }
    arena_clear(&world->memory);
}

static void count_step(struct world *world)
{
    int64_t minute = world_now(world) / MINUTE_MS;
    if (minute != world->minute) {
        world->minute = minute;
        world->minute_steps = world->steps;
    }
    if (++world->steps - world->minute_steps > MINUTE_STEPS_MAX) {
        world_violate(world, "I10", "more than %d callbacks in a minute", MINUTE_STEPS_MAX);
    }
}

void world_run(struct world *world, const struct world_setup *setup)
{
    open_world(world, setup);
    while (!world->invariant && !world->is_over && world->steps < STEPS_MAX) {
        count_step(world);
        if (!virtual_time_step(&world->time, INT64_MAX - 1)) {
            break;
        }
        for (size_t i = 0; i < PROCESSES; i++) {
            sim_process_reap(&world->processes[i]);
        }
    }
    if (!world->invariant && !world->is_over) {
        world_violate(world, "I10", "the run did not end after %d steps", STEPS_MAX);
    }
    world_mix(world, world->steps);
    close_world(world);
}
