/* test_faults.c: which faults each profile enables, and that seeds give different mixtures. */
#include "sim/faults.h"

#include "unit.h"

#include <string.h>

static void test_every_class_has_its_name(void **state)
{
    (void)state;
    assert_string_equal(fault_name(FAULT_listing_lag), "listing_lag");
    assert_string_equal(fault_name(FAULT_hand), "hand");
    for (int i = 0; i < FAULT_COUNT; i++) {
        assert_non_null(fault_name((enum fault)i));
    }
}

static void check_times(const struct faults *faults)
{
    assert_true(faults->call_time > 0 && faults->call_time <= faults->call_timeout);
    assert_true(faults->boot_least > 0 && faults->boot_least <= faults->boot_most);
    assert_true(faults->setup_least > 0 && faults->setup_least <= faults->setup_most);
    assert_true(faults->ending_most > 0);
    assert_in_range(faults->listing_lag, 0, FAULT_LISTING_LAG_MOST);
}

static void check_rates(const struct faults *faults)
{
    for (int i = 0; i < FAULT_COUNT; i++) {
        assert_in_range(faults->chance[i], 0, 1000);
        if (faults->is_on[i]) {
            assert_true(faults->chance[i] > 0 || faults->span[i] > 0);
        }
    }
    if (faults->is_on[FAULT_token_forgotten]) {
        assert_true(faults->length[FAULT_token_forgotten] >= FAULT_TOKEN_LIFE_LEAST);
    }
}

static void test_none_has_none(void **state)
{
    (void)state;
    struct faults faults;
    faults_from_profile(&faults, FAULTS_NONE);
    for (int i = 0; i < FAULT_COUNT; i++) {
        assert_false(faults.is_on[i]);
    }
    check_times(&faults);
}

static void test_nasty_has_all_and_more_often_than_mild(void **state)
{
    (void)state;
    struct faults mild;
    struct faults nasty;
    faults_from_profile(&mild, FAULTS_MILD);
    faults_from_profile(&nasty, FAULTS_NASTY);
    check_times(&mild);
    check_rates(&mild);
    check_times(&nasty);
    check_rates(&nasty);
    assert_false(mild.is_on[FAULT_twin]);
    for (int i = 0; i < FAULT_COUNT; i++) {
        assert_true(nasty.is_on[i]);
        assert_true(nasty.chance[i] >= mild.chance[i]);
        assert_true(mild.span[i] == 0 || nasty.span[i] < mild.span[i]);
    }
}

static void test_swarms_differ_and_cover_every_class(void **state)
{
    (void)state;
    enum { SWARMS = 400 };
    int on[FAULT_COUNT] = {0};
    int different = 0;
    struct faults before = {0};
    for (uint64_t seed = 0; seed < SWARMS; seed++) {
        struct rng rng = {seed * 7919};
        struct faults faults;
        faults_swarm(&faults, &rng);
        check_times(&faults);
        check_rates(&faults);
        for (int i = 0; i < FAULT_COUNT; i++) {
            on[i] += faults.is_on[i];
        }
        different += memcmp(faults.is_on, before.is_on, sizeof(faults.is_on)) != 0;
        before = faults;
    }
    for (int i = 0; i < FAULT_COUNT; i++) {
        assert_in_range(on[i], SWARMS * 2 / 5, SWARMS * 3 / 5);
    }
    assert_int_equal(different, SWARMS);
}

static void test_the_same_seed_gives_the_same_swarm(void **state)
{
    (void)state;
    struct rng first = {5};
    struct rng second = {5};
    struct faults a;
    struct faults b;
    faults_swarm(&a, &first);
    faults_swarm(&b, &second);
    assert_memory_equal(a.is_on, b.is_on, sizeof(a.is_on));
    assert_memory_equal(a.chance, b.chance, sizeof(a.chance));
    assert_memory_equal(a.span, b.span, sizeof(a.span));
    assert_memory_equal(a.length, b.length, sizeof(a.length));
    assert_int_equal(a.boot_most, b.boot_most);
    assert_int_equal(first.state, second.state);
}

static void test_stop_ends_all_and_keeps_the_times(void **state)
{
    (void)state;
    struct rng rng = {9};
    struct faults faults;
    faults_from_profile(&faults, FAULTS_NASTY);
    int64_t boot_most = faults.boot_most;
    int64_t setup_most = faults.setup_most;
    int64_t timeout = faults.call_timeout;
    faults_stop(&faults);
    for (int i = 0; i < FAULT_COUNT; i++) {
        assert_false(faults.is_on[i]);
        assert_false(fault_strikes(&faults, (enum fault)i, &rng));
        assert_int_equal(fault_wait(&faults, (enum fault)i, &rng), INT64_MAX);
    }
    check_times(&faults);
    assert_int_equal(faults.boot_most, boot_most);
    assert_int_equal(faults.setup_most, setup_most);
    assert_int_equal(faults.call_timeout, timeout);
    assert_true(faults.call_time <= 1000);
}

static void test_spans_have_their_mean(void **state)
{
    (void)state;
    enum { DRAWS = 100000, MEAN = 60000 };
    struct rng rng = {3};
    int64_t sum = 0;
    int64_t longest = 0;
    for (int i = 0; i < DRAWS; i++) {
        int64_t span = draw_span(&rng, MEAN);
        assert_true(span >= 1);
        sum += span;
        longest = span > longest ? span : longest;
    }
    assert_in_range(sum / DRAWS, MEAN * 97 / 100, MEAN * 103 / 100);
    assert_true(longest > 5 * MEAN);
    assert_int_equal(draw_span(&rng, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_class_has_its_name),
        cmocka_unit_test(test_none_has_none),
        cmocka_unit_test(test_nasty_has_all_and_more_often_than_mild),
        cmocka_unit_test(test_swarms_differ_and_cover_every_class),
        cmocka_unit_test(test_the_same_seed_gives_the_same_swarm),
        cmocka_unit_test(test_stop_ends_all_and_keeps_the_times),
        cmocka_unit_test(test_spans_have_their_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
