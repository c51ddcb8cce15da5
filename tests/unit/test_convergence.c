/* test_convergence.c: when a cluster has settled. */
#include "app/head/workers/convergence.h"

#include "unit.h"

static void all_ready_is_settled(void **state)
{
    struct slots slots = {0};
    (void)state;
    assert_true(convergence_is_reached(&slots, 0));
    assert_false(convergence_is_reached(&slots, 2));
    convergence_apply(&slots, 2, CONVERGE_PENDING);
    convergence_apply(&slots, 3, CONVERGE_PENDING);
    convergence_apply(&slots, 2, CONVERGE_READY);
    assert_false(convergence_is_reached(&slots, 2));
    convergence_apply(&slots, 3, CONVERGE_READY);
    assert_true(convergence_is_reached(&slots, 2));
    assert_int_equal(convergence_count(&slots, CONVERGE_READY), 2);
    convergence_clear(&slots);
}

static void one_failure_settles_one_slot(void **state)
{
    struct slots slots = {0};
    (void)state;
    convergence_apply(&slots, 2, CONVERGE_PENDING);
    convergence_apply(&slots, 3, CONVERGE_PENDING);
    convergence_apply(&slots, 2, CONVERGE_FAILED);
    assert_false(convergence_is_reached(&slots, 2)); /* 3 is still on its way */
    convergence_apply(&slots, 4, CONVERGE_PENDING);  /* in the place of 2 */
    assert_false(convergence_is_reached(&slots, 2));
    convergence_apply(&slots, 4, CONVERGE_FAILED); /* twice is not two */
    convergence_apply(&slots, 5, CONVERGE_PENDING);
    assert_false(convergence_is_reached(&slots, 2));
    convergence_apply(&slots, 3, CONVERGE_READY);
    assert_true(convergence_is_reached(&slots, 2)); /* though 5 is on its way */
    convergence_apply(&slots, 5, CONVERGE_READY);
    assert_true(convergence_is_reached(&slots, 2));
    convergence_clear(&slots);
}

static void a_failure_is_not_forgotten(void **state)
{
    struct slots slots = {0};
    (void)state;
    convergence_apply(&slots, 2, CONVERGE_PENDING);
    convergence_apply(&slots, 2, CONVERGE_FAILED);
    convergence_apply(&slots, 2, CONVERGE_GONE);
    convergence_apply(&slots, 2, CONVERGE_PENDING);
    assert_int_equal(convergence_count(&slots, CONVERGE_FAILED), 1);
    assert_true(convergence_is_reached(&slots, 1));
    convergence_clear(&slots);
}

static void what_goes_makes_room(void **state)
{
    struct slots slots = {0};
    (void)state;
    convergence_apply(&slots, 2, CONVERGE_GONE); /* never heard of */
    assert_int_equal(slots.count, 0);
    convergence_apply(&slots, 2, CONVERGE_READY);
    convergence_apply(&slots, 2, CONVERGE_GONE);
    assert_false(convergence_is_reached(&slots, 1));
    convergence_apply(&slots, 3, CONVERGE_PENDING);
    convergence_apply(&slots, 3, CONVERGE_FAILED);
    convergence_apply(&slots, 4, CONVERGE_PENDING);
    convergence_apply(&slots, 4,
                      CONVERGE_GONE); /* the replacement: the slot stays known as failed */
    assert_true(convergence_is_reached(&slots, 1));
    convergence_clear(&slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ready_is_settled),
        cmocka_unit_test(one_failure_settles_one_slot),
        cmocka_unit_test(a_failure_is_not_forgotten),
        cmocka_unit_test(what_goes_makes_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
