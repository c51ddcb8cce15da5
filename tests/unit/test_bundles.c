/* test_bundles.c: bundles of the command line become resource requests to Ray. */
#include "cli/bundles.h"

#include "unit.h"

static void equal_bundles_are_counted(void **state)
{
    struct arena arena;
    const struct gcs_bundle *bundles;
    size_t count;
    struct err err;
    (void)state;
    arena_init(&arena);
    assert_true(bundles_read(4, "[{\"GPU\": 1, \"CPU\": 0.5}, {CPU: 1}, {CPU: 0.5, GPU: 1}]",
                             &arena, &bundles, &count, &err));
    assert_int_equal(count, 2);
    assert_int_equal(bundles[0].count, 5); /* four CPUs and the bundle of one */
    assert_str(bundles[0].amounts[0].name, "CPU");
    assert_int_equal(bundles[1].count, 2);
    assert_int_equal(bundles[1].amount_count, 2);
    assert_str(bundles[1].amounts[0].name, "CPU");
    assert_true(bundles[1].amounts[0].amount == 0.5);
    arena_clear(&arena);
}

static void nothing_is_no_wish(void **state)
{
    struct arena arena;
    const struct gcs_bundle *bundles;
    size_t count = 1;
    struct err err;
    (void)state;
    arena_init(&arena);
    assert_true(bundles_read(0, NULL, &arena, &bundles, &count, &err));
    assert_int_equal(count, 0);
    assert_true(bundles_read(0, "[]", &arena, &bundles, &count, &err));
    assert_int_equal(count, 0);
    arena_clear(&arena);
}

static void what_is_wrong_is_said(void **state)
{
    static const struct {
        const char *bundles, *says;
    } rows[] = {
        {"{CPU: 1}", "--bundles: not a list of bundles*"},
        {"[1", "--bundles: not a list of bundles*"},
        {"", "--bundles: not a list of bundles*"},
        {"[4]", "--bundles: each bundle is a map of resources*"},
        {"[{}]", "--bundles: each bundle is a map of resources*"},
        {"[{CPU: many}]", "--bundles: the amount of CPU must be a number above 0"},
        {"[{CPU: true}]", "--bundles: the amount of CPU must be a number above 0"},
        {"[{CPU: -1}]", "--bundles: the amount of CPU must be a number above 0"},
        {"[{CPU: .nan}]", "--bundles: the amount of CPU must be a number above 0"},
        {"[{1: 1}]", "--bundles: the name of a resource must be a string"},
    };
    struct arena arena;
    const struct gcs_bundle *bundles;
    size_t count;
    struct err err;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_false(bundles_read(0, rows[i].bundles, &arena, &bundles, &count, &err));
        assert_like(str_from(err.text), rows[i].says);
        assert_int_equal(err.kind, ERR_USAGE);
    }
    assert_false(bundles_read(-1, NULL, &arena, &bundles, &count, &err));
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_bundles_are_counted),
        cmocka_unit_test(nothing_is_no_wish),
        cmocka_unit_test(what_is_wrong_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
