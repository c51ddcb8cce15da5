/* test_autoscaler_report.c: the contents of a report to Ray. */
#include "app/head/ray/autoscaler_report.h"
#include "core/resource.h"
#include "unit.h"

#include <stdio.h>

static const struct type_facts facts[] = {
    {.name = {"cpu", 3}, .machine = {"m5.large", 8}},
    {.name = {"gpu", 3}, .machine = {"g5.xlarge", 9}},
};

static struct report_failure failure(uint32_t type, int64_t count, const char *reason)
{
    struct report_failure made = {
        .type = type, .count = count, .asked_ms = 5999, .failed_ms = 7001};
    snprintf(made.reason, sizeof(made.reason), "%s", reason);
    return made;
}

static void the_last_failure_of_each_type_is_told_until_one_comes(void **state)
{
    struct arena arena;
    struct report_failures failures = {0};
    const struct report_failure made[] = {failure(0, 2, "no capacity"), failure(1, 1, "quota"),
                                          failure(0, 3, "throttled")};
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        assert_true(report_failures_note(&failures, &made[i]));
    }
    assert_int_equal(failures.count, 2);
    const struct ray_failed_request *list = report_failures_list(&failures, facts, &arena);
    assert_str(list[0].type, "cpu");
    assert_str(list[0].machine, "m5.large");
    assert_str(list[0].reason, "throttled");
    assert_int_equal(list[0].count, 3);
    assert_int_equal(list[0].asked_s, 5);
    assert_int_equal(list[0].failed_s, 7);
    assert_str(list[1].reason, "quota");
    assert_true(report_failures_forget(&failures, 0));
    assert_false(report_failures_forget(&failures, 0));
    assert_int_equal(failures.count, 1);
    assert_str(report_failures_list(&failures, facts, &arena)[0].type, "gpu");
    arena_clear(&arena);
}

static void more_failures_than_there_is_room_for(void **state)
{
    struct report_failures failures = {0};
    (void)state;
    for (uint32_t i = 0; i < REPORT_FAILURES_MAX; i++) {
        struct report_failure one = failure(i, 1, "no");
        assert_true(report_failures_note(&failures, &one));
    }
    struct report_failure known = failure(3, 2, "again");
    struct report_failure other = failure(REPORT_FAILURES_MAX, 1, "no");
    assert_true(report_failures_note(&failures, &known));
    assert_false(report_failures_note(&failures, &other));
    assert_true(report_failures_forget(&failures, 3));
    assert_true(report_failures_note(&failures, &other));
    assert_int_equal(failures.count, REPORT_FAILURES_MAX);
}

static void requests_of_a_type_are_one_row(void **state)
{
    struct arena arena;
    struct report_requests requests = {0};
    (void)state;
    arena_init(&arena);
    report_requests_add(&requests, &facts[1], 30, &arena);
    report_requests_add(&requests, &facts[0], 40, &arena);
    report_requests_add(&requests, &facts[1], 20, &arena); /* since the first request */
    report_requests_add(&requests, &facts[1], 50, &arena);
    assert_int_equal(requests.count, 2);
    assert_str(requests.items[0].type, "gpu");
    assert_str(requests.items[0].machine, "g5.xlarge");
    assert_int_equal(requests.items[0].count, 3);
    assert_int_equal(requests.items[0].asked_s, 20);
    assert_int_equal(requests.items[1].count, 1);
    arena_clear(&arena);
}

static void details_name_the_step(void **state)
{
    struct arena arena;
    struct node_view view = {.phase = PHASE_SETTING_UP};
    (void)state;
    arena_init(&arena);
    struct str phase = str_from(node_phase_text(PHASE_SETTING_UP));
    assert_true(str_eq(report_details(&view, &arena), phase));
    view.steps = 5;
    assert_true(str_eq(report_details(&view, &arena), phase)); /* none has started */
    view.step = 2;
    assert_true(str_eq(report_details(&view, &arena),
                       arena_printf(&arena, "%.*s, step 2 of 5", STR_ARG(phase))));
    arena_clear(&arena);
}

static void versions_only_grow(void **state)
{
    (void)state;
    assert_int_equal(report_version(0, 1700), 1700000);
    assert_int_equal(report_version(1700000, 1700), 1700001);
    assert_int_equal(report_version(1700001, 900), 1700002); /* the clock was set back */
    assert_int_equal(report_version(1700002, 1800), 1800000);
}

static void node_types_as_ray_is_told_of_them(void **state)
{
    struct arena arena;
    struct names names;
    (void)state;
    arena_init(&arena);
    intern_init(&names, &arena);
    const struct capacity capacities[] = {
        {intern_add(&names, STR("CPU")), 4 * RESOURCE_UNIT, 0},
        {intern_add(&names, STR("half")), RESOURCE_UNIT / 2, 0},
    };
    const struct plan_type types[] = {
        {.name = STR("head"), .max_nodes = 0},
        {.name = STR("cpu"),
         .min_nodes = 1,
         .max_nodes = PLAN_NO_LIMIT,
         .capacities = capacities,
         .capacity_count = 2},
    };
    struct core_settings settings = {.names = &names, .types = types, .type_count = 2};
    const struct gcs_group *groups = report_groups(&settings, &arena);
    assert_str(groups[0].name, "head");
    assert_int_equal(groups[0].resource_count, 0);
    assert_int_equal(groups[1].min_count, 1);
    assert_int_equal(groups[1].max_count, -1);
    assert_int_equal(groups[1].resource_count, 2);
    assert_str(groups[1].resources[1].name, "half");
    assert_true(groups[1].resources[0].amount > 3.99 && groups[1].resources[0].amount < 4.01);
    assert_true(groups[1].resources[1].amount > 0.49 && groups[1].resources[1].amount < 0.51);
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_failure_of_each_type_is_told_until_one_comes),
        cmocka_unit_test(more_failures_than_there_is_room_for),
        cmocka_unit_test(requests_of_a_type_are_one_row),
        cmocka_unit_test(details_name_the_step),
        cmocka_unit_test(versions_only_grow),
        cmocka_unit_test(node_types_as_ray_is_told_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
