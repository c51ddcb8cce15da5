/* test_down_decide.c: which cluster `down` means, what it does with an instance, and when the
 * proof is complete. */
#include "app/launch/down_decide.h"

#include "unit.h"

#define A STR("aaaa")
#define B STR("bbbb")

/* ---- which cluster ---- */

static void check_choice(struct ending_evidence evidence, enum ending_choice choice,
                         const char *uid)
{
    struct str chosen = STR("");
    assert_int_equal(ending_choose(&evidence, &chosen), choice);
    assert_str(choice == ENDING_ONE ? chosen : STR(""), uid);
}

static void test_the_lease_object_names_the_cluster(void **state)
{
    const struct str both[] = {A, B};
    (void)state;
    check_choice((struct ending_evidence){.lease = A, .journal = B, .seen = both, .seen_count = 2},
                 ENDING_ONE, "aaaa");
    check_choice((struct ending_evidence){.asked = B, .lease = A}, ENDING_ONE, "bbbb");
}

static void test_without_a_lease_object_the_journal_or_the_only_uid_counts(void **state)
{
    const struct str both[] = {A, B};
    (void)state;
    check_choice((struct ending_evidence){.journal = A}, ENDING_ONE, "aaaa");
    check_choice((struct ending_evidence){.journal = B, .seen = both, .seen_count = 2}, ENDING_ONE,
                 "bbbb");
    check_choice((struct ending_evidence){.seen = both, .seen_count = 1}, ENDING_ONE, "aaaa");
    check_choice((struct ending_evidence){.seen = both, .seen_count = 2}, ENDING_SEVERAL, "");
    check_choice((struct ending_evidence){0}, ENDING_NOTHING, "");
}

/* A journal of an older cluster of this name must not hide the one that runs. */
static void test_a_journal_of_another_cluster_does_not_count(void **state)
{
    const struct str seen[] = {A};
    (void)state;
    check_choice((struct ending_evidence){.journal = B, .seen = seen, .seen_count = 1}, ENDING_ONE,
                 "aaaa");
}

static void test_instances_without_a_uid_are_foreign_while_they_live(void **state)
{
    const struct machine_tag tags[] = {{STR(TAG_CLUSTER_UID), A}};
    (void)state;
    assert_true(ending_is_foreign(&(struct machine){.state = MACHINE_RUNNING}));
    assert_true(ending_is_foreign(&(struct machine){.state = MACHINE_STOPPED}));
    assert_false(ending_is_foreign(&(struct machine){.state = MACHINE_GONE}));
    assert_false(ending_is_foreign(&(struct machine){.state = MACHINE_ENDING}));
    assert_false(ending_is_foreign(
        &(struct machine){.state = MACHINE_RUNNING, .tags = tags, .tag_count = 1}));
}

/* ---- each instance ---- */

static enum ending_deed deed(enum machine_state state, enum market market, bool is_head,
                             struct ending_rules rules)
{
    struct ending_node node = {
        .state = state, .market = market, .is_head = is_head, .asked_at = INT64_MIN};
    return ending_deed(&node, &rules, 0);
}

static void test_everything_is_terminated(void **state)
{
    static const enum machine_state alive[] = {MACHINE_PENDING, MACHINE_RUNNING, MACHINE_STOPPING,
                                               MACHINE_STOPPED};
    struct ending_rules rules = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(alive); i++) {
        assert_int_equal(deed(alive[i], MARKET_ON_DEMAND, true, rules), ENDING_TERMINATE);
        assert_int_equal(deed(alive[i], MARKET_SPOT, false, rules), ENDING_TERMINATE);
    }
    assert_int_equal(deed(MACHINE_ENDING, MARKET_SPOT, false, rules), ENDING_LEAVE);
    assert_int_equal(deed(MACHINE_GONE, MARKET_SPOT, false, rules), ENDING_LEAVE);
}

/* Stopped instances keep their disks: on-demand instances are not terminated, neither head nor
 * worker. */
static void test_with_cache_stopped_nodes_instances_are_stopped(void **state)
{
    struct ending_rules rules = {.keeps_stopped = true};
    (void)state;
    assert_int_equal(deed(MACHINE_RUNNING, MARKET_ON_DEMAND, true, rules), ENDING_STOP);
    assert_int_equal(deed(MACHINE_RUNNING, MARKET_ON_DEMAND, false, rules), ENDING_STOP);
    assert_int_equal(deed(MACHINE_STOPPING, MARKET_ON_DEMAND, true, rules), ENDING_LEAVE);
    assert_int_equal(deed(MACHINE_STOPPED, MARKET_ON_DEMAND, true, rules), ENDING_LEAVE);
    assert_int_equal(deed(MACHINE_PENDING, MARKET_ON_DEMAND, false, rules), ENDING_TERMINATE);
    assert_int_equal(deed(MACHINE_RUNNING, MARKET_SPOT, false, rules), ENDING_TERMINATE);
}

static void test_workers_only_leaves_the_head(void **state)
{
    struct ending_rules rules = {.is_workers_only = true};
    (void)state;
    assert_int_equal(deed(MACHINE_RUNNING, MARKET_ON_DEMAND, true, rules), ENDING_LEAVE);
    assert_int_equal(deed(MACHINE_RUNNING, MARKET_ON_DEMAND, false, rules), ENDING_TERMINATE);
}

static void test_a_request_without_effect_is_repeated(void **state)
{
    struct ending_rules rules = {.again_ms = 100};
    struct ending_node node = {.state = MACHINE_RUNNING, .asked_at = 1000};
    (void)state;
    assert_int_equal(ending_deed(&node, &rules, 1099), ENDING_LEAVE);
    assert_int_equal(ending_deed(&node, &rules, 1100), ENDING_TERMINATE);
    node.is_refused = true;
    assert_int_equal(ending_deed(&node, &rules, 1100), ENDING_LEAVE);
    assert_false(ending_is_over(&node, &rules));
}

/* ---- the proof ---- */

static const struct ending_times times = {.horizon = 60, .call_timeout = 7};

static void test_a_launch_whose_instances_were_seen_needs_no_wait(void **state)
{
    struct ending_launch launch = {.wall_ms = 1000, .count = 2, .is_settled = true, .known = 1};
    (void)state;
    launch.outcome = OUTCOME_DONE;
    assert_int_equal(ending_launch_trusted_at(&launch, 1, &times, 1001), 0);
    assert_int_equal(ending_launch_trusted_at(&launch, 0, &times, 1001), 1060);
    launch.known = 0; /* the head's: its answer names no instance in the journal */
    assert_int_equal(ending_launch_trusted_at(&launch, 1, &times, 1001), 1060);
    assert_int_equal(ending_launch_trusted_at(&launch, 2, &times, 1001), 0);
    launch.outcome = OUTCOME_CAPACITY;
    assert_int_equal(ending_launch_trusted_at(&launch, 0, &times, 1001), 0);
}

static void test_a_launch_without_an_answer_is_waited_for(void **state)
{
    struct ending_launch launch = {.wall_ms = 1000, .count = 1};
    (void)state;
    assert_int_equal(ending_launch_trusted_at(&launch, 0, &times, 1001), 1067);
    assert_int_equal(ending_launch_trusted_at(&launch, 1, &times, 1001), 0);
    launch.wall_ms = 5000; /* the clock was set back since */
    assert_int_equal(ending_launch_trusted_at(&launch, 0, &times, 1001), 1068);
}

static void test_others_may_have_launched_until_they_lost_the_lease(void **state)
{
    (void)state;
    assert_int_equal(ending_others_trusted_at(OTHERS_NONE, 0, &times, 5000), 0);
    assert_int_equal(ending_others_trusted_at(OTHERS_UNTIL, 1000, &times, 5000), 1067);
    assert_int_equal(ending_others_trusted_at(OTHERS_UNTIL, 9000, &times, 5000), 5067);
    assert_int_equal(ending_others_trusted_at(OTHERS_UNKNOWN, 0, &times, 5000), 5067);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_lease_object_names_the_cluster),
        cmocka_unit_test(test_without_a_lease_object_the_journal_or_the_only_uid_counts),
        cmocka_unit_test(test_a_journal_of_another_cluster_does_not_count),
        cmocka_unit_test(test_instances_without_a_uid_are_foreign_while_they_live),
        cmocka_unit_test(test_everything_is_terminated),
        cmocka_unit_test(test_with_cache_stopped_nodes_instances_are_stopped),
        cmocka_unit_test(test_workers_only_leaves_the_head),
        cmocka_unit_test(test_a_request_without_effect_is_repeated),
        cmocka_unit_test(test_a_launch_whose_instances_were_seen_needs_no_wait),
        cmocka_unit_test(test_a_launch_without_an_answer_is_waited_for),
        cmocka_unit_test(test_others_may_have_launched_until_they_lost_the_lease),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
