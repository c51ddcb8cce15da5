/* test_server_clock.c: AWS's time, from the Date of replies. */
#include "provider/server_clock.h"

#include "unit.h"

enum { START = 1700000000 }; /* seconds */

static struct server_clock heard(int64_t date_s, int64_t sent_ms, int64_t received_ms)
{
    struct server_clock clock = {0};
    server_clock_observe(&clock, date_s, sent_ms, received_ms);
    return clock;
}

static void the_first_reply_counts(void **state)
{
    (void)state;
    assert_false(((struct server_clock){0}).is_known);
    struct server_clock clock = heard(START, 1000, 1100);
    assert_true(clock.is_known);
    /* Between the two, somewhere in that second. */
    int64_t now = server_clock_ms(&clock, 1100);
    assert_in_range(now, (int64_t)START * 1000, (int64_t)START * 1000 + 1099);
}

static void it_is_known_better_with_each_reply(void **state)
{
    struct server_clock clock = heard(START, 1000, 31000); /* it took half a minute */
    (void)state;
    for (int64_t at = 31000; at < 60000; at += 100) {
        int64_t truth = (int64_t)START * 1000 + 250 + at - 1000;
        server_clock_observe(&clock, truth / 1000, at, at);
    }
    int64_t error = server_clock_ms(&clock, 60000) - ((int64_t)START * 1000 + 250 + 59000);
    assert_in_range(error + 100, 0, 200);
}

/* A slow reply says little, and does not replace better information. */
static void a_slow_reply_changes_nothing(void **state)
{
    struct server_clock clock = heard(START, 1000, 1010);
    int64_t before = clock.offset_ms;
    (void)state;
    server_clock_observe(&clock, START + 20, 2000, 61000);
    assert_int_equal(clock.offset_ms, before);
}

static void it_goes_forward_at_once(void **state)
{
    struct server_clock clock = heard(START, 1000, 1010);
    (void)state;
    server_clock_observe(&clock, START + 300, 2000, 2010);
    assert_in_range(server_clock_ms(&clock, 2010), (int64_t)(START + 300) * 1000,
                    (int64_t)(START + 301) * 1000);
}

/* A cache in between may return an old Date: that must not make a lease last longer. */
static void one_old_date_does_not_turn_it_back(void **state)
{
    struct server_clock clock = heard(START, 1000, 1010);
    (void)state;
    int64_t before = clock.offset_ms;
    for (int i = 0; i < 10; i++) {
        server_clock_observe(&clock, START - 400, 2000, 2010);
        server_clock_observe(&clock, START - 400, 2000, 2010);
        assert_int_equal(clock.offset_ms, before);
        server_clock_observe(&clock, START + 1, 2000, 2010);
        assert_in_range(clock.offset_ms, before - 1000, before + 1000);
        before = clock.offset_ms;
    }
}

static void three_in_a_row_do(void **state)
{
    struct server_clock clock = heard(START, 1000, 1010);
    (void)state;
    for (int i = 0; i < 3; i++) {
        server_clock_observe(&clock, START - 400, 2000, 2010);
    }
    assert_in_range(server_clock_ms(&clock, 2010), (int64_t)(START - 400) * 1000,
                    (int64_t)(START - 398) * 1000);
}

static void a_refusal_sets_it(void **state)
{
    struct server_clock clock = heard(START, 1000, 1010);
    (void)state;
    server_clock_set(&clock, START - 4000, 2000, 2010);
    assert_in_range(server_clock_ms(&clock, 2010), (int64_t)(START - 4000) * 1000,
                    (int64_t)(START - 3999) * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_reply_counts),
        cmocka_unit_test(it_is_known_better_with_each_reply),
        cmocka_unit_test(a_slow_reply_changes_nothing),
        cmocka_unit_test(it_goes_forward_at_once),
        cmocka_unit_test(one_old_date_does_not_turn_it_back),
        cmocka_unit_test(three_in_a_row_do),
        cmocka_unit_test(a_refusal_sets_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
