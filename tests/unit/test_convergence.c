/* test_convergence.c: when a cluster has settled. */
#include "app/head/workers/convergence.h"

#include "unit.h"

static void all_ready_is_settled(void **state)
{
    struct worker_records workers = {0};
    (void)state;
    assert_true(convergence_is_reached(&workers, 0));
    assert_false(convergence_is_reached(&workers, 2));
    convergence_apply(&workers, 2, CONVERGE_PENDING);
    convergence_apply(&workers, 3, CONVERGE_PENDING);
    convergence_apply(&workers, 2, CONVERGE_READY);
    assert_false(convergence_is_reached(&workers, 2));
    convergence_apply(&workers, 3, CONVERGE_READY);
    assert_true(convergence_is_reached(&workers, 2));
    assert_int_equal(convergence_count(&workers, CONVERGE_READY), 2);
    worker_records_clear(&workers);
}

static void one_failure_settles_one_slot(void **state)
{
    struct worker_records workers = {0};
    (void)state;
    convergence_apply(&workers, 2, CONVERGE_PENDING);
    convergence_apply(&workers, 3, CONVERGE_PENDING);
    convergence_apply(&workers, 2, CONVERGE_FAILED);
    assert_false(convergence_is_reached(&workers, 2)); /* 3 is still starting */
    convergence_apply(&workers, 4, CONVERGE_PENDING);  /* replaces 2 */
    assert_false(convergence_is_reached(&workers, 2));
    convergence_apply(&workers, 4, CONVERGE_FAILED); /* a duplicate does not count */
    convergence_apply(&workers, 5, CONVERGE_PENDING);
    assert_false(convergence_is_reached(&workers, 2));
    convergence_apply(&workers, 3, CONVERGE_READY);
    assert_true(convergence_is_reached(&workers, 2)); /* although 5 is still starting */
    convergence_apply(&workers, 5, CONVERGE_READY);
    assert_true(convergence_is_reached(&workers, 2));
    worker_records_clear(&workers);
}

static void a_failure_is_not_forgotten(void **state)
{
    struct worker_records workers = {0};
    (void)state;
    convergence_apply(&workers, 2, CONVERGE_PENDING);
    convergence_apply(&workers, 2, CONVERGE_FAILED);
    convergence_apply(&workers, 2, CONVERGE_GONE);
    convergence_apply(&workers, 2, CONVERGE_PENDING);
    assert_int_equal(convergence_count(&workers, CONVERGE_FAILED), 1);
    assert_true(convergence_is_reached(&workers, 1));
    worker_records_clear(&workers);
}

static void what_goes_makes_room(void **state)
{
    struct worker_records workers = {0};
    (void)state;
    convergence_apply(&workers, 2, CONVERGE_GONE); /* unknown so far */
    assert_int_equal(workers.count, 0);
    convergence_apply(&workers, 2, CONVERGE_READY);
    convergence_apply(&workers, 2, CONVERGE_GONE);
    assert_false(convergence_is_reached(&workers, 1));
    convergence_apply(&workers, 3, CONVERGE_PENDING);
    convergence_apply(&workers, 3, CONVERGE_FAILED);
    convergence_apply(&workers, 4, CONVERGE_PENDING);
    convergence_apply(&workers, 4,
                      CONVERGE_GONE); /* the replacement: the slot stays known as failed */
    assert_true(convergence_is_reached(&workers, 1));
    worker_records_clear(&workers);
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
