/* test_core_ends.c: the step function: which nodes are terminated, when, and what replaces them. */
#include "core_scene.h"

static void test_an_idle_node_ends_only_with_its_consent(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    scene.now += 2 * MINUTE;
    node(&scene, 7, RAY_ALIVE, scene.now);
    scene.now += 6 * MINUTE;
    see_ray(&scene);
    list_one(&scene, 7, 1);
    tick(&scene);
    assert_true(only(&scene, ACTION_DRAIN)->is_rejectable);
    step(&scene, (struct event){.kind = EVENT_DRAIN_REPLY,
                                .drain_reply = {.instance = 7, .answer = DRAIN_UNKNOWN}});
    tick(&scene);
    nothing(&scene);
    assert_int_equal(state_of(&scene, 7), NODE_IDLE);
    scene.now += 11 * SECOND;
    tick(&scene);
    only(&scene, ACTION_DRAIN);
    step(&scene, (struct event){.kind = EVENT_DRAIN_REPLY,
                                .drain_reply = {.instance = 7, .answer = DRAIN_ACCEPTED}});
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_TERMINATE)->reason.kind, REASON_IDLE);
    close_scene(&scene);
}

static void test_nothing_ends_while_ray_is_out_of_sight(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    node(&scene, 7, RAY_ALIVE, scene.now);
    see_ray(&scene);
    scene.now += 20 * MINUTE;
    list_one(&scene, 7, 1);
    tick(&scene);
    nothing(&scene);
    assert_int_equal(scene.answer.ending, PERMIT_NO_LISTING);
    close_scene(&scene);
}

static void test_a_notice_brings_a_replacement_from_elsewhere_at_once(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.type.min_nodes = 1;
    scene.core = core_new(&scene.settings, &scene.arena);
    start(&scene);
    bring_up(&scene);
    step(&scene, (struct event){.kind = EVENT_NOTICE,
                                .notice = {.instance = 7, .until = scene.now + 2 * MINUTE}});
    tick(&scene);
    assert_int_equal(scene.answer.action_count, 2);
    const struct action *drain = &scene.answer.actions[0];
    const struct action *launch = &scene.answer.actions[1];
    assert_int_equal(drain->kind, ACTION_DRAIN);
    assert_false(drain->is_rejectable);
    assert_int_equal(launch->kind, ACTION_LAUNCH);
    assert_int_equal(launch->offering, 1);
    /* The cloud stops it while it drains: that is the end that was announced. */
    struct listed listed = {.instance = 7, .launch = 1, .state = CLOUD_ENDING};
    list(&scene, &listed, 1, true);
    assert_int_equal(state_of(&scene, 7), NODE_TERMINATING);
    assert_int_equal(core_find(scene.core, 7)->reason.kind, REASON_NOTICE);
    close_scene(&scene);
}

/* A drain that no component requested is the spot notice; if nothing else has capacity, the same
 * type is requested. */
static void test_a_drain_by_others_brings_a_replacement_at_once(void **state)
{
    for (size_t offerings = 1; offerings <= 2; offerings++) {
        struct scene scene;
        (void)state;
        open_scene(&scene);
        scene.type.min_nodes = 1;
        scene.offerings[0].market = MARKET_SPOT;
        scene.settings.offering_count = offerings;
        scene.core = core_new(&scene.settings, &scene.arena);
        start(&scene);
        bring_up(&scene);
        node(&scene, 7, RAY_DRAINING, NOT_IDLE);
        see_ray(&scene);
        tick(&scene);
        assert_int_equal(only(&scene, ACTION_LAUNCH)->offering, offerings - 1);
        assert_int_equal(state_of(&scene, 7), NODE_DRAINING);
        scene.now += 2 * MINUTE;
        list_one(&scene, 7, 0);
        node(&scene, 7, RAY_DEAD, NOT_IDLE);
        see_ray(&scene);
        assert_int_equal(core_find(scene.core, 7)->reason.kind, REASON_NOTICE);
        tick(&scene);
        assert_int_equal(state_of(&scene, 7), NODE_TERMINATING);
        close_scene(&scene);
    }
}

/* Ray Train requests its largest size as a constraint on the total, and keeps it during a drain.
 * The draining node must not count towards it, or nothing replaces the node before its end. */
static void test_a_draining_node_does_not_satisfy_a_constraint(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    scene.demand.count = 1;
    step(&scene, (struct event){.kind = EVENT_RAY_LOAD,
                                .ray_load = {.constraint = &scene.demand, .constraint_count = 1}});
    tick(&scene);
    nothing(&scene); /* instance 7 satisfies it */
    node(&scene, 7, RAY_DRAINING, NOT_IDLE);
    see_ray(&scene);
    tick(&scene);
    launched(&scene, only(&scene, ACTION_LAUNCH)->launch, 8);
    see_ray(&scene);
    tick(&scene);
    for (size_t i = 0; i < scene.answer.action_count; i++) { /* one node needs one replacement */
        assert_int_not_equal(scene.answer.actions[i].kind, ACTION_LAUNCH);
    }
    close_scene(&scene);
}

static void work_and_rest(struct scene *scene)
{
    scene->settings.idle_timeout = 6 * SECOND;
    scene->core = core_new(&scene->settings, &scene->arena);
    start(scene);
    scene->now += 2 * MINUTE;
    see_all(scene);
    bring_up(scene);
    scene->now += SECOND;
    node(scene, 7, RAY_ALIVE, scene->now);
    see_ray(scene);
    scene->now += 7 * SECOND;
    see_ray(scene);
    tick(scene);
}

static void test_who_has_worked_may_go_as_soon_as_it_is_idle_for_long(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    work_and_rest(&scene);
    assert_true(only(&scene, ACTION_DRAIN)->is_rejectable);
    /* Its raylet exits, and that is visible before its answer. */
    node(&scene, 7, RAY_DEAD, NOT_IDLE);
    assert_int_equal(core_find(scene.core, 7)->reason.kind, REASON_IDLE);
    close_scene(&scene);
}

/* The time of Ray's report counts, so polls continue. */
static int64_t drained_after(struct scene *scene, int64_t most)
{
    for (int64_t waited = 0; waited <= most; waited += SECOND / 2) {
        see_ray(scene);
        tick(scene);
        if (scene->answer.action_count > 0) {
            assert_true(only(scene, ACTION_DRAIN)->is_rejectable);
            return scene->now;
        }
        scene->now += SECOND / 2;
    }
    return INT64_MAX;
}

/* A node that has just become idle, in a cluster with an idle timeout of a minute. */
static void rest_a_node(struct scene *scene)
{
    open_scene(scene);
    scene->settings.idle_timeout = MINUTE;
    scene->core = core_new(&scene->settings, &scene->arena);
    start(scene);
    scene->now += 2 * MINUTE;
    see_all(scene);
    bring_up(scene);
    scene->now += SECOND;
    node(scene, 7, RAY_ALIVE, scene->now);
    see_ray(scene);
    tick(scene);
    nothing(scene);
}

/* Ray is slow or unreachable for a while, and something else is decided in that time. The
 * information about the node was old then, which is not a reason to keep it longer. */
static void test_a_look_at_ray_that_was_late_keeps_no_node(void **state)
{
    static const struct {
        int64_t looked; /* after it became idle */
        int64_t decided;
    } pauses[] = {{0, 5 * SECOND},
                  {0, 25 * SECOND},
                  {0, 55 * SECOND},
                  {35 * SECOND, 60 * SECOND},
                  {35 * SECOND, 64 * SECOND},
                  {35 * SECOND, 70 * SECOND}};
    for (size_t i = 0; i < 2 * ARRAY_LEN(pauses); i++) {
        struct scene scene;
        (void)state;
        rest_a_node(&scene);
        int64_t rests_at = scene.now;
        int64_t due = rests_at + MINUTE;
        scene.now = rests_at + pauses[i / 2].looked;
        see_ray(&scene);
        scene.now = rests_at + pauses[i / 2].decided;
        /* If another request is pending, no node is left out of the plan. */
        scene.demand.count = 1;
        scene.amount.amount = 80000;
        step(&scene,
             (struct event){.kind = EVENT_RAY_LOAD,
                            .ray_load = {.constraint = &scene.demand, .constraint_count = i % 2}});
        tick(&scene);
        nothing(&scene);
        scene.now += SECOND;
        due = due > scene.now ? due : scene.now;
        assert_in_range(drained_after(&scene, 3 * MINUTE), due, due + SECOND);
        close_scene(&scene);
    }
}

/* The service, or the GCS, was stopped for longer than the idle timeout. The first answer may
 * belong to a request from before that. */
static void test_a_node_that_was_idle_through_a_standstill_goes_at_once(void **state)
{
    static const int64_t lags[] = {0, 20 * SECOND, 3 * MINUTE};
    for (size_t i = 0; i < ARRAY_LEN(lags); i++) {
        struct scene scene;
        (void)state;
        rest_a_node(&scene);
        scene.now += 3 * MINUTE + SECOND;
        list_one(&scene, 7, 1);
        tick(&scene);
        nothing(&scene);
        step(&scene, (struct event){.kind = EVENT_RAY_SEEN, .asked_at = scene.now - lags[i]});
        tick(&scene);
        int64_t awake = scene.now;
        if (scene.answer.action_count == 0) {
            assert_in_range(drained_after(&scene, 3 * MINUTE), awake, awake + SECOND);
        } else {
            only(&scene, ACTION_DRAIN);
        }
        close_scene(&scene);
    }
}

static void test_after_ray_began_anew_nothing_ends_for_a_while(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.idle_timeout = 6 * SECOND;
    scene.core = core_new(&scene.settings, &scene.arena);
    start(&scene);
    scene.now += 2 * MINUTE;
    see_all(&scene);
    bring_up(&scene);
    node(&scene, 7, RAY_ALIVE, scene.now);
    step(&scene, (struct event){.kind = EVENT_RAY_RESTARTED});
    for (int64_t waited = 0; waited < scene.settings.times.quiet_start; waited += SECOND) {
        see_ray(&scene);
        tick(&scene);
        nothing(&scene);
        assert_int_equal(scene.answer.ending, PERMIT_QUIET); /* nothing is wrong */
        scene.now += SECOND;
    }
    see_ray(&scene);
    tick(&scene);
    only(&scene, ACTION_DRAIN);
    close_scene(&scene);
}

/* Its running tasks are not demand yet, and a replacement takes longer than the notice. */
static void test_what_runs_on_a_machine_that_is_taken_gets_a_place_at_once(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    tick(&scene);
    nothing(&scene);
    node(&scene, 7, RAY_DRAINING, NOT_IDLE);
    see_ray(&scene);
    tick(&scene);
    const struct action *launch = only(&scene, ACTION_LAUNCH);
    assert_int_equal(launch->count, 1);
    assert_int_equal(action_takes_over(launch), 1);
    assert_int_equal(launch->instance, 7);
    assert_int_equal(scene.answer.plan.unmet_count, 0);
    launched(&scene, launch->launch, 8);
    node(&scene, 8, RAY_ALIVE, scene.now);
    see_ray(&scene);
    tick(&scene);
    for (size_t i = 0; i < scene.answer.action_count; i++) {
        assert_int_not_equal(scene.answer.actions[i].kind, ACTION_LAUNCH);
    }
    close_scene(&scene);
}

/* Brings both into Ray, busy; reports no launches. */
static void list_two_busy(struct scene *scene)
{
    struct listed both[] = {{.instance = 7, .state = CLOUD_RUNNING},
                            {.instance = 8, .state = CLOUD_RUNNING}};
    open_scene(scene);
    scene->settings.max_workers = 8;
    scene->type.max_nodes = 8;
    scene->core = core_new(&scene->settings, &scene->arena);
    start(scene);
    list(scene, both, 2, true);
    node(scene, 7, RAY_ALIVE, NOT_IDLE);
    node(scene, 8, RAY_ALIVE, NOT_IDLE);
    see_ray(scene);
    tick(scene);
}

static void test_who_waits_and_who_is_displaced_are_told_apart(void **state)
{
    struct scene scene;
    (void)state;
    list_two_busy(&scene);
    load(&scene, 2);
    node(&scene, 7, RAY_DRAINING, NOT_IDLE);
    see_ray(&scene);
    tick(&scene);
    const struct action *launch = only(&scene, ACTION_LAUNCH);
    assert_int_equal(launch->count, 3);
    assert_int_equal(launch->count_by_cause[LAUNCH_DEMAND], 3);
    assert_int_equal(action_takes_over(launch), 1);
    assert_int_equal(launch->instance, 7);
    assert_int_equal(launch->reason.limit, 1);
    assert_str(action_reason_text_with(launch, STR("worker-7"), &scene.scratch),
               "2 for pending requests, 1 to replace worker-7, which is being terminated");
    close_scene(&scene);
}

/* A training job requests the replacement itself, and has one when the request is gone. */
static void test_work_that_moves_by_itself_is_replaced_once(void **state)
{
    for (int64_t waiting = 0; waiting <= 1; waiting++) {
        for (int64_t moving = 0; moving <= 2; moving++) {
            struct scene scene;
            (void)state;
            list_two_busy(&scene);
            load(&scene, waiting);
            struct demand move = {scene.demand.request, moving};
            struct ray_load told = {.demands = &scene.demand,
                                    .demand_count = waiting > 0,
                                    .moving = &move,
                                    .moving_count = 1};
            step(&scene, (struct event){.kind = EVENT_RAY_LOAD, .ray_load = told});
            node(&scene, 7, RAY_DRAINING, NOT_IDLE);
            see_ray(&scene);
            tick(&scene);
            int64_t launched = 0;
            for (size_t i = 0; i < scene.answer.action_count; i++) {
                const struct action *action = &scene.answer.actions[i];
                launched += action->kind == ACTION_LAUNCH ? action->count : 0;
            }
            assert_int_equal(launched, waiting + (moving == 0));
            close_scene(&scene);
        }
    }
}

static void test_a_launch_names_who_has_no_successor_yet(void **state)
{
    struct scene scene;
    (void)state;
    list_two_busy(&scene);
    node(&scene, 7, RAY_DRAINING, NOT_IDLE);
    see_ray(&scene);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->instance, 7);
    node(&scene, 8, RAY_DRAINING, NOT_IDLE);
    see_ray(&scene);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 1);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->instance, 8);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->reason.limit, 1);
    close_scene(&scene);
}

static void test_one_launch_takes_over_from_all_who_go_together(void **state)
{
    struct scene scene;
    (void)state;
    list_two_busy(&scene);
    node(&scene, 7, RAY_DRAINING, NOT_IDLE);
    node(&scene, 8, RAY_DRAINING, NOT_IDLE);
    see_ray(&scene);
    tick(&scene);
    const struct action *launch = only(&scene, ACTION_LAUNCH);
    assert_int_equal(action_takes_over(launch), 2);
    assert_str(action_reason_text(launch, &scene.scratch),
               "2 to replace instance 7 and 1 more node, which are being terminated");
    /* Refused: the next one is for the same two. */
    launch_reply(&scene, launch->launch, OUTCOME_CAPACITY);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->instance, 7);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->reason.limit, 2);
    close_scene(&scene);
}

static void test_nothing_comes_for_a_machine_that_is_taken_while_it_has_no_work(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    scene.full.free = scene.full.total;
    node(&scene, 7, RAY_DRAINING, NOT_IDLE); /* Ray does not say how long a draining one is idle */
    see_ray(&scene);
    tick(&scene);
    nothing(&scene);
    close_scene(&scene);
}

/* There is no place for it, and no report mentions a demand that Ray does not know. */
static void test_limits_hold_for_replacements(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.max_workers = 1;
    scene.core = core_new(&scene.settings, &scene.arena);
    start(&scene);
    bring_up(&scene);
    node(&scene, 7, RAY_DRAINING, NOT_IDLE);
    see_ray(&scene);
    tick(&scene);
    nothing(&scene);
    assert_true(scene.answer.is_decision);
    assert_int_equal(scene.answer.plan.unmet_count, 0);
    close_scene(&scene);
}

/* After a restart Ray reports it before the cloud does, or while it is still to be set up again. */
static void test_a_drain_of_others_is_seen_after_a_restart(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    node(&scene, 9, RAY_DRAINING, NOT_IDLE);
    list_one(&scene, 9, 0);
    assert_int_equal(state_of(&scene, 9), NODE_DRAINING);
    struct listed both[] = {{.instance = 9, .state = CLOUD_RUNNING},
                            {.instance = 10, .state = CLOUD_RUNNING}};
    list(&scene, both, 2, true);
    assert_int_equal(state_of(&scene, 10), NODE_BOOTING);
    node(&scene, 10, RAY_DRAINING, NOT_IDLE);
    assert_int_equal(state_of(&scene, 10), NODE_DRAINING);
    close_scene(&scene);
}

static void test_down_ends_everything(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    step(&scene, (struct event){.kind = EVENT_GOAL, .goal = GOAL_DOWN});
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_TERMINATE)->reason.kind, REASON_DOWN);
    step(&scene, (struct event){.kind = EVENT_TERMINATE_REPLY,
                                .terminate_reply = {.instance = 7, .outcome = OUTCOME_DONE}});
    tick(&scene);
    nothing(&scene);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_idle_node_ends_only_with_its_consent),
        cmocka_unit_test(test_nothing_ends_while_ray_is_out_of_sight),
        cmocka_unit_test(test_a_notice_brings_a_replacement_from_elsewhere_at_once),
        cmocka_unit_test(test_a_drain_by_others_brings_a_replacement_at_once),
        cmocka_unit_test(test_a_draining_node_does_not_satisfy_a_constraint),
        cmocka_unit_test(test_who_has_worked_may_go_as_soon_as_it_is_idle_for_long),
        cmocka_unit_test(test_a_look_at_ray_that_was_late_keeps_no_node),
        cmocka_unit_test(test_a_node_that_was_idle_through_a_standstill_goes_at_once),
        cmocka_unit_test(test_after_ray_began_anew_nothing_ends_for_a_while),
        cmocka_unit_test(test_what_runs_on_a_machine_that_is_taken_gets_a_place_at_once),
        cmocka_unit_test(test_who_waits_and_who_is_displaced_are_told_apart),
        cmocka_unit_test(test_work_that_moves_by_itself_is_replaced_once),
        cmocka_unit_test(test_a_launch_names_who_has_no_successor_yet),
        cmocka_unit_test(test_one_launch_takes_over_from_all_who_go_together),
        cmocka_unit_test(test_nothing_comes_for_a_machine_that_is_taken_while_it_has_no_work),
        cmocka_unit_test(test_limits_hold_for_replacements),
        cmocka_unit_test(test_a_drain_of_others_is_seen_after_a_restart),
        cmocka_unit_test(test_down_ends_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
