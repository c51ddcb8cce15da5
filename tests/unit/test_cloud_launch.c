/* test_cloud_launch.c: tokens, refusals, partial launches, and failures of new instances. */
#include "cloud_scene.h"

static void test_the_same_token_gives_the_same_machines(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    const struct cloud_call *first = launch(scene, 7, HERE, 3);
    assert_int_equal(first->outcome, OUTCOME_DONE);
    assert_int_equal(first->instance_count, 3);
    const struct cloud_call *again = launch(scene, 7, HERE, 3);
    assert_int_equal(again->outcome, OUTCOME_DONE);
    assert_int_equal(again->instance_count, 3);
    assert_memory_equal(again->instances, first->instances, 3 * sizeof(uint64_t));
    assert_int_equal(scene->cloud.instance_count, 3);
    assert_int_equal(get(scene, first->instances[2])->launch, 7);
    assert_int_equal(get(scene, first->instances[2])->offering, HERE);
    assert_true(get(scene, first->instances[2])->is_ours);
}

static void test_a_token_outlives_its_machines(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    uint64_t instance = launch_one(scene, 7, HERE);
    terminate(scene, instance);
    run_for(scene, 3 * HOUR);
    scene->cloud.has_capacity[HERE] = false;
    const struct cloud_call *again = launch(scene, 7, HERE, 1);
    assert_int_equal(again->outcome, OUTCOME_DONE);
    assert_int_equal(again->instances[0], instance);
    assert_int_equal(scene->cloud.instance_count, 1);
}

static void test_other_parameters_are_a_mismatch(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    launch(scene, 7, HERE, 3);
    const struct cloud_call *other_count = launch(scene, 7, HERE, 2);
    assert_int_equal(other_count->outcome, OUTCOME_MISMATCH);
    assert_int_equal(other_count->instance_count, 0);
    assert_int_equal(launch(scene, 7, HERE_OTHER, 3)->outcome, OUTCOME_MISMATCH);
    assert_int_equal(launch(scene, 7, HERE_SPOT, 3)->outcome, OUTCOME_MISMATCH);
    assert_int_equal(scene->cloud.instance_count, 3);
}

static void test_another_zone_is_a_new_launch(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    uint64_t first = launch_one(scene, 7, HERE);
    uint64_t second = launch_one(scene, 7, ELSEWHERE);
    assert_int_not_equal(first, second);
    assert_int_equal(launch_one(scene, 7, HERE), first);
    assert_int_equal(launch_one(scene, 7, ELSEWHERE), second);
    assert_int_equal(scene->cloud.instance_count, 2);
}

static void test_a_refused_launch_leaves_no_token(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    scene->cloud.has_capacity[HERE] = false;
    assert_int_equal(launch(scene, 1, HERE, 2)->outcome, OUTCOME_CAPACITY);
    scene->cloud.has_capacity[HERE] = true;
    switch_on(scene, FAULT_quota, 1000);
    assert_int_equal(launch(scene, 1, HERE, 3)->outcome, OUTCOME_QUOTA);
    scene->faults.is_on[FAULT_quota] = false;
    switch_on(scene, FAULT_throttle, 1000);
    assert_int_equal(launch(scene, 1, HERE, 4)->outcome, OUTCOME_THROTTLED);
    scene->faults.is_on[FAULT_throttle] = false;
    assert_int_equal(scene->cloud.instance_count, 0);
    const struct cloud_call *call = launch(scene, 1, HERE, 5);
    assert_int_equal(call->outcome, OUTCOME_DONE);
    assert_int_equal(call->instance_count, 5);
}

static void test_a_token_may_be_forgotten(void **state)
{
    struct scene *scene = *state;
    switch_on(scene, FAULT_token_forgotten, 1000);
    scene->faults.length[FAULT_token_forgotten] = 40 * MINUTE;
    begin(scene, 1);
    uint64_t first = launch_one(scene, 7, HERE);
    run_for(scene, 39 * MINUTE);
    assert_int_equal(launch_one(scene, 7, HERE), first);
    run_for(scene, 2 * MINUTE);
    uint64_t second = launch_one(scene, 7, HERE);
    assert_int_not_equal(first, second);
    assert_int_equal(launch_one(scene, 7, HERE), second);
}

static void test_a_request_may_be_wrong(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    assert_int_equal(launch(scene, 1, OFFERING_COUNT, 1)->outcome, OUTCOME_INVALID);
    assert_int_equal(launch(scene, 1, HERE, 0)->outcome, OUTCOME_INVALID);
    assert_int_equal(scene->cloud.instance_count, 0);
}

static void test_partial_launches_give_fewer_but_some(void **state)
{
    struct scene *scene = *state;
    switch_on(scene, FAULT_partial_launch, 1000);
    begin(scene, 1);
    size_t seen[8] = {0};
    for (uint64_t token = 1; token <= 100; token++) {
        const struct cloud_call *call = launch(scene, token, HERE, 8);
        assert_int_equal(call->outcome, OUTCOME_DONE);
        assert_in_range(call->instance_count, 1, 7);
        seen[call->instance_count]++;
        const struct cloud_call *again = launch(scene, token, HERE, 8);
        assert_int_equal(again->instance_count, call->instance_count);
        assert_int_equal(again->instances[0], call->instances[0]);
    }
    for (size_t i = 1; i <= 7; i++) {
        assert_true(seen[i] > 0);
    }
    assert_int_equal(launch(scene, 101, HERE, 1)->instance_count, 1);
}

static void test_capacity_comes_and_goes_by_offering(void **state)
{
    struct scene *scene = *state;
    switch_on_by_time(scene, FAULT_no_capacity, 30 * MINUTE, 10 * MINUTE);
    begin(scene, 1);
    size_t refused[OFFERING_COUNT] = {0};
    size_t differed = 0;
    uint64_t token = 1;
    for (int i = 0; i < 2000; i++) {
        run_for(scene, MINUTE);
        for (uint32_t j = 0; j < OFFERING_COUNT; j++) {
            bool has_capacity = scene->cloud.has_capacity[j];
            refused[j] += !has_capacity;
            differed += has_capacity != scene->cloud.has_capacity[0];
        }
        uint64_t number = cloud_send(&scene->cloud, &(struct cloud_call){.verb = CLOUD_LAUNCH,
                                                                         .launch = token++,
                                                                         .offering = HERE,
                                                                         .count = 1});
        struct event_queue_entry entry;
        bool has_capacity = false;
        do {
            has_capacity = scene->cloud.has_capacity[HERE];
            step(scene, &entry);
        } while (entry.kind != EVENT_QUEUE_CALL_EFFECT);
        assert_int_equal(cloud_call(&scene->cloud, number)->outcome,
                         has_capacity ? OUTCOME_DONE : OUTCOME_CAPACITY);
    }
    for (size_t j = 0; j < OFFERING_COUNT; j++) {
        assert_in_range(refused[j], 2000 / 8, 2000 / 2);
    }
    assert_true(differed > 500);
}

static void test_an_offering_may_begin_without_capacity(void **state)
{
    struct scene *scene = *state;
    switch_on_by_time(scene, FAULT_no_capacity, 100 * HOUR, 10 * MINUTE);
    scene->faults.chance[FAULT_no_capacity] = 1000;
    begin(scene, 1);
    run_until(scene, 0);
    for (size_t i = 0; i < OFFERING_COUNT; i++) {
        assert_false(scene->cloud.has_capacity[i]);
    }
}

static void test_a_machine_runs_before_it_answers(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    for (uint64_t token = 1; token <= 100; token++) {
        const struct instance *instance = get(scene, launch_one(scene, token, HERE));
        assert_true(instance->created_at <= instance->running_at);
        assert_true(instance->running_at < instance->ssh_at);
        int64_t boot = instance->ssh_at - instance->created_at;
        assert_in_range(boot, scene->faults.boot_least, scene->faults.boot_most);
        assert_in_range(instance->setup_time, scene->faults.setup_least, scene->faults.setup_most);
        assert_false(instance->fails_setup || instance->never_joins);
        assert_int_equal(instance->taken_at, INT64_MAX);
        assert_false(instance_answers(instance, instance->ssh_at - 1));
        assert_true(instance_answers(instance, instance->ssh_at));
    }
    run_for(scene, HOUR);
    assert_int_equal(scene->seen[EVENT_QUEUE_INSTANCE_RUNNING], 100);
}

static void test_some_machines_boot_slowly_or_never(void **state)
{
    struct scene *scene = *state;
    switch_on(scene, FAULT_slow_boot, 500);
    scene->faults.length[FAULT_slow_boot] = 10 * MINUTE;
    begin(scene, 1);
    size_t slow = 0;
    size_t never = 0;
    size_t pending_long = 0;
    for (uint64_t token = 1; token <= 400; token++) {
        const struct instance *instance = get(scene, launch_one(scene, token, HERE));
        never += instance->ssh_at == INT64_MAX;
        slow += instance->ssh_at != INT64_MAX &&
                instance->ssh_at - instance->created_at > scene->faults.boot_most;
        pending_long += instance->running_at - instance->created_at > scene->faults.boot_most;
    }
    assert_in_range(slow, 100, 200);
    assert_in_range(never, 25, 80);
    assert_in_range(pending_long, 20, 80);
}

static void test_some_machines_fail_their_set_up_or_never_join(void **state)
{
    struct scene *scene = *state;
    switch_on(scene, FAULT_setup_fails, 250);
    switch_on(scene, FAULT_never_joins, 500);
    begin(scene, 1);
    size_t fail = 0;
    size_t never = 0;
    for (uint64_t token = 1; token <= 400; token++) {
        const struct instance *instance = get(scene, launch_one(scene, token, HERE));
        fail += instance->fails_setup;
        never += instance->never_joins;
    }
    assert_in_range(fail, 70, 130);
    assert_in_range(never, 160, 240);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_the_same_token_gives_the_same_machines),
        SCENE_TEST(test_a_token_outlives_its_machines),
        SCENE_TEST(test_other_parameters_are_a_mismatch),
        SCENE_TEST(test_another_zone_is_a_new_launch),
        SCENE_TEST(test_a_refused_launch_leaves_no_token),
        SCENE_TEST(test_a_token_may_be_forgotten),
        SCENE_TEST(test_a_request_may_be_wrong),
        SCENE_TEST(test_partial_launches_give_fewer_but_some),
        SCENE_TEST(test_capacity_comes_and_goes_by_offering),
        SCENE_TEST(test_an_offering_may_begin_without_capacity),
        SCENE_TEST(test_a_machine_runs_before_it_answers),
        SCENE_TEST(test_some_machines_boot_slowly_or_never),
        SCENE_TEST(test_some_machines_fail_their_set_up_or_never_join),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
