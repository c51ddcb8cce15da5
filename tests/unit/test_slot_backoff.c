/* test_slot_backoff.c: waiting with new slots after some ended before they were ready. */
#include "core/train/slot_backoff.h"

#include "unit.h"

enum { SECOND = 1000 };

/* One slot at a time fails. Returns the wait in seconds. */
static int64_t fail_slot(struct slot_backoff *backoff, uint32_t slot)
{
    assert_true(slot_backoff_failed(backoff, slot, slot, false, 0));
    return slot_backoff_ms(backoff) / SECOND;
}

static void the_wait_doubles_up_to_five_minutes(void **state)
{
    static const int64_t seconds[] = {5, 10, 20, 40, 80, 160, 300, 300, 300};
    struct slot_backoff backoff = {0};
    (void)state;
    for (uint32_t i = 0; i < ARRAY_LEN(seconds); i++) {
        assert_int_equal(fail_slot(&backoff, i + 1), seconds[i]);
    }
    backoff.failures = INT64_MAX;
    assert_int_equal(slot_backoff_ms(&backoff), SLOT_BACKOFF_MAX_MS);
}

static void it_waits_only_after_a_failure(void **state)
{
    struct slot_backoff backoff = {0};
    (void)state;
    assert_false(slot_backoff_is_waiting(&backoff, 0));
    assert_true(slot_backoff_failed(&backoff, 1, 1, false, 100 * SECOND));
    assert_true(slot_backoff_is_waiting(&backoff, 105 * SECOND - 1));
    assert_false(slot_backoff_is_waiting(&backoff, 105 * SECOND));
    assert_true(slot_backoff_failed(&backoff, 2, 2, false, 110 * SECOND));
    assert_true(slot_backoff_is_waiting(&backoff, 120 * SECOND - 1));
    assert_false(slot_backoff_is_waiting(&backoff, 120 * SECOND));
}

static void a_slot_that_is_ready_ends_the_row(void **state)
{
    struct slot_backoff backoff = {0};
    (void)state;
    for (uint32_t i = 1; i <= 5; i++) {
        fail_slot(&backoff, i);
    }
    slot_backoff_ready(&backoff);
    assert_int_equal(slot_backoff_ms(&backoff), SLOT_BACKOFF_MS);
    assert_int_equal(fail_slot(&backoff, 6), 5);
    assert_int_equal(fail_slot(&backoff, 7), 10);
    assert_false(slot_backoff_failed(&backoff, 8, 8, true, 0)); /* it had been ready */
    assert_int_equal(backoff.failures, 0);
    assert_int_equal(slot_backoff_ms(&backoff), SLOT_BACKOFF_MS);
    assert_true(slot_backoff_is_waiting(&backoff, 1));
}

/* Eight slots that Ray refuses at once must not cause the wait of eight attempts. */
static void slots_of_one_attempt_count_once(void **state)
{
    struct slot_backoff backoff = {0};
    (void)state;
    for (uint32_t slot = 1; slot <= 8; slot++) {
        bool is_counted = slot_backoff_failed(&backoff, slot, 8, false, slot * SECOND);
        assert_int_equal(is_counted, slot == 1);
    }
    assert_int_equal(slot_backoff_ms(&backoff), SLOT_BACKOFF_MS);
    assert_true(slot_backoff_is_waiting(&backoff, 12 * SECOND)); /* after the last of them */
    assert_true(slot_backoff_failed(&backoff, 9, 16, false, 20 * SECOND));
    assert_false(slot_backoff_failed(&backoff, 16, 16, false, 20 * SECOND));
    assert_int_equal(slot_backoff_ms(&backoff), 2 * SLOT_BACKOFF_MS);
}

static void slots_that_keep_failing_need_one_node(void **state)
{
    struct slot_backoff backoff = {0};
    (void)state;
    fail_slot(&backoff, 1);
    fail_slot(&backoff, 2);
    assert_int_equal(slot_backoff_need(&backoff, 8), 8);
    fail_slot(&backoff, 3);
    assert_int_equal(slot_backoff_need(&backoff, 8), 1);
    assert_int_equal(slot_backoff_need(&backoff, 0), 0);
    slot_backoff_ready(&backoff);
    assert_int_equal(slot_backoff_need(&backoff, 8), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wait_doubles_up_to_five_minutes),
        cmocka_unit_test(it_waits_only_after_a_failure),
        cmocka_unit_test(a_slot_that_is_ready_ends_the_row),
        cmocka_unit_test(slots_of_one_attempt_count_once),
        cmocka_unit_test(slots_that_keep_failing_need_one_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
