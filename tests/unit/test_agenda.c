/* test_agenda.c: the order in which things come off the agenda. */
#include "sim/agenda.h"

#include "base/dice.h"
#include "unit.h"

static int setup(void **state)
{
    static struct arena arena;
    arena_init(&arena);
    *state = &arena;
    return 0;
}

static int teardown(void **state)
{
    arena_clear(*state);
    return 0;
}

static void test_soonest_first(void **state)
{
    struct agenda agenda;
    struct agenda_entry entry;
    agenda_init(&agenda, *state);
    agenda_add(&agenda, 30, AGENDA_TICK, 1, 2, 3);
    agenda_add(&agenda, 10, AGENDA_END, 0, 0, 0);
    agenda_add(&agenda, 20, AGENDA_HEAL, 0, 0, 0);
    assert_true(agenda_next(&agenda, &entry));
    assert_int_equal(entry.kind, AGENDA_END);
    assert_int_equal(agenda.now, 10);
    assert_true(agenda_next(&agenda, &entry));
    assert_int_equal(entry.kind, AGENDA_HEAL);
    assert_true(agenda_next(&agenda, &entry));
    assert_int_equal(entry.kind, AGENDA_TICK);
    assert_int_equal(entry.who, 1);
    assert_int_equal(entry.what, 2);
    assert_int_equal(entry.extra, 3);
    assert_false(agenda_next(&agenda, &entry));
    assert_int_equal(agenda.now, 30);
}

static void test_equal_times_in_the_order_of_adding(void **state)
{
    struct agenda agenda;
    struct agenda_entry entry;
    agenda_init(&agenda, *state);
    for (uint64_t i = 0; i < 100; i++) {
        agenda_add(&agenda, 7, AGENDA_TICK, 0, i, 0);
    }
    for (uint64_t i = 0; i < 100; i++) {
        assert_true(agenda_next(&agenda, &entry));
        assert_int_equal(entry.what, i);
    }
}

static void test_the_past_is_now(void **state)
{
    struct agenda agenda;
    struct agenda_entry entry;
    agenda_init(&agenda, *state);
    agenda_add(&agenda, 50, AGENDA_TICK, 0, 1, 0);
    assert_true(agenda_next(&agenda, &entry));
    agenda_add(&agenda, 50, AGENDA_TICK, 0, 2, 0);
    agenda_add(&agenda, 20, AGENDA_TICK, 0, 3, 0);
    assert_true(agenda_next(&agenda, &entry));
    assert_int_equal(entry.what, 2);
    assert_true(agenda_next(&agenda, &entry));
    assert_int_equal(entry.what, 3);
    assert_int_equal(entry.at, 50);
}

/* Adding and taking in any mixture: never back in time, nothing lost, ties in order. */
static void test_any_mixture_keeps_the_order(void **state)
{
    struct agenda agenda;
    struct agenda_entry entry;
    struct dice dice = {1};
    agenda_init(&agenda, *state);
    int64_t last_at = 0;
    uint64_t last_order = 0;
    size_t taken = 0;
    for (size_t i = 0; i < 20000; i++) {
        if (dice_chance(&dice, 550)) {
            agenda_add(&agenda, agenda.now + dice_below(&dice, 50), AGENDA_TICK, 0, i, 0);
            continue;
        }
        if (agenda_next(&agenda, &entry)) {
            assert_true(entry.at > last_at || (entry.at == last_at && entry.order >= last_order));
            last_at = entry.at;
            last_order = entry.order;
            taken++;
        }
    }
    while (agenda_next(&agenda, &entry)) {
        assert_true(entry.at > last_at || (entry.at == last_at && entry.order >= last_order));
        last_at = entry.at;
        last_order = entry.order;
        taken++;
    }
    assert_int_equal(taken, agenda.added);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_soonest_first, setup, teardown),
        cmocka_unit_test_setup_teardown(test_equal_times_in_the_order_of_adding, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_past_is_now, setup, teardown),
        cmocka_unit_test_setup_teardown(test_any_mixture_keeps_the_order, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
