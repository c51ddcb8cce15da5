/* test_supervise.c: how long the supervisor waits before it restarts a service. */
#include "app/head/supervisor/supervise.h"

#include "scratch.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void waits_grow_and_begin_anew_after_a_good_while(void **state)
{
    struct supervise_deaths deaths = {0};
    (void)state;
    assert_int_equal(supervise_delay(&deaths, 1000, 10), 100);
    assert_int_equal(supervise_delay(&deaths, 20000, 10), 200);
    assert_int_equal(supervise_delay(&deaths, 40000, 10), 400);
    for (int64_t i = 0; i < 6; i++) {
        supervise_delay(&deaths, 60000 + 20000 * i, 10);
    }
    assert_int_equal(supervise_delay(&deaths, 200000, 10), SUPERVISE_MOST_MS);
    assert_int_equal(supervise_delay(&deaths, 300000, 9999), SUPERVISE_MOST_MS);
    assert_int_equal(supervise_delay(&deaths, 320000, 10000), SUPERVISE_FIRST_MS);
}

static int64_t die_in_a_row(struct supervise_deaths *deaths, int64_t now)
{
    for (int i = 0; i < SUPERVISE_DEATHS; i++) {
        assert_true(supervise_delay(deaths, now, 5) <= SUPERVISE_MOST_MS);
        now += 1000;
    }
    return now;
}

static void a_loop_freezes_and_the_next_is_given_a_pause(void **state)
{
    struct supervise_deaths deaths = {0};
    (void)state;
    int64_t now = die_in_a_row(&deaths, 1000);
    assert_false(deaths.is_frozen);
    assert_int_equal(supervise_delay(&deaths, now, 5), SUPERVISE_FIRST_MS);
    assert_true(deaths.is_frozen);
    now = die_in_a_row(&deaths, now + 100);
    assert_int_equal(supervise_delay(&deaths, now, 5), SUPERVISE_PAUSE_MS);
    assert_true(deaths.is_frozen);
    assert_int_equal(supervise_delay(&deaths, now + SUPERVISE_PAUSE_MS, 5), SUPERVISE_FIRST_MS);
}

static int64_t size_of(const char *folder, const char *name)
{
    char path[100];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    struct stat status;
    return stat(path, &status) == 0 ? status.st_size : -1;
}

/* 100 lines of 100 bytes, at most 2000 bytes in each file. */
static void a_long_log_is_replaced_and_one_old_one_kept(void **state)
{
    static const char *const argv[] = {
        "/bin/sh", "-c", "for i in $(seq 100); do printf '%099d\\n' $i; sleep 0.001; done", NULL};
    char folder[] = "/tmp/shoal-supervise-XXXXXX";
    struct err err;
    (void)state;
    assert_non_null(mkdtemp(folder));
    setenv("SHOAL_TEST_TIMES", "keep_log=2000", 1);
    assert_int_equal(supervise_run(folder, argv, &err), 0);
    unsetenv("SHOAL_TEST_TIMES");
    assert_in_range(size_of(folder, "service.log"), 1, 2000);
    assert_in_range(size_of(folder, "service.log.1"), 1, 2000);
    scratch_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_grow_and_begin_anew_after_a_good_while),
        cmocka_unit_test(a_loop_freezes_and_the_next_is_given_a_pause),
        cmocka_unit_test(a_long_log_is_replaced_and_one_old_one_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
