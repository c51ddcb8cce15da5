/* test_core_refusals.c: refusals that pass, quotas, and prices that are unknown or change. */
#include "core_scene.h"

/* Refuses launches of one node until none is wanted now; how many there were. */
static int64_t refuse_all(struct scene *scene, enum outcome outcome)
{
    int64_t count = 0;
    for (tick(scene); scene->answer.action_count > 0; tick(scene)) {
        launch_reply(scene, only(scene, ACTION_LAUNCH)->launch, outcome);
        assert_true(++count < 100);
    }
    return count;
}

/* How long until the next launch, in seconds; and refuses what is launched then. */
static int64_t next_refused(struct scene *scene, enum outcome outcome)
{
    int64_t waited = 0;
    while (refuse_all(scene, outcome) == 0) {
        assert_true(++waited < 3600);
        scene->now += SECOND;
        see_all(scene); /* without a fresh view no demand is known */
    }
    return waited;
}

static void open_policy(struct scene *scene, bool is_changed)
{
    open_scene(scene);
    scene->settings.policy_at = is_changed ? scene->now : 0;
    scene->settings.offering_count = 1;
    scene->core = core_new(&scene->settings, &scene->arena);
    start(scene);
    load(scene, 1);
}

static void test_a_new_policy_may_not_be_in_force_yet(void **state)
{
    const enum outcome outcomes[] = {OUTCOME_DENIED, OUTCOME_INVALID};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(outcomes); i++) {
        struct scene scene;
        open_policy(&scene, true);
        assert_int_equal(refuse_all(&scene, outcomes[i]), 1);
        assert_in_range(next_refused(&scene, outcomes[i]), 5, 7);
        assert_in_range(next_refused(&scene, outcomes[i]), 10, 13);
        assert_in_range(next_refused(&scene, outcomes[i]), 20, 25);
        assert_in_range(next_refused(&scene, outcomes[i]), 20, 25);
        scene.now += 2 * MINUTE; /* it is certainly in force: the refusal is meant */
        see_all(&scene);
        assert_int_equal(refuse_all(&scene, outcomes[i]), 1);
        assert_in_range(next_refused(&scene, outcomes[i]), 600, 730);
        close_scene(&scene);
    }
}

static void test_without_a_new_policy_a_denial_pauses_the_offering(void **state)
{
    struct scene scene;
    (void)state;
    open_policy(&scene, false);
    assert_int_equal(refuse_all(&scene, OUTCOME_DENIED), 1);
    assert_in_range(next_refused(&scene, OUTCOME_DENIED), 600, 730);
    close_scene(&scene);
}

static void test_a_lack_of_capacity_is_not_the_policys_fault(void **state)
{
    struct scene scene;
    (void)state;
    open_policy(&scene, true);
    assert_int_equal(refuse_all(&scene, OUTCOME_CAPACITY), 1);
    assert_in_range(next_refused(&scene, OUTCOME_CAPACITY), 180, 220);
    close_scene(&scene);
}

/* ---- quotas that refuse a call as a whole ---- */

static void open_many(struct scene *scene, int64_t max)
{
    open_scene(scene);
    scene->type.max_nodes = scene->settings.max_workers = max;
    scene->settings.node_capacity = 2 * (size_t)max;
    scene->core = core_new(&scene->settings, &scene->arena);
    start(scene);
}

/* Answers launches as an account with room for this many; returns how many calls there were. */
static int64_t answer_by_quota(struct scene *scene, int64_t room, int64_t *ret_launched)
{
    int64_t calls = 0;
    *ret_launched = 0;
    for (tick(scene); scene->answer.action_count > 0; tick(scene)) {
        const struct action *action = only(scene, ACTION_LAUNCH);
        uint64_t launch = action->launch;
        bool fits = action->count <= room - *ret_launched;
        for (int64_t i = 0; fits && i < action->count; i++) {
            launched(scene, launch, 100 + (uint64_t)(*ret_launched)++);
        }
        launch_reply(scene, launch, fits ? OUTCOME_DONE : OUTCOME_QUOTA);
        assert_true(++calls < 100);
    }
    return calls;
}

static void test_a_quota_that_refuses_a_whole_call_is_used_up_in_parts(void **state)
{
    struct scene scene;
    int64_t count;
    (void)state;
    open_many(&scene, 20);
    load(&scene, 20);
    assert_in_range(answer_by_quota(&scene, 14, &count), 4, 12);
    assert_int_equal(count, 14);
    scene.now += 5 * MINUTE; /* the quota is used up: paused */
    see_all(&scene);
    tick(&scene);
    assert_int_equal(scene.answer.action_count, 0);
    close_scene(&scene);
}

static void test_without_room_a_quota_costs_few_calls(void **state)
{
    struct scene scene;
    int64_t count;
    (void)state;
    open_many(&scene, 100);
    load(&scene, 100);
    /* 100, 50, 25, 12, 6, 3, 1 in the first zone, 1 in the other. */
    assert_int_equal(answer_by_quota(&scene, 0, &count), 8);
    scene.now += 13 * MINUTE;
    see_all(&scene);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 100); /* it may have been raised */
    close_scene(&scene);
}

/* ---- unknown and changing prices ---- */

static void open_priced(struct scene *scene, int64_t max_price, bool has_unpriced_head)
{
    open_scene(scene);
    scene->settings.max_price = max_price;
    scene->settings.has_unpriced_head = has_unpriced_head;
    scene->offerings[0].price = scene->offerings[1].price = 100;
    scene->core = core_new(&scene->settings, &scene->arena);
    start(scene);
}

static void test_a_head_of_unknown_price_is_not_free(void **state)
{
    struct scene scene;
    (void)state;
    open_priced(&scene, 1000, true);
    load(&scene, 1);
    tick(&scene);
    nothing(&scene);
    assert_int_equal(scene.answer.plan.unmet[0].refusal.cause, REFUSED_PRICE_UNKNOWN);
    close_scene(&scene);
    open_priced(&scene, PLAN_NO_LIMIT, true); /* without a limit it does not matter */
    load(&scene, 1);
    tick(&scene);
    only(&scene, ACTION_LAUNCH);
    close_scene(&scene);
}

static void test_a_running_instance_of_unknown_price_is_not_free(void **state)
{
    struct listed listed = {.instance = 9,
                            .launch = 3,
                            .offering = OFFERING_GONE,
                            .state = CLOUD_RUNNING,
                            .is_outdated = true,
                            .price = PRICE_UNKNOWN};
    struct scene scene;
    (void)state;
    for (int is_known = 0; is_known < 2; is_known++) {
        size_t launches = 0;
        open_priced(&scene, 1000, false);
        listed.price = is_known ? 100 : PRICE_UNKNOWN;
        list(&scene, &listed, 1, true);
        load(&scene, 1);
        tick(&scene);
        for (size_t i = 0; i < scene.answer.action_count; i++) {
            launches += scene.answer.actions[i].kind == ACTION_LAUNCH;
        }
        assert_int_equal(launches, is_known);
        close_scene(&scene);
    }
}

static void test_a_market_that_moves_changes_what_is_affordable(void **state)
{
    struct scene scene;
    (void)state;
    open_priced(&scene, 150, false);
    bring_up(&scene);
    load(&scene, 1);
    tick(&scene);
    nothing(&scene); /* 100 for what runs, and 100 more */
    assert_int_equal(scene.answer.holds[0].cause, HOLD_PRICE);
    scene.offerings[0].price = scene.offerings[1].price = 60;
    step(&scene, (struct event){.kind = EVENT_PRICES});
    tick(&scene);
    only(&scene, ACTION_LAUNCH);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_policy_may_not_be_in_force_yet),
        cmocka_unit_test(test_without_a_new_policy_a_denial_pauses_the_offering),
        cmocka_unit_test(test_a_lack_of_capacity_is_not_the_policys_fault),
        cmocka_unit_test(test_a_quota_that_refuses_a_whole_call_is_used_up_in_parts),
        cmocka_unit_test(test_without_room_a_quota_costs_few_calls),
        cmocka_unit_test(test_a_head_of_unknown_price_is_not_free),
        cmocka_unit_test(test_a_running_instance_of_unknown_price_is_not_free),
        cmocka_unit_test(test_a_market_that_moves_changes_what_is_affordable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
