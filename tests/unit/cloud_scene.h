/*
 * cloud_scene.h: an empty cloud with a few offerings, for the tests of the cloud.
 *
 * The scene starts without faults; a test enables the faults that it needs and then starts it.
 */
#pragma once

#include "sim/cloud.h"
#include "unit.h"

/* Offerings of the scene. */
enum { HERE, ELSEWHERE, HERE_SPOT, HERE_OTHER, OFFERING_COUNT };

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

struct scene {
    struct arena arena;
    struct event_queue event_queue;
    struct faults faults;
    struct cloud cloud;
    struct offering offerings[OFFERING_COUNT];
    size_t seen[EVENT_QUEUE_KIND_COUNT]; /* entries that were not superseded */
};

static inline int scene_setup(void **state)
{
    static struct scene scene;
    scene = (struct scene){.offerings = {[HERE] = {.type = 0, .zone = 1},
                                         [ELSEWHERE] = {.type = 0, .zone = 2},
                                         [HERE_SPOT] = {.type = 0, .zone = 1, MARKET_SPOT},
                                         [HERE_OTHER] = {.type = 1, .zone = 1}}};
    arena_init(&scene.arena);
    event_queue_init(&scene.event_queue, &scene.arena);
    faults_from_profile(&scene.faults, FAULTS_NONE);
    *state = &scene;
    return 0;
}

static inline int scene_teardown(void **state)
{
    struct scene *scene = *state;
    arena_clear(&scene->arena);
    return 0;
}

static inline void begin(struct scene *scene, uint64_t seed)
{
    cloud_init(&scene->cloud, &scene->event_queue, &scene->faults, scene->offerings, OFFERING_COUNT,
               seed, &scene->arena);
}

static inline void switch_on(struct scene *scene, enum fault fault, int64_t chance)
{
    scene->faults.is_on[fault] = true;
    scene->faults.chance[fault] = chance;
}

static inline void switch_on_by_time(struct scene *scene, enum fault fault, int64_t span,
                                     int64_t length)
{
    scene->faults.is_on[fault] = true;
    scene->faults.span[fault] = span;
    scene->faults.length[fault] = length;
}

/* One entry; false for the one that run_until() added. */
static inline bool step(struct scene *scene, struct event_queue_entry *ret_entry)
{
    assert_true(event_queue_next(&scene->event_queue, ret_entry));
    if (ret_entry->kind == EVENT_QUEUE_END) {
        return false;
    }
    scene->seen[ret_entry->kind] += cloud_on(&scene->cloud, ret_entry);
    return true;
}

static inline void run_until(struct scene *scene, int64_t at)
{
    struct event_queue_entry entry;
    event_queue_add(&scene->event_queue, at, EVENT_QUEUE_END, 0, 0, 0);
    while (step(scene, &entry)) {
    }
}

static inline void run_for(struct scene *scene, int64_t span)
{
    run_until(scene, scene->event_queue.now + span);
}

/* Sends the call and waits for its answer, which is not freed. */
static inline const struct cloud_call *ask(struct scene *scene, const struct cloud_call *call)
{
    struct event_queue_entry entry;
    uint64_t number = cloud_send(&scene->cloud, call);
    do {
        assert_true(step(scene, &entry));
    } while (entry.kind != EVENT_QUEUE_CALL_REPLY || entry.what != number);
    return cloud_call(&scene->cloud, number);
}

static inline const struct cloud_call *launch(struct scene *scene, uint64_t token,
                                              uint32_t offering, int64_t count)
{
    return ask(scene,
               &(struct cloud_call){
                   .verb = CLOUD_LAUNCH, .launch = token, .offering = offering, .count = count});
}

static inline uint64_t launch_one(struct scene *scene, uint64_t token, uint32_t offering)
{
    const struct cloud_call *call = launch(scene, token, offering, 1);
    assert_int_equal(call->outcome, OUTCOME_DONE);
    assert_int_equal(call->instance_count, 1);
    return call->instances[0];
}

static inline const struct cloud_call *terminate(struct scene *scene, uint64_t instance)
{
    return ask(scene, &(struct cloud_call){.verb = CLOUD_TERMINATE, .instance = instance});
}

static inline const struct cloud_call *list(struct scene *scene)
{
    return ask(scene, &(struct cloud_call){.verb = CLOUD_LIST});
}

/* Its line in the listing; with INSTANCE_NONE if there is none. */
static inline struct cloud_listed line_of(const struct cloud_call *call, uint64_t instance)
{
    for (size_t i = 0; i < call->listed_count; i++) {
        if (call->listed[i].instance == instance) {
            return call->listed[i];
        }
    }
    return (struct cloud_listed){.instance = INSTANCE_NONE};
}

static inline bool is_listed(const struct cloud_call *call, uint64_t instance)
{
    return line_of(call, instance).instance == instance;
}

#define assert_listed(call, id, expected) check_listed(call, id, expected, __FILE__, __LINE__)

static inline void check_listed(const struct cloud_call *call, uint64_t instance,
                                enum cloud_state expected, const char *file, int line)
{
    struct cloud_listed listed = line_of(call, instance);
    _assert_int_equal(listed.instance, instance, file, line);
    _assert_int_equal((unsigned)listed.state, (unsigned)expected, file, line);
}

static inline const struct instance *get(const struct scene *scene, uint64_t id)
{
    const struct instance *instance = cloud_instance(&scene->cloud, id);
    assert_non_null(instance);
    return instance;
}

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, scene_setup, scene_teardown)
