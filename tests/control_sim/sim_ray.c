/*
 * sim_ray.c: a small Ray: tasks that need CPUs, nodes that run them, drains.
 *
 * A raylet that was asked whether it is idle refuses the drain while tasks run. A drained raylet
 * takes no new tasks and exits a few seconds after its last one.
 */
#include "world.h"

enum { EXIT_MOST_MS = 5 * SECOND_MS };

int64_t sim_type_cpus(const struct world *world, size_t type)
{
    const struct plan_type *it = &world->core.settings.types[type];
    uint32_t cpu = intern_find(world->core.settings.names, STR("CPU"));
    for (size_t i = 0; i < it->capacity_count; i++) {
        if (it->capacities[i].name == cpu) {
            return it->capacities[i].total / 10000;
        }
    }
    return 0;
}

void sim_ray_add_task(struct world *world, int64_t cpus, int64_t run_ms)
{
    struct sim_ray *ray = &world->ray;
    if (ray->task_count < TASKS_MAX) {
        ray->tasks[ray->task_count++] = (struct sim_task){.cpus = cpus, .run_ms = run_ms};
        world_say(world, "ray", "a task of %lld CPUs is submitted", (long long)cpus);
    }
}

bool sim_ray_is_idle(const struct world *world)
{
    for (size_t i = 0; i < world->ray.task_count; i++) {
        if (!world->ray.tasks[i].is_done) {
            return false;
        }
    }
    return true;
}

static int64_t used_cpus(const struct world *world, const struct sim_instance *node)
{
    int64_t used = 0;
    for (size_t i = 0; i < world->ray.task_count; i++) {
        const struct sim_task *task = &world->ray.tasks[i];
        used += task->node == node && !task->is_done ? task->cpus : 0;
    }
    return used;
}

int64_t sim_ray_free_cpus(const struct world *world, const struct sim_instance *node)
{
    return sim_type_cpus(world, node->type) - used_cpus(world, node);
}

/* Its tasks are pending again. */
void sim_ray_lose(struct world *world, struct sim_instance *instance)
{
    for (size_t i = 0; i < world->ray.task_count; i++) {
        struct sim_task *task = &world->ray.tasks[i];
        if (task->node == instance && !task->is_done) {
            task->node = NULL;
        }
    }
    if (instance->is_in_ray) {
        instance->ray_dead_ms = world_now(world);
    }
    instance->is_in_ray = instance->is_draining = false;
    instance->has_accepted_idle_drain = false;
    instance->running = 0;
    instance->exits_ms = 0;
}

static void finish_tasks(struct world *world)
{
    int64_t now = world_now(world);
    for (size_t i = 0; i < world->ray.task_count; i++) {
        struct sim_task *task = &world->ray.tasks[i];
        if (task->node && !task->is_done && now >= task->ends_ms) {
            task->is_done = true;
            if (--task->node->running == 0) {
                task->node->idle_since_ms = now;
            }
        }
    }
}

static void place_task(struct world *world, struct sim_task *task)
{
    for (size_t i = 0; i < world->cloud.count; i++) {
        struct sim_instance *node = &world->cloud.instances[i];
        if (node->is_in_ray && !node->is_draining && !node->is_head &&
            sim_ray_free_cpus(world, node) >= task->cpus) {
            task->node = node;
            task->ends_ms = world_now(world) + task->run_ms;
            node->running++;
            return;
        }
    }
}

/* A node joins when its setup is done. */
static void join(struct world *world, struct sim_instance *instance)
{
    int64_t now = world_now(world);
    bool is_set_up = instance->setup_begun_ms > 0 &&
                     now >= instance->setup_begun_ms + instance->setup_ms;
    if (is_set_up && !instance->is_in_ray && instance->ray_dead_ms == 0 &&
        sim_instance_is_live(world, instance)) {
        instance->is_in_ray = true;
        instance->idle_since_ms = now;
        world_say(world, "ray", "%.*s joins", STR_ARG(instance->id));
    }
}

static void leave(struct world *world, struct sim_instance *instance)
{
    if (!instance->is_in_ray || !instance->is_draining || instance->running > 0) {
        return;
    }
    if (instance->exits_ms == 0) {
        instance->exits_ms = world_now(world) + rng_between(&world->ray.rng, 1, EXIT_MOST_MS);
    } else if (world_now(world) >= instance->exits_ms) {
        bool was_idle = instance->has_accepted_idle_drain;
        sim_ray_lose(world, instance);
        instance->has_accepted_idle_drain = was_idle;
        world_say(world, "ray", "%.*s has exited", STR_ARG(instance->id));
    }
}

void sim_ray_step(struct world *world)
{
    finish_tasks(world);
    for (size_t i = 0; i < world->cloud.count; i++) {
        join(world, &world->cloud.instances[i]);
        leave(world, &world->cloud.instances[i]);
    }
    for (size_t i = 0; i < world->ray.task_count; i++) {
        struct sim_task *task = &world->ray.tasks[i];
        if (!task->node && !task->is_done) {
            place_task(world, task);
        }
    }
}

enum drain_answer sim_ray_drain(struct world *world, struct sim_instance *instance,
                                bool is_rejectable)
{
    if (world_now(world) < world->ray.away_until_ms) {
        return DRAIN_UNKNOWN;
    }
    if (!instance->is_in_ray || (is_rejectable && instance->running > 0)) {
        return DRAIN_REFUSED;
    }
    instance->is_draining = true;
    instance->has_accepted_idle_drain = is_rejectable;
    bool is_lost = control_fault_strikes(&world->faults, FAULT_drain_lost, &world->ray.rng);
    world_say(world, "ray", "%.*s accepts a drain%s", STR_ARG(instance->id),
              is_lost ? "; the reply is lost" : "");
    return is_lost ? DRAIN_UNKNOWN : DRAIN_ACCEPTED;
}
