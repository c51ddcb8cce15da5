/* train_scene.h: a training job whose events come from a test. */
#pragma once

#include "core/train/job.h"

#include "unit.h"

#include <string.h>

enum { SECOND = 1000 }; /* in milliseconds */

struct train_scene {
    struct train_job job;
    struct train_actions actions; /* of the last event */
    int64_t now;
};

static inline void scene_step(struct train_scene *scene, struct train_event event)
{
    event.now = scene->now;
    train_job_step(&scene->job, &event, &scene->actions);
}

/* Of a checkpoint of the current generation. */
static inline int64_t scene_parts(const struct train_scene *scene)
{
    return scene->job.settings.is_sharded ? scene->job.world : 0;
}

static inline void scene_send(struct train_scene *scene, enum train_event_kind kind, uint32_t slot,
                              int64_t value)
{
    scene_step(scene,
               (struct train_event){.kind = kind,
                                    .slot = slot,
                                    .value = value,
                                    .parts = kind == TRAIN_CHECKPOINT ? scene_parts(scene) : 0,
                                    .generation = scene->job.generation});
}

/* The replica ends; code and signal as in a wait status. */
static inline void scene_return(struct train_scene *scene, uint32_t slot, int code, int signal,
                                int64_t checkpoint)
{
    scene_step(scene, (struct train_event){.kind = TRAIN_RETURNED,
                                           .slot = slot,
                                           .value = checkpoint,
                                           .parts = scene_parts(scene),
                                           .generation = scene->job.generation,
                                           .code = code,
                                           .signal = signal});
}

static inline void scene_tick(struct train_scene *scene, int64_t later)
{
    scene->now += later;
    scene_send(scene, TRAIN_TICK, 0, 0);
}

static inline int64_t scene_count(const struct train_scene *scene, enum train_action_kind kind)
{
    int64_t count = 0;
    for (size_t i = 0; i < scene->actions.count; i++) {
        count += scene->actions.items[i].kind == kind;
    }
    return count;
}

/* NULL if the last event did not cause it. */
static inline const struct train_action *scene_find(const struct train_scene *scene,
                                                    enum train_action_kind kind, uint32_t slot)
{
    for (size_t i = 0; i < scene->actions.count; i++) {
        if (scene->actions.items[i].kind == kind && scene->actions.items[i].slot == slot) {
            return &scene->actions.items[i];
        }
    }
    return NULL;
}

/* -1 if there is no such action. */
static inline int64_t scene_action_parts(const struct train_scene *scene,
                                         enum train_action_kind kind, uint32_t slot)
{
    const struct train_action *action = scene_find(scene, kind, slot);
    return action ? action->parts : -1;
}

/* TRAIN_CAUSE_COUNT if there is no such action. */
static inline enum train_cause scene_cause(const struct train_scene *scene,
                                           enum train_action_kind kind, uint32_t slot)
{
    const struct train_action *action = scene_find(scene, kind, slot);
    return action ? action->cause : TRAIN_CAUSE_COUNT;
}

static inline void scene_connect(struct train_scene *scene, uint32_t slot)
{
    scene_send(scene, TRAIN_CONNECTED, slot, 0);
}

static inline void scene_prepare(struct train_scene *scene, uint32_t slot)
{
    scene_connect(scene, slot);
    scene_send(scene, TRAIN_PREPARED, slot, 0);
}

static inline struct train_settings scene_settings(int64_t min, int64_t max)
{
    struct train_settings settings;
    train_settings_default(&settings);
    settings.min_replicas = min;
    settings.max_replicas = max;
    return settings;
}

static inline void scene_open(struct train_scene *scene, const struct train_settings *settings)
{
    memset(scene, 0, sizeof(*scene));
    scene->now = 1000;
    train_job_init(&scene->job, settings);
}

/* Slots 1 to `count` run the first generation, and have made a step. */
static inline void scene_run(struct train_scene *scene, const struct train_settings *settings,
                             uint32_t count)
{
    scene_open(scene, settings);
    scene_send(scene, TRAIN_TARGET, 0, count);
    scene_send(scene, TRAIN_ROOM, 0, count);
    for (uint32_t slot = 1; slot <= count; slot++) {
        scene_prepare(scene, slot);
    }
    assert_int_equal(scene_count(scene, TRAIN_START), count);
    assert_int_equal(scene->job.phase, TRAIN_RUNNING);
    scene_send(scene, TRAIN_STEPPED, 1, 1);
    scene_send(scene, TRAIN_TARGET, 0, settings->max_replicas);
    assert_int_equal(scene->actions.count, 0);
}
