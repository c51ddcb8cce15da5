/* core_scene.h: a small cluster and a core that is allowed to act, for tests of the step
 * function. */
#pragma once

#include "core/core.h"
#include "unit.h"

#include <string.h>

enum { SECOND = 1000, MINUTE = 60 * SECOND, HEAD = 1 };

/* One type of 4 CPUs in two zones, at most three workers, and a core that is allowed to act. */
struct scene {
    struct arena arena;
    struct arena scratch;
    struct names names;
    struct capacity capacity;
    struct capacity free;
    struct capacity full;
    struct plan_type type;
    struct offering offerings[2];
    struct core_settings settings;
    struct core *core;
    struct core_answer answer;
    struct amount amount;
    struct demand demand;
    int64_t now;
};

static inline void step(struct scene *scene, struct event event)
{
    event.at = scene->now;
    arena_clear(&scene->scratch);
    arena_init(&scene->scratch);
    core_step(scene->core, &event, &scene->scratch, &scene->answer);
}

static inline void lease(struct scene *scene, uint64_t epoch)
{
    step(scene, (struct event){.kind = EVENT_LEASE,
                               .lease = {.epoch = epoch, .until = scene->now + 600 * MINUTE}});
}

static inline void list(struct scene *scene, const struct listed *items, size_t count,
                        bool is_complete)
{
    step(scene, (struct event){.kind = EVENT_LISTING,
                               .listing = {.asked_at = scene->now,
                                           .is_complete = is_complete,
                                           .items = items,
                                           .count = count}});
}

/* A complete listing that shows one running instance. */
static inline void list_one(struct scene *scene, uint64_t instance, uint64_t launch)
{
    struct listed listed = {.instance = instance, .launch = launch, .state = CLOUD_RUNNING};
    list(scene, &listed, 1, true);
}

static inline void see_ray(struct scene *scene)
{
    step(scene, (struct event){.kind = EVENT_RAY_SEEN, .asked_at = scene->now});
}

static inline void see_all(struct scene *scene)
{
    see_ray(scene);
    list(scene, NULL, 0, true);
}

static inline void load(struct scene *scene, int64_t count)
{
    scene->demand.count = count;
    step(scene, (struct event){.kind = EVENT_RAY_LOAD,
                               .ray_load = {.demands = &scene->demand, .demand_count = 1}});
}

static inline void node(struct scene *scene, uint64_t instance, enum ray_status status,
                        int64_t idle_since)
{
    const struct capacity *capacity = idle_since == NOT_IDLE ? &scene->full : &scene->free;
    step(scene, (struct event){.kind = EVENT_RAY_NODE,
                               .ray_node = {.instance = instance,
                                            .status = status,
                                            .idle_since = idle_since,
                                            .capacities = capacity,
                                            .capacity_count = 1}});
}

static inline void tick(struct scene *scene)
{
    step(scene, (struct event){.kind = EVENT_TICK});
}

static inline void launch_reply(struct scene *scene, uint64_t launch, enum outcome outcome)
{
    step(scene, (struct event){.kind = EVENT_LAUNCH_REPLY,
                               .launch_reply = {.launch = launch, .outcome = outcome}});
}

static inline void launched(struct scene *scene, uint64_t launch, uint64_t instance)
{
    step(scene, (struct event){.kind = EVENT_LAUNCHED,
                               .launched = {.launch = launch, .instance = instance}});
}

static inline enum node_state state_of(struct scene *scene, uint64_t instance)
{
    const struct node *it = core_find(scene->core, instance);
    return it ? (enum node_state)it->state : NODE_GONE;
}

/* The only action of the last answer. */
static inline const struct action *only(struct scene *scene, enum action_kind kind)
{
    assert_int_equal(scene->answer.action_count, 1);
    assert_int_equal(scene->answer.actions[0].kind, kind);
    return &scene->answer.actions[0];
}

static inline void nothing(struct scene *scene)
{
    assert_int_equal(scene->answer.action_count, 0);
}

static inline void open_scene(struct scene *scene)
{
    *scene = (struct scene){.now = 1000 * SECOND};
    arena_init(&scene->arena);
    arena_init(&scene->scratch);
    intern_init(&scene->names, &scene->arena);
    uint32_t cpu = intern_add(&scene->names, STR("CPU"));
    scene->capacity = (struct capacity){cpu, 40000, 0};
    scene->free = (struct capacity){cpu, 40000, 40000};
    scene->full = (struct capacity){cpu, 40000, 0};
    scene->type = (struct plan_type){.name = STR("worker"),
                                     .max_nodes = 3,
                                     .capacities = &scene->capacity,
                                     .capacity_count = 1,
                                     .idle_timeout_ms = PLAN_NO_LIMIT,
                                     .launch_hash = NAME_NONE,
                                     .recoverable = 1.0,
                                     .availability = 1.0};
    scene->offerings[0] = (struct offering){.zone = intern_add(&scene->names, STR("a"))};
    scene->offerings[1] = (struct offering){.zone = intern_add(&scene->names, STR("b"))};
    scene->settings = (struct core_settings){.names = &scene->names,
                                             .types = &scene->type,
                                             .type_count = 1,
                                             .offerings = scene->offerings,
                                             .offering_count = 2,
                                             .max_workers = 3,
                                             .max_price = PLAN_NO_LIMIT,
                                             .idle_timeout = 5 * MINUTE,
                                             .upscaling_permille = PLAN_NO_LIMIT,
                                             .max_per_call = 100,
                                             .max_unavailable = PLAN_NO_LIMIT,
                                             .node_capacity = 16};
    core_times_default(&scene->settings.times);
    scene->amount = (struct amount){cpu, 40000};
    scene->demand = (struct demand){.request = {.amounts = &scene->amount, .amount_count = 1}};
    scene->core = core_new(&scene->settings, &scene->arena);
}

static inline void start(struct scene *scene)
{
    step(scene, (struct event){.kind = EVENT_START});
    lease(scene, 1);
    step(scene, (struct event){.kind = EVENT_RECORDS_END, .records = {.sole_writer_epoch = 1}});
    see_all(scene);
}

static inline void close_scene(struct scene *scene)
{
    arena_clear(&scene->arena);
    arena_clear(&scene->scratch);
}

/* Brings instance 7 of a new launch into Ray. */
static inline void bring_up(struct scene *scene)
{
    load(scene, 1);
    tick(scene);
    uint64_t launch = only(scene, ACTION_LAUNCH)->launch;
    launched(scene, launch, 7);
    launch_reply(scene, launch, OUTCOME_DONE);
    list_one(scene, 7, launch);
    tick(scene);
    only(scene, ACTION_SET_UP);
    node(scene, 7, RAY_ALIVE, NOT_IDLE);
    load(scene, 0);
    see_ray(scene);
}
