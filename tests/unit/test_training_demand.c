/* test_training_demand.c: requests of training jobs: their limits, and how long they are valid. */
#include "app/head/training_demand.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ray_quantity cpu[] = {{{"CPU", 3}, 1}};
static const struct ray_quantity gpu[] = {{{"CPU", 3}, 4}, {{"GPU", 3}, 1}};

static bool set(struct training_demand *demand, const char *job, int64_t count, int64_t now)
{
    struct gcs_bundle bundle = {cpu, 1, count};
    struct err err;
    bool is_new = false;
    assert_true(training_demand_set(demand, str_from(job), &bundle, count > 0, now, &is_new, &err));
    return is_new;
}

static int open_demand(void **state)
{
    *state = calloc(1, sizeof(struct training_demand));
    return 0;
}

static int close_demand(void **state)
{
    free(*state);
    return 0;
}

static void a_request_replaces_the_last_one(void **state)
{
    struct training_demand *demand = *state;
    struct gcs_bundle both[] = {{cpu, 1, 2}, {gpu, 2, 3}};
    struct err err;
    bool is_new;
    assert_true(set(demand, "a", 2, 0));
    assert_false(set(demand, "a", 2, 10)); /* repeated */
    assert_true(set(demand, "a", 1, 20));
    assert_int_equal(demand->job_count, 1);
    assert_int_equal(demand->jobs[0].bundles[0].count, 1);
    assert_true(training_demand_set(demand, STR("a"), both, 2, 30, &is_new, &err));
    assert_true(is_new);
    assert_int_equal(demand->jobs[0].bundle_count, 2);
    assert_str(demand->jobs[0].bundles[1].amounts[1].name, "GPU");
    assert_true(demand->jobs[0].bundles[1].amounts != gpu); /* a copy */
    assert_true(set(demand, "b", 5, 40));
    assert_int_equal(demand->job_count, 2);
    assert_true(set(demand, "a", 0, 50));
    assert_false(set(demand, "a", 0, 50));
    assert_int_equal(demand->job_count, 1);
    assert_string_equal(demand->jobs[0].name, "b");
    assert_int_equal(demand->jobs[0].bundles[0].count, 5);
    assert_str(demand->jobs[0].bundles[0].amounts[0].name, "CPU");
}

static void another_shape_is_another_request(void **state)
{
    static const struct ray_quantity more[] = {{{"CPU", 3}, 1.5}};
    static const struct ray_quantity other[] = {{{"GPU", 3}, 1}};
    struct training_demand *demand = *state;
    struct gcs_bundle shapes[] = {{more, 1, 2}, {other, 1, 2},  {cpu, 1, 2},
                                  {gpu, 2, 2},  {gpu, 2, 2, 1}, {gpu, 2, 0, 1}};
    struct err err;
    assert_true(set(demand, "a", 2, 0));
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        bool is_new = false;
        assert_true(training_demand_set(demand, STR("a"), &shapes[i], 1, 0, &is_new, &err));
        assert_true(is_new);
    }
}

/* A trainer that restarts or reconnects changes nothing. If it is gone, its request expires. */
static void a_request_that_is_not_repeated_expires(void **state)
{
    struct training_demand *demand = *state;
    assert_true(set(demand, "a", 1, 0));
    assert_true(set(demand, "b", 2, 1000));
    assert_true(set(demand, "c", 3, 0));
    assert_false(training_demand_expire(demand, TRAINING_VALID_MS - 1));
    assert_false(set(demand, "c", 3, TRAINING_VALID_MS - 1));
    assert_true(training_demand_expire(demand, TRAINING_VALID_MS));
    assert_int_equal(demand->job_count, 2);
    assert_false(training_demand_expire(demand, TRAINING_VALID_MS));
    assert_true(training_demand_expire(demand, TRAINING_VALID_MS + 1000));
    assert_int_equal(demand->job_count, 1);
    assert_string_equal(demand->jobs[0].name, "c");
    assert_int_equal(demand->jobs[0].bundles[0].count, 3);
    assert_true(training_demand_expire(demand, INT64_MAX));
    assert_int_equal(demand->job_count, 0);
}

static void a_request_that_exceeds_a_limit_changes_nothing(void **state)
{
    static const struct ray_quantity bad[][1] = {
        {{{"CPU", 3}, -1}}, {{{"CPU", 3}, 1e300}}, {{{"", 0}, 1}}, {{{"a b", 3}, 1}}};
    struct training_demand *demand = *state;
    struct ray_quantity many[TRAINING_AMOUNTS_MAX + 1];
    struct gcs_bundle bundles[TRAINING_BUNDLES_MAX + 1];
    struct gcs_bundle cases[] = {{cpu, 1, 0},    {cpu, 1, -1},   {cpu, 1, TRAINING_COUNT_MAX + 1},
                                 {cpu, 0, 1},    {many, 9, 1},   {bad[0], 1, 1},
                                 {bad[1], 1, 1}, {bad[2], 1, 1}, {bad[3], 1, 1}};
    static const char *const names[] = {
        "", "a b", "a\n", "1234567890123456789012345678901234567890123456789012345678901234"};
    struct err err;
    bool is_new;
    for (size_t i = 0; i < ARRAY_LEN(many); i++) {
        many[i] = cpu[0];
    }
    for (size_t i = 0; i < ARRAY_LEN(bundles); i++) {
        bundles[i] = (struct gcs_bundle){cpu, 1, 1};
    }
    assert_true(set(demand, "a", 2, 0));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_false(training_demand_set(demand, STR("a"), &cases[i], 1, 9, &is_new, &err));
        assert_int_equal(demand->jobs[0].bundles[0].count, 2);
        assert_int_equal(demand->jobs[0].until, TRAINING_VALID_MS);
    }
    assert_false(
        training_demand_set(demand, STR("a"), bundles, ARRAY_LEN(bundles), 9, &is_new, &err));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_false(training_demand_set(demand, str_from(names[i]), bundles, 1, 9, &is_new, &err));
    }
    assert_int_equal(demand->job_count, 1);
}

static void there_are_not_too_many_jobs(void **state)
{
    struct training_demand *demand = *state;
    struct gcs_bundle bundle = {cpu, 1, TRAINING_COUNT_MAX};
    struct err err;
    bool is_new;
    char name[20];
    for (int i = 0; i < TRAINING_JOBS_MAX; i++) {
        snprintf(name, sizeof(name), "job-%d", i);
        assert_true(set(demand, name, TRAINING_COUNT_MAX, 0));
    }
    assert_false(training_demand_set(demand, STR("more"), &bundle, 1, 0, &is_new, &err));
    assert_string_equal(err.text, "32 training jobs already request nodes, which is the limit");
    assert_false(set(demand, "job-31", TRAINING_COUNT_MAX, 0));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_demand, close_demand)
    const struct CMUnitTest tests[] = {
        TEST(a_request_replaces_the_last_one),
        TEST(another_shape_is_another_request),
        TEST(a_request_that_is_not_repeated_expires),
        TEST(a_request_that_exceeds_a_limit_changes_nothing),
        TEST(there_are_not_too_many_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
