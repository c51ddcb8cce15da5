/* test_core_outdated.c: instances that no longer match the file are drained or replaced. */
#include "core_scene.h"

static void list_old(struct scene *scene, uint64_t instance, uint64_t launch, uint32_t offering)
{
    struct listed listed = {.instance = instance,
                            .launch = launch,
                            .offering = offering,
                            .state = CLOUD_RUNNING,
                            .is_outdated = true,
                            .price = 1000000};
    list(scene, &listed, 1, true);
}

static void drain_reply(struct scene *scene, uint64_t instance, enum drain_answer answer)
{
    step(scene, (struct event){.kind = EVENT_DRAIN_REPLY,
                               .drain_reply = {.instance = instance, .answer = answer}});
}

/* A worker that joined and runs tasks, and later a listing that marks it as outdated. */
static void grow_old(struct scene *scene, uint32_t offering)
{
    open_scene(scene);
    start(scene);
    bring_up(scene);
    scene->now += 2 * MINUTE;
    see_ray(scene);
    list_old(scene, 7, 1, offering);
    tick(scene);
}

static void test_an_outdated_worker_is_drained_and_never_killed(void **state)
{
    const uint32_t offerings[] = {OFFERING_GONE, 0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(offerings); i++) {
        struct scene scene;
        grow_old(&scene, offerings[i]);
        const struct action *drain = only(&scene, ACTION_DRAIN);
        assert_int_equal(drain->reason.kind, REASON_OUTDATED);
        assert_int_equal(drain->reason.amount, offerings[i] == OFFERING_GONE);
        assert_false(drain->is_rejectable);
        assert_true(drain->drain_until == INT64_MAX); /* tasks may run for days */
        drain_reply(&scene, 7, DRAIN_ACCEPTED);
        node(&scene, 7, RAY_DRAINING, NOT_IDLE);
        for (int hour = 0; hour < 9; hour++) {
            scene.now += 60 * MINUTE;
            see_ray(&scene);
            list_old(&scene, 7, 1, offerings[i]);
            tick(&scene);
            nothing(&scene);
        }
        node(&scene, 7, RAY_DRAINING, scene.now);
        see_ray(&scene);
        tick(&scene);
        assert_int_equal(only(&scene, ACTION_TERMINATE)->reason.kind, REASON_OUTDATED);
        close_scene(&scene);
    }
}

static void test_an_outdated_worker_without_an_answer_is_asked_again(void **state)
{
    struct scene scene;
    (void)state;
    grow_old(&scene, OFFERING_GONE);
    only(&scene, ACTION_DRAIN);
    drain_reply(&scene, 7, DRAIN_UNKNOWN);
    scene.now += 1 * SECOND;
    tick(&scene);
    only(&scene, ACTION_DRAIN);
    drain_reply(&scene, 7, DRAIN_ACCEPTED);
    node(&scene, 7, RAY_ABSENT, NOT_IDLE); /* the GCS restarted and forgot the drain */
    node(&scene, 7, RAY_ALIVE, NOT_IDLE);
    tick(&scene);
    only(&scene, ACTION_DRAIN);
    close_scene(&scene);
}

static void test_an_outdated_worker_that_ray_lost_ends_after_a_while(void **state)
{
    struct scene scene;
    (void)state;
    grow_old(&scene, OFFERING_GONE);
    drain_reply(&scene, 7, DRAIN_ACCEPTED);
    node(&scene, 7, RAY_ABSENT, NOT_IDLE);
    scene.now += 14 * MINUTE;
    see_ray(&scene);
    list_old(&scene, 7, 1, OFFERING_GONE);
    tick(&scene);
    nothing(&scene);
    scene.now += 2 * MINUTE;
    tick(&scene);
    nothing(&scene); /* not while Ray is unreachable */
    see_ray(&scene);
    node(&scene, 7, RAY_ABSENT, NOT_IDLE);
    scene.now += 16 * MINUTE;
    see_ray(&scene);
    list_old(&scene, 7, 1, OFFERING_GONE);
    tick(&scene);
    only(&scene, ACTION_TERMINATE);
    close_scene(&scene);
}

static void test_an_outdated_worker_counts_against_max_workers(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.max_workers = 1;
    start(&scene);
    list_old(&scene, 7, 1, OFFERING_GONE);
    load(&scene, 1);
    tick(&scene);
    nothing(&scene);
    assert_int_equal(scene.answer.plan.unmet_count, 1);
    assert_int_equal(scene.answer.plan.unmet[0].refusal.cause, REFUSED_CLUSTER_LIMIT);
    close_scene(&scene);
}

static void test_an_outdated_worker_costs_what_it_costs(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.max_price = 1500000;
    scene.offerings[0].price = scene.offerings[1].price = 600000;
    start(&scene);
    list_old(&scene, 7, 1, OFFERING_GONE);
    load(&scene, 1);
    tick(&scene);
    nothing(&scene);
    assert_int_equal(scene.answer.holds[0].cause, HOLD_PRICE);
    close_scene(&scene);
}

/* It never joined Ray, so nothing runs on it, and no process sets it up. */
static void test_an_outdated_machine_that_boots_is_terminated(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    list_old(&scene, 7, 1, 0);
    tick(&scene);
    nothing(&scene); /* just started: nothing is terminated yet */
    scene.now += 2 * MINUTE;
    see_ray(&scene);
    list_old(&scene, 7, 1, 0);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_TERMINATE)->reason.kind, REASON_OUTDATED);
    close_scene(&scene);
}

/* It is not known whether the termination arrived; then the node joins: its tasks count. */
static void test_an_outdated_machine_that_joins_after_all_is_drained(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    list_old(&scene, 7, 1, 0);
    scene.now += 2 * MINUTE;
    see_ray(&scene);
    list_old(&scene, 7, 1, 0);
    tick(&scene);
    only(&scene, ACTION_TERMINATE);
    step(&scene, (struct event){.kind = EVENT_TERMINATE_REPLY,
                                .terminate_reply = {.instance = 7, .outcome = OUTCOME_UNKNOWN}});
    node(&scene, 7, RAY_ALIVE, NOT_IDLE);
    scene.now += MINUTE;
    see_ray(&scene);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_DRAIN)->reason.kind, REASON_OUTDATED);
    close_scene(&scene);
}

static void test_an_outdated_worker_that_left_rays_view_may_still_work(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    scene.now += 2 * MINUTE;
    node(&scene, 7, RAY_ABSENT, NOT_IDLE);
    see_ray(&scene);
    list_old(&scene, 7, 1, OFFERING_GONE);
    tick(&scene);
    nothing(&scene);
    for (int i = 0; i < 2; i++) {
        scene.now += 25 * SECOND;
        see_ray(&scene);
        tick(&scene);
        nothing(&scene);
    }
    scene.now += 11 * SECOND;
    see_ray(&scene);
    tick(&scene);
    only(&scene, ACTION_TERMINATE);
    close_scene(&scene);
}

/* The drain of an earlier run is seen again, and is not treated as a notice with a deadline. */
static void test_an_outdated_worker_keeps_its_time_over_a_restart(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    node(&scene, 9, RAY_DRAINING, NOT_IDLE);
    list_old(&scene, 9, 1, OFFERING_GONE);
    assert_int_equal(state_of(&scene, 9), NODE_DRAINING);
    scene.now += 60 * MINUTE;
    see_ray(&scene);
    list_old(&scene, 9, 1, OFFERING_GONE);
    tick(&scene);
    nothing(&scene);
    close_scene(&scene);
}

static void test_a_launch_of_a_removed_type_counts_until_it_is_settled(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.max_workers = 1;
    step(&scene, (struct event){.kind = EVENT_START});
    lease(&scene, 1);
    step(&scene,
         (struct event){.kind = EVENT_INTENT,
                        .intent = {.launch = (uint64_t)1 << 32 | 1, .offering = 77, .count = 1}});
    step(&scene, (struct event){.kind = EVENT_RECORDS_END, .records = {.sole_writer_epoch = 1}});
    see_all(&scene);
    load(&scene, 1);
    tick(&scene);
    nothing(&scene); /* neither requested again nor forgotten */
    scene.now += 4 * MINUTE;
    see_all(&scene);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 1);
    close_scene(&scene);
}

/* Workers 21 to 23; 22 is idle. */
static void list_three(struct scene *scene, bool is_outdated, enum cloud_state state_of_22)
{
    struct listed all[3];
    for (uint64_t i = 0; i < 3; i++) {
        all[i] = (struct listed){.instance = 21 + i,
                                 .launch = 1,
                                 .state = i == 1 ? state_of_22 : CLOUD_RUNNING,
                                 .is_outdated = is_outdated,
                                 .price = 1000000};
    }
    list(scene, all, 3, true);
}

/* A new worker, 31, whose setup fails. */
static void fail_fourth(struct scene *scene)
{
    node(scene, 22, RAY_ALIVE, NOT_IDLE);
    load(scene, 1);
    tick(scene);
    uint64_t launch = only(scene, ACTION_LAUNCH)->launch;
    launched(scene, launch, 31);
    launch_reply(scene, launch, OUTCOME_DONE);
    struct listed fourth = {.instance = 31, .launch = launch, .state = CLOUD_RUNNING};
    list(scene, &fourth, 1, false);
    load(scene, 0);
    step(scene, (struct event){.kind = EVENT_SETUP_REPLY,
                               .setup_reply = {.instance = 31, .news = SETUP_FAILED}});
    tick(scene);
    assert_int_equal(only(scene, ACTION_TERMINATE)->instance, 31);
    step(scene, (struct event){.kind = EVENT_TERMINATE_REPLY,
                               .terminate_reply = {.instance = 31, .outcome = OUTCOME_DONE}});
}

static void open_roll(struct scene *scene, int64_t min_nodes)
{
    open_scene(scene);
    scene->settings.max_unavailable = 1;
    scene->settings.max_workers = 4;
    scene->type.max_nodes = min_nodes > 0 ? 3 : 4;
    scene->type.min_nodes = min_nodes;
    scene->core = core_new(&scene->settings, &scene->arena);
    start(scene);
    list_three(scene, false, CLOUD_RUNNING);
    for (uint64_t i = 21; i <= 23; i++) {
        node(scene, i, RAY_ALIVE, i == 22 ? scene->now : NOT_IDLE);
    }
    scene->now += 20 * MINUTE; /* past the quiet time after a start */
    lease(scene, 1);
    see_ray(scene);
    list_three(scene, false, CLOUD_RUNNING);
}

/* The file changes. */
static void roll(struct scene *scene)
{
    tick(scene);
    nothing(scene);
    list_three(scene, true, CLOUD_RUNNING);
    tick(scene);
}

static size_t count_serving(struct scene *scene)
{
    size_t count = 0;
    for (uint64_t i = 21; i <= 23; i++) {
        count += state_of(scene, i) == NODE_READY || state_of(scene, i) == NODE_IDLE ? 1 : 0;
    }
    return count;
}

/* The idle one is first. The replacement does not fit until the instance of the node is gone. */
static void roll_first(struct scene *scene)
{
    roll(scene);
    const struct action *drain = only(scene, ACTION_DRAIN);
    assert_int_equal(drain->instance, 22);
    assert_int_equal(drain->reason.kind, REASON_OUTDATED);
    drain_reply(scene, 22, DRAIN_ACCEPTED);
    node(scene, 22, RAY_DRAINING, scene->now);
    tick(scene);
    assert_int_equal(only(scene, ACTION_TERMINATE)->instance, 22);
    step(scene, (struct event){.kind = EVENT_TERMINATE_REPLY,
                               .terminate_reply = {.instance = 22, .outcome = OUTCOME_DONE}});
    assert_int_equal(count_serving(scene), 2);
    list_three(scene, true, CLOUD_GONE);
    tick(scene);
    assert_int_equal(count_serving(scene), 2);
}

static void test_a_changed_type_is_replaced_one_by_one(void **state)
{
    struct scene scene;
    (void)state;
    open_roll(&scene, 3);
    roll_first(&scene);
    uint64_t launch = only(&scene, ACTION_LAUNCH)->launch;
    launched(&scene, launch, 31);
    launch_reply(&scene, launch, OUTCOME_DONE);
    tick(&scene);
    assert_int_equal(count_serving(&scene), 2); /* the others wait until it has joined */
    node(&scene, 31, RAY_ALIVE, NOT_IDLE);
    see_ray(&scene);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_DRAIN)->instance, 21);
    assert_int_equal(count_serving(&scene), 1);
    close_scene(&scene);
}

/* The GCS restarts with empty tables, and the workers register again. */
static void test_those_that_wait_outlive_a_restart_of_ray(void **state)
{
    struct scene scene;
    (void)state;
    open_roll(&scene, 3);
    roll(&scene);
    drain_reply(&scene, 22, DRAIN_ACCEPTED);
    for (uint64_t i = 21; i <= 23; i++) {
        node(&scene, i, RAY_ABSENT, NOT_IDLE);
    }
    for (int i = 0; i < 12; i++) {
        scene.now += 10 * SECOND;
        see_ray(&scene);
        list_three(&scene, true, CLOUD_RUNNING);
        tick(&scene);
        nothing(&scene);
    }
    node(&scene, 21, RAY_ALIVE, NOT_IDLE);
    node(&scene, 23, RAY_ALIVE, NOT_IDLE);
    tick(&scene);
    nothing(&scene);
    assert_int_equal(count_serving(&scene), 2);
    close_scene(&scene);
}

/* As for any other node: it has a deadline, and work on it moves at once. */
static void test_a_notice_to_a_worker_that_waits_is_a_notice(void **state)
{
    struct scene scene;
    (void)state;
    open_roll(&scene, 3);
    roll(&scene);
    node(&scene, 23, RAY_DRAINING, NOT_IDLE);
    assert_int_equal(state_of(&scene, 23), NODE_DRAINING);
    assert_int_equal(core_find(scene.core, 23)->reason.kind, REASON_NOTICE);
    assert_true(core_find(scene.core, 23)->until < INT64_MAX);
    close_scene(&scene);
}

/* A core with the changed file; worker 21 leaves, and is gone. */
static void leave_first(struct scene *scene, int64_t min_nodes)
{
    open_roll(scene, min_nodes);
    scene->core = core_new(&scene->settings, &scene->arena);
    start(scene);
    list_three(scene, true, CLOUD_RUNNING);
    for (uint64_t i = 21; i <= 23; i++) {
        node(scene, i, RAY_ALIVE, NOT_IDLE);
    }
    scene->now += 20 * MINUTE;
    lease(scene, 1);
    see_ray(scene);
    list_three(scene, true, CLOUD_RUNNING);
    tick(scene);
    assert_int_equal(only(scene, ACTION_DRAIN)->instance, 21);
    drain_reply(scene, 21, DRAIN_ACCEPTED);
    node(scene, 21, RAY_DEAD, NOT_IDLE);
    for (int i = 0; i < 3; i++) {
        scene->now += 4 * MINUTE;
        see_ray(scene);
        struct listed rest[] = {
            {.instance = 22, .launch = 1, .state = CLOUD_RUNNING, .is_outdated = true},
            {.instance = 23, .launch = 1, .state = CLOUD_RUNNING, .is_outdated = true}};
        list(scene, rest, 2, true);
        tick(scene);
    }
    assert_int_equal(state_of(scene, 21), NODE_GONE);
}

/* With min_workers: 2 the next one leaves, because it is sure to be replaced. */
static void test_min_workers_let_the_next_one_leave(void **state)
{
    struct scene scene;
    (void)state;
    leave_first(&scene, 2);
    assert_int_equal(count_serving(&scene), 1);
    close_scene(&scene);
}

/* Without min_workers nothing replaces the first worker, so nothing shows that the file works. */
static void test_only_one_leaves_until_a_new_one_has_joined(void **state)
{
    struct scene scene;
    (void)state;
    leave_first(&scene, 0);
    assert_int_equal(count_serving(&scene), 2);
    node(&scene, 31, RAY_ALIVE, NOT_IDLE);
    struct listed all[] = {
        {.instance = 22, .launch = 1, .state = CLOUD_RUNNING, .is_outdated = true},
        {.instance = 23, .launch = 1, .state = CLOUD_RUNNING, .is_outdated = true},
        {.instance = 31, .launch = 2, .state = CLOUD_RUNNING}};
    list(&scene, all, 3, true);
    node(&scene, 31, RAY_ALIVE, NOT_IDLE);
    tick(&scene);
    assert_int_equal(count_serving(&scene), 1);
    close_scene(&scene);
}

static void test_no_worker_leaves_whose_replacement_is_held(void **state)
{
    struct scene scene;
    (void)state;
    open_roll(&scene, 3);
    scene.settings.max_price = 3500000;
    scene.offerings[0].price = scene.offerings[1].price = 2000000;
    roll_first(&scene);
    nothing(&scene); /* the new node would cost too much */
    tick(&scene);
    assert_int_equal(count_serving(&scene), 2);
    close_scene(&scene);
}

static void test_no_worker_leaves_after_a_failed_setup(void **state)
{
    struct scene scene;
    (void)state;
    open_roll(&scene, 0);
    fail_fourth(&scene);
    scene.now += 10 * MINUTE; /* it is missing from the listing because it is gone */
    see_ray(&scene);
    list_three(&scene, false, CLOUD_RUNNING);
    assert_int_equal(state_of(&scene, 31), NODE_GONE);
    roll(&scene);
    nothing(&scene);
    assert_int_equal(count_serving(&scene), 3);
    close_scene(&scene);
}

static void test_no_worker_leaves_while_there_is_no_capacity(void **state)
{
    struct scene scene;
    (void)state;
    open_roll(&scene, 0);
    load(&scene, 2);
    for (int i = 0; i < 2; i++) {
        tick(&scene);
        launch_reply(&scene, only(&scene, ACTION_LAUNCH)->launch, OUTCOME_CAPACITY);
    }
    load(&scene, 0);
    node(&scene, 22, RAY_ALIVE, NOT_IDLE);
    roll(&scene);
    nothing(&scene);
    scene.now += 10 * MINUTE;
    see_ray(&scene);
    list_three(&scene, true, CLOUD_RUNNING);
    tick(&scene);
    only(&scene, ACTION_DRAIN);
    assert_int_equal(count_serving(&scene), 2);
    close_scene(&scene);
}

static void test_outdated_workers_may_be_kept_until_they_are_idle(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.keeps_outdated = true;
    start(&scene);
    bring_up(&scene);
    scene.now += 2 * MINUTE;
    see_ray(&scene);
    list_old(&scene, 7, 1, OFFERING_GONE);
    tick(&scene);
    nothing(&scene);
    node(&scene, 7, RAY_ALIVE, scene.now);
    scene.now += 6 * MINUTE;
    see_ray(&scene);
    list_old(&scene, 7, 1, OFFERING_GONE);
    tick(&scene);
    assert_true(only(&scene, ACTION_DRAIN)->is_rejectable);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_outdated_worker_is_drained_and_never_killed),
        cmocka_unit_test(test_an_outdated_worker_without_an_answer_is_asked_again),
        cmocka_unit_test(test_an_outdated_worker_that_ray_lost_ends_after_a_while),
        cmocka_unit_test(test_an_outdated_worker_counts_against_max_workers),
        cmocka_unit_test(test_an_outdated_worker_costs_what_it_costs),
        cmocka_unit_test(test_an_outdated_machine_that_boots_is_terminated),
        cmocka_unit_test(test_an_outdated_machine_that_joins_after_all_is_drained),
        cmocka_unit_test(test_an_outdated_worker_that_left_rays_view_may_still_work),
        cmocka_unit_test(test_an_outdated_worker_keeps_its_time_over_a_restart),
        cmocka_unit_test(test_a_launch_of_a_removed_type_counts_until_it_is_settled),
        cmocka_unit_test(test_a_changed_type_is_replaced_one_by_one),
        cmocka_unit_test(test_those_that_wait_outlive_a_restart_of_ray),
        cmocka_unit_test(test_a_notice_to_a_worker_that_waits_is_a_notice),
        cmocka_unit_test(test_min_workers_let_the_next_one_leave),
        cmocka_unit_test(test_only_one_leaves_until_a_new_one_has_joined),
        cmocka_unit_test(test_no_worker_leaves_whose_replacement_is_held),
        cmocka_unit_test(test_no_worker_leaves_after_a_failed_setup),
        cmocka_unit_test(test_no_worker_leaves_while_there_is_no_capacity),
        cmocka_unit_test(test_outdated_workers_may_be_kept_until_they_are_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
