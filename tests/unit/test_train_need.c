/* test_train_need.c: how many replicas need room that Ray does not have. */
#include "core/train/need.h"

#include "train_scene.h"

static int64_t need_of(const struct train_scene *scene)
{
    return train_need(&scene->job, scene->now);
}

static void slots_that_exist_are_not_needed(void **state)
{
    struct train_settings settings = scene_settings(1, 3);
    static struct train_scene scene;
    (void)state;
    scene_open(&scene, &settings);
    scene_tick(&scene, 100);
    assert_int_equal(need_of(&scene), 3); /* no room yet */
    scene_send(&scene, TRAIN_ROOM, 0, 1);
    assert_int_equal(scene_count(&scene, TRAIN_SUBMIT), 1);
    assert_int_equal(need_of(&scene), 2); /* a submitted slot is pending in Ray */
    scene_connect(&scene, 1);
    assert_int_equal(need_of(&scene), 2); /* preparing */
    scene_send(&scene, TRAIN_PREPARED, 1, 0);
    assert_int_equal(scene.job.phase, TRAIN_RUNNING);
    assert_int_equal(need_of(&scene), 2);
    scene_send(&scene, TRAIN_ROOM, 0, 2);
    assert_int_equal(need_of(&scene), 0);
}

static void the_target_limits_the_need(void **state)
{
    struct train_settings settings = scene_settings(2, 8);
    static struct train_scene scene;
    (void)state;
    scene_open(&scene, &settings);
    scene_send(&scene, TRAIN_TARGET, 0, 5);
    assert_int_equal(need_of(&scene), 5);
    scene_send(&scene, TRAIN_TARGET, 0, 100);
    assert_int_equal(need_of(&scene), 8);
    scene_send(&scene, TRAIN_TARGET, 0, 1);
    assert_int_equal(need_of(&scene), 2);
    scene_send(&scene, TRAIN_ROOM, 0, 8);
    scene_send(&scene, TRAIN_TARGET, 0, 1);
    assert_int_equal(need_of(&scene), 0); /* never negative */
}

/* The replacement is requested while the old slot still trains, and not again when it leaves. */
static void a_draining_slot_is_missing(void **state)
{
    struct train_settings settings = scene_settings(1, 2);
    static struct train_scene scene;
    (void)state;
    scene_run(&scene, &settings, 2);
    assert_int_equal(need_of(&scene), 0);
    scene_send(&scene, TRAIN_NOTICE, 2, scene.now + 120 * SECOND);
    assert_int_equal(need_of(&scene), 1);
    scene_send(&scene, TRAIN_ROOM, 0, 1); /* the replacement has joined */
    assert_int_equal(need_of(&scene), 0);
    scene_send(&scene, TRAIN_LOST, 2, 0);
    assert_int_equal(need_of(&scene), 0);
}

static void a_draining_slot_that_is_lost_frees_no_room(void **state)
{
    struct train_settings settings = scene_settings(1, 2);
    static struct train_scene scene;
    (void)state;
    scene_run(&scene, &settings, 2);
    scene_send(&scene, TRAIN_NOTICE, 2, scene.now + 120 * SECOND);
    scene_send(&scene, TRAIN_LOST, 2, 0);
    assert_int_equal(need_of(&scene), 1);
}

/* Ray reports that a slot uses its departing node for some time after it has ended. */
static void a_slot_leaves_until_ray_knows_it(void **state)
{
    struct train_settings settings = scene_settings(1, 2);
    static struct train_scene scene;
    (void)state;
    scene_run(&scene, &settings, 2);
    scene_tick(&scene, 60 * SECOND);
    assert_int_equal(train_leaving(&scene.job, scene.now), 0);
    scene_send(&scene, TRAIN_NOTICE, 2, scene.now + 120 * SECOND);
    assert_int_equal(train_leaving(&scene.job, scene.now), 1);
    scene_send(&scene, TRAIN_LOST, 2, 0);
    assert_int_equal(train_leaving(&scene.job, scene.now), 1);
    assert_int_equal(train_leaving(&scene.job, scene.now + TRAIN_LEFT_MS - 1), 1);
    assert_int_equal(train_leaving(&scene.job, scene.now + TRAIN_LEFT_MS), 0);
    scene_send(&scene, TRAIN_NOTICE, 1, scene.now + 120 * SECOND);
    scene_send(&scene, TRAIN_LOST, 1, 0);
    assert_int_equal(train_leaving(&scene.job, scene.now), 2);
}

/* Ray reports the room of an ended slot as used for a while: no node is requested for it. */
static void the_room_of_an_ended_slot_counts_for_a_while(void **state)
{
    struct train_settings settings = scene_settings(1, 3);
    static struct train_scene scene;
    (void)state;
    scene_run(&scene, &settings, 3);
    scene_tick(&scene, 60 * SECOND);
    scene_send(&scene, TRAIN_LOST, 3, 0);
    assert_int_equal(need_of(&scene), 0);
    scene_tick(&scene, TRAIN_FREED_MS - 1);
    assert_int_equal(need_of(&scene), 0);
    scene_send(&scene, TRAIN_LOST, 2, 0); /* both within the time */
    assert_int_equal(need_of(&scene), 0);
    scene_tick(&scene, TRAIN_FREED_MS - 1);
    assert_int_equal(need_of(&scene), 0);
    scene_tick(&scene, 1);
    assert_int_equal(need_of(&scene), 2); /* it did not become free */
    scene_send(&scene, TRAIN_LOST, 1, 0); /* older ones are not counted again */
    assert_int_equal(need_of(&scene), 2);
}

static void a_new_slot_uses_the_room_of_an_ended_one(void **state)
{
    struct train_settings settings = scene_settings(1, 3);
    static struct train_scene scene;
    (void)state;
    scene_run(&scene, &settings, 2);
    assert_int_equal(need_of(&scene), 1);
    scene_tick(&scene, 60 * SECOND);
    scene_send(&scene, TRAIN_LOST, 2, 0);
    assert_int_equal(need_of(&scene), 1);
    scene_send(&scene, TRAIN_ROOM, 0, 1);
    assert_int_equal(scene_count(&scene, TRAIN_SUBMIT), 1);
    assert_int_equal(need_of(&scene), 1);
}

static void a_job_that_ends_needs_nothing(void **state)
{
    struct train_settings settings = scene_settings(1, 3);
    static struct train_scene scene;
    (void)state;
    scene_run(&scene, &settings, 1);
    assert_int_equal(need_of(&scene), 2);
    scene_send(&scene, TRAIN_STOP, 0, 0);
    assert_int_equal(need_of(&scene), 0);
    scene_run(&scene, &settings, 1);
    scene_return(&scene, 1, 0, 0, 0);
    assert_true(train_job_is_over(&scene.job));
    assert_int_equal(need_of(&scene), 0);
}

static void a_resumed_trainer_needs_what_it_needed(void **state)
{
    struct train_settings settings = scene_settings(1, 3);
    static struct train_scene scene;
    (void)state;
    scene_run(&scene, &settings, 2);
    assert_int_equal(need_of(&scene), 1);
    train_job_resume(&scene.job, scene.now);
    assert_int_equal(need_of(&scene), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_that_exist_are_not_needed),
        cmocka_unit_test(the_target_limits_the_need),
        cmocka_unit_test(a_draining_slot_is_missing),
        cmocka_unit_test(a_draining_slot_that_is_lost_frees_no_room),
        cmocka_unit_test(a_slot_leaves_until_ray_knows_it),
        cmocka_unit_test(the_room_of_an_ended_slot_counts_for_a_while),
        cmocka_unit_test(a_new_slot_uses_the_room_of_an_ended_one),
        cmocka_unit_test(a_job_that_ends_needs_nothing),
        cmocka_unit_test(a_resumed_trainer_needs_what_it_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
