/* test_view.c: a node on the wire is the node that was told. */
#include "app/view.h"

#include "core/plan/plan.h"
#include "unit.h"

static void everything_survives(void **state)
{
    (void)state;
    struct arena arena;
    struct err err;
    struct node_view back;
    AUTO_BUF struct buf text;
    arena_init(&arena);
    buf_init(&text, 65536);
    static const struct insight_use uses[] = {{{"CPU", 3}, 1.5, 4}, {{"GPU", 3}, 0, 1}};
    struct node_view view = {
        .name = STR("worker-2"),
        .id = STR("i-0c1"),
        .type = STR("gpu"),
        .machine = STR("g5.xlarge"),
        .private_ip = STR("10.0.0.7"),
        .is_spot = true,
        .phase = PHASE_FAILED,
        .since_ms = 12,
        .price = 39000,
        .step = 3,
        .steps = 5,
        .detail = STR("pip install torch==9.9"),
        .failure = {.step = STR("set-up step 3 of 5"), .said = STR("bad \xff byte"), .status = 1},
        .ray_id = STR("abcdef"),
        .uses = uses,
        .use_count = 2,
        .idle_since_ms = 99,
        .activity = STR("Busy workers on node."),
        .is_draining = true,
    };
    node_view_write(&view, &text);
    assert_true(node_view_read(buf_str(&text), &arena, &back, &err));
    assert_true(str_eq(back.name, view.name));
    assert_true(str_eq(back.failure.step, view.failure.step));
    assert_true(str_starts(back.failure.said, "bad ")); /* the byte itself has no form in JSON */
    assert_int_equal(back.phase, PHASE_FAILED);
    assert_int_equal(back.price, 39000);
    assert_int_equal(back.failure.status, 1);
    assert_true(back.is_spot && !back.is_head);
    assert_int_equal(back.use_count, 2);
    assert_true(str_is(back.uses[0].name, "CPU"));
    assert_true(back.uses[0].used == 1.5 && back.uses[0].total == 4);
    assert_int_equal(back.idle_since_ms, 99);
    assert_true(str_eq(back.ray_id, view.ray_id) && str_eq(back.activity, view.activity));
    assert_true(back.is_draining);
    arena_clear(&arena);
}

static void an_unknown_price_stays_unknown(void **state)
{
    (void)state;
    struct arena arena;
    struct err err;
    struct node_view back;
    arena_init(&arena);
    assert_true(node_view_read(STR("{\"name\":\"head\",\"phase\":\"ready\",\"later\":[1]}"), &arena,
                               &back, &err));
    assert_int_equal(back.price, PRICE_UNKNOWN);
    assert_false(
        node_view_read(STR("{\"name\":\"head\",\"phase\":\"asleep\"}"), &arena, &back, &err));
    assert_false(node_view_read(STR("[]"), &arena, &back, &err));
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_survives),
        cmocka_unit_test(an_unknown_price_stays_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
