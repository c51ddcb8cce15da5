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
        cmocka_unit_test(units_are_counted_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
