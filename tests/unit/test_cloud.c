/* test_cloud.c: calls in transit, terminations, outages and recovery. Launches and listings are
 * tested in test_cloud_launch.c and test_cloud_listing.c. */
#include "cloud_scene.h"

/* ---- calls ----------------------------------------------------------------------------------- */

static void test_a_call_has_its_effect_on_the_way(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    size_t early = 0;
    for (uint64_t token = 1; token <= 100; token++) {
        int64_t sent_at = scene->event_queue.now;
        uint64_t number = cloud_send(&scene->cloud, &(struct cloud_call){.verb = CLOUD_LAUNCH,
                                                                         .sim_controller = 3,
                                                                         .incarnation = 9,
                                                                         .launch = token,
                                                                         .offering = HERE,
                                                                         .count = 1});
        assert_int_equal(scene->cloud.instance_count, token - 1);
        struct event_queue_entry entry;
        do {
            step(scene, &entry);
        } while (entry.kind != EVENT_QUEUE_CALL_REPLY);
        assert_int_equal(entry.who, 3);
        assert_int_equal(entry.what, number);
        assert_int_equal(entry.extra, 9);
        assert_in_range(entry.at, sent_at, sent_at + scene->faults.call_time);
        const struct cloud_call *call = cloud_call(&scene->cloud, number);
        assert_int_equal(call->sent_at, sent_at);
        assert_int_equal(call->outcome, OUTCOME_DONE);
        int64_t created_at = get(scene, call->instances[0])->created_at;
        assert_in_range(created_at, sent_at, entry.at);
        early += created_at < entry.at;
        cloud_release(&scene->cloud, number);
    }
    assert_true(early > 50);
    assert_int_equal(scene->cloud.calls_made[CLOUD_LAUNCH], 100);
}

static void test_a_lost_call_has_no_effect(void **state)
{
    struct scene *scene = *state;
    switch_on(scene, FAULT_lost_call, 1000);
    begin(scene, 1);
    const struct cloud_call *call = launch(scene, 1, HERE, 3);
    assert_int_equal(call->outcome, OUTCOME_UNKNOWN);
    assert_int_equal(scene->event_queue.now, scene->faults.call_timeout);
    run_for(scene, HOUR);
    assert_int_equal(scene->cloud.instance_count, 0);
    scene->faults.is_on[FAULT_lost_call] = false;
    assert_int_equal(launch(scene, 1, HERE, 2)->outcome, OUTCOME_DONE);
}

static void test_a_lost_answer_hides_an_effect(void **state)
{
    struct scene *scene = *state;
    switch_on(scene, FAULT_lost_answer, 1000);
    begin(scene, 1);
    size_t late = 0;
    size_t early = 0; /* answers, or broken connections, before the effect */
    for (uint64_t token = 1; token <= 100; token++) {
        int64_t sent_at = scene->event_queue.now;
        const struct cloud_call *call = launch(scene, token, HERE, 1);
        assert_int_equal(call->outcome, OUTCOME_UNKNOWN);
        assert_int_equal(call->instance_count, 0);
        assert_in_range(scene->event_queue.now, sent_at, sent_at + scene->faults.call_timeout);
        early += scene->cloud.instance_count < token;
        run_until(scene, sent_at + scene->faults.call_timeout);
        assert_int_equal(scene->cloud.instance_count, token);
        int64_t created_at = get(scene, token)->created_at;
        assert_in_range(created_at, sent_at, sent_at + scene->faults.call_timeout);
        late += created_at > sent_at + scene->faults.call_time;
    }
    assert_in_range(late, 20, 80);
    assert_in_range(early, 5, 60);
    scene->faults.is_on[FAULT_lost_answer] = false;
    assert_int_equal(launch_one(scene, 50, HERE), 50);
}

static void test_throttled_calls_do_nothing(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    uint64_t instance = launch_one(scene, 1, HERE);
    switch_on(scene, FAULT_throttle, 1000);
    assert_int_equal(launch(scene, 2, HERE, 1)->outcome, OUTCOME_THROTTLED);
    assert_int_equal(terminate(scene, instance)->outcome, OUTCOME_THROTTLED);
    const struct cloud_call *call = list(scene);
    assert_int_equal(call->outcome, OUTCOME_THROTTLED);
    assert_int_equal(call->listed_count, 0);
    assert_false(call->is_complete);
    assert_int_equal(scene->cloud.instance_count, 1);
    assert_true(instance_is_live(get(scene, instance), scene->event_queue.now));
}

static void test_records_of_calls_are_used_again(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    uint64_t kept = cloud_send(&scene->cloud, &(struct cloud_call){.verb = CLOUD_LIST});
    uint64_t last = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t number = cloud_send(&scene->cloud, &(struct cloud_call){.verb = CLOUD_LIST});
        assert_int_not_equal(number, last);
        assert_int_not_equal(number, kept);
        run_for(scene, scene->faults.call_timeout);
        cloud_release(&scene->cloud, number);
        last = number;
    }
    assert_int_equal(scene->cloud.call_count, 2);
    assert_int_equal(cloud_call(&scene->cloud, kept)->sent_at, 0);
}

/* ---- terminations ---------------------------------------------------------------------------- */

static void test_a_terminate_call_ends_a_machine(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    uint64_t id = launch_one(scene, 1, HERE);
    run_for(scene, 10 * MINUTE);
    int64_t before = scene->event_queue.now;
    const struct cloud_call *call = ask(
        scene, &(struct cloud_call){
                   .verb = CLOUD_TERMINATE, .sim_controller = 2, .incarnation = 5, .instance = id});
    assert_int_equal(call->outcome, OUTCOME_DONE);
    const struct instance *instance = get(scene, id);
    assert_in_range(instance->ended_at, before, scene->event_queue.now);
    assert_in_range(instance->gone_at, instance->ended_at + 1,
                    instance->ended_at + scene->faults.ending_most);
    assert_false(instance_is_live(instance, scene->event_queue.now));
    assert_int_equal(instance->ended_by, ENDED_BY_CONTROLLER);
    assert_int_equal(instance->ended_by_controller, 2);
    assert_int_equal(instance->ended_by_incarnation, 5);
    int64_t ended_at = instance->ended_at;
    assert_int_equal(terminate(scene, id)->outcome, OUTCOME_DONE);
    assert_int_equal(get(scene, id)->ended_at, ended_at);
    assert_int_equal(get(scene, id)->ended_by_controller, 2);
    run_for(scene, HOUR);
    assert_int_equal(scene->seen[EVENT_QUEUE_INSTANCE_GONE], 1);
    assert_false(instance_answers(get(scene, id), scene->event_queue.now));
}

static void test_the_cloud_ends_whatever_it_is_asked_to(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    uint64_t head = cloud_plant(&scene->cloud, HERE, true, true);
    uint64_t foreign = cloud_plant(&scene->cloud, HERE, false, false);
    assert_int_equal(terminate(scene, foreign)->outcome, OUTCOME_DONE);
    assert_int_equal(get(scene, foreign)->ended_by, ENDED_BY_CONTROLLER);
    assert_int_equal(terminate(scene, head)->outcome, OUTCOME_DONE);
    assert_int_equal(get(scene, head)->ended_by, ENDED_BY_CONTROLLER);
    assert_int_equal(terminate(scene, 99)->outcome, OUTCOME_NOT_FOUND);
    assert_int_equal(terminate(scene, INSTANCE_NONE)->outcome, OUTCOME_NOT_FOUND);
    assert_null(cloud_instance(&scene->cloud, 99));
}

/* Read-after-write: "not found" proves nothing, and a retry works. */
static void test_a_machine_that_does_not_show_may_not_be_found(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    size_t not_found = 0;
    size_t hidden = 0;
    for (uint64_t token = 1; token <= 200; token++) {
        uint64_t id = launch_one(scene, token, HERE);
        bool is_hidden = token % 2 == 0;
        scene->cloud.instances[id - 1].shows_at += is_hidden ? MINUTE : 0;
        enum outcome outcome = terminate(scene, id)->outcome;
        bool is_live = instance_is_live(get(scene, id), scene->event_queue.now);
        assert_int_equal(outcome, is_live ? OUTCOME_NOT_FOUND : OUTCOME_DONE);
        assert_true(is_hidden || outcome == OUTCOME_DONE);
        hidden += is_hidden;
        not_found += outcome == OUTCOME_NOT_FOUND;
        run_for(scene, MINUTE);
        assert_int_equal(terminate(scene, id)->outcome, OUTCOME_DONE);
        assert_false(instance_is_live(get(scene, id), scene->event_queue.now));
    }
    assert_in_range(not_found, hidden / 4, hidden * 3 / 4);
}

static void test_spot_machines_are_taken_after_a_notice(void **state)
{
    struct scene *scene = *state;
    switch_on_by_time(scene, FAULT_spot_notice, HOUR, 0);
    begin(scene, 1);
    uint64_t lasting = launch_one(scene, 1, HERE);
    int64_t lives = 0;
    for (uint64_t token = 2; token < 102; token++) {
        const struct instance *instance = get(scene, launch_one(scene, token, HERE_SPOT));
        assert_int_equal(instance->taken_at - instance->notice_at, 120 * SECOND);
        lives += instance->notice_at - instance->created_at;
    }
    assert_in_range(lives / 100, 40 * MINUTE, 80 * MINUTE);
    run_for(scene, 48 * HOUR);
    assert_int_equal(scene->seen[EVENT_QUEUE_INSTANCE_NOTICE], 100);
    assert_int_equal(scene->seen[EVENT_QUEUE_INSTANCE_TAKEN], 100);
    assert_int_equal(scene->seen[EVENT_QUEUE_INSTANCE_GONE], 100);
    for (uint64_t id = 2; id < 102; id++) {
        const struct instance *instance = get(scene, id);
        assert_int_equal(instance->ended_by, ENDED_BY_SPOT);
        assert_int_equal(instance->ended_at, instance->taken_at);
        assert_int_equal(instance->died_at, instance->taken_at);
    }
    assert_true(instance_is_live(get(scene, lasting), scene->event_queue.now));
}

static void test_spot_machines_are_taken_without_a_notice(void **state)
{
    struct scene *scene = *state;
    switch_on_by_time(scene, FAULT_spot_kill, HOUR, 0);
    begin(scene, 1);
    launch(scene, 1, HERE, 50);
    launch(scene, 2, HERE_SPOT, 50);
    run_for(scene, 48 * HOUR);
    assert_int_equal(scene->seen[EVENT_QUEUE_INSTANCE_NOTICE], 0);
    assert_int_equal(scene->seen[EVENT_QUEUE_INSTANCE_TAKEN], 50);
    for (uint64_t id = 1; id <= 100; id++) {
        bool is_spot = get(scene, id)->offering == HERE_SPOT;
        assert_int_equal(get(scene, id)->ended_by, is_spot ? ENDED_BY_SPOT : ENDED_BY_NOBODY);
    }
}

/* The cloud notices some failures; other instances hang and are still billed. */
static void test_machines_die_without_a_word(void **state)
{
    struct scene *scene = *state;
    switch_on_by_time(scene, FAULT_machine_dies, HOUR, 0);
    begin(scene, 1);
    uint64_t head = cloud_plant(&scene->cloud, HERE, true, true);
    launch(scene, 1, HERE, 100);
    run_for(scene, 48 * HOUR);
    int64_t now = scene->event_queue.now;
    assert_int_equal(scene->seen[EVENT_QUEUE_INSTANCE_NOTICE], 0);
    assert_int_equal(scene->seen[EVENT_QUEUE_INSTANCE_TAKEN], 100);
    size_t noticed = 0;
    for (uint64_t id = 2; id <= 101; id++) {
        const struct instance *instance = get(scene, id);
        assert_false(instance_answers(instance, now));
        assert_int_equal(instance->died_at, instance->taken_at);
        noticed += !instance_is_live(instance, now);
        assert_int_equal(instance->ended_by,
                         instance->will_hang ? ENDED_BY_NOBODY : ENDED_BY_DEATH);
    }
    assert_in_range(noticed, 30, 70);
    assert_int_equal(scene->seen[EVENT_QUEUE_INSTANCE_GONE], noticed);
    assert_true(instance_answers(get(scene, head), now));
    const struct cloud_call *call = list(scene);
    for (size_t i = 0; i < call->listed_count; i++) {
        if (call->listed[i].state == CLOUD_RUNNING && call->listed[i].instance != head) {
            assert_int_equal(terminate(scene, call->listed[i].instance)->outcome, OUTCOME_DONE);
            assert_int_equal(get(scene, call->listed[i].instance)->ended_by, ENDED_BY_CONTROLLER);
        }
    }
}

/* What was scheduled for a terminated instance must not be delivered. */
static void test_plans_for_ended_machines_are_overtaken(void **state)
{
    struct scene *scene = *state;
    switch_on_by_time(scene, FAULT_spot_notice, HOUR, 0);
    begin(scene, 1);
    const struct cloud_call *call = launch(scene, 1, HERE_SPOT, 20);
    for (size_t i = 0; i < call->instance_count; i++) {
        terminate(scene, call->instances[i]);
    }
    size_t noticed = scene->seen[EVENT_QUEUE_INSTANCE_NOTICE];
    run_for(scene, 48 * HOUR);
    assert_int_equal(scene->seen[EVENT_QUEUE_INSTANCE_NOTICE], noticed);
    assert_int_equal(scene->seen[EVENT_QUEUE_INSTANCE_TAKEN], 0);
    assert_int_equal(scene->seen[EVENT_QUEUE_INSTANCE_GONE], 20);
    assert_true(scene->seen[EVENT_QUEUE_INSTANCE_RUNNING] < 20);
}

static void test_a_hand_ends_only_our_workers(void **state)
{
    struct scene *scene = *state;
    switch_on_by_time(scene, FAULT_hand, HOUR, 0);
    begin(scene, 1);
    uint64_t head = cloud_plant(&scene->cloud, HERE, true, true);
    uint64_t foreign = cloud_plant(&scene->cloud, HERE, false, false);
    launch(scene, 1, HERE, 10);
    run_for(scene, 48 * HOUR);
    assert_in_range(scene->seen[EVENT_QUEUE_HAND], 20, 100);
    assert_int_equal(scene->seen[EVENT_QUEUE_INSTANCE_GONE], 10);
    assert_int_equal(get(scene, head)->ended_by, ENDED_BY_NOBODY);
    assert_int_equal(get(scene, foreign)->ended_by, ENDED_BY_NOBODY);
    for (uint64_t id = 3; id <= 12; id++) {
        assert_int_equal(get(scene, id)->ended_by, ENDED_BY_HAND);
    }
}

/* ---- outages --------------------------------------------------------------------------------- */

static void test_an_outage_fails_every_call(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    scene->cloud.is_away = true;
    size_t fast = 0;
    size_t slow = 0;
    for (uint64_t token = 1; token <= 100; token++) {
        int64_t sent_at = scene->event_queue.now;
        assert_int_equal(launch(scene, token, HERE, 1)->outcome, OUTCOME_UNKNOWN);
        int64_t took = scene->event_queue.now - sent_at;
        fast += took <= scene->faults.call_time;
        slow += took == scene->faults.call_timeout;
    }
    assert_int_equal(fast + slow, 100);
    assert_in_range(fast, 30, 70);
    assert_int_equal(scene->cloud.instance_count, 0);
}

static void test_outages_come_and_go(void **state)
{
    struct scene *scene = *state;
    switch_on_by_time(scene, FAULT_outage, HOUR, 20 * MINUTE);
    begin(scene, 1);
    size_t away = 0;
    for (int i = 0; i < 10000; i++) {
        run_for(scene, MINUTE);
        away += scene->cloud.is_away;
    }
    assert_in_range(away, 1500, 3500);
    assert_true(scene->seen[EVENT_QUEUE_OUTAGE_CHANGE] > 100);
}

/* A call in transit when the outage begins has an unknown result: with or without effect. */
static void test_an_outage_catches_calls_on_their_way(void **state)
{
    struct scene *scene = *state;
    switch_on_by_time(scene, FAULT_outage, 100 * HOUR, 20 * MINUTE);
    scene->faults.call_time = 20 * SECOND;
    begin(scene, 1);
    uint64_t numbers[200];
    for (uint64_t i = 0; i < 200; i++) {
        numbers[i] = cloud_send(&scene->cloud, &(struct cloud_call){.verb = CLOUD_LAUNCH,
                                                                    .launch = i + 1,
                                                                    .offering = HERE,
                                                                    .count = 1});
    }
    event_queue_add(&scene->event_queue, 5 * SECOND, EVENT_QUEUE_OUTAGE_CHANGE, 0, 0, 0);
    run_until(scene, 30 * SECOND);
    size_t unknown = 0;
    for (size_t i = 0; i < 200; i++) {
        const struct cloud_call *call = cloud_call(&scene->cloud, numbers[i]);
        bool is_answered = call->reply_at < 5 * SECOND;
        assert_int_equal(call->outcome, is_answered ? OUTCOME_DONE : OUTCOME_UNKNOWN);
        assert_int_equal(call->instance_count, is_answered ? 1 : 0);
        unknown += !is_answered;
    }
    size_t with_effect = scene->cloud.instance_count - (200 - unknown);
    assert_in_range(with_effect, unknown / 4, unknown * 9 / 10);
}

static void test_healing_cancels_what_was_not_announced(void **state)
{
    struct scene *scene = *state;
    switch_on_by_time(scene, FAULT_spot_notice, HOUR, 0);
    switch_on_by_time(scene, FAULT_machine_dies, 10 * HOUR, 0);
    switch_on_by_time(scene, FAULT_hand, HOUR, 0);
    switch_on_by_time(scene, FAULT_outage, HOUR, 20 * MINUTE);
    switch_on_by_time(scene, FAULT_no_capacity, HOUR, 20 * MINUTE);
    begin(scene, 1);
    const struct cloud_call *call = launch(scene, 1, HERE_SPOT, 300);
    assert_int_equal(call->outcome, OUTCOME_DONE);
    run_for(scene, 30 * MINUTE);
    scene->cloud.is_away = true;
    scene->cloud.has_capacity[HERE] = false;
    faults_stop(&scene->faults);
    cloud_heal(&scene->cloud);
    int64_t healed_at = scene->event_queue.now;
    size_t announced = 0;
    for (uint64_t id = 1; id <= 300; id++) {
        const struct instance *instance = get(scene, id);
        announced += instance_is_live(instance, healed_at) && instance->notice_at <= healed_at;
    }
    assert_true(announced > 0);
    size_t taken = scene->seen[EVENT_QUEUE_INSTANCE_TAKEN];
    size_t noticed = scene->seen[EVENT_QUEUE_INSTANCE_NOTICE];
    size_t hands = scene->seen[EVENT_QUEUE_HAND];
    run_for(scene, 48 * HOUR);
    assert_int_equal(scene->seen[EVENT_QUEUE_INSTANCE_TAKEN], taken + announced);
    assert_int_equal(scene->seen[EVENT_QUEUE_INSTANCE_NOTICE], noticed);
    assert_int_equal(scene->seen[EVENT_QUEUE_HAND], hands);
    assert_false(scene->cloud.is_away);
    for (size_t i = 0; i < OFFERING_COUNT; i++) {
        assert_true(scene->cloud.has_capacity[i]);
    }
    assert_int_equal(scene->event_queue.count, 0);
}

/* ---- determinism ----------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

static uint64_t hash_answer(uint64_t hash, const struct cloud_call *call)
{
    hash = mix(mix(hash, (uint64_t)call->outcome), call->is_complete);
    for (size_t i = 0; i < call->instance_count; i++) {
        hash = mix(hash, call->instances[i]);
    }
    for (size_t i = 0; i < call->listed_count; i++) {
        hash = mix(mix(hash, call->listed[i].instance), (uint64_t)call->listed[i].state);
    }
    return hash;
}

/* Six hours of mixed calls, all derived from one seed. */
static uint64_t run_world(struct scene *scene, uint64_t seed, size_t *ret_outcomes)
{
    void *state = scene;
    scene_setup(&state);
    struct rng rng = {seed};
    faults_from_profile(&scene->faults, FAULTS_NASTY);
    begin(scene, seed);
    uint64_t hash = 0;
    while (scene->event_queue.now < 6 * HOUR) {
        struct cloud_call call = {.verb = (enum cloud_verb)rng_below(&rng, 3),
                                  .launch = (uint64_t)rng_between(&rng, 1, 60),
                                  .offering = (uint32_t)rng_below(&rng, OFFERING_COUNT),
                                  .count = rng_between(&rng, 1, 5),
                                  .instance = (uint64_t)rng_below(&rng, 50)};
        const struct cloud_call *answer = ask(scene, &call);
        hash = mix(hash_answer(hash, answer), (uint64_t)scene->event_queue.now);
        ret_outcomes[answer->outcome]++;
        run_for(scene, rng_below(&rng, MINUTE));
    }
    for (int i = 0; i < EVENT_QUEUE_KIND_COUNT; i++) {
        hash = mix(hash, scene->seen[i]);
    }
    scene_teardown(&state);
    return hash;
}

static void test_the_same_seed_gives_the_same_world(void **state)
{
    struct scene *scene = *state;
    scene_teardown(state);
    size_t outcomes[OUTCOME_COUNT] = {0};
    uint64_t first = run_world(scene, 11, outcomes);
    assert_int_equal(run_world(scene, 11, outcomes), first);
    assert_int_not_equal(run_world(scene, 12, outcomes), first);
    assert_true(outcomes[OUTCOME_DONE] > 0 && outcomes[OUTCOME_UNKNOWN] > 0);
    assert_true(outcomes[OUTCOME_THROTTLED] > 0 && outcomes[OUTCOME_CAPACITY] > 0);
    assert_true(outcomes[OUTCOME_QUOTA] > 0 && outcomes[OUTCOME_MISMATCH] > 0);
    assert_true(outcomes[OUTCOME_NOT_FOUND] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_a_call_has_its_effect_on_the_way),
        SCENE_TEST(test_a_lost_call_has_no_effect),
        SCENE_TEST(test_a_lost_answer_hides_an_effect),
        SCENE_TEST(test_throttled_calls_do_nothing),
        SCENE_TEST(test_records_of_calls_are_used_again),
        SCENE_TEST(test_a_terminate_call_ends_a_machine),
        SCENE_TEST(test_the_cloud_ends_whatever_it_is_asked_to),
        SCENE_TEST(test_a_machine_that_does_not_show_may_not_be_found),
        SCENE_TEST(test_spot_machines_are_taken_after_a_notice),
        SCENE_TEST(test_spot_machines_are_taken_without_a_notice),
        SCENE_TEST(test_machines_die_without_a_word),
        SCENE_TEST(test_plans_for_ended_machines_are_overtaken),
        SCENE_TEST(test_a_hand_ends_only_our_workers),
        SCENE_TEST(test_an_outage_fails_every_call),
        SCENE_TEST(test_outages_come_and_go),
        SCENE_TEST(test_an_outage_catches_calls_on_their_way),
        SCENE_TEST(test_healing_cancels_what_was_not_announced),
        SCENE_TEST(test_the_same_seed_gives_the_same_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
