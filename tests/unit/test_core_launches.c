/* test_core_launches.c: workers of a head that failed, and instances that are known before their
 * launch is answered. */
#include "core_scene.h"

/* ---- a head that failed ---- */

static void head_is(struct scene *scene, enum head_state state)
{
    step(scene, (struct event){.kind = EVENT_HEAD, .head = state});
}

static void test_a_failed_head_gets_no_workers(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    uint64_t launch = only(&scene, ACTION_LAUNCH)->launch;
    launch_reply(&scene, launch, OUTCOME_UNKNOWN);
    head_is(&scene, HEAD_FAILED);
    load(&scene, 3);
    scene.now += 5 * SECOND;
    tick(&scene);
    nothing(&scene); /* not even the same launch again */
    assert_int_equal(scene.answer.launching, PERMIT_HEAD_FAILED);
    head_is(&scene, HEAD_UP);
    tick(&scene);
    assert_true(scene.answer.action_count > 0);
    assert_int_equal(scene.answer.actions[0].launch, launch);
    close_scene(&scene);
}

/* One worker whose setup fails with these news, while Ray on the head never answers. */
static void fail_without_ray(struct scene *scene, enum setup_news news, bool is_unused)
{
    open_scene(scene);
    scene->type.min_nodes = 1;
    scene->core = core_new(&scene->settings, &scene->arena);
    step(scene, (struct event){.kind = EVENT_START});
    lease(scene, 1);
    step(scene, (struct event){.kind = EVENT_RECORDS_END, .records = {.sole_writer_epoch = 1}});
    list(scene, NULL, 0, true);
    head_is(scene, HEAD_SETTING_UP);
    tick(scene);
    uint64_t launch = only(scene, ACTION_LAUNCH)->launch;
    launched(scene, launch, 7);
    launch_reply(scene, launch, OUTCOME_DONE);
    list_one(scene, 7, launch);
    tick(scene);
    only(scene, ACTION_SET_UP);
    step(scene, (struct event){.kind = EVENT_SETUP_REPLY, .setup_reply = {7, news, is_unused}});
    tick(scene);
}

static void test_a_failed_worker_that_never_ran_ray_ends_without_rays_consent(void **state)
{
    struct scene scene;
    (void)state;
    fail_without_ray(&scene, SETUP_FAILED, true);
    const struct action *action = only(&scene, ACTION_TERMINATE); /* and no replacement */
    assert_int_equal(action->instance, 7);
    assert_int_equal(action->reason.kind, REASON_SETUP_FAILED);
    assert_int_equal(scene.answer.ending, PERMIT_NO_LISTING);
    close_scene(&scene);
}

static void test_a_failed_worker_that_may_run_ray_waits_for_ray(void **state)
{
    struct scene scene;
    (void)state;
    fail_without_ray(&scene, SETUP_FAILED, false);
    nothing(&scene);
    scene.now += 20 * MINUTE;
    list_one(&scene, 7, core_find(scene.core, 7)->launch);
    tick(&scene);
    nothing(&scene);
    see_ray(&scene);
    scene.now += 5 * SECOND;
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_TERMINATE)->instance, 7);
    close_scene(&scene);
}

/* Its launch is held until the head is up: the head may fail for the same cause. */
static void test_a_failed_worker_is_replaced_once_the_head_is_up(void **state)
{
    struct scene scene;
    (void)state;
    fail_without_ray(&scene, SETUP_FAILED, true);
    assert_int_equal(scene.answer.hold_count, 1);
    assert_int_equal(scene.answer.holds[0].cause, HOLD_TRIAL);
    head_is(&scene, HEAD_UP);
    tick(&scene);
    only(&scene, ACTION_LAUNCH);
    close_scene(&scene);
}

static void test_an_unused_worker_stays_while_the_cloud_is_not_listed(void **state)
{
    struct scene scene;
    (void)state;
    fail_without_ray(&scene, SETUP_CONTACT, false);
    scene.now += 5 * MINUTE;
    step(&scene,
         (struct event){.kind = EVENT_SETUP_REPLY, .setup_reply = {7, SETUP_BLOCKED, true}});
    tick(&scene);
    nothing(&scene);
    list_one(&scene, 7, core_find(scene.core, 7)->launch);
    scene.now += 5 * SECOND;
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_TERMINATE)->instance, 7);
    close_scene(&scene);
}

/* ---- instances that are known before the launch is answered ---- */

/* Found by the simulator: Ray showed the node first, and the launch's own node was dropped. */
static void test_a_node_that_ray_shows_first_counts_once_it_is_launched(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    uint64_t launch = only(&scene, ACTION_LAUNCH)->launch;
    node(&scene, 7, RAY_ALIVE, NOT_IDLE);
    assert_int_equal(state_of(&scene, 7), NODE_UNLISTED);
    launched(&scene, launch, 7);
    launch_reply(&scene, launch, OUTCOME_DONE);
    assert_int_equal(state_of(&scene, 7), NODE_READY);
    assert_int_equal(core_find(scene.core, 7)->launch, launch);
    load(&scene, 50);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 2); /* at most three */
    close_scene(&scene);
}

/* Found by the simulator: the launch starts a stopped instance that a listing of the past showed as
 * running; the next listing of the past does not show it. */
static void test_an_instance_that_is_started_again_belongs_to_the_new_launch(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    uint64_t launch = only(&scene, ACTION_LAUNCH)->launch;
    list_one(&scene, 7, launch - 1);
    assert_int_equal(core_find(scene.core, 7)->launch, launch - 1);
    scene.now += 1 * MINUTE;
    launched(&scene, launch, 7);
    launch_reply(&scene, launch, OUTCOME_DONE);
    assert_int_equal(core_find(scene.core, 7)->launch, launch);
    scene.now += 1 * MINUTE + 30 * SECOND;
    see_all(&scene);
    assert_int_equal(state_of(&scene, 7), NODE_BOOTING);
    scene.now += 1 * MINUTE;
    see_all(&scene);
    assert_int_equal(state_of(&scene, 7), NODE_GONE);
    close_scene(&scene);
}

/* A launch of several calls: the last one was sent long after the decision. */
static void test_a_refusal_settles_nothing_while_the_last_call_may_take_effect(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    uint64_t launch = only(&scene, ACTION_LAUNCH)->launch;
    scene.now += 50 * SECOND;
    step(&scene,
         (struct event){
             .kind = EVENT_LAUNCH_REPLY,
             .launch_reply = {.launch = launch, .outcome = OUTCOME_UNKNOWN, .sent_at = scene.now}});
    scene.now += 30 * SECOND;
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->launch, launch);
    launch_reply(&scene, launch, OUTCOME_CAPACITY);
    tick(&scene);
    nothing(&scene); /* and not the other zone */
    scene.now += 30 * SECOND;
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->launch, launch);
    close_scene(&scene);
}

/* An earlier run may have terminated them, because their setup failed: another try is due. */
static void test_instances_of_an_earlier_run_that_ended_count_for_nothing(void **state)
{
    struct scene scene;
    struct listed listed[3];
    (void)state;
    open_scene(&scene);
    scene.type.min_nodes = 1;
    scene.core = core_new(&scene.settings, &scene.arena);
    step(&scene, (struct event){.kind = EVENT_START});
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t launch = (uint64_t)1 << 32 | (i + 1);
        step(&scene,
             (struct event){.kind = EVENT_INTENT, .intent = {.launch = launch, .count = 1}});
        launched(&scene, launch, 7 + i);
        launch_reply(&scene, launch, OUTCOME_DONE);
        listed[i] = (struct listed){.instance = 7 + i, .launch = launch, .state = CLOUD_GONE};
    }
    lease(&scene, 2);
    step(&scene, (struct event){.kind = EVENT_RECORDS_END, .records = {.sole_writer_epoch = 1}});
    see_ray(&scene);
    list(&scene, listed, 3, true);
    tick(&scene);
    only(&scene, ACTION_LAUNCH);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_failed_head_gets_no_workers),
        cmocka_unit_test(test_a_failed_worker_that_never_ran_ray_ends_without_rays_consent),
        cmocka_unit_test(test_a_failed_worker_that_may_run_ray_waits_for_ray),
        cmocka_unit_test(test_a_failed_worker_is_replaced_once_the_head_is_up),
        cmocka_unit_test(test_an_unused_worker_stays_while_the_cloud_is_not_listed),
        cmocka_unit_test(test_a_node_that_ray_shows_first_counts_once_it_is_launched),
        cmocka_unit_test(test_an_instance_that_is_started_again_belongs_to_the_new_launch),
        cmocka_unit_test(test_a_refusal_settles_nothing_while_the_last_call_may_take_effect),
        cmocka_unit_test(test_instances_of_an_earlier_run_that_ended_count_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
