/* test_cloud_listing.c: what listings show, hide, delay and cut off. */
#include "cloud_scene.h"

static void test_a_listing_shows_everybodys_machines(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    uint64_t head = cloud_plant(&scene->cloud, HERE, true, true);
    uint64_t foreign = cloud_plant(&scene->cloud, HERE_SPOT, false, false);
    uint64_t ours = launch_one(scene, 7, ELSEWHERE);
    const struct cloud_call *call = list(scene);
    assert_int_equal(call->outcome, OUTCOME_DONE);
    assert_true(call->is_complete);
    assert_int_equal(call->listed_count, 3);
    struct cloud_listed listed = line_of(call, head);
    assert_true(listed.is_head && listed.is_ours);
    assert_listed(call, head, CLOUD_RUNNING);
    listed = line_of(call, foreign);
    assert_int_equal(listed.instance, foreign);
    assert_false(listed.is_head || listed.is_ours);
    assert_int_equal(listed.offering, HERE_SPOT);
    assert_int_not_equal(listed.launch, 0); /* it looks like one of ours */
    listed = line_of(call, ours);
    assert_true(listed.is_ours);
    assert_int_equal(listed.launch, 7);
    assert_int_equal(listed.offering, ELSEWHERE);
    assert_listed(call, ours, CLOUD_PENDING);
}

static void test_it_is_taken_at_the_effect(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    struct event_queue_entry entry;
    uint64_t before = cloud_plant(&scene->cloud, HERE, true, false);
    uint64_t number = cloud_send(&scene->cloud, &(struct cloud_call){.verb = CLOUD_LIST});
    uint64_t under_way = cloud_plant(&scene->cloud, HERE, true, false);
    step(scene, &entry);
    assert_int_equal(entry.kind, EVENT_QUEUE_CALL_EFFECT);
    uint64_t after = cloud_plant(&scene->cloud, HERE, true, false);
    step(scene, &entry);
    assert_int_equal(entry.kind, EVENT_QUEUE_CALL_REPLY);
    const struct cloud_call *call = cloud_call(&scene->cloud, number);
    assert_true(is_listed(call, before));
    assert_true(is_listed(call, under_way));
    assert_false(is_listed(call, after));
}

static void test_new_machines_show_late(void **state)
{
    struct scene *scene = *state;
    switch_on(scene, FAULT_listing_lag, 1000);
    scene->faults.listing_lag = 60 * SECOND;
    scene->faults.call_time = 0; /* listings are current */
    begin(scene, 1);
    size_t late = 0;
    for (uint64_t token = 1; token <= 100; token++) {
        uint64_t instance = launch_one(scene, token, HERE);
        int64_t shows_at = get(scene, instance)->shows_at;
        assert_in_range(shows_at - get(scene, instance)->created_at, 0, 60 * SECOND);
        late += shows_at > scene->event_queue.now + 30 * SECOND;
        if (shows_at > scene->event_queue.now) {
            run_until(scene, shows_at - 1);
            assert_false(is_listed(list(scene), instance));
        }
        run_until(scene, shows_at);
        assert_true(is_listed(list(scene), instance));
    }
    assert_in_range(late, 30, 70);
}

static void test_without_lag_everything_shows_at_once(void **state)
{
    struct scene *scene = *state;
    scene->faults.call_time = 0;
    scene->faults.listing_lag = 60 * SECOND; /* but this fault is off */
    begin(scene, 1);
    uint64_t instance = launch_one(scene, 1, HERE);
    assert_listed(list(scene), instance, CLOUD_PENDING);
    run_until(scene, get(scene, instance)->running_at - 1);
    assert_listed(list(scene), instance, CLOUD_PENDING);
    run_until(scene, get(scene, instance)->running_at);
    assert_listed(list(scene), instance, CLOUD_RUNNING);
    terminate(scene, instance);
    assert_listed(list(scene), instance, CLOUD_ENDING);
    run_until(scene, get(scene, instance)->gone_at);
    assert_listed(list(scene), instance, CLOUD_GONE);
}

/* After a termination, listings alternate between running and terminating until the lag is over. */
static void test_states_lag_and_listings_disagree(void **state)
{
    struct scene *scene = *state;
    switch_on(scene, FAULT_listing_lag, 1000);
    scene->faults.listing_lag = 60 * SECOND;
    scene->faults.call_time = 0;
    scene->faults.ending_most = 1;
    begin(scene, 1);
    uint64_t instance = launch_one(scene, 1, HERE);
    run_for(scene, 10 * MINUTE);
    terminate(scene, instance);
    size_t stale = 0;
    size_t back = 0;
    enum cloud_state last = CLOUD_RUNNING;
    int64_t ended_at = get(scene, instance)->ended_at;
    while (scene->event_queue.now < ended_at + 60 * SECOND) {
        run_for(scene, SECOND);
        enum cloud_state now = line_of(list(scene), instance).state;
        stale += now == CLOUD_RUNNING;
        back += now == CLOUD_RUNNING && last == CLOUD_GONE;
        last = now;
    }
    assert_in_range(stale, 5, 55);
    assert_true(back >= 2);
    for (int i = 0; i < 100; i++) {
        run_for(scene, SECOND);
        assert_listed(list(scene), instance, CLOUD_GONE);
    }
}

/* Each instance has its own random lag, so one listing may be inconsistent. */
static void test_a_listing_mixes_moments(void **state)
{
    struct scene *scene = *state;
    scene->faults.call_time = 0;
    scene->faults.ending_most = 1;
    begin(scene, 1);
    const struct cloud_call *launched = launch(scene, 1, HERE, 50);
    run_for(scene, 10 * MINUTE);
    for (size_t i = 0; i < 50; i++) {
        terminate(scene, launched->instances[i]);
    }
    run_for(scene, SECOND);
    switch_on(scene, FAULT_listing_lag, 1000);
    scene->faults.listing_lag = 10 * SECOND;
    size_t mixed = 0;
    for (int i = 0; i < 20; i++) {
        const struct cloud_call *call = list(scene);
        size_t running = 0;
        for (size_t j = 0; j < call->listed_count; j++) {
            running += call->listed[j].state == CLOUD_RUNNING;
        }
        mixed += running > 0 && running < 50;
    }
    assert_true(mixed >= 10);
}

static void test_the_gone_linger_for_an_hour(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    uint64_t instance = launch_one(scene, 1, HERE);
    run_for(scene, 10 * MINUTE);
    terminate(scene, instance);
    run_for(scene, 45 * MINUTE);
    assert_listed(list(scene), instance, CLOUD_GONE);
    assert_int_equal(terminate(scene, instance)->outcome, OUTCOME_DONE);
    run_for(scene, 30 * MINUTE);
    const struct cloud_call *call = list(scene);
    assert_false(is_listed(call, instance));
    assert_true(call->is_complete);
    assert_int_equal(terminate(scene, instance)->outcome, OUTCOME_NOT_FOUND);
}

static void test_a_cut_listing_says_so(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    launch(scene, 1, HERE, 50);
    switch_on(scene, FAULT_listing_cut, 1000);
    size_t prefixes = 0;
    size_t others = 0;
    for (int i = 0; i < 100; i++) {
        const struct cloud_call *call = list(scene);
        assert_int_equal(call->outcome, OUTCOME_DONE);
        assert_false(call->is_complete);
        assert_true(call->listed_count <= 50);
        bool is_prefix = true;
        for (size_t j = 0; j < call->listed_count; j++) {
            is_prefix = is_prefix && call->listed[j].instance == j + 1;
            assert_true(j == 0 || call->listed[j].instance > call->listed[j - 1].instance);
        }
        prefixes += is_prefix && call->listed_count > 0 && call->listed_count < 50;
        others += !is_prefix;
    }
    assert_true(prefixes > 20);
    assert_true(others > 20);
    scene->faults.is_on[FAULT_listing_cut] = false;
    assert_true(list(scene)->is_complete);
    assert_int_equal(list(scene)->listed_count, 50);
}

static void test_a_lost_listing_shows_nothing(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    launch(scene, 1, HERE, 5);
    switch_on(scene, FAULT_lost_answer, 1000);
    const struct cloud_call *call = list(scene);
    assert_int_equal(call->outcome, OUTCOME_UNKNOWN);
    assert_int_equal(call->listed_count, 0);
    assert_false(call->is_complete);
}

/* A simulated day has tens of thousands of listings. */
static void test_listings_use_their_memory_again(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    launch(scene, 1, HERE, 1000);
    run_for(scene, HOUR);
    size_t used = 0;
    for (int i = 0; i < 10000; i++) {
        struct event_queue_entry entry;
        uint64_t number = cloud_send(&scene->cloud, &(struct cloud_call){.verb = CLOUD_LIST});
        do {
            step(scene, &entry);
        } while (entry.kind != EVENT_QUEUE_CALL_REPLY);
        assert_int_equal(cloud_call(&scene->cloud, number)->listed_count, 1000);
        cloud_release(&scene->cloud, number);
        used = i == 0 ? scene->arena.used_bytes : used;
    }
    assert_int_equal(scene->arena.used_bytes, used);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_a_listing_shows_everybodys_machines),
        SCENE_TEST(test_it_is_taken_at_the_effect),
        SCENE_TEST(test_new_machines_show_late),
        SCENE_TEST(test_without_lag_everything_shows_at_once),
        SCENE_TEST(test_states_lag_and_listings_disagree),
        SCENE_TEST(test_a_listing_mixes_moments),
        SCENE_TEST(test_the_gone_linger_for_an_hour),
        SCENE_TEST(test_a_cut_listing_says_so),
        SCENE_TEST(test_a_lost_listing_shows_nothing),
        SCENE_TEST(test_listings_use_their_memory_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
