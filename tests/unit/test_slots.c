/* test_slots.c: when a cluster has settled. */
#include "app/head/workers/slots.h"

#include "unit.h"

static void all_ready_is_settled(void **state)
{
    struct slots slots = {0};
    (void)state;
    assert_true(slots_are_settled(&slots, 0));
    assert_false(slots_are_settled(&slots, 2));
    slots_hear(&slots, 2, SLOT_PENDING);
    slots_hear(&slots, 3, SLOT_PENDING);
    slots_hear(&slots, 2, SLOT_READY);
    assert_false(slots_are_settled(&slots, 2));
    slots_hear(&slots, 3, SLOT_READY);
    assert_true(slots_are_settled(&slots, 2));
    assert_int_equal(slots_count(&slots, SLOT_READY), 2);
    slots_clear(&slots);
}

static void one_failure_settles_one_slot(void **state)
{
    struct slots slots = {0};
    (void)state;
    slots_hear(&slots, 2, SLOT_PENDING);
    slots_hear(&slots, 3, SLOT_PENDING);
    slots_hear(&slots, 2, SLOT_FAILED);
    assert_false(slots_are_settled(&slots, 2)); /* 3 is still on its way */
    slots_hear(&slots, 4, SLOT_PENDING);        /* in the place of 2 */
    assert_false(slots_are_settled(&slots, 2));
    slots_hear(&slots, 4, SLOT_FAILED); /* twice is not two */
    slots_hear(&slots, 5, SLOT_PENDING);
    assert_false(slots_are_settled(&slots, 2));
    slots_hear(&slots, 3, SLOT_READY);
    assert_true(slots_are_settled(&slots, 2)); /* though 5 is on its way */
    slots_hear(&slots, 5, SLOT_READY);
    assert_true(slots_are_settled(&slots, 2));
    slots_clear(&slots);
}

static void a_failure_is_not_forgotten(void **state)
{
    struct slots slots = {0};
    (void)state;
    slots_hear(&slots, 2, SLOT_PENDING);
    slots_hear(&slots, 2, SLOT_FAILED);
    slots_hear(&slots, 2, SLOT_GONE);
    slots_hear(&slots, 2, SLOT_PENDING);
    assert_int_equal(slots_count(&slots, SLOT_FAILED), 1);
    assert_true(slots_are_settled(&slots, 1));
    slots_clear(&slots);
}

static void what_goes_makes_room(void **state)
{
    struct slots slots = {0};
    (void)state;
    slots_hear(&slots, 2, SLOT_GONE); /* never heard of */
    assert_int_equal(slots.count, 0);
    slots_hear(&slots, 2, SLOT_READY);
    slots_hear(&slots, 2, SLOT_GONE);
    assert_false(slots_are_settled(&slots, 1));
    slots_hear(&slots, 3, SLOT_PENDING);
    slots_hear(&slots, 3, SLOT_FAILED);
    slots_hear(&slots, 4, SLOT_PENDING);
    slots_hear(&slots, 4, SLOT_GONE); /* the replacement: the slot stays known as failed */
    assert_true(slots_are_settled(&slots, 1));
    slots_clear(&slots);
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
