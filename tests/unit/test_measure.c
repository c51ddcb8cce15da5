/* test_measure.c: the arithmetic of the report. */
#include "sim/measure.h"

#include "sim/cluster.h"
#include "unit.h"

static void test_wait_is_a_percentile_over_all_classes(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    int64_t slow[] = {500, 100, 300};
    int64_t fast[] = {0, 200, 400, 0, 0, 0, 0};
    struct class_figures classes[] = {{.waits = slow, .wait_count = 3},
                                      {.waits = fast, .wait_count = 7},
                                      {.waits = NULL, .wait_count = 0}};
    struct measure measure = {.classes = classes, .class_count = 3};
    assert_int_equal(measure_wait(&measure, 0, &arena), 0);
    assert_int_equal(measure_wait(&measure, 500, &arena), 0);
    assert_int_equal(measure_wait(&measure, 501, &arena), 100);
    assert_int_equal(measure_wait(&measure, 900, &arena), 400);
    assert_int_equal(measure_wait(&measure, 1000, &arena), 500);
    assert_int_equal(slow[0], 500); /* the figures themselves stay as they are */
    measure.class_count = 0;
    assert_int_equal(measure_wait(&measure, 500, &arena), 0);
    arena_clear(&arena);
}

static void test_wait_of_many(void **state)
{
    (void)state;
    enum { COUNT = 10007 };
    static int64_t waits[COUNT];
    struct arena arena;
    arena_init(&arena);
    for (int64_t i = 0; i < COUNT; i++) {
        waits[i] = i * 7919 % COUNT; /* every number below COUNT once, shuffled */
    }
    struct class_figures one = {.waits = waits, .wait_count = COUNT};
    struct measure measure = {.classes = &one, .class_count = 1};
    for (int64_t permille = 1; permille <= 1000; permille += 111) {
        int64_t rank = (COUNT * permille + 999) / 1000;
        assert_int_equal(measure_wait(&measure, permille, &arena), rank - 1);
    }
    arena_clear(&arena);
}

static void test_machines_are_billed_by_the_time_they_ran(void **state)
{
    (void)state;
    struct arena arena;
    struct measure measure;
    arena_init(&arena);
    measure_init(&measure, 2, &arena);
    measure_instance(&measure, 1, 96000, 1000, 1000 + 90 * 60 * 1000);
    measure_instance(&measure, 1, -1, 0, 5000);
    assert_int_equal(measure.node_ms[0], 0);
    assert_int_equal(measure.node_ms[1], 90 * 60 * 1000 + 5000);
    assert_int_equal(measure.cost[1], 144000);
    assert_int_equal(measure_cost(1, 1800 * 1000), 1); /* to the nearest */
    assert_int_equal(measure_cost(INT64_C(100000000), INT64_C(1000) * 3600 * 1000),
                     INT64_C(100000000000));
    arena_clear(&arena);
}

static void test_samples_are_copies(void **state)
{
    (void)state;
    struct arena arena;
    struct measure measure;
    int64_t nodes[] = {3, 4};
    arena_init(&arena);
    measure_init(&measure, 2, &arena);
    for (int64_t i = 0; i < 100; i++) {
        nodes[0] = i;
        measure_sample(&measure, &(struct sample){.at = i, .nodes = nodes, .ready = 7}, &arena);
    }
    assert_int_equal(measure.sample_count, 100);
    assert_int_equal(measure.samples[42].at, 42);
    assert_int_equal(measure.samples[42].nodes[0], 42);
    assert_int_equal(measure.samples[42].nodes[1], 4);
    assert_int_equal(measure.samples[42].ready, 7);
    arena_clear(&arena);
}

static void test_the_most_is_dated_by_when_it_was_reached(void **state)
{
    (void)state;
    struct arena arena;
    struct measure measure;
    arena_init(&arena);
    measure_init(&measure, 1, &arena);
    assert_int_equal(measure.first_node_at, -1);
    measure_ready(&measure, 0, 0);
    assert_int_equal(measure.first_node_at, -1);
    measure_ready(&measure, 10, 2);
    measure_ready(&measure, 20, 5);
    measure_ready(&measure, 30, 1);
    measure_ready(&measure, 40, 5);
    assert_int_equal(measure.first_node_at, 10);
    assert_int_equal(measure.most_nodes, 5);
    assert_int_equal(measure.most_nodes_at, 20);
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wait_is_a_percentile_over_all_classes),
        cmocka_unit_test(test_wait_of_many),
        cmocka_unit_test(test_machines_are_billed_by_the_time_they_ran),
        cmocka_unit_test(test_samples_are_copies),
        cmocka_unit_test(test_the_most_is_dated_by_when_it_was_reached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
