/* test_event_queue.c: the order in which events leave the queue. */
#include "sim/event_queue.h"

#include "base/rng.h"
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
    struct event_queue event_queue;
    struct event_queue_entry entry;
    event_queue_init(&event_queue, *state);
    event_queue_add(&event_queue, 30, EVENT_QUEUE_TICK, 1, 2, 3);
    event_queue_add(&event_queue, 10, EVENT_QUEUE_END, 0, 0, 0);
    event_queue_add(&event_queue, 20, EVENT_QUEUE_HEAL, 0, 0, 0);
    assert_true(event_queue_next(&event_queue, &entry));
    assert_int_equal(entry.kind, EVENT_QUEUE_END);
    assert_int_equal(event_queue.now, 10);
    assert_true(event_queue_next(&event_queue, &entry));
    assert_int_equal(entry.kind, EVENT_QUEUE_HEAL);
    assert_true(event_queue_next(&event_queue, &entry));
    assert_int_equal(entry.kind, EVENT_QUEUE_TICK);
    assert_int_equal(entry.who, 1);
    assert_int_equal(entry.what, 2);
    assert_int_equal(entry.extra, 3);
    assert_false(event_queue_next(&event_queue, &entry));
    assert_int_equal(event_queue.now, 30);
}

static void test_equal_times_in_the_order_of_adding(void **state)
{
    struct event_queue event_queue;
    struct event_queue_entry entry;
    event_queue_init(&event_queue, *state);
    for (uint64_t i = 0; i < 100; i++) {
        event_queue_add(&event_queue, 7, EVENT_QUEUE_TICK, 0, i, 0);
    }
    for (uint64_t i = 0; i < 100; i++) {
        assert_true(event_queue_next(&event_queue, &entry));
        assert_int_equal(entry.what, i);
    }
}

static void test_the_past_is_now(void **state)
{
    struct event_queue event_queue;
    struct event_queue_entry entry;
    event_queue_init(&event_queue, *state);
    event_queue_add(&event_queue, 50, EVENT_QUEUE_TICK, 0, 1, 0);
    assert_true(event_queue_next(&event_queue, &entry));
    event_queue_add(&event_queue, 50, EVENT_QUEUE_TICK, 0, 2, 0);
    event_queue_add(&event_queue, 20, EVENT_QUEUE_TICK, 0, 3, 0);
    assert_true(event_queue_next(&event_queue, &entry));
    assert_int_equal(entry.what, 2);
    assert_true(event_queue_next(&event_queue, &entry));
    assert_int_equal(entry.what, 3);
    assert_int_equal(entry.at, 50);
}

/* Adding and removing in any mixture: never back in time, nothing lost, ties in order. */
static void test_any_mixture_keeps_the_order(void **state)
{
    struct event_queue event_queue;
    struct event_queue_entry entry;
    struct rng rng = {1};
    event_queue_init(&event_queue, *state);
    int64_t last_at = 0;
    uint64_t last_order = 0;
    size_t taken = 0;
    for (size_t i = 0; i < 20000; i++) {
        if (rng_chance(&rng, 550)) {
            event_queue_add(&event_queue, event_queue.now + rng_below(&rng, 50), EVENT_QUEUE_TICK,
                            0, i, 0);
            continue;
        }
        if (event_queue_next(&event_queue, &entry)) {
            assert_true(entry.at > last_at || (entry.at == last_at && entry.order >= last_order));
            last_at = entry.at;
            last_order = entry.order;
            taken++;
        }
    }
    while (event_queue_next(&event_queue, &entry)) {
        assert_true(entry.at > last_at || (entry.at == last_at && entry.order >= last_order));
        last_at = entry.at;
        last_order = entry.order;
        taken++;
    }
    assert_int_equal(taken, event_queue.added);
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
