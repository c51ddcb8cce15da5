/* sim_ray.h: a model of Ray: tasks that need CPUs, nodes that run them, drains. */
#pragma once

#include "base/rng.h"
#include "core/event.h"

enum { TASKS_MAX = 64 };

struct world;
struct sim_instance;

struct sim_task {
    int64_t cpus;
    int64_t run_ms;
    struct sim_instance *node; /* NULL while pending */
    int64_t ends_ms;
    bool is_done;
};

struct sim_ray {
    struct sim_task tasks[TASKS_MAX];
    size_t task_count;
    int64_t away_until_ms;
    struct rng rng;
};

void sim_ray_add_task(struct world *world, int64_t cpus, int64_t run_ms);
void sim_ray_step(struct world *world);
void sim_ray_lose(struct world *world, struct sim_instance *instance);
bool sim_ray_is_idle(const struct world *world);
enum drain_answer sim_ray_drain(struct world *world, struct sim_instance *instance,
                                bool is_rejectable);
int64_t sim_type_cpus(const struct world *world, size_t type);
int64_t sim_ray_free_cpus(const struct world *world, const struct sim_instance *node);
