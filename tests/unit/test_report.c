/* test_report.c: the autoscaler's report to Ray, as bytes. */
#include "ray/report.h"

#include "ray/wire.h"
#include "unit.h"

static struct arena arena;

static int open_arena(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_clear(&arena);
    return 0;
}

#define assert_bytes(actual, literal) assert_true(str_eq(actual, STR(literal)))

/* The report inside the request. */
static struct str inside_of(const struct ray_report *report)
{
    struct wire wire = wire_open(ray_report_bytes(report, &arena));
    struct wire_field field;
    struct str rest = {0};
    assert_true(wire_next(&wire, &field));
    assert_int_equal(field.key, WIRE_KEY(1, WIRE_BYTES));
    rest = field.bytes;
    assert_false(wire_next(&wire, &field));
    assert_false(wire.is_broken);
    return rest;
}

static void test_an_empty_report_has_its_version(void **state)
{
    (void)state;
    struct ray_report report = {.seen_version = 5, .version = 300};
    assert_bytes(ray_report_bytes(&report, &arena), "\x0a\x05\x08\x05\x10\xac\x02");
}

static void test_each_list_has_its_tag(void **state)
{
    (void)state;
    const struct str infeasible[] = {STR("\x0a\x00"), STR("x")};
    const struct str gangs[] = {STR("gang")};
    struct ray_report report = {
        .version = 1,
        .requests = &(struct ray_pending_request){STR("m5"), STR("w"), 1, 7},
        .request_count = 1,
        .nodes = &(struct ray_pending_node){STR("m5"), STR("w"), STR("i-1"), STR("10.0.0.1"),
                                            STR("booting")},
        .node_count = 1,
        .failures = &(struct ray_failed_request){STR("m5"), STR("w"), 2, STR("no room"), 3, 4},
        .failure_count = 1,
        .infeasible = infeasible,
        .infeasible_count = 2,
        .infeasible_gangs = gangs,
        .infeasible_gang_count = 1,
    };
    assert_bytes(inside_of(&report), "\x10\x01"
                                     "\x1a\x0b\x0a\x02m5\x12\x01w\x18\x01\x20\x07"
                                     "\x22\x02\x0a\x00"
                                     "\x22\x01x"
                                     "\x2a\x04gang"
                                     "\x3a\x1f\x0a\x02m5\x12\x01w\x1a\x03i-1\x22\x08"
                                     "10.0.0.1\x2a\x07"
                                     "booting"
                                     "\x42\x16\x0a\x02m5\x12\x01w\x18\x02\x22\x07no room\x28\x03"
                                     "\x30\x04");
}

static size_t count_requests(const struct ray_pending_request *requests, size_t count,
                             int64_t *ret_machines)
{
    struct ray_report report = {.version = 1, .requests = requests, .request_count = count};
    struct str inside = inside_of(&report);
    struct wire wire = wire_open(inside);
    struct wire_field field;
    *ret_machines = 0;
    while (wire_next(&wire, &field)) {
        struct wire entry = wire_open(field.bytes);
        struct wire_field part;
        while (field.key == WIRE_KEY(3, WIRE_BYTES) && wire_next(&entry, &part)) {
            *ret_machines += part.key == WIRE_KEY(3, WIRE_VARINT) ? (int64_t)part.number : 0;
        }
    }
    return wire_count(inside, WIRE_KEY(3, WIRE_BYTES));
}

static void test_one_entry_for_each_machine(void **state)
{
    (void)state;
    const struct ray_pending_request requests[] = {
        {STR("m5"), STR("a"), 3, 7},
        {STR("m5"), STR("b"), 0, 7},
        {STR("m5"), STR("b"), -1, 7},
        {STR("m5"), STR("c"), 1, 7},
    };
    int64_t machines;
    assert_int_equal(count_requests(requests, ARRAY_LEN(requests), &machines), 4);
    assert_int_equal(machines, 4);
}

static void test_a_mountain_of_requests(void **state)
{
    (void)state;
    const struct ray_pending_request requests[] = {
        {STR("m5"), STR("a"), 1000000, 7},
        {STR("m5"), STR("b"), 5, 7},
    };
    int64_t machines;
    assert_true(count_requests(requests, ARRAY_LEN(requests), &machines) <= 10002);
    assert_int_equal(machines, 1000005);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_report_has_its_version),
        cmocka_unit_test(test_each_list_has_its_tag),
        cmocka_unit_test(test_one_entry_for_each_machine),
        cmocka_unit_test(test_a_mountain_of_requests),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
