/* test_core.c: the step function, one promise at a time. */
#include "core_scene.h"

static void test_asks_for_all_at_once_and_not_twice(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    load(&scene, 2);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 2);
    assert_int_equal(scene.answer.actions[0].count_by_cause[LAUNCH_DEMAND], 2);
    tick(&scene);
    nothing(&scene);
    close_scene(&scene);
}

static void test_limits_count_launches_without_an_answer(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    load(&scene, 2);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 2);
    load(&scene, 50);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 1);
    close_scene(&scene);
}

static void test_a_lost_answer_is_asked_for_again_as_the_same_launch(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    uint64_t launch = only(&scene, ACTION_LAUNCH)->launch;
    launch_reply(&scene, launch, OUTCOME_UNKNOWN);
    tick(&scene);
    nothing(&scene); /* not at once */
    scene.now += 2 * SECOND;
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->launch, launch);
    assert_int_equal(scene.answer.actions[0].offering, 0);
    assert_int_equal(scene.answer.actions[0].reason.kind, REASON_REPEATED);
    close_scene(&scene);
}

static void test_a_refusal_tries_the_next_zone_at_once(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    uint64_t launch = only(&scene, ACTION_LAUNCH)->launch;
    launch_reply(&scene, launch, OUTCOME_CAPACITY);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->offering, 1);
    assert_int_not_equal(scene.answer.actions[0].launch, launch);
    close_scene(&scene);
}

static void test_nothing_without_a_lease(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    step(&scene, (struct event){.kind = EVENT_LEASE, .lease = {.epoch = 1, .until = 0}});
    load(&scene, 1);
    tick(&scene);
    nothing(&scene);
    assert_int_equal(scene.answer.launching, PERMIT_NO_LEASE);
    close_scene(&scene);
}

static void test_absence_counts_after_the_horizon_and_from_a_complete_listing(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    scene.now += 1 * MINUTE;
    see_all(&scene); /* does not show 7 */
    assert_int_equal(state_of(&scene, 7), NODE_READY);
    scene.now += 5 * MINUTE;
    list(&scene, NULL, 0, false);
    assert_int_equal(state_of(&scene, 7), NODE_READY);
    see_all(&scene);
    assert_int_equal(state_of(&scene, 7), NODE_GONE);
    assert_int_equal(scene.answer.change_count, 2); /* it ended without our request */
    assert_int_equal(scene.answer.changes[0].to, NODE_TERMINATING);
    close_scene(&scene);
}

static void test_a_type_of_unknown_price_is_not_launched_under_a_limit(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.max_price = 1000000;
    scene.offerings[0].price = scene.offerings[1].price = PRICE_UNKNOWN;
    scene.type.min_nodes = 1;
    scene.core = core_new(&scene.settings, &scene.arena);
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    nothing(&scene);
    assert_true(scene.answer.is_decision);
    assert_int_equal(scene.answer.plan.unmet_count, 1);
    assert_int_equal(scene.answer.plan.unmet[0].refusal.cause, REFUSED_PRICE_UNKNOWN);
    assert_int_equal(scene.answer.hold_count, 1);
    assert_int_equal(scene.answer.holds[0].cause, HOLD_PRICE_UNKNOWN);
    close_scene(&scene);
}

static void test_what_is_not_launched_says_why(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.max_price = 1500000;
    scene.offerings[0].price = 1000000;
    scene.core = core_new(&scene.settings, &scene.arena);
    start(&scene);
    load(&scene, 2);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 1);
    assert_int_equal(scene.answer.hold_count, 1);
    assert_int_equal(scene.answer.holds[0].cause, HOLD_PRICE);
    assert_int_equal(scene.answer.holds[0].count, 1);
    close_scene(&scene);
}

static void test_a_refused_type_is_named_as_such(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.offering_count = 1;
    scene.core = core_new(&scene.settings, &scene.arena);
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    launch_reply(&scene, only(&scene, ACTION_LAUNCH)->launch, OUTCOME_CAPACITY);
    tick(&scene);
    assert_int_equal(scene.answer.plan.unmet_count, 1);
    assert_int_equal(scene.answer.plan.unmet[0].refusal.cause, REFUSED_UNAVAILABLE);
    assert_true(scene.answer.plan.unmet[0].refusal.limit >= 2 * MINUTE);
    close_scene(&scene);
}

static void test_a_take_over_waits_for_a_listing_that_shows_everything(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    step(&scene, (struct event){.kind = EVENT_START});
    lease(&scene, 5);
    step(&scene, (struct event){.kind = EVENT_RECORDS_END, .records = {.sole_writer_epoch = 5}});
    see_all(&scene);
    load(&scene, 1);
    tick(&scene);
    nothing(&scene);
    assert_int_equal(scene.answer.launching, PERMIT_NO_LISTING);
    scene.now += scene.settings.times.horizon + scene.settings.times.call_timeout;
    see_all(&scene);
    tick(&scene);
    only(&scene, ACTION_LAUNCH);
    close_scene(&scene);
}

static void test_a_take_over_is_waited_out_by_whoever_comes_next(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    int64_t wait = scene.settings.times.horizon + scene.settings.times.call_timeout;
    int64_t since = scene.now - wait / 2;
    step(&scene, (struct event){.kind = EVENT_START});
    lease(&scene, 6);
    step(&scene, (struct event){.kind = EVENT_RECORDS_END,
                                .records = {.sole_writer_epoch = 5, .since = since}});
    see_all(&scene);
    load(&scene, 1);
    tick(&scene);
    nothing(&scene);
    assert_int_equal(scene.answer.launching, PERMIT_NO_LISTING);
    scene.now = since + wait;
    see_all(&scene);
    tick(&scene);
    only(&scene, ACTION_LAUNCH);
    close_scene(&scene);
}

static void test_records_of_an_earlier_run_are_taken_up(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    step(&scene, (struct event){.kind = EVENT_START});
    uint64_t launch = (uint64_t)1 << 32 | 4;
    step(&scene, (struct event){.kind = EVENT_INTENT, .intent = {.launch = launch, .count = 2}});
    lease(&scene, 2);
    step(&scene, (struct event){.kind = EVENT_RECORDS_END, .records = {.sole_writer_epoch = 1}});
    see_all(&scene);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->launch, launch);
    assert_int_equal(scene.answer.actions[0].count, 2);
    /* A refusal is not final: the call of the earlier run may still be in progress. */
    launch_reply(&scene, launch, OUTCOME_CAPACITY);
    load(&scene, 3);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 1);
    assert_int_equal(scene.answer.actions[0].offering, 1);
    scene.now += scene.settings.times.call_timeout;
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->launch, launch);
    close_scene(&scene);
}

static void test_only_a_written_upscaling_speed_makes_a_ramp(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.upscaling_permille = 1000;
    start(&scene);
    load(&scene, 3);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 1);
    close_scene(&scene);
}

static void test_no_ramp_for_what_was_asked_for_outright(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.upscaling_permille = 250;
    scene.type.min_nodes = 2;
    start(&scene);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 2);
    close_scene(&scene);
}

static void test_a_head_of_the_same_type_takes_no_worker_away(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.head_instance = HEAD;
    scene.core = core_new(&scene.settings, &scene.arena);
    start(&scene);
    node(&scene, HEAD, RAY_ALIVE, NOT_IDLE);
    load(&scene, 9);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 3);
    close_scene(&scene);
}

static void test_the_price_limit_is_never_passed(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.offerings[0].price = 400000;
    scene.offerings[1].price = PRICE_UNKNOWN;
    scene.settings.max_price = 900000;
    start(&scene);
    load(&scene, 3);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 2);
    /* Its price elsewhere is unknown, so it is not requested there. */
    launch_reply(&scene, scene.answer.actions[0].launch, OUTCOME_CAPACITY);
    tick(&scene);
    nothing(&scene);
    close_scene(&scene);
}

static void test_a_refused_type_opens_again_after_a_while(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.offering_count = 1;
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    launch_reply(&scene, only(&scene, ACTION_LAUNCH)->launch, OUTCOME_CAPACITY);
    tick(&scene);
    nothing(&scene);
    assert_in_range(scene.answer.wake_at, scene.now + 3 * MINUTE, scene.now + 4 * MINUTE);
    scene.now = scene.answer.wake_at;
    see_ray(&scene);
    tick(&scene);
    only(&scene, ACTION_LAUNCH);
    close_scene(&scene);
}

/* Found by the simulator: the launch waited for the answer to the only call in progress. */
static void test_a_launch_that_waited_for_a_probe_is_not_forgotten(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    uint64_t launch = only(&scene, ACTION_LAUNCH)->launch;
    launch_reply(&scene, launch, OUTCOME_UNKNOWN);
    scene.now += 2 * SECOND;
    tick(&scene); /* the probe */
    assert_int_equal(only(&scene, ACTION_LAUNCH)->launch, launch);
    load(&scene, 2);
    tick(&scene);
    nothing(&scene);
    launch_reply(&scene, launch, OUTCOME_UNKNOWN);
    scene.now += 10 * SECOND;
    tick(&scene);
    launch_reply(&scene, only(&scene, ACTION_LAUNCH)->launch, OUTCOME_DONE);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 2);
    close_scene(&scene);
}

/* Found by the simulator: given up here, then revived by another controller. */
static void test_an_old_verdict_does_not_outlive_a_lease(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    uint64_t launch = only(&scene, ACTION_LAUNCH)->launch;
    launched(&scene, launch, 7);
    launch_reply(&scene, launch, OUTCOME_DONE);
    list_one(&scene, 7, launch);
    tick(&scene);
    only(&scene, ACTION_SET_UP);
    scene.now += 20 * MINUTE; /* no answer from its sshd */
    see_ray(&scene);
    list_one(&scene, 7, launch);
    tick(&scene);
    assert_int_equal(state_of(&scene, 7), NODE_TERMINATING);
    step(&scene, (struct event){.kind = EVENT_TERMINATE_REPLY,
                                .terminate_reply = {.instance = 7, .outcome = OUTCOME_THROTTLED}});
    node(&scene, 7, RAY_ALIVE, NOT_IDLE);
    assert_int_equal(state_of(&scene, 7), NODE_READY); /* under the same lease, too */
    close_scene(&scene);
}

static void test_a_take_over_asks_again_what_nodes_are(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    step(&scene, (struct event){.kind = EVENT_GOAL, .goal = GOAL_DOWN});
    tick(&scene);
    only(&scene, ACTION_TERMINATE);
    step(&scene, (struct event){.kind = EVENT_GOAL, .goal = GOAL_RUN});
    lease(&scene, 5);
    assert_int_equal(state_of(&scene, 7), NODE_READY);
    close_scene(&scene);
}

static void test_three_failed_set_ups_pause_a_type(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    scene.now += 2 * MINUTE; /* nothing is terminated right after a start */
    load(&scene, 1);
    for (uint64_t instance = 7; instance < 10; instance++) {
        see_all(&scene);
        tick(&scene);
        const struct action *action = &scene.answer.actions[scene.answer.action_count - 1];
        assert_int_equal(action->kind, ACTION_LAUNCH);
        uint64_t launch = action->launch;
        launched(&scene, launch, instance);
        launch_reply(&scene, launch, OUTCOME_DONE);
        list_one(&scene, instance, launch);
        tick(&scene);
        step(&scene,
             (struct event){.kind = EVENT_SETUP_REPLY, .setup_reply = {instance, SETUP_FAILED}});
    }
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_TERMINATE)->reason.kind, REASON_SETUP_FAILED);
    tick(&scene);
    nothing(&scene);
    close_scene(&scene);
}

/* keep_failed: a node whose setup failed is terminated when its time for inspection is over. */
static void test_a_node_whose_setup_failed_is_kept(void **state)
{
    enum { KEPT = 5 * MINUTE };
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.keep_failed = KEPT;
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    uint64_t launch = only(&scene, ACTION_LAUNCH)->launch;
    launched(&scene, launch, 7);
    launch_reply(&scene, launch, OUTCOME_DONE);
    list_one(&scene, 7, launch);
    tick(&scene);
    load(&scene, 0);
    step(&scene, (struct event){.kind = EVENT_SETUP_REPLY, .setup_reply = {7, SETUP_FAILED}});
    int64_t failed_at = scene.now;
    const int64_t pauses[] = {1, KEPT - 1, KEPT};
    for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
        scene.now = failed_at + pauses[i];
        see_ray(&scene);
        list_one(&scene, 7, launch);
        tick(&scene);
        assert_int_equal(state_of(&scene, 7), pauses[i] < KEPT ? NODE_FAILED : NODE_TERMINATING);
    }
    assert_int_equal(only(&scene, ACTION_TERMINATE)->reason.kind, REASON_SETUP_FAILED);
    close_scene(&scene);
}

/* Out of Ray because it is being set up again: it has the time of a setup, then that of joining. */
static void test_a_node_that_is_set_up_again_has_its_time(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    uint64_t instance = 7;
    bring_up(&scene);
    node(&scene, instance, RAY_ABSENT, NOT_IDLE);
    assert_int_equal(state_of(&scene, instance), NODE_SETTING_UP);
    step(&scene,
         (struct event){.kind = EVENT_SETUP_REPLY, .setup_reply = {instance, SETUP_CONTACT}});
    scene.now += 25 * MINUTE;
    see_ray(&scene);
    tick(&scene);
    assert_int_equal(state_of(&scene, instance), NODE_SETTING_UP);
    step(&scene, (struct event){.kind = EVENT_SETUP_REPLY, .setup_reply = {instance, SETUP_DONE}});
    for (int64_t waited = 0; waited < 15 * MINUTE; waited += 20 * SECOND) {
        see_ray(&scene);
        tick(&scene);
        assert_int_equal(state_of(&scene, instance), NODE_SETTING_UP);
        scene.now += 20 * SECOND;
    }
    see_ray(&scene);
    tick(&scene);
    assert_int_not_equal(state_of(&scene, instance), NODE_SETTING_UP);
    close_scene(&scene);
}

static void test_a_tick_without_news_does_not_plan(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    tick(&scene);
    scene.now += 5 * SECOND;
    see_ray(&scene);
    tick(&scene);
    assert_false(scene.answer.is_decision);
    close_scene(&scene);
}

/* ---- no silent churn ---- */

static void setup_news(struct scene *scene, uint64_t instance, enum setup_news news)
{
    step(scene, (struct event){.kind = EVENT_SETUP_REPLY,
                               .setup_reply = {.instance = instance, .news = news}});
}

/* Launches the requested nodes and returns how many instances that took: each setup fails, or
 * the cloud terminates each instance at boot. */
static size_t launches_of_failures(struct scene *scene, int hours, bool dies_at_boot)
{
    size_t used = 0;
    uint64_t next = 100;
    for (int turn = 0; turn < hours * 60; turn++) {
        scene->now += MINUTE;
        see_all(scene);
        tick(scene);
        struct action actions[16];
        size_t count = scene->answer.action_count;
        assert_true(count <= ARRAY_LEN(actions));
        memcpy(actions, scene->answer.actions, count * sizeof(*actions));
        for (size_t i = 0; i < count; i++) {
            if (actions[i].kind == ACTION_LAUNCH) {
                for (int64_t each = 0; each < actions[i].count; each++) {
                    launched(scene, actions[i].launch, next);
                    struct listed listed = {
                        .instance = next, .launch = actions[i].launch, .state = CLOUD_RUNNING};
                    list(scene, &listed, 1, false);
                    if (dies_at_boot) {
                        listed.state = CLOUD_GONE;
                        list(scene, &listed, 1, false);
                    } else {
                        setup_news(scene, next, SETUP_CONTACT);
                        setup_news(scene, next, SETUP_FAILED);
                    }
                    next++;
                    used++;
                }
                launch_reply(scene, actions[i].launch, OUTCOME_DONE);
            } else if (actions[i].kind == ACTION_TERMINATE) {
                step(scene, (struct event){.kind = EVENT_TERMINATE_REPLY,
                                           .terminate_reply = {.instance = actions[i].instance,
                                                               .outcome = OUTCOME_DONE}});
            }
        }
    }
    return used;
}

static void test_a_type_whose_set_up_always_fails_stops_after_three(void **state)
{
    (void)state;
    for (int64_t wanted = 1; wanted <= 3; wanted++) {
        struct scene scene;
        open_scene(&scene);
        scene.type.min_nodes = wanted;
        start(&scene);
        assert_int_equal(launches_of_failures(&scene, 9, false), 3);
        assert_int_equal(scene.answer.hold_count, 1);
        assert_int_equal(scene.answer.holds[0].cause, HOLD_STOPPED);
        assert_int_equal(scene.answer.holds[0].limit, 3);
        assert_int_equal(scene.answer.holds[0].count, wanted);
        load(&scene, 1);
        tick(&scene);
        assert_int_equal(scene.answer.plan.unmet_count, 1);
        assert_int_equal(scene.answer.plan.unmet[0].refusal.cause, REFUSED_STOPPED);
        assert_int_equal(scene.answer.plan.unmet[0].refusal.limit, 3);
        scene.now += 60 * MINUTE; /* no breaker is open any more, but the node type stays stopped */
        lease(&scene, 1);
        see_all(&scene);
        load(&scene, 2);
        tick(&scene);
        assert_true(scene.answer.is_decision);
        assert_true(scene.answer.wake_at > scene.now);
        close_scene(&scene);
    }
}

/* A wake time in the past would make the controller loop without a pause. */
static void test_a_cluster_that_is_deleted_is_not_decided(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    step(&scene, (struct event){.kind = EVENT_GOAL, .goal = GOAL_DOWN});
    tick(&scene);
    assert_true(scene.answer.wake_at > scene.now);
    close_scene(&scene);
}

static void test_an_open_launch_waits_for_the_first_listing(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    step(&scene, (struct event){.kind = EVENT_START});
    uint64_t launch = (uint64_t)1 << 32 | 4;
    step(&scene, (struct event){.kind = EVENT_INTENT, .intent = {.launch = launch, .count = 2}});
    lease(&scene, 2);
    step(&scene, (struct event){.kind = EVENT_RECORDS_END, .records = {.sole_writer_epoch = 1}});
    tick(&scene);
    nothing(&scene);
    assert_true(scene.answer.wake_at > scene.now);
    see_all(&scene);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->launch, launch);
    close_scene(&scene);
}

/* A launch that was given up is still open in the journal; other nodes have replaced it. */
static void test_a_repeated_launch_keeps_the_limit_of_its_type(void **state)
{
    struct scene scene;
    struct listed listed[] = {{.instance = 7, .launch = 1, .state = CLOUD_RUNNING},
                              {.instance = 8, .launch = 2, .state = CLOUD_RUNNING}};
    (void)state;
    open_scene(&scene);
    scene.settings.max_workers = 10;
    step(&scene, (struct event){.kind = EVENT_START});
    uint64_t launch = (uint64_t)1 << 32 | 4;
    step(&scene, (struct event){.kind = EVENT_INTENT, .intent = {.launch = launch, .count = 2}});
    lease(&scene, 2);
    step(&scene, (struct event){.kind = EVENT_RECORDS_END, .records = {.sole_writer_epoch = 1}});
    see_ray(&scene);
    list(&scene, listed, 2, true);
    tick(&scene);
    for (size_t i = 0; i < scene.answer.action_count; i++) {
        assert_int_equal(scene.answer.actions[i].kind, ACTION_SET_UP);
    }
    close_scene(&scene);
}

/* An image that does not boot is launched less and less often, not once every few seconds. */
static void test_a_type_whose_instances_end_at_boot_is_tried_less_often(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.type.min_nodes = 1;
    start(&scene);
    assert_in_range(launches_of_failures(&scene, 9, true), 4, 40);
    close_scene(&scene);
}

/* A node type that worked before may work again: it is tried less and less often, but never
 * stopped for good. */
static void test_a_type_that_worked_is_tried_again(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    step(&scene,
         (struct event){.kind = EVENT_RAY_NODE, .ray_node = {.instance = 7, .status = RAY_DEAD}});
    load(&scene, 1);
    size_t used = launches_of_failures(&scene, 9, false);
    assert_in_range(used, 4, 40);
    close_scene(&scene);
}

/* The same for a controller that started later: Ray still lists the node, as a dead one. */
static void test_a_type_that_worked_before_the_start_is_tried_again(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    list_one(&scene, 7, 0);
    node(&scene, 7, RAY_DEAD, NOT_IDLE);
    load(&scene, 1);
    assert_in_range(launches_of_failures(&scene, 9, false), 4, 40);
    close_scene(&scene);
}

/* While some fail, at most three are starting at a time; the first that joins removes the limit. */
static void test_one_failure_makes_the_next_launches_few(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.type.min_nodes = 1;
    scene.type.max_nodes = scene.settings.max_workers = 9;
    start(&scene);
    tick(&scene);
    uint64_t launch = only(&scene, ACTION_LAUNCH)->launch;
    launched(&scene, launch, 7);
    launch_reply(&scene, launch, OUTCOME_DONE);
    list_one(&scene, 7, launch);
    setup_news(&scene, 7, SETUP_FAILED);
    load(&scene, 9);
    tick(&scene);
    int64_t count = 0;
    for (size_t i = 0; i < scene.answer.action_count; i++) {
        const struct action *action = &scene.answer.actions[i];
        count += action->kind == ACTION_LAUNCH ? action->count : 0;
    }
    assert_int_equal(count, 2);
    assert_int_equal(scene.answer.holds[0].cause, HOLD_TRIAL);
    close_scene(&scene);
}

/* The limit of a registry: a new node would fail for hours, and bill. */
static void test_a_failure_that_will_repeat_pauses_the_type(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.type.min_nodes = 1;
    start(&scene);
    tick(&scene);
    uint64_t launch = only(&scene, ACTION_LAUNCH)->launch;
    launched(&scene, launch, 7);
    launch_reply(&scene, launch, OUTCOME_DONE);
    list_one(&scene, 7, launch);
    int64_t until = scene.now + scene.settings.times.cool_most;
    setup_news(&scene, 7, SETUP_BLOCKED);
    tick(&scene);
    assert_int_equal(state_of(&scene, 7), NODE_FAILED);
    assert_int_equal(scene.answer.holds[0].cause, HOLD_UNAVAILABLE);
    int64_t launches = 0;
    while (launches == 0 && scene.now < 2 * until) {
        scene.now += MINUTE;
        lease(&scene, 1);
        see_all(&scene);
        tick(&scene);
        for (size_t i = 0; i < scene.answer.action_count; i++) {
            launches += scene.answer.actions[i].kind == ACTION_LAUNCH;
        }
    }
    assert_int_equal(launches, 1);
    assert_true(scene.now >= until);
    close_scene(&scene);
}

static void test_another_failure_does_not_end_the_pause(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.type.min_nodes = 2;
    start(&scene);
    tick(&scene);
    uint64_t launch = only(&scene, ACTION_LAUNCH)->launch;
    launched(&scene, launch, 7);
    launched(&scene, launch, 8);
    launch_reply(&scene, launch, OUTCOME_DONE);
    const struct listed both[] = {{.instance = 7, .launch = launch, .state = CLOUD_RUNNING},
                                  {.instance = 8, .launch = launch, .state = CLOUD_RUNNING}};
    list(&scene, both, 2, true);
    setup_news(&scene, 7, SETUP_BLOCKED);
    setup_news(&scene, 8, SETUP_FAILED);
    for (int i = 0; i < 5; i++) {
        scene.now += MINUTE;
        lease(&scene, 1);
        see_all(&scene);
        tick(&scene);
        for (size_t k = 0; k < scene.answer.action_count; k++) {
            assert_int_not_equal(scene.answer.actions[k].kind, ACTION_LAUNCH);
        }
    }
    close_scene(&scene);
}

/* request_resources() and no capacity in the cloud: a higher max_workers would not help. */
static void test_what_is_requested_together_names_the_cloud_that_has_none(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    struct demand constraint = {.request = scene.demand.request, .count = 2};
    for (int zone = 0; zone < 2; zone++) {
        step(&scene,
             (struct event){.kind = EVENT_RAY_LOAD,
                            .ray_load = {.constraint = &constraint, .constraint_count = 1}});
        tick(&scene);
        launch_reply(&scene, only(&scene, ACTION_LAUNCH)->launch, OUTCOME_CAPACITY);
    }
    tick(&scene);
    nothing(&scene);
    assert_true(scene.answer.plan.is_constraint_unmet);
    assert_int_equal(scene.answer.plan.constraint_refusal.cause, REFUSED_UNAVAILABLE);
    assert_true(scene.answer.plan.constraint_refusal.limit > 0);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asks_for_all_at_once_and_not_twice),
        cmocka_unit_test(test_limits_count_launches_without_an_answer),
        cmocka_unit_test(test_a_lost_answer_is_asked_for_again_as_the_same_launch),
        cmocka_unit_test(test_a_refusal_tries_the_next_zone_at_once),
        cmocka_unit_test(test_nothing_without_a_lease),
        cmocka_unit_test(test_absence_counts_after_the_horizon_and_from_a_complete_listing),
        cmocka_unit_test(test_a_type_of_unknown_price_is_not_launched_under_a_limit),
        cmocka_unit_test(test_what_is_not_launched_says_why),
        cmocka_unit_test(test_a_refused_type_is_named_as_such),
        cmocka_unit_test(test_a_take_over_waits_for_a_listing_that_shows_everything),
        cmocka_unit_test(test_a_take_over_is_waited_out_by_whoever_comes_next),
        cmocka_unit_test(test_records_of_an_earlier_run_are_taken_up),
        cmocka_unit_test(test_only_a_written_upscaling_speed_makes_a_ramp),
        cmocka_unit_test(test_no_ramp_for_what_was_asked_for_outright),
        cmocka_unit_test(test_a_head_of_the_same_type_takes_no_worker_away),
        cmocka_unit_test(test_the_price_limit_is_never_passed),
        cmocka_unit_test(test_a_refused_type_opens_again_after_a_while),
        cmocka_unit_test(test_a_launch_that_waited_for_a_probe_is_not_forgotten),
        cmocka_unit_test(test_an_old_verdict_does_not_outlive_a_lease),
        cmocka_unit_test(test_a_take_over_asks_again_what_nodes_are),
        cmocka_unit_test(test_three_failed_set_ups_pause_a_type),
        cmocka_unit_test(test_a_node_whose_setup_failed_is_kept),
        cmocka_unit_test(test_a_node_that_is_set_up_again_has_its_time),
        cmocka_unit_test(test_a_tick_without_news_does_not_plan),
        cmocka_unit_test(test_a_type_whose_set_up_always_fails_stops_after_three),
        cmocka_unit_test(test_a_cluster_that_is_deleted_is_not_decided),
        cmocka_unit_test(test_an_open_launch_waits_for_the_first_listing),
        cmocka_unit_test(test_a_repeated_launch_keeps_the_limit_of_its_type),
        cmocka_unit_test(test_a_type_whose_instances_end_at_boot_is_tried_less_often),
        cmocka_unit_test(test_a_type_that_worked_is_tried_again),
        cmocka_unit_test(test_a_type_that_worked_before_the_start_is_tried_again),
        cmocka_unit_test(test_one_failure_makes_the_next_launches_few),
        cmocka_unit_test(test_a_failure_that_will_repeat_pauses_the_type),
        cmocka_unit_test(test_another_failure_does_not_end_the_pause),
        cmocka_unit_test(test_what_is_requested_together_names_the_cloud_that_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
