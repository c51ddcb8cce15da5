/* test_stop_running_up.c: which process a lock file names, and which one is asked to stop. */
#include "unit.h"

#include "app/launch/stop_running_up.h"
#include "app/program.h"

#include <unistd.h>

#define OWN STR("shoal down, pid 12 of me@laptop")

static void test_names_an_up_of_this_user_here(void **state)
{
    (void)state;
    assert_int_equal(take_over_pid(STR("shoal up, pid 4711 of me@laptop"), OWN), 4711);
}

static void test_leaves_everybody_else_alone(void **state)
{
    static const char *const others[] = {
        "",
        "shoal up, pid 4711",
        "shoal up, pid  of me@laptop",
        "shoal up, pid 4711 of me@other",
        "shoal up, pid 4711 of you@laptop",
        "shoal down, pid 4711 of me@laptop",
        "shoal autoscaler, pid 4711",
        "shoal up, pid -1 of me@laptop",
        "shoal up, pid 0 of me@laptop",
        "shoal up, pid 1 of me@laptop",
        "shoal up, pid 99999999999 of me@laptop",
        "shoal up, pid 47x1 of me@laptop",
        " of me@laptop",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        assert_int_equal(take_over_pid(str_from(others[i]), OWN), 0);
    }
    assert_int_equal(take_over_pid(STR("shoal up, pid 4711"), STR("shoal down, pid 12")), 0);
}

static void test_knows_its_own_program(void **state)
{
    (void)state;
    assert_true(program_is_same(getpid()));
    assert_false(program_is_same((int64_t)INT32_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_an_up_of_this_user_here),
        cmocka_unit_test(test_leaves_everybody_else_alone),
        cmocka_unit_test(test_knows_its_own_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
