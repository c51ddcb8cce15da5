/* test_clock.c: times as text, a fake clock, and the machine's clock, which moves forward. */
#include "io/clock.h"

#include "unit.h"

#include <string.h>
#include <time.h>

static void moments_are_written_in_utc(void **state)
{
    static const struct {
        int64_t wall_ms;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {1, "1970-01-01T00:00:00.001Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {-1000, "1969-12-31T23:59:59.000Z"},
        {951827696789, "2000-02-29T12:34:56.789Z"},
        {4102444799999, "2099-12-31T23:59:59.999Z"},
        {INT64_MAX, "*"},
        {INT64_MIN, "*"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf text;
        buf_init(&text, 100);
        clock_add_utc(&text, rows[i].wall_ms);
        assert_like(buf_str(&text), rows[i].text);
        assert_true(text.len > 0);
    }
}

static int64_t counted(void *context)
{
    return ++*(int64_t *)context;
}

static void a_test_can_own_the_clock(void **state)
{
    int64_t now = 41;
    const struct clock clock = {counted, counted, &now};
    (void)state;
    assert_int_equal(clock_monotonic_ms(&clock), 42);
    assert_int_equal(clock_wall_ms(&clock), 43);
}

static void machine_time_does_not_go_back(void **state)
{
    int64_t before = clock_monotonic_ms(&clock_of_machine);
    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_monotonic_ms(&clock_of_machine);
        assert_true(now >= before);
        before = now;
    }
    assert_true(clock_wall_ms(&clock_of_machine) > 1700000000000);
}

/* Leases depend on it: a laptop that wakes up must know how long it was suspended. */
static void machine_time_counts_suspended_time(void **state)
{
    struct timespec now;
    (void)state;
#ifdef CLOCK_BOOTTIME
    assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &now), 0);
    int64_t boot_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    assert_in_range(clock_monotonic_ms(&clock_of_machine), boot_ms, boot_ms + 1000);
    char id[CLOCK_BOOT_ID_MAX];
    clock_boot_id(id);
    assert_int_equal(strlen(id), 36);
#else
    (void)now;
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_written_in_utc),
        cmocka_unit_test(a_test_can_own_the_clock),
        cmocka_unit_test(machine_time_does_not_go_back),
        cmocka_unit_test(machine_time_counts_suspended_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
