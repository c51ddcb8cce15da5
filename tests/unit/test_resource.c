/* test_resource.c: amounts are looked up, compared, and never overflow. */
#include "core/resource.h"

#include "unit.h"

static const struct resource offered_items[] = {
    {{"CPU", 3}, 4 * RESOURCE_UNIT},
    {{"GPU", 3}, 1 * RESOURCE_UNIT},
    {{"licence", 7}, RESOURCE_UNIT / 2},
};
static const struct resource_set offered = {offered_items, ARRAY_LEN(offered_items)};

static void amount_of_a_missing_resource_is_zero(void **state)
{
    (void)state;
    assert_int_equal(resource_amount(offered, STR("CPU")), 40000);
    assert_int_equal(resource_amount(offered, STR("licence")), 5000);
    assert_int_equal(resource_amount(offered, STR("cpu")), 0);
    assert_int_equal(resource_amount(offered, STR("CPUs")), 0);
    assert_int_equal(resource_amount((struct resource_set){NULL, 0}, STR("CPU")), 0);
}

static void everything_wanted_must_fit(void **state)
{
    static const struct {
        struct resource items[2];
        size_t count;
        bool fits;
    } rows[] = {
        {{{{"CPU", 3}, 40000}}, 1, true},
        {{{{"CPU", 3}, 40001}}, 1, false},
        {{{{"CPU", 3}, 1}, {{"GPU", 3}, 10000}}, 2, true},
        {{{{"CPU", 3}, 1}, {{"GPU", 3}, 10001}}, 2, false},
        {{{{"TPU", 3}, 1}}, 1, false},
        {{{{"TPU", 3}, 0}}, 1, true}, /* nothing of it is wanted */
        {{{{"licence", 7}, 5000}}, 1, true},
        {{{{"", 0}, 0}}, 0, true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct resource_set wanted = {rows[i].items, rows[i].count};
        assert_int_equal(resource_fits(wanted, offered), rows[i].fits);
    }
    assert_false(resource_fits(offered, (struct resource_set){NULL, 0}));
    assert_true(resource_fits(offered, offered));
}

static void units_are_counted_or_refused(void **state)
{
    static const struct {
        int64_t units;
        bool ok;
    } rows[] = {
        {0, true},
        {-3, true},
        {INT64_MAX / RESOURCE_UNIT, true},
        {INT64_MAX / RESOURCE_UNIT + 1, false},
        {INT64_MIN / RESOURCE_UNIT, true},
        {INT64_MIN / RESOURCE_UNIT - 1, false},
        {INT64_MAX, false},
        {INT64_MIN, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t amount = 77;
        assert_int_equal(resource_from_units(rows[i].units, &amount), rows[i].ok);
        assert_true(amount == (rows[i].ok ? rows[i].units * RESOURCE_UNIT : 77));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amount_of_a_missing_resource_is_zero),
        cmocka_unit_test(everything_wanted_must_fit),
        cmocka_unit_test(units_are_counted_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
