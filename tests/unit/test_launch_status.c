/* test_launch_status.c: the result of a completed `up`. */
#include "cli/launch.h"
#include "unit.h"

static void only_a_whole_cluster_is_a_success(void **state)
{
    (void)state;
    struct launcher_result whole = {.node_count = 3};
    assert_int_equal(launch_up_status(&whole, 0), 0);
    assert_int_equal(launch_up_status(&whole, 1), 1); /* reported as failed */
    struct launcher_result failed = {.node_count = 2, .failed_count = 1};
    assert_int_equal(launch_up_status(&failed, 0), 1);
    struct launcher_result missing = {.node_count = 2, .missing_count = 1};
    assert_int_equal(launch_up_status(&missing, 0), 1);
    struct launcher_result stale = {.was_up_to_date = true, .missing_count = 1};
    assert_int_equal(launch_up_status(&stale, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_whole_cluster_is_a_success),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
