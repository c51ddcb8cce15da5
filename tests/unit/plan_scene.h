/* plan_scene.h: small hand-made clusters, for the tests of the planner. */
#pragma once

#include "core/plan.h"
#include "core/resource.h"
#include "unit.h"

enum { ROOM = 16 };

/* A cluster that is being built. */
struct scene {
    struct arena arena;
    struct names names;
    struct plan_input input;
    struct plan_type types[ROOM];
    struct plan_node nodes[ROOM];
    struct demand demands[ROOM];
    struct gang gangs[ROOM];
    struct plan plan;
};

static inline int setup(void **state)
{
    static struct scene scene;
    scene = (struct scene){0};
    arena_init(&scene.arena);
    intern_init(&scene.names, &scene.arena);
    scene.input = (struct plan_input){.names = &scene.names,
                                      .types = scene.types,
                                      .nodes = scene.nodes,
                                      .demands = scene.demands,
                                      .gangs = scene.gangs,
                                      .max_nodes = PLAN_NO_LIMIT,
                                      .idle_timeout_ms = PLAN_NO_LIMIT,
                                      .conserves_gpus = true};
    *state = &scene;
    return 0;
}

static inline int teardown(void **state)
{
    struct scene *scene = *state;
    arena_clear(&scene->arena);
    return 0;
}

/* CPU and GPU in units; a GPU amount below 0 means that it is not listed. */
static inline struct capacity *capacities(struct scene *scene, int64_t cpus, int64_t gpus)
{
    struct capacity *items = ARENA_ARRAY(&scene->arena, 2, struct capacity);
    items[0].name = intern_add(&scene->names, STR("CPU"));
    items[0].total = items[0].free = cpus * RESOURCE_UNIT;
    items[1].name = intern_add(&scene->names, STR("GPU"));
    items[1].total = items[1].free = gpus * RESOURCE_UNIT;
    return items;
}

static inline uint32_t add_type(struct scene *scene, const char *name, int64_t cpus, int64_t gpus)
{
    scene->types[scene->input.type_count] = (struct plan_type){
        .name = str_from(name),
        .max_nodes = 10,
        .capacities = capacities(scene, cpus, gpus),
        .capacity_count = gpus < 0 ? 1 : 2,
        .idle_timeout_ms = PLAN_NO_LIMIT,
        .launch_hash = NAME_NONE,
        .recoverable = 1.0,
        .availability = 1.0,
    };
    return (uint32_t)scene->input.type_count++;
}

static inline struct plan_node *add_running(struct scene *scene, uint32_t type, int64_t free_cpus)
{
    const struct plan_type *kind = &scene->types[type];
    struct capacity *items = capacities(
        scene, kind->capacities[0].total / RESOURCE_UNIT,
        kind->capacity_count > 1 ? kind->capacities[1].total / RESOURCE_UNIT : -1);
    items[0].free = free_cpus * RESOURCE_UNIT;
    struct plan_node *node = &scene->nodes[scene->input.node_count++];
    *node = (struct plan_node){.type = type,
                               .is_running = true,
                               .launch_hash = NAME_NONE,
                               .capacities = items,
                               .capacity_count = kind->capacity_count,
                               .labels = kind->labels};
    return node;
}

static inline struct request request(struct scene *scene, int64_t cpus, int64_t gpus)
{
    struct amount *amounts = ARENA_ARRAY(&scene->arena, 2, struct amount);
    amounts[0] = (struct amount){intern_add(&scene->names, STR("CPU")), cpus * RESOURCE_UNIT};
    amounts[1] = (struct amount){intern_add(&scene->names, STR("GPU")), gpus * RESOURCE_UNIT};
    return (struct request){.amounts = amounts, .amount_count = gpus < 0 ? 1 : 2};
}

static inline struct demand *add_demand(struct scene *scene, int64_t count, int64_t cpus,
                                        int64_t gpus)
{
    struct demand *demand = &scene->demands[scene->input.demand_count++];
    *demand = (struct demand){request(scene, cpus, gpus), count};
    return demand;
}

static inline void add_spread_gang(struct scene *scene, size_t count, int64_t cpus)
{
    struct request *requests = ARENA_ARRAY(&scene->arena, count, struct request);
    struct placement *apart = ARENA_NEW(&scene->arena, struct placement);
    apart->kind = PLACEMENT_ANTI_AFFINITY;
    apart->label.key = intern_add(&scene->names, STR("_PG_1"));
    apart->label.value = intern_add(&scene->names, STR(""));
    for (size_t i = 0; i < count; i++) {
        requests[i] = request(scene, cpus, -1);
        requests[i].placements = apart;
        requests[i].placement_count = 1;
    }
    scene->gangs[scene->input.gang_count++] = (struct gang){requests, count};
}

static inline const struct plan *decide(struct scene *scene)
{
    plan_decide(&scene->input, &scene->arena, &scene->plan);
    return &scene->plan;
}

/* Launches as "cpu=9 gpu=1". */
static inline struct str launches(struct scene *scene)
{
    struct str text = STR("");
    for (size_t i = 0; i < scene->plan.launch_count; i++) {
        const struct plan_launch *launch = &scene->plan.launches[i];
        text = arena_printf(&scene->arena, "%.*s%s%.*s=%lld", STR_ARG(text), i > 0 ? " " : "",
                            STR_ARG(scene->types[launch->type].name), (long long)launch->count);
    }
    return text;
}

#define PLAN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
